//! Avro: from a text to the type that its messages decode to, and to the tree that says how their bytes lie.

pub mod tree;
