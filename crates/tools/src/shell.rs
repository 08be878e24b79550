//! The session's shell: its program, its environment and the snapshot of its rc file. Computed on first use and kept.

pub(crate) mod capture;
pub(crate) mod launch;
pub(crate) mod running;

use crate::session_facts::SessionFacts;
use crate::shell_program::ShellProgram;
use crate::shell_snapshot::{ShellSnapshot, SnapshotSource};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long the first command waits for a snapshot that is being taken.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub struct SessionShell {
    program: OnceLock<ShellProgram>,
    env: OnceLock<Vec<(OsString, OsString)>>,
    snapshot: ShellSnapshot,
    has_waited: AtomicBool,
}

impl SessionShell {
    /// Starts the snapshot in advance, so that the first command need not wait. Cheap; must be called inside the
    /// runtime.
    pub fn warm(&self, facts: &SessionFacts, cwd: &Path) {
        self.snapshot.begin(&SnapshotSource {
            program: self.program(facts),
            env: self.env(facts),
            cwd,
            config_home: &facts.config_home,
        });
    }

    pub(crate) fn program(&self, facts: &SessionFacts) -> &ShellProgram {
        self.program.get_or_init(|| ShellProgram::choose(&facts.env))
    }

    pub(crate) fn environment(&self, facts: &SessionFacts) -> Vec<(OsString, OsString)> {
        self.env(facts).clone()
    }

    fn env(&self, facts: &SessionFacts) -> &Vec<(OsString, OsString)> {
        self.env.get_or_init(|| launch::environment(facts))
    }

    /// The snapshot file. Only the first command waits for it.
    pub(crate) async fn snapshot(&self, facts: &SessionFacts, cwd: &Path) -> Option<PathBuf> {
        self.warm(facts, cwd);
        let timeout = if self.has_waited.swap(true, Ordering::Relaxed) { Duration::ZERO } else { SNAPSHOT_TIMEOUT };
        self.snapshot.file(timeout).await
    }

    /// Removes the snapshot. Blocks for a short time.
    pub(crate) fn shutdown(&self) {
        self.snapshot.remove();
    }
}
