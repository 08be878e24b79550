//! Link settings of the binary. On Linux relative relocations are packed: they shrink from a megabyte to some kilobytes, all of
//! which the loader would read before `main`.

#![expect(clippy::disallowed_methods, reason = "how a build script talks with cargo")]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |name: &str| std::env::var(name).unwrap_or_default();
    if target("CARGO_CFG_TARGET_OS") == "linux" && target("CARGO_CFG_TARGET_ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}
