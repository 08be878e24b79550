//! The time to resume a transcript of 100 MB and 10,000 lines, up to the first request.

use super::corpus::{self, Boundary, TRANSCRIPT_BYTES};
use super::table::{Amount, Row};
use super::{Bench, median_of, medians, reply};
use anyhow::{Result, ensure};

const SESSION: &str = "5f2f1c1e-0000-4000-8000-0000000000aa";

pub(super) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (boundary, name, limit_ms) in
        [(Boundary::NearEnd, "boundary near its end", 60.0), (Boundary::None, "no boundary", 400.0)]
    {
        let path = bench.place.sessions().join(format!("{SESSION}.jsonl"));
        std::fs::create_dir_all(bench.place.sessions())?;
        let live = corpus::transcript(&path, SESSION, &bench.place.project(), boundary)?;
        let size = std::fs::metadata(&path)?.len();
        ensure!(size.abs_diff(TRANSCRIPT_BYTES) < TRANSCRIPT_BYTES / 20, "the transcript has {size} bytes");
        let memory_limit = match boundary {
            Boundary::NearEnd => Amount::Bytes(20_000_000 + 3 * live),
            Boundary::None => Amount::mb(80),
        };
        // Without persistence the long file stays unchanged for the next run.
        let arguments = ["-p", "Go on.", "--resume", SESSION, "--no-session-persistence"];
        let hello = [reply::text(["Hello."])];
        bench.server.script(&hello);
        let (first, cat) = medians(
            bench.few(),
            || {
                bench.server.script(&hello);
                bench.to_first_request(&arguments)
            },
            || bench.place.peer("wc", &["-l", &path.to_string_lossy()]),
        )?;
        let carried = bench.server.marks().first().map_or(0, |mark| mark.size as u64);
        ensure!(carried > live / 2, "the request carried {carried} bytes of {live}");
        let (peak, cpu) = median_of(3, || bench.place.usage(&arguments).map(|u| (u.peak_bytes, u.cpu)))?;
        rows.push(
            Row::new(format!("resume 100 MB, {name}, to request"), Amount::Time(first))
                .peer("wc -l", Amount::Time(cat))
                .budget(Amount::ms(limit_ms)),
        );
        rows.push(Row::new(format!("resume 100 MB, {name}, whole run, CPU"), Amount::Time(cpu)));
        rows.push(
            Row::new(format!("resume 100 MB, {name}, peak memory"), Amount::Bytes(peak))
                .peer("its request", Amount::Bytes(carried))
                .budget(memory_limit),
        );
        std::fs::remove_file(&path)?;
    }
    Ok(rows)
}
