//! `IN`: three-valued, by comparisons, or by a set where the list is long.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_arith::boolean::or_kleene;
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray};

use super::compare;
use super::error::FilterError;
use super::limits::SET_TEXTS_MIN;
use super::logic::exactly;
use super::node::Kernel;
use super::values::{Values, booleans, strings};

/// The operand first, then the members.
pub(super) fn list() -> Kernel {
    Box::new(|operands, rows| {
        let Some((operand, members)) = operands.split_first() else {
            return Err(FilterError::mismatch("an operand of IN", "none"));
        };
        let mut found: Option<BooleanArray> = None;
        for member in members {
            let equal = compare::equal(operand, member)?;
            let equal = if equal.len() == rows {
                equal
            } else {
                booleans(&Values::constant(Arc::new(equal)).per_row(rows)?)?.clone()
            };
            found = Some(match found {
                None => equal,
                Some(found) => or_kleene(&found, &equal)?,
            });
        }
        let found: ArrayRef = match found {
            Some(found) => Arc::new(found),
            None => return Err(FilterError::mismatch("members of IN", "none")),
        };
        Ok(found)
    })
}

/// A kernel of the operand alone, if the members are many texts.
pub(super) fn set(members: &[&Values]) -> Result<Option<Kernel>, FilterError> {
    let texts = |member: &&Values| member.array().as_string_opt::<i32>().is_some();
    if members.len() < SET_TEXTS_MIN || !members.iter().all(texts) {
        return Ok(None);
    }
    let mut wanted: HashSet<String> = HashSet::new();
    let mut has_null = false;
    for member in members {
        match strings(member.array())?.iter().next().flatten() {
            Some(text) => {
                wanted.insert(text.to_owned());
            }
            None => has_null = true,
        }
    }
    Ok(Some(Box::new(move |operands, _| {
        let [operand] = exactly(operands)?;
        let contains = |text: &str| match wanted.contains(text) {
            true => Some(true),
            false if has_null => None,
            false => Some(false),
        };
        let found: BooleanArray = strings(operand.array())?.iter().map(|text| text.and_then(contains)).collect();
        Ok(Arc::new(found))
    })))
}
