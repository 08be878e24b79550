//! One handler as it stands in a settings file. Unknown fields are kept out of the way; a field of the wrong type makes
//! that handler, and nothing else, unusable.

use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use wire::hooks::{EventName, Handlers};
use wire::settings::Source;

/// Who declared a handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Settings { source: Source, path: Option<PathBuf> },
    Plugin { name: String, root: PathBuf, data: PathBuf },
    Skill { name: String },
    Agent { name: String },
    Host,
}

impl Origin {
    /// As listings name it.
    pub fn label(&self) -> String {
        match self {
            Self::Settings { source, .. } => match source {
                Source::Managed => "Managed Settings".into(),
                Source::User => "User Settings".into(),
                Source::Project => "Project Settings".into(),
                Source::Local => "Local Settings".into(),
                Source::CommandLine | Source::Flag | Source::Session => "Session Settings".into(),
            },
            Self::Plugin { name, .. } => format!("Plugin Hooks ({name})"),
            Self::Skill { name } => format!("Session Hooks (skill {name})"),
            Self::Agent { name } => format!("Session Hooks (agent {name})"),
            Self::Host => "Session Hooks (host)".into(),
        }
    }

    /// Short, as a question to the user carries it.
    pub fn tag(&self) -> String {
        match self {
            Self::Settings { .. } => "[settings]".into(),
            Self::Plugin { name, .. } => format!("[plugin:{name}]"),
            Self::Skill { .. } => "[skill]".into(),
            Self::Agent { .. } => "[agent]".into(),
            Self::Host => "[host]".into(),
        }
    }

    pub fn is_settings(&self) -> bool {
        matches!(self, Self::Settings { .. })
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Handler {
    pub kind: Kind,
    /// `if`: one permission rule.
    pub condition: Option<String>,
    pub timeout: Option<Duration>,
    pub status_message: Option<String>,
    /// Only meaningful in a skill.
    pub once: bool,
    pub on_failure: OnFailure,
}

/// What comes of a handler that could not give an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// It is reported, and the action goes on.
    Continue,
    /// The action is blocked, where there is one (`failClosed` of a handler, `onFailure` of a host).
    Block,
    /// A host that did not say: as `Continue`, but silence blocks calls and prompts.
    Unsaid,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Command(Command),
    Http(Http),
    McpTool(McpTool),
    Prompt(Ask),
    Agent(Ask),
    /// A function of the host.
    Callback {
        id: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    pub command: String,
    /// Present, even empty: no shell.
    pub args: Option<Vec<String>>,
    pub shell: Shell,
    pub detachment: Detachment,
    /// Words of its own for waking the model.
    pub rewake_message: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shell {
    Posix,
    PowerShell,
}

/// Whether the turn waits for a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detachment {
    Awaited,
    /// `async`
    Detached,
    /// `asyncRewake`
    Rewakes,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Http {
    pub url: String,
    pub headers: BTreeMap<String, String>,
    pub allowed_variables: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct McpTool {
    pub server: String,
    pub tool: String,
    pub input: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    pub prompt: String,
    pub model: Option<String>,
    pub continue_on_block: bool,
}

impl Kind {
    /// The word that stands in `type`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Command(_) => "command",
            Self::Http(_) => "http",
            Self::McpTool(_) => "mcp_tool",
            Self::Prompt(_) => "prompt",
            Self::Agent(_) => "agent",
            Self::Callback { .. } => "callback",
        }
    }

    pub fn asks_model(&self) -> bool {
        match self {
            Self::Prompt(_) | Self::Agent(_) => true,
            Self::Command(_) | Self::Http(_) | Self::McpTool(_) | Self::Callback { .. } => false,
        }
    }

    /// What it does, in one line.
    pub fn text(&self) -> String {
        match self {
            Self::Command(Command { command, args: Some(args), .. }) => {
                std::iter::once(command).chain(args).cloned().collect::<Vec<_>>().join(" ")
            }
            Self::Command(Command { command, args: None, .. }) => command.clone(),
            Self::Http(http) => http.url.clone(),
            Self::McpTool(tool) => format!("{}/{}", tool.server, tool.tool),
            Self::Prompt(ask) | Self::Agent(ask) => ask.prompt.clone(),
            Self::Callback { id } => id.clone(),
        }
    }

    pub(crate) fn fits(&self, event: EventName) -> bool {
        match (event.facts().handlers, self) {
            (Handlers::All, _)
            | (_, Self::Command(_) | Self::McpTool(_) | Self::Callback { .. })
            | (Handlers::NoAgent, Self::Http(_) | Self::Prompt(_))
            | (Handlers::NoModel, Self::Http(_)) => true,
            (Handlers::NoAgent, Self::Agent(_))
            | (Handlers::NoModel, Self::Prompt(_) | Self::Agent(_))
            | (Handlers::Local, Self::Http(_) | Self::Prompt(_) | Self::Agent(_)) => false,
        }
    }
}

/// Reads a handler; the error says what is wrong with it.
pub(crate) fn handler(value: &Value) -> Result<Handler, String> {
    let Value::Object(fields) = value else { return Err("a handler must be an object".into()) };
    let fields = Fields(fields);
    let kind = match fields.text("type")?.as_deref() {
        Some("command") => Kind::Command(command(&fields)?),
        Some("http") => Kind::Http(http(&fields)?),
        Some("mcp_tool") => Kind::McpTool(mcp_tool(&fields)?),
        Some("prompt") => Kind::Prompt(ask(&fields)?),
        Some("agent") => Kind::Agent(ask(&fields)?),
        Some(other) => return Err(format!("type {other:?} is not known")),
        None => return Err("type is missing".into()),
    };
    Ok(Handler {
        kind,
        condition: fields.text("if")?,
        timeout: fields.seconds("timeout")?,
        status_message: fields.text("statusMessage")?,
        once: fields.flag("once")?,
        on_failure: if fields.flag("failClosed")? { OnFailure::Block } else { OnFailure::Continue },
    })
}

/// Reads a group of a host: functions of its own, by id.
pub(crate) fn callbacks(group: &Value) -> Result<Vec<Handler>, String> {
    let Value::Object(fields) = group else { return Err("a group must be an object".into()) };
    let fields = Fields(fields);
    let ids = fields.texts("hookCallbackIds")?.ok_or("hookCallbackIds is missing")?;
    let on_failure = match fields.text("onFailure")?.as_deref() {
        None => OnFailure::Unsaid,
        Some("continue") => OnFailure::Continue,
        Some("block") => OnFailure::Block,
        Some(other) => return Err(format!("onFailure must be \"continue\" or \"block\", not {other:?}")),
    };
    let timeout = fields.seconds("timeout")?;
    let handler = |id| Handler {
        kind: Kind::Callback { id },
        condition: None,
        timeout,
        status_message: None,
        once: false,
        on_failure,
    };
    Ok(ids.into_iter().map(handler).collect())
}

fn command(fields: &Fields<'_>) -> Result<Command, String> {
    let detachment = match (fields.flag("asyncRewake")?, fields.flag("async")?) {
        (true, _) => Detachment::Rewakes,
        (false, true) => Detachment::Detached,
        (false, false) => Detachment::Awaited,
    };
    let shell = match fields.text("shell")?.as_deref() {
        None | Some("bash") => Shell::Posix,
        Some("powershell") => Shell::PowerShell,
        Some(other) => return Err(format!("shell {other:?} is not known; use bash or powershell")),
    };
    let command = fields.required("command")?;
    Ok(Command {
        command,
        args: fields.texts("args")?,
        shell,
        detachment,
        rewake_message: fields.text("rewakeMessage")?,
    })
}

fn http(fields: &Fields<'_>) -> Result<Http, String> {
    let headers = match fields.0.get("headers") {
        None | Some(Value::Null) => BTreeMap::new(),
        Some(Value::Object(headers)) => {
            let text = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
            headers.iter().map(text).collect::<Option<_>>().ok_or("headers must hold strings")?
        }
        Some(_) => return Err("headers must be an object".into()),
    };
    let allowed_variables = fields.texts("allowedEnvVars")?.unwrap_or_default();
    Ok(Http { url: fields.required("url")?, headers, allowed_variables })
}

fn mcp_tool(fields: &Fields<'_>) -> Result<McpTool, String> {
    let input = match fields.0.get("input") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(input)) => input.clone(),
        Some(_) => return Err("input must be an object".into()),
    };
    Ok(McpTool { server: fields.required("server")?, tool: fields.required("tool")?, input })
}

fn ask(fields: &Fields<'_>) -> Result<Ask, String> {
    Ok(Ask {
        prompt: fields.required("prompt")?,
        model: fields.text("model")?,
        continue_on_block: fields.flag("continueOnBlock")?,
    })
}

struct Fields<'a>(&'a Map<String, Value>);

impl Fields<'_> {
    fn text(&self, name: &str) -> Result<Option<String>, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(format!("{name} must be a string")),
        }
    }

    fn required(&self, name: &str) -> Result<String, String> {
        self.text(name)?.filter(|text| !text.trim().is_empty()).ok_or(format!("{name} is missing"))
    }

    fn texts(&self, name: &str) -> Result<Option<Vec<String>>, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Array(entries)) => {
                let texts: Option<Vec<String>> = entries.iter().map(|e| e.as_str().map(str::to_owned)).collect();
                texts.map(Some).ok_or(format!("{name} must hold strings"))
            }
            Some(_) => Err(format!("{name} must be a list of strings")),
        }
    }

    fn flag(&self, name: &str) -> Result<bool, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(on)) => Ok(*on),
            Some(_) => Err(format!("{name} must be true or false")),
        }
    }

    fn seconds(&self, name: &str) -> Result<Option<Duration>, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_f64().filter(|seconds| *seconds > 0.0 && *seconds < 1e9) {
                Some(seconds) => Ok(Some(Duration::from_secs_f64(seconds))),
                None => Err(format!("{name} must be a positive number of seconds")),
            },
        }
    }
}
