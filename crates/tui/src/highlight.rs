//! Syntax colours by a small table-driven lexer: comments, strings, numbers, keywords and names before a bracket. It never
//! fails and costs one pass; what it does not understand is plain. Text is never changed.

mod languages;

use crate::style::{Line, Style};
use crate::theme::{Theme, Token};
use languages::{Language, find};

/// Beyond this a block stays plain.
const LIMIT: usize = 256 * 1024;

/// What a lexer is inside of between lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Code,
    BlockComment,
    /// A string that may span lines, by its closing mark.
    Text(&'static str),
}

/// `code` in lines with colours for the language a fence names.
pub fn highlight(code: &str, language: &str, theme: &Theme) -> Vec<Line> {
    let name = language.split([',', ' ', '{']).next().unwrap_or_default().to_ascii_lowercase();
    if name == "diff" || name == "patch" {
        return code.split('\n').map(|line| diff_line(line, theme)).collect();
    }
    let Some(language) = find(&name).filter(|_| code.len() <= LIMIT) else {
        return code.split('\n').map(Line::plain).collect();
    };
    let mut state = State::Code;
    code.split('\n').map(|line| Lexer { language, theme, rest: line, out: Line::new() }.run(&mut state)).collect()
}

/// The language of a file, for a fence.
pub fn language_of(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    match name {
        "Dockerfile" => "dockerfile",
        "Makefile" | "makefile" => "makefile",
        "CMakeLists.txt" => "cmake",
        _ => name.rsplit_once('.').map_or("", |(_, extension)| extension),
    }
}

fn diff_line(line: &str, theme: &Theme) -> Line {
    let token = match line.as_bytes().first() {
        Some(b'+') => Token::Success,
        Some(b'-') => Token::Error,
        Some(b'@') => Token::CodeName,
        Some(_) | None => Token::Text,
    };
    Line::styled(line, theme.fg(token))
}

struct Lexer<'a> {
    language: &'static Language,
    theme: &'a Theme,
    rest: &'a str,
    out: Line,
}

impl Lexer<'_> {
    fn run(mut self, state: &mut State) -> Line {
        while !self.rest.is_empty() {
            match *state {
                State::BlockComment => {
                    let end = self.language.block.map_or("", |(_, end)| end);
                    if self.take_through(end, Token::CodeComment, Escapes::None) {
                        *state = State::Code;
                    }
                }
                State::Text(end) => {
                    if self.take_through(end, Token::CodeString, Escapes::Backslash) {
                        *state = State::Code;
                    }
                }
                State::Code => *state = self.step(),
            }
        }
        self.out
    }

    fn take(&mut self, len: usize, style: Style) {
        let (token, rest) = self.rest.split_at(len);
        self.out.push(token, style);
        self.rest = rest;
    }

    /// Up to and with `end`; `false` when the line ends first.
    fn take_through(&mut self, end: &str, token: Token, escapes: Escapes) -> bool {
        let style = self.theme.fg(token);
        let mut chars = self.rest.char_indices();
        while let Some((at, c)) = chars.next() {
            if self.rest[at..].starts_with(end) && !end.is_empty() {
                self.take(at + end.len(), style);
                return true;
            }
            if c == '\\' && escapes == Escapes::Backslash {
                chars.next();
            }
        }
        self.take(self.rest.len(), style);
        false
    }

    fn step(&mut self) -> State {
        let language = self.language;
        if let Some((start, _)) = language.block.filter(|(start, _)| self.rest.starts_with(start)) {
            self.take(start.len(), self.theme.fg(Token::CodeComment));
            return State::BlockComment;
        }
        if self.comment_begins() {
            self.take(self.rest.len(), self.theme.fg(Token::CodeComment));
            return State::Code;
        }
        for quote in language.long_strings {
            if self.rest.starts_with(quote) {
                self.take(quote.len(), self.theme.fg(Token::CodeString));
                return State::Text(quote);
            }
        }
        let Some(first) = self.rest.chars().next() else { return State::Code };
        if language.quotes.contains(first) {
            self.string(first);
        } else if first.is_ascii_digit() {
            let len = self.run_of(|c| c.is_alphanumeric() || c == '_' || c == '.');
            self.take(len, self.theme.fg(Token::CodeNumber));
        } else if first.is_alphabetic() || first == '_' || first == '@' || first == '$' {
            self.word(first);
        } else {
            self.take(first.len_utf8(), Style::PLAIN);
        }
        State::Code
    }

    fn comment_begins(&self) -> bool {
        // In shells a number sign inside a word is no comment.
        let free = self.out.spans.last().is_none_or(|span| span.text.ends_with(char::is_whitespace));
        self.language.comments.iter().any(|mark| self.rest.starts_with(*mark) && (*mark != "#" || free))
    }

    fn string(&mut self, quote: char) {
        let mark: &str = match quote {
            '"' => "\"",
            '\'' => "'",
            _ => "`",
        };
        // A lifetime or an apostrophe is no string: a quote needs its partner on the line.
        let body = &self.rest[1..];
        if quote == '\'' && self.language.lifetimes && !is_char_literal(body) {
            let len = 1 + body.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(body.len());
            return self.take(len, self.theme.fg(Token::CodeName));
        }
        let style = self.theme.fg(Token::CodeString);
        self.take(1, style);
        self.take_through(mark, Token::CodeString, Escapes::Backslash);
    }

    fn word(&mut self, first: char) {
        let head = first.len_utf8();
        let tail = self.rest[head..].find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len() - head);
        let len = head + tail;
        let word = &self.rest[..len];
        let known = |word: &str| {
            // Bytes: asked for every word of every frame, and a search for characters is many times slower on short words.
            let mut keywords = self.language.keywords.as_bytes().split(|byte| *byte == b' ');
            let word = word.as_bytes();
            if self.language.any_case {
                keywords.any(|keyword| keyword.eq_ignore_ascii_case(word))
            } else {
                keywords.any(|keyword| keyword == word)
            }
        };
        let style = if known(word) {
            self.theme.fg(Token::CodeKeyword)
        } else if self.rest[len..].starts_with('(') {
            self.theme.fg(Token::CodeName)
        } else {
            Style::PLAIN
        };
        self.take(len, style);
    }

    fn run_of(&self, accept: impl Fn(char) -> bool) -> usize {
        self.rest.find(|c: char| !accept(c)).unwrap_or(self.rest.len())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Escapes {
    Backslash,
    None,
}

/// After the opening quote: one character or an escape, then the closing quote.
fn is_char_literal(body: &str) -> bool {
    let mut chars = body.chars();
    match chars.next() {
        Some('\\') => true,
        Some(_) => chars.next() == Some('\''),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tokens(code: &str, language: &str) -> Vec<(String, Style)> {
        let theme = Theme::default();
        let lines = highlight(code, language, &theme);
        lines.into_iter().flat_map(|line| line.spans).map(|span| (span.text, span.style)).collect()
    }

    fn has(code: &str, language: &str, text: &str, token: Token) {
        let wanted = (text.to_owned(), Theme::default().fg(token));
        let all = tokens(code, language);
        assert!(all.contains(&wanted), "{text:?} as {token:?} in {all:?}");
    }

    #[test]
    fn common_languages_are_coloured() {
        has("let x = 12; // why", "rust", "let", Token::CodeKeyword);
        has("let x = 12; // why", "rust", "12", Token::CodeNumber);
        has("let x = 12; // why", "rust", "// why", Token::CodeComment);
        has("fn f<'a>(c: char) { g('x') }", "rs", "'a", Token::CodeName);
        has("fn f<'a>(c: char) { g('x') }", "rs", "'x'", Token::CodeString);
        has("s = \"\"\"a\nb\"\"\" # c", "python", "b\"\"\"", Token::CodeString);
        has("/* a\nb */ int x;", "c", "b */", Token::CodeComment);
        has("echo \"a \\\" b\" # c", "sh", "\"a \\\" b\"", Token::CodeString);
        has("SELECT a from b", "sql", "SELECT", Token::CodeKeyword);
        has("+new\n-old", "diff", "+new", Token::Success);
        assert_eq!(language_of("/a/b.rs"), "rs");
        assert_eq!(language_of("Makefile"), "makefile");
    }

    proptest! {
        #[test]
        fn text_is_never_changed(code in "[ -~\n日'\"`#/*]{0,80}", language in prop::sample::select(
            vec!["rust", "python", "js", "sh", "c", "html", "yaml", "json", "none", "diff"])) {
            let lines = highlight(&code, language, &Theme::default());
            let joined: Vec<String> = lines.iter().map(Line::text).collect();
            prop_assert_eq!(joined.join("\n"), code);
        }
    }
}
