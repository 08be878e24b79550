//! What the model is told about a file that does not exist: where it probably is. Names beside it, files of the same name
//! elsewhere in the workspace, and where a commit moved it to. Each search has little time.

use crate::contract::{CallContext, PathDiscovery};
use crate::file_work::changed_letters;
use crate::walk::{self, SmallestItems};
use ignore::{WalkBuilder, WalkState};
use std::cmp::Reverse;
use std::fmt::Write;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};
use sys::git::neutral::powerless_env;
use sys::process::BoundedCommand;
use sys::sync::Mutex;

/// Most directory entries that are searched for similar names.
const MAX_SEARCHED_ENTRIES: usize = 5_000;
/// Most equally similar names that are told.
const MAX_NEAR_NAMES: usize = 3;
/// How long the workspace is searched.
const SEARCH_TIME: Duration = Duration::from_millis(50);
/// Most files of the same name that are named.
const MAX_FILES: usize = 5;
/// How long git may take for one question.
const GIT_TIME: Duration = Duration::from_millis(250);
const GIT_OUTPUT_BYTES: u64 = 1 << 20;

/// Names the current directory, and the files the model may have meant. May block.
pub(crate) fn text(path: &Path, cx: &CallContext) -> String {
    let mut out =
        format!("File does not exist: {}. The current directory is {}.", path.display(), cx.workspace.cwd.display());
    if let Some((commit, place)) = moved_place(path, cx) {
        write!(out, " It was moved in commit {commit} to {}.", place.display()).ok();
    }
    let near = near_names(path).into_iter().map(|name| path.with_file_name(name)).filter(|near| may_read(near, cx));
    let mut found: Vec<PathBuf> = near.collect();
    for other in same_name(path, cx) {
        if found.len() < MAX_FILES && !found.contains(&other) {
            found.push(other);
        }
    }
    let found: Vec<String> = found.iter().map(|path| path.display().to_string()).collect();
    match found.as_slice() {
        [] => Ok(()),
        [one] => write!(out, " Did you mean {one}?"),
        several => write!(out, " Did you mean one of these?\n{}", several.join("\n")),
    }
    .ok();
    out
}

fn may_read(path: &Path, cx: &CallContext) -> bool {
    (cx.may_read)(path, PathDiscovery::Named)
}

/// The files beside `path` whose names are most similar to its own.
fn near_names(path: &Path) -> Vec<String> {
    let Some(wanted) = path.file_name().and_then(|name| name.to_str()).map(str::to_lowercase) else {
        return Vec::new();
    };
    let entries = path.parent().and_then(|folder| std::fs::read_dir(folder).ok()).into_iter().flatten();
    let names = entries.take(MAX_SEARCHED_ENTRIES).flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut near: Vec<(usize, String)> =
        names.filter_map(|name| Some((distance(&wanted, &name.to_lowercase())?, name))).collect();
    near.sort_unstable();
    let least = near.first().map(|(changed, _)| *changed);
    near.into_iter().filter(|(changed, _)| Some(*changed) == least).map(|(_, name)| name).take(MAX_NEAR_NAMES).collect()
}

/// The distance of two lower-case names; `None` unless they have the same stem or few changed letters.
fn distance(a: &str, b: &str) -> Option<usize> {
    let stem = |name: &str| name.rsplit_once('.').map_or(name.to_owned(), |(stem, _)| stem.to_owned());
    let changed = changed_letters(a, b);
    let allowed = if a.chars().count() < 5 { 1 } else { 2 };
    if changed <= allowed {
        return Some(changed);
    }
    (stem(a) == stem(b) && !stem(a).is_empty()).then_some(allowed + 1)
}

/// The directories of the workspace, without those that lie in another one.
fn roots(cx: &CallContext) -> Vec<PathBuf> {
    let at = &cx.workspace;
    let mut roots: Vec<PathBuf> = Vec::new();
    for dir in [&at.project, &at.cwd].into_iter().chain(&at.additional) {
        if !roots.iter().any(|root| dir.starts_with(root)) {
            roots.push(dir.clone());
        }
    }
    roots
}

/// Files of the workspace with the name of `path`, ignoring case; those whose folders are most like its own first.
fn same_name(path: &Path, cx: &CallContext) -> Vec<PathBuf> {
    let Some(wanted) = path.file_name() else { return Vec::new() };
    let until = Instant::now() + SEARCH_TIME;
    let found = Mutex::new(SmallestItems::new(MAX_FILES));
    for root in roots(cx).iter().filter(|root| walk::check_ignores(root).is_ok()) {
        let mut builder = WalkBuilder::new(root);
        builder.require_git(false).hidden(false);
        walk::build_parallel(&mut builder, true).run(|| {
            Box::new(|entry| {
                if Instant::now() > until {
                    return WalkState::Quit;
                }
                if let Ok(entry) = entry
                    && entry.file_name().eq_ignore_ascii_case(wanted)
                    && entry.file_type().is_some_and(|kind| kind.is_file())
                    && (cx.may_read)(entry.path(), walk::discovery(&entry))
                {
                    found.lock().add((Reverse(common_folders(path, entry.path())), entry.into_path()));
                }
                WalkState::Continue
            })
        });
    }
    found.into_inner().into_sorted().into_iter().map(|(_, path)| path).collect()
}

/// How many folders of two paths are the same, from the file on and from the root on.
fn common_folders(a: &Path, b: &Path) -> usize {
    let (a, b): (Vec<_>, Vec<_>) = (a.components().collect(), b.components().collect());
    let is_same = |(x, y): &(&Component<'_>, &Component<'_>)| x.as_os_str().eq_ignore_ascii_case(y.as_os_str());
    let same_start = a.iter().zip(&b).take_while(is_same).count();
    let same_end = a.iter().rev().zip(b.iter().rev()).take_while(is_same).count();
    same_start + same_end
}

/// The commit that moved the file, and where the file is now.
fn moved_place(path: &Path, cx: &CallContext) -> Option<(String, PathBuf)> {
    if !roots(cx).iter().any(|root| path.starts_with(root)) {
        return None;
    }
    let top = sys::git::root(path)?;
    let name = path.strip_prefix(&top).ok()?.to_str()?;
    let ask = |args: &[&str]| ask_git(&top, args, cx);
    let log = ["log", "-1", "--no-show-signature", "--format=%h", "--diff-filter=D", "--no-renames", "--", name];
    let commit = ask(&log)?.trim().to_owned();
    if commit.is_empty() || !commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let changes = ask(&["diff-tree", "-r", "-z", "-M", "--no-commit-id", "--diff-filter=R", "--name-status", &commit])?;
    let fields: Vec<&str> = changes.split('\0').collect();
    let place = fields.chunks_exact(3).find(|change| change[1] == name).map(|change| top.join(change[2]))?;
    (place.is_file() && may_read(&place, cx)).then_some((commit, place))
}

/// What git answers, with a configuration that starts no programs; `None` when it fails or takes too long.
fn ask_git(top: &Path, args: &[&str], cx: &CallContext) -> Option<String> {
    let env = powerless_env(top, &cx.state.facts.env).ok()?;
    let place = ["-C", top.to_str()?, "--literal-pathspecs"];
    let args: Vec<&str> = place.iter().chain(args).copied().collect();
    let command = BoundedCommand {
        program: Path::new("git"),
        args: &args,
        input: b"",
        env: env.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        time: GIT_TIME,
        bytes: GIT_OUTPUT_BYTES,
    };
    String::from_utf8(command.run().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_letters_of_names_are_counted() {
        assert_eq!(distance("main.rs", "main.rs"), Some(0));
        assert_eq!(distance("mian.rs", "main.rs"), Some(1));
        assert_eq!(distance("part7_.py", "part_7.py"), Some(1), "neighbours swapped");
        assert_eq!(distance("part7_.py", "part_1.py"), Some(2));
        assert_eq!(distance("config.json", "config.toml"), Some(3));
        assert_eq!(distance("a.rs", "b.rs"), Some(1));
        assert_eq!(distance("ab.c", "xy.c"), None);
        assert_eq!(distance("readme", "license"), None);
    }

    #[test]
    fn folders_in_common_are_counted_at_both_ends() {
        // [MX-12]
        let common = |a: &str, b: &str| common_folders(Path::new(a), Path::new(b));
        assert!(common("/w/src/api/mod.rs", "/w/lib/api/mod.rs") > common("/w/src/api/mod.rs", "/w/other/mod.rs"));
        assert!(common("/w/src/api/mod.rs", "/w/src/mod.rs") > common("/w/src/api/mod.rs", "/x/mod.rs"));
    }
}
