//! Turns the lists into file rules: resolves paths, expands wildcards, hides credentials, and protects files that
//! could later run outside the sandbox in every writable directory.

use super::SandboxInputs;
use super::expand;
use super::lists::SandboxLists;
use config::state::{config_home, state_file};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use sys::sandbox::{RuleEffect, SandboxRule};
use wire::settings::RuleBehaviour;

/// A path or pattern as written in settings or rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SandboxPath {
    Path(PathBuf),
    Glob { base: PathBuf, pattern: String, text: String },
}

impl SandboxPath {
    pub(super) fn text(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Glob { text, .. } => text.clone(),
        }
    }
}

/// The directories that paths are resolved against. Resolved.
#[derive(Clone, Debug)]
pub(super) struct SandboxRoots {
    cwd: PathBuf,
    roots: Vec<PathBuf>,
    home: Option<PathBuf>,
    config_home: Option<PathBuf>,
    state_file: Option<PathBuf>,
}

/// The file rules for one command.
pub(super) struct SandboxFileRules {
    pub(super) rules: Vec<SandboxRule>,
    pub(super) never: Vec<PathBuf>,
    pub(super) complete: bool,
    pub(super) warning: Option<String>,
}

impl SandboxRoots {
    pub(super) fn new(inputs: &SandboxInputs) -> Self {
        let real = |path: PathBuf| sys::real_path::path(&path);
        let cwd = sys::real_path::path(&inputs.cwd);
        let mut roots = vec![cwd.clone()];
        roots.extend(inputs.additional.iter().map(|dir| sys::real_path::path(dir)).filter(|dir| *dir != cwd));
        Self {
            cwd,
            roots,
            home: inputs.env.home().map(real),
            config_home: config_home(&inputs.base_env).map(real),
            state_file: state_file(&inputs.base_env).map(real),
        }
    }

    /// The working directories, in which commands may write.
    pub(super) fn writable(&self) -> Vec<String> {
        self.roots.iter().map(|dir| dir.display().to_string()).collect()
    }

    /// What gimlet itself writes while commands run.
    pub(super) fn own_data(&self) -> Vec<PathBuf> {
        self.config_home.iter().chain(&self.state_file).cloned().collect()
    }

    /// Resolves a path of the `sandbox` settings: `/x` is absolute, `x` is relative to the root of the settings file.
    pub(super) fn resolve_setting(&self, text: &str, root: &Path) -> Option<SandboxPath> {
        let body = if text.starts_with("//") { &text[1..] } else { text };
        let body = trimmed(body);
        let path = match body.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                PathBuf::from(format!("{}{rest}", self.home.as_ref()?.display()))
            }
            _ => root.join(body),
        };
        Some(sandbox_path(&path, text))
    }

    /// Resolves a path of a permission rule: `//x` is absolute, `/x` is relative to the root of the settings file, a
    /// bare name in a deny rule matches anywhere.
    pub(super) fn resolve_rule(&self, spec: &str, root: &Path, behaviour: RuleBehaviour) -> Option<SandboxPath> {
        let body = trimmed(spec);
        if body.starts_with("//") || body == "~" || body.starts_with("~/") {
            return self.resolve_setting(spec, root);
        }
        if let Some(rest) = body.strip_prefix('/') {
            return Some(sandbox_path(&root.join(rest), spec));
        }
        let body = body.strip_prefix("./").unwrap_or(body);
        let anywhere = !body.contains('/') && behaviour == RuleBehaviour::Deny && !spec.starts_with("./");
        let relative = if anywhere { PathBuf::from("**").join(body) } else { PathBuf::from(body) };
        Some(sandbox_path(&self.cwd.join(relative), spec))
    }
}

/// Removes trailing `/` and `/**`.
fn trimmed(text: &str) -> &str {
    let mut text = text.trim();
    loop {
        let shorter = text.strip_suffix("/**").or_else(|| text.strip_suffix('/').filter(|rest| !rest.is_empty()));
        match shorter {
            Some(shorter) if !shorter.is_empty() => text = shorter,
            _ => return text,
        }
    }
}

fn sandbox_path(path: &Path, text: &str) -> SandboxPath {
    let wild = |part: &Component<'_>| part.as_os_str().to_string_lossy().contains(['*', '?', '[', '{']);
    let parts: Vec<Component<'_>> = path.components().collect();
    let Some(at) = parts.iter().position(wild) else { return SandboxPath::Path(sys::real_path::path(path)) };
    let base: PathBuf = parts[..at].iter().collect();
    let pattern: PathBuf = parts[at..].iter().collect();
    SandboxPath::Glob {
        base: sys::real_path::path(&base),
        pattern: pattern.to_string_lossy().into_owned(),
        text: text.to_owned(),
    }
}

/// The rules for the next command.
pub(super) fn file_rules(lists: &SandboxLists, roots: &SandboxRoots, temp: &Path) -> SandboxFileRules {
    let mut out = SandboxFileRules { rules: Vec::new(), never: Vec::new(), complete: true, warning: None };
    let literal = |paths: &[SandboxPath], effect: RuleEffect| -> Vec<SandboxRule> {
        let path = |listed: &SandboxPath| match listed {
            SandboxPath::Path(path) => Some(SandboxRule::new(effect, path)),
            SandboxPath::Glob { .. } => None,
        };
        paths.iter().filter_map(path).collect()
    };
    out.rules.extend(roots.roots.iter().map(|root| SandboxRule::new(RuleEffect::AllowWrite, root)));
    out.rules.push(SandboxRule::new(RuleEffect::AllowWrite, temp));
    out.rules.extend(literal(&lists.allow_write, RuleEffect::AllowWrite));
    out.rules.extend(literal(&lists.deny_write, RuleEffect::DenyWrite));
    out.rules.extend(literal(&lists.deny_read, RuleEffect::DenyRead));
    out.rules.extend(literal(&lists.allow_read, RuleEffect::AllowRead));
    expand_globs(lists, roots, &mut out);
    hide_home(lists, roots, &mut out);
    protect(roots, &mut out);
    sys::compact_sort::sort_by(&mut out.rules, |a, b| a.path.cmp(&b.path).then(a.effect.cmp(&b.effect)));
    out.rules.dedup();
    out
}

fn is_read_allowed(lists: &SandboxLists, path: &Path) -> bool {
    lists.allow_read.iter().any(|listed| matches!(listed, SandboxPath::Path(open) if path.starts_with(open)))
}

/// Expands denials with wildcards, and finds credential files in the directories that the command may write.
fn expand_globs(lists: &SandboxLists, roots: &SandboxRoots, out: &mut SandboxFileRules) {
    let mut walks: BTreeMap<(PathBuf, bool), Vec<String>> = BTreeMap::new();
    for (paths, reading) in [(&lists.deny_read, true), (&lists.deny_write, false)] {
        for listed in paths {
            if let SandboxPath::Glob { base, pattern, .. } = listed {
                walks.entry((base.clone(), reading)).or_default().push(pattern.clone());
            }
        }
    }
    for root in &roots.roots {
        walks.entry((root.clone(), true)).or_default();
    }
    for ((base, reading), patterns) in walks {
        let globs: Vec<_> = patterns.iter().filter_map(|pattern| expand::compile(pattern)).collect();
        let secrets = reading && roots.roots.contains(&base);
        let named = |path: &Path| secrets && is_workspace_secret(path) && !is_read_allowed(lists, path);
        let found = expand::find_below(&base, &globs, &named);
        let effect = if reading { RuleEffect::DenyRead } else { RuleEffect::DenyWrite };
        out.rules.extend(found.paths.iter().map(|path| SandboxRule::new(effect, sys::real_path::path(path))));
        if !found.complete {
            out.complete = false;
            out.warning = Some(format!("{} is too large to look for every denied file in it", base.display()));
        }
    }
}

/// Credentials that no build needs. Certificates and keys of tests, and project files of package managers, are not
/// hidden.
fn is_workspace_secret(path: &Path) -> bool {
    const PACKAGE_CONFIGS: [&str; 3] = [".npmrc", ".pypirc", ".envrc"];
    const KEY_EXTENSIONS: [&str; 9] = ["pem", "key", "p12", "pfx", "p8", "jks", "keystore", "ppk", "kdbx"];
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let key = name.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && KEY_EXTENSIONS.contains(&end));
    !key && !PACKAGE_CONFIGS.contains(&name.as_str()) && permission::is_secret(path)
}

/// Hides existing credential files in the user's home directory.
fn hide_home(lists: &SandboxLists, roots: &SandboxRoots, out: &mut SandboxFileRules) {
    let Some(home) = &roots.home else { return };
    let mut places = vec![home.clone()];
    places.extend([".config", ".config/gh", ".docker", ".cargo", ".gem", ".local/share"].map(|dir| home.join(dir)));
    places.extend(roots.config_home.clone());
    let entries = places.iter().filter_map(|dir| std::fs::read_dir(dir).ok()).flatten().filter_map(Result::ok);
    let secrets = entries.map(|entry| entry.path()).filter(|path| permission::is_secret(path));
    let all = secrets.chain(roots.state_file.clone()).map(|path| sys::real_path::path(&path));
    let hidden = all.filter(|path| path.exists() && !is_read_allowed(lists, path));
    out.rules.extend(hidden.map(|path| SandboxRule::new(RuleEffect::DenyRead, path)));
}

const STARTUP_FILES: [&str; 11] = [
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".zshenv",
    ".zlogin",
    ".gitconfig",
];
const PROTECTED_CONFIGS: [&str; 9] = [
    "settings.json",
    "settings.local.json",
    "skills",
    "agents",
    "commands",
    "hooks",
    "workflows",
    "scheduled_tasks.json",
    "plugins",
];

fn protect(roots: &SandboxRoots, out: &mut SandboxFileRules) {
    for root in &roots.roots {
        for name in STARTUP_FILES.iter().chain(&[".vscode", ".idea"]) {
            protect_path(out, &root.join(name));
        }
        protect_repository(root, out);
        for place in root.ancestors() {
            protect_path(out, &place.join(".mcp.json"));
            for name in PROTECTED_CONFIGS {
                protect_path(out, &place.join(".claude").join(name));
            }
        }
    }
    for own in roots.own_data() {
        protect_path(out, &own);
    }
}

/// Protects the path and, if it is a link, its target.
fn protect_path(out: &mut SandboxFileRules, path: &Path) {
    out.rules.push(SandboxRule::new(RuleEffect::Protect, path));
    let real = sys::real_path::path(path);
    if real != path {
        out.rules.push(SandboxRule::new(RuleEffect::Protect, real));
    }
}

/// Protects what git would later run or follow: hooks, configuration, and files that redirect it.
fn protect_repository(root: &Path, out: &mut SandboxFileRules) {
    let dot_git = root.join(".git");
    let Ok(meta) = dot_git.symlink_metadata() else {
        // Prevents creating a repository or a bare one here.
        protect_path(out, &dot_git);
        protect_path(out, &root.join("HEAD"));
        if let Some(above) = sys::git::root(root).map(|top| top.join(".git")).filter(|dir| dir.is_dir()) {
            out.rules.push(SandboxRule::new(RuleEffect::AllowWrite, &above));
            protect_git_dir(&above, out);
        }
        return;
    };
    if meta.is_dir() {
        protect_git_dir(&dot_git, out);
        return;
    }
    protect_path(out, &dot_git);
    let Some(main) = sys::git::main_checkout(root).map(|main| main.join(".git")) else { return };
    out.rules.push(SandboxRule::new(RuleEffect::AllowWrite, &main));
    protect_git_dir(&main, out);
    let entry = sys::fs::read_text(&dot_git, sys::git::LINK_BYTES).ok();
    if let Some(own) = entry.as_deref().and_then(|text| text.trim().strip_prefix("gitdir: ")) {
        let own = sys::real_path::path(&root.join(own));
        for name in ["commondir", "gitdir"] {
            protect_path(out, &own.join(name));
        }
        out.never.push(own.join("config.worktree"));
    }
}

fn protect_git_dir(dir: &Path, out: &mut SandboxFileRules) {
    for name in ["hooks", "config", "modules"] {
        protect_path(out, &dir.join(name));
    }
    // An empty placeholder would confuse git, so these are removed if a command creates them.
    out.never.extend(["commondir", "config.worktree"].map(|name| dir.join(name)));
}
