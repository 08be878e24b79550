//! A first, linear pass over HTML. It drops scripts, styles and comments, and measures the rest: the real parser
//! takes quadratic time or space on some inputs (deep nesting, formatting that is never closed, tags with thousands
//! of attributes), so pages beyond the limits are reduced to their text here and never reach it.

use std::collections::HashMap;

const MAX_DEPTH: usize = 256;
const MAX_ATTRIBUTES: usize = 512;
const MAX_TAGS: usize = 200_000;
/// Most formatting elements that the parser may have to reopen, over the whole page.
const MAX_REOPENED: usize = 200_000;

const VOID: [&str; 13] =
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"];
/// Elements closed by their next sibling: they nest only together with other elements, which are counted.
const SELF_CLOSING: [&str; 14] =
    ["p", "li", "dt", "dd", "option", "tr", "td", "th", "thead", "tbody", "tfoot", "html", "head", "body"];
const FORMATTING: [&str; 14] =
    ["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"];
const DROPPED: [&str; 4] = ["script", "style", "noscript", "template"];
const BLOCKS: [&str; 16] =
    ["p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "ul", "table", "blockquote", "section"];

enum HtmlPiece<'a> {
    Text(&'a str),
    Tag(HtmlTag<'a>),
    Dropped,
}

struct HtmlTag<'a> {
    /// As written, including the brackets.
    raw: &'a str,
    /// In lower case.
    name: String,
    closes: bool,
    attributes: usize,
}

/// `html` without scripts, styles and comments; `None` when it exceeds the limits of the parser.
pub(super) fn clean(html: &str) -> Option<String> {
    let mut out = String::with_capacity(html.len());
    let mut measure = HtmlMeasure::default();
    for piece in pieces(html) {
        match piece {
            HtmlPiece::Text(text) => out.push_str(text),
            HtmlPiece::Tag(tag) => {
                out.push_str(tag.raw);
                if !measure.admits(tag) {
                    return None;
                }
            }
            // Without a separator, the text before and after could join to a tag.
            HtmlPiece::Dropped => out.push(' '),
        }
    }
    Some(out)
}

/// The text of a page, for pages that `clean` refuses.
pub(super) fn words(html: &str) -> String {
    let mut out = String::new();
    for piece in pieces(html) {
        match piece {
            HtmlPiece::Text(text) => out.push_str(text),
            HtmlPiece::Tag(tag) if BLOCKS.contains(&tag.name.as_str()) && !out.ends_with('\n') => out.push('\n'),
            HtmlPiece::Tag(_) | HtmlPiece::Dropped => {}
        }
    }
    let entities = [("&nbsp;", " "), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    entities.iter().fold(out, |text, (entity, character)| text.replace(entity, character))
}

#[derive(Default)]
struct HtmlMeasure {
    open: HashMap<String, usize>,
    depth: usize,
    formatting: usize,
    reopened: usize,
    tags: usize,
}

impl HtmlMeasure {
    fn admits(&mut self, tag: HtmlTag<'_>) -> bool {
        let name = tag.name.as_str();
        self.tags += 1;
        self.reopened += self.formatting;
        if !VOID.contains(&name) && !SELF_CLOSING.contains(&name) {
            let formats = FORMATTING.contains(&name);
            let open = self.open.entry(tag.name).or_default();
            if !tag.closes {
                *open += 1;
                self.depth += 1;
                self.formatting += usize::from(formats);
            } else if *open > 0 {
                *open -= 1;
                self.depth -= 1;
                self.formatting -= usize::from(formats);
            }
        }
        self.depth <= MAX_DEPTH
            && tag.attributes <= MAX_ATTRIBUTES
            && self.tags <= MAX_TAGS
            && self.reopened <= MAX_REOPENED
    }
}

fn pieces(html: &str) -> impl Iterator<Item = HtmlPiece<'_>> {
    let mut rest = html;
    std::iter::from_fn(move || {
        let (piece, left) = next(rest)?;
        rest = left;
        Some(piece)
    })
}

fn next(rest: &str) -> Option<(HtmlPiece<'_>, &str)> {
    if rest.is_empty() {
        return None;
    }
    let Some(start) = markup(rest) else { return Some((HtmlPiece::Text(rest), "")) };
    if start > 0 {
        return Some((HtmlPiece::Text(&rest[..start]), &rest[start..]));
    }
    if let Some(comment) = rest.strip_prefix("<!--") {
        let left = comment.find("-->").map_or("", |end| &comment[end + 3..]);
        return Some((HtmlPiece::Dropped, left));
    }
    if rest.starts_with("<!") || rest.starts_with("<?") {
        let left = rest.find('>').map_or("", |end| &rest[end + 1..]);
        return Some((HtmlPiece::Dropped, left));
    }
    let (tag, left) = read_tag(rest);
    if !tag.closes && DROPPED.contains(&tag.name.as_str()) {
        return Some((HtmlPiece::Dropped, after_close(left, &tag.name)));
    }
    Some((HtmlPiece::Tag(tag), left))
}

/// The position of the next tag, comment or declaration.
fn markup(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'<', bytes).find(|&i| match bytes.get(i + 1) {
        Some(b'!' | b'?') => true,
        Some(b'/') => bytes.get(i + 2).is_some_and(u8::is_ascii_alphabetic),
        Some(b) => b.is_ascii_alphabetic(),
        None => false,
    })
}

/// The text after the end tag of `name`; empty when the element never ends.
fn after_close<'a>(text: &'a str, name: &str) -> &'a str {
    let bytes = text.as_bytes();
    let closes = |i: &usize| {
        let after = &bytes[i + 1..];
        after.len() > name.len() && after[0] == b'/' && after[1..=name.len()].eq_ignore_ascii_case(name.as_bytes())
    };
    let Some(at) = memchr::memchr_iter(b'<', bytes).find(closes) else { return "" };
    text[at..].find('>').map_or("", |end| &text[at + end + 1..])
}

/// Reads a tag; `text` starts with `<x` or `</x`. Quotes count only where a value begins, as in the real tokenizer.
fn read_tag(text: &str) -> (HtmlTag<'_>, &str) {
    let bytes = text.as_bytes();
    let closes = bytes[1] == b'/';
    let name_start = if closes { 2 } else { 1 };
    let name_len =
        bytes[name_start..].iter().take_while(|b| !b.is_ascii_whitespace() && !matches!(b, b'/' | b'>')).count();
    let mut at = name_start + name_len;
    let name = text[name_start..at].to_ascii_lowercase();
    let (mut attributes, mut value_next) = (0, false);
    while at < bytes.len() && bytes[at] != b'>' {
        match bytes[at] {
            quote @ (b'"' | b'\'') if value_next => {
                at = memchr::memchr(quote, &bytes[at + 1..]).map_or(bytes.len() - 1, |n| at + 1 + n);
                (attributes, value_next) = (attributes + 1, false);
            }
            b'=' => value_next = true,
            b if b.is_ascii_whitespace() => attributes += usize::from(!value_next),
            b'/' => attributes += 1,
            _ => value_next = false,
        }
        at += 1;
    }
    let end = (at + 1).min(bytes.len());
    (HtmlTag { raw: &text[..end], name, closes, attributes }, &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_styles_and_comments_go() {
        let html = "a<script>if (x < 1) '</b>'</SCRIPT ><b title='<i>'>b</b><!-- <p> --><style>x</style>c<<!-- -->div>";
        assert_eq!(clean(html).unwrap(), "a <b title='<i>'>b</b>  c< div>");
        assert_eq!(clean("x <script>never ends").unwrap(), "x  ");
        assert_eq!(clean("1 < 2 && é").unwrap(), "1 < 2 && é");
        assert_eq!(clean("<a href=x").unwrap(), "<a href=x");
    }

    #[test]
    fn pages_that_would_choke_the_parser() {
        let nest = |tag: &str| format!("<{tag}>").repeat(300) + "end";
        for tag in ["div", "b", "ul><li", "table><tr><td", "div><table></div", "optgroup", "span></i"] {
            assert!(clean(&nest(tag)).is_none(), "{tag}");
        }
        let attributes = (0..1000).map(|i| format!("a{i}=\"1\"")).collect::<Vec<_>>().join(" ");
        assert!(clean(&format!("<p {attributes}>")).is_none());
        assert!(clean(&format!("<p{}>", "/a".repeat(1000))).is_none());
        let fonts: Vec<String> = (0..100).map(|i| format!("<font size={i}>")).collect();
        let reopened = fonts.concat() + &"<p>x".repeat(10_000);
        assert!(clean(&reopened).is_none());
        // Ordinary pages pass, including unclosed paragraphs and list items.
        assert!(clean(&"<ul><li>a<li>b</ul><p>text<p>more <b>x</b>".repeat(5000)).is_some());
        let picture = format!("<img src=\"data:image/png;base64,{}\" alt=x>", "A A/".repeat(10_000));
        assert!(clean(&picture).is_some());
    }

    #[test]
    fn words_are_what_remains() {
        let text = words("<div>one &amp; two<br>three<script>x</script></div><p>four &lt;b&gt;");
        assert_eq!(text, "\none & two\nthree\nfour <b>");
    }
}
