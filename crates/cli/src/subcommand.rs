//! Subcommands. A subcommand is the first word of the command line; after a flag, the same word is a prompt.

use crate::parse;
use std::ffi::OsString;
use std::io::Write;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CliSubcommand {
    Demo,
    Completions,
    Auth,
    Config,
    Doctor,
    Mcp,
    Memory,
    Trust,
    Undo,
    Usage,
    Context,
    Rewind,
    Hooks,
    Permissions,
    Agents,
    Sandbox,
    Sessions,
    Project,
    Acp,
    Update,
    Install,
    Help,
    /// Known to users of the reference, not available here.
    Missing,
}

struct SubcommandRow {
    name: &'static str,
    what: CliSubcommand,
    /// Shown in help; an empty text hides the subcommand.
    help: &'static str,
}

const fn row(name: &'static str, what: CliSubcommand, help: &'static str) -> SubcommandRow {
    SubcommandRow { name, what, help }
}

const fn missing(name: &'static str) -> SubcommandRow {
    row(name, CliSubcommand::Missing, "")
}

#[rustfmt::skip]
const TABLE: &[SubcommandRow] = &[
    row("demo", CliSubcommand::Demo, "Watch a recorded coding task, replayed with real tools; --tui: in the interface"),
    row("auth", CliSubcommand::Auth, "auth login|logout|status: store, delete or show credentials"),
    row("config", CliSubcommand::Config, "config get|set|add|remove|list|explain|schema: settings files"),
    row("mcp", CliSubcommand::Mcp, "mcp add|list|get|remove|login|logout|serve: MCP servers; see mcp help"),
    row("memory", CliSubcommand::Memory, "memory show [path]: the instructions that apply there, and where they come from"),
    row("trust", CliSubcommand::Trust, "trust [path]: see what a folder would run, and trust it or not"),
    row("undo", CliSubcommand::Undo, "Bring back what commands and edits destroyed; --list shows what can be brought back"),
    row("usage", CliSubcommand::Usage, "usage [--by day|session|project|model|agent]: tokens and cost of all sessions"),
    row("context", CliSubcommand::Context, "context [ID] [--json]: what fills the window of a stored conversation"),
    row("rewind", CliSubcommand::Rewind, "Take a conversation and its files back to before one of its prompts"),
    row("doctor", CliSubcommand::Doctor, "Find out what is wrong with this installation"),
    row("hooks", CliSubcommand::Hooks, "hooks list|test: which hooks would run, and what they decide"),
    row("permissions", CliSubcommand::Permissions, "permissions explain|lint|test: what would be allowed, and why"),
    row("agents", CliSubcommand::Agents, "agents [--json] [--all]: sessions and their agents, with state, tokens and cost"),
    row("sandbox", CliSubcommand::Sandbox, "sandbox run|status: run a command confined; what the sandbox can do here"),
    row("sessions", CliSubcommand::Sessions, "sessions list|search|show|export|import|rename|compactions|sweep: earlier sessions"),
    row("project", CliSubcommand::Project, "project purge [path]: delete everything stored about a project"),
    row("acp", CliSubcommand::Acp, "Serve an editor through the Agent Client Protocol"),
    row("update", CliSubcommand::Update, "update [--check|--rollback|--pin]: replace this gimlet with a newer release"),
    row("install", CliSubcommand::Install, "install [latest|stable|version]: install a release for you or the system"),
    row("completions", CliSubcommand::Completions, "completions <shell>: print a completion script"),
    row("help", CliSubcommand::Help, ""),
    row("upgrade", CliSubcommand::Update, ""),
    missing("setup-token"),
    missing("plugin"), missing("plugins"), missing("attach"), missing("logs"), missing("stop"), missing("kill"),
    missing("respawn"), missing("rm"), missing("daemon"), missing("auto-mode"), missing("import"),
    missing("remote-control"), missing("rc"), missing("self-hosted-runner"), missing("gateway"), missing("ultrareview"),
    missing("serve"),
];

/// The subcommand named by the first word, and the words after it.
pub(crate) fn find(argv: &[OsString]) -> Option<(CliSubcommand, &'static str, &[OsString])> {
    let (first, mut rest) = argv.split_first()?;
    let mut name = first.to_str()?;
    // Shell aliases put these two flags first.
    if matches!(name, "--dangerously-skip-permissions" | "--allow-dangerously-skip-permissions") {
        let (second, after) = rest.split_first()?;
        if second != "daemon" {
            return None;
        }
        (name, rest) = ("daemon", after);
    }
    TABLE.iter().find(|r| r.name == name).map(|r| (r.what, r.name, rest))
}

/// The subcommand that the first word was probably meant to be.
pub(crate) fn near_miss(argv: &[OsString]) -> Option<&'static str> {
    let word = argv.first()?.to_str()?;
    let is_word =
        word.len() >= 4 && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') && !word.starts_with('-');
    if !is_word {
        return None;
    }
    let allowed = if word.len() > 5 { 2 } else { 1 };
    let near =
        TABLE.iter().map(|r| (distance(word, r.name), r.name)).filter(|(d, name)| *d <= allowed && name.len() >= 4);
    near.min_by_key(|(d, _)| *d).map(|(_, name)| name)
}

/// Edit distance in which swapping two neighbouring letters counts as one.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut rows: Vec<Vec<usize>> = (0..=a.len()).map(|i| vec![i; b.len() + 1]).collect();
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let change = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + change);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

pub(crate) fn help() -> String {
    let width = TABLE.iter().filter(|r| !r.help.is_empty()).map(|r| r.name.len()).max().unwrap_or(0);
    let commands: String = TABLE
        .iter()
        .filter(|r| !r.help.is_empty())
        .flat_map(|r| ["  ".into(), format!("{:width$}", r.name), "  ".into(), r.help.to_owned(), "\n".into()])
        .collect();
    parse::command().after_help(format!("Commands:\n{}", commands.trim_end())).render_help().to_string()
}

/// `completions <shell>`; an error is ready to print.
pub(crate) fn completions(rest: &[OsString], out: &mut dyn Write) -> Result<(), String> {
    let shell = rest.first().and_then(|s| s.to_str()).and_then(|s| s.parse::<clap_complete::Shell>().ok());
    let Some(shell) = shell.filter(|_| rest.len() == 1) else {
        return Err("Usage: gimlet completions <bash|elvish|fish|powershell|zsh>".into());
    };
    let subcommands = TABLE.iter().filter(|r| !r.help.is_empty());
    let mut command = parse::command().no_binary_name(false);
    for row in subcommands {
        command = command.subcommand(clap::Command::new(row.name).about(row.help));
    }
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "gimlet", &mut script);
    out.write_all(&script).map_err(|e| format!("Error: could not write the script: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn only_the_first_word_is_a_subcommand() {
        assert_eq!(find(&words(&["auth", "status"])).map(|f| f.0), Some(CliSubcommand::Auth));
        assert_eq!(find(&words(&["-p", "auth"])), None);
        assert_eq!(find(&words(&["authorise the user"])), None);
        let daemon = words(&["--dangerously-skip-permissions", "daemon", "status"]);
        assert_eq!(find(&daemon).map(|f| (f.1, f.2.len())), Some(("daemon", 1)));
        assert_eq!(find(&words(&["--dangerously-skip-permissions", "mcp"])), None);
    }

    // [CLI-50]
    #[test]
    fn mistyped_subcommands_are_recognised() {
        for (typed, meant) in
            [("udpate", "update"), ("doctr", "doctor"), ("completion", "completions"), ("plugns", "plugins")]
        {
            assert_eq!(near_miss(&words(&[typed])), Some(meant), "{typed}");
        }
        for prompt in ["hello", "fix the tests", "test", "explain", "-p", "", "rn"] {
            assert_eq!(near_miss(&words(&[prompt])), None, "{prompt}");
        }
    }

    #[test]
    fn completions_know_the_flags() {
        for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
            let mut script = Vec::new();
            completions(&words(&[shell]), &mut script).unwrap();
            assert!(String::from_utf8(script).unwrap().contains("output-format"), "{shell}");
        }
        assert!(completions(&words(&["tcsh"]), &mut Vec::new()).is_err());
    }
}
