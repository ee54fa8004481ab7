//! Why the authorizer says no. The invariant: the text depends on the request and on nothing that is stored, so that it is
//! the same for a name that exists and for one that does not.

use super::principal::ADMIN_GROUP;
use super::privilege::Privilege;
use super::rules::On;

/// A refusal: who may not do what, and what would change that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// Who.
    pub principal: String,
    /// What, as in "may not …".
    pub doing: String,
    /// What it lacks; empty where no privilege helps.
    pub missing: Vec<Missing>,
}

/// Something that must be held and is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// One of these.
    pub any: &'static [Privilege],
    /// Where, in the rule.
    pub on: On,
    /// Where, for people.
    pub place: String,
}

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (position, privilege) in self.any.iter().enumerate() {
            let before = match position {
                0 => "",
                last if last + 1 == self.any.len() => " or ",
                _ => ", ",
            };
            write!(f, "{before}{privilege}")?;
        }
        write!(f, " on {}", self.place)
    }
}

impl Denial {
    /// What must be held, in a row.
    pub fn needed(&self) -> String {
        let needed: Vec<String> = self.missing.iter().map(ToString::to_string).collect();
        needed.join(", ")
    }

    /// What is refused, and for want of what.
    pub fn problem(&self) -> String {
        let refused = format!("permission denied: `{}` may not {}", self.principal, self.doing);
        match self.missing.as_slice() {
            [] => format!("{refused}: only members of the group `{ADMIN_GROUP}` may"),
            _ => format!("{refused}: that needs {}", self.needed()),
        }
    }

    /// Who can change it.
    pub fn remedy(&self) -> String {
        match self.missing.len() {
            0 => format!("ask a member of the group `{ADMIN_GROUP}`"),
            1 => format!("it can be granted by whoever owns that or has MANAGE on it, or by a member of the group `{ADMIN_GROUP}`"),
            _ => format!("each can be granted by whoever owns that or has MANAGE on it, or by a member of the group `{ADMIN_GROUP}`"),
        }
    }
}

impl std::fmt::Display for Denial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.problem())?;
        if self.missing.is_empty() {
            return Ok(());
        }
        write!(f, "; {}", self.remedy())
    }
}
