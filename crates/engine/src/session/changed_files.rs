//! Tells the model once about files it has seen that were changed by others: with the difference where that is short,
//! so that they count as seen again, else by name.

use crate::session::{LiveSession, SessionIo};
use session_parts::messages::Attachment;
use session_parts::prompts;
use std::fmt::Write;
use std::sync::Arc;
use store::StoreError;
use tools::patch;
use tools::read_state::{ChangedFile, FileNow};

/// Most lines of the difference of one file.
const MAX_DIFF_LINES: usize = 40;
/// Most bytes of the whole reminder, and of the differences in it: the rest is for names.
const MAX_BYTES: usize = 4_000;
const MAX_DIFF_BYTES: usize = 3_000;

/// What ran since the last look and may have changed files.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ChangeCauses {
    pub command: bool,
    pub hook: bool,
}

impl ChangeCauses {
    fn describe(self) -> &'static str {
        match (self.command, self.hook) {
            (true, true) => "by a command of yours or a hook",
            (true, false) => "probably by a command of yours",
            (false, true) => "probably by a hook",
            (false, false) => "by somebody else",
        }
    }
}

impl LiveSession {
    pub(crate) async fn send_changed_files(&mut self) -> Result<(), StoreError> {
        let causes = std::mem::take(&mut self.io.knowledge.causes);
        let changed = look(&self.io).await;
        if changed.is_empty() {
            return Ok(());
        }
        let background = self.io.tooling.state.tasks.running().iter().any(|task| !task.is_agent());
        let causes = ChangeCauses { command: causes.command || background, ..causes };
        let mask = self.io.tooling.state.masking.mask();
        let (text, shown) = describe(&changed, causes, &self.io);
        for (file, shown) in changed.iter().zip(shown) {
            self.io.tooling.state.reads.mark_told(file, shown);
        }
        let text = prompts::changed_files(&mask.text(&text));
        Attachment::note("x_changed_files", text).map_or(Ok(()), |attachment| self.attach(attachment))
    }
}

async fn look(io: &SessionIo) -> Vec<ChangedFile> {
    let (state, policy) = (Arc::clone(&io.tooling.state), Arc::clone(io.rules.policy()));
    let looking = tokio::task::spawn_blocking(move || {
        state.reads.changed(|path| !policy.hides(path, &sys::real_path::path(path)))
    });
    looking.await.unwrap_or_default()
}

/// The text, and for each file whether all of its difference is in it.
fn describe(changed: &[ChangedFile], causes: ChangeCauses, io: &SessionIo) -> (String, Vec<bool>) {
    let cwd = io.workspace().cwd;
    let mut text = String::new();
    let mut shown = Vec::new();
    let mut unnamed = 0;
    for file in changed {
        let name = file.path.strip_prefix(&cwd).unwrap_or(&file.path).display().to_string();
        let head = format!("{name} ({})", causes.describe());
        let difference = difference(file).filter(|lines| text.len() + head.len() + lines.len() <= MAX_DIFF_BYTES);
        let line = match (&file.now, &difference) {
            (FileNow::Gone, _) => format!("{name} is gone\n"),
            (_, Some(lines)) => format!("{head}:\n{lines}"),
            (_, None) => format!("{head}: read it again before you rely on it\n"),
        };
        // Room for the heading and the count of the rest.
        if text.len() + line.len() + 200 > MAX_BYTES {
            unnamed += 1;
            shown.push(false);
            continue;
        }
        text.push_str(&line);
        shown.push(difference.is_some());
    }
    if unnamed > 0 {
        writeln!(text, "and {unnamed} more").ok();
    }
    (text.trim_end().to_owned(), shown)
}

/// The difference as hunks; `None` when it is too long, or not one of texts.
fn difference(file: &ChangedFile) -> Option<String> {
    let FileNow::Content(now) = &file.now else { return None };
    let (before, now) = (std::str::from_utf8(file.before.as_deref()?).ok()?, std::str::from_utf8(now).ok()?);
    let hunks = patch::structured(before, now);
    if hunks.iter().map(|hunk| hunk.lines.len()).sum::<usize>() > MAX_DIFF_LINES {
        return None;
    }
    let mut text = String::new();
    for hunk in hunks {
        let (old, new) = ((hunk.old_start, hunk.old_lines), (hunk.new_start, hunk.new_lines));
        writeln!(text, "@@ -{},{} +{},{} @@", old.0, old.1, new.0, new.1).ok();
        for line in hunk.lines {
            writeln!(text, "{line}").ok();
        }
    }
    Some(text)
}
