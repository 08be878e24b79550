//! Options of a reading program: clustered short ones, long ones with their abbreviations, values in the same word or the
//! next.

use super::tables::ReadingProgram;
use crate::shell::flow::{FlowArgument, ShellField};

#[derive(Debug, Default)]
pub(super) struct ReaderOptions {
    pub(super) operands: Vec<ShellField>,
    /// Values that are files.
    pub(super) files: Vec<ShellField>,
    /// Scripts given as options.
    pub(super) scripts: Vec<ShellField>,
    pub(super) pattern_given: bool,
    pub(super) target_given: bool,
    pub(super) recursive: bool,
    pub(super) follows: bool,
    pub(super) hidden: bool,
    /// How often `-u` of rg is given, `--no-ignore` counts as one.
    pub(super) unrestricted: u32,
    pub(super) depth: Option<usize>,
    pub(super) include: Vec<String>,
    pub(super) exclude: Vec<String>,
    pub(super) exclude_dir: Vec<String>,
    pub(super) overrides: Vec<String>,
    /// Globs that do not tell upper from lower case.
    folds_case: bool,
    /// Inclusions and exclusions whose order decides.
    mixes_selection: bool,
    /// Names of files come from a file.
    pub(super) lists_files: bool,
    pub(super) unknown_word: bool,
    /// `ls -d`: directories are named, not looked into.
    pub(super) names_only: bool,
}

impl ReaderOptions {
    pub(super) fn read(reader: &ReadingProgram, arguments: &[FlowArgument]) -> Self {
        let mut options = Self::default();
        let mut rest = arguments.iter();
        let mut only_operands = false;
        while let Some(arg) = rest.next() {
            let FlowArgument::Known(field) = arg else {
                options.unknown_word = true;
                continue;
            };
            let text = field.text();
            if only_operands || text == "-" || !text.starts_with('-') {
                options.operands.push(field.clone());
            } else if text == "--" {
                only_operands = true;
            } else if let Some(long) = text.strip_prefix("--") {
                options.long(reader, long, &mut rest);
            } else {
                options.short(reader, &text[1..], &mut rest);
            }
        }
        options.drop_doubtful_selection(reader);
        options
    }

    /// Unknown exclusions exclude nothing.
    fn drop_doubtful_selection(&mut self, reader: &ReadingProgram) {
        if self.folds_case {
            self.overrides.clear();
        }
        if self.mixes_selection {
            self.include.clear();
            self.exclude.clear();
            if reader.name == "rsync" {
                self.exclude_dir.clear();
            }
        }
    }

    fn long<'a>(&mut self, reader: &ReadingProgram, text: &str, rest: &mut impl Iterator<Item = &'a FlowArgument>) {
        let (name, inline) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (text, None),
        };
        let fits = |known: &&&str| **known == name || (name.len() > 2 && known.starts_with(name));
        let exact = |list: &[&'static str]| list.iter().find(|known| **known == name).copied();
        let file = exact(reader.long_file).or_else(|| reader.long_file.iter().find(fits).copied());
        let valued = exact(reader.long).or_else(|| reader.long.iter().find(fits).copied());
        let Some(known) = valued.filter(|_| file.is_none() || exact(reader.long).is_some()).or(file) else {
            return self.flag(reader, name, inline.as_deref());
        };
        let value = match inline {
            Some(value) => Some(ShellField::literal(&value)),
            None => Self::next(rest),
        };
        let Some(value) = value else { return };
        if file == Some(known) {
            self.pattern_given |= matches!(known, "file" | "from-file" | "exec") && reader.name != "diff";
            // Its lines may show again what is hidden.
            self.hidden |= known == "ignore-file";
            self.files.push(value);
            return;
        }
        self.valued(reader, known, value);
    }

    fn next<'a>(rest: &mut impl Iterator<Item = &'a FlowArgument>) -> Option<ShellField> {
        match rest.next()? {
            FlowArgument::Known(field) => Some(field.clone()),
            FlowArgument::Unknown(_) => None,
        }
    }

    fn flag(&mut self, reader: &ReadingProgram, name: &str, inline: Option<&str>) {
        match name {
            "recursive" | "archive" => self.recursive = true,
            "dereference-recursive" | "follow" | "dereference" | "copy-links" => {
                self.recursive |= name == "dereference-recursive";
                self.follows = true;
            }
            "directory" if reader.name == "ls" => self.names_only = true,
            "hidden" => self.hidden = true,
            "glob-case-insensitive" => self.folds_case = true,
            "no-ignore" | "unrestricted" => self.unrestricted += 1,
            "files" if reader.name == "rg" => self.pattern_given = true,
            // Parts of the ignore rules: all of them, to be safe.
            name if reader.name == "rg" && name.starts_with("no-ignore") => self.unrestricted += 1,
            name if lists_files(reader, name) => self.lists_files = true,
            // Abbreviations, and whatever else there is: the worst is to go through everything.
            name if name.len() > 1 && "recursive".starts_with(name) => self.recursive = true,
            name if name.len() > 2 && "dereference-recursive".starts_with(name) => {
                self.recursive = true;
                self.follows = true;
            }
            _ => {}
        }
        // A value for an option that takes none may be a file.
        if let Some(value) = inline.filter(|value| value.contains('/') && reader.name != "rg") {
            self.files.push(ShellField::literal(value));
        }
    }

    fn short<'a>(&mut self, reader: &ReadingProgram, letters: &str, rest: &mut impl Iterator<Item = &'a FlowArgument>) {
        for (at, letter) in letters.char_indices() {
            let is_file = reader.file.contains(letter);
            if !is_file && !reader.valued.contains(letter) {
                self.letter(reader, letter);
                continue;
            }
            let inline = &letters[at + letter.len_utf8()..];
            let value = if inline.is_empty() { Self::next(rest) } else { Some(ShellField::literal(inline)) };
            let Some(value) = value else { return };
            if is_file {
                self.pattern_given |= !matches!(letter, 'L');
                self.files.push(value);
            } else {
                self.valued(reader, short_name(reader, letter), value);
            }
            return;
        }
    }

    fn letter(&mut self, reader: &ReadingProgram, letter: char) {
        match (reader.name, letter) {
            ("grep" | "zip" | "scp" | "diff" | "cp" | "rsync", 'r') | ("cp", 'R') | ("cp" | "rsync", 'a') => {
                self.recursive = true;
            }
            ("grep", 'R') => {
                self.recursive = true;
                self.follows = true;
            }
            ("zip", 'R') => self.recursive = true,
            ("ls", 'd') => self.names_only = true,
            ("rg" | "cp" | "rsync", 'L') => self.follows = true,
            ("rg", 'u') => self.unrestricted += 1,
            ("rg", '.') => self.hidden = true,
            // Names from standard input.
            ("zip", '@') => self.lists_files = true,
            _ => {}
        }
    }

    fn valued(&mut self, reader: &ReadingProgram, name: &str, value: ShellField) {
        let text = value.text();
        match (reader.name, name) {
            ("sed", "expression") => {
                self.pattern_given = true;
                self.scripts.push(value);
            }
            (_, "regexp") => self.pattern_given = true,
            (_, "target-directory") => self.target_given = true,
            ("grep", "directories") => self.recursive |= "recurse".starts_with(&text),
            ("rg", "max-depth" | "maxdepth") => self.depth = text.parse().ok(),
            ("rg", "glob") => self.overrides.push(text),
            // Case is not told apart there, nor by what follows: nothing is left out for certain.
            ("rg", "iglob") => self.folds_case = true,
            // The last that fits wins, and what fits none is taken unless the first one includes.
            ("grep", "include") => {
                self.mixes_selection |= !self.exclude.is_empty();
                self.include.push(text);
            }
            ("grep", "exclude-dir") => self.exclude_dir.push(text),
            // Includes and filters before an exclusion win over it.
            ("rsync", "include" | "filter") => self.mixes_selection = true,
            ("diff" | "rsync", "exclude") => {
                self.exclude_dir.push(text.clone());
                self.exclude.push(text);
            }
            ("grep", "exclude") => self.exclude.push(text),
            _ => {}
        }
    }
}

/// Whether the program only tells about itself: its one word asks for that. Nothing is opened.
pub(super) fn is_informational(reader: &ReadingProgram, arguments: &[FlowArgument]) -> bool {
    let [FlowArgument::Known(only)] = arguments else { return false };
    match only.text().as_str() {
        "--version" | "--help" => true,
        "-V" => matches!(reader.name, "rg" | "grep"),
        "-h" | "--type-list" | "--pcre2-version" => reader.name == "rg",
        _ => false,
    }
}

/// `--files0-from` and `--files-from`, abbreviated or not; `grep` has other options that begin alike.
fn lists_files(reader: &ReadingProgram, name: &str) -> bool {
    let begins = name.len() > 4 && ("files0-from".starts_with(name) || "files-from".starts_with(name));
    begins && !matches!(reader.name, "grep" | "rg")
}

/// The long name of a short option with a value.
fn short_name(reader: &ReadingProgram, letter: char) -> &'static str {
    match (reader.name, letter) {
        ("sed", 'e') => "expression",
        ("grep" | "rg", 'e') => "regexp",
        ("grep", 'd') => "directories",
        ("rg", 'g') => "glob",
        ("rg", 'd') => "max-depth",
        ("rsync", 'f') => "filter",
        ("diff", 'x') => "exclude",
        ("cp" | "mv" | "ln" | "install", 't') => "target-directory",
        _ => "",
    }
}
