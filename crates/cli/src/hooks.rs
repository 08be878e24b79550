//! `hooks list|test`: which hooks a session started here would run, and how they answer an event. `list` reads settings
//! and runs nothing; `test` really runs every matching hook.

use crate::option_words::OptionWords;
use config::{ConfigLoader, ProjectConfig, SettingsSelection, TrustChoice};
use engine::hooks::{HookRestriction, catalogue};
use futures_util::future::BoxFuture;
use hooks::{
    HandlerEnvironment, HandlerJob, HandlerKind, HandlerResult, HandlerRunner, HookCatalogue, HookEntry, HookOccasion,
    Hooks, MergedAnswer, SilentProgress,
};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sys::Env;
use wire::hooks::{HookBase, HookEventName, MatcherSubject};

pub(crate) const USAGE: &str = "Usage: gimlet hooks <command> [options]

Commands:
  list                            every hook, with its event, matcher and source
  test <EVENT> [--input <JSON>]   run the hooks of an event and show what they decide

Options:
  --input <JSON>     fields of the event, e.g. '{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"ls\"}}'
  --json             machine-readable output
  --settings <FILE>  further settings: a file or JSON text
  --cwd <DIR>        as a session started in DIR

`test` runs hook commands for real. `if` filters are taken as matching. Exit code 2 means that the hooks block.";

#[derive(Default)]
struct HooksArgs {
    words: Vec<String>,
    json: bool,
    input: Option<String>,
    settings: Option<String>,
    cwd: Option<PathBuf>,
}

/// Returns the text to print and the exit code.
pub(crate) fn run(rest: &[OsString], env: &Env) -> Result<(String, u8), String> {
    let options = parse(rest)?;
    match options.words.as_slice() {
        [word] if word == "help" => Ok((USAGE.into(), 0)),
        [command] if command == "list" => {
            let place = HooksCommand::open(&options, env)?;
            Ok((place.list(options.json), 0))
        }
        [command, event] if command == "test" => {
            let event = HookEventName::parse(event).ok_or_else(|| {
                let names: Vec<&str> = HookEventName::ALL.iter().map(|event| event.as_str()).collect();
                format!("error: unknown event '{event}'. Known events: {}", names.join(", "))
            })?;
            HooksCommand::open(&options, env)?.test(event, &options, env)
        }
        _ => Err(USAGE.into()),
    }
}

fn parse(rest: &[OsString]) -> Result<HooksArgs, String> {
    let mut options = HooksArgs::default();
    let mut words = OptionWords::new(rest);
    while let Some(name) = words.next() {
        match name.as_str() {
            "--json" => options.json = true,
            "--help" | "-h" => return Ok(HooksArgs { words: vec!["help".into()], ..HooksArgs::default() }),
            "--input" => options.input = Some(words.needed_value(&name)?),
            "--settings" => options.settings = Some(words.needed_value(&name)?),
            "--cwd" => options.cwd = Some(words.needed_value(&name)?.into()),
            flag if flag.starts_with('-') => return Err(format!("error: unknown option '{flag}'")),
            _ => options.words.push(name),
        }
    }
    Ok(options)
}

struct HooksCommand {
    cwd: PathBuf,
    loaded: ProjectConfig,
    catalogue: HookCatalogue,
}

impl HooksCommand {
    fn open(options: &HooksArgs, env: &Env) -> Result<Self, String> {
        let here = sys::launch::cwd(env).unwrap_or_else(|_| PathBuf::from("/"));
        let cwd = options.cwd.as_ref().map_or(here.clone(), |dir| sys::real_path::path(&here.join(dir)));
        let settings = options.settings.clone();
        let selection = SettingsSelection { settings, trust: TrustChoice::Stored, ..SettingsSelection::default() };
        let loaded = ConfigLoader::open(&cwd, env, &selection).map_err(|error| format!("Error: {error}"))?;
        let (catalogue, _) = catalogue(&loaded, HookRestriction::No);
        Ok(Self { cwd, loaded, catalogue })
    }

    fn list(&self, as_json: bool) -> String {
        if as_json {
            let hooks: Vec<Value> = self.catalogue.iter().map(|entry| describe(entry)).collect();
            let value = json!({"hooks": hooks, "problems": self.catalogue.diagnostics, "notices": self.loaded.notices});
            return serde_json::to_string_pretty(&value).unwrap_or_default();
        }
        let mut text = String::new();
        for event in HookEventName::ALL {
            let entries = self.catalogue.of(*event);
            if entries.is_empty() {
                continue;
            }
            writeln!(text, "{} ({}): {}", event.as_str(), entries.len(), event.facts().about).ok();
            for entry in entries {
                writeln!(text, "  {}", line(entry)).ok();
            }
        }
        if text.is_empty() {
            text.push_str("No hooks.\n");
        }
        for problem in self.catalogue.diagnostics.iter().chain(&self.loaded.notices) {
            writeln!(text, "Warning: {}", problem.trim_start_matches("Warning: ")).ok();
        }
        text.trim_end().to_owned()
    }

    fn test(self, event: HookEventName, options: &HooksArgs, env: &Env) -> Result<(String, u8), String> {
        let given = match &options.input {
            None => json!({}),
            Some(text) => serde_json::from_str(text).map_err(|error| format!("Error: --input is not JSON: {error}"))?,
        };
        let Value::Object(given) = given else { return Err("Error: --input must be a JSON object".into()) };
        let payload = self.payload(event, given);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("Error: could not start the runtime: {error}"))?;
        sys::process::configure(sys::process::KeeperConfig::OwnBinary);
        let merged = runtime.block_on(self.fire(event, &payload, env));
        sys::process::kill_all();
        let blocks = matches!(merged.decision(), "deny" | "block" | "stop");
        let text = if options.json { as_json(event, &merged) } else { as_text(event, &merged) };
        Ok((text, if blocks { 2 } else { 0 }))
    }

    fn payload(&self, event: HookEventName, given: serde_json::Map<String, Value>) -> Value {
        let base = HookBase {
            session_id: sys::id::uuid(),
            transcript_path: "/dev/null".into(),
            cwd: self.cwd.display().to_string(),
            permission_mode: Some("default"),
            ..HookBase::default()
        };
        let mut payload = serde_json::to_value(&base).unwrap_or_default();
        if let Value::Object(fields) = &mut payload {
            fields.insert("hook_event_name".into(), event.as_str().into());
            fields.extend(given);
        }
        payload
    }

    async fn fire(self, event: HookEventName, payload: &Value, env: &Env) -> MergedAnswer {
        let marks = [("CLAUDECODE", "1".to_owned())];
        let secrets = config::environment::SECRET_VARIABLES;
        let around = HandlerEnvironment::new(&env.with(&self.loaded.settings.env), &self.cwd, secrets, &marks);
        let program = sys::process::own_binary().unwrap_or_default();
        let hooks = Hooks::new(self.catalogue, around, Arc::new(CommandHookRunner), program);
        let subject = subject(event, payload);
        let base = HookBase::default();
        let occasion = HookOccasion {
            base: &base,
            cwd: &self.cwd,
            env_file: Some(Path::new("/dev/null")),
            tool_use_id: None,
            tool_input: payload.get("tool_input"),
            condition: &|_| true,
            limit: None,
            cancel: &tokio_util::sync::CancellationToken::new(),
            progress: &SilentProgress,
        };
        let mut merged = hooks.fire_raw(event, subject.as_deref(), &payload.to_string(), &occasion).await;
        for detached in std::mem::take(&mut merged.detached) {
            merged.reports.push(detached.done.await.report);
        }
        merged
    }
}

/// The text that matchers are compared with, from the field of the event. `None` for events without matchers.
fn subject(event: HookEventName, payload: &Value) -> Option<String> {
    if event.facts().matching == MatcherSubject::Nothing {
        return None;
    }
    let fields = [
        "tool_name",
        "source",
        "reason",
        "trigger",
        "notification_type",
        "agent_type",
        "error",
        "load_reason",
        "command_name",
        "mcp_server_name",
        "to_model",
    ];
    let file = payload.get("file_path").and_then(Value::as_str).filter(|_| event == HookEventName::FileChanged);
    let file = file.and_then(|path| path.rsplit('/').next()).map(str::to_owned);
    file.or_else(|| fields.iter().find_map(|field| payload.get(field)?.as_str().map(str::to_owned)))
}

/// Runs command hooks; handlers that need a session are named, not run.
struct CommandHookRunner;

impl HandlerRunner for CommandHookRunner {
    fn run(&self, job: HandlerJob) -> BoxFuture<'_, HandlerResult> {
        let why = format!("{} handlers are run in sessions only", job.entry.handler.kind.name());
        Box::pin(std::future::ready(HandlerResult::Failed { why }))
    }
}

fn line(entry: &HookEntry) -> String {
    let matcher = entry.matcher_text.as_deref().filter(|text| !text.is_empty()).unwrap_or("*");
    let mut text = format!(
        "[{matcher}] {}: {}",
        entry.handler.kind.name(),
        permission::masked_formats(&entry.handler.kind.text())
    );
    if let Some(condition) = &entry.handler.condition {
        write!(text, " (if {condition})").ok();
    }
    if let Some(limit) = entry.handler.timeout {
        write!(text, " (timeout {} s)", limit.as_secs_f64()).ok();
    }
    write!(text, "  — {}", entry.origin.label()).ok();
    if let hooks::HookOrigin::Settings { path: Some(path), .. } = &entry.origin {
        write!(text, ", {}", path.display()).ok();
    }
    text
}

fn describe(entry: &HookEntry) -> Value {
    let path = match &entry.origin {
        hooks::HookOrigin::Settings { path, .. } => path.as_ref().map(|path| path.display().to_string()),
        _ => None,
    };
    let is_async =
        matches!(&entry.handler.kind, HandlerKind::Command(c) if c.detachment != hooks::HandlerDetachment::Awaited);
    json!({
        "event": entry.event.as_str(),
        "matcher": entry.matcher_text,
        "type": entry.handler.kind.name(),
        "what": permission::masked_formats(&entry.handler.kind.text()),
        "if": entry.handler.condition,
        "timeout": entry.handler.timeout.map(|limit| limit.as_secs_f64()),
        "async": is_async,
        "source": entry.origin.label(),
        "file": path,
    })
}

fn as_text(event: HookEventName, merged: &MergedAnswer) -> String {
    let mut text = String::new();
    for report in &merged.reports {
        let code = report.exit_code.map(|code| format!(", exit code {code}")).unwrap_or_default();
        writeln!(text, "{}: {} ({} ms{code})", report.outcome.as_str(), report.description, report.duration_ms).ok();
        for (name, stream) in [("stdout", &report.stdout), ("stderr", &report.stderr)] {
            for row in stream.trim_end().lines().take(20) {
                writeln!(text, "  {name}: {row}").ok();
            }
        }
    }
    for problem in &merged.problems {
        writeln!(text, "problem: {problem}").ok();
    }
    if merged.reports.is_empty() {
        writeln!(text, "No hook of {} matches.", event.as_str()).ok();
    }
    write!(text, "decision: {}", merged.decision()).ok();
    let reason = merged.stop.clone().or_else(|| merged.verdict.as_ref()?.reason.clone()).or_else(|| merged.blocked());
    if let Some(reason) = reason.filter(|reason| !reason.is_empty()) {
        write!(text, "\nreason: {reason}").ok();
    }
    for context in &merged.contexts {
        write!(text, "\ncontext: {}", context.text).ok();
    }
    if let Some(input) = &merged.updated_input {
        write!(text, "\nupdated input: {input}").ok();
    }
    for message in &merged.messages {
        write!(text, "\nmessage: {}", message.text).ok();
    }
    text
}

fn as_json(event: HookEventName, merged: &MergedAnswer) -> String {
    let reports = merged.reports.iter().map(|r| {
        json!({"hook": r.name, "what": r.description, "outcome": r.outcome.as_str(), "exit_code": r.exit_code,
            "stdout": r.stdout, "stderr": r.stderr, "duration_ms": r.duration_ms})
    });
    let verdict = merged.verdict.as_ref();
    let value = json!({
        "event": event.as_str(),
        "decision": merged.decision(),
        "reason": merged.stop.clone().or_else(|| verdict?.reason.clone()).or_else(|| merged.blocked()),
        "updatedInput": merged.updated_input,
        "contexts": merged.contexts.iter().map(|context| &context.text).collect::<Vec<_>>(),
        "messages": merged.messages.iter().map(|message| &message.text).collect::<Vec<_>>(),
        "problems": merged.problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "runs": reports.collect::<Vec<_>>(),
    });
    serde_json::to_string_pretty(&value).unwrap_or_default()
}
