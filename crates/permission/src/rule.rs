//! Permission rules: list splitting, grammar and compilation. A rule that cannot be understood never allows anything,
//! and every rule that is set aside produces a warning.

use crate::path::{Anchors, PathPattern};
use crate::shell::pattern::CommandPattern;
use std::path::{Path, PathBuf};
use wire::settings::{Behaviour, RuleText, Source};

/// A compiled rule.
#[derive(Clone, Debug)]
pub struct Rule {
    pub behaviour: Behaviour,
    pub source: Source,
    /// As written.
    pub text: String,
    pub(crate) target: Target,
}

/// Something the user should hear about a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    pub rule: String,
    pub source: Source,
    pub problem: String,
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Permission rule {} ({}): {}", self.rule, self.source.as_str(), self.problem)
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// The tool whatever it does; the name may hold `*` in deny and ask rules.
    Tool(String),
    Command(CommandPattern),
    Read(PathPattern),
    Edit(PathPattern),
    Domain(String),
    /// A specifier that is not judged yet. Deny and ask take it for the whole tool; such an allow rule is not kept.
    Unjudged(String),
}

/// Splits a list of rules at commas and blanks that stand outside parentheses.
pub fn split(list: &str) -> Vec<String> {
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
pub fn parts(text: &str) -> Result<(&str, Option<&str>), &'static str> {
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

/// What all rules of a session share.
pub(crate) struct Surroundings<'a> {
    pub(crate) cwd: &'a Path,
    pub(crate) home: Option<&'a Path>,
    pub(crate) resolve: &'a dyn Fn(&Path) -> PathBuf,
}

pub(crate) fn compile(text: &RuleText, around: &Surroundings<'_>, warnings: &mut Vec<Warning>) -> Option<Rule> {
    let mut warn = |problem: String| {
        warnings.push(Warning { rule: text.text.clone(), source: text.source, problem });
    };
    let anchors = Anchors { cwd: around.cwd, home: around.home, root: &text.root, resolve: around.resolve };
    let target = match target(text, anchors, &mut warn) {
        Ok(target) => target,
        Err(problem) => {
            warn(format!("{problem}; the rule is ignored"));
            return None;
        }
    };
    Some(Rule { behaviour: text.behaviour, source: text.source, text: text.text.clone(), target })
}

fn target(text: &RuleText, anchors: Anchors<'_>, warn: &mut dyn FnMut(String)) -> Result<Target, String> {
    let (name, spec) = parts(&text.text)?;
    let name = wire::names::canonical(name);
    let allow = text.behaviour == Behaviour::Allow;
    let Some(spec) = spec else { return whole_tool(name, allow) };
    if matches!(name, "Read" | "Edit") {
        warn_if_absolute(spec, warn);
    }
    let path = |spec: &str| PathPattern::compile(spec, text.behaviour, anchors);
    match name {
        "Bash" | "Monitor" => Ok(Target::Command(CommandPattern::parse(&unescape(spec)))),
        "Read" => path(spec).map(Target::Read),
        "Edit" => path(spec).map(Target::Edit),
        "Write" | "NotebookEdit" | "MultiEdit" if allow => Err(format!("paths are matched by Edit({spec}) only")),
        "Glob" | "Grep" if allow => Err(format!("paths are matched by Read({spec}) only")),
        "Write" | "NotebookEdit" | "MultiEdit" => {
            warn(format!("it is taken as Edit({spec})"));
            path(spec).map(Target::Edit)
        }
        "Glob" | "Grep" => {
            warn(format!("it is taken as Read({spec})"));
            path(spec).map(Target::Read)
        }
        "WebFetch" => match spec.trim().strip_prefix("domain:") {
            Some(domain) => Ok(Target::Domain(domain.trim().to_owned())),
            None => Err("WebFetch rules have the form WebFetch(domain:host)".into()),
        },
        _ if allow => Err(format!("{name} takes no specifier here")),
        _ => Ok(Target::Unjudged(name.to_owned())),
    }
}

fn whole_tool(name: &str, allow: bool) -> Result<Target, String> {
    let anchored = match name.strip_prefix("mcp__") {
        Some(rest) => !rest.is_empty() && !rest.split("__").next().unwrap_or_default().contains('*'),
        None => !name.contains('*'),
    };
    if allow && !anchored {
        return Err("an allow rule must name its tool, or its MCP server, in full".into());
    }
    Ok(Target::Tool(name.to_owned()))
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

impl Rule {
    /// Whether the rule covers every use of `tool`. Bare names are literal: `Edit` says nothing about `Write`.
    pub(crate) fn covers_tool(&self, tool: &str) -> bool {
        let Target::Tool(name) = &self.target else { return false };
        names_tool(name, tool)
    }

    /// Whether the rule names `tool` with a specifier we do not judge.
    pub(crate) fn may_cover(&self, tool: &str) -> bool {
        matches!(&self.target, Target::Unjudged(name) if name == tool)
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
