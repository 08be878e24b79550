//! The cost of a control request for a host: from writing the line to reading the answer, also while hundreds of
//! requests are open.

use super::table::{Amount, Row, median};
use super::{Bench, Place};
use anyhow::{Context, Result, ensure};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

const ARGS: [&str; 5] = ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"];
const CROWD: usize = 500;

pub(super) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let mut host = Host::start(&bench.place)?;
    host.ask(0, "initialize")?;
    let times = if bench.quick { 200 } else { 2_000 };
    let trips = (1..=times).map(|n| host.ask(n, "list_models")).collect::<Result<Vec<Duration>>>()?;
    let crowd = host.crowd()?;
    host.end()?;
    let trip = median(&trips).context("nothing was measured")?;
    Ok(vec![
        Row::new("control request, round trip", Amount::Time(trip)).budget(Amount::ms(0.2)),
        Row::new("500 control requests at once, all answered", Amount::Time(crowd)),
    ])
}

struct Host {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    line: String,
}

impl Host {
    fn start(place: &Place) -> Result<Self> {
        let mut child = place.spawn_piped(&ARGS)?;
        let stdin = child.stdin.take().context("no stdin")?;
        let stdout = BufReader::new(child.stdout.take().context("no stdout")?);
        Ok(Self { child, stdin, stdout, line: String::new() })
    }

    fn ask(&mut self, number: usize, subtype: &str) -> Result<Duration> {
        let request = line(number, subtype);
        let began = Instant::now();
        self.stdin.write_all(request.as_bytes())?;
        self.answer()?;
        let took = began.elapsed();
        ensure!(self.line.contains(&format!("\"r{number}\"")), "not the answer to r{number}: {}", self.line);
        Ok(took)
    }

    fn crowd(&mut self) -> Result<Duration> {
        let requests: String = (0..CROWD).map(|n| line(n, "get_binary_version")).collect();
        let began = Instant::now();
        self.stdin.write_all(requests.as_bytes())?;
        for _ in 0..CROWD {
            self.answer()?;
        }
        Ok(began.elapsed())
    }

    fn answer(&mut self) -> Result<()> {
        self.line.clear();
        ensure!(self.stdout.read_line(&mut self.line)? > 0, "gimlet ended before it answered");
        ensure!(self.line.contains("control_response"), "not an answer: {}", self.line);
        Ok(())
    }

    fn end(mut self) -> Result<()> {
        drop(self.stdin);
        ensure!(self.child.wait()?.success(), "gimlet failed");
        Ok(())
    }
}

fn line(number: usize, subtype: &str) -> String {
    format!("{{\"type\":\"control_request\",\"request_id\":\"r{number}\",\"request\":{{\"subtype\":\"{subtype}\"}}}}\n")
}
