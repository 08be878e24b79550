//! Whether a local settings file came with the repository. Decided without running git: the index is searched for the
//! file's name, and every doubt counts as "it came with the repository".

use std::path::Path;

/// Git compresses shared prefixes in newer index formats, so only the tail of the name is sure to stand there whole.
const NAME_TAIL: &[u8] = b"local.json";
/// Larger indexes are not searched.
const MAX_INDEX: u64 = 64 * 1024 * 1024;

pub(crate) fn is_repository_content(file: &Path, repository: Option<&Path>) -> bool {
    let Some(root) = repository.filter(|root| file.starts_with(root)) else { return false };
    // A linked `.claude` may lead anywhere, a tracked file included.
    if file.parent().is_none_or(Path::is_symlink) || file.is_symlink() {
        return true;
    }
    let git = root.join(".git");
    // A repository made by hand could point its index anywhere; only a plain `.git` directory is believed.
    if !git.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        return true;
    }
    let index = git.join("index");
    match index.symlink_metadata() {
        Ok(meta) if meta.is_file() && meta.len() <= MAX_INDEX => match std::fs::read(&index) {
            Ok(bytes) => bytes.windows(NAME_TAIL.len()).any(|window| window == NAME_TAIL),
            Err(_) => true,
        },
        Ok(_) => true,
        // No index: nothing was ever added.
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}
