//! The parts of Markdown that instruction files need: code, comments and imports.

/// Removes block-level HTML comments outside code. Also returns pairs of an offset in the result and its line in the
/// file, where the text begins at `first_line`.
pub(crate) fn without_comments(text: &str, first_line: usize) -> (String, Vec<(usize, usize)>) {
    if !text.contains("<!--") {
        return (text.to_owned(), vec![(0, first_line)]);
    }
    let mut out = LineTrackedText { text: String::with_capacity(text.len()), starts: Vec::new(), next: 0 };
    let mut fence = CodeFence::default();
    let mut in_comment = false;
    for (at, line) in text.split_inclusive('\n').enumerate() {
        let number = first_line + at;
        if in_comment {
            if let Some((_, after)) = line.split_once("-->") {
                in_comment = false;
                out.push(after, number);
            }
            continue;
        }
        if fence.covers(line) || !line.trim_start().starts_with("<!--") {
            out.push_line(line, number);
            continue;
        }
        match line.split_once("-->") {
            Some((_, after)) => out.push(after, number),
            None => in_comment = true,
        }
    }
    if out.starts.is_empty() {
        out.starts.push((0, first_line));
    }
    (out.text, out.starts)
}

/// Text that records which lines of the file it consists of.
struct LineTrackedText {
    text: String,
    starts: Vec<(usize, usize)>,
    /// The number of the line that would follow without a gap.
    next: usize,
}

impl LineTrackedText {
    fn push_line(&mut self, line: &str, number: usize) {
        if number != self.next {
            self.starts.push((self.text.len(), number));
        }
        self.text.push_str(line);
        self.next = number + 1;
    }

    /// Adds the rest of a line after a comment.
    fn push(&mut self, rest: &str, number: usize) {
        if !rest.trim().is_empty() {
            self.push_line(rest, number);
        }
    }
}

/// The paths after `@`, in order, outside code spans and fences.
pub(crate) fn imports(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fence = CodeFence::default();
    for line in text.lines() {
        if !fence.covers(line) && line.contains('@') {
            imports_of_line(&without_spans(line), &mut found);
        }
    }
    found
}

fn imports_of_line(line: &str, found: &mut Vec<String>) {
    let mut rest = line;
    let mut boundary = true;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        if c == '@' && boundary {
            let (path, remaining) = take_path(after);
            if is_path(&path) {
                found.push(path);
            }
            rest = remaining;
            boundary = false;
            continue;
        }
        boundary = c.is_whitespace() || matches!(c, '(' | '[' | '"' | '\'' | '*' | '-' | ':');
        rest = after;
    }
}

/// Reads a path up to the next blank; a backslash escapes a blank. Closing punctuation is not part of the path.
fn take_path(text: &str) -> (String, &str) {
    let mut path = String::new();
    let mut chars = text.char_indices();
    let mut end = text.len();
    while let Some((at, c)) = chars.next() {
        if c == '\\' && text[at + 1..].starts_with(' ') {
            path.push(' ');
            chars.next();
        } else if c.is_whitespace() {
            end = at;
            break;
        } else {
            path.push(c);
        }
    }
    let trimmed = path.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '"', '\'', '*']).len();
    path.truncate(trimmed);
    (path, &text[end..])
}

fn is_path(text: &str) -> bool {
    let starts_well = text.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | '/' | '_') || !c.is_ascii());
    starts_well || text.starts_with("~/")
}

/// Replaces inline code by blanks.
fn without_spans(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(open) = rest.find('`') {
        out.push_str(&rest[..open]);
        let ticks = rest[open..].chars().take_while(|c| *c == '`').count();
        let body = &rest[open + ticks..];
        let mark = "`".repeat(ticks);
        if let Some(close) = body.find(&mark) {
            out.push(' ');
            rest = &body[close + ticks..];
        } else {
            out.push_str(&mark);
            rest = body;
        }
    }
    out.push_str(rest);
    out
}

/// Tracks fenced code, line by line.
#[derive(Default)]
struct CodeFence {
    open: Option<(char, usize)>,
}

impl CodeFence {
    /// True when the line is code or a fence.
    fn covers(&mut self, line: &str) -> bool {
        let text = line.trim();
        let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'));
        let run = mark.map_or(0, |mark| text.chars().take_while(|c| *c == mark).count());
        match (self.open, mark) {
            (None, Some(mark)) if run >= 3 => {
                self.open = Some((mark, run));
                true
            }
            (None, _) => false,
            (Some((open, length)), Some(mark)) if mark == open && run >= length && text.len() == run => {
                self.open = None;
                true
            }
            (Some(_), _) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_stand_outside_code() {
        let text = "See @docs/a.md, and (@b.md).\n`@no.md` ``@no`` mail me@x.org\n```\n@no.md\n```\n- @~/c.md\n@./d\\ e.md @ @!x\n~~~sh\n@no\n~~~\n@/abs/f.md";
        assert_eq!(imports(text), ["docs/a.md", "b.md", "~/c.md", "./d e.md", "/abs/f.md"]);
    }

    // [EXT-200]
    #[test]
    fn block_comments_are_dropped() {
        let text = "a\n<!-- one -->\nb <!-- inline -->\n<!-- two\n@x.md\n--> tail\n```\n<!-- code -->\n```\n";
        let (shown, lines) = without_comments(text, 1);
        assert_eq!(shown, "a\nb <!-- inline -->\n tail\n```\n<!-- code -->\n```\n");
        assert_eq!(lines, [(0, 1), (2, 3), (20, 6)]);
    }
}
