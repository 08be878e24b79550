//! `permissions explain|lint|test`: what a session started here would decide, and why. Reads settings, runs nothing.

use crate::option_words::OptionWords;
use config::{ConfigLoader, ProjectConfig, SettingsSelection};
use permission::{
    Access, DecisionExplanation, DecisionReason, ExplainedPart, PermissionQuery, Policy, SessionDirectories, lint,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use sys::Env;
use tools::Workspace;
use wire::counting::counted;
use wire::mode::PermissionMode;
use wire::settings::{RuleBehaviour, SettingsSource};

/// Most bytes of a table of expected decisions.
const MAX_TABLE_BYTES: usize = 10 << 20;

pub(crate) const USAGE: &str = "Usage: gimlet permissions <command> [options]

Commands:
  explain <COMMAND>               how a shell command would be decided, part by part
  explain <TOOL> --input <JSON>   how a tool call would be decided
  explain                         the same for JSON lines on stdin: {\"tool\":…,\"input\":{…}}
  lint                            rules that never match, are shadowed, or are wider than they look
  test <FILE>                     check a table of expected decisions; exit 1 when one differs

Options:
  --json             one JSON object per answer
  --mode <MODE>      default, acceptEdits, plan, auto, dontAsk or bypassPermissions
  --settings <FILE>  further settings: a file or JSON text
  --cwd <DIR>        decide as a session started in DIR";

/// Returns the text to print and the exit code; an error is a wrong command line or unreadable settings.
pub(crate) fn run(rest: &[OsString], env: &Env, stdin: &mut dyn BufRead) -> Result<(String, u8), String> {
    let options = PermissionsArgs::parse(rest)?;
    let situation = || PermissionsContext::open(&options, env);
    match options.words.as_slice() {
        [word] if word == "help" => Ok((format!("{USAGE}\n"), 0)),
        [command] if command == "lint" => Ok(situation()?.lint(options.json)),
        [command, file] if command == "test" => situation()?.test(Path::new(file)),
        [command] if command == "explain" => situation()?.explain_lines(stdin),
        [command, what] if command == "explain" => {
            let situation = situation()?;
            let call = situation.call(what, options.input.as_deref())?;
            let answer = situation.explain(&call, situation.mode);
            Ok((situation.show(&answer, options.json), 0))
        }
        _ => Err(USAGE.into()),
    }
}

#[derive(Default)]
struct PermissionsArgs {
    words: Vec<String>,
    json: bool,
    input: Option<String>,
    mode: Option<PermissionMode>,
    settings: Option<String>,
    cwd: Option<PathBuf>,
}

impl PermissionsArgs {
    fn parse(rest: &[OsString]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut words = OptionWords::new(rest);
        while let Some(name) = words.next() {
            match name.as_str() {
                "--json" => options.json = true,
                "--help" | "-h" => return Ok(Self { words: vec!["help".into()], ..Self::default() }),
                "--input" => options.input = Some(words.needed_value(&name)?),
                "--settings" => options.settings = Some(words.needed_value(&name)?),
                "--cwd" => options.cwd = Some(words.needed_value(&name)?.into()),
                "--mode" | "--permission-mode" => options.mode = Some(parse_mode(&words.needed_value(&name)?)?),
                "--" => {
                    options.words.extend(words.into_rest());
                    break;
                }
                // The command to explain may itself begin with a dash.
                flag if flag.starts_with("--") && options.words.len() != 1 => {
                    return Err(format!("error: unknown option '{flag}'"));
                }
                _ => options.words.push(words.typed().to_owned()),
            }
        }
        Ok(options)
    }
}

fn parse_mode(text: &str) -> Result<PermissionMode, String> {
    let names = PermissionMode::NAMES.join(", ");
    PermissionMode::parse(text).ok_or(format!("error: unknown mode '{text}'. Known modes: {names}"))
}

/// A call to decide about.
struct CandidateCall {
    tool: String,
    input: String,
    accesses: Vec<Access>,
}

struct PermissionsContext {
    loaded: ProjectConfig,
    mode: PermissionMode,
    workspace: Workspace,
    env: Env,
}

impl PermissionsContext {
    fn open(options: &PermissionsArgs, env: &Env) -> Result<Self, String> {
        let here = sys::launch::cwd(env).unwrap_or_else(|_| PathBuf::from("/"));
        let cwd = options.cwd.as_ref().map_or(here.clone(), |dir| sys::real_path::path(&here.join(dir)));
        if !cwd.is_dir() {
            return Err(format!("Error: {} is not a directory", cwd.display()));
        }
        let selection = SettingsSelection { settings: options.settings.clone(), ..SettingsSelection::default() };
        let loaded = ConfigLoader::open(&cwd, env, &selection).map_err(|error| format!("Error: {error}"))?;
        let mode = options.mode.or(loaded.default_mode).unwrap_or(PermissionMode::Default);
        let workspace = Workspace {
            cwd: cwd.clone(),
            project: cwd,
            additional: loaded.additional_directories.clone(),
            home: env.home(),
        };
        Ok(Self { loaded, mode, workspace, env: env.clone() })
    }

    fn place(&self) -> SessionDirectories {
        let cwd = self.workspace.cwd.clone();
        SessionDirectories {
            roots: [cwd.clone()].into_iter().chain(self.workspace.additional.iter().cloned()).collect(),
            cwd,
            home: self.workspace.home.clone(),
            block_reads_outside: self.loaded.settings.permissions.block_reads_outside == Some(true),
            variables: engine::facts::variables(&self.env),
            undo_store: Some(store::Snapshots::at(store::StoreLayout::new(&self.env).home()).folder().to_path_buf()),
            runs_zsh: tools::bash::runs_zsh(&self.env),
            ..SessionDirectories::default()
        }
    }

    /// Interprets `what` as the name of a tool, or else as a shell command.
    fn call(&self, what: &str, input: Option<&str>) -> Result<CandidateCall, String> {
        let name = wire::names::canonical(what);
        let is_tool = name.starts_with("mcp__") || tools::builtin::all().iter().any(|tool| tool.spec().name == name);
        match input {
            Some(input) => self.tool_call(name, input),
            None if is_tool => {
                Ok(CandidateCall { tool: name.to_owned(), input: "{}".into(), accesses: vec![Access::Use] })
            }
            None => self.tool_call(tools::bash::NAME, &json!({ "command": what }).to_string()),
        }
    }

    fn tool_call(&self, name: &str, input: &str) -> Result<CandidateCall, String> {
        let name = wire::names::canonical(name);
        let raw: Box<RawValue> =
            serde_json::from_str(input).map_err(|error| format!("Error: the input of {name} is not JSON: {error}"))?;
        let tool = tools::builtin::all().into_iter().find(|tool| tool.spec().name == name);
        let accesses = match tool {
            Some(tool) => tool.parse(&raw).map_err(|error| format!("Error: {error}"))?.access(&self.workspace),
            None => vec![Access::Use],
        };
        Ok(CandidateCall { tool: name.to_owned(), input: input.to_owned(), accesses })
    }

    fn explain(&self, call: &CandidateCall, mode: PermissionMode) -> DecisionExplanation {
        let (policy, _) = Policy::new(mode, &self.loaded.rules, self.place(), &sys::real_path::path);
        let request = PermissionQuery::new(&call.tool, &call.accesses).with_input(&call.input);
        let cwd = self.workspace.cwd.clone();
        let facts = engine::facts::gather_with_repositories(&policy, &request, &cwd, &self.env);
        policy.explain(&request, &facts)
    }

    /// Prints one JSON object for each line, with or without `--json`.
    fn explain_lines(&self, stdin: &mut dyn BufRead) -> Result<(String, u8), String> {
        let mut out = String::new();
        let mut code = 0;
        for line in stdin.lines() {
            let line = line.map_err(|error| format!("Error: could not read stdin: {error}"))?;
            if line.trim().is_empty() {
                continue;
            }
            match self.line(&line) {
                Ok((answer, _)) => writeln!(out, "{}", self.json(&answer)).ok(),
                Err(message) => {
                    code = 1;
                    writeln!(out, "{}", json!({ "error": message })).ok()
                }
            };
        }
        Ok((out, code))
    }

    /// Explains one JSON line; also returns its `expect`, for test tables.
    fn line(&self, line: &str) -> Result<(DecisionExplanation, Option<String>), String> {
        let value: Value = serde_json::from_str(line).map_err(|error| format!("not a JSON object: {error}"))?;
        let tool = value.get("tool").and_then(Value::as_str).ok_or("the field `tool` is missing")?;
        let input = value.get("input").map_or_else(|| "{}".to_owned(), Value::to_string);
        let mode = match value.get("mode").and_then(Value::as_str) {
            Some(mode) => parse_mode(mode)?,
            None => self.mode,
        };
        let expected = ["expect", "decision"].into_iter().find_map(|key| value.get(key)?.as_str().map(str::to_owned));
        Ok((self.explain(&self.tool_call(tool, &input)?, mode), expected))
    }

    fn test(&self, file: &Path) -> Result<(String, u8), String> {
        let text = sys::fs::read_named_text(&self.workspace.cwd.join(file), MAX_TABLE_BYTES)
            .map_err(|error| format!("Error: could not read {}: {error}", file.display()))?;
        let (mut out, mut passed, mut failed) = (String::new(), 0, 0);
        for (index, line) in text.lines().enumerate().filter(|(_, line)| is_row(line)) {
            let (expected, answer) = self.row(line).map_err(|e| format!("{}:{}: {e}", file.display(), index + 1))?;
            let decided = answer.decision.as_str();
            if decided == expected {
                passed += 1;
                continue;
            }
            failed += 1;
            let why = self.describe(answer.decision.reason());
            let at = format!("{}:{}", file.display(), index + 1);
            writeln!(out, "{at}: expected {expected}, got {decided} ({why})\n    {}", line.trim()).ok();
        }
        writeln!(out, "{passed} passed, {failed} failed").ok();
        Ok((out, u8::from(failed > 0)))
    }

    /// A row of a test table: `allow git status`, or a JSON line with `expect`.
    fn row(&self, line: &str) -> Result<(String, DecisionExplanation), String> {
        let line = line.trim();
        if line.starts_with('{') {
            let (answer, expected) = self.line(line)?;
            return Ok((expected.ok_or("the field `expect` is missing")?, answer));
        }
        let (expected, command) = line.split_once(char::is_whitespace).ok_or("a row is a decision and a command")?;
        if !matches!(expected, "allow" | "ask" | "deny") {
            return Err(format!("'{expected}' is not allow, ask or deny"));
        }
        let call = self.tool_call(tools::bash::NAME, &json!({ "command": command.trim() }).to_string())?;
        Ok((expected.to_owned(), self.explain(&call, self.mode)))
    }

    fn lint(&self, as_json: bool) -> (String, u8) {
        let findings = lint::lint(&self.loaded.rules, &self.place(), &sys::real_path::path);
        let mut out = String::new();
        for finding in &findings {
            let at = self.locate(&finding.rule, finding.source);
            let behaviour = behaviour(finding.behaviour);
            let (kind, message) = (finding.problem.as_str(), &finding.message);
            if as_json {
                let line = json!({
                    "rule": finding.rule, "behavior": behaviour, "source": finding.source.as_str(),
                    "file": at.as_ref().map(|(path, _)| path), "line": at.as_ref().and_then(|(_, line)| *line),
                    "problem": kind, "message": message,
                });
                writeln!(out, "{line}").ok();
            } else {
                let at = place_text(finding.source, at.as_ref());
                writeln!(out, "{at}: {behaviour} {}: {kind}: {message}", permission::escape_invisible(&finding.rule))
                    .ok();
            }
        }
        if !as_json && findings.is_empty() {
            writeln!(out, "{}, nothing to report", counted(self.loaded.rules.len(), "rule")).ok();
        }
        (out, u8::from(!findings.is_empty()))
    }

    fn show(&self, answer: &DecisionExplanation, as_json: bool) -> String {
        if as_json {
            return format!("{}\n", self.json(answer));
        }
        let decision = &answer.decision;
        let mut out = format!("{}: {}\n", decision.as_str(), self.describe(decision.reason()));
        for part in &answer.parts {
            let text = permission::escape_invisible(&part.text);
            writeln!(out, "  {:5}  {text}\n         {}", part.decision, self.describe(&part.reason)).ok();
        }
        if !self.loaded.trusted {
            out.push_str("Note: this folder is not trusted, so its own allow rules do not apply.\n");
        }
        out
    }

    fn json(&self, answer: &DecisionExplanation) -> Value {
        let mut value = self.reason(answer.decision.as_str(), answer.decision.reason());
        let part = |part: &ExplainedPart| {
            let mut value = self.reason(part.decision, &part.reason);
            value["command"] = json!(part.text);
            value
        };
        value["parts"] = answer.parts.iter().map(part).collect();
        value
    }

    fn reason(&self, decision: &str, reason: &DecisionReason) -> Value {
        let mut value = json!({ "decision": decision, "reason": reason.describe(), "rule": null, "source": null });
        if let DecisionReason::Rule { text, source } = reason {
            value["rule"] = json!(text);
            value["source"] = json!(source.as_str());
            if let Some((path, line)) = self.locate(text, *source) {
                value["file"] = json!(path);
                value["line"] = json!(line);
            }
        }
        value
    }

    fn describe(&self, reason: &DecisionReason) -> String {
        match reason {
            DecisionReason::Rule { text, source } => {
                let at = self.locate(text, *source);
                format!("rule {} ({})", permission::escape_invisible(text), place_text(*source, at.as_ref()))
            }
            other => other.describe(),
        }
    }

    /// The file and line of a rule.
    fn locate(&self, rule: &str, source: SettingsSource) -> Option<(PathBuf, Option<usize>)> {
        let written = serde_json::to_string(rule).ok()?;
        let files = self.loaded.layers.iter().filter(|layer| layer.source == source).filter_map(|layer| {
            let path = layer.path.clone()?;
            let text = std::fs::read_to_string(&path).ok()?;
            Some((path, text.lines().position(|line| line.contains(&written)).map(|index| index + 1)))
        });
        let mut files: Vec<_> = files.collect();
        sys::compact_sort::sort_by_key(&mut files, |(_, line)| line.is_none());
        files.into_iter().next()
    }
}

fn is_row(line: &str) -> bool {
    !line.trim().is_empty() && !line.trim_start().starts_with('#')
}

fn behaviour(behaviour: RuleBehaviour) -> &'static str {
    match behaviour {
        RuleBehaviour::Allow => "allow",
        RuleBehaviour::Ask => "ask",
        RuleBehaviour::Deny => "deny",
    }
}

fn place_text(source: SettingsSource, at: Option<&(PathBuf, Option<usize>)>) -> String {
    match at {
        Some((path, Some(line))) => format!("{}:{line}", path.display()),
        Some((path, None)) => path.display().to_string(),
        None => source.as_str().to_owned(),
    }
}

#[cfg(test)]
#[path = "permissions_tests.rs"]
mod tests;
