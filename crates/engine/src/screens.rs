//! What terminal screens show and change outside a conversation: the settings with the file each value comes from,
//! changes to a settings file, and uncommitted work. Reads on demand and caches nothing. Changes are validated like
//! those of `gimlet config`. All functions block, except `uncommitted`.

pub use config::MemoryScope;
use config::edit::{SettingsEdit, SettingsTarget};
use config::memory::MemoryQuery;
use config::{ConfigLoader, ProjectConfig, settings_files, validate};
use serde_json::Value;
use session_parts::options::StartRequest;
use session_parts::worktree::GitRunner;
use sys::Env;
use wire::settings::{KeyShape, SettingKey, Settings, SettingsSource};

/// The settings files a person may change, with a description.
pub const SETTINGS_FILES: [(&str, &str); 3] = [
    ("userSettings", "all your projects"),
    ("localSettings", "this project, only you"),
    ("projectSettings", "this project, shared"),
];

/// One row of the settings screen.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingRow {
    /// For example `sandbox.enabled`.
    pub key: String,
    pub about: &'static str,
    pub value: Option<Value>,
    /// The file the value comes from; `None` when it is not set.
    pub source: Option<&'static str>,
    pub form: SettingForm,
    /// The files in which it may be set.
    pub files: Vec<&'static str>,
    /// Why it does nothing here; `None` when it has its effect.
    pub no_effect: Option<&'static str>,
}

/// How a value is entered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingForm {
    Switch,
    OneOf(&'static [&'static str]),
    Text,
    Number,
    /// Lists and objects: edited in the file.
    File,
}

/// Every key that is not out of date.
pub fn settings(boot: &StartRequest) -> Result<Vec<SettingRow>, String> {
    let loaded = load(boot)?;
    let mut all = Vec::new();
    for key in Settings::KEYS.iter().filter(|key| !key.deprecated) {
        match key.shape {
            KeyShape::Object(inner) => {
                for member in inner {
                    all.push(row(&loaded, key, Some(member)));
                }
            }
            _ => all.push(row(&loaded, key, None)),
        }
    }
    Ok(all)
}

fn load(boot: &StartRequest) -> Result<ProjectConfig, String> {
    let selection = session_parts::options::selection(&boot.options);
    ConfigLoader::open(&boot.cwd, &boot.env, &selection).map_err(|error| error.to_string())
}

fn row(loaded: &ProjectConfig, key: &'static SettingKey, member: Option<&'static SettingKey>) -> SettingRow {
    let leaf = member.unwrap_or(key);
    let path: Vec<&str> = std::iter::once(key.name).chain(member.map(|member| member.name)).collect();
    let at = |map: &serde_json::Map<String, Value>| {
        let first = map.get(path[0])?;
        path[1..].iter().try_fold(first, |value, name| value.get(*name)).cloned()
    };
    let source = loaded.layers.iter().find(|layer| at(&layer.effective).is_some()).map(|layer| layer.source.as_str());
    let accepts = |source: SettingsSource| validate::accepts(key, source) && validate::accepts(leaf, source);
    let files = [SettingsSource::User, SettingsSource::Local, SettingsSource::Project];
    SettingRow {
        key: path.join("."),
        about: leaf.doc,
        value: at(&loaded.merged),
        source,
        form: match leaf.shape {
            KeyShape::Bool => SettingForm::Switch,
            KeyShape::OneOf(choices) => SettingForm::OneOf(choices),
            KeyShape::Text | KeyShape::TextOrOff => SettingForm::Text,
            KeyShape::Integer { .. } | KeyShape::Number { .. } => SettingForm::Number,
            KeyShape::List(_) | KeyShape::Map(_) | KeyShape::Object(_) | KeyShape::Any => SettingForm::File,
        },
        files: files.into_iter().filter(|source| accepts(*source)).map(SettingsSource::as_str).collect(),
        no_effect: leaf.no_effect.or(key.no_effect),
    }
}

fn source_of(file: &str) -> Result<SettingsSource, String> {
    let known = [SettingsSource::User, SettingsSource::Local, SettingsSource::Project];
    known.into_iter().find(|source| source.as_str() == file).ok_or_else(|| format!("{file} is not a settings file"))
}

/// The path of that settings file.
pub fn file(boot: &StartRequest, file: &str) -> Result<std::path::PathBuf, String> {
    settings_files::file_of(source_of(file)?, &boot.cwd, &boot.env)
        .ok_or_else(|| "there is no home directory; set HOME".into())
}

/// Sets a key in a file, or removes it when `value` is `None`. Returns the path of the file.
pub fn change(boot: &StartRequest, file_name: &str, key: &str, value: Option<Value>) -> Result<String, String> {
    let path: Vec<&str> = key.split('.').collect();
    let top = Settings::KEYS.iter().find(|known| known.name == path[0]);
    let Some(top) = top else { return Err(format!("{key} is not a settings key")) };
    let leaf = match (top.shape, path.get(1)) {
        (KeyShape::Object(inner), Some(name)) => inner.iter().find(|known| known.name == *name),
        _ => Some(top).filter(|_| path.len() == 1),
    };
    let Some(leaf) = leaf else { return Err(format!("{key} is not a settings key")) };
    let source = source_of(file_name)?;
    let edit_is = match value {
        Some(value) => {
            if let Some(problem) = validate::problem(leaf, &value) {
                return Err(problem);
            }
            if !validate::accepts(top, source) || !validate::accepts(leaf, source) {
                return Err(format!("{key} has no effect in that file"));
            }
            SettingsEdit::Set(value)
        }
        None => SettingsEdit::Remove,
    };
    let target = SettingsTarget { source, cwd: &boot.cwd, env: &boot.env };
    let written = target.change(&path, &edit_is).map_err(|error| error.to_string())?;
    Ok(written.path.display().to_string())
}

/// Removes the stored API key; returns whether there was one.
pub fn sign_out(env: &Env) -> Result<bool, String> {
    config::credential_store::forget(env).map_err(|error| error.to_string())
}

/// The theme that the settings of the user name; `None` when they name none.
pub fn chosen_theme(boot: &StartRequest) -> Option<String> {
    let loaded = load(boot).ok()?;
    let user = loaded.layers.iter().find(|layer| layer.source == SettingsSource::User)?;
    user.effective.get("theme")?.as_str().map(str::to_owned)
}

/// A file with instructions, or a place where one can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryPlace {
    pub path: std::path::PathBuf,
    pub scope: MemoryScope,
    /// Estimated tokens; `None` when there is no such file yet.
    pub tokens: Option<u64>,
}

/// What the memory screen shows: the files that a session started here sends to the model, in this order, then the
/// usual places that are still free.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryPlaces {
    pub files: Vec<MemoryPlace>,
    /// Notes are kept between sessions.
    pub keeps_notes: bool,
}

pub fn memory(boot: &StartRequest) -> Result<MemoryPlaces, String> {
    let selection = session_parts::options::selection(&boot.options);
    let loaded = load(boot)?;
    let root = sys::git::root(&boot.cwd).unwrap_or_else(|| boot.cwd.clone());
    let root = sys::git::main_checkout(&root).unwrap_or(root);
    let notes = store::StoreLayout::new(&boot.env).project_dir(&root).join("memory");
    let query = MemoryQuery {
        cwd: &boot.cwd,
        env: &loaded.env,
        selection: &selection,
        loaded: &loaded,
        added: &[],
        notes: Some(&notes),
    };
    let found = config::memory::load(&query).files.into_iter();
    let mut files: Vec<MemoryPlace> = found
        .map(|file| MemoryPlace {
            tokens: Some(model::estimate::text(file.text.len())),
            path: file.path,
            scope: file.scope,
        })
        .collect();
    let user = config::state::config_home(&boot.env).map(|home| (home.join("CLAUDE.md"), MemoryScope::User));
    let project = (boot.cwd.join("CLAUDE.md"), MemoryScope::Project);
    let local = (boot.cwd.join("CLAUDE.local.md"), MemoryScope::Local);
    for (path, scope) in [project, local].into_iter().chain(user) {
        if !files.iter().any(|file| file.path == path) {
            files.push(MemoryPlace { path, scope, tokens: None });
        }
    }
    Ok(MemoryPlaces { files, keeps_notes: loaded.settings.auto_memory_enabled.unwrap_or(true) })
}

/// Names and texts of the themes in the configuration directory.
pub fn themes(env: &Env) -> Vec<(String, String)> {
    let Some(home) = config::state::config_home(env) else { return Vec::new() };
    let Ok(entries) = std::fs::read_dir(home.join("themes")) else { return Vec::new() };
    let mut found: Vec<(String, String)> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let name = path.file_stem()?.to_str()?.to_owned();
            let is_theme = path.extension().is_some_and(|extension| extension == "json");
            Some((name, std::fs::read_to_string(path).ok()?)).filter(|_| is_theme)
        })
        .collect();
    found.sort();
    found
}

/// The file with the user's key bindings.
pub fn key_file(env: &Env) -> Option<std::path::PathBuf> {
    config::state::config_home(env).map(|home| home.join("keybindings.json"))
}

/// The uncommitted changes as git shows them, and the names of new files. Runs no external diff or text conversion.
pub async fn uncommitted(boot: &StartRequest) -> Result<String, String> {
    let git = GitRunner { dir: &boot.cwd, env: &boot.env };
    let plain = ["--no-color", "--no-ext-diff", "--no-textconv", "--no-renames"];
    let against = if git.commit_of("HEAD").await.is_ok() { "HEAD" } else { "--cached" };
    let args: Vec<&str> = ["diff"].into_iter().chain(plain).chain([against]).collect();
    let mut text = git.run(&args).await?;
    let new = git.run(&["ls-files", "--others", "--exclude-standard"]).await?;
    if !new.is_empty() {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str("New files:\n");
        for name in new.lines() {
            text.push_str("  ");
            text.push_str(name);
            text.push('\n');
        }
    }
    Ok(text)
}
