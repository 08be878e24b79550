//! The tasks of the evaluation: folders below `eval/tasks`.

use super::toml;
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;
use testkit::clumsy::Oracle;

/// One task.
pub(super) struct Task {
    pub(super) name: String,
    pub(super) folder: PathBuf,
    pub(super) tags: Vec<String>,
    /// One run of the binary for each prompt, the later ones continuing the conversation.
    pub(super) prompts: Vec<String>,
    /// Shell commands before each run, in the workspace.
    pub(super) before: Vec<String>,
    pub(super) mode: String,
    pub(super) allow: Vec<String>,
    pub(super) args: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    pub(super) settings: Option<String>,
    /// Files that may change besides those of the oracle: names or folders ending in `/`.
    pub(super) touches: Vec<String>,
    pub(super) limit: Duration,
    pub(super) oracle: Oracle,
    /// The places of its runs stay, to be looked at.
    pub(super) keep: bool,
}

/// The tasks whose names match `pattern` (`*` stands for anything), or that have it as a tag, in order.
pub(super) fn load(root: &Path, pattern: Option<&str>) -> Result<Vec<Task>> {
    let folder = root.join("eval/tasks");
    let mut names: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| format!("{} cannot be listed", folder.display()))? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.retain(|name| folder.join(name).join("task.toml").exists());
    names.sort();
    let tasks = names.iter().map(|name| Task::load(&folder.join(name)).with_context(|| format!("task {name}")));
    let mut tasks = tasks.collect::<Result<Vec<Task>>>()?;
    tasks.retain(|task| pattern.is_none_or(|p| matches(p, &task.name) || task.tags.iter().any(|tag| tag == p)));
    Ok(tasks)
}

/// Whether a name fits a pattern in which `*` stands for any text; several patterns are separated by commas.
fn matches(pattern: &str, name: &str) -> bool {
    pattern.split(',').any(|pattern| {
        let mut parts = pattern.split('*');
        let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
        let mut last = None;
        for part in parts {
            let Some(at) = rest.find(part) else { return false };
            rest = &rest[at + part.len()..];
            last = Some(part);
        }
        rest.is_empty() || last == Some("") || last.is_some_and(|part| !part.is_empty() && name.ends_with(part))
    })
}

impl Task {
    fn load(folder: &Path) -> Result<Self> {
        let read = |name: &str| -> Result<Value> {
            let text = std::fs::read_to_string(folder.join(name)).with_context(|| name.to_owned())?;
            toml::parse(&text).with_context(|| name.to_owned())
        };
        let value = read("task.toml")?;
        let strings = |name: &str| -> Vec<String> {
            let items = value[name].as_array().into_iter().flatten();
            items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
        };
        let env = value["env"].as_object().into_iter().flatten();
        let allow = if value["allow"].is_array() { strings("allow") } else { vec!["Bash".into(), "Agent".into()] };
        Ok(Self {
            name: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            folder: folder.to_path_buf(),
            tags: strings("tags"),
            prompts: strings("prompts"),
            before: strings("before"),
            mode: value["mode"].as_str().unwrap_or("acceptEdits").to_owned(),
            allow,
            args: strings("args"),
            env: env.map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned())).collect(),
            settings: value["settings"].as_str().map(str::to_owned),
            touches: strings("touches"),
            limit: Duration::from_secs(value["limit_seconds"].as_u64().unwrap_or(60)),
            oracle: Oracle::parse(&read("oracle.toml")?).map_err(anyhow::Error::msg).context("oracle.toml")?,
            keep: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_choose_tasks() {
        assert!(matches("0*", "01-go") && matches("*-go", "01-go") && matches("02*,01*", "01-go"));
        assert!(!matches("1*", "01-go") && !matches("*-py", "01-go") && matches("01-go", "01-go"));
    }

    // [MX-41]
    #[test]
    fn all_tasks_load_and_have_a_check() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let tasks = load(&root, None).unwrap();
        assert_eq!(tasks.len(), 26);
        for task in &tasks {
            assert!(task.folder.join("check").exists(), "{}", task.name);
            assert!(!task.prompts.is_empty() && !task.oracle.intents.is_empty(), "{}", task.name);
            assert!(!task.tags.is_empty(), "{}", task.name);
        }
    }
}
