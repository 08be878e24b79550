//! What a call costs beyond its command. The budget is a gate elsewhere; this guards against a gross regression.
#![allow(unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "test code")]

mod common;

use common::Bench;
use serde_json::json;
use std::time::{Duration, Instant};
use sys::Env;
use sys::process::{Input, Output, Spawn, spawn};

#[tokio::test]
async fn a_call_costs_little_more_than_its_command() {
    let mut bench = Bench::new();
    bench.facts.env = Env::default().with([("PATH", "/usr/bin:/bin")]);
    let mut ours = Vec::new();
    let mut bare = Vec::new();
    for _ in 0..40 {
        let began = Instant::now();
        bench.ok("Bash", json!({"command": "/bin/true"})).await;
        ours.push(began.elapsed());
        let began = Instant::now();
        bare_shell(&bench).await;
        bare.push(began.elapsed());
    }
    ours.sort();
    bare.sort();
    let extra = ours[20].saturating_sub(bare[20]);
    println!("median {:?}, bare {:?}, extra {extra:?}", ours[20], bare[20]);
    assert!(extra < Duration::from_millis(20), "{extra:?} beyond the command");
}

async fn bare_shell(bench: &Bench) {
    let mut child = spawn(Spawn {
        program: "/bin/bash".into(),
        args: vec!["-c".into(), "eval /bin/true; :".into()],
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        cwd: bench.dir.clone(),
        stdin: Input::Null,
        output: Output::Merged,
    })
    .unwrap();
    child.wait().await.unwrap();
    child.release();
}
