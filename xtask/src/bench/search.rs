//! Grep and Glob compared with `rg` on the same tree. The time of the tool is the time of its turn minus the time
//! of a turn whose search has no files.

use super::table::{Amount, Row, median};
use super::{Bench, corpus, reply, turns};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

pub(super) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    if bench.place.peer("rg", &["--version"]).is_err() {
        return Ok(vec![Row::new("Grep, Glob: rg is not installed, not measured", Amount::ms(0.0))]);
    }
    let files = if bench.quick { 5_000 } else { 40_000 };
    let tree = bench.place.project().join("tree");
    corpus::tree(&tree, files)?;
    let empty = bench.place.project().join("empty");
    std::fs::create_dir_all(&empty)?;
    let root = tree.to_string_lossy().into_owned();
    let grep = |path: &std::path::Path| json!({"pattern": "needle_[0-9]+", "path": path});
    let glob = |path: &std::path::Path| json!({"pattern": "**/*.toml", "path": path});
    let compared = [
        ("Grep", grep(&tree), grep(&empty), vec!["-l", "needle_[0-9]+", &root]),
        ("Glob", glob(&tree), glob(&empty), vec!["--files", "--hidden", "--no-ignore", "-g", "*.toml", &root]),
    ];
    let mut rows = Vec::new();
    for (tool, full, idle, arguments) in compared {
        let rg = || bench.place.peer("rg", &arguments);
        let (own, peer) = super::medians(bench.few(), || tool_time(bench, tool, &full, &idle), rg)?;
        let row = |what: &str, own, peer| Row::new(format!("{tool}, {files} files{what}"), own).peer("rg", peer);
        rows.push(row("", Amount::Time(own), Amount::Time(peer)).at_most_times(1.2));
        let rg_cpu = || Ok(bench.place.usage_of("rg".as_ref(), &arguments)?.cpu);
        let (own, peer) = super::medians(3, || tool_cpu(bench, tool, &full, &idle), rg_cpu)?;
        rows.push(row(", CPU", Amount::Time(own), Amount::Time(peer)));
    }
    std::fs::remove_dir_all(&tree)?;
    Ok(rows)
}

const SEARCHES: usize = 10;

/// One session that alternates between an empty search and a full one; returns the difference of the medians.
fn tool_time(bench: &Bench, tool: &str, full: &Value, idle: &Value) -> Result<Duration> {
    bench.server.script(&script(tool, |n| if n % 2 == 0 { idle } else { full }));
    bench.place.run(&["-p", "Do it."])?;
    let gaps = turns::gaps(bench)?;
    ensure!(gaps.len() == SEARCHES, "{} calls of {SEARCHES} were answered", gaps.len());
    let every_other = |from: usize| gaps.iter().copied().skip(from).step_by(2).collect::<Vec<Duration>>();
    let (idle, full) = median(&every_other(0)).zip(median(&every_other(1))).context("no call was answered")?;
    Ok(full.saturating_sub(idle))
}

/// Processor time of one search: a session of full searches minus a session of empty ones, divided by their number.
fn tool_cpu(bench: &Bench, tool: &str, full: &Value, idle: &Value) -> Result<Duration> {
    let session = |input: &Value| {
        bench.server.script(&script(tool, |_| input));
        Ok::<_, anyhow::Error>(bench.place.usage(&["-p", "Do it."])?.cpu)
    };
    Ok(session(full)?.saturating_sub(session(idle)?) / SEARCHES as u32)
}

fn script<'a>(tool: &str, input: impl Fn(usize) -> &'a Value) -> Vec<Arc<Vec<u8>>> {
    (0..SEARCHES).map(|n| reply::call(n, tool, input(n))).chain([reply::text(["Done."])]).collect()
}
