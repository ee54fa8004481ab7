//! Schema registries: Apicurio, which is a real one with Confluent's interface, and a small one in memory that fails on demand.
//! Invariant: loopback only, and they die with the run.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use reqwest::Method;
use serde_json::{Value, json};

use crate::api::block_on;
use crate::limits::{REGISTRY_READY, REGISTRY_REQUEST};
use crate::paths::{discard, fresh_folder, repository, test_parts};
use crate::spawn::{signal, spawn};
use crate::wait::wait_until;

/// A schema to be registered.
#[derive(Clone, Debug)]
pub struct Schema {
    kind: &'static str,
    text: String,
    references: Vec<(String, String, i32)>,
}

impl Schema {
    /// One in Avro.
    #[must_use]
    pub fn avro(text: &str) -> Self {
        Self::of("AVRO", text)
    }

    /// One in Protobuf.
    #[must_use]
    pub fn protobuf(text: &str) -> Self {
        Self::of("PROTOBUF", text)
    }

    /// One in JSON Schema.
    #[must_use]
    pub fn json(text: &str) -> Self {
        Self::of("JSON", text)
    }

    fn of(kind: &'static str, text: &str) -> Self {
        Self {
            kind,
            text: text.to_owned(),
            references: Vec::new(),
        }
    }

    /// It refers to a version of a subject by a name: of a type in Avro, of an import in Protobuf.
    #[must_use]
    pub fn with_reference(mut self, name: &str, subject: &str, version: i32) -> Self {
        self.references.push((name.to_owned(), subject.to_owned(), version));
        self
    }

    fn body(&self) -> Value {
        let reference = |(name, subject, version): &(String, String, i32)| json!({"name": name, "subject": subject, "version": version});
        let references: Vec<Value> = self.references.iter().map(reference).collect();
        json!({"schemaType": self.kind, "schema": self.text, "references": references})
    }
}

/// The real registry. It keeps its schemas and its address over restarts.
pub struct Registry {
    folder: PathBuf,
    user: Option<String>,
    process: Mutex<Option<Child>>,
    url: String,
}

impl Registry {
    /// One that asks nobody who they are.
    #[must_use]
    pub fn start() -> Self {
        Self::launched(None)
    }

    /// One that answers that user only.
    #[must_use]
    pub fn start_with_user(name: &str, password: &str) -> Self {
        Self::launched(Some(format!("{name}:{password}")))
    }

    fn launched(user: Option<String>) -> Self {
        let folder = fresh_folder("registry");
        let process = launch(&folder, &[], user.as_deref());
        let url = url_of(&folder);
        let registry = Self {
            folder,
            user,
            process: Mutex::new(Some(process)),
            url,
        };
        registry.await_ready();
        registry
    }

    /// Its address, as `schema_registry_url` has it.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// `name:password` of the user that it answers, if it asks for one.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// Registers a schema as the next version of a subject, and returns its id.
    pub fn register(&self, subject: &str, schema: &Schema) -> u32 {
        register(&self.url, self.user(), subject, schema)
    }

    /// Deletes a subject, as a user does first: its schemas are still found by their ids.
    pub fn delete_subject(&self, subject: &str) {
        ask(Method::DELETE, &format!("{}/subjects/{subject}", self.url), self.user(), None).unwrap();
    }

    /// Kills it without warning.
    pub fn kill(&self) {
        let mut process = self.process.lock().unwrap().take().expect("the registry runs");
        process.kill().unwrap();
        process.wait().unwrap();
    }

    /// Has it hang: its connections stay, and nothing answers.
    pub fn freeze(&self) {
        signal(self.process.lock().unwrap().as_ref().expect("the registry runs"), libc::SIGSTOP);
    }

    /// Has it go on after [`Self::freeze`].
    pub fn thaw(&self) {
        signal(self.process.lock().unwrap().as_ref().expect("the registry runs"), libc::SIGCONT);
    }

    /// Starts it again after a kill.
    pub fn start_again(&self) {
        {
            let mut process = self.process.lock().unwrap();
            assert!(process.is_none(), "the registry still runs");
            *process = Some(launch(&self.folder, &["--again"], self.user()));
        }
        self.await_ready();
    }

    /// Starts it again after a kill, so that it answers that user only.
    pub fn start_again_with_user(&mut self, name: &str, password: &str) {
        self.user = Some(format!("{name}:{password}"));
        self.start_again();
    }

    fn await_ready(&self) {
        wait_until("the registry is ready", REGISTRY_READY, || {
            let ended = self
                .process
                .lock()
                .unwrap()
                .as_mut()
                .and_then(|process| process.try_wait().unwrap());
            let log = || fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            if let Some(status) = ended {
                panic!("the registry stopped with {status}: {}", log());
            }
            ask(Method::GET, &format!("{}/subjects", self.url), self.user(), None).map_err(|error| format!("{error}\n{}", log()))
        });
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = process.kill();
            let _ = process.wait();
        }
        discard(&self.folder);
    }
}

fn launch(folder: &Path, flags: &[&str], user: Option<&str>) -> Child {
    let mut command = Command::new(repository().join("scripts/registry/start.sh"));
    command.args(flags).arg(folder).stdin(Stdio::null());
    command.env("REGISTRY_HOME", &test_parts().registry_home);
    command.env("REGISTRY_USER", user.unwrap_or_default());
    spawn(command).expect("start the registry")
}

/// The script writes the port before it becomes the registry.
fn url_of(folder: &Path) -> String {
    let port = wait_until("the registry has a port", REGISTRY_READY, || {
        let text = fs::read_to_string(folder.join("port")).map_err(|error| error.to_string())?;
        text.trim().parse::<u16>().map_err(|error| error.to_string())
    });
    format!("http://127.0.0.1:{port}/apis/ccompat/v7")
}

/// The small registry, for faults, users and encryption. Its schemas end with it.
pub struct SmallRegistry {
    process: Child,
    url: String,
    user: Option<String>,
}

/// What befalls requests of the small registry.
#[derive(Clone, Debug)]
pub enum Fault {
    /// An answer with that status and no content.
    Status(u16),
    /// The same, which asks to be left alone for so many seconds.
    Busy(u16, u32),
    /// The right answer after so many milliseconds.
    Slow(u32),
    /// Another text than the right one.
    Body(String),
    /// A connection that closes without an answer.
    Close,
}

impl SmallRegistry {
    /// One that asks nobody who they are.
    #[must_use]
    pub fn start() -> Self {
        Self::launched(&[], None)
    }

    /// One that answers that user only.
    #[must_use]
    pub fn start_with_user(name: &str, password: &str) -> Self {
        let user = format!("{name}:{password}");
        Self::launched(&["-user", &user], Some(&user))
    }

    /// One that is encrypted, by a certificate for `localhost` and its key (PEM files).
    #[must_use]
    pub fn start_encrypted(certificate: &Path, key: &Path) -> Self {
        Self::launched(
            &["-certificate", certificate.to_str().unwrap(), "-key", key.to_str().unwrap()],
            None,
        )
    }

    fn launched(arguments: &[&str], user: Option<&str>) -> Self {
        let mut command = Command::new(test_parts().registry_home.join("small"));
        // It ends when its input does.
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = spawn(command).expect("start the small registry");
        let mut url = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Self {
            process,
            url: url.trim().to_owned(),
            user: user.map(str::to_owned),
        }
    }

    /// Its address, as `schema_registry_url` has it.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Registers a schema as the next version of a subject, and returns its id.
    pub fn register(&self, subject: &str, schema: &Schema) -> u32 {
        register(&self.url, self.user.as_deref(), subject, schema)
    }

    /// Lets a fault befall the next `times` requests whose path begins with `path`, in the place of a fault before.
    pub fn fail(&self, path: &str, times: u32, fault: &Fault) {
        self.set_fault(path, i64::from(times), fault);
    }

    /// Lets a fault befall all requests whose path begins with `path`, until [`Self::mend`].
    pub fn fail_always(&self, path: &str, fault: &Fault) {
        self.set_fault(path, -1, fault);
    }

    /// Ends the faults.
    pub fn mend(&self) {
        self.set_fault("", 0, &Fault::Close);
    }

    fn set_fault(&self, path: &str, times: i64, fault: &Fault) {
        let mut set = json!({"path": path, "times": times});
        match fault {
            Fault::Status(status) => set["status"] = json!(status),
            Fault::Busy(status, seconds) => {
                set["status"] = json!(status);
                set["retry_after"] = json!(seconds.to_string());
            }
            Fault::Slow(milliseconds) => set["slow"] = json!(milliseconds),
            Fault::Body(body) => set["body"] = json!(body),
            Fault::Close => set["close"] = json!(true),
        }
        ask(Method::POST, &format!("{}/-/fault", self.url), None, Some(&set)).unwrap();
    }

    /// How many requests there were, and how many of them met a fault.
    #[must_use]
    pub fn requests(&self) -> (u64, u64) {
        let counts = ask(Method::GET, &format!("{}/-/requests", self.url), None, None).unwrap();
        (counts["requests"].as_u64().unwrap(), counts["faults"].as_u64().unwrap())
    }
}

impl Drop for SmallRegistry {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn register(url: &str, user: Option<&str>, subject: &str, schema: &Schema) -> u32 {
    let answer = ask(
        Method::POST,
        &format!("{url}/subjects/{subject}/versions"),
        user,
        Some(&schema.body()),
    );
    let answer = answer.unwrap_or_else(|error| panic!("register `{subject}`: {error}"));
    u32::try_from(answer["id"].as_u64().expect("an id")).unwrap()
}

/// One request, by a client that is not the product's.
fn ask(method: Method, url: &str, user: Option<&str>, body: Option<&Value>) -> Result<Value, String> {
    static CLIENT: OnceLock<reqwest::Client> = OnceLock::new();
    block_on(async {
        let client = CLIENT.get_or_init(|| reqwest::Client::builder().timeout(REGISTRY_REQUEST).build().expect("a client"));
        let mut request = client.request(method, url);
        if let Some((name, password)) = user.and_then(|user| user.split_once(':')) {
            request = request.basic_auth(name, Some(password));
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let response = request.send().await.map_err(|error| error.to_string())?;
        let status = response.status();
        let text = response.text().await.map_err(|error| error.to_string())?;
        if !status.is_success() {
            return Err(format!("{status}: {text}"));
        }
        serde_json::from_str(&text).map_err(|error| format!("`{text}`: {error}"))
    })
}
