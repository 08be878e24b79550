//! MultiEdit (legacy, not offered): several Edit replacements in one file, in order, all or none.

use crate::contract::{CallContext, InputError, Tool, ToolCall, ToolOutcome, ToolSpec};
use crate::edit::change::{self, EditTarget, EditableFile};
use crate::edit::{AppliedEdit, TextReplacement};
use crate::facts::{AgentUse, EDIT_MASK_ADVICE, MaskedInput, ToolClass, ToolFacts};
use crate::file_change::{self, FileChange, FileChangeCall};
use crate::file_work::{self, original_file, structured};
use crate::input::ToolInput;
use crate::missing_file;
use crate::patch::{self, DiffHunk};
use crate::syntax;
use crate::text_file;
use serde::Serialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::path::Path;

pub struct MultiEditTool;

const FACTS: ToolFacts = ToolFacts {
    masked_input: MaskedInput::Refused(EDIT_MASK_ADVICE),
    agents: AgentUse::Always,
    ..ToolFacts::of(ToolClass::Edit).writes("file_path")
};

static SPEC: ToolSpec =
    ToolSpec::of("MultiEdit", include_str!("multi_edit.md"), include_str!("multi_edit.schema.json"), FACTS);

impl Tool for MultiEditTool {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn ToolCall>, InputError> {
        let input = ToolInput::of("MultiEdit", input)?;
        let edits = input.objects("edits")?.iter().map(TextReplacement::read).collect::<Result<Vec<_>, _>>()?;
        if edits.is_empty() {
            return Err(input.refuse("edits", "must hold at least one edit"));
        }
        Ok(Box::new(FileChangeCall(MultiEditCall { file_path: input.string("file_path")?, edits })))
    }
}

struct MultiEditCall {
    file_path: String,
    edits: Vec<TextReplacement>,
}

impl FileChange for MultiEditCall {
    fn path(&self) -> &str {
        &self.file_path
    }

    fn check(&self, cx: &CallContext, path: &Path) -> Result<(), ToolOutcome> {
        match change::find(cx, path)? {
            EditTarget::File(opened) => self.apply(cx, path, &opened).map(drop),
            EditTarget::Nothing if self.edits[0].old_string.is_empty() => self.apply_to_nothing(path).map(drop),
            EditTarget::Nothing => Err(ToolOutcome::invalid(missing_file::text(path, cx))),
        }
    }

    fn change(&self, cx: &CallContext, path: &Path) -> Result<ToolOutcome, ToolOutcome> {
        self.edit(cx, path)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MultiEditOutput<'a> {
    file_path: Cow<'a, str>,
    edits: &'a [TextReplacement],
    original_file: Option<&'a str>,
    structured_patch: Vec<DiffHunk>,
    user_modified: bool,
}

impl MultiEditCall {
    fn edit(&self, cx: &CallContext, path: &Path) -> Result<ToolOutcome, ToolOutcome> {
        let creates = self.edits[0].old_string.is_empty();
        match change::find(cx, path)? {
            EditTarget::File(opened) => {
                let text = self.apply(cx, path, &opened)?;
                let patch = opened.save(cx, path, &text)?;
                let note = syntax::broken_note(path, &opened.text, &text);
                Ok(self.outcome(cx, path, ("updated", note), &opened.text, patch))
            }
            EditTarget::Nothing if creates => {
                let text = self.apply_to_nothing(path)?;
                text_file::create(path, text.as_bytes()).map_err(|e| file_work::io_error("create", path, &e))?;
                cx.state.reads.record_shown(path, text.as_bytes());
                Ok(self.outcome(cx, path, ("created", None), "", patch::structured("", &text)))
            }
            EditTarget::Nothing => Err(ToolOutcome::invalid(missing_file::text(path, cx))),
        }
    }

    /// The text with all edits; nothing is written.
    fn apply(&self, cx: &CallContext, path: &Path, opened: &EditableFile) -> Result<String, ToolOutcome> {
        let refuse = |why: &str| opened.refusal(cx, path, why);
        self.apply_all(&opened.text, path, refuse, |done| opened.refuse_uncertain(cx, path, done))
    }

    fn apply_to_nothing(&self, path: &Path) -> Result<String, ToolOutcome> {
        self.apply_all("", path, |why| ToolOutcome::invalid(why), |_| Ok(()))
    }

    fn apply_all(
        &self,
        before: &str,
        path: &Path,
        refuse: impl Fn(&str) -> ToolOutcome,
        check: impl Fn(&AppliedEdit) -> Result<(), ToolOutcome>,
    ) -> Result<String, ToolOutcome> {
        let mut text = before.to_owned();
        for (i, step) in self.edits.iter().enumerate() {
            let done = step.apply(&text, path).map_err(|why| {
                refuse(&format!("Edit {} of {} failed, nothing was changed. {why}", i + 1, self.edits.len()))
            })?;
            check(&done)?;
            text = done.text;
        }
        Ok(text)
    }

    /// `done` is what was done with the file, and a note about its new content.
    fn outcome(
        &self,
        cx: &CallContext,
        path: &Path,
        done: (&str, Option<String>),
        before: &str,
        patch: Vec<DiffHunk>,
    ) -> ToolOutcome {
        let (verb, note) = done;
        let count = self.edits.len();
        let output = MultiEditOutput {
            file_path: path.to_string_lossy(),
            edits: &self.edits,
            original_file: original_file(before),
            structured_patch: patch,
            user_modified: cx.changed_by_user,
        };
        let accepted: Vec<&str> = self.edits.iter().map(|edit| edit.new_string.as_str()).collect();
        let text =
            format!("The file {} has been {verb}: {count} edits applied.{}", path.display(), note.unwrap_or_default());
        ToolOutcome::text(file_change::change_acknowledgement(cx, text, &accepted.join("\n")), structured(&output))
    }
}
