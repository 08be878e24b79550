//! Notebooks as one text block per cell, including outputs, with images as image blocks. Limited like text.

use super::{OpenFile, image};
use crate::contract::{CallContext, ToolOutcome};
use crate::file_work::structured;
use crate::notebook::{Notebook, NotebookCell, NotebookText};
use crate::read_state::{Coverage, Fingerprint, SeenFile};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use regex::Regex;
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;
use std::sync::LazyLock;
use wire::block::{ContentBlock, MessageContent};

const MAX_FILE: u64 = 100 * 1024 * 1024;
/// Most characters of text shown per cell output.
const MAX_OUTPUT: usize = 10_000;

#[derive(Serialize)]
struct NotebookEnvelope<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    file: NotebookOutput<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NotebookOutput<'a> {
    file_path: Cow<'a, str>,
    cells: Vec<CellOutput>,
}

#[derive(Serialize)]
struct CellOutput {
    #[serde(rename = "cellType")]
    cell_type: String,
    source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    execution_count: Option<u64>,
    cell_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    outputs: Vec<ShownOutput>,
}

#[derive(Serialize)]
struct ShownOutput {
    output_type: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<ShownImage>,
}

#[derive(Serialize)]
struct ShownImage {
    image_data: String,
    media_type: &'static str,
}

pub(super) fn show(cx: &CallContext, mut source: OpenFile, cap: usize) -> Result<ToolOutcome, ToolOutcome> {
    let path = source.path.display().to_string();
    if source.meta.len() > MAX_FILE {
        let mb = source.meta.len() >> 20;
        return Err(ToolOutcome::failed(format!(
            "{path} is {mb} MB; notebooks are read up to 100 MB. Take a slice of it, for example with `jq \
             '.cells[0:20] | map({{cell_type, source}})' {path}`."
        )));
    }
    let bytes = source.all(MAX_FILE)?;
    let broken = |why: &dyn std::fmt::Display| ToolOutcome::failed(format!("{path} is not a readable notebook: {why}"));
    let text = std::str::from_utf8(&bytes).map_err(|e| broken(&e))?;
    let notebook = Notebook::parse(text.trim_start_matches('\u{feff}')).map_err(|e| broken(&e))?;
    let mut cells = Vec::new();
    let mut shown = 0;
    let mut blocks = Vec::new();
    for index in 0..notebook.len() {
        let cell = notebook.cell(index).map_err(|e| broken(&e))?;
        let cell = cell_output(cell, index, &notebook.language);
        let text = cell_text(&cell);
        shown += text.len();
        if shown > cap {
            break;
        }
        blocks.push(ContentBlock::text(text));
        blocks.extend(images(&cell));
        cells.push(cell);
    }
    let clipped = cells.len() < notebook.len();
    let coverage = if clipped { Coverage::Clipped } else { Coverage::Whole };
    cx.state.reads.record_seen(&source.path, SeenFile { fingerprint: Fingerprint::of(&bytes), coverage });
    blocks.extend(notice(cells.len(), notebook.len()).map(ContentBlock::text));
    let output = NotebookOutput { file_path: source.path.to_string_lossy(), cells };
    let structured = structured(&NotebookEnvelope { kind: "notebook", file: output });
    Ok(ToolOutcome {
        content: MessageContent::Blocks(blocks),
        is_error: false,
        structured,
        mcp_meta: None,
        effects: Vec::new(),
    })
}

fn notice(shown: usize, all: usize) -> Option<String> {
    if all == 0 {
        return Some("<system-reminder>The notebook has no cells.</system-reminder>".into());
    }
    (shown < all).then(|| {
        format!(
            "<system-reminder>PARTIAL view: {shown} of {all} cells shown. Set `allow_large` to see all of them, or \
             slice the notebook with `jq`.</system-reminder>"
        )
    })
}

fn cell_output(cell: NotebookCell, index: usize, language: &str) -> CellOutput {
    let is_code = cell.cell_type == "code";
    CellOutput {
        source: cell.source.join(),
        execution_count: cell.execution_count,
        cell_id: cell.id.unwrap_or_else(|| format!("cell-{index}")),
        language: is_code.then(|| language.to_owned()),
        outputs: cell.outputs.iter().map(shown_output).collect(),
        cell_type: cell.cell_type,
    }
}

fn cell_text(cell: &CellOutput) -> String {
    let language = cell.language.as_ref().map(|l| format!(" language=\"{l}\"")).unwrap_or_default();
    let mut text =
        format!("<cell id=\"{}\" type=\"{}\"{language}>\n{}\n</cell>", cell.cell_id, cell.cell_type, cell.source);
    for output in cell.outputs.iter().filter(|o| !o.text.is_empty()) {
        text.push_str("\n<output>\n");
        text.push_str(&output.text);
        text.push_str("\n</output>");
    }
    text
}

fn images(cell: &CellOutput) -> impl Iterator<Item = ContentBlock> {
    cell.outputs.iter().filter_map(|output| output.image.as_ref()).map(|image| ContentBlock::Image {
        source: wire::block::MediaSource::base64(image.media_type, image.image_data.clone()),
    })
}

fn shown_output(output: &Value) -> ShownOutput {
    let output_type = output["output_type"].as_str().unwrap_or_default().to_owned();
    let data = &output["data"];
    let text = match output_type.as_str() {
        "stream" => lines(&output["text"]),
        "error" => match lines_joined_by_newline(&output["traceback"]) {
            Some(traceback) => traceback,
            None => format!("{}: {}", lines(&output["ename"]), lines(&output["evalue"])),
        },
        _ => lines(&data["text/plain"]),
    };
    let image = ["image/png", "image/jpeg"].iter().find_map(|kind| fitted(&lines(&data[*kind])));
    ShownOutput { output_type, text: bounded(&plain(&text)), image }
}

/// `None` for an image that cannot be sent; its text form is still shown.
fn fitted(base64: &str) -> Option<ShownImage> {
    let clean: String = base64.split_ascii_whitespace().collect();
    let bytes = STANDARD.decode(clean).ok().filter(|b| !b.is_empty())?;
    let fitted = image::fit(&bytes, image::ImageKind::sniff(&bytes)?).ok()?;
    Some(ShownImage { media_type: fitted.kind.media_type(), image_data: fitted.data })
}

fn lines(value: &Value) -> String {
    serde_json::from_value::<NotebookText>(value.clone()).map(|l| l.join()).unwrap_or_default()
}

fn lines_joined_by_newline(value: &Value) -> Option<String> {
    let lines: Vec<&str> = value.as_array()?.iter().filter_map(Value::as_str).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Removes terminal colours, which tracebacks contain.
fn plain(text: &str) -> Cow<'_, str> {
    static COLOUR: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("\x1b\\[[0-9;]*m").ok());
    COLOUR.as_ref().map_or(Cow::Borrowed(text), |colour| colour.replace_all(text, ""))
}

fn bounded(text: &str) -> String {
    let text = text.trim_end_matches('\n').replace('\0', "");
    match text.char_indices().nth(MAX_OUTPUT) {
        None => text,
        Some((end, _)) => format!("{}\n[… {} more characters]", &text[..end], text[end..].chars().count()),
    }
}
