//! A managed resource, as a provider writes it.
//!
//! The engine has done the standard part before a method is called: values are decoded and fit the schema, defaults are in,
//! texts that mean the same are the prior ones, replacements and unknown computed values are planned. Afterwards it keeps
//! the planned text where the answer means the same, drops write-only values and checks the answer against Terraform's rules.
//! Invariant: no method sees an encoded value or a gRPC status, and every failure is a diagnostic.

use async_trait::async_trait;

use crate::call::CallContext;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::path::AttributePath;
use crate::private::Private;
use crate::schema::Schema;
use crate::value::Value;

/// One type of managed resource. Called from many tasks at once.
#[async_trait]
pub trait Resource: Send + Sync {
    /// Its whole name, such as `corner_file`.
    fn type_name(&self) -> &'static str;

    /// Its shape. Asked once, at the start.
    fn schema(&self) -> Schema;

    /// Is the configuration right, as far as it is known? Called without a configured provider.
    async fn validate(&self, config: &Value, context: &CallContext) -> Diagnostics {
        let _ = (config, context);
        Diagnostics::none()
    }

    /// Looks at the finished standard plan and may change it: more replacements, more unknowns, warnings, errors. Also
    /// called for no-op and destroy plans. The provider may be configured with unknown values, or not at all.
    async fn modify_plan(&self, request: &PlanRequest<'_>, plan: &mut Plan, context: &CallContext) {
        let _ = (request, plan, context);
    }

    /// Makes it. [`Applied::state`] `None` means that nothing was made.
    async fn create(&self, request: CreateRequest<'_>, context: &CallContext) -> Applied;

    /// Looks at it. `Err` is for "could not look", never for "not there".
    async fn read(&self, request: ReadRequest<'_>, context: &CallContext) -> Result<ReadOutcome, Diagnostics>;

    /// Changes it in place. [`Applied::state`] `None` means that nothing was changed.
    async fn update(&self, request: UpdateRequest<'_>, context: &CallContext) -> Applied;

    /// Removes it. With an error among the diagnostics it stays in the state as it was.
    async fn delete(&self, request: DeleteRequest<'_>, context: &CallContext) -> Diagnostics;

    /// Finds it by the id that the user gave. Terraform reads it afterwards.
    async fn import(&self, id: &str, context: &CallContext) -> Result<Found, Diagnostics>;

    /// Reads state of older schema versions; needed once the version is above 0.
    fn upgrade_state(&self) -> Option<&dyn UpgradeState> {
        None
    }

    /// Takes over state of other resource types (`moved` blocks).
    fn move_state(&self) -> Option<&dyn MoveState> {
        None
    }
}

/// Rewrites stored state of an older schema version.
pub trait UpgradeState: Send + Sync {
    /// The state as JSON in the form of the current schema. Attributes it does not have are dropped, missing ones are null.
    ///
    /// # Errors
    /// When the state cannot be understood.
    fn upgrade(&self, from_version: i64, state: serde_json::Value) -> Result<serde_json::Value, Diagnostics>;
}

/// Takes over the state of a resource of another type.
pub trait MoveState: Send + Sync {
    /// The state in the form of this resource's schema; `None` when it does not know the source.
    ///
    /// # Errors
    /// When it knows the source but the state cannot be taken over.
    fn take_over(&self, source: &MoveSource<'_>) -> Result<Option<Found>, Diagnostics>;
}

/// A resource that a `moved` block leads away from.
#[derive(Clone, Copy)]
pub struct MoveSource<'a> {
    /// Whose it is, such as `registry.terraform.io/hashicorp/null`.
    pub provider_address: &'a str,
    /// Its type.
    pub type_name: &'a str,
    /// Its type's schema version.
    pub schema_version: i64,
    /// Its state.
    pub state: &'a serde_json::Value,
}

/// What is about to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanKind {
    /// There is nothing yet. A replacement is planned a second time as a create.
    Create,
    /// There is something; perhaps nothing changes.
    Update,
    /// It shall go.
    Destroy,
}

/// What a plan starts from.
pub struct PlanRequest<'a> {
    /// Create, update or destroy.
    pub kind: PlanKind,
    /// The configuration, write-only values included; null for a destroy.
    pub config: &'a Value,
    /// The state after the last refresh; null for a create.
    pub prior: &'a Value,
    /// Terraform's own merge of configuration and prior state; null for a destroy.
    pub proposed: &'a Value,
    /// What differs in meaning from the prior state by the standard rules; empty for create and destroy.
    pub changed: &'a [AttributePath],
    /// Private state as read or applied last.
    pub private: &'a Private,
}

impl PlanRequest<'_> {
    /// Does anything at or below this path change in meaning?
    pub fn changes(&self, path: &AttributePath) -> bool {
        self.changed
            .iter()
            .any(|changed| changed.starts_with(path) || path.starts_with(changed))
    }
}

/// A plan in the making.
#[derive(Debug)]
pub struct Plan {
    /// What there will be; null for a destroy. A value once shown as known must come true.
    pub planned: Value,
    /// The changes that mean another resource. Ignored by Terraform unless the planned value differs from the prior one.
    pub requires_replace: Vec<AttributePath>,
    /// Private state for the apply; starts as the prior one.
    pub private: Private,
    /// What to tell the user.
    pub diagnostics: Diagnostics,
}

impl Plan {
    /// Plans a replacement because of this attribute, once.
    pub fn require_replacement(&mut self, path: AttributePath) {
        if !self.requires_replace.contains(&path) {
            self.requires_replace.push(path);
        }
    }

    /// Plans a value as known only after apply. Where there is no such attribute, nothing happens.
    pub fn mark_unknown(&mut self, path: &AttributePath) {
        self.set(path, Value::UNKNOWN);
    }

    /// Plans a value. Where there is no such attribute, nothing happens.
    pub fn set(&mut self, path: &AttributePath, value: Value) {
        let there = self.planned.set_at(path, value);
        debug_assert!(there || self.planned.is_null(), "no place for a planned value at `{path}`");
    }

    /// Adds a message.
    pub fn tell(&mut self, message: Diagnostic) {
        self.diagnostics.push(message);
    }
}

/// What to make.
pub struct CreateRequest<'a> {
    /// The planned state; unknown where we shall say.
    pub planned: &'a Value,
    /// The configuration, with write-only values.
    pub config: &'a Value,
    /// Private state from the plan.
    pub private: &'a Private,
}

/// What to look at.
pub struct ReadRequest<'a> {
    /// The state as it is known; after an import only what the import found.
    pub state: &'a Value,
    /// Private state as read or applied last.
    pub private: &'a Private,
}

/// What to change.
pub struct UpdateRequest<'a> {
    /// The state before.
    pub prior: &'a Value,
    /// The planned state; unknown where we shall say.
    pub planned: &'a Value,
    /// The configuration, with write-only values.
    pub config: &'a Value,
    /// What differs in meaning between the two.
    pub changed: &'a [AttributePath],
    /// Private state from the plan.
    pub private: &'a Private,
}

impl UpdateRequest<'_> {
    /// Does anything at or below this path change in meaning?
    pub fn changes(&self, path: &AttributePath) -> bool {
        self.changed
            .iter()
            .any(|changed| changed.starts_with(path) || path.starts_with(changed))
    }
}

/// What to remove.
pub struct DeleteRequest<'a> {
    /// The state before.
    pub prior: &'a Value,
    /// Private state from the plan.
    pub private: &'a Private,
}

/// A resource that is there.
#[derive(Debug)]
pub struct Found {
    /// Its state, wholly known.
    pub state: Value,
    /// Private state to keep.
    pub private: Private,
    /// Warnings.
    pub diagnostics: Diagnostics,
}

/// What a read found.
#[derive(Debug)]
pub enum ReadOutcome {
    /// It is there.
    Found(Found),
    /// It is not there any more, for certain.
    Gone,
}

/// What came of a create or update. A create with a state **and** an error is kept as tainted: the next plan replaces it.
#[derive(Debug, Default)]
pub struct Applied {
    /// The state now, wholly known; `None` when nothing happened.
    pub state: Option<Value>,
    /// Private state to keep.
    pub private: Private,
    /// Errors and warnings.
    pub diagnostics: Diagnostics,
}

impl Applied {
    /// It is done.
    pub fn done(state: Value, private: Private) -> Self {
        Self {
            state: Some(state),
            private,
            diagnostics: Diagnostics::none(),
        }
    }

    /// Nothing was done.
    pub fn failed(diagnostics: impl Into<Diagnostics>) -> Self {
        Self {
            state: None,
            private: Private::default(),
            diagnostics: diagnostics.into(),
        }
    }

    /// The same with one more message.
    #[must_use]
    pub fn with(mut self, message: Diagnostic) -> Self {
        self.diagnostics.push(message);
        self
    }
}
