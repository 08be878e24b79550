//! Every settings key has an effect, or is declared to have none.

#![allow(clippy::unwrap_used, reason = "test code")]

use std::fmt::Write;
use std::path::Path;
use wire::settings::{Key, Settings, Shape};

/// The sources of every crate that can use a key, without tests and comments.
fn sources(dir: &Path, text: &mut String) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !["wire", "testkit", "tests", "examples", "target"].contains(&name.as_str()) {
                sources(&path, text);
            }
        } else if path.extension().is_some_and(|kind| kind == "rs") && !name.ends_with("_tests.rs") {
            let source = std::fs::read_to_string(&path).unwrap();
            let code = source.split("#[cfg(test)]\nmod").next().unwrap();
            for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
                writeln!(text, "{line}").unwrap();
            }
        }
    }
}

fn snake(name: &str) -> String {
    let mut out = String::new();
    let upper: Vec<char> = name.chars().collect();
    for (at, c) in upper.iter().enumerate() {
        let begins = c.is_ascii_uppercase() && at > 0 && !upper[at - 1].is_ascii_uppercase();
        if begins {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

fn walk(keys: &'static [Key], prefix: &str, code: &str, unused: &mut Vec<String>, counted: &mut usize) {
    for key in keys.iter().filter(|key| key.no_effect.is_none()) {
        *counted += 1;
        let path = format!("{prefix}{}", key.name);
        let field = if key.name == "blockReadsOutsideWorkingDirectories" {
            "block_reads_outside".into()
        } else {
            snake(key.name)
        };
        if !code.contains(&format!(".{field}")) && !code.contains(&format!("\"{}\"", key.name)) {
            unused.push(path.clone());
        }
        if let Shape::Object(inner) = key.shape {
            walk(inner, &format!("{path}."), code, unused, counted);
        }
    }
}

// [F-B3]
#[test]
fn a_key_that_nothing_reads_says_so() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut code = String::new();
    sources(crates, &mut code);
    let (mut unused, mut counted) = (Vec::new(), 0);
    walk(Settings::KEYS, "", &code, &mut unused, &mut counted);
    assert!(counted > 60 && code.len() > 1_000_000, "{counted} keys, {} bytes of source", code.len());
    assert!(unused.is_empty(), "no code reads these keys and none is marked `no_effect`: {unused:?}");
}
