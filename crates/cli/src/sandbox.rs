//! `gimlet sandbox run|status`: runs a command under the profile that a session here would use, or shows that profile.
//! If the sandbox cannot be applied, the command does not run.

use config::{ConfigLoader, ProjectConfig, SettingsSelection};
use engine::sandbox::{PreparedSandbox, SandboxInputs, SessionSandbox};
use serde_json::json;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use store::StoreLayout;
use sys::Env;
use sys::process::{ChildInput, ChildOutput, KeeperConfig, SpawnSpec};
use sys::sandbox::{FileConfinement, RuleEffect};
use wire::mode::PermissionMode;

const USAGE: &str = "Usage: gimlet sandbox <command> [options]

Commands:
  run [options] -- CMD [ARG]...  run a command in the sandbox of this directory
  status [--json] [options]      what the sandbox can do here, and what it would allow

Options:
  --settings <FILE>  further settings: a file or JSON text
  --add-dir <DIR>    one more directory that may be written; may be repeated

The sandbox need not be switched on for these. docs/sandbox.md describes its settings.";

#[derive(Default)]
struct SandboxArgs {
    json: bool,
    settings: Option<String>,
    add_dirs: Vec<PathBuf>,
    command: Vec<OsString>,
}

/// Returns the text to print and the exit code; an error is a wrong command line or an unavailable sandbox.
pub(crate) fn run(rest: &[OsString], env: &Env) -> Result<(String, u8), String> {
    let Some((what, rest)) = rest.split_first() else { return Err(USAGE.into()) };
    let asked = parse(rest)?;
    match what.to_str() {
        Some("run") if !asked.command.is_empty() => execute(&asked, env).map(|code| (String::new(), code)),
        Some("status") if asked.command.is_empty() => status(&asked, env),
        Some("help" | "--help" | "-h") => Ok((USAGE.into(), 0)),
        _ => Err(USAGE.into()),
    }
}

fn parse(rest: &[OsString]) -> Result<SandboxArgs, String> {
    let mut asked = SandboxArgs::default();
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--") => {
                asked.command = words.cloned().collect();
                break;
            }
            Some("--json") => asked.json = true,
            Some("--settings") => asked.settings = Some(words.next().ok_or(USAGE)?.to_string_lossy().into_owned()),
            Some("--add-dir") => asked.add_dirs.push(PathBuf::from(words.next().ok_or(USAGE)?)),
            _ => return Err(USAGE.into()),
        }
    }
    Ok(asked)
}

struct SandboxCommand {
    cwd: PathBuf,
    loaded: ProjectConfig,
    confinement: SessionSandbox,
}

impl SandboxCommand {
    fn open(asked: &SandboxArgs, env: &Env) -> Result<Self, String> {
        let said = |error: &dyn std::fmt::Display| format!("Error: {error}");
        let cwd = sys::launch::cwd(env).and_then(std::fs::canonicalize).map_err(|error| said(&error))?;
        let selection = SettingsSelection { settings: asked.settings.clone(), ..SettingsSelection::default() };
        let loaded = ConfigLoader::open(&cwd, env, &selection).map_err(|error| said(&error))?;
        let id = format!("sandbox-{}", sys::id::base36(8));
        let tasks = StoreLayout::new(env).create_tasks_dir(&cwd, &id).map_err(|error| said(&error))?;
        // Only its parent is used.
        std::fs::remove_dir(&tasks).ok();
        let given = asked.add_dirs.iter().map(|dir| cwd.join(dir));
        let grounds = SandboxInputs {
            cwd: cwd.clone(),
            additional: given.chain(loaded.additional_directories.iter().cloned()).collect(),
            env: loaded.env.clone(),
            base_env: env.clone(),
            scratch: tasks.parent().unwrap_or(&tasks).to_path_buf(),
        };
        let confinement = SessionSandbox::always_on(&loaded, grounds);
        Ok(Self { cwd, loaded, confinement })
    }

    fn made(&self) -> Result<PreparedSandbox, String> {
        if let Some(why) = self.confinement.unavailable() {
            return Err(format!("Error: {why}"));
        }
        let made = self.confinement.prepare(&self.loaded.rules, PermissionMode::Default);
        made.map_err(|error| format!("Error: the sandbox could not be set up: {error}"))
    }
}

fn execute(asked: &SandboxArgs, env: &Env) -> Result<u8, String> {
    let situation = SandboxCommand::open(asked, env)?;
    let made = situation.made()?;
    for warning in &made.warnings {
        headless::print_to_stderr(&format!("Warning: {warning}"));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("Error: could not start the runtime: {error}"))?;
    sys::process::configure(KeeperConfig::OwnBinary);
    let code = runtime.block_on(inside(&made, &asked.command, &situation));
    sys::process::kill_all();
    code
}

async fn inside(made: &PreparedSandbox, command: &[OsString], situation: &SandboxCommand) -> Result<u8, String> {
    let secret = config::environment::SECRET_VARIABLES;
    let vars = situation.loaded.env.iter().filter(|(name, _)| !secret.iter().any(|secret| name == secret));
    let spawn = SpawnSpec {
        program: command[0].clone(),
        args: command[1..].to_vec(),
        env: vars.map(|(name, value)| (name.to_os_string(), value.to_os_string())).collect(),
        cwd: situation.cwd.clone(),
        stdin: ChildInput::Inherit,
        output: ChildOutput::Inherit,
    };
    let started = made.sandbox.start(spawn);
    let (mut child, confined) = started.map_err(|error| format!("Error: could not start the command: {error}"))?;
    let exit = child.wait().await.map_err(|error| format!("Error: {error}"))?;
    child.kill_tree();
    let text = command.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    if let Some(report) = made.sandbox.report(&text, confined.finish().await) {
        let lines = report.lines().take_while(|line| *line != "</sandbox_violations>").skip(1);
        lines.for_each(|line| headless::print_to_stderr(&format!("sandbox: blocked: {line}")));
    }
    let code = exit.code.or(exit.signal.map(|signal| 128 + signal)).unwrap_or(1);
    Ok(u8::try_from(code).unwrap_or(1))
}

fn status(asked: &SandboxArgs, env: &Env) -> Result<(String, u8), String> {
    let situation = SandboxCommand::open(asked, env)?;
    let confinement = &situation.confinement;
    let enabled = situation.loaded.settings.sandbox.enabled == Some(true);
    let made = situation.made().ok();
    let listed = |wanted: &[RuleEffect]| -> Vec<String> {
        let Some(FileConfinement::Confined(rules)) = made.as_ref().map(|made| &made.sandbox.profile.files) else {
            return Vec::new();
        };
        rules.iter().filter(|rule| wanted.contains(&rule.effect)).map(|rule| shown(&rule.path)).collect()
    };
    let (allowed, denied) = confinement.domains(&situation.loaded.rules);
    let gaps = confinement.backend().map(sys::sandbox::SandboxBackend::not_covered).unwrap_or_default();
    let warnings = made.as_ref().map(|made| made.warnings.clone()).unwrap_or_default();
    let report = json!({
        "enabled": enabled,
        "available": confinement.backend().is_some(),
        "backend": confinement.backend().map(sys::sandbox::SandboxBackend::name),
        "problems": confinement.problems(),
        "notCovered": gaps,
        "failIfUnavailable": confinement.is_required(),
        "filesystem": {
            "confined": made.as_ref().is_none_or(|made| made.sandbox.profile.files != FileConfinement::Free),
            "writable": listed(&[RuleEffect::AllowWrite]),
            "readOnly": listed(&[RuleEffect::DenyWrite]),
            "protected": listed(&[RuleEffect::Protect]),
            "hidden": listed(&[RuleEffect::DenyRead]),
            "reopened": listed(&[RuleEffect::AllowRead]),
        },
        "network": { "allowed": allowed, "denied": denied },
        "warnings": warnings,
    });
    let text = if asked.json { report.to_string() } else { plain(&report) };
    Ok((text, u8::from(enabled && confinement.backend().is_none())))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn plain(report: &serde_json::Value) -> String {
    let mut out = String::new();
    let switched = if report["enabled"] == true { "on" } else { "off (sandbox.enabled)" };
    writeln!(out, "sandbox      {switched}").ok();
    writeln!(out, "backend      {}", report["backend"].as_str().unwrap_or("none works here")).ok();
    let mut list = |title: &str, values: &serde_json::Value| {
        for (at, value) in values.as_array().into_iter().flatten().enumerate() {
            writeln!(out, "{:12} {}", if at == 0 { title } else { "" }, value.as_str().unwrap_or_default()).ok();
        }
    };
    list("problem", &report["problems"]);
    list("not covered", &report["notCovered"]);
    list("warning", &report["warnings"]);
    for (title, key) in
        [("writable", "writable"), ("read-only", "readOnly"), ("hidden", "hidden"), ("reopened", "reopened")]
    {
        list(title, &report["filesystem"][key]);
    }
    list("hosts", &report["network"]["allowed"]);
    list("not hosts", &report["network"]["denied"]);
    out.trim_end().to_owned()
}
