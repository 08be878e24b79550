//! Answers the requests of the picker on blocking threads. A new list or search request cancels the previous one.

use super::{PickerRequest, PickerUpdate};
use crate::app::AppInput;
use engine::query::{self, SearchQuery, SearchRequest, SessionCatalogue, SessionScope};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use sys::Env;
use tokio::sync::mpsc;

/// Sessions in the first update; later updates have `BATCH` each.
const PAGE: usize = 40;
const BATCH: usize = 500;
/// The most sessions in a search result.
const MAX_HITS: usize = 200;
/// Messages in a preview.
const PREVIEW_MESSAGES: usize = 40;

#[derive(Debug)]
pub(crate) struct PickerFetcher {
    env: Env,
    cwd: PathBuf,
    sender: mpsc::Sender<AppInput>,
    list_cancelled: Arc<AtomicBool>,
    search_cancelled: Arc<AtomicBool>,
}

impl PickerFetcher {
    pub(crate) fn new(env: Env, cwd: PathBuf, sender: mpsc::Sender<AppInput>) -> Self {
        Self { env, cwd, sender, list_cancelled: Arc::default(), search_cancelled: Arc::default() }
    }

    pub(crate) fn serve(&mut self, request: PickerRequest) {
        let (env, cwd, sender) = (self.env.clone(), self.cwd.clone(), self.sender.clone());
        match request {
            PickerRequest::List { round, scope } => {
                let over = cancel_previous(&mut self.list_cancelled);
                tokio::task::spawn_blocking(move || {
                    list(&SessionCatalogue::open(&env, &cwd, scope), (round, cwd), &over, &sender);
                });
            }
            PickerRequest::Search { round, query, scope } => {
                let over = cancel_previous(&mut self.search_cancelled);
                tokio::task::spawn_blocking(move || {
                    search(&env, &cwd, (scope, &query), round, (&over, &sender));
                });
            }
            PickerRequest::Preview(path) => {
                tokio::task::spawn_blocking(move || {
                    let messages = query::preview(&path, PREVIEW_MESSAGES);
                    send_update(&sender, PickerUpdate::Preview { path, messages });
                });
            }
            PickerRequest::Rename { path, name } => {
                tokio::task::spawn_blocking(move || {
                    let name = query::rename(&path, &name);
                    send_update(&sender, PickerUpdate::Renamed { path, name });
                });
            }
            PickerRequest::Earlier(id) => {
                tokio::task::spawn_blocking(move || {
                    let path = query::transcript(&env, &cwd, &id);
                    let messages = path.map(|path| query::record(&path)).unwrap_or_default();
                    send_update(&sender, PickerUpdate::Earlier(messages));
                });
            }
            PickerRequest::Nothing => {
                cancel_previous(&mut self.search_cancelled);
            }
        }
    }

    /// Cancels the running list and search.
    pub(crate) fn stop(&mut self) {
        cancel_previous(&mut self.list_cancelled);
        cancel_previous(&mut self.search_cancelled);
    }
}

impl Drop for PickerFetcher {
    fn drop(&mut self) {
        self.stop();
    }
}

fn cancel_previous(over: &mut Arc<AtomicBool>) -> Arc<AtomicBool> {
    over.store(true, Ordering::Relaxed);
    *over = Arc::default();
    Arc::clone(over)
}

fn send_update(sender: &mpsc::Sender<AppInput>, update: PickerUpdate) -> bool {
    sender.blocking_send(AppInput::Picker(update)).is_ok()
}

fn list(
    catalogue: &SessionCatalogue,
    (round, cwd): (u64, PathBuf),
    over: &AtomicBool,
    sender: &mpsc::Sender<AppInput>,
) {
    let branch = Some(sys::git::branch(&cwd));
    let mut sessions = Vec::with_capacity(PAGE);
    let mut wanted = PAGE;
    for row in &catalogue.rows {
        if over.load(Ordering::Relaxed) {
            return;
        }
        sessions.extend(catalogue.info(row));
        if sessions.len() >= wanted {
            wanted = BATCH;
            let sessions = std::mem::take(&mut sessions);
            if !send_update(sender, PickerUpdate::Sessions { round, sessions, branch: branch.clone(), is_all: false }) {
                return;
            }
        }
    }
    send_update(sender, PickerUpdate::Sessions { round, sessions, branch, is_all: true });
}

fn search(
    env: &Env,
    cwd: &std::path::Path,
    (scope, query): (SessionScope, &str),
    round: u64,
    (over, sender): (&AtomicBool, &mpsc::Sender<AppInput>),
) {
    if let Some(needle) = SearchQuery::new(query) {
        let catalogue = SessionCatalogue::open(env, cwd, scope);
        let mut count = 0;
        let wanted = SearchRequest { needle: &needle, per_session: 1, cancelled: over };
        query::search(&catalogue.rows, wanted, &mut |mut found| {
            let info = catalogue.info(&found.row).filter(|info| !info.archived);
            let (Some(session), Some(hit)) = (info, found.hits.pop()) else { return ControlFlow::Continue(()) };
            count += 1;
            let session = Box::new(session);
            let is_received =
                send_update(sender, PickerUpdate::Hit { round, session, snippet: hit.snippet, place: hit.place });
            if is_received && count < MAX_HITS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
    }
    send_update(sender, PickerUpdate::Searched { round });
}
