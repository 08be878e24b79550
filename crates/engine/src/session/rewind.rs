//! Takes the conversation of a running session back to a prompt: history, read files, lists, grants and loaded tools are
//! those of that point; what runs in the background goes on. No line of the transcript is lost.

use super::{LiveSession, SessionIo};
use crate::rewind::{RewindPlace, StoredRewind, part, rewind_stored};
use serde_json::{Value, json};
use session_parts::command::RequestRefusal;
use session_parts::resume;
use session_parts::rewind;
use std::path::PathBuf;
use std::sync::Arc;
use store::checkpoints::RewindPart;
use store::resume::{LoadOptions, load};
use store::{Persistence, Snapshots};
use tools::todo_items::TodoItem;
use wire::control::RewindConversation;
use wire::mode::PermissionMode;
use wire::settings::{RuleText, SettingsSource};

/// What the session had when a prompt was accepted.
#[derive(Clone)]
struct PromptMark {
    prompt: String,
    mode: PermissionMode,
    rules: Arc<[RuleText]>,
    directories: Arc<[PathBuf]>,
    todos: Vec<TodoItem>,
    /// The views of files so far.
    reads: u64,
}

/// The marks of the prompts that this process accepted.
#[derive(Default)]
pub(crate) struct PromptMarks(Vec<PromptMark>);

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
        let part = part(asked.part.as_deref()).unwrap_or(RewindPart::Both);
        let watch = &self.io.rules.watch;
        let allowed = std::iter::once(watch.cwd.clone()).chain(watch.additional()).collect();
        let transcript = self.io.output.transcript.transcript().clone();
        let place = RewindPlace { transcript, env: watch.env.clone(), allowed };
        let wanted = asked.clone();
        let done = place.with_log(move |request, log| rewind_stored(request, log, &wanted, part)).await?;
        let StoredRewind { report, leaf, prompt } = done;
        let mut reply = json!({"report": report});
        if part.has_conversation() || asked.branch == Some(true) {
            self.go_on_after(leaf, prompt.as_ref().map(|(point, _)| point.uuid.as_str())).await?;
            let running: Vec<String> =
                self.io.tooling.state.tasks.running().into_iter().map(|task| task.description).collect();
            reply["stillRunning"] = json!(running);
        }
        if let Some((point, content)) = prompt {
            reply["prompt"] = rewind::prompt(&point);
            reply["prompt"]["content"] = serde_json::from_str(&content).unwrap_or_default();
        }
        Ok(reply)
    }

    /// Continues after this line of the transcript; `None` means before the first.
    async fn go_on_after(&mut self, leaf: Option<String>, prompt: Option<&str>) -> Result<(), String> {
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
        self.io.go_back_to_mark(prompt).await;
        self.publish_view().await;
        Ok(())
    }

    /// This is the conversation from now on, and what the model was told in it.
    pub(super) fn take_up(&mut self, restored: resume::RestoredConversation) {
        let resume::RestoredConversation { history, sent_date, is_context_sent, sent_skill_lines, servers, .. } =
            restored;
        self.context.go_back(history.into(), sent_date, is_context_sent);
        self.io.knowledge.skills.go_back(sent_skill_lines);
        self.io.knowledge.mcp.go_back(servers);
        self.io.knowledge.plan.reset_announced();
    }
}

impl SessionIo {
    /// Remembers what belongs to the prompt that is recorded next.
    pub(crate) fn mark_prompt(&mut self, prompt: &str) {
        let marks = &mut self.knowledge.marks.0;
        let watch = &self.rules.watch;
        let same = marks
            .last()
            .filter(|last| *last.rules == *watch.granted_rules && *last.directories == *watch.granted_directories);
        let (rules, directories) = match same {
            Some(last) => (Arc::clone(&last.rules), Arc::clone(&last.directories)),
            None => (watch.granted_rules.as_slice().into(), watch.granted_directories.as_slice().into()),
        };
        let (mode, todos) = (self.rules.mode(), self.tooling.state.todos.snapshot());
        let reads = self.tooling.state.reads.moment();
        marks.push(PromptMark { prompt: prompt.to_owned(), mode, rules, directories, todos, reads });
    }

    /// Read files, the checklist, the mode and what was granted for the session are those of the prompt again. Of a
    /// prompt of an earlier process nothing of it is known, as when a conversation is resumed there.
    async fn go_back_to_mark(&mut self, prompt: Option<&str>) {
        let marks = &mut self.knowledge.marks.0;
        let at = marks.iter().position(|mark| Some(mark.prompt.as_str()) == prompt);
        let mark = at.map(|at| marks[at].clone());
        marks.truncate(at.unwrap_or_default());
        let state = &self.tooling.state;
        state.reads.forget_since(mark.as_ref().map_or(0, |mark| mark.reads));
        state.todos.put_back(mark.as_ref().map(|mark| mark.todos.clone()).unwrap_or_default());
        let (rules, directories) = mark.as_ref().map_or_else(
            || (Arc::from([]), Arc::from([])),
            |mark| (Arc::clone(&mark.rules), Arc::clone(&mark.directories)),
        );
        let watch = &mut self.rules.watch;
        watch.granted_rules.retain(|rule| rule.source != SettingsSource::Session || rules.contains(rule));
        watch.granted_directories.retain(|dir| directories.contains(dir));
        match mark {
            Some(mark) => self.set_mode(mark.mode).await,
            None => self.end_grants(),
        }
        self.rebuild_policy();
    }
}
