//! Markdown as styled lines. Prose is wrapped at words between margins, or left to the terminal; tables are laid out for
//! a width; code is never wrapped, so that it can be copied. While a reply streams, only its last block is parsed again:
//! `closed_length` returns how much of the text can no longer change.

mod block_line;
mod table;

use crate::highlight::highlight;
use crate::style::{StyledLine, StyledSpan, TextStyle};
use crate::text;
use crate::theme::{Theme, ThemeToken};
use block_line::{BlockLine, LineLayout};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use std::sync::Arc;
use table::MarkdownTable;

pub use block_line::WrapMemory;

/// Settings for rendering.
#[derive(Clone, Copy, Debug)]
pub struct MarkdownOptions<'a> {
    pub theme: &'a Theme,
    pub columns: usize,
    pub syntax: SyntaxColouring,
    pub wrap: ProseWrap,
}

/// Who breaks the lines of prose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProseWrap {
    /// Prose is wrapped here, at words, after a left margin. Code is set flush left.
    Words,
    /// A paragraph is one line, which the terminal wraps. Nothing has a margin; code is indented.
    Terminal,
}

impl ProseWrap {
    /// The value of the setting `wrap`.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "words" => Some(Self::Words),
            "terminal" => Some(Self::Terminal),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyntaxColouring {
    Coloured,
    Plain,
}

pub(crate) fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// The length of the part of `source` whose blocks are complete: everything before the last block.
pub fn closed_length(source: &str) -> usize {
    // An incomplete line may still belong to the block before it.
    let source = &source[..source.rfind('\n').map_or(0, |at| at + 1)];
    let mut depth = 0_usize;
    let mut last = 0;
    let mut ends_at_blank = false;
    for (event, range) in Parser::new_ext(source, options()).into_offset_iter() {
        if depth == 0 {
            last = range.start;
            ends_at_blank = matches!(
                event,
                Event::Rule | Event::Start(Tag::Paragraph | Tag::Heading { .. } | Tag::Table(_) | Tag::BlockQuote(_))
            );
        }
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            Event::Text(_)
            | Event::Code(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::Html(_)
            | Event::InlineHtml(_)
            | Event::FootnoteReference(_)
            | Event::SoftBreak
            | Event::HardBreak
            | Event::Rule
            | Event::TaskListMarker(_) => {}
        }
    }
    if ends_at_blank && source.ends_with("\n\n") { source.len() } else { last }
}

/// Renders all blocks of `source`, separated by blank lines.
pub fn render(source: &str, look: &MarkdownOptions<'_>) -> Vec<StyledLine> {
    let layout = LineLayout::new(look);
    block_lines(source, look).iter().flat_map(|line| line.finished(layout)).collect()
}

/// The last `rows` rows of what `render` returns, as a terminal shows them. `memory` holds where the last paragraph was broken
/// the time before, so that a paragraph that grows is not wrapped from its beginning each time.
pub fn render_tail(source: &str, look: &MarkdownOptions<'_>, rows: usize, memory: &mut WrapMemory) -> Vec<StyledLine> {
    let layout = LineLayout::new(look);
    let mut lines = block_lines(source, look);
    // Each line has at least one row, so the lines before these cannot be visible.
    lines.drain(..lines.len().saturating_sub(rows));
    let last = lines.pop();
    let mut shown: Vec<StyledLine> = lines.iter().flat_map(|line| line.rows(layout)).collect();
    if let Some(last) = last {
        shown.extend(last.last_rows(layout, rows, memory));
    }
    shown.drain(..shown.len().saturating_sub(rows));
    shown
}

fn block_lines(source: &str, look: &MarkdownOptions<'_>) -> Vec<BlockLine> {
    let source = text::clean(source);
    let mut writer = MarkdownWriter::new(look);
    for event in Parser::new_ext(&source, options()) {
        writer.event(event);
    }
    writer.finish()
}

/// An enclosing block that indents its content.
#[derive(Debug)]
struct BlockIndent {
    /// Written before the first line only; `None` afterwards.
    marker: Option<StyledLine>,
    rest: StyledLine,
}

#[derive(Debug)]
struct MarkdownWriter<'a> {
    look: &'a MarkdownOptions<'a>,
    lines: Vec<BlockLine>,
    /// The text of the current line, without the indents of its blocks.
    current: StyledLine,
    /// The indents of the current line; `None` when it has not begun.
    begun: Option<BlockLine>,
    styles: Vec<TextStyle>,
    indents: Vec<BlockIndent>,
    /// Open lists with their next number; `None` for a bullet list.
    lists: Vec<Option<u64>>,
    link: Option<Arc<str>>,
    /// The text of the open link, to check whether it already shows the target.
    link_text: String,
    code: Option<(String, String)>,
    table: Option<MarkdownTable>,
    /// A block has ended: a blank line precedes the next one.
    gap: bool,
}

impl<'a> MarkdownWriter<'a> {
    fn new(look: &'a MarkdownOptions<'a>) -> Self {
        Self {
            look,
            lines: Vec::new(),
            current: StyledLine::new(),
            begun: None,
            styles: Vec::new(),
            indents: Vec::new(),
            lists: Vec::new(),
            link: None,
            link_text: String::new(),
            code: None,
            table: None,
            gap: false,
        }
    }

    fn finish(mut self) -> Vec<BlockLine> {
        self.end_line();
        self.lines
    }

    fn fg(&self, token: ThemeToken) -> TextStyle {
        self.look.theme.fg(token)
    }

    /// The columns by which the open blocks are indented.
    fn indent(&self) -> usize {
        self.indents.iter().map(|indent| indent.rest.width()).sum()
    }

    fn style(&self) -> TextStyle {
        self.styles.iter().fold(TextStyle::PLAIN, |all, style| all.with(*style))
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(code) => {
                let style = self.style().with(self.fg(ThemeToken::Suggestion));
                self.write(&code, style);
            }
            Event::Html(text) | Event::InlineHtml(text) => {
                let style = self.style().with(self.fg(ThemeToken::Inactive));
                for (index, line) in text.trim_end_matches('\n').split('\n').enumerate() {
                    if index > 0 {
                        self.end_line();
                    }
                    self.write(line, style);
                }
            }
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.write(&text, self.style());
            }
            Event::HardBreak if self.table.is_none() => self.end_line(),
            Event::SoftBreak | Event::HardBreak => self.write(" ", self.style()),
            Event::Rule => {
                self.begin_block();
                let style = self.fg(ThemeToken::Subtle);
                let room = LineLayout::new(self.look).rule_room(self.indent());
                self.write(&"─".repeat(room.min(40)), style);
                self.end_block();
            }
            Event::TaskListMarker(done) => {
                let mark = if done { "☑ " } else { "☐ " };
                self.write(mark, self.style());
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.begin_block(),
            Tag::Heading { level, .. } => {
                self.begin_block();
                self.styles.push(self.heading(level));
            }
            Tag::BlockQuote(_) => {
                self.begin_block();
                let bar = StyledLine::styled("│ ", self.fg(ThemeToken::Subtle));
                self.indents.push(BlockIndent { marker: None, rest: bar });
                self.styles.push(TextStyle::PLAIN.italic());
            }
            Tag::CodeBlock(kind) => {
                self.begin_block();
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::List(number) => {
                if self.lists.is_empty() {
                    self.begin_block();
                } else {
                    self.end_line();
                    self.gap = false;
                }
                self.lists.push(number);
            }
            Tag::Item => self.start_item(),
            Tag::Table(alignments) => {
                self.begin_block();
                self.table = Some(MarkdownTable::new(&alignments));
            }
            Tag::Emphasis => self.styles.push(TextStyle::PLAIN.italic()),
            Tag::Strong => self.styles.push(TextStyle::PLAIN.bold()),
            Tag::Strikethrough => self.styles.push(TextStyle::PLAIN.strike()),
            Tag::Link { dest_url, .. } => {
                self.link = Some(dest_url.as_ref().into());
                self.link_text.clear();
                self.styles.push(TextStyle::PLAIN.underline());
            }
            Tag::Image { .. } => self.write("[image: ", self.style()),
            Tag::TableHead
            | Tag::TableRow
            | Tag::TableCell
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_block(),
            TagEnd::Heading(_) => {
                self.styles.pop();
                self.end_block();
            }
            TagEnd::BlockQuote(_) => {
                self.end_line();
                self.indents.pop();
                self.styles.pop();
                self.gap = true;
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.lists.pop();
                self.end_line();
                self.gap = self.lists.is_empty();
            }
            TagEnd::Item => {
                self.end_line();
                self.indents.pop();
                self.gap = false;
            }
            TagEnd::Table => self.end_table(),
            TagEnd::TableHead | TagEnd::TableRow => {
                if let Some(table) = &mut self.table {
                    table.end_row();
                }
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.current);
                if let Some(table) = &mut self.table {
                    table.cell(cell);
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link => self.end_link(),
            TagEnd::Image => self.write("]", self.style()),
            TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    fn heading(&self, level: HeadingLevel) -> TextStyle {
        match level {
            HeadingLevel::H1 => self.fg(ThemeToken::Accent).bold().underline(),
            HeadingLevel::H2 => self.fg(ThemeToken::Accent).bold(),
            HeadingLevel::H3 | HeadingLevel::H4 | HeadingLevel::H5 | HeadingLevel::H6 => TextStyle::PLAIN.bold(),
        }
    }

    fn start_item(&mut self) {
        self.end_line();
        let marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                let text = format!("{number}. ");
                *number += 1;
                text
            }
            Some(None) | None => "- ".to_owned(),
        };
        let rest = StyledLine::plain(" ".repeat(text::width(&marker)));
        let marker = StyledLine::styled(marker, self.fg(ThemeToken::Inactive));
        self.indents.push(BlockIndent { marker: Some(marker), rest });
        self.gap = false;
    }

    fn text(&mut self, text: &str) {
        if let Some((_, code)) = &mut self.code {
            code.push_str(text);
            return;
        }
        if self.link.is_some() {
            self.link_text.push_str(text);
        }
        self.write(text, self.style());
    }

    fn end_link(&mut self) {
        self.styles.pop();
        let Some(target) = self.link.take() else { return };
        // The target is shown because not all terminals can follow links.
        let shows_itself = self.link_text == *target || target.starts_with('#');
        if !shows_itself && self.table.is_none() && target.len() <= 200 {
            let style = self.style().with(self.fg(ThemeToken::Inactive));
            self.write(&format!(" ({target})"), style);
        }
    }

    fn end_code(&mut self) {
        let Some((language, code)) = self.code.take() else { return };
        let code = code.trim_end_matches('\n');
        let lines = match self.look.syntax {
            SyntaxColouring::Coloured => highlight(code, &language, self.look.theme),
            SyntaxColouring::Plain => code.split('\n').map(StyledLine::plain).collect(),
        };
        let is_flush = self.look.wrap == ProseWrap::Words;
        for line in lines {
            if is_flush {
                self.take_markers();
                self.lines.push(BlockLine::code(line));
                continue;
            }
            self.begin_line();
            self.current.append(line.indented(2));
            self.end_line();
        }
        self.gap = true;
    }

    fn end_table(&mut self) {
        let Some(table) = self.table.take() else { return };
        let room = LineLayout::new(self.look).table_room(self.indent());
        for line in table.layout(room, self.look.theme) {
            self.begin_line();
            self.current.append(line.text);
            if let Some(begun) = &mut self.begun {
                begun.hang(line.hang);
            }
            self.end_line();
        }
        self.gap = true;
    }

    fn begin_block(&mut self) {
        self.end_line();
        if std::mem::take(&mut self.gap) && !self.lines.is_empty() {
            let bars: StyledLine = self.indents.iter().fold(StyledLine::new(), |mut line, indent| {
                line.append(indent.rest.clone());
                line
            });
            let bars = if bars.text().trim().is_empty() { StyledLine::new() } else { bars };
            self.lines.push(BlockLine::blank(bars));
        }
    }

    fn end_block(&mut self) {
        self.end_line();
        self.gap = true;
    }

    fn begin_line(&mut self) {
        if self.begun.is_some() {
            return;
        }
        let (mut first, mut rest) = (StyledLine::new(), StyledLine::new());
        for indent in &mut self.indents {
            rest.append(indent.rest.clone());
            first.append(indent.marker.take().unwrap_or_else(|| indent.rest.clone()));
        }
        self.begun = Some(BlockLine::prose(first, rest));
    }

    fn end_line(&mut self) {
        if let Some(mut line) = self.begun.take() {
            line.text = std::mem::take(&mut self.current);
            self.lines.push(line);
        }
    }

    /// Writes the markers of list items that begin with code on a line of their own.
    fn take_markers(&mut self) {
        if self.indents.iter().any(|indent| indent.marker.is_some()) {
            self.begin_line();
            self.end_line();
        }
    }

    fn write(&mut self, text: &str, style: TextStyle) {
        if self.table.is_none() {
            self.begin_line();
        }
        match &self.link {
            Some(link) => {
                let span = StyledSpan { text: text.to_owned(), style, link: Some(Arc::clone(link)) };
                self.current.push_span(span);
            }
            None => self.current.push(text, style),
        }
    }
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;
