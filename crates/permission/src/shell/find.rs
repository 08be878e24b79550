//! `find`, and names handed on by `xargs`: searches that only print, and programs that only count or search in what was
//! found. Anything else a found name is given to asks.

use super::readonly::{ReadAccess, looks as program_looks};
use super::script::ShellWord;

#[rustfmt::skip]
const TESTS: &[&str] = &[
    "-name", "-iname", "-path", "-ipath", "-wholename", "-type", "-maxdepth", "-mindepth", "-size", "-mtime", "-mmin",
    "-atime", "-ctime", "-amin", "-cmin", "-user", "-group", "-perm", "-regex", "-iregex", "-regextype", "-links", "-inum",
    "-printf", "-newermt", "-newerct", "-newerat", "-used", "-uid", "-gid", "-lname", "-ilname", "-xtype", "-fstype",
];
#[rustfmt::skip]
const FLAGS: &[&str] = &[
    "-print", "-print0", "-ls", "-prune", "-empty", "-readable", "-writable", "-executable", "-not", "!", "-o", "-or", "-a",
    "-and", "-depth", "-xdev", "-mount", "-true", "-false", "-quit", "(", ")", "-daystart", "-H", "-P", "-nouser", "-nogroup",
    "-noleaf", "-ignore_readdir_race",
];
/// Tests that look at a further file.
const FILES: &[&str] = &["-newer", "-anewer", "-cnewer", "-samefile"];

/// Programs that show of a file its facts, its size or the lines that fit: what a search shows anyway.
#[rustfmt::skip]
const COUNTING: &[&str] = &[
    "wc", "grep", "egrep", "fgrep", "ls", "stat", "file", "du", "basename", "dirname", "realpath", "readlink", "md5sum", "sha1sum",
    "sha256sum", "echo",
];

pub(super) fn looks(arguments: &[ShellWord]) -> Option<Vec<ReadAccess<'_>>> {
    if arguments.iter().any(|word| word.glob) {
        return None;
    }
    let mut looks = Vec::new();
    let mut rest = arguments.iter();
    let mut in_roots = true;
    while let Some(word) = rest.next() {
        let text = word.text.as_str();
        if TESTS.contains(&text) {
            in_roots = false;
            rest.next()?;
        } else if FILES.contains(&text) {
            in_roots = false;
            looks.push(ReadAccess::Path(rest.next()?));
        } else if FLAGS.contains(&text) {
            in_roots &= matches!(text, "-H" | "-P");
        } else if text == "-exec" {
            in_roots = false;
            let command: Vec<&ShellWord> =
                rest.by_ref().take_while(|word| !matches!(word.text.as_str(), ";" | "+")).collect();
            let from = arguments.len() - rest.len() - command.len() - 1;
            looks.extend(counted(arguments.get(from..from + command.len())?)?);
            looks.push(ReadAccess::Search(None));
        } else if in_roots && !text.starts_with('-') {
            looks.push(ReadAccess::Path(word));
        } else {
            return None;
        }
    }
    Some(looks)
}

/// What a counting program looks at besides the names it is handed.
fn counted(command: &[ShellWord]) -> Option<Vec<ReadAccess<'_>>> {
    let name = command.first()?;
    let found = command.iter().skip(1).filter(|word| word.text == "{}").count();
    let hides = command.iter().any(|word| word.text.contains("{}") && word.text != "{}");
    if !COUNTING.contains(&name.raw.as_str()) || hides || found > 1 {
        return None;
    }
    let looks = program_looks(command)?;
    Some(looks.into_iter().filter(|look| !matches!(look, ReadAccess::Path(word) if word.text == "{}")).collect())
}

/// The command behind `xargs` when it only counts or searches in the names that are appended.
pub(crate) fn appended(words: &[ShellWord]) -> Option<Vec<ReadAccess<'_>>> {
    let (name, mut rest) = words.split_first()?;
    if name.raw != "xargs" {
        return None;
    }
    while let Some((word, after)) = rest.split_first() {
        rest = match word.text.as_str() {
            "-0" | "-r" | "-t" | "--null" | "--no-run-if-empty" => after,
            "-n" | "-L" | "-P" => after.split_first().filter(|(n, _)| n.text.parse::<u16>().is_ok())?.1,
            text if text.starts_with('-') => return None,
            _ => break,
        };
    }
    counted(rest)
}

/// Whether the command prints names of files below what it looks at, one per line.
pub(crate) fn prints_names(words: &[ShellWord]) -> bool {
    let has = |flags: &[&str]| words.iter().any(|word| flags.contains(&word.text.as_str()));
    match words.first().map(|name| name.raw.as_str()) {
        Some("find") => !has(&["-printf", "-ls", "-exec"]),
        Some("fd" | "fdfind" | "ls") => true,
        Some("rg" | "grep") => {
            let lists = |word: &ShellWord| {
                word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('l')
            };
            has(&["--files", "--files-with-matches"]) || words.iter().any(lists)
        }
        Some("git") => has(&["ls-files", "--name-only"]),
        _ => false,
    }
}

/// Whether the command only leaves lines out, or puts them in another order.
pub(crate) fn selects_lines(words: &[ShellWord]) -> bool {
    let has = |flag: &str| words.iter().any(|word| word.text.starts_with('-') && word.text.contains(flag));
    match words.first().map(|name| name.raw.as_str()) {
        Some("grep") => !has("o") && !has("n") && !has("c"),
        Some("head" | "tail" | "sort" | "uniq") => !has("c"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::shell::reading::CommandReading;

    fn looks(command: &str) -> bool {
        let words = CommandReading::of(command).strict.unwrap().remove(0).words;
        super::looks(&words[1..]).is_some()
    }

    #[test]
    fn found_files_are_only_counted_or_searched() {
        for command in ["find . -exec wc -l {} +", "find . -name x -exec grep -n k {} \\; -print", "find . -newer x"] {
            assert!(looks(command), "{command}");
        }
        for command in [
            "find . -exec rm {} +",
            "find . -exec cat {} +",
            "find . -exec sh -c id \\;",
            "find . -execdir wc {} +",
            "find . -delete",
            "find . -exec wc -l {} + -delete",
            "find . -exec {} \\;",
            "find . -exec wc --files0-from={} \\;",
            "find . -fprintf x y",
            "find . -exec grep -f {} x \\;",
            "find -L .",
            "find . -exec ./wc {} +",
            "find . -exec env wc {} +",
        ] {
            assert!(!looks(command), "{command}");
        }
    }
}
