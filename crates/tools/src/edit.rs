//! Edit: replaces exact text in one file. Refuses ambiguous matches, files it cannot write back without loss, and,
//! for models that require it, files the model has not read. A file that changed since it was read may be edited
//! while the match is unique.

mod apply;
pub(crate) mod change;
mod elsewhere;
mod explain;
mod lookalikes;
mod nearest;
mod report;
mod tolerant;

use crate::contract::{CallContext, InputError, NormalisedInput, Tool, ToolCall, ToolOutcome, ToolSpec};
use crate::facts::{AgentUse, EDIT_MASK_ADVICE, MaskedInput, ToolClass, ToolFacts};
use crate::file_change::{self, FileChange, FileChangeCall};
use crate::file_work::{self, original_file, structured};
use crate::input::ToolInput;
use crate::missing_file;
use crate::patch::{self, DiffHunk};
use crate::read_state::FileFreshness;
use crate::syntax;
use crate::text_file;
pub use apply::{AppliedEdit, EditMismatch, MatchKind, ReplaceScope, apply};
use change::{EditTarget, EditableFile};
use lookalikes::lf_only;
use serde::Serialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::path::Path;
use tolerant::TolerantSearch;

pub struct EditTool;

const FACTS: ToolFacts = ToolFacts {
    masked_input: MaskedInput::Refused(EDIT_MASK_ADVICE),
    agents: AgentUse::Always,
    is_basic: true,
    ..ToolFacts::of(ToolClass::Edit).writes("file_path")
};

static SPEC: ToolSpec = ToolSpec::of("Edit", include_str!("edit.md"), include_str!("edit.schema.json"), FACTS);

impl Tool for EditTool {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn ToolCall>, InputError> {
        let input = ToolInput::of("Edit", input)?;
        Ok(Box::new(FileChangeCall(EditCall {
            file_path: input.string("file_path")?,
            replacement: TextReplacement::read(&input)?,
        })))
    }
}

/// One replacement.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TextReplacement {
    pub(crate) old_string: String,
    pub(crate) new_string: String,
    pub(crate) replace_all: bool,
}

impl TextReplacement {
    pub(crate) fn read(input: &ToolInput<'_>) -> Result<Self, InputError> {
        Ok(Self {
            old_string: input.string("old_string")?,
            new_string: input.string("new_string")?,
            replace_all: input.opt_bool("replace_all")?.unwrap_or(false),
        })
    }

    fn scope(&self) -> ReplaceScope {
        if self.replace_all { ReplaceScope::All } else { ReplaceScope::One }
    }

    /// Applies the replacement to `text`; the error is a sentence for the model.
    pub(crate) fn apply(&self, text: &str, path: &Path) -> Result<AppliedEdit, String> {
        if self.old_string == self.new_string {
            return Err("`old_string` and `new_string` are the same: there is nothing to change.".into());
        }
        if self.old_string.is_empty() {
            return match text {
                "" => Ok(AppliedEdit { text: self.new_string.clone(), places: vec![0], matched: MatchKind::Exactly }),
                _ => Err(format!(
                    "`old_string` is empty, but {} already has content. Give the text to replace, or use Write.",
                    path.display()
                )),
            };
        }
        apply(text, &self.old_string, &self.new_string, self.scope()).map_err(|why| self.explain(why, text, path))
    }

    fn explain(&self, why: EditMismatch, text: &str, path: &Path) -> String {
        let (text, old, new) = (lf_only(text), lf_only(&self.old_string), lf_only(&self.new_string));
        match why {
            EditMismatch::Ambiguous(places) => explain::ambiguous(path, &text, &places),
            EditMismatch::NotFound => match self.search(&text, &old, &new) {
                TolerantSearch::Several(places) => explain::several_alike(path, &text, &places),
                TolerantSearch::Nothing | TolerantSearch::One(_) => explain::not_found(path, &text, &old, &new),
            },
        }
    }

    /// Searches for text that differs only in ways models do not notice. Never for all occurrences.
    fn search(&self, text: &str, old: &str, new: &str) -> TolerantSearch {
        match self.scope() {
            ReplaceScope::One => tolerant::search(text, old, new),
            ReplaceScope::All => TolerantSearch::Nothing,
        }
    }

    /// The replacement with the text that is in the file, and how it was found; `None` when it is there as it was
    /// sent, or nowhere, or when it cannot be told where it is meant.
    fn normalised(&self, text: &str) -> Option<(Self, String)> {
        if self.old_string.is_empty() || apply(text, &self.old_string, &self.new_string, self.scope()).is_ok() {
            return None;
        }
        let text = lf_only(text);
        match self.search(&text, &lf_only(&self.old_string), &lf_only(&self.new_string)) {
            TolerantSearch::One(found) => {
                let note = found.note(&text);
                let old_string = text[found.range].to_owned();
                Some((Self { old_string, new_string: found.replacement, replace_all: false }, note))
            }
            TolerantSearch::Nothing | TolerantSearch::Several(_) => None,
        }
    }
}

struct EditCall {
    file_path: String,
    replacement: TextReplacement,
}

impl FileChange for EditCall {
    fn path(&self) -> &str {
        &self.file_path
    }

    fn check(&self, cx: &CallContext, path: &Path) -> Result<(), ToolOutcome> {
        match self.find(cx, path)? {
            Some(opened) => self.applied(cx, path, &opened).map(drop),
            None => Ok(()),
        }
    }

    fn normalise(&self, cx: &CallContext, path: &Path) -> Option<NormalisedInput> {
        let opened = self.find(cx, path).ok()??;
        if opened.is_stale() {
            return None;
        }
        let (replacement, note) = self.replacement.normalised(&opened.text)?;
        let input = NormalisedEdit { file_path: &self.file_path, replacement: &replacement };
        Some(NormalisedInput { input: wire::raw::to_raw(&input).ok()?, note })
    }

    fn change(&self, cx: &CallContext, path: &Path) -> Result<ToolOutcome, ToolOutcome> {
        match self.find(cx, path)? {
            Some(opened) => self.change(cx, path, &opened),
            None => self.create(cx, path),
        }
    }
}

/// The input of an Edit call.
#[derive(Serialize)]
struct NormalisedEdit<'a> {
    file_path: &'a str,
    #[serde(flatten)]
    replacement: &'a TextReplacement,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EditOutput<'a> {
    file_path: Cow<'a, str>,
    old_string: &'a str,
    new_string: &'a str,
    original_file: Option<&'a str>,
    structured_patch: Vec<DiffHunk>,
    user_modified: bool,
    replace_all: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    content_not_in_model_context: bool,
}

/// The file before the edit, and the difference.
struct EditedFile<'a> {
    text: &'a str,
    patch: Vec<DiffHunk>,
    freshness: FileFreshness,
}

impl EditCall {
    /// The file to change; `None` when it is to be created.
    fn find(&self, cx: &CallContext, path: &Path) -> Result<Option<Box<EditableFile>>, ToolOutcome> {
        if self.replacement.old_string == self.replacement.new_string {
            return Err(ToolOutcome::invalid(
                "`old_string` and `new_string` are the same: there is nothing to change.",
            ));
        }
        match change::find(cx, path)? {
            EditTarget::File(opened) => Ok(Some(opened)),
            EditTarget::Nothing if self.replacement.old_string.is_empty() => Ok(None),
            EditTarget::Nothing => Err(ToolOutcome::invalid(missing_file::text(path, cx))),
        }
    }

    fn create(&self, cx: &CallContext, path: &Path) -> Result<ToolOutcome, ToolOutcome> {
        let content = self.replacement.new_string.as_bytes();
        text_file::create(path, content).map_err(|e| file_work::io_error("create", path, &e))?;
        cx.state.reads.record_shown(path, content);
        let patch = patch::structured("", &self.replacement.new_string);
        let text = format!("The file {} has been created.", path.display());
        Ok(self.outcome(cx, path, text, EditedFile { text: "", patch, freshness: FileFreshness::Unseen }))
    }

    fn applied(&self, cx: &CallContext, path: &Path, opened: &EditableFile) -> Result<AppliedEdit, ToolOutcome> {
        let done = self.replacement.apply(&opened.text, path).map_err(|why| {
            let other = elsewhere::explain(cx, path, &opened.text, &self.replacement);
            opened.refusal(cx, path, &other.unwrap_or(why))
        })?;
        opened.refuse_uncertain(cx, path, &done)?;
        Ok(done)
    }

    fn change(&self, cx: &CallContext, path: &Path, opened: &EditableFile) -> Result<ToolOutcome, ToolOutcome> {
        let done = self.applied(cx, path, opened)?;
        let patch = opened.save(cx, path, &done.text)?;
        let mut text = match done.places.as_slice() {
            [_] => format!("The file {} has been updated.", path.display()),
            places => {
                format!("The file {} has been updated: {}.", path.display(), report::occurrences(&done.text, places))
            }
        };
        if let Some(note) = &cx.input_note {
            text.push_str(&report::matched_region(note, &done.text, &self.replacement.new_string, done.places[0]));
        }
        text.extend(syntax::broken_note(path, &opened.text, &done.text));
        if opened.is_stale() {
            text.push_str(" It also holds changes made since you read it: read it again before relying on the rest.");
        }
        Ok(self.outcome(cx, path, text, EditedFile { text: &opened.text, patch, freshness: opened.freshness }))
    }

    fn outcome(&self, cx: &CallContext, path: &Path, text: String, before: EditedFile<'_>) -> ToolOutcome {
        let output = EditOutput {
            file_path: path.to_string_lossy(),
            old_string: &self.replacement.old_string,
            new_string: &self.replacement.new_string,
            original_file: original_file(before.text),
            structured_patch: before.patch,
            user_modified: cx.changed_by_user,
            replace_all: self.replacement.replace_all,
            content_not_in_model_context: before.freshness == FileFreshness::Unseen && !before.text.is_empty(),
        };
        ToolOutcome::text(
            file_change::change_acknowledgement(cx, text, &self.replacement.new_string),
            structured(&output),
        )
    }
}
