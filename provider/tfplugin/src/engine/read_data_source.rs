//! Reads a data source. Invariant: the answer is wholly known.

use crate::diagnostic::Diagnostics;
use crate::value::Value;

use super::{DataSourceType, Engine, bug, guarded};

impl Engine {
    pub(crate) async fn read_data_source(&self, found: &DataSourceType, config: &Value) -> Result<(Value, Diagnostics), Diagnostics> {
        let name = found.data_source.type_name();
        let context = self.context();
        let read = guarded(
            &format!("the read of data source `{name}`"),
            found.data_source.read(config, &context),
        )
        .await??;
        let state = found.shape.conform(read.state, &format!("data source `{name}`"))?;
        if !state.is_wholly_known() {
            return Err(bug(format!("The provider left values of data source `{name}` unknown.")).into());
        }
        Ok((state, read.diagnostics))
    }
}
