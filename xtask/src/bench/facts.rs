//! A start in a large repository, with what the model is told of the project and without it.

use super::start::TURN;
use super::table::{Amount, Row};
use super::{Bench, medians, reply};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

const FILES: usize = 50_000;

pub(super) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let repository = bench.place.project().join("large");
    create(bench, &repository)?;
    let told = || to_first_request(bench, &repository, true);
    let untold = || to_first_request(bench, &repository, false);
    // The first runs fill the caches of the file system.
    for warm_up in [&told as &dyn Fn() -> Result<Duration>, &untold] {
        warm_up()?;
    }
    let (told, untold) = medians(bench.times(), told, untold)?;
    fs::remove_dir_all(&repository)?;
    Ok(vec![
        Row::new("repository of 50,000 files: to first request", Amount::Time(told))
            .peer("projectFacts: false", Amount::Time(untold)),
        Row::new("what project facts add", Amount::Time(told.saturating_sub(untold))).budget(Amount::ms(2.0)),
    ])
}

/// Committed files, one of them changed since, and one that git does not know.
fn create(bench: &Bench, repository: &Path) -> Result<()> {
    for number in 0..FILES {
        let folder = repository.join(format!("part_{}/module_{}", number / 1_000, number / 50 % 20));
        if number % 50 == 0 {
            fs::create_dir_all(&folder)?;
        }
        fs::write(folder.join(format!("file_{number}.rs")), format!("pub const NUMBER: u32 = {number};\n"))?;
    }
    fs::write(repository.join("Makefile"), "build:\n\ttrue\n\ntest: build\n\ttrue\n")?;
    git(bench, repository, &["init", "-q", "-b", "main"])?;
    git(bench, repository, &["add", "-A"])?;
    let commit = ["-c", "user.name=Bench", "-c", "user.email=bench@localhost", "commit", "-q", "-m", "All parts"];
    git(bench, repository, &commit)?;
    fs::write(repository.join("part_7/module_3/file_7150.rs"), "pub const NUMBER: u32 = 0;\n")?;
    fs::write(repository.join("notes.txt"), "new\n")?;
    Ok(())
}

fn git(bench: &Bench, repository: &Path, args: &[&str]) -> Result<()> {
    let status = bench.place.command(Path::new("git"), args).current_dir(repository).status()?;
    ensure!(status.success(), "git {args:?} failed: {status}");
    Ok(())
}

fn to_first_request(bench: &Bench, repository: &Path, told: bool) -> Result<Duration> {
    bench.server.script(&[reply::text(["Hello."])]);
    let settings = format!("{{\"projectFacts\": {told}}}");
    let args = [&TURN[..], &["--settings", &settings]].concat();
    let mut command = bench.place.command(&bench.place.gimlet, &args);
    command.current_dir(repository).stdout(Stdio::null());
    let began = Instant::now();
    let status = command.status()?;
    ensure!(status.success(), "gimlet {args:?} failed: {status}");
    let first = bench.server.marks().first().copied().context("the run sent no request")?;
    Ok(first.began.saturating_duration_since(began))
}
