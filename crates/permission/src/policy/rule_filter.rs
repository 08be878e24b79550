//! Whether a call falls under one rule: for filters of hooks. Read generously, and open where nothing can be known: a filter
//! that misses a call is worse than a hook that runs once too often.

use super::{Access, PathFacts, PermissionQuery, Policy, SessionDirectories};
use crate::rule;
use crate::shell::grammar;
use crate::shell::script::ReadingStyle;
use std::path::{Path, PathBuf};
use wire::mode::PermissionMode;
use wire::settings::{RuleBehaviour, RuleText, SettingsSource};

impl Policy {
    /// Whether `text`, a single permission rule, covers any part of the call.
    pub fn concerns(
        text: &str,
        request: &PermissionQuery<'_>,
        facts: &PathFacts,
        (place, resolve): (&SessionDirectories, &dyn Fn(&Path) -> PathBuf),
    ) -> bool {
        let given = RuleText {
            behaviour: RuleBehaviour::Ask,
            source: SettingsSource::Session,
            text: anchor_rule(text),
            root: place.cwd.clone(),
        };
        let (single, _) = Self::new(PermissionMode::Default, &[given], place.clone(), resolve);
        let Ok((tool, content)) = rule::split_rule(text) else { return true };
        if !single.has_rules() {
            return true;
        }
        request.accesses.iter().any(|access| {
            single.forbidding_rule(RuleBehaviour::Ask, &single.access_request(request, access, facts)).is_some()
                || matches!(access, Access::Run(command) if tool == request.tool && is_unknown(command, content))
        }) || (request.accesses.is_empty() && tool == request.tool && content.is_none())
    }
}

/// `Edit(src/**)` covers `src` in the working directory only, which is where the rule's root is.
fn anchor_rule(text: &str) -> String {
    match rule::split_rule(text) {
        Ok((tool @ ("Read" | "Edit" | "Write"), Some(path)))
            if path.strip_suffix("/**").is_some_and(|dir| !dir.contains(['/', '*', '~'])) =>
        {
            format!("{tool}(/{path})")
        }
        Ok(_) | Err(_) => text.to_owned(),
    }
}

/// A line that cannot be read, or one whose words are made when it runs and might be what the rule is about.
fn is_unknown(command: &str, content: Option<&str>) -> bool {
    if grammar::parse(command, ReadingStyle::Strict).is_err() {
        return true;
    }
    let words = content.unwrap_or_default().trim_end_matches([':', '*']).split_whitespace().count();
    words > 1 && command.contains(['$', '`'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bash(rule: &str, command: &str) -> bool {
        call(rule, "Bash", Access::Run(command.into()))
    }

    fn call(rule: &str, tool: &str, access: Access) -> bool {
        let place = SessionDirectories { cwd: "/p".into(), roots: vec!["/p".into()], ..SessionDirectories::default() };
        let accesses = [access];
        let request = PermissionQuery::new(tool, &accesses);
        let facts = PathFacts::gather("/p".into(), Vec::new(), Path::to_path_buf);
        Policy::concerns(rule, &request, &facts, (&place, &Path::to_path_buf))
    }

    // [EXT-14]
    #[test]
    fn every_part_of_a_command_counts() {
        for command in ["npm test && git push", "FOO=1 git push", "echo $(git log)", "echo `git log`"] {
            assert!(bash("Bash(git *)", command), "{command}");
        }
        assert!(!bash("Bash(git *)", "npm test"));
        assert!(!bash("Edit(*.ts)", "npm test") && bash("Bash", "npm test"));
    }

    // [EXT-15] [EXT-16]
    #[test]
    fn what_cannot_be_known_is_open() {
        assert!(bash("Bash(git push *)", "echo $(date)") && bash("Bash(git push *)", "echo $X"));
        assert!(!bash("Bash(rm *)", "echo $(date)"));
        assert!(bash("Bash(rm *)", "echo 'unclosed"));
    }

    // [EXT-18]
    #[test]
    fn files_are_anchored_in_the_working_directory() {
        let edit = |rule: &str, path: &str| call(rule, "Edit", Access::WritePath(path.into()));
        assert!(edit("Edit(src/**)", "/p/src/a.rs") && !edit("Edit(src/**)", "/p/x/src/a.rs"));
        assert!(edit("Edit(**/src/**)", "/p/x/src/a.rs"));
        assert!(edit("Edit(*.ts)", "/p/a.ts") && !edit("Edit(*.ts)", "/p/a.rs"));
        assert!(!edit("Write(/elsewhere/**)", "/p/a.rs"));
    }
}
