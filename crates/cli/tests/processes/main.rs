//! Processes and machines that fail: kills, signals, orphans, full disks, small memory, many turns.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

#[path = "../common/mod.rs"]
mod common;

mod faults;
mod kill;
mod orphans;
mod pressure;
mod signals;
mod soak;
