//! Files that a command visibly touches: operands of well-known programs, and redirections. Generous, for deny and ask
//! rules only; arbitrary programs are the sandbox's business.

use super::outputs;
use super::suspects::PossibleCommand;
use std::path::{Path, PathBuf};

/// A file some program may open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TouchedFile {
    /// Absolute, not normalised.
    pub(crate) path: PathBuf,
    pub(crate) writes: bool,
}

#[rustfmt::skip]
const READERS: &[&str] = &[
    "cat", "head", "tail", "less", "more", "bat", "nl", "tac", "rev", "od", "xxd", "hexdump", "strings", "base64", "wc",
    "sort", "uniq", "cut", "paste", "column", "fold", "fmt", "diff", "cmp", "comm", "file", "stat", "md5sum", "sha256sum",
    "jq", "yq", "source", ".", "tar", "zip", "gzip", "rsync", "scp", "vim", "vi", "nano", "view", "open", "ls", "find", "tree",
    "du", "python", "python3", "node", "ruby", "perl", "gpg", "openssl", "split", "csplit", "pr", "expand", "iconv",
];

/// The first operand of these is a pattern or a script.
const SEARCHERS: &[&str] = &["grep", "egrep", "fgrep", "rg", "ag", "ack", "sed", "awk", "gawk", "mawk"];

#[rustfmt::skip]
const WRITERS: &[&str] = &[
    "cp", "mv", "rm", "rmdir", "touch", "tee", "mkdir", "ln", "dd", "truncate", "install", "chmod", "chown", "unlink",
    "shred", "patch", "ed", "ex", "sponge", "rsync", "scp", "unzip", "sed",
];

/// All files, seen from every directory the command may be in.
pub(crate) fn touched_files(suspects: &[PossibleCommand], cwd: &Path, home: Option<&Path>) -> Vec<TouchedFile> {
    let dirs = directories(suspects, cwd, home);
    let mut found = Vec::new();
    let mut add = |word: &str, writes: bool| {
        found.extend(dirs.iter().map(|dir| TouchedFile { path: resolve_word(word, dir, home), writes }));
    };
    for suspect in suspects {
        suspect.any_program(|program, arguments| {
            for (word, writes) in operands(program, arguments) {
                add(&word, writes);
            }
            outputs::written_by(program, arguments).all().for_each(|word| add(&word, true));
            false
        });
        suspect.reads.iter().for_each(|word| add(word, false));
        suspect.writes.iter().for_each(|word| add(word, true));
    }
    found
}

/// Targets of output redirections, and what file commands would create or change.
pub(crate) fn written_files(suspects: &[PossibleCommand], cwd: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let dirs = directories(suspects, cwd, home);
    let mut words: Vec<String> = Vec::new();
    for suspect in suspects {
        words.extend(suspect.writes.iter().cloned());
        suspect.any_program(|program, arguments| {
            words.extend(destinations(program, arguments).into_iter().map(str::to_owned));
            words.extend(outputs::written_by(program, arguments).all());
            false
        });
    }
    words.iter().flat_map(|word| dirs.iter().map(|dir| resolve_word(word, dir, home))).collect()
}

/// Folders whose content is copied or moved as a whole: names that the command does not tell are written.
pub(crate) fn copied_trees(suspects: &[PossibleCommand], cwd: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let dirs = directories(suspects, cwd, home);
    let mut words: Vec<String> = Vec::new();
    for suspect in suspects {
        suspect.any_program(|program, arguments| {
            let is_recursive = arguments.iter().any(|word| {
                let short = word.starts_with('-') && !word.starts_with("--") && word.contains(['r', 'R', 'a']);
                short || word.starts_with("--rec") || word.starts_with("--arc")
            });
            if program == "mv" || (matches!(program, "cp" | "rsync" | "scp") && is_recursive) {
                let named = arguments.iter().any(|word| word.starts_with("-t") || word.starts_with("--target"));
                let mut sources: Vec<&String> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
                if !named {
                    sources.pop();
                }
                words.extend(sources.into_iter().cloned());
            }
            false
        });
    }
    words.iter().flat_map(|word| dirs.iter().map(|dir| resolve_word(word, dir, home))).collect()
}

fn destinations<'a>(program: &str, arguments: &'a [String]) -> Vec<&'a str> {
    let has = |start: &str| arguments.iter().any(|word| word.starts_with(start));
    if !WRITERS.contains(&program) || (program == "sed" && !has("-i") && !has("--in-place")) {
        return Vec::new();
    }
    let plain = |word: &&str| !word.starts_with('-');
    // A link to a protected file is as good as that file.
    let copies = matches!(program, "cp" | "install" | "rsync" | "scp") && !has("-t") && !has("--target");
    let operands = arguments.iter().map(String::as_str).filter(plain);
    let mut operands = operands.map(|word| word.strip_prefix("of=").unwrap_or(word));
    if copies { operands.next_back().into_iter().collect() } else { operands.collect() }
}

fn operands(program: &str, arguments: &[String]) -> Vec<(String, bool)> {
    if let Some(named) = named_files(program, arguments) {
        return named.into_iter().map(|word| (word, false)).collect();
    }
    let (reads, searches, writes) =
        (READERS.contains(&program), SEARCHERS.contains(&program), WRITERS.contains(&program));
    if !reads && !searches && !writes {
        return Vec::new();
    }
    let explicit = arguments.iter().any(|word| matches!(word.as_str(), "-e" | "-f") || word.starts_with("--regexp"));
    let skipped = usize::from(searches && !explicit);
    let words = arguments.iter().map(String::as_str).filter(|word| !word.starts_with('-')).skip(skipped);
    // A program that changes a file may show it as well: both kinds of rule apply.
    words
        .map(|word| word.strip_prefix("if=").or(word.strip_prefix("of=")).unwrap_or(word))
        .flat_map(|word| [Some((word.to_owned(), false)), writes.then(|| (word.to_owned(), true))])
        .flatten()
        .collect()
}

/// Operands of programs whose other words are often taken for files: patterns, tests and values of options.
fn named_files(program: &str, arguments: &[String]) -> Option<Vec<String>> {
    if program == "find" {
        let is_test = |word: &&String| word.starts_with(['(', '!']) || (word.starts_with('-') && word.len() > 2);
        let roots = arguments.iter().take_while(|word| !is_test(word));
        return Some(roots.filter(|word| !word.starts_with('-')).cloned().collect());
    }
    // A dot among the words of another program is a folder.
    if program == "." {
        return Some(arguments.iter().take(1).filter(|word| !word.starts_with('-')).cloned().collect());
    }
    if !matches!(program, "grep" | "egrep" | "fgrep" | "rg") {
        return None;
    }
    Some(super::readers::named_files(program, arguments))
}

/// The starting directory and every place a `cd` may lead to.
fn directories(suspects: &[PossibleCommand], cwd: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let mut dirs = vec![cwd.to_path_buf()];
    for suspect in suspects {
        for target in super::runners::entered(&suspect.words) {
            dirs.push(resolve_word(target, cwd, home));
        }
        suspect.any_program(|program, arguments| {
            if matches!(program, "cd" | "pushd" | "chdir")
                && let Some(target) = arguments.iter().find(|word| !word.starts_with('-'))
                && dirs.len() < 8
            {
                let last = dirs.last().cloned().unwrap_or_default();
                dirs.push(resolve_word(target, &last, home));
            }
            false
        });
    }
    dirs
}

/// The word as a path; the spellings of the home directory are equal.
fn resolve_word(word: &str, dir: &Path, home: Option<&Path>) -> PathBuf {
    if let Some(home) = home {
        for spelling in ["${HOME}", "$HOME", "~"] {
            if let Some(rest) = word.strip_prefix(spelling)
                && (rest.is_empty() || rest.starts_with('/'))
            {
                return home.join(rest.trim_start_matches('/'));
            }
        }
    }
    let word = word.strip_prefix("$PWD/").or(word.strip_prefix("${PWD}/")).unwrap_or(word);
    dir.join(word)
}
