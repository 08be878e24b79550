//! The data that session pickers show. A directory costs one `readdir` and one `stat` per file; a row costs reading the
//! first and last 64 KiB of its file, and only when the row is shown.

use crate::backward::{BackwardLines, ReadAt};
use crate::error::StoreError;
use crate::head::{self, LineHead};
use crate::layout::StoreLayout;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use wire::entry::MetaEntry;

const EDGE_BYTES: u64 = 64 << 10;
const PROMPT_LIMIT: usize = 200;

/// A transcript file whose content was not read yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptRow {
    pub id: String,
    pub path: PathBuf,
    /// Modification time of the file, in milliseconds since the epoch.
    pub modified_at: u64,
    /// Size of the file in bytes.
    pub size: u64,
}

/// What the start and the end of a transcript say about its session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionInfo {
    pub id: String,
    pub path: PathBuf,
    pub title: Option<String>,
    pub first_prompt: Option<String>,
    pub last_prompt: Option<String>,
    pub summary: Option<String>,
    pub cwd: Option<String>,
    pub branch: Option<String>,
    /// Milliseconds since the epoch.
    pub created_at: Option<u64>,
    /// Modification time of the file, in milliseconds since the epoch.
    pub modified_at: u64,
    pub entrypoint: Option<String>,
    pub tag: Option<String>,
    /// `bg` for background sessions.
    pub kind: Option<String>,
    /// Size of the file in bytes.
    pub size: u64,
    /// The session this one was forked from.
    pub forked_from: Option<String>,
    /// The URL of the pull request that was last worked on.
    pub pr_url: Option<String>,
    /// The user archived the session; its next message clears this.
    pub archived: bool,
    pub is_sidechain: bool,
    /// The directory of the session before it moved to `cwd`.
    pub moved_from: Option<String>,
    /// Another program moved the session away without recording where to.
    pub is_gone: bool,
    /// The name of the conversation's plan.
    pub slug: Option<String>,
    /// The custom and the generated title.
    pub titles: [Option<String>; 2],
}

/// How many bytes from the end are searched for the last message.
const OPEN_TAIL: usize = 1 << 20;

/// True when the last turn in `path` has no end: the last message is a prompt, a tool result, or a response without a
/// stop reason or with `tool_use`, and no line ends the turn. False when the file cannot be read.
pub fn is_open(path: &Path) -> bool {
    let opened = File::open(path).and_then(|file| file.metadata().map(|meta| (file, meta.len())));
    let Ok((file, len)) = opened else { return false };
    let mut lines = BackwardLines::new(&file, len);
    let mut seen = 0;
    while seen < OPEN_TAIL
        && let Ok(Some((_, line))) = lines.next_line()
    {
        seen += line.len();
        let Some(head) = LineHead::read(line) else { continue };
        match head.kind.as_str() {
            Some("last-prompt" | "cost-state" | "summary") => return false,
            Some("user") if head.is_meta.0 => {}
            Some("user") => return !head.message.is_some_and(is_interruption),
            Some("assistant") => {
                return head.message.is_some_and(|raw| stop_reason(raw).is_none_or(|s| s == "tool_use"));
            }
            _ => {}
        }
    }
    false
}

fn is_interruption(message: &RawValue) -> bool {
    message.get().contains("[Request interrupted by user")
}

fn stop_reason(message: &RawValue) -> Option<String> {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct StoppedAnswer {
        stop_reason: Option<String>,
    }
    serde_json::from_str::<StoppedAnswer>(message.get()).ok()?.stop_reason
}

/// Sessions started in `cwd`, newest file first.
pub fn project(layout: &StoreLayout, cwd: &Path) -> Vec<TranscriptRow> {
    let mut all: Vec<TranscriptRow> = layout.readable_dirs(cwd).iter().flat_map(|dir| rows(dir)).collect();
    sort(&mut all);
    all
}

/// Sessions of every project, newest file first.
pub fn everywhere(layout: &StoreLayout) -> Vec<TranscriptRow> {
    let Ok(dirs) = std::fs::read_dir(layout.projects()) else { return Vec::new() };
    let mut all: Vec<TranscriptRow> = dirs.flatten().flat_map(|dir| rows(&dir.path())).collect();
    sort(&mut all);
    all
}

pub(crate) fn newest_first(mut rows: Vec<TranscriptRow>) -> Vec<TranscriptRow> {
    sort(&mut rows);
    rows
}

fn sort(rows: &mut [TranscriptRow]) {
    rows.sort_by(|a, b| b.modified_at.cmp(&a.modified_at).then_with(|| a.id.cmp(&b.id)));
}

/// The transcripts in one directory: non-empty files whose names are session ids.
pub(crate) fn rows(dir: &Path) -> Vec<TranscriptRow> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let row = |entry: std::fs::DirEntry| {
        let name = entry.file_name();
        let id = name.to_str()?.strip_suffix(".jsonl").filter(|id| sys::id::is_uuid(id))?;
        let meta = entry.path().metadata().ok().filter(|m| m.is_file() && m.len() > 0)?;
        let modified = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        let (modified_at, size) = (modified.as_millis() as u64, meta.len());
        Some(TranscriptRow { id: id.to_owned(), path: entry.path(), modified_at, size })
    };
    entries.flatten().filter_map(row).collect()
}

impl TranscriptRow {
    /// Returns `None` for sessions that listings do not show: side chains, sessions moved away, and sessions without a
    /// title, summary or prompt.
    pub fn info(&self) -> Option<SessionInfo> {
        let mut info = read(&self.path)?;
        info.id.clone_from(&self.id);
        (info.modified_at, info.size) = (self.modified_at, self.size);
        info.archived = is_archived(&self.path);
        let shown = [&info.title, &info.last_prompt, &info.summary, &info.first_prompt].iter().any(|t| t.is_some());
        (shown && !info.is_sidechain && !info.is_gone).then_some(info)
    }
}

/// The file that marks a session as archived, in the folder beside its transcript.
pub fn archive_mark(transcript: &Path) -> PathBuf {
    transcript.with_extension("").join("archived.json")
}

pub(crate) fn is_archived(transcript: &Path) -> bool {
    #[derive(serde::Deserialize)]
    struct ArchiveMark {
        archived: bool,
    }
    let text = std::fs::read(archive_mark(transcript)).ok();
    text.and_then(|text| serde_json::from_slice::<ArchiveMark>(&text).ok()).is_some_and(|mark| mark.archived)
}

/// Renames a session, in use or not, by appending a line to its file.
pub fn rename(transcript: &Path, name: &str) -> Result<(), StoreError> {
    let session_id = transcript.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    add(transcript, MetaEntry::CustomTitle { custom_title: name.to_owned(), session_id })
}

/// Appends one line to a file that other processes may be writing to.
pub(crate) fn add(transcript: &Path, entry: MetaEntry) -> Result<(), StoreError> {
    let fail = |e| StoreError::write(transcript, e);
    let mut line = wire::entry::TranscriptEntry::Meta(entry).to_line().map_err(|e| fail(e.into()))?;
    line.push('\n');
    let mut file = std::fs::OpenOptions::new().append(true).open(transcript).map_err(fail)?;
    let length = file.metadata().map_err(fail)?.len();
    let mut last = [b'\n'];
    if length > 0 {
        File::open(transcript).and_then(|file| file.read_at(&mut last, length - 1)).map_err(fail)?;
    }
    // A newline ends a torn last line, so that it does not swallow the new one.
    if last != [b'\n'] {
        line.insert(0, '\n');
    }
    file.write_all(line.as_bytes()).map_err(fail)
}

/// Reads the start and the end of a file.
pub(crate) fn read(path: &Path) -> Option<SessionInfo> {
    let file = File::open(path).ok()?;
    let len = file.metadata().ok()?.len();
    let mut head = vec![0; len.min(EDGE_BYTES) as usize];
    file.read_at(&mut head, 0).ok()?;
    // The end of the file, without what the head already covers.
    let rest = (len - head.len() as u64).min(EDGE_BYTES);
    let mut tail = vec![0; rest as usize];
    file.read_at(&mut tail, len - rest).ok()?;
    let mut info = SessionInfo { path: path.to_path_buf(), ..SessionInfo::default() };
    let mut command = None;
    for (at, line) in head.split(|b| *b == b'\n').enumerate() {
        let Some(line) = LineHead::read(line) else { continue };
        info.is_sidechain |= at == 0 && line.is_sidechain.0;
        info.take_first(&line, &mut command);
        info.take_last(&line);
    }
    for line in tail.split(|b| *b == b'\n').filter_map(LineHead::read) {
        if info.cwd.is_none() {
            info.cwd = line.cwd.owned();
        }
        info.take_last(&line);
    }
    info.first_prompt = info.first_prompt.or(command);
    let [custom, ai] = &info.titles;
    info.title = custom.clone().or_else(|| ai.clone());
    info.tag = info.tag.filter(|t| !t.is_empty());
    Some(info)
}

/// Describes the session in the file `path`.
pub fn describe(path: &Path) -> Option<SessionInfo> {
    read(path)
}

/// The title of the session in `path`.
pub fn title_of(path: &Path) -> Option<String> {
    read(path)?.title
}

/// The directory of the session in `path`.
pub(crate) fn recorded_cwd(path: &Path) -> Option<String> {
    if path.extension().is_none_or(|e| e != "jsonl") {
        return None;
    }
    read(path)?.cwd
}

impl SessionInfo {
    /// Takes values for which the first line that has one decides.
    fn take_first(&mut self, line: &LineHead<'_>, command: &mut Option<String>) {
        keep(&mut self.cwd, || line.cwd.owned());
        keep(&mut self.entrypoint, || line.entrypoint.owned());
        keep(&mut self.kind, || line.session_kind.owned());
        if let (None, Some(origin)) = (&self.forked_from, line.forked_from) {
            let origin: Option<head::ForkOrigin<'_>> = serde_json::from_str(origin.get()).ok();
            self.forked_from = origin.and_then(|origin| origin.session_id.owned());
        }
        if self.created_at.is_none() {
            self.created_at = line.timestamp.as_str().and_then(sys::clock::parse_iso);
        }
        if self.first_prompt.is_none()
            && line.kind.as_str() == Some("user")
            && line.is_message()
            && !line.is_compact_summary.0
        {
            match prompt(line) {
                Some(ListedPrompt::Text(text)) => self.first_prompt = Some(text),
                Some(ListedPrompt::Command(name)) => keep(command, || Some(name)),
                None => {}
            }
        }
    }

    /// Takes values for which the last line that has one decides.
    fn take_last(&mut self, line: &LineHead<'_>) {
        replace(&mut self.branch, line.branch.owned());
        replace(&mut self.slug, line.slug.owned());
        match line.kind.as_str() {
            Some("custom-title") => replace(&mut self.titles[0], line.custom_title.owned()),
            Some("ai-title") => replace(&mut self.titles[1], line.ai_title.owned()),
            Some("last-prompt") => replace(&mut self.last_prompt, line.last_prompt.owned()),
            Some("summary") => replace(&mut self.summary, line.summary.owned()),
            Some("pr-link") => replace(&mut self.pr_url, line.pr_url.owned()),
            Some("tag") => replace(&mut self.tag, line.tag.owned()),
            Some("relocated") => {
                // Other programs mark a moved session without recording where it went.
                self.is_gone = line.cwd.as_str().is_none();
                replace(&mut self.cwd, line.cwd.owned());
                replace(&mut self.moved_from, line.from.owned());
            }
            _ => {}
        }
    }
}

fn keep(slot: &mut Option<String>, value: impl FnOnce() -> Option<String>) {
    if slot.is_none() {
        *slot = value();
    }
}

fn replace(slot: &mut Option<String>, value: Option<String>) {
    if value.is_some() {
        *slot = value;
    }
}

enum ListedPrompt {
    Text(String),
    /// The name of a slash command, shown when there is no other prompt.
    Command(String),
}

/// The text of a user line when a person wrote it.
fn prompt(line: &LineHead<'_>) -> Option<ListedPrompt> {
    let message = head::message(line.message?);
    if message.content.blocks.iter().any(|b| b.kind.as_str() == Some("tool_result")) {
        return None;
    }
    let blocks = message.content.blocks.iter().filter_map(|b| b.text.as_str());
    message.content.text.as_deref().into_iter().chain(blocks).find_map(classify)
}

fn classify(text: &str) -> Option<ListedPrompt> {
    let text = text.replace('\n', " ");
    let text = text.trim();
    if let Some(name) = text.split_once("<command-name>").and_then(|(_, r)| r.split_once("</command-name>")) {
        return Some(ListedPrompt::Command(name.0.to_owned()));
    }
    const INJECTED: [&str; 5] =
        ["<local-command-stdout>", "<session-start-hook>", "<tick>", "<goal>", "[Request interrupted by user"];
    let only = |tag: &str| text.starts_with(&format!("<{tag}>")) && text.ends_with(&format!("</{tag}>"));
    let skip = text.is_empty()
        || INJECTED.iter().any(|p| text.starts_with(p))
        || only("ide_opened_file")
        || only("ide_selection");
    (!skip).then(|| ListedPrompt::Text(shorten(text)))
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(PROMPT_LIMIT) {
        Some((at, _)) => format!("{}…", text[..at].trim_end()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
#[path = "list_tests.rs"]
mod tests;
