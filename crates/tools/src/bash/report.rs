//! Turns captured output into the text for the model and the structured result. The format follows the reference:
//! merged output in `stdout`, our notices in `stderr`, failures as text that begins with `Exit code N`.

use super::command_hints;
use super::git::{self, GitOperation};
use crate::contract::ToolOutcome;
use crate::shell::capture::OutputCapture;
use crate::spill;
use serde::Serialize;
use wire::block::{ContentBlock, MediaSource, MessageContent};

/// Longest failure shown whole, in characters; a longer one keeps both ends.
const FAILURE_CHARS: usize = 10_000;
const NO_OUTPUT: &str = "(finished; nothing was printed)";
/// Largest image taken from a data URL, in bytes of base64; this is the limit of the API.
const IMAGE_BYTES: u64 = 5 * 1024 * 1024;

/// The structured result (`toolUseResult`).
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BashOutput {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) interrupted: bool,
    pub(crate) is_image: bool,
    pub(crate) no_output_expected: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) background_task_id: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) backgrounded_by_user: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timed_out_after_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) background_cwd_hint: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) dangerously_disable_sandbox: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) return_code_interpretation: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) persisted_output_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) persisted_output_size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) git_operation: Option<GitOperation>,
}

impl BashOutput {
    /// An outcome with this structured result and `content` for the model.
    pub(crate) fn outcome(&self, content: MessageContent, is_error: bool) -> ToolOutcome {
        ToolOutcome { content, is_error, structured: wire::raw::to_raw(self).ok(), mcp_meta: None, effects: Vec::new() }
    }
}

/// A command that exited by itself.
pub(crate) struct FinishedCommand<'a> {
    pub(crate) command: &'a str,
    pub(crate) unsandboxed: bool,
    pub(crate) code: i32,
    /// Notices from gimlet, such as the reset of the directory.
    pub(crate) notices: &'a [String],
}

impl FinishedCommand<'_> {
    pub(crate) async fn outcome(&self, capture: &mut OutputCapture) -> ToolOutcome {
        let interpretation = command_hints::interpretation(self.command, self.code);
        if self.code != 0 && interpretation.is_none() {
            let output = excerpt(capture);
            capture.discard_file().await;
            let text = join(&[&format!("Exit code {}", self.code), &output]);
            return ToolOutcome::failed(with_notices(text, self.notices));
        }
        let stdout = inline(capture);
        let mut result = BashOutput {
            stderr: self.notices.join("\n"),
            no_output_expected: command_hints::expects_no_output(self.command),
            dangerously_disable_sandbox: self.unsandboxed,
            return_code_interpretation: interpretation,
            git_operation: git::operation(self.command, &stdout),
            ..BashOutput::default()
        };
        if let Some(source) = image(&stdout, capture).await {
            capture.discard_file().await;
            result.is_image = true;
            result.stdout = stdout;
            return result.outcome(MessageContent::Blocks(vec![ContentBlock::Image { source }]), false);
        }
        let shown = match (capture.file().filter(|_| capture.is_long()), capture.write_error()) {
            (Some(_), Some(error)) => {
                join(&[&excerpt(capture), &format!("[The whole output could not be saved: {error}]")])
            }
            (Some(path), None) => {
                result.persisted_output_path = Some(path.display().to_string());
                result.persisted_output_size = Some(capture.total());
                spill::wrapper_with(path, capture.total(), &stdout, capture.gap().as_deref())
            }
            (None, _) if stdout.is_empty() => interpretation.unwrap_or(NO_OUTPUT).to_owned(),
            (None, _) => stdout.clone(),
        };
        result.stdout = stdout;
        result.outcome(MessageContent::Text(with_notices(shown, self.notices)), false)
    }
}

/// The outcome of a command that gimlet terminated; `why` is the text for the model. Partial output is kept.
pub(crate) async fn ended_outcome(capture: &mut OutputCapture, why: &str, mut result: BashOutput) -> ToolOutcome {
    let output = excerpt(capture);
    capture.discard_file().await;
    result.interrupted = true;
    let text = join(&[&output, why]);
    result.stdout = output;
    result.outcome(MessageContent::Text(text), true)
}

fn with_notices(text: String, notices: &[String]) -> String {
    notices.iter().fold(text, |text, notice| join(&[&text, notice]))
}

/// Joins the parts that are not empty, one per line.
pub(crate) fn join(parts: &[&str]) -> String {
    let parts: Vec<&str> = parts.iter().copied().filter(|p| !p.is_empty()).collect();
    parts.join("\n")
}

/// The part that may be shown inline, without blank lines at both ends.
pub(crate) fn inline(capture: &OutputCapture) -> String {
    trim_blank_lines(&String::from_utf8_lossy(capture.head())).to_owned()
}

/// Removes leading blank lines and all trailing white space; the indentation of the first line stays.
fn trim_blank_lines(text: &str) -> &str {
    let text = text.trim_end();
    let body = text.len() - text.trim_start().len();
    let start = text[..body].rfind('\n').map_or(0, |at| at + 1);
    &text[start..]
}

/// The whole output, or its two ends; the end is the real end of the output, not that of the inline part.
pub(crate) fn excerpt(capture: &OutputCapture) -> String {
    let head = String::from_utf8_lossy(capture.head());
    let head = trim_blank_lines(&head);
    if !capture.is_long() && head.chars().nth(FAILURE_CHARS).is_none() {
        return head.to_owned();
    }
    let end = capture.end();
    let end = String::from_utf8_lossy(&end);
    let end = end.trim_end();
    let first = head.char_indices().nth(FAILURE_CHARS / 2).map_or(head, |(at, _)| &head[..at]);
    let last = end.char_indices().rev().nth(FAILURE_CHARS / 2 - 1).map_or(end, |(at, _)| &end[at..]);
    let left_out = capture.total().saturating_sub((first.len() + last.len()) as u64);
    format!("{first}\n\n[… {left_out} bytes left out …]\n\n{last}")
}

/// The image, when the output is a single data URL.
async fn image(start: &str, capture: &OutputCapture) -> Option<MediaSource> {
    let kinds = ["image/png", "image/jpeg", "image/gif", "image/webp"];
    let (media_type, _) = start.strip_prefix("data:")?.split_once(";base64,")?;
    let media_type = kinds.into_iter().find(|kind| *kind == media_type)?;
    let whole = if capture.is_long() { read_back(capture).await? } else { start.to_owned() };
    let (_, data) = whole.split_once(";base64,")?;
    let data = data.trim_end();
    let encoded = data.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='));
    (encoded && !data.is_empty()).then(|| MediaSource::base64(media_type, data.to_owned()))
}

async fn read_back(capture: &OutputCapture) -> Option<String> {
    let path = capture.file().filter(|_| capture.total() <= IMAGE_BYTES)?.to_path_buf();
    tokio::task::spawn_blocking(move || std::fs::read_to_string(path)).await.ok()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_go_indentation_stays() {
        assert_eq!(trim_blank_lines("\n \n  a\nb  \n\n"), "  a\nb");
        assert_eq!(trim_blank_lines("\n\n"), "");
        assert_eq!(trim_blank_lines("  a"), "  a");
    }
}
