//! Hides secrets in tool results. Every call runs through [`run`], which masks its outcome; the output of commands
//! is masked earlier, before it reaches memory and files. A call that would write a mask is refused, because the
//! mask would replace the secret.

use crate::contract::{CallContext, ToolCall, ToolOutcome};
use permission::{KnownSecret, Mask};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use sys::Env;
use sys::sync::{Mutex, MutexGuard};
use wire::block::{ContentBlock, MessageContent};

/// Most secrets kept by `learn`. A helper may create a new key for every request; older keys have expired.
const MOST_LEARNED: usize = 32;
/// Most secrets of servers.
const MOST_KEPT: usize = 1_000;

/// Returns keys that are stored in files and not in variables; called when the first result is masked.
pub type StoredSecrets = Box<dyn Fn() -> Vec<KnownSecret> + Send + Sync>;

/// The secrets of a session. The mask is built on first use and again after another secret is added.
pub struct Masking {
    env: Env,
    stored: StoredSecrets,
    parts: Mutex<MaskingState>,
}

#[derive(Default)]
struct MaskingState {
    is_off: bool,
    learned: Vec<KnownSecret>,
    server_secrets: Vec<KnownSecret>,
    built: Option<Mask>,
}

impl Masking {
    pub fn new(env: Env) -> Self {
        Self::with_stored(env, Box::new(Vec::new))
    }

    pub fn with_stored(env: Env, stored: StoredSecrets) -> Self {
        Self { env, stored, parts: Mutex::default() }
    }

    /// Hides nothing, because the user disabled masking.
    pub fn off() -> Self {
        let masking = Self::new(Env::default());
        masking.parts().is_off = true;
        masking
    }

    /// From now on `value` is hidden too, with `name` in its mask.
    pub fn learn(&self, name: &str, value: &str) {
        let known = KnownSecret { name: name.to_owned(), value: value.as_bytes().to_vec() };
        let mut parts = self.parts();
        if !parts.learned.contains(&known) {
            if parts.learned.len() == MOST_LEARNED {
                parts.learned.remove(0);
            }
            parts.learned.push(known);
            parts.built = None;
        }
    }

    /// Adds the credentials of servers, which are known from the start and few.
    pub fn learn_all(&self, known: Vec<KnownSecret>) {
        let mut parts = self.parts();
        for one in known {
            if !parts.server_secrets.contains(&one) && parts.server_secrets.len() < MOST_KEPT {
                parts.server_secrets.push(one);
                parts.built = None;
            }
        }
    }

    pub fn mask(&self) -> Mask {
        let mut parts = self.parts();
        if parts.is_off {
            return Mask::disabled();
        }
        if let Some(built) = &parts.built {
            return built.clone();
        }
        let known: Vec<KnownSecret> =
            parts.learned.iter().chain(&parts.server_secrets).cloned().chain((self.stored)()).collect();
        let mask = Mask::of(self.env.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())), &known);
        parts.built = Some(mask.clone());
        mask
    }

    fn parts(&self) -> MutexGuard<'_, MaskingState> {
        self.parts.lock()
    }

    /// The refusal of a call whose input contains a mask that would be written somewhere; `None` when it may run.
    pub fn refusal(&self, tool: &str, input: &RawValue) -> Option<ToolOutcome> {
        if !writes(tool) || !input.get().contains("hidden by gimlet") && !input.get().contains("\\u") {
            return None;
        }
        let mask = self.mask().find_mask_in_input(input)?;
        let advice = match tool {
            "Bash" => "Let the shell supply the value, for example from its variable or file.",
            "Edit" | "MultiEdit" => "Choose old_string and new_string so that they leave the secret out.",
            _ => "Change the file with Edit and leave the part with the secret out, or refer to a variable.",
        };
        Some(ToolOutcome::invalid(format!(
            "Nothing was done: the input contains {mask}, which stands for a secret that is not shown to you. Writing it \
             would destroy the secret. {advice}"
        )))
    }
}

fn writes(tool: &str) -> bool {
    matches!(tool, "Write" | "Edit" | "MultiEdit" | "NotebookEdit" | "Bash") || tool.starts_with("mcp__")
}

/// Runs a call and hides secrets in its outcome.
pub async fn run(call: Box<dyn ToolCall>, cx: CallContext) -> ToolOutcome {
    let state = Arc::clone(&cx.state);
    let outcome = call.run(cx).await;
    hide(outcome, &state.masking.mask())
}

fn hide(outcome: ToolOutcome, mask: &Mask) -> ToolOutcome {
    if mask.is_disabled() {
        return outcome;
    }
    let ToolOutcome { content, is_error, structured, mcp_meta, effects } = outcome;
    let content = match content {
        MessageContent::Text(text) => MessageContent::Text(hide_text(text, mask)),
        MessageContent::Blocks(blocks) => MessageContent::Blocks(
            blocks
                .into_iter()
                .map(|block| match block {
                    ContentBlock::Text { text } => ContentBlock::Text { text: hide_text(text, mask) },
                    ContentBlock::Image { .. } | ContentBlock::Document { .. } | ContentBlock::ToolReference { .. } => {
                        block
                    }
                })
                .collect(),
        ),
    };
    let hidden = |raw: Box<RawValue>| mask.json(&raw).unwrap_or(raw);
    ToolOutcome { content, is_error, structured: structured.map(hidden), mcp_meta: mcp_meta.map(hidden), effects }
}

fn hide_text(text: String, mask: &Mask) -> String {
    match mask.text(&text) {
        Cow::Owned(masked) => masked,
        Cow::Borrowed(_) => text,
    }
}
