//! The types with parts of a filter's expressions, each held once, however many references lead to it: a filter may name two thousand
//! fields of a schema that has twenty thousand.
//!
//! Invariant: a type that [`SharedTypes::at`] is asked for lies in the columns of the filter or in a type that is shared here, so that it
//! stays where it is, and its address tells it apart.

use std::collections::{HashMap, HashSet};
use std::ptr;
use std::sync::Arc;

use super::expr::ExprType;
use crate::types::DataType;

/// Types with parts.
#[derive(Default)]
pub(super) struct SharedTypes {
    types: HashSet<Arc<DataType>>,
    by_address: HashMap<*const DataType, Arc<DataType>>,
}

impl SharedTypes {
    /// The type at a place in the columns, or in a type that is shared.
    pub(super) fn at(&mut self, place: &DataType) -> ExprType {
        if let Some(known) = self.by_address.get(&ptr::from_ref(place)) {
            return ExprType::Parts(Arc::clone(known));
        }
        let ty = self.shared(ExprType::of(place.clone()));
        if let ExprType::Parts(shared) = &ty {
            self.by_address.insert(ptr::from_ref(place), Arc::clone(shared));
        }
        ty
    }

    /// The type, as it is held already if it is.
    pub(super) fn shared(&mut self, ty: ExprType) -> ExprType {
        let ExprType::Parts(data_type) = ty else { return ty };
        if let Some(known) = self.types.get(&data_type) {
            return ExprType::Parts(Arc::clone(known));
        }
        self.types.insert(Arc::clone(&data_type));
        ExprType::Parts(data_type)
    }
}
