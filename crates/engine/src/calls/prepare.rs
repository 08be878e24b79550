//! From a `tool_use` block to a call that may run: find the tool, read the input, ask permission. A prepared call never
//! comes back here.

use super::ToolUse;
use crate::cage::{self, Standing};
use crate::session::Io;
use permission::{Access, Decision, Facts, Held, Refusal, Request};
use std::sync::{Arc, PoisonError};
use tokio_util::sync::CancellationToken;
use tools::cage::Cage;
use tools::{Call, CallCx, Met, Outcome, Workspace};
use wire::sdk::{PermissionDenial, SystemBody};

pub(super) enum Prepared {
    Ready(Box<dyn Call>, CallCx),
    Settled(Outcome),
}

/// Pure: finds the tool and reads its input.
pub(super) fn parse(used: &ToolUse, io: &Io) -> Result<Box<dyn Call>, Outcome> {
    if let Some(text) = &used.malformed {
        let shown: String = text.chars().take(200).collect();
        return Err(Outcome::invalid(format!(
            "The input of {} was not valid JSON and nothing was run. It began: {shown}\nSend the call again with a \
             complete JSON object.",
            used.name
        )));
    }
    let Some(tool) = io.registry.find(&used.name) else {
        return Err(Outcome::invalid(format!("No such tool available: {}", used.name)));
    };
    tool.parse(&used.input).map_err(|e| Outcome::invalid(e.to_string()))
}

/// Decides; a refusal is told to the host before its result.
pub(super) async fn prepare(used: &ToolUse, call: Box<dyn Call>, io: &mut Io, cancel: CancellationToken) -> Prepared {
    let workspace = io.workspace();
    let accesses = call.access(&workspace);
    let (held, cage) = match confine(used, io).await {
        Ok(found) => found,
        Err(error) => return Prepared::Settled(Outcome::failed(format!("The sandbox could not be set up: {error}"))),
    };
    match judge(used, &accesses, &workspace, held, io) {
        Decision::Allow(reason) => {
            tracing::debug!(tool = used.name, reason = %reason.describe(), "call allowed");
            Prepared::Ready(call, CallCx { cage, ..call_cx(used, workspace, io, cancel) })
        }
        // Nobody is there to be asked: an ask is a refusal with the same words.
        Decision::Ask(refusal) | Decision::Deny(refusal) => Prepared::Settled(refuse(used, refusal, io).await),
    }
}

/// Whether a command runs in the sandbox, in which one, and what that means for permission. Nothing without a sandbox.
async fn confine(used: &ToolUse, io: &Io) -> std::io::Result<(Held, Option<Arc<Cage>>)> {
    let outside = (Held::Not, None);
    let Some(confinement) = io.watch.confinement.as_ref().filter(|_| wire::names::canonical(&used.name) == "Bash")
    else {
        return Ok(outside);
    };
    let Some((command, escaping)) = cage::bash_input(used.input.get()) else { return Ok(outside) };
    match confinement.standing(&command, escaping) {
        Standing::Outside(held) => Ok((held, None)),
        Standing::Inside => {
            let (making, rules, mode) = (Arc::clone(confinement), io.watch.rules(), io.mode);
            let made = tokio::task::spawn_blocking(move || making.cage(&rules, mode)).await;
            let made = made.map_err(std::io::Error::other)??;
            for warning in &made.warnings {
                tracing::warn!(warning, "sandbox");
            }
            Ok((confinement.held(&made), Some(Arc::new(made.cage))))
        }
    }
}

fn judge(used: &ToolUse, accesses: &[Access], workspace: &Workspace, held: Held, io: &Io) -> Decision {
    let name = wire::names::canonical(&used.name);
    let request = Request::new(name, accesses).with_input(used.input.get()).held(held);
    let needs = io.policy.needs(&request, &workspace.cwd);
    let facts = Facts::gather(workspace.cwd.clone(), needs, sys::real::path);
    io.policy.decide(&request, &facts)
}

async fn refuse(used: &ToolUse, refusal: Refusal, io: &mut Io) -> Outcome {
    tracing::debug!(tool = used.name, reason = %refusal.reason.describe(), "call denied");
    io.denials.push(PermissionDenial {
        tool_name: used.name.clone(),
        tool_use_id: used.id.clone(),
        tool_input: used.input.clone(),
    });
    let body = SystemBody::PermissionDenied {
        tool_name: used.name.clone(),
        tool_use_id: used.id.clone(),
        message: refusal.message.clone(),
        decision_reason_type: Some(refusal.reason.kind()),
        decision_reason: Some(refusal.reason.describe()),
    };
    io.host.system(body).await;
    Outcome::failed(refusal.message)
}

fn call_cx(used: &ToolUse, workspace: Workspace, io: &Io, cancel: CancellationToken) -> CallCx {
    let policy = Arc::clone(&io.policy);
    let folders = sys::real::Folders::default();
    CallCx {
        id: used.id.clone(),
        workspace,
        state: Arc::clone(&io.state),
        cancel,
        model: Arc::clone(&io.side) as Arc<dyn tools::SideModel>,
        may_read: Arc::new(move |path, met| {
            let real = match met {
                Met::Named => sys::real::path(path),
                Met::Walked => folders.file(path),
            };
            !policy.hides(path, &real)
        }),
        cage: None,
    }
}

impl Io {
    /// The directories as they are now: the shell may have moved.
    pub(crate) fn workspace(&self) -> Workspace {
        let cwd = self.state.cwd.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Workspace { cwd, ..self.directories.clone() }
    }
}
