//! Exports a conversation as a file: plain text, Markdown, a self-contained HTML page, JSON with every transcript line
//! unchanged, or the lines themselves. The output is written while the transcript is read, so the size of a session does
//! not matter. What people read has its credentials hidden; lines are as they are, unless something is to be redacted.

mod html;
mod redaction;

pub use redaction::ExportRedaction;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use store::StoreError;
use store::narrative::{self, NarrativeItem};

/// Maximum characters of a call's input and of a result in text, Markdown and HTML.
const MAX_CALL_CHARS: usize = 2_000;
const MAX_RESULT_CHARS: usize = 20_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    Text,
    Markdown,
    Html,
    /// One object with all lines.
    Json,
    /// The transcript, byte for byte. `gimlet sessions import` takes it.
    Jsonl,
}

impl ExportFormat {
    /// The format for a name or file extension.
    pub fn parse(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "txt" | "text" => Some(Self::Text),
            "md" | "markdown" => Some(Self::Markdown),
            "html" | "htm" => Some(Self::Html),
            "json" => Some(Self::Json),
            "jsonl" => Some(Self::Jsonl),
            _ => None,
        }
    }

    /// The format for the extension of a file name; text for unknown ones.
    pub fn of_file(path: &Path) -> Self {
        path.extension().and_then(|end| Self::parse(end.to_str()?)).unwrap_or(Self::Text)
    }

    pub fn ending(self) -> &'static str {
        match self {
            Self::Text => "txt",
            Self::Markdown => "md",
            Self::Html => "html",
            Self::Json => "json",
            Self::Jsonl => "jsonl",
        }
    }
}

/// The heading of the file.
#[derive(Clone, Debug, Default)]
pub struct ExportHeading {
    pub session_id: String,
    pub title: Option<String>,
    pub cwd: Option<String>,
}

/// Writes the conversation recorded in `transcript`.
pub fn write(
    transcript: &Path,
    heading: &ExportHeading,
    (format, redaction): (ExportFormat, &ExportRedaction),
    out: &mut dyn Write,
) -> Result<(), StoreError> {
    let fail = |source: io::Error| StoreError::Read { path: transcript.to_path_buf(), source };
    match format {
        ExportFormat::Json => return json(transcript, heading, redaction, out),
        ExportFormat::Jsonl => return lines(transcript, redaction, out).map_err(fail),
        ExportFormat::Text | ExportFormat::Markdown | ExportFormat::Html => {}
    }
    let heading = ExportHeading {
        title: heading.title.as_deref().map(|title| redaction.text(title).into_owned()),
        ..heading.clone()
    };
    begin(&heading, format, out).map_err(fail)?;
    // After the first write error the rest of the transcript is only skipped.
    let mut failed = Ok(());
    narrative::read(transcript, &mut |_| Ok(()), &mut |moment| {
        if failed.is_ok() {
            failed = redacted(moment, redaction, &mut |shown| write_moment(shown, format, out));
        }
    })?;
    failed.and_then(|()| end(format, out)).map_err(fail)
}

/// Passes on the item without what is hidden.
fn redacted(
    item: NarrativeItem<'_>,
    redaction: &ExportRedaction,
    tell: &mut dyn FnMut(NarrativeItem<'_>) -> io::Result<()>,
) -> io::Result<()> {
    match item {
        NarrativeItem::User(text) => tell(NarrativeItem::User(&redaction.text(text))),
        NarrativeItem::Assistant(text) => tell(NarrativeItem::Assistant(&redaction.text(text))),
        NarrativeItem::Call { tool, input } => tell(NarrativeItem::Call { tool, input: &redaction.input(input) }),
        NarrativeItem::Result { text, is_error } => {
            tell(NarrativeItem::Result { text: &redaction.text(text), is_error })
        }
        NarrativeItem::Summary(text) => tell(NarrativeItem::Summary(&redaction.text(text))),
        NarrativeItem::Image => tell(item),
    }
}

/// The lines of the transcript, as they are unless something is to be redacted.
fn lines(transcript: &Path, redaction: &ExportRedaction, out: &mut dyn Write) -> io::Result<()> {
    let mut file = BufReader::with_capacity(256 << 10, File::open(transcript)?);
    if !redaction.has_patterns() {
        return io::copy(&mut file, out).map(|_| ());
    }
    let mut line = String::new();
    while file.read_line(&mut line)? > 0 {
        writeln!(out, "{}", redaction.line(line.trim_end_matches('\n')))?;
        line.clear();
    }
    Ok(())
}

fn json(
    transcript: &Path,
    heading: &ExportHeading,
    redaction: &ExportRedaction,
    out: &mut dyn Write,
) -> Result<(), StoreError> {
    let fail = |source: io::Error| StoreError::Read { path: transcript.to_path_buf(), source };
    let text = |value: &Option<String>| wire::raw::to_line(value).unwrap_or_else(|_| "null".into());
    let id = wire::raw::to_line(&heading.session_id).unwrap_or_default();
    let title = heading.title.clone().filter(|_| !redaction.has_patterns());
    let redacted = || heading.title.as_deref().map(|title| redaction.text(title).into_owned());
    let title = title.or_else(redacted);
    write!(out, "{{\"session_id\":{id},\"title\":{},\"cwd\":{},\"entries\":[", text(&title), text(&heading.cwd))
        .map_err(fail)?;
    let mut separator = "\n";
    let mut entry = |line: narrative::TranscriptLine<'_>| {
        write!(out, "{separator}{}", redaction.line(line.raw))?;
        separator = ",\n";
        Ok(())
    };
    narrative::read(transcript, &mut entry, &mut |_| {})?;
    out.write_all(b"\n]}\n").map_err(fail)
}

fn begin(heading: &ExportHeading, format: ExportFormat, out: &mut dyn Write) -> io::Result<()> {
    match format {
        ExportFormat::Text | ExportFormat::Json | ExportFormat::Jsonl => Ok(()),
        ExportFormat::Markdown => {
            let title = heading.title.as_deref().unwrap_or("Conversation").replace('\n', " ");
            let place = heading.cwd.as_deref().unwrap_or_default();
            write!(out, "# {title}\n\nSession `{}` in `{place}`\n\n", heading.session_id)
        }
        ExportFormat::Html => html::begin(heading, out),
    }
}

fn end(format: ExportFormat, out: &mut dyn Write) -> io::Result<()> {
    match format {
        ExportFormat::Html => html::end(out),
        ExportFormat::Text | ExportFormat::Markdown | ExportFormat::Json | ExportFormat::Jsonl => Ok(()),
    }
}

/// Writes one item in one format. Skips user text that starts with a tag: programs wrote it.
pub fn write_moment(moment: NarrativeItem<'_>, format: ExportFormat, out: &mut dyn Write) -> io::Result<()> {
    if matches!(moment, NarrativeItem::User(text) if text.trim_start().starts_with('<')) {
        return Ok(());
    }
    match format {
        ExportFormat::Text => as_text(moment, out),
        ExportFormat::Markdown => as_markdown(moment, out),
        ExportFormat::Html => html::write_item(moment, out),
        ExportFormat::Json | ExportFormat::Jsonl => Ok(()),
    }
}

fn as_text(moment: NarrativeItem<'_>, out: &mut dyn Write) -> io::Result<()> {
    match moment {
        NarrativeItem::User(text) => write!(out, "> {}\n\n", text.trim_end().replace('\n', "\n> ")),
        NarrativeItem::Assistant(text) => write!(out, "{}\n\n", text.trim_end()),
        NarrativeItem::Call { tool, input } => write!(out, "* {tool} {}\n\n", cut(input, 200)),
        NarrativeItem::Summary(_) | NarrativeItem::Result { .. } | NarrativeItem::Image => Ok(()),
    }
}

fn as_markdown(moment: NarrativeItem<'_>, out: &mut dyn Write) -> io::Result<()> {
    match moment {
        NarrativeItem::User(text) => write!(out, "## You\n\n{}\n\n", text.trim_end()),
        NarrativeItem::Assistant(text) => write!(out, "{}\n\n", text.trim_end()),
        NarrativeItem::Call { tool, input } => {
            let (fence, input) = (fence(input), cut(input, MAX_CALL_CHARS));
            write!(out, "**{tool}**\n\n{fence}json\n{input}\n{fence}\n\n")
        }
        NarrativeItem::Result { text, is_error } => {
            let (fence, mark) = (fence(text), if is_error { "Failed:\n\n" } else { "" });
            write!(out, "{mark}{fence}\n{}\n{fence}\n\n", cut(text.trim_end(), MAX_RESULT_CHARS))
        }
        NarrativeItem::Image => out.write_all(b"*(image)*\n\n"),
        NarrativeItem::Summary(_) => Ok(()),
    }
}

/// A code fence longer than any run of backticks in the text.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = r#"{"type":"user","message":{"role":"user","content":"make <b>it</b>"}}
{"type":"x_novel","future":[1, 2]}
{"type":"assistant","message":{"content":[{"type":"text","text":"Done."},{"type":"tool_use","name":"Bash","input":{"command":"echo '```'"}}]}}
{"type":"user","message":{"content":[{"type":"tool_result","is_error":true,"content":"</pre><script>"}]}}
"#;

    fn exported(format: ExportFormat) -> String {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        std::fs::write(&path, LINES).unwrap();
        let heading = ExportHeading { session_id: "S".into(), title: Some("A <title>".into()), cwd: Some("/r".into()) };
        let mut out = Vec::new();
        write(&path, &heading, (format, &ExportRedaction::default()), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn json_keeps_every_line_as_it_is() {
        // [TST-168]
        let text = exported(ExportFormat::Json);
        let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(parsed["entries"].as_array().unwrap().len(), 4);
        assert_eq!(parsed["title"], "A <title>");
        assert!(text.contains(r#"{"type":"x_novel","future":[1, 2]}"#));
    }

    #[test]
    fn nothing_of_a_conversation_becomes_markup() {
        let page = exported(ExportFormat::Html);
        assert!(page.contains("make &lt;b&gt;it&lt;/b&gt;") && page.contains("A &lt;title&gt;"), "{page}");
        assert!(page.contains("&lt;/pre&gt;&lt;script&gt;") && !page.contains("<script"), "{page}");
        let markdown = exported(ExportFormat::Markdown);
        assert!(markdown.starts_with("# A <title>\n") && markdown.contains("## You\n\nmake <b>it</b>"), "{markdown}");
        assert!(markdown.contains("````json\n"), "{markdown}");
        assert_eq!(
            exported(ExportFormat::Text),
            "> make <b>it</b>\n\nDone.\n\n* Bash {\"command\":\"echo '```'\"}\n\n"
        );
    }

    // [LNG-40]
    #[test]
    fn a_page_needs_nothing_and_shows_changes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        let key = format!("sk-ant-{}", "aB3dE6gH9".repeat(4));
        let line = serde_json::json!({"type": "assistant", "message": {"content": [
            {"type": "text", "text": format!("the key is {key}")},
            {"type": "tool_use", "name": "Edit", "input": {"file_path": "/r/a.rs", "old_string": "a\nb\n", "new_string": "a\nc\n"}},
            {"type": "tool_use", "name": "Bash", "input": {"command": format!("echo \"{key}\" \\ Project-X")}},
        ]}});
        std::fs::write(&path, format!("{line}\n")).unwrap();
        let exported = |format| {
            let redaction = ExportRedaction::of_secrets(&sys::Env::default()).and("(?i)project-x").unwrap();
            let mut out = Vec::new();
            write(&path, &ExportHeading::default(), (format, &redaction), &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let page = exported(ExportFormat::Html);
        assert!(page.contains("Content-Security-Policy") && page.contains("default-src 'none'"), "{page}");
        for outside in ["<script", "<link", "<img", "src=", "@import", "url("] {
            assert!(!page.contains(outside), "{outside}: {page}");
        }
        assert!(page.contains("<span class=\"del\">-b</span>\n<span class=\"add\">+c</span>"), "{page}");
        assert!(!page.contains(&key) && !page.contains("Project-X") && page.contains("[redacted]"), "{page}");
        let lines = exported(ExportFormat::Jsonl);
        assert!(lines.contains(&key) && !lines.contains("Project-X"), "lines are only redacted on request: {lines}");
        assert!(serde_json::from_str::<serde_json::Value>(&lines).is_ok());
        assert!(ExportRedaction::default().and("(").is_err() && ExportRedaction::default().and("a*").is_err());
    }

    // [LNG-42]
    #[test]
    fn exported_lines_are_the_bytes_of_the_transcript() {
        assert_eq!(exported(ExportFormat::Jsonl), LINES);
    }

    #[test]
    fn the_ending_of_a_file_names_the_format() {
        let of = |name: &str| ExportFormat::of_file(Path::new(name));
        assert_eq!(
            (of("a.MD"), of("a.html"), of("a.json")),
            (ExportFormat::Markdown, ExportFormat::Html, ExportFormat::Json)
        );
        assert_eq!((of("a"), of("a.txt"), of("a.log")), (ExportFormat::Text, ExportFormat::Text, ExportFormat::Text));
    }
}
