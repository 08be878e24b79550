//! Write: creates or replaces a whole file. Content that the model has not seen must not be lost: a partly viewed
//! file or an unread notebook is never overwritten, and models that require it must have read the file first.

use crate::contract::{CallContext, InputError, PathDiscovery, Tool, ToolCall, ToolOutcome, ToolSpec};
use crate::facts::{AgentUse, ToolClass, ToolFacts};
use crate::file_change::{self, FileChange, FileChangeCall};
use crate::file_work::{self, MAX_LOADED_BYTES, PathKind, original_file, structured};
use crate::input::ToolInput;
use crate::patch::{self, DiffHunk};
use crate::read_state::{Coverage, FileFreshness};
use crate::seen_difference;
use crate::syntax;
use crate::text_file::{self, LineEnding, TextFile};
use serde::Serialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fs::Metadata;
use std::path::Path;
use wire::counting::counted;

pub struct WriteTool;

const FACTS: ToolFacts = ToolFacts { agents: AgentUse::Always, ..ToolFacts::of(ToolClass::Edit).writes("file_path") };

static SPEC: ToolSpec = ToolSpec::of("Write", include_str!("write.md"), include_str!("write.schema.json"), FACTS);

impl Tool for WriteTool {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn ToolCall>, InputError> {
        let input = ToolInput::of("Write", input)?;
        Ok(Box::new(FileChangeCall(WriteCall {
            file_path: input.string("file_path")?,
            content: input.string("content")?,
        })))
    }
}

struct WriteCall {
    file_path: String,
    content: String,
}

impl FileChange for WriteCall {
    fn path(&self) -> &str {
        &self.file_path
    }

    fn check(&self, cx: &CallContext, path: &Path) -> Result<(), ToolOutcome> {
        match existing_file(cx, path)? {
            Some(meta) => open(cx, path, &meta).map(drop),
            None => Ok(()),
        }
    }

    fn change(&self, cx: &CallContext, path: &Path) -> Result<ToolOutcome, ToolOutcome> {
        match existing_file(cx, path)? {
            Some(meta) => self.update(cx, path, &meta),
            None => self.create(cx, path),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WriteOutput<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    file_path: Cow<'a, str>,
    content: &'a str,
    structured_patch: Vec<DiffHunk>,
    original_file: Option<&'a str>,
    user_modified: bool,
}

/// The state of the file before the write.
#[derive(Clone, Copy)]
enum PreviousFile<'a> {
    Missing,
    /// The file existed; with its text, when it is text of limited size.
    There(Option<&'a str>),
}

impl WriteCall {
    fn create(&self, cx: &CallContext, path: &Path) -> Result<ToolOutcome, ToolOutcome> {
        let bytes = self.content.as_bytes();
        text_file::create(path, bytes).map_err(|e| file_work::io_error("create", path, &e))?;
        cx.state.reads.record_shown(path, bytes);
        Ok(self.outcome(cx, path, "created.", Vec::new(), PreviousFile::Missing))
    }

    fn update(&self, cx: &CallContext, path: &Path, meta: &Metadata) -> Result<ToolOutcome, ToolOutcome> {
        let file = open(cx, path, meta)?;
        let text = with_line_endings_of(file.text.as_deref(), &self.content);
        let bytes = match file.text {
            Some(_) => file.save(&text),
            None => text_file::replace(&file.target, text.as_bytes()).map(|()| text.as_bytes().to_vec()),
        };
        let bytes = bytes.map_err(|e| file_work::io_error("write", path, &e))?;
        cx.state.reads.record_shown(path, &bytes);
        // Bytes that were not text have no lines to compare.
        let patch = file.text.as_deref().map_or_else(Vec::new, |old| patch::structured(old, &text));
        let done = file.text.as_deref().map_or_else(|| "updated.".into(), |old| updated(path, old, &text));
        Ok(self.outcome(cx, path, &done, patch, PreviousFile::There(file.text.as_deref().and_then(original_file))))
    }

    /// `done` completes "The file … has been …".
    fn outcome(
        &self,
        cx: &CallContext,
        path: &Path,
        done: &str,
        patch: Vec<DiffHunk>,
        was: PreviousFile<'_>,
    ) -> ToolOutcome {
        let (kind, before) = match was {
            PreviousFile::Missing => ("create", None),
            PreviousFile::There(text) => ("update", text),
        };
        let output = WriteOutput {
            kind,
            file_path: path.to_string_lossy(),
            content: &self.content,
            structured_patch: patch,
            original_file: before,
            user_modified: cx.changed_by_user,
        };
        let text = format!("The file {} has been {done}", path.display());
        ToolOutcome::text(file_change::change_acknowledgement(cx, text, &self.content), structured(&output))
    }
}

/// What an update did: the lines before and after, and whether the file can still be parsed.
fn updated(path: &Path, old: &str, new: &str) -> String {
    let before = old.lines().count();
    let note = syntax::broken_note(path, old, new).unwrap_or_default();
    format!("updated ({} → {}).{note}", counted(before, "line"), new.lines().count())
}

/// The metadata of the existing file; `None` when there is none.
fn existing_file(cx: &CallContext, path: &Path) -> Result<Option<Metadata>, ToolOutcome> {
    if !(cx.may_read)(path, PathDiscovery::Named) {
        return Err(file_work::denied_error(path));
    }
    match file_work::inspect(path).map_err(|e| file_work::io_error("write", path, &e))? {
        PathKind::Nothing => Ok(None),
        PathKind::File(meta) => Ok(Some(meta)),
        PathKind::Directory => Err(ToolOutcome::invalid(format!("{} is a directory.", path.display()))),
        PathKind::Special(kind) => Err(file_work::special_file_error(path, kind)),
    }
}

/// Loads the file if it may be overwritten.
fn open(cx: &CallContext, path: &Path, meta: &Metadata) -> Result<TextFile, ToolOutcome> {
    if meta.len() > MAX_LOADED_BYTES {
        let mib = meta.len() >> 20;
        return Err(ToolOutcome::invalid(format!("{} holds {mib} MiB. Remove it first.", path.display())));
    }
    if let Some(refused) = file_work::perforce_refusal(path, meta, cx) {
        return Err(refused);
    }
    let file = TextFile::load(path).map_err(|e| file_work::io_error("read", path, &e))?;
    if !file.bytes.is_empty() {
        may_overwrite(cx, path, &file)?;
    }
    Ok(file)
}

fn may_overwrite(cx: &CallContext, path: &Path, file: &TextFile) -> Result<(), ToolOutcome> {
    let freshness = cx.state.reads.freshness(path, &file.bytes, &file.meta);
    let strict = cx.state.facts.read_before_edit || file_work::is_notebook(path);
    let why = match freshness {
        FileFreshness::Current(Coverage::Whole) => return Ok(()),
        FileFreshness::Unseen | FileFreshness::Stale if !strict => return Ok(()),
        FileFreshness::Current(Coverage::Range | Coverage::Clipped) => "has been read only in part. Read all of it",
        FileFreshness::Unseen => "exists and has not been read yet. Read it",
        FileFreshness::Stale => {
            return Err(seen_difference::refusal(
                cx,
                path,
                None,
                &file.bytes,
                file.text.as_deref().unwrap_or_default(),
            ));
        }
    };
    Err(ToolOutcome::invalid(format!("{} {why} before you overwrite it.", path.display())))
}

/// A CRLF file keeps its line endings when the new content has LF only; content that contains CRLF is not changed.
fn with_line_endings_of<'a>(old: Option<&str>, new: &'a str) -> Cow<'a, str> {
    let crlf = old.is_some_and(|text| LineEnding::of(text) == LineEnding::CrLf);
    if crlf && !new.contains("\r\n") { LineEnding::CrLf.apply(new).into() } else { new.into() }
}
