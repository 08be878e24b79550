//! The directory in which this process was started.

use crate::Env;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The working directory as the user named it: `PWD` if it is the same directory, else the resolved path. Fails when
/// the directory no longer exists.
#[expect(clippy::disallowed_methods, reason = "this is the one place the working directory is read")]
pub fn cwd(env: &Env) -> io::Result<PathBuf> {
    let resolved = std::env::current_dir()?;
    let named = env.non_empty("PWD").map(PathBuf::from).filter(|p| p.is_absolute());
    Ok(named.filter(|p| same_directory(p, &resolved)).unwrap_or(resolved))
}

fn same_directory(a: &Path, b: &Path) -> bool {
    let key = |p: &Path| std::fs::metadata(p).map(|m| (m.dev(), m.ino())).ok();
    key(a).is_some() && key(a) == key(b)
}
