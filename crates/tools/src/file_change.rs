//! Calls that change one file: they declare the path, run exclusively on a blocking thread, and are not cancelled.

use crate::contract::{CallConcurrency, CallContext, NormalisedInput, PathDiscovery, ToolCall, ToolOutcome, Workspace};
use crate::file_work;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use permission::Access;
use std::path::Path;

/// The part that differs per tool: the path, the checks and the change.
pub(crate) trait FileChange: Send + Sync + 'static {
    /// The path as the model wrote it.
    fn path(&self) -> &str;
    /// The checks before any change.
    fn check(&self, cx: &CallContext, path: &Path) -> Result<(), ToolOutcome>;
    /// The input as it is meant, when that is certain (`ToolCall::normalise`).
    fn normalise(&self, _cx: &CallContext, _path: &Path) -> Option<NormalisedInput> {
        None
    }
    /// Makes the change. `Err` is a refusal: nothing was changed.
    fn change(&self, cx: &CallContext, path: &Path) -> Result<ToolOutcome, ToolOutcome>;
}

pub(crate) struct FileChangeCall<T>(pub(crate) T);

impl<T: FileChange> ToolCall for FileChangeCall<T> {
    fn access(&self, at: &Workspace) -> Vec<Access> {
        vec![Access::WritePath(at.absolute(self.0.path()))]
    }

    fn concurrency(&self) -> CallConcurrency {
        CallConcurrency::Exclusive
    }

    fn check(&self, cx: &CallContext) -> Option<ToolOutcome> {
        self.0.check(cx, &cx.workspace.absolute(self.0.path())).err()
    }

    fn normalise(&self, cx: &CallContext) -> Option<NormalisedInput> {
        self.0.normalise(cx, &cx.workspace.absolute(self.0.path()))
    }

    fn run(self: Box<Self>, cx: CallContext) -> BoxFuture<'static, ToolOutcome> {
        file_work::run_uncancelled(move || {
            let path = cx.workspace.absolute(self.0.path());
            if !(cx.may_read)(&path, PathDiscovery::Changed) {
                return file_work::moved_error(&path);
            }
            self.0.change(&cx, &path).unwrap_or_else(|refused| refused)
        })
        .boxed()
    }
}

/// Longest accepted text, in bytes, that is repeated to the model; a longer one is better read from the file.
const MAX_REPEATED_BYTES: usize = 8_000;

/// The acknowledgement of a change. When the person changed the proposal, it contains the accepted text.
pub(crate) fn change_acknowledgement(cx: &CallContext, text: String, accepted: &str) -> String {
    if !cx.changed_by_user {
        return text;
    }
    if accepted.len() > MAX_REPEATED_BYTES {
        return format!(
            "{text}\nThe user changed your proposal before accepting it. Read the file before you rely on what it says."
        );
    }
    format!("{text}\nThe user changed your proposal before accepting it. This was put in its place:\n{accepted}")
}
