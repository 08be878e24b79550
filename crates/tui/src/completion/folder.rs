//! Suggestions for paths: the entries of one directory, for what begins with `/`, `~/`, `./` or `../`, and for arguments
//! that are directories.

use super::fuzzy;
use super::index::seconds_of;
use std::cmp::Reverse;
use std::path::PathBuf;

/// The most entries of a directory that are looked at.
const MAX_ENTRIES: usize = 10_000;

#[derive(Debug)]
pub struct FolderListing {
    /// The directory of the session.
    pub root: PathBuf,
    pub home: Option<PathBuf>,
}

#[derive(Debug)]
struct FolderEntry {
    name: String,
    is_dir: bool,
    changed: u32,
}

impl FolderListing {
    /// Whether a text is a path and not a few letters of one.
    pub fn is_path(text: &str) -> bool {
        ["/", "~/", "./", "../"].iter().any(|start| text.starts_with(start))
    }

    /// The entries of the directory that the text names whose names match its last part; written as it was begun.
    pub fn entries(&self, text: &str, limit: usize) -> Vec<String> {
        self.matching(text, limit, |_| true)
    }

    pub fn directories(&self, text: &str, limit: usize) -> Vec<String> {
        self.matching(text, limit, |entry| entry.is_dir)
    }

    fn matching(&self, text: &str, limit: usize, wants: impl Fn(&FolderEntry) -> bool) -> Vec<String> {
        let (folder, name) = text.rsplit_once('/').map_or(("", text), |(folder, name)| (&text[..=folder.len()], name));
        let mut found: Vec<(i32, FolderEntry)> = Vec::new();
        for entry in self.read(folder).into_iter().filter(wants) {
            let is_hidden = entry.name.starts_with('.') && !name.starts_with('.');
            if let Some(score) = fuzzy::score(name, &entry.name).filter(|_| !is_hidden) {
                found.push((score, entry));
            }
        }
        sys::compact_sort::sort_by(&mut found, |(a, left), (b, right)| {
            (Reverse(a), Reverse(left.changed), &left.name).cmp(&(Reverse(b), Reverse(right.changed), &right.name))
        });
        let shown =
            |(_, entry): (i32, FolderEntry)| format!("{folder}{}{}", entry.name, if entry.is_dir { "/" } else { "" });
        found.into_iter().take(limit).map(shown).collect()
    }

    fn read(&self, folder: &str) -> Vec<FolderEntry> {
        let path = match (folder.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => self.root.join(folder),
        };
        let Ok(entries) = std::fs::read_dir(path) else { return Vec::new() };
        let entry = |entry: std::fs::DirEntry| {
            let name = entry.file_name().into_string().ok().filter(|name| !name.contains(char::is_control))?;
            // Links are followed: a link to a directory is one.
            let data = std::fs::metadata(entry.path()).ok();
            let is_dir = data.as_ref().is_some_and(std::fs::Metadata::is_dir);
            Some(FolderEntry { name, is_dir, changed: data.map_or(0, |data| seconds_of(&data)) })
        };
        entries.take(MAX_ENTRIES).filter_map(Result::ok).filter_map(entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_completed_as_they_were_begun() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["work/app", "work/api", "home/notes", "home/.cache"] {
            std::fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        for name in ["work/apple.txt", "home/nodes.txt", "work/bad\u{1}name"] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        let listing = FolderListing { root: dir.path().join("work"), home: Some(dir.path().join("home")) };
        let sorted = |mut found: Vec<String>| {
            found.sort();
            found
        };
        assert_eq!(sorted(listing.entries("./ap", 9)), ["./api/", "./app/", "./apple.txt"]);
        assert_eq!(sorted(listing.entries("../", 9)), ["../home/", "../work/"]);
        assert_eq!(sorted(listing.entries("~/no", 9)), ["~/nodes.txt", "~/notes/"]);
        assert_eq!(listing.entries("~/.c", 9), ["~/.cache/"]);
        assert_eq!(sorted(listing.directories("ap", 9)), ["api/", "app/"]);
        let whole = format!("{}/wo", dir.path().display());
        assert_eq!(listing.entries(&whole, 9), [format!("{}/work/", dir.path().display())]);
        assert!(listing.entries("/nowhere-at-all/x", 9).is_empty());
        for (text, is_path) in [("/a", true), ("~/a", true), ("../a", true), ("src/a", false), ("~a", false)] {
            assert_eq!(FolderListing::is_path(text), is_path, "{text}");
        }
    }
}
