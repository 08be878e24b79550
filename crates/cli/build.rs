//! Link settings of the binary on Linux, each left out where the tools that build it do not know it:
//!
//! - Relative relocations are packed: they shrink from a megabyte to some kilobytes, all of which the loader would read
//!   before `main`. Only a loader from glibc 2.36 on can read them, so this machine, building for itself, must have one.
//! - Functions that a turn runs lie side by side (`code-order.ld`): the kernel maps code in pieces of 64 kB, and a start
//!   would touch three quarters of all code for a few functions in each.
//! - Functions with the same machine code are kept once. Nothing here compares addresses of functions.

#![expect(clippy::disallowed_methods, reason = "how a build script talks with cargo")]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=code-order.ld");
    let native = var("HOST") == var("TARGET") && var("CARGO_CFG_TARGET_ENV") == "gnu";
    if !native || var("CARGO_CFG_TARGET_OS") != "linux" {
        return;
    }
    if loader_reads_packed() {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    let order = format!("-Wl,-T,{}/code-order.ld", var("CARGO_MANIFEST_DIR"));
    for flag in [order.as_str(), "-Wl,--icf=all"] {
        if var("OPT_LEVEL") != "0" && links_with(flag) {
            println!("cargo::rustc-link-arg-bins={flag}");
        }
    }
}

fn var(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

/// `getconf GNU_LIBC_VERSION` prints `glibc 2.36`.
fn loader_reads_packed() -> bool {
    let Ok(output) = Command::new("getconf").arg("GNU_LIBC_VERSION").output() else { return false };
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.trim().strip_prefix("glibc ").and_then(|v| v.split_once('.'));
    let number = |part: &str| part.split('.').next().and_then(|n| n.parse::<u32>().ok());
    version.and_then(|(major, minor)| Some((number(major)?, number(minor)?))).is_some_and(|v| v >= (2, 36))
}

/// Whether the linker in use links an empty program with this flag.
fn links_with(flag: &str) -> bool {
    let program = Path::new(&var("OUT_DIR")).join("trial");
    let mut command = Command::new(var("RUSTC"));
    command.args(var("CARGO_ENCODED_RUSTFLAGS").split('\x1f').filter(|word| !word.is_empty()));
    if !var("RUSTC_LINKER").is_empty() {
        command.arg(format!("-Clinker={}", var("RUSTC_LINKER")));
    }
    command.args(["--crate-type=bin", "--crate-name=trial", "-", &format!("-Clink-arg={flag}"), "-o"]).arg(&program);
    let started = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let Ok(mut compiler) = started else { return false };
    let written = compiler.stdin.take().is_some_and(|mut source| source.write_all(b"fn main() {}").is_ok());
    written && compiler.wait().is_ok_and(|status| status.success())
}
