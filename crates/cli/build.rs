//! Link settings of the binary. On Linux relative relocations are packed: they shrink from a megabyte to some kilobytes, all of
//! which the loader would read before `main`. Only a loader from glibc 2.36 on can read them, so the flag is left out unless
//! this machine, building for itself, has one.

#![expect(clippy::disallowed_methods, reason = "how a build script talks with cargo")]

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let var = |name: &str| std::env::var(name).unwrap_or_default();
    let native = var("HOST") == var("TARGET") && var("CARGO_CFG_TARGET_ENV") == "gnu";
    if native && var("CARGO_CFG_TARGET_OS") == "linux" && loader_reads_packed() {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// `getconf GNU_LIBC_VERSION` prints `glibc 2.36`.
fn loader_reads_packed() -> bool {
    let Ok(output) = Command::new("getconf").arg("GNU_LIBC_VERSION").output() else { return false };
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.trim().strip_prefix("glibc ").and_then(|v| v.split_once('.'));
    let number = |part: &str| part.split('.').next().and_then(|n| n.parse::<u32>().ok());
    version.and_then(|(major, minor)| Some((number(major)?, number(minor)?))).is_some_and(|v| v >= (2, 36))
}
