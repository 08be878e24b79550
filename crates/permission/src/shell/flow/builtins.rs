//! Commands that change what the shell knows, or run text as code.

use super::output::PrintedText;
use super::walk::FlowWalker;
use super::words::VariableValue;
use super::{FlowArgument, ShellField, StdinSource, TextOrigin};

const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "ksh", "ash", "fish"];

impl FlowWalker<'_> {
    /// What the invocation at `at` changes for those behind it.
    pub(super) fn builtin(&mut self, at: usize) {
        let Some(unit) = self.flow.invocations.get(at).cloned() else { return };
        for (name, arguments) in unit.programs() {
            match name.as_str() {
                "cd" | "pushd" | "chdir" => self.enter(arguments),
                "popd" => self.state.dirs = vec![None],
                "eval" => self.eval(arguments),
                "trap" | "alias" => {
                    let texts: Vec<String> = arguments.iter().filter_map(FlowArgument::text).collect();
                    for text in texts {
                        let code = text.split_once('=').map_or(text.as_str(), |(_, code)| code).to_owned();
                        self.in_subshell(|this| this.run_text(&code));
                    }
                }
                "read" | "mapfile" | "readarray" | "getopts" => self.read_into(arguments, &unit.input),
                "printf" => {
                    if let [flag, FlowArgument::Known(variable), ..] = arguments
                        && flag.text().as_deref() == Some("-v")
                    {
                        self.set(vec![(variable.text(), VariableValue::unknown(TextOrigin::Transformed), false)]);
                    }
                }
                "unset" => {
                    for name in arguments.iter().filter_map(FlowArgument::text).filter(|name| !name.starts_with('-')) {
                        self.state.variables.insert(name, VariableValue::empty());
                    }
                }
                "let" => arguments.iter().filter_map(FlowArgument::text).for_each(|text| self.arithmetic(&text)),
                "shopt" | "setopt" | "set" | "unsetopt" | "emulate" => {
                    let texts: Vec<String> = arguments.iter().filter_map(FlowArgument::text).collect();
                    self.flow.odd_patterns |= !only_strict(&name, &texts);
                }
                "env" | "xargs" | "parallel" | "find" | "watch" | "ssh" | "su" | "flock" | "script" => {
                    self.inner_texts(&name, arguments);
                }
                shell if SHELLS.contains(&shell) => self.shell(arguments, &unit.input),
                "source" | "." => self.source(arguments, &unit.input),
                _ => {}
            }
        }
    }

    fn enter(&mut self, arguments: &[FlowArgument]) {
        let target = arguments.iter().find(|arg| arg.text().is_none_or(|text| text == "-" || !text.starts_with('-')));
        let home = FlowArgument::Known(ShellField::literal("~"));
        self.state.dirs = match target.unwrap_or(&home) {
            FlowArgument::Known(field) if field.text() == "-" => vec![None],
            FlowArgument::Known(field) if target.is_none() || field.is_empty() => {
                let home = self.variable("HOME");
                if home.unknown.is_some() { vec![None] } else { home.texts.into_iter().map(Some).collect() }
            }
            FlowArgument::Known(field) => {
                let from = |dir: &Option<ShellField>| dir.as_ref().map(|dir| field.seen_from(dir, dir));
                self.state.dirs.iter().map(from).collect()
            }
            FlowArgument::Unknown(_) => vec![None],
        };
    }

    fn eval(&mut self, arguments: &[FlowArgument]) {
        if arguments.iter().any(|arg| matches!(arg, FlowArgument::Unknown(TextOrigin::Transformed))) {
            self.flow.hidden_code = true;
        }
        let texts: Option<Vec<String>> = arguments.iter().map(FlowArgument::text).collect();
        if let Some(texts) = texts {
            self.run_text(&texts.join(" "));
        }
    }

    fn read_into(&mut self, arguments: &[FlowArgument], input: &StdinSource) {
        let value = match input {
            StdinSource::Text(text) => VariableValue::of([ShellField::literal(text.trim_end())]),
            StdinSource::Pipe(range) => match self.printed(range, 0) {
                PrintedText::Text(text) => VariableValue::of(text.lines().map(ShellField::literal).collect::<Vec<_>>()),
                PrintedText::Unknown(origin) => VariableValue::unknown(origin),
            },
            StdinSource::Inherited | StdinSource::Unknown(_) | StdinSource::File => {
                VariableValue::unknown(TextOrigin::Outside)
            }
        };
        let mut names: Vec<String> =
            arguments.iter().filter_map(FlowArgument::text).filter(|name| !name.starts_with('-')).collect();
        names.extend(["REPLY".into(), "MAPFILE".into()]);
        // Words of one line are spread over the names.
        let value = if names.len() > 3 { parts_of(&value) } else { value };
        self.set(names.into_iter().map(|name| (name, value.clone(), false)).collect());
    }

    /// Programs that hand a text to a shell: `env -S`, `xargs sh -c` are found by their words.
    fn inner_texts(&mut self, name: &str, arguments: &[FlowArgument]) {
        if !matches!(name, "watch" | "ssh" | "su" | "flock" | "script" | "env") {
            return;
        }
        let is_code = |text: &String| text.contains([' ', ';', '|', '&']);
        let texts: Vec<String> = arguments.iter().filter_map(FlowArgument::text).filter(is_code).collect();
        for text in texts {
            let code = text.split_once("string=").map_or(text.as_str(), |(_, code)| code).to_owned();
            self.in_subshell(|this| this.run_text(&code));
        }
    }

    fn shell(&mut self, arguments: &[FlowArgument], input: &StdinSource) {
        let texts: Vec<Option<String>> = arguments.iter().map(FlowArgument::text).collect();
        let is_short = |text: &&Option<String>| {
            text.as_ref().is_some_and(|text| text.starts_with('-') && !text.starts_with("--") && text.contains('c'))
        };
        let odd = |text: &Option<String>| text.as_deref().is_some_and(|text| matches!(text, "-O" | "+O"));
        self.flow.odd_patterns |= texts.iter().any(odd);
        if let Some(at) = texts.iter().position(|text| is_short(&text)) {
            let code = arguments[at + 1..].iter().find(|arg| arg.text().is_none_or(|text| !text.starts_with('-')));
            match code {
                Some(FlowArgument::Known(field)) => {
                    let code = field.text();
                    self.in_subshell(|this| this.run_text(&code));
                }
                Some(FlowArgument::Unknown(origin)) => self.flow.hidden_code |= *origin == TextOrigin::Transformed,
                None => {}
            }
            return;
        }
        let file = texts.iter().flatten().find(|text| !text.starts_with('-'));
        match file.map(String::as_str) {
            None | Some("/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0") => self.code_from(input),
            Some("/dev/fd/63") => {
                let stream = self.stream.clone().map_or(StdinSource::File, StdinSource::Pipe);
                self.code_from(&stream);
            }
            Some(_) => {}
        }
    }

    fn source(&mut self, arguments: &[FlowArgument], input: &StdinSource) {
        match arguments.first().and_then(FlowArgument::text).as_deref() {
            Some("/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0") => self.code_from(input),
            Some("/dev/fd/63") => {
                let stream = self.stream.clone().map_or(StdinSource::File, StdinSource::Pipe);
                self.code_from(&stream);
            }
            Some(_) | None => {}
        }
    }

    /// A shell that reads its commands from somewhere.
    fn code_from(&mut self, input: &StdinSource) {
        let printed = match input {
            // Values that are not known stay unknown when the rest of the text is read as code.
            StdinSource::Text(text) | StdinSource::Unknown(text) => PrintedText::Text(text.clone()),
            StdinSource::Pipe(range) => self.printed(range, 0),
            StdinSource::Inherited | StdinSource::File => PrintedText::Unknown(TextOrigin::Outside),
        };
        match printed {
            PrintedText::Text(text) => {
                self.in_subshell(|this| this.run_text(&text));
            }
            PrintedText::Unknown(TextOrigin::Transformed) => self.flow.hidden_code = true,
            PrintedText::Unknown(TextOrigin::Outside) => {}
        }
    }
}

/// `set -euo pipefail` and `set -- a b` change nothing about names.
fn only_strict(name: &str, texts: &[String]) -> bool {
    let strict = |text: &String| {
        let letters = text.trim_start_matches(['-', '+']);
        matches!(letters, "pipefail" | "errexit" | "nounset" | "xtrace")
            || letters.chars().all(|c| "euxoEv".contains(c))
    };
    name == "set" && texts.iter().filter(|text| text.starts_with(['-', '+'])).all(strict)
}

fn parts_of(value: &VariableValue) -> VariableValue {
    let words: Vec<ShellField> = value
        .texts
        .iter()
        .flat_map(|text| text.text().split_whitespace().map(ShellField::literal).collect::<Vec<_>>())
        .collect();
    let mut parts = VariableValue::of(words);
    parts.unknown = value.unknown;
    parts
}
