//! Within a session: the overhead of a call, a long stream, and a large tool output. Calls are timed at the server,
//! from writing a reply to the first byte of the next request.

use super::table::{Amount, Row, median};
use super::{Bench, median_of, medians, reply};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

pub(super) const CALLS: usize = 30;
const DELTAS: usize = 20_000;

pub(super) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let bash = |number: usize| ("Bash", json!({"command": format!(": {number}")}));
    let (bash_gap, shell) =
        medians(bench.few(), || call_gap(bench, bash), || median_of(CALLS, || bench.place.peer("bash", &["-c", ":"])))?;
    let project = bench.place.project();
    for number in 0..=CALLS {
        std::fs::write(project.join(format!("note_{number}.txt")), "one line of text\n".repeat(100))?;
    }
    let path = |number: usize| project.join(format!("note_{number}.txt"));
    let (read_gap, cat) = medians(
        bench.few(),
        || call_gap(bench, |number| ("Read", json!({"file_path": path(number)}))),
        || median_of(CALLS, || bench.place.peer("true", &[])),
    )?;
    Ok(vec![
        Row::new("Bash call beyond its command, 30 calls", Amount::Time(bash_gap.saturating_sub(shell)))
            .peer("bash -c :", Amount::Time(shell))
            .budget(Amount::ms(1.0)),
        Row::new("Read call, 30 calls", Amount::Time(read_gap)).peer("true", Amount::Time(cat)).budget(Amount::ms(0.4)),
    ])
}

/// The median time between a reply and the next request, in one session of 30 calls.
pub(super) fn call_gap(bench: &Bench, call: impl Fn(usize) -> (&'static str, Value)) -> Result<Duration> {
    let mut script: Vec<Arc<Vec<u8>>> = (0..CALLS)
        .map(|number| {
            let (tool, input) = call(number);
            reply::call(number, tool, &input)
        })
        .collect();
    script.push(reply::text(["Done."]));
    bench.server.script(&script);
    bench.place.run(&["-p", "Do it.", "--allowedTools", "Bash", "Read"])?;
    median(&gaps(bench)?).context("no call was answered")
}

/// Times between replies and the requests that follow them.
pub(super) fn gaps(bench: &Bench) -> Result<Vec<Duration>> {
    let marks = bench.server.marks();
    anyhow::ensure!(marks.len() > 1, "the run made {} requests", marks.len());
    Ok(marks.windows(2).map(|pair| pair[1].began.saturating_duration_since(pair[0].answered)).collect())
}

pub(super) fn stream(bench: &Bench) -> Result<Vec<Row>> {
    let pieces = vec!["some words "; DELTAS];
    let arguments = ["-p", "Write.", "--output-format", "stream-json", "--verbose", "--include-partial-messages"];
    let (many, few) = ([reply::text(pieces)], [reply::text(["word"])]);
    let (long, short) = medians(
        bench.few(),
        || {
            bench.server.script(&many);
            Ok(bench.place.usage(&arguments)?.cpu)
        },
        || {
            bench.server.script(&few);
            Ok(bench.place.usage(&arguments)?.cpu)
        },
    )?;
    Ok(vec![
        Row::new("20,000 deltas as stream-json, CPU", Amount::Time(long))
            .peer("1 delta", Amount::Time(short))
            .budget(Amount::ms(60.0)),
    ])
}

pub(super) fn output(bench: &Bench) -> Result<Vec<Row>> {
    let bytes: u64 = if bench.quick { 100_000_000 } else { 1 << 30 };
    let flood = |bytes: u64| format!("yes 'a line of tool output that says very little' | head -c {bytes}");
    let run = |bytes: u64| {
        let call = reply::call(0, "Bash", &json!({"command": flood(bytes)}));
        bench.server.script(&[call, reply::text(["Done."])]);
        bench.place.usage(&["-p", "Do it.", "--allowedTools", "Bash"])
    };
    let (large, small) = medians(3, || Ok(run(bytes)?.peak_bytes), || Ok(run(1_000)?.peak_bytes))?;
    let (gap, peer) = medians(
        3,
        || {
            run(bytes)?;
            gaps(bench)?.first().copied().context("no call")
        },
        || bench.place.peer("bash", &["-c", &format!("{} | wc -c", flood(bytes))]),
    )?;
    let size = if bench.quick { "100 MB" } else { "1 GB" };
    Ok(vec![
        Row::new(format!("{size} of tool output, memory growth"), Amount::Bytes(large.saturating_sub(small)))
            .peer("1 kB of output", Amount::Bytes(small))
            .budget(Amount::mb(8)),
        Row::new(format!("{size} of tool output, wall"), Amount::Time(gap)).peer("into wc -c", Amount::Time(peer)),
    ])
}
