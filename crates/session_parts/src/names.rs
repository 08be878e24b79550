//! Finds the names that the shell puts in the place of patterns, and those that `git ls-files` prints, before a command runs.

use permission::reads::{is_plain_name, name_fits, plain_name};
use permission::{FindName, FoundNames, NameQuery};
use std::path::Path;
use std::time::{Duration, Instant};

/// Maximum number of names for one pattern, and for all patterns of a command.
const MAX_NAMES: usize = 5_000;
/// Maximum number of directory entries that are compared with the patterns of a command.
const MAX_ENTRIES: usize = 50_000;
/// Maximum number of entries of the trees whose names a command hands on.
const MAX_TREE_ENTRIES: usize = 200_000;
/// How long one such tree is walked.
const MAX_TIME: Duration = Duration::from_millis(500);

/// Answers the queries one by one; `None` where there are too many names, or one is no text.
pub(crate) fn find_names(queries: Vec<NameQuery>) -> FoundNames {
    let mut search = NameSearch { names: MAX_NAMES, entries: MAX_ENTRIES, tree_entries: MAX_TREE_ENTRIES };
    let mut found = FoundNames::new();
    for query in queries {
        let names = match &query {
            NameQuery::Pattern { dir, pattern } => search.matches(dir, pattern),
            NameQuery::Tracked { dir } => search.tracked(dir),
            NameQuery::Links { dir } => search.links(dir),
            NameQuery::Below { dir, root, names } => search.below(dir, root, names),
        };
        found.insert(query, names);
    }
    found
}

/// What may still be looked at.
struct NameSearch {
    names: usize,
    entries: usize,
    tree_entries: usize,
}

impl NameSearch {
    fn tracked(&mut self, dir: &Path) -> Option<Vec<String>> {
        let files = sys::git::tracked_files(dir)?;
        self.names = self.names.checked_sub(files.len())?;
        files.into_iter().map(|file| file.into_os_string().into_string().ok()).collect()
    }

    /// The links below `dir`, when every name below it stays one word.
    fn links(&mut self, dir: &Path) -> Option<Vec<String>> {
        let mut links = Vec::new();
        let deadline = Instant::now() + MAX_TIME;
        let mut pending = vec![dir.to_path_buf()];
        while let Some(folder) = pending.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                self.tree_entries = self.tree_entries.checked_sub(1)?;
                let late = self.tree_entries.is_multiple_of(1024) && Instant::now() > deadline;
                let is_plain = entry.file_name().to_str().is_some_and(is_plain_name);
                let kind = entry.file_type().ok().filter(|_| is_plain && !late)?;
                if kind.is_dir() {
                    pending.push(entry.path());
                } else if kind.is_symlink() {
                    self.names = self.names.checked_sub(1)?;
                    links.push(entry.path().strip_prefix(dir).ok()?.to_str()?.to_owned());
                }
            }
        }
        Some(links)
    }

    /// The names that match `pattern` in `dir`, spelled as the shell spells them.
    fn matches(&mut self, dir: &Path, pattern: &str) -> Option<Vec<String>> {
        let absolute = pattern.starts_with('/');
        let mut found = vec![if absolute { "/".to_owned() } else { String::new() }];
        let mut parts = pattern.split('/').filter(|part| !part.is_empty()).peekable();
        while let Some(part) = parts.next() {
            let mut next = Vec::new();
            for before in found {
                match plain_name(part) {
                    None if part == "**" => self.descend(dir, &before, parts.peek().is_none(), &mut next)?,
                    Some(name) => next.push(joined(&before, &name)),
                    None => self
                        .entries_of(&dir.join(&before), part)?
                        .iter()
                        .for_each(|name| next.push(joined(&before, name))),
                }
            }
            self.names.checked_sub(next.len())?;
            found = next;
        }
        found.sort();
        found.dedup();
        found.retain(|name| dir.join(name).symlink_metadata().is_ok());
        if pattern.ends_with('/') {
            found.retain(|name| dir.join(name).is_dir());
            for name in &mut found {
                name.push('/');
            }
        }
        self.names -= found.len().min(self.names);
        Some(found)
    }

    /// What `**` may stand for behind `before`. Whether it is any number of folders or one name depends on the options of
    /// the shell, so both count. Links are named and not followed.
    fn descend(&mut self, dir: &Path, before: &str, is_last: bool, found: &mut Vec<String>) -> Option<()> {
        let deadline = Instant::now() + MAX_TIME;
        found.push(before.to_owned());
        let mut pending = vec![before.to_owned()];
        while let Some(folder) = pending.pop() {
            if Instant::now() > deadline || found.len() > MAX_NAMES {
                return None;
            }
            for name in self.entries_of(&dir.join(&folder), "*")? {
                let name = joined(&folder, &name);
                let path = dir.join(&name);
                if path.is_dir() && !path.is_symlink() {
                    pending.push(name.clone());
                }
                if is_last || path.is_dir() {
                    found.push(name);
                }
            }
        }
        Some(())
    }

    /// Everything below `root` whose name fits, spelled as `find` spells it. The root itself always counts.
    fn below(&mut self, dir: &Path, root: &str, names: &[FindName]) -> Option<Vec<String>> {
        let mut found = vec![root.to_owned()];
        let deadline = Instant::now() + MAX_TIME;
        let mut pending = vec![root.to_owned()];
        while let Some(folder) = pending.pop() {
            for entry in std::fs::read_dir(dir.join(&folder)).into_iter().flatten().flatten() {
                self.tree_entries = self.tree_entries.checked_sub(1)?;
                if self.tree_entries.is_multiple_of(1024) && Instant::now() > deadline {
                    return None;
                }
                let name = entry.file_name().into_string().ok()?;
                let path = joined(&folder, &name);
                if names.iter().all(|wanted| wanted.fits(&name)) {
                    self.names = self.names.checked_sub(1)?;
                    found.push(path.clone());
                }
                if entry.file_type().ok()?.is_dir() {
                    pending.push(path);
                }
            }
        }
        Some(found)
    }

    fn entries_of(&mut self, dir: &Path, pattern: &str) -> Option<Vec<String>> {
        let mut names = Vec::new();
        // The shell takes a folder that it cannot read for an empty one.
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            self.entries = self.entries.checked_sub(1)?;
            let name = entry.file_name();
            if name_fits(pattern, &name.to_string_lossy()) {
                names.push(name.into_string().ok()?);
            }
        }
        if pattern.starts_with('.') {
            names.extend([".", ".."].iter().filter(|name| name_fits(pattern, name)).map(|name| (*name).to_owned()));
        }
        names.sort();
        Some(names)
    }
}

fn joined(before: &str, name: &str) -> String {
    if before.is_empty() || before.ends_with('/') { format!("{before}{name}") } else { format!("{before}/{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(dir: &Path, pattern: &str) -> Vec<String> {
        let query = NameQuery::Pattern { dir: dir.to_path_buf(), pattern: pattern.to_owned() };
        find_names(vec![query]).into_values().next().unwrap().unwrap()
    }

    // [F-A11]
    #[test]
    fn names_are_spelled_as_the_shell_spells_them() {
        let dir = tempfile::tempdir().unwrap();
        for file in ["a.rs", "b.rs", "-o", ".hidden", "src/x.rs", "src/deep/y.rs"] {
            let path = dir.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let dir = dir.path();
        assert_eq!(expand(dir, "*"), ["-o", "a.rs", "b.rs", "src"]);
        assert_eq!(expand(dir, "./*"), ["./-o", "./a.rs", "./b.rs", "./src"]);
        assert_eq!(expand(dir, "*.rs"), ["a.rs", "b.rs"]);
        assert_eq!(expand(dir, "[!a-z]*"), ["-o"]);
        assert_eq!(expand(dir, "*/*.rs"), ["src/x.rs"]);
        assert_eq!(expand(dir, "src/*/"), ["src/deep/"]);
        assert_eq!(expand(dir, "*/x.rs"), ["src/x.rs"]);
        assert_eq!(expand(dir, ".*"), [".", "..", ".hidden"]);
        assert_eq!(expand(dir, "*.txt"), Vec::<String>::new());
        assert_eq!(expand(dir, "\\-*"), ["-o"]);
        assert_eq!(expand(dir, "\\*"), Vec::<String>::new());
        assert_eq!(expand(dir, "**/*.rs"), ["a.rs", "b.rs", "src/deep/y.rs", "src/x.rs"]);
        assert_eq!(expand(dir, "src/**"), ["src", "src/deep", "src/deep/y.rs", "src/x.rs"]);
        assert_eq!(expand(dir, "**/deep/*"), ["src/deep/y.rs"]);
        assert_eq!(expand(dir, "\\*\\*/x.rs"), Vec::<String>::new());
        let absolute = format!("{}/*.rs", dir.display());
        assert_eq!(expand(dir, &absolute).len(), 2);
    }

    // [F-A11]
    #[test]
    fn names_are_found_as_find_prints_them() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path();
        for file in ["a.rs", ".hidden.rs", "README.MD", "src/x.rs", "src/deep/y.rs", "src/\u{212a}.md"] {
            std::fs::create_dir_all(dir.join(file).parent().unwrap()).unwrap();
            std::fs::write(dir.join(file), "").unwrap();
        }
        std::os::unix::fs::symlink("deep", dir.join("src/link")).unwrap();
        let found = |root: &str, names: &[FindName]| {
            let query = NameQuery::Below { dir: dir.to_path_buf(), root: root.into(), names: names.to_vec() };
            let mut names = find_names(vec![query]).into_values().next().unwrap().unwrap();
            names.sort();
            names
        };
        let name = |pattern: &str, ignores_case| FindName { pattern: pattern.into(), ignores_case };
        assert_eq!(
            found(".", &[name("*.rs", false)]),
            [".", "./.hidden.rs", "./a.rs", "./src/deep/y.rs", "./src/x.rs"]
        );
        assert_eq!(found("src/", &[name("[xy].*", false), name("*.rs", false)]), ["src/", "src/deep/y.rs", "src/x.rs"]);
        assert_eq!(
            found(".", &[name("read*.md", true)]),
            [".", "./README.MD", "./src/\u{212a}.md"],
            "letters fold oddly"
        );
        assert_eq!(found("src/link", &[]), ["src/link", "src/link/y.rs"]);
        assert_eq!(found("nosuch", &[]), ["nosuch"]);
    }
}
