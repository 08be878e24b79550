//! Edit: replaces exact text in one file. Refuses ambiguous matches, files it cannot write back as they were, and,
//! for models that need it, files the model has not read. A stale view is no obstacle while the match is certain.

mod apply;
pub(crate) mod change;

use crate::contract::{Call, CallCx, InputError, Outcome, Spec, Tool};
use crate::file_change::{self, Changing, FileChange};
use crate::file_work::{self, original, structured};
use crate::input::Input;
use crate::patch::{self, Hunk};
use crate::read_state::Standing;
use crate::text_file;
pub use apply::{Applied, Matched, Mismatch, Scope, apply};
use change::{Found, Opened};
use serde::Serialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::path::Path;

pub struct Edit;

static SPEC: Spec = Spec::of("Edit", include_str!("edit.md"), include_str!("edit.schema.json"));

impl Tool for Edit {
    fn spec(&self) -> &Spec {
        &SPEC
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn Call>, InputError> {
        let input = Input::of("Edit", input)?;
        Ok(Box::new(Changing(EditCall { file_path: input.string("file_path")?, step: Step::read(&input)? })))
    }
}

/// One replacement.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Step {
    pub(crate) old_string: String,
    pub(crate) new_string: String,
    pub(crate) replace_all: bool,
}

impl Step {
    pub(crate) fn read(input: &Input<'_>) -> Result<Self, InputError> {
        Ok(Self {
            old_string: input.string("old_string")?,
            new_string: input.string("new_string")?,
            replace_all: input.opt_bool("replace_all")?.unwrap_or(false),
        })
    }

    fn scope(&self) -> Scope {
        if self.replace_all { Scope::All } else { Scope::One }
    }

    /// Applies to `text`; the error is a sentence for the model.
    pub(crate) fn apply(&self, text: &str, path: &Path) -> Result<Applied, String> {
        if self.old_string == self.new_string {
            return Err("`old_string` and `new_string` are the same: there is nothing to change.".into());
        }
        if self.old_string.is_empty() {
            return match text {
                "" => Ok(Applied { text: self.new_string.clone(), count: 1, matched: Matched::Exactly }),
                _ => Err(format!(
                    "`old_string` is empty, but {} already has content. Give the text to replace, or use Write.",
                    path.display()
                )),
            };
        }
        apply(text, &self.old_string, &self.new_string, self.scope()).map_err(|why| match why {
            Mismatch::NotFound => format!("`old_string` was not found in {}:\n{}", path.display(), self.old_string),
            Mismatch::Ambiguous(count) => format!(
                "`old_string` occurs {count} times in {}. Add surrounding lines to make it unique, or set \
                 `replace_all`:\n{}",
                path.display(),
                self.old_string
            ),
        })
    }
}

struct EditCall {
    file_path: String,
    step: Step,
}

impl FileChange for EditCall {
    fn path(&self) -> &str {
        &self.file_path
    }

    fn check(&self, cx: &CallCx, path: &Path) -> Result<(), Outcome> {
        match self.find(cx, path)? {
            Some(opened) => self.applied(path, &opened).map(drop),
            None => Ok(()),
        }
    }

    fn change(&self, cx: &CallCx, path: &Path) -> Result<Outcome, Outcome> {
        match self.find(cx, path)? {
            Some(opened) => self.change(cx, path, &opened),
            None => self.create(cx, path),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Output<'a> {
    file_path: Cow<'a, str>,
    old_string: &'a str,
    new_string: &'a str,
    original_file: Option<&'a str>,
    structured_patch: Vec<Hunk>,
    user_modified: bool,
    replace_all: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    content_not_in_model_context: bool,
}

/// What the file was, and how it differs.
struct Before<'a> {
    text: &'a str,
    patch: Vec<Hunk>,
    standing: Standing,
}

impl EditCall {
    /// The file to change; `None` when it is to be made.
    fn find(&self, cx: &CallCx, path: &Path) -> Result<Option<Box<Opened>>, Outcome> {
        if self.step.old_string == self.step.new_string {
            return Err(Outcome::invalid("`old_string` and `new_string` are the same: there is nothing to change."));
        }
        match change::find(cx, path)? {
            Found::File(opened) => Ok(Some(opened)),
            Found::Nothing if self.step.old_string.is_empty() => Ok(None),
            Found::Nothing => Err(Outcome::invalid(file_work::missing_text(path, cx))),
        }
    }

    fn create(&self, cx: &CallCx, path: &Path) -> Result<Outcome, Outcome> {
        let content = self.step.new_string.as_bytes();
        text_file::create(path, content).map_err(|e| file_work::io_failed("create", path, &e))?;
        cx.state.reads.note_shown(path, content);
        let patch = patch::structured("", &self.step.new_string);
        let text = format!("The file {} has been created.", path.display());
        Ok(self.outcome(cx, path, text, Before { text: "", patch, standing: Standing::Unseen }))
    }

    fn applied(&self, path: &Path, opened: &Opened) -> Result<Applied, Outcome> {
        let done = self.step.apply(&opened.text, path).map_err(|why| match opened.standing {
            Standing::Stale => Outcome::invalid(format!("{why}\n{}", change::STALE)),
            Standing::Unseen | Standing::Current(_) => Outcome::invalid(why),
        })?;
        let certain = done.matched == Matched::Exactly && done.count == 1;
        if opened.standing == Standing::Stale && !certain {
            return Err(Outcome::invalid(change::STALE));
        }
        Ok(done)
    }

    fn change(&self, cx: &CallCx, path: &Path, opened: &Opened) -> Result<Outcome, Outcome> {
        let done = self.applied(path, opened)?;
        let patch = opened.save(cx, path, &done.text)?;
        let mut text = match done.count {
            1 => format!("The file {} has been updated.", path.display()),
            n => format!("The file {} has been updated: {n} occurrences replaced.", path.display()),
        };
        if opened.standing == Standing::Stale {
            text.push_str(" It also holds changes made since you read it: read it again before relying on the rest.");
        }
        Ok(self.outcome(cx, path, text, Before { text: &opened.text, patch, standing: opened.standing }))
    }

    fn outcome(&self, cx: &CallCx, path: &Path, text: String, before: Before<'_>) -> Outcome {
        let output = Output {
            file_path: path.to_string_lossy(),
            old_string: &self.step.old_string,
            new_string: &self.step.new_string,
            original_file: original(before.text),
            structured_patch: before.patch,
            user_modified: cx.changed_by_user,
            replace_all: self.step.replace_all,
            content_not_in_model_context: before.standing == Standing::Unseen && !before.text.is_empty(),
        };
        Outcome::text(file_change::told(cx, text, &self.step.new_string), structured(&output))
    }
}
