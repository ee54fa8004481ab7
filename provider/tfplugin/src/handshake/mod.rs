//! How Terraform, through go-plugin, starts a provider and finds its server.
//!
//! What the environment says is read here; the parts are in the files beside. Invariant: nothing goes to stdout before the
//! one handshake line, and that line is all that ever does.

pub(crate) mod certificate;
pub(crate) mod connection;
pub(crate) mod line;
pub(crate) mod listener;
pub(crate) mod reattach;
pub(crate) mod services;

/// The variable by which Terraform says that it is Terraform.
const COOKIE_NAME: &str = "TF_PLUGIN_MAGIC_COOKIE";
/// What it then holds.
const COOKIE: &str = "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2";
/// The major version of the plugin protocol that we speak.
pub(crate) const PROTOCOL_VERSION: u32 = 6;

/// Why there can be no handshake.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// A person started us.
    #[error(
        "This program is a Terraform provider. Terraform starts it by itself; there is nothing to run by hand.\n\
         To debug it, start it with -debug and set the variable that it prints for Terraform."
    )]
    NotTerraform,
    /// Terraform speaks none of our versions.
    #[error("This provider speaks plugin protocol {PROTOCOL_VERSION}, and this Terraform offers {offered:?}. Use Terraform 1.1 or newer.")]
    NoCommonVersion {
        /// What it offers.
        offered: String,
    },
}

/// Are we started by a Terraform that we can talk to?
pub(crate) fn check(environment: impl Fn(&str) -> Option<String>) -> Result<(), Refusal> {
    if environment(COOKIE_NAME).as_deref() != Some(COOKIE) {
        return Err(Refusal::NotTerraform);
    }
    match environment("PLUGIN_PROTOCOL_VERSIONS") {
        Some(offered) if !offered.split(',').any(|version| version.trim().parse() == Ok(PROTOCOL_VERSION)) => {
            Err(Refusal::NoCommonVersion { offered })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_terraform_that_speaks_our_version_is_answered() {
        let cases = [
            (None, None, Err(Refusal::NotTerraform)),
            (Some("something else"), Some("6"), Err(Refusal::NotTerraform)),
            (Some(COOKIE), None, Ok(())),
            (Some(COOKIE), Some("6,5"), Ok(())),
            (Some(COOKIE), Some("5, 6"), Ok(())),
            (
                Some(COOKIE),
                Some("4,5"),
                Err(Refusal::NoCommonVersion { offered: "4,5".to_owned() }),
            ),
        ];
        for (cookie, versions, expected) in cases {
            let environment = |name: &str| match name {
                COOKIE_NAME => cookie.map(str::to_owned),
                _ => versions.map(str::to_owned),
            };
            assert_eq!(check(environment), expected, "{cookie:?} {versions:?}");
        }
    }
}
