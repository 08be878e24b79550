//! Syntax colours from a small table-driven lexer: comments, strings, numbers, keywords and names before a bracket. It
//! never fails and needs one pass; unknown constructs stay plain. The text is never changed.

mod languages;

use crate::style::{StyledLine, TextStyle};
use crate::theme::{Theme, ThemeToken};
use languages::{Language, find};

/// Longer code, in bytes, stays plain.
const LIMIT: usize = 256 * 1024;

/// The construct a lexer is in at the end of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LexerState {
    #[default]
    Code,
    BlockComment,
    /// A string that may span lines, with its closing mark.
    Text(&'static str),
}

/// `code` as lines, coloured for the language named by a code fence.
pub fn highlight(code: &str, language: &str, theme: &Theme) -> Vec<StyledLine> {
    let name = language.split([',', ' ', '{']).next().unwrap_or_default().to_ascii_lowercase();
    if name == "diff" || name == "patch" {
        return code.split('\n').map(|line| diff_line(line, theme)).collect();
    }
    let Some(language) = find(&name).filter(|_| code.len() <= LIMIT) else {
        return code.split('\n').map(StyledLine::plain).collect();
    };
    let mut state = LexerState::Code;
    code.split('\n').map(|line| Lexer { language, theme, rest: line, out: StyledLine::new() }.run(&mut state)).collect()
}

/// The language name of a file, for a code fence; empty when unknown.
pub fn language_of(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    match name {
        "Dockerfile" => "dockerfile",
        "Makefile" | "makefile" => "makefile",
        "CMakeLists.txt" => "cmake",
        _ => name.rsplit_once('.').map_or("", |(_, extension)| extension),
    }
}

fn diff_line(line: &str, theme: &Theme) -> StyledLine {
    let token = match line.as_bytes().first() {
        Some(b'+') => ThemeToken::Success,
        Some(b'-') => ThemeToken::Error,
        Some(b'@') => ThemeToken::CodeName,
        Some(_) | None => ThemeToken::Text,
    };
    StyledLine::styled(line, theme.fg(token))
}

struct Lexer<'a> {
    language: &'static Language,
    theme: &'a Theme,
    rest: &'a str,
    out: StyledLine,
}

impl Lexer<'_> {
    fn run(mut self, state: &mut LexerState) -> StyledLine {
        while !self.rest.is_empty() {
            match *state {
                LexerState::BlockComment => {
                    let end = self.language.block.map_or("", |(_, end)| end);
                    if self.take_through(end, ThemeToken::CodeComment, EscapeStyle::None) {
                        *state = LexerState::Code;
                    }
                }
                LexerState::Text(end) => {
                    if self.take_through(end, ThemeToken::CodeString, EscapeStyle::Backslash) {
                        *state = LexerState::Code;
                    }
                }
                LexerState::Code => *state = self.step(),
            }
        }
        self.out
    }

    fn take(&mut self, len: usize, style: TextStyle) {
        let (token, rest) = self.rest.split_at(len);
        self.out.push(token, style);
        self.rest = rest;
    }

    /// Takes everything up to and including `end`; `false` when the line ends first.
    fn take_through(&mut self, end: &str, token: ThemeToken, escapes: EscapeStyle) -> bool {
        let style = self.theme.fg(token);
        let mut chars = self.rest.char_indices();
        while let Some((at, c)) = chars.next() {
            if self.rest[at..].starts_with(end) && !end.is_empty() {
                self.take(at + end.len(), style);
                return true;
            }
            if c == '\\' && escapes == EscapeStyle::Backslash {
                chars.next();
            }
        }
        self.take(self.rest.len(), style);
        false
    }

    fn step(&mut self) -> LexerState {
        let language = self.language;
        if let Some((start, _)) = language.block.filter(|(start, _)| self.rest.starts_with(start)) {
            self.take(start.len(), self.theme.fg(ThemeToken::CodeComment));
            return LexerState::BlockComment;
        }
        if self.comment_begins() {
            self.take(self.rest.len(), self.theme.fg(ThemeToken::CodeComment));
            return LexerState::Code;
        }
        for quote in language.long_strings {
            if self.rest.starts_with(quote) {
                self.take(quote.len(), self.theme.fg(ThemeToken::CodeString));
                return LexerState::Text(quote);
            }
        }
        let Some(first) = self.rest.chars().next() else { return LexerState::Code };
        if language.quotes.contains(first) {
            self.string(first);
        } else if first.is_ascii_digit() {
            let len = self.run_of(|c| c.is_alphanumeric() || c == '_' || c == '.');
            self.take(len, self.theme.fg(ThemeToken::CodeNumber));
        } else if first.is_alphabetic() || first == '_' || first == '@' || first == '$' {
            self.word(first);
        } else {
            self.take(first.len_utf8(), TextStyle::PLAIN);
        }
        LexerState::Code
    }

    fn comment_begins(&self) -> bool {
        // In shells, `#` inside a word does not start a comment.
        let free = self.out.spans.last().is_none_or(|span| span.text.ends_with(char::is_whitespace));
        self.language.comments.iter().any(|mark| self.rest.starts_with(*mark) && (*mark != "#" || free))
    }

    fn string(&mut self, quote: char) {
        let mark: &str = match quote {
            '"' => "\"",
            '\'' => "'",
            _ => "`",
        };
        // In languages with lifetimes, a single quote that starts no character literal starts a lifetime.
        let body = &self.rest[1..];
        if quote == '\'' && self.language.lifetimes && !is_char_literal(body) {
            let len = 1 + body.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(body.len());
            return self.take(len, self.theme.fg(ThemeToken::CodeName));
        }
        let style = self.theme.fg(ThemeToken::CodeString);
        self.take(1, style);
        self.take_through(mark, ThemeToken::CodeString, EscapeStyle::Backslash);
    }

    fn word(&mut self, first: char) {
        let head = first.len_utf8();
        let tail = self.rest[head..].find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len() - head);
        let len = head + tail;
        let word = &self.rest[..len];
        let known = |word: &str| {
            // Compares bytes: this runs for every word of every frame, and searching characters is much slower on short
            // words.
            let mut keywords = self.language.keywords.as_bytes().split(|byte| *byte == b' ');
            let word = word.as_bytes();
            if self.language.any_case {
                keywords.any(|keyword| keyword.eq_ignore_ascii_case(word))
            } else {
                keywords.any(|keyword| keyword == word)
            }
        };
        let style = if known(word) {
            self.theme.fg(ThemeToken::CodeKeyword)
        } else if self.rest[len..].starts_with('(') {
            self.theme.fg(ThemeToken::CodeName)
        } else {
            TextStyle::PLAIN
        };
        self.take(len, style);
    }

    fn run_of(&self, accept: impl Fn(char) -> bool) -> usize {
        self.rest.find(|c: char| !accept(c)).unwrap_or(self.rest.len())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EscapeStyle {
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

    fn tokens(code: &str, language: &str) -> Vec<(String, TextStyle)> {
        let theme = Theme::default();
        let lines = highlight(code, language, &theme);
        lines.into_iter().flat_map(|line| line.spans).map(|span| (span.text, span.style)).collect()
    }

    fn has(code: &str, language: &str, text: &str, token: ThemeToken) {
        let wanted = (text.to_owned(), Theme::default().fg(token));
        let all = tokens(code, language);
        assert!(all.contains(&wanted), "{text:?} as {token:?} in {all:?}");
    }

    #[test]
    fn common_languages_are_coloured() {
        has("let x = 12; // why", "rust", "let", ThemeToken::CodeKeyword);
        has("let x = 12; // why", "rust", "12", ThemeToken::CodeNumber);
        has("let x = 12; // why", "rust", "// why", ThemeToken::CodeComment);
        has("fn f<'a>(c: char) { g('x') }", "rs", "'a", ThemeToken::CodeName);
        has("fn f<'a>(c: char) { g('x') }", "rs", "'x'", ThemeToken::CodeString);
        has("s = \"\"\"a\nb\"\"\" # c", "python", "b\"\"\"", ThemeToken::CodeString);
        has("/* a\nb */ int x;", "c", "b */", ThemeToken::CodeComment);
        has("echo \"a \\\" b\" # c", "sh", "\"a \\\" b\"", ThemeToken::CodeString);
        has("SELECT a from b", "sql", "SELECT", ThemeToken::CodeKeyword);
        has("+new\n-old", "diff", "+new", ThemeToken::Success);
        assert_eq!(language_of("/a/b.rs"), "rs");
        assert_eq!(language_of("Makefile"), "makefile");
    }

    proptest! {
        #[test]
        fn text_is_never_changed(code in "[ -~\n日'\"`#/*]{0,80}", language in prop::sample::select(
            vec!["rust", "python", "js", "sh", "c", "html", "yaml", "json", "none", "diff"])) {
            let lines = highlight(&code, language, &Theme::default());
            let joined: Vec<String> = lines.iter().map(StyledLine::text).collect();
            prop_assert_eq!(joined.join("\n"), code);
        }
    }
}
