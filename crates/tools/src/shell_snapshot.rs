//! Aliases, functions and PATH of the user's rc file, written once to a file that every command sources. Taken in
//! the background with a time limit: a slow or broken rc file delays the first command by at most a second, and
//! later commands not at all. [`ShellSnapshot::remove`] deletes the file at the end of the session.

use crate::shell_program::{ShellKind, ShellProgram, quote};
use crate::spill;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::process::{self, ChildInput, ChildOutput, SpawnSpec};
use sys::sync::Mutex;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Longest time an rc file may take; after that, commands run without it.
const SNAPSHOT_LIMIT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct ShellSnapshot {
    state: watch::Sender<SnapshotState>,
    work: Mutex<JoinSet<()>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum SnapshotState {
    Idle,
    Taking,
    Ready(PathBuf),
    /// There is no rc file, or the snapshot failed.
    Nothing,
}

/// The input of a snapshot.
pub(crate) struct SnapshotSource<'a> {
    pub(crate) program: &'a ShellProgram,
    pub(crate) env: &'a [(OsString, OsString)],
    pub(crate) cwd: &'a Path,
    pub(crate) config_home: &'a Path,
}

impl Default for ShellSnapshot {
    fn default() -> Self {
        Self { state: watch::Sender::new(SnapshotState::Idle), work: Mutex::default() }
    }
}

impl ShellSnapshot {
    /// Starts the snapshot on the first call, without waiting. Must be called inside the runtime.
    pub(crate) fn begin(&self, source: &SnapshotSource<'_>) {
        let first = self.state.send_if_modified(|state| {
            let first = *state == SnapshotState::Idle;
            if first {
                *state = SnapshotState::Taking;
            }
            first
        });
        if !first {
            return;
        }
        let Some(rc) = rc_file(source) else {
            self.state.send_replace(SnapshotState::Nothing);
            return;
        };
        let state = self.state.clone();
        let target = target(source);
        let spawn = spawn_spec(source, &rc, &target);
        self.work.lock().spawn(async move {
            let made = take(spawn, &target).await;
            state.send_replace(if made { SnapshotState::Ready(target) } else { SnapshotState::Nothing });
        });
    }

    /// The snapshot file; waits up to `timeout` for it. `None` when there is none (yet).
    pub(crate) async fn file(&self, timeout: Duration) -> Option<PathBuf> {
        let mut seen = self.state.subscribe();
        let settled = seen.wait_for(|state| *state != SnapshotState::Taking);
        match tokio::time::timeout(timeout, settled).await {
            Ok(Ok(state)) => match &*state {
                SnapshotState::Ready(path) => Some(path.clone()),
                SnapshotState::Idle | SnapshotState::Taking | SnapshotState::Nothing => None,
            },
            Ok(Err(_)) | Err(_) => None,
        }
    }

    /// Stops the snapshot and deletes the file. Blocks for a short time.
    pub(crate) fn remove(&self) {
        self.work.lock().abort_all();
        if let SnapshotState::Ready(path) = self.state.send_replace(SnapshotState::Nothing) {
            remove_quietly(&path);
        }
    }
}

fn remove_quietly(path: &Path) {
    if let Err(error) = std::fs::remove_file(path) {
        tracing::debug!(%error, path = %path.display(), "shell snapshot was not removed");
    }
}

fn rc_file(source: &SnapshotSource<'_>) -> Option<PathBuf> {
    let var = |name: &str| source.env.iter().find(|(n, v)| n == name && !v.is_empty()).map(|(_, v)| PathBuf::from(v));
    let rc = match source.program.kind {
        ShellKind::Bash => var("HOME")?.join(".bashrc"),
        ShellKind::Zsh => var("ZDOTDIR").or_else(|| var("HOME"))?.join(".zshrc"),
        ShellKind::Posix => return None,
    };
    rc.is_file().then_some(rc)
}

fn target(source: &SnapshotSource<'_>) -> PathBuf {
    let shell = match source.program.kind {
        ShellKind::Bash => "bash",
        ShellKind::Zsh => "zsh",
        ShellKind::Posix => "sh",
    };
    let name = format!("snapshot-{shell}-{}-{}.sh", sys::clock::now_ms(), sys::id::base36(6));
    source.config_home.join("shell-snapshots").join(name)
}

/// The shell process that reads the rc file and writes its definitions.
fn spawn_spec(source: &SnapshotSource<'_>, rc: &Path, target: &Path) -> SpawnSpec {
    let dump = match source.program.kind {
        ShellKind::Bash | ShellKind::Posix => BASH_DUMP,
        ShellKind::Zsh => ZSH_DUMP,
    };
    let write = format!("{{ {dump}\n}} >|{}", quote(&target.to_string_lossy()));
    // Many rc files return early in a non-interactive shell. An interactive shell would compete for the terminal,
    // so it is used only where there is no terminal.
    let interactive = source.program.kind == ShellKind::Bash && std::fs::File::open("/dev/tty").is_err();
    let args = if interactive {
        vec!["-i".into(), "-c".into(), format!("unset HISTFILE; {write}").into()]
    } else {
        vec!["-c".into(), format!(". {}; {write}", quote(&rc.to_string_lossy())).into()]
    };
    SpawnSpec {
        program: source.program.path.clone().into(),
        args,
        env: source.env.to_vec(),
        cwd: source.cwd.to_path_buf(),
        stdin: ChildInput::Null,
        output: ChildOutput::Null,
    }
}

/// Takes the snapshot; returns whether the file was written.
async fn take(spawn: SpawnSpec, target: &Path) -> bool {
    // The file is created here, so that it is private whatever the user's umask is.
    if spill::create_private(target).is_err() {
        return false;
    }
    let made = run(spawn).await;
    if !made {
        remove_quietly(target);
    }
    made
}

async fn run(spawn: SpawnSpec) -> bool {
    let Ok(mut child) = process::spawn(spawn) else { return false };
    match tokio::time::timeout(SNAPSHOT_LIMIT, child.wait()).await {
        Ok(Ok(exit)) => exit.code == Some(0),
        Ok(Err(_)) | Err(_) => false,
    }
}

/// `dotglob` and `nocaseglob` are left out: patterns stand for the files with which a command was judged.
/// Functions whose names begin with `_` are mostly completions and would slow down every command; they are kept
/// only when something that is kept names them. Aliases come last, or they would be expanded inside the functions.
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
for o in extglob globstar nullglob autocd cdspell; do
  shopt -q "$o" 2>/dev/null && printf 'shopt -s %s\n' "$o"
done
printf '%s\nshopt -s expand_aliases\n%s\nexport PATH=%q\n' "$kept" "$aliases" "$PATH""#;

const ZSH_DUMP: &str = r#"
alias -L
for f in ${(k)functions}; do [[ $f == _* ]] || functions -- $f; done
print -r -- "export PATH=${(q)PATH}""#;
