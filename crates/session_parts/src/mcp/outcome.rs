//! Turns the result of a server into the content that the model receives. Long text is cut and saved, supported
//! images stay images, and other binary data is saved to a file of the session.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mcp::{CallResult, RemoteTool, ResourceBody, ResultPart};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use tools::foreign_text::defused;
use tools::{CallContext, ToolOutcome};
use wire::block::{ContentBlock, MediaSource, MessageContent};

/// Image types that the API accepts.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/// Default of `MAX_MCP_OUTPUT_TOKENS`, and the maximum number of characters a tool may ask for.
const MAX_TOKENS: u64 = 25_000;
const MAX_CHARS: u64 = 500_000;
/// Maximum size of an image in base64; a larger one exceeds the token limit of a result.
const IMAGE_BYTES: usize = 5 << 20;

pub(super) async fn from_result(result: CallResult, tool: &RemoteTool, cx: &CallContext) -> ToolOutcome {
    let limit = limit(tool, cx);
    let session_dir = cx.state.facts.session_dir.clone();
    let server = tool.server.clone();
    let made = tokio::task::spawn_blocking(move || make(result, &server, limit, &session_dir)).await;
    made.unwrap_or_else(|error| ToolOutcome::failed(format!("The result could not be read: {error}")))
}

/// Maximum characters of text to send.
fn limit(tool: &RemoteTool, cx: &CallContext) -> usize {
    if let Some(asked) = tool.meta.max_result_chars {
        return asked.min(MAX_CHARS) as usize;
    }
    let tokens = cx.state.facts.env.number("MAX_MCP_OUTPUT_TOKENS").filter(|n| *n > 0).unwrap_or(MAX_TOKENS);
    let chars = wire::tokens::bytes_of(tokens as usize);
    if tokens == MAX_TOKENS { chars.min(tools::spill::GENERIC_LIMIT) } else { chars }
}

fn make(result: CallResult, server: &str, limit: usize, session_dir: &Path) -> ToolOutcome {
    let CallResult { content, structured, is_error, meta } = result;
    let mcp_meta = beside(structured.as_ref(), meta);
    let links = links(&content);
    let repeats = structured.as_ref().is_none_or(|value| content.iter().any(|part| repeats(part, value)));
    let mut blocks: Vec<ContentBlock> = content.into_iter().map(|part| block(part, server, session_dir)).collect();
    if let Some(value) = structured.as_ref().filter(|_| !repeats || blocks.is_empty()) {
        blocks.push(ContentBlock::text(value.to_string()));
    }
    let blocks = bound(join_texts(blocks).into_iter().map(as_data).collect(), limit, session_dir);
    let content = match <[ContentBlock; 1]>::try_from(blocks) {
        Ok([ContentBlock::Text { text }]) => MessageContent::Text(text),
        Ok([other]) => MessageContent::Blocks(vec![other]),
        Err(blocks) if blocks.is_empty() => MessageContent::Text("(no output)".into()),
        Err(blocks) => MessageContent::Blocks(blocks),
    };
    let structured =
        if is_error { None } else { wire::raw::to_raw(&structured_result(&content, structured, links)).ok() };
    ToolOutcome { content, is_error, structured, mcp_meta, effects: Vec::new() }
}

/// The `_meta` and `structuredContent` of the result; `None` when there are none.
fn beside(structured: Option<&Value>, meta: Option<Value>) -> Option<Box<RawValue>> {
    let mut fields = serde_json::Map::new();
    fields.extend(meta.map(|meta| ("_meta".to_owned(), meta)));
    fields.extend(structured.map(|value| ("structuredContent".to_owned(), value.clone())));
    if fields.is_empty() { None } else { wire::raw::to_raw(&fields).ok() }
}

/// The structured result for hosts and transcripts.
fn structured_result(content: &MessageContent, structured: Option<Value>, links: Vec<Value>) -> Value {
    let shown = serde_json::to_value(content).unwrap_or_default();
    if structured.is_none() && links.is_empty() {
        return shown;
    }
    let mut object = json!({"content": shown});
    if let Some(value) = structured {
        object["structuredContent"] = value;
    }
    if !links.is_empty() {
        object["resourceLinks"] = Value::Array(links);
    }
    object
}

fn links(content: &[ResultPart]) -> Vec<Value> {
    let link = |part: &ResultPart| match part {
        ResultPart::Link { uri, name, mime, description } => {
            let mut link = json!({"uri": uri, "name": name});
            if let Some(mime) = mime {
                link["mimeType"] = json!(mime);
            }
            if let Some(description) = description {
                link["description"] = json!(description);
            }
            Some(link)
        }
        ResultPart::Text(_)
        | ResultPart::Image { .. }
        | ResultPart::Audio { .. }
        | ResultPart::Resource { .. }
        | ResultPart::Other(_) => None,
    };
    content.iter().filter_map(link).collect()
}

/// Servers that support older clients repeat structured content as text.
fn repeats(part: &ResultPart, value: &Value) -> bool {
    matches!(part, ResultPart::Text(text) if serde_json::from_str::<Value>(text).is_ok_and(|said| said == *value))
}

fn block(part: ResultPart, server: &str, session_dir: &Path) -> ContentBlock {
    match part {
        ResultPart::Text(text) => ContentBlock::text(text),
        ResultPart::Image { mime, data } if IMAGES.contains(&mime.as_str()) && data.len() <= IMAGE_BYTES => {
            ContentBlock::Image { source: MediaSource::base64(&mime, data) }
        }
        ResultPart::Image { mime, data } => saved("Image", &mime, &data, session_dir),
        ResultPart::Audio { mime, data } => saved("Audio", &mime, &data, session_dir),
        ResultPart::Resource { uri, body: ResourceBody::Text(text), .. } => {
            ContentBlock::text(format!("[Resource from {server} at {uri}] {text}"))
        }
        ResultPart::Resource { mime, body: ResourceBody::Blob(data), .. } => {
            let mime = mime.unwrap_or_else(|| "application/octet-stream".into());
            if IMAGES.contains(&mime.as_str()) && data.len() <= IMAGE_BYTES {
                return ContentBlock::Image { source: MediaSource::base64(&mime, data) };
            }
            saved("Resource", &mime, &data, session_dir)
        }
        ResultPart::Link { uri, name, mime, description } => {
            let mime = mime.map(|mime| format!(" ({mime})")).unwrap_or_default();
            let about = description.map(|text| format!(": {text}")).unwrap_or_default();
            ContentBlock::text(format!("[Resource link: {name}] {uri}{mime}{about}"))
        }
        ResultPart::Other(value) => ContentBlock::text(value.to_string()),
    }
}

fn saved(what: &str, mime: &str, data: &str, session_dir: &Path) -> ContentBlock {
    match save(mime, data, session_dir) {
        Ok((path, size)) => ContentBlock::text(format!("[{what} ({mime}, {size} bytes) saved to: {}]", path.display())),
        Err(error) => ContentBlock::text(format!("[{what} ({mime}) could not be saved: {error}]")),
    }
}

/// Decodes the data into a private file of the session.
pub(super) fn save(mime: &str, data: &str, session_dir: &Path) -> std::io::Result<(PathBuf, usize)> {
    let bytes = STANDARD.decode(data.trim()).map_err(std::io::Error::other)?;
    let (mut file, path) = tools::spill::create_as(session_dir, extension(mime))?;
    file.write_all(&bytes)?;
    Ok((path, bytes.len()))
}

fn extension(mime: &str) -> &'static str {
    let plain = mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match plain.as_str() {
        "image/png" => "png",
        "image/jpeg" | "image/jpg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        "image/bmp" => "bmp",
        "image/tiff" => "tiff",
        "audio/wav" | "audio/x-wav" => "wav",
        "audio/mpeg" => "mp3",
        "audio/ogg" => "ogg",
        "video/mp4" => "mp4",
        "application/pdf" => "pdf",
        "application/json" => "json",
        "application/zip" => "zip",
        "application/gzip" => "gz",
        "text/csv" => "csv",
        "text/html" => "html",
        text if text.starts_with("text/") => "txt",
        _ => "bin",
    }
}

/// What a server says is data: tags of ours do not work in it.
fn as_data(block: ContentBlock) -> ContentBlock {
    match block {
        ContentBlock::Text { text } => ContentBlock::text(defused(text)),
        other => other,
    }
}

/// Joins neighbouring texts; keeps the order.
fn join_texts(blocks: Vec<ContentBlock>) -> Vec<ContentBlock> {
    let mut joined: Vec<ContentBlock> = Vec::new();
    for block in blocks {
        match (joined.last_mut(), block) {
            (Some(ContentBlock::Text { text: before }), ContentBlock::Text { text }) => {
                before.push('\n');
                before.push_str(&text);
            }
            (_, block) => joined.push(block),
        }
    }
    joined
}

/// Saves text beyond the limit to a file; the model receives its beginning and how to read the rest.
fn bound(blocks: Vec<ContentBlock>, limit: usize, session_dir: &Path) -> Vec<ContentBlock> {
    let shorten = |block| match block {
        ContentBlock::Text { text } if text.len() > limit && text.chars().nth(limit).is_some() => {
            ContentBlock::text(spilled(&text, limit, session_dir))
        }
        other => other,
    };
    blocks.into_iter().map(shorten).collect()
}

/// The text, or when it is too long, its beginning and the path of the saved file.
pub fn shortened(text: &str, limit: usize, session_dir: &Path) -> String {
    match text.chars().nth(limit) {
        Some(_) => spilled(text, limit, session_dir),
        None => text.to_owned(),
    }
}

fn spilled(text: &str, limit: usize, session_dir: &Path) -> String {
    let is_json = matches!(text.trim_start().as_bytes().first(), Some(b'{' | b'['))
        && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    let written = tools::spill::create_as(session_dir, if is_json { "json" } else { "txt" })
        .and_then(|(mut file, path)| file.write_all(text.as_bytes()).map(|()| path));
    match written {
        Ok(path) => {
            let hint = if is_json {
                "It is JSON: use jq on the file to get what you need."
            } else {
                "Search it with Grep, or read it in parts with Read (offset and limit)."
            };
            format!("{}\n{hint}", tools::spill::wrapper(&path, text.len() as u64, text))
        }
        Err(error) => {
            let cut: String = text.chars().take(limit).collect();
            format!("{cut}\n[The rest was cut: it could not be saved ({error}).]")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(content: Vec<ResultPart>, structured: Option<Value>, limit: usize) -> (ToolOutcome, tempfile::TempDir) {
        let temp = tempfile::tempdir().unwrap();
        let outcome = make(CallResult { content, structured, is_error: false, meta: None }, "srv", limit, temp.path());
        (outcome, temp)
    }

    #[test]
    fn structured_content_is_shown_once() {
        let value = json!({"a": 1});
        let (once, _temp) = made(vec![ResultPart::Text("{ \"a\": 1 }".into())], Some(value.clone()), 100);
        assert_eq!(once.content.text(), "{ \"a\": 1 }");
        let (both, _temp) = made(vec![ResultPart::Text("see".into())], Some(value.clone()), 100);
        assert_eq!(both.content.text(), "see\n{\"a\":1}");
        let (alone, _temp) = made(vec![], Some(value.clone()), 100);
        assert_eq!(alone.content.text(), "{\"a\":1}");
        let twin: Value = serde_json::from_str(alone.structured.unwrap().get()).unwrap();
        assert_eq!(twin["structuredContent"], value);
    }

    // [TST-216]
    #[test]
    fn too_much_text_goes_to_a_file_with_a_hint() {
        let text = format!("[{}1]", "1,".repeat(300));
        let (outcome, _temp) = made(vec![ResultPart::Text(text.clone())], None, 100);
        let shown = outcome.content.text().into_owned();
        assert!(shown.starts_with("<persisted-output>") && shown.contains("jq"), "{shown}");
        let path = shown.split("Full output saved to: ").nth(1).unwrap().lines().next().unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), text);
        let (whole, _temp) = made(vec![ResultPart::Text(text.clone())], None, 1000);
        assert_eq!(whole.content.text(), text);
    }

    #[test]
    fn what_the_api_does_not_take_is_saved() {
        let sound = ResultPart::Audio { mime: "audio/wav".into(), data: STANDARD.encode(b"abc") };
        let picture = ResultPart::Image { mime: "image/png".into(), data: STANDARD.encode(b"png") };
        let (outcome, _temp) = made(vec![sound, picture], None, 1000);
        let MessageContent::Blocks(blocks) = &outcome.content else { panic!("{outcome:?}") };
        let ContentBlock::Text { text } = &blocks[0] else { panic!("{blocks:?}") };
        let path = text.rsplit(": ").next().unwrap().trim_end_matches(']');
        assert_eq!(std::fs::read(path).unwrap(), b"abc");
        assert!(
            Path::new(path).extension().is_some_and(|e| e == "wav") && matches!(blocks[1], ContentBlock::Image { .. })
        );
    }
}
