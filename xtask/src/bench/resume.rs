//! The time to resume a long transcript, up to the first request.

use super::corpus::{self, Boundary};
use super::table::{Amount, Row};
use super::{Bench, median_of, medians, reply};
use anyhow::{Result, ensure};

const SESSION: &str = "5f2f1c1e-0000-4000-8000-0000000000aa";

struct ResumeCase {
    megabytes: usize,
    boundary: Boundary,
    limit_ms: f64,
}

const CASES: [ResumeCase; 3] = [
    ResumeCase { megabytes: 100, boundary: Boundary::NearEnd, limit_ms: 60.0 },
    ResumeCase { megabytes: 40, boundary: Boundary::None, limit_ms: 120.0 },
    ResumeCase { megabytes: 100, boundary: Boundary::None, limit_ms: 400.0 },
];

pub(super) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    std::fs::create_dir_all(bench.place.sessions())?;
    let mut rows = Vec::new();
    for case in CASES {
        rows.extend(measure(bench, &case)?);
    }
    Ok(rows)
}

fn measure(bench: &Bench, case: &ResumeCase) -> Result<[Row; 3]> {
    let path = bench.place.sessions().join(format!("{SESSION}.jsonl"));
    let live = corpus::transcript(&path, SESSION, &bench.place.project(), (case.megabytes, case.boundary))?;
    let (size, wanted) = (std::fs::metadata(&path)?.len(), case.megabytes as u64 * 1_000_000);
    ensure!(size.abs_diff(wanted) < wanted / 20, "the transcript has {size} bytes");
    // Without persistence the long file stays unchanged for the next run.
    let arguments = ["-p", "Go on.", "--resume", SESSION, "--no-session-persistence"];
    let hello = [reply::text(["Hello."])];
    let (first, count) = medians(
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
    std::fs::remove_file(&path)?;
    let (name, memory_limit) = match case.boundary {
        Boundary::NearEnd => ("boundary near its end", Amount::Bytes(20_000_000 + 3 * live)),
        Boundary::None => ("no boundary", Amount::mb(80)),
    };
    let name = format!("resume {} MB, {name}", case.megabytes);
    Ok([
        Row::new(format!("{name}, to request"), Amount::Time(first))
            .peer("wc -l", Amount::Time(count))
            .budget(Amount::ms(case.limit_ms)),
        Row::new(format!("{name}, whole run, CPU"), Amount::Time(cpu)),
        Row::new(format!("{name}, peak memory"), Amount::Bytes(peak))
            .peer("its request", Amount::Bytes(carried))
            .budget(memory_limit),
    ])
}
