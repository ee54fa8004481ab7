//! `ConnectionService` over gRPC.

use std::collections::BTreeMap;

use featurestore_proto::convert::{connection_from_spec, connection_to_spec, stream_to_spec, violation_from_spec};
use featurestore_proto::v1;
use stream_spec::connection::ConnectionSpec;
use stream_spec::violation::Violation;
use tonic::{Request, Response, Status, async_trait};

use super::{answers, context, requests, serve};
use crate::connections::secret_options;
use crate::governance::calls::Call;
use crate::governance::secrets::SecretValue;
use crate::services::connections::{
    ConnectionChange, ConnectionService, ConnectionToDelete, ConnectionToTest, DeclaredConnection, LiteralChanges,
};
use crate::services::error::ServiceError;

pub(super) struct ConnectionsOverGrpc(pub(super) ConnectionService);

/// A declaration with the literal secrets that came with it. The values are moved, so that no copy stays in the message.
fn declared(mut connection: v1::Connection) -> Result<DeclaredConnection, Vec<Violation>> {
    let literals = take_literals(&mut connection);
    Ok(DeclaredConnection {
        spec: connection_to_spec(&connection)?,
        literals: literals.into_iter().map(|(name, value)| (name, Some(value))).collect(),
    })
}

/// The literal secrets of a message, which holds none afterwards.
fn take_literals(connection: &mut v1::Connection) -> BTreeMap<&'static str, SecretValue> {
    let mut literals = BTreeMap::new();
    if let Some(v1::connection::Options::Kafka(kafka)) = &mut connection.options {
        let taken = [
            ("password", kafka.password.take()),
            ("schema_registry_api_secret", kafka.schema_registry_api_secret.take()),
        ];
        literals.extend(
            taken
                .into_iter()
                .filter_map(|(name, value)| Some((name, SecretValue::from(value?)))),
        );
    }
    literals
}

/// The connection in force with the fields of `wanted` that the mask names. A secret that the mask names and that did not come is
/// taken away; one that it does not name stays.
fn merged(
    now: &ConnectionSpec,
    wanted: &v1::Connection,
    literals: &BTreeMap<&'static str, SecretValue>,
    paths: &[String],
) -> Result<DeclaredConnection, Vec<Violation>> {
    use v1::connection::Options;
    let mut merged = connection_from_spec(now);
    let mut named = LiteralChanges::new();
    for path in paths {
        let was_set = match (path.as_str(), &wanted.options, &mut merged.options) {
            ("comment", _, _) => {
                merged.comment.clone_from(&wanted.comment);
                true
            }
            ("kafka", Some(Options::Kafka(_)), _) | ("kinesis", Some(Options::Kinesis(_)), _) => {
                merged.options.clone_from(&wanted.options);
                for option in secret_options(now) {
                    named.insert(option.name, literals.get(option.name).cloned());
                }
                true
            }
            (path, Some(Options::Kafka(from)), Some(Options::Kafka(to))) => {
                let secret = secret_options(now).find(|option| path.strip_prefix("kafka.") == Some(option.name));
                match secret {
                    Some(option) => {
                        named.insert(option.name, literals.get(option.name).cloned());
                        true
                    }
                    None => set_kafka_option(path, from, to),
                }
            }
            (path, Some(Options::Kinesis(from)), Some(Options::Kinesis(to))) => set_kinesis_option(path, from, to),
            _ => false,
        };
        if !was_set {
            let remedy = "use comment, kafka, kinesis, or one option of these as in kafka.bootstrap_servers, and send it";
            return Err(vec![Violation::new(
                "update_mask",
                path,
                "the field cannot be updated, or was not sent",
                remedy,
            )]);
        }
    }
    Ok(DeclaredConnection {
        spec: connection_to_spec(&merged)?,
        literals: named,
    })
}

fn set_kafka_option(path: &str, from: &v1::KafkaConnection, to: &mut v1::KafkaConnection) -> bool {
    match path {
        "kafka.bootstrap_servers" => to.bootstrap_servers.clone_from(&from.bootstrap_servers),
        "kafka.security_protocol" => to.security_protocol.clone_from(&from.security_protocol),
        "kafka.sasl_mechanism" => to.sasl_mechanism.clone_from(&from.sasl_mechanism),
        "kafka.user" => to.user.clone_from(&from.user),
        "kafka.password_secret" => to.password_secret.clone_from(&from.password_secret),
        "kafka.credential" => to.credential.clone_from(&from.credential),
        "kafka.ca_pem" => to.ca_pem.clone_from(&from.ca_pem),
        "kafka.schema_registry_url" => to.schema_registry_url.clone_from(&from.schema_registry_url),
        "kafka.schema_registry_api_key" => to.schema_registry_api_key.clone_from(&from.schema_registry_api_key),
        "kafka.schema_registry_api_secret_ref" => to.schema_registry_api_secret_ref.clone_from(&from.schema_registry_api_secret_ref),
        _ => return false,
    }
    true
}

fn set_kinesis_option(path: &str, from: &v1::KinesisConnection, to: &mut v1::KinesisConnection) -> bool {
    match path {
        "kinesis.aws_region" => to.aws_region.clone_from(&from.aws_region),
        "kinesis.credential" => to.credential.clone_from(&from.credential),
        "kinesis.endpoint" => to.endpoint.clone_from(&from.endpoint),
        _ => return false,
    }
    true
}

#[async_trait]
impl v1::connection_service_server::ConnectionService for ConnectionsOverGrpc {
    async fn create_connection(
        &self,
        request: Request<v1::CreateConnectionRequest>,
    ) -> Result<Response<v1::CreateConnectionResponse>, Status> {
        let context = context(&request);
        let message = request.into_inner();
        serve(Call::CreateConnection, &context, async {
            let connection = declared(requests::required("connection", message.connection)?).map_err(ServiceError::Invalid)?;
            let record = self.0.create(&context, connection, &message.request_id).await?;
            Ok(v1::CreateConnectionResponse {
                connection: Some(answers::connection(&record)),
            })
        })
        .await
    }

    async fn get_connection(&self, request: Request<v1::GetConnectionRequest>) -> Result<Response<v1::GetConnectionResponse>, Status> {
        let context = context(&request);
        serve(Call::GetConnection, &context, async {
            let record = self.0.get(&context, &requests::connection_name(&request.get_ref().name)?).await?;
            Ok(v1::GetConnectionResponse {
                connection: Some(answers::connection(&record)),
            })
        })
        .await
    }

    async fn list_connections(
        &self,
        request: Request<v1::ListConnectionsRequest>,
    ) -> Result<Response<v1::ListConnectionsResponse>, Status> {
        let context = context(&request);
        let message = request.into_inner();
        serve(Call::ListConnections, &context, async {
            let page = self
                .0
                .list(&context, &requests::page(message.page_size, message.page_token))
                .await?;
            Ok(v1::ListConnectionsResponse {
                connections: page.items.iter().map(answers::connection).collect(),
                next_page_token: page.next_page_token,
            })
        })
        .await
    }

    async fn update_connection(
        &self,
        request: Request<v1::UpdateConnectionRequest>,
    ) -> Result<Response<v1::UpdateConnectionResponse>, Status> {
        let context = context(&request);
        let message = request.into_inner();
        serve(Call::UpdateConnection, &context, async {
            let mut wanted = requests::required("connection", message.connection)?;
            let literals = take_literals(&mut wanted);
            let paths = requests::required("update_mask", message.update_mask)?.paths;
            let change = ConnectionChange {
                name: requests::connection_name(&wanted.name)?,
                change: &|now| merged(now, &wanted, &literals, &paths),
                generation: message.generation,
                uid: message.uid,
            };
            let record = self.0.update(&context, change).await?;
            Ok(v1::UpdateConnectionResponse {
                connection: Some(answers::connection(&record)),
            })
        })
        .await
    }

    async fn delete_connection(
        &self,
        request: Request<v1::DeleteConnectionRequest>,
    ) -> Result<Response<v1::DeleteConnectionResponse>, Status> {
        let context = context(&request);
        let message = request.into_inner();
        serve(Call::DeleteConnection, &context, async {
            let request = ConnectionToDelete {
                name: requests::connection_name(&message.name)?,
                even_if_used: message.force,
                uid: message.uid,
            };
            self.0.delete(&context, &request).await?;
            Ok(v1::DeleteConnectionResponse {})
        })
        .await
    }

    async fn check_connection(
        &self,
        request: Request<v1::CheckConnectionRequest>,
    ) -> Result<Response<v1::CheckConnectionResponse>, Status> {
        let context = context(&request);
        let message = request.into_inner();
        serve(Call::CheckConnection, &context, async {
            let as_messages = |violations: &[Violation]| violations.iter().map(violation_from_spec).collect();
            let checked = match declared(requests::required("connection", message.connection)?) {
                Ok(connection) => self.0.check(&context, &connection).await?,
                Err(violations) => self.0.check_unreadable(&context, violations).await?,
            };
            Ok(v1::CheckConnectionResponse {
                violations: as_messages(&checked.violations),
                missing_capabilities: as_messages(&checked.missing_capabilities),
                warnings: as_messages(&checked.warnings),
                used_by: checked.used_by.iter().map(ToString::to_string).collect(),
                used_by_others: u32::try_from(checked.used_by_others).unwrap_or(u32::MAX),
            })
        })
        .await
    }

    async fn test_connection(&self, request: Request<v1::TestConnectionRequest>) -> Result<Response<v1::TestConnectionResponse>, Status> {
        use v1::test_connection_request::Target;
        let context = context(&request);
        let message = request.into_inner();
        serve(Call::TestConnection, &context, async {
            let target = match requests::required("target", message.target)? {
                Target::Name(name) => ConnectionToTest::Stored(requests::connection_name(&name)?),
                Target::Connection(connection) => {
                    ConnectionToTest::Declared(Box::new(declared(connection).map_err(ServiceError::Invalid)?))
                }
                Target::Stream(stream) => ConnectionToTest::OfStream(Box::new(stream_to_spec(&stream).map_err(ServiceError::Invalid)?)),
            };
            let steps = self.0.test(&context, target).await?.into_iter().map(|step| v1::TestStep {
                name: step.name.to_owned(),
                ok: step.ok,
                message: step.message,
            });
            Ok(v1::TestConnectionResponse { steps: steps.collect() })
        })
        .await
    }

    async fn execute_sql(&self, request: Request<v1::ExecuteSqlRequest>) -> Result<Response<v1::ExecuteSqlResponse>, Status> {
        let context = context(&request);
        let message = request.into_inner();
        serve(Call::ExecuteSql, &context, async {
            let answer = self.0.execute(&context, message.statement).await?;
            Ok(v1::ExecuteSqlResponse {
                columns: answer.columns.into_iter().map(str::to_owned).collect(),
                rows: answer.rows.into_iter().map(|values| v1::SqlRow { values }).collect(),
            })
        })
        .await
    }
}
