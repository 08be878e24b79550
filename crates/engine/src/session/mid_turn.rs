//! Prompts that a person sends while a turn runs: they are added after the current calls, each as a separate message.
//! UserPromptSubmit hooks run for them. Queue operations are recorded in order.

use crate::session::LiveSession;
use crate::session::hooks::PromptVerdict;
use serde::Serialize;
use serde_json::value::RawValue;
use session_parts::command::Prompt;
use session_parts::messages::{echo, plain_text};
use session_parts::transcript_writer::WrittenLine;
use store::StoreError;
use tokio_util::sync::CancellationToken;
use wire::entry::MetaEntry;
use wire::sdk::{SdkMessage, SystemBody};

impl LiveSession {
    /// Adds the prompts that arrived meanwhile to the conversation.
    pub(crate) async fn join_queued(&mut self, token: &CancellationToken) -> Result<(), StoreError> {
        let waiting = self.control.take_joining().await;
        self.record_queue()?;
        for prompt in waiting {
            self.join(&prompt, token).await?;
        }
        Ok(())
    }

    async fn join(&mut self, prompt: &Prompt, token: &CancellationToken) -> Result<(), StoreError> {
        let text = plain_text(&prompt.content);
        let said = match self.submit_hooks(&text, token).await {
            PromptVerdict::GoOn(said) => said,
            PromptVerdict::Blocked(why) => {
                let uuid = prompt.uuid.clone().unwrap_or_default();
                self.send_joined(prompt, uuid).await;
                self.io.output.host.system(SystemBody::Informational { content: why, level: "warning" }).await;
                return Ok(());
            }
        };
        let Some(line) = attachment(prompt) else { return Ok(()) };
        let uuid = self.io.output.transcript.attachment(line)?;
        self.context.push_mid_turn(&prompt.content, uuid.clone());
        self.send_joined(prompt, prompt.uuid.clone().unwrap_or(uuid)).await;
        self.add_hook_texts(said)
    }

    /// Tells the host that the prompt is no longer queued.
    async fn send_joined(&self, prompt: &Prompt, uuid: String) {
        let written = WrittenLine { uuid, timestamp: sys::clock::now_iso() };
        self.io.output.host.send(SdkMessage::User(Box::new(echo(prompt, &written, &self.io.output.host)))).await;
    }

    /// Records the queue operations since the last call.
    pub(crate) fn record_queue(&mut self) -> Result<(), StoreError> {
        for operation in self.control.take_queue_operations() {
            self.io.output.transcript.meta(MetaEntry::QueueOperation {
                operation: operation.name,
                timestamp: operation.timestamp,
                content: operation.content,
                session_id: self.io.output.host.session_id.clone(),
            })?;
        }
        Ok(())
    }
}

/// The attachment of a prompt that joined a turn, in the format that readers expect.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct QueuedCommand<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    prompt: &'a RawValue,
    command_mode: &'static str,
    #[serde(skip_serializing_if = "<[u64]>::is_empty")]
    image_paste_ids: &'a [u64],
}

fn attachment(prompt: &Prompt) -> Option<Box<RawValue>> {
    let image_paste_ids = prompt.mid_turn.as_ref().map_or(&[][..], |joins| &joins.image_paste_ids);
    let line =
        QueuedCommand { kind: "queued_command", prompt: &prompt.content, command_mode: "prompt", image_paste_ids };
    wire::raw::to_raw(&line).ok()
}
