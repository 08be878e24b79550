//! What tests leave behind in the shared temporary folder: their sandboxes, and the folders that the product makes for
//! projects. Sandboxes of one run have a name of their own, so other runs on the machine do not count.

use anyhow::{Result, bail};
use std::path::{Path, PathBuf};

/// Read by `testkit::Sandbox`.
pub(super) const VARIABLE: &str = "GIMLET_TEST_RUN";
const DIGITS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";

/// Identifies the sandboxes of this run. Three characters, as long as the part of the usual name that it replaces, so
/// that screens with paths look the same.
pub(super) fn run_name() -> String {
    let mut number = std::process::id() as usize;
    let digit = |number: &mut usize| {
        let digit = DIGITS[*number % DIGITS.len()];
        *number /= DIGITS.len();
        char::from(digit)
    };
    (0..3).map(|_| digit(&mut number)).collect()
}

/// Fails when something of this run is left.
pub(super) fn check(run: &str) -> Result<()> {
    let shared = std::env::temp_dir();
    let mut left = named(&shared, &format!(".{run}"));
    let of_projects = shared.join(format!("claude-{}", rustix::process::getuid().as_raw()));
    let slug = shared.join(format!(".{run}")).display().to_string().replace(['/', '.'], "-");
    left.extend(named(&of_projects, &slug));
    if left.is_empty() {
        return Ok(());
    }
    let shown: Vec<String> = left.iter().take(10).map(|path| path.display().to_string()).collect();
    bail!("tests left {} folders behind:\n  {}", left.len(), shown.join("\n  "))
}

fn named(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let chosen = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
    chosen.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_belongs_to_the_run_counts() {
        let folder = tempfile::tempdir().unwrap();
        for name in [".abcX1", ".abdX1", "abc"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        assert_eq!(named(folder.path(), ".abc"), [folder.path().join(".abcX1")]);
        assert_eq!(run_name().len(), 3);
    }
}
