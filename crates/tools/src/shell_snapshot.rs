//! Aliases, functions and PATH of the user's rc file, written once to a file that every command sources. Taken on the
//! side and bounded: a slow or broken rc file costs the first command at most a second, later ones nothing. The file
//! is removed by [`Snapshot::remove`] at the session's end.

use crate::bash::launch::{Kind, Program, quote};
use crate::spill;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use sys::process::{self, Input, Output, Spawn};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Longest time an rc file may take; after that commands run without it.
const BOUND: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct Snapshot {
    state: watch::Sender<State>,
    work: Mutex<JoinSet<()>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Taking,
    Ready(PathBuf),
    /// No rc file, or it did not work.
    Nothing,
}

/// What taking a snapshot needs.
pub(crate) struct Source<'a> {
    pub(crate) program: &'a Program,
    pub(crate) env: &'a [(OsString, OsString)],
    pub(crate) cwd: &'a Path,
    pub(crate) config_home: &'a Path,
}

impl Default for Snapshot {
    fn default() -> Self {
        Self { state: watch::Sender::new(State::Idle), work: Mutex::default() }
    }
}

impl Snapshot {
    /// Starts taking it, once. Does not wait. Must be called inside the runtime.
    pub(crate) fn begin(&self, source: &Source<'_>) {
        let first = self.state.send_if_modified(|state| {
            let first = *state == State::Idle;
            if first {
                *state = State::Taking;
            }
            first
        });
        if !first {
            return;
        }
        let Some(rc) = rc_file(source) else {
            self.state.send_replace(State::Nothing);
            return;
        };
        let state = self.state.clone();
        let target = target(source);
        let spawn = spawn_spec(source, &rc, &target);
        self.work.lock().unwrap_or_else(PoisonError::into_inner).spawn(async move {
            let made = take(spawn, &target).await;
            state.send_replace(if made { State::Ready(target) } else { State::Nothing });
        });
    }

    /// The file, waiting up to `patience` for it.
    pub(crate) async fn file(&self, patience: Duration) -> Option<PathBuf> {
        let mut seen = self.state.subscribe();
        let settled = seen.wait_for(|state| *state != State::Taking);
        match tokio::time::timeout(patience, settled).await {
            Ok(Ok(state)) => match &*state {
                State::Ready(path) => Some(path.clone()),
                State::Idle | State::Taking | State::Nothing => None,
            },
            Ok(Err(_)) | Err(_) => None,
        }
    }

    /// Stops taking it and deletes the file. Blocking, but short.
    pub(crate) fn remove(&self) {
        self.work.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
        if let State::Ready(path) = self.state.send_replace(State::Nothing) {
            remove_quietly(&path);
        }
    }
}

fn remove_quietly(path: &Path) {
    if let Err(error) = std::fs::remove_file(path) {
        tracing::debug!(%error, path = %path.display(), "shell snapshot was not removed");
    }
}

fn rc_file(source: &Source<'_>) -> Option<PathBuf> {
    let var = |name: &str| source.env.iter().find(|(n, v)| n == name && !v.is_empty()).map(|(_, v)| PathBuf::from(v));
    let rc = match source.program.kind {
        Kind::Bash => var("HOME")?.join(".bashrc"),
        Kind::Zsh => var("ZDOTDIR").or_else(|| var("HOME"))?.join(".zshrc"),
        Kind::Posix => return None,
    };
    rc.is_file().then_some(rc)
}

fn target(source: &Source<'_>) -> PathBuf {
    let shell = match source.program.kind {
        Kind::Bash => "bash",
        Kind::Zsh => "zsh",
        Kind::Posix => "sh",
    };
    let name = format!("snapshot-{shell}-{}-{}.sh", sys::clock::now_ms(), sys::id::base36(6));
    source.config_home.join("shell-snapshots").join(name)
}

/// The shell that reads the rc file and writes what it defined.
fn spawn_spec(source: &Source<'_>, rc: &Path, target: &Path) -> Spawn {
    let dump = match source.program.kind {
        Kind::Bash | Kind::Posix => BASH_DUMP,
        Kind::Zsh => ZSH_DUMP,
    };
    let write = format!("{{ {dump}\n}} >|{}", quote(&target.to_string_lossy()));
    // Many rc files end early in a shell that is not interactive. One that is would fight for the terminal, so it is
    // used only where there is none.
    let interactive = source.program.kind == Kind::Bash && std::fs::File::open("/dev/tty").is_err();
    let args = if interactive {
        vec!["-i".into(), "-c".into(), format!("unset HISTFILE; {write}").into()]
    } else {
        vec!["-c".into(), format!(". {}; {write}", quote(&rc.to_string_lossy())).into()]
    };
    Spawn {
        program: source.program.path.clone().into(),
        args,
        env: source.env.to_vec(),
        cwd: source.cwd.to_path_buf(),
        stdin: Input::Null,
        output: Output::Null,
    }
}

/// Whether the file was made.
async fn take(spawn: Spawn, target: &Path) -> bool {
    // The empty file is created by us, so that it is private whatever the user's umask is.
    if spill::create_private(target).is_err() {
        return false;
    }
    let made = run(spawn).await;
    if !made {
        remove_quietly(target);
    }
    made
}

async fn run(spawn: Spawn) -> bool {
    let Ok(mut child) = process::spawn(spawn) else { return false };
    match tokio::time::timeout(BOUND, child.wait()).await {
        Ok(Ok(exit)) => exit.code == Some(0),
        Ok(Err(_)) | Err(_) => false,
    }
}

/// Functions whose name begins with `_` are mostly completions and would make every command slow: they are kept only
/// when something that is kept names them. Aliases come last, or they would be expanded inside the functions.
const BASH_DUMP: &str = r#"
aliases=$(alias -p); kept=; hidden=()
for f in $(compgen -A function); do
  case $f in _*) hidden+=("$f");; *) kept+=$'\n'$(declare -f "$f");; esac
done
again=1
while [ "$again" ]; do
  again=; rest=()
  for f in "${hidden[@]}"; do
    case $aliases$kept in *"$f"*) kept+=$'\n'$(declare -f "$f"); again=1;; *) rest+=("$f");; esac
  done
  hidden=("${rest[@]}")
done
for o in extglob globstar nullglob dotglob nocaseglob autocd cdspell; do
  shopt -q "$o" 2>/dev/null && printf 'shopt -s %s\n' "$o"
done
printf '%s\nshopt -s expand_aliases\n%s\nexport PATH=%q\n' "$kept" "$aliases" "$PATH""#;

const ZSH_DUMP: &str = r#"
alias -L
for f in ${(k)functions}; do [[ $f == _* ]] || functions -- $f; done
print -r -- "export PATH=${(q)PATH}""#;
