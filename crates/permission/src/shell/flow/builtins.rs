//! Commands that change what the shell knows, or run text as code.

use super::output::PrintedText;
use super::renames::ProgramAlias;
use super::walk::FlowWalker;
use super::words::VariableValue;
use super::{FlowArgument, ShellField, StdinSource, TextOrigin};

const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "ksh", "ash", "fish"];

impl FlowWalker<'_> {
    /// What the invocation at `at` changes for those behind it.
    pub(super) fn builtin(&mut self, at: usize) {
        let Some(unit) = self.flow.invocations.get(at).cloned() else { return };
        let entered = unit.dirs != self.state.dirs;
        let before = std::mem::replace(&mut self.state.dirs, unit.dirs.clone());
        for (name, arguments) in unit.programs() {
            match name.as_str() {
                "cd" | "pushd" | "chdir" => self.enter(arguments, &unit.assigned),
                "popd" => self.stand_in(vec![None]),
                "eval" => self.eval(arguments),
                "trap" | "alias" => {
                    self.defers = true;
                    if name == "alias" {
                        self.add_aliases(arguments);
                    }
                    let texts: Vec<String> = arguments.iter().filter_map(FlowArgument::text).collect();
                    for text in texts {
                        let code = text.split_once('=').map_or(text.as_str(), |(_, code)| code).to_owned();
                        self.in_subshell(|this| this.run_text(&code));
                    }
                }
                "read" | "mapfile" | "readarray" | "getopts" => self.read_into(arguments, &unit.input),
                "printf" => {
                    self.printed_into(arguments);
                }
                "unset" => {
                    for name in arguments.iter().filter_map(FlowArgument::text).filter(|name| !name.starts_with('-')) {
                        self.assign(name, VariableValue::empty());
                    }
                }
                "hash" => self.add_hashed(arguments),
                "let" => arguments.iter().filter_map(FlowArgument::text).for_each(|text| self.arithmetic(&text)),
                "shopt" | "setopt" | "set" | "unsetopt" | "emulate" => {
                    let texts: Vec<String> = arguments.iter().filter_map(FlowArgument::text).collect();
                    self.flow.odd_patterns |= !only_strict(&name, &texts);
                }
                "xargs" => self.replaced_names(arguments, &unit),
                "env" | "watch" | "ssh" | "su" | "flock" | "script" => self.inner_texts(arguments),
                shell if SHELLS.contains(&shell) => self.shell(arguments, &unit.input),
                "source" | "." => self.source(arguments, &unit.input),
                _ => {}
            }
        }
        if entered {
            self.state.dirs = before;
        }
    }

    /// A word of `export`, `declare` and their relatives that the grammar does not take for an assignment.
    pub(super) fn declare(&mut self, raw: &str, words: &[FlowArgument]) {
        let plain = raw.trim_start_matches(['"', '\'']);
        let end = plain.find(|c: char| c != '_' && !c.is_ascii_alphanumeric()).unwrap_or(plain.len());
        for word in words {
            match word.text() {
                // References and changed letters make one name stand for another, or one text for another.
                Some(text) if text.starts_with(['-', '+']) => {
                    self.is_confused |= text.contains(['n', 'u', 'l', 'c']);
                }
                Some(text) => {
                    if let Some((name, value)) = text.split_once('=') {
                        let name = name.trim_end_matches('+').split('[').next().unwrap_or_default().to_owned();
                        self.set(vec![(name, VariableValue::of([ShellField::literal(value)]), false)]);
                    }
                }
                None if end > 0 && plain[end..].starts_with('=') => {
                    self.set(vec![(plain[..end].to_owned(), VariableValue::unknown(TextOrigin::Outside), false)]);
                }
                None => self.is_confused = true,
            }
        }
    }

    fn printed_into(&mut self, arguments: &[FlowArgument]) {
        let Some(flag) = arguments.first() else { return };
        let Some(text) = flag.text() else {
            self.is_confused = true;
            return;
        };
        let Some(attached) = text.strip_prefix("-v") else { return };
        let name =
            if attached.is_empty() { arguments.get(1).and_then(FlowArgument::text) } else { Some(attached.into()) };
        match name {
            Some(name) => self.set(vec![(name, VariableValue::unknown(TextOrigin::Transformed), false)]),
            None => self.is_confused = true,
        }
    }

    fn add_aliases(&mut self, arguments: &[FlowArgument]) {
        for argument in arguments {
            match argument.text() {
                Some(text) => {
                    if let Some((name, value)) = text.split_once('=') {
                        self.rename(name, value);
                    }
                }
                None => self.flow.hidden_code = true,
            }
        }
    }

    /// `hash -p /bin/rm r`, and `hash r=/bin/rm` of zsh.
    fn add_hashed(&mut self, arguments: &[FlowArgument]) {
        let texts: Vec<String> = arguments.iter().map(|arg| arg.text().unwrap_or_default()).collect();
        if let Some(at) = texts.iter().position(|text| text.starts_with("-p")) {
            let (path, names) = if texts[at].len() > 2 {
                (texts[at][2..].to_owned(), &texts[at + 1..])
            } else {
                (texts.get(at + 1).cloned().unwrap_or_default(), texts.get(at + 2..).unwrap_or_default())
            };
            for name in names {
                self.rename(name, &path);
            }
        }
        for (name, path) in texts.iter().filter_map(|text| text.split_once('=')) {
            self.rename(name, path);
        }
        self.flow.hidden_code |= arguments.iter().any(|arg| arg.text().is_none());
    }

    /// Elements of the arrays in which shells keep aliases and found programs.
    pub(super) fn rename_by_element(
        &mut self,
        array: &str,
        index: &[FlowArgument],
        assignment: &brush_parser::ast::Assignment,
    ) {
        const ARRAYS: &[&str] = &["BASH_ALIASES", "BASH_CMDS", "aliases", "galiases", "commands", "functions"];
        if !ARRAYS.contains(&array) {
            return;
        }
        let brush_parser::ast::AssignmentValue::Scalar(value) = &assignment.value else {
            self.flow.hidden_code = true;
            return;
        };
        let value = self.value(&value.value);
        match (index.first().and_then(FlowArgument::text), value.texts.as_slice(), value.unknown) {
            (Some(name), [text], None) => self.rename(&name, &text.text()),
            _ => self.flow.hidden_code = true,
        }
    }

    fn rename(&mut self, name: &str, text: &str) {
        if text.contains([';', '|', '&', '$', '`', '(', '<', '>', '\n']) {
            // What is written behind the name goes to the last command of the text.
            self.flow.hidden_code = true;
        }
        let words = text.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
        let words = words.map(|word| FlowArgument::Known(ShellField::literal(word))).collect();
        self.renamed.push(ProgramAlias { name: name.to_owned(), words });
    }

    /// `assigned`: variables that are set for this call only.
    fn enter(&mut self, arguments: &[FlowArgument], assigned: &[String]) {
        // With `CDPATH` a plain name is looked up in other folders first. What the user has there is unset before a command.
        let is_set = self.is_confused || self.state.variables.contains_key("CDPATH");
        let looks_elsewhere = is_set || assigned.iter().any(|name| name == "CDPATH");
        let is_plain = |text: &str| !matches!(text.split('/').next(), None | Some("" | "." | ".." | "~"));
        let target = arguments.iter().find(|arg| arg.text().is_none_or(|text| text == "-" || !text.starts_with('-')));
        let home = FlowArgument::Known(ShellField::literal("~"));
        let dirs = match target.unwrap_or(&home) {
            FlowArgument::Known(field) if field.text() == "-" => vec![None],
            FlowArgument::Known(field) if looks_elsewhere && is_plain(&field.text()) => vec![None],
            FlowArgument::Known(field) if target.is_none() || field.is_empty() => {
                let home = self.variable("HOME");
                if home.unknown.is_some() { vec![None] } else { home.texts.into_iter().map(Some).collect() }
            }
            FlowArgument::Known(field) => {
                let from = |dir: &Option<ShellField>| dir.as_ref().and_then(|dir| field.seen_from(dir, dir));
                self.state.dirs.iter().map(from).collect()
            }
            FlowArgument::Unknown(_) => vec![None],
        };
        self.stand_in(dirs);
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
        self.is_confused |= arguments.iter().any(|arg| arg.text().is_none());
        let mut names: Vec<String> =
            arguments.iter().filter_map(FlowArgument::text).filter(|name| !name.starts_with('-')).collect();
        names.extend(["REPLY".into(), "MAPFILE".into()]);
        // Words of one line are spread over the names.
        let value = if names.len() > 3 { parts_of(&value) } else { value };
        self.set(names.into_iter().map(|name| (name, value.clone(), false)).collect());
    }

    /// Programs that hand a text to a shell: `env -S`, `xargs sh -c` are found by their words.
    fn inner_texts(&mut self, arguments: &[FlowArgument]) {
        let is_code = |text: &String| text.contains([' ', ';', '|', '&']);
        let texts: Vec<String> = arguments.iter().filter_map(FlowArgument::text).filter(is_code).collect();
        for text in texts {
            let code = text.split_once("string=").map_or(text.as_str(), |(_, code)| code).to_owned();
            self.in_subshell(|this| this.run_text(&code));
        }
    }

    /// `xargs -I{} sh -c 'cat {}'`: what is put into a text is part of it.
    fn replaced_names(&mut self, arguments: &[FlowArgument], unit: &super::ProgramInvocation) {
        let texts: Vec<String> = arguments.iter().map(|arg| arg.text().unwrap_or_default()).collect();
        let mut mark = None;
        for (at, text) in texts.iter().enumerate() {
            match text.strip_prefix("-I").or_else(|| text.strip_prefix("--replace=")) {
                Some("") => mark = texts.get(at + 1).cloned(),
                Some(inline) => mark = Some(inline.to_owned()),
                None if matches!(text.as_str(), "-i" | "--replace") => mark = Some("{}".into()),
                None => {}
            }
        }
        let Some(mark) = mark.filter(|mark| !mark.is_empty()) else { return };
        let lines = match &unit.input {
            StdinSource::Text(text) => Some(text.clone()),
            StdinSource::Pipe(range) => match self.printed(range, 0) {
                PrintedText::Text(text) => Some(text),
                PrintedText::Unknown(_) => None,
            },
            StdinSource::Inherited | StdinSource::Unknown(_) | StdinSource::File => None,
        };
        let is_text = |text: &&String| text.contains(&mark) && **text != mark;
        for code in texts.iter().filter(is_text) {
            if let Some(lines) = &lines {
                for line in lines.lines().take(super::MAX_VALUES) {
                    let code = code.replace(&mark, line);
                    self.in_subshell(|this| this.run_text(&code));
                }
            } else {
                // The value of a variable that the command did not set is unknown.
                let code = code.replace(&mark, "\"$unknown_name_of_xargs\"");
                self.in_subshell(|this| this.run_text(&code));
            }
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
            Some(super::SUBSTITUTED) => {
                let stream = self.stream.clone().map_or(StdinSource::File, StdinSource::Pipe);
                self.code_from(&stream);
            }
            Some(_) => {}
        }
    }

    fn source(&mut self, arguments: &[FlowArgument], input: &StdinSource) {
        match arguments.first().and_then(FlowArgument::text).as_deref() {
            Some("/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0") => self.code_from(input),
            Some(super::SUBSTITUTED) => {
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
