//! Reads blocks that are not valid YAML field by field: a field that is valid YAML by itself keeps its meaning, the
//! others are read as plain text. Also the fast path for the many blocks that contain only `key: words` lines.

use super::{FrontMatterDefect, FrontMatterField, YamlNode, yaml};

/// The key of `key: …` at the start of a line, and the text after the colon.
pub(super) fn key_of(line: &str) -> Option<(&str, &str)> {
    let in_name = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let bytes = line.as_bytes();
    let end = bytes.iter().take_while(|b| in_name(b)).count();
    if end > 64 || !bytes.first().is_some_and(|first| first.is_ascii_alphabetic() || *first == b'_') {
        return None;
    }
    let (key, rest) = line.split_at(end);
    let rest = rest.trim_start().strip_prefix(':')?;
    let separated = rest.is_empty() || rest.starts_with([' ', '\t']);
    separated.then(|| (key, rest.trim()))
}

/// The parser's message for a colon inside an unquoted text, by far the most common defect.
const COLON: &str = "mapping values are not allowed in this context";

/// The fields when every line is `key: words` and YAML would read it the same way, or has a defect that can be detected
/// without the parser. `None` when the parser is needed.
pub(super) fn plain_lines(head: &str, first_line: usize) -> Option<(Vec<FrontMatterField>, Vec<FrontMatterDefect>)> {
    let (mut fields, mut defects) = (Vec::with_capacity(8), Vec::new());
    for (at, line) in super::lines_of(head).enumerate() {
        let line = line.trim_end();
        if line.is_empty() {
            continue;
        }
        let (key, text) = key_of(line)?;
        let line = first_line + at;
        let value = match plain_value(text) {
            Some(value) => value,
            None if is_colon_in_words(text) => {
                defects.push(FrontMatterDefect { line, message: misread(key, COLON) });
                YamlNode::Plain(text.to_owned())
            }
            None => return None,
        };
        fields.push(FrontMatterField { key: key.to_owned(), value, line });
    }
    Some((fields, defects))
}

fn misread(key: &str, problem: &str) -> String {
    format!("`{key}` is not valid YAML ({problem}); it is read as the text it shows")
}

/// True for an unquoted text with a colon that YAML would take for a mapping, and no other special syntax.
fn is_colon_in_words(value: &str) -> bool {
    let begins_plain = value.bytes().next().is_some_and(|first| !SPECIAL.contains(&first) && first != b'"');
    begins_plain && (value.contains(": ") || value.ends_with(':')) && !value.contains(" #") && !value.contains('\t')
}

/// First characters that give a value a special meaning in YAML.
const SPECIAL: &[u8] = b"[]{}'|>&*!%@`#,?-~";

fn plain_value(value: &str) -> Option<YamlNode> {
    let first = value.bytes().next()?;
    if first == b'"' {
        let inner = value.strip_prefix('"')?.strip_suffix('"')?;
        return (!inner.contains(['"', '\\'])).then(|| YamlNode::Text(inner.to_owned()));
    }
    let null = matches!(value, "null" | "Null" | "NULL");
    (!SPECIAL.contains(&first) && !means_more(value) && !null).then(|| YamlNode::Plain(value.to_owned()))
}

/// True for `: `, ` #`, a colon at the end or a tab.
fn means_more(value: &str) -> bool {
    let bytes = value.as_bytes();
    memchr::memchr3_iter(b':', b'#', b'\t', bytes).any(|at| match bytes[at] {
        b':' => matches!(bytes.get(at + 1), None | Some(b' ')),
        b'#' => at > 0 && bytes[at - 1] == b' ',
        _ => true,
    })
}

/// A field with its continuation lines.
struct RawField<'a> {
    key: &'a str,
    rest: &'a str,
    more: Vec<&'a str>,
    line: usize,
}

/// Reads field by field and reports fields that could not be parsed as YAML.
pub(super) fn fields(head: &str, first_line: usize) -> (Vec<FrontMatterField>, Vec<FrontMatterDefect>) {
    let (pieces, mut defects) = pieces(head, first_line);
    let mut fields = Vec::new();
    for piece in pieces {
        let quick = plain_value(piece.rest).filter(|_| piece.more.is_empty());
        match quick.map_or_else(|| as_yaml(&piece), Ok) {
            Ok(value) => fields.push(FrontMatterField { key: piece.key.to_owned(), value, line: piece.line }),
            Err(problem) => {
                let line = piece.line + problem.line.min(piece.more.len());
                defects.push(FrontMatterDefect { line, message: misread(piece.key, &problem.problem) });
                fields.push(FrontMatterField { key: piece.key.to_owned(), value: as_lines(&piece), line: piece.line });
            }
        }
    }
    (fields, defects)
}

fn pieces(head: &str, first_line: usize) -> (Vec<RawField<'_>>, Vec<FrontMatterDefect>) {
    let mut pieces: Vec<RawField<'_>> = Vec::new();
    let mut defects = Vec::new();
    for (at, line) in head.lines().enumerate() {
        let line = line.trim_end();
        let number = first_line + at;
        match (key_of(line), pieces.last_mut()) {
            (Some((key, rest)), _) => pieces.push(RawField { key, rest, more: Vec::new(), line: number }),
            (None, Some(open)) if belongs_below(line) => open.more.push(line),
            (None, Some(open)) => {
                if let Some((key, rest)) = split_unspaced(line) {
                    let message = format!("`{key}` has no space after its colon; it is read as if it had");
                    defects.push(FrontMatterDefect { line: number, message });
                    pieces.push(RawField { key, rest, more: Vec::new(), line: number });
                } else {
                    let message = format!("this line is not indented; it is taken as part of `{}`", open.key);
                    defects.push(FrontMatterDefect { line: number, message });
                    open.more.push(line);
                }
            }
            (None, None) if line.is_empty() || line.starts_with('#') => {}
            (None, None) => {
                let message = "this line is not a field and is ignored".into();
                defects.push(FrontMatterDefect { line: number, message });
            }
        }
    }
    for piece in &mut pieces {
        while piece.more.last().is_some_and(|line| line.is_empty() || line.starts_with('#')) {
            piece.more.pop();
        }
    }
    (pieces, defects)
}

/// True when a line can only continue the field above it.
fn belongs_below(line: &str) -> bool {
    line.is_empty() || line.starts_with([' ', '\t', '#', '-', ']', '}'])
}

/// Splits `key:value`.
fn split_unspaced(line: &str) -> Option<(&str, &str)> {
    let (key, rest) = line.split_once(':')?;
    let is_name = key.starts_with(|c: char| c.is_ascii_lowercase())
        && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    (is_name && !rest.starts_with("//")).then(|| (key, rest.trim()))
}

fn as_yaml(piece: &RawField<'_>) -> Result<YamlNode, yaml::YamlError> {
    let mut text = format!("{}: {}\n", piece.key, piece.rest);
    for line in &piece.more {
        if !belongs_below(line) {
            text.push_str("  ");
        }
        text.push_str(line);
        text.push('\n');
    }
    let mut fields = yaml::mapping(&text, 0)?;
    match fields.pop() {
        Some(field) if fields.is_empty() => Ok(field.value),
        _ => Err(yaml::YamlError { line: 0, problem: "it is not one field".into() }),
    }
}

/// Interprets the lines as a list, a text block, nested fields, or plain text.
fn as_lines(piece: &RawField<'_>) -> YamlNode {
    let more: Vec<&str> = piece.more.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
    match piece.rest.chars().next() {
        Some('|') => return YamlNode::Text(more.join("\n")),
        Some('>') => return YamlNode::Text(more.join(" ")),
        Some(_) => {}
        None if more.is_empty() => return YamlNode::Null,
        None => return nested(&more),
    }
    if more.is_empty() {
        return value(piece.rest);
    }
    YamlNode::Plain(std::iter::once(piece.rest).chain(more).collect::<Vec<_>>().join(" "))
}

fn nested(lines: &[&str]) -> YamlNode {
    if lines.iter().all(|line| line.starts_with('-')) {
        return YamlNode::List(lines.iter().map(|line| value(line.trim_start_matches('-').trim())).collect());
    }
    let members: Option<Vec<_>> =
        lines.iter().map(|line| key_of(line).map(|(key, rest)| (key.to_owned(), value(rest)))).collect();
    members.map_or_else(|| YamlNode::Plain(lines.join(" ")), YamlNode::Map)
}

fn value(text: &str) -> YamlNode {
    if text.is_empty() {
        return YamlNode::Null;
    }
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|t| t.strip_suffix(quote)) {
            return YamlNode::Text(inner.to_owned());
        }
    }
    let listed = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).filter(|inner| !inner.contains(['[', ']']));
    match listed {
        Some(inner) => {
            YamlNode::List(inner.split(',').map(str::trim).filter(|item| !item.is_empty()).map(value).collect())
        }
        None => YamlNode::Plain(text.to_owned()),
    }
}
