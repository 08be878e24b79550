//! Starting: the version, the first request, a whole turn, and the size of the binary.

use super::table::{Amount, Row};
use super::{Bench, median_of, medians, reply};
use anyhow::Result;
use std::path::Path;

pub(super) const TURN: [&str; 2] = ["-p", "Say hello."];

pub(super) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let place = &bench.place;
    let hello = [reply::text(["Hello."])];
    let (version, bare) =
        medians(bench.times(), || place.peer(&place.gimlet.to_string_lossy(), &["--version"]), || bench.bare())?;
    let (first, bare_again) = medians(
        bench.times(),
        || {
            bench.server.script(&hello);
            bench.to_first_request(&TURN)
        },
        || bench.bare(),
    )?;
    bench.server.script(&hello);
    let (whole, bare_third) = medians(bench.times(), || Ok(place.run(&TURN)?.1), || bench.bare())?;
    let (peak, cpu) = median_of(bench.few(), || place.usage(&TURN).map(|u| (u.peak_bytes, u.cpu)))?;
    let observe_bare = || place.usage_of(Path::new("true"), &[]).map(|u| (u.peak_bytes, u.cpu));
    let (bare_peak, bare_cpu) = median_of(bench.few(), observe_bare)?;
    let size = std::fs::metadata(&place.gimlet)?.len();
    Ok(vec![
        Row::new("--version", Amount::Time(version)).peer("true", Amount::Time(bare)).budget(Amount::ms(3.0)),
        Row::new("exec to first request", Amount::Time(first))
            .peer("true", Amount::Time(bare_again))
            .budget(Amount::ms(20.0)),
        Row::new("one turn, wall", Amount::Time(whole)).peer("true", Amount::Time(bare_third)),
        Row::new("one turn, CPU", Amount::Time(cpu)).peer("true", Amount::Time(bare_cpu)),
        Row::new("one turn, peak memory", Amount::Bytes(peak))
            .peer("true", Amount::Bytes(bare_peak))
            .budget(Amount::mb(20)),
        Row::new("binary, everything in it", Amount::Bytes(size)).budget(Amount::mb(20)),
    ])
}
