//! The files of a session: its transcript, its folders, and its live record.

use super::SessionAssembly;
use session_parts::host::HostSender;
use session_parts::questions::HostQuestions;
use session_parts::transcript_writer::TranscriptWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::live_sessions::{LiveRecord, ProcessFacts as LiveFacts};
use store::{Persistence, Transcript};
use wire::entry::EntryTail;

impl SessionAssembly {
    pub(super) fn session_dir(&self) -> PathBuf {
        // The folder of a conversation is beside its transcript, regardless of the directory it is resumed from.
        match &self.conversation.path {
            Some(path) => path.with_extension(""),
            None => self.layout.session_dir(&self.cwd, &self.conversation.session_id),
        }
    }

    pub(super) fn tasks_dir(&self) -> PathBuf {
        self.layout.tasks_dir(&self.cwd, &self.conversation.session_id)
    }

    pub(super) fn transcript_writer(&self) -> TranscriptWriter {
        let persist = self.persist();
        let transcript = Transcript::open(self.transcript_path(), persist).with_observer(self.mirror.clone());
        if let Some(loaded) = &self.conversation.loaded {
            transcript.remember(&loaded.sticky);
        }
        let last = self.conversation.loaded.as_ref().and_then(|loaded| loaded.position);
        TranscriptWriter::new(transcript, persist, self.tail(), self.conversation.leaf())
            .mirrored(self.mirror.clone())
            .following(last)
    }

    pub(super) fn transcript_path(&self) -> PathBuf {
        let new = || self.layout.transcript(&self.cwd, &self.conversation.session_id);
        self.conversation.path.clone().unwrap_or_else(new)
    }

    pub(super) fn persist(&self) -> Persistence {
        let skip = self.env.is_on("CLAUDE_CODE_SKIP_PROMPT_HISTORY");
        if self.options.conversation.persist && !skip { Persistence::Yes } else { Persistence::No }
    }

    pub(super) fn tail(&self) -> EntryTail {
        EntryTail {
            user_type: "external",
            entrypoint: self.options.host.entrypoint.clone(),
            cwd: self.cwd.display().to_string(),
            session_id: self.conversation.session_id.clone(),
            version: wire::version::COMPAT,
            git_branch: recorded_branch(&self.cwd),
            slug: None,
        }
    }

    /// The live record, which other processes read, and the questions to the host, which update it.
    pub(super) fn host_questions(&self, host: &HostSender) -> (Option<Arc<LiveRecord>>, HostQuestions) {
        let live = match &self.carried_state {
            Some(carried) => carried.live.clone(),
            None => self.live_record(),
        };
        let questions = HostQuestions::new(host.clone(), self.host_flags().session_state).shown_in(live.clone());
        (live, questions)
    }

    fn live_record(&self) -> Option<Arc<LiveRecord>> {
        let facts = LiveFacts {
            session_id: self.conversation.session_id.clone(),
            cwd: self.cwd.display().to_string(),
            version: wire::version::COMPAT,
            kind: "interactive",
            entrypoint: self.options.host.entrypoint.clone(),
            name: self.options.conversation.name.clone(),
            answers_once: !self.options.host.multi_turn,
        };
        LiveRecord::register(&self.layout, facts)
            .inspect_err(|error| tracing::debug!(%error, "this process could not be registered"))
            .ok()
            .map(Arc::new)
    }
}

/// Transcript readers expect a branch on every line: `HEAD` when there is none.
fn recorded_branch(cwd: &Path) -> String {
    let branch = sys::git::branch(cwd);
    if branch.is_empty() { "HEAD".into() } else { branch }
}
