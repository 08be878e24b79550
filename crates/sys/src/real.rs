//! Where a path really leads. Links are followed as far as the path exists; the rest is kept as written.

use std::path::{Component, Path, PathBuf};

/// The real location of an absolute path, also for a file that does not exist yet: the nearest existing parent is
/// resolved, and a dangling link is followed to where a write through it would land.
pub fn path(given: &Path) -> PathBuf {
    follow(given, 40)
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
    use super::path;
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
}
