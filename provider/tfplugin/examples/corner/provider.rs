//! The provider: its one setting, and what it consists of. Invariant: a folder that is not known yet is no mistake.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use tfplugin::call::CallContext;
use tfplugin::data_source::{DataRead, DataSource};
use tfplugin::diagnostic::{Diagnostic, Diagnostics};
use tfplugin::path::AttributePath;
use tfplugin::provider::{ConfigureRequest, Provider};
use tfplugin::resource::Resource;
use tfplugin::schema::Schema;
use tfplugin::schema::attribute::Attribute;
use tfplugin::value::Value;
use tfplugin::value::types::Type;

use super::file::{CornerFile, load};

/// The provider.
#[derive(Default)]
pub(crate) struct Corner {
    folder: Folder,
}

/// The folder that the configuration names, shared with everything that needs it.
#[derive(Clone, Default)]
pub(crate) struct Folder {
    path: Arc<RwLock<Option<PathBuf>>>,
}

impl Folder {
    /// The folder, once it is configured.
    pub(crate) fn path(&self) -> Result<PathBuf, Diagnostics> {
        let path = self.path.read().unwrap_or_else(PoisonError::into_inner).clone();
        path.ok_or_else(|| {
            let detail = "The provider's folder is not known yet. It must not depend on something that is only made by this apply.";
            Diagnostic::error("Folder Not Known", detail)
                .at(AttributePath::root().attribute("folder"))
                .into()
        })
    }
}

#[async_trait]
impl Provider for Corner {
    fn schema(&self) -> Schema {
        Schema::new(
            "Keeps values in files.",
            [("folder", Attribute::required(Type::String, "Where the files are."))],
        )
    }

    fn resources(&self) -> Vec<Arc<dyn Resource>> {
        vec![Arc::new(CornerFile {
            folder: self.folder.clone(),
        })]
    }

    fn data_sources(&self) -> Vec<Arc<dyn DataSource>> {
        vec![Arc::new(CornerRevision {
            folder: self.folder.clone(),
        })]
    }

    async fn configure(&self, request: ConfigureRequest<'_>, _context: &CallContext) -> Diagnostics {
        let folder = request.config.get("folder").as_str().map(Path::new).map(Path::to_path_buf);
        *self.folder.path.write().unwrap_or_else(PoisonError::into_inner) = folder;
        Diagnostics::none()
    }
}

/// How often a file was written.
struct CornerRevision {
    folder: Folder,
}

#[async_trait]
impl DataSource for CornerRevision {
    fn type_name(&self) -> &'static str {
        "corner_revision"
    }

    fn schema(&self) -> Schema {
        Schema::new(
            "How often a file was written.",
            [
                ("name", Attribute::required(Type::String, "The file's name.")),
                ("revision", Attribute::computed(Type::Number, "How often it was written.")),
            ],
        )
    }

    async fn read(&self, config: &Value, _context: &CallContext) -> Result<DataRead, Diagnostics> {
        let name = config.get("name");
        let path = self.folder.path()?.join(name.as_str().unwrap_or_default());
        let Some(stored) = load(&path)? else {
            let detail = format!("There is no file {}. Make it first, or correct the name.", path.display());
            return Err(Diagnostic::error("No Such File", detail)
                .at(AttributePath::root().attribute("name"))
                .into());
        };
        let state = Value::object([("name", name.clone()), ("revision", Value::from(stored.revision))]);
        Ok(DataRead {
            state,
            diagnostics: Diagnostics::none(),
        })
    }
}
