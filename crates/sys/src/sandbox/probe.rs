//! Finds out which backends work here, and why the others do not. Each is tried: kernels, containers and security
//! modules forbid user namespaces in too many ways to query them all.

use super::SandboxBackend;
#[cfg(target_os = "linux")]
use super::{ProcMount, landlock};
use std::path::{Path, PathBuf};

/// The requirements of the caller.
#[derive(Clone, Debug, Default)]
pub struct BackendRequest {
    /// The administrator's `bwrapPath`.
    pub bwrap: Option<PathBuf>,
    /// `enableWeakerNestedSandbox`.
    pub weaker_nested: bool,
    /// Only this backend, by name.
    pub only: Option<String>,
}

/// The backend to use (`None` when no backend works), and why the backends tried before it were rejected.
#[derive(Clone, Debug)]
pub struct DetectedBackend {
    pub backend: Option<SandboxBackend>,
    pub problems: Vec<String>,
}

/// Tries the backends, strongest first. Costs one short process; call it once.
pub fn detect(wanted: &BackendRequest) -> DetectedBackend {
    let mut problems = Vec::new();
    let backend = candidates(wanted, &mut problems);
    DetectedBackend { backend, problems }
}

#[cfg(target_os = "linux")]
fn candidates(wanted: &BackendRequest, problems: &mut Vec<String>) -> Option<SandboxBackend> {
    let tries = |name: &str| wanted.only.as_deref().is_none_or(|only| only == name);
    if tries("bwrap") {
        match bwrap(wanted) {
            Ok(backend) => return Some(backend),
            Err(why) => problems.push(why),
        }
    }
    if tries("landlock") {
        match landlock::version() {
            Some(abi) => return Some(SandboxBackend::Landlock { abi }),
            None => problems.push("landlock: this kernel does not have it, or it is switched off".into()),
        }
    }
    None
}

#[cfg(not(target_os = "linux"))]
fn candidates(_: &BackendRequest, problems: &mut Vec<String>) -> Option<SandboxBackend> {
    if Path::new(super::seatbelt::PROGRAM).exists() {
        return Some(SandboxBackend::Seatbelt);
    }
    problems.push(format!("seatbelt: {} does not exist", super::seatbelt::PROGRAM));
    None
}

#[cfg(target_os = "linux")]
fn bwrap(wanted: &BackendRequest) -> Result<SandboxBackend, String> {
    const PLACES: [&str; 4] =
        ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap"];
    let program = match &wanted.bwrap {
        Some(path) if path.is_absolute() => path.clone(),
        Some(path) => return Err(format!("bwrap: bwrapPath must be absolute, not {}", path.display())),
        None => {
            let found = PLACES.iter().map(PathBuf::from).find(|path| path.is_file());
            found.ok_or("bwrap: not installed (install the package bubblewrap)")?
        }
    };
    let Err(why) = try_bwrap(&program, &["--proc", "/proc"]) else {
        return Ok(SandboxBackend::Bwrap { program, proc: ProcMount::Fresh });
    };
    if wanted.weaker_nested && try_bwrap(&program, &["--ro-bind", "/proc", "/proc"]).is_ok() {
        return Ok(SandboxBackend::Bwrap { program, proc: ProcMount::Shared });
    }
    Err(format!("bwrap: {}{}", why.trim(), hint(&why)))
}

/// A note on the usual reason for a refusal.
#[cfg(target_os = "linux")]
fn hint(why: &str) -> &'static str {
    let restricted = |path: &str, value: &str| std::fs::read_to_string(path).is_ok_and(|text| text.trim() == value);
    if restricted("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
        return " (AppArmor forbids user namespaces to unprivileged programs, as on Ubuntu since 24.04: give bwrap a \
                profile with `userns,`, or set kernel.apparmor_restrict_unprivileged_userns=0)";
    }
    if restricted("/proc/sys/kernel/unprivileged_userns_clone", "0")
        || restricted("/proc/sys/user/max_user_namespaces", "0")
    {
        return " (user namespaces are switched off on this machine)";
    }
    if why.contains("/proc") || Path::new("/.dockerenv").exists() {
        return " (inside a container: sandbox.enableWeakerNestedSandbox may help)";
    }
    ""
}

#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "a short probe at start, before there is a runtime")]
fn try_bwrap(program: &Path, proc: &[&str]) -> Result<(), String> {
    let mut command = std::process::Command::new(program);
    command.args(["--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]);
    command.args(["--cap-drop", "ALL", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev"]).args(proc);
    command.args(["--chdir", "/", "--", "/proc/self/exe", "--version"]).env_clear();
    command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null());
    let done = command.output().map_err(|error| format!("{}: {error}", program.display()))?;
    if done.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&done.stderr).into_owned()) }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named() {
        // SC-F02
        let wanted = BackendRequest {
            bwrap: Some("/nonexistent/bwrap".into()),
            only: Some("bwrap".into()),
            ..BackendRequest::default()
        };
        let found = detect(&wanted);
        assert_eq!(found.backend, None);
        assert!(found.problems[0].contains("/nonexistent/bwrap"), "{:?}", found.problems);
        let relative = detect(&BackendRequest { bwrap: Some("bwrap".into()), ..wanted });
        assert!(relative.problems[0].contains("absolute"));
    }
}
