//! The managed resources, one folder each with the same file names: `schema` declares, `model` reads and writes values,
//! `validate`, `plan`, `create`, `read`, `update`, `delete` and `import` are the calls of Terraform.

pub(crate) mod connection;
pub(crate) mod stream;
