//! The report of what was used, over all transcripts.

use super::corpus::{self, Boundary};
use super::table::{Amount, Row};
use super::{Bench, median_of};
use anyhow::Result;

const FILE_MEGABYTES: usize = 5;

pub(super) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let (files, name) = if bench.quick { (20, "100 MB") } else { (200, "1 GB") };
    let dir = bench.place.config().join("projects/-bench-usage");
    std::fs::create_dir_all(&dir)?;
    for number in 0..files {
        let id = corpus::uuid(number);
        corpus::transcript(&dir.join(format!("{id}.jsonl")), &id, &dir, (FILE_MEGABYTES, Boundary::None))?;
    }
    let report = ["usage", "--by", "session"];
    // The first run reads the files into the cache.
    bench.place.run(&report)?;
    let took = median_of(bench.few(), || bench.place.run(&report).map(|(_, took)| took))?;
    let peak = bench.place.usage(&report)?.peak_bytes;
    std::fs::remove_dir_all(&dir)?;
    Ok(vec![
        Row::new(format!("gimlet usage, {name}"), Amount::Time(took)).budget(Amount::ms(1_000.0)),
        Row::new(format!("gimlet usage, {name}, peak memory"), Amount::Bytes(peak)),
    ])
}
