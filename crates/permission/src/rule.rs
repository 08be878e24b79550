//! Permission rules: list splitting, grammar and compilation. A rule that cannot be understood never allows anything,
//! and every rule that is set aside produces a warning.

use crate::path::{PathPattern, PatternAnchors};
use crate::shell::pattern::CommandPattern;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use wire::settings::{RuleBehaviour, RuleText, SettingsSource};

/// A compiled rule.
#[derive(Clone, Debug)]
pub struct PermissionRule {
    pub behaviour: RuleBehaviour,
    pub source: SettingsSource,
    /// As written.
    pub text: String,
    pub(crate) target: RuleTarget,
}

/// Something the user should hear about a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleWarning {
    pub rule: String,
    pub source: SettingsSource,
    pub problem: String,
}

impl std::fmt::Display for RuleWarning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Permission rule {} ({}): {}", self.rule, self.source.as_str(), self.problem)
    }
}

#[derive(Clone, Debug)]
pub(crate) enum RuleTarget {
    /// The tool whatever it does; the name may hold `*` in deny and ask rules.
    Tool(String),
    Command(CommandPattern),
    Read(PathPattern),
    Edit(PathPattern),
    Domain(String),
    /// `Agent(type)`.
    Agent(String),
    /// `Skill(name)`, or `Skill(name *)`: with any arguments.
    Skill {
        name: String,
        any_arguments: bool,
    },
    /// `Tool(field:value)`.
    Parameter(InputFieldRule),
    /// A specifier that is not judged yet. Deny and ask take it for the whole tool; such an allow rule is not kept.
    Unjudged(String),
}

/// One top-level field of a tool's input; `*` in the value stands for any run of characters.
#[derive(Clone, Debug)]
pub(crate) struct InputFieldRule {
    pub(crate) tool: String,
    pub(crate) field: String,
    pub(crate) value: String,
}

/// Splits a list of rules at commas and blanks outside parentheses.
pub fn split_list(list: &str) -> Vec<String> {
    let mut rules = Vec::new();
    let mut current = String::new();
    let mut depth = 0_u32;
    let mut escaped = false;
    for c in list.chars() {
        let separator = depth == 0 && (c == ',' || c.is_whitespace());
        if separator {
            push_rule(&mut rules, &mut current);
        } else {
            match c {
                '(' if !escaped => depth += 1,
                ')' if !escaped => depth = depth.saturating_sub(1),
                _ => {}
            }
            current.push(c);
        }
        escaped = c == '\\' && !escaped;
    }
    push_rule(&mut rules, &mut current);
    rules
}

fn push_rule(rules: &mut Vec<String>, current: &mut String) {
    if !current.is_empty() {
        rules.push(std::mem::take(current));
    }
}

/// The tool name and the specifier of a rule; `Tool(*)` and `Tool()` are the bare tool.
pub fn split_rule(text: &str) -> Result<(&str, Option<&str>), &'static str> {
    let text = text.trim();
    let Some(open) = text.find('(') else {
        return if text.is_empty() || text.contains([')', ' ']) { Err("it is malformed") } else { Ok((text, None)) };
    };
    let Some(inner) = text[open + 1..].strip_suffix(')') else { return Err("its closing parenthesis is missing") };
    let name = text[..open].trim_end();
    if name.is_empty() {
        return Err("it names no tool");
    }
    Ok((name, Some(inner).filter(|spec| !matches!(spec.trim(), "" | "*"))))
}

/// Why a rule grants or forbids nothing, if it is set aside. The reason is the same that `compile` warns with.
pub fn ignored_reason(text: &RuleText, cwd: &Path, home: Option<&Path>) -> Option<String> {
    let mut warnings = Vec::new();
    let around = RuleContext { cwd, home, resolve: &Path::to_path_buf };
    match compile(text, &around, &mut warnings) {
        Some(_) => None,
        None => warnings.pop().map(|warning| warning.problem),
    }
}

/// What all rules of a session share.
pub(crate) struct RuleContext<'a> {
    pub(crate) cwd: &'a Path,
    pub(crate) home: Option<&'a Path>,
    pub(crate) resolve: &'a dyn Fn(&Path) -> PathBuf,
}

pub(crate) fn compile(
    text: &RuleText,
    around: &RuleContext<'_>,
    warnings: &mut Vec<RuleWarning>,
) -> Option<PermissionRule> {
    let mut warn = |problem: String| {
        warnings.push(RuleWarning { rule: text.text.clone(), source: text.source, problem });
    };
    let anchors = PatternAnchors { cwd: around.cwd, home: around.home, root: &text.root, resolve: around.resolve };
    let target = match target(text, anchors, &mut warn) {
        Ok(target) => target,
        Err(problem) => {
            warn(format!("{problem}; the rule is ignored"));
            return None;
        }
    };
    Some(PermissionRule { behaviour: text.behaviour, source: text.source, text: text.text.clone(), target })
}

fn target(text: &RuleText, anchors: PatternAnchors<'_>, warn: &mut dyn FnMut(String)) -> Result<RuleTarget, String> {
    let (name, spec) = split_rule(&text.text)?;
    let name = wire::names::canonical(name);
    let allow = text.behaviour == RuleBehaviour::Allow;
    if !allow && is_unknown(name) {
        warn(format!("there is no tool called {name}"));
    }
    let Some(spec) = spec else {
        // Empty parentheses are taken for a missing specifier; only a bare name grants the whole tool.
        if allow && has_empty_specifier(&text.text) {
            return Err(format!("its parentheses are empty: write {name} for every use, or what is allowed inside"));
        }
        return whole_tool(name, allow);
    };
    if matches!(name, "Read" | "Edit") {
        warn_if_absolute(spec, warn);
    }
    if let Some((field, value)) = parameter(name, spec) {
        if allow {
            return Err("the form Tool(field:value) works in deny and ask rules only".into());
        }
        if CONTENT_FIELDS.contains(&field) {
            return Err(format!("the field {field} cannot be used here; write the plain form of the rule"));
        }
        let (tool, field, value) = (name.to_owned(), field.to_owned(), value.to_owned());
        return Ok(RuleTarget::Parameter(InputFieldRule { tool, field, value }));
    }
    let path = |spec: &str| PathPattern::compile(spec, text.behaviour, anchors);
    match name {
        "Bash" | "Monitor" => Ok(RuleTarget::Command(CommandPattern::parse(&unescape(spec)))),
        "Read" => path(spec).map(RuleTarget::Read),
        "Edit" => path(spec).map(RuleTarget::Edit),
        "Write" | "NotebookEdit" | "MultiEdit" if allow => Err(format!("paths are matched by Edit({spec}) only")),
        "Glob" | "Grep" if allow => Err(format!("paths are matched by Read({spec}) only")),
        "Write" | "NotebookEdit" | "MultiEdit" => {
            warn(format!("it is taken as Edit({spec})"));
            path(spec).map(RuleTarget::Edit)
        }
        "Glob" | "Grep" => {
            warn(format!("it is taken as Read({spec})"));
            path(spec).map(RuleTarget::Read)
        }
        "WebFetch" => match spec.trim().strip_prefix("domain:") {
            Some(domain) => Ok(RuleTarget::Domain(domain.trim().to_owned())),
            None => Err("WebFetch rules have the form WebFetch(domain:host)".into()),
        },
        "Agent" => Ok(RuleTarget::Agent(spec.trim().to_owned())),
        "Skill" => {
            let spec = spec.trim();
            let prefix = spec.strip_suffix(" *").or_else(|| spec.strip_suffix(":*"));
            Ok(RuleTarget::Skill { name: prefix.unwrap_or(spec).trim().to_owned(), any_arguments: prefix.is_some() })
        }
        _ if allow => Err(format!("{name} takes no specifier here")),
        _ => Ok(RuleTarget::Unjudged(name.to_owned())),
    }
}

/// Fields that hold what the plain forms judge.
const CONTENT_FIELDS: &[&str] = &["command", "file_path", "path", "notebook_path", "url"];
/// Fields of Bash; any other word before a colon is part of a command (`npm:*`).
const BASH_FIELDS: &[&str] = &["command", "timeout", "description", "run_in_background", "dangerouslyDisableSandbox"];

/// The field and value of a `Tool(field:value)` specifier.
fn parameter<'a>(tool: &str, spec: &'a str) -> Option<(&'a str, &'a str)> {
    let (field, value) = spec.split_once(':')?;
    let (field, value) = (field.trim(), value.trim());
    let is_name = !field.is_empty() && field.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
    let fits = match tool {
        "Bash" | "Monitor" => BASH_FIELDS.contains(&field),
        "Read" | "Edit" | "Write" | "NotebookEdit" | "MultiEdit" | "Glob" | "Grep" => CONTENT_FIELDS.contains(&field),
        "WebFetch" => field != "domain",
        // Any other word is the folder of a command: `Skill(folder:name)`.
        "Skill" => ["skill", "args"].contains(&field) && value != "*",
        _ => true,
    };
    (is_name && fits && !value.is_empty()).then_some((field, value))
}

/// Tool names a rule may use; a deny or ask rule with another name gets a warning.
#[rustfmt::skip]
const TOOLS: &[&str] = &[
    "Agent", "AskUserQuestion", "Bash", "Monitor", "PowerShell", "Edit", "MultiEdit", "Write", "NotebookEdit", "Read",
    "Glob", "Grep", "LS", "LSP", "WebFetch", "WebSearch", "TodoWrite", "TodoRead", "Skill", "SlashCommand", "ExitPlanMode",
    "EnterPlanMode", "TaskOutput", "TaskStop", "BashOutput", "KillShell", "KillBash", "TaskCreate", "TaskGet", "TaskList",
    "TaskUpdate", "StructuredOutput", "ToolSearch", "Recall", "NotebookRead", "ListMcpResources", "ReadMcpResource", "Cd", "Config",
    "EnterWorktree", "ExitWorktree", "SendMessage", "Sleep", "EndConversation",
    "CronCreate", "CronDelete", "CronList", "ListMcpResourcesTool", "ReadMcpResourceTool", "AgentOutput",
];

fn is_unknown(name: &str) -> bool {
    !name.contains(['_', '*']) && !TOOLS.contains(&name)
}

fn has_empty_specifier(text: &str) -> bool {
    text.trim()
        .split_once('(')
        .is_some_and(|(_, rest)| rest.strip_suffix(')').is_some_and(|spec| spec.trim().is_empty()))
}

fn whole_tool(name: &str, allow: bool) -> Result<RuleTarget, String> {
    let anchored = match name.strip_prefix("mcp__") {
        // `mcp__*` names every server on purpose.
        Some("*") => true,
        Some(rest) => !rest.is_empty() && !rest.split("__").next().unwrap_or_default().contains('*'),
        None => !name.contains('*'),
    };
    if allow && !anchored {
        return Err("an allow rule must name its tool, or its MCP server, in full".into());
    }
    Ok(RuleTarget::Tool(name.to_owned()))
}

/// A single leading slash is not the file-system root; users who meant it deserve a word.
fn warn_if_absolute(spec: &str, warn: &mut dyn FnMut(String)) {
    let suspicious = ["/Users/", "/home/", "/etc/", "/var/", "/tmp/", "/usr/", "/opt/", "/root/"];
    if !spec.starts_with("//") && suspicious.iter().any(|start| spec.starts_with(start)) {
        warn(format!("a single leading slash means the directory of the settings; write /{spec} for an absolute path"));
    }
}

fn unescape(spec: &str) -> String {
    spec.replace("\\(", "(").replace("\\)", ")")
}

impl PermissionRule {
    /// Whether the rule covers every use of `tool`. Bare names are literal: `Edit` says nothing about `Write`.
    pub(crate) fn covers_tool(&self, tool: &str) -> bool {
        let RuleTarget::Tool(name) = &self.target else { return false };
        names_tool(name, tool)
    }

    /// Whether the rule is about this tool, whatever its input.
    pub(crate) fn names(&self, tool: &str) -> bool {
        match &self.target {
            RuleTarget::Tool(name) => names_tool(name, tool),
            RuleTarget::Parameter(parameter) => names_tool(&parameter.tool, tool),
            RuleTarget::Agent(_) => tool == "Agent",
            RuleTarget::Skill { .. } => tool == "Skill",
            RuleTarget::Unjudged(name) => name == tool,
            RuleTarget::Command(_) | RuleTarget::Read(_) | RuleTarget::Edit(_) | RuleTarget::Domain(_) => false,
        }
    }

    /// Whether the rule covers this call by its input. Without an input, deny and ask take it for the whole tool.
    pub(crate) fn covers_input(&self, tool: &str, input: Option<&ScalarInput>) -> bool {
        let allow = self.behaviour == RuleBehaviour::Allow;
        let named = match &self.target {
            RuleTarget::Agent(_) | RuleTarget::Skill { .. } | RuleTarget::Parameter(_) => self.names(tool),
            RuleTarget::Unjudged(name) => return !allow && name == tool,
            RuleTarget::Tool(_)
            | RuleTarget::Command(_)
            | RuleTarget::Read(_)
            | RuleTarget::Edit(_)
            | RuleTarget::Domain(_) => false,
        };
        let Some(input) = input else { return named && !allow };
        named && self.fits_input(input, allow)
    }

    fn fits_input(&self, input: &ScalarInput, allow: bool) -> bool {
        match &self.target {
            RuleTarget::Agent(kind) => {
                let default = (input.text("subagent_type").is_none()).then_some("general-purpose");
                let fields =
                    ["agent_type", "name"].into_iter().filter(|_| !allow).filter_map(|field| input.text(field));
                let mut names = input.text("subagent_type").into_iter().chain(default).chain(fields);
                names.any(|name| if allow { name == kind } else { name.eq_ignore_ascii_case(kind) })
            }
            RuleTarget::Skill { name, any_arguments } => {
                let called = ["skill", "command", "name"].into_iter().find_map(|field| input.text(field)).unwrap_or("");
                let called = called.trim_start_matches('/');
                let (called, inline) = called.split_once(' ').unwrap_or((called, ""));
                let plain = inline.is_empty() && input.text("args").unwrap_or("").is_empty();
                // A deny or ask for the skill holds with arguments too, and by whichever of its names it is called.
                if allow { called == name && (*any_arguments || plain) } else { is_same_skill(called, name) }
            }
            RuleTarget::Parameter(parameter) => {
                let value = input.text(&parameter.field);
                value.is_some_and(|value| crate::shell::pattern::wildcard(&parameter.value, value))
            }
            RuleTarget::Tool(_)
            | RuleTarget::Command(_)
            | RuleTarget::Read(_)
            | RuleTarget::Edit(_)
            | RuleTarget::Domain(_)
            | RuleTarget::Unjudged(_) => false,
        }
    }
}

/// A command in a folder has two names: `folder:name` and `name`.
fn is_same_skill(called: &str, named: &str) -> bool {
    let belongs = |long: &str, short: &str| long.strip_suffix(short).is_some_and(|rest| rest.ends_with(':'));
    called == named || belongs(called, named) || belongs(named, called)
}

/// The top-level scalars of a call's input, as texts.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScalarInput(BTreeMap<String, String>);

impl ScalarInput {
    /// An input that is not an object has no fields.
    pub(crate) fn read(json: &str) -> Self {
        let fields: BTreeMap<String, serde_json::Value> = serde_json::from_str(json).unwrap_or_default();
        let text = |value: serde_json::Value| match value {
            serde_json::Value::String(text) => Some(text),
            serde_json::Value::Bool(flag) => Some(flag.to_string()),
            serde_json::Value::Number(number) => Some(number.to_string()),
            serde_json::Value::Null | serde_json::Value::Array(_) | serde_json::Value::Object(_) => None,
        };
        Self(fields.into_iter().filter_map(|(name, value)| Some((name, text(value)?))).collect())
    }

    fn text(&self, field: &str) -> Option<&str> {
        self.0.get(field).map(String::as_str)
    }
}

fn names_tool(name: &str, tool: &str) -> bool {
    if name == tool {
        return true;
    }
    if let Some(server) = name.strip_prefix("mcp__").filter(|rest| !rest.contains("__")) {
        let prefix = format!("mcp__{server}__");
        return crate::shell::pattern::wildcard(&format!("{prefix}*"), tool);
    }
    name.contains('*') && crate::shell::pattern::wildcard(name, tool)
}

#[cfg(test)]
#[path = "rule_tests.rs"]
mod tests;
