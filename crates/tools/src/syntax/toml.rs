//! Whether a text is TOML 1.0. Values are not kept, only the names that were defined, because repeated ones are errors.

use super::SyntaxProblem;
use regex::Regex;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The deepest nesting of arrays and inline tables.
const MAX_DEPTH: usize = 64;

/// Everything that is no string, array or table.
static PLAIN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let integer = r"[+-]?(0|[1-9](_?[0-9])*)";
    let float = r"(\.[0-9](_?[0-9])*)?([eE][+-]?[0-9](_?[0-9])*)?";
    let other = r"0x[0-9A-Fa-f](_?[0-9A-Fa-f])*|0o[0-7](_?[0-7])*|0b[01](_?[01])*|true|false|[+-]?(inf|nan)";
    let time = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?";
    let date = r"[0-9]{4}-[0-9]{2}-[0-9]{2}";
    let zone = r"([Zz]|[+-][0-9]{2}:[0-9]{2})?";
    Regex::new(&format!("^({integer}{float}|{other}|{date}([Tt ]{time}{zone})?|{time})$")).ok()
});

pub(super) fn check(text: &str) -> Result<(), SyntaxProblem> {
    let mut reader = TomlReader { text, at: 0 };
    reader.document().map_err(|problem| {
        let at = reader.at.min(text.len());
        SyntaxProblem { line: memchr::memchr_iter(b'\n', &text.as_bytes()[..at]).count() + 1, text: problem }
    })
}

/// What stands under a name.
#[derive(Debug)]
enum TomlNode {
    Value,
    /// `is_defined`: by a header, or within an inline table.
    Table {
        is_defined: bool,
        members: Members,
    },
    /// The last table of an array of tables.
    Tables(Members),
}

type Members = BTreeMap<String, TomlNode>;
type Checked<T> = Result<T, String>;

/// The members of the table at `path`, which is made where it is missing.
fn descend<'a>(members: &'a mut Members, path: &[String]) -> Checked<&'a mut Members> {
    let mut place = members;
    for name in path {
        let missing = || TomlNode::Table { is_defined: false, members: Members::new() };
        place = match place.entry(name.clone()).or_insert_with(missing) {
            TomlNode::Table { members, .. } | TomlNode::Tables(members) => members,
            TomlNode::Value => return Err(format!("`{name}` is a value and no table")),
        };
    }
    Ok(place)
}

fn define(members: &mut Members, path: &[String]) -> Checked<()> {
    let (last, parents) = path.split_last().ok_or("a key is missing")?;
    match descend(members, parents)?.insert(last.clone(), TomlNode::Value) {
        None => Ok(()),
        Some(_) => Err(format!("`{}` is defined twice", path.join("."))),
    }
}

fn define_table(members: &mut Members, path: &[String], is_array: bool) -> Checked<()> {
    let (last, parents) = path.split_last().ok_or("a table without a name")?;
    let place = descend(members, parents)?;
    let twice = || Err(format!("`{}` is defined twice", path.join(".")));
    match (place.get_mut(last), is_array) {
        (None, true) => drop(place.insert(last.clone(), TomlNode::Tables(Members::new()))),
        (None, false) => {
            drop(place.insert(last.clone(), TomlNode::Table { is_defined: true, members: Members::new() }));
        }
        (Some(TomlNode::Tables(members)), true) => members.clear(),
        (Some(TomlNode::Table { is_defined, .. }), false) if !*is_defined => *is_defined = true,
        (Some(_), _) => return twice(),
    }
    Ok(())
}

struct TomlReader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> TomlReader<'a> {
    fn document(&mut self) -> Checked<()> {
        let mut root = Members::new();
        let mut table: Vec<String> = Vec::new();
        loop {
            self.skip_lines()?;
            match self.rest().bytes().next() {
                None => return Ok(()),
                Some(b'[') => {
                    let is_array = self.takes("[[");
                    if !is_array {
                        self.at += 1;
                    }
                    table = self.key()?;
                    if !self.takes(if is_array { "]]" } else { "]" }) {
                        return Err("the name of a table is not closed".into());
                    }
                    define_table(&mut root, &table, is_array)?;
                }
                Some(_) => {
                    let place = descend(&mut root, &table)?;
                    self.pair(place, 0)?;
                }
            }
            self.skip_blanks();
            self.comment()?;
            if !self.rest().is_empty() && !self.takes("\n") && !self.takes("\r\n") {
                return Err("more than one thing on a line".into());
            }
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn takes(&mut self, token: &str) -> bool {
        let is_there = self.rest().starts_with(token);
        if is_there {
            self.at += token.len();
        }
        is_there
    }

    fn skip_blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
    }

    /// Blanks, comments and line ends.
    fn skip_lines(&mut self) -> Checked<()> {
        loop {
            self.skip_blanks();
            self.comment()?;
            if !self.takes("\n") && !self.takes("\r\n") {
                return Ok(());
            }
        }
    }

    fn comment(&mut self) -> Checked<()> {
        if self.rest().starts_with('#') {
            let line = self.rest().split('\n').next().unwrap_or_default();
            let line = line.strip_suffix('\r').unwrap_or(line);
            if line.contains(|c: char| c.is_control() && c != '\t') {
                return Err("a control character in a comment".into());
            }
            self.at += line.len();
        }
        Ok(())
    }

    fn pair(&mut self, members: &mut Members, depth: usize) -> Checked<()> {
        let key = self.key()?;
        if !self.takes("=") {
            return Err(format!("`=` is missing after `{}`", key.join(".")));
        }
        self.skip_blanks();
        define(members, &key)?;
        self.value(depth)
    }

    /// A key with dots, and the blanks around it.
    fn key(&mut self) -> Checked<Vec<String>> {
        let mut parts = Vec::new();
        loop {
            self.skip_blanks();
            parts.push(self.simple_key()?);
            self.skip_blanks();
            if !self.takes(".") {
                return Ok(parts);
            }
        }
    }

    fn simple_key(&mut self) -> Checked<String> {
        let start = self.at;
        if self.rest().starts_with(['"', '\'']) {
            self.string()?;
            return Ok(self.text[start + 1..self.at - 1].to_owned());
        }
        let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        self.at += self.rest().len() - self.rest().trim_start_matches(is_bare).len();
        if start == self.at {
            return Err("a key is missing".into());
        }
        Ok(self.text[start..self.at].to_owned())
    }

    fn value(&mut self, depth: usize) -> Checked<()> {
        if depth > MAX_DEPTH {
            return Err("it is nested too deeply".into());
        }
        match self.rest().bytes().next() {
            Some(b'"' | b'\'') => self.any_string(),
            Some(b'[') => self.array(depth),
            Some(b'{') => self.inline_table(depth),
            _ => self.plain(),
        }
    }

    fn plain(&mut self) -> Checked<()> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | '-' | '.' | ':');
        let length = |text: &str| text.len() - text.trim_start_matches(is_part).len();
        let mut end = length(self.rest());
        // A blank may stand between date and time.
        let time = self.rest()[end..].strip_prefix(' ').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        if let Some(time) = time.filter(|_| end == "2000-01-01".len()) {
            end += 1 + length(time);
        }
        let word = &self.rest()[..end];
        if !PLAIN.as_ref().is_some_and(|plain| plain.is_match(word)) {
            return Err(match word {
                "" => "a value is missing".into(),
                word => format!("`{word}` is no value"),
            });
        }
        self.at += end;
        Ok(())
    }

    fn any_string(&mut self) -> Checked<()> {
        for quotes in ["\"\"\"", "'''"] {
            if self.takes(quotes) {
                return self.long_string(quotes);
            }
        }
        self.string()
    }

    /// A string on one line, with its quotes.
    fn string(&mut self) -> Checked<()> {
        let (quote, has_escapes) = if self.rest().starts_with('"') { ('"', true) } else { ('\'', false) };
        self.at += 1;
        loop {
            let Some(next) = self.rest().chars().next().filter(|c| *c == '\t' || !c.is_control()) else {
                return Err("a string is not closed".into());
            };
            self.at += next.len_utf8();
            if next == quote {
                return Ok(());
            }
            if next == '\\' && has_escapes {
                self.escape()?;
            }
        }
    }

    /// A string over several lines, after its first quotes.
    fn long_string(&mut self, quotes: &str) -> Checked<()> {
        loop {
            if self.takes(quotes) {
                // Up to two quotes may stand before the closing ones.
                let quote = &quotes[..1];
                let _ = self.takes(quote) && self.takes(quote);
                return Ok(());
            }
            let Some(next) = self.rest().chars().next() else { return Err("a string is not closed".into()) };
            self.at += next.len_utf8();
            if next == '\\' && quotes.starts_with('"') {
                self.escape_in_long_string()?;
            }
        }
    }

    /// The part of an escape after the backslash.
    fn escape(&mut self) -> Checked<()> {
        let digits = match self.rest().chars().next() {
            Some('b' | 't' | 'n' | 'f' | 'r' | 'e' | '"' | '\\') => 0,
            Some('x') => 2,
            Some('u') => 4,
            Some('U') => 8,
            _ => return Err("an unknown escape in a string".into()),
        };
        self.at += 1;
        let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !self.rest().get(..digits).is_some_and(is_number) {
            return Err("an unknown escape in a string".into());
        }
        self.at += digits;
        Ok(())
    }

    /// As `escape`; a backslash at the end of a line joins it with the next.
    fn escape_in_long_string(&mut self) -> Checked<()> {
        let after = self.rest().trim_start_matches([' ', '\t', '\r']);
        if after.starts_with('\n') {
            self.at = self.text.len() - after.len();
            return Ok(());
        }
        self.escape()
    }

    fn array(&mut self, depth: usize) -> Checked<()> {
        self.at += 1;
        loop {
            self.skip_lines()?;
            if self.takes("]") {
                return Ok(());
            }
            if self.rest().is_empty() {
                return Err("an array is not closed".into());
            }
            self.value(depth + 1)?;
            self.skip_lines()?;
            if !self.takes(",") && !self.rest().starts_with(']') {
                return Err("`,` or `]` is missing in an array".into());
            }
        }
    }

    fn inline_table(&mut self, depth: usize) -> Checked<()> {
        self.at += 1;
        self.skip_blanks();
        if self.takes("}") {
            return Ok(());
        }
        let mut members = Members::new();
        loop {
            self.pair(&mut members, depth + 1)?;
            self.skip_blanks();
            if self.takes("}") {
                return Ok(());
            }
            if !self.takes(",") {
                return Err("`,` or `}` is missing in an inline table".into());
            }
        }
    }
}

#[cfg(test)]
#[path = "toml_tests.rs"]
mod tests;
