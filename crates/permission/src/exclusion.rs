//! Commands that the user keeps out of the sandbox. Being left out grants nothing: such a command is judged in the ordinary
//! order, every part of it, so a part that is added to an excluded command gains no freedom unasked.

use crate::shell::pattern::CommandPattern;
use crate::shell::reading::CommandReading;

/// Whether any part of `command` matches one of `patterns`, which are written like those of Bash rules.
pub fn is_excluded(command: &str, patterns: &[String]) -> bool {
    if patterns.is_empty() {
        return false;
    }
    let patterns: Vec<CommandPattern> = patterns.iter().map(|text| prefix_or(text)).collect();
    let reading = CommandReading::of(command);
    let Ok(units) = &reading.strict else { return false };
    units.iter().any(|unit| {
        let text = unit.text();
        let inner = crate::shell::script::join_raw(crate::shell::wrapper::strip_wrappers(&unit.words));
        patterns.iter().any(|pattern| pattern.matches(&text) || pattern.matches(&inner))
    })
}

/// A program name alone covers every call of the program.
fn prefix_or(text: &str) -> CommandPattern {
    let text = text.trim();
    if text.contains(['*', ' ']) { CommandPattern::parse(text) } else { CommandPattern::parse(&format!("{text}:*")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_part_is_enough_and_the_unknown_is_not_excluded() {
        // [CLI-199] SC-F08
        let patterns = ["docker".to_owned(), "npm run deploy".to_owned(), "watchman *".to_owned()];
        for excluded in
            ["docker ps", "docker", "A=1 docker ps", "docker ps; curl x", "ls && npm run deploy", "watchman a"]
        {
            assert!(is_excluded(excluded, &patterns), "{excluded}");
        }
        for kept in ["dockerize", "echo docker", "npm run deploy:all", "ls", "docker ps; $(", "npm run"] {
            assert!(!is_excluded(kept, &patterns), "{kept}");
        }
        assert!(!is_excluded("docker ps", &[]));
    }
}
