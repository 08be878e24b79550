//! `find`, and names handed on by `xargs`: searches that only print, and programs that only count or search in what was
//! found. Anything else a found name is given to asks.

use super::name_pattern::NamePattern;
use super::readonly::{ReadAccess, looks as program_looks};
use super::relaxed::{self, NameSeparator};
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

/// A `-name` or `-iname` of `find`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FindName {
    pub pattern: String,
    pub ignores_case: bool,
}

impl FindName {
    /// Whether the last component of a path may fit. Which letters are the same in another case is certain for ASCII only.
    pub fn fits(&self, name: &str) -> bool {
        if !self.ignores_case {
            return NamePattern::parse(&self.pattern).matches(name);
        }
        let is_certain = name.is_ascii() && self.pattern.is_ascii() && !self.pattern.contains('[');
        !is_certain || NamePattern::parse(&self.pattern.to_ascii_lowercase()).matches(&name.to_ascii_lowercase())
    }
}

/// What a call of `find` prints.
pub(crate) struct PrintedTree {
    pub(crate) roots: Vec<String>,
    /// What the last components of the names fit.
    pub(crate) names: Vec<FindName>,
    pub(crate) separator: NameSeparator,
}

impl PrintedTree {
    /// `None` when it prints anything but names. Tests that are not understood only narrow what is printed.
    pub(crate) fn read(words: &[ShellWord]) -> Option<Self> {
        let (_, arguments) = words.split_first().filter(|(name, _)| name.raw == "find")?;
        let is_plain = |word: &ShellWord| {
            !word.glob && !word.tilde && !word.matched && word.variables.is_empty() && word.substituted.is_none()
        };
        if !arguments.iter().all(is_plain) {
            return None;
        }
        let starts = |word: &&ShellWord| matches!(word.text.as_str(), "-H" | "-P");
        let arguments = &arguments[arguments.iter().take_while(starts).count()..];
        let ends_roots = |word: &&ShellWord| !word.text.starts_with(['-', '(', '!']);
        let (roots, expression) = arguments.split_at(arguments.iter().take_while(ends_roots).count());
        let mut roots: Vec<String> = roots.iter().map(|word| word.text.clone()).collect();
        if roots.is_empty() {
            roots.push(".".to_owned());
        }
        let mut tree = Self { roots, names: Vec::new(), separator: NameSeparator::Line };
        tree.read_expression(expression)?;
        Some(tree)
    }

    fn read_expression(&mut self, expression: &[ShellWord]) -> Option<()> {
        let mut rest = expression.iter().map(|word| word.text.as_str());
        let (mut is_negated, mut has_branches, mut prints) = (false, false, Vec::new());
        while let Some(text) = rest.next() {
            match text {
                "!" | "-not" => {
                    is_negated = !is_negated;
                    continue;
                }
                "-o" | "-or" | "(" | ")" => has_branches = true,
                "-print" => prints.push(NameSeparator::Line),
                "-print0" => prints.push(NameSeparator::Nul),
                "-printf" | "-ls" => return None,
                "-name" | "-iname" => {
                    let name = FindName { pattern: rest.next()?.to_owned(), ignores_case: text == "-iname" };
                    self.names.extend((!is_negated).then_some(name));
                }
                text if TESTS.contains(&text) || FILES.contains(&text) => drop(rest.next()?),
                text if FLAGS.contains(&text) => {}
                _ => return None,
            }
            is_negated = false;
        }
        // A name that some branch asks for is not asked for by all.
        if has_branches {
            self.names.clear();
        }
        self.separator = prints.first().copied().unwrap_or(NameSeparator::Line);
        prints.iter().all(|print| *print == self.separator).then_some(())
    }
}

/// A call of `xargs` with options that only say how its input is cut up.
pub(crate) struct XargsCall<'a> {
    /// The program that is run, and the words before those that are appended.
    pub(crate) command: &'a [ShellWord],
    /// The input is cut at NUL characters and nowhere else.
    nul: bool,
    /// The text that each item takes the place of; without it items are appended.
    placeholder: Option<&'a str>,
}

impl<'a> XargsCall<'a> {
    /// `None` for options that are not known, and without a command.
    pub(crate) fn read(words: &'a [ShellWord]) -> Option<Self> {
        let (name, mut rest) = words.split_first()?;
        if name.raw != "xargs" || words.iter().any(|word| word.substituted.is_some()) {
            return None;
        }
        let (mut nul, mut placeholder) = (false, None);
        while let Some((word, after)) = rest.split_first() {
            rest = match word.text.as_str() {
                "-0" | "--null" => {
                    nul = true;
                    after
                }
                "-r" | "-t" | "-x" | "--no-run-if-empty" | "--verbose" => after,
                "-n" | "-L" | "-P" => after.split_first().filter(|(n, _)| n.text.parse::<u16>().is_ok())?.1,
                "-I" => {
                    let (text, after) = after.split_first()?;
                    placeholder = Some(text.text.as_str());
                    after
                }
                "-i" => {
                    placeholder = Some("{}");
                    after
                }
                text if text.starts_with("-I") => {
                    placeholder = Some(&text[2..]);
                    after
                }
                text if is_attached_number(text) => after,
                text if text.starts_with('-') => return None,
                _ => break,
            };
        }
        let program = rest.first()?;
        let is_plain = program.raw == program.text && !program.glob && !program.matched;
        let makes_program = placeholder.is_some_and(|text| text.is_empty() || program.text.contains(text));
        (is_plain && !makes_program).then_some(Self { command: rest, nul, placeholder })
    }

    /// Whether the program does nothing with its arguments but print them.
    pub(crate) fn only_prints(&self) -> bool {
        let Some((program, arguments)) = self.command.split_first() else { return false };
        // The format of `printf` must not come from the input, and `test` may compute something.
        let format_is_made = || {
            let format = arguments.first();
            self.placeholder.is_some_and(|text| format.is_some_and(|format| format.text.contains(text)))
        };
        !matches!(program.raw.as_str(), "test" | "[")
            && relaxed::prints_arguments(&program.raw, arguments)
            && (program.raw != "printf" || !format_is_made())
    }

    /// The command with these names in their place; `None` when `xargs` may cut them up in another way.
    pub(crate) fn with_names(&self, names: &[String], separator: NameSeparator) -> Option<Vec<ShellWord>> {
        let is_cut_alike = match separator {
            NameSeparator::Nul => self.nul,
            NameSeparator::Line => !self.nul && names.iter().all(|name| is_plain_name(name)),
        };
        if !is_cut_alike {
            return None;
        }
        let name =
            |text: &String| ShellWord { text: text.clone(), raw: text.clone(), matched: true, ..ShellWord::default() };
        let Some(placeholder) = self.placeholder else {
            return Some(self.command.iter().cloned().chain(names.iter().map(name)).collect());
        };
        let mut words = Vec::new();
        for word in self.command {
            if word.text == placeholder {
                words.extend(names.iter().map(name));
            } else if word.text.contains(placeholder) {
                return None;
            } else {
                words.push(word.clone());
            }
        }
        Some(words)
    }

    /// Whether lines of the files it is handed are shown.
    pub(crate) fn shows_content(&self) -> bool {
        self.command.first().is_some_and(|name| matches!(name.raw.as_str(), "grep" | "egrep" | "fgrep"))
    }

    /// What the command looks at besides the names it is handed, when it only counts or searches in them.
    pub(crate) fn counted(&self) -> Option<Vec<ReadAccess<'a>>> {
        if self.placeholder.is_some_and(|text| text != "{}") {
            return None;
        }
        counted(self.command)
    }
}

/// `-n1`, `-P4`, `-L1`.
fn is_attached_number(text: &str) -> bool {
    let digits = ["-n", "-P", "-L"].iter().find_map(|option| text.strip_prefix(option));
    digits.is_some_and(|digits| digits.parse::<u16>().is_ok())
}

/// Whether a name stays one word, and itself, wherever words are split, matched and unquoted.
pub fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_graphic() && !"*?[]\\\"'`$~{}!#;&|<>()".contains(c))
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

/// Whether the command passes on some of the lines it reads, each as it was.
pub(crate) fn keeps_lines(words: &[ShellWord]) -> bool {
    let Some((name, arguments)) = words.split_first() else { return false };
    let is_number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let options = arguments.iter().filter(|word| word.text.starts_with('-'));
    let letters = match name.raw.as_str() {
        "grep" => "vEFiwx",
        "sort" => "ru",
        "uniq" => "",
        "head" | "tail" => {
            let count = |word: &ShellWord| {
                word.text == "-n" || is_number(&word.text[1..]) || is_number(word.text[1..].trim_start_matches('n'))
            };
            return options.into_iter().all(count);
        }
        _ => return false,
    };
    options.into_iter().all(|word| word.text.len() > 1 && word.text[1..].chars().all(|c| letters.contains(c)))
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
