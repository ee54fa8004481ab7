//! Carries out a plan: create, update or delete.
//!
//! Invariant: whatever goes wrong, the answer's state is what is there now as far as we know: nothing after a create that
//! made nothing, the prior state with its private state after an update or delete that did nothing.

use crate::diagnostic::Diagnostics;
use crate::private::Private;
use crate::resource::{Applied, CreateRequest, DeleteRequest, UpdateRequest};
use crate::value::Value;

use super::rules::{changes, meaning, write_only};
use super::{Engine, ResourceType, bug, guarded};

/// What to carry out.
pub(crate) struct ApplyQuestion<'a> {
    pub(crate) config: &'a Value,
    pub(crate) prior: &'a Value,
    pub(crate) planned: &'a Value,
    pub(crate) private: &'a Private,
}

/// What is there now.
pub(crate) struct ApplyAnswer {
    pub(crate) state: Value,
    pub(crate) private: Private,
    pub(crate) diagnostics: Diagnostics,
}

impl Engine {
    pub(crate) async fn apply_resource_change(&self, found: &ResourceType, question: ApplyQuestion<'_>) -> ApplyAnswer {
        if question.planned.is_null() {
            return self.delete(found, &question).await;
        }
        let applied = if question.prior.is_null() {
            self.create(found, &question).await
        } else {
            self.update(found, &question).await
        };
        let applied = applied.unwrap_or_else(Applied::failed);
        settle_answer(found, &question, applied)
    }

    async fn create(&self, found: &ResourceType, question: &ApplyQuestion<'_>) -> Result<Applied, Diagnostics> {
        let context = self.context();
        let request = CreateRequest {
            planned: question.planned,
            config: question.config,
            private: question.private,
        };
        let call = format!("the creation of `{}`", found.resource.type_name());
        guarded(&call, found.resource.create(request, &context)).await
    }

    async fn update(&self, found: &ResourceType, question: &ApplyQuestion<'_>) -> Result<Applied, Diagnostics> {
        let context = self.context();
        let changed = changes::between(&found.shape.schema.attributes, question.prior, question.planned).paths;
        let request = UpdateRequest {
            prior: question.prior,
            planned: question.planned,
            config: question.config,
            changed: &changed,
            private: question.private,
        };
        let call = format!("the update of `{}`", found.resource.type_name());
        guarded(&call, found.resource.update(request, &context)).await
    }

    async fn delete(&self, found: &ResourceType, question: &ApplyQuestion<'_>) -> ApplyAnswer {
        let context = self.context();
        let request = DeleteRequest {
            prior: question.prior,
            private: question.private,
        };
        let call = format!("the deletion of `{}`", found.resource.type_name());
        let diagnostics = guarded(&call, found.resource.delete(request, &context))
            .await
            .unwrap_or_else(|bug| bug);
        if diagnostics.has_errors() {
            return ApplyAnswer {
                state: question.prior.clone(),
                private: question.private.clone(),
                diagnostics,
            };
        }
        ApplyAnswer {
            state: Value::Null,
            private: Private::default(),
            diagnostics,
        }
    }
}

/// Brings the answer of a create or update into a form that Terraform accepts.
fn settle_answer(found: &ResourceType, question: &ApplyQuestion<'_>, applied: Applied) -> ApplyAnswer {
    let name = found.resource.type_name();
    let Applied {
        state,
        private,
        mut diagnostics,
    } = applied;
    let as_before = |mut diagnostics: Diagnostics| {
        if !diagnostics.has_errors() {
            diagnostics.push(bug(format!("The provider did nothing with `{name}` and gave no reason.")));
        }
        ApplyAnswer {
            state: question.prior.clone(),
            private: question.private.clone(),
            diagnostics,
        }
    };
    let Some(state) = state else { return as_before(diagnostics) };
    let attributes = &found.shape.schema.attributes;
    let mut state = match found.shape.conform(state, &format!("`{name}`")) {
        Ok(state) if !state.is_null() => state,
        Ok(_) => return as_before(diagnostics),
        Err(misfit) => {
            diagnostics.extend(misfit);
            return as_before(diagnostics);
        }
    };
    write_only::forget(attributes, &mut state);
    let mut state = meaning::keep_form(attributes, question.planned, state);
    found.shape.schema.keep_form(question.planned, &mut state);
    if !state.is_wholly_known() {
        diagnostics.push(bug(format!("The provider left values of `{name}` unknown after applying it.")));
        forget_unknowns(&mut state);
    }
    #[cfg(any(debug_assertions, test, feature = "testing"))]
    if !diagnostics.has_errors() {
        use super::rules::check;
        let broken = check::promise(&found.shape.schema, question.planned, &state);
        diagnostics.extend(check::report(name, &broken).err().into_iter().flatten());
    }
    ApplyAnswer {
        state,
        private,
        diagnostics,
    }
}

/// State cannot hold unknowns; with the error beside it, null is the honest value.
fn forget_unknowns(value: &mut Value) {
    match value {
        Value::Unknown(_) => *value = Value::Null,
        Value::List(elements) | Value::Set(elements) => elements.iter_mut().for_each(forget_unknowns),
        Value::Map(entries) | Value::Object(entries) => entries.values_mut().for_each(forget_unknowns),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
