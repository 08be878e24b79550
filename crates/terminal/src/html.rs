//! Markdown and source code as HTML. Every text is escaped, no tag of the source survives, links lead only to web and
//! mail addresses, and images are named, not loaded. Colours are classes: `k` keyword, `s` string, `n` number, `c`
//! comment, `f` name, `add` and `del` lines of a diff.

use crate::highlight;
use crate::markdown;
use crate::style::{StyledLine, TextStyle};
use crate::theme::{BaseTheme, Theme, ThemeToken};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Parser, Tag, TagEnd};
use std::fmt::{self, Write};

/// The tokens of code, each with its class.
const CLASSES: [(ThemeToken, &str); 7] = [
    (ThemeToken::CodeKeyword, "k"),
    (ThemeToken::CodeString, "s"),
    (ThemeToken::CodeNumber, "n"),
    (ThemeToken::CodeComment, "c"),
    (ThemeToken::CodeName, "f"),
    (ThemeToken::Success, "add"),
    (ThemeToken::Error, "del"),
];

/// Text that may stand anywhere in a page. Control characters are replaced.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c if c.is_control() && c != '\n' && c != '\t' => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// Source code, coloured for a language (the word of a code fence). Without the element around it.
pub fn code(source: &str, language: &str) -> String {
    let theme = Theme::new(BaseTheme::Dark);
    let lines = highlight::highlight(source, language, &theme);
    lines.iter().map(|line| code_line(line, &theme)).collect::<Vec<_>>().join("\n")
}

fn code_line(line: &StyledLine, theme: &Theme) -> String {
    let mut made = String::new();
    for span in &line.spans {
        let text = escaped(&span.text);
        match class(span.style, theme) {
            "" => made.push_str(&text),
            class => write!(made, "<span class=\"{class}\">{text}</span>").unwrap_or_default(),
        }
    }
    made
}

fn class(style: TextStyle, theme: &Theme) -> &'static str {
    let found = CLASSES.iter().find(|(token, _)| style.fg.is_some() && theme.colour(*token) == style.fg);
    found.map_or("", |(_, class)| class)
}

/// Markdown as elements that may stand in a page. Headings begin at level 3.
pub fn markdown(source: &str) -> String {
    let mut writer = HtmlWriter::default();
    for event in Parser::new_ext(source, markdown::options()) {
        writer.take(event);
    }
    writer.out
}

#[derive(Default)]
struct HtmlWriter {
    out: String,
    /// The language and text of the code block that is being read.
    code: Option<(String, String)>,
    /// The head of a table is being read.
    in_head: bool,
    /// Whether each open link is written.
    links: Vec<bool>,
}

impl HtmlWriter {
    fn put(&mut self, text: fmt::Arguments<'_>) {
        // Writing to a text cannot fail.
        self.out.write_fmt(text).unwrap_or_default();
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.out.push_str(&escaped(&text)),
            },
            Event::Code(text) => self.put(format_args!("<code>{}</code>", escaped(&text))),
            Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.out.push_str(&escaped(&text)),
            Event::SoftBreak => self.out.push('\n'),
            Event::HardBreak => self.out.push_str("<br>\n"),
            Event::Rule => self.out.push_str("<hr>\n"),
            Event::TaskListMarker(done) => self.out.push_str(if done { "☑ " } else { "☐ " }),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::CodeBlock(CodeBlockKind::Fenced(language)) => self.code = Some((language.to_string(), String::new())),
            Tag::CodeBlock(CodeBlockKind::Indented) => self.code = Some((String::new(), String::new())),
            Tag::Heading { level, .. } => self.put(format_args!("<h{}>", below(level))),
            Tag::List(Some(first)) => self.put(format_args!("<ol start=\"{first}\">\n")),
            Tag::Link { dest_url, .. } => {
                let is_web = ["https://", "http://", "mailto:"].iter().any(|scheme| dest_url.starts_with(scheme));
                self.links.push(is_web);
                if is_web {
                    self.put(format_args!("<a href=\"{}\" rel=\"noreferrer noopener\">", escaped(&dest_url)));
                }
            }
            Tag::Image { .. } => self.out.push_str("(image: "),
            Tag::TableHead => {
                self.in_head = true;
                self.out.push_str("<tr>");
            }
            Tag::TableCell => self.out.push_str(if self.in_head { "<th>" } else { "<td>" }),
            tag => self.out.push_str(opening(&tag)),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::CodeBlock => {
                let (language, text) = self.code.take().unwrap_or_default();
                let text = code(text.trim_end_matches('\n'), &language);
                self.put(format_args!("<pre><code>{text}</code></pre>\n"));
            }
            TagEnd::Heading(level) => self.put(format_args!("</h{}>\n", below(level))),
            TagEnd::Link if self.links.pop() == Some(true) => self.out.push_str("</a>"),
            TagEnd::Image => self.out.push(')'),
            TagEnd::TableHead => {
                self.in_head = false;
                self.out.push_str("</tr>\n");
            }
            TagEnd::TableCell => self.out.push_str(if self.in_head { "</th>" } else { "</td>" }),
            TagEnd::Paragraph => self.out.push_str("</p>\n"),
            TagEnd::List(true) => self.out.push_str("</ol>\n"),
            TagEnd::List(false) => self.out.push_str("</ul>\n"),
            TagEnd::Item => self.out.push_str("</li>\n"),
            TagEnd::BlockQuote(_) => self.out.push_str("</blockquote>\n"),
            TagEnd::Emphasis => self.out.push_str("</em>"),
            TagEnd::Strong => self.out.push_str("</strong>"),
            TagEnd::Strikethrough => self.out.push_str("</del>"),
            TagEnd::Table => self.out.push_str("</table></div>\n"),
            TagEnd::TableRow => self.out.push_str("</tr>\n"),
            _ => {}
        }
    }
}

fn opening(tag: &Tag<'_>) -> &'static str {
    match tag {
        Tag::Paragraph => "<p>",
        Tag::List(_) => "<ul>\n",
        Tag::Item => "<li>",
        Tag::BlockQuote(_) => "<blockquote>\n",
        Tag::Emphasis => "<em>",
        Tag::Strong => "<strong>",
        Tag::Strikethrough => "<del>",
        Tag::Table(_) => "<div class=\"wide\"><table>\n",
        Tag::TableRow => "<tr>",
        _ => "",
    }
}

/// The page and its parts have the first two levels.
fn below(level: HeadingLevel) -> usize {
    (level as usize + 2).min(6)
}

#[cfg(test)]
mod tests {
    use super::*;

    // [LNG-40]
    #[test]
    fn markdown_becomes_elements_and_nothing_of_the_source_does() {
        let page = markdown(
            "# T\n\n- **a** <script>x</script>\n- [web](https://e.example/?a=1&b=\"2\") [js](javascript:alert(1))\n\n![pic](http://x/y.png)\n",
        );
        assert!(page.contains("<h3>T</h3>") && page.contains("<li><strong>a</strong> &lt;script&gt;x"), "{page}");
        assert!(page.contains("<a href=\"https://e.example/?a=1&amp;b=") && page.contains("(image: pic)"), "{page}");
        assert!(!page.contains("<script") && !page.contains("javascript:") && !page.contains("<img"), "{page}");
    }

    // [LNG-40]
    #[test]
    fn code_has_classes_for_its_colours() {
        let page = markdown("```rust\nlet a = \"<b>\"; // why\n```\n\n```diff\n+new\n-old\n```\n");
        assert!(page.contains("<span class=\"k\">let</span>"), "{page}");
        assert!(page.contains("<span class=\"s\">&quot;&lt;b&gt;&quot;</span>"), "{page}");
        assert!(page.contains("<span class=\"c\">// why</span>"), "{page}");
        assert!(page.contains("<span class=\"add\">+new</span>") && page.contains("<span class=\"del\">-old</span>"));
    }

    #[test]
    fn a_table_and_a_list_are_whole() {
        let page = markdown("| a | b |\n|---|---|\n| 1 | 2 |\n\n3. three\n4. four\n");
        assert!(page.contains("<tr><th>a</th><th>b</th></tr>\n<tr><td>1</td><td>2</td></tr>"), "{page}");
        assert!(page.contains("<ol start=\"3\">") && page.contains("</ol>"), "{page}");
    }
}
