//! Write: creates or replaces a whole file. What stands in the file now must not be lost unseen: a partly viewed file
//! or an unread notebook is never overwritten, and models that need it must have read the file first.

use crate::contract::{Call, CallCx, InputError, Met, Outcome, Spec, Tool};
use crate::file_change::{self, Changing, FileChange};
use crate::file_work::{self, At, HELD_LIMIT, original, structured};
use crate::input::Input;
use crate::patch::{self, Hunk};
use crate::read_state::{Coverage, Standing};
use crate::text_file::{self, LineEnding, TextFile};
use serde::Serialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fs::Metadata;
use std::path::Path;

pub struct Write;

static SPEC: Spec = Spec::of("Write", include_str!("write.md"), include_str!("write.schema.json"));

impl Tool for Write {
    fn spec(&self) -> &Spec {
        &SPEC
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn Call>, InputError> {
        let input = Input::of("Write", input)?;
        Ok(Box::new(Changing(WriteCall { file_path: input.string("file_path")?, content: input.string("content")? })))
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

    fn check(&self, cx: &CallCx, path: &Path) -> Result<(), Outcome> {
        match look(cx, path)? {
            Some(meta) => open(cx, path, &meta).map(drop),
            None => Ok(()),
        }
    }

    fn change(&self, cx: &CallCx, path: &Path) -> Result<Outcome, Outcome> {
        match look(cx, path)? {
            Some(meta) => self.update(cx, path, &meta),
            None => self.create(cx, path),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Output<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    file_path: Cow<'a, str>,
    content: &'a str,
    structured_patch: Vec<Hunk>,
    original_file: Option<&'a str>,
    user_modified: bool,
}

/// The file before.
#[derive(Clone, Copy)]
enum Was<'a> {
    Missing,
    /// With its text, when that can be told.
    There(Option<&'a str>),
}

impl WriteCall {
    fn create(&self, cx: &CallCx, path: &Path) -> Result<Outcome, Outcome> {
        let bytes = self.content.as_bytes();
        text_file::create(path, bytes).map_err(|e| file_work::io_failed("create", path, &e))?;
        cx.state.reads.note_shown(path, bytes);
        Ok(self.outcome(cx, path, Vec::new(), Was::Missing))
    }

    fn update(&self, cx: &CallCx, path: &Path, meta: &Metadata) -> Result<Outcome, Outcome> {
        let file = open(cx, path, meta)?;
        let text = in_style_of(file.text.as_deref(), &self.content);
        let bytes = match file.text {
            Some(_) => file.save(&text),
            None => text_file::replace(&file.target, text.as_bytes()).map(|()| text.as_bytes().to_vec()),
        };
        let bytes = bytes.map_err(|e| file_work::io_failed("write", path, &e))?;
        cx.state.reads.note_shown(path, &bytes);
        // Bytes that were not text have no lines to compare.
        let patch = file.text.as_deref().map_or_else(Vec::new, |old| patch::structured(old, &text));
        Ok(self.outcome(cx, path, patch, Was::There(file.text.as_deref().and_then(original))))
    }

    fn outcome(&self, cx: &CallCx, path: &Path, patch: Vec<Hunk>, was: Was<'_>) -> Outcome {
        let (kind, verb, before) = match was {
            Was::Missing => ("create", "created", None),
            Was::There(text) => ("update", "updated", text),
        };
        let output = Output {
            kind,
            file_path: path.to_string_lossy(),
            content: &self.content,
            structured_patch: patch,
            original_file: before,
            user_modified: cx.changed_by_user,
        };
        let text = format!("The file {} has been {verb}.", path.display());
        Outcome::text(file_change::told(cx, text, &self.content), structured(&output))
    }
}

/// The file that is there; `None` when there is nothing.
fn look(cx: &CallCx, path: &Path) -> Result<Option<Metadata>, Outcome> {
    if !(cx.may_read)(path, Met::Named) {
        return Err(file_work::denied(path));
    }
    match file_work::look(path).map_err(|e| file_work::io_failed("write", path, &e))? {
        At::Nothing => Ok(None),
        At::File(meta) => Ok(Some(meta)),
        At::Directory => Err(Outcome::invalid(format!("{} is a directory.", path.display()))),
        At::Special(kind) => Err(file_work::special(path, kind)),
    }
}

/// The file, if it may be overwritten.
fn open(cx: &CallCx, path: &Path, meta: &Metadata) -> Result<TextFile, Outcome> {
    if meta.len() > HELD_LIMIT {
        let mib = meta.len() >> 20;
        return Err(Outcome::invalid(format!("{} holds {mib} MiB. Remove it first.", path.display())));
    }
    if let Some(refused) = file_work::perforce_refusal(path, meta, cx) {
        return Err(refused);
    }
    let file = TextFile::load(path).map_err(|e| file_work::io_failed("read", path, &e))?;
    if !file.bytes.is_empty() {
        may_overwrite(cx, path, cx.state.reads.standing(path, &file.bytes, &file.meta))?;
    }
    Ok(file)
}

fn may_overwrite(cx: &CallCx, path: &Path, standing: Standing) -> Result<(), Outcome> {
    let strict = cx.state.facts.read_before_edit || file_work::is_notebook(path);
    let why = match standing {
        Standing::Current(Coverage::Whole) => return Ok(()),
        Standing::Unseen | Standing::Stale if !strict => return Ok(()),
        Standing::Current(Coverage::Range | Coverage::Clipped) => "has been read only in part. Read all of it",
        Standing::Unseen => "exists and has not been read yet. Read it",
        Standing::Stale => "has changed since you read it. Read it again",
    };
    Err(Outcome::invalid(format!("{} {why} before you overwrite it.", path.display())))
}

/// A CRLF file stays one when the new content has plain line feeds; content that has its own CRLF is left alone.
fn in_style_of<'a>(old: Option<&str>, new: &'a str) -> Cow<'a, str> {
    let crlf = old.is_some_and(|text| LineEnding::of(text) == LineEnding::CrLf);
    if crlf && !new.contains("\r\n") { LineEnding::CrLf.apply(new).into() } else { new.into() }
}
