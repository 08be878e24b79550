//! The generous reading: every program name that the shell might start, however it is wrapped, quoted or nested. It
//! errs on the side of finding too much, so it must never be used to allow anything.

use super::braces;
use super::runners;
use super::wrapper::{base_name, may_run_others};
use std::collections::HashMap;

/// How deep substitutions and quoted scripts are followed.
const MAX_DEPTH: u32 = 48;
const MAX_STARTS: usize = 400;
const MAX_SPELLINGS: usize = 5000;
/// Stands where the nesting went on but the search did not.
const CUT_MARK: &str = "\0cut";

/// Something that may be run, with the files its redirections touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PossibleCommand {
    /// After quote removal; variables are left as written.
    pub(crate) words: Vec<String>,
    pub(crate) reads: Vec<String>,
    pub(crate) writes: Vec<String>,
}

pub(crate) fn find(command: &str) -> Vec<PossibleCommand> {
    let mut search = SuspectSearch::default();
    search.scan(command, 0);
    search.found
}

/// The mark of a search that stopped early.
pub(super) fn cut_mark() -> PossibleCommand {
    PossibleCommand { words: vec![CUT_MARK.into()], ..PossibleCommand::default() }
}

/// Whether the search stopped before the end of the text.
pub(crate) fn is_cut(suspects: &[PossibleCommand]) -> bool {
    suspects.iter().any(|suspect| suspect.words.first().is_some_and(|word| word == CUT_MARK))
}

impl PossibleCommand {
    /// Adds each spelling of a command that may start here, single blanks between words. `false` when there are absurdly
    /// many: a limit must not let anything slip through.
    pub(crate) fn spell(&self, into: &mut Vec<String>) -> bool {
        let starts = self.starts();
        if starts.len() > MAX_STARTS || into.len() > MAX_SPELLINGS {
            return false;
        }
        let runs_others = starts.len() > 1;
        for start in starts {
            let words = &self.words[start..];
            into.extend(spellings(words));
            // `env -Scurl`: so may the value of a short option.
            if let Some(value) = runners::attached(&words[0]).filter(|_| runs_others) {
                let tail: Vec<String> = [value.to_owned()].into_iter().chain(words[1..].iter().cloned()).collect();
                into.extend(spellings(&tail));
            }
            // `alias l=curl`, `env --split-string='curl x'`: what follows the equals sign may run as well.
            if let Some((_, value)) = words[0].split_once('=').filter(|(_, value)| runs_others && !value.is_empty()) {
                let tail: Vec<String> = [value.to_owned()].into_iter().chain(words[1..].iter().cloned()).collect();
                into.extend(spellings(&tail));
            }
        }
        true
    }

    /// Whether the name of what runs is known only when it runs.
    pub(crate) fn hides_program(&self) -> bool {
        let mut words = self.words.iter().skip_while(|word| is_prelude(word)).map(String::as_str);
        let Some(program) = words.next().map(base_name) else { return false };
        if is_dynamic(program) {
            return true;
        }
        let rest: Vec<&str> = words.collect();
        // Text that is run is a script of its own.
        let scripts = rest.iter().copied().filter(|word| is_script(word) || word.contains('='));
        let joined = (program == "eval").then(|| rest.join(" "));
        if may_run_others(program)
            && scripts.chain(joined.as_deref()).any(|script| find(script).iter().any(Self::is_opaque_script))
        {
            return true;
        }
        if SHELLS.contains(&program) && !rest.iter().any(|word| matches!(*word, "--version" | "--help")) {
            // Text from standard input; a text in the command is read by `late`, which sees its quotes.
            return rest.iter().all(|word| word.starts_with('-'));
        }
        let operand = |word: &&&str| {
            let is_number = word.trim_end_matches(['s', 'm', 'h', 'd']).chars().all(|c| c.is_ascii_digit() || c == '.');
            !word.starts_with('-') && !is_prelude(word) && !is_number
        };
        HAND_ON_PROGRAMS.contains(&program) && rest.iter().find(operand).is_some_and(|word| is_dynamic(base_name(word)))
    }

    /// Inside a script only plain forms are looked into: what wraps further is found by the scan itself.
    fn is_opaque_script(&self) -> bool {
        let program = self.words.iter().find(|word| !is_prelude(word)).map(|word| base_name(word));
        program.is_some_and(|program| {
            let reads_stdin = SHELLS.contains(&program) && self.words.iter().skip(1).all(|word| word.starts_with('-'));
            is_dynamic(program) || braces::has_list(program) || reads_stdin
        })
    }

    /// The suspect after brace expansion, when that changes it.
    pub(crate) fn braced(&self) -> Option<Self> {
        if !self.words.iter().any(|word| braces::has_list(word)) {
            return None;
        }
        let words = braces::expand(&self.words);
        Some(words.map_or_else(cut_mark, |words| Self { words, ..self.clone() }))
    }

    /// Calls `test` with the program (its base name) and arguments at each place one may start.
    pub(crate) fn any_program(&self, mut test: impl FnMut(&str, &[String]) -> bool) -> bool {
        self.starts().into_iter().any(|start| {
            let (program, arguments) = (&self.words[start], &self.words[start + 1..]);
            test(base_name(program), arguments)
        })
    }

    /// Indexes of words that may be a program.
    fn starts(&self) -> Vec<usize> {
        let skipped = self.words.iter().take_while(|word| is_prelude(word)).count();
        let Some(program) = self.words.get(skipped) else { return Vec::new() };
        if may_run_others(base_name(program)) {
            return (skipped..self.words.len()).collect();
        }
        let mut starts = vec![skipped];
        // `npm exec x`, `git bisect run x`, …
        if let Some(from) = runners::from(&self.words[skipped..]) {
            starts.extend(skipped + from..self.words.len());
        }
        // `ln -s /usr/bin/curl c`: under its new name it is the same program.
        if COPIERS.contains(&base_name(program)) {
            starts.extend((skipped + 1..self.words.len()).filter(|at| is_installed_program(&self.words[*at])));
        }
        starts
    }

    /// Calls `test` with the words from each place on where a program may start.
    pub(crate) fn any_call(&self, mut test: impl FnMut(&[String]) -> bool) -> bool {
        self.starts().into_iter().any(|start| test(&self.words[start..]))
    }
}

/// Programs that give a file another name.
const COPIERS: &[&str] = &["ln", "link", "cp", "mv", "install", "rsync", "dd"];

/// Whether the path leads into a folder of programs.
fn is_installed_program(word: &str) -> bool {
    let Some((folder, name)) = word.rsplit_once('/') else { return false };
    !name.is_empty() && matches!(base_name(folder), "bin" | "sbin")
}

const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "ksh", "ash", "fish"];

/// Programs that run their first operand.
#[rustfmt::skip]
const HAND_ON_PROGRAMS: &[&str] = &[
    "env", "sudo", "doas", "timeout", "time", "nice", "nohup", "stdbuf", "command", "builtin", "exec", "noglob", "nocorrect",
    "xargs", "watch", "ionice", "setsid", "strace", "ltrace", "eval", "coproc", "busybox", "unbuffer", "systemd-run", "parallel",
];

/// Whether the text is more than one plain word, so that a shell would make something else of it.
fn is_script(text: &str) -> bool {
    text.contains([' ', '\t', '\n', ';', '|', '&', '$', '`', '\'', '"', '\\', '(', '{', '<', '>'])
}

fn is_dynamic(name: &str) -> bool {
    name.contains(['$', '`', '*', '?']) || (name.contains('[') && name.contains(']'))
}

/// Keywords and assignments that precede a program.
fn is_prelude(word: &str) -> bool {
    const KEYWORDS: &[&str] =
        &["if", "then", "elif", "else", "do", "while", "until", "!", "[[", "-", "time", "function"];
    KEYWORDS.contains(&word) || word.split_once('=').is_some_and(|(name, _)| is_name(name.trim_end_matches('+')))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c == '_' || c.is_ascii_alphanumeric() || matches!(c, '[' | ']'))
}

/// As written, by base name, and with the global options of known programs looked through.
fn spellings(words: &[String]) -> Vec<String> {
    let Some((program, arguments)) = words.split_first() else { return Vec::new() };
    let mut all = vec![words.join(" ")];
    // zsh replaces `=name` by the path of that program.
    let base = base_name(program).trim_start_matches('=');
    if base != program {
        all.push(join(base, arguments));
    }
    // Where the file system does not tell case apart, neither does the shell.
    if base.chars().any(char::is_uppercase) {
        all.push(join(&base.to_lowercase(), arguments));
    }
    if base == "git" {
        let options = arguments.iter().take_while(|word| word.starts_with('-')).count();
        // An option may or may not take the next word as its value.
        all.extend((1..=arguments.len().min(2 * options + 1)).map(|skip| join(base, &arguments[skip..])));
    }
    all
}

fn join(program: &str, arguments: &[String]) -> String {
    let mut text = program.to_owned();
    for argument in arguments {
        text.push(' ');
        text.push_str(argument);
    }
    text
}

#[derive(Default)]
struct SuspectSearch {
    found: Vec<PossibleCommand>,
    /// The texts that were read, with the depth they were found at. A word that may be a script is often the whole text
    /// again: without this, each would be read twice at every depth.
    scanned: HashMap<String, u32>,
}

impl SuspectSearch {
    fn scan(&mut self, text: &str, depth: u32) {
        if depth > MAX_DEPTH {
            self.found.push(cut_mark());
            return;
        }
        if self.scanned.get(text).is_some_and(|before| *before <= depth) {
            return;
        }
        self.scanned.insert(text.to_owned(), depth);
        let mut scanner = SuspectScanner {
            rest: text,
            word: None,
            suspect: PossibleCommand::default(),
            target: None,
            braces: 0,
            search: self,
            depth,
        };
        scanner.run();
        scanner.end_suspect();
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ScannedRedirect {
    Read,
    Write,
}

struct SuspectScanner<'a, 'f> {
    rest: &'a str,
    word: Option<String>,
    suspect: PossibleCommand,
    /// The next word is the target of a redirection.
    target: Option<ScannedRedirect>,
    braces: u32,
    search: &'f mut SuspectSearch,
    depth: u32,
}

impl SuspectScanner<'_, '_> {
    fn run(&mut self) {
        while let Some(c) = self.rest.chars().next() {
            let after = &self.rest[c.len_utf8()..];
            match c {
                '\\' => self.escape(after),
                '\'' => self.quoted(after),
                '"' => self.double(after),
                '$' => self.dollar(after),
                '`' => self.substitution(after, '`'),
                '#' if self.word.is_none() => self.rest = after.find('\n').map_or("", |at| &after[at..]),
                ' ' | '\t' => {
                    self.end_word();
                    self.rest = after;
                }
                ',' if self.braces > 0 => {
                    self.end_word();
                    self.rest = after;
                }
                '<' | '>' => self.redirection(c, after),
                '\n' | ';' | '&' | '|' | '(' | ')' => {
                    self.end_suspect();
                    self.rest = after;
                }
                '{' | '}' => {
                    self.end_suspect();
                    self.braces = if c == '{' { self.braces + 1 } else { self.braces.saturating_sub(1) };
                    self.rest = after;
                }
                _ => {
                    self.push(c);
                    self.rest = after;
                }
            }
        }
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn push_str(&mut self, text: &str) {
        self.word.get_or_insert_default().push_str(text);
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match self.target.take() {
            Some(ScannedRedirect::Read) => self.suspect.reads.push(word),
            Some(ScannedRedirect::Write) => self.suspect.writes.push(word),
            None => self.suspect.words.push(word),
        }
    }

    fn end_suspect(&mut self) {
        self.end_word();
        self.target = None;
        let suspect = std::mem::take(&mut self.suspect);
        if suspect == PossibleCommand::default() {
            return;
        }
        let prelude = suspect.words.iter().take_while(|word| is_prelude(word)).count();
        let runs_others = runners::runs_text(&suspect.words[prelude..]);
        if runs_others || suspect.words.iter().any(|word| base_name(word) == "git") {
            // `sh -c '…'`, `eval "…"`, `git -c alias.x='!…'`: every argument may be a script, or hold one behind a mark.
            let is_git = suspect.words.iter().any(|word| base_name(word) == "git");
            for word in suspect.words.iter().filter(|word| is_script(word)) {
                if let Some(text) = runners::attached(word) {
                    self.search.scan(text, self.depth + 1);
                }
                if !is_git || runners::from(&suspect.words[prelude..]).is_some() {
                    self.search.scan(word, self.depth + 1);
                }
                if let Some((_, script)) = word.split_once(if is_git { "=!" } else { "=" }) {
                    self.search.scan(script, self.depth + 1);
                }
            }
        }
        self.search.found.push(suspect);
    }

    fn escape(&mut self, after: &str) {
        let Some(next) = after.chars().next() else {
            self.rest = "";
            return;
        };
        if next != '\n' {
            self.push(next);
        }
        self.rest = &self.rest[1 + next.len_utf8()..];
    }

    fn quoted(&mut self, after: &str) {
        let end = after.find('\'').unwrap_or(after.len());
        self.push_str(&after[..end]);
        self.rest = self.rest[1..].get(end + 1..).unwrap_or("");
    }

    fn double(&mut self, after: &str) {
        self.push_str("");
        let from = self.rest.len() - after.len();
        self.rest = &self.rest[from..];
        while let Some(c) = self.rest.chars().next() {
            let after = &self.rest[c.len_utf8()..];
            match c {
                '"' => {
                    self.rest = after;
                    return;
                }
                '\\' => self.escape(after),
                '$' => self.dollar(after),
                '`' => self.substitution(after, '`'),
                _ => {
                    self.push(c);
                    self.rest = after;
                }
            }
        }
    }

    fn dollar(&mut self, after: &str) {
        let skip = self.rest.len() - after.len();
        match after.chars().next() {
            Some('(') => self.substitution(&self.rest[skip + 1..], ')'),
            Some('{') => {
                let body = &self.rest[skip + 1..];
                let end = closing(body, '}');
                // Defaults inside `${x:-…}` may hold commands of their own, or be one.
                let (name, default) = body[..end].split_at(body[..end].find(['-', '=', '+', '?']).unwrap_or(end));
                self.search.scan(name, self.depth + 1);
                self.search.scan(default.trim_start_matches(['-', '=', '+', '?']), self.depth + 1);
                let whole = skip + 1 + end;
                let text = self.rest[..whole].to_owned();
                self.push_str(&text);
                self.push('}');
                self.rest = self.rest.get(whole + 1..).unwrap_or("");
            }
            Some('\'') => {
                let body = &self.rest[skip + 1..];
                let end = body.find('\'').unwrap_or(body.len());
                let decoded = ansi_c(&body[..end]);
                self.push_str(&decoded);
                self.rest = body.get(end + 1..).unwrap_or("");
            }
            // `$"…"` is a translated string.
            Some('"') => self.rest = &self.rest[skip..],
            _ => {
                self.push('$');
                self.rest = &self.rest[skip..];
            }
        }
    }

    fn substitution(&mut self, body: &str, close: char) {
        let start = self.rest.len() - body.len();
        let body = &self.rest[start..];
        let end = closing(body, close);
        // The parenthesis after a pattern of `case` closes nothing: then the rest may belong to it as well.
        let inner = if body[..end].contains("case") { body } else { &body[..end] };
        self.search.scan(inner, self.depth + 1);
        // What it yields is unknown; the mark keeps the word from looking empty.
        self.push_str("$()");
        self.rest = body.get(end + close.len_utf8()..).unwrap_or("");
    }

    fn redirection(&mut self, first: char, after: &str) {
        let descriptor = self.word.as_deref().is_some_and(|word| word.chars().all(|c| c.is_ascii_digit()));
        if descriptor {
            self.word = None;
        }
        self.end_word();
        let operator = after.chars().take_while(|c| matches!(c, '<' | '>' | '&' | '|' | '!')).count();
        let writes = first == '>' || after[..operator].contains('>');
        self.target = Some(if writes { ScannedRedirect::Write } else { ScannedRedirect::Read });
        let skip = self.rest.len() - after.len() + operator;
        self.rest = &self.rest[skip..];
    }
}

/// Where the bracket that is already open closes, quotes and nesting considered; the end when it does not.
fn closing(text: &str, close: char) -> usize {
    let open = match close {
        ')' => '(',
        '}' => '{',
        _ => '\0',
    };
    let mut depth = 0_u32;
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if escaped {
            escaped = false;
            continue;
        }
        match (c, quote) {
            ('\\', None | Some('"')) => escaped = true,
            (c, Some(q)) if c == q => quote = None,
            ('\'' | '"', None) if close != '`' => quote = Some(c),
            (c, None) if c == close && depth == 0 => return at,
            (c, None) if c == close => depth -= 1,
            (c, None) if c == open => depth += 1,
            _ => {}
        }
    }
    text.len()
}

/// `$'…'` escapes that can spell a letter.
pub(super) fn ansi_c(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let body = &rest[at + 1..];
        let (digits, radix, skip): (String, u32, usize) = match body.chars().next() {
            Some(kind @ ('x' | 'u' | 'U')) => {
                let most = if kind == 'x' { 2 } else { 8 };
                (body[1..].chars().take_while(char::is_ascii_hexdigit).take(most).collect(), 16, 1)
            }
            Some('0'..='7') => (body.chars().take_while(|c| c.is_digit(8)).take(3).collect(), 8, 0),
            Some(other) => {
                out.push(other);
                rest = &body[other.len_utf8()..];
                continue;
            }
            None => break,
        };
        let decoded = u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32);
        out.extend(decoded);
        rest = &body[skip + digits.len()..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
#[path = "suspects_tests.rs"]
mod tests;
