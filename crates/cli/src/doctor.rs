//! `gimlet doctor`: what a session here would find, and what is wrong with it. Changes nothing, starts nothing, prints no
//! credential.

use crate::config_command::plain_name;
use config::agents::Agents;
use config::roots::Roots;
use config::skills::Skills;
use config::state::{config_home, state_file};
use config::{Credential, CredentialOptions, GlobalState, Loaded, Project, Selection};
use permission::{Place, Policy};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use sys::Env;
use wire::mode::PermissionMode;

/// One finding: a heading, what is so, and whether it needs attention.
struct Finding {
    topic: &'static str,
    text: String,
    problem: bool,
}

/// The report and the exit code: 1 when something needs attention.
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
    match Project::open(&cwd, env, &Selection::default()) {
        Ok(loaded) => {
            settings(&mut findings, &loaded, &cwd, env);
            definitions(&mut findings, &loaded, &cwd, env);
        }
        Err(error) => findings.push(bad("settings", error.to_string())),
    }
    surroundings(&mut findings, env, &cwd);
    let code = u8::from(findings.iter().any(|finding| finding.problem));
    Ok((if as_json { json_of(&findings) } else { text_of(&findings) }, code))
}

/// The report for the terminal's own screen.
pub(crate) fn report(env: &Env) -> String {
    run(&[], env).map_or_else(|why| why, |(text, _)| text)
}

fn good(topic: &'static str, text: impl Into<String>) -> Finding {
    Finding { topic, text: text.into(), problem: false }
}

fn bad(topic: &'static str, text: impl Into<String>) -> Finding {
    Finding { topic, text: text.into(), problem: true }
}

fn installation(findings: &mut Vec<Finding>, env: &Env) {
    findings.push(good("version", wire::version::line()));
    findings.push(good("system", sys::machine::os_version()));
    match config_home(env) {
        Some(home) if home.is_dir() => {
            findings.push(good("config home", home.display().to_string()));
            let wide = |path: &Path| std::fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0);
            for path in [home.join(".credentials.json"), home.join(".claude.json")].iter().filter(|path| wide(path)) {
                findings.push(bad("config home", format!("others can read {}; chmod 600 it", path.display())));
            }
        }
        Some(home) => findings.push(good("config home", format!("{} (not made yet)", home.display()))),
        None => findings.push(bad("config home", "there is none: set HOME or CLAUDE_CONFIG_DIR")),
    }
    if let (Some(problem), Some(path)) = (GlobalState::read(env).problem, state_file(env)) {
        findings.push(bad("state file", format!("{}: {problem}", path.display())));
    }
    let found = on_path("gimlet", env).map_or("not on PATH".to_owned(), |path| path.display().to_string());
    findings.push(good("PATH", format!("gimlet: {found}")));
    if let Some(path) = on_path("claude", env) {
        findings.push(good("PATH", format!("claude: {}", path.display())));
    }
}

fn settings(findings: &mut Vec<Finding>, loaded: &Loaded, cwd: &Path, env: &Env) {
    for layer in loaded.layers.iter() {
        let path = layer.path.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
        let mut text = format!("{}: {path}", plain_name(layer.source));
        let unknown = layer.unknown_keys();
        if !unknown.is_empty() {
            let named: Vec<String> = unknown.into_iter().map(slip).collect();
            write!(text, " (unknown, without effect: {})", named.join(", ")).ok();
        }
        findings.push(good("settings", text));
    }
    if loaded.layers.is_empty() && loaded.diagnostics.is_empty() {
        findings.push(good("settings", "no settings file; `gimlet config set KEY VALUE` makes one"));
    }
    findings.extend(loaded.diagnostics.iter().map(|problem| bad("settings", problem.to_string())));
    let place = Place { cwd: cwd.to_path_buf(), home: env.home(), roots: vec![cwd.to_path_buf()], ..Place::default() };
    let (_, warnings) = Policy::new(PermissionMode::Default, &loaded.rules, place, &sys::real::path);
    findings.extend(warnings.iter().map(|warning| bad("permissions", warning.to_string())));
    findings.push(good("permissions", format!("{} rule(s)", loaded.rules.len())));
    trust(findings, loaded);
    credentials(findings, loaded);
    let masking = if loaded.settings.mask_secrets == Some(false) { "shown: maskSecrets is off" } else { "hidden" };
    findings.push(good("secrets", format!("credentials in tool output are {masking}")));
}

/// An unknown key, with the one that was probably meant.
fn slip(name: &str) -> String {
    let meant = crate::nearest::nearest(name, wire::settings::Settings::KEYS.iter().map(|key| key.name));
    meant.map_or_else(|| name.to_owned(), |meant| format!("{name}, did you mean {meant}?"))
}

/// Skills, commands and agents: how many, and what is wrong in which file. They load all the same.
fn definitions(findings: &mut Vec<Finding>, loaded: &Loaded, cwd: &Path, env: &Env) {
    let roots = Roots::find(cwd, env, &Selection::default(), loaded, &[]);
    let skills = Skills::load(&roots, &[], &loaded.settings.skill_overrides);
    findings.push(good("skills", format!("{} skill(s) and command(s)", skills.all.len())));
    findings.extend(skills.findings.iter().map(|finding| good("skills", finding.to_string())));
    for hidden in &skills.hidden {
        let text = format!("{} is hidden: {} has the same name", hidden.path.display(), hidden.by.display());
        findings.push(good("skills", text));
    }
    let agents = Agents::load(&roots, &[]);
    findings.push(good("agents", format!("{} agent(s)", agents.all.len())));
    findings.extend(agents.findings.iter().map(|finding| good("agents", finding.to_string())));
    let skipped = |file: &config::agents::Skipped| {
        good("agents", format!("{}:{}: no agent: {}", file.path.display(), file.line, file.reason))
    };
    findings.extend(agents.skipped.iter().map(skipped));
}

fn trust(findings: &mut Vec<Finding>, loaded: &Loaded) {
    let key = loaded.trust_key.display();
    match (loaded.trusted, loaded.trust_changes.len()) {
        (true, _) => findings.push(good("trust", format!("{key} is trusted"))),
        (false, 0) => {
            findings.push(good("trust", format!("{key} is not trusted; `gimlet trust` shows what it would bring")));
        }
        (false, n) => findings.push(bad("trust", format!("{key}: {n} thing(s) changed; run `gimlet trust`"))),
    }
    findings.extend(loaded.notices.iter().map(|notice| good("trust", notice.clone())));
}

fn credentials(findings: &mut Vec<Finding>, loaded: &Loaded) {
    let options = CredentialOptions { bare: false, now_ms: sys::clock::now_ms() };
    let finding = match config::credentials::resolve(&loaded.env, loaded, options) {
        Ok(Credential::AuthToken(_)) => good("credentials", "ANTHROPIC_AUTH_TOKEN"),
        Ok(Credential::OauthToken(_)) => good("credentials", "CLAUDE_CODE_OAUTH_TOKEN"),
        Ok(Credential::Login { .. }) => good("credentials", "the stored login"),
        Ok(other @ (Credential::ApiKey(_) | Credential::Helper { .. } | Credential::StoredKey(_))) => {
            good("credentials", other.api_key_source())
        }
        Err(error) => bad("credentials", error.to_string()),
    };
    findings.push(finding);
    if let Some(url) = config::credentials::base_url(&loaded.env) {
        findings.push(good("credentials", format!("requests go to {}", without_password(url))));
    }
}

/// An address without the name and password it may hold.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let host = rest[..end].rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{}", &rest[end..])
}

fn surroundings(findings: &mut Vec<Finding>, env: &Env, cwd: &Path) {
    let shell = env.non_empty("CLAUDE_CODE_SHELL").or(env.non_empty("SHELL")).unwrap_or("/bin/bash");
    let there = Path::new(shell).exists();
    findings.push(Finding { topic: "shell", text: shell.to_owned(), problem: !there });
    let git = on_path("git", env).map_or("git is not on PATH".to_owned(), |path| path.display().to_string());
    let repository = sys::git::root(cwd).map_or("no repository here".to_owned(), |root| root.display().to_string());
    findings.push(good("git", format!("{git}; {repository}")));
    let found = sys::sandbox::detect(&sys::sandbox::Wanted::default());
    let backend = found.backend.as_ref().map_or("no back end works here", |backend| backend.name());
    let problems: Vec<String> = found.problems.iter().map(|problem| format!("; {problem}")).collect();
    findings.push(good("sandbox", format!("{backend}{}", problems.concat())));
}

/// An executable on the search path.
fn on_path(name: &str, env: &Env) -> Option<PathBuf> {
    let runs = |path: &PathBuf| {
        std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    env.get("PATH")?.split(':').filter(|dir| !dir.is_empty()).map(|dir| Path::new(dir).join(name)).find(runs)
}

fn text_of(findings: &[Finding]) -> String {
    let width = findings.iter().map(|finding| finding.topic.len()).max().unwrap_or(0);
    let line = |finding: &Finding| {
        format!("{} {:width$}  {}", if finding.problem { "!" } else { " " }, finding.topic, finding.text)
    };
    let problems = findings.iter().filter(|finding| finding.problem).count();
    let sum = match problems {
        0 => "No problems found.".to_owned(),
        1 => "One problem, marked with `!`.".to_owned(),
        n => format!("{n} problems, marked with `!`."),
    };
    format!("{}\n\n{sum}", findings.iter().map(line).collect::<Vec<_>>().join("\n"))
}

fn json_of(findings: &[Finding]) -> String {
    let all: Vec<Value> = findings
        .iter()
        .map(|finding| json!({"topic": finding.topic, "text": finding.text, "problem": finding.problem}))
        .collect();
    let healthy = !findings.iter().any(|finding| finding.problem);
    json!({"ok": healthy, "findings": all}).to_string()
}
