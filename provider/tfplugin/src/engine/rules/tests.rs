//! The rules as tables of cases.
