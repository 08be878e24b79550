//! The interface in a pseudo-terminal: start, keys, streaming, idle cost, memory, resume. A key counts as shown
//! when the terminal has received the bytes of its letter; the prompt counts as usable when the first key typed
//! into it is shown.

use super::corpus::{self, Boundary};
use super::pane::Pane;
use super::table::{Amount, Peer, Row, median};
use super::usage::{cpu_time, resident_bytes, wakeups};
use super::{Bench, median_of, medians, reply};
use anyhow::{Context, Result, ensure};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Text that the first frame and all later ones contain.
const FRAME: &str = "─";
const READY: &str = "? for shortcuts";
const VIM: [&str; 4] = ["-u", "NONE", "-N", "-n"];
const SESSION: &str = "5f2f1c1e-0000-4000-8000-0000000000bb";
/// Time between two tokens: 200 per second.
const TOKEN_EVERY: Duration = Duration::from_millis(5);
/// Letters that are nowhere else on the screen, each typed once per cycle.
const LETTERS: std::ops::Range<u32> = 0x100..0x140;

pub(super) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let mut rows = start(bench)?;
    rows.extend(idle(bench)?);
    rows.extend(streaming(bench)?);
    rows.extend(long_session(bench)?);
    rows.push(many_messages(bench)?);
    Ok(rows)
}

fn start(bench: &Bench) -> Result<Vec<Row>> {
    let vim = || Ok(painted(bench, Path::new("vim"), &VIM, "VIM", "i")?.0);
    let bash = || Ok(painted(bench, Path::new("bash"), &["--norc", "--noprofile"], "ready$ ", "")?.1);
    let gimlet = || painted(bench, &bench.place.gimlet, &[], FRAME, "");
    let (first, usable): (Vec<Duration>, Vec<Duration>) =
        (0..bench.times()).map(|_| gimlet()).collect::<Result<Vec<_>>>()?.into_iter().unzip();
    let (first, usable) = median(&first).zip(median(&usable)).context("nothing was measured")?;
    let mut rows = vec![
        Row::new("terminal: exec to first paint", Amount::Time(first)).budget(Amount::ms(15.0)),
        Row::new("terminal: exec to a usable prompt", Amount::Time(usable)).budget(Amount::ms(20.0)),
    ];
    rows[0].peer = peer_of("vim -u NONE", median_of(bench.times(), vim).ok());
    rows[1].peer = peer_of("bash --norc", median_of(bench.times(), bash).ok());
    Ok(rows)
}

/// Time from the start to the first output that contains `mark`, and to the echo of a key sent after that; `before`
/// is sent before the key.
fn painted(bench: &Bench, program: &Path, args: &[&str], mark: &str, before: &str) -> Result<(Duration, Duration)> {
    let mut pane = Pane::start(&bench.place, program, args)?;
    let first = pane.wait_for(mark)?;
    pane.send(&format!("{before}Z"))?;
    let usable = pane.wait_for("Z")?;
    Ok((first - pane.began, usable - pane.began))
}

fn ready(bench: &Bench, args: &[&str], shown: &str) -> Result<Pane> {
    let mut pane = Pane::gimlet(&bench.place, args)?;
    pane.wait_for(shown)?;
    pane.settle(Duration::from_millis(300))?;
    Ok(pane)
}

fn idle(bench: &Bench) -> Result<Vec<Row>> {
    let mut pane = ready(bench, &[], READY)?;
    let keys = keys(bench, &mut pane)?;
    pane.settle(Duration::from_secs(2))?;
    let before = wakeups(pane.pid())?;
    pane.drain(Duration::from_secs(5))?;
    let woken = wakeups(pane.pid())? - before;
    let memory = resident_bytes(pane.pid())?;
    let mut rows = key_rows("idle", &keys)?;
    if let Ok(vim) = keys_in_vim(bench) {
        rows[0].peer = peer_of("vim -u NONE", median(&vim));
        rows[1].peer = peer_of("vim -u NONE", high(&vim));
    }
    rows.push(Row::new("terminal: wake-ups in 5 s of rest", Amount::Count(woken as f64)).budget(Amount::Count(0.0)));
    rows.push(Row::new("terminal: memory at rest", Amount::Bytes(memory)).budget(Amount::mb(25)));
    Ok(rows)
}

fn keys_in_vim(bench: &Bench) -> Result<Vec<Duration>> {
    let mut pane = Pane::start(&bench.place, Path::new("vim"), &VIM)?;
    pane.wait_for("VIM")?;
    pane.settle(Duration::from_millis(200))?;
    pane.send("i")?;
    pane.settle(Duration::from_millis(200))?;
    keys(bench, &mut pane)
}

/// `None` when the program is not installed.
fn peer_of(name: &'static str, time: Option<Duration>) -> Option<super::table::Peer> {
    time.map(|time| Peer { name, amount: Amount::Time(time) })
}

/// Times from keys to their echo, typed at uneven intervals.
fn keys(bench: &Bench, pane: &mut Pane) -> Result<Vec<Duration>> {
    let wanted = if bench.quick { 100 } else { 400 };
    let mut times = Vec::with_capacity(wanted);
    let mut gap = 7_u64;
    for letter in LETTERS.cycle().filter_map(char::from_u32).take(wanted) {
        let letter = letter.to_string();
        let sent = pane.send(&letter)?;
        times.push(pane.wait_for(&letter)? - sent);
        gap = (gap * 13 + 5) % 31;
        pane.drain(Duration::from_millis(10 + gap))?;
        if times.len() % LETTERS.len() == 0 {
            pane.send("\x15")?;
            pane.drain(Duration::from_millis(60))?;
        }
    }
    Ok(times)
}

/// The 99th percentile.
fn high(times: &[Duration]) -> Option<Duration> {
    let mut sorted = times.to_vec();
    sorted.sort();
    sorted.get(sorted.len() * 99 / 100).copied()
}

fn key_rows(when: &str, times: &[Duration]) -> Result<Vec<Row>> {
    let (middle, high) = median(times).zip(high(times)).context("no key was measured")?;
    Ok(vec![
        Row::new(format!("key to screen, {when}, median"), Amount::Time(middle)).budget(Amount::ms(1.5)),
        Row::new(format!("key to screen, {when}, 99 of 100"), Amount::Time(high)).budget(Amount::ms(8.0)),
    ])
}

/// A typical reply of a model: prose, a list, code. A token is a word or a punctuation mark.
fn long_reply(tokens: usize) -> Arc<Vec<u8>> {
    const BODY: &str = "## what was found\n\nthe parser reads each line once and keeps what it has seen so far, which is why \
        long inputs take time in proportion to their length and not more.\n\n- the first pass collects names\n- the second \
        pass resolves them, **in order**, and reports what is missing\n\n```rust\nfn resolve(names: &[name]) -> vec<error> {\n    \
        let mut missing = vec::new();\n    for name in names {\n        missing.extend(check(name));\n    }\n    missing\n}\n```\n\n\
        with this the test of the last change passes, and `cargo test` says so as well.\n\n";
    let words: Vec<&str> = BODY.split_inclusive(' ').collect();
    reply::text(words.into_iter().cycle().take(tokens))
}

fn streaming(bench: &Bench) -> Result<Vec<Row>> {
    let seconds = if bench.quick { 3 } else { 10 };
    let mut pane = ready(bench, &[], READY)?;
    bench.server.script(&[long_reply(200 * seconds)]);
    bench.server.pace(Some(TOKEN_EVERY));
    pane.send("explain it\r")?;
    pane.wait_for("what was found")?;
    let (cpu, bytes, began) = (cpu_time(pane.pid())?, pane.written, Instant::now());
    // The last second is left out, because the measurement must end before the reply does.
    pane.drain(Duration::from_secs(seconds as u64 - 1))?;
    let took = began.elapsed().as_secs_f64();
    let used = cpu_time(pane.pid())?.saturating_sub(cpu).as_secs_f64() / took;
    let tokens = took / TOKEN_EVERY.as_secs_f64();
    let per_token = (pane.written - bytes) as f64 / tokens;
    pane.wait_for(READY)?;

    bench.server.script(&[long_reply(200 * 60)]);
    pane.send("explain more\r")?;
    pane.wait_for("what was found")?;
    let keys = keys(bench, &mut pane)?;
    bench.server.pace(None);
    let mut rows = vec![
        Row::new("streaming 200 tokens/s, CPU of one core", Amount::Percent(used * 100.0)).budget(Amount::Percent(3.0)),
        Row::new("streaming 200 tokens/s, bytes written per token", Amount::Bytes(per_token as u64)),
    ];
    rows.extend(key_rows("while a reply streams", &keys)?);
    Ok(rows)
}

fn long_session(bench: &Bench) -> Result<Vec<Row>> {
    let path = bench.place.sessions().join(format!("{SESSION}.jsonl"));
    std::fs::create_dir_all(bench.place.sessions())?;
    let mut rows = Vec::new();
    for (boundary, name) in [(Boundary::NearEnd, "boundary near its end"), (Boundary::None, "no boundary")] {
        corpus::transcript(&path, SESSION, &bench.place.project(), (100, boundary))?;
        let size = std::fs::metadata(&path)?.len();
        let resume = || {
            let times = painted(bench, &bench.place.gimlet, &["--resume", SESSION], FRAME, "");
            std::fs::OpenOptions::new().write(true).open(&path)?.set_len(size)?;
            Ok(times?.1)
        };
        let (usable, count) =
            medians(bench.few(), resume, || bench.place.peer("wc", &["-l", &path.to_string_lossy()]))?;
        rows.push(
            Row::new(format!("resume 100 MB, {name}, to a usable prompt"), Amount::Time(usable))
                .peer("wc -l", Amount::Time(count))
                .budget(Amount::ms(100.0)),
        );
        // Waits until the conversation has been loaded and shown; keys are accepted earlier.
        let mut pane = ready(bench, &["--resume", SESSION], corpus::LAST_WORDS)?;
        rows.push(Row::new(
            format!("resume 100 MB, {name}, memory at rest"),
            Amount::Bytes(resident_bytes(pane.pid())?),
        ));
        let keys = keys(bench, &mut pane)?;
        rows.extend(key_rows(&format!("100 MB resumed, {name}"), &keys)?);
        drop(pane);
        std::fs::remove_file(&path)?;
    }
    Ok(rows)
}

/// Memory of a session with many messages, each with twenty calls and their results.
fn many_messages(bench: &Bench) -> Result<Row> {
    const CALLS: usize = 20;
    let steps = if bench.quick { 50 } else { 250 };
    std::fs::write(bench.place.project().join("small.txt"), "one line\n")?;
    let path = bench.place.project().join("small.txt");
    // A turn that repeats the very same call is ended.
    let input = |number: usize| json!({"file_path": path, "limit": number + 1});
    let inputs = |step: usize| (step * CALLS..(step + 1) * CALLS).map(input).collect::<Vec<_>>();
    let mut replies: Vec<Arc<Vec<u8>>> =
        (0..steps).map(|step| reply::numbered_calls(step, "Read", &inputs(step))).collect();
    replies.push(reply::text(["all of it was read"]));
    bench.server.script(&replies);
    let mut pane = ready(bench, &[], READY)?;
    pane.send("read it\r")?;
    pane.wait_for("all of it was read")?;
    pane.wait_for(READY)?;
    pane.settle(Duration::from_secs(1))?;
    ensure!(bench.server.marks().len() == steps + 1, "{} requests", bench.server.marks().len());
    let carried = bench.server.marks().last().map_or(0, |mark| mark.size as u64);
    let memory = resident_bytes(pane.pid())?;
    let messages = steps * CALLS * 2;
    Ok(Row::new(format!("terminal: memory after {messages} messages"), Amount::Bytes(memory))
        .peer("their request", Amount::Bytes(carried)))
}
