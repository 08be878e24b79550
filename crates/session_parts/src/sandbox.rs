//! What the sandbox of this session allows, computed from settings and permission rules for every command, because
//! files come and go. Grants are fixed when the session starts; denials may be added while it runs.
//!
//! When no backend works on this machine, commands run without a sandbox, with the ordinary permission questions, and
//! the user is informed.

mod expand;
mod hosts;
mod lists;
mod paths;

use config::ProjectConfig;
use hosts::HostFilter;
use http::filter::{ExternalProxies, HostJudge};
use lists::SandboxLists;
use paths::SandboxRoots;
use permission::CommandConfinement;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sys::Env;
use sys::sandbox::{
    BackendRequest, DetectedBackend, FileConfinement, SandboxBackend, SandboxProfile, UnixSockets, detect,
};
use tools::sandbox::{CommandSandbox, SandboxEscape};
use wire::mode::PermissionMode;
use wire::settings::{RuleText, SandboxSettings};

/// The directories and environment of a session.
#[derive(Clone, Debug)]
pub struct SandboxInputs {
    /// Where it was started, regardless of the shell's current directory.
    pub cwd: PathBuf,
    pub additional: Vec<PathBuf>,
    /// With the variables of the settings.
    pub env: Env,
    /// The environment of the process: settings must not choose a weaker sandbox.
    pub base_env: Env,
    /// A private directory of this session.
    pub scratch: PathBuf,
}

/// The sandbox as configured, and what this machine supports.
pub struct SessionSandbox {
    settings: SandboxSettings,
    lists: SandboxLists,
    detected: DetectedBackend,
    inputs: SandboxInputs,
    roots: SandboxRoots,
    scratch: Arc<ScratchDir>,
}

/// Private files of this session, removed when the last user is dropped.
struct ScratchDir(PathBuf);

/// Where one command runs.
pub enum CommandPlacement {
    /// As if there were no sandbox.
    Outside(CommandConfinement),
    Inside,
}

/// A sandbox for one command.
pub struct PreparedSandbox {
    pub sandbox: CommandSandbox,
    /// Whether it enforces everything it should; otherwise it does not replace a permission question.
    pub complete: bool,
    pub warnings: Vec<String>,
}

impl SessionSandbox {
    /// `None` when the sandbox is off.
    pub fn open(loaded: &ProjectConfig, inputs: SandboxInputs) -> Option<Self> {
        (loaded.settings.sandbox.enabled == Some(true)).then(|| Self::always_on(loaded, inputs))
    }

    /// As if the settings had switched it on.
    pub fn always_on(loaded: &ProjectConfig, inputs: SandboxInputs) -> Self {
        let settings = loaded.settings.sandbox.clone();
        let wanted = BackendRequest {
            bwrap: settings.bwrap_path.as_ref().map(PathBuf::from),
            weaker_nested: settings.enable_weaker_nested_sandbox == Some(true),
            only: inputs.base_env.non_empty("GIMLET_SANDBOX_BACKEND").map(str::to_owned),
        };
        let roots = SandboxRoots::new(&inputs);
        let scratch = Arc::new(ScratchDir(inputs.scratch.clone()));
        Self { lists: SandboxLists::read(loaded, &roots), detected: detect(&wanted), settings, inputs, roots, scratch }
    }

    pub fn backend(&self) -> Option<&SandboxBackend> {
        self.detected.backend.as_ref()
    }

    /// Why the preferred backends do not work here.
    pub fn problems(&self) -> &[String] {
        &self.detected.problems
    }

    /// What commands may write and reach, as settings say it; `None` when no backend works here.
    pub fn describe(&self) -> Option<String> {
        const MAX_SHOWN: usize = 8;
        self.backend()?;
        let shown = |all: Vec<String>| match all.len().checked_sub(MAX_SHOWN).filter(|more| *more > 0) {
            Some(more) => format!("{} and {more} more", all[..MAX_SHOWN].join(", ")),
            None => all.join(", "),
        };
        let files = if self.settings.filesystem.disabled == Some(true) && !self.scrubs_env() {
            "files are not confined".to_owned()
        } else {
            let mut roots = self.roots.writable();
            roots.extend(self.lists.allow_write.iter().map(paths::SandboxPath::text));
            roots.dedup();
            format!("writes below {} and $TMPDIR only", shown(roots))
        };
        let network = match self.lists.allowed_domains.as_slice() {
            [] => "no network".to_owned(),
            hosts => format!("network to {} only", shown(hosts.to_vec())),
        };
        Some(format!("{files}; {network}"))
    }

    pub fn is_required(&self) -> bool {
        self.settings.fail_if_unavailable == Some(true)
    }

    /// The message for a machine without a working backend; `None` when one works.
    pub fn unavailable(&self) -> Option<String> {
        self.backend().is_none().then(|| {
            format!("The sandbox is switched on but cannot be applied here: {}.", self.detected.problems.join("; "))
        })
    }

    /// Whether commands in the sandbox run without a question.
    pub fn allows_without_asking(&self) -> bool {
        self.settings.auto_allow_bash_if_sandboxed != Some(false) && !self.scrubs_env()
    }

    fn scrubs_env(&self) -> bool {
        self.inputs.env.is_on("CLAUDE_CODE_SUBPROCESS_ENV_SCRUB")
    }

    fn escape(&self) -> SandboxEscape {
        if self.settings.allow_unsandboxed_commands == Some(false) {
            SandboxEscape::Forbidden
        } else {
            SandboxEscape::Offered
        }
    }

    /// Where `command` runs; `escaping` when it asked to run outside.
    pub fn placement(&self, command: &str, escaping: bool) -> CommandPlacement {
        if self.backend().is_none() {
            return CommandPlacement::Outside(CommandConfinement::Not);
        }
        if escaping && self.escape() == SandboxEscape::Offered {
            return CommandPlacement::Outside(CommandConfinement::Escaping);
        }
        if permission::is_excluded(command, &self.settings.excluded_commands) {
            return CommandPlacement::Outside(CommandConfinement::Not);
        }
        CommandPlacement::Inside
    }

    /// How the permission decision treats a command that runs in `made`.
    pub fn confinement(&self, made: &PreparedSandbox) -> CommandConfinement {
        if made.complete && self.allows_without_asking() {
            CommandConfinement::Sandboxed
        } else {
            CommandConfinement::Not
        }
    }

    /// Adds the denials of changed settings and drops grants that they no longer contain.
    #[must_use]
    pub fn tightened(&self, loaded: &ProjectConfig) -> Self {
        let mut lists = self.lists.clone();
        lists.tighten(SandboxLists::read(loaded, &self.roots));
        Self {
            lists,
            settings: self.settings.clone(),
            detected: self.detected.clone(),
            inputs: self.inputs.clone(),
            roots: self.roots.clone(),
            scratch: Arc::clone(&self.scratch),
        }
    }

    /// The same sandbox for another checkout.
    #[must_use]
    pub fn for_checkout(&self, loaded: &ProjectConfig, cwd: &Path) -> Self {
        let inputs = SandboxInputs { cwd: cwd.to_path_buf(), ..self.inputs.clone() };
        let roots = SandboxRoots::new(&inputs);
        let mut lists = SandboxLists::read(loaded, &roots);
        lists.tighten(self.lists.clone());
        Self {
            lists,
            settings: self.settings.clone(),
            detected: self.detected.clone(),
            inputs,
            roots,
            scratch: Arc::clone(&self.scratch),
        }
    }

    /// The sandbox for the next command. Reads the file system; blocking.
    pub fn prepare(&self, rules: &[RuleText], mode: PermissionMode) -> io::Result<PreparedSandbox> {
        let Some(backend) = self.detected.backend.clone() else {
            return Err(io::Error::other("the sandbox cannot be applied here"));
        };
        let temp = self.scratch.0.join("tmp");
        let private = self.scratch.0.join("cage");
        for dir in [&temp, &private] {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        }
        let temp = sys::real_path::path(&temp);
        let mut lists = self.lists.clone();
        lists.add_rules(rules, &self.roots);
        let confined = paths::file_rules(&lists, &self.roots, &temp);
        let free = self.settings.filesystem.disabled == Some(true) && !self.scrubs_env();
        let profile = SandboxProfile {
            files: if free { FileConfinement::Free } else { FileConfinement::Confined(confined.rules) },
            removed_if_made: if free { Vec::new() } else { confined.never },
            own_data: self.roots.own_data(),
            unix_sockets: match self.settings.network.allow_all_unix_sockets {
                Some(true) => UnixSockets::Allowed,
                Some(false) | None => UnixSockets::Blocked,
            },
            private: sys::real_path::path(&private),
        };
        let mut warnings = lists.warnings.clone();
        let open = backend.leaves_open(&profile);
        warnings.extend(open.iter().map(|path| format!("{} stays open with {}", path.display(), backend.name())));
        warnings.extend(confined.warning);
        let complete = open.is_empty() && confined.complete;
        let hosts: Arc<dyn HostJudge> = Arc::new(self.hosts(&lists, mode));
        let port = |port: Option<u32>| port.and_then(|port| u16::try_from(port).ok());
        let sandbox = CommandSandbox {
            hosts,
            external: ExternalProxies {
                http: port(self.settings.network.http_proxy_port),
                socks: port(self.settings.network.socks_proxy_port),
            },
            temp: (!free).then_some(temp),
            unset: lists.unset.clone(),
            env: self.inputs.env.clone(),
            ignored: self.settings.ignore_violations.clone().into_iter().collect(),
            escape: self.escape(),
            backend,
            profile,
        };
        Ok(PreparedSandbox { sandbox, complete, warnings })
    }

    fn hosts(&self, lists: &SandboxLists, mode: PermissionMode) -> HostFilter {
        let strict = self.settings.network.strict_allowlist == Some(true)
            || self.settings.network.allow_managed_domains_only == Some(true);
        HostFilter::new(
            &lists.allowed_domains,
            &lists.denied_domains,
            mode == PermissionMode::BypassPermissions && !strict,
        )
    }

    /// The allowed and the denied hosts, as written.
    pub fn domains(&self, rules: &[RuleText]) -> (Vec<String>, Vec<String>) {
        let mut lists = self.lists.clone();
        lists.add_rules(rules, &self.roots);
        (lists.allowed_domains, lists.denied_domains)
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        let scratch: &Path = &self.0;
        // Files that a command was not allowed to create are kept for inspection.
        if !scratch.join("cage/set-aside").exists() {
            std::fs::remove_dir_all(scratch.join("cage")).ok();
        }
        std::fs::remove_dir_all(scratch.join("tmp")).ok();
        std::fs::remove_dir(scratch).ok();
    }
}

/// The command of a Bash call, and whether it asks to run outside of the sandbox.
pub fn bash_input(json: &str) -> Option<(String, bool)> {
    let input: serde_json::Value = serde_json::from_str(json).ok()?;
    let command = input.get("command")?.as_str()?.to_owned();
    let escaping = match input.get("dangerouslyDisableSandbox") {
        Some(serde_json::Value::Bool(on)) => *on,
        Some(serde_json::Value::String(text)) => text.eq_ignore_ascii_case("true"),
        _ => false,
    };
    Some((command, escaping))
}

#[cfg(test)]
#[path = "sandbox/sandbox_tests.rs"]
mod tests;
