//! The strict reading: simple commands made of plain words and quotes, joined by `&&`, `||`, `;`, `|` and newlines.
//! Whatever could make the shell run, expand or write something not visible here is refused with the reason.

/// Longer commands cannot be read by a person either.
const MAX_CHARS: usize = 10_000;

/// One simple command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    pub(crate) join: Join,
    /// Leading `NAME=value` words.
    pub(crate) assignments: Vec<String>,
    pub(crate) words: Vec<Word>,
}

/// How a unit is joined to the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    First,
    And,
    Or,
    Then,
    Pipe,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Word {
    /// After quote removal.
    pub(crate) text: String,
    /// As written.
    pub(crate) raw: String,
    pub(crate) quoted: bool,
    /// Holds an unquoted `*`, `?` or `[`.
    pub(crate) glob: bool,
    /// Begins with an unquoted `~`.
    pub(crate) tilde: bool,
}

/// What stopped the analysis.
pub(crate) type Opaque = &'static str;

pub(crate) fn parse(command: &str) -> Result<Vec<Unit>, Opaque> {
    if command.chars().count() > MAX_CHARS {
        return Err("it is too long");
    }
    if command.chars().any(is_deceptive) {
        return Err("it holds control or invisible characters");
    }
    let mut reader = Reader { rest: command, units: Vec::new(), unit: Vec::new(), join: Join::First };
    reader.run()?;
    check(&reader.units)?;
    Ok(reader.units)
}

/// Control characters and the Unicode characters that hide or reorder text.
pub(crate) fn is_deceptive(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}' | '\u{3164}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}')
        || (c.is_whitespace() && !c.is_ascii())
}

struct Reader<'a> {
    rest: &'a str,
    units: Vec<Unit>,
    unit: Vec<Word>,
    join: Join,
}

impl Reader<'_> {
    fn run(&mut self) -> Result<(), Opaque> {
        loop {
            self.rest = self.rest.trim_start_matches([' ', '\t']);
            let Some(c) = self.rest.chars().next() else { break };
            match c {
                '\n' => self.newline()?,
                ';' | '&' | '|' => self.operator()?,
                '#' => self.rest = self.rest.find('\n').map_or("", |at| &self.rest[at..]),
                '<' | '>' => self.redirection()?,
                '(' | ')' => return Err("it has a subshell or function"),
                '\\' if self.rest.starts_with("\\\n") => self.rest = &self.rest[2..],
                _ => self.word()?,
            }
        }
        if self.unit.is_empty() {
            return if matches!(self.join, Join::First | Join::Then) { Ok(()) } else { Err("it is incomplete") };
        }
        self.end_unit(Join::Then)
    }

    fn newline(&mut self) -> Result<(), Opaque> {
        self.rest = &self.rest[1..];
        if self.unit.is_empty() { Ok(()) } else { self.end_unit(Join::Then) }
    }

    fn operator(&mut self) -> Result<(), Opaque> {
        if self.rest.starts_with("&>") {
            return self.redirection();
        }
        let (length, join) = match self.rest {
            text if text.starts_with("&&") => (2, Join::And),
            text if text.starts_with("||") => (2, Join::Or),
            text if text.starts_with("|&") => (2, Join::Pipe),
            text if text.starts_with(";;") || text.starts_with(";&") => return Err("it has a case statement"),
            text if text.starts_with('|') => (1, Join::Pipe),
            text if text.starts_with(';') => (1, Join::Then),
            _ => return Err("it starts a background job"),
        };
        if self.unit.is_empty() {
            return Err("it is incomplete");
        }
        self.rest = &self.rest[length..];
        self.end_unit(join)
    }

    fn end_unit(&mut self, next: Join) -> Result<(), Opaque> {
        let mut words = std::mem::take(&mut self.unit);
        let leading = words.iter().take_while(|word| is_assignment(word)).count();
        let assignments = words.drain(..leading).map(|word| word.raw).collect();
        if words.is_empty() {
            return Err("it sets a variable");
        }
        self.units.push(Unit { join: self.join, assignments, words });
        self.join = next;
        Ok(())
    }

    /// Only duplications of the standard streams and `/dev/null` are plain.
    fn redirection(&mut self) -> Result<(), Opaque> {
        #[rustfmt::skip]
        const PLAIN: &[&str] =
            &["&>>/dev/null", "&> /dev/null", "&>/dev/null", ">>/dev/null", "> /dev/null", ">/dev/null", ">&1", ">&2",
              "< /dev/null", "</dev/null"];
        let found = PLAIN.iter().find(|form| self.rest.starts_with(**form));
        let Some(rest) = found.and_then(|form| self.rest.strip_prefix(form)) else {
            return Err("it redirects to or from a file");
        };
        if rest.chars().next().is_some_and(|c| !c.is_ascii_whitespace() && !matches!(c, ';' | '&' | '|')) {
            return Err("it redirects to or from a file");
        }
        self.rest = rest;
        Ok(())
    }

    fn word(&mut self) -> Result<(), Opaque> {
        let mut word = Word::default();
        let start = self.rest;
        while let Some(c) = self.rest.chars().next() {
            match c {
                ' ' | '\t' | '\n' | ';' | '&' | '|' => break,
                '<' | '>' => {
                    // A file descriptor in front of a redirection is not a word.
                    if matches!(word.raw.as_str(), "0" | "1" | "2") {
                        return self.redirection();
                    }
                    break;
                }
                '\'' => self.single(&mut word)?,
                '"' => self.double(&mut word)?,
                '\\' => self.escape(&mut word)?,
                _ => {
                    plain_char(c, &mut word)?;
                    self.rest = &self.rest[c.len_utf8()..];
                }
            }
            word.raw.clear();
            word.raw.push_str(&start[..start.len() - self.rest.len()]);
        }
        word.raw = word.raw.replace("\\\n", "");
        self.unit.push(word);
        Ok(())
    }

    fn single(&mut self, word: &mut Word) -> Result<(), Opaque> {
        let body = &self.rest[1..];
        let end = body.find('\'').ok_or("a quote is not closed")?;
        word.text.push_str(&body[..end]);
        word.quoted = true;
        self.rest = &body[end + 1..];
        Ok(())
    }

    fn double(&mut self, word: &mut Word) -> Result<(), Opaque> {
        word.quoted = true;
        let mut chars = self.rest[1..].chars();
        while let Some(c) = chars.next() {
            match c {
                '"' => {
                    self.rest = chars.as_str();
                    return Ok(());
                }
                '$' | '`' => return Err("it has an expansion"),
                '\\' => match chars.next() {
                    Some('\n') => {}
                    Some(next @ ('"' | '\\' | '$' | '`')) => word.text.push(next),
                    Some(next) => word.text.extend(['\\', next]),
                    None => break,
                },
                _ => word.text.push(c),
            }
        }
        Err("a quote is not closed")
    }

    fn escape(&mut self, word: &mut Word) -> Result<(), Opaque> {
        let next = self.rest[1..].chars().next().ok_or("it is incomplete")?;
        if next != '\n' {
            word.text.push(next);
            word.quoted = true;
        }
        self.rest = &self.rest[1 + next.len_utf8()..];
        Ok(())
    }
}

fn plain_char(c: char, word: &mut Word) -> Result<(), Opaque> {
    let at_start = word.text.is_empty() && !word.quoted;
    match c {
        '$' | '`' => return Err("it has an expansion"),
        '{' | '}' => return Err("it has braces"),
        '(' | ')' => return Err("it has a subshell, function or pattern"),
        // zsh replaces `=name` by the path of that program.
        '=' if at_start => return Err("a word starts with an equals sign"),
        '~' if at_start => word.tilde = true,
        '*' | '?' | '[' => word.glob = true,
        _ => {}
    }
    word.text.push(c);
    Ok(())
}

fn is_assignment(word: &Word) -> bool {
    let Some((name, _)) = word.raw.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split_once('[').map_or(name, |(name, _)| name);
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
}

/// Words with a grammar of their own.
#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "!", "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "select", "in",
    "function", "coproc", "[[", "]]", "repeat", "foreach", "end", "nocorrect",
];

/// Builtins that change how everything after them in the same command is to be read.
#[rustfmt::skip]
const POISON: &[&str] = &[
    "export", "declare", "typeset", "local", "readonly", "alias", "unalias", "set", "unset", "shopt", "setopt",
    "unsetopt", "enable", "hash", "trap", "exec", "builtin", "pushd", "popd", "umask", "read", "mapfile", "readarray",
    "getopts", "emulate", "zmodload", "autoload", "bindkey", "complete",
];

const CODE: &[&str] = &["eval", "source", "."];

fn check(units: &[Unit]) -> Result<(), Opaque> {
    for unit in units {
        let Some(command) = unit.words.first() else { return Err("it is incomplete") };
        if command.glob || command.tilde {
            return Err("the program name is a pattern");
        }
        let name = command.text.as_str();
        if name.is_empty() || KEYWORDS.contains(&name) {
            return Err("it has a control structure");
        }
        if CODE.contains(&name) {
            return Err("it runs text as code");
        }
        if units.len() > 1 && POISON.contains(&name) {
            return Err("it changes the shell for what follows");
        }
    }
    Ok(())
}

impl Unit {
    /// The words as written, single blanks between them.
    pub(crate) fn text(&self) -> String {
        join_raw(&self.words)
    }
}

pub(crate) fn join_raw(words: &[Word]) -> String {
    let raws: Vec<_> = words.iter().map(|word| word.raw.as_str()).collect();
    raws.join(" ")
}

#[cfg(test)]
#[path = "plain_tests.rs"]
mod tests;
