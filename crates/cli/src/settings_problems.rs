//! Problems in settings files: values that do not fit their key, and permission rules that probably do not do what was
//! meant. `doctor` and `config explain` use the same list.

use config::ProjectConfig;
use permission::{Policy, SessionDirectories};
use std::path::{Path, PathBuf};
use sys::Env;
use wire::mode::PermissionMode;
use wire::settings::{RuleBehaviour, RuleText};

/// One problem: where it is, what is wrong, what to do.
pub(crate) struct Problem {
    pub(crate) topic: &'static str,
    pub(crate) file: Option<PathBuf>,
    pub(crate) line: Option<usize>,
    /// The settings key; `None` for a whole file.
    pub(crate) key: Option<String>,
    pub(crate) text: String,
    pub(crate) fix: String,
}

impl Problem {
    /// True when the problem is about this key, a key below it or one of its entries.
    pub(crate) fn is_about(&self, key: &str) -> bool {
        let rest = self.key.as_deref().and_then(|mine| mine.strip_prefix(key));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    }
}

/// All problems of the files that apply here, those of values first.
pub(crate) fn find(loaded: &ProjectConfig, env: &Env, cwd: &Path) -> Vec<Problem> {
    let mut all: Vec<Problem> = loaded.diagnostics.iter().map(of_value).collect();
    of_rules(loaded, env, cwd, &mut all);
    all
}

fn of_value(problem: &config::Diagnostic) -> Problem {
    let fix = match (&problem.path, problem.line) {
        (Some(path), Some(line)) => format!("correct line {line} of {}", path.display()),
        (Some(path), None) => format!("correct {}", path.display()),
        (None, _) => "correct the settings named there".to_owned(),
    };
    let (file, line, key) = (problem.path.clone(), problem.line, problem.key.clone());
    Problem { topic: "settings", file, line, key, text: problem.to_string(), fix }
}

fn of_rules(loaded: &ProjectConfig, env: &Env, cwd: &Path, all: &mut Vec<Problem>) {
    let place = SessionDirectories {
        home: env.home(),
        roots: vec![cwd.to_path_buf()],
        cwd: cwd.to_path_buf(),
        ..SessionDirectories::default()
    };
    let (_, warnings) = Policy::new(PermissionMode::Default, &loaded.rules, place, &sys::real_path::path);
    for warning in &warnings {
        let rule = loaded.rules.iter().find(|rule| rule.text == warning.rule && rule.source == warning.source);
        all.push(of_rule(loaded, rule, &warning.rule, &warning.to_string()));
    }
    let is_told = |rule: &RuleText| warnings.iter().any(|warning| warning.rule == rule.text);
    for rule in loaded.rules.iter().filter(|rule| is_empty(&rule.text) && !is_told(rule)) {
        let (name, text) = (rule.behaviour.name(), &rule.text);
        let text = format!("{name} rule {text} has empty parentheses, so it does not say what it is about");
        all.push(of_rule(loaded, Some(rule), &rule.text, &text));
    }
}

fn of_rule(loaded: &ProjectConfig, rule: Option<&RuleText>, named: &str, text: &str) -> Problem {
    let place = rule.and_then(|rule| loaded.place_of(rule));
    let shown = place.as_ref().map(|(path, line)| {
        line.map_or_else(|| path.display().to_string(), |line| format!("{}:{line}", path.display()))
    });
    let text = shown.as_ref().map_or_else(|| text.to_owned(), |shown| format!("{shown}: {text}"));
    let at = shown.map(|shown| format!(" in {shown}")).unwrap_or_default();
    let fix =
        format!("correct or remove the permission rule {named}{at}; `gimlet permissions` explains what a rule does");
    let key = rule.map(|rule| key_of(rule.behaviour).to_owned());
    let (file, line) = place.map_or((None, None), |(path, line)| (Some(path.to_path_buf()), line));
    Problem { topic: "permissions", file, line, key, text, fix }
}

fn key_of(behaviour: RuleBehaviour) -> &'static str {
    match behaviour {
        RuleBehaviour::Allow => "permissions.allow",
        RuleBehaviour::Ask => "permissions.ask",
        RuleBehaviour::Deny => "permissions.deny",
    }
}

/// True for a rule like `Bash()`, where the content is probably missing.
fn is_empty(rule: &str) -> bool {
    rule.split_once('(').is_some_and(|(_, rest)| rest.trim_end().strip_suffix(')').is_some_and(|s| s.trim().is_empty()))
}
