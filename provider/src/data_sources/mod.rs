//! The data sources, one file each.

pub(crate) mod agent;
pub(crate) mod stream;
mod stream_status;
pub(crate) mod table_columns;
