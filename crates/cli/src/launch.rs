//! Turns `Args` into a job: selects the mode, checks the machine, and finds conflicts between flags. Starts nothing.

use crate::args::{Args, FormatFlag};
use engine::options::ForkTarget;
use engine::{SessionChoice, SessionOptions, StartRequest};
use headless::{HeadlessJob, OutputFormat, RunInput};
use std::io::ErrorKind;
use std::path::Path;
use sys::Env;
use wire::mode::PermissionMode;

const SETTINGS_LIMIT: usize = 2 << 20;
/// As for a prompt on standard input.
const PROMPT_LIMIT: usize = 10 << 20;

/// Why no headless session starts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LaunchRefusal {
    /// The command line is wrong: one line on stderr, nothing else.
    Usage(String),
    /// The command line is valid but the machine is not ready: the host gets the error too.
    Startup { message: String, reason: Option<&'static str> },
    /// The command line asks for a terminal session.
    Interactive,
}

impl LaunchRefusal {
    fn startup(message: impl Into<String>) -> Self {
        Self::Startup { message: message.into(), reason: None }
    }
}

/// The facts about the process that decide how to start.
pub(crate) struct LaunchEnvironment {
    pub(crate) env: Env,
    pub(crate) stdout_is_terminal: bool,
    pub(crate) is_root: bool,
    /// True when bypassing permissions as root does no harm here.
    pub(crate) is_sandboxed: bool,
}

/// True when this command line runs without the terminal interface.
pub(crate) fn is_headless(args: &Args, around: &LaunchEnvironment) -> bool {
    args.print
        || args.options.configuration.init_only
        || args.input == Some(FormatFlag::StreamJson)
        || matches!(args.output, Some(FormatFlag::Json | FormatFlag::StreamJson))
        || !around.stdout_is_terminal
}

pub(crate) fn output(args: &Args) -> OutputFormat {
    match (args.output.unwrap_or_default(), args.verbose) {
        (FormatFlag::Text, _) => OutputFormat::Text,
        (FormatFlag::Json, false) => OutputFormat::Json,
        (FormatFlag::Json, true) => OutputFormat::JsonArray,
        (FormatFlag::StreamJson, _) => OutputFormat::StreamJson,
    }
}

pub(crate) fn job(args: Args, around: &LaunchEnvironment) -> Result<HeadlessJob, LaunchRefusal> {
    conflicts(&args, is_headless(&args, around))?;
    if !is_headless(&args, around) {
        return Err(LaunchRefusal::Interactive);
    }
    let cwd = sys::launch::cwd(&around.env).map_err(|error| LaunchRefusal::Startup {
        message: format!("Error: the current directory is not available ({error}). Change to one that exists"),
        reason: Some("cwd_unavailable"),
    })?;
    let (output, verbose) = (output(&args), args.verbose);
    let input = match args.input {
        Some(FormatFlag::StreamJson) => RunInput::StreamJson { first: args.prompt.clone() },
        Some(FormatFlag::Text | FormatFlag::Json) | None => RunInput::Text { argument: args.prompt.clone() },
    };
    let hint =
        args.greedy.last().map(|flag| format!("--{flag} takes every word that follows it; put -- before the prompt"));
    let options = options(args, around, &cwd)?;
    Ok(HeadlessJob {
        boot: StartRequest { env: around.env.clone(), cwd, options },
        input,
        output,
        verbose,
        missing_prompt_hint: hint,
    })
}

/// The start of the terminal interface. It is a host like any other: partial messages, questions over the protocol.
pub(crate) fn interactive(args: Args, around: &LaunchEnvironment) -> Result<tui::TuiStart, LaunchRefusal> {
    conflicts(&args, false)?;
    let cwd = sys::launch::cwd(&around.env).map_err(|error| LaunchRefusal::Startup {
        message: format!("Error: the current directory is not available ({error}). Change to one that exists"),
        reason: Some("cwd_unavailable"),
    })?;
    let prompt = args.prompt.clone();
    let (screen_reader, is_verbose) = (args.screen_reader, args.verbose);
    let mut options = options(args, around, &cwd)?;
    options.host.partial_messages = true;
    options.host.multi_turn = true;
    options.host.replay_history = true;
    options.permissions.prompt_tool.get_or_insert_with(|| "stdio".into());
    if around.env.non_empty("CLAUDE_CODE_ENTRYPOINT").is_none() {
        options.host.entrypoint = "cli".into();
    }
    let boot = StartRequest { env: around.env.clone(), cwd, options };
    let crate::preferences::LoadedPreferences { mut preferences, follows_background, files, warnings } =
        crate::preferences::read(&around.env, screen_reader);
    if is_verbose {
        (preferences.view, preferences.follows_view_setting) = (tui::ViewMode::Verbose, false);
    }
    let doctor = crate::doctor::report;
    Ok(tui::TuiStart { boot, prompt, preferences, follows_background, files, warnings, doctor })
}

fn conflicts(args: &Args, headless: bool) -> Result<(), LaunchRefusal> {
    let usage = |text: &str| Err(LaunchRefusal::Usage(text.to_owned()));
    let streams_out = args.output == Some(FormatFlag::StreamJson);
    if args.background {
        return usage(if args.print {
            "Error: --bg cannot be used with --print"
        } else {
            "Error: background sessions are not available in this build; use -p"
        });
    }
    if args.input == Some(FormatFlag::StreamJson) && !streams_out {
        return usage("Error: --input-format=stream-json requires --output-format=stream-json");
    }
    if streams_out && !args.verbose {
        return usage("Error: When using --print, --output-format=stream-json requires --verbose");
    }
    if args.forward_subagent_text && !(headless && streams_out) {
        return usage("Error: --forward-subagent-text requires --print and --output-format=stream-json");
    }
    if args.options.prompt.system.is_some() && args.system_prompt_file.is_some() {
        return usage("Error: Cannot use both --system-prompt and --system-prompt-file. Please use only one");
    }
    if args.options.prompt.append.is_some() && args.append_system_prompt_file.is_some() {
        return usage(
            "Error: Cannot use both --append-system-prompt and --append-system-prompt-file. Please use only one",
        );
    }
    if args.options.cassette.record.is_some() && args.options.cassette.replay.is_some() {
        return usage("Error: --record and --replay cannot be used together");
    }
    session_conflicts(args, headless)
}

fn session_conflicts(args: &Args, headless: bool) -> Result<(), LaunchRefusal> {
    let usage = |text: &str| Err(LaunchRefusal::Usage(text.to_owned()));
    let resumes = args.continue_last || args.resume.is_some();
    if let Some(id) = &args.session_id {
        if !sys::id::is_uuid(id) {
            return usage("Error: Invalid session ID. Must be a valid UUID");
        }
        if resumes && !args.fork {
            return usage(
                "Error: --session-id can only be used with --continue or --resume if --fork-session is also specified",
            );
        }
    }
    if headless && args.resume.as_deref() == Some("") {
        return usage("Error: --resume needs a session ID or title when used with --print");
    }
    if !resumes && args.options.conversation.resume_at.is_some() {
        return usage("Error: --resume-session-at requires --resume");
    }
    if args.options.conversation.resume_at.is_none() && args.options.conversation.resume_drops_turn.is_some() {
        return usage("Error: --resume-drops-turn requires --resume-session-at");
    }
    Ok(())
}

fn options(args: Args, around: &LaunchEnvironment, cwd: &Path) -> Result<SessionOptions, LaunchRefusal> {
    let streams = args.output == Some(FormatFlag::StreamJson);
    let multi_turn = args.input == Some(FormatFlag::StreamJson);
    let session = session_choice(&args);
    let mut options = args.options;
    if args.skip_permissions {
        options.permissions.mode = Some(PermissionMode::BypassPermissions);
        options.permissions.allow_bypass = true;
    }
    refuse_bypass_as_root(&options, around)?;
    if let Some(settings) = &mut options.configuration.settings {
        read_pipe(settings, "--settings")?;
        check_settings(settings, cwd)?;
    }
    for config in &mut options.servers.declared {
        read_pipe(config, "--mcp-config")?;
    }
    if let Some(text) = args.json_schema {
        options.tools.output_schema = Some(schema(&text)?);
    }
    options.prompt.system = prompt_text(options.prompt.system, args.system_prompt_file.as_deref(), cwd)?;
    options.prompt.append = prompt_text(options.prompt.append, args.append_system_prompt_file.as_deref(), cwd)?;
    for dir in &mut options.permissions.directories {
        *dir = cwd.join(&*dir);
        if !dir.is_dir() {
            return Err(LaunchRefusal::startup(format!("Error: --add-dir: {} is not a directory", dir.display())));
        }
        if let Err(error) = std::fs::read_dir(&*dir) {
            return Err(LaunchRefusal::startup(format!("Error: --add-dir: {}: {error}", dir.display())));
        }
    }
    let env = &around.env;
    options.configuration.bare |= env.is_on("CLAUDE_CODE_SIMPLE");
    options.configuration.safe_mode |= env.is_on("CLAUDE_CODE_SAFE_MODE");
    options.conversation.choice = session;
    options.host.partial_messages = streams && args.partial_messages;
    options.host.multi_turn = multi_turn;
    options.host.checkpoints_on_request = multi_turn;
    options.host.replay_user_messages = multi_turn && args.replay_user_messages;
    if let Some(entrypoint) = env.non_empty("CLAUDE_CODE_ENTRYPOINT") {
        entrypoint.clone_into(&mut options.host.entrypoint);
    }
    Ok(options)
}

fn session_choice(args: &Args) -> SessionChoice {
    let fork = args.fork.then(|| ForkTarget { id: args.session_id.clone() });
    match (&args.resume, args.continue_last) {
        (Some(target), _) => SessionChoice::Resume { target: target.clone(), fork },
        (None, true) => SessionChoice::Continue { fork },
        (None, false) => SessionChoice::New { id: args.session_id.clone() },
    }
}

/// Root outside a sandbox cannot bypass the permission checks, whichever flag asks for it.
fn refuse_bypass_as_root(options: &SessionOptions, around: &LaunchEnvironment) -> Result<(), LaunchRefusal> {
    let asked = options.permissions.allow_bypass || options.permissions.mode == Some(PermissionMode::BypassPermissions);
    if !asked || !around.is_root || around.is_sandboxed {
        return Ok(());
    }
    Err(LaunchRefusal::Startup { message: engine::options::BYPASS_ROOT.into(), reason: Some("bypass_root") })
}

/// Puts what the shell hands over as `<(…)` in the place of its path: it can be read only once.
fn read_pipe(given: &mut String, flag: &str) -> Result<(), LaunchRefusal> {
    let is_handed_over = ["/dev/fd/", "/proc/self/fd/"].iter().any(|start| given.starts_with(start));
    if !is_handed_over || std::fs::metadata(&*given).is_ok_and(|meta| meta.is_file()) {
        return Ok(());
    }
    let refuse = |why: &str| LaunchRefusal::startup(format!("Error: {flag}: {given} {why}"));
    let text = read_named(Path::new(&*given), SETTINGS_LIMIT).map_err(|why| refuse(&why))?;
    if !text.trim_start().starts_with('{') {
        return Err(refuse("is not a JSON object: it must begin with {"));
    }
    *given = text;
    Ok(())
}

/// The text of a file that the command line names, which may be a pipe; or why it cannot be used.
fn read_named(path: &Path, limit: usize) -> Result<String, String> {
    sys::fs::read_named_text(path, limit).map_err(|error| match error.kind() {
        ErrorKind::FileTooLarge => format!("is larger than {} MiB", limit >> 20),
        ErrorKind::InvalidData => format!("is not UTF-8 text: {error}"),
        _ => format!("cannot be read: {error}"),
    })
}

fn check_settings(text: &str, cwd: &Path) -> Result<(), LaunchRefusal> {
    if text.trim_start().starts_with('{') {
        return match serde_json::from_str::<serde_json::Value>(text) {
            Ok(_) => Ok(()),
            Err(error) => Err(LaunchRefusal::startup(format!("Error: Invalid JSON provided to --settings: {error}"))),
        };
    }
    let path = cwd.join(text);
    let Ok(metadata) = std::fs::metadata(&path) else {
        return Err(LaunchRefusal::startup(format!("Error: Settings file not found: {}", path.display())));
    };
    if !metadata.is_file() {
        return Err(LaunchRefusal::startup(format!("Error: --settings: {} is not a regular file", path.display())));
    }
    if metadata.len() > SETTINGS_LIMIT as u64 {
        return Err(LaunchRefusal::startup(format!("Error: --settings: {} is larger than 2 MiB", path.display())));
    }
    Ok(())
}

/// Checks only that it is JSON; the schema is checked when it is compiled.
fn schema(text: &str) -> Result<serde_json::Value, LaunchRefusal> {
    serde_json::from_str(text)
        .map_err(|e| LaunchRefusal::Usage(format!("Error: --json-schema is not a valid JSON Schema: {e}")))
}

fn prompt_text(text: Option<String>, file: Option<&Path>, cwd: &Path) -> Result<Option<String>, LaunchRefusal> {
    let Some(file) = file else { return Ok(text) };
    let path = cwd.join(file);
    match read_named(&path, PROMPT_LIMIT) {
        Ok(text) => Ok(Some(text)),
        Err(why) => Err(LaunchRefusal::startup(format!("Error: the system prompt file {} {why}", path.display()))),
    }
}

#[cfg(test)]
#[path = "launch_tests.rs"]
mod tests;
