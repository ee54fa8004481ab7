//! The questions that streams have, and the answers that are kept.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use stream_spec::limits::{REFERENCES_BYTES_MAX, REFERENCES_MAX};
use stream_spec::schema::{ReferencedText, SchemaFormat};
use tokio::time::Instant;

use super::answers::{Lookup, ReferenceAnswer, SchemaAnswer, SubjectVersion, type_word};
use super::cache::{Cache, Fetched};
use super::context::{context_of, in_context, same_subject};
use super::error::RegistryError;
use super::http::{Answer, Knock, Question, Transport};
use super::limits::{ABSENCE_CONFIRMED_AFTER, KEPT, SCHEMAS_KEPT_BYTES_MAX, SCHEMAS_KEPT_MAX, SUBJECTS_KEPT_MAX, WAITS, Waits};
use super::open::{self, RegistryProperties};
use super::schema::{RegisteredSchema, shown_id, shown_version};

/// Codes that say what is not there; a 404 without one is of a path that the registry does not have.
const SUBJECT_NOT_FOUND: u32 = 40401;
const VERSION_NOT_FOUND: u32 = 40402;
const SCHEMA_NOT_FOUND: u32 = 40403;

/// A client of one registry. Cheap to ask again: what does not change is kept, and what many wait for is asked for once.
pub struct RegistryClient {
    transport: Transport,
    /// By context and id: a context counts its own ids.
    schemas: Cache<(String, u32), Arc<RegisteredSchema>>,
    /// Versions of subjects that others refer to.
    versions: Cache<(String, i32), Arc<SchemaAnswer>>,
    subjects: Cache<(u32, String), bool>,
}

impl std::fmt::Debug for RegistryClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RegistryClient").finish_non_exhaustive()
    }
}

impl RegistryClient {
    /// A client of its own; [`super::RegistryPool::open`] shares one. No request is made.
    pub fn open(properties: &RegistryProperties) -> Result<Self, RegistryError> {
        Self::with_waits(properties, WAITS)
    }

    /// One that waits for answers as long as is said.
    pub(super) fn with_waits(properties: &RegistryProperties, waits: Waits) -> Result<Self, RegistryError> {
        Ok(Self {
            transport: open::transport(properties, waits)?,
            schemas: Cache::new(SCHEMAS_KEPT_MAX, SCHEMAS_KEPT_BYTES_MAX, KEPT),
            versions: Cache::new(SCHEMAS_KEPT_MAX, SCHEMAS_KEPT_BYTES_MAX, KEPT),
            subjects: Cache::new(SUBJECTS_KEPT_MAX, usize::MAX, KEPT),
        })
    }

    /// The latest version of a subject, which must be in that language. Asks the registry each time.
    pub async fn latest(&self, subject: &str, format: SchemaFormat) -> Result<Arc<RegisteredSchema>, RegistryError> {
        let what = format!("version of the subject `{subject}`");
        let answer = self.version_answer(subject, "latest", &what).await?;
        let (Some(id), Some(version)) = (answer.id, answer.version) else {
            return Err(self.malformed("the latest version of a subject has no `id` or `version`"));
        };
        let what = shown_version(subject, version);
        let actual = answer.format(&what)?;
        if actual != format {
            return Err(RegistryError::Unusable {
                what,
                reason: format!("it is a schema in {actual}, and the stream's `format` says {format}: name another subject or format"),
            });
        }
        let references = self.referenced(&answer, subject, &what).await?;
        Ok(Arc::new(RegisteredSchema {
            id,
            subject: Some(subject.to_owned()),
            version: Some(version),
            format,
            text: answer.schema,
            references,
        }))
    }

    /// The schema of an id, with all that it refers to. `subject` is the one that the messages should be of: only its context, if it
    /// names one, matters here.
    ///
    /// That an id is not there is believed on a second answer, a moment later and of another address if there is one.
    pub async fn by_id(&self, id: u32, subject: &str) -> Result<Arc<RegisteredSchema>, RegistryError> {
        let key = (context_of(subject).to_owned(), id);
        self.schemas.get(key, self.fetch_by_id(id, subject)).await
    }

    async fn fetch_by_id(&self, id: u32, subject: &str) -> Result<Fetched<Arc<RegisteredSchema>>, RegistryError> {
        let (what, text) = (shown_id(id), id.to_string());
        let parameters = [("subject", subject)];
        let question = Question {
            path: &["schemas", "ids", &text],
            parameters: if context_of(subject).is_empty() { &[] } else { &parameters },
            body: None,
        };
        let mut found = self.document::<SchemaAnswer>(&question, 0, &what).await;
        if let Err(RegistryError::NotFound { .. }) = found {
            tokio::time::sleep(ABSENCE_CONFIRMED_AFTER).await;
            found = self.document(&question, 1, &what).await;
        }
        let answer = found?;
        let format = answer.format(&what)?;
        let references = self.referenced(&answer, subject, &what).await?;
        let schema = RegisteredSchema {
            id,
            subject: None,
            version: None,
            format,
            text: answer.schema,
            references,
        };
        Ok(Fetched {
            bytes: schema.bytes(),
            value: Arc::new(schema),
            lasting: true,
        })
    }

    /// Whether the schema of an id is, or was, a version of a subject. `Ok(false)` may change: it is kept for a moment only.
    pub async fn has_subject(&self, id: u32, subject: &str) -> Result<bool, RegistryError> {
        let fetch = async {
            let has = match self.subjects_of(id, subject).await? {
                Some(subjects) => subjects.iter().any(|version| same_subject(&version.subject, subject)),
                None => self.look_up(id, subject).await?,
            };
            Ok(Fetched {
                value: has,
                bytes: 0,
                lasting: has,
            })
        };
        self.subjects.get((id, subject.to_owned()), fetch).await
    }

    /// Connects to each address.
    pub(super) async fn knock(&self, until: Instant) -> Vec<Knock> {
        self.transport.knock(until).await
    }

    /// How many subjects the registry lists to this user: that it answers at all is what a test of a connection wants to know.
    pub async fn subject_count(&self) -> Result<usize, RegistryError> {
        let question = Question {
            path: &["subjects"],
            parameters: &[],
            body: None,
        };
        let subjects: Vec<String> = self.document(&question, 0, "list of subjects").await?;
        Ok(subjects.len())
    }

    /// The subjects of an id; nothing where the registry does not have that question.
    async fn subjects_of(&self, id: u32, subject: &str) -> Result<Option<Vec<SubjectVersion>>, RegistryError> {
        let text = id.to_string();
        let mut parameters = vec![("deleted", "true")];
        if !context_of(subject).is_empty() {
            parameters.push(("subject", subject));
        }
        let question = Question {
            path: &["schemas", "ids", &text, "versions"],
            parameters: &parameters,
            body: None,
        };
        match self.transport.ask(&question, 0).await? {
            Answer::Json(text, url) => read(&text, url).map(Some),
            Answer::Missing(Some(SCHEMA_NOT_FOUND)) => Err(RegistryError::NotFound { what: shown_id(id) }),
            Answer::Missing(_) => Ok(None),
        }
    }

    /// Asks a subject for the text of an id: what registries without the other question have.
    async fn look_up(&self, id: u32, subject: &str) -> Result<bool, RegistryError> {
        let text = id.to_string();
        let what = shown_id(id);
        let by_id = Question {
            path: &["schemas", "ids", &text],
            parameters: &[],
            body: None,
        };
        let schema: SchemaAnswer = self.document(&by_id, 0, &what).await?;
        let lookup = Lookup {
            schema: &schema.schema,
            schema_type: type_word(schema.format(&what)?),
            references: schema.references(),
        };
        let body = serde_json::to_vec(&lookup).map_err(|_| self.malformed("a schema cannot be asked for"))?;
        let question = Question {
            path: &["subjects", subject],
            parameters: &[("deleted", "true")],
            body: Some(body),
        };
        match self.transport.ask(&question, 0).await? {
            Answer::Json(text, url) => read::<SchemaAnswer>(&text, url).map(|found| found.id == Some(id)),
            Answer::Missing(_) => Ok(false),
        }
    }

    /// Everything that a schema refers to, directly or by way of others.
    async fn referenced(&self, schema: &SchemaAnswer, subject: &str, what: &str) -> Result<Vec<ReferencedText>, RegistryError> {
        let unusable = |reason: String| RegistryError::Unusable {
            what: what.to_owned(),
            reason,
        };
        let mut texts: Vec<ReferencedText> = Vec::new();
        let mut known: HashMap<String, (String, i32)> = HashMap::new();
        let mut bytes = 0;
        let mut open: VecDeque<ReferenceAnswer> = schema.references().iter().cloned().collect();
        while let Some(reference) = open.pop_front() {
            let place = (in_context(&reference.subject, subject), reference.version);
            if let Some(other) = known.get(&reference.name) {
                if *other != place {
                    return Err(unusable(format!(
                        "it refers to two schemas as `{}`: {} and {}",
                        reference.name,
                        shown_version(&other.0, other.1),
                        shown_version(&place.0, place.1)
                    )));
                }
                continue;
            }
            let found = self.version(&place.0, place.1).await.map_err(|error| match error {
                RegistryError::NotFound { what } => unusable(format!("it refers to {what}, which is not there")),
                error => error,
            })?;
            bytes += found.schema.len();
            if texts.len() >= REFERENCES_MAX || bytes > REFERENCES_BYTES_MAX {
                return Err(unusable(format!(
                    "it refers to more than {REFERENCES_MAX} schemas or {REFERENCES_BYTES_MAX} bytes"
                )));
            }
            open.extend(found.references().iter().cloned());
            texts.push(ReferencedText {
                name: reference.name.clone(),
                text: found.schema.clone(),
            });
            known.insert(reference.name, place);
        }
        Ok(texts)
    }

    /// A version that another schema refers to; it never changes.
    async fn version(&self, subject: &str, version: i32) -> Result<Arc<SchemaAnswer>, RegistryError> {
        let fetch = async {
            let answer = self
                .version_answer(subject, &version.to_string(), &shown_version(subject, version))
                .await?;
            Ok(Fetched {
                bytes: answer.schema.len(),
                value: Arc::new(answer),
                lasting: true,
            })
        };
        self.versions.get((subject.to_owned(), version), fetch).await
    }

    async fn version_answer(&self, subject: &str, version: &str, what: &str) -> Result<SchemaAnswer, RegistryError> {
        let question = Question {
            path: &["subjects", subject, "versions", version],
            parameters: &[],
            body: None,
        };
        self.document(&question, 0, what).await
    }

    /// A document that should be there.
    async fn document<T: DeserializeOwned>(&self, question: &Question<'_>, skipped: usize, what: &str) -> Result<T, RegistryError> {
        match self.transport.ask(question, skipped).await? {
            Answer::Json(text, url) => read(&text, url),
            Answer::Missing(Some(SUBJECT_NOT_FOUND | VERSION_NOT_FOUND | SCHEMA_NOT_FOUND)) => {
                Err(RegistryError::NotFound { what: what.to_owned() })
            }
            Answer::Missing(_) => Err(self.malformed(&format!("it has no path `/{}`", question.path.join("/")))),
        }
    }

    fn malformed(&self, problem: &str) -> RegistryError {
        RegistryError::Malformed {
            url: self.transport.first_url().map(ToString::to_string).unwrap_or_default(),
            problem: problem.to_owned(),
        }
    }
}

fn read<T: DeserializeOwned>(text: &[u8], url: String) -> Result<T, RegistryError> {
    serde_json::from_slice(text).map_err(|error| RegistryError::Malformed {
        url,
        // Where and what kind: never what the answer holds.
        problem: match error.classify() {
            serde_json::error::Category::Data => "an answer lacks what it should have, or has it otherwise".into(),
            _ => "an answer is no JSON".into(),
        },
    })
}
