//! Turns captured output into the text for the model and the structured result. The structured result follows the
//! reference: merged output in `stdout`, our notices in `stderr`. The text has the same form for success and failure:
//! what is too long keeps both ends and names the file with all of it. Failures begin with `Exit code N`.

use super::command_hints;
use super::git::{self, GitOperation};
use super::readable::{self, OutputEnds, ShownEnds};
use crate::contract::ToolOutcome;
use crate::shell::capture::OutputCapture;
use crate::spill;
use serde::Serialize;
use std::path::Path;
use wire::block::{ContentBlock, MediaSource, MessageContent};

/// Longest failure shown whole, in characters; a longer one keeps both ends.
const FAILURE_CHARS: usize = ShownEnds::FAILURE.first + ShownEnds::FAILURE.last;
/// Most bytes of a long output that are searched for the cause of a failure.
const MAX_SEARCHED_BYTES: usize = 64 << 20;
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
    /// The signal that ended the shell; `None` when it exited.
    pub(crate) signal: Option<i32>,
    /// Notices from gimlet, such as the reset of the directory.
    pub(crate) notices: &'a [String],
    /// What only the model is told, such as the time taken.
    pub(crate) remarks: &'a [String],
}

impl FinishedCommand<'_> {
    pub(crate) async fn outcome(&self, capture: &mut OutputCapture) -> ToolOutcome {
        let interpretation = command_hints::interpretation(self.command, self.code);
        if self.code != 0 && interpretation.is_none() {
            return self.failure(capture).await;
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
        let shown = shown_output(capture, ShownEnds::SUCCESS).await;
        if capture.is_long() && capture.write_error().is_none() {
            result.persisted_output_path = capture.file().map(|path| path.display().to_string());
            result.persisted_output_size = Some(capture.total());
        }
        let shown = if shown.is_empty() { interpretation.unwrap_or(NO_OUTPUT).to_owned() } else { shown };
        result.stdout = stdout;
        result.outcome(MessageContent::Text(self.with_notices(shown)), false)
    }

    async fn failure(&self, capture: &mut OutputCapture) -> ToolOutcome {
        let output = shown_output(capture, ShownEnds::FAILURE).await;
        let text = join(&[&format!("Exit code {}", self.code), &self.cause_of_death().unwrap_or_default(), &output]);
        ToolOutcome::failed(self.with_notices(text))
    }

    /// The signal in words; `None` when the command exited by itself.
    fn cause_of_death(&self) -> Option<String> {
        if let Some(signal) = self.signal {
            let name = sys::process::signal_name(signal);
            return Some(name.map_or_else(|| format!("killed by signal {signal}"), |name| format!("killed by {name}")));
        }
        // The shell reports a command that a signal killed as 128 + the signal, and a command may exit so by itself.
        let name = sys::process::signal_name(self.code - 128)?;
        (!matches!(name, "SIGHUP" | "SIGINT" | "SIGQUIT" | "SIGTRAP")).then(|| format!("probably killed by {name}"))
    }

    fn with_notices(&self, text: String) -> String {
        self.notices.iter().chain(self.remarks).fold(text, |text, notice| join(&[&text, notice]))
    }
}

/// The outcome of a command that gimlet terminated; `why` is the text for the model. Partial output is kept.
pub(crate) async fn ended_outcome(capture: &mut OutputCapture, why: &str, mut result: BashOutput) -> ToolOutcome {
    let output = shown_output(capture, ShownEnds::FAILURE).await;
    result.interrupted = true;
    result.stdout = excerpt(capture);
    result.outcome(MessageContent::Text(join(&[&output, why])), true)
}

/// The output as the model reads it. What is too long keeps both ends, and its file is named.
pub(crate) async fn shown_output(capture: &mut OutputCapture, shown: ShownEnds) -> String {
    if let Some(kind) = readable::binary_kind(capture.head()) {
        return binary_output(capture, kind).await;
    }
    let is_failure = shown == ShownEnds::FAILURE;
    let head = readable::screen_text(capture.head()).into_owned();
    let head = trim_blank_lines(&head);
    let is_too_long = capture.is_long() || is_failure && head.chars().nth(FAILURE_CHARS).is_some();
    if !is_too_long {
        capture.discard_file().await;
        return head.to_owned();
    }
    let end = capture.end();
    let end = readable::screen_text(&end).into_owned();
    let ends = readable::ends(head, &end, capture.total_lines(), shown);
    capture.save().await;
    let causes = if is_failure { causes(capture, &ends).await } else { String::new() };
    let text = join(&[&ends.first, &ends.gap, &causes, &ends.last]);
    saved_output(capture, &text)
}

/// The output of a command that goes on: its ends when it is long. The file is named by the caller.
pub(crate) fn shown_so_far(capture: &OutputCapture) -> String {
    if readable::binary_kind(capture.head()).is_some() {
        return String::new();
    }
    let head = readable::screen_text(capture.head());
    let head = trim_blank_lines(&head);
    if !capture.is_long() && head.chars().nth(FAILURE_CHARS).is_none() {
        return head.to_owned();
    }
    let end = capture.end();
    readable::ends(head, &readable::screen_text(&end), capture.total_lines(), ShownEnds::FAILURE).joined()
}

/// The text in the wrapper that names the file, or with the reason why there is none.
fn saved_output(capture: &OutputCapture, text: &str) -> String {
    match (capture.file(), capture.write_error()) {
        (Some(path), None) => spill::wrapper_of(path, capture.total(), text, capture.gap().as_deref()),
        (_, error) => {
            let error = error.unwrap_or("no file could be made");
            join(&[text, &format!("[The whole output could not be saved: {error}]")])
        }
    }
}

async fn binary_output(capture: &mut OutputCapture, kind: &str) -> String {
    capture.save().await;
    let size = spill::human_size(capture.total());
    match (capture.file(), capture.write_error()) {
        (Some(path), None) => format!("[{size} of output that is not text ({kind}), saved to {}]", path.display()),
        (_, error) => format!(
            "[{size} of output that is not text ({kind}); it could not be saved: {}]",
            error.unwrap_or("no file could be made")
        ),
    }
}

/// The lines of the part left out that look like the cause of a failure, under a heading; empty when there are none.
async fn causes(capture: &OutputCapture, ends: &OutputEnds) -> String {
    let (Some(missing), Some(path)) = (ends.missing, capture.file().map(Path::to_path_buf)) else {
        return String::new();
    };
    let search = move || {
        let bytes = sys::fs::read_limited(&path, MAX_SEARCHED_BYTES).ok()?.bytes;
        Some(readable::likely_causes(&bytes, missing))
    };
    let found = tokio::task::spawn_blocking(search).await.ok().flatten().unwrap_or_default();
    if found.is_empty() { String::new() } else { format!("[among them, by line:]\n{}", found.join("\n")) }
}

/// Joins the parts that are not empty, one per line.
pub(crate) fn join(parts: &[&str]) -> String {
    let parts: Vec<&str> = parts.iter().copied().filter(|p| !p.is_empty()).collect();
    parts.join("\n")
}

/// The part that may be shown inline, without blank lines at both ends.
pub(crate) fn inline(capture: &OutputCapture) -> String {
    trim_blank_lines(&without_nul(capture.head())).to_owned()
}

fn without_nul(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace('\0', "")
}

/// Removes leading blank lines and all trailing white space; the indentation of the first line stays.
fn trim_blank_lines(text: &str) -> &str {
    let text = text.trim_end();
    let body = text.len() - text.trim_start().len();
    let start = text[..body].rfind('\n').map_or(0, |at| at + 1);
    &text[start..]
}

/// The whole output, or its two ends, for programs; the end is the real end of the output, not that of the inline part.
pub(crate) fn excerpt(capture: &OutputCapture) -> String {
    let head = without_nul(capture.head());
    let head = trim_blank_lines(&head);
    if !capture.is_long() && head.chars().nth(FAILURE_CHARS).is_none() {
        return head.to_owned();
    }
    let end = capture.end();
    let end = without_nul(&end);
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
