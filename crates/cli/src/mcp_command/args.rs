//! The arguments of `gimlet mcp <command>`. Options may be anywhere before `--`; the words after `--` are the command
//! of the server, whatever they look like.

use config::mcp::McpPlace;

/// The options of all commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum McpFlag {
    Scope,
    Transport,
    Env,
    Header,
    ClientId,
    ClientSecret,
    CallbackPort,
    NoBrowser,
    Debug,
    Verbose,
}

/// How many values an option takes.
#[derive(Clone, Copy)]
enum McpFlagArity {
    Switch,
    One,
    /// One, and the following words that have the same form.
    Several(fn(&str) -> bool),
}

impl McpFlag {
    const ALL: [Self; 10] = [
        Self::Scope,
        Self::Transport,
        Self::Env,
        Self::Header,
        Self::ClientId,
        Self::ClientSecret,
        Self::CallbackPort,
        Self::NoBrowser,
        Self::Debug,
        Self::Verbose,
    ];

    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Scope => &["--scope", "-s"],
            Self::Transport => &["--transport", "-t"],
            Self::Env => &["--env", "-e"],
            Self::Header => &["--header", "-H"],
            Self::ClientId => &["--client-id"],
            Self::ClientSecret => &["--client-secret"],
            Self::CallbackPort => &["--callback-port"],
            Self::NoBrowser => &["--no-browser"],
            Self::Debug => &["--debug", "-d"],
            Self::Verbose => &["--verbose"],
        }
    }

    fn arity(self) -> McpFlagArity {
        match self {
            Self::Scope | Self::Transport | Self::ClientId | Self::CallbackPort => McpFlagArity::One,
            Self::Env => McpFlagArity::Several(is_variable),
            Self::Header => McpFlagArity::Several(is_header),
            Self::ClientSecret | Self::NoBrowser | Self::Debug | Self::Verbose => McpFlagArity::Switch,
        }
    }
}

fn is_variable(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name).unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(plain)
}

fn is_header(word: &str) -> bool {
    let name = word.split_once(':').map(|(name, _)| name).unwrap_or_default();
    !name.is_empty() && !word.contains("://") && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

#[derive(Debug, Default)]
pub(super) struct McpArgs {
    pub(super) positional: Vec<String>,
    /// The words after `--`.
    pub(super) command: Option<Vec<String>>,
    given: Vec<(McpFlag, String)>,
}

impl McpArgs {
    pub(super) fn parse(rest: Vec<String>, accepted: &[McpFlag]) -> Result<Self, String> {
        let mut out = Self::default();
        let mut words = rest.into_iter().peekable();
        while let Some(word) = words.next() {
            if word == "--" {
                out.command = Some(words.collect());
                break;
            }
            if !word.starts_with('-') || word == "-" {
                out.positional.push(word);
                continue;
            }
            let (name, inline) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name.to_owned(), Some(value.to_owned())),
                _ => (word, None),
            };
            let known = McpFlag::ALL.into_iter().find(|flag| flag.names().contains(&name.as_str()));
            let Some(flag) = known.filter(|flag| accepted.contains(flag)) else {
                let hint =
                    if accepted.contains(&McpFlag::Env) { " (the server's own options go after `--`)" } else { "" };
                return Err(format!("error: unknown option '{name}'{hint}"));
            };
            let missing = || format!("error: option '{name}' needs a value");
            match flag.arity() {
                McpFlagArity::Switch => out.given.push((flag, String::new())),
                McpFlagArity::One => out.given.push((flag, inline.or_else(|| words.next()).ok_or_else(missing)?)),
                McpFlagArity::Several(alike) => {
                    out.given.push((flag, inline.or_else(|| words.next()).ok_or_else(missing)?));
                    while let Some(more) = words.next_if(|word| alike(word)) {
                        out.given.push((flag, more));
                    }
                }
            }
        }
        Ok(out)
    }

    pub(super) fn last(&self, flag: McpFlag) -> Option<&str> {
        self.given.iter().rfind(|(given, _)| *given == flag).map(|(_, value)| value.as_str())
    }

    pub(super) fn all(&self, flag: McpFlag) -> impl Iterator<Item = &str> {
        self.given.iter().filter(move |(given, _)| *given == flag).map(|(_, value)| value.as_str())
    }

    pub(super) fn has(&self, flag: McpFlag) -> bool {
        self.last(flag).is_some()
    }

    pub(super) fn scope(&self) -> Result<Option<McpPlace>, String> {
        let Some(text) = self.last(McpFlag::Scope) else { return Ok(None) };
        let unknown = || format!("error: scope '{text}' is not one of local, project, user");
        McpPlace::parse(text).map(Some).ok_or_else(unknown)
    }

    pub(super) fn one(&self, usage: &str) -> Result<&str, String> {
        match (self.positional.as_slice(), &self.command) {
            ([only], None) => Ok(only),
            _ => Err(format!("Usage: gimlet {usage}")),
        }
    }

    pub(super) fn none(&self, usage: &str) -> Result<(), String> {
        let empty = self.positional.is_empty() && self.command.is_none();
        if empty { Ok(()) } else { Err(format!("Usage: gimlet {usage}")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<McpArgs, String> {
        let accepted = [McpFlag::Scope, McpFlag::Transport, McpFlag::Env, McpFlag::Header];
        McpArgs::parse(line.split(' ').map(str::to_owned).collect(), &accepted)
    }

    #[test]
    fn greedy_options_take_only_what_looks_alike() {
        let words = parse("-e A=1 B=x=y srv -s user -- cmd -e C=2 --scope").unwrap();
        assert_eq!(words.positional, ["srv"]);
        assert_eq!(words.all(McpFlag::Env).collect::<Vec<_>>(), ["A=1", "B=x=y"]);
        assert_eq!(words.command.unwrap(), ["cmd", "-e", "C=2", "--scope"]);
        let words = parse("srv -H X-A:1 Y:2 https://h/m --scope=project").unwrap();
        assert_eq!((words.positional.len(), words.all(McpFlag::Header).count()), (2, 2));
        assert_eq!(words.scope(), Ok(Some(McpPlace::Project)));
        assert!(parse("srv cmd -y").unwrap_err().contains("after `--`"));
        assert!(parse("srv -s").unwrap_err().contains("needs a value"));
        assert!(parse("srv -s everywhere").unwrap().scope().is_err());
    }
}
