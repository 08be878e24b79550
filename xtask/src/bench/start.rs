//! Starting: the version, the first request, a whole turn, and the size of the binary.

use super::table::{Amount, Row};
use super::{Bench, median_of, medians, reply};
use anyhow::{Context, Result};
use std::path::Path;
use std::time::{Duration, Instant};

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
    let against_curl = against_curl(bench)?;
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
        against_curl,
        Row::new("one turn, wall", Amount::Time(whole)).peer("true", Amount::Time(bare_third)),
        Row::new("one turn, CPU", Amount::Time(cpu)).peer("true", Amount::Time(bare_cpu)),
        Row::new("one turn, peak memory", Amount::Bytes(peak))
            .peer("true", Amount::Bytes(bare_peak))
            .budget(if bench.profile == "release" { Amount::mb(16) } else { Amount::mb(12) }),
        Row::new("binary, everything in it", Amount::Bytes(size)).budget(Amount::Bytes(23_500_000)),
    ])
}

/// The time to the first request, beside `curl` that posts the same bytes.
fn against_curl(bench: &Bench) -> Result<Row> {
    let hello = [reply::text(["Hello."])];
    let place = &bench.place;
    bench.server.script(&hello);
    let bytes = bench.server.body_of(|| place.run(&TURN).map(drop))?;
    let body = place.config().join("request.json");
    std::fs::write(&body, bytes)?;
    let (data, url) = (format!("@{}", body.display()), format!("{}/v1/messages", bench.server.url()));
    let arguments = ["-sN", "-H", "content-type: application/json", "--data-binary", &data, &url];
    if place.peer("curl", &["--version"]).is_err() {
        return Ok(Row::new("exec to first request: curl is not installed, not compared", Amount::ms(0.0)));
    }
    let (own, curl) = medians(
        bench.times(),
        || {
            bench.server.script(&hello);
            bench.to_first_request(&TURN)
        },
        || {
            bench.server.script(&hello);
            curl_to_request(bench, &arguments)
        },
    )?;
    std::fs::remove_file(&body)?;
    let row = Row::new("exec to first request, of the same bytes", Amount::Time(own));
    Ok(row.peer("curl", Amount::Time(curl)).at_most_times(0.5))
}

fn curl_to_request(bench: &Bench, arguments: &[&str]) -> Result<Duration> {
    let began = Instant::now();
    bench.place.peer("curl", arguments)?;
    let first = bench.server.marks().first().copied().context("curl sent no request")?;
    Ok(first.began.saturating_duration_since(began))
}
