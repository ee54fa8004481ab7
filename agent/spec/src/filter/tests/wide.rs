//! References to schemas of many fields: what they hold of the types, and what is noted of what they read.

use std::collections::HashMap;
use std::sync::Arc;

use super::*;
use crate::filter::expr::Expr;

const FIELDS: usize = 20_000;
const REFERENCES: usize = 80;

fn columns() -> Vec<Field> {
    let wide = DataType::Struct((0..FIELDS).map(|index| named(&format!("f{index}"), DataType::Int)).collect());
    let value = DataType::Struct(vec![
        named("w", wide.clone()),
        named("list", array(wide.clone())),
        named("labels", map(wide)),
    ]);
    vec![named("value", value)]
}

fn parts(data_type: &DataType) -> usize {
    1 + match data_type {
        DataType::Struct(fields) => fields.iter().map(|field| parts(&field.data_type)).sum(),
        DataType::Array(element) => parts(element),
        DataType::Map(key, value) => parts(key) + parts(value),
        _ => 0,
    }
}

/// The parts of all types that a filter's expressions hold, each type once.
fn held(predicate: &Expr) -> usize {
    let (mut types, mut left) = (HashMap::new(), vec![predicate]);
    while let Some(expr) = left.pop() {
        if let ExprType::Parts(data_type) = &expr.ty {
            types.insert(Arc::as_ptr(data_type), parts(data_type));
        }
        left.extend(expr.operands());
    }
    types.values().sum()
}

#[test]
fn references_to_a_wide_struct_hold_its_type_together() {
    let columns = columns();
    let whole: usize = columns.iter().map(|column| parts(&column.data_type)).sum();
    for reference in [
        "value.w.F# = 1",
        "value.w IS NULL",
        "value.list[#].f# = 1",
        "value.list.f# IS NULL",
        "value.list[0] IS NULL AND value.list[#].f# < value.labels.k#.f#",
        "value.labels['k#'].f# = 1",
        "element_at(value.list, #).f# = 1",
        "map_values(value.labels)[#].f# = 1",
        "element_at(value.labels, 'k#') IS NULL",
        "coalesce(value.w, value.labels.k#).f# = 1",
        "CASE WHEN value.w.f# = 1 THEN value.list END IS NULL",
    ] {
        let text: Vec<String> = (1..=REFERENCES).map(|number| reference.replace('#', &number.to_string())).collect();
        let filter = check(&text.join(" OR "), &columns).expect(reference);
        let held = held(&filter.predicate);
        assert!(
            held < 3 * whole,
            "{reference}: {held} parts of types, where the columns have {whole}"
        );
    }
}
