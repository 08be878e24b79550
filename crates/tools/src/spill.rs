//! Large results: the whole text goes to a file of the session, the model gets a short wrapper that names the file.
//! The wrapper depends only on its text and path, so sending it again gives the same bytes. This module does not
//! decide whether a Bash result is too large; the engine applies [`GENERIC_LIMIT`] to every other tool.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Longest result of any tool, in characters, that is sent whole.
pub const GENERIC_LIMIT: usize = 50_000;
const PREVIEW_BYTES: usize = 2_000;

/// A result that was replaced by a wrapper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpilledResult {
    /// The wrapper text for the model.
    pub content: String,
    pub path: PathBuf,
    /// Size of the whole text, in bytes.
    pub size: u64,
}

/// Writes `text` to a file when it is longer than [`GENERIC_LIMIT`]; `None` means it may be sent whole. Blocking.
pub fn spill_if_large(session_dir: &Path, text: &str) -> io::Result<Option<SpilledResult>> {
    if text.len() <= GENERIC_LIMIT || text.chars().nth(GENERIC_LIMIT).is_none() {
        return Ok(None);
    }
    let (mut file, path) = create(session_dir)?;
    file.write_all(text.as_bytes())?;
    let size = text.len() as u64;
    Ok(Some(SpilledResult { content: wrapper(&path, size, text), path, size }))
}

/// Creates a new file in the session's `tool-results`. Blocking.
pub fn create(session_dir: &Path) -> io::Result<(File, PathBuf)> {
    let path = new_path(session_dir);
    Ok((create_private(&path)?, path))
}

/// As [`create`], with another file extension than `txt`.
pub fn create_as(session_dir: &Path, extension: &str) -> io::Result<(File, PathBuf)> {
    let path = new_path(session_dir).with_extension(extension);
    Ok((create_private(&path)?, path))
}

/// The path for a new spilled result.
pub(crate) fn new_path(session_dir: &Path) -> PathBuf {
    session_dir.join("tool-results").join(format!("{}.txt", sys::id::base36(9)))
}

/// Creates `path` (0600) and its directories (0700). Fails when the path exists, and never follows a link.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    if let Some(dir) = path.parent() {
        create_folder(dir)?;
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

pub(crate) fn create_folder(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// The text the model gets in place of the whole. `start` is at least the first 2 KB of the whole.
pub fn wrapper(path: &Path, size: u64, start: &str) -> String {
    let preview = preview(start);
    let more = if (preview.len() as u64) < size { "\n…" } else { "" };
    wrapper_of(path, size, &format!("Preview (first 2 KB):\n{preview}{more}"), None)
}

/// As [`wrapper`], around the parts of the whole that the model gets. `gap` says what an incomplete file contains.
pub(crate) fn wrapper_of(path: &Path, size: u64, parts: &str, gap: Option<&str>) -> String {
    // On a separate line, because readers take the path up to the end of its line.
    let gap = gap.map_or_else(String::new, |gap| format!("\nNot all of it is in that file: {gap}."));
    format!(
        "<persisted-output>\nToo large to show whole ({}). Full output saved to: {}{gap}\n\n{parts}\n</persisted-output>",
        human_size(size),
        path.display(),
    )
}

/// About 2 KB of `text`, cut at a line break when one is near.
fn preview(text: &str) -> &str {
    if text.len() <= PREVIEW_BYTES {
        return text;
    }
    let cut = &text[..text.floor_char_boundary(PREVIEW_BYTES)];
    match cut.rfind('\n') {
        Some(at) if at > PREVIEW_BYTES / 2 => &cut[..at],
        _ => cut,
    }
}

/// A size such as `58.6 KB` or `1.2 MB`: one decimal, units of 1024.
pub(crate) fn human_size(bytes: u64) -> String {
    let kb = bytes as f64 / 1024.0;
    match kb {
        kb if kb < 1024.0 => format!("{kb:.1} KB"),
        kb if kb < 1024.0 * 1024.0 => format!("{:.1} MB", kb / 1024.0),
        kb => format!("{:.1} GB", kb / 1024.0 / 1024.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_long_result_is_saved_and_wrapped() {
        // [TST-10]
        let dir = tempfile::tempdir().unwrap();
        let text = "0123456789abcde\n".repeat(3_750);
        let spilled = spill_if_large(dir.path(), &text).unwrap().expect("60,000 characters spill");
        assert!(spilled.content.starts_with("<persisted-output>\n"));
        assert!(spilled.content.ends_with("\n</persisted-output>"));
        let line = spilled.content.lines().find_map(|l| l.split_once("Full output saved to: ")).unwrap().1;
        assert_eq!(Path::new(line), spilled.path);
        assert!(spilled.path.starts_with(dir.path().join("tool-results")));
        assert_eq!(std::fs::read_to_string(&spilled.path).unwrap(), text);
        assert!(spilled.content.contains("58.6 KB"));
        assert!(spilled.content.len() < 2_400);
        assert_eq!(std::fs::metadata(&spilled.path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn the_limit_counts_characters() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(spill_if_large(dir.path(), &"é".repeat(GENERIC_LIMIT)).unwrap(), None);
        assert!(spill_if_large(dir.path(), &"é".repeat(GENERIC_LIMIT + 1)).unwrap().is_some());
    }

    #[test]
    fn nothing_existing_is_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("precious");
        std::fs::write(&target, "x").unwrap();
        std::os::unix::fs::symlink(&target, dir.path().join("link")).unwrap();
        assert!(create_private(&dir.path().join("link")).is_err());
    }
}
