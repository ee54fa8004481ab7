//! The fake's ConnectionService.

use featurestore_proto::v1;
use featurestore_proto::v1::connection_service_server::ConnectionService;
use tonic::{Request, Response, Status};

use super::{Services, World, answer};

fn not_found(name: &str) -> Status {
    Status::not_found(format!("there is no connection `{name}`"))
}

impl World {
    /// Keeps secret values apart, as the real agent does.
    fn keep_secrets(&mut self, connection: &mut v1::Connection) {
        if let Some(v1::connection::Options::Kafka(kafka)) = &mut connection.options
            && let Some(password) = kafka.password.take()
        {
            self.passwords.insert(connection.name.clone(), password);
            connection.secrets_revision = format!("revision-{}", self.next());
        }
    }
}

#[tonic::async_trait]
impl ConnectionService for Services {
    async fn create_connection(
        &self,
        request: Request<v1::CreateConnectionRequest>,
    ) -> Result<Response<v1::CreateConnectionResponse>, Status> {
        self.hang_if_told("CreateConnection").await;
        let mut world = self.world();
        let fault = world.arrive("CreateConnection", &request)?;
        let mut connection = request.into_inner().connection.unwrap_or_default();
        if world.connections.contains_key(&connection.name) {
            return Err(Status::already_exists("exists"));
        }
        world.keep_secrets(&mut connection);
        connection.uid = format!("uid-{}", world.next());
        connection.generation = 1;
        world.connections.insert(connection.name.clone(), connection.clone());
        answer(
            fault,
            v1::CreateConnectionResponse {
                connection: Some(connection),
            },
        )
    }

    async fn get_connection(&self, request: Request<v1::GetConnectionRequest>) -> Result<Response<v1::GetConnectionResponse>, Status> {
        let mut world = self.world();
        let fault = world.arrive("GetConnection", &request)?;
        let name = request.into_inner().name;
        let connection = world.connections.get(&name).cloned().ok_or_else(|| not_found(&name))?;
        answer(
            fault,
            v1::GetConnectionResponse {
                connection: Some(connection),
            },
        )
    }

    async fn list_connections(&self, _: Request<v1::ListConnectionsRequest>) -> Result<Response<v1::ListConnectionsResponse>, Status> {
        Err(Status::unimplemented("the provider does not list"))
    }

    async fn update_connection(
        &self,
        request: Request<v1::UpdateConnectionRequest>,
    ) -> Result<Response<v1::UpdateConnectionResponse>, Status> {
        let mut world = self.world();
        let fault = world.arrive("UpdateConnection", &request)?;
        let request = request.into_inner();
        let mut wanted = request.connection.unwrap_or_default();
        world.masks.push(request.update_mask.unwrap_or_default().paths);
        world.keep_secrets(&mut wanted);
        let uid = world.connections.get(&wanted.name).map(|kept| kept.uid.clone()).unwrap_or_default();
        world.same_life(&request.uid, &uid)?;
        let kept = world.connections.get_mut(&wanted.name).ok_or_else(|| not_found(&wanted.name))?;
        if request.generation != 0 && request.generation != kept.generation {
            return Err(Status::aborted("another generation is in force"));
        }
        kept.comment = wanted.comment;
        kept.options = wanted.options;
        if !wanted.secrets_revision.is_empty() {
            kept.secrets_revision = wanted.secrets_revision;
        }
        kept.generation += 1;
        let connection = Some(kept.clone());
        answer(fault, v1::UpdateConnectionResponse { connection })
    }

    async fn delete_connection(
        &self,
        request: Request<v1::DeleteConnectionRequest>,
    ) -> Result<Response<v1::DeleteConnectionResponse>, Status> {
        let mut world = self.world();
        let fault = world.arrive("DeleteConnection", &request)?;
        let v1::DeleteConnectionRequest { name, uid, .. } = request.into_inner();
        let kept = world.connections.get(&name).ok_or_else(|| not_found(&name))?;
        if !uid.is_empty() && uid != kept.uid {
            return Err(not_found(&name));
        }
        world.connections.remove(&name);
        answer(fault, v1::DeleteConnectionResponse {})
    }

    async fn check_connection(
        &self,
        request: Request<v1::CheckConnectionRequest>,
    ) -> Result<Response<v1::CheckConnectionResponse>, Status> {
        let mut world = self.world();
        let fault = world.arrive("CheckConnection", &request)?;
        let missing_capabilities = world.missing_capabilities.clone();
        if let Some(v1::connection::Options::Kafka(kafka)) = request.into_inner().connection.and_then(|it| it.options) {
            world.checked_passwords.push(kafka.password);
        }
        answer(
            fault,
            v1::CheckConnectionResponse {
                violations: Vec::new(),
                missing_capabilities,
                warnings: world.scripted_warnings.clone(),
                used_by: world.used_by.clone(),
                used_by_others: world.used_by_others,
            },
        )
    }

    async fn test_connection(&self, _: Request<v1::TestConnectionRequest>) -> Result<Response<v1::TestConnectionResponse>, Status> {
        Err(Status::unimplemented("the provider does not test"))
    }

    async fn execute_sql(&self, _: Request<v1::ExecuteSqlRequest>) -> Result<Response<v1::ExecuteSqlResponse>, Status> {
        Err(Status::unimplemented("the provider speaks no SQL"))
    }
}
