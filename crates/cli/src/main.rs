//! The gimlet binary: dispatch only. `--version` is answered first; everything else goes through the flag table, and no
//! thread, runtime or file is created before the command line was parsed.

mod agents;
mod args;
mod auth;
mod config_command;
mod confirm;
mod context;
mod debug;
mod demo;
mod doctor;
mod flags;
mod hooks;
mod launch;
mod mcp_command;
mod memory;
mod nearest;
mod option_words;
mod parse;
mod permissions;
mod preferences;
mod project;
mod rewind;
mod sandbox;
mod sessions;
mod settings_problems;
mod subcommand;
mod trust;
mod undo;
mod update;
mod usage;

use crate::args::Args;
use crate::launch::{LaunchEnvironment, LaunchRefusal};
use crate::parse::ParseExit;
use crate::subcommand::CliSubcommand;
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use sys::Env;
use sys::process::KeeperConfig;

fn main() -> ExitCode {
    let argv: Vec<OsString> = std::env::args_os().skip(1).collect();
    if argv.first().is_some_and(|word| word == sys::keeper::ARGUMENT) {
        return sys::keeper::run(argv.into_iter().skip(1));
    }
    #[cfg(target_os = "linux")]
    if argv.first().is_some_and(|word| word == sys::sandbox::first_program::ARGUMENT) {
        return sys::sandbox::first_program::run(argv.into_iter().skip(1));
    }
    if argv.first().is_some_and(|word| word == ::hooks::pattern::ARGUMENT) {
        return ::hooks::pattern::run();
    }
    if is_version_probe(&argv) {
        return ExitCode::from(print(&format!("{}\n", wire::version::line())));
    }
    ExitCode::from(dispatch(&argv))
}

fn is_version_probe(argv: &[OsString]) -> bool {
    argv.len() == 1 && (argv[0] == "-v" || argv[0] == "--version")
}

fn dispatch(argv: &[OsString]) -> u8 {
    if let Some((what, name, rest)) = subcommand::find(argv) {
        return run_subcommand(what, name, rest);
    }
    if let Some(meant) = subcommand::near_miss(argv) {
        let typed = argv.first().map(|w| w.to_string_lossy().into_owned()).unwrap_or_default();
        return fail(&format!("error: unknown command '{typed}'. Did you mean gimlet {meant}?"));
    }
    match parse::parse(argv) {
        Ok(args) => session(args),
        Err(ParseExit::Help) => print(&subcommand::help()),
        Err(ParseExit::Version) => print(&format!("{}\n", wire::version::line())),
        Err(ParseExit::Usage(message)) => fail(&message),
    }
}

fn run_subcommand(what: CliSubcommand, name: &str, rest: &[OsString]) -> u8 {
    match what {
        CliSubcommand::Demo => demo::run(rest, &Env::snapshot()),
        CliSubcommand::Acp => run_acp(rest),
        CliSubcommand::Help => print(&subcommand::help()),
        CliSubcommand::Auth => print_outcome(auth::run(rest, &Env::snapshot())),
        CliSubcommand::Config => print_outcome(config_command::run(rest, &Env::snapshot())),
        CliSubcommand::Doctor => print_outcome(doctor::run(rest, &Env::snapshot())),
        CliSubcommand::Agents => print_outcome(agents::run(rest, &Env::snapshot())),
        CliSubcommand::Mcp => print_outcome(mcp_command::run(rest, &Env::snapshot())),
        CliSubcommand::Memory => print_outcome(memory::run(rest, &Env::snapshot())),
        CliSubcommand::Project => print_outcome(project::run(rest, &Env::snapshot())),
        CliSubcommand::Sandbox => print_outcome(sandbox::run(rest, &Env::snapshot())),
        CliSubcommand::Sessions => sessions::run(rest, &Env::snapshot()).unwrap_or_else(|message| fail(&message)),
        CliSubcommand::Hooks => print_outcome(hooks::run(rest, &Env::snapshot())),
        CliSubcommand::Trust => print_outcome(trust::run(rest, &Env::snapshot())),
        CliSubcommand::Rewind => print_outcome(rewind::run(rest, &Env::snapshot())),
        CliSubcommand::Undo => print_outcome(undo::run(rest, &Env::snapshot())),
        CliSubcommand::Context => print_outcome(context::run(rest, &Env::snapshot())),
        CliSubcommand::Usage => print_outcome(usage::run(rest, &Env::snapshot())),
        CliSubcommand::Permissions => match permissions::run(rest, &Env::snapshot(), &mut std::io::stdin().lock()) {
            Ok((text, code)) => print(&text).max(code),
            Err(message) => fail(&message),
        },
        CliSubcommand::Completions => match subcommand::completions(rest, &mut std::io::stdout()) {
            Ok(()) => 0,
            Err(message) => fail(&message),
        },
        CliSubcommand::Update => {
            update::update(rest, &Env::snapshot(), &mut std::io::stdout()).unwrap_or_else(|message| fail(&message))
        }
        CliSubcommand::Install => {
            update::install(rest, &Env::snapshot(), &mut std::io::stdout()).unwrap_or_else(|message| fail(&message))
        }
        CliSubcommand::Missing => fail(&format!("Error: `gimlet {name}` is not available yet")),
    }
}

/// `acp`: an editor controls gimlet. The session flags apply to every session that the editor opens.
fn run_acp(rest: &[OsString]) -> u8 {
    let mut args = match parse::parse(rest) {
        Ok(args) => args,
        Err(ParseExit::Help) => return print(ACP_USAGE),
        Err(ParseExit::Version) => return print(&format!("{}\n", wire::version::line())),
        Err(ParseExit::Usage(message)) => return fail(&message),
    };
    args.print = true;
    let env = Env::snapshot();
    let is_sandboxed = engine::options::is_sandboxed(&env);
    let around = LaunchEnvironment { env, stdout_is_terminal: false, is_root: sys::is_root(), is_sandboxed };
    match launch::job(args, &around) {
        Ok(job) => run_plan(LaunchPlan::Editor(job.boot)),
        Err(LaunchRefusal::Usage(message) | LaunchRefusal::Startup { message, .. }) => fail(&message),
        Err(LaunchRefusal::Interactive) => fail("Error: standard output is not a terminal"),
    }
}

const ACP_USAGE: &str = "Usage: gimlet acp [options]

Serves the Agent Client Protocol on stdin and stdout, for editors. Options are those of
a session (--model, --permission-mode, --settings, --add-dir, ...) and hold for every
session the editor opens.
";

/// Prints the result of a subcommand.
fn print_outcome(outcome: Result<(String, u8), String>) -> u8 {
    match outcome {
        Ok((text, code)) if text.is_empty() => code,
        Ok((text, code)) => print(&format!("{text}\n")).max(code),
        Err(message) => fail(&message),
    }
}

fn session(mut args: Args) -> u8 {
    let env = Env::snapshot();
    let output = launch::output(&args);
    let debug = std::mem::take(&mut args.debug);
    let without_effect = std::mem::take(&mut args.without_effect);
    let is_sandboxed = engine::options::is_sandboxed(&env);
    let stdout_is_terminal = std::io::stdout().is_terminal();
    let around = LaunchEnvironment { env, stdout_is_terminal, is_root: sys::is_root(), is_sandboxed };
    let interactive = !launch::is_headless(&args, &around);
    let forks_nothing = args.fork && !args.continue_last && args.resume.is_none();
    let planned = if interactive {
        launch::interactive(args, &around).map(LaunchPlan::Terminal)
    } else {
        launch::job(args, &around).map(LaunchPlan::Headless)
    };
    let mut plan = match planned {
        Ok(plan) => plan,
        Err(LaunchRefusal::Usage(message)) => return fail(&message),
        Err(LaunchRefusal::Startup { message, .. }) if interactive => return fail(&message),
        Err(LaunchRefusal::Interactive) => return fail("Error: standard output is not a terminal"),
        Err(LaunchRefusal::Startup { message, reason }) => {
            headless::report_startup_failure(output, &sys::id::uuid(), &message, reason);
            return 1;
        }
    };
    if let Err(warning) = debug::start(&debug, &around.env, plan.session()) {
        headless::print_to_stderr(&warning);
    }
    if forks_nothing {
        headless::print_to_stderr("Warning: --fork-session has no effect without --resume or --continue");
    }
    for flag in without_effect {
        tracing::debug!("--{flag} is accepted and has no effect in this build");
    }
    run_plan(plan)
}

/// Which interface runs the session.
enum LaunchPlan {
    Headless(headless::HeadlessJob),
    Terminal(tui::TuiStart),
    Editor(engine::StartRequest),
}

impl LaunchPlan {
    fn session(&mut self) -> &mut engine::SessionChoice {
        match self {
            Self::Headless(job) => &mut job.boot.options.conversation.choice,
            Self::Terminal(start) => &mut start.boot.options.conversation.choice,
            Self::Editor(boot) => &mut boot.options.conversation.choice,
        }
    }
}

fn run_plan(plan: LaunchPlan) -> u8 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(8).build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("Error: could not start the runtime: {error}")),
    };
    sys::process::configure(KeeperConfig::OwnBinary);
    let code = match plan {
        LaunchPlan::Headless(job) => runtime.block_on(headless::run(job)),
        LaunchPlan::Terminal(start) => runtime.block_on(Box::pin(tui::run(start))),
        LaunchPlan::Editor(boot) => runtime.block_on(acp::serve(boot)),
    };
    // Processes of remaining handles must not outlive us, and a blocked write must not delay the exit.
    sys::process::kill_all();
    runtime.shutdown_background();
    code
}

/// Writes to stdout. A closed pipe is not an error; a full disk is.
fn print(text: &str) -> u8 {
    let mut stdout = std::io::stdout();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            fail(&format!("Error: the output could not be written to stdout: {error}"))
        }
        Ok(()) | Err(_) => 0,
    }
}

fn fail(message: &str) -> u8 {
    headless::print_to_stderr(message);
    1
}
