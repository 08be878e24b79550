//! Facts about the project that are sent once, before the first prompt, so that the model need not look for them:
//! the day, the branch and its state, the top-level names, how to build and test, which programs exist. They are
//! gathered beside the start of the session. Nothing of the project is run; git only reads, without any program that
//! the repository configures. Names come from the project, so they are shortened and cannot look like our tags.

mod build_files;
mod state;

use crate::prompts;
use permission::Policy;
use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use sys::Env;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Most bytes of all facts together, and the part of them that is kept for what git says.
const MAX_BYTES: usize = 2_000;
const STATE_BYTES: usize = 750;
/// How long the first request may wait for them: the timer may add another millisecond.
const FIRST_WAIT: Duration = Duration::from_millis(1);
/// How long git waits after the start of the session, so that it does not compete with a first request that follows at
/// once.
const STATE_DELAY: Duration = Duration::from_millis(100);
const MAX_NAMES: usize = 40;
/// Directory entries after which counting stops.
const MAX_ENTRIES: usize = 5_000;
const MAX_NAME_CHARS: usize = 60;
/// Programs that are named when they exist; `fd` has another name on some systems.
const PROGRAMS: [&[&str]; 7] = [&["rg"], &["fd", "fdfind"], &["gh"], &["jq"], &["docker"], &["uv"], &["pnpm"]];

/// Where facts are gathered, and which.
#[derive(Clone)]
pub struct ProjectFactsQuery {
    pub cwd: PathBuf,
    pub env: Env,
    /// Whether the state of the repository is told.
    pub tells_git: bool,
    /// Names that its rules hide are left out.
    pub policy: Arc<Policy>,
}

/// The facts as far as they are known. Each is `None` while it is gathered and empty when there is nothing to say.
#[derive(Clone, Default)]
struct GatheredFacts {
    place: Option<String>,
    state: Option<String>,
}

/// Facts that are gathered once, on the first demand.
pub struct ProjectFacts {
    query: ProjectFactsQuery,
    gathered: std::sync::OnceLock<watch::Receiver<GatheredFacts>>,
}

/// What one conversation was told already.
#[derive(Clone, Default)]
pub struct ToldFacts {
    facts: Option<Arc<ProjectFacts>>,
    place: bool,
    state: bool,
    /// A request waited for them already.
    has_waited: bool,
}

impl ProjectFacts {
    pub fn new(query: ProjectFactsQuery) -> Arc<Self> {
        Arc::new(Self { query, gathered: std::sync::OnceLock::new() })
    }

    /// Begins to gather; must be called inside the runtime.
    pub fn begin(&self) {
        self.receiver();
    }

    fn receiver(&self) -> watch::Receiver<GatheredFacts> {
        let receiver = self.gathered.get_or_init(|| {
            let (sender, receiver) = watch::channel(GatheredFacts::default());
            let looking = (self.query.clone(), sender.clone());
            // The look at the place begins at once, not when the starting thread has nothing else to do.
            let place = tokio::task::spawn_blocking(move || {
                let place = place(&looking.0);
                looking.1.send_modify(|known| known.place = Some(place));
            });
            tokio::spawn(gather_state(self.query.clone(), sender, place));
            receiver
        });
        receiver.clone()
    }
}

impl ToldFacts {
    /// A conversation that was told nothing; without `facts` it never will be.
    pub fn nothing_of(facts: Option<Arc<ProjectFacts>>) -> Self {
        Self { facts, ..Self::default() }
    }

    /// Begins to gather what is to be told; must be called inside the runtime.
    pub fn start(&self) {
        if let Some(facts) = self.facts.as_ref().filter(|_| !(self.place && self.state)) {
            facts.receiver();
        }
    }

    /// A conversation that was told them before, as one that is resumed.
    pub fn all_of(facts: Option<Arc<ProjectFacts>>) -> Self {
        Self { facts, place: true, state: true, has_waited: true }
    }

    /// For another conversation in the same place: they are gathered anew.
    #[must_use]
    pub fn anew(&self) -> Self {
        let anew = Self::nothing_of(self.facts.as_ref().map(|facts| ProjectFacts::new(facts.query.clone())));
        anew.start();
        anew
    }

    /// They are sent again, because the conversation no longer holds them.
    pub fn forget(&mut self) {
        (self.place, self.state, self.has_waited) = (false, false, false);
        self.start();
    }

    /// The reminder that is due. The first request waits for a moment; what is not known by then follows once with a
    /// later one.
    pub async fn take_due(&mut self) -> Option<String> {
        let facts = self.facts.clone().filter(|_| !(self.place && self.state))?;
        let mut receiver = facts.receiver();
        if !self.place && !std::mem::replace(&mut self.has_waited, true) {
            tokio::time::timeout(FIRST_WAIT, receiver.wait_for(|known| known.place.is_some())).await.ok();
        }
        let known = receiver.borrow().clone();
        let mut parts = Vec::new();
        if let Some(place) = known.place.filter(|_| !self.place) {
            self.place = true;
            parts.push(place);
        }
        if let Some(state) = known.state.filter(|_| !self.state) {
            self.state = true;
            parts.push(state);
        }
        let text = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
        (!text.is_empty()).then(|| prompts::project_facts(&text))
    }
}

/// Gathers the state of the repository after the look at the place.
async fn gather_state(query: ProjectFactsQuery, told: watch::Sender<GatheredFacts>, place: JoinHandle<()>) {
    if place.await.is_err() {
        told.send_modify(|known| known.place = Some(String::new()));
    }
    let state = if query.tells_git {
        tokio::time::sleep(STATE_DELAY).await;
        state::repository(&query).await
    } else {
        String::new()
    };
    let masked = tokio::task::spawn_blocking(move || permission::masked_formats(&state)).await.unwrap_or_default();
    let state = bounded(&masked, STATE_BYTES - heading());
    told.send_modify(|known| known.state = Some(state));
}

/// What is read from directories and small files.
fn place(query: &ProjectFactsQuery) -> String {
    let mut text = String::new();
    if let Some(day) = sys::clock::weekday_and_zone() {
        write!(text, "- Day: {day}").ok();
    }
    if query.tells_git {
        text.push_str(&state::branch(&query.cwd));
    }
    let build = build_files::describe(query);
    let programs = programs(&query.env);
    let rest = build.len() + programs.len();
    let room = (MAX_BYTES - STATE_BYTES).saturating_sub(heading() + text.len() + rest);
    text.push_str(&names(query, room));
    text.push_str(&build);
    text.push_str(&programs);
    bounded(permission::masked_formats(&text).trim_start_matches('\n'), MAX_BYTES - STATE_BYTES - heading())
}

/// The bytes around the facts of one reminder.
fn heading() -> usize {
    prompts::project_facts("").len()
}

/// Cuts at the end of a line.
fn bounded(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let cut = text.floor_char_boundary(most);
    text[..text[..cut].rfind('\n').unwrap_or(0)].to_owned()
}

/// The names in the directory: folders first, then files, each in the order of the alphabet.
fn names(query: &ProjectFactsQuery, room: usize) -> String {
    let Ok(entries) = std::fs::read_dir(&query.cwd) else { return String::new() };
    let real_cwd = sys::real_path::path(&query.cwd);
    let mut found: Vec<(bool, String)> = Vec::new();
    for entry in entries.flatten().take(MAX_ENTRIES) {
        let (name, kind) = (entry.file_name(), entry.file_type());
        let is_folder = kind.as_ref().is_ok_and(std::fs::FileType::is_dir);
        let Some(name) = name.to_str().filter(|name| *name != ".git") else { continue };
        let path = query.cwd.join(name);
        let real = match kind {
            // What is no link lies where it is listed.
            Ok(kind) if !kind.is_symlink() => real_cwd.join(name),
            Ok(_) | Err(_) => sys::real_path::path(&path),
        };
        if !query.policy.hides(&path, &real) {
            found.push((!is_folder, format!("{}{}", harmless(name), if is_folder { "/" } else { "" })));
        }
    }
    if found.is_empty() {
        return "\n- The directory is empty".to_owned();
    }
    found.sort_unstable();
    let mut text = String::from("\n- Here:");
    let mut shown = 0;
    // Room for the count of the rest.
    for (_, name) in found.iter().take(MAX_NAMES) {
        if text.len() + name.len() + 24 > room {
            break;
        }
        write!(text, " {name}").ok();
        shown += 1;
    }
    if found.len() > shown {
        write!(text, " and {} more", found.len() - shown).ok();
    }
    text
}

fn programs(env: &Env) -> String {
    let path = env.non_empty("PATH").unwrap_or_default();
    let folders: Vec<&Path> = path.split(':').map(Path::new).filter(|dir| dir.is_absolute()).collect();
    let exists = |name: &str| {
        let is_program = |file: PathBuf| {
            std::fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
        };
        folders.iter().any(|dir| is_program(dir.join(name)))
    };
    let found: Vec<&str> =
        PROGRAMS.iter().filter_map(|names| names.iter().copied().find(|name| exists(name))).collect();
    if found.is_empty() { String::new() } else { format!("\n- Programs that exist: {}", found.join(" ")) }
}

/// A text of the project on one short line, without anything that could be taken for a tag.
fn harmless(text: &str) -> String {
    let plain = text.chars().map(|c| match c {
        '<' => '‹',
        '>' => '›',
        c if c.is_control() => '?',
        c => c,
    });
    let mut kept: String = permission::escape_invisible(&plain.collect::<String>());
    if let Some((at, _)) = kept.char_indices().nth(MAX_NAME_CHARS) {
        kept.truncate(at);
        kept.push('…');
    }
    kept
}

#[cfg(test)]
#[path = "project_facts/project_facts_tests.rs"]
mod tests;
