//! What substitutions and pipes yield, where the text of the command tells it.

use super::walk::FlowWalker;
use super::words::VariableValue;
use super::{FlowArgument, ShellField, StdinSource, TextOrigin};
use crate::shell::suspects::ansi_c;
use std::ops::Range;

/// Text that some invocations print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PrintedText {
    Text(String),
    Unknown(TextOrigin),
}

/// Programs that pass on what they read, line by line or changed.
#[rustfmt::skip]
const FILTERS: &[&str] = &[
    "base64", "base32", "tr", "rev", "sed", "awk", "gawk", "cut", "xxd", "openssl", "gunzip", "gzip", "zcat", "bzip2", "xz", "head",
    "tail", "sort", "uniq", "fold", "tac", "paste", "column", "od", "uudecode", "perl", "python", "python3", "ruby", "node", "iconv",
    "expand", "printf", "echo", "grep", "rot13", "envsubst", "bc", "dc", "jq", "nl", "shuf", "basenc",
];

impl FlowWalker<'_> {
    pub(super) fn substitution(&mut self, text: &str) -> VariableValue {
        let stdin = self.stdin.clone();
        let printed = self.in_subshell(|this| this.run_text(text));
        self.stdin = stdin;
        if let Some(value) = self.well_known(&printed) {
            return value;
        }
        match self.printed(&printed, 0) {
            PrintedText::Text(text) => VariableValue::of([ShellField::literal(text.trim_end_matches('\n'))]),
            PrintedText::Unknown(origin) => VariableValue::unknown(origin),
        }
    }

    /// Programs whose output is a name of a known kind.
    fn well_known(&self, printed: &Range<usize>) -> Option<VariableValue> {
        let [only] = self.flow.invocations.get(printed.clone())? else { return None };
        let words: Vec<String> = only.words.iter().map(|word| word.text().unwrap_or_default()).collect();
        let (name, arguments) = words.split_first()?;
        let known = only.words.iter().all(|word| word.known().is_some());
        let plain = |word: &String| !word.contains('/');
        match name.as_str() {
            "pwd" => {
                Some(VariableValue::from_args(&only.dirs.iter().map(|dir| as_arg(dir.as_ref())).collect::<Vec<_>>()))
            }
            "mktemp" if known => Some(VariableValue::of([ShellField::literal(&mktemp_path(arguments))])),
            "seq" if known => Some(VariableValue::of([ShellField::from_pattern("[0-9]*")])),
            "date" if arguments.iter().all(plain) => Some(VariableValue::of([ShellField::from_pattern("*")])),
            "whoami" | "hostname" | "uname" | "nproc" | "id" | "arch" | "basename" => {
                Some(VariableValue::of([ShellField::from_pattern("*")]))
            }
            "expr" => Some(VariableValue::number()),
            _ => None,
        }
    }

    /// What the last of these invocations prints.
    pub(super) fn printed(&self, range: &Range<usize>, depth: u32) -> PrintedText {
        let Some(invocations) = self.flow.invocations.get(range.clone()) else {
            return PrintedText::Unknown(TextOrigin::Outside);
        };
        // Several commands print one after the other; a pipe shows what its last part makes of the others.
        let mut text = String::new();
        let fed: Vec<&Range<usize>> = invocations
            .iter()
            .filter_map(|unit| match &unit.input {
                StdinSource::Pipe(from) => Some(from),
                StdinSource::Inherited | StdinSource::Text(_) | StdinSource::Unknown(_) | StdinSource::File => None,
            })
            .collect();
        for (offset, unit) in invocations.iter().enumerate() {
            let at = range.start + offset;
            if fed.iter().any(|range| range.contains(&at)) {
                continue;
            }
            match self.prints(unit, depth) {
                PrintedText::Text(more) => text.push_str(&more),
                unknown @ PrintedText::Unknown(_) => return unknown,
            }
        }
        PrintedText::Text(text)
    }

    fn prints(&self, unit: &super::ProgramInvocation, depth: u32) -> PrintedText {
        let words: Option<Vec<String>> = unit.words.iter().map(FlowArgument::text).collect();
        let name = unit.words.first().and_then(FlowArgument::text).unwrap_or_default();
        let name = crate::shell::wrapper::base_name(&name);
        let input = || match &unit.input {
            _ if depth > 20 => PrintedText::Unknown(TextOrigin::Outside),
            StdinSource::Text(text) => PrintedText::Text(format!("{text}\n")),
            StdinSource::Pipe(range) => self.printed(range, depth + 1),
            StdinSource::Unknown(_) => PrintedText::Unknown(TextOrigin::Transformed),
            StdinSource::Inherited | StdinSource::File => PrintedText::Unknown(TextOrigin::Outside),
        };
        let made_here = || match input() {
            PrintedText::Text(_) | PrintedText::Unknown(TextOrigin::Transformed) => {
                PrintedText::Unknown(TextOrigin::Transformed)
            }
            PrintedText::Unknown(TextOrigin::Outside) => PrintedText::Unknown(TextOrigin::Outside),
        };
        match (name, words) {
            ("echo", Some(words)) => PrintedText::Text(echo_output(&words[1..])),
            ("printf", Some(words)) => match printf_output(&words[1..]) {
                Some(text) => PrintedText::Text(text),
                None => PrintedText::Unknown(TextOrigin::Transformed),
            },
            ("cat" | "tee", Some(words)) if words.len() == 1 || words[1..] == ["-"] => input(),
            ("true" | ":" | "cd" | "export" | "set" | "unset" | "local" | "declare", _) => {
                PrintedText::Text(String::new())
            }
            // A text of this command, with parts that are not known.
            ("echo" | "printf", None) => PrintedText::Unknown(TextOrigin::Transformed),
            // Words of the command that come out changed: `base64 -d <<< …`, `echo … | rev`.
            (filter, _) if FILTERS.contains(&filter) => made_here(),
            _ => PrintedText::Unknown(TextOrigin::Outside),
        }
    }
}

fn as_arg(dir: Option<&ShellField>) -> FlowArgument {
    dir.cloned().map_or(FlowArgument::Unknown(TextOrigin::Outside), FlowArgument::Known)
}

/// Where `mktemp` makes something, roughly: its folder counts.
fn mktemp_path(arguments: &[String]) -> String {
    let mut folder = "/tmp".to_owned();
    let mut template = None;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-p" => folder = words.next().cloned().unwrap_or(folder),
            word if word.starts_with("--tmpdir=") => word["--tmpdir=".len()..].clone_into(&mut folder),
            word if word.starts_with('-') => {}
            word => template = Some(word.to_owned()),
        }
    }
    let in_folder = arguments.iter().any(|word| word.starts_with("-p") || word.starts_with("--tmpdir") || word == "-t");
    match template {
        Some(template) if in_folder => format!("{folder}/{template}"),
        Some(template) => template,
        None => format!("{folder}/tmp.x"),
    }
}

fn echo_output(words: &[String]) -> String {
    let options = |word: &&String| {
        word.len() > 1 && word.strip_prefix('-').is_some_and(|rest| rest.chars().all(|c| matches!(c, 'n' | 'e' | 'E')))
    };
    let count = words.iter().take_while(options).count();
    let text = words[count..].join(" ");
    if words[..count].iter().any(|word| word.contains('e')) { escapes(&text) } else { format!("{text}\n") }
}

/// Escapes of `printf` and `echo -e`, those that name a character by number included.
fn escapes(text: &str) -> String {
    let text = text.replace("\\n", "\n").replace("\\t", "\t");
    ansi_c(&text)
}

/// `printf` with `%s` only.
fn printf_output(words: &[String]) -> Option<String> {
    let (format, mut values) = words.split_first()?;
    if format.starts_with('-') && format != "--" {
        return None;
    }
    let (format, rest) = if format == "--" { values.split_first()? } else { (format, values) };
    values = rest;
    let format = escapes(&format.replace("%%", "\u{1}"));
    let slots = format.matches("%s").count();
    if format.replace("%s", "").contains('%') {
        return None;
    }
    let mut out = String::new();
    let mut values = values.iter();
    loop {
        for (index, part) in format.split("%s").enumerate() {
            if index > 0 {
                out.push_str(values.next().map(String::as_str).unwrap_or_default());
            }
            out.push_str(part);
        }
        if slots == 0 || values.len() == 0 || out.len() > 10_000 {
            return Some(out.replace('\u{1}', "%"));
        }
    }
}
