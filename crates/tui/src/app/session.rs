//! What the interface knows about the session.

use serde_json::Value;
use std::collections::BTreeMap;
use wire::mode::PermissionMode;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandSummary {
    pub name: String,
    pub description: String,
    pub argument_hint: String,
    pub aliases: Vec<String>,
    /// Built into gimlet: neither a skill nor a custom command.
    pub builtin: bool,
}

impl From<wire::control::SlashCommand> for CommandSummary {
    fn from(command: wire::control::SlashCommand) -> Self {
        let wire::control::SlashCommand { name, description, argument_hint, aliases, builtin } = command;
        Self { name, description, argument_hint, aliases, builtin }
    }
}

impl CommandSummary {
    fn read(value: &Value) -> Self {
        let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
        let aliases = value.get("aliases").and_then(Value::as_array).into_iter().flatten();
        Self {
            name: text("name").to_owned(),
            description: terminal::text::clean(text("description")).replace('\n', " "),
            argument_hint: terminal::text::clean(text("argumentHint")).replace('\n', " "),
            aliases: aliases.filter_map(Value::as_str).map(str::to_owned).collect(),
            builtin: value.get("builtin").and_then(Value::as_bool) == Some(true),
        }
    }
}

/// A background task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackgroundTaskRow {
    pub id: String,
    pub is_agent: bool,
    /// One word, such as `agent` or `shell`.
    pub kind: &'static str,
    pub description: String,
    /// When it was first heard of.
    pub since: std::time::Duration,
}

impl BackgroundTaskRow {
    pub fn of(task: wire::sdk::BackgroundTask) -> Self {
        let is_agent = task.task_type.contains("agent");
        let description = match task.subagent_type {
            Some(kind) => format!("{kind}: {}", task.description),
            None => task.description,
        };
        let kind = match task.task_type {
            _ if is_agent => "agent",
            "mcp_task" => "call",
            _ => "shell",
        };
        Self { id: task.task_id, is_agent, kind, description, since: std::time::Duration::ZERO }
    }
}

#[derive(Clone, Debug, Default)]
pub struct SessionDisplay {
    pub id: Option<String>,
    pub model: Option<String>,
    /// Names of models for people, by id.
    pub model_names: BTreeMap<String, String>,
    /// The effort in use; `None` until the engine says it.
    pub effort: Option<String>,
    /// The name that a person gave to the session.
    pub name: Option<String>,
    /// The name of the colour of its prompt.
    pub colour: Option<String>,
    pub mode: PermissionMode,
    /// Bypassing permissions was allowed at the start, so the mode can be chosen.
    pub may_bypass: bool,
    /// The working directory as shown.
    pub shown_cwd: String,
    /// The working directory as an unshortened path.
    pub cwd: String,
    /// The engine has reported its working directory.
    pub has_engine_cwd: bool,
    pub commands: Vec<CommandSummary>,
    pub cost_usd: f64,
    /// The session was not written to disk, so it cannot be resumed.
    pub is_unsaved: bool,
    /// Input tokens of the last request, including those written to and read from the cache.
    pub context_used: u64,
    pub context_window: u64,
    /// False when replies come from a recording.
    pub needs_credentials: bool,
    /// Running background tasks.
    pub background: Vec<BackgroundTaskRow>,
    /// Names of agents by id, as given when they started.
    pub agent_names: BTreeMap<String, String>,
    /// Agents that can be started: name and description.
    pub agents: Vec<(String, String)>,
    pub style: String,
    pub styles: Vec<String>,
    /// Where the credentials come from.
    pub account: String,
    /// The user switched thinking off.
    pub thinking_off: bool,
    /// Models that can be chosen: what is typed, and the name.
    pub models: Vec<(String, String)>,
    /// The names of the MCP servers.
    pub servers: Vec<String>,
}

impl SessionDisplay {
    /// A path with `~` for the home directory, where the directory of the session is shown so.
    pub fn shown_path(&self, path: &str) -> String {
        let home = self.shown_cwd.strip_prefix('~').and_then(|below| self.cwd.strip_suffix(below));
        let below = home.filter(|home| !home.is_empty()).and_then(|home| path.strip_prefix(home));
        below.filter(|below| below.starts_with('/')).map_or_else(|| path.to_owned(), |below| format!("~{below}"))
    }

    /// Replaces the commands of the engine.
    pub fn learn_commands(&mut self, commands: Vec<wire::control::SlashCommand>) {
        self.commands =
            super::local_commands::merge_local_commands(commands.into_iter().map(CommandSummary::from).collect());
    }

    /// Applies the answer to `initialize`.
    pub fn apply_initialize(&mut self, body: &Value) {
        if let Some(commands) = body.get("commands").and_then(Value::as_array) {
            self.commands =
                super::local_commands::merge_local_commands(commands.iter().map(CommandSummary::read).collect());
        }
        let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        if let Some(agents) = body.get("agents").and_then(Value::as_array) {
            self.agents = agents.iter().map(|agent| (text(agent, "name"), text(agent, "description"))).collect();
        }
        if let Some(models) = body.get("models").and_then(Value::as_array) {
            self.models = models.iter().map(|model| (text(model, "value"), text(model, "displayName"))).collect();
        }
        if let Some(style) = body.get("output_style").and_then(Value::as_str) {
            style.clone_into(&mut self.style);
        }
        if let Some(styles) = body.get("available_output_styles").and_then(Value::as_array) {
            self.styles = styles.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        }
        if let Some(account) = body.get("account") {
            let source = ["apiKeySource", "tokenSource"].into_iter().find_map(|name| account.get(name)?.as_str());
            source.unwrap_or("none").clone_into(&mut self.account);
        }
    }

    /// Replaces the background tasks; those that are known keep their beginning.
    pub fn learn_background(&mut self, mut rows: Vec<BackgroundTaskRow>, now: std::time::Duration) {
        for row in &mut rows {
            row.since = self.background.iter().find(|known| known.id == row.id).map_or(now, |known| known.since);
        }
        self.background = rows;
    }

    /// The name of an agent as shown; the id when no name is known.
    pub fn agent_name<'a>(&'a self, id: &'a str) -> &'a str {
        let running = || self.background.iter().find(|task| task.id == id).map(|task| task.description.as_str());
        self.agent_names.get(id).map(String::as_str).or_else(running).unwrap_or(id)
    }

    /// The used part of the context in percent; 0 until the usage is known.
    pub fn context_percent(&self) -> u64 {
        let window = self.context_window.max(1);
        if self.context_window == 0 { 0 } else { self.context_used.min(window) * 100 / window }
    }

    /// Applies what the engine says about the session in its answer to `get_settings`.
    pub fn apply_shown(&mut self, body: &Value) {
        let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let Some(model) = text("/applied/model") else { return };
        if let Some(name) = text("/shown/modelName") {
            self.model_names.insert(model.clone(), terminal::text::clean(&name).replace('\n', " "));
        }
        self.model = Some(model);
        self.effort = Some(text("/applied/effort").unwrap_or_default());
        self.colour = text("/shown/sessionColor");
        self.name = text("/shown/sessionName").map(|name| terminal::text::clean(&name).replace('\n', " "));
    }

    /// The path relative to the working directory, when it is inside.
    pub fn short_path<'a>(&self, path: &'a str) -> &'a str {
        let inside = path.strip_prefix(&self.cwd).and_then(|rest| rest.strip_prefix('/'));
        inside.filter(|rest| !rest.is_empty()).unwrap_or(path)
    }

    /// The permission mode after this one in the cycle.
    pub fn next_mode(&self) -> PermissionMode {
        match self.mode {
            PermissionMode::Default => PermissionMode::AcceptEdits,
            PermissionMode::AcceptEdits => PermissionMode::Plan,
            PermissionMode::Plan if self.may_bypass => PermissionMode::BypassPermissions,
            PermissionMode::Plan
            | PermissionMode::BypassPermissions
            | PermissionMode::Auto
            | PermissionMode::DontAsk => PermissionMode::Default,
        }
    }
}
