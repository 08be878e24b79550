//! The checks before a file is changed, and the way it is written back. Shared by Edit and MultiEdit.

use crate::contract::{CallCx, Met, Outcome};
use crate::file_work::{self, At, HELD_LIMIT};
use crate::patch::{self, Hunk};
use crate::read_state::{Coverage, Standing};
use crate::text_file::TextFile;
use std::path::Path;

pub(crate) const STALE: &str = "The file has changed since you read it. Read it again before you change it.";

pub(crate) enum Found {
    Nothing,
    File(Box<Opened>),
}

/// A file that may be changed.
pub(crate) struct Opened {
    file: TextFile,
    /// Line endings as they are on disk.
    pub(crate) text: String,
    pub(crate) standing: Standing,
}

/// Opens what is at `path` for a change, or says why it must not be changed.
pub(crate) fn find(cx: &CallCx, path: &Path) -> Result<Found, Outcome> {
    if !(cx.may_read)(path, Met::Named) {
        return Err(file_work::denied(path));
    }
    if file_work::is_notebook(path) {
        return Err(Outcome::invalid(format!("{} is a notebook. Use NotebookEdit to change it.", path.display())));
    }
    let meta = match file_work::look(path).map_err(|e| file_work::io_failed("edit", path, &e))? {
        At::Nothing => return Ok(Found::Nothing),
        At::Directory => return Err(Outcome::invalid(format!("{} is a directory.", path.display()))),
        At::Special(kind) => return Err(file_work::special(path, kind)),
        At::File(meta) => meta,
    };
    if meta.len() > HELD_LIMIT {
        let mib = meta.len() >> 20;
        return Err(Outcome::invalid(format!(
            "{} is {mib} MiB, too large to edit. Use a shell command.",
            path.display()
        )));
    }
    if let Some(refused) = file_work::perforce_refusal(path, &meta, cx) {
        return Err(refused);
    }
    let mut file = TextFile::load(path).map_err(|e| file_work::io_failed("read", path, &e))?;
    let Some(text) = file.text.take() else {
        return Err(Outcome::invalid(format!(
            "{} is not valid UTF-8 or UTF-16 text, and an edit would damage it. Use a shell command.",
            path.display()
        )));
    };
    let standing = cx.state.reads.standing(path, &file.bytes, &file.meta);
    if !text.is_empty() && !seen_enough(standing, cx) {
        return Err(Outcome::invalid(format!(
            "{} has not been read yet. Read it before you change it.",
            path.display()
        )));
    }
    Ok(Found::File(Box::new(Opened { file, text, standing })))
}

fn seen_enough(standing: Standing, cx: &CallCx) -> bool {
    match standing {
        Standing::Current(Coverage::Whole | Coverage::Range) | Standing::Stale => true,
        Standing::Unseen | Standing::Current(Coverage::Clipped) => !cx.state.facts.read_before_edit,
    }
}

impl Opened {
    /// Writes `text` back and returns what changed.
    pub(crate) fn save(&self, cx: &CallCx, path: &Path, text: &str) -> Result<Vec<Hunk>, Outcome> {
        let bytes = self.file.save(text).map_err(|e| file_work::io_failed("write", path, &e))?;
        // After a foreign change the view is no longer whole: leave it stale until the file is read again.
        if self.standing != Standing::Stale {
            cx.state.reads.rewritten(path, &bytes);
        }
        Ok(patch::structured(&self.text, text))
    }
}
