//! Resolves possible losses to paths on this disk: patterns, targets of copies, patches, archives.

use permission::destruction::{FileLoss, LossExtent};
use permission::reads::NamePattern;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;
use store::snapshots::{SaveExtent, SnapshotDraft};
use sys::Env;
use sys::process::{self, ChildInput, ChildOutput, RunOptions, SpawnSpec};

/// Maximum number of paths one pattern expands to.
const MAX_MATCHES: usize = 50_000;
const MAX_PATCH: usize = 8 << 20;
const LISTING_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_LISTING: usize = 8 << 20;

pub(super) fn capture_loss(draft: &mut SnapshotDraft, loss: &FileLoss) {
    for path in expand(&loss.path) {
        match &loss.extent {
            LossExtent::File => capture_file(draft, &path),
            LossExtent::Tree => draft.save(&path, SaveExtent::Below),
            LossExtent::LinkedTree => capture_linked_tree(draft, &path),
            LossExtent::Named(pattern) => capture_named(draft, &path, pattern.as_deref()),
            LossExtent::Into(sources) => capture_targets(draft, &path, sources),
            LossExtent::Patched(patch) => capture_patched(draft, &path, patch),
            LossExtent::Unpacked(_) => {}
        }
    }
}

/// Saves the path and, for a symlink, the file that a write would change.
fn capture_file(draft: &mut SnapshotDraft, path: &Path) {
    draft.save(path, SaveExtent::Itself);
    let is_link = std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink());
    if is_link {
        draft.save(&sys::real_path::path(path), SaveExtent::Itself);
    }
}

/// The path, and the folder a link at it leads to.
fn capture_linked_tree(draft: &mut SnapshotDraft, path: &Path) {
    draft.save(path, SaveExtent::Below);
    let real = sys::real_path::path(path);
    let is_link = std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink());
    if is_link && real.is_dir() && !sys::real_path::depends_on_process(path) {
        draft.save(&real, SaveExtent::Below);
    }
}

fn capture_targets(draft: &mut SnapshotDraft, target: &Path, sources: &[PathBuf]) {
    capture_file(draft, target);
    if !target.is_dir() {
        return;
    }
    for source in sources.iter().flat_map(|source| expand(source)) {
        if let Some(name) = source.file_name() {
            draft.save(&target.join(name), SaveExtent::Below);
        }
    }
}

/// Saves files below `root` whose names match `pattern`. Skips `.git` folders.
fn capture_named(draft: &mut SnapshotDraft, root: &Path, pattern: Option<&str>) {
    let named = pattern.map(fits_name);
    let fits = |name: &OsStr| named.as_ref().is_none_or(|fits| fits(name));
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        if draft.header().cut.is_some() {
            return;
        }
        let Ok(entries) = std::fs::read_dir(&folder) else {
            draft.save(&folder, SaveExtent::Itself);
            continue;
        };
        for entry in entries.flatten().filter(|entry| entry.file_name() != ".git") {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            match (is_folder, fits(&entry.file_name())) {
                (true, true) if pattern.is_some() => draft.save(&entry.path(), SaveExtent::Below),
                (true, _) => folders.push(entry.path()),
                (false, true) => draft.save(&entry.path(), SaveExtent::Itself),
                (false, false) => {}
            }
        }
    }
}

/// Saves the files a patch names, with up to two leading components of their names removed.
fn capture_patched(draft: &mut SnapshotDraft, folder: &Path, patch: &Path) {
    let Ok(text) = sys::fs::read_limited(patch, MAX_PATCH) else { return };
    for line in text.bytes.split(|byte| *byte == b'\n') {
        let starts = [&b"--- "[..], b"+++ ", b"rename from ", b"rename to ", b"copy to "];
        let Some(name) = starts.iter().find_map(|start| line.strip_prefix(*start)) else { continue };
        let name = name.split(|byte| *byte == b'\t').next().unwrap_or_default();
        let name = Path::new(OsStr::from_bytes(name.trim_ascii()));
        for strip in 0..3 {
            let inner: PathBuf = name.components().skip(strip).collect();
            if is_inner(&inner) && (strip == 1 || folder.join(&inner).exists()) {
                draft.save(&folder.join(inner), SaveExtent::Itself);
            }
        }
    }
}

fn is_inner(path: &Path) -> bool {
    path.file_name().is_some() && path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// The names in an archive; empty when it cannot be listed.
pub(super) async fn archive_names(archive: &Path, env: &Env) -> Vec<OsString> {
    let zip = archive.extension().is_some_and(|e| e.eq_ignore_ascii_case("zip") || e.eq_ignore_ascii_case("jar"));
    let (program, args): (&str, &[&str]) = if zip { ("unzip", &["-Z1"]) } else { ("tar", &["-tf"]) };
    let mut args: Vec<OsString> = args.iter().map(OsString::from).collect();
    args.push(archive.into());
    let cwd = archive.parent().unwrap_or(Path::new("/")).to_path_buf();
    let Some(listing) = output(program.into(), args, cwd, env, LISTING_TIMEOUT).await else { return Vec::new() };
    listing
        .split(|byte| *byte == b'\n')
        .filter(|name| !name.is_empty())
        .map(|n| OsString::from_vec(n.to_vec()))
        .collect()
}

pub(super) fn capture_unpacked(draft: &mut SnapshotDraft, folder: &Path, names: &[OsString]) {
    for name in names.iter().map(Path::new).filter(|name| is_inner(name)) {
        draft.save(&folder.join(name.components().collect::<PathBuf>()), SaveExtent::Itself);
    }
}

/// The standard output of a program; `None` when it fails, times out or prints too much. It gets only the environment
/// variables it needs.
pub(super) async fn output(
    program: OsString,
    args: Vec<OsString>,
    cwd: PathBuf,
    env: &Env,
    timeout: Duration,
) -> Option<Vec<u8>> {
    const PASSED_VARIABLES: &[&str] = &["PATH", "HOME", "XDG_CONFIG_HOME", "LANG", "LC_ALL", "TMPDIR"];
    let mut passed: Vec<(OsString, OsString)> =
        PASSED_VARIABLES.iter().filter_map(|name| Some((OsString::from(name), env.non_empty(name)?.into()))).collect();
    for (name, value) in [("GIT_OPTIONAL_LOCKS", "0"), ("GIT_NO_LAZY_FETCH", "1"), ("GIT_TERMINAL_PROMPT", "0")] {
        passed.push((name.into(), value.into()));
    }
    let spec = SpawnSpec { program, args, env: passed, cwd, stdin: ChildInput::Null, output: ChildOutput::Split };
    let options = RunOptions { timeout, keep: MAX_LISTING, ..RunOptions::default() };
    let done = process::run(spec, options).await.ok()?;
    (done.exit.code == Some(0) && done.stdout.omitted() == 0).then(|| done.stdout.to_bytes())
}

/// The existing paths that match a pattern. A path that exists under this exact name is not treated as a pattern.
fn expand(pattern: &Path) -> Vec<PathBuf> {
    let is_pattern = |part: &OsStr| part.as_bytes().iter().any(|byte| matches!(byte, b'*' | b'?' | b'['));
    if !is_pattern(pattern.as_os_str()) || std::fs::symlink_metadata(pattern).is_ok() {
        return vec![pattern.to_path_buf()];
    }
    let mut found = vec![PathBuf::from("/")];
    for part in pattern.components() {
        let Component::Normal(part) = part else { continue };
        found = if part == "**" {
            found.iter().flat_map(|folder| folders_below(folder)).take(MAX_MATCHES).collect()
        } else if is_pattern(part) {
            found.iter().flat_map(|folder| entries(folder, part)).take(MAX_MATCHES).collect()
        } else {
            found.into_iter().map(|folder| folder.join(part)).collect()
        };
    }
    found.retain(|path| std::fs::symlink_metadata(path).is_ok());
    found
}

/// Entries that match; hidden ones only when the pattern starts with a dot.
fn entries(folder: &Path, pattern: &OsStr) -> Vec<PathBuf> {
    let named = fits_name(&pattern.to_string_lossy());
    let fits = |name: &OsStr| {
        let hidden = name.as_bytes().starts_with(b".") && !pattern.as_bytes().starts_with(b".");
        !hidden && named(name)
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| fits(&entry.file_name())).map(|entry| entry.path()).collect()
}

fn folders_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_path_buf()];
    let mut next = 0;
    while next < found.len() && found.len() < MAX_MATCHES {
        let entries = std::fs::read_dir(&found[next]).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let visible = folders.filter(|entry| !entry.file_name().as_bytes().starts_with(b"."));
        found.extend(visible.map(|entry| entry.path()).collect::<Vec<_>>());
        next += 1;
    }
    found
}

/// Shell patterns within one component. The text of a command has lost its quotes: a backslash in it is one.
fn fits_name(pattern: &str) -> impl Fn(&OsStr) -> bool + use<> {
    let pattern = NamePattern::parse(&pattern.replace('\\', "\\\\"));
    move |name| pattern.matches(&name.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_as_in_the_shell() {
        for (pattern, name, expected) in [
            ("*.rs", "a.rs", true),
            ("*.rs", "a.rst", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("[ab]*", "beta", true),
            ("[!ab]*", "beta", false),
            ("[a-c]1", "b1", true),
            ("[a-c]1", "d1", false),
            ("x*y*z", "x1y2z", true),
            ("[[:lower:]]", "a", true),
            ("[[:digit:]]", "a", false),
            ("[![:digit:]]*", "ab", true),
            ("a\\b*", "a\\bc", true),
        ] {
            assert_eq!(fits_name(pattern)(OsStr::new(name)), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn patterns_name_what_is_there() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path();
        for name in ["a/1.txt", "a/2.txt", "b/3.txt", "b/.hidden", "b/deep/4.txt", "star*"] {
            let path = dir.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let names = |pattern: &str| {
            let mut found: Vec<String> = expand(&dir.join(pattern))
                .iter()
                .map(|path| path.strip_prefix(dir).unwrap().display().to_string())
                .collect();
            found.sort();
            found
        };
        assert_eq!(names("*/*.txt"), ["a/1.txt", "a/2.txt", "b/3.txt"]);
        assert_eq!(names("**/*.txt"), ["a/1.txt", "a/2.txt", "b/3.txt", "b/deep/4.txt"]);
        assert_eq!(names("b/*"), ["b/3.txt", "b/deep"]);
        assert_eq!(names("star*"), ["star*"]);
        assert_eq!(names("none*"), [""; 0]);
        assert_eq!(names("plain"), ["plain"]);
    }
}
