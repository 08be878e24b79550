//! From lists to file rules: spellings resolved, wildcards expanded, credentials hidden, and what could run later outside
//! protected in every directory that may be written.

use super::Grounds;
use super::expand;
use super::lists::Lists;
use config::state::{config_home, state_file};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use sys::sandbox::{Effect, Rule};
use wire::settings::Behaviour;

/// A place as somebody wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Spot {
    Path(PathBuf),
    Glob { base: PathBuf, pattern: String, text: String },
}

/// The directories spellings refer to. Resolved.
#[derive(Clone, Debug)]
pub(super) struct Ground {
    cwd: PathBuf,
    roots: Vec<PathBuf>,
    home: Option<PathBuf>,
    config_home: Option<PathBuf>,
    state_file: Option<PathBuf>,
}

/// What one command is held to.
pub(super) struct Confined {
    pub(super) rules: Vec<Rule>,
    pub(super) never: Vec<PathBuf>,
    pub(super) complete: bool,
    pub(super) warning: Option<String>,
}

impl Ground {
    pub(super) fn new(grounds: &Grounds) -> Self {
        let real = |path: PathBuf| sys::real::path(&path);
        let cwd = sys::real::path(&grounds.cwd);
        let mut roots = vec![cwd.clone()];
        roots.extend(grounds.additional.iter().map(|dir| sys::real::path(dir)).filter(|dir| *dir != cwd));
        Self {
            cwd,
            roots,
            home: grounds.env.home().map(real),
            config_home: config_home(&grounds.base_env).map(real),
            state_file: state_file(&grounds.base_env).map(real),
        }
    }

    /// A path of the `sandbox` settings: `/x` is absolute, `x` is relative to where the file stands.
    pub(super) fn setting(&self, text: &str, root: &Path) -> Option<Spot> {
        let body = if text.starts_with("//") { &text[1..] } else { text };
        let body = trimmed(body);
        let path = match body.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                PathBuf::from(format!("{}{rest}", self.home.as_ref()?.display()))
            }
            _ => root.join(body),
        };
        Some(spot(&path, text))
    }

    /// A path of a permission rule: `//x` is absolute, `/x` is relative to where the file stands, a bare name is anywhere.
    pub(super) fn rule(&self, spec: &str, root: &Path, behaviour: Behaviour) -> Option<Spot> {
        let body = trimmed(spec);
        if body.starts_with("//") || body == "~" || body.starts_with("~/") {
            return self.setting(spec, root);
        }
        if let Some(rest) = body.strip_prefix('/') {
            return Some(spot(&root.join(rest), spec));
        }
        let body = body.strip_prefix("./").unwrap_or(body);
        let anywhere = !body.contains('/') && behaviour == Behaviour::Deny && !spec.starts_with("./");
        let relative = if anywhere { PathBuf::from("**").join(body) } else { PathBuf::from(body) };
        Some(spot(&self.cwd.join(relative), spec))
    }
}

/// Without the endings that mean nothing.
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

fn spot(path: &Path, text: &str) -> Spot {
    let wild = |part: &Component<'_>| part.as_os_str().to_string_lossy().contains(['*', '?', '[', '{']);
    let parts: Vec<Component<'_>> = path.components().collect();
    let Some(at) = parts.iter().position(wild) else { return Spot::Path(sys::real::path(path)) };
    let base: PathBuf = parts[..at].iter().collect();
    let pattern: PathBuf = parts[at..].iter().collect();
    Spot::Glob { base: sys::real::path(&base), pattern: pattern.to_string_lossy().into_owned(), text: text.to_owned() }
}

/// The rules for the next command.
pub(super) fn confine(lists: &Lists, ground: &Ground, temp: &Path) -> Confined {
    let mut out = Confined { rules: Vec::new(), never: Vec::new(), complete: true, warning: None };
    let literal = |spots: &[Spot], effect: Effect| -> Vec<Rule> {
        let path = |spot: &Spot| match spot {
            Spot::Path(path) => Some(Rule::new(effect, path)),
            Spot::Glob { .. } => None,
        };
        spots.iter().filter_map(path).collect()
    };
    out.rules.extend(ground.roots.iter().map(|root| Rule::new(Effect::AllowWrite, root)));
    out.rules.push(Rule::new(Effect::AllowWrite, temp));
    out.rules.extend(literal(&lists.allow_write, Effect::AllowWrite));
    out.rules.extend(literal(&lists.deny_write, Effect::DenyWrite));
    out.rules.extend(literal(&lists.deny_read, Effect::DenyRead));
    out.rules.extend(literal(&lists.allow_read, Effect::AllowRead));
    expand_globs(lists, ground, &mut out);
    hide_home(lists, ground, &mut out);
    protect(ground, &mut out);
    out.rules.sort_by(|a, b| a.path.cmp(&b.path).then(a.effect.cmp(&b.effect)));
    out.rules.dedup();
    out
}

fn opened(lists: &Lists, path: &Path) -> bool {
    lists.allow_read.iter().any(|spot| matches!(spot, Spot::Path(open) if path.starts_with(open)))
}

/// Wildcard denials, and credential files in the directories the command may write.
fn expand_globs(lists: &Lists, ground: &Ground, out: &mut Confined) {
    let mut walks: BTreeMap<(PathBuf, bool), Vec<String>> = BTreeMap::new();
    for (spots, reading) in [(&lists.deny_read, true), (&lists.deny_write, false)] {
        for spot in spots {
            if let Spot::Glob { base, pattern, .. } = spot {
                walks.entry((base.clone(), reading)).or_default().push(pattern.clone());
            }
        }
    }
    for root in &ground.roots {
        walks.entry((root.clone(), true)).or_default();
    }
    for ((base, reading), patterns) in walks {
        let globs: Vec<_> = patterns.iter().filter_map(|pattern| expand::compile(pattern)).collect();
        let secrets = reading && ground.roots.contains(&base);
        let named = |path: &Path| secrets && is_workspace_secret(path) && !opened(lists, path);
        let found = expand::below(&base, &globs, &named);
        let effect = if reading { Effect::DenyRead } else { Effect::DenyWrite };
        out.rules.extend(found.paths.iter().map(|path| Rule::new(effect, sys::real::path(path))));
        if !found.complete {
            out.complete = false;
            out.warning = Some(format!("{} is too large to look for every denied file in it", base.display()));
        }
    }
}

/// Credentials that no build needs. Certificates and keys of tests, and project files of package managers, stay.
fn is_workspace_secret(path: &Path) -> bool {
    const NEEDED: [&str; 3] = [".npmrc", ".pypirc", ".envrc"];
    const KEYS: [&str; 9] = ["pem", "key", "p12", "pfx", "p8", "jks", "keystore", "ppk", "kdbx"];
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let key = name.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && KEYS.contains(&end));
    !key && !NEEDED.contains(&name.as_str()) && permission::is_secret(path)
}

/// Credential files of the user's home, as far as they exist.
fn hide_home(lists: &Lists, ground: &Ground, out: &mut Confined) {
    let Some(home) = &ground.home else { return };
    let mut places = vec![home.clone()];
    places.extend([".config", ".config/gh", ".docker", ".cargo", ".gem", ".local/share"].map(|dir| home.join(dir)));
    places.extend(ground.config_home.clone());
    let entries = places.iter().filter_map(|dir| std::fs::read_dir(dir).ok()).flatten().filter_map(Result::ok);
    let secrets = entries.map(|entry| entry.path()).filter(|path| permission::is_secret(path));
    let all = secrets.chain(ground.state_file.clone()).map(|path| sys::real::path(&path));
    let hidden = all.filter(|path| path.exists() && !opened(lists, path));
    out.rules.extend(hidden.map(|path| Rule::new(Effect::DenyRead, path)));
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
const CONFIGURED: [&str; 9] = [
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

fn protect(ground: &Ground, out: &mut Confined) {
    for root in &ground.roots {
        for name in STARTUP_FILES.iter().chain(&[".vscode", ".idea"]) {
            shield(out, &root.join(name));
        }
        protect_repository(root, out);
        for place in root.ancestors() {
            shield(out, &place.join(".mcp.json"));
            for name in CONFIGURED {
                shield(out, &place.join(".claude").join(name));
            }
        }
    }
    for own in ground.config_home.iter().chain(&ground.state_file) {
        shield(out, own);
    }
}

/// Protects the path, and where it leads when it is a link.
fn shield(out: &mut Confined, path: &Path) {
    out.rules.push(Rule::new(Effect::Protect, path));
    let real = sys::real::path(path);
    if real != path {
        out.rules.push(Rule::new(Effect::Protect, real));
    }
}

/// What git would run or follow later: hooks, configuration, and files that make it look elsewhere.
fn protect_repository(root: &Path, out: &mut Confined) {
    let dot_git = root.join(".git");
    let Ok(meta) = dot_git.symlink_metadata() else {
        // Neither a repository here nor a bare one.
        shield(out, &dot_git);
        shield(out, &root.join("HEAD"));
        if let Some(above) = sys::git::root(root).map(|top| top.join(".git")).filter(|dir| dir.is_dir()) {
            out.rules.push(Rule::new(Effect::AllowWrite, &above));
            protect_git_dir(&above, out);
        }
        return;
    };
    if meta.is_dir() {
        protect_git_dir(&dot_git, out);
        return;
    }
    shield(out, &dot_git);
    let Some(main) = sys::git::main_checkout(root).map(|main| main.join(".git")) else { return };
    out.rules.push(Rule::new(Effect::AllowWrite, &main));
    protect_git_dir(&main, out);
    let entry = sys::fs::read_text(&dot_git, sys::git::LINK_BYTES).ok();
    if let Some(own) = entry.as_deref().and_then(|text| text.trim().strip_prefix("gitdir: ")) {
        let own = sys::real::path(&root.join(own));
        for name in ["commondir", "gitdir"] {
            shield(out, &own.join(name));
        }
        out.never.push(own.join("config.worktree"));
    }
}

fn protect_git_dir(dir: &Path, out: &mut Confined) {
    for name in ["hooks", "config", "modules"] {
        shield(out, &dir.join(name));
    }
    // An empty stand-in would confuse git, so these are taken away again instead.
    out.never.extend(["commondir", "config.worktree"].map(|name| dir.join(name)));
}
