//! Where a path really leads. Links are followed as far as the path exists; the rest is kept as written.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::{PoisonError, RwLock};

/// Folders a resolver remembers before it starts afresh.
const REMEMBERED: usize = 4096;

/// The real location of an absolute path, also for a file that does not exist yet: the nearest existing parent is
/// resolved, and a dangling link is followed to where a write through it would land.
pub fn path(given: &Path) -> PathBuf {
    follow(given, 40)
}

/// The same for many files of few folders, as a walk meets them: each folder is resolved once. What it remembers is not
/// checked again, so it must not outlive the walk.
#[derive(Debug, Default)]
pub struct Resolver {
    folders: RwLock<HashMap<PathBuf, PathBuf>>,
}

impl Resolver {
    pub fn path(&self, given: &Path) -> PathBuf {
        let (Some(parent), Some(name)) = (given.parent(), given.file_name()) else { return path(given) };
        let whole = self.folder(parent).join(name);
        if std::fs::read_link(&whole).is_ok() { path(&whole) } else { whole }
    }

    fn folder(&self, given: &Path) -> PathBuf {
        if let Some(real) = self.folders.read().unwrap_or_else(PoisonError::into_inner).get(given) {
            return real.clone();
        }
        let real = path(given);
        let mut folders = self.folders.write().unwrap_or_else(PoisonError::into_inner);
        if folders.len() >= REMEMBERED {
            folders.clear();
        }
        folders.insert(given.to_path_buf(), real.clone());
        real
    }
}

fn follow(given: &Path, hops: u32) -> PathBuf {
    if let Ok(real) = std::fs::canonicalize(given) {
        return real;
    }
    let (Some(parent), Some(last)) = (given.parent(), given.components().next_back()) else {
        return given.to_path_buf();
    };
    let parent = follow(parent, hops);
    let whole = match last {
        Component::ParentDir => return parent.parent().map_or(parent.clone(), Path::to_path_buf),
        Component::CurDir => return parent,
        Component::Normal(name) => parent.join(name),
        Component::Prefix(_) | Component::RootDir => return given.to_path_buf(),
    };
    match std::fs::read_link(&whole) {
        Ok(target) if hops > 0 => follow(&parent.join(target), hops - 1),
        _ => whole,
    }
}

#[cfg(test)]
mod tests {
    use super::{Resolver, path};
    use std::os::unix::fs::symlink;

    #[test]
    fn missing_files_resolve_through_their_parents_and_dangling_links() {
        let temp = tempfile::tempdir().unwrap();
        let dir = std::fs::canonicalize(temp.path()).unwrap();
        std::fs::create_dir(dir.join("real")).unwrap();
        symlink("real", dir.join("link")).unwrap();
        symlink("link/gone", dir.join("dangling")).unwrap();
        symlink("loop", dir.join("loop")).unwrap();
        assert_eq!(path(&dir.join("link/new/x")), dir.join("real/new/x"));
        assert_eq!(path(&dir.join("dangling")), dir.join("real/gone"));
        assert_eq!(path(&dir.join("loop")), dir.join("loop"));
    }

    #[test]
    fn a_resolver_agrees_with_the_plain_function() {
        let temp = tempfile::tempdir().unwrap();
        let dir = std::fs::canonicalize(temp.path()).unwrap();
        std::fs::create_dir_all(dir.join("real/inner")).unwrap();
        std::fs::write(dir.join("real/inner/file"), "").unwrap();
        std::fs::write(dir.join("secret"), "").unwrap();
        symlink("real", dir.join("link")).unwrap();
        symlink("../../secret", dir.join("real/inner/file_link")).unwrap();
        symlink("nowhere", dir.join("real/dangling")).unwrap();
        let resolver = Resolver::default();
        for name in
            ["real/inner/file", "link/inner/file", "link/inner/file_link", "link/dangling", "gone/x", "real/..", "link"]
        {
            let given = dir.join(name);
            for _ in 0..2 {
                assert_eq!(resolver.path(&given), path(&given), "{name}");
            }
        }
        assert_eq!(resolver.path(&dir.join("link/inner/file_link")), dir.join("secret"));
        assert_eq!(resolver.path("/".as_ref()), path("/".as_ref()));
    }
}
