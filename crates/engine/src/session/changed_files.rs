//! Tells the model once about files it has seen that were changed by others: with the difference where that is short,
//! so that they count as seen again, else by name. Whether a file changed is decided by its metadata first, so that a
//! look at many files before every request costs little.

use crate::session::{LiveSession, SessionIo};
use permission::Policy;
use session_parts::messages::Attachment;
use session_parts::prompts;
use std::collections::HashMap;
use std::fmt::Write;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::StoreError;
use tools::patch;
use tools::read_state::{FileStamp, Fingerprint, RecentFile};
use tools::state::ToolState;

/// Most lines of the difference of one file.
const MAX_DIFF_LINES: usize = 40;
/// Most bytes of the whole reminder, and of the differences in it: the rest is for names.
const MAX_BYTES: usize = 4_000;
const MAX_DIFF_BYTES: usize = 3_000;
/// Most files that are looked at: those that were seen last.
const MAX_FILES: usize = 500;
/// Longest file that is read to find out whether it changed.
const MAX_COMPARED_BYTES: usize = 1 << 20;
/// So many files are looked at on the spot; more, and files that must be read, on another thread.
const MAX_LOOKED_AT_ONCE: usize = 64;

/// What ran since the last look and may have changed files.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChangeCauses {
    pub command: bool,
    pub hook: bool,
    /// Files that calls of the model changed.
    pub edited: Vec<PathBuf>,
}

impl ChangeCauses {
    fn describe(&self) -> &'static str {
        match (self.command, self.hook) {
            (true, true) => "by a command of yours or a hook",
            (true, false) => "probably by a command of yours",
            (false, true) => "probably by a hook",
            (false, false) => "by somebody else",
        }
    }
}

/// What the looks at the seen files found.
#[derive(Debug, Default)]
pub(crate) struct ChangeWatch {
    files: HashMap<PathBuf, WatchedFile>,
}

#[derive(Clone, Debug, Default)]
struct WatchedFile {
    /// The metadata with which the file has a content, and which content.
    settled: Option<(FileStamp, Fingerprint)>,
    /// The change that the model was told of without seeing it.
    told: Option<Fingerprint>,
}

/// The stand-in for a file that is gone.
const GONE: Fingerprint = Fingerprint::Stat { modified: None, len: 0 };

/// A file that others changed since it was seen.
struct ChangedFile {
    path: PathBuf,
    now: Fingerprint,
    /// The content as it was seen and as it is, where both are known.
    contents: Option<(Arc<[u8]>, Vec<u8>)>,
}

impl ChangeWatch {
    /// Whether the metadata of few files says that none of them has a change that was not told.
    fn is_quiet(&mut self, state: &ToolState) -> bool {
        let files = state.reads.recent_files(MAX_LOOKED_AT_ONCE + 1);
        files.len() <= MAX_LOOKED_AT_ONCE && files.iter().all(|file| self.is_same(file))
    }

    fn is_same(&mut self, file: &RecentFile) -> bool {
        let mut unknown = WatchedFile::default();
        let watched = self.files.get_mut(&file.path).unwrap_or(&mut unknown);
        let known = match std::fs::metadata(&file.path) {
            Ok(meta) => watched.known_content(file, &meta),
            Err(error) => (error.kind() == std::io::ErrorKind::NotFound).then_some(GONE),
        };
        let Some(now) = known else { return false };
        if now == file.fingerprint {
            watched.told = None;
        }
        now == file.fingerprint || watched.told == Some(now)
    }

    /// The seen files with changes that were not told. Reads from the disk; blocking.
    fn look(&mut self, state: &ToolState, policy: &Policy, edited: &[PathBuf]) -> Vec<ChangedFile> {
        let mut before = std::mem::take(&mut self.files);
        let mut changed = Vec::new();
        for file in state.reads.recent_files(MAX_FILES).into_iter().rev() {
            let mut watched = before.remove(&file.path).unwrap_or_default();
            if let Some(found) = watched.compare(&file, state, edited)
                && !policy.hides(&file.path, &sys::real_path::path(&file.path))
            {
                changed.push(found);
            }
            self.files.insert(file.path, watched);
        }
        changed
    }
}

impl WatchedFile {
    /// The content that the file has according to its metadata; `None` when it must be read.
    fn known_content(&self, file: &RecentFile, meta: &Metadata) -> Option<Fingerprint> {
        if !meta.is_file() {
            return None;
        }
        if matches!(file.fingerprint, Fingerprint::Stat { .. }) {
            return Some(Fingerprint::of_stat(meta));
        }
        let stamp = FileStamp::settled(meta)?;
        let seen = file.stamp.map(|stamp| (stamp, file.fingerprint));
        [self.settled, seen].into_iter().flatten().find(|(settled, _)| *settled == stamp).map(|(_, content)| content)
    }

    fn compare(&mut self, file: &RecentFile, state: &ToolState, edited: &[PathBuf]) -> Option<ChangedFile> {
        let (path, seen) = (file.path.as_path(), file.fingerprint);
        let (now, content) = self.current(file)?;
        if now == seen {
            self.told = None;
            return None;
        }
        // A change of the model's own in a file that others changed before leaves it to be read again.
        if self.told.is_some() && edited.iter().any(|own| own == path) {
            self.told = Some(now);
        }
        if self.told == Some(now) {
            return None;
        }
        let content = content.or_else(|| sys::fs::read_whole(path, MAX_COMPARED_BYTES).ok());
        let content = content.filter(|content| Fingerprint::of(content) == now);
        Some(ChangedFile { path: path.to_path_buf(), now, contents: state.reads.content(path).zip(content) })
    }

    /// What the file is now, with its content when that was read. `None` when that cannot be told.
    fn current(&mut self, file: &RecentFile) -> Option<(Fingerprint, Option<Vec<u8>>)> {
        let meta = match std::fs::metadata(&file.path) {
            Ok(meta) if meta.is_file() => meta,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some((GONE, None)),
            Ok(_) | Err(_) => return None,
        };
        if let Some(known) = self.known_content(file, &meta) {
            return Some((known, None));
        }
        let stamp = FileStamp::settled(&meta);
        let content = sys::fs::read_whole(&file.path, MAX_COMPARED_BYTES).ok()?;
        let now = Fingerprint::of(&content);
        self.settled = stamp.map(|stamp| (stamp, now));
        Some((now, Some(content)))
    }
}

impl LiveSession {
    pub(crate) async fn send_changed_files(&mut self) -> Result<(), StoreError> {
        let causes = std::mem::take(&mut self.io.knowledge.causes);
        let changed = look(&mut self.io, causes.edited.clone()).await;
        if changed.is_empty() {
            return Ok(());
        }
        let background = self.io.tooling.state.tasks.running().iter().any(|task| !task.is_agent());
        let causes = ChangeCauses { command: causes.command || background, ..causes };
        let mask = self.io.tooling.state.masking.mask();
        let (text, shown) = describe(&changed, &causes, &self.io.workspace().cwd);
        let text = format!("\n{text}");
        for (file, shown) in changed.into_iter().zip(shown) {
            self.io.mark_told(file, shown);
        }
        let text = prompts::changed_files(&mask.text(&text));
        Attachment::note("x_changed_files", text).map_or(Ok(()), |attachment| self.attach(attachment))
    }
}

async fn look(io: &mut SessionIo, edited: Vec<PathBuf>) -> Vec<ChangedFile> {
    if edited.is_empty() && io.knowledge.changes.is_quiet(&io.tooling.state) {
        return Vec::new();
    }
    let (state, policy) = (Arc::clone(&io.tooling.state), Arc::clone(io.rules.policy()));
    let mut watch = std::mem::take(&mut io.knowledge.changes);
    let looking = tokio::task::spawn_blocking(move || {
        let edited: Vec<PathBuf> = edited.iter().map(|path| sys::real_path::path(path)).collect();
        let changed = watch.look(&state, &policy, &edited);
        (watch, changed)
    });
    let Ok((watch, changed)) = looking.await else { return Vec::new() };
    io.knowledge.changes = watch;
    changed
}

impl SessionIo {
    /// With the difference the file counts as seen as it is now, otherwise as changed until it is read again.
    fn mark_told(&mut self, file: ChangedFile, shown: bool) {
        match file.contents {
            Some((_, now)) if shown => self.tooling.state.reads.record_rewrite(&file.path, &now),
            Some(_) | None => {
                if let Some(watched) = self.knowledge.changes.files.get_mut(&file.path) {
                    watched.told = Some(file.now);
                }
            }
        }
    }
}

/// The text, and for each file whether all of its difference is in it.
fn describe(changed: &[ChangedFile], causes: &ChangeCauses, cwd: &Path) -> (String, Vec<bool>) {
    let mut text = String::new();
    let mut shown = Vec::new();
    let mut unnamed = 0;
    for file in changed {
        let name = file.path.strip_prefix(cwd).unwrap_or(&file.path).display().to_string();
        let head = format!("{name} ({})", causes.describe());
        let lines = difference(file).filter(|lines| text.len() + head.len() + lines.len() <= MAX_DIFF_BYTES);
        let line = match &lines {
            _ if file.now == GONE => format!("{name} is gone\n"),
            Some(lines) => format!("{head}:\n{lines}"),
            None => format!("{head}: read it again before you rely on it\n"),
        };
        // Room for the heading and the count of the rest.
        if text.len() + line.len() + 200 > MAX_BYTES {
            unnamed += 1;
            shown.push(false);
            continue;
        }
        text.push_str(&line);
        shown.push(lines.is_some());
    }
    if unnamed > 0 {
        writeln!(text, "and {unnamed} more").ok();
    }
    (text.trim_end().to_owned(), shown)
}

/// The difference as hunks; `None` when it is too long, or not one of texts.
fn difference(file: &ChangedFile) -> Option<String> {
    let (before, now) = file.contents.as_ref()?;
    let hunks = patch::structured(std::str::from_utf8(before).ok()?, std::str::from_utf8(now).ok()?);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// [MX-30] However many files changed, the reminder keeps to its size, and only what is in it counts as seen.
    #[test]
    fn the_reminder_is_bounded() {
        let file = |n: usize, lines: usize| {
            let now = format!("{n}\n").repeat(lines).into_bytes();
            let path = PathBuf::from(format!("/project/{n}/{}", "x".repeat(60)));
            ChangedFile { path, now: Fingerprint::of(&now), contents: Some((Arc::from(&b"old\n"[..]), now)) }
        };
        let changed: Vec<ChangedFile> = (0..200).map(|n| file(n, if n % 3 == 0 { 60 } else { 5 })).collect();
        let (text, shown) = describe(&changed, &ChangeCauses::default(), Path::new("/project"));
        assert!(prompts::changed_files(&text).len() <= MAX_BYTES, "{}", text.len());
        assert!(text.ends_with(" more") && !shown[0] && shown[1], "{text}");
        for (file, shown) in changed.iter().zip(&shown) {
            let name = file.path.strip_prefix("/project").unwrap().display().to_string();
            assert_eq!(text.contains(&format!("\n{name} (by somebody else):\n@@")), *shown);
        }
    }
}
