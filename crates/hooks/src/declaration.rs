//! One handler as declared in a settings file. Unknown fields are ignored; a field of the wrong type makes only that
//! handler unusable.

use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use wire::hooks::{HandlerSupport, HookEventName};
use wire::settings::SettingsSource;

/// The source of a handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookOrigin {
    Settings { source: SettingsSource, path: Option<PathBuf> },
    Plugin { name: String, root: PathBuf, data: PathBuf },
    Skill { name: String },
    Agent { name: String },
    Host,
}

impl HookOrigin {
    /// The name used in listings.
    pub fn label(&self) -> String {
        match self {
            Self::Settings { source, .. } => match source {
                SettingsSource::Managed => "Managed Settings".into(),
                SettingsSource::User => "User Settings".into(),
                SettingsSource::Project => "Project Settings".into(),
                SettingsSource::Local => "Local Settings".into(),
                SettingsSource::CommandLine | SettingsSource::Flag | SettingsSource::Session => {
                    "Session Settings".into()
                }
            },
            Self::Plugin { name, .. } => format!("Plugin Hooks ({name})"),
            Self::Skill { name } => format!("Session Hooks (skill {name})"),
            Self::Agent { name } => format!("Session Hooks (agent {name})"),
            Self::Host => "Session Hooks (host)".into(),
        }
    }

    /// The short form used in questions to the user.
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
pub struct HookHandler {
    pub kind: HandlerKind,
    /// `if`: one permission rule; `None` when there is none.
    pub condition: Option<String>,
    pub timeout: Option<Duration>,
    pub status_message: Option<String>,
    /// Has an effect only in a skill.
    pub once: bool,
    pub on_failure: HandlerFailure,
}

/// What happens when a handler gives no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandlerFailure {
    /// The problem is reported and the action continues.
    Continue,
    /// The action, if there is one, is blocked (`failClosed` of a handler, `onFailure` of a host).
    Block,
    /// The host did not specify it: like `Continue`, but a timeout or cancellation blocks tool calls and prompts.
    Unsaid,
}

#[derive(Clone, Debug, PartialEq)]
pub enum HandlerKind {
    Command(CommandHandler),
    Http(HttpHandler),
    McpTool(McpToolHandler),
    Prompt(ModelHandler),
    Agent(ModelHandler),
    /// A callback of the host.
    Callback {
        id: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandHandler {
    pub command: String,
    /// If present, even empty, no shell is used.
    pub args: Option<Vec<String>>,
    pub shell: HookShell,
    pub detachment: HandlerDetachment,
    /// Text that precedes the handler's output when it wakes the model.
    pub rewake_message: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookShell {
    Posix,
    PowerShell,
}

/// Whether the turn waits for a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandlerDetachment {
    Awaited,
    /// `async`
    Detached,
    /// `asyncRewake`
    Rewakes,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpHandler {
    pub url: String,
    pub headers: BTreeMap<String, String>,
    pub allowed_variables: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct McpToolHandler {
    pub server: String,
    pub tool: String,
    pub input: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelHandler {
    pub prompt: String,
    pub model: Option<String>,
    pub continue_on_block: bool,
}

impl HandlerKind {
    /// The value of the `type` field.
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

    /// The command, address or prompt in one line.
    pub fn text(&self) -> String {
        match self {
            Self::Command(CommandHandler { command, args: Some(args), .. }) => {
                std::iter::once(command).chain(args).cloned().collect::<Vec<_>>().join(" ")
            }
            Self::Command(CommandHandler { command, args: None, .. }) => command.clone(),
            Self::Http(http) => http.url.clone(),
            Self::McpTool(tool) => format!("{}/{}", tool.server, tool.tool),
            Self::Prompt(ask) | Self::Agent(ask) => ask.prompt.clone(),
            Self::Callback { id } => id.clone(),
        }
    }

    pub(crate) fn fits(&self, event: HookEventName) -> bool {
        match (event.facts().handlers, self) {
            (HandlerSupport::All, _)
            | (_, Self::Command(_) | Self::McpTool(_) | Self::Callback { .. })
            | (HandlerSupport::NoAgent, Self::Http(_) | Self::Prompt(_))
            | (HandlerSupport::NoModel, Self::Http(_)) => true,
            (HandlerSupport::NoAgent, Self::Agent(_))
            | (HandlerSupport::NoModel, Self::Prompt(_) | Self::Agent(_))
            | (HandlerSupport::Local, Self::Http(_) | Self::Prompt(_) | Self::Agent(_)) => false,
        }
    }
}

/// Reads a handler; the error says what is wrong with it.
pub(crate) fn handler(value: &Value) -> Result<HookHandler, String> {
    let Value::Object(fields) = value else { return Err("a handler must be an object".into()) };
    let fields = HandlerFields(fields);
    let kind = match fields.text("type")?.as_deref() {
        Some("command") => HandlerKind::Command(command(&fields)?),
        Some("http") => HandlerKind::Http(http(&fields)?),
        Some("mcp_tool") => HandlerKind::McpTool(mcp_tool(&fields)?),
        Some("prompt") => HandlerKind::Prompt(ask(&fields)?),
        Some("agent") => HandlerKind::Agent(ask(&fields)?),
        Some(other) => return Err(format!("type {other:?} is not known")),
        None => return Err("type is missing".into()),
    };
    Ok(HookHandler {
        kind,
        condition: fields.text("if")?,
        timeout: fields.seconds("timeout")?,
        status_message: fields.text("statusMessage")?,
        once: fields.flag("once")?,
        on_failure: if fields.flag("failClosed")? { HandlerFailure::Block } else { HandlerFailure::Continue },
    })
}

/// Reads a group of a host, which lists callbacks by id.
pub(crate) fn callbacks(group: &Value) -> Result<Vec<HookHandler>, String> {
    let Value::Object(fields) = group else { return Err("a group must be an object".into()) };
    let fields = HandlerFields(fields);
    let ids = fields.texts("hookCallbackIds")?.ok_or("hookCallbackIds is missing")?;
    let on_failure = match fields.text("onFailure")?.as_deref() {
        None => HandlerFailure::Unsaid,
        Some("continue") => HandlerFailure::Continue,
        Some("block") => HandlerFailure::Block,
        Some(other) => return Err(format!("onFailure must be \"continue\" or \"block\", not {other:?}")),
    };
    let timeout = fields.seconds("timeout")?;
    let handler = |id| HookHandler {
        kind: HandlerKind::Callback { id },
        condition: None,
        timeout,
        status_message: None,
        once: false,
        on_failure,
    };
    Ok(ids.into_iter().map(handler).collect())
}

fn command(fields: &HandlerFields<'_>) -> Result<CommandHandler, String> {
    let detachment = match (fields.flag("asyncRewake")?, fields.flag("async")?) {
        (true, _) => HandlerDetachment::Rewakes,
        (false, true) => HandlerDetachment::Detached,
        (false, false) => HandlerDetachment::Awaited,
    };
    let shell = match fields.text("shell")?.as_deref() {
        None | Some("bash") => HookShell::Posix,
        Some("powershell") => HookShell::PowerShell,
        Some(other) => return Err(format!("shell {other:?} is not known; use bash or powershell")),
    };
    let command = fields.required("command")?;
    Ok(CommandHandler {
        command,
        args: fields.texts("args")?,
        shell,
        detachment,
        rewake_message: fields.text("rewakeMessage")?,
    })
}

fn http(fields: &HandlerFields<'_>) -> Result<HttpHandler, String> {
    let headers = match fields.0.get("headers") {
        None | Some(Value::Null) => BTreeMap::new(),
        Some(Value::Object(headers)) => {
            let text = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
            headers.iter().map(text).collect::<Option<_>>().ok_or("headers must hold strings")?
        }
        Some(_) => return Err("headers must be an object".into()),
    };
    let allowed_variables = fields.texts("allowedEnvVars")?.unwrap_or_default();
    Ok(HttpHandler { url: fields.required("url")?, headers, allowed_variables })
}

fn mcp_tool(fields: &HandlerFields<'_>) -> Result<McpToolHandler, String> {
    let input = match fields.0.get("input") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(input)) => input.clone(),
        Some(_) => return Err("input must be an object".into()),
    };
    Ok(McpToolHandler { server: fields.required("server")?, tool: fields.required("tool")?, input })
}

fn ask(fields: &HandlerFields<'_>) -> Result<ModelHandler, String> {
    Ok(ModelHandler {
        prompt: fields.required("prompt")?,
        model: fields.text("model")?,
        continue_on_block: fields.flag("continueOnBlock")?,
    })
}

struct HandlerFields<'a>(&'a Map<String, Value>);

impl HandlerFields<'_> {
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
