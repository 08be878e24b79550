//! Checkpoints: what one adds to an edit beyond the copy it makes, and how long the list of prompts takes in a long
//! conversation.

use super::table::{Amount, Row};
use super::turns::{CALLS, call_gap};
use super::{Bench, corpus, median_of, medians};
use anyhow::Result;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

/// The size of an edited file.
const FILE_BYTES: usize = 50_000;
const PROMPTS: u64 = 1_000;

pub(super) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let (with, without) = medians(bench.few(), || edits(bench, true), || edits(bench, false))?;
    let copy = median_of(CALLS, || copy(&bench.place.project()))?;
    let added = with.saturating_sub(without).saturating_sub(copy);
    let dir = bench.place.config().join("projects/-bench-rewind");
    std::fs::create_dir_all(&dir)?;
    let path = dir.join(format!("{}.jsonl", corpus::uuid(1)));
    conversation(&path)?;
    let shown = path.to_string_lossy().into_owned();
    let arguments = ["rewind", "--session", shown.as_str(), "--json"];
    let start = median_of(bench.few(), || bench.place.run(&["--version"]).map(|(_, took)| took))?;
    let list = median_of(bench.few(), || bench.place.run(&arguments).map(|(_, took)| took))?;
    std::fs::remove_dir_all(&dir)?;
    Ok(vec![
        Row::new("Edit of 50 KB with a checkpoint, beyond the copy", Amount::Time(added))
            .peer("copy", Amount::Time(copy))
            .budget(Amount::ms(0.3)),
        Row::new("list of 1,000 prompts to go back to", Amount::Time(list.saturating_sub(start)))
            .peer("--version", Amount::Time(start))
            .budget(Amount::ms(30.0)),
    ])
}

/// The median time of a call that changes a file for the first time.
fn edits(bench: &Bench, with_checkpoints: bool) -> Result<Duration> {
    let project = bench.place.project();
    for number in 0..=CALLS {
        let text = format!("number {number}\n{}", "one line of text\n".repeat(FILE_BYTES / 17));
        std::fs::write(project.join(format!("edited_{number}.txt")), text)?;
    }
    let settings = json!({"fileCheckpointingEnabled": with_checkpoints, "permissions": {"allow": ["Edit"]}});
    std::fs::write(bench.place.config().join("settings.json"), settings.to_string())?;
    let edit = |number: usize| -> (&'static str, Value) {
        let file = project.join(format!("edited_{number}.txt"));
        ("Edit", json!({"file_path": file, "old_string": format!("number {number}"), "new_string": "changed"}))
    };
    let gap = call_gap(bench, edit);
    std::fs::remove_file(bench.place.config().join("settings.json"))?;
    gap
}

fn copy(project: &Path) -> Result<Duration> {
    let (from, to) = (project.join("edited_0.txt"), project.join("copied.txt"));
    let began = Instant::now();
    std::fs::copy(&from, &to)?;
    let took = began.elapsed();
    std::fs::remove_file(to)?;
    Ok(took)
}

/// Prompts with an edit each: some 5 MB.
fn conversation(path: &Path) -> Result<()> {
    let mut out = std::io::BufWriter::new(std::fs::File::create(path)?);
    let filler = corpus::filler(2_000);
    let (mut parent, mut number) = (Value::Null, 10);
    for prompt in 0..PROMPTS {
        let lines = [
            ("user", json!(format!("Prompt {prompt}: {}", &filler[..200]))),
            (
                "assistant",
                json!([{"type": "tool_use", "id": format!("t{prompt}"), "name": "Edit", "input": {"file_path": "/x", "old_string": &filler[..400], "new_string": &filler[..500]}}]),
            ),
            ("user", json!([{"type": "tool_result", "tool_use_id": format!("t{prompt}"), "content": filler}])),
            ("assistant", json!([{"type": "text", "text": &filler[..600]}])),
        ];
        let first = corpus::uuid(number);
        let backup = json!({"backupFileName": format!("0123456789abcdef@v{prompt}"), "version": prompt, "backupTime": "2026-01-01T00:00:00.000Z"});
        writeln!(
            out,
            "{}",
            json!({"type": "file-history-snapshot", "messageId": first, "snapshot": {"messageId": first,
            "trackedFileBackups": {"src/main.rs": backup}, "timestamp": "2026-01-01T00:00:00.000Z"}, "isSnapshotUpdate": false})
        )?;
        for (role, content) in lines {
            let uuid = corpus::uuid(number);
            writeln!(
                out,
                "{}",
                json!({"parentUuid": parent, "isSidechain": false, "type": role, "message": {"role": role, "content": content},
                "uuid": uuid, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/bench", "sessionId": corpus::uuid(1)})
            )?;
            (parent, number) = (uuid.into(), number + 1);
        }
        writeln!(
            out,
            "{}",
            json!({"type": "x-checkpoint-change", "messageId": first, "snapshot": "mwiiq5ab8kq", "kind": "edit",
            "what": "Edit src/main.rs", "path": "/bench/src/main.rs", "paths": 1, "added": 3, "removed": 1, "timestamp": "2026-01-01T00:00:00.000Z"})
        )?;
    }
    out.flush()?;
    Ok(())
}
