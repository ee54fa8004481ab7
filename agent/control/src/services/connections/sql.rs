//! Statements about connections (product part C2): each becomes one of the calls that other callers make, with what these decide.
//! The invariant: no statement's text is kept, logged or repeated.

use stream_spec::connection::{ConnectionKind, ConnectionSpec};
use stream_spec::connection_sql::{self, OptionName, SqlError, SqlOption, SqlValue, Statement};
use stream_spec::name::ConnectionName;
use stream_spec::options::connection::{self as registry, HIDDEN};
use stream_spec::violation::Violation;
use zeroize::Zeroizing;

use super::{ConnectionChange, ConnectionService, ConnectionToDelete, ConnectionView, DeclaredConnection, LiteralChanges};
use crate::governance::RequestContext;
use crate::governance::secrets::SecretValue;
use crate::limits::PAGE_SIZE_MAX;
use crate::services::PageRequest;
use crate::services::error::ServiceError;

/// What a statement answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SqlRows {
    /// Names of the columns.
    pub columns: Vec<&'static str>,
    /// A text for each column.
    pub rows: Vec<Vec<String>>,
}

impl ConnectionService {
    /// Runs one statement. The text is wiped.
    pub async fn execute(&self, context: &RequestContext, statement: String) -> Result<SqlRows, ServiceError> {
        let statement = Zeroizing::new(statement);
        match connection_sql::parse(&statement).map_err(refusal)? {
            Statement::Create {
                name,
                if_not_exists,
                kind,
                options,
                comment,
            } => {
                let declared = declared(name.clone(), comment, kind, options)?;
                match self.create(context, declared, "").await {
                    Ok(_) => Ok(done(format!("created connection `{name}`"))),
                    Err(ServiceError::AlreadyExists { .. }) if if_not_exists => Ok(done(format!("connection `{name}` exists already"))),
                    Err(error) => Err(error),
                }
            }
            Statement::Alter { name, set, unset } => {
                self.change(context, &name, &|now| altered(now, &set, &unset)).await?;
                Ok(done(format!("changed connection `{name}`")))
            }
            Statement::Comment { name, comment } => {
                let change = |now: &ConnectionSpec| {
                    Ok(DeclaredConnection {
                        spec: ConnectionSpec {
                            comment: comment.clone(),
                            ..now.clone()
                        },
                        literals: LiteralChanges::new(),
                    })
                };
                self.change(context, &name, &change).await?;
                Ok(done(format!("changed connection `{name}`")))
            }
            Statement::Drop { name, if_exists } => {
                let request = ConnectionToDelete {
                    name: name.clone(),
                    even_if_used: false,
                    uid: String::new(),
                };
                match self.delete(context, &request).await {
                    Ok(()) => Ok(done(format!("dropped connection `{name}`"))),
                    Err(ServiceError::NotFound { .. }) if if_exists => Ok(done(format!("there is no connection `{name}`"))),
                    Err(error) => Err(error),
                }
            }
            Statement::Show => self.show(context).await,
            Statement::Describe { name } => Ok(described(&self.get(context, &name).await?)),
        }
    }

    async fn change(
        &self,
        context: &RequestContext,
        name: &ConnectionName,
        change: super::MakeDeclaration<'_>,
    ) -> Result<(), ServiceError> {
        let change = ConnectionChange {
            name: name.clone(),
            change,
            generation: 0,
            uid: String::new(),
        };
        self.update(context, change).await.map(drop)
    }

    async fn show(&self, context: &RequestContext) -> Result<SqlRows, ServiceError> {
        let mut rows = Vec::new();
        let mut page_token = String::new();
        loop {
            let request = PageRequest {
                size: i32::try_from(PAGE_SIZE_MAX).unwrap_or(i32::MAX),
                token: page_token,
            };
            let page = self.list(context, &request).await?;
            rows.extend(page.items.iter().map(|view| {
                let spec = &view.record.spec;
                let kind = spec.options.kind().to_string();
                vec![spec.name.to_string(), kind, spec.comment.clone().unwrap_or_default()]
            }));
            page_token = page.next_page_token;
            if page_token.is_empty() {
                let columns = vec!["name", "type", "comment"];
                return Ok(SqlRows { columns, rows });
            }
        }
    }
}

fn done(text: String) -> SqlRows {
    SqlRows {
        columns: vec!["result"],
        rows: vec![vec![text]],
    }
}

fn described(view: &ConnectionView) -> SqlRows {
    let record = &view.record;
    let spec = &record.spec;
    let mut rows = vec![
        vec!["name".to_owned(), spec.name.to_string()],
        vec!["type".to_owned(), spec.options.kind().to_string()],
        vec!["comment".to_owned(), spec.comment.clone().unwrap_or_default()],
    ];
    for option in registry::all(spec.options.kind()) {
        let is_kept = record.literal_secrets.contains_key(option.name);
        let shown = option.read(&spec.options).or_else(|| is_kept.then(|| HIDDEN.to_owned()));
        rows.extend(shown.map(|text| vec![option.name.to_owned(), text]));
    }
    rows.push(vec!["created_by".to_owned(), record.created_by.clone()]);
    rows.push(vec!["updated_by".to_owned(), record.updated_by.clone()]);
    SqlRows {
        columns: vec!["item", "value"],
        rows,
    }
}

/// Names the place, and repeats nothing of the statement.
fn violation(error: SqlError) -> Violation {
    let SqlError { place, problem, remedy } = error;
    Violation {
        field: "statement".to_owned(),
        value: "a statement".to_owned(),
        problem: format!("line {}, column {}: {problem}", place.line, place.column),
        remedy,
    }
}

fn refusal(error: SqlError) -> ServiceError {
    ServiceError::Invalid(vec![violation(error)])
}

fn declared(
    name: ConnectionName,
    comment: Option<String>,
    kind: ConnectionKind,
    options: Vec<SqlOption>,
) -> Result<DeclaredConnection, ServiceError> {
    let mut declared = DeclaredConnection {
        spec: ConnectionSpec {
            name,
            comment,
            options: registry::empty(kind),
        },
        literals: LiteralChanges::new(),
    };
    apply(&mut declared, options, Vec::new()).map_err(ServiceError::Invalid)?;
    Ok(declared)
}

fn altered(now: &ConnectionSpec, set: &[SqlOption], unset: &[OptionName]) -> Result<DeclaredConnection, Vec<Violation>> {
    let mut declared = DeclaredConnection {
        spec: now.clone(),
        literals: LiteralChanges::new(),
    };
    apply(&mut declared, set.to_vec(), unset.to_vec())?;
    Ok(declared)
}

/// Puts a statement's options into a declaration. A secret that is set one way is no longer set the other way.
fn apply(declared: &mut DeclaredConnection, set: Vec<SqlOption>, unset: Vec<OptionName>) -> Result<(), Vec<Violation>> {
    let kind = declared.spec.options.kind();
    let settings = connection_sql::settings(kind, set, unset).map_err(|error| vec![violation(error)])?;
    for (option, value) in settings {
        let options = &mut declared.spec.options;
        match value {
            Some(SqlValue::Secret(reference)) => option.refer(options, Some(reference)),
            Some(SqlValue::Literal(text)) if option.is_secret() => {
                option.refer(options, None);
                declared.literals.insert(option.name, Some(SecretValue::from(text.into_string())));
            }
            Some(SqlValue::Literal(text)) => option
                .write(options, Some(text.into_string()))
                .map_err(|violation| vec![violation])?,
            None if option.is_secret() => {
                option.refer(options, None);
                declared.literals.insert(option.name, None);
            }
            None => option.write(options, None).map_err(|violation| vec![violation])?,
        }
    }
    Ok(())
}
