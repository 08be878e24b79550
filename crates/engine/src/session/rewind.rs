//! Takes the conversation of a running session back to a prompt: history, read files, lists, grants and loaded tools are
//! those of that point; what runs in the background goes on. No line of the transcript is lost.

use super::LiveSession;
use crate::rewind::{RewindPlace, StoredRewind, part, rewind_stored};
use serde_json::{Value, json};
use session_parts::command::RequestRefusal;
use session_parts::context::EarlierConversation;
use session_parts::resume;
use session_parts::rewind;
use store::checkpoints::RewindPart;
use store::resume::{LoadOptions, load};
use store::{Persistence, Snapshots};
use wire::control::RewindConversation;

impl LiveSession {
    /// Finishes what a killed process left half done.
    pub(crate) async fn finish_rewind(&mut self) {
        let snapshots = Snapshots::at(&self.io.tooling.state.facts.config_home);
        match tokio::task::spawn_blocking(move || snapshots.finish_interrupted()).await {
            Ok(Ok(finished)) if finished.is_empty() => {}
            Ok(Ok(_)) => {
                let text = "A rewind that had been interrupted was finished.";
                self.io.output.host.notice(text.to_owned()).await;
            }
            Ok(Err(error)) => {
                let text = format!("Warning: an interrupted rewind is not finished: {error}");
                self.io.output.host.notice(text).await;
            }
            Err(error) => tracing::error!(%error, "finishing a rewind failed"),
        }
    }

    /// Carries out a host's request to go back, and answers it.
    pub(crate) async fn answer_rewind(&mut self, request_id: String, asked: &RewindConversation) {
        let replied = self.rewind(asked).await.map_err(RequestRefusal::new);
        self.control.start_reply(request_id, async move { replied });
    }

    async fn rewind(&mut self, asked: &RewindConversation) -> Result<Value, String> {
        if self.io.output.transcript.persists() == Persistence::No {
            return Err("This session is not saved, so there is nothing to go back in.".into());
        }
        let part = part(asked).unwrap_or(RewindPart::Both);
        let watch = &self.io.rules.watch;
        let allowed = std::iter::once(watch.cwd.clone()).chain(watch.additional()).collect();
        let transcript = self.io.output.transcript.transcript().clone();
        let place = RewindPlace { transcript, env: watch.env.clone(), allowed };
        let wanted = asked.clone();
        let lists_before = self.io.prompt_lists();
        let done = place.with_log(move |request, log| rewind_stored(request, log, &wanted, part)).await?;
        let StoredRewind { report, left, leaf, lists, prompt } = done;
        let mut reply = json!({"report": report});
        if part.has_conversation() {
            // What belongs to the end of this branch is there again when it is taken up.
            if let Some(left) = left {
                self.io.mark_point(&left, lists_before);
            }
            let point = prompt.as_ref().map_or(leaf.as_deref(), |(point, _)| Some(&point.uuid)).map(str::to_owned);
            self.go_on_after(leaf).await?;
            self.io.go_back_to_mark(point.as_deref(), lists.as_ref()).await;
            self.publish_view().await;
            let running: Vec<String> =
                self.io.tooling.state.tasks.running().into_iter().map(|task| task.description).collect();
            reply["stillRunning"] = json!(running);
            reply["lists"] = self.io.prompt_lists().value();
        }
        if let Some((point, content)) = prompt {
            reply["prompt"] = rewind::prompt(&point);
            reply["prompt"]["content"] = serde_json::from_str(&content).unwrap_or_default();
        }
        Ok(reply)
    }

    /// Continues after this line of the transcript; `None` means before the first.
    async fn go_on_after(&mut self, leaf: Option<String>) -> Result<(), String> {
        let mut restored = resume::RestoredConversation::default();
        if let Some(leaf) = leaf.clone() {
            let path = self.io.output.transcript.transcript().path().to_path_buf();
            let read = move || {
                let options = LoadOptions { at: Some(leaf), ..LoadOptions::default() };
                load(&path, &options).map(|mut loaded| resume::restore(&mut loaded))
            };
            let loaded = tokio::task::spawn_blocking(read).await.map_err(|error| error.to_string())?;
            restored = loaded.map_err(|error| error.to_string())?;
        }
        self.io.output.transcript.go_on_after(leaf);
        self.take_up(restored);
        Ok(())
    }

    /// This is the conversation from now on, and what the model was told in it.
    pub(super) fn take_up(&mut self, restored: resume::RestoredConversation) {
        let resume::RestoredConversation { sent_skill_lines, servers, .. } = restored;
        self.context.go_back(EarlierConversation {
            history: restored.history.into(),
            sent_date: restored.sent_date,
            is_context_sent: restored.is_context_sent,
            carried: restored.carried,
            refused: restored.refused,
        });
        self.io.knowledge.skills.go_back(sent_skill_lines);
        self.io.knowledge.mcp.go_back(servers);
        self.io.knowledge.plan.reset_announced();
    }
}
