//! Exports a conversation as a file: plain text, Markdown, a self-contained HTML page, or JSON with every transcript
//! line unchanged. The output is written while the transcript is read, so the size of a session does not matter.

use std::io::{self, Write};
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
    Json,
}

impl ExportFormat {
    /// The format for a name or file extension.
    pub fn parse(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "txt" | "text" => Some(Self::Text),
            "md" | "markdown" => Some(Self::Markdown),
            "html" | "htm" => Some(Self::Html),
            "json" => Some(Self::Json),
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
    format: ExportFormat,
    out: &mut dyn Write,
) -> Result<(), StoreError> {
    let fail = |source: io::Error| StoreError::Read { path: transcript.to_path_buf(), source };
    if format == ExportFormat::Json {
        return json(transcript, heading, out);
    }
    begin(heading, format, out).map_err(fail)?;
    // After the first write error the rest of the transcript is only skipped.
    let mut failed = Ok(());
    narrative::read(transcript, &mut |_| Ok(()), &mut |moment| {
        if failed.is_ok() {
            failed = write_moment(moment, format, out);
        }
    })?;
    failed.and_then(|()| end(format, out)).map_err(fail)
}

fn json(transcript: &Path, heading: &ExportHeading, out: &mut dyn Write) -> Result<(), StoreError> {
    let fail = |source: io::Error| StoreError::Read { path: transcript.to_path_buf(), source };
    let text = |value: &Option<String>| wire::raw::to_line(value).unwrap_or_else(|_| "null".into());
    let id = wire::raw::to_line(&heading.session_id).unwrap_or_default();
    write!(
        out,
        "{{\"session_id\":{id},\"title\":{},\"cwd\":{},\"entries\":[",
        text(&heading.title),
        text(&heading.cwd)
    )
    .map_err(fail)?;
    let mut separator = "\n";
    let mut entry = |line: narrative::TranscriptLine<'_>| {
        write!(out, "{separator}{}", line.raw)?;
        separator = ",\n";
        Ok(())
    };
    narrative::read(transcript, &mut entry, &mut |_| {})?;
    out.write_all(b"\n]}\n").map_err(fail)
}

fn begin(heading: &ExportHeading, format: ExportFormat, out: &mut dyn Write) -> io::Result<()> {
    let title = heading.title.as_deref().unwrap_or("Conversation");
    let place = heading.cwd.as_deref().unwrap_or_default();
    match format {
        ExportFormat::Text | ExportFormat::Json => Ok(()),
        ExportFormat::Markdown => {
            let title = title.replace('\n', " ");
            write!(out, "# {title}\n\nSession `{}` in `{place}`\n\n", heading.session_id)
        }
        ExportFormat::Html => write!(
            out,
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
             <title>{title}</title>\n<style>{STYLE}</style>\n<h1>{title}</h1>\n<p class=\"place\">{} · {}</p>\n",
            escaped(&heading.session_id),
            escaped(place),
            title = escaped(title),
        ),
    }
}

const STYLE: &str = "body{max-width:50rem;margin:2rem auto;padding:0 1rem;font:16px/1.5 system-ui,sans-serif;color:#222;background:#fff}\
    div,pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.8rem 0}.user{background:#eef2f7;padding:.6rem .8rem;border-radius:.4rem}\
    pre{font:13px/1.4 ui-monospace,monospace;background:#f6f6f6;padding:.6rem .8rem;border-radius:.4rem;max-height:24rem;overflow:auto}\
    summary{color:#666;cursor:pointer}.error{color:#a00}.place{color:#666}\
    @media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}.user{background:#24303c}pre{background:#222}}";

fn end(format: ExportFormat, out: &mut dyn Write) -> io::Result<()> {
    match format {
        ExportFormat::Html => out.write_all(b"</html>\n"),
        ExportFormat::Text | ExportFormat::Markdown | ExportFormat::Json => Ok(()),
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
        ExportFormat::Html => as_html(moment, out),
        ExportFormat::Json => Ok(()),
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

fn as_html(moment: NarrativeItem<'_>, out: &mut dyn Write) -> io::Result<()> {
    match moment {
        NarrativeItem::User(text) => writeln!(out, "<div class=\"user\">{}</div>", escaped(text.trim_end())),
        NarrativeItem::Assistant(text) => writeln!(out, "<div>{}</div>", escaped(text.trim_end())),
        NarrativeItem::Call { tool, input } => writeln!(
            out,
            "<details><summary>{}</summary><pre>{}</pre></details>",
            escaped(tool),
            escaped(&cut(input, MAX_CALL_CHARS))
        ),
        NarrativeItem::Result { text, is_error } => writeln!(
            out,
            "<details><summary{}>result</summary><pre>{}</pre></details>",
            if is_error { " class=\"error\"" } else { "" },
            escaped(&cut(text.trim_end(), MAX_RESULT_CHARS))
        ),
        NarrativeItem::Image => out.write_all(b"<p>(image)</p>\n"),
        NarrativeItem::Summary(_) => Ok(()),
    }
}

fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            c if c.is_control() && c != '\n' && c != '\t' => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
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
        write(&path, &heading, format, &mut out).unwrap();
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
