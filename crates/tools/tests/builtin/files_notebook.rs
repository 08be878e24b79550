//! Notebooks: Read and NotebookEdit.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use crate::common::Bench;
use base64::Engine as _;
use serde_json::{Value, json};
use wire::block::{ContentBlock, MessageContent};

/// Has unusual formatting on purpose: numbers and escapes of untouched cells must be kept.
const NOTEBOOK: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {"x": 1.50},
   "source": ["# Title\n", "caf\u00e9"]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "cell-0",
   "metadata": {},
   "outputs": [
    {"name": "stdout", "output_type": "stream", "text": ["42\n"]}
   ],
   "source": ["print(42)"]
  },
  {
   "cell_type": "code",
   "execution_count": null,
   "id": "last",
   "metadata": {},
   "outputs": [],
   "source": "x = 1"
  }
 ],
 "metadata": {"language_info": {"name": "python"}},
 "nbformat": 4,
 "nbformat_minor": 5
}
"##;

async fn read(bench: &Bench) {
    bench.ok("Read", json!({"file_path": "n.ipynb"})).await;
}

fn edit(fields: &Value) -> Value {
    let mut input = json!({"notebook_path": "n.ipynb", "new_source": "new"});
    input.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    input
}

fn cells(text: &str) -> Vec<Value> {
    serde_json::from_str::<Value>(text).unwrap()["cells"].as_array().unwrap().clone()
}

#[tokio::test]
async fn cells_come_with_ids_and_outputs() {
    // [TST-27]
    let bench = Bench::new();
    bench.file("n.ipynb", NOTEBOOK);
    let outcome = bench.call("Read", json!({"file_path": "n.ipynb"})).await;
    let MessageContent::Blocks(blocks) = &outcome.content else { panic!() };
    assert_eq!(blocks.len(), 3);
    let text = outcome.content.text();
    assert!(text.contains("<cell id=\"intro\" type=\"markdown\">\n# Title\ncafé\n</cell>"), "{text}");
    assert!(text.contains("print(42)\n</cell>\n<output>\n42\n</output>"), "{text}");
    let result: Value = serde_json::from_str(outcome.structured.unwrap().get()).unwrap();
    assert_eq!(result["type"], "notebook");
    assert_eq!(result["file"]["filePath"], json!(bench.dir.join("n.ipynb")));
    assert_eq!(result["file"]["cells"][1]["cell_id"], "cell-0");
}

#[tokio::test]
async fn pictures_and_tracebacks_are_shown() {
    // [TST-27]
    let bench = Bench::new();
    let mut png = std::io::Cursor::new(Vec::new());
    image::DynamicImage::new_rgb8(2, 2).write_to(&mut png, image::ImageFormat::Png).unwrap();
    let data = base64::engine::general_purpose::STANDARD.encode(png.into_inner());
    let notebook = json!({"nbformat": 4, "nbformat_minor": 2, "metadata": {}, "cells": [{
    "cell_type": "code", "metadata": {}, "execution_count": 1, "source": "plot()", "outputs": [
        {"output_type": "display_data", "data": {"image/png": [data, "\n"], "text/plain": "<Figure>"}},
        {"output_type": "display_data", "data": {"image/png": "bm90IGFuIGltYWdl"}},
        {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\u{1b}[0;31mE\u{1b}[0m: v"]},
        {"output_type": "stream", "name": "stdout", "text": "z".repeat(12_000)},
    ]}]});
    bench.file("n.ipynb", notebook.to_string());
    let outcome = bench.call("Read", json!({"file_path": "n.ipynb"})).await;
    let text = outcome.content.text();
    assert!(text.contains("id=\"cell-0\"") && text.contains("\nE: v\n") && text.contains("2000 more characters"));
    let MessageContent::Blocks(blocks) = &outcome.content else { panic!() };
    assert_eq!(blocks.iter().filter(|b| matches!(b, ContentBlock::Image { .. })).count(), 1);
}

#[tokio::test]
async fn huge_and_broken_notebooks_are_refused() {
    // [TST-27]
    let bench = Bench::new();
    let path = bench.file("n.ipynb", "{");
    assert!(bench.fails("Read", json!({"file_path": path})).await.contains("not a readable notebook"));
    std::fs::File::options().write(true).open(&path).unwrap().set_len(101 << 20).unwrap();
    let text = bench.fails("Read", json!({"file_path": path})).await;
    assert!(text.contains("101 MB") && text.contains("jq"), "{text}");
}

#[tokio::test]
async fn replacing_clears_outputs_and_touches_nothing_else() {
    // [TST-45]
    let bench = Bench::new();
    bench.file("n.ipynb", NOTEBOOK);
    read(&bench).await;
    let (text, result) = bench.ok("NotebookEdit", edit(&json!({"cell_id": "cell-0"}))).await;
    assert!(text.contains("cell-0") && text.contains("replaced"));
    let expected = NOTEBOOK
        .replace("\"execution_count\": 3", "\"execution_count\": null")
        .replace("[\n    {\"name\": \"stdout\", \"output_type\": \"stream\", \"text\": [\"42\\n\"]}\n   ]", "[]")
        .replace("[\"print(42)\"]", "[\n    \"new\"\n   ]");
    assert_eq!(bench.text("n.ipynb"), expected, "a literal id wins over a position; other bytes stay");
    let keys: Vec<&String> = result.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "new_source",
            "old_source",
            "cell_id",
            "cell_type",
            "language",
            "edit_mode",
            "notebook_path",
            "original_file",
            "updated_file"
        ]
    );
    assert_eq!((&result["old_source"], &result["edit_mode"]), (&json!("print(42)"), &json!("replace")));
    bench.ok("NotebookEdit", edit(&json!({"cell_id": "cell-2"}))).await;
    assert_eq!(cells(&bench.text("n.ipynb"))[2]["source"], "new", "by position; a string stays a string");
    bench.ok("NotebookEdit", edit(&json!({"cell_id": "last", "cell_type": "markdown"}))).await;
    let last = &cells(&bench.text("n.ipynb"))[2];
    assert!(last.get("outputs").is_none() && last["cell_type"] == "markdown");
}

#[tokio::test]
async fn inserting_goes_after_the_cell_or_first() {
    // [TST-45]
    let bench = Bench::new();
    bench.file("n.ipynb", NOTEBOOK);
    read(&bench).await;
    let refused = bench.try_call("NotebookEdit", edit(&json!({"edit_mode": "insert"}))).await.unwrap_err();
    assert!(refused.0.contains("`cell_type` is required"), "{}", refused.0);
    let first = json!({"edit_mode": "insert", "cell_type": "code", "new_source": "a\nb"});
    bench.ok("NotebookEdit", edit(&first)).await;
    let after = json!({"edit_mode": "insert", "cell_type": "markdown", "cell_id": "last"});
    bench.ok("NotebookEdit", edit(&after)).await;
    let text = bench.text("n.ipynb");
    let cells = cells(&text);
    assert_eq!(cells.len(), 5);
    assert_eq!(cells[0]["source"], json!(["a\n", "b"]));
    assert_eq!((&cells[0]["outputs"], &cells[0]["execution_count"]), (&json!([]), &Value::Null));
    assert_eq!(cells[0]["id"].as_str().unwrap().len(), 8);
    assert_eq!((&cells[4]["cell_type"], &cells[4]["source"]), (&json!("markdown"), &json!(["new"])));
    assert!(text.contains("{\"x\": 1.50}") && text.contains("caf\\u00e9") && text.ends_with("}\n"));
    assert!(text.contains("\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"id\": "), "{text}");
}

#[tokio::test]
async fn deleting_takes_only_the_cell() {
    // [TST-45]
    for (id, left) in [("intro", ["cell-0", "last"]), ("cell-0", ["intro", "last"]), ("last", ["intro", "cell-0"])] {
        let bench = Bench::new();
        bench.file("n.ipynb", NOTEBOOK);
        read(&bench).await;
        bench.ok("NotebookEdit", json!({"notebook_path": "n.ipynb", "cell_id": id, "edit_mode": "delete"})).await;
        let ids: Vec<Value> = cells(&bench.text("n.ipynb")).iter().map(|c| c["id"].clone()).collect();
        assert_eq!(ids, left);
        for id in left {
            bench.ok("NotebookEdit", edit(&json!({"cell_id": id, "edit_mode": "delete"}))).await;
        }
        assert!(cells(&bench.text("n.ipynb")).is_empty());
        bench.ok("NotebookEdit", edit(&json!({"edit_mode": "insert", "cell_type": "code"}))).await;
        assert_eq!(cells(&bench.text("n.ipynb")).len(), 1);
    }
}

#[tokio::test]
async fn a_notebook_must_have_been_read() {
    let bench = Bench::new();
    let path = bench.file("n.ipynb", NOTEBOOK);
    let change = edit(&json!({"cell_id": "last"}));
    assert!(bench.fails("NotebookEdit", change.clone()).await.contains("has not been read yet"));
    read(&bench).await;
    std::fs::write(&path, NOTEBOOK.replace("42", "43")).unwrap();
    assert!(bench.fails("NotebookEdit", change.clone()).await.contains("has changed"));
    read(&bench).await;
    bench.ok("NotebookEdit", change).await;
    let nowhere = bench.fails("NotebookEdit", edit(&json!({"cell_id": "cell-9"}))).await;
    assert!(nowhere.contains("no cell `cell-9`"), "{nowhere}");
    bench.file("a.py", "x");
    let text = bench.fails("NotebookEdit", json!({"notebook_path": "a.py", "cell_id": "a", "new_source": ""})).await;
    assert!(text.contains("not a notebook"), "{text}");
}
