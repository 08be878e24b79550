//! Looks at the files that a call would change before anybody decides about it: to read its input in the form it is
//! meant, and to refuse what cannot succeed. Only files that the model may read are looked at.

use super::prepare::{self, call_cx};
use crate::session::SessionIo;
use permission::{Access, PathFacts, PermissionDecision, PermissionQuery};
use session_parts::tool_use::ToolUse;
use tokio_util::sync::CancellationToken;
use tools::{CallContext, ToolCall, ToolOutcome};

/// Brings the input of a call into the form it means, so that hooks, rules and the person see what will be done.
pub(super) async fn normalise(
    used: &mut ToolUse,
    call: Box<dyn ToolCall>,
    io: &SessionIo,
    cancel: CancellationToken,
) -> Result<Box<dyn ToolCall>, ToolOutcome> {
    let is_exact = io.rules.watch.loaded.settings.edit_matching.as_deref() == Some("exact");
    if is_exact || !may_inspect_target(&*call, io) {
        return Ok(call);
    }
    let cx = call_cx(used, PathFacts::default(), io, cancel);
    let (call, normalised) = inspect(call, cx, |call, cx| call.normalise(cx)).await?;
    let Some(normalised) = normalised else { return Ok(call) };
    used.input = normalised.input;
    used.input_note = Some(normalised.note);
    prepare::read(used, &used.input, io)
}

/// The refusal of a call that cannot succeed, before anybody is asked about it.
pub(super) async fn check(
    used: &ToolUse,
    call: Box<dyn ToolCall>,
    facts: &PathFacts,
    io: &SessionIo,
    cancel: &CancellationToken,
) -> Result<Box<dyn ToolCall>, ToolOutcome> {
    if !may_inspect_target(&*call, io) {
        return Ok(call);
    }
    let cx = call_cx(used, facts.clone(), io, cancel.clone());
    let (call, refused) = inspect(call, cx, |call, cx| call.check(cx)).await?;
    refused.map_or(Ok(call), Err)
}

/// Whether the call changes files, and the model may read all of them.
fn may_inspect_target(call: &dyn ToolCall, io: &SessionIo) -> bool {
    let workspace = io.workspace();
    let changed = |access: Access| match access {
        Access::WritePath(path) => Some(Access::ReadPath(path)),
        _ => None,
    };
    let reads: Vec<Access> = call.access(&workspace).into_iter().filter_map(changed).collect();
    if reads.is_empty() {
        return false;
    }
    let request = PermissionQuery::reading(&reads);
    let seen = session_parts::facts::gather(io.rules.policy(), &request, &workspace.cwd);
    matches!(io.rules.policy().decide(&request, &seen), PermissionDecision::Allow(_))
}

/// Asks a call something about the files it names, on a thread that may block.
async fn inspect<T: Send + 'static>(
    call: Box<dyn ToolCall>,
    cx: CallContext,
    ask: impl FnOnce(&dyn ToolCall, &CallContext) -> T + Send + 'static,
) -> Result<(Box<dyn ToolCall>, T), ToolOutcome> {
    let asking = tokio::task::spawn_blocking(move || {
        let answer = ask(&*call, &cx);
        (call, answer)
    });
    asking.await.map_err(|_| ToolOutcome::failed("The call could not be checked because of an internal error."))
}
