//! The text of a reply while it streams. Complete blocks are returned once, to be printed; the incomplete end is shown
//! in the live region. The final text of the engine decides: a reply that differs from the streamed text is printed
//! again in full.

use std::cell::RefCell;
use terminal::markdown::{self, MarkdownOptions, WrapMemory};
use terminal::style::StyledLine;

#[derive(Debug, Default)]
pub struct StreamingReply {
    /// Everything streamed of the current text block.
    source: String,
    /// How many bytes of `source` were returned for printing.
    done: usize,
    has_begun: bool,
    /// A line break arrived since the last search for complete blocks.
    line_ended: bool,
    /// Where the incomplete end was broken into rows.
    memory: RefCell<WrapMemory>,
}

/// Lines of a reply; says whether they are its first ones.
#[derive(Debug, PartialEq, Eq)]
pub enum ReplyPart {
    Begins(Vec<StyledLine>),
    Continues(Vec<StyledLine>),
}

impl StreamingReply {
    pub fn push(&mut self, text: &str) {
        self.source.push_str(text);
        self.line_ended |= text.contains('\n');
    }

    /// Everything streamed of the current block.
    pub fn text(&self) -> &str {
        &self.source
    }

    pub fn is_empty(&self) -> bool {
        self.source.len() == self.done
    }

    /// The blocks that became complete since the last call.
    pub fn take_closed(&mut self, look: &MarkdownOptions<'_>) -> Option<ReplyPart> {
        if !std::mem::take(&mut self.line_ended) {
            return None;
        }
        let closed = markdown::closed_length(&self.source[self.done..]);
        if closed == 0 {
            return None;
        }
        let lines = markdown::render(&self.source[self.done..self.done + closed], look);
        self.done += closed;
        self.part(lines)
    }

    /// Ends the block with its final text and returns the lines not printed yet.
    pub fn finish(&mut self, text: &str, look: &MarkdownOptions<'_>) -> Option<ReplyPart> {
        let same = text.starts_with(&self.source[..self.done]);
        let rest = if same { &text[self.done..] } else { text };
        if !same {
            self.has_begun = false;
        }
        let lines = markdown::render(rest, look);
        let part = self.part(lines);
        *self = Self::default();
        part
    }

    /// Ends a block that was cut off and returns the rest of its streamed text.
    pub fn abandon(&mut self, look: &MarkdownOptions<'_>) -> Option<ReplyPart> {
        let text = std::mem::take(&mut self.source);
        self.source.clone_from(&text);
        self.finish(&text, look)
    }

    /// Forgets what arrived of a block, because the answer begins again. Says whether some of it was printed.
    pub fn restart(&mut self) -> bool {
        std::mem::take(self).has_begun
    }

    fn part(&mut self, mut lines: Vec<StyledLine>) -> Option<ReplyPart> {
        if lines.is_empty() {
            return None;
        }
        if std::mem::replace(&mut self.has_begun, true) {
            lines.insert(0, StyledLine::new());
            return Some(ReplyPart::Continues(lines));
        }
        Some(ReplyPart::Begins(lines))
    }

    /// The last `rows` rows of the incomplete end, as they will look when they are finished.
    pub fn tail(&self, look: &MarkdownOptions<'_>, rows: usize) -> Vec<StyledLine> {
        if self.is_empty() || rows == 0 {
            return Vec::new();
        }
        markdown::render_tail(&self.source[self.done..], look, rows, &mut self.memory.borrow_mut())
    }
}

/// A whole reply, as its parts look together.
pub fn reply_lines(text: &str, look: &MarkdownOptions<'_>) -> Vec<StyledLine> {
    markdown::render(text, look)
}

#[cfg(test)]
mod tests {
    use super::*;
    use terminal::markdown::{ProseWrap, SyntaxColouring};
    use terminal::theme::Theme;

    fn texts(part: Option<ReplyPart>) -> Vec<String> {
        match part {
            Some(ReplyPart::Begins(lines) | ReplyPart::Continues(lines)) => {
                lines.iter().map(StyledLine::text).collect()
            }
            None => Vec::new(),
        }
    }

    #[test]
    fn closed_blocks_go_out_once_and_the_end_brings_the_rest() {
        let theme = Theme::default();
        let look =
            MarkdownOptions { theme: &theme, columns: 20, syntax: SyntaxColouring::Coloured, wrap: ProseWrap::Words };
        let mut reply = StreamingReply::default();
        reply.push("First para");
        assert_eq!(reply.take_closed(&look), None);
        reply.push("graph.\n\nSecond one that is long enough to wrap");
        assert_eq!(texts(reply.take_closed(&look)), ["  First paragraph."]);
        let tail: Vec<String> = reply.tail(&look, 2).iter().map(StyledLine::text).collect();
        assert_eq!(tail, ["  is long enough", "  to wrap"]);
        let rest = reply.finish("First paragraph.\n\nSecond one that is long enough to wrap.", &look);
        assert_eq!(texts(rest), ["", "  Second one that", "  is long enough", "  to wrap."]);
        assert!(reply.is_empty());
    }

    #[test]
    fn a_reply_that_turned_out_otherwise_is_printed_whole() {
        let theme = Theme::default();
        let look =
            MarkdownOptions { theme: &theme, columns: 20, syntax: SyntaxColouring::Coloured, wrap: ProseWrap::Words };
        let mut reply = StreamingReply::default();
        reply.push("lost\n\nmore");
        reply.take_closed(&look);
        assert_eq!(texts(reply.finish("another", &look)), ["  another"]);
    }
}
