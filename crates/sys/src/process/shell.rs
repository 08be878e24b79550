//! Starting `sh` without a copy of this process: the standard library does that for programs that are named by their path.

use super::SpawnSpec;
use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Where the `PATH` of the child has the shell; `None` for another program, and when the search must be left to the child.
pub(super) fn located(spec: &SpawnSpec) -> Option<PathBuf> {
    if spec.program != OsStr::new("sh") {
        return None;
    }
    let (_, path) = spec.env.iter().rev().find(|(name, _)| name == OsStr::new("PATH"))?;
    for dir in std::env::split_paths(path) {
        // The child would look in its own directory.
        if !dir.is_absolute() {
            return None;
        }
        let file = dir.join("sh");
        if is_program(&file) {
            return Some(file);
        }
    }
    None
}

fn is_program(file: &Path) -> bool {
    rustix::fs::accessat(CWD, file, Access::EXEC_OK, AtFlags::EACCESS).is_ok() && file.is_file()
}

/// Whether this process has a controlling terminal.
pub(super) fn have_terminal() -> bool {
    rustix::fs::open("/dev/tty", OFlags::RDONLY | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{ChildInput, ChildOutput};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_shell_is_the_first_program_of_the_path() {
        let dir = tempfile::tempdir().unwrap();
        let place = |name: &str, mode: Option<u32>| {
            let dir = dir.path().join(name);
            std::fs::create_dir_all(&dir).unwrap();
            if let Some(mode) = mode {
                std::fs::write(dir.join("sh"), "").unwrap();
                std::fs::set_permissions(dir.join("sh"), std::fs::Permissions::from_mode(mode)).unwrap();
            }
            dir.display().to_string()
        };
        let (empty, data, folder) = (place("empty", None), place("data", Some(0o600)), place("folder/sh", None));
        let (first, second) = (place("first", Some(0o700)), place("second", Some(0o700)));
        let find = |program: &str, path: &[&str]| {
            located(&SpawnSpec {
                program: program.into(),
                args: Vec::new(),
                env: vec![("PATH".into(), "/other".into()), ("PATH".into(), path.join(":").into())],
                cwd: dir.path().to_path_buf(),
                stdin: ChildInput::Null,
                output: ChildOutput::Null,
            })
        };
        let folder = folder.trim_end_matches("/sh");
        assert_eq!(find("sh", &[&empty, &data, folder, &first, &second]), Some(PathBuf::from(&first).join("sh")));
        assert_eq!(find("sh", &[&empty, ".", &first]), None);
        assert_eq!(find("sh", &[&empty]), None);
        assert_eq!(find("bash", &[&first]), None);
    }
}
