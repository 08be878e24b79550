//! Programs whose reads are known: which of their words are files, folders to go through, patterns or options. Anything in
//! doubt counts as a file that is opened. What is not in the tables is not judged here.

use super::flow::{CommandFlow, FlowArgument, ProgramInvocation, ShellField, StdinSource};
use crate::reads::{ReadExtent, ReadPlan, ReadTarget, TreeWalk};

mod find;
mod git;
mod options;
mod special;
mod tables;

use options::ReaderOptions;
use tables::{ReaderOperands, ReadingProgram};

/// Everything the command would read.
pub(crate) fn plan(flow: &CommandFlow) -> ReadPlan {
    let mut plan = ReadPlanner { flow, out: ReadPlan::default() };
    for unit in &flow.invocations {
        for word in &unit.reads {
            plan.file("a redirection", word, unit);
        }
        for (name, arguments) in unit.programs() {
            plan.program(&name, arguments, unit);
        }
    }
    let mut out = plan.out;
    if flow.odd_patterns && out.targets.iter().any(|target| ShellField::from_pattern(&target.pattern).is_pattern()) {
        out.unknown.get_or_insert_with(|| "an option of the shell changes what patterns stand for".into());
    }
    let mut seen = Vec::new();
    out.targets.retain(|target| {
        let new = !seen.contains(target);
        if new {
            seen.push(target.clone());
        }
        new
    });
    out
}

/// Whether the reads of a program of this name are known.
pub(crate) fn is_modelled(program: &str) -> bool {
    tables::find(program).is_some() || special::is_known(program)
}

struct ReadPlanner<'a> {
    flow: &'a CommandFlow,
    out: ReadPlan,
}

impl ReadPlanner<'_> {
    fn program(&mut self, name: &str, arguments: &[FlowArgument], unit: &ProgramInvocation) {
        if self.special(name, arguments, unit) {
            return;
        }
        let Some(reader) = tables::find(name) else { return };
        if options::is_informational(reader, arguments) && !is_fed(unit, name) {
            return;
        }
        let options = ReaderOptions::read(reader, arguments);
        if options.names_only {
            return;
        }
        if options.unknown_word {
            self.unknown(name, "a word of it is known only when it runs");
        }
        if options.lists_files {
            self.unknown(name, "the names come from a file");
        }
        let config = |variable: &String| matches!(variable.as_str(), "RIPGREP_CONFIG_PATH" | "GREP_OPTIONS");
        if unit.assigned.iter().any(config) {
            self.unknown(name, "a variable changes its options");
        }
        for file in &options.files {
            self.known_file(name, file, unit);
        }
        let mut operands = options.operands.as_slice();
        let skips = matches!(reader.operands, ReaderOperands::PatternThenFiles) && !options.pattern_given;
        if skips && let Some((script, rest)) = operands.split_first() {
            self.script(name, script, unit);
            operands = rest;
        }
        for script in &options.scripts {
            self.script(name, script, unit);
        }
        if matches!(reader.operands, ReaderOperands::Sources) && !options.target_given {
            operands = operands.split_last().map_or(operands, |(_, sources)| sources);
        }
        let walk = Self::tree(reader, &options);
        if operands.is_empty() {
            self.without_operands(name, walk.clone(), unit);
        }
        for operand in operands {
            self.operand(name, operand, walk.clone(), unit);
        }
    }

    /// A searching program without operands goes through the directory, unless it is fed.
    fn without_operands(&mut self, name: &str, walk: Option<TreeWalk>, unit: &ProgramInvocation) {
        let piped = matches!(
            unit.input,
            StdinSource::Pipe(_) | StdinSource::Text(_) | StdinSource::File | StdinSource::Unknown(_)
        );
        let from_xargs = is_fed(unit, name);
        match walk {
            _ if from_xargs => self.add_appended_names(name, unit),
            Some(_) if matches!(name, "7z" | "7za" | "7zz" | "pax" | "aws") => {}
            Some(walk) if !(piped && matches!(name, "rg" | "ack" | "ag" | "ugrep" | "ug")) => {
                self.operand(name, &ShellField::literal("."), Some(walk), unit);
            }
            Some(_) | None => {}
        }
    }

    fn operand(&mut self, name: &str, operand: &ShellField, walk: Option<TreeWalk>, unit: &ProgramInvocation) {
        if is_fed(unit, name) {
            self.add_appended_names(name, unit);
        }
        let text = operand.text();
        if matches!(text.as_str(), "-" | "" | "{}" | ";" | "+" | "\\;") {
            return;
        }
        let remote = matches!(name, "scp" | "rsync") && text.split('/').next().is_some_and(|host| host.contains(':'));
        if remote {
            return;
        }
        let reach = match walk {
            Some(walk) => ReadExtent::Tree(TreeWalk { operand_text: text, ..walk }),
            None if matches!(name, "ls" | "dir" | "vdir") => ReadExtent::Listing,
            None => ReadExtent::File,
        };
        self.add(name, operand, &reach, unit);
    }

    fn add(&mut self, program: &str, field: &ShellField, reach: &ReadExtent, unit: &ProgramInvocation) {
        for place in unit.opened(field) {
            let Some(place) = place else {
                self.unknown(program, "where that leads is known only when it runs");
                continue;
            };
            if field.text() == super::flow::SUBSTITUTED {
                continue;
            }
            // What an open descriptor holds was judged when it was opened; a folder behind one may be gone through.
            if place.is_descriptor() && matches!(reach, ReadExtent::Tree(_) | ReadExtent::Listing) {
                self.unknown(program, "where a descriptor leads is known only when it runs");
                continue;
            }
            if place.is_descriptor() || place.pattern().starts_with("/dev/") {
                continue;
            }
            let mut reach = reach.clone();
            if let ReadExtent::Tree(walk) = &mut reach {
                walk.dir = unit.dirs.iter().flatten().next().map(ShellField::fixed).unwrap_or_default();
            }
            let target = ReadTarget { program: program.to_owned(), pattern: place.pattern().to_owned(), extent: reach };
            self.out.targets.push(target);
        }
    }

    /// A word that names a file for certain.
    fn file(&mut self, program: &str, word: &FlowArgument, unit: &ProgramInvocation) {
        match word {
            FlowArgument::Known(field) => self.known_file(program, field, unit),
            FlowArgument::Unknown(_) => self.unknown(program, "which file that is, is known only when it runs"),
        }
    }

    fn known_file(&mut self, program: &str, field: &ShellField, unit: &ProgramInvocation) {
        if !field.is_empty() {
            self.add(program, field, &ReadExtent::File, unit);
        }
    }

    fn unknown(&mut self, program: &str, why: &str) {
        self.out.unknown.get_or_insert_with(|| format!("what {program} would read is not known: {why}"));
    }

    /// Names that `xargs` or `find -exec` append.
    fn add_appended_names(&mut self, name: &str, unit: &ProgramInvocation) {
        let first = unit.words.first().and_then(FlowArgument::text).unwrap_or_default();
        if matches!(super::wrapper::base_name(&first), "find" | "fd" | "fdfind") {
            // The invocation of `find` itself says which files these are.
            return;
        }
        let StdinSource::Pipe(range) = &unit.input else {
            return self.unknown(name, "the names are read from somewhere");
        };
        let Some(names) = self.names_from(range, unit, 0) else {
            return self.unknown(name, "the names come from another program");
        };
        for mut target in names {
            if let ReadExtent::Tree(walk) = &mut target.extent {
                walk.names_links = true;
            }
            self.out.targets.push(ReadTarget { program: name.to_owned(), ..target });
        }
    }

    fn tree(reader: &ReadingProgram, options: &ReaderOptions) -> Option<TreeWalk> {
        let mut walk = TreeWalk {
            include: options.include.clone(),
            exclude: options.exclude.clone(),
            exclude_dir: options.exclude_dir.clone(),
            overrides: options.overrides.clone(),
            depth: options.depth,
            follows_links: options.follows,
            ..TreeWalk::default()
        };
        match reader.name {
            "rg" => {
                walk.ignores = options.unrestricted == 0;
                walk.skips_hidden = options.unrestricted < 2 && !options.hidden;
                Some(walk)
            }
            "zip" | "scp" => {
                walk.follows_links = true;
                options.recursive.then_some(walk)
            }
            "cp" | "grep" | "rsync" => options.recursive.then_some(walk),
            // One level even without the option.
            "diff" => {
                walk.depth = (!options.recursive).then_some(1);
                walk.follows_links = true;
                Some(walk)
            }
            // The searchers and packers have rules of their own about what they leave out.
            "mv" | "ln" | "ack" | "7z" | "pax" | "aws" => Some(walk),
            _ => None,
        }
    }
}

/// The files that the words of a searching program name, its pattern left out.
pub(crate) fn named_files(program: &str, arguments: &[String]) -> Vec<String> {
    let Some(reader) = tables::find(program) else { return Vec::new() };
    let words: Vec<FlowArgument> =
        arguments.iter().map(|word| FlowArgument::Known(ShellField::literal(word))).collect();
    let options = ReaderOptions::read(reader, &words);
    let skipped = usize::from(reader.operands == ReaderOperands::PatternThenFiles && !options.pattern_given);
    options.operands.iter().skip(skipped).chain(&options.files).map(ShellField::text).collect()
}

/// What a program that prints names would name to `unit`; `None` when that is not known.
pub(crate) fn fed_names(flow: &CommandFlow, unit: &ProgramInvocation) -> Option<Vec<ReadTarget>> {
    let StdinSource::Pipe(range) = &unit.input else { return None };
    ReadPlanner { flow, out: ReadPlan::default() }.names_from(range, unit, 0)
}

/// Whether something appends names to this program.
fn is_fed(unit: &ProgramInvocation, name: &str) -> bool {
    let mut before =
        unit.words.iter().filter_map(FlowArgument::text).take_while(|word| super::wrapper::base_name(word) != name);
    before.any(|word| matches!(super::wrapper::base_name(&word), "xargs" | "parallel" | "find" | "fd" | "fdfind"))
}

#[cfg(test)]
#[path = "readers/readers_tests.rs"]
mod tests;
