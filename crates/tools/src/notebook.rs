//! Jupyter notebooks as text: cells are located by their byte range, so that a change to one cell leaves every
//! other byte of the file unchanged.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::ops::Range;

/// A parsed notebook, borrowing its text.
pub(crate) struct Notebook<'a> {
    text: &'a str,
    array: Range<usize>,
    cells: Vec<&'a RawValue>,
    pub(crate) language: String,
    /// True from format 4.5 on, where every cell has an id.
    pub(crate) has_ids: bool,
}

#[derive(Deserialize)]
struct NotebookDocument<'a> {
    #[serde(borrow)]
    cells: &'a RawValue,
    #[serde(default)]
    metadata: Value,
    #[serde(default)]
    nbformat: u64,
    #[serde(default)]
    nbformat_minor: u64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct NotebookCell {
    pub(crate) id: Option<String>,
    pub(crate) cell_type: String,
    #[serde(default)]
    pub(crate) source: NotebookText,
    #[serde(default)]
    pub(crate) outputs: Vec<Value>,
    pub(crate) execution_count: Option<u64>,
}

/// Notebook text: a string, or a list of strings to be joined.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum NotebookText {
    One(String),
    Many(Vec<String>),
}

impl Default for NotebookText {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl NotebookText {
    pub(crate) fn join(&self) -> String {
        match self {
            Self::One(text) => text.clone(),
            Self::Many(parts) => parts.concat(),
        }
    }
}

impl<'a> Notebook<'a> {
    pub(crate) fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        let top: NotebookDocument<'a> = serde_json::from_str(text)?;
        let cells: Vec<&'a RawValue> = serde_json::from_str(top.cells.get())?;
        let meta = &top.metadata;
        let language = meta["language_info"]["name"].as_str().or_else(|| meta["kernelspec"]["language"].as_str());
        Ok(Self {
            text,
            array: span(text, top.cells),
            cells,
            language: language.unwrap_or("python").to_owned(),
            has_ids: (top.nbformat, top.nbformat_minor) >= (4, 5),
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    pub(crate) fn cell(&self, index: usize) -> Result<NotebookCell, serde_json::Error> {
        serde_json::from_str(self.cells[index].get())
    }

    pub(crate) fn raw_cell(&self, index: usize) -> &'a str {
        self.cells[index].get()
    }

    /// The index of a cell by its id. `cell-N`, counted from 0, is accepted when no cell has that id.
    pub(crate) fn find(&self, id: &str) -> Option<usize> {
        let by_id = (0..self.len()).find(|i| self.cell(*i).is_ok_and(|cell| cell.id.as_deref() == Some(id)));
        by_id.or_else(|| id.strip_prefix("cell-")?.parse().ok().filter(|n| *n < self.len()))
    }

    /// The text with cell `index` replaced.
    pub(crate) fn replaced(&self, index: usize, cell: &Value) -> String {
        self.spliced(span(self.text, self.cells[index]), &self.layout().cell(cell))
    }

    /// The text with `cell` inserted before cell `index`, or appended.
    pub(crate) fn inserted(&self, index: usize, cell: &Value) -> String {
        let layout = self.layout();
        let json = layout.cell(cell);
        let gap = layout.gap();
        if self.cells.is_empty() {
            return self.spliced(self.array.clone(), &format!("[{gap}{json}{}]", layout.closing_gap()));
        }
        if index == 0 {
            let start = span(self.text, self.cells[0]).start;
            return self.spliced(start..start, &format!("{json},{gap}"));
        }
        let end = span(self.text, self.cells[index - 1]).end;
        self.spliced(end..end, &format!(",{gap}{json}"))
    }

    pub(crate) fn deleted(&self, index: usize) -> String {
        let at = |i: usize| span(self.text, self.cells[i]);
        if self.len() == 1 {
            self.spliced(self.array.clone(), "[]")
        } else if index == 0 {
            self.spliced(at(0).start..at(1).start, "")
        } else {
            self.spliced(at(index - 1).end..at(index).end, "")
        }
    }

    fn spliced(&self, range: Range<usize>, with: &str) -> String {
        format!("{}{with}{}", &self.text[..range.start], &self.text[range.end..])
    }

    fn layout(&self) -> NotebookLayout {
        NotebookLayout::of(self.text)
    }
}

/// The byte range of `part`, which is borrowed from `text`.
fn span(text: &str, part: &RawValue) -> Range<usize> {
    let start = part.get().as_ptr() as usize - text.as_ptr() as usize;
    start..start + part.get().len()
}

/// The formatting of the file.
enum NotebookLayout {
    OneLine,
    Indented { unit: String, newline: &'static str },
}

impl NotebookLayout {
    fn of(text: &str) -> Self {
        let Some((_, after)) = text.split_once('\n') else { return Self::OneLine };
        let unit: String = after.chars().take_while(|c| *c == ' ' || *c == '\t').collect();
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        Self::Indented { unit: if unit.is_empty() { " ".into() } else { unit }, newline }
    }

    /// The white space between the cells, two levels deep.
    fn gap(&self) -> String {
        match self {
            Self::OneLine => String::new(),
            Self::Indented { unit, newline } => format!("{newline}{unit}{unit}"),
        }
    }

    fn closing_gap(&self) -> String {
        match self {
            Self::OneLine => String::new(),
            Self::Indented { unit, newline } => format!("{newline}{unit}"),
        }
    }

    fn cell(&self, cell: &Value) -> String {
        match self {
            Self::OneLine => cell.to_string(),
            Self::Indented { unit, .. } => pretty(cell, unit).replace('\n', &self.gap()),
        }
    }
}

fn pretty(value: &Value, unit: &str) -> String {
    use serde::Serialize;
    let formatter = serde_json::ser::PrettyFormatter::with_indent(unit.as_bytes());
    let mut out = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, formatter);
    // A `Value` always serialises; the compact form is the fallback.
    match value.serialize(&mut serializer) {
        Ok(()) => String::from_utf8(out).unwrap_or_else(|_| value.to_string()),
        Err(_) => value.to_string(),
    }
}
