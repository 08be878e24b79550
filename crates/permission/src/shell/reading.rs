//! One command, read once: by the authority, the second opinion and the generous scanner. Only `strict` can lead to an
//! allow; `suspects` is the union of all three and serves deny, ask and the safety checks.

use super::grammar;
use super::pattern::squeeze;
use super::script::{MAX_CHARS, Opaque, Unit, check, is_deceptive};
use super::second;
use super::suspects::{self, Suspect};
use super::wrapper::{base_name, may_run_others};

/// Texts beyond this are scanned for deny and ask rules only.
const MAX_PARSED: usize = 4 * MAX_CHARS;

#[derive(Debug)]
pub(crate) struct Reading {
    /// The command with single blanks.
    pub(crate) whole: String,
    pub(crate) strict: Result<Vec<Unit>, Opaque>,
    pub(crate) suspects: Vec<Suspect>,
    spellings: Vec<String>,
    /// The name of some program is known only when it runs.
    pub(crate) hides_program: bool,
    /// Some part was too large to spell out: every deny and ask rule must be taken to match.
    overflow: bool,
}

impl Reading {
    pub(crate) fn of(command: &str) -> Self {
        let Read { strict, suspects, hides_program } = read(command);
        let mut spellings = Vec::new();
        let mut overflow = suspects::is_cut(&suspects);
        for suspect in &suspects {
            overflow |= !suspect.spell(&mut spellings);
        }
        spellings.sort_unstable();
        spellings.dedup();
        Self { whole: squeeze(command), strict, suspects, spellings, hides_program, overflow }
    }

    /// Whether `test` says yes to any spelling of any command that might start.
    pub(crate) fn any_spelling(&self, test: impl Fn(&str) -> bool) -> bool {
        self.overflow || test(&self.whole) || self.spellings.iter().any(|spelling| test(spelling))
    }
}

struct Read {
    strict: Result<Vec<Unit>, Opaque>,
    suspects: Vec<Suspect>,
    hides_program: bool,
}

fn read(command: &str) -> Read {
    if command.len() > MAX_PARSED {
        return Read { strict: Err("it is too long"), suspects: suspects::find(command), hides_program: false };
    }
    let parsed = grammar::parse(command);
    let opinion = second::read(command);
    let mut found = match &parsed {
        Ok(parsed) => suspects::find(&without_data(command, parsed)),
        Err(_) => suspects::find(command),
    };
    if let Some(opinion) = &opinion {
        found.extend(opinion.suspects.iter().filter(|suspect| !found.contains(suspect)).cloned().collect::<Vec<_>>());
    }
    // The scanner takes tests and patterns for programs: it is asked only where there is no grammar.
    let hides_program = match &parsed {
        Ok(parsed) if !parsed.incomplete => parsed.suspects.iter().any(Suspect::hides_program),
        Ok(_) | Err(_) => found.iter().any(Suspect::hides_program),
    };
    let strict = parsed.and_then(|parsed| {
        found.extend(parsed.suspects.iter().filter(|suspect| !found.contains(suspect)).cloned().collect::<Vec<_>>());
        strict(command, parsed, opinion.as_ref())
    });
    let braced: Vec<Suspect> = found.iter().filter_map(Suspect::braced).collect();
    found.extend(braced);
    Read { strict, suspects: found, hides_program }
}

fn strict(command: &str, parsed: grammar::Parsed, opinion: Option<&second::Opinion>) -> Result<Vec<Unit>, Opaque> {
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
    check(&parsed.units)?;
    let opinion = opinion.ok_or("it cannot be parsed twice")?;
    let known = |name: &String| {
        name == "time"
            || parsed.units.iter().any(|unit| unit.words.first().is_some_and(|word| second::ascii(&word.text) == *name))
    };
    if opinion.broken || !opinion.names.iter().all(known) {
        return Err("two parsers do not agree on it");
    }
    Ok(parsed.units)
}

/// Quoted here-documents are data, unless some program of the command runs text it is given.
fn without_data(command: &str, parsed: &grammar::Parsed) -> String {
    let runs_text = |suspect: &Suspect| suspect.words.iter().any(|word| may_run_others(base_name(word)));
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
