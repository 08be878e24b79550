//! Programs with words of their own kind: archives, transfers, `dd`, `git`, and scripts that name files.

use super::{ReadPlanner, find};
use crate::reads::{ReadExtent, ReadTarget, TreeWalk};
use crate::shell::flow::{FlowArgument, ProgramInvocation, ShellField, StdinSource, TextOrigin};
use crate::shell::wrapper::base_name;
use std::ops::Range;

#[rustfmt::skip]
const NAMES: &[&str] = &[
    "find", "tar", "bsdtar", "curl", "wget", "dd", "git", "xargs", "mapfile", "readarray", "date", "history", "fc", "parallel", "fd", "fdfind", "cpio",
    "http", "https", "xh", "xhs", "kubectl", "socat",
];

pub(super) fn is_known(program: &str) -> bool {
    NAMES.contains(&program)
}

/// Options of curl whose value is a file, or holds one behind `@` or `<`.
#[rustfmt::skip]
const CURL_FILES: &[&str] = &[
    "-T", "--upload-file", "-K", "--config", "--netrc-file", "-b", "--cookie", "-E", "--cert", "--key", "--cacert", "--proxy-cert", "--proxy-key",
    "--variable",
];
#[rustfmt::skip]
const CURL_DATA: &[&str] = &[
    "-d", "--data", "--data-binary", "--data-ascii", "--data-urlencode", "--data-raw", "-F", "--form", "--json", "-H", "--header", "--proxy-header",
    "--url-query", "-w", "--write-out",
];
const WGET_FILES: &[&str] = &[
    "--post-file",
    "--body-file",
    "-i",
    "--input-file",
    "--load-cookies",
    "--certificate",
    "--private-key",
    "--config",
];

/// Lines of these are names that the program before them printed.
const SELECTING: &[&str] = &["head", "tail", "sort", "uniq", "grep", "egrep", "fgrep", "cat", "tac", "shuf", "rg"];

impl ReadPlanner<'_> {
    /// `true` when the program is one of these.
    pub(super) fn special(&mut self, name: &str, arguments: &[FlowArgument], unit: &ProgramInvocation) -> bool {
        match name {
            "find" => self.find(name, arguments, unit),
            "tar" | "bsdtar" => self.tar(name, arguments, unit),
            "curl" => self.transfer(name, arguments, unit, CURL_FILES, CURL_DATA),
            "wget" => self.transfer(name, arguments, unit, WGET_FILES, &[]),
            "dd" => {
                for arg in arguments {
                    match arg.text() {
                        Some(text) => {
                            if let Some(file) = text.strip_prefix("if=") {
                                self.known_file(name, &ShellField::literal(file), unit);
                            }
                        }
                        None => self.unknown(name, "a word of it is known only when it runs"),
                    }
                }
            }
            "git" => self.git(arguments, unit),
            "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "fish" => self.shell_script(name, arguments, unit),
            "date" => self.option_files(name, arguments, &[('f', "--file")], unit),
            "xargs" => self.option_files(name, arguments, &[('a', "--arg-file")], unit),
            "kubectl" => {
                let long = [('f', "--filename"), ('\0', "--from-file"), ('\0', "--from-env-file")];
                self.option_files(name, arguments, &long, unit);
            }
            "parallel" => {
                self.option_files(name, arguments, &[('a', "--arg-file")], unit);
                let mark = arguments.iter().position(|arg| arg.text().is_some_and(|text| text.starts_with("::::")));
                for file in mark.map_or(&[][..], |at| &arguments[at + 1..]) {
                    self.file(name, file, unit);
                }
            }
            "fd" | "fdfind" => self.found_and_handed_on(name, arguments, unit),
            "cpio" if arguments.iter().any(|arg| arg.text().is_some_and(|text| packs(&text))) => {
                self.add_appended_names(name, unit);
            }
            "http" | "https" | "xh" | "xhs" => {
                for file in arguments.iter().filter_map(FlowArgument::text).flat_map(|text| behind_mark(&text)) {
                    self.known_file(name, &ShellField::literal(&file), unit);
                }
            }
            "socat" => {
                for word in arguments.iter().filter_map(FlowArgument::text) {
                    let opened = word.split_once(':').filter(|(kind, _)| {
                        ["file", "open", "gopen", "create"].contains(&kind.to_ascii_lowercase().as_str())
                    });
                    if let Some((_, rest)) = opened {
                        let file = rest.split(',').next().unwrap_or_default();
                        self.known_file(name, &ShellField::literal(file), unit);
                    }
                }
            }
            "history" | "fc" => {
                let reads = |arg: &FlowArgument| {
                    arg.text().is_some_and(|text| text.starts_with('-') && text.contains(['r', 'n', 'w', 'a']))
                };
                if arguments.iter().any(reads) {
                    arguments.iter().filter(|arg| !is_option(arg)).for_each(|arg| self.file(name, arg, unit));
                }
            }
            _ => return false,
        }
        true
    }

    /// Files that are values of options. A letter counts wherever it stands among others, and a long name however short:
    /// too many files rather than too few.
    fn option_files(
        &mut self,
        name: &str,
        arguments: &[FlowArgument],
        options: &[(char, &str)],
        unit: &ProgramInvocation,
    ) {
        for (at, arg) in arguments.iter().enumerate() {
            let Some(text) = arg.text() else { continue };
            let (word, inline) =
                text.split_once('=').map_or((text.as_str(), None), |(word, value)| (word, Some(value)));
            let attached = |(letter, long): &(char, &str)| {
                if word.starts_with("--") {
                    return (word.len() > 2 && long.starts_with(word)).then(|| inline.unwrap_or_default().to_owned());
                }
                let letters = text.strip_prefix('-')?;
                letters.split_once(*letter).map(|(_, value)| value.to_owned())
            };
            match options.iter().find_map(attached) {
                Some(value) if value.is_empty() => {
                    if let Some(next) = arguments.get(at + 1) {
                        self.file(name, next, unit);
                    }
                }
                Some(value) => self.known_file(name, &ShellField::literal(&value), unit),
                None => {}
            }
        }
    }

    /// `fd` with a program for what it finds. Its own rules about ignored and hidden files leave nothing out here.
    fn found_and_handed_on(&mut self, name: &str, arguments: &[FlowArgument], unit: &ProgramInvocation) {
        let texts: Vec<Option<String>> = arguments.iter().map(FlowArgument::text).collect();
        let runs = |text: &str| {
            let short = text.starts_with('-') && !text.starts_with("--") && text.contains(['x', 'X']);
            short || (text.len() > 4 && ("--exec-batch".starts_with(text) || text.starts_with("--exec")))
        };
        let Some(at) = texts.iter().position(|text| text.as_deref().is_some_and(runs)) else { return };
        let program = texts.get(at + 1).and_then(|text| text.as_deref()).map(base_name).unwrap_or_default();
        if !super::is_modelled(program) && !crate::shell::wrapper::may_run_others(program) {
            return;
        }
        let named =
            arguments[..at].iter().filter_map(FlowArgument::known).filter(|field| !field.text().starts_with('-'));
        for root in std::iter::once(&ShellField::literal(".")).chain(named) {
            let walk = TreeWalk { operand_text: root.text(), ..TreeWalk::default() };
            self.add(name, root, &ReadExtent::Tree(walk), unit);
        }
    }

    /// A file that a shell runs: what it does not understand of it, it prints.
    fn shell_script(&mut self, name: &str, arguments: &[FlowArgument], unit: &ProgramInvocation) {
        if unit.assigned.iter().any(|variable| matches!(variable.as_str(), "BASH_ENV" | "ENV")) {
            self.unknown(name, "a variable names a file that it runs first");
        }
        let has_code = |arg: &FlowArgument| {
            arg.text().is_some_and(|text| text.starts_with('-') && !text.starts_with("--") && text.contains('c'))
        };
        if arguments.iter().any(has_code) {
            return;
        }
        // A name that is not known is none of the files it is asked to show.
        if let Some(FlowArgument::Known(file)) = arguments.iter().find(|arg| !is_option(arg)) {
            self.known_file(name, file, unit);
        }
    }

    fn transfer(
        &mut self,
        name: &str,
        arguments: &[FlowArgument],
        unit: &ProgramInvocation,
        files: &[&str],
        data: &[&str],
    ) {
        let mut rest = arguments.iter().peekable();
        while let Some(arg) = rest.next() {
            let Some(text) = arg.text() else {
                // A value from outside is text; one that this command makes may be any address.
                if *arg == FlowArgument::Unknown(TextOrigin::Transformed) {
                    self.unknown(name, "an address is known only when it runs");
                }
                continue;
            };
            let (option, inline) = option_of(&text, files, data);
            let Some(option) = option else {
                self.address(name, &text, unit);
                continue;
            };
            let value = match inline {
                Some(inline) => FlowArgument::Known(ShellField::literal(&inline)),
                None => match rest.next() {
                    Some(value) => value.clone(),
                    None => return,
                },
            };
            match value {
                FlowArgument::Unknown(_) => {
                    self.unknown(name, &format!("the value of {option} is known only when it runs"));
                }
                FlowArgument::Known(field) if files.contains(&option) => self.known_file(name, &field, unit),
                FlowArgument::Known(field) => {
                    for file in behind_mark(&field.text()) {
                        self.known_file(name, &ShellField::literal(&file), unit);
                    }
                }
            }
        }
    }

    /// `file:` addresses are files of this machine.
    fn address(&mut self, name: &str, text: &str, unit: &ProgramInvocation) {
        let value = text.strip_prefix("--url=").unwrap_or(text);
        let Some((scheme, rest)) = value.split_once(':') else { return };
        if !scheme.eq_ignore_ascii_case("file") && !scheme.contains(['{', '[']) {
            return;
        }
        let path = rest.trim_start_matches('/').split_once('/').filter(|_| !rest.starts_with("///"));
        // `file://localhost/x`; lists and percent signs stand for other characters.
        let path = path.filter(|(host, _)| *host == "localhost" || *host == "127.0.0.1").map_or(rest, |(_, path)| path);
        if value.contains(['%', '{', '[', '\\']) {
            return self.unknown(name, "its address holds a pattern");
        }
        self.known_file(name, &ShellField::literal(&format!("/{}", path.trim_start_matches('/'))), unit);
    }

    fn tar(&mut self, name: &str, arguments: &[FlowArgument], unit: &ProgramInvocation) {
        let words: Vec<Option<String>> = arguments.iter().map(FlowArgument::text).collect();
        let texts: Vec<&str> = words.iter().flatten().map(String::as_str).collect();
        let first = texts.first().copied().unwrap_or_default();
        let bundle = if first.starts_with('-') { "" } else { first };
        let short = |letter: char| {
            bundle.contains(letter)
                || texts.iter().any(|w| w.starts_with('-') && !w.starts_with("--") && w.contains(letter))
        };
        let long = |names: &[&str]| texts.iter().any(|word| names.iter().any(|name| word.starts_with(name)));
        let creates = short('c') || short('r') || short('u') || long(&["--c", "--app", "--up", "--concat"]);
        if words.iter().any(Option::is_none) {
            self.unknown(name, "a word of it is known only when it runs");
        }
        if creates && (short('T') || long(&["--files-from", "--files"])) {
            self.unknown(name, "the names come from a file");
        }
        let odd_exclusions = long(&["--anch", "--no-w", "--no-an", "--no-ig", "--wild", "--no-r"]);
        let mut excluded = Vec::new();
        let mut dir = None;
        let mut operands = Vec::new();
        let mut rest = arguments.iter().filter_map(FlowArgument::known).skip(usize::from(!bundle.is_empty()));
        // The values of a bundle without a dash are the next words.
        if bundle.contains('f') {
            operands.extend(rest.next().cloned().map(|archive| (archive, None)));
        }
        while let Some(field) = rest.next() {
            let text = field.text();
            if let Some(pattern) = text.strip_prefix("--exclude=") {
                excluded.push(pattern.to_owned());
            } else if text == "--exclude" {
                excluded.extend(rest.next().map(ShellField::text));
            } else if text == "-C" || text == "--directory" {
                dir = rest.next().cloned();
            } else if let Some(folder) = text.strip_prefix("--directory=").or(text.strip_prefix("-C")) {
                dir = Some(ShellField::literal(folder));
            } else if !text.starts_with('-') {
                operands.push((field.clone(), dir.clone()));
            }
        }
        if odd_exclusions {
            excluded.clear();
        }
        for (operand, dir) in operands {
            let place = dir.map_or(operand.clone(), |dir| {
                if operand.pattern().starts_with('/') {
                    return operand.clone();
                }
                ShellField::from_pattern(format!("{}/{}", dir.pattern().trim_end_matches('/'), operand.pattern()))
            });
            let walk = TreeWalk {
                exclude: excluded.clone(),
                exclude_dir: excluded.clone(),
                operand_text: operand.text(),
                ..TreeWalk::default()
            };
            let reach = if creates { ReadExtent::Tree(walk) } else { ReadExtent::File };
            self.add(name, &place, &reach, unit);
        }
    }

    /// Files that a script of sed or awk opens by itself.
    pub(super) fn script(&mut self, name: &str, script: &ShellField, unit: &ProgramInvocation) {
        let text = script.text();
        match name {
            "sed" | "gsed" => {
                for file in crate::shell::outputs::sed_files(&text, &['r', 'R']) {
                    self.known_file(name, &ShellField::literal(&file), unit);
                }
            }
            "awk" | "gawk" | "mawk" | "nawk" if text.contains("getline") || text.contains("ARGV") => {
                self.unknown(name, "its script opens files by itself");
            }
            _ => {}
        }
    }

    /// What a program that prints names would name; `None` when that is not known.
    pub(super) fn names_from(
        &self,
        range: &Range<usize>,
        reader: &ProgramInvocation,
        depth: u32,
    ) -> Option<Vec<ReadTarget>> {
        let units = self.flow.invocations.get(range.clone()).filter(|_| depth < 8)?;
        let unit = units.last()?;
        let name = unit.words.first().and_then(FlowArgument::text)?;
        let name = base_name(&name);
        let arguments = &unit.words[1..];
        let fed = match &unit.input {
            StdinSource::Pipe(range) => Some(range),
            StdinSource::Inherited | StdinSource::Text(_) | StdinSource::Unknown(_) | StdinSource::File => None,
        };
        let mut inner = ReadPlanner { flow: self.flow, out: crate::reads::ReadPlan::default() };
        // The reader opens names relative to its own directory, not to that of the program that printed them.
        if unit.dirs != reader.dirs && !matches!(name, "echo" | "printf") {
            return None;
        }
        let unit = &ProgramInvocation { dirs: reader.dirs.clone(), ..unit.clone() };
        match name {
            _ if SELECTING.contains(&name) && fed.is_some() => return self.names_from(fed?, reader, depth + 1),
            "find" => {
                let mut found = find::read(arguments);
                found.walk.names_only = false;
                if found.unknown {
                    return None;
                }
                for root in &found.roots {
                    let walk = TreeWalk { operand_text: root.text(), ..found.walk.clone() };
                    inner.add(name, root, &ReadExtent::Tree(walk), unit);
                }
            }
            "grep" | "egrep" | "fgrep" | "rg" => inner.program(name, arguments, unit),
            "git" | "fd" | "fdfind" => {
                let walk = TreeWalk { ignores: true, operand_text: ".".into(), ..TreeWalk::default() };
                inner.add(name, &ShellField::literal("."), &ReadExtent::Tree(walk), unit);
            }
            "ls" => {
                let folders: Vec<ShellField> = arguments
                    .iter()
                    .filter_map(FlowArgument::known)
                    .filter(|f| !f.text().starts_with('-'))
                    .cloned()
                    .collect();
                let folders = if folders.is_empty() { vec![ShellField::literal(".")] } else { folders };
                for folder in folders {
                    let walk = TreeWalk { depth: Some(1), operand_text: folder.text(), ..TreeWalk::default() };
                    inner.add(name, &folder, &ReadExtent::Tree(walk), unit);
                }
            }
            "echo" | "printf" => {
                for arg in arguments {
                    let field = arg.known()?;
                    // Lines and escapes inside a word make several names of it.
                    let text = field.text();
                    if !field.is_pattern() && text.contains(['\n', '\\', '%', ' ']) {
                        let plain = text.replace("%s", "").replace("\\n", "\n");
                        if plain.contains(['\\', '%']) {
                            return None;
                        }
                        plain
                            .split_whitespace()
                            .for_each(|name| inner.known_file("echo", &ShellField::literal(name), unit));
                    }
                    inner.known_file(name, field, unit);
                }
            }
            _ => return None,
        }
        inner.out.unknown.is_none().then_some(inner.out.targets)
    }
}

/// `cpio -o` and `cpio -p`: names come in, contents go out.
fn packs(option: &str) -> bool {
    let letters = option.starts_with('-') && !option.starts_with("--") && option.contains(['o', 'p']);
    letters || option.starts_with("--c") || option.starts_with("--pass")
}

fn is_option(arg: &FlowArgument) -> bool {
    arg.text().is_some_and(|text| text.starts_with('-') && text.len() > 1)
}

/// The values of these options, in the same word or the next.
pub(super) fn values_of(arguments: &[FlowArgument], options: &[&str]) -> Vec<FlowArgument> {
    let mut found = Vec::new();
    for (at, arg) in arguments.iter().enumerate() {
        let Some(text) = arg.text() else { continue };
        let inline = options.iter().find_map(|option| match option.strip_prefix("--") {
            Some(_) => text.strip_prefix(option)?.strip_prefix('='),
            None => text.strip_prefix(option).filter(|rest| !rest.is_empty()),
        });
        if let Some(value) = inline {
            found.push(FlowArgument::Known(ShellField::literal(value)));
        } else if options.contains(&text.as_str()) {
            found.extend(arguments.get(at + 1).cloned());
        }
    }
    found
}

/// The option a word begins with, and a value in the same word.
fn option_of<'a>(text: &str, files: &[&'a str], data: &[&'a str]) -> (Option<&'a str>, Option<String>) {
    let all = || files.iter().chain(data).copied();
    if text.starts_with("--") {
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let exact = all().find(|known| *known == name);
        let option = exact.or_else(|| all().find(|known| name.len() > 4 && known.starts_with(name)));
        return (option, value.map(str::to_owned));
    }
    let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) else { return (None, None) };
    for (at, letter) in letters.char_indices() {
        let option = all().find(|known| known.len() == 2 && known.ends_with(letter));
        if let Some(option) = option {
            let value = &letters[at + letter.len_utf8()..];
            return (Some(option), (!value.is_empty()).then(|| value.to_owned()));
        }
    }
    (None, None)
}

/// Files in `@file`, `name@file`, `name=@file;type=x`, `name=<file`.
fn behind_mark(text: &str) -> Vec<String> {
    let mut files = Vec::new();
    for (at, c) in text.char_indices() {
        let before = text[..at].chars().next_back();
        if (c == '@' && before.is_none_or(|c| c == '=' || c.is_ascii_alphanumeric()))
            || (c == '<' && before == Some('='))
        {
            let file = &text[at + 1..];
            files.push(file.split([';', ',']).next().unwrap_or(file).to_owned());
            files.push(file.to_owned());
        }
    }
    files
}
