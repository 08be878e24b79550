//! Confines one command and everything it starts, until all of it has ended. A [`SandboxProfile`] says what the command
//! may access; a [`SandboxBackend`] is a way of enforcing that on this machine. [`SandboxBackend::not_covered`] names
//! what a backend cannot enforce.
//!
//! The programs that enforce (`bwrap`, `sandbox-exec`) come from fixed system paths or from the administrator, never
//! from `PATH`, which a project may have changed.

#[cfg(target_os = "linux")]
mod bwrap;
#[cfg(target_os = "linux")]
pub mod first_program;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod listener_socket;
mod plan;
mod probe;
pub mod seatbelt;
#[cfg(target_os = "linux")]
mod seccomp;
mod spawn;
mod stand_ins;
mod sweep;

pub use probe::{BackendRequest, DetectedBackend, detect};
pub use spawn::{ProxyDoor, SandboxedChild, spawn};
pub use sweep::SandboxSweep;

use std::path::{Path, PathBuf};

/// The port of the filtering proxy inside the sandbox.
pub const PROXY_PORT: u16 = 33128;

/// The mount point of sysfs.
#[cfg(target_os = "linux")]
pub(crate) const SYS_PATH: &str = "/sys";
/// The file systems that change kernel settings: no profile lets a command write there.
#[cfg(target_os = "linux")]
pub(crate) const KERNEL_PATHS: [&str; 2] = ["/proc", SYS_PATH];

/// What a sandboxed command may access. Paths are absolute and resolved.
#[derive(Clone, Debug)]
pub struct SandboxProfile {
    pub files: FileConfinement,
    /// Paths that are removed after the command if it created them, because their creation cannot be prevented.
    pub removed_if_made: Vec<PathBuf>,
    /// What gimlet itself writes while commands run, such as transcripts. It is never restored after a command, so no
    /// backend may grant a command access to it, whatever else has to stay closed for that.
    pub own_data: Vec<PathBuf>,
    pub unix_sockets: UnixSockets,
    /// A directory of ours that no command can write to.
    pub private: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileConfinement {
    /// Everything may be read and nothing written, except where the rules differ.
    Confined(Vec<SandboxRule>),
    /// Files are not confined.
    Free,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnixSockets {
    Blocked,
    Allowed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxRule {
    pub path: PathBuf,
    pub effect: RuleEffect,
}

/// The rule with the longest path decides, a denial on a tie; `Protect` overrides any `AllowWrite` below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleEffect {
    AllowRead,
    DenyRead,
    AllowWrite,
    DenyWrite,
    /// The path must not be written, nor created when it does not exist.
    Protect,
}

impl SandboxRule {
    pub fn new(effect: RuleEffect, path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), effect }
    }
}

impl SandboxProfile {
    pub fn rules(&self) -> &[SandboxRule] {
        match &self.files {
            FileConfinement::Confined(rules) => rules,
            FileConfinement::Free => &[],
        }
    }
}

/// Whether a sandboxed command gets its own process table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcMount {
    Fresh,
    /// The outer `/proc`, read-only: for containers that forbid mounting another.
    Shared,
}

/// An available way of enforcing a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SandboxBackend {
    Bwrap { program: PathBuf, proc: ProcMount },
    Landlock { abi: u32 },
    Seatbelt,
}

impl SandboxBackend {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bwrap { .. } => "bwrap",
            Self::Landlock { .. } => "landlock",
            Self::Seatbelt => "seatbelt",
        }
    }

    /// True when allowed hosts can be reached through the proxy.
    pub fn has_proxy(&self) -> bool {
        match self {
            Self::Bwrap { .. } | Self::Seatbelt => true,
            Self::Landlock { .. } => false,
        }
    }

    /// What this backend does not enforce, one sentence each.
    pub fn not_covered(&self) -> Vec<&'static str> {
        match self {
            Self::Bwrap { proc: ProcMount::Fresh, .. } => Vec::new(),
            Self::Bwrap { proc: ProcMount::Shared, .. } => {
                vec!["/proc is the surrounding one: commands see the processes of this machine"]
            }
            Self::Landlock { abi } => landlock_gaps(*abi),
            Self::Seatbelt => vec!["protected paths that do not exist yet are matched by name only"],
        }
    }

    /// Paths that `profile` denies but this backend cannot deny.
    pub fn leaves_open(&self, profile: &SandboxProfile) -> Vec<PathBuf> {
        match self {
            Self::Bwrap { .. } | Self::Seatbelt => Vec::new(),
            Self::Landlock { .. } => {
                let rules = profile.rules();
                let inside = |path: &Path| {
                    rules
                        .iter()
                        .any(|r| r.effect == RuleEffect::AllowWrite && path.starts_with(&r.path) && r.path != path)
                };
                let closed =
                    rules.iter().filter(|rule| matches!(rule.effect, RuleEffect::DenyRead | RuleEffect::DenyWrite));
                closed.filter(|rule| inside(&rule.path) && rule.path.exists()).map(|rule| rule.path.clone()).collect()
            }
        }
    }
}

fn landlock_gaps(abi: u32) -> Vec<&'static str> {
    let mut gaps = vec![
        "protected and denied paths inside a writable directory: changes to protected ones are undone after the command, \
         denied ones stay open",
        "a writable directory that holds gimlet's own data (the configuration folder): what is there may be changed, but no \
         new entries can be made beside that data",
        "hosts cannot be allowed one by one: there is no network at all, not even between commands on this machine",
        "modes, owners, times and attributes of files outside: Landlock does not judge changes to them",
        "names of hidden files can be listed",
        "where all files may be written: new entries of / itself, because /proc and /sys beside them stay closed",
        "the process table is visible, though other processes cannot be read or traced",
    ];
    if abi < 3 {
        gaps.push("files outside can be truncated (kernel older than 6.2)");
    }
    if abi < 6 {
        gaps.push("other processes of this user can be signalled (kernel older than 6.12)");
    }
    gaps
}
