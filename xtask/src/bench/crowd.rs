//! Thirty runs at the same time.

use super::start::TURN;
use super::table::{Amount, Row};
use super::usage::proportional_bytes;
use super::{Bench, median_of, medians, reply};
use anyhow::{Result, ensure};
use std::process::Child;
use std::time::{Duration, Instant};

const CROWD: usize = 30;

pub(super) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    bench.server.script(&[reply::text(["Hello."])]);
    let (wall, bare) = medians(bench.few(), || together(bench), || bare_together(bench))?;
    let memory = median_of(3, || memory_in_all(bench))?;
    Ok(vec![
        Row::new("30 runs at once, wall", Amount::Time(wall))
            .peer("30 x true", Amount::Time(bare))
            .budget(Amount::ms(800.0)),
        Row::new("30 runs at once, memory in all", Amount::Bytes(memory)).budget(Amount::mb(150)),
    ])
}

fn together(bench: &Bench) -> Result<Duration> {
    let began = Instant::now();
    let children = (0..CROWD).map(|_| bench.place.spawn(&TURN)).collect::<Result<Vec<Child>>>()?;
    wait(children)?;
    Ok(began.elapsed())
}

fn bare_together(bench: &Bench) -> Result<Duration> {
    let began = Instant::now();
    let children = (0..CROWD).map(|_| bench.place.spawn_bare()).collect::<Result<Vec<Child>>>()?;
    wait(children)?;
    Ok(began.elapsed())
}

fn wait(children: Vec<Child>) -> Result<()> {
    for mut child in children {
        let status = child.wait()?;
        ensure!(status.success(), "one of {CROWD} runs failed: {status}");
    }
    Ok(())
}

/// Memory, in bytes, of all runs in the middle of their turn; shared pages are counted once.
fn memory_in_all(bench: &Bench) -> Result<u64> {
    bench.server.hold();
    let children = (0..CROWD).map(|_| bench.place.spawn(&TURN)).collect::<Result<Vec<Child>>>()?;
    let sum =
        bench.server.wait_for_held(CROWD).and_then(|()| children.iter().map(|c| proportional_bytes(c.id())).sum());
    bench.server.release();
    wait(children)?;
    sum
}
