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
    mutate::kept(include_str!("../../../fuzz/corpus/transcript.txt"), check::check);
    mutate::smoke(&CORPUS, check::check, 11, 500);
}
