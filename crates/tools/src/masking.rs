//! The one seam between what tools find out and everyone who reads it. Every call runs through [`run`], which hides
//! secrets in its outcome; the output of commands is hidden earlier still, ahead of memory and files. A mask that the
//! model sends back in something it writes is refused: it would take the place of the secret it stands for.

use crate::contract::{CallContext, ToolCall, ToolOutcome};
use permission::{KnownSecret, Mask};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use sys::Env;
use sys::sync::{Mutex, MutexGuard};
use wire::block::{ContentBlock, MessageContent};

/// A helper may make a new key for every request; older ones have run out.
const MOST_LEARNED: usize = 32;
/// Credentials of servers.
const MOST_KEPT: usize = 1_000;

/// Keys that are kept in files and not in variables; looked up when the first result is masked.
pub type StoredSecrets = Box<dyn Fn() -> Vec<KnownSecret> + Send + Sync>;

/// What a session hides. Built when it is first needed, then only when it learns of another key.
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

    /// Hides nothing: the user said so.
    pub fn off() -> Self {
        let masking = Self::new(Env::default());
        masking.parts().is_off = true;
        masking
    }

    /// From now on `value` is hidden as well, under `name`.
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

    /// The same for credentials that are known from the start and stay few: those of servers.
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

    /// Why a call must not run: its input holds a mask that would be written somewhere.
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

/// Runs a call and hides secrets in what it returns.
pub async fn run(call: Box<dyn ToolCall>, cx: CallContext) -> ToolOutcome {
    let state = Arc::clone(&cx.state);
    let outcome = call.run(cx).await;
    hide(outcome, &state.masking.mask())
}

fn hide(outcome: ToolOutcome, mask: &Mask) -> ToolOutcome {
    if mask.is_disabled() {
        return outcome;
    }
    let ToolOutcome { content, is_error, structured, mcp_meta } = outcome;
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
    ToolOutcome { content, is_error, structured: structured.map(hidden), mcp_meta: mcp_meta.map(hidden) }
}

fn hide_text(text: String, mask: &Mask) -> String {
    match mask.text(&text) {
        Cow::Owned(masked) => masked,
        Cow::Borrowed(_) => text,
    }
}
