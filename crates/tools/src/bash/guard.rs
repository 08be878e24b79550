//! Git calls that run without a permission question run with a configuration that cannot start programs. The
//! configuration is read again right before the start, because another call may have changed it since the decision.

use crate::shell_program::quote;
use permission::{GitGuard, GuardScope};
use std::io;
use std::path::PathBuf;
use sys::Env;
use sys::git::neutral::NeutralConfig;

/// Shell text that runs before the command.
pub(crate) fn prelude(guard: &GitGuard, env: &Env) -> io::Result<String> {
    let places = guard.places.iter().map(PathBuf::as_path);
    let variables = NeutralConfig::of(places, env).and_then(|neutral| neutral.variables(env)).map_err(|obstacle| {
        io::Error::other(format!(
            "the git configuration changed after the command was allowed, and may run a program now: {obstacle}. Send the \
             command again to have it asked about"
        ))
    })?;
    let assigned: Vec<String> = variables.iter().map(|(name, value)| format!("{name}={}", quote(value))).collect();
    let assigned = assigned.join(" ");
    Ok(match &guard.scope {
        GuardScope::Command => format!("export {assigned}; "),
        GuardScope::Calls(calls) => function(&assigned, calls),
    })
}

/// A shell function that replaces git: the read-only calls, recognised by their arguments, get the neutral
/// configuration; all other calls run unchanged.
fn function(assigned: &str, calls: &[Vec<String>]) -> String {
    let pattern = |call: &Vec<String>| quote(&format!("{}:{}", call.len(), call.join(" ")));
    let patterns: Vec<String> = calls.iter().map(pattern).collect();
    format!(
        "unalias git 2>/dev/null; git() {{ case \"$#:$*\" in {}) {assigned} command git \"$@\" ;; *) command git \"$@\" ;; \
         esac; }}; ",
        patterns.join("|")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_calls_are_guarded() {
        // [F-A2]
        let text = function("A='1'", &[vec!["status".into()], vec!["log".into(), "it's".into()]]);
        assert!(text.contains(r"in '1:status'|'2:log it'\''s') A='1' command git"), "{text}");
        assert!(text.contains("*) command git \"$@\""), "{text}");
    }
}
