//! Twenty agents in one session: their cost while they wait, and how long they take together.

use super::start::TURN;
use super::table::{Amount, Row};
use super::usage::proportional_bytes;
use super::{Bench, median_of, medians, reply};
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const AGENTS: usize = 20;

pub(super) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let (wall, alone) = medians(bench.few(), || with_agents(bench), || alone(bench))?;
    let memory = median_of(3, || memory_of_one(bench))?;
    Ok(vec![
        Row::new("20 agents at once, wall", Amount::Time(wall)).peer("a turn without", Amount::Time(alone)),
        Row::new("an agent that waits, memory", Amount::Bytes(memory)).budget(Amount::mb(1)),
    ])
}

/// The first answer of the main thread starts the agents; all later answers are a short text.
fn script(bench: &Bench) {
    let input =
        |n: usize| json!({"description": format!("job {n}"), "prompt": "Say hello.", "run_in_background": true});
    let inputs: Vec<Value> = (0..AGENTS).map(input).collect();
    bench.server.script(&[reply::calls("Agent", &inputs), reply::text(["Hello."])]);
}

fn with_agents(bench: &Bench) -> Result<Duration> {
    script(bench);
    Ok(bench.place.run(&TURN)?.1)
}

fn alone(bench: &Bench) -> Result<Duration> {
    bench.server.script(&[reply::text(["Hello."])]);
    Ok(bench.place.run(&TURN)?.1)
}

fn memory_of_one(bench: &Bench) -> Result<u64> {
    script(bench);
    let many = held(bench, 1, AGENTS + 1)?;
    bench.server.script(&[reply::text(["Hello."])]);
    let none = held(bench, 0, 1)?;
    Ok(many.saturating_sub(none) / AGENTS as u64)
}

/// Memory, in bytes, of a run at the moment when `count` of its requests wait; the first `free` requests are answered.
fn held(bench: &Bench, free: usize, count: usize) -> Result<u64> {
    bench.server.hold_after(free);
    let began = Instant::now();
    let mut child = bench.place.spawn(&TURN)?;
    let bytes = bench.server.wait_for_held(count).and_then(|()| proportional_bytes(child.id()));
    bench.server.release();
    let status = child.wait()?;
    ensure!(status.success(), "the run failed after {:?}: {status}", began.elapsed());
    bytes
}
