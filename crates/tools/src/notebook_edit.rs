//! NotebookEdit: changes one cell of a notebook the model has read. Every other byte of the file is unchanged.

use crate::contract::{CallContext, InputError, PathDiscovery, Tool, ToolCall, ToolOutcome, ToolSpec};
use crate::facts::{AgentUse, ToolClass, ToolDemand, ToolFacts};
use crate::file_change::{FileChange, FileChangeCall};
use crate::file_work::{self, MAX_LOADED_BYTES, PathKind, structured};
use crate::input::ToolInput;
use crate::missing_file;
use crate::notebook::Notebook;
use crate::read_state::{Coverage, FileFreshness};
use crate::text_file::TextFile;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::path::Path;

pub struct NotebookEditTool;

const FACTS: ToolFacts = ToolFacts {
    agents: AgentUse::Always,
    demand: ToolDemand::WithNotebooks,
    ..ToolFacts::of(ToolClass::Edit).writes("notebook_path")
};

static SPEC: ToolSpec =
    ToolSpec::of("NotebookEdit", include_str!("notebook_edit.md"), include_str!("notebook_edit.schema.json"), FACTS);

impl Tool for NotebookEditTool {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn ToolCall>, InputError> {
        let input = ToolInput::of("NotebookEdit", input)?;
        let mode = match input.opt_choice("edit_mode", &["replace", "insert", "delete"])? {
            Some("insert") => CellEditMode::Insert,
            Some("delete") => CellEditMode::Delete,
            _ => CellEditMode::Replace,
        };
        let cell_type = input.opt_choice("cell_type", &["code", "markdown"])?;
        let cell_id = input.opt_string("cell_id")?.filter(|id| !id.is_empty());
        match mode {
            CellEditMode::Insert if cell_type.is_none() => {
                return Err(input.refuse("cell_type", "is required for an insert"));
            }
            CellEditMode::Replace | CellEditMode::Delete if cell_id.is_none() => return Err(input.missing("cell_id")),
            CellEditMode::Insert | CellEditMode::Replace | CellEditMode::Delete => {}
        }
        let new_source = match mode {
            CellEditMode::Delete => input.opt_string("new_source")?.unwrap_or_default(),
            CellEditMode::Insert | CellEditMode::Replace => input.string("new_source")?,
        };
        let notebook_path = input.string("notebook_path")?;
        Ok(Box::new(FileChangeCall(NotebookEditCall { notebook_path, cell_id, new_source, cell_type, mode })))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum CellEditMode {
    Replace,
    Insert,
    Delete,
}

struct NotebookEditCall {
    notebook_path: String,
    cell_id: Option<String>,
    new_source: String,
    cell_type: Option<&'static str>,
    mode: CellEditMode,
}

impl FileChange for NotebookEditCall {
    fn path(&self) -> &str {
        &self.notebook_path
    }

    fn check(&self, cx: &CallContext, path: &Path) -> Result<(), ToolOutcome> {
        let file = open(cx, path)?;
        let Some(Ok(notebook)) = file.text.as_deref().map(Notebook::parse) else { return Ok(()) };
        self.change(&notebook, path).map(drop)
    }

    fn change(&self, cx: &CallContext, path: &Path) -> Result<ToolOutcome, ToolOutcome> {
        self.edit(cx, path)
    }
}

#[derive(Serialize)]
struct NotebookEditOutput<'a> {
    new_source: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cell_id: Option<String>,
    cell_type: String,
    language: String,
    edit_mode: CellEditMode,
    notebook_path: Cow<'a, str>,
    original_file: &'a str,
    updated_file: &'a str,
}

/// The changed notebook and its cell.
struct CellChange {
    text: String,
    cell_id: Option<String>,
    cell_type: String,
    old_source: Option<String>,
}

impl NotebookEditCall {
    fn edit(&self, cx: &CallContext, path: &Path) -> Result<ToolOutcome, ToolOutcome> {
        let file = open(cx, path)?;
        let broken = |why: &str| ToolOutcome::failed(format!("{} is not a readable notebook: {why}", path.display()));
        let before = file.text.as_deref().ok_or_else(|| broken("it is not UTF-8 text"))?;
        let notebook = Notebook::parse(before).map_err(|e| broken(&e.to_string()))?;
        let changed = self.change(&notebook, path)?;
        let bytes = file.save(&changed.text).map_err(|e| file_work::io_error("write", path, &e))?;
        cx.state.reads.record_rewrite(path, &bytes);
        let output = NotebookEditOutput {
            new_source: &self.new_source,
            old_source: changed.old_source,
            cell_id: changed.cell_id.clone(),
            cell_type: changed.cell_type,
            language: notebook.language.clone(),
            edit_mode: self.mode,
            notebook_path: path.to_string_lossy(),
            original_file: before,
            updated_file: &changed.text,
        };
        let verb = match self.mode {
            CellEditMode::Replace => "replaced",
            CellEditMode::Insert => "inserted",
            CellEditMode::Delete => "deleted",
        };
        let cell = changed.cell_id.unwrap_or_default();
        Ok(ToolOutcome::text(format!("Cell {cell} has been {verb} in {}.", path.display()), structured(&output)))
    }

    fn change(&self, notebook: &Notebook<'_>, path: &Path) -> Result<CellChange, ToolOutcome> {
        let at = match &self.cell_id {
            None => None,
            Some(id) => Some(notebook.find(id).ok_or_else(|| {
                ToolOutcome::invalid(format!("There is no cell `{id}` in {}. Read it for its cells.", path.display()))
            })?),
        };
        match (self.mode, at) {
            (CellEditMode::Insert, after) => Ok(self.insert(notebook, after.map_or(0, |i| i + 1))),
            (CellEditMode::Replace, Some(index)) => self.replace(notebook, index),
            (CellEditMode::Delete, Some(index)) => self.delete(notebook, index),
            (CellEditMode::Replace | CellEditMode::Delete, None) => Err(ToolOutcome::invalid("`cell_id` is required.")),
        }
    }

    fn insert(&self, notebook: &Notebook<'_>, index: usize) -> CellChange {
        let cell_type = self.cell_type.unwrap_or("code");
        let id = notebook.has_ids.then(|| sys::id::base36(8));
        let mut cell = json!({ "cell_type": cell_type });
        if cell_type == "code" {
            cell["execution_count"] = Value::Null;
        }
        if let Some(id) = &id {
            cell["id"] = json!(id);
        }
        cell["metadata"] = json!({});
        if cell_type == "code" {
            cell["outputs"] = json!([]);
        }
        cell["source"] = source_lines(&self.new_source);
        let cell_id = Some(id.unwrap_or_else(|| format!("cell-{index}")));
        CellChange { text: notebook.inserted(index, &cell), cell_id, cell_type: cell_type.into(), old_source: None }
    }

    fn replace(&self, notebook: &Notebook<'_>, index: usize) -> Result<CellChange, ToolOutcome> {
        let old = notebook.cell(index).map_err(|e| unreadable(index, &e))?;
        let mut cell: Value = serde_json::from_str(notebook.raw_cell(index)).map_err(|e| unreadable(index, &e))?;
        let cell_type = self.cell_type.map_or(old.cell_type.clone(), str::to_owned);
        cell["source"] =
            if cell["source"].is_string() { json!(self.new_source) } else { source_lines(&self.new_source) };
        cell["cell_type"] = json!(cell_type);
        if cell_type == "code" {
            cell["execution_count"] = Value::Null;
            cell["outputs"] = json!([]);
        } else if let Some(fields) = cell.as_object_mut() {
            fields.shift_remove("execution_count");
            fields.shift_remove("outputs");
        }
        Ok(CellChange {
            text: notebook.replaced(index, &cell),
            cell_id: Some(old.id.unwrap_or_else(|| format!("cell-{index}"))),
            cell_type,
            old_source: Some(old.source.join()),
        })
    }

    fn delete(&self, notebook: &Notebook<'_>, index: usize) -> Result<CellChange, ToolOutcome> {
        let old = notebook.cell(index).map_err(|e| unreadable(index, &e))?;
        Ok(CellChange {
            text: notebook.deleted(index),
            cell_id: self.cell_id.clone(),
            cell_type: old.cell_type,
            old_source: Some(old.source.join()),
        })
    }
}

fn unreadable(index: usize, error: &serde_json::Error) -> ToolOutcome {
    ToolOutcome::failed(format!("Cell {index} of the notebook cannot be read: {error}"))
}

/// Loads the file if it is a notebook that the model has read.
fn open(cx: &CallContext, path: &Path) -> Result<TextFile, ToolOutcome> {
    if !(cx.may_read)(path, PathDiscovery::Named) {
        return Err(file_work::denied_error(path));
    }
    if !file_work::is_notebook(path) {
        return Err(ToolOutcome::invalid(format!("{} is not a notebook (.ipynb). Use Edit.", path.display())));
    }
    let meta = match file_work::inspect(path).map_err(|e| file_work::io_error("read", path, &e))? {
        PathKind::File(meta) => meta,
        PathKind::Nothing => return Err(ToolOutcome::invalid(missing_file::text(path, cx))),
        PathKind::Directory => return Err(ToolOutcome::invalid(format!("{} is a directory.", path.display()))),
        PathKind::Special(kind) => return Err(file_work::special_file_error(path, kind)),
    };
    if meta.len() > MAX_LOADED_BYTES {
        return Err(ToolOutcome::invalid(format!("{} is too large to edit.", path.display())));
    }
    if let Some(refused) = file_work::perforce_refusal(path, &meta, cx) {
        return Err(refused);
    }
    let file = TextFile::load(path).map_err(|e| file_work::io_error("read", path, &e))?;
    let why = match cx.state.reads.freshness(path, &file.bytes, &file.meta) {
        FileFreshness::Current(Coverage::Whole | Coverage::Range) => return Ok(file),
        FileFreshness::Unseen => "has not been read yet. Read it",
        FileFreshness::Current(Coverage::Clipped) => "has been read only in part. Read all of it",
        FileFreshness::Stale => "has changed since you read it. Read it again",
    };
    Err(ToolOutcome::invalid(format!("{} {why} before you edit it.", path.display())))
}

/// The on-disk form of a cell source: a list of lines, each with its newline.
fn source_lines(source: &str) -> Value {
    source.split_inclusive('\n').collect::<Vec<_>>().into()
}
