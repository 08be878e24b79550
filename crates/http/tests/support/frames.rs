//! Runs the check of the `websocket` fuzz target on mutated frames; every run uses the same inputs.

#[path = "../../../../fuzz/checks/websocket.rs"]
mod check;
#[path = "../../../../fuzz/checks/mutate.rs"]
mod mutate;

/// Frames for a client (first byte 1) and, masked with zeros, for a server: whole, in parts with a ping between, a long
/// one, and a close.
const SEEDS: [&[u8]; 4] = [
    b"\x01\x81\x05hello\x02\x03abc\x89\x02hi\x80\x01d\x88\x02\x03\xe8",
    b"\x00\x81\x85\0\0\0\0hello\x01\x82\0\0\0\0h\xc3\x80\x81\0\0\0\0\xa9\x88\x82\0\0\0\0\x03\xe9",
    b"\x01\x82\x7e\x00\x7e..............................................................................................................................\x8a\x00",
    b"\x01\x82\x7f\0\0\0\0\0\0\x04\x01\x88\x00",
];

#[test]
fn frames_survive_mutation() {
    mutate::kept(include_str!("../../../../fuzz/corpus/websocket.txt"), check::check);
    mutate::smoke(&SEEDS, check::check, 51, 2_000);
}
