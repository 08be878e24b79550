//! Runs the check of the `transcript` fuzz target on mutated sessions; every run uses the same inputs.
#![allow(clippy::unwrap_used, reason = "test code")]

#[path = "../../../fuzz/checks/transcript.rs"]
mod check;
#[path = "../../../fuzz/checks/mutate.rs"]
mod mutate;

/// A session with parallel calls, and one with a boundary and kept messages.
const CORPUS: [&str; 2] =
    [include_str!("../fixtures/canonical.jsonl"), include_str!("../../cli/tests/fixtures/reference.jsonl")];

// [TST-142] [TST-168]
#[test]
fn sessions_survive_mutation() {
    for (n, seed) in CORPUS.iter().enumerate() {
        check::check(seed.as_bytes());
        let mut mutator = mutate::Mutator::new(n as u64 + 11);
        for _ in 0..500 {
            check::check(&mutator.mutate(seed.as_bytes()));
        }
    }
}
