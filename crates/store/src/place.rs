//! Puts a whole transcript in its place: it appears complete or not at all, and never replaces another file.

use crate::error::StoreError;
use crate::layout;
use sha2::{Digest, Sha256};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Writes the transcript `path`, which must not exist.
pub fn place_transcript(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let fail = |error| StoreError::write(path, error);
    let dir = path.parent().unwrap_or(Path::new("."));
    layout::create_private(dir).map_err(fail)?;
    let draft = path.with_extension(format!("import-{}", sys::id::base36(8)));
    let placed = write(&draft, bytes).and_then(|()| name(&draft, path));
    std::fs::remove_file(&draft).ok();
    placed.and_then(|()| File::open(dir)?.sync_all()).map_err(fail)
}

fn write(draft: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(draft)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Gives the draft its name. A link refuses to replace a file; where the file system has no links the name is taken first.
fn name(draft: &Path, path: &Path) -> io::Result<()> {
    match std::fs::hard_link(draft, path) {
        Ok(()) => Ok(()),
        Err(error) if path.exists() => Err(error),
        Err(_) => {
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
            std::fs::rename(draft, path)
        }
    }
}

/// A session id that is always the same for this text.
pub fn derived_id(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
    let mut digits: String = hash[..16].iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect();
    // The version for ids of one's own making, and the variant.
    digits.replace_range(12..13, "8");
    digits.replace_range(16..17, "8");
    format!("{}-{}-{}-{}-{}", &digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..])
}

#[cfg(test)]
mod tests {
    use super::*;

    // [LNG-41]
    #[test]
    fn nothing_is_replaced_and_no_draft_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("p/s.jsonl");
        place_transcript(&path, b"one\n").unwrap();
        assert!(place_transcript(&path, b"two\n").is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"one\n");
        assert_eq!(std::fs::read_dir(dir.path().join("p")).unwrap().count(), 1);
    }

    #[test]
    fn derived_ids_are_ids() {
        let id = derived_id("ses_e0a01ecd2ffe1OplWPx5g1xvgg");
        assert!(sys::id::is_uuid(&id), "{id}");
        assert_eq!(id, derived_id("ses_e0a01ecd2ffe1OplWPx5g1xvgg"));
        assert_ne!(id, derived_id("ses_other"));
    }
}
