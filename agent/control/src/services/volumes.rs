//! The calls on volumes. None of them looks at what is in one (`governance::volumes` reads).

use std::sync::Arc;

use stream_spec::name::VolumeName;
use stream_spec::validate;

use super::Services;
use super::error::ServiceError;
use super::governed::{self, Planned};
use super::page::{Page, PageRequest};
use super::users::{self, Used};
use crate::clock;
use crate::governance::{Action, RequestContext, Securable};
use crate::store::Parent;
use crate::store::documents::{Authorship, VolumeRecord};
use crate::store::users::{DeletedIfUnused, UsedThing};

/// The calls on volumes.
#[derive(Clone)]
pub struct VolumeService {
    services: Arc<Services>,
}

/// A volume as a caller declares it.
#[derive(Clone, Debug)]
pub struct DeclaredVolume {
    /// Its name.
    pub name: VolumeName,
    /// Folder or object store URL.
    pub storage_location: String,
}

impl VolumeService {
    /// The service over what services share.
    pub fn new(services: Arc<Services>) -> Self {
        Self { services }
    }

    /// Creates a volume. A repeat under the same request id is answered as the first was.
    pub async fn create(&self, context: &RequestContext, declared: DeclaredVolume, request_id: &str) -> Result<VolumeRecord, ServiceError> {
        let DeclaredVolume { name, storage_location } = declared;
        self.services
            .authorizer
            .authorize(context, Action::Create, Securable::Volume(&name))
            .await?;
        self.check(&storage_location).await?;
        let record = VolumeRecord {
            name,
            generation: 1,
            authorship: Authorship::new(context.principal.name(), clock::now_ms(), request_id),
            storage_location,
        };
        let made = governed::create(&self.services, record).await?;
        // Streams may wait for it, where one of that name was deleted under them.
        self.services.announce(&UsedThing::Volume(made.name.clone())).await;
        Ok(made)
    }

    /// One volume.
    pub async fn get(&self, context: &RequestContext, name: &VolumeName) -> Result<VolumeRecord, ServiceError> {
        self.services
            .authorizer
            .authorize(context, Action::Read, Securable::Volume(name))
            .await?;
        governed::get(&self.services, name.as_str()).await
    }

    /// The volumes of a catalog or schema that the caller may read, a page at a time.
    pub async fn list(&self, context: &RequestContext, parent: &Parent, page: &PageRequest) -> Result<Page<VolumeRecord>, ServiceError> {
        self.services
            .authorizer
            .authorize(context, Action::List, Securable::Volumes(parent))
            .await?;
        governed::list(&self.services, context, &format!("{parent}."), page).await
    }

    /// Moves a volume, if it still is at `generation` (0: any) and of that life (empty: any).
    pub async fn update(
        &self,
        context: &RequestContext,
        declared: DeclaredVolume,
        generation: u64,
        uid: &str,
    ) -> Result<VolumeRecord, ServiceError> {
        let DeclaredVolume { name, storage_location } = declared;
        let allowed = self
            .services
            .authorizer
            .authorize(context, Action::Update, Securable::Volume(&name))
            .await?;
        let uid = &allowed
            .life(uid)
            .ok_or_else(|| governed::another_life::<VolumeRecord>(name.as_str()))?;
        self.check(&storage_location).await?;
        let planned = Planned {
            name: name.as_str(),
            generation,
            uid,
        };
        let changed = governed::update(&self.services, context, planned, |now: &VolumeRecord| {
            (now.storage_location != storage_location).then(|| VolumeRecord {
                storage_location: storage_location.clone(),
                ..now.clone()
            })
        })
        .await?;
        self.services.announce(&UsedThing::Volume(name)).await;
        Ok(changed)
    }

    /// Forgets a volume, one that streams use only if the caller says so; what is in it stays. Another life of the name than `uid`
    /// (empty: any) is missing.
    pub async fn delete(&self, context: &RequestContext, name: &VolumeName, even_if_used: bool, uid: &str) -> Result<(), ServiceError> {
        let allowed = self
            .services
            .authorizer
            .authorize(context, Action::Delete, Securable::Volume(name))
            .await?;
        let uid = &allowed
            .life(uid)
            .ok_or_else(|| governed::not_found::<VolumeRecord>(name.as_str()))?;
        let what = UsedThing::Volume(name.clone());
        match self.services.store.delete_if_unused(&what, uid, even_if_used).await? {
            DeletedIfUnused::Deleted => {
                tracing::info!(volume = %name, by = context.principal.name(), "deleted volume");
                self.services.announce(&what).await;
                Ok(())
            }
            DeletedIfUnused::Missing => Err(governed::not_found::<VolumeRecord>(name.as_str())),
            DeletedIfUnused::InUse(users) => {
                let used = Used {
                    field: "name",
                    value: name.as_str(),
                    what: "files of the volume",
                };
                Err(users::in_use(&self.services, &context.principal, used, &users).await)
            }
        }
    }

    async fn check(&self, storage_location: &str) -> Result<(), ServiceError> {
        let violation = match validate::storage_location(storage_location) {
            None => self.services.private_folders.violation(storage_location).await,
            found => found,
        };
        violation.map_or(Ok(()), |violation| Err(ServiceError::Invalid(vec![violation])))
    }
}
