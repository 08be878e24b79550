//! MultiEdit (legacy, not offered): several Edit replacements in one file, in order, all or none.

use crate::contract::{Call, CallCx, InputError, Outcome, Spec, Tool};
use crate::edit::change::{self, Found, Opened};
use crate::edit::{Matched, Step};
use crate::file_change::{self, Changing, FileChange};
use crate::file_work::{self, original, structured};
use crate::input::Input;
use crate::patch::{self, Hunk};
use crate::read_state::Standing;
use crate::text_file;
use serde::Serialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::path::Path;

pub struct MultiEdit;

static SPEC: Spec = Spec::of("MultiEdit", include_str!("multi_edit.md"), include_str!("multi_edit.schema.json"));

impl Tool for MultiEdit {
    fn spec(&self) -> &Spec {
        &SPEC
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn Call>, InputError> {
        let input = Input::of("MultiEdit", input)?;
        let edits = input.objects("edits")?.iter().map(Step::read).collect::<Result<Vec<_>, _>>()?;
        if edits.is_empty() {
            return Err(input.refuse("edits", "must hold at least one edit"));
        }
        Ok(Box::new(Changing(MultiEditCall { file_path: input.string("file_path")?, edits })))
    }
}

struct MultiEditCall {
    file_path: String,
    edits: Vec<Step>,
}

impl FileChange for MultiEditCall {
    fn path(&self) -> &str {
        &self.file_path
    }

    fn check(&self, cx: &CallCx, path: &Path) -> Result<(), Outcome> {
        match change::find(cx, path)? {
            Found::File(opened) => self.apply(&opened, path).map(drop),
            Found::Nothing if self.edits[0].old_string.is_empty() => {
                self.apply_all("", path, Standing::Unseen).map(drop)
            }
            Found::Nothing => Err(Outcome::invalid(file_work::missing_text(path, cx))),
        }
    }

    fn change(&self, cx: &CallCx, path: &Path) -> Result<Outcome, Outcome> {
        self.edit(cx, path)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Output<'a> {
    file_path: Cow<'a, str>,
    edits: &'a [Step],
    original_file: Option<&'a str>,
    structured_patch: Vec<Hunk>,
    user_modified: bool,
}

impl MultiEditCall {
    fn edit(&self, cx: &CallCx, path: &Path) -> Result<Outcome, Outcome> {
        let creates = self.edits[0].old_string.is_empty();
        match change::find(cx, path)? {
            Found::File(opened) => {
                let text = self.apply(&opened, path)?;
                let patch = opened.save(cx, path, &text)?;
                Ok(self.outcome(cx, path, "updated", &opened.text, patch))
            }
            Found::Nothing if creates => {
                let text = self.apply_all("", path, Standing::Unseen)?;
                text_file::create(path, text.as_bytes()).map_err(|e| file_work::io_failed("create", path, &e))?;
                cx.state.reads.note_shown(path, text.as_bytes());
                Ok(self.outcome(cx, path, "created", "", patch::structured("", &text)))
            }
            Found::Nothing => Err(Outcome::invalid(file_work::missing_text(path, cx))),
        }
    }

    fn apply(&self, opened: &Opened, path: &Path) -> Result<String, Outcome> {
        self.apply_all(&opened.text, path, opened.standing)
    }

    fn apply_all(&self, before: &str, path: &Path, standing: Standing) -> Result<String, Outcome> {
        let mut text = before.to_owned();
        for (i, step) in self.edits.iter().enumerate() {
            let done = step.apply(&text, path).map_err(|why| {
                Outcome::invalid(format!("Edit {} of {} failed, nothing was changed. {why}", i + 1, self.edits.len()))
            })?;
            let certain = done.matched == Matched::Exactly && done.count == 1;
            if standing == Standing::Stale && !certain {
                return Err(Outcome::invalid(change::STALE));
            }
            text = done.text;
        }
        Ok(text)
    }

    fn outcome(&self, cx: &CallCx, path: &Path, verb: &str, before: &str, patch: Vec<Hunk>) -> Outcome {
        let count = self.edits.len();
        let output = Output {
            file_path: path.to_string_lossy(),
            edits: &self.edits,
            original_file: original(before),
            structured_patch: patch,
            user_modified: cx.changed_by_user,
        };
        let accepted: Vec<&str> = self.edits.iter().map(|edit| edit.new_string.as_str()).collect();
        let text = format!("The file {} has been {verb}: {count} edits applied.", path.display());
        Outcome::text(file_change::told(cx, text, &accepted.join("\n")), structured(&output))
    }
}
