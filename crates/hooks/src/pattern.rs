//! Regular expressions of matchers, with JavaScript semantics and bounded time.
//!
//! Nearly all of them mean the same to a linear-time engine; those are translated and matched directly. The rest
//! (look-around, back-references, unusual escapes) need a backtracking ECMAScript engine, which runs in a child process
//! that is killed when it takes too long. Its answers are cached.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use sys::process::{self, ChildInput, ChildOutput, RunOptions, SpawnSpec};
use sys::sync::Mutex;

/// With this first argument, the gimlet binary tests one pattern and exits.
pub const ARGUMENT: &str = "__match";
/// Far more than any sensible pattern needs, including the start of the process.
const MATCH_TIMEOUT: Duration = Duration::from_secs(1);
const SIZE_LIMIT: usize = 1 << 20;

#[derive(Debug)]
pub struct HookPattern {
    text: String,
    /// `None` when the linear engine would match differently.
    linear: Option<regex::Regex>,
    known: Mutex<BTreeMap<String, bool>>,
}

/// Why a pattern gave no answer. It then counts as not matching.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternFailure {
    /// Not a regular expression.
    Invalid(String),
    /// The match took too long and was stopped.
    Runaway,
    /// The child process failed.
    Failed(String),
}

impl std::fmt::Display for PatternFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Invalid(why) => write!(f, "is not a regular expression: {why}"),
            Self::Runaway => write!(f, "took longer than {} s and was stopped", MATCH_TIMEOUT.as_secs()),
            Self::Failed(why) => write!(f, "could not be tried: {why}"),
        }
    }
}

impl HookPattern {
    pub fn new(text: &str) -> Self {
        let build = |source: String| regex::RegexBuilder::new(&source).size_limit(SIZE_LIMIT).build().ok();
        Self { text: text.to_owned(), linear: translate(text).and_then(build), known: Mutex::default() }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Why this is not a regular expression; `None` when it is one. Needs no process.
    pub fn problem(&self) -> Option<String> {
        if self.linear.is_some() {
            return None;
        }
        regress::Regex::new(&self.text).err().map(|error| error.to_string())
    }

    /// The answer if no process is needed for it; `None` otherwise.
    pub fn quick(&self, subject: &str) -> Option<bool> {
        match &self.linear {
            Some(regex) => Some(regex.is_match(subject)),
            None => self.known.lock().get(subject).copied(),
        }
    }

    /// Runs the match in a child process of `program` (the gimlet binary).
    pub async fn ask(&self, subject: &str, program: &Path) -> Result<bool, PatternFailure> {
        let input = serde_json::to_vec(&(&self.text, subject)).unwrap_or_default();
        let spawn = SpawnSpec {
            program: program.into(),
            args: vec![ARGUMENT.into()],
            env: Vec::new(),
            cwd: "/".into(),
            stdin: ChildInput::Pipe,
            output: ChildOutput::Split,
        };
        let options = RunOptions { input, timeout: MATCH_TIMEOUT, grace: Duration::ZERO, ..RunOptions::default() };
        let finished = process::run(spawn, options).await.map_err(|error| PatternFailure::Failed(error.to_string()))?;
        let answer = match finished.exit.code {
            _ if finished.timed_out => return Err(PatternFailure::Runaway),
            Some(0) => true,
            Some(1) => false,
            Some(2) => {
                let why = String::from_utf8_lossy(&finished.stderr.to_bytes()).trim().to_owned();
                return Err(PatternFailure::Invalid(why));
            }
            other => return Err(PatternFailure::Failed(format!("the child ended with {other:?}"))),
        };
        self.known.lock().insert(subject.to_owned(), answer);
        Ok(answer)
    }

    /// Runs the match in this process without a time limit; used by the child.
    pub(crate) fn evaluate(&self, subject: &str) -> Result<bool, String> {
        let regex = regress::Regex::new(&self.text).map_err(|error| error.to_string())?;
        Ok(regex.find(subject).is_some())
    }
}

/// The child process: reads pattern and subject from standard input and returns the answer as exit code.
pub fn run() -> ExitCode {
    let mut text = String::new();
    if std::io::stdin().lock().read_to_string(&mut text).is_err() {
        return ExitCode::from(3);
    }
    let Ok((pattern, subject)) = serde_json::from_str::<(String, String)>(&text) else { return ExitCode::from(3) };
    match HookPattern::new(&pattern).evaluate(&subject) {
        Ok(true) => ExitCode::from(0),
        Ok(false) => ExitCode::from(1),
        Err(why) => {
            use std::io::Write as _;
            writeln!(std::io::stderr(), "{why}").ok();
            ExitCode::from(2)
        }
    }
}

/// The same expression for the linear engine; `None` when the two engines might differ.
fn translate(text: &str) -> Option<String> {
    let mut translator =
        RegexTranslator { rest: text.chars().peekable(), out: String::with_capacity(text.len() + 16), depth: 0 };
    translator.run()?;
    Some(translator.out)
}

struct RegexTranslator<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    out: String,
    depth: usize,
}

impl RegexTranslator<'_> {
    fn run(&mut self) -> Option<()> {
        // True when a quantifier may follow.
        let mut atom = false;
        while let Some(c) = self.rest.next() {
            atom = match c {
                '^' | '|' => {
                    self.out.push(c);
                    false
                }
                '$' => {
                    self.out.push_str(r"\z");
                    false
                }
                '(' => {
                    self.open()?;
                    false
                }
                ')' => {
                    self.depth = self.depth.checked_sub(1)?;
                    self.out.push(')');
                    true
                }
                '*' | '+' | '?' if atom => {
                    self.out.push(c);
                    self.lazy();
                    false
                }
                '{' if atom => {
                    self.count()?;
                    self.lazy();
                    false
                }
                '.' => {
                    self.out.push_str(r"[^\n\r\u{2028}\u{2029}]");
                    true
                }
                '[' => {
                    self.class()?;
                    true
                }
                '\\' => self.escape()?,
                '*' | '+' | '?' | '{' | '}' | ']' => return None,
                literal => {
                    self.literal(literal);
                    true
                }
            };
        }
        (self.depth == 0).then_some(())
    }

    fn literal(&mut self, c: char) {
        self.out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
    }

    fn lazy(&mut self) {
        if self.rest.next_if_eq(&'?').is_some() {
            self.out.push('?');
        }
    }

    fn open(&mut self) -> Option<()> {
        self.depth += 1;
        self.out.push_str("(?:");
        if self.rest.next_if_eq(&'?').is_some() {
            self.rest.next_if_eq(&':')?;
        }
        Some(())
    }

    /// `{2}`, `{2,}`, `{2,5}`; `None` for counts too large for the linear engine.
    fn count(&mut self) -> Option<()> {
        let mut inner = String::new();
        loop {
            match self.rest.next()? {
                '}' => break,
                c if c.is_ascii_digit() || c == ',' => inner.push(c),
                _ => return None,
            }
        }
        let (low, high) = inner.split_once(',').unwrap_or((&inner, &inner));
        let low: u32 = low.parse().ok()?;
        let high = if high.is_empty() { low } else { high.parse().ok()? };
        if low > high || high > 100 {
            return None;
        }
        write!(self.out, "{{{inner}}}").ok()
    }

    /// Translates an escape outside a class; returns whether a quantifier may follow it.
    fn escape(&mut self) -> Option<bool> {
        match self.rest.next()? {
            'd' => self.out.push_str("[0-9]"),
            'D' => self.out.push_str("[^0-9]"),
            'w' => self.out.push_str("[A-Za-z0-9_]"),
            'W' => self.out.push_str("[^A-Za-z0-9_]"),
            'b' => {
                self.out.push_str(r"(?-u:\b)");
                return Some(false);
            }
            c if c.is_ascii_punctuation() => self.literal(c),
            _ => return None,
        }
        Some(true)
    }

    fn class(&mut self) -> Option<()> {
        self.out.push('[');
        if self.rest.next_if_eq(&'^').is_some() {
            self.out.push('^');
        }
        let mut empty = true;
        loop {
            match self.rest.next()? {
                // Only JavaScript has empty classes, which match nothing, or everything.
                ']' if empty => return None,
                ']' => break,
                '\\' => self.class_escape()?,
                '-' => self.out.push('-'),
                c => self.class_literal(c),
            }
            empty = false;
        }
        self.out.push(']');
        // Only the linear engine has set operations.
        if self.out.contains("--") { None } else { Some(()) }
    }

    fn class_escape(&mut self) -> Option<()> {
        match self.rest.next()? {
            'd' => self.out.push_str("0-9"),
            'w' => self.out.push_str("A-Za-z0-9_"),
            c if c.is_ascii_punctuation() => {
                self.class_literal(c);
                return Some(());
            }
            _ => return None,
        }
        // In JavaScript `\w-x` is not a range.
        if self.rest.peek() == Some(&'-') { None } else { Some(()) }
    }

    fn class_literal(&mut self, c: char) {
        // `\<` and `\>` are word boundaries in the linear engine, and `_` needs no escape.
        if c.is_ascii_punctuation() && !matches!(c, '<' | '>' | '_') {
            self.out.push('\\');
        }
        self.out.push(c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_patterns_are_answered_at_once() {
        for (pattern, yes, no) in [
            ("mcp__.*__write.*", "mcp__fs__write_file", "mcp__fs__read"),
            ("^(Edit|Write|NotebookEdit)$", "Write", "WriteX"),
            ("Notebook.*", "NotebookEdit", "Edit"),
            (r"^mcp__[a-z\-_]+__\w+$", "mcp__my-server__x", "mcp____"),
            (r"\.env(\.local)?$", ".env.local", "env"),
            ("^a{2,3}?b+?$", "aab", "ab"),
            (r"\bend\b", "the end.", "bend"),
        ] {
            let pattern = HookPattern::new(pattern);
            assert_eq!((pattern.quick(yes), pattern.quick(no)), (Some(true), Some(false)), "{}", pattern.text());
            assert_eq!((pattern.evaluate(yes), pattern.evaluate(no)), (Ok(true), Ok(false)), "{}", pattern.text());
        }
    }

    #[test]
    fn what_means_something_else_elsewhere_is_not_translated() {
        for pattern in [
            "^(?!Bash$).*",
            "(a)\\1",
            "[a&&b]x(?=c)",
            "[]",
            "[^]",
            "a{",
            "x]",
            "(?i)a",
            r"\p{L}",
            "^*",
            "a**",
            "(",
            r"\u0041",
            "[a--b]",
            "(?<n>a)",
            r"[\w-x]",
        ] {
            assert_eq!(HookPattern::new(pattern).quick("a"), None, "{pattern}");
        }
    }

    // [EXT-11]
    #[test]
    fn the_other_engine_has_javascripts_meaning() {
        assert_eq!(HookPattern::new("^(?!Bash$).*").evaluate("Edit"), Ok(true));
        assert_eq!(HookPattern::new("^(?!Bash$).*").evaluate("Bash"), Ok(false));
        // A group that did not take part in the match matches the empty text.
        assert_eq!(HookPattern::new("^(a)?b\\1$").evaluate("b"), Ok(true));
        assert!(HookPattern::new("(").evaluate("(").is_err());
    }
}
