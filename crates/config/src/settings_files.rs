//! The paths of the files that settings and servers are declared in, for readers and writers.

use crate::state::config_home;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use sys::Env;
use wire::settings::SettingsSource;

pub(crate) const LOCAL: &str = ".claude/settings.local.json";
/// In bytes. Larger ignore files are not read.
const MAX_IGNORES: usize = 4 * 1024 * 1024;

/// The local settings files that apply in `cwd`, highest precedence first.
pub(crate) fn local_files(cwd: &Path, env: &Env) -> Vec<PathBuf> {
    let mut dirs = vec![local_home(cwd, env)];
    // The place in which older versions wrote it.
    if dirs[0] != cwd {
        dirs.push(cwd.to_path_buf());
    }
    dirs.into_iter().map(|dir| dir.join(LOCAL)).collect()
}

/// The directory whose local settings file is written: the main checkout of the repository, or the starting directory
/// when there is no repository or others own parts of it.
fn local_home(cwd: &Path, env: &Env) -> PathBuf {
    let root = sys::git::root(cwd).filter(|root| Some(root) != env.home().as_ref());
    let root = root.map(|root| sys::git::main_checkout(&root).unwrap_or(root));
    root.filter(|root| is_private(root)).unwrap_or_else(|| cwd.to_path_buf())
}

/// True when all relevant directories belong to this user.
fn is_private(root: &Path) -> bool {
    let uid = sys::uid();
    [root.to_path_buf(), root.join(".git"), root.join(".claude")]
        .iter()
        .filter_map(|path| std::fs::symlink_metadata(path).ok())
        .all(|meta| meta.uid() == uid)
}

/// The file to which a change of this source is written; `None` for sources without one.
pub fn file_of(source: SettingsSource, cwd: &Path, env: &Env) -> Option<PathBuf> {
    match source {
        SettingsSource::User => config_home(env).map(|home| home.join("settings.json")),
        SettingsSource::Project => Some(cwd.join(".claude/settings.json")),
        SettingsSource::Local => Some(local_home(cwd, env).join(LOCAL)),
        SettingsSource::Managed | SettingsSource::CommandLine | SettingsSource::Flag | SettingsSource::Session => None,
    }
}

/// The start directory, then its parents up to the root of the repository; outside a repository only itself.
pub(crate) fn between<'a>(cwd: &'a Path, root: Option<&'a Path>) -> impl Iterator<Item = &'a Path> {
    let last = root.unwrap_or(cwd);
    cwd.ancestors().take_while(move |dir| dir.starts_with(last))
}

/// The files in which a repository may declare servers: from the starting directory up to its root.
pub(crate) fn server_files(cwd: &Path) -> Vec<PathBuf> {
    let root = sys::git::root(cwd);
    between(cwd, root.as_deref()).map(|dir| dir.join(".mcp.json")).collect()
}

/// Makes git ignore local settings files in all repositories of this user, without changing the repository. Returns the
/// file that was changed.
pub fn exclude_local_files(file: &Path, env: &Env) -> std::io::Result<Option<PathBuf>> {
    let Some(root) = file.parent().and_then(Path::parent).filter(|root| root.join(".git").exists()) else {
        return Ok(None);
    };
    let Some(excludes) = global_excludes(env) else { return Ok(None) };
    let known = [root.join(".gitignore"), root.join(".git/info/exclude"), excludes.clone()];
    let mentions = |path: &PathBuf| {
        sys::fs::read_text(path, MAX_IGNORES).is_ok_and(|text| text.lines().any(|line| covers(line.trim())))
    };
    if known.iter().any(mentions) {
        return Ok(None);
    }
    if let Some(dir) = excludes.parent() {
        std::fs::create_dir_all(dir)?;
    }
    let mut text = sys::fs::read_text(&excludes, MAX_IGNORES).unwrap_or_default();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str("**/.claude/settings.local.json\n");
    sys::fs::atomic_write(&excludes, text.as_bytes(), 0o644)?;
    Ok(Some(excludes))
}

fn covers(line: &str) -> bool {
    let line = line.trim_start_matches("**/").trim_start_matches('/').trim_end_matches('/');
    matches!(line, ".claude" | ".claude/*" | ".claude/**" | ".claude/settings.local.json" | "settings.local.json")
}

/// `core.excludesFile` of the user's git configuration when it is absolute or starts with `~`, else git's default.
fn global_excludes(env: &Env) -> Option<PathBuf> {
    let home = env.home()?;
    let config = env.non_empty("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from);
    for file in [home.join(".gitconfig"), config.join("git/config")] {
        let Ok(text) = std::fs::read_to_string(file) else { continue };
        match excludes_file(&text) {
            Some(path) if path.starts_with("~/") => return Some(home.join(path.trim_start_matches("~/"))),
            Some(path) if path.starts_with('/') => return Some(PathBuf::from(path)),
            Some(_) | None => {}
        }
    }
    Some(config.join("git/ignore"))
}

fn excludes_file(text: &str) -> Option<String> {
    let mut in_core = false;
    let mut found = None;
    for line in text.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            in_core = section.trim_end_matches(']').trim().eq_ignore_ascii_case("core");
        } else if let Some((name, value)) = line.split_once('=').filter(|_| in_core)
            && name.trim().eq_ignore_ascii_case("excludesFile")
        {
            found = Some(value.trim().trim_matches('"').to_owned());
        }
    }
    found
}
