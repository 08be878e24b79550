//! The arguments of `bwrap`. Everything is unshared; the file system is the machine's, read-only, with what the plan says
//! mounted on top. `/proc` and `/sys` are read-only under every profile: root owns the kernel's switches in them, and
//! owning a file needs no capability.

use super::plan::{Mount, Plan, State};
use super::{Files, ProcMount, SYS};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What our own program is called inside.
pub(crate) const INNER: &str = "/dev/.gimlet";

pub(crate) struct Shape<'a> {
    pub(crate) files: &'a Files,
    pub(crate) plan: &'a Plan,
    pub(crate) proc: ProcMount,
    /// A file nobody may read.
    pub(crate) void: &'a Path,
    /// Our own program.
    pub(crate) own: &'a Path,
    pub(crate) cwd: &'a Path,
    /// Descriptor of the system call filter.
    pub(crate) filter: i32,
    pub(crate) session: Session,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Session {
    /// Without the terminal.
    Own,
    /// With the terminal of whoever started us.
    Shared,
}

pub(crate) fn arguments(shape: &Shape<'_>) -> Vec<OsString> {
    let mut out = Arguments::default();
    for flag in ["--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"] {
        out.word(flag);
    }
    out.word("--unshare-cgroup-try").word("--die-with-parent");
    if shape.session == Session::Own {
        out.word("--new-session");
    }
    out.word("--cap-drop").word("ALL");
    out.word(match shape.files {
        Files::Confined(_) => "--ro-bind",
        Files::Free => "--bind",
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
struct Arguments(Vec<OsString>);

impl Arguments {
    fn word(&mut self, word: &str) -> &mut Self {
        self.0.push(word.into());
        self
    }

    fn path(&mut self, path: &Path) -> &mut Self {
        self.0.push(path.into());
        self
    }

    /// `/sys` with all that is mounted below it. What the plan hides there is hidden again.
    fn kernel_objects(&mut self, shape: &Shape<'_>) {
        let sys = Path::new(SYS);
        if sys.is_dir() {
            self.word("--ro-bind").path(sys).path(sys);
        }
        let hidden = |mount: &&Mount| mount.state == State::Hidden && mount.path.starts_with(sys);
        shape.plan.mounts.iter().filter(hidden).for_each(|mount| self.mount(mount, shape.void));
    }

    fn mount(&mut self, mount: &Mount, void: &Path) {
        let path = &mount.path;
        match (mount.state, mount.is_dir) {
            (State::Writable, _) => self.word("--bind").path(path).path(path),
            (State::ReadOnly, _) => self.word("--ro-bind").path(path).path(path),
            (State::Hidden, false) => self.word("--ro-bind").path(void).path(path),
            (State::Hidden, true) => {
                let mode = if mount.porous { "0111" } else { "0000" };
                self.word("--perms").word(mode).word("--tmpfs").path(path)
            }
        };
    }
}

/// Variables that would change how `bwrap` itself is loaded: they are for the command alone.
pub(crate) fn is_loader_variable(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b"LD_")
}
