//! Where a path really leads. Links are followed as far as the path exists; the rest is kept as written.

use crate::sync::RwLock;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Folders that are remembered before it starts afresh.
const MAX_REMEMBERED: usize = 4096;

/// The real location of an absolute path, also for a file that does not exist yet: the nearest existing parent is
/// resolved, and a dangling link is followed to where a write through it would land.
pub fn path(given: &Path) -> PathBuf {
    follow(given, 40)
}

/// The real location of files that are no links themselves, as a walk meets them: each folder is resolved once. What it
/// remembers is not checked again, so it must not outlive the walk.
#[derive(Debug, Default)]
pub struct ResolvedFolders {
    known: RwLock<HashMap<OsString, PathBuf>>,
}

impl ResolvedFolders {
    pub fn file(&self, given: &Path) -> PathBuf {
        let (Some(parent), Some(name)) = (given.parent(), given.file_name()) else { return path(given) };
        if let Some(real) = self.known.read().get(parent.as_os_str()) {
            return real.join(name);
        }
        let real = path(parent);
        let whole = real.join(name);
        let mut known = self.known.write();
        if known.len() >= MAX_REMEMBERED {
            known.clear();
        }
        known.insert(parent.into(), real);
        whole
    }
}

/// Whether the way to an absolute path goes through entries of `/proc` or `/dev/fd` that mean something else in every
/// process, so that this process cannot resolve it for another one.
pub fn depends_on_process(given: &Path) -> bool {
    passes(given, is_process_entry)
}

/// Whether every process finds the same file under this absolute path. Stricter than `depends_on_process`: nothing in
/// `/proc` counts, nor does a path that this process cannot follow to its end.
pub fn is_same_for_every_process(given: &Path) -> bool {
    !passes(given, |path| OF_EACH_PROCESS.iter().any(|place| path.starts_with(place)))
}

const MAX_LINKS: u32 = 40;
const OF_EACH_PROCESS: [&str; 5] = ["/proc", "/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr"];

/// Whether one of the places on the way to a path, links followed one by one, is special. A path with too many links and a
/// link of a process file system are special too.
fn passes(given: &Path, is_special: impl Fn(&Path) -> bool) -> bool {
    let mut ahead = names(given);
    let mut at = PathBuf::from("/");
    let mut links = 0;
    while let Some(name) = ahead.pop() {
        if name == ".." {
            at.pop();
            continue;
        }
        let next = at.join(name);
        if is_special(&next) {
            return true;
        }
        let Ok(target) = std::fs::read_link(&next) else {
            at = next;
            continue;
        };
        links += 1;
        if links > MAX_LINKS || is_process_file_system(&at) {
            return true;
        }
        if target.is_absolute() {
            at = PathBuf::from("/");
        }
        ahead.extend(names(&target));
    }
    false
}

/// The names of a path, the last one first.
fn names(path: &Path) -> Vec<OsString> {
    let part = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    };
    path.components().rev().filter_map(part).collect()
}

fn is_process_entry(path: &Path) -> bool {
    let Ok(inner) = path.strip_prefix("/proc") else { return path == Path::new("/dev/fd") };
    let mut parts = inner.components();
    let first = parts.next().map(|part| part.as_os_str().to_string_lossy().into_owned()).unwrap_or_default();
    matches!(first.as_str(), "self" | "thread-self")
        || (!first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit()) && parts.next().is_some())
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

/// Processes may also be mounted in another place than `/proc`.
#[cfg(target_os = "linux")]
fn is_process_file_system(dir: &Path) -> bool {
    rustix::fs::statfs(dir).map_or(true, |found| found.f_type == rustix::fs::PROC_SUPER_MAGIC)
}

#[cfg(not(target_os = "linux"))]
fn is_process_file_system(_dir: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::{ResolvedFolders, depends_on_process, is_same_for_every_process, path};
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
    #[cfg(target_os = "linux")]
    fn links_into_a_process_are_noticed() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path();
        symlink("/proc/self/cwd", dir.join("here")).unwrap();
        symlink("here/x", dir.join("twice")).unwrap();
        symlink("../../../../../../proc/thread-self/root", dir.join("up")).unwrap();
        symlink("real", dir.join("plain")).unwrap();
        for name in ["here", "here/x", "twice", "a/../here", "up/etc"] {
            assert!(depends_on_process(&dir.join(name)), "{name}");
        }
        assert!(depends_on_process("/dev/fd/3".as_ref()) && depends_on_process("/dev/stdin".as_ref()));
        assert!(depends_on_process("/proc/1/cwd".as_ref()));
        for name in ["plain", "plain/x", "a/b"] {
            assert!(!depends_on_process(&dir.join(name)), "{name}");
        }
        assert!(!depends_on_process("/proc/cpuinfo".as_ref()) && !depends_on_process("/dev/null".as_ref()));
    }

    #[test]
    fn paths_that_each_process_reads_in_its_own_way_are_told() {
        // [F-A2]
        let temp = tempfile::tempdir().unwrap();
        let dir = std::fs::canonicalize(temp.path()).unwrap();
        std::fs::create_dir(dir.join("real")).unwrap();
        symlink("real", dir.join("link")).unwrap();
        symlink("/proc/self/cwd", dir.join("real/here")).unwrap();
        symlink("link/here", dir.join("far")).unwrap();
        symlink("loop", dir.join("loop")).unwrap();
        for same in ["", "link/x", "gone/x", "real/../link"] {
            assert!(is_same_for_every_process(&dir.join(same)), "{same}");
        }
        for own in ["real/here", "link/here/x", "far/../x", "loop", "/proc/1/x", "/dev/fd/../cwd", "/dev/../proc/self"]
        {
            assert!(!is_same_for_every_process(&dir.join(own)), "{own}");
        }
    }

    #[test]
    fn files_are_found_through_their_folders() {
        let temp = tempfile::tempdir().unwrap();
        let dir = std::fs::canonicalize(temp.path()).unwrap();
        std::fs::create_dir_all(dir.join("real/inner")).unwrap();
        std::fs::write(dir.join("real/inner/file"), "").unwrap();
        symlink("real", dir.join("link")).unwrap();
        let folders = ResolvedFolders::default();
        for name in ["real/inner/file", "link/inner/file", "link/inner/other", "gone/x", "real/.."] {
            let given = dir.join(name);
            for _ in 0..2 {
                assert_eq!(folders.file(&given), path(&given), "{name}");
            }
        }
        assert_eq!(folders.file(&dir.join("link/inner/file")), dir.join("real/inner/file"));
        assert_eq!(folders.file("/".as_ref()), path("/".as_ref()));
    }
}
