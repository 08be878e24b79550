//! The authority: the whole command as `brush-parser` reads it. The strict units contain only syntax that is on the
//! list; anything else (expansions, substitutions, functions, arithmetic …) makes the reading opaque, but is still
//! walked so that deny and ask rules see the commands inside it.

mod compound;
mod redirects;

use super::expansion;
use super::late_binding::{self, LateFindings};
use super::script::{FileRedirect, OpaqueReason, ReadingStyle, ShellWord, SimpleCommand, SubstitutedText, UnitJoin};
use super::suspects::PossibleCommand;
use super::{constant, relaxed, variables, written};
use brush_parser::{ParserOptions, Token, ast};
use redirects::{copies_stream, is_input};

/// Substitutions inside substitutions are followed this deep; further down the command is opaque.
const MAX_DEPTH: u32 = 12;

/// The grammar tries alternatives at each level of nesting, so its cost doubles with every one.
const MAX_NESTING: usize = 8;
/// Expansions, which the tokenizer follows recursively.
const MAX_OPENERS: usize = 64;

/// What the parser made of a command.
#[derive(Debug, Default)]
pub(crate) struct ParsedCommand {
    pub(crate) units: Vec<SimpleCommand>,
    /// Every command found, in or out of the strict syntax.
    pub(crate) suspects: Vec<PossibleCommand>,
    /// The parts of the command as they are written, in order; what substitutions run belongs to the part around them.
    pub(crate) written: Vec<String>,
    /// Programs that print a text which the command holds: they are no units of their own.
    pub(crate) constant_programs: Vec<String>,
    /// A function is defined: names may mean something else.
    pub(crate) defines_function: bool,
    /// Bodies of here-documents with a quoted delimiter: data, not shell text.
    pub(crate) data: Vec<String>,
    /// The first thing that is not plain.
    pub(crate) opaque: Option<OpaqueReason>,
    /// Some text inside was not read to its end: the suspects are not all there are.
    pub(crate) incomplete: bool,
    /// Which program starts is decided only when it runs.
    pub(crate) is_late_bound: bool,
    /// Files that are run as part of the command.
    pub(crate) sourced: Vec<String>,
    /// Expressions that are computed, and variables that hold what the text does not show.
    pub(super) arithmetic: Vec<String>,
    pub(super) filled: Vec<String>,
}

/// Texts that the library must not be given.
pub(super) fn is_hard(text: &str) -> bool {
    has_huge_number(text) || expansion::openers(text) > MAX_OPENERS || has_empty_tag(text)
}

/// Whether the end of a here-document is an empty line: the library may look for it for ever.
fn has_empty_tag(text: &str) -> bool {
    const EMPTY: [&str; 4] = ["\r", "\u{c}", "''", "\"\""];
    text.contains("<<")
        && text.replace("\\\n", "").split("<<").skip(1).any(|rest| {
            let tag = rest.strip_prefix('-').unwrap_or(rest).trim_start_matches([' ', '\t']);
            EMPTY.iter().any(|empty| tag.starts_with(empty))
        })
}

pub(crate) fn parse(text: &str, style: ReadingStyle) -> Result<ParsedCommand, OpaqueReason> {
    if has_huge_number(text) {
        return Err("it has a number that is too long");
    }
    // The library gives up on some broken texts with a panic: no reason to take the session down with it.
    let read = || {
        let mut reader = GrammarReader {
            out: ParsedCommand::default(),
            options: ParserOptions::default(),
            depth: 0,
            scopes: 0,
            loops: Vec::new(),
            style,
            filled: Vec::new(),
            in_code: false,
        };
        reader.program(text, 0)?;
        let mut out = reader.out;
        out.is_late_bound |=
            out.arithmetic.iter().any(|expression| late_binding::is_computed_late(expression, &out.filled));
        Ok(out)
    };
    std::panic::catch_unwind(read).unwrap_or(Err("it cannot be parsed"))
}

/// `~99…9`, `{1..99…9}` and `99…9>`: the library reads these into machine numbers and panics where they do not fit.
fn has_huge_number(text: &str) -> bool {
    let joined = text.replace("\\\n", "");
    let before = |start: usize| joined[..start].ends_with(['~', '+', '-', '{', '.']);
    let after = |end: usize| joined[end..].starts_with(['<', '>']);
    joined.split(|c: char| !c.is_ascii_digit()).any(|run| {
        let start = run.as_ptr() as usize - joined.as_ptr() as usize;
        run.len() > 17 && before(start) || run.len() > 9 && after(start + run.len())
    })
}

pub(super) struct GrammarReader {
    pub(super) out: ParsedCommand,
    pub(super) options: ParserOptions,
    depth: u32,
    scopes: u32,
    /// Variables of the loops around what is read.
    loops: Vec<String>,
    pub(super) style: ReadingStyle,
    /// Variables that the command itself filled with text which is known only when it runs (relaxed reading).
    filled: Vec<String>,
    /// The text is run by a program of the command: its units are suspects only.
    in_code: bool,
}

/// The position of the next simple command.
#[derive(Clone, Copy)]
struct CommandPosition {
    join: UnitJoin,
    scope: u32,
    feeds: bool,
}

impl GrammarReader {
    fn program(&mut self, text: &str, scope: u32) -> Result<(), OpaqueReason> {
        if expansion::openers(text) > MAX_OPENERS {
            return Err("it has too many expansions");
        }
        if has_empty_tag(text) {
            return Err("it has a here-document without a name");
        }
        let tokens = brush_parser::uncached_tokenize_str(text, &self.options.tokenizer_options())
            .map_err(|_| "it cannot be parsed")?;
        if is_deep(&tokens) {
            return Err("it is nested too deeply");
        }
        let program = brush_parser::parse_tokens(&tokens, &self.options).map_err(|_| "it cannot be parsed")?;
        for list in &program.complete_commands {
            self.list(list, scope);
        }
        Ok(())
    }

    /// The first reason stays.
    pub(super) fn refuse(&mut self, why: OpaqueReason) {
        self.out.opaque.get_or_insert(why);
    }

    /// Text that the shell would run: never plain, its commands are suspects. In the relaxed reading they are units of their
    /// own. Returns the words of the only command in it, if there is one and its words are plain.
    pub(super) fn read_nested(&mut self, text: &str) -> Option<Vec<String>> {
        if self.style == ReadingStyle::Strict {
            self.refuse("it has a command substitution");
        }
        if self.depth >= MAX_DEPTH {
            self.out.incomplete = true;
            self.refuse("it is nested too deeply");
            return None;
        }
        let from = self.out.units.len();
        self.depth += 1;
        self.scopes += 1;
        // A broken inner text leaves its commands to the other readings.
        if self.program(text, self.scopes).is_err() {
            self.out.incomplete = true;
            self.refuse("it cannot be parsed");
        }
        self.depth -= 1;
        // The usual probe for a substitution that runs is asked about (SC-A04).
        if self.out.units[from..].iter().any(|unit| unit.words.first().is_some_and(|name| name.text == "id")) {
            self.refuse("it has a command substitution");
        }
        let is_plain = |word: &ShellWord| {
            !word.glob && !word.tilde && !word.matched && word.variables.is_empty() && word.substituted.is_none()
        };
        match &self.out.units[from..] {
            [only] if only.assignments.is_empty() && only.redirects.is_empty() && only.words.iter().all(is_plain) => {
                Some(only.words.iter().map(|word| word.text.clone()).collect())
            }
            _ => None,
        }
    }

    /// The text that a substitution prints, when the command itself holds it. Its program is a suspect like any other.
    pub(super) fn read_constant(&mut self, text: &str) -> Option<String> {
        let printed = constant::printed_document(text, &self.options).filter(|_| self.depth == 0)?;
        self.read_code(text);
        self.out.constant_programs.push("cat".to_owned());
        Some(printed)
    }

    fn record_findings(&mut self, findings: LateFindings) {
        self.out.is_late_bound |= findings.is_late_bound;
        self.out.sourced.extend(findings.sourced);
        self.out.arithmetic.extend(findings.arithmetic);
        self.out.filled.extend(findings.filled);
        for script in findings.scripts {
            self.read_code(&script);
        }
    }

    /// Text that a program of the command runs: its commands are suspects, the strict reading is not concerned.
    fn read_code(&mut self, text: &str) {
        let opaque = self.out.opaque;
        let outside = std::mem::replace(&mut self.in_code, true);
        self.depth += 1;
        self.out.is_late_bound |= self.depth >= MAX_DEPTH || self.program(text, 0).is_err();
        self.depth -= 1;
        self.in_code = outside;
        self.out.opaque = opaque;
    }

    fn list(&mut self, list: &ast::CompoundList, scope: u32) {
        for ast::CompoundListItem(and_or, _) in &list.0 {
            let join = if self.out.units.is_empty() { UnitJoin::First } else { UnitJoin::Then };
            self.pipeline(&and_or.first, CommandPosition { join, scope, feeds: false });
            for next in &and_or.additional {
                let (join, pipeline) = match next {
                    ast::AndOr::And(pipeline) => (UnitJoin::And, pipeline),
                    ast::AndOr::Or(pipeline) => (UnitJoin::Or, pipeline),
                };
                self.pipeline(pipeline, CommandPosition { join, scope, feeds: false });
            }
        }
    }

    fn inner_list(&mut self, list: &ast::CompoundList) {
        self.scopes += 1;
        self.list(list, self.scopes);
    }

    fn pipeline(&mut self, pipeline: &ast::Pipeline, at: CommandPosition) {
        for (index, command) in pipeline.seq.iter().enumerate() {
            let join = if index == 0 { at.join } else { UnitJoin::Pipe };
            self.command(command, CommandPosition { join, feeds: index + 1 < pipeline.seq.len(), ..at });
        }
    }

    fn command(&mut self, command: &ast::Command, at: CommandPosition) {
        match command {
            ast::Command::Simple(simple) => self.simple(simple, at),
            ast::Command::Compound(compound, redirects) => {
                self.compound(compound);
                self.loose_redirects(redirects.as_ref());
            }
            ast::Command::Function(function) => {
                self.refuse("it defines a function");
                self.out.defines_function = true;
                self.compound(&function.body.0);
                self.loose_redirects(function.body.1.as_ref());
            }
            ast::Command::ExtendedTest(test, redirects) => {
                self.note(|| written::test(&test.expr));
                self.plain_test(&test.expr, at);
                self.test(&test.expr);
                self.loose_redirects(redirects.as_ref());
            }
        }
    }

    /// Remembers a part as it is written, unless it is inside a substitution.
    fn note(&mut self, written: impl FnOnce() -> String) {
        if self.depth == 0 && !self.in_code {
            self.out.written.push(written());
        }
    }

    /// Adds a unit to the reading: in the strict one, commands inside substitutions are suspects only.
    fn push_unit(&mut self, unit: SimpleCommand) {
        if self.depth == 0 || (self.style == ReadingStyle::Relaxed && !self.in_code) {
            self.out.units.push(unit);
        }
    }

    pub(super) fn arithmetic(&mut self, text: &str) {
        if !variables::is_calculation(text) {
            self.refuse("it has arithmetic");
            self.out.arithmetic.push(text.to_owned());
        }
        expansion::walk(self, text);
    }

    fn simple(&mut self, simple: &ast::SimpleCommand, at: CommandPosition) {
        let written = written::simple(simple);
        self.note(|| written.clone());
        let mut unit = SimpleCommand { scope: at.scope, feeds: at.feeds, written, ..plain_unit(at.join) };
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            self.item(item, &mut unit, ItemPosition::Before);
        }
        let name = simple.word_or_name.as_ref().map(|word| self.word(word));
        unit.words.extend(name);
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            self.item(item, &mut unit, ItemPosition::After);
        }
        self.suspect(&unit);
        self.record_findings(late_binding::find_late_bound(&unit));
        if unit.words.is_empty() {
            self.only_assigns(simple, &unit);
            return;
        }
        if self.style == ReadingStyle::Relaxed {
            if unit.assignments.iter().any(|assignment| assignment.contains(['$', '`'])) {
                self.refuse("it sets a variable");
            }
            variables::make_unknown(&mut unit, &self.filled);
            if let Some(names) = relaxed::filled_by_read(&unit) {
                self.filled.extend(names);
                unit.words.truncate(1);
                unit.assignments.clear();
            }
        }
        self.push_unit(unit);
    }

    /// `name=value` without a program: refused, except for ordinary variables in the relaxed reading.
    fn only_assigns(&mut self, simple: &ast::SimpleCommand, unit: &SimpleCommand) {
        if unit.assignments.is_empty() {
            // `$(< file)` is the content of the file.
            let only_reads = unit.redirects.len() == 1 && !unit.redirects[0].writes && !unit.merges_errors;
            if self.style == ReadingStyle::Relaxed && self.depth > 0 && only_reads {
                let read =
                    SimpleCommand { scope: unit.scope, join: unit.join, ..reads_only(unit.redirects[0].clone()) };
                return self.push_unit(read);
            }
            return self.refuse("it only redirects");
        }
        let mut names = Vec::new();
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            let ast::CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) = item else {
                return self.refuse("it sets a variable");
            };
            match (&assignment.name, &assignment.value) {
                (ast::AssignmentName::VariableName(name), ast::AssignmentValue::Scalar(_))
                    if !assignment.append && variables::is_ordinary(name) && !self.loops.contains(name) =>
                {
                    names.push(name.clone());
                }
                _ => return self.refuse("it sets a variable"),
            }
        }
        // An unquoted use of the value would be matched against file names.
        let lists_folder = unit.assignments.iter().any(|assignment| assignment.contains(['*', '?', '[']));
        if self.style == ReadingStyle::Strict || self.in_code || lists_folder {
            return self.refuse("it sets a variable");
        }
        self.filled.extend(names);
    }

    fn suspect(&mut self, unit: &SimpleCommand) {
        let side = |writes: bool| {
            let of_side = unit.redirects.iter().filter(move |redirect| redirect.writes == writes);
            of_side.map(|redirect| redirect.word.text.clone()).collect()
        };
        let words = unit.words.iter().map(|word| word.text.clone()).collect();
        self.out.suspects.push(PossibleCommand { words, reads: side(false), writes: side(true) });
    }

    fn item(&mut self, item: &ast::CommandPrefixOrSuffixItem, unit: &mut SimpleCommand, position: ItemPosition) {
        match item {
            ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => {
                unit.has_own_input |= is_input(redirect);
                unit.merges_errors |= copies_stream(redirect);
                unit.redirects.extend(self.redirect(redirect));
            }
            ast::CommandPrefixOrSuffixItem::Word(word) => {
                let word = self.argument(word);
                unit.words.push(word);
            }
            ast::CommandPrefixOrSuffixItem::AssignmentWord(assignment, whole) => {
                self.assignment(assignment);
                let word = self.assigned_word(whole);
                match position {
                    ItemPosition::Before => unit.assignments.push(word.raw),
                    ItemPosition::After => unit.words.push(word),
                }
            }
            ast::CommandPrefixOrSuffixItem::ProcessSubstitution(kind, shell) => {
                self.substituted(kind, &shell.list);
                unit.words.push(unknown());
            }
        }
    }

    /// The value of an assignment. In the relaxed reading it may hold variables that may be shown.
    fn assigned_word(&mut self, word: &ast::Word) -> ShellWord {
        let word = self.argument(word);
        let is_shown = |known: &super::script::VariableUse| {
            variables::is_printable(&known.name) || self.filled.contains(&known.name)
        };
        let understood = self.style == ReadingStyle::Relaxed && word.variables.iter().all(is_shown);
        if !word.variables.is_empty() && !understood {
            self.refuse("it has an expansion");
        }
        word
    }

    fn substituted(&mut self, kind: &ast::ProcessSubstitutionKind, list: &ast::CompoundList) {
        if self.style == ReadingStyle::Strict || !matches!(kind, ast::ProcessSubstitutionKind::Read) {
            self.refuse("it has a process substitution");
        }
        self.depth += 1;
        self.inner_list(list);
        self.depth -= 1;
    }

    fn assignment(&mut self, assignment: &ast::Assignment) {
        if let ast::AssignmentName::ArrayElementName(_, index) = &assignment.name {
            self.refuse("it sets an array element");
            self.out.arithmetic.push(index.clone());
            expansion::walk(self, index);
        }
        let (ast::AssignmentName::VariableName(name) | ast::AssignmentName::ArrayElementName(name, _)) =
            &assignment.name;
        if let ast::AssignmentValue::Scalar(value) = &assignment.value {
            let opaque = self.out.opaque;
            let value = self.argument(value);
            self.out.opaque = opaque;
            self.record_findings(late_binding::assigned(name, &value));
        }
        if let ast::AssignmentValue::Array(elements) = &assignment.value {
            self.refuse("it sets an array");
            for (key, value) in elements {
                if let Some(key) = key {
                    // A subscript is computed, unless it belongs to an array of names.
                    let key = self.word(key);
                    self.out.arithmetic.push(key.text);
                }
                if let Some(subscript) = value.value.strip_prefix('[').filter(|rest| rest.contains(']')) {
                    self.out.arithmetic.push(subscript.replace(['\'', '"', '\\'], ""));
                }
                let value = self.word(value);
                self.record_findings(late_binding::assigned(name, &value));
            }
            self.out.is_late_bound |= late_binding::holds_programs(name);
        }
    }

    /// A word whose value must be known here.
    fn word(&mut self, word: &ast::Word) -> ShellWord {
        let word = self.argument(word);
        if !word.variables.is_empty() {
            self.refuse("it has an expansion");
        }
        word
    }

    /// A word that may hold variables: `script::check` looks at what becomes of them.
    fn argument(&mut self, word: &ast::Word) -> ShellWord {
        expansion::word(self, &word.value)
    }
}

/// Whether a text between double parentheses may be commands: words beside each other, quotes, separators.
pub(super) fn looks_like_commands(text: &str) -> bool {
    let is_name = |c: char| c == '_' || c.is_ascii_alphanumeric() || matches!(c, '$' | '.' | '~' | '/' | '{' | '}');
    let words: Vec<&str> = text.split_whitespace().collect();
    let beside = words
        .windows(2)
        .any(|pair| pair[0].ends_with(is_name) && (pair[1].starts_with(is_name) || pair[1].starts_with('-')));
    beside
        || text.contains(['\'', '"', ';', '`', '\n', '\\'])
        || text.contains("<(")
        || text.contains(">(")
        || text.contains("$(")
}

/// Structures are counted and never taken back: an end that looks like one may be text.
pub(super) fn is_deep(tokens: &[Token]) -> bool {
    let (mut depth, mut deepest, mut structures) = (0_usize, 0_usize, 0_usize);
    for token in tokens {
        match token {
            Token::Operator(text, _) => {
                let (opened, closed) = (text.matches('(').count(), text.matches(')').count());
                depth = (depth + opened).saturating_sub(closed);
                deepest = deepest.max(depth);
            }
            Token::Word(text, _) => {
                structures += usize::from(matches!(
                    text.as_str(),
                    "{" | "if" | "elif" | "while" | "until" | "for" | "case" | "select" | "function" | "coproc" | "[["
                ));
            }
        }
    }
    deepest + structures > MAX_NESTING
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ItemPosition {
    Before,
    After,
}

/// A word whose value is known only when it runs.
fn unknown() -> ShellWord {
    let substituted = Some(SubstitutedText::File);
    ShellWord {
        text: "$()".into(),
        raw: "$()".into(),
        quoted: true,
        expands: true,
        substituted,
        ..ShellWord::default()
    }
}

/// A unit that does nothing but read a file: what a redirection of a group amounts to.
fn reads_only(redirect: FileRedirect) -> SimpleCommand {
    let program = ShellWord { text: "true".into(), raw: "true".into(), ..ShellWord::default() };
    SimpleCommand { words: vec![program], redirects: vec![redirect], ..plain_unit(UnitJoin::Then) }
}

/// A unit without words at the top of the command.
fn plain_unit(join: UnitJoin) -> SimpleCommand {
    SimpleCommand {
        join,
        assignments: Vec::new(),
        words: Vec::new(),
        redirects: Vec::new(),
        scope: 0,
        feeds: false,
        has_own_input: false,
        merges_errors: false,
        written: String::new(),
    }
}

#[cfg(test)]
#[path = "grammar_tests.rs"]
mod tests;
