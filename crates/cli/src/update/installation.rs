//! An installation on the disk, and how one release replaces another.
//!
//! ```text
//! PREFIX/bin/gimlet                 -> ../lib/gimlet/current/bin/gimlet
//! PREFIX/share/man/man1/gimlet.1    -> the same way, and completions too
//! PREFIX/lib/gimlet/current         -> versions/0.2.0
//! PREFIX/lib/gimlet/versions/0.2.0  one release, whole; its file `replaces` names the one before
//! PREFIX/lib/gimlet/install.json    where releases come from, the pin
//! ```
//!
//! A release is assembled in a staging folder and renamed to its place; one rename of `current` then switches the
//! binary, its manual and its completions. At any moment, also after a kill, `current` leads to a complete release.
//! Going back is the same rename.

use super::archive;
use super::version::ReleaseNumber;
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::Env;

const RECORD: &str = "install.json";
const REPLACES: &str = "replaces";
const STAGING: &str = "staging-";
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
const PROBE_TIMEOUT: Duration = Duration::from_secs(20);
const BINARY: &str = "bin/gimlet";
/// The files of the current release that are linked from the prefix.
const LINKS: &[&str] = &[
    BINARY,
    "share/man/man1/gimlet.1",
    "share/bash-completion/completions/gimlet",
    "share/zsh/site-functions/_gimlet",
    "share/fish/vendor_completions.d/gimlet.fish",
];

/// What an installation records about its releases.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct InstallRecord {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// The release that `update` keeps. `None`: not pinned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pin: Option<String>,
}

/// A prefix (`~/.local`, `/usr/local`) in which gimlet is or will be installed.
pub(super) struct Installation {
    prefix: PathBuf,
    steps: DiskSteps,
}

/// A release in `versions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InstalledRelease {
    /// The name of its folder: the number, followed by `+n` when it was installed again.
    folder: String,
    pub number: ReleaseNumber,
}

impl InstalledRelease {
    fn of_folder(folder: &OsStr) -> Option<Self> {
        let folder = folder.to_str()?;
        let number = folder.split('+').next()?.parse().ok()?;
        Some(Self { folder: folder.to_owned(), number })
    }
}

impl Installation {
    /// The installation that contains `binary`, if it has a record.
    pub(super) fn holding(binary: &Path) -> Option<Self> {
        let release = binary.parent()?.parent()?;
        let home = release.parent().filter(|versions| versions.ends_with("lib/gimlet/versions"))?.parent()?;
        let is_ours = binary.ends_with(BINARY) && home.join(RECORD).is_file();
        is_ours.then(|| home.ancestors().nth(2).map(Self::at)).flatten()
    }

    pub(super) fn at(prefix: &Path) -> Self {
        Self { prefix: prefix.to_path_buf(), steps: DiskSteps::default() }
    }

    /// Lets tests stop the process between two changes of the disk.
    pub(super) fn stopping_as(mut self, env: &Env) -> Self {
        self.steps = DiskSteps::of(env);
        self
    }

    fn home(&self) -> PathBuf {
        self.prefix.join("lib/gimlet")
    }

    pub(super) fn binary(&self) -> PathBuf {
        self.prefix.join(BINARY)
    }

    pub(super) fn record(&self) -> Result<InstallRecord, String> {
        let path = self.home().join(RECORD);
        match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|why| {
                format!(
                    "Error: {} cannot be read ({why}); correct it, or run `gimlet install --force` again",
                    path.display()
                )
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(InstallRecord::default()),
            Err(error) => Err(failed("read", &path, &error)),
        }
    }

    pub(super) fn write_record(&self, record: &InstallRecord) -> Result<(), String> {
        let path = self.home().join(RECORD);
        let text = serde_json::to_string_pretty(record).map_err(|error| format!("Error: {error}"))?;
        self.steps.next();
        sys::fs::atomic_write_with(&path, format!("{text}\n").as_bytes(), 0o644, sys::fs::Durability::Disk)
            .map_err(|error| failed("write", &path, &error))
    }

    /// Creates the folders, locks out other installers, and removes what a killed one left behind.
    pub(super) fn open(&self) -> Result<sys::fs::FileLock, String> {
        let home = self.home();
        std::fs::create_dir_all(home.join("versions")).map_err(|error| failed("make", &home, &error))?;
        let lock = sys::fs::lock(&home.join("lock"), LOCK_TIMEOUT).map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => {
                "Error: another `gimlet update` or `gimlet install` is running; try again when it is done".to_owned()
            }
            _ => failed("lock", &home, &error),
        })?;
        for name in names(&home) {
            if name.to_string_lossy().starts_with(STAGING) {
                std::fs::remove_dir_all(home.join(name)).ok();
            }
        }
        remove_stale_links(&home, &home.join("current"));
        Ok(lock)
    }

    /// The release that starts as `gimlet`. `None`: nothing is installed here.
    pub(super) fn current(&self) -> Option<InstalledRelease> {
        InstalledRelease::of_folder(std::fs::read_link(self.home().join("current")).ok()?.file_name()?)
    }

    /// The release that the current one replaced. `None`: there is none, or it was removed.
    pub(super) fn before(&self, current: &InstalledRelease) -> Option<InstalledRelease> {
        let note = std::fs::read_to_string(self.release(current).join(REPLACES)).ok()?;
        let before = InstalledRelease::of_folder(OsStr::new(note.trim()))?;
        self.release(&before).join(BINARY).is_file().then_some(before)
    }

    fn release(&self, installed: &InstalledRelease) -> PathBuf {
        self.home().join("versions").join(&installed.folder)
    }

    /// Creates a folder on the same disk as the releases. The next `open` removes it if it is left behind.
    pub(super) fn staging(&self) -> Result<PathBuf, String> {
        let path = self.home().join(format!("{STAGING}{}", sys::id::base36(8)));
        std::fs::create_dir(&path).map_err(|error| failed("make", &path, &error))?;
        Ok(path)
    }

    /// Unpacks a verified archive, tries its binary, and moves the release to its place.
    pub(super) fn add(
        &self,
        archive: &Path,
        staging: &Path,
        number: &ReleaseNumber,
        env: &Env,
    ) -> Result<InstalledRelease, String> {
        let tree = staging.join("tree");
        self.steps.next();
        let file = File::open(archive).map_err(|error| failed("open", archive, &error))?;
        archive::unpack(io::BufReader::new(file), &tree).map_err(|error| failed("unpack", archive, &error))?;
        probe(&tree.join(BINARY), number, env)?;
        if let Some(before) = self.way_back_from(number) {
            let note = tree.join(REPLACES);
            std::fs::write(&note, format!("{}\n", before.folder)).map_err(|error| failed("write", &note, &error))?;
        }
        let added = self.free_name(number);
        self.steps.next();
        let place = self.release(&added);
        std::fs::rename(&tree, &place).map_err(|error| failed("make", &place, &error))?;
        self.steps.next();
        sync(&self.home().join("versions"));
        Ok(added)
    }

    /// The release that a rollback from `number` leads to. A repair of the current release keeps the release before it: the
    /// copy that needed the repair is no way back.
    fn way_back_from(&self, number: &ReleaseNumber) -> Option<InstalledRelease> {
        let current = self.current()?;
        if current.number == *number { self.before(&current) } else { Some(current) }
    }

    /// The release number as folder name, or with a suffix when that folder exists.
    fn free_name(&self, number: &ReleaseNumber) -> InstalledRelease {
        let plain = InstalledRelease { folder: number.to_string(), number: number.clone() };
        let again = (1..).map(|n| InstalledRelease { folder: format!("{number}+{n}"), number: number.clone() });
        std::iter::once(plain.clone()).chain(again).find(|name| !self.release(name).exists()).unwrap_or(plain)
    }

    /// Makes `to` the current release, in one step.
    pub(super) fn switch(&self, to: &InstalledRelease) -> Result<(), String> {
        let link = self.home().join("current");
        self.replace_link(&link, &Path::new("versions").join(&to.folder))
    }

    /// Tries the binary of a release that is already installed.
    pub(super) fn probe(&self, installed: &InstalledRelease, env: &Env) -> Result<(), String> {
        probe(&self.release(installed).join(BINARY), &installed.number, env)
    }

    /// The path of the binary when something is there that no installer created.
    pub(super) fn foreign_binary(&self) -> Option<PathBuf> {
        let path = self.binary();
        let is_foreign = path.symlink_metadata().is_ok() && std::fs::read_link(&path).ok() != Some(target_of(BINARY));
        is_foreign.then_some(path)
    }

    /// Links the current release into the prefix. Existing files of others are kept, except the binary.
    pub(super) fn link(&self) -> Result<(), String> {
        let current = self.home().join("current");
        for path in LINKS.iter().filter(|path| current.join(path).is_file()) {
            let link = self.prefix.join(path);
            let found = std::fs::read_link(&link).ok();
            let is_taken = link.symlink_metadata().is_ok() && found.is_none() && *path != BINARY;
            if found == Some(target_of(path)) || is_taken {
                continue;
            }
            let folder = link.parent().unwrap_or(&self.prefix);
            std::fs::create_dir_all(folder).map_err(|error| failed("make", folder, &error))?;
            self.replace_link(&link, &target_of(path))?;
        }
        Ok(())
    }

    fn replace_link(&self, link: &Path, target: &Path) -> Result<(), String> {
        let next = link.with_extension(format!("{}.next", sys::id::base36(6)));
        self.steps.next();
        symlink(target, &next).map_err(|error| failed("write", &next, &error))?;
        self.steps.next();
        std::fs::rename(&next, link).map_err(|error| {
            std::fs::remove_file(&next).ok();
            failed("replace", link, &error)
        })?;
        self.steps.next();
        if let Some(folder) = link.parent() {
            sync(folder);
            remove_stale_links(folder, link);
        }
        Ok(())
    }

    /// Removes all releases except the current one and the one before it. Sessions that run a removed one continue.
    pub(super) fn prune(&self) {
        // On other systems a running session starts its helpers by path.
        if !cfg!(target_os = "linux") {
            return;
        }
        let Some(current) = self.current() else { return };
        let before = self.before(&current);
        let versions = self.home().join("versions");
        for folder in names(&versions).iter().filter_map(|name| InstalledRelease::of_folder(name)) {
            if folder == current || Some(&folder) == before.as_ref() {
                continue;
            }
            // Renamed first: a release in `versions` must always be complete.
            let aside = self.home().join(format!("{STAGING}{}", sys::id::base36(8)));
            self.steps.next();
            if std::fs::rename(self.release(&folder), &aside).is_ok() {
                self.steps.next();
                std::fs::remove_dir_all(&aside).ok();
            }
        }
    }
}

/// The target of a link in the prefix.
fn target_of(path: &str) -> PathBuf {
    let up = "../".repeat(path.matches('/').count());
    PathBuf::from(format!("{up}lib/gimlet/current/{path}"))
}

/// Removes links that a killed installer created and did not rename.
fn remove_stale_links(folder: &Path, link: &Path) {
    let Some(stem) = link.file_stem() else { return };
    for name in names(folder) {
        let path = folder.join(&name);
        let is_stale = path.extension() == Some(OsStr::new("next"))
            && name.to_string_lossy().starts_with(&*stem.to_string_lossy());
        if is_stale && std::fs::read_link(&path).is_ok() {
            std::fs::remove_file(path).ok();
        }
    }
}

fn names(folder: &Path) -> Vec<std::ffi::OsString> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect()
}

/// Checks that a release starts on this machine and reports the expected number.
fn probe(binary: &Path, number: &ReleaseNumber, env: &Env) -> Result<(), String> {
    let env = env.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let once = sys::process::BoundedCommand {
        program: binary,
        args: &["--version"],
        input: b"",
        env,
        time: PROBE_TIMEOUT,
        bytes: 4096,
    };
    let output = once.run().map_err(|error| {
        format!("Error: the binary of gimlet {number} does not run on this machine ({error}). Nothing was changed")
    })?;
    let line = String::from_utf8_lossy(&output);
    if line.trim_end().ends_with(&format!("(gimlet {number})")) {
        return Ok(());
    }
    Err(format!(
        "Error: the archive of gimlet {number} holds another program: it says `{}`. Nothing was changed",
        line.trim()
    ))
}

/// Makes the change survive a power cut. A file system that cannot sync a folder is accepted.
fn sync(folder: &Path) {
    File::open(folder).and_then(|folder| folder.sync_all()).ok();
}

pub(super) fn failed(what: &str, path: &Path, error: &io::Error) -> String {
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "; run it as the user who owns the installation (sudo for /usr/local), or use --prefix"
        }
        io::ErrorKind::StorageFull => "; make room on that disk",
        _ => "",
    };
    format!("Error: could not {what} {}: {error}{hint}", path.display())
}

/// Counts the changes of the disk. Test builds can stop the process before the nth change.
#[derive(Default)]
struct DiskSteps {
    stop_before: Option<u32>,
    passed: Cell<u32>,
}

impl DiskSteps {
    fn of(env: &Env) -> Self {
        let stop_before = if cfg!(debug_assertions) { env.number("GIMLET_TEST_STOP_BEFORE") } else { None };
        Self { stop_before, passed: Cell::new(0) }
    }

    fn next(&self) {
        self.passed.set(self.passed.get() + 1);
        if self.stop_before != Some(self.passed.get()) {
            return;
        }
        let mut stdout = io::stdout();
        writeln!(stdout, "stopped before step {}", self.passed.get()).and_then(|()| stdout.flush()).ok();
        loop {
            std::thread::park();
        }
    }
}
