//! Commands that the terminal carries out itself: they open a screen at once, also while a turn runs. One table feeds the
//! dispatch, the menu, `/help` and the documentation; every other command goes to the engine.

use super::App;
use super::panel::{Awaited, Errand, Panel, Subject};
use super::select::{Item, Typing};
use super::session::SlashCommand;
use crate::theme::Token;
use serde_json::json;

/// What a row opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    Agents,
    Btw,
    Config,
    Context,
    Copy,
    Diff,
    Doctor,
    Effort,
    Exit,
    Fast,
    Help,
    Hooks,
    Keys,
    Login,
    Logout,
    Mcp,
    Memory,
    Model,
    Permissions,
    Resume,
    Status,
    Style,
    Tasks,
    Theme,
    Usage,
    Vim,
    /// Says why there is none, or what to use instead.
    Why(&'static str),
}

/// What arguments do to a command of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arguments {
    /// They are for the engine, which has a command of the same name.
    Engine,
    /// They are for us.
    Ours,
}

struct Row {
    name: &'static str,
    aliases: &'static [&'static str],
    hint: &'static str,
    help: &'static str,
    does: Does,
    arguments: Arguments,
}

const fn row(name: &'static str, hint: &'static str, help: &'static str, does: Does, arguments: Arguments) -> Row {
    Row { name, aliases: &[], hint, help, does, arguments }
}

const fn also(mut row: Row, aliases: &'static [&'static str]) -> Row {
    row.aliases = aliases;
    row
}

#[rustfmt::skip]
static ROWS: &[Row] = &[
    row("agents", "", "Agents that run or can be started", Does::Agents, Arguments::Ours),
    row("btw", "[question]", "Ask on the side, also while a turn runs", Does::Btw, Arguments::Ours),
    also(row("config", "[key=value]", "See and change settings", Does::Config, Arguments::Ours), &["settings"]),
    row("context", "", "What fills the context window, as a grid", Does::Context, Arguments::Engine),
    row("copy", "[N] [w]", "Copy the latest answer, or the Nth latest; w writes a file", Does::Copy, Arguments::Ours),
    row("diff", "", "Uncommitted changes", Does::Diff, Arguments::Ours),
    also(row("doctor", "", "Check the installation and the settings", Does::Doctor, Arguments::Ours), &["checkup"]),
    row("effort", "[level|auto|status]", "How hard the model thinks", Does::Effort, Arguments::Engine),
    also(row("exit", "", "Leave", Does::Exit, Arguments::Ours), &["quit"]),
    row("help", "", "List the commands", Does::Help, Arguments::Ours),
    row("hooks", "", "Hooks in force", Does::Hooks, Arguments::Ours),
    row("keybindings", "[edit]", "Every key and what it does; edit opens your file", Does::Keys, Arguments::Ours),
    row("login", "", "Enter an API key", Does::Login, Arguments::Ours),
    row("logout", "", "Forget the stored API key", Does::Logout, Arguments::Ours),
    row("mcp", "[reconnect|enable|disable <server>]", "MCP servers: status, connect again, on and off", Does::Mcp, Arguments::Ours),
    row("memory", "", "Instruction files: open them, switch notes", Does::Memory, Arguments::Ours),
    row("model", "[model]", "Choose the model and its effort", Does::Model, Arguments::Engine),
    also(row("permissions", "[allow|ask|deny|remove <rule>]", "Permission rules: see, add, remove", Does::Permissions, Arguments::Engine), &["allowed-tools"]),
    row("output-style", "", "Choose how answers are written", Does::Style, Arguments::Ours),
    also(row("resume", "[words]", "Go on with another conversation", Does::Resume, Arguments::Ours), &["continue"]),
    row("status", "", "Version, model, account and settings files", Does::Status, Arguments::Ours),
    also(row("tasks", "", "What runs in the background: see, stop", Does::Tasks, Arguments::Ours), &["bashes"]),
    row("theme", "[name]", "Choose the colours", Does::Theme, Arguments::Ours),
    also(row("usage", "", "What this session has cost", Does::Usage, Arguments::Ours), &["cost", "stats"]),
    row("vim", "", "Switch vim keys on or off", Does::Vim, Arguments::Ours),
];

/// Answered here and in no list.
#[rustfmt::skip]
static HIDDEN: &[Row] = &[
    row("color", "", "", Does::Why("the bar has the colour of the permission mode; /theme changes the colours"), Arguments::Ours),
    row("fast", "", "", Does::Fast, Arguments::Ours),
    row("focus", "", "", Does::Why("there is no focus view; ctrl+o shows everything in full"), Arguments::Ours),
    row("scroll-speed", "", "", Does::Why("your terminal does the scrolling here: its own setting counts"), Arguments::Ours),
    row("terminal-setup", "", "", Does::Why("nothing to set up: ctrl+j, alt+enter and \\ enter make a new line everywhere, shift+enter where the terminal reports it"), Arguments::Ours),
    row("tui", "", "", Does::Why("there is one renderer, and it keeps your scrollback; `tui` in settings is accepted and changes nothing"), Arguments::Ours),
    row("voice", "", "", Does::Why("there is no dictation: it needs a speech service"), Arguments::Ours),
];

impl Row {
    fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}

/// The engine's commands with those of the terminal, by name. Where both have one, the terminal's words are shown.
pub(super) fn with_own(mut commands: Vec<SlashCommand>) -> Vec<SlashCommand> {
    commands.retain(|command| !command.builtin || !ROWS.iter().any(|row| row.name == command.name));
    // A skill of the same name goes before a command of ours that only the terminal has.
    for row in ROWS {
        if !commands.iter().any(|command| command.name == row.name) {
            commands.push(SlashCommand {
                name: row.name.to_owned(),
                description: row.help.to_owned(),
                argument_hint: row.hint.to_owned(),
                aliases: row.aliases.iter().map(|alias| (*alias).to_owned()).collect(),
                builtin: true,
            });
        }
    }
    commands.sort_by(|a, b| a.name.cmp(&b.name));
    commands
}

impl App {
    /// Whether the line was a command of the terminal.
    pub(super) fn local_command(&mut self, line: &str) -> bool {
        let Some(rest) = line.trim().strip_prefix('/') else { return false };
        let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let arguments = arguments.trim();
        let is_skill = self.session.commands.iter().any(|command| command.name == name && !command.builtin);
        let Some(row) = ROWS.iter().chain(HIDDEN).find(|row| row.is_called(name)).filter(|_| !is_skill) else {
            return false;
        };
        if row.arguments == Arguments::Engine && !arguments.is_empty() {
            return false;
        }
        if let Does::Why(why) = row.does {
            self.note(&format!("/{name}: {why}."), Token::Warning);
        } else {
            self.perform_local(row.does, arguments);
        }
        true
    }

    fn perform_local(&mut self, does: Does, arguments: &str) {
        match does {
            Does::Agents => self.open_agents(),
            Does::Btw => self.open_aside(arguments),
            Does::Config if arguments.is_empty() => self.open_settings(),
            Does::Config => self.set_directly(arguments),
            Does::Context => self.open_context(),
            Does::Copy => self.copy(arguments),
            Does::Diff => self.open_diff(),
            Does::Doctor => self.open_doctor(),
            Does::Effort => self.open_efforts(),
            Does::Exit => self.leave(),
            Does::Fast => self.fast_mode(),
            Does::Help => self.open_commands(),
            Does::Hooks => self.open_hooks(),
            Does::Keys if arguments == "edit" => self.errand(Errand::EditKeys),
            Does::Keys => self.open_keys(),
            Does::Login => self.open_login(),
            Does::Logout => self.errand(Errand::SignOut),
            Does::Mcp => self.mcp_command(arguments),
            Does::Memory => self.open_memory(),
            Does::Model => self.open_models(),
            Does::Permissions => self.open_rules(),
            Does::Resume => self.resume(arguments),
            Does::Status => self.open_status(),
            Does::Style => self.open_styles(),
            Does::Tasks => self.open_tasks(),
            Does::Theme if arguments.is_empty() => self.open_themes(),
            Does::Theme => self.theme_named(arguments),
            Does::Usage => self.open_usage(),
            Does::Vim => self.toggle_vim(),
            Does::Why(_) => {}
        }
    }

    fn mcp_command(&mut self, arguments: &str) {
        match arguments.split_once(char::is_whitespace).map(|(verb, name)| (verb, name.trim())) {
            Some(("reconnect", name)) => self.reconnect(name),
            Some(("enable", name)) => self.switch_server(name, true),
            Some(("disable", name)) => self.switch_server(name, false),
            None if arguments.is_empty() => self.open_servers(),
            Some(_) | None => self.note("Usage: /mcp, or /mcp reconnect|enable|disable <server>", Token::Error),
        }
    }

    fn open_commands(&mut self) {
        // Skills and custom commands may have come or gone since.
        self.request(&json!({"subtype": "reload_skills"}), Awaited::Quiet);
        let commands = &self.session.commands;
        let item = |command: &SlashCommand| {
            let hint =
                if command.argument_hint.is_empty() { String::new() } else { format!(" {}", command.argument_hint) };
            Item::new(format!("/{}{hint}", command.name), command.description.clone())
        };
        let items = commands.iter().map(item).collect();
        let names = commands.iter().map(|command| command.name.clone()).collect();
        let panel = Panel::list("Commands", items, Typing::Filters, Subject::Commands(names));
        self.open_panel(
            panel.keys("type to search · enter to write it · ? on an empty prompt for keys · esc to close"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_lists_the_terminals_commands() {
        // [CLI-213]
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/commands.md");
        let page = std::fs::read_to_string(page).unwrap();
        for row in ROWS {
            let aliases: Vec<String> = row.aliases.iter().map(|alias| format!(", `/{alias}`")).collect();
            let hint = if row.hint.is_empty() { String::new() } else { format!(" {}", row.hint.replace('|', "\\|")) };
            let line = format!("| `/{}{hint}`{} | {} |", row.name, aliases.concat(), row.help);
            assert!(page.contains(&line), "docs/commands.md lacks the line:\n{line}");
        }
    }

    /// What the engine leaves to terminals is answered here, one way or the other.
    #[test]
    fn nothing_is_left_to_a_terminal_that_is_not_there() {
        // [CLI-213]
        let left = "btw color copy diff exit quit focus keybindings scroll-speed terminal-setup theme tui voice";
        for name in left.split(' ') {
            assert!(ROWS.iter().chain(HIDDEN).any(|row| row.is_called(name)), "/{name}");
        }
    }

    #[test]
    fn each_name_stands_once_and_skills_go_first() {
        let command = |name: &str, builtin| SlashCommand { name: name.into(), builtin, ..SlashCommand::default() };
        let all = with_own(vec![command("model", true), command("diff", false), command("compact", true)]);
        let mut names: Vec<&str> = all.iter().map(|command| command.name.as_str()).collect();
        names.dedup();
        assert_eq!(names.len(), all.len());
        assert!(all.iter().any(|command| command.name == "model" && command.description.contains("Choose")));
        assert!(all.iter().any(|command| command.name == "diff" && !command.builtin));
    }
}
