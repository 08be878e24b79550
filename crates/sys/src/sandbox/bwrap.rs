//! The arguments of `bwrap`. Everything is unshared; the file system is the machine's, read-only where files are
//! confined, with the mounts of the plan on top. `/proc` and `/sys` are read-only under every profile: root owns the
//! kernel settings in them, and the owner of a file can write it without capabilities.

use super::plan::{MountPlan, MountState, SandboxMount};
use super::{FileConfinement, ProcMount, SYS_PATH};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The path of our own program inside the sandbox.
pub(crate) const INNER: &str = "/dev/.gimlet";

pub(crate) struct BwrapSpec<'a> {
    pub(crate) files: &'a FileConfinement,
    pub(crate) plan: &'a MountPlan,
    pub(crate) proc: ProcMount,
    /// A file that cannot be read, mounted over hidden files.
    pub(crate) void: &'a Path,
    /// The path of our own program.
    pub(crate) own: &'a Path,
    pub(crate) cwd: &'a Path,
    /// The descriptor of the system call filter.
    pub(crate) filter: i32,
    pub(crate) session: BwrapSession,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BwrapSession {
    /// Its own session, without the terminal.
    Own,
    /// Our session, with the terminal.
    Shared,
}

pub(crate) fn arguments(shape: &BwrapSpec<'_>) -> Vec<OsString> {
    let mut out = BwrapArguments::default();
    for flag in ["--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"] {
        out.word(flag);
    }
    out.word("--unshare-cgroup-try").word("--die-with-parent");
    if shape.session == BwrapSession::Own {
        out.word("--new-session");
    }
    out.word("--cap-drop").word("ALL");
    out.word(match shape.files {
        FileConfinement::Confined(_) => "--ro-bind",
        FileConfinement::Free => "--bind",
    });
    out.word("/").word("/");
    for mount in &shape.plan.mounts {
        out.mount(mount, shape.void);
    }
    for path in &shape.plan.absent {
        out.word("--perms").word("0555").word("--tmpfs").path(path).word("--remount-ro").path(path);
    }
    out.word("--dev").word("/dev");
    match shape.proc {
        ProcMount::Fresh => out.word("--proc").word("/proc").word("--remount-ro").word("/proc"),
        ProcMount::Shared => out.word("--ro-bind").word("/proc").word("/proc"),
    };
    out.kernel_objects(shape);
    out.word("--ro-bind").path(shape.own).word(INNER);
    out.word("--chdir").path(shape.cwd);
    out.word("--seccomp").word(&shape.filter.to_string());
    out.0
}

#[derive(Default)]
struct BwrapArguments(Vec<OsString>);

impl BwrapArguments {
    fn word(&mut self, word: &str) -> &mut Self {
        self.0.push(word.into());
        self
    }

    fn path(&mut self, path: &Path) -> &mut Self {
        self.0.push(path.into());
        self
    }

    /// Mounts `/sys` with everything below it, then hides again what the plan hides there.
    fn kernel_objects(&mut self, shape: &BwrapSpec<'_>) {
        let sys = Path::new(SYS_PATH);
        if sys.is_dir() {
            self.word("--ro-bind").path(sys).path(sys);
        }
        let hidden = |mount: &&SandboxMount| mount.state == MountState::Hidden && mount.path.starts_with(sys);
        shape.plan.mounts.iter().filter(hidden).for_each(|mount| self.mount(mount, shape.void));
    }

    fn mount(&mut self, mount: &SandboxMount, void: &Path) {
        let path = &mount.path;
        match (mount.state, mount.is_dir) {
            (MountState::Writable, _) => self.word("--bind").path(path).path(path),
            (MountState::ReadOnly, _) => self.word("--ro-bind").path(path).path(path),
            (MountState::Hidden, false) => self.word("--ro-bind").path(void).path(path),
            (MountState::Hidden, true) => {
                let mode = if mount.has_open_parts { "0111" } else { "0000" };
                self.word("--perms").word(mode).word("--tmpfs").path(path)
            }
        };
    }
}

/// True for variables that would change how `bwrap` itself is loaded: only the command may get them.
pub(crate) fn is_loader_variable(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b"LD_")
}
