//! What a record filter reads stays as it is (product part D6): neither taken away nor of another type, BIGINT for INT included,
//! for a filter that was declared on one type would from then on see values that it never saw; nor read otherwise from the same bytes,
//! a value more in an enum excepted.

use super::{Findings, UpdateQuestion, exclusions::SideTypes};
use crate::filter::footprint::{self, ReadPlace};
use crate::filter::{self, FIELD};
use crate::schema::{self, show_path};
use crate::stream::Side;
use crate::types::{DataType, Field};

const REMEDY: &str = "keep the field as it is, or make a new stream";

/// Refuses what takes away or changes what the filter reads.
pub(super) fn judge(text: &str, question: &UpdateQuestion<'_>, new: &SideTypes, findings: &mut Findings) {
    let in_force = |side: Side| match question.history.last().and_then(|schemas| schemas.side(side)) {
        Some(text) => schema::parse(text).ok().map(|parsed| parsed.data_type),
        None => Some(DataType::String),
    };
    let known = in_force(Side::Key).zip(in_force(Side::Payload));
    let columns = |(key, value): (DataType, DataType)| filter::columns_of_any_source(key, value);
    let Some(filter) = known.and_then(|sides| filter::check(text, &columns(sides)).ok()) else {
        // Whatever it might read must stay.
        return findings.refuse_what_a_filter_may_read(text);
    };
    let refused_before = findings.refusal_count();
    let new_columns: Vec<Field> = [(Side::Key, &new.key), (Side::Payload, &new.value)]
        .into_iter()
        .filter_map(|(side, data_type)| data_type.clone().map(|data_type| Field::new(side.column(), data_type)))
        .collect();
    let mut broken: Vec<ReadPlace> = Vec::new();
    let reads = footprint::of(&filter);
    for (place, read) in &reads {
        // Metadata columns do not change; a side that cannot be judged is refused as a whole.
        let judged = new_columns.iter().any(|column| column.name == place.column);
        if !judged || broken.iter().any(|outer| outer.contains(place)) {
            continue;
        }
        let what = match footprint::resolve(place, &new_columns) {
            Some(new) if read.allows(new) => continue,
            Some(new) => format!("{} → {new}", read.data_type),
            None => "removed".to_owned(),
        };
        let path = show_path(&place.column, &place.path);
        broken.push(place.clone());
        findings.refuse(path, format!("{what}, and the record filter `{text}` reads it"), REMEDY);
    }
    let seen = |changed: &ReadPlace| reads.iter().any(|(place, read)| read.sees(place, changed));
    let otherwise: Vec<(ReadPlace, String)> = findings
        .read_otherwise
        .iter()
        .filter(|(changed, _)| seen(changed) && !broken.iter().any(|outer| outer.contains(changed)))
        .cloned()
        .collect();
    for (changed, what) in otherwise {
        let path = show_path(&changed.column, &changed.path);
        findings.refuse(path, format!("{what}, and the record filter `{text}` reads it"), REMEDY);
    }
    // The filter means the same by every place that it reads; a name may still have become ambiguous.
    let both = new.key.clone().zip(new.value.clone());
    if let Some(sides) = both.filter(|_| findings.refusal_count() == refused_before)
        && let Err(violations) = filter::check(text, &columns(sides))
    {
        for violation in violations {
            let text = format!("the record filter `{text}` cannot be read with it: {}", violation.problem);
            findings.refuse(FIELD.to_owned(), text, REMEDY);
        }
    }
}
