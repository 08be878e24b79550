//! Container commands that only look. Options that choose another daemon precede the subcommand and are not known.

use super::readonly::ReadAccess;
use super::script::ShellWord;

/// Subcommand, options without a value, options with one, and whether it takes operands.
type DockerForm = (&'static [&'static str], &'static [&'static str], &'static [&'static str], bool);

#[rustfmt::skip]
const KNOWN: &[DockerForm] = &[
    (&["ps"], &["-a", "-q", "-aq", "-l", "-s", "--all", "--quiet", "--no-trunc", "--latest", "--size"], &["--format", "--filter", "-f", "-n"], false),
    (&["container", "ls"], &["-a", "-q", "-aq", "--all", "--quiet", "--no-trunc"], &["--format", "--filter", "-f"], false),
    (&["images"], &["-a", "-q", "--all", "--quiet", "--no-trunc", "--digests"], &["--format", "--filter", "-f"], true),
    (&["image", "ls"], &["-a", "-q", "--all", "--quiet", "--no-trunc"], &["--format", "--filter", "-f"], true),
    (&["volume", "ls"], &["-q", "--quiet"], &["--format", "--filter", "-f"], false),
    (&["network", "ls"], &["-q", "--quiet", "--no-trunc"], &["--format", "--filter", "-f"], false),
    (&["logs"], &["-t", "--timestamps", "--details"], &["--tail", "-n", "--since", "--until"], true),
    (&["version"], &[], &["--format", "-f"], false),
    (&["port"], &[], &[], true),
];

pub(super) fn looks(arguments: &[ShellWord]) -> Option<Vec<ReadAccess<'_>>> {
    let (names, flags, valued, takes_operands) = KNOWN.iter().find(|(names, ..)| {
        arguments.len() >= names.len() && names.iter().zip(arguments).all(|(name, word)| *name == word.raw)
    })?;
    let mut rest = arguments.iter().skip(names.len());
    while let Some(word) = rest.next() {
        let text = word.text.as_str();
        let (name, inline) = text.split_once('=').map_or((text, false), |(name, _)| (name, true));
        if word.glob || word.tilde {
            return None;
        }
        if !text.starts_with('-') {
            takes_operands.then_some(())?;
        } else if valued.contains(&name) {
            if !inline {
                rest.next().filter(|value| !value.glob && !value.tilde)?;
            }
        } else if inline || !flags.contains(&text) {
            return None;
        }
    }
    Some(Vec::new())
}

#[cfg(test)]
mod tests {
    use crate::shell::reading::CommandReading;

    fn looks(command: &str) -> bool {
        CommandReading::of(command).strict.is_ok_and(|units| super::looks(&units[0].words[1..]).is_some())
    }

    #[test]
    fn only_looking_is_known() {
        // [CLI-148] SC-B23
        for command in [
            "docker ps",
            "docker ps -a --format '{{.ID}}'",
            "docker images",
            "docker image ls -q",
            "docker logs --tail 5 x",
        ] {
            assert!(looks(command), "{command}");
        }
        for command in [
            "docker -H x ps",
            "docker --context x ps",
            "docker run x",
            "docker ps --rm",
            "docker image rm x",
            "docker logs -f x",
            "docker exec x sh",
            "docker container rm x",
            "docker",
            "docker volume rm x",
            "docker inspect x",
            "docker ps x",
        ] {
            assert!(!looks(command), "{command}");
        }
    }
}
