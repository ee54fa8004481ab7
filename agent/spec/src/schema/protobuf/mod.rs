//! Protobuf: from a `.proto` text and a message's name to the type that its messages decode to, and to the tree that says how their
//! bytes lie.

pub mod tree;
