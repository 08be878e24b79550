//! The block between `---` lines at the start of skills, agents, commands, styles and rules. The file always loads:
//! valid YAML is parsed as YAML, a field that is not is read from its line, and every defect is reported with its line.
//! Aliases and nesting are bounded.

mod fields;
mod lenient;
mod yaml;

pub use fields::{OptionalFlag, split_rules};

use serde_json::Value;
use std::path::{Path, PathBuf};

/// In bytes. Blocks are read up to this length; real ones are far shorter.
pub const MAX_HEAD: usize = 64 * 1024;

/// One value of a block. Scalars are stored as written; the caller decides what they mean.
#[derive(Clone, Debug, PartialEq)]
pub enum YamlNode {
    Null,
    /// Unquoted: may be a number or a truth value.
    Plain(String),
    /// Quoted or a text block: always text.
    Text(String),
    List(Vec<YamlNode>),
    Map(Vec<(String, YamlNode)>),
}

/// One top-level field.
#[derive(Clone, Debug, PartialEq)]
pub struct FrontMatterField {
    pub key: String,
    pub value: YamlNode,
    /// Line in the file, counted from 1.
    pub line: usize,
}

/// A problem in a block. The file still loads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontMatterDefect {
    /// Line in the file, counted from 1.
    pub line: usize,
    pub message: String,
}

/// A problem in a named file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFinding {
    pub path: PathBuf,
    pub line: usize,
    pub message: String,
}

impl FileFinding {
    pub fn new(path: &Path, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_path_buf(), line, message: message.into() }
    }
}

impl std::fmt::Display for FileFinding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}", self.path.display(), self.line, self.message)
    }
}

/// The fields of a block, and its defects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrontMatter {
    pub fields: Vec<FrontMatterField>,
    pub defects: Vec<FrontMatterDefect>,
    /// True when the text has a block.
    pub present: bool,
    /// The start of the body: byte offset, and line counted from 1.
    pub body_at: usize,
    pub body_line: usize,
}

/// Parses the block of `text`, which may be only the beginning of a file; see [`is_whole`].
pub fn read(text: &str) -> FrontMatter {
    let Some(block) = FrontMatterBlock::find(text) else {
        return FrontMatter { body_at: bom(text), body_line: 1, ..FrontMatter::default() };
    };
    let mut read = FrontMatter {
        present: true,
        body_at: block.body_at,
        body_line: block.body_line,
        defects: block.defects,
        fields: Vec::new(),
    };
    let (fields, defects) = fields_of(block.head, block.first_line);
    read.fields = fields;
    read.defects.extend(defects);
    read.merge_repeated();
    read
}

/// True when `text` contains the whole block: the closing line is there, or there is no block.
pub fn is_whole(text: &str) -> bool {
    FrontMatterBlock::find(text).is_none_or(|block| block.closed)
}

/// The body of a file: everything after its block.
pub fn body(text: &str) -> &str {
    &text[FrontMatterBlock::find(text).map_or_else(|| bom(text), |block| block.body_at)..]
}

/// The first paragraph of a body, without headings and code fences.
pub(crate) fn first_paragraph(body: &str) -> Option<String> {
    let mut words = String::new();
    for line in body.lines().map(str::trim) {
        let is_text = !line.is_empty() && !line.starts_with('#') && !line.starts_with("```");
        if is_text {
            if !words.is_empty() {
                words.push(' ');
            }
            words.push_str(line);
        } else if !words.is_empty() {
            break;
        }
    }
    Some(words).filter(|words| !words.is_empty())
}

fn bom(text: &str) -> usize {
    if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }
}

fn fields_of(head: &str, first_line: usize) -> (Vec<FrontMatterField>, Vec<FrontMatterDefect>) {
    if let Some(quick) = lenient::plain_lines(head, first_line) {
        return quick;
    }
    match yaml::mapping(head, first_line) {
        Ok(fields) => (fields, Vec::new()),
        Err(_) => lenient::fields(head, first_line),
    }
}

impl FrontMatter {
    /// Of a repeated key the last value is kept, and a defect is reported.
    fn merge_repeated(&mut self) {
        let repeats =
            |(at, field): (usize, &FrontMatterField)| self.fields[..at].iter().any(|earlier| earlier.key == field.key);
        if !self.fields.iter().enumerate().any(repeats) {
            return;
        }
        let mut kept: Vec<FrontMatterField> = Vec::with_capacity(self.fields.len());
        for field in std::mem::take(&mut self.fields) {
            if let Some(earlier) = kept.iter_mut().find(|k| k.key == field.key) {
                let message =
                    format!("`{}` is set twice (first on line {}); the last one counts", field.key, earlier.line);
                self.defects.push(FrontMatterDefect { line: field.line, message });
                *earlier = field;
            } else {
                kept.push(field);
            }
        }
        self.fields = kept;
    }
}

impl YamlNode {
    /// Converts to JSON: plain scalars become the numbers and truth values they spell.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Text(text) => Value::String(text.clone()),
            Self::Plain(text) => plain_json(text),
            Self::List(items) => Value::Array(items.iter().map(Self::to_json).collect()),
            Self::Map(members) => Value::Object(members.iter().map(|(k, v)| (k.clone(), v.to_json())).collect()),
        }
    }
}

fn plain_json(text: &str) -> Value {
    match text {
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        "null" | "Null" | "NULL" | "~" => return Value::Null,
        _ => {}
    }
    if let Ok(number) = text.parse::<i64>() {
        return number.into();
    }
    // Only texts that look like a number: `inf`, `nan` and `1e999` stay strings.
    let numeric = text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.');
    let float = text.parse::<f64>().ok().filter(|_| numeric).and_then(serde_json::Number::from_f64);
    float.map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

/// The position of the block in a text.
struct FrontMatterBlock<'a> {
    head: &'a str,
    /// The line of the first field.
    first_line: usize,
    body_at: usize,
    body_line: usize,
    closed: bool,
    defects: Vec<FrontMatterDefect>,
}

impl<'a> FrontMatterBlock<'a> {
    fn find(text: &'a str) -> Option<Self> {
        let mut at = bom(text);
        let mut line = 1;
        let mut defects = Vec::new();
        let mut lines = lines_of(&text[at..]).peekable();
        while let Some(blank) = lines.next_if(|l| l.trim().is_empty()) {
            at += blank.len();
            line += 1;
        }
        let open = lines.next().filter(|l| is_fence(l))?;
        if line > 1 {
            let message = "the front matter does not begin on the first line; other programs will not see it".into();
            defects.push(FrontMatterDefect { line, message });
        }
        at += open.len();
        line += 1;
        let (start, first_line) = (at, line);
        for text_line in lines {
            if is_end(text_line) {
                let (body_at, body_line) = (at + text_line.len(), line + 1);
                return Some(Self { head: &text[start..at], first_line, body_at, body_line, closed: true, defects });
            }
            at += text_line.len();
            line += 1;
            if at - start > MAX_HEAD {
                break;
            }
        }
        Some(Self::unclosed(text, start, first_line, defects))
    }

    /// A block without a closing line ends where lines no longer look like fields.
    fn unclosed(text: &'a str, start: usize, first_line: usize, mut defects: Vec<FrontMatterDefect>) -> Self {
        let (mut at, mut line, mut blank) = (start, first_line, false);
        for text_line in text[start..].split_inclusive('\n') {
            let trimmed = text_line.trim_end();
            let indented = text_line.starts_with([' ', '\t']) || trimmed.starts_with("- ");
            let continues = lenient::key_of(trimmed).is_some() || (indented && !blank);
            if !(trimmed.is_empty() || continues) || at - start > MAX_HEAD {
                break;
            }
            blank = trimmed.is_empty();
            at += text_line.len();
            line += 1;
        }
        let message = "the front matter is not closed with `---`; it is taken to end where its fields end".into();
        defects.push(FrontMatterDefect { line: first_line - 1, message });
        Self { head: &text[start..at], first_line, body_at: at, body_line: line, closed: false, defects }
    }
}

/// True for three dashes, with or without blanks after them.
fn is_fence(line: &str) -> bool {
    line.strip_prefix("---").is_some_and(|rest| rest.trim_end().is_empty())
}

/// True for a line that ends a block.
fn is_end(line: &str) -> bool {
    is_fence(line) || line.strip_prefix("...").is_some_and(|rest| rest.trim_end().is_empty())
}

/// The lines of a text with their newlines. Optimised: thousands of blocks with short lines are read.
fn lines_of(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = memchr::memchr(b'\n', rest.as_bytes()).map_or(rest.len(), |at| at + 1);
        let (line, more) = rest.split_at(end);
        rest = more;
        (!line.is_empty()).then_some(line)
    })
}

#[cfg(test)]
#[path = "frontmatter_tests.rs"]
mod tests;
