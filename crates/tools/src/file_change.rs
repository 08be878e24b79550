//! Calls that change one file: they name the path, run alone, off the async thread, and to their end.

use crate::contract::{Call, CallCx, Met, Outcome, Sharing, Workspace};
use crate::file_work;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use permission::Access;
use std::path::Path;

/// What such a tool adds: where, and what.
pub(crate) trait FileChange: Send + Sync + 'static {
    /// As the model gave it.
    fn path(&self) -> &str;
    /// The checks that come before any change.
    fn check(&self, cx: &CallCx, path: &Path) -> Result<(), Outcome>;
    /// Does the work. `Err` is a refusal: nothing was changed.
    fn change(&self, cx: &CallCx, path: &Path) -> Result<Outcome, Outcome>;
}

pub(crate) struct Changing<T>(pub(crate) T);

impl<T: FileChange> Call for Changing<T> {
    fn access(&self, at: &Workspace) -> Vec<Access> {
        vec![Access::WritePath(at.absolute(self.0.path()))]
    }

    fn sharing(&self) -> Sharing {
        Sharing::Exclusive
    }

    fn check(&self, cx: &CallCx) -> Option<Outcome> {
        self.0.check(cx, &cx.workspace.absolute(self.0.path())).err()
    }

    fn run(self: Box<Self>, cx: CallCx) -> BoxFuture<'static, Outcome> {
        file_work::to_the_end(move || {
            let path = cx.workspace.absolute(self.0.path());
            if !(cx.may_read)(&path, Met::Changed) {
                return file_work::moved(&path);
            }
            self.0.change(&cx, &path).unwrap_or_else(|refused| refused)
        })
        .boxed()
    }
}

/// More than this is better read from the file.
const RETOLD: usize = 8_000;

/// The acknowledgement of a change; when the person changed the proposal, with what was accepted in its place.
pub(crate) fn told(cx: &CallCx, text: String, accepted: &str) -> String {
    if !cx.changed_by_user {
        return text;
    }
    if accepted.len() > RETOLD {
        return format!(
            "{text}\nThe user changed your proposal before accepting it. Read the file before you rely on what it says."
        );
    }
    format!("{text}\nThe user changed your proposal before accepting it. This was put in its place:\n{accepted}")
}
