//! Answers the picker's questions on threads that may wait. A new question of a kind ends the one before.

use super::{News, Request};
use crate::app::Input;
use engine::query::{self, Catalogue, Needle, Scope, Wanted};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use sys::Env;
use tokio::sync::mpsc;

/// Sessions told first, and then at once.
const PAGE: usize = 40;
const BATCH: usize = 500;
/// Sessions a search tells.
const FOUND: usize = 200;
/// Things said that a preview is made of.
const PREVIEW: usize = 40;

/// And what the view of a resumed conversation has before its end.
const EARLIER: usize = 5_000;

#[derive(Debug)]
pub(crate) struct Fetch {
    env: Env,
    cwd: PathBuf,
    sender: mpsc::Sender<Input>,
    list_over: Arc<AtomicBool>,
    search_over: Arc<AtomicBool>,
}

impl Fetch {
    pub(crate) fn new(env: Env, cwd: PathBuf, sender: mpsc::Sender<Input>) -> Self {
        Self { env, cwd, sender, list_over: Arc::default(), search_over: Arc::default() }
    }

    pub(crate) fn serve(&mut self, request: Request) {
        let (env, cwd, sender) = (self.env.clone(), self.cwd.clone(), self.sender.clone());
        match request {
            Request::List { round, scope } => {
                let over = renewed(&mut self.list_over);
                tokio::task::spawn_blocking(move || {
                    list(&Catalogue::open(&env, &cwd, scope), (round, cwd), &over, &sender);
                });
            }
            Request::Search { round, query, scope } => {
                let over = renewed(&mut self.search_over);
                tokio::task::spawn_blocking(move || {
                    search(&env, &cwd, (scope, &query), round, (&over, &sender));
                });
            }
            Request::Preview(path) => {
                tokio::task::spawn_blocking(move || {
                    let said = query::preview(&path, PREVIEW);
                    tell(&sender, News::Preview { path, said });
                });
            }
            Request::Rename { path, name } => {
                tokio::task::spawn_blocking(move || {
                    let name = query::rename(&path, &name);
                    tell(&sender, News::Renamed { path, name });
                });
            }
            Request::Earlier(id) => {
                tokio::task::spawn_blocking(move || {
                    let path = query::transcript(&env, &cwd, &id);
                    let said = path.map(|path| query::preview(&path, EARLIER)).unwrap_or_default();
                    tell(&sender, News::Earlier(said));
                });
            }
            Request::Nothing => {
                renewed(&mut self.search_over);
            }
        }
    }

    /// The picker has gone.
    pub(crate) fn stop(&mut self) {
        renewed(&mut self.list_over);
        renewed(&mut self.search_over);
    }
}

impl Drop for Fetch {
    fn drop(&mut self) {
        self.stop();
    }
}

fn renewed(over: &mut Arc<AtomicBool>) -> Arc<AtomicBool> {
    over.store(true, Ordering::Relaxed);
    *over = Arc::default();
    Arc::clone(over)
}

fn tell(sender: &mpsc::Sender<Input>, news: News) -> bool {
    sender.blocking_send(Input::Picker(news)).is_ok()
}

fn list(catalogue: &Catalogue, (round, cwd): (u64, PathBuf), over: &AtomicBool, sender: &mpsc::Sender<Input>) {
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
            if !tell(sender, News::Sessions { round, sessions, branch: branch.clone(), is_all: false }) {
                return;
            }
        }
    }
    tell(sender, News::Sessions { round, sessions, branch, is_all: true });
}

fn search(
    env: &Env,
    cwd: &std::path::Path,
    (scope, query): (Scope, &str),
    round: u64,
    (over, sender): (&AtomicBool, &mpsc::Sender<Input>),
) {
    if let Some(needle) = Needle::new(query) {
        let catalogue = Catalogue::open(env, cwd, scope);
        let mut told = 0;
        let wanted = Wanted { needle: &needle, per_session: 1, cancelled: over };
        query::search(&catalogue.rows, wanted, &mut |mut found| {
            let info = catalogue.info(&found.row).filter(|info| !info.archived);
            let (Some(session), Some(hit)) = (info, found.hits.pop()) else { return ControlFlow::Continue(()) };
            told += 1;
            let session = Box::new(session);
            let went = tell(sender, News::Hit { round, session, snippet: hit.snippet, place: hit.place });
            if went && told < FOUND { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
    }
    tell(sender, News::Searched { round });
}
