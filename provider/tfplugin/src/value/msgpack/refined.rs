//! Unknown values on the wire, and what is known of them.
//!
//! Invariant: a refinement that we cannot read, or that is longer than Terraform reads, is left out, never guessed: an
//! unknown value without it is still right.

use rmp::Marker;

use crate::limits::REFINEMENT_BYTES_MAX;
use crate::value::codec_error::CodecProblem;
use crate::value::msgpack::reader::{Reader, Step, marker_kind, mismatch};
use crate::value::msgpack::writer::Writer;
use crate::value::number::Number;
use crate::value::refinement::{NumberBound, Refinement};
use crate::value::types::Type;

/// The extension that an unknown value without refinements is written as; Terraform reads any extension as unknown.
const EXTENSION_UNKNOWN: i8 = 0;
/// The extension of an unknown value with refinements.
const EXTENSION_REFINED: i8 = 12;
/// The keys of a refinement's map.
const REFINES_NULLNESS: i64 = 1;
const REFINES_STRING_PREFIX: i64 = 2;
const REFINES_NUMBER_MIN: i64 = 3;
const REFINES_NUMBER_MAX: i64 = 4;
const REFINES_LENGTH_MIN: i64 = 5;
const REFINES_LENGTH_MAX: i64 = 6;

/// What an extension says of an unknown value. An unknown kind of extension, or more than Terraform would send, says nothing.
pub(super) fn read(kind: i8, payload: &[u8]) -> Step<Option<Box<Refinement>>> {
    if kind != EXTENSION_REFINED || payload.len() > REFINEMENT_BYTES_MAX {
        return Ok(None);
    }
    let mut reader = Reader::new(payload);
    let marker = reader.marker()?;
    let mut refinement = Refinement::default();
    for _ in 0..reader.map_length(marker, &Type::Map(Box::new(Type::Bool)))? {
        let marker = reader.marker()?;
        let key = reader.number(marker)?.as_ref().and_then(Number::as_i64);
        match key {
            Some(REFINES_NULLNESS) => refinement.not_null = reader.marker()? == Marker::False,
            Some(REFINES_STRING_PREFIX) => refinement.string_prefix = Some(reader.key()?.to_owned()),
            Some(REFINES_NUMBER_MIN) => refinement.number_min = Some(bound(&mut reader)?),
            Some(REFINES_NUMBER_MAX) => refinement.number_max = Some(bound(&mut reader)?),
            Some(REFINES_LENGTH_MIN) => refinement.length_min = length(&mut reader)?,
            Some(REFINES_LENGTH_MAX) => refinement.length_max = length(&mut reader)?,
            _ => reader.skip(0)?,
        }
    }
    Ok((!refinement.is_empty()).then(|| Box::new(refinement)))
}

fn bound(reader: &mut Reader<'_>) -> Step<NumberBound> {
    let marker = reader.marker()?;
    if reader.array_length(marker)? != Some(2) {
        return Err(CodecProblem::Kind {
            wanted: "a number bound",
            found: marker_kind(marker),
        });
    }
    let marker = reader.marker()?;
    let number = reader.number(marker)?.ok_or(mismatch(&Type::Number, marker))?;
    Ok(NumberBound {
        number,
        inclusive: reader.marker()? == Marker::True,
    })
}

fn length(reader: &mut Reader<'_>) -> Step<Option<u64>> {
    let marker = reader.marker()?;
    Ok(reader.number(marker)?.as_ref().and_then(Number::as_u64))
}

/// Writes an unknown value with what is known of it.
pub(super) fn write(writer: &mut Writer, refinement: Option<&Refinement>) {
    let payload = refinement.filter(|refinement| !refinement.is_empty()).map(facts);
    match payload.filter(|payload| payload.len() <= REFINEMENT_BYTES_MAX) {
        Some(payload) => writer.extension(EXTENSION_REFINED, &payload),
        None => writer.extension(EXTENSION_UNKNOWN, &[0]),
    }
}

fn facts(refinement: &Refinement) -> Vec<u8> {
    let mut entries = 0;
    let mut facts = Writer::new();
    let mut key = |facts: &mut Writer, key: i64| {
        entries += 1;
        facts.number(&Number::from(key));
    };
    if refinement.not_null {
        key(&mut facts, REFINES_NULLNESS);
        facts.bool(false);
    }
    if let Some(prefix) = &refinement.string_prefix {
        key(&mut facts, REFINES_STRING_PREFIX);
        facts.text(prefix);
    }
    for (name, bound) in [
        (REFINES_NUMBER_MIN, &refinement.number_min),
        (REFINES_NUMBER_MAX, &refinement.number_max),
    ] {
        if let Some(bound) = bound {
            key(&mut facts, name);
            facts.array(2);
            facts.number(&bound.number);
            facts.bool(bound.inclusive);
        }
    }
    for (name, length) in [
        (REFINES_LENGTH_MIN, refinement.length_min),
        (REFINES_LENGTH_MAX, refinement.length_max),
    ] {
        if let Some(length) = length {
            key(&mut facts, name);
            facts.number(&Number::from(length));
        }
    }
    let mut payload = Writer::new();
    payload.map(entries);
    payload.raw(&facts.into_bytes());
    payload.into_bytes()
}
