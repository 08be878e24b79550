//! Finding a conversation: full-text search over all transcripts compared with `grep` on the same files, and
//! listing many of them.

use super::table::{Amount, Row};
use super::{Bench, corpus, median_of, medians};
use anyhow::{Context, Result, ensure};
use serde_json::json;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

const FILE_BYTES: u64 = 5_000_000;
const LISTED: usize = 10_000;

pub(super) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let (bytes, name) = if bench.quick { (100_000_000, "100 MB") } else { (1_000_000_000, "1 GB") };
    let dir = bench.place.config().join("projects/-bench-search");
    std::fs::create_dir_all(&dir)?;
    for number in 0..bytes / FILE_BYTES {
        transcript(&dir, number)?;
    }
    let place = dir.to_string_lossy().into_owned();
    let mut rows = Vec::new();
    // Words that occur in one old file, only as part of ids, and in every message.
    for (what, word) in [("rare word", "Xylophone"), ("word of ids only", "4000-8000"), ("common word", "benchmark")] {
        let arguments = ["sessions", "search", word];
        let grep = ["-rliF", word, place.as_str()];
        let (own, peer) =
            medians(bench.few(), || search(bench, &arguments).map(|(_, all)| all), || bench.place.peer("grep", &grep))?;
        let row = Row::new(format!("search {name}, {what}"), Amount::Time(own)).peer("grep -rliF", Amount::Time(peer));
        rows.push(row.budget(Amount::ms(1_000.0)));
    }
    let first =
        median_of(bench.few(), || search(bench, &["sessions", "search", "newestword"]).map(|(first, _)| first))?;
    rows.push(Row::new(format!("search {name}, first hit"), Amount::Time(first)).budget(Amount::ms(100.0)));
    let peak = bench.place.usage(&["sessions", "search", "benchmark"])?.peak_bytes;
    rows.push(Row::new(format!("search {name}, peak memory"), Amount::Bytes(peak)).budget(Amount::mb(40)));
    std::fs::remove_dir_all(&dir)?;
    let many = bench.place.config().join("projects/-bench-many");
    std::fs::create_dir_all(&many)?;
    for number in 0..LISTED {
        let line = line(&many, number as u64, "user", "A small conversation.");
        std::fs::write(many.join(format!("{}.jsonl", corpus::uuid(number as u64))), format!("{line}\n"))?;
    }
    let page = ["sessions", "list", "--all", "--limit", "40"];
    let listed = median_of(bench.few(), || bench.place.run(&page).map(|(_, took)| took))?;
    rows.push(Row::new("list 10,000 sessions, first page", Amount::Time(listed)).budget(Amount::ms(100.0)));
    let all = median_of(3, || bench.place.run(&["sessions", "list", "--all"]).map(|(_, took)| took))?;
    rows.push(Row::new("list 10,000 sessions, all rows", Amount::Time(all)).budget(Amount::ms(1_000.0)));
    std::fs::remove_dir_all(&many)?;
    Ok(rows)
}

/// Time until the first line and until the end of the output. A search without results is valid too.
fn search(bench: &Bench, arguments: &[&str]) -> Result<(Duration, Duration)> {
    let began = Instant::now();
    let mut child = bench.place.spawn_piped(arguments)?;
    let mut out = BufReader::new(child.stdout.take().context("no output")?);
    let mut line = String::new();
    out.read_line(&mut line)?;
    let first = began.elapsed();
    while out.read_line(&mut line)? > 0 {}
    let code = child.wait()?.code();
    ensure!(matches!(code, Some(0 | 1)), "gimlet {arguments:?} ended with {code:?}");
    Ok((first, began.elapsed()))
}

fn line(cwd: &Path, number: u64, role: &str, text: &str) -> String {
    json!({"parentUuid": null, "isSidechain": false, "type": role, "message": {"role": role, "content": text},
           "uuid": corpus::uuid(number), "timestamp": "2026-01-01T00:00:00.000Z", "cwd": cwd, "sessionId": corpus::uuid(number)})
    .to_string()
}

/// Writes text of prompts, answers and results, with a rare word in the oldest file and another near the end of
/// each file.
fn transcript(dir: &Path, number: u64) -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(dir.join(format!("{}.jsonl", corpus::uuid(number))))?);
    let filler = corpus::filler(4_600);
    let lines = FILE_BYTES / 5_000;
    for at in 0..lines {
        let extra = match (number, at) {
            (0, 500) => "Here is the xylophone.",
            (_, 900) => "A newestword.",
            _ => "",
        };
        let text = format!("Line {at} of a benchmark. {extra} {filler}");
        writeln!(out, "{}", line(dir, at, if at % 2 == 0 { "user" } else { "assistant" }, &text))?;
    }
    out.flush()?;
    Ok(())
}
