//! `/add-dir`: adds a working directory to this session; also checks the destination of `/cd`.

use super::CommandReply;
use crate::session::{LiveSession, SessionIo};
use permission::{Access, DecisionReason, PathFacts, PermissionDecision, PermissionQuery, Policy, SessionDirectories};
use std::path::{Path, PathBuf};
use wire::control::PermissionUpdate;
use wire::hooks::DirectoryAdded;
use wire::mode::PermissionMode;
use wire::settings::{RuleBehaviour, RuleText, SettingsSource};

pub(super) async fn add_dir(session: &mut LiveSession, path: &str) -> CommandReply {
    let dir = match directory(&session.io, path, "/add-dir <path>") {
        Ok(dir) => dir,
        Err(why) => return CommandReply::refused(why),
    };
    if is_inside(&session.io, &dir) {
        return CommandReply::for_user(format!("{} is already inside a working directory.", dir.display()));
    }
    grant_directory(&mut session.io, &dir).await;
    let directory = dir.display().to_string();
    session.io.observe(DirectoryAdded { directory: directory.clone(), source: "slash_command".into() });
    CommandReply::for_model(format!("{directory} is a working directory of this session now."))
}

/// The directory that `/cd` may move to, or why it may not.
pub(super) fn destination(io: &SessionIo, path: &str) -> Result<PathBuf, String> {
    let rules = io.rules.watch.rules();
    if let Some(rule) = rules.iter().find(|rule| rule.behaviour == RuleBehaviour::Deny && is_bare(rule)) {
        return Err(format!("/cd is disabled by the rule {}.", rule.text));
    }
    let dir = directory(io, path, "/cd <path>")?;
    match refusal(&rules, &io.tooling.directories.absolute(path), &dir, io) {
        Some(why) => Err(why),
        None => Ok(dir),
    }
}

/// The resolved path of an existing directory.
fn directory(io: &SessionIo, path: &str, usage: &str) -> Result<PathBuf, String> {
    if path.is_empty() {
        return Err(format!("Which directory? Usage: {usage}"));
    }
    let given = io.workspace().absolute(path);
    match std::fs::metadata(&given) {
        Ok(meta) if meta.is_dir() => match std::fs::read_dir(&given) {
            Ok(_) => Ok(sys::real_path::path(&given)),
            Err(error) => Err(format!("{} cannot be read: {error}", given.display())),
        },
        Ok(_) => Err(format!("{} is not a directory.", given.display())),
        Err(error) => Err(format!("{} cannot be used: {error}", given.display())),
    }
}

fn is_inside(io: &SessionIo, dir: &Path) -> bool {
    let roots = std::iter::once(io.tooling.directories.project.clone()).chain(io.rules.watch.additional());
    roots.into_iter().any(|root| dir.starts_with(sys::real_path::path(&root)))
}

async fn grant_directory(io: &mut SessionIo, dir: &Path) {
    let update = PermissionUpdate {
        kind: "addDirectories".into(),
        rules: None,
        behavior: None,
        mode: None,
        directories: Some(vec![dir.display().to_string()]),
        destination: Some(SettingsSource::Session),
    };
    io.grant(vec![update]).await;
}

/// The specifier of a `Cd` rule, `*` for a bare one; `None` for other rules.
fn specifier(rule: &RuleText) -> Option<&str> {
    match permission::rule::split_rule(&rule.text) {
        Ok(("Cd", specifier)) => Some(specifier.unwrap_or("*")),
        Ok(_) | Err(_) => None,
    }
}

fn is_bare(rule: &RuleText) -> bool {
    specifier(rule) == Some("*")
}

/// Applies `Cd` rules: once there is an allow rule, only listed directories are allowed; a deny rule is checked
/// against every path that links lead through.
fn refusal(rules: &[RuleText], given: &Path, real: &Path, io: &SessionIo) -> Option<String> {
    let hops = link_chain(given, real);
    let denied = rules.iter().filter(|rule| rule.behaviour == RuleBehaviour::Deny);
    if let Some(rule) = denied.into_iter().find(|rule| hops.iter().any(|hop| rule_covers(rule, hop, io))) {
        return Some(format!("The rule {} forbids {}.", rule.text, real.display()));
    }
    let mut allowed =
        rules.iter().filter(|rule| rule.behaviour == RuleBehaviour::Allow && specifier(rule).is_some()).peekable();
    allowed.peek()?;
    let fits = allowed.any(|rule| is_bare(rule) || rule_covers(rule, real, io));
    (!fits).then(|| format!("{} is not among the directories that Cd rules allow.", real.display()))
}

/// Every path from `given` to `real`, following symlinks.
fn link_chain(given: &Path, real: &Path) -> Vec<PathBuf> {
    const MAX_HOPS: usize = 40;
    let mut all = vec![given.to_path_buf(), real.to_path_buf()];
    let mut at = given.to_path_buf();
    for _ in 0..MAX_HOPS {
        let Ok(target) = std::fs::read_link(&at) else { break };
        at = at.parent().map_or(target.clone(), |parent| parent.join(&target));
        all.push(at.clone());
    }
    all
}

/// Whether a `Cd` rule matches this directory. The patterns are those of Read rules.
fn rule_covers(rule: &RuleText, dir: &Path, io: &SessionIo) -> bool {
    let Some(pattern) = specifier(rule).filter(|pattern| *pattern != "*") else { return false };
    let as_read = RuleText { text: format!("Read({pattern})"), behaviour: RuleBehaviour::Allow, ..rule.clone() };
    let place =
        SessionDirectories { cwd: io.rules.watch.cwd.clone(), home: io.env.home(), ..SessionDirectories::default() };
    let (policy, _) = Policy::new(PermissionMode::Default, &[as_read], place, &|path| path.to_path_buf());
    [dir.to_path_buf(), dir.join("x")].into_iter().any(|path| {
        let accesses = [Access::ReadPath(path.clone())];
        let facts = PathFacts::gather(dir.to_path_buf(), vec![path], Path::to_path_buf);
        let decision = policy.decide(&PermissionQuery::reading(&accesses), &facts);
        matches!(decision, PermissionDecision::Allow(DecisionReason::Rule { .. }))
    })
}
