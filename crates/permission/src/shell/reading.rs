//! One command, read once: by the authority, the second opinion and the generous scanner. Only `strict` can lead to an
//! allow; `suspects` is the union of all three and serves deny, ask and the safety checks.

use super::grammar;
use super::pattern::squeeze;
use super::script::{MAX_CHARS, OpaqueReason, ReadingStyle, SimpleCommand, check};
use super::second_opinion;
use super::suspects::{self, PossibleCommand};
use super::wrapper::{base_name, may_run_others};
use wire::deceptive::is_deceptive;

/// Texts beyond this are scanned for deny and ask rules only.
const MAX_PARSED: usize = 4 * MAX_CHARS;

#[derive(Debug)]
pub(crate) struct CommandReading {
    /// The command with single blanks.
    pub(crate) whole: String,
    pub(crate) strict: Result<Vec<SimpleCommand>, OpaqueReason>,
    /// The parts of a command that the strict reading does not understand, those inside substitutions included. They show
    /// whether it only reads; no rule and no mode allows anything by them. `None` when they are not understood either.
    pub(crate) relaxed: Option<Vec<SimpleCommand>>,
    pub(crate) suspects: Vec<PossibleCommand>,
    /// The parts as they are written, whether or not the command is understood; empty when it cannot be parsed.
    pub(crate) written: Vec<String>,
    /// A function is defined: names may mean something else.
    pub(crate) defines_function: bool,
    spellings: Vec<String>,
    /// Which program starts is decided only when it runs, or the text could not be read to its end.
    pub(crate) hides_program: bool,
    /// Files that `source` would run as part of the command.
    pub(crate) sourced: Vec<String>,
    /// Some part was too large to spell out: every deny and ask rule must be taken to match.
    overflow: bool,
}

impl CommandReading {
    pub(crate) fn of(command: &str) -> Self {
        let UnionReading { strict, relaxed, suspects, written, defines_function, hides_program, sourced } =
            read(command);
        let mut spellings = Vec::new();
        let mut overflow = suspects::is_cut(&suspects);
        for suspect in &suspects {
            overflow |= !suspect.spell(&mut spellings);
        }
        spellings.sort_unstable();
        spellings.dedup();
        Self {
            whole: squeeze(command),
            strict,
            relaxed,
            suspects,
            written,
            defines_function,
            spellings,
            hides_program,
            sourced,
            overflow,
        }
    }

    /// The parts of the command, when one of the readings understands it.
    pub(crate) fn units(&self) -> &[SimpleCommand] {
        self.strict.as_deref().ok().or(self.relaxed.as_deref()).unwrap_or_default()
    }

    /// Whether `test` says yes to any spelling of any command that might start.
    pub(crate) fn any_spelling(&self, test: impl Fn(&str) -> bool) -> bool {
        self.overflow || test(&self.whole) || self.spellings.iter().any(|spelling| test(spelling))
    }

    /// Whether `test` says yes to the words of any command that might start.
    pub(crate) fn any_call(&self, mut test: impl FnMut(&[String]) -> bool) -> bool {
        self.suspects.iter().any(|suspect| suspect.any_call(&mut test))
    }
}

struct UnionReading {
    strict: Result<Vec<SimpleCommand>, OpaqueReason>,
    relaxed: Option<Vec<SimpleCommand>>,
    suspects: Vec<PossibleCommand>,
    written: Vec<String>,
    defines_function: bool,
    hides_program: bool,
    sourced: Vec<String>,
}

fn read(command: &str) -> UnionReading {
    if command.len() > MAX_PARSED {
        let suspects = suspects::find(command);
        let strict = Err("it is too long");
        return UnionReading {
            strict,
            relaxed: None,
            suspects,
            written: Vec::new(),
            defines_function: true,
            hides_program: true,
            sourced: Vec::new(),
        };
    }
    let parsed = grammar::parse(command, ReadingStyle::Strict);
    let opinion = second_opinion::read(command);
    let mut found = match &parsed {
        Ok(parsed) => suspects::find(&without_data(command, parsed)),
        Err(_) => suspects::find(command),
    };
    if let Some(opinion) = &opinion {
        found.extend(opinion.suspects.iter().filter(|suspect| !found.contains(suspect)).cloned().collect::<Vec<_>>());
    }
    let hides_program = match &parsed {
        Ok(parsed) => {
            parsed.is_late_bound || parsed.incomplete || parsed.suspects.iter().any(PossibleCommand::hides_program)
        }
        Err(_) => true,
    };
    let sourced = parsed.as_ref().map(|parsed| parsed.sourced.clone()).unwrap_or_default();
    let written = parsed.as_ref().map(|parsed| parsed.written.clone()).unwrap_or_default();
    let defines_function = parsed.as_ref().map_or(true, |parsed| parsed.defines_function);
    let strict = parsed.and_then(|parsed| {
        found.extend(parsed.suspects.iter().filter(|suspect| !found.contains(suspect)).cloned().collect::<Vec<_>>());
        agreed_units(command, parsed, opinion.as_ref(), Some(ReadingStyle::Strict))
    });
    let relaxed = match &strict {
        Ok(_) => None,
        Err(_) => grammar::parse(command, ReadingStyle::Relaxed)
            .and_then(|parsed| agreed_units(command, parsed, opinion.as_ref(), Some(ReadingStyle::Relaxed)))
            .ok(),
    };
    let braced: Vec<PossibleCommand> = found.iter().filter_map(PossibleCommand::braced).collect();
    found.extend(braced);
    UnionReading { strict, relaxed, suspects: found, written, defines_function, hides_program, sourced }
}

/// The parts of one command with expansions in it, those inside its substitutions first, itself last. Only for the question
/// which expansions it has: most programs do more with an unknown word than print it.
pub(crate) fn with_expansions(command: &str) -> Option<Vec<SimpleCommand>> {
    let parsed = grammar::parse(command, ReadingStyle::Relaxed).ok()?;
    let is_one = parsed.written.len() == 1 && !parsed.is_late_bound && !parsed.defines_function;
    let opinion = second_opinion::read(command);
    let units = agreed_units(command, parsed, opinion.as_ref(), None).ok()?;
    (is_one && units.len() < 8).then_some(units)
}

/// The units of a command, when it is understood to its end and the second opinion finds no other program in it. `style`:
/// how strictly the words of each are looked at, if at all.
fn agreed_units(
    command: &str,
    parsed: grammar::ParsedCommand,
    opinion: Option<&second_opinion::SecondOpinion>,
    style: Option<ReadingStyle>,
) -> Result<Vec<SimpleCommand>, OpaqueReason> {
    if command.chars().count() > MAX_CHARS {
        return Err("it is too long");
    }
    if command.chars().any(is_deceptive) {
        return Err("it holds control or invisible characters");
    }
    if let Some(why) = parsed.opaque {
        return Err(why);
    }
    if parsed.units.is_empty() {
        return Err("it is empty");
    }
    if style != Some(ReadingStyle::Strict) && parsed.incomplete {
        return Err("it cannot be parsed");
    }
    if let Some(style) = style {
        check(&parsed.units, style)?;
    }
    let opinion = opinion.ok_or("it cannot be parsed twice")?;
    let known = |name: &String| {
        name == "time"
            || parsed.constant_programs.contains(name)
            || parsed
                .units
                .iter()
                .any(|unit| unit.words.first().is_some_and(|word| second_opinion::ascii(&word.text) == *name))
    };
    if opinion.broken || !opinion.names.iter().all(known) {
        return Err("two parsers do not agree on it");
    }
    Ok(parsed.units)
}

/// Quoted here-documents are data, unless some program of the command runs text it is given.
fn without_data(command: &str, parsed: &grammar::ParsedCommand) -> String {
    let runs_text = |suspect: &PossibleCommand| suspect.words.iter().any(|word| may_run_others(base_name(word)));
    let mut text = command.to_owned();
    if parsed.data.is_empty() || parsed.suspects.iter().any(runs_text) {
        return text;
    }
    for body in parsed.data.iter().filter(|body| !body.trim().is_empty()) {
        let from = text.find("<<").unwrap_or(0);
        if let Some(at) = text[from..].find(body.as_str()) {
            text.replace_range(from + at..from + at + body.len(), "");
        }
    }
    text
}
