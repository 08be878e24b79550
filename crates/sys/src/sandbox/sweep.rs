//! Runs after a command: moves aside what the command must not have created, and restores what it must not have
//! changed. It supports the mounts, and is the only protection where a backend cannot close a path. Nothing is deleted:
//! what is taken away goes to our private directory, and a path that has become a link is never written through.

use super::stand_ins::StandIns;
use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// In bytes. Larger files are not saved, so changes of their content are not noticed.
const MAX_BYTES: u64 = 1024 * 1024;
const MAX_ENTRIES: usize = 500;

#[derive(Debug, PartialEq, Eq)]
enum SavedNode {
    Dir,
    File {
        mode: u32,
        bytes: Vec<u8>,
    },
    Link(PathBuf),
    /// A special file, or one too large to save.
    Other,
}

type SavedTree = BTreeMap<PathBuf, SavedNode>;

/// What to do when the command has ended.
#[derive(Debug, Default)]
pub struct SandboxSweep {
    /// Paths that were missing before and must stay missing.
    absent: Vec<PathBuf>,
    /// Paths that must be as they were.
    protected: Vec<(PathBuf, SavedTree)>,
    private: PathBuf,
    stand_ins: StandIns,
}

impl SandboxSweep {
    pub(crate) fn new(private: &Path, absent: Vec<PathBuf>, kept: &[PathBuf], stand_ins: StandIns) -> Self {
        let kept = kept.iter().map(|path| (path.clone(), read_tree(path))).collect();
        let absent = absent.into_iter().filter(|path| path.symlink_metadata().is_err()).collect();
        Self { absent, protected: kept, private: private.to_path_buf(), stand_ins }
    }

    /// Undoes forbidden changes and returns a message for each. Blocking; every process of the command must be gone.
    pub fn finish(self) -> Vec<String> {
        drop(self.stand_ins);
        let mut found = Vec::new();
        for path in &self.absent {
            if path.symlink_metadata().is_ok() {
                found.push(match set_aside(path, &self.private) {
                    Ok(to) => format!("write {}: protected; moved to {}", path.display(), to.display()),
                    Err(error) => format!("write {}: protected; could not be moved away: {error}", path.display()),
                });
            }
        }
        for (path, before) in &self.protected {
            if read_tree(path) != *before {
                found.push(match put_back(path, before, &self.private) {
                    Ok(()) => format!("write {}: protected; put back as it was", path.display()),
                    Err(error) => format!("write {}: protected; could not be put back: {error}", path.display()),
                });
            }
        }
        found
    }
}

fn read_tree(path: &Path) -> SavedTree {
    let mut tree = SavedTree::new();
    let mut open = vec![path.to_path_buf()];
    while let Some(path) = open.pop() {
        if tree.len() >= MAX_ENTRIES {
            break;
        }
        let Ok(meta) = path.symlink_metadata() else { continue };
        let node = if meta.is_symlink() {
            std::fs::read_link(&path).map_or(SavedNode::Other, SavedNode::Link)
        } else if meta.is_dir() {
            open.extend(std::fs::read_dir(&path).into_iter().flatten().filter_map(Result::ok).map(|e| e.path()));
            SavedNode::Dir
        } else if meta.is_file() && meta.len() <= MAX_BYTES {
            let bytes = std::fs::read(&path);
            bytes.map_or(SavedNode::Other, |bytes| SavedNode::File { mode: meta.mode() & 0o7777, bytes })
        } else {
            SavedNode::Other
        };
        tree.insert(path, node);
    }
    tree
}

fn set_aside(path: &Path, private: &Path) -> std::io::Result<PathBuf> {
    let dir = private.join("set-aside");
    std::fs::create_dir_all(&dir)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let to = dir.join(format!("{}-{name}", crate::id::base36(6)));
    if std::fs::rename(path, &to).is_ok() {
        return Ok(to);
    }
    // Another file system: rename it within its directory, to a name without meaning.
    let to = path.with_file_name(format!("{}.blocked-{}", name.trim_start_matches('.'), crate::id::base36(6)));
    std::fs::rename(path, &to).map(|()| to)
}

fn put_back(path: &Path, before: &SavedTree, private: &Path) -> std::io::Result<()> {
    let parent = path.parent().unwrap_or(path);
    if crate::real_path::path(parent) != parent {
        return Err(std::io::Error::other("its directory has become a link"));
    }
    if path.symlink_metadata().is_ok() {
        set_aside(path, private)?;
    }
    // Sorted, so that directories come before their contents.
    for (path, node) in before {
        match node {
            SavedNode::Dir => std::fs::create_dir_all(path)?,
            SavedNode::File { mode, bytes } => {
                std::fs::write(path, bytes)?;
                std::fs::set_permissions(path, Permissions::from_mode(*mode))?;
            }
            SavedNode::Link(target) => std::os::unix::fs::symlink(target, path)?,
            SavedNode::Other => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_or_changed_is_undone() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (config, hooks, made) = (root.join("config"), root.join("hooks"), root.join(".claude"));
        std::fs::write(&config, "mine").unwrap();
        std::fs::create_dir(&hooks).unwrap();
        std::fs::write(hooks.join("a"), "a").unwrap();
        let private = root.join("private");
        std::fs::create_dir(&private).unwrap();
        let kept = [config.clone(), hooks.clone()];
        let sweep = SandboxSweep::new(&private, vec![made.clone()], &kept, StandIns::default());
        std::fs::write(&config, "theirs").unwrap();
        std::fs::write(hooks.join("b"), "b").unwrap();
        std::fs::create_dir(&made).unwrap();
        let found = sweep.finish();
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(std::fs::read_to_string(&config).unwrap(), "mine");
        assert!(hooks.join("a").exists() && !hooks.join("b").exists() && !made.exists());
        assert!(SandboxSweep::new(&private, vec![made], &kept, StandIns::default()).finish().is_empty());
    }
}
