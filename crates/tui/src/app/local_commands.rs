//! Commands that the terminal runs itself. They open a panel immediately, also while a turn runs. One table feeds the
//! dispatch, the menu, `/help` and the documentation; every other command is sent to the engine.

use super::confirm::LeaveGoal;
use super::onboarding::Onboarding;
use super::panel::PanelJob;
use super::panel::agents::AgentList;
use super::panel::commands::{CommandList, ExportEntry};
use super::panel::memory::MemoryList;
use super::panel::model::{EffortList, ModelList};
use super::panel::pages::{ContextPage, DiffPage, DoctorPage, StatusPage, UsagePage, key_page};
use super::panel::rules::RuleList;
use super::panel::servers::{HookPage, ServerList, ServerRequest, reconnect, switch_server};
use super::panel::settings::{SettingList, StyleList};
use super::panel::tasks::TaskList;
use super::panel::themes::ThemeList;
use super::session::CommandSummary;
use super::{App, AppEffect, PendingResponse};
use std::time::Duration;
use terminal::editor::Submission;
use terminal::theme::ThemeToken;
use wire::control::HostRequest;

const HINT_DURATION: Duration = Duration::from_secs(4);

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LocalAction {
    Agents,
    Branch,
    Btw,
    Config,
    Context,
    Copy,
    Diff,
    Doctor,
    Effort,
    Exit,
    Export,
    Fast,
    Focus,
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
    Rewind,
    Status,
    Style,
    Tasks,
    Theme,
    Usage,
    Vim,
    /// Shows why the command does not exist here, or what to use instead.
    Why(&'static str),
}

/// How arguments of a terminal command are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArgumentHandling {
    /// A command with arguments is sent to the engine, which has a command of the same name.
    Engine,
    /// The terminal handles the arguments.
    Ours,
}

struct LocalCommand {
    name: &'static str,
    aliases: &'static [&'static str],
    hint: &'static str,
    help: &'static str,
    action: LocalAction,
    arguments: ArgumentHandling,
}

const fn row(
    name: &'static str,
    hint: &'static str,
    help: &'static str,
    does: LocalAction,
    arguments: ArgumentHandling,
) -> LocalCommand {
    LocalCommand { name, aliases: &[], hint, help, action: does, arguments }
}

const fn with_aliases(mut row: LocalCommand, aliases: &'static [&'static str]) -> LocalCommand {
    row.aliases = aliases;
    row
}

#[rustfmt::skip]
static LOCAL_COMMANDS: &[LocalCommand] = &[
    with_aliases(row("agents", "", "Agents that are running, and those you can start", LocalAction::Agents, ArgumentHandling::Ours), &["list-agents", "peers"]),
    row("branch", "[name]", "Continue in a copy of this session", LocalAction::Branch, ArgumentHandling::Ours),
    row("btw", "[question]", "Ask on the side, also while a turn runs", LocalAction::Btw, ArgumentHandling::Ours),
    with_aliases(row("config", "[key=value]", "See and change settings", LocalAction::Config, ArgumentHandling::Ours), &["settings"]),
    row("context", "", "What fills the context window, as a grid", LocalAction::Context, ArgumentHandling::Engine),
    row("copy", "[N] [w]", "Copy the latest answer, or the Nth latest; w writes a file", LocalAction::Copy, ArgumentHandling::Ours),
    row("diff", "", "Uncommitted changes", LocalAction::Diff, ArgumentHandling::Ours),
    with_aliases(row("doctor", "", "Check the installation and the settings", LocalAction::Doctor, ArgumentHandling::Ours), &["checkup"]),
    row("effort", "[level|auto|status]", "How hard the model thinks", LocalAction::Effort, ArgumentHandling::Engine),
    with_aliases(row("exit", "", "Leave", LocalAction::Exit, ArgumentHandling::Ours), &["quit"]),
    row("export", "[file]", "The conversation in a file: text, Markdown, HTML or JSON", LocalAction::Export, ArgumentHandling::Engine),
    row("focus", "", "Only prompts, what was done in one line, and the final answers", LocalAction::Focus, ArgumentHandling::Ours),
    row("help", "", "List the commands", LocalAction::Help, ArgumentHandling::Ours),
    row("hooks", "", "Hooks in use", LocalAction::Hooks, ArgumentHandling::Ours),
    row("keybindings", "[edit]", "All keys; edit opens your key bindings", LocalAction::Keys, ArgumentHandling::Ours),
    row("login", "", "Enter an API key", LocalAction::Login, ArgumentHandling::Ours),
    row("logout", "", "Delete the stored API key", LocalAction::Logout, ArgumentHandling::Ours),
    row("mcp", "[reconnect|enable|disable <server>]", "MCP servers: status, reconnect, turn on or off", LocalAction::Mcp, ArgumentHandling::Ours),
    row("memory", "", "Instruction files: edit them, turn notes on or off", LocalAction::Memory, ArgumentHandling::Ours),
    row("model", "[model]", "Choose the model and its effort", LocalAction::Model, ArgumentHandling::Engine),
    with_aliases(row("permissions", "[allow|ask|deny|remove <rule>]", "Permission rules: view, add, remove", LocalAction::Permissions, ArgumentHandling::Engine), &["allowed-tools"]),
    row("output-style", "", "Choose how answers are written", LocalAction::Style, ArgumentHandling::Ours),
    with_aliases(row("resume", "[words]", "Switch to another session", LocalAction::Resume, ArgumentHandling::Ours), &["continue"]),
    with_aliases(row("rewind", "", "Go back to an earlier prompt: files, conversation or both", LocalAction::Rewind, ArgumentHandling::Ours), &["checkpoint", "undo"]),
    row("status", "", "Version, model, account and settings files", LocalAction::Status, ArgumentHandling::Ours),
    with_aliases(row("tasks", "", "Background tasks: view, stop", LocalAction::Tasks, ArgumentHandling::Ours), &["bashes"]),
    row("theme", "[name]", "Choose the colours", LocalAction::Theme, ArgumentHandling::Ours),
    with_aliases(row("usage", "", "Cost of this session", LocalAction::Usage, ArgumentHandling::Ours), &["cost", "stats"]),
    row("vim", "", "Turn vim keys on or off", LocalAction::Vim, ArgumentHandling::Ours),
];

/// Commands that are answered here but not listed.
#[rustfmt::skip]
static HIDDEN_COMMANDS: &[LocalCommand] = &[
    row("fast", "", "", LocalAction::Fast, ArgumentHandling::Ours),
    row("scroll-speed", "", "", LocalAction::Why("your terminal does the scrolling, so its own setting applies"), ArgumentHandling::Ours),
    row("terminal-setup", "", "", LocalAction::Why("nothing to set up: ctrl+j, alt+enter and \\ enter make a new line everywhere, shift+enter where the terminal reports it"), ArgumentHandling::Ours),
    row("tui", "", "", LocalAction::Why("there is one renderer, and it keeps your scrollback; `tui` in settings has no effect"), ArgumentHandling::Ours),
    row("voice", "", "", LocalAction::Why("dictation is not available: it needs a speech service"), ArgumentHandling::Ours),
];

impl LocalCommand {
    fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}

/// Whether a command of this name is answered here although no list has it.
pub(super) fn is_hidden(name: &str) -> bool {
    HIDDEN_COMMANDS.iter().any(|row| row.is_called(name))
}

/// The commands of the engine and of the terminal, by name. Where both have one, the terminal's description is shown.
pub(super) fn merge_local_commands(mut commands: Vec<CommandSummary>) -> Vec<CommandSummary> {
    commands.retain(|command| !command.builtin || !LOCAL_COMMANDS.iter().any(|row| row.name == command.name));
    // A skill takes precedence over a terminal command of the same name.
    for row in LOCAL_COMMANDS {
        if !commands.iter().any(|command| command.name == row.name) {
            commands.push(CommandSummary {
                name: row.name.to_owned(),
                description: row.help.to_owned(),
                argument_hint: row.hint.to_owned(),
                aliases: row.aliases.iter().map(|alias| (*alias).to_owned()).collect(),
                builtin: true,
            });
        }
    }
    sys::compact_sort::sort_by(&mut commands, |a, b| a.name.cmp(&b.name));
    commands
}

impl App {
    /// Runs the line when it is a terminal command; `false` when it is not.
    pub(super) fn local_command(&mut self, line: &str) -> bool {
        let Some(rest) = line.trim().strip_prefix('/') else { return false };
        let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let arguments = arguments.trim();
        let is_skill = self.session.commands.iter().any(|command| command.name == name && !command.builtin);
        let Some(row) =
            LOCAL_COMMANDS.iter().chain(HIDDEN_COMMANDS).find(|row| row.is_called(name)).filter(|_| !is_skill)
        else {
            return false;
        };
        if row.arguments == ArgumentHandling::Engine && !arguments.is_empty() {
            return false;
        }
        if let LocalAction::Why(why) = row.action {
            self.note(&format!("/{name}: {why}."), ThemeToken::Warning);
        } else {
            self.perform_local(row.action, arguments);
        }
        true
    }

    fn perform_local(&mut self, does: LocalAction, arguments: &str) {
        match does {
            LocalAction::Agents => self.open_agents(),
            LocalAction::Branch => self.branch(arguments),
            LocalAction::Btw => self.open_side_question(arguments),
            LocalAction::Config if arguments.is_empty() => self.open_panel(SettingList::panel()),
            LocalAction::Config => self.set_directly(arguments),
            LocalAction::Context => self.open_panel(ContextPage::panel()),
            LocalAction::Copy => self.copy(arguments),
            LocalAction::Diff => self.open_panel(DiffPage::panel()),
            LocalAction::Doctor => self.open_panel(DoctorPage::panel()),
            LocalAction::Effort => self.open_panel(EffortList::panel()),
            LocalAction::Exit => self.request_exit(),
            LocalAction::Export => self.open_panel(ExportEntry::panel()),
            LocalAction::Fast => self.fast_mode(),
            LocalAction::Focus => self.toggle_focus(),
            LocalAction::Help => self.open_commands(),
            LocalAction::Hooks => self.open_panel(HookPage::panel()),
            LocalAction::Keys if arguments == "edit" => self.start_panel_job(PanelJob::EditKeys),
            LocalAction::Keys => self.open_panel(key_page(&self.preferences.bindings, &self.preferences.theme)),
            LocalAction::Login => self.open_onboarding(Onboarding::from_login()),
            LocalAction::Logout => self.start_panel_job(PanelJob::SignOut),
            LocalAction::Mcp => self.mcp_command(arguments),
            LocalAction::Memory => self.open_panel(MemoryList::panel()),
            LocalAction::Model => self.open_panel(ModelList::panel()),
            LocalAction::Permissions => self.open_panel(RuleList::panel()),
            LocalAction::Resume => self.resume(arguments),
            LocalAction::Rewind => self.open_rewind(),
            LocalAction::Status => self.open_panel(StatusPage::panel()),
            LocalAction::Style => self.open_panel(StyleList::panel(&self.session)),
            LocalAction::Tasks => self.open_panel(TaskList::panel(&self.session.background, self.now)),
            LocalAction::Theme if arguments.is_empty() => {
                self.open_panel(ThemeList::panel(self.preferences.theme.clone(), self.follows_background));
            }
            LocalAction::Theme => self.theme_named(arguments),
            LocalAction::Usage => self.open_panel(UsagePage::panel()),
            LocalAction::Vim => self.toggle_vim(),
            LocalAction::Why(_) => {}
        }
    }

    /// `/copy [N] [w]`: copies the N-th latest answer to the clipboard, or with `w` to a file.
    pub(super) fn copy(&mut self, arguments: &str) {
        let to_file = arguments.split_whitespace().any(|word| word == "w");
        let number = arguments.split_whitespace().find_map(|word| word.parse::<usize>().ok()).unwrap_or(1);
        match self.transcript.reply(number.max(1)) {
            Some(text) if to_file => self.effects.push(AppEffect::SaveCopy(text)),
            Some(text) => self.effects.push(AppEffect::Copy(text)),
            None => self.note("No such answer to copy.", ThemeToken::Warning),
        }
    }

    pub(super) fn show_copy_result(&mut self, outcome: Result<String, String>) {
        match outcome {
            Ok(how) => self.note(&how, ThemeToken::Inactive),
            Err(why) => self.note(&why, ThemeToken::Error),
        }
    }

    /// `/branch [name]`: goes on in a copy of the conversation; the one it was made from stays as it is.
    fn branch(&mut self, name: &str) {
        if self.is_busy() {
            // Nothing that was typed is lost: Enter tries it again.
            self.prompt.put_back(vec![Submission::plain(format!("/branch {name}").trim_end().to_owned())]);
            return self.hint("Wait for the end of this turn, or stop it with esc", HINT_DURATION);
        }
        match self.session.id.clone() {
            Some(session) if self.transcript.reply(1).is_some() => {
                let prompt = if name.is_empty() { String::new() } else { format!("/rename {name}") };
                self.leave(LeaveGoal::Copy { session, prompt });
            }
            Some(_) | None => self.hint("There is nothing to copy yet", HINT_DURATION),
        }
    }

    fn mcp_command(&mut self, arguments: &str) {
        match arguments.split_once(char::is_whitespace).map(|(verb, name)| (verb, name.trim())) {
            Some(("reconnect", name)) => self.server_request(reconnect(name)),
            Some(("enable", name)) => self.server_request(switch_server(name, true)),
            Some(("disable", name)) => self.server_request(switch_server(name, false)),
            None if arguments.is_empty() => self.open_panel(ServerList::panel()),
            Some(_) | None => self.note("Usage: /mcp, or /mcp reconnect|enable|disable <server>", ThemeToken::Error),
        }
    }

    fn open_commands(&mut self) {
        // Skills and custom commands may have come or gone since.
        self.request(HostRequest::ReloadSkills, PendingResponse::Quiet);
        self.open_panel(CommandList::panel(&self.session.commands));
    }

    pub(super) fn open_agents(&mut self) {
        self.open_panel(AgentList::panel(&self.agents, &self.session, self.now));
    }

    fn server_request(&mut self, ServerRequest(request, answer): ServerRequest) {
        self.request(request, answer);
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
        for row in LOCAL_COMMANDS {
            let aliases: Vec<String> = row.aliases.iter().map(|alias| format!(", `/{alias}`")).collect();
            let hint = if row.hint.is_empty() { String::new() } else { format!(" {}", row.hint.replace('|', "\\|")) };
            let line = format!("| `/{}{hint}`{} | {} |", row.name, aliases.concat(), row.help);
            assert!(page.contains(&line), "docs/commands.md lacks the line:\n{line}");
        }
    }

    /// Every command that the engine leaves to terminals is answered here.
    #[test]
    fn nothing_is_left_to_a_terminal_that_is_not_there() {
        // [CLI-213]
        let left = "btw copy diff exit quit focus keybindings scroll-speed terminal-setup theme tui voice";
        for name in left.split(' ') {
            assert!(LOCAL_COMMANDS.iter().chain(HIDDEN_COMMANDS).any(|row| row.is_called(name)), "/{name}");
        }
    }

    #[test]
    fn each_name_stands_once_and_skills_go_first() {
        let command = |name: &str, builtin| CommandSummary { name: name.into(), builtin, ..CommandSummary::default() };
        let all = merge_local_commands(vec![command("model", true), command("diff", false), command("compact", true)]);
        let mut names: Vec<&str> = all.iter().map(|command| command.name.as_str()).collect();
        names.dedup();
        assert_eq!(names.len(), all.len());
        assert!(all.iter().any(|command| command.name == "model" && command.description.contains("Choose")));
        assert!(all.iter().any(|command| command.name == "diff" && !command.builtin));
    }
}
