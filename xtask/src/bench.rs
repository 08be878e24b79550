//! `cargo xtask bench`: measures the cost of whole processes from outside, next to a bare process or a named peer
//! in the same run. Prints one table of medians. A figure over its budget is reported and is never an error,
//! because machines differ.

mod agents;
pub(crate) mod code_order;
mod control;
mod corpus;
mod crowd;
mod extensions;
mod facts;
mod hooks;
mod mcp;
mod pane;
mod permission;
mod place;
mod reply;
mod resume;
mod rewind;
mod search;
mod server;
mod sessions;
mod spending;
mod start;
mod table;
mod terminal;
mod turns;
mod usage;

use crate::clients::executable;
use crate::steps::cargo_program;
use anyhow::{Context, Result, bail};
use place::Place;
use server::Server;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;
use table::{MOST_LOAD, Row, median};

const HELP: &str = "cargo xtask bench [--quick] [--only WORD] [--profile NAME] [--binary FILE]

Builds gimlet as it is published (profile dist) and measures it, or the FILE given. --only runs the groups whose name contains WORD:
start, extensions, facts, turns, hooks, mcp, stream, output, resume, rewind, crowd, agents, search, sessions, usage, permission, control, terminal.";

struct Options {
    quick: bool,
    only: Option<String>,
    profile: String,
    binary: Option<PathBuf>,
}

/// Shared by all groups of measurements.
struct Bench {
    place: Place,
    server: Server,
    quick: bool,
    profile: String,
}

type Group = (&'static str, fn(&Bench) -> Result<Vec<Row>>);

const GROUPS: [Group; 18] = [
    ("start", start::rows),
    ("extensions", extensions::rows),
    ("facts", facts::rows),
    ("turns", turns::rows),
    ("hooks", hooks::rows),
    ("mcp", mcp::rows),
    ("stream", turns::stream),
    ("output", turns::output),
    ("resume", resume::rows),
    ("rewind", rewind::rows),
    ("crowd", crowd::rows),
    ("agents", agents::rows),
    ("search", search::rows),
    ("sessions", sessions::rows),
    ("usage", spending::rows),
    ("permission", permission::rows),
    ("control", control::rows),
    ("terminal", terminal::rows),
];

pub(crate) fn run(args: &[&str]) -> Result<()> {
    if args.first().is_some_and(|a| *a == usage::OBSERVER) {
        return usage::observe(&args[1..]);
    }
    if args == [mcp::STUB] {
        return mcp::stub();
    }
    if args.contains(&"--help") {
        println!("{HELP}");
        return Ok(());
    }
    let options = Options::parse(args)?;
    let binary = options.binary.clone().map_or_else(|| build(&options.profile), Ok)?;
    let server = Server::start()?;
    let bench = Bench {
        place: Place::new(&binary, server.url())?,
        server,
        quick: options.quick,
        profile: options.profile.clone(),
    };
    let mut rows = Vec::new();
    for (name, group) in GROUPS {
        if options.only.as_ref().is_none_or(|word| name.contains(word.as_str())) {
            eprintln!("measuring {name} ...");
            let before = load_average();
            let measured = group(&bench).with_context(|| format!("measuring {name}"))?;
            let load = before.max(load_average());
            rows.extend(measured.into_iter().map(|row| row.under(load)));
        }
    }
    println!("{}\n\n{}", conditions(), table::render(&rows));
    println!("{}", summary(&rows));
    Ok(())
}

fn summary(rows: &[Row]) -> String {
    let over = rows.iter().filter(|row| row.is_over()).count();
    let busy = rows.iter().filter(|row| row.is_over() && row.is_of_busy_machine()).count();
    let doubt = match busy {
        0 => String::new(),
        busy => {
            format!("; {busy} of these times were measured while the load average was over {MOST_LOAD}: measure again")
        }
    };
    format!("{over} of {} over budget{doubt}", rows.len())
}

/// The load average of the last minute; 0 where it is not known.
fn load_average() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or_default()
}

impl Options {
    fn parse(args: &[&str]) -> Result<Self> {
        let mut options = Self { quick: false, only: None, profile: "dist".into(), binary: None };
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            match *arg {
                "--quick" => options.quick = true,
                "--only" => options.only = rest.next().map(ToString::to_string),
                "--profile" => options.profile = rest.next().context("--profile needs a name")?.to_string(),
                "--binary" => options.binary = rest.next().map(|b| PathBuf::from(b).canonicalize()).transpose()?,
                other => bail!("unknown argument {other}\n{HELP}"),
            }
        }
        Ok(options)
    }
}

impl Bench {
    /// Repetitions of a cheap measurement.
    fn times(&self) -> usize {
        if self.quick { 7 } else { 31 }
    }

    /// Repetitions of a measurement that takes seconds.
    fn few(&self) -> usize {
        if self.quick { 3 } else { 9 }
    }

    /// The time of one run of a bare process. Call it right beside the measurement it is compared with.
    fn bare(&self) -> Result<Duration> {
        self.place.peer("true", &[])
    }

    /// Time from the start of a run to its first request.
    fn to_first_request(&self, args: &[&str]) -> Result<Duration> {
        let (began, _) = self.place.run(args)?;
        let first = self.server.marks().first().copied().context("the run sent no request")?;
        Ok(first.began.saturating_duration_since(began))
    }
}

/// The median of `times` results of `measure`.
fn median_of<T: PartialOrd + Copy>(times: usize, mut measure: impl FnMut() -> Result<T>) -> Result<T> {
    let values = (0..times).map(|_| measure()).collect::<Result<Vec<T>>>()?;
    median(&values).context("nothing was measured")
}

/// The medians of two measurements taken alternately, so that a load peak affects both.
fn medians<T: PartialOrd + Copy, U: PartialOrd + Copy>(
    times: usize,
    mut one: impl FnMut() -> Result<T>,
    mut other: impl FnMut() -> Result<U>,
) -> Result<(T, U)> {
    let pairs = (0..times).map(|_| Ok((one()?, other()?))).collect::<Result<Vec<(T, U)>>>()?;
    let (ones, others): (Vec<T>, Vec<U>) = pairs.into_iter().unzip();
    median(&ones).zip(median(&others)).context("nothing was measured")
}

/// A short description of the machine, to judge the figures by.
fn conditions() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let load = load_average();
    format!("{cores} cores, {} {}, load average {load} at the end", std::env::consts::OS, std::env::consts::ARCH)
}

fn build(profile: &str) -> Result<PathBuf> {
    let mut command = Command::new(cargo_program());
    command.args(["build", "--profile", profile, "--package", "gimlet-cli"]);
    command.args(["--message-format", "json-render-diagnostics"]);
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!("gimlet does not build");
    }
    executable(&String::from_utf8_lossy(&output.stdout)).context("cargo build named no executable")
}
