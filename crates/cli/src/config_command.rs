//! `gimlet config`: reads and changes settings files. Reading shows what a session here would use; writing changes one
//! file, keeps its comments and unknown keys, and refuses values that a session would ignore.

use crate::settings_problems::{self, Problem};
use config::edit::{SettingsEdit, SettingsTarget};
use config::{ConfigLoader, ProjectConfig, SettingsLayer, SettingsSelection, validate};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
use sys::Env;
use wire::settings::{KeyShape, MergeRule, SettingKey, Settings, SettingsSource};

const USAGE: &str = "Usage: gimlet config <command> [options]
  get <key>                 the value a session here would use
  set <key> <value>         change a value; JSON, or plain text for text keys
  add <key> <values...>     add to a list
  remove <key> [values...]  take values out of a list, or the key out of the file
  list                      every setting that is set
  explain [key]             what every file says, which one wins and why
  schema                    the JSON schema of a settings file
Options:
  --user (-g), --project, --local   which file; user for changes unless given
  --json                            print JSON";

/// Returns the text to print and the exit code; an error is a wrong command line or a file that was not changed.
pub(crate) fn run(rest: &[OsString], env: &Env) -> Result<(String, u8), String> {
    let words = ConfigArgs::of(rest)?;
    let cwd =
        sys::launch::cwd(env).map_err(|error| format!("Error: the current directory is not available ({error})"))?;
    let here =
        ConfigCommand { cwd: std::fs::canonicalize(&cwd).unwrap_or(cwd), env, scope: words.scope, json: words.json };
    let plain: Vec<&str> = words.plain.iter().map(String::as_str).collect();
    match plain.as_slice() {
        ["get", key] => here.get(key),
        ["set", key, value] => here.set(key, value),
        ["add", key, values @ ..] if !values.is_empty() => here.change(key, &SettingsEdit::Add(each(values))),
        ["remove" | "rm", key] => here.change(key, &SettingsEdit::Remove),
        ["remove" | "rm", key, values @ ..] => here.change(key, &SettingsEdit::Take(each(values))),
        ["list" | "ls"] => here.list(),
        ["explain", keys @ ..] => here.explain(keys.first().copied()),
        ["schema"] => Ok((pretty(&wire::settings::schema()), 0)),
        _ => Err(USAGE.into()),
    }
}

struct ConfigArgs {
    plain: Vec<String>,
    scope: Option<SettingsSource>,
    json: bool,
}

impl ConfigArgs {
    fn of(rest: &[OsString]) -> Result<Self, String> {
        let mut words = Self { plain: Vec::new(), scope: None, json: false };
        let mut only_plain = false;
        for word in rest {
            let word = word.to_string_lossy().into_owned();
            match word.as_str() {
                _ if only_plain => words.plain.push(word),
                "--" => only_plain = true,
                "--user" | "-g" | "--global" => words.scope = Some(SettingsSource::User),
                "--project" => words.scope = Some(SettingsSource::Project),
                "--local" => words.scope = Some(SettingsSource::Local),
                "--json" => words.json = true,
                "--help" | "-h" => return Err(USAGE.into()),
                flag if flag.starts_with("--") => return Err(format!("error: unknown option '{flag}'")),
                _ => words.plain.push(word),
            }
        }
        Ok(words)
    }
}

struct ConfigCommand<'a> {
    cwd: PathBuf,
    env: &'a Env,
    scope: Option<SettingsSource>,
    json: bool,
}

impl ConfigCommand<'_> {
    fn load(&self) -> Result<ProjectConfig, String> {
        ConfigLoader::open(&self.cwd, self.env, &SettingsSelection::default())
            .map_err(|error| format!("Error: {error}"))
    }

    fn get(&self, key: &str) -> Result<(String, u8), String> {
        let keys: Vec<&str> = path_of(key)?.1;
        let loaded = self.load()?;
        let value = match self.scope {
            Some(scope) => loaded.layers.iter().filter(|l| l.source == scope).find_map(|l| at(&l.raw, &keys)),
            None => at(&loaded.merged, &keys),
        };
        Ok(match value {
            Some(Value::String(text)) if !self.json => (text.clone(), 0),
            Some(value) => (pretty(value), 0),
            None => (String::new(), 1),
        })
    }

    fn set(&self, key: &str, text: &str) -> Result<(String, u8), String> {
        let (leaf, _) = path_of(key)?;
        let parsed = serde_json::from_str::<Value>(text);
        let value = match (leaf.map(|leaf| leaf.shape), parsed) {
            (Some(KeyShape::Text | KeyShape::TextOrOff | KeyShape::OneOf(_)), Ok(Value::String(text))) => {
                Value::String(text)
            }
            (Some(KeyShape::TextOrOff), Ok(Value::Bool(false))) => Value::Bool(false),
            (Some(KeyShape::Text | KeyShape::TextOrOff | KeyShape::OneOf(_)), _) | (_, Err(_)) => {
                Value::String(text.to_owned())
            }
            (_, Ok(value)) => value,
        };
        if let Some(problem) = leaf.and_then(|leaf| validate::problem(leaf, &value)) {
            return Err(format!("Error: {problem}"));
        }
        self.change(key, &SettingsEdit::Set(value))
    }

    fn change(&self, key: &str, change: &SettingsEdit) -> Result<(String, u8), String> {
        let (_, keys) = path_of(key)?;
        let scope = self.scope.unwrap_or(SettingsSource::User);
        let top = Settings::KEYS.iter().find(|known| known.name == keys[0]);
        if top.is_some_and(|top| !validate::accepts(top, scope)) && *change != SettingsEdit::Remove {
            return Err(format!("Error: {key} has no effect in {} settings", plain_name(scope)));
        }
        let target = SettingsTarget { source: scope, cwd: &self.cwd, env: self.env };
        let written = target.change(&keys, change).map_err(|error| format!("Error: {error}"))?;
        let said = if written.changed { "Changed" } else { "Nothing to change in" };
        let mut text = format!("{said} {}", written.path.display());
        match written.ignored {
            Ok(Some(file)) => write!(text, "\nGit ignores it from now on: {}", file.display()).ok(),
            Ok(None) => None,
            Err(error) => write!(text, "\nGit was not set to ignore it: {error}").ok(),
        };
        Ok((text, 0))
    }

    fn list(&self) -> Result<(String, u8), String> {
        let loaded = self.load()?;
        let values = match self.scope {
            Some(scope) => loaded.layers.iter().find(|l| l.source == scope).map(|l| l.raw.clone()).unwrap_or_default(),
            None => Arc::unwrap_or_clone(loaded.merged),
        };
        Ok((pretty(&Value::Object(values)), 0))
    }

    fn explain(&self, key: Option<&str>) -> Result<(String, u8), String> {
        let loaded = self.load()?;
        let names = key.map_or_else(|| set_keys(&loaded), |key| vec![key.to_owned()]);
        let mut all = Vec::new();
        for name in &names {
            all.push(SettingExplanation::of(&loaded, name)?);
        }
        let mut problems = settings_problems::find(&loaded, self.env, &self.cwd);
        problems.retain(|problem| key.is_none_or(|key| problem.key.is_none() || problem.is_about(key)));
        if self.json {
            return Ok((pretty(&as_json(&all, &problems, key.is_some())), 0));
        }
        let mut parts: Vec<String> = all.iter().map(SettingExplanation::text).collect();
        if parts.is_empty() {
            parts.push("No settings file sets anything here; every key has its default.".into());
        }
        if !problems.is_empty() {
            let lines: Vec<String> = problems.iter().map(|p| format!("\n  ! {}\n    {}", p.text, p.fix)).collect();
            parts.push(format!("Problems (the same list as `gimlet doctor`):{}", lines.concat()));
        }
        Ok((parts.join("\n\n"), 0))
    }
}

/// One object for one key, a list for all. Each key lists its problems; an entry without key lists those of files.
fn as_json(all: &[SettingExplanation<'_>], problems: &[Problem], is_one: bool) -> Value {
    let told = |problem: &&Problem| json!({"file": problem.file, "line": problem.line, "key": problem.key, "text": problem.text, "fix": problem.fix});
    let mut values = Vec::new();
    for explanation in all {
        let mut value = explanation.json();
        let mine = problems.iter().filter(|p| p.is_about(&explanation.key) || (is_one && p.key.is_none()));
        value["problems"] = mine.map(|problem| told(&problem)).collect();
        values.push(value);
    }
    if is_one {
        return values.into_iter().next().unwrap_or_default();
    }
    let is_listed = |problem: &&Problem| all.iter().any(|explanation| problem.is_about(&explanation.key));
    let rest: Vec<Value> = problems.iter().filter(|problem| !is_listed(problem)).map(|p| told(&p)).collect();
    if !rest.is_empty() {
        values.push(json!({"key": null, "problems": rest}));
    }
    Value::Array(values)
}

/// All keys that any file sets.
fn set_keys(loaded: &ProjectConfig) -> Vec<String> {
    let known = |name: &&String| Settings::KEYS.iter().any(|key| key.name == **name);
    let mut names: Vec<String> =
        loaded.layers.iter().flat_map(|layer| layer.raw.keys().filter(known).cloned()).collect();
    names.sort();
    names.dedup();
    names
}

/// The values of every layer for one key.
struct SettingExplanation<'a> {
    key: String,
    value: Option<Value>,
    rule: &'static str,
    layers: Vec<LayerValue<'a>>,
}

struct LayerValue<'a> {
    layer: &'a SettingsLayer,
    line: Option<usize>,
    value: &'a Value,
    verdict: &'static str,
}

impl<'a> SettingExplanation<'a> {
    fn of(loaded: &'a ProjectConfig, key: &str) -> Result<Self, String> {
        let (leaf, keys) = path_of(key)?;
        let merge = leaf.map_or(MergeRule::Replace, |leaf| leaf.merge);
        let mut layers = Vec::new();
        let mut decided = false;
        for layer in loaded.layers.iter() {
            let Some(value) = at(&layer.raw, &keys) else { continue };
            let verdict = match (at(&layer.effective, &keys), at(&layer.valid, &keys)) {
                (None, None) => "ignored: not valid, or not allowed in this file",
                (None, Some(_)) if layer.source == SettingsSource::Local => {
                    "waits until you accept it (`gimlet trust`)"
                }
                (None, Some(_)) => "waits until the folder is trusted",
                (Some(counts), Some(valid)) if counts != valid && layer.source == SettingsSource::Local => {
                    "in part: the rest waits until you accept it (`gimlet trust`)"
                }
                (Some(counts), Some(valid)) if counts != valid => "in part: the rest waits until the folder is trusted",
                (Some(_), _) if leaf.is_some_and(|leaf| leaf.no_effect.is_some()) => "has no effect in gimlet",
                (Some(_), _) => match (merge, decided) {
                    (MergeRule::Append | MergeRule::Deep | MergeRule::PerEntry, _) => "joined",
                    (MergeRule::Lowest, _) => "counts if it is the lowest",
                    (MergeRule::Replace | MergeRule::Sticky(_), false) => "wins",
                    (MergeRule::Replace | MergeRule::Sticky(_), true) => "hidden by a higher file",
                },
            };
            decided |= verdict == "wins";
            layers.push(LayerValue { layer, line: layer.line(&keys, None), value, verdict });
        }
        let rule = match merge {
            MergeRule::Replace => "the highest file that sets it wins",
            MergeRule::Append => "lists of all files are joined",
            MergeRule::Deep => "members of all files are joined",
            MergeRule::PerEntry => "members of all files are joined, each one whole",
            MergeRule::Lowest => "the lowest of all files wins",
            MergeRule::Sticky(true) => "true in any file wins",
            MergeRule::Sticky(false) => "false in any file wins",
        };
        Ok(Self { key: key.to_owned(), value: at(&loaded.merged, &keys).cloned(), rule, layers })
    }

    fn text(&self) -> String {
        let value = self.value.as_ref().map_or("(not set)".to_owned(), Value::to_string);
        let mut text = format!("{} = {value}\n  {}", self.key, self.rule);
        for said in &self.layers {
            let place = place(said.layer, said.line);
            write!(text, "\n  {:8} {}  {}  ({})", plain_name(said.layer.source), said.value, place, said.verdict).ok();
        }
        text
    }

    fn json(&self) -> Value {
        let layers = self.layers.iter().map(|said| {
            json!({"source": said.layer.source.as_str(), "file": said.layer.path, "line": said.line,
                   "value": said.value, "verdict": said.verdict})
        });
        let layers: Vec<Value> = layers.collect();
        json!({"key": self.key, "value": self.value, "rule": self.rule, "layers": layers})
    }
}

fn place(layer: &SettingsLayer, line: Option<usize>) -> String {
    match (&layer.path, line) {
        (Some(path), Some(line)) => format!("{}:{line}", path.display()),
        (Some(path), None) => path.display().to_string(),
        (None, _) => "--settings".into(),
    }
}

pub(crate) fn plain_name(source: SettingsSource) -> &'static str {
    match source {
        SettingsSource::Managed => "managed",
        SettingsSource::CommandLine | SettingsSource::Flag => "flag",
        SettingsSource::Session => "session",
        SettingsSource::Local => "local",
        SettingsSource::Project => "project",
        SettingsSource::User => "user",
    }
}

/// The key's row in the table, if it has one, and its path of member names. Unknown names are allowed only below maps.
fn path_of(key: &str) -> Result<(Option<&'static SettingKey>, Vec<&str>), String> {
    let unknown = || {
        let meant = crate::nearest::nearest(key, Settings::KEYS.iter().map(|key| key.name));
        let hint = meant.map(|meant| format!("did you mean {meant}? ")).unwrap_or_default();
        format!("Error: {key} is not a settings key; {hint}`gimlet config schema` lists them")
    };
    let mut keys = Settings::KEYS;
    let mut rest = key;
    let mut path = Vec::new();
    loop {
        let name = rest.split('.').next().unwrap_or(rest);
        let row = keys.iter().find(|row| row.name == name).ok_or_else(unknown)?;
        path.push(name);
        rest = rest[name.len()..].trim_start_matches('.');
        match (&row.shape, rest) {
            (_, "") => return Ok((Some(row), path)),
            (KeyShape::Object(inner), _) => keys = inner,
            // Names in a map may contain dots.
            (KeyShape::Map(_), _) => {
                path.push(rest);
                return Ok((None, path));
            }
            (KeyShape::Any, _) => {
                path.extend(rest.split('.'));
                return Ok((None, path));
            }
            _ => return Err(unknown()),
        }
    }
}

fn at<'a>(map: &'a serde_json::Map<String, Value>, keys: &[&str]) -> Option<&'a Value> {
    let (first, rest) = keys.split_first()?;
    rest.iter().try_fold(map.get(*first)?, |value, key| value.get(*key))
}

fn each(values: &[&str]) -> Vec<Value> {
    let value = |text: &&str| match serde_json::from_str::<Value>(text) {
        Ok(value @ (Value::Object(_) | Value::String(_))) => value,
        _ => Value::String((*text).to_owned()),
    };
    values.iter().map(value).collect()
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
