//! Which conversation a session continues, and under which id.

use crate::session::{PlaceChange, StartState};
use session_parts::options::{ForkTarget, SessionChoice, SessionOptions};
use session_parts::start_error::{StartError, StartFailure};
use session_parts::worktree::{self, ActiveWorktree, WorktreeReturn};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::find::{self, LatestScope};
use store::resume::{LoadOptions, load};
use store::{LoadedConversation, StoreError, StoreLayout};
use sys::Env;
use wire::mode::PermissionMode;

pub(super) struct ConversationChoice {
    pub session_id: String,
    /// The transcript to append to; `None` for the default path of the id.
    pub path: Option<PathBuf>,
    /// The conversation that is continued; `None` for a new one.
    pub loaded: Option<LoadedConversation>,
    /// The history is copied to a new file with the first prompt.
    pub is_fork: bool,
}

/// The worktree a session works in, if any.
#[derive(Default)]
pub(super) struct SessionPlace {
    pub active_worktree: Option<Arc<ActiveWorktree>>,
    pub place_change: Option<PlaceChange>,
    pub notice: Option<String>,
}

impl ConversationChoice {
    pub(super) fn choose(options: &SessionOptions, layout: &StoreLayout, cwd: &Path) -> Result<Self, StartError> {
        match &options.conversation.choice {
            SessionChoice::New { id } => fresh(id.clone(), layout, cwd),
            SessionChoice::Continue { fork } => match find::latest(layout, cwd, LatestScope::Headless) {
                Some(path) => resume(&path, options, fork.as_ref(), (layout, cwd)),
                None => fresh(fork.as_ref().and_then(|f| f.id.clone()), layout, cwd),
            },
            SessionChoice::Resume { target, fork } => {
                let path = find::target(layout, cwd, target).map_err(|e| refusal(&e))?;
                resume(&path, options, fork.as_ref(), (layout, cwd))
            }
        }
    }

    /// A warning when another process has the same conversation open.
    pub(super) fn shared_notice(&self, layout: &StoreLayout) -> Option<String> {
        self.loaded.as_ref().filter(|_| !self.is_fork)?;
        let owner = store::live_sessions::live_owner(layout, &self.session_id)?;
        Some(format!(
            "Warning: this session is open in another process ({}). Both can continue and every message is kept, but \
             neither sees the other's. --fork-session makes a copy.",
            owner.pid
        ))
    }

    /// The uuid of the parent of the first new line.
    pub(super) fn leaf(&self) -> Option<String> {
        self.loaded.as_ref()?.leaf_uuid.as_deref().map(str::to_owned)
    }

    /// The name that a person gave to the resumed conversation.
    pub(super) fn name(&self) -> Option<String> {
        let title = self.loaded.as_ref()?.custom_title.as_deref()?;
        Some(session_parts::messages::session_name(title)).filter(|name| !name.is_empty())
    }

    /// The colour of its prompt.
    pub(super) fn colour(&self) -> Option<String> {
        self.loaded.as_ref()?.sticky.iter().rev().find_map(|line| crate::commands::colour::recorded(line))
    }

    /// Where the session works: sets `cwd` to the worktree it was left in, unless the command line chose one.
    pub(super) fn session_place(
        &self,
        chosen: Option<Arc<ActiveWorktree>>,
        cwd: &mut PathBuf,
        env: &Env,
    ) -> Result<SessionPlace, StartError> {
        if chosen.is_some() {
            return Ok(SessionPlace { active_worktree: chosen, place_change: Some(PlaceChange::Inside), notice: None });
        }
        let recorded = self.loaded.as_ref().filter(|_| !self.is_fork).and_then(worktree::recorded);
        let Some(recorded) = recorded else { return Ok(SessionPlace::default()) };
        match worktree::reenter(&recorded, cwd, env)? {
            WorktreeReturn::Inside(active) => {
                cwd.clone_from(&active.worktree.path);
                Ok(SessionPlace { active_worktree: Some(active), place_change: None, notice: None })
            }
            WorktreeReturn::Gone(notice) => {
                Ok(SessionPlace { active_worktree: None, place_change: Some(PlaceChange::Gone), notice: Some(notice) })
            }
        }
    }

    pub(super) fn start(self, name: Option<String>, mode: PermissionMode) -> StartState {
        let recorded = self.loaded.as_ref().and_then(|l| l.permission_mode.as_deref());
        let new_mode = recorded.is_some_and(|r| r != mode.as_str()).then_some(mode);
        let source = match (&self.loaded, self.is_fork) {
            (None, _) => "startup",
            (Some(_), true) => "fork",
            (Some(_), false) => "resume",
        };
        let unarchive = self.path.as_deref().map(store::list::archive_mark);
        let fork_of = if self.is_fork { self.loaded } else { None };
        StartState { unarchive, fork_of, source, name, new_mode, ..StartState::default() }
    }
}

fn fresh(id: Option<String>, layout: &StoreLayout, cwd: &Path) -> Result<ConversationChoice, StartError> {
    if let Some(id) = &id
        && !find::id_is_free(layout, cwd, id)
    {
        return Err(StartError::of(StartFailure::Conversation, format!("Session ID {id} is already in use."))
            .with_hint(format!("Choose another, or continue it with --resume {id}.")));
    }
    let session_id = id.unwrap_or_else(sys::id::uuid);
    Ok(ConversationChoice { session_id, path: None, loaded: None, is_fork: false })
}

fn resume(
    path: &Path,
    options: &SessionOptions,
    fork: Option<&ForkTarget>,
    (layout, cwd): (&StoreLayout, &Path),
) -> Result<ConversationChoice, StartError> {
    let wanted = LoadOptions {
        at: options.conversation.resume_at.clone(),
        drops_turn: options.conversation.resume_drops_turn.clone(),
        ..LoadOptions::default()
    };
    // Finish an interrupted move of this conversation first.
    let path = &store::relocate::finish_move(layout, path);
    let loaded = load(path, &wanted).map_err(|e| refusal(&e))?;
    let Some(fork) = fork else {
        let session_id = loaded.session_id.clone();
        return Ok(ConversationChoice { session_id, path: Some(path.clone()), loaded: Some(loaded), is_fork: false });
    };
    let new = fresh(fork.id.clone(), layout, cwd)?;
    Ok(ConversationChoice { loaded: Some(loaded), is_fork: true, ..new })
}

/// Errors of the store are written for the user.
fn refusal(error: &StoreError) -> StartError {
    StartError::new(StartFailure::Conversation, error.to_string())
}
