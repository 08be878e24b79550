//! `gimlet doctor`: checks what a session here would find, and reports what is wrong and what to do. Changes no
//! settings, starts nothing, prints no credential. A check is a function in `CHECKS`; every problem comes with a fix.

mod commands;
mod places;

use crate::config_command::plain_name;
use config::agents::AgentDefinitions;
use config::roots::DefinitionRoots;
use config::skills::Skills;
use config::state::{config_home, state_file};
use config::{ConfigLoader, Credential, CredentialOptions, GlobalState, ProjectConfig, SettingsSelection};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use sys::Env;
use wire::counting::counted;

/// One finding: a topic and a description.
struct DoctorFinding {
    topic: &'static str,
    text: String,
    /// What to do; `None` when nothing needs attention.
    fix: Option<String>,
}

/// The input of the checks.
struct DoctorContext<'a> {
    env: &'a Env,
    cwd: &'a Path,
    loaded: &'a ProjectConfig,
}

/// Checks one part of what a session here would use.
type DoctorCheck = fn(&DoctorContext<'_>, &mut Vec<DoctorFinding>);

/// Every check that needs settings, in the order of the report.
const CHECKS: &[DoctorCheck] = &[
    settings,
    trust,
    credentials,
    commands::helpers,
    places::base_url,
    places::proxy,
    places::directories,
    commands::hooks,
    commands::servers,
    definitions,
];

/// Returns the report and the exit code: 1 when something needs attention.
pub(crate) fn run(rest: &[OsString], env: &Env) -> Result<(String, u8), String> {
    let as_json = match rest {
        [] => false,
        [flag] if flag == "--json" => true,
        _ => return Err("Usage: gimlet doctor [--json]".into()),
    };
    let cwd = sys::launch::cwd(env).unwrap_or_else(|_| PathBuf::from("/"));
    let cwd = std::fs::canonicalize(&cwd).unwrap_or(cwd);
    let mut findings = Vec::new();
    installation(&mut findings, env);
    match ConfigLoader::open(&cwd, env, &SettingsSelection::default()) {
        Ok(loaded) => {
            let context = DoctorContext { env, cwd: &cwd, loaded: &loaded };
            for check in CHECKS {
                check(&context, &mut findings);
            }
        }
        Err(error) => findings.push(bad("settings", error.to_string(), "correct the settings named there")),
    }
    environment(&mut findings, env, &cwd);
    let code = u8::from(findings.iter().any(|finding| finding.fix.is_some()));
    Ok((if as_json { json_of(&findings) } else { text_of(&findings) }, code))
}

/// The report for the terminal interface.
pub(crate) fn report(env: &Env) -> String {
    run(&[], env).map_or_else(|why| why, |(text, _)| text)
}

fn good(topic: &'static str, text: impl Into<String>) -> DoctorFinding {
    DoctorFinding { topic, text: text.into(), fix: None }
}

fn bad(topic: &'static str, text: impl Into<String>, fix: impl Into<String>) -> DoctorFinding {
    DoctorFinding { topic, text: text.into(), fix: Some(fix.into()) }
}

fn installation(findings: &mut Vec<DoctorFinding>, env: &Env) {
    findings.push(good("version", wire::version::line()));
    findings.push(good("system", sys::machine::os_version()));
    match config_home(env) {
        Some(home) if home.is_dir() => {
            findings.push(good("config home", home.display().to_string()));
            let wide = |path: &Path| std::fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0);
            for path in [home.join(".credentials.json"), home.join(".claude.json")].iter().filter(|path| wide(path)) {
                let fix = format!("chmod 600 {}", path.display());
                findings.push(bad("config home", format!("others can read {}; chmod 600 it", path.display()), fix));
            }
        }
        Some(home) => findings.push(good("config home", format!("{} (not created yet)", home.display()))),
        None => findings.push(bad(
            "config home",
            "none: set HOME or CLAUDE_CONFIG_DIR",
            "set HOME, or CLAUDE_CONFIG_DIR to a folder of yours",
        )),
    }
    places::writable(env, findings);
    if let (Some(problem), Some(path)) = (GlobalState::read(env).problem, state_file(env)) {
        let backups = config::state::good_backups(env).len();
        let text = format!("{}: {problem} ({})", path.display(), counted(backups, "good backup"));
        findings.push(bad("state file", text, config::state::way_back(env)));
    }
    let found = on_path("gimlet", env).map_or("not on PATH".to_owned(), |path| path.display().to_string());
    findings.push(good("PATH", format!("gimlet: {found}")));
    if let Some(path) = on_path("claude", env) {
        findings.push(good("PATH", format!("claude: {}", path.display())));
    }
}

fn settings(context: &DoctorContext<'_>, findings: &mut Vec<DoctorFinding>) {
    let loaded = context.loaded;
    for layer in loaded.layers.iter() {
        let path = layer.path.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
        let mut text = format!("{}: {path}", plain_name(layer.source));
        let unknown = layer.unknown_keys();
        if !unknown.is_empty() {
            let named: Vec<String> = unknown.into_iter().map(suggest_key).collect();
            write!(text, " (unknown, without effect: {})", named.join(", ")).ok();
        }
        findings.push(good("settings", text));
    }
    if loaded.layers.is_empty() && loaded.diagnostics.is_empty() {
        findings.push(good("settings", "no settings file; `gimlet config set KEY VALUE` creates one"));
    }
    let problems = crate::settings_problems::find(loaded, context.env, context.cwd);
    findings.extend(problems.into_iter().map(|problem| bad(problem.topic, problem.text, problem.fix)));
    // Not a problem: the key does no harm, it only has no effect.
    findings.extend(loaded.without_effect().iter().map(|found| good("settings", found.to_string())));
    findings.push(good("permissions", counted(loaded.rules.len(), "rule")));
    let masking = if loaded.settings.mask_secrets == Some(false) { "shown: maskSecrets is off" } else { "hidden" };
    findings.push(good("secrets", format!("credentials in tool output are {masking}")));
}

/// An unknown key, with the key that was probably meant.
fn suggest_key(name: &str) -> String {
    let meant = crate::nearest::nearest(name, wire::settings::Settings::KEYS.iter().map(|key| key.name));
    meant.map_or_else(|| name.to_owned(), |meant| format!("{name}, did you mean {meant}?"))
}

/// Skills, commands and agents: how many, and the defects of their files. Files with defects still load.
fn definitions(context: &DoctorContext<'_>, findings: &mut Vec<DoctorFinding>) {
    let DoctorContext { env, cwd, loaded } = *context;
    let roots = DefinitionRoots::find(cwd, env, &SettingsSelection::default(), loaded, &[]);
    let skills = Skills::load(&roots, &[], &loaded.settings.skill_overrides);
    findings.push(good("skills", counted(skills.all.len(), "skill")));
    findings.extend(skills.findings.iter().map(|finding| good("skills", finding.to_string())));
    for hidden in &skills.hidden {
        let text = format!("{} is hidden: {} has the same name", hidden.path.display(), hidden.by.display());
        findings.push(good("skills", text));
    }
    let agents = AgentDefinitions::load(&roots, &[]);
    findings.push(good("agents", counted(agents.all.len(), "agent")));
    findings.extend(agents.findings.iter().map(|finding| good("agents", finding.to_string())));
    let skipped = |file: &config::agents::SkippedAgent| {
        good("agents", format!("{}:{}: not a valid agent: {}", file.path.display(), file.line, file.reason))
    };
    findings.extend(agents.skipped.iter().map(skipped));
    let named = loaded.settings.agent.as_deref().filter(|name| !name.is_empty());
    if let Some(name) = named.filter(|name| agents.find(name).is_none()) {
        let fix = format!("create the agent {name}, or correct the setting agent");
        findings.push(bad("agents", format!("the setting agent names {name:?}, which does not exist here"), fix));
    }
}

fn trust(context: &DoctorContext<'_>, findings: &mut Vec<DoctorFinding>) {
    let loaded = context.loaded;
    let key = loaded.trust_key.display();
    match (loaded.trusted, loaded.trust_changes.len()) {
        (true, _) => findings.push(good("trust", format!("{key} is trusted"))),
        (false, 0) => {
            findings.push(good("trust", format!("{key} is not trusted; `gimlet trust` shows what it would bring")));
        }
        (false, n) => {
            let text = format!("{key}: {} changed; run `gimlet trust`", counted(n, "thing"));
            findings.push(bad("trust", text, "run `gimlet trust` to look at what changed"));
        }
    }
    findings.extend(loaded.notices.iter().map(|notice| good("trust", permission::masked_formats(notice))));
}

fn credentials(context: &DoctorContext<'_>, findings: &mut Vec<DoctorFinding>) {
    let loaded = context.loaded;
    let options = CredentialOptions { bare: false, now_ms: sys::clock::now_ms() };
    let finding = match config::credentials::resolve(&loaded.env, loaded, options) {
        Ok(Credential::AuthToken(_)) => good("credentials", "ANTHROPIC_AUTH_TOKEN"),
        Ok(Credential::OauthToken(_)) => good("credentials", "CLAUDE_CODE_OAUTH_TOKEN"),
        Ok(Credential::Login { .. }) => good("credentials", "the stored login"),
        Ok(
            other @ (Credential::ApiKey(_)
            | Credential::Helper { .. }
            | Credential::StoredKey(_)
            | Credential::OlderKey { .. }),
        ) => good("credentials", other.api_key_source()),
        Err(error) => {
            bad("credentials", error.to_string(), "run `gimlet auth login`, or set ANTHROPIC_API_KEY for the session")
        }
    };
    findings.push(finding);
}

/// A URL without the user name and password it may contain.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let host = rest[..end].rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{}", &rest[end..])
}

fn environment(findings: &mut Vec<DoctorFinding>, env: &Env, cwd: &Path) {
    let shell = env.non_empty("CLAUDE_CODE_SHELL").or(env.non_empty("SHELL")).unwrap_or("/bin/bash");
    let there = Path::new(shell).exists();
    let fix = (!there).then(|| format!("{shell} does not exist: set SHELL or CLAUDE_CODE_SHELL to a shell that does"));
    findings.push(DoctorFinding { topic: "shell", text: shell.to_owned(), fix });
    let git = on_path("git", env).map_or("git is not on PATH".to_owned(), |path| path.display().to_string());
    let repository = sys::git::root(cwd).map_or("no repository here".to_owned(), |root| root.display().to_string());
    findings.push(good("git", format!("{git}; {repository}")));
    let found = sys::sandbox::detect(&sys::sandbox::BackendRequest::default());
    let backend = found.backend.as_ref().map_or("no sandbox backend works here", |backend| backend.name());
    let problems: Vec<String> = found.problems.iter().map(|problem| format!("; {problem}")).collect();
    findings.push(good("sandbox", format!("{backend}{}", problems.concat())));
}

/// Finds an executable on the search path.
fn on_path(name: &str, env: &Env) -> Option<PathBuf> {
    let dirs = env.get("PATH")?.split(':').filter(|dir| !dir.is_empty());
    dirs.map(|dir| Path::new(dir).join(name)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

fn text_of(findings: &[DoctorFinding]) -> String {
    let width = findings.iter().map(|finding| finding.topic.len()).max().unwrap_or(0);
    let line = |finding: &DoctorFinding| {
        format!("{} {:width$}  {}", if finding.fix.is_some() { "!" } else { " " }, finding.topic, finding.text)
    };
    let problems = findings.iter().filter(|finding| finding.fix.is_some()).count();
    let mut sum = match problems {
        0 => "No problems found.".to_owned(),
        1 => "One problem, marked with `!`.".to_owned(),
        n => format!("{n} problems, marked with `!`."),
    };
    let mut fixes: Vec<&String> = findings.iter().filter_map(|finding| finding.fix.as_ref()).collect();
    fixes.dedup();
    if !fixes.is_empty() {
        sum.push_str(" What to do:");
    }
    for fix in fixes {
        write!(sum, "\n  - {fix}").ok();
    }
    format!("{}\n\n{sum}", findings.iter().map(line).collect::<Vec<_>>().join("\n"))
}

fn json_of(findings: &[DoctorFinding]) -> String {
    let all: Vec<Value> = findings
        .iter()
        .map(|f| json!({"topic": f.topic, "text": f.text, "problem": f.fix.is_some(), "fix": f.fix}))
        .collect();
    let healthy = !findings.iter().any(|finding| finding.fix.is_some());
    json!({"ok": healthy, "findings": all}).to_string()
}
