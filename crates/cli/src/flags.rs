//! The flag table: one row per flag. Parser, help and completions are derived from it; adding a flag is adding a row.
//!
//! A row either has an effect (`Set`, `Check`), is accepted without effect because hosts send it (`Ignored`), or is
//! refused because ignoring it would silently do something else (`Refused`).

use crate::args::{Args, FormatFlag, split_list, split_rules};
use config::TrustChoice;
use engine::{SettingSource, ThinkingOption, WorktreeChoice};
use std::path::PathBuf;
use wire::mode::PermissionMode;

pub(crate) struct CliFlag {
    pub(crate) long: &'static str,
    pub(crate) short: Option<char>,
    pub(crate) aliases: &'static [&'static str],
    pub(crate) kind: FlagKind,
    /// Shown in help and error messages.
    pub(crate) value: &'static str,
    pub(crate) help: &'static str,
    pub(crate) group: FlagGroup,
    pub(crate) effect: FlagEffect,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlagKind {
    Switch,
    /// One value; the last one given wins. The value may start with a dash.
    One,
    /// A value or none; a separate word is the value only if it does not start with a dash.
    Optional,
    /// A value only in the `--flag=value` form.
    OptionalEquals,
    /// All following words up to the next flag; repeatable.
    Greedy,
    /// One value each time; all are kept.
    Repeat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlagGroup {
    Run,
    Session,
    Model,
    Tools,
    Config,
    Diagnosis,
    Hidden,
}

impl FlagGroup {
    pub(crate) fn heading(self) -> &'static str {
        match self {
            Self::Run => "Running",
            Self::Session => "Sessions",
            Self::Model => "Model and prompt",
            Self::Tools => "Tools and permissions",
            Self::Config => "Configuration",
            Self::Diagnosis => "Debugging",
            Self::Hidden => "",
        }
    }
}

/// What a flag does with its values (none for a switch).
pub(crate) enum FlagEffect {
    Set(fn(&mut Args, Vec<String>)),
    /// Like `Set`, for values that can be wrong; the error names what is allowed.
    Check(fn(&mut Args, Vec<String>) -> Result<(), String>),
    Ignored,
    Refused(&'static str),
}

use FlagEffect::{Check, Ignored, Refused, Set};
use FlagGroup::{Config, Diagnosis, Hidden, Model, Run, Session, Tools};
use FlagKind::{Greedy, One, Optional, OptionalEquals, Repeat, Switch};

const fn row(
    long: &'static str,
    kind: FlagKind,
    value: &'static str,
    group: FlagGroup,
    help: &'static str,
    effect: FlagEffect,
) -> CliFlag {
    CliFlag { long, short: None, aliases: &[], kind, value, help, group, effect }
}

/// A flag that hosts send and that has no effect here.
const fn ignored(long: &'static str, kind: FlagKind) -> CliFlag {
    row(long, kind, "value", Hidden, "", Ignored)
}

const fn refused(long: &'static str, kind: FlagKind, why: &'static str) -> CliFlag {
    row(long, kind, "value", Hidden, "", Refused(why))
}

impl CliFlag {
    const fn short(mut self, short: char) -> Self {
        self.short = Some(short);
        self
    }

    const fn alias(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// Such as `--model <model>`, for error messages.
    pub(crate) fn label(&self) -> String {
        let Self { long, value, .. } = self;
        match self.kind {
            Switch => format!("--{long}"),
            One | Repeat => format!("--{long} <{value}>"),
            Optional | OptionalEquals => format!("--{long} [{value}]"),
            Greedy => format!("--{long} <{value}...>"),
        }
    }
}

#[rustfmt::skip]
pub(crate) const FLAGS: &[CliFlag] = &[
    row("print", Switch, "", Run, "Print the answer and exit", Set(|a, _| a.print = true)).short('p'),
    row("output-format", One, "format", Run, "text (default), json or stream-json", Check(output_format)),
    row("input-format", One, "format", Run, "text (default) or stream-json", Check(input_format)),
    row("verbose", Switch, "", Run, "Every message, not only the answer; in the terminal, calls in full", Set(|a, _| a.verbose = true)),
    row("include-partial-messages", Switch, "", Run, "With stream-json: API events as they arrive", Set(|a, _| a.partial_messages = true)),
    row("replay-user-messages", Switch, "", Run, "With stream-json in and out: echo prompts", Set(|a, _| a.replay_user_messages = true)),
    row("json-schema", One, "schema", Run, "Answer with JSON that fits this schema", Set(|a, v| a.json_schema = last(v))),
    row("max-turns", One, "n", Run, "Stop after that many model steps", Check(max_turns)),
    row("wait-for-limits", Switch, "", Run, "Wait until a limit of the provider is lifted, then continue", Set(|a, _| a.options.limits.wait_for_limits = true)),
    row("max-turn-usd", One, "amount", Run, "Stop a turn when its estimated cost reaches this", Check(max_turn_usd)),
    row("max-budget-usd", One, "amount", Run, "Stop when the estimated cost reaches this", Check(max_budget)),

    row("continue", Switch, "", Session, "Continue the latest session of this directory", Set(|a, _| a.continue_last = true)).short('c'),
    row("resume", Optional, "id", Session, "Resume a session by id, the beginning of one, or title", Set(|a, v| a.resume = Some(last(v).unwrap_or_default()))).short('r'),
    row("fork-session", Switch, "", Session, "With --resume or --continue: under a new id", Set(|a, _| a.fork = true)),
    row("session-id", One, "uuid", Session, "Use this id for the session", Set(|a, v| a.session_id = last(v))),
    row("resume-session-at", One, "uuid", Session, "With --resume: only up to this message", Set(|a, v| a.options.conversation.resume_at = last(v))),
    row("resume-drops-turn", One, "uuid", Hidden, "", Check(drops_turn)),
    row("name", One, "text", Session, "Display name of the session", Set(name)).short('n'),
    row("worktree", Optional, "name", Session, "Work in a git worktree of its own, made if needed", Set(|a, v| a.options.conversation.worktree = Some(WorktreeChoice::Anywhere(last(v).unwrap_or_default())))).short('w'),
    row("no-session-persistence", Switch, "", Session, "Write no transcript", Set(|a, _| a.options.conversation.persist = false)),

    row("model", One, "model", Model, "Alias or full id", Set(|a, v| a.options.model.name = last(v))),
    row("fallback-model", One, "models", Model, "Comma list, tried in order when the model is unavailable", Set(fallback_model)),
    row("effort", One, "level", Model, "low, medium, high, xhigh or max", Check(effort)),
    row("thinking", One, "mode", Hidden, "", Check(thinking)),
    row("max-thinking-tokens", One, "n", Hidden, "", Check(max_thinking_tokens)),
    row("thinking-display", One, "how", Hidden, "", Check(thinking_display)),
    row("autocompact", One, "auto|tokens", Model, "Compact at this many tokens of context (500k), or auto", Check(autocompact)),
    row("task-budget", One, "tokens", Hidden, "", Check(task_budget)),
    row("betas", Greedy, "betas", Hidden, "", Set(|a, v| a.options.model.betas = v.iter().flat_map(|b| split_rules(b)).collect())),
    row("system-prompt", One, "text", Model, "Replace the system prompt", Set(|a, v| a.options.prompt.system = last(v))),
    row("system-prompt-file", One, "path", Model, "Replace the system prompt with a file", Set(|a, v| a.system_prompt_file = path(v))),
    row("append-system-prompt", One, "text", Model, "Add to the system prompt", Set(|a, v| a.options.prompt.append = last(v))),
    row("agent", One, "name", Model, "Run the session as this agent", Set(|a, v| a.options.agents.main = last(v))),
    row("agents", One, "json", Model, "More agent types, as a JSON object by name", Check(agents)),
    row("append-subagent-system-prompt", One, "text", Hidden, "", Set(|a, v| a.options.prompt.append_for_agents = last(v))),
    row("append-system-prompt-file", One, "path", Model, "Add a file to the system prompt", Set(|a, v| a.append_system_prompt_file = path(v))),

    row("allowedTools", Greedy, "rules", Tools, "Allow rules, e.g. \"Bash(git log *)\" Edit", Set(|a, v| a.options.permissions.allowed = rules(&v))).alias(&["allowed-tools"]),
    row("disallowedTools", Greedy, "rules", Tools, "Deny rules; a bare name removes the tool", Set(|a, v| a.options.permissions.denied = rules(&v))).alias(&["disallowed-tools"]),
    row("tools", Greedy, "tools", Tools, "Built-in tools to offer; \"\" for none, \"default\" for all", Set(tools)),
    row("permission-mode", One, "mode", Tools, "default, acceptEdits, plan, auto, dontAsk or bypassPermissions", Check(permission_mode)),
    row("dangerously-skip-permissions", Switch, "", Tools, "Bypass all permission checks", Set(|a, _| a.skip_permissions = true)),
    row("allow-dangerously-skip-permissions", Switch, "", Hidden, "", Set(|a, _| a.options.permissions.allow_bypass = true)),
    row("permission-prompt-tool", One, "tool", Hidden, "", Set(|a, v| a.options.permissions.prompt_tool = last(v))),
    row("add-dir", Greedy, "dirs", Tools, "More directories the tools may work in", Set(|a, v| a.options.permissions.directories = v.into_iter().map(PathBuf::from).collect())),

    row("settings", One, "file or json", Config, "More settings, from a file or as JSON", Set(|a, v| a.options.configuration.settings = last(v))),
    row("setting-sources", One, "list", Config, "Comma list of user, project, local", Check(setting_sources)),
    row("mcp-config", Greedy, "files", Config, "MCP servers, from files or as JSON", Set(|a, v| a.options.servers.declared = v)),
    row("strict-mcp-config", Switch, "", Config, "No MCP servers but those of --mcp-config", Set(|a, _| a.options.servers.is_strict = true)),
    row("trust-workspace", Switch, "", Config, "Trust this folder for this run only", Set(|a, _| a.options.configuration.trust = TrustChoice::Granted)),
    row("refuse-untrusted-code", Switch, "", Config, "Run nothing that an untrusted folder declares", Set(|a, _| a.options.configuration.trust = TrustChoice::StoredOrRefuse)),
    row("allow-external-imports", Switch, "", Config, "Instruction files may import from outside the project", Set(|a, _| a.options.configuration.external_imports = true)),
    row("disable-slash-commands", Switch, "", Config, "No skills or commands", Set(|a, _| a.options.configuration.disable_slash_commands = true)),
    row("bare", Switch, "", Config, "Minimal: no instruction files, three tools", Set(|a, _| a.options.configuration.bare = true)),
    row("ax-screen-reader", Switch, "", Config, "Flat output for screen readers", Set(|a, _| a.screen_reader = true)),
    row("safe-mode", Switch, "", Config, "No customisation at all", Set(|a, _| a.options.configuration.safe_mode = true)),

    row("record", One, "file", Diagnosis, "Record the model traffic to a cassette", Set(|a, v| a.options.cassette.record = path(v))),
    row("replay", One, "file", Diagnosis, "Answer from a cassette, without network", Set(|a, v| a.options.cassette.replay = path(v))),
    row("debug", OptionalEquals, "filter", Diagnosis, "Write a debug log, e.g. --debug=model,store", Set(|a, v| { a.debug.on = true; a.debug.filter = last(v); })),
    row("debug-file", One, "path", Diagnosis, "Write the debug log to this file", Set(|a, v| { a.debug.on = true; a.debug.file = path(v); })),
    row("debug-to-stderr", Switch, "", Hidden, "", Set(|a, _| { a.debug.on = true; a.debug.to_stderr = true; })),

    row("include-cache-events", Switch, "", Run, "Report cache misses in stream-json", Set(|a, _| a.options.host.cache_events = true)),
    row("include-hook-events", Switch, "", Run, "Report every run of a hook in stream-json", Set(|a, _| a.options.host.hook_events = true)),
    row("init", Switch, "", Session, "Run Setup hooks (init) first", Set(|a, _| a.options.configuration.setup = Some("init"))),
    row("maintenance", Switch, "", Session, "Run Setup hooks (maintenance) first", Set(|a, _| a.options.configuration.setup = Some("maintenance"))),
    row("init-only", Switch, "", Session, "Run Setup and SessionStart hooks, then exit", Set(|a, _| { a.options.configuration.init_only = true; a.options.configuration.setup = Some("init"); })),

    row("forward-subagent-text", Switch, "", Hidden, "", Set(|a, _| { a.forward_subagent_text = true; a.options.agents.forward_text = true; })),
    row("bg", Switch, "", Hidden, "", Set(|a, _| a.background = true)).alias(&["background"]),

    ignored("advisor", One),
    row("await-initialize", Switch, "", Hidden, "", Set(|a, _| a.options.host.await_initialize = true)),
    ignored("channels", Greedy),
    ignored("chrome", Switch),
    ignored("dangerously-load-development-channels", Greedy),
    ignored("exclude-dynamic-system-prompt-sections", Switch),
    ignored("ide", Switch),
    ignored("no-chrome", Switch),
    row("permission-prompts", One, "who", Hidden, "", Check(permission_prompts)),
    ignored("plugin-dir", Repeat),
    ignored("plugin-dir-no-mcp", Repeat),
    ignored("plugin-url", Repeat),
    ignored("prompt-suggestions", Switch),
    ignored("remote-control-session-name-prefix", One),
    row("session-mirror", Switch, "", Hidden, "", Set(|a, _| a.options.host.session_mirror = true)),
    ignored("teammate-mode", One),

    refused("managed-settings", One, "this build cannot apply the policy it carries, and will not run without it"),
    refused("project-config-root", One, "this build reads project settings from the working directory only"),
    refused("tmux", OptionalEquals, "it needs --worktree"),
    refused("exec", One, "it needs --bg"),
    refused("cloud", Optional, "gimlet has no hosted sessions").alias(&["remote"]),
    refused("environment", One, "gimlet has no hosted sessions"),
    refused("ref", One, "gimlet has no hosted sessions"),
    refused("teleport", Optional, "gimlet has no hosted sessions"),
    refused("remote-control", Optional, "gimlet has no hosted sessions").alias(&["rc"]),
    refused("from-pr", Optional, "use --resume with a session id"),
    refused("enable-auto-mode", Switch, "it was replaced by --permission-mode auto"),
];

/// `none`: nobody can answer, so no question is asked.
fn permission_prompts(args: &mut Args, values: Vec<String>) -> Result<(), String> {
    match last(values).as_deref() {
        Some("none") => args.options.permissions.no_prompts = true,
        Some("default" | "host" | "") | None => {}
        Some(other) => return Err(format!("'{other}' is invalid. Allowed choices are none, default.")),
    }
    Ok(())
}

fn last(mut values: Vec<String>) -> Option<String> {
    values.pop()
}

fn path(values: Vec<String>) -> Option<PathBuf> {
    last(values).map(PathBuf::from)
}

fn rules(values: &[String]) -> Vec<String> {
    values.iter().flat_map(|v| split_rules(v)).collect()
}

fn choices(names: &[&str]) -> String {
    format!("Allowed choices are {}.", names.join(", "))
}

fn output_format(args: &mut Args, values: Vec<String>) -> Result<(), String> {
    let format = last(values).and_then(|v| FormatFlag::parse(&v));
    args.output = Some(format.ok_or_else(|| choices(&["text", "json", "stream-json"]))?);
    Ok(())
}

fn input_format(args: &mut Args, values: Vec<String>) -> Result<(), String> {
    let format = last(values).and_then(|v| FormatFlag::parse(&v)).filter(|f| *f != FormatFlag::Json);
    args.input = Some(format.ok_or_else(|| choices(&["text", "stream-json"]))?);
    Ok(())
}

fn max_turns(args: &mut Args, values: Vec<String>) -> Result<(), String> {
    let turns = last(values).and_then(|v| v.trim().parse().ok()).filter(|n| *n > 0);
    args.options.limits.max_turns = Some(turns.ok_or("It must be a positive whole number.")?);
    Ok(())
}

fn max_budget(args: &mut Args, values: Vec<String>) -> Result<(), String> {
    args.options.limits.max_budget_usd = Some(dollars(values)?);
    Ok(())
}

fn max_turn_usd(args: &mut Args, values: Vec<String>) -> Result<(), String> {
    args.options.limits.max_turn_usd = Some(dollars(values)?);
    Ok(())
}

fn dollars(values: Vec<String>) -> Result<f64, String> {
    let amount: Option<f64> = last(values).and_then(|v| v.trim().parse().ok());
    Ok(amount.filter(|a| a.is_finite() && *a > 0.0).ok_or("It must be a number greater than 0.")?)
}

fn drops_turn(args: &mut Args, values: Vec<String>) -> Result<(), String> {
    let id = last(values).filter(|v| sys::id::is_uuid(v));
    args.options.conversation.resume_drops_turn = Some(id.ok_or("It must be a UUID.")?);
    Ok(())
}

fn agents(args: &mut Args, values: Vec<String>) -> Result<(), String> {
    args.options.agents.definitions = config::agents::from_json(&last(values).unwrap_or_default())?;
    Ok(())
}

fn name(args: &mut Args, values: Vec<String>) {
    args.options.conversation.name = last(values).map(|v| v.trim().to_owned()).filter(|v| !v.is_empty());
}

/// At most three distinct models; more would only delay the report of a failure.
fn fallback_model(args: &mut Args, values: Vec<String>) {
    let mut models: Vec<String> = Vec::new();
    for model in split_list(&last(values).unwrap_or_default()) {
        if models.len() < 3 && !models.contains(&model) {
            models.push(model);
        }
    }
    args.options.model.fallbacks = models;
}

fn effort(args: &mut Args, values: Vec<String>) -> Result<(), String> {
    const LEVELS: [&str; 6] = ["low", "medium", "high", "xhigh", "max", "ultracode"];
    let level = last(values).filter(|v| LEVELS.contains(&v.as_str()));
    args.options.model.effort = Some(level.ok_or_else(|| choices(&LEVELS))?);
    Ok(())
}

fn thinking(args: &mut Args, values: Vec<String>) -> Result<(), String> {
    args.options.model.thinking = match last(values).as_deref() {
        Some("adaptive" | "enabled") => ThinkingOption::Adaptive,
        Some("disabled") => ThinkingOption::Disabled,
        _ => return Err(choices(&["adaptive", "disabled"])),
    };
    Ok(())
}

fn max_thinking_tokens(args: &mut Args, values: Vec<String>) -> Result<(), String> {
    args.options.model.thinking = match last(values).and_then(|v| v.trim().parse().ok()) {
        Some(0) => ThinkingOption::Disabled,
        Some(budget) => ThinkingOption::Budget(budget),
        None => return Err("It must be a whole number.".into()),
    };
    Ok(())
}

fn thinking_display(args: &mut Args, values: Vec<String>) -> Result<(), String> {
    const WAYS: [&str; 2] = ["summarized", "omitted"];
    let way = last(values).filter(|v| WAYS.contains(&v.as_str()));
    args.options.model.thinking_display = Some(way.ok_or_else(|| choices(&WAYS))?);
    Ok(())
}

fn autocompact(args: &mut Args, values: Vec<String>) -> Result<(), String> {
    let text = values.into_iter().next().unwrap_or_default().to_ascii_lowercase();
    if text == "auto" {
        return Ok(());
    }
    let (digits, unit) = match text.strip_suffix(['k', 'm']) {
        Some(digits) if text.ends_with('k') => (digits, 1_000.0),
        Some(digits) => (digits, 1_000_000.0),
        None => (text.as_str(), 1.0),
    };
    let tokens = digits.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 1.0);
    args.options.model.compact_window =
        Some((tokens.ok_or("It must be `auto` or a number of tokens, as 500k.")? * unit) as u64);
    Ok(())
}

fn task_budget(args: &mut Args, values: Vec<String>) -> Result<(), String> {
    let tokens = last(values).and_then(|v| v.trim().parse().ok());
    args.options.model.task_budget = Some(tokens.ok_or("It must be a whole number.")?);
    Ok(())
}

/// `""` means no tools, unlike a missing flag.
fn tools(args: &mut Args, values: Vec<String>) {
    let names: Vec<String> = values.into_iter().flat_map(|v| split_rules(&v)).collect();
    args.options.tools.offered = if names == ["default"] { None } else { Some(names) };
}

fn permission_mode(args: &mut Args, values: Vec<String>) -> Result<(), String> {
    let mode = last(values).and_then(|v| PermissionMode::parse(&v));
    args.options.permissions.mode = Some(mode.ok_or_else(|| choices(&PermissionMode::NAMES))?);
    Ok(())
}

fn setting_sources(args: &mut Args, values: Vec<String>) -> Result<(), String> {
    let parse = |name: &String| match name.as_str() {
        "user" => Ok(SettingSource::User),
        "project" => Ok(SettingSource::Project),
        "local" => Ok(SettingSource::Local),
        _ => Err(choices(&["user", "project", "local"])),
    };
    let names = split_list(&last(values).unwrap_or_default());
    args.options.configuration.sources = Some(names.iter().map(parse).collect::<Result<_, _>>()?);
    Ok(())
}
