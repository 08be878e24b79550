//! Fills arguments and paths into a skill's body, and splits it where commands must run. The body is processed once, as
//! it is in the file: text from arguments or commands is never interpreted as a token or a command.

use super::Skill;

/// The values that are filled into a body.
#[derive(Clone, Debug, Default)]
pub struct RenderValues<'a> {
    /// As the user typed them.
    pub arguments: &'a str,
    pub session_id: &'a str,
    pub effort: &'a str,
    pub project: &'a str,
}

/// A piece of a rendered body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RenderedPiece {
    Text(String),
    /// A command whose output is inserted here. `pattern` is its text in the body.
    Command {
        command: String,
        pattern: String,
    },
}

/// Returns the body in pieces, in order.
pub fn render(skill: &Skill, body: &str, values: &RenderValues<'_>) -> Vec<RenderedPiece> {
    let dir = skill.dir.display().to_string();
    let mut filler = ArgumentFiller {
        names: &skill.arguments,
        words: words(values.arguments),
        values,
        dir: &dir,
        took_arguments: false,
    };
    let mut pieces: Vec<RenderedPiece> = segments(body)
        .into_iter()
        .map(|segment| match segment {
            BodySegment::Text(text) => RenderedPiece::Text(filler.fill(text)),
            BodySegment::Command { command, pattern } => {
                RenderedPiece::Command { command: filler.fill(command), pattern: pattern.to_owned() }
            }
        })
        .collect();
    let typed = values.arguments.trim();
    if !filler.took_arguments && !typed.is_empty() {
        pieces.push(RenderedPiece::Text(format!("\n\nARGUMENTS: {typed}")));
    }
    pieces
}

/// The files that a text mentions as `@path`, outside code.
pub fn mentions(text: &str) -> Vec<String> {
    if text.contains('@') { crate::markdown::imports(text) } else { Vec::new() }
}

/// Splits arguments like a shell; quotes that are never closed are ordinary characters.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut current: Option<String> = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' | '\'' if chars.clone().any(|later| later == c) => {
                let word = current.get_or_insert_default();
                for inner in chars.by_ref().take_while(|inner| *inner != c) {
                    word.push(inner);
                }
            }
            '\\' if chars.peek().is_some_and(|next| next.is_whitespace() || matches!(next, '"' | '\'' | '\\')) => {
                current.get_or_insert_default().extend(chars.next());
            }
            c if c.is_whitespace() => words.extend(current.take()),
            c => current.get_or_insert_default().push(c),
        }
    }
    words.extend(current);
    words
}

struct ArgumentFiller<'a> {
    names: &'a [String],
    words: Vec<String>,
    values: &'a RenderValues<'a>,
    dir: &'a str,
    took_arguments: bool,
}

impl ArgumentFiller<'_> {
    fn fill(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            let (before, token) = rest.split_at(at);
            let slashes = before.len() - before.trim_end_matches('\\').len();
            out.push_str(before);
            let (length, value) = match self.place(token) {
                Some((length, value)) => (length, value),
                None => match self.argument(token) {
                    // One backslash makes the token plain text.
                    Some((length, _)) if slashes == 1 => {
                        out.pop();
                        (length, token[..length].to_owned())
                    }
                    Some((length, value)) => {
                        self.took_arguments = true;
                        (length, value)
                    }
                    None => (1, "$".to_owned()),
                },
            };
            out.push_str(&value);
            rest = &token[length..];
        }
        out.push_str(rest);
        out
    }

    /// `${CLAUDE_…}` tokens, which cannot be escaped.
    fn place(&self, token: &str) -> Option<(usize, String)> {
        let name = token.strip_prefix("${")?.split_once('}')?.0;
        let value = match name {
            "CLAUDE_SESSION_ID" => self.values.session_id,
            "CLAUDE_EFFORT" => self.values.effort,
            "CLAUDE_SKILL_DIR" => self.dir,
            "CLAUDE_PROJECT_DIR" => self.values.project,
            _ => return None,
        };
        Some((name.len() + 3, value.to_owned()))
    }

    /// The length of an argument token and its value. An index without a value is not a token.
    fn argument(&self, token: &str) -> Option<(usize, String)> {
        let after = &token[1..];
        let name: &str =
            &after[..after.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(after.len())];
        if name == "ARGUMENTS" {
            let index =
                after[name.len()..].strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(index, _)| index);
            if let Some(index) = index.filter(|index| !index.is_empty() && index.bytes().all(|b| b.is_ascii_digit())) {
                let value = self.words.get(index.parse::<usize>().ok()?)?;
                return Some((1 + name.len() + index.len() + 2, value.clone()));
            }
            return Some((1 + name.len(), self.values.arguments.trim().to_owned()));
        }
        if !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit()) {
            return Some((1 + name.len(), self.words.get(name.parse::<usize>().ok()?)?.clone()));
        }
        let at = self.names.iter().position(|known| known == name)?;
        Some((1 + name.len(), self.words.get(at).cloned().unwrap_or_default()))
    }
}

enum BodySegment<'a> {
    Text(&'a str),
    Command { command: &'a str, pattern: &'a str },
}

/// Finds commands: `` !`…` `` at the start of a line or after a blank, and blocks fenced with ```` ```! ````. Code
/// spans and other fences are examples; nothing in them runs.
fn segments(body: &str) -> Vec<BodySegment<'_>> {
    let mut finder = CommandFinder { body, segments: Vec::new(), from: 0 };
    let mut at = 0;
    let mut fence: Option<(char, usize)> = None;
    while at < body.len() {
        let end = body[at..].find('\n').map_or(body.len(), |n| at + n + 1);
        let line = &body[at..end];
        let (mark, run) = fence_mark(line);
        match fence {
            Some((open, length)) => {
                if mark == Some(open) && run >= length && line.trim().len() == run {
                    fence = None;
                }
                at = end;
            }
            None if mark == Some('`') && line.trim_start()[run..].trim() == "!" => at = finder.block(at, end, run),
            None if run >= 3 => {
                fence = mark.map(|mark| (mark, run));
                at = end;
            }
            None => {
                finder.line(at, line);
                at = end;
            }
        }
    }
    finder.text_until(body.len());
    finder.segments
}

/// The fence character at the start of a line and its count; fewer than three are no fence.
fn fence_mark(line: &str) -> (Option<char>, usize) {
    let text = line.trim_start();
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'));
    let run = mark.map_or(0, |mark| text.chars().take_while(|c| *c == mark).count());
    if run >= 3 { (mark, run) } else { (None, 0) }
}

struct CommandFinder<'a> {
    body: &'a str,
    segments: Vec<BodySegment<'a>>,
    /// The start of the text that is in no segment yet.
    from: usize,
}

impl<'a> CommandFinder<'a> {
    fn text_until(&mut self, end: usize) {
        if end > self.from {
            self.segments.push(BodySegment::Text(&self.body[self.from..end]));
        }
        self.from = end;
    }

    /// A fenced command up to the closing fence. Returns the offset after it.
    fn block(&mut self, at: usize, inside: usize, run: usize) -> usize {
        let mut end = inside;
        for line in self.body[inside..].split_inclusive('\n') {
            let (mark, length) = fence_mark(line);
            if mark == Some('`') && length >= run && line.trim().len() == length {
                let command = self.body[inside..end].trim();
                let after = end + line.trim_end_matches(['\n', '\r']).len();
                self.command(at, after, command);
                return end + line.len();
            }
            end += line.len();
        }
        // Without a closing fence it is an incomplete example, not a command.
        end
    }

    fn line(&mut self, start: usize, line: &'a str) {
        let mut at = 0;
        while let Some(found) = line[at..].find('`') {
            let tick = at + found;
            let run = line[tick..].chars().take_while(|c| *c == '`').count();
            let inside = tick + run;
            let Some(length) = closing(&line[inside..], run) else {
                at = inside;
                continue;
            };
            let before = line[..tick].strip_suffix('!');
            let is_command = run == 1
                && length > 0
                && before.is_some_and(|text| text.is_empty() || text.ends_with(char::is_whitespace));
            if is_command {
                self.command(start + tick - 1, start + inside + length + run, &line[inside..inside + length]);
            }
            at = inside + length + run;
        }
    }

    fn command(&mut self, from: usize, to: usize, command: &'a str) {
        self.text_until(from);
        self.segments.push(BodySegment::Command { command, pattern: &self.body[from..to] });
        self.from = to;
    }
}

/// Finds the end of a code span of `run` back-ticks.
fn closing(text: &str, run: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = text[at..].find('`') {
        let tick = at + found;
        let length = text[tick..].chars().take_while(|c| *c == '`').count();
        if length == run {
            return Some(tick);
        }
        at = tick + length;
    }
    None
}
