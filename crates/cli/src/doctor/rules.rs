//! Permission rules that do not do what was meant.

use super::{Finding, Scene, bad, good};
use permission::{Place, Policy};
use wire::mode::PermissionMode;
use wire::settings::RuleText;

pub(super) fn check(scene: &Scene<'_>, findings: &mut Vec<Finding>) {
    let (cwd, loaded) = (scene.cwd.to_path_buf(), scene.loaded);
    let place = Place { home: scene.env.home(), roots: vec![cwd.clone()], cwd, ..Place::default() };
    let (_, warnings) = Policy::new(PermissionMode::Default, &loaded.rules, place, &sys::real::path);
    for warning in &warnings {
        let rule = loaded.rules.iter().find(|rule| rule.text == warning.rule && rule.source == warning.source);
        let place = rule.and_then(|rule| place_of(scene, rule));
        let text = place.as_ref().map_or_else(|| warning.to_string(), |place| format!("{place}: {warning}"));
        findings.push(bad("permissions", text, fix(&warning.rule, place.as_deref())));
    }
    let is_told = |rule: &RuleText| warnings.iter().any(|warning| warning.rule == rule.text);
    for rule in loaded.rules.iter().filter(|rule| is_empty(&rule.text) && !is_told(rule)) {
        let place = place_of(scene, rule);
        let shown = place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
        let (name, text) = (rule.behaviour.name(), &rule.text);
        let text = format!("{shown}{name} rule {text} has empty parentheses, so it does not say what it is about");
        findings.push(bad("permissions", text, fix(&rule.text, place.as_deref())));
    }
    findings.push(good("permissions", format!("{} rule(s)", loaded.rules.len())));
}

fn fix(rule: &str, place: Option<&str>) -> String {
    let place = place.map(|place| format!(" in {place}")).unwrap_or_default();
    format!("correct or remove the permission rule {rule}{place}; `gimlet permissions` explains what a rule does")
}

fn place_of(scene: &Scene<'_>, rule: &RuleText) -> Option<String> {
    let (path, line) = scene.loaded.place_of(rule)?;
    Some(line.map_or_else(|| path.display().to_string(), |line| format!("{}:{line}", path.display())))
}

/// `Bash()`: probably something was meant to stand there.
fn is_empty(rule: &str) -> bool {
    rule.split_once('(').is_some_and(|(_, rest)| rest.trim_end().strip_suffix(')').is_some_and(|s| s.trim().is_empty()))
}
