//! Memory does not grow with output. The only test of its binary, because allocations of other tests would be
//! counted too.
#![allow(unreachable_pub, clippy::unwrap_used, clippy::expect_used, reason = "test code")]

mod common;

use common::Bench;
use serde_json::json;
use sys::Env;

#[tokio::test]
async fn memory_does_not_grow_with_output() {
    let mut bench = Bench::new();
    bench.facts.env = Env::default().with([("PATH", "/usr/bin:/bin")]);
    bench.ok("Bash", json!({"command": "seq 1 20000"})).await;
    let before = resident_kib();
    let (_, result) = bench.ok("Bash", json!({"command": "head -c 536870912 /dev/zero | tr '\\0' x"})).await;
    assert_eq!(result["persistedOutputSize"], 512 << 20);
    let saved = std::fs::metadata(result["persistedOutputPath"].as_str().unwrap()).unwrap().len();
    assert!(saved < (64 << 20) + 70_000, "{saved}");
    let grown = resident_kib().saturating_sub(before);
    assert!(grown < 8 * 1024, "grew by {grown} KiB");
}

/// The peak resident memory of this process, in KiB.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
