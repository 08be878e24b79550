//! A fresh place for one run: home, configuration, workspace, and a copy of the workspace that gets the right changes, so
//! that wrong ones are seen.

use super::task::Task;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use testkit::clumsy::DoneWork;

pub(super) struct Place {
    temp: tempfile::TempDir,
}

impl Place {
    pub(super) fn prepare(task: &Task) -> Result<Self> {
        let mut temp = tempfile::Builder::new().prefix("eval").tempdir()?;
        if task.keep {
            temp.disable_cleanup(true);
            println!("{}: {}", task.name, temp.path().display());
        }
        let place = Self { temp };
        for folder in ["home/.claude", "project", "check"] {
            std::fs::create_dir_all(place.root().join(folder))?;
        }
        let files = task.folder.join("files");
        if files.exists() {
            copy_tree(&files, &place.project())?;
        }
        let setup = task.folder.join("setup.sh");
        if setup.exists() {
            let text = setup.display().to_string();
            place.shell(&place.project(), &["bash", &text]).with_context(|| format!("setup of {}", task.name))?;
        }
        if let Some(settings) = &task.settings {
            let settings = settings.replace("@ROOT@", &place.root().display().to_string());
            std::fs::write(place.root().join("home/.claude/settings.json"), settings)?;
        }
        copy_tree(&place.project(), &place.mirror())?;
        Ok(place)
    }

    pub(super) fn root(&self) -> PathBuf {
        self.temp.path().canonicalize().unwrap_or_else(|_| self.temp.path().to_path_buf())
    }

    pub(super) fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    fn mirror(&self) -> PathBuf {
        self.root().join("mirror")
    }

    /// The variables of every process in this place.
    pub(super) fn env(&self) -> Vec<(String, String)> {
        let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".into());
        let home = self.root().join("home").display().to_string();
        let pairs = [
            ("PATH", path.as_str()),
            ("HOME", &home),
            ("TZ", "UTC"),
            ("LANG", "C.UTF-8"),
            ("PYTHONDONTWRITEBYTECODE", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_SYSTEM", "/dev/null"),
            ("GIT_AUTHOR_NAME", "Eval"),
            ("GIT_AUTHOR_EMAIL", "eval@example.com"),
            ("GIT_COMMITTER_NAME", "Eval"),
            ("GIT_COMMITTER_EMAIL", "eval@example.com"),
            ("GIT_AUTHOR_DATE", "2026-01-02T03:04:05Z"),
            ("GIT_COMMITTER_DATE", "2026-01-02T03:04:05Z"),
        ];
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    /// Runs a program in `folder`; its output is part of the error.
    pub(super) fn shell(&self, folder: &Path, words: &[&str]) -> Result<()> {
        let output = self.command(folder, words).output().with_context(|| words.join(" "))?;
        let said = [output.stdout, output.stderr].concat();
        ensure!(output.status.success(), "{} failed: {}", words.join(" "), String::from_utf8_lossy(&said));
        Ok(())
    }

    pub(super) fn command(&self, folder: &Path, words: &[&str]) -> Command {
        let mut command = Command::new(words.first().copied().unwrap_or("true"));
        command.args(&words[1..]).env_clear().envs(self.env()).current_dir(folder).stdin(Stdio::null());
        command
    }

    /// Files of the workspace that hold something else than the work done leaves: every edit in full or not at all, in
    /// order. Files that may change are left out.
    pub(super) fn wrong_changes(&self, task: &Task, done: &[DoneWork]) -> Result<Vec<String>> {
        let mirror = self.mirror();
        let mut edits: BTreeMap<&str, Vec<&DoneWork>> = BTreeMap::new();
        for work in done {
            match work {
                DoneWork::Edit { file, .. } | DoneWork::Write { file, .. } => edits.entry(file).or_default().push(work),
                // Another program changed files: before the edits of this file, which never overlap with it.
                DoneWork::Outside { command } => self.shell(&mirror, &["bash", "-c", command])?,
            }
        }
        let (meant, real) = (files(&mirror)?, files(&self.project())?);
        let may_change =
            |name: &str| task.touches.iter().any(|t| t == name || t.ends_with('/') && name.starts_with(t.as_str()));
        let mut names: Vec<&String> = meant.keys().chain(real.keys()).filter(|name| !may_change(name)).collect();
        names.sort();
        names.dedup();
        let is_wrong = |name: &&&String| {
            let (before, now) = (meant.get(**name), real.get(**name));
            let works = edits.get(name.as_str()).map_or(&[][..], Vec::as_slice);
            match (before, now) {
                (Some(before), Some(now)) if is_same(before, now) => false,
                (_, None) => before.is_some(),
                (before, Some(now)) => {
                    let text = |path: &PathBuf| std::fs::read_to_string(path).unwrap_or_default();
                    !is_reachable(&before.map(text).unwrap_or_default(), works, &text(now))
                }
            }
        };
        Ok(names.iter().filter(is_wrong).map(|name| (*name).clone()).collect())
    }
}

/// Whether some of the works, in order, lead from one text to another.
fn is_reachable(from: &str, works: &[&DoneWork], to: &str) -> bool {
    let Some((first, rest)) = works.split_first() else { return from == to };
    let after = match first {
        DoneWork::Edit { text, .. } => text.apply(from),
        DoneWork::Write { content, .. } => Some(content.clone()),
        DoneWork::Outside { .. } => None,
    };
    after.is_some_and(|after| is_reachable(&after, rest, to)) || is_reachable(from, rest, to)
}

/// Large files are compared by length: no tool writes them.
const COMPARED_BYTES: u64 = 4 << 20;

fn is_same(one: &Path, other: &Path) -> bool {
    let length = |path: &Path| std::fs::metadata(path).map_or(0, |meta| meta.len());
    let (a, b) = (length(one), length(other));
    a == b && (a > COMPARED_BYTES || std::fs::read(one).ok() == std::fs::read(other).ok())
}

/// Files below a folder by relative name; without repositories' own files and caches of interpreters.
fn files(folder: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let mut found = BTreeMap::new();
    let mut left = vec![folder.to_path_buf()];
    while let Some(here) = left.pop() {
        for entry in std::fs::read_dir(&here)? {
            let entry = entry?;
            let name = entry.file_name();
            let (path, kind) = (entry.path(), entry.file_type()?);
            if kind.is_dir() {
                if name != ".git" && name != "__pycache__" && name != ".claude" {
                    left.push(path);
                }
            } else if kind.is_file()
                && let Ok(relative) = path.strip_prefix(folder)
            {
                found.insert(relative.to_string_lossy().into_owned(), path);
            }
        }
    }
    Ok(found)
}

fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    let status = Command::new("cp").arg("-a").arg("--sparse=always").arg("-T").arg(from).arg(to).status();
    ensure!(status.context("cp does not start")?.success(), "{} could not be copied", from.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::clumsy::EditText;

    // [MX-42] An edit may be missing, but nothing else may be there.
    #[test]
    fn only_whole_edits_are_right() {
        let edit = |old: &str, new: &str| DoneWork::Edit {
            file: "f".into(),
            text: EditText { old: old.into(), new: new.into(), all: false },
        };
        let (one, two) = (edit("a\n", "b\n"), edit("x\n", "y\n"));
        let works = [&one, &two];
        for right in ["b\ny\n", "a\ny\n", "b\nx\n", "a\nx\n"] {
            assert!(is_reachable("a\nx\n", &works, right), "{right}");
        }
        assert!(!is_reachable("a\nx\n", &works, "b\ny"));
        assert!(!is_reachable("a\nx\n", &works, "B\ny\n"));
    }
}
