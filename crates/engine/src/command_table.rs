//! All slash commands, one row each: those that work, those that need a terminal, and those that are missing, with
//! the reason. Help, `system/init` and the list for hosts are made from it.

mod suggest;

use config::roots::DefinitionScope;
use config::skills::{Skill, Skills};
use std::collections::HashSet;
use std::sync::Arc;
use wire::control::SlashCommand;

/// What a typed command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandAction {
    AddDir,
    Agents,
    Autocompact,
    Btw,
    Budget,
    Cd,
    Clear,
    Colour,
    Compact,
    Context,
    Effort,
    Export,
    Help,
    Hooks,
    Mcp,
    Memory,
    Model,
    Permissions,
    Plan,
    Recap,
    ReleaseNotes,
    Rename,
    Sandbox,
    Skills,
    Status,
    Tasks,
    Todos,
    Usage,
    /// Becomes a prompt with this text.
    Expand(&'static str),
    /// Works only in the terminal interface.
    Terminal,
    /// Replies with where to look instead, or why the command is missing.
    Elsewhere(&'static str),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct CommandRow {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    /// The arguments, as shown in help.
    pub hint: &'static str,
    pub help: &'static str,
    pub action: CommandAction,
}

impl CommandRow {
    /// Whether menus and hosts list it.
    pub(crate) fn is_listed(&self) -> bool {
        !matches!(self.action, CommandAction::Terminal | CommandAction::Elsewhere(_))
    }

    /// Whether a skill of the same name takes precedence.
    pub(crate) fn yields_to_skill(&self) -> bool {
        matches!(self.action, CommandAction::Terminal | CommandAction::Elsewhere(_) | CommandAction::Expand(_))
    }

    fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}

/// Whether a name is one of a command, also of one that no list has because it only says what to use instead.
pub fn is_command(name: &str) -> bool {
    find(name).is_some()
}

pub(crate) fn find(name: &str) -> Option<&'static CommandRow> {
    ROWS.iter().find(|row| row.is_called(name))
}

const HOSTED: CommandAction = CommandAction::Elsewhere("It needs a hosted service that gimlet does not use.");
const NOT_YET: CommandAction = CommandAction::Elsewhere("Not available yet.");
const PLUGINS: CommandAction = CommandAction::Elsewhere("Plugins are not supported yet.");

const fn row(
    name: &'static str,
    aliases: &'static [&'static str],
    hint: &'static str,
    help: &'static str,
    action: CommandAction,
) -> CommandRow {
    CommandRow { name, aliases, hint, help, action }
}

#[rustfmt::skip]
pub(crate) static ROWS: &[CommandRow] = &[
    row("add-dir", &[], "<path>", "Add a working directory", CommandAction::AddDir),
    row("agents", &[], "", "List agents, and how to add your own", CommandAction::Agents),
    row("autocompact", &[], "[auto|tokens]", "When the conversation is compacted automatically", CommandAction::Autocompact),
    row("batch", &[], "<change>", "Make a large change in many places, with agents in worktrees", CommandAction::Expand(include_str!("command_table/prompts/batch.md"))),
    row("btw", &[], "<question>", "Ask on the side, outside the conversation", CommandAction::Btw),
    row("budget", &[], "[scope] [amount|off]", "Show the budgets, or set one until gimlet exits", CommandAction::Budget),
    row("cd", &[], "<path>", "Move the session to another directory", CommandAction::Cd),
    row("clear", &["reset", "new"], "[name]", "Start a new session; a name is kept with the old one", CommandAction::Clear),
    row("code-review", &["review"], "[target]", "Review a diff, branch, commit or path", CommandAction::Expand(include_str!("command_table/prompts/review.md"))),
    row("color", &[], "[name|default]", "Colour of the lines around the prompt, to tell sessions apart", CommandAction::Colour),
    row("compact", &[], "[instructions|edit|show|undo]", "Summarise and continue from there; edit, show or undo a summary", CommandAction::Compact),
    row("context", &[], "[all]", "What fills the context window", CommandAction::Context),
    row("effort", &[], "[level|auto|status]", "How hard the model thinks", CommandAction::Effort),
    row("export", &[], "[file]", "The conversation as text, Markdown, HTML or JSON", CommandAction::Export),
    row("fewer-permission-prompts", &[], "", "Propose rules for calls that you always allow", CommandAction::Expand(include_str!("command_table/prompts/fewer-prompts.md"))),
    row("help", &[], "", "List the commands", CommandAction::Help),
    row("hooks", &[], "", "List the hooks in use", CommandAction::Hooks),
    row("init", &[], "", "Write CLAUDE.md, or propose changes to it", CommandAction::Expand(include_str!("command_table/prompts/init.md"))),
    row("mcp", &[], "[reconnect|enable|disable <server>]", "List MCP servers, reconnect one, turn one on or off", CommandAction::Mcp),
    row("memory", &[], "", "List the instruction files in use", CommandAction::Memory),
    row("model", &["models"], "[model]", "List the models, or switch the model of this session", CommandAction::Model),
    row("permissions", &["allowed-tools"], "[allow|ask|deny|remove <rule>]", "Show or change the permission rules", CommandAction::Permissions),
    row("plan", &[], "[description]", "Enter plan mode", CommandAction::Plan),
    row("recap", &[], "", "A short recap: what was asked, what is done, what is next", CommandAction::Recap),
    row("release-notes", &[], "", "What is new in this version", CommandAction::ReleaseNotes),
    row("rename", &[], "<name>", "Name this session", CommandAction::Rename),
    row("run", &[], "[what to check]", "Start the program and check what it does", CommandAction::Expand(include_str!("command_table/prompts/run.md"))),
    row("run-skill-generator", &[], "", "Write a skill that explains how to start the program", CommandAction::Expand(include_str!("command_table/prompts/run-skill.md"))),
    row("sandbox", &[], "", "What commands may write and reach", CommandAction::Sandbox),
    row("security-review", &[], "", "Review the branch's changes for security problems", CommandAction::Expand(include_str!("command_table/prompts/security-review.md"))),
    row("simplify", &[], "[target]", "Make recent code simpler without changing what it does", CommandAction::Expand(include_str!("command_table/prompts/simplify.md"))),
    row("skills", &[], "", "List the skills", CommandAction::Skills),
    row("status", &[], "", "Version, model, account and settings files", CommandAction::Status),
    row("tasks", &["bashes"], "", "List background tasks", CommandAction::Tasks),
    row("todos", &[], "", "Show the model's task list", CommandAction::Todos),
    row("usage", &["cost", "stats"], "", "Cost of this session and of today", CommandAction::Usage),
    row("verify", &[], "[what]", "Run the program to check that a change works", CommandAction::Expand(include_str!("command_table/prompts/verify.md"))),
    // Terminal only.
    row("branch", &[], "[name]", "Continue in a copy of this session", CommandAction::Terminal),
    row("copy", &[], "[N]", "Copy an answer", CommandAction::Terminal),
    row("diff", &[], "", "Browse uncommitted changes", CommandAction::Terminal),
    row("exit", &["quit"], "", "Leave", CommandAction::Terminal),
    row("focus", &[], "", "Focus view", CommandAction::Terminal),
    row("keybindings", &[], "", "Keys", CommandAction::Terminal),
    row("resume", &["continue"], "[session]", "Switch to another session", CommandAction::Terminal),
    row("scroll-speed", &[], "", "Speed of the wheel", CommandAction::Terminal),
    row("statusline", &[], "[what to show]", "Write a status line of your own", CommandAction::Expand(include_str!("command_table/prompts/statusline.md"))),
    row("terminal-setup", &[], "", "Keys for terminals that need it", CommandAction::Terminal),
    row("theme", &[], "", "Colours", CommandAction::Terminal),
    row("tui", &[], "[default|fullscreen]", "Renderer", CommandAction::Terminal),
    row("voice", &[], "[hold|tap|off]", "Dictation", CommandAction::Terminal),
    // Answered with a pointer to something else.
    row("config", &["settings"], "[key=value]", "Settings", CommandAction::Elsewhere("Use `gimlet config get|set|list|explain` in a shell.")),
    row("doctor", &["checkup"], "", "Diagnose", CommandAction::Elsewhere("Use `gimlet doctor` in a shell.")),
    row("login", &[], "", "Sign in", CommandAction::Elsewhere("Use `gimlet auth login` in a shell.")),
    row("logout", &[], "", "Sign out", CommandAction::Elsewhere("Use `gimlet auth logout` in a shell.")),
    row("output-style", &[], "", "Output style", CommandAction::Elsewhere("Set it with `gimlet config set outputStyle <name>`; it applies from the next session (/clear).")),
    row("pr-comments", &[], "", "Comments of a pull request", CommandAction::Elsewhere("Ask for them in your own words: the gh command can fetch them.")),
    row("rewind", &["checkpoint", "undo"], "", "Restore code or conversation", CommandAction::Elsewhere("`gimlet rewind` in a shell lists the prompts and goes back to one, with files, conversation or both.")),
    row("ultraplan", &[], "", "Planning", CommandAction::Elsewhere("Use /plan.")),
    row("vim", &[], "", "Vim keys", CommandAction::Elsewhere("Set it with `gimlet config set editorMode vim`.")),
    // Missing.
    row("advisor", &[], "", "", HOSTED),
    row("artifacts", &[], "", "", HOSTED),
    row("auto-mode-setup", &[], "", "", CommandAction::Elsewhere("Auto mode is not available: it needs a classifier.")),
    row("autofix-pr", &[], "", "", HOSTED),
    row("background", &["bg"], "", "", CommandAction::Elsewhere("A session cannot keep running without its terminal yet. ctrl+b moves a command or an agent to the background; to keep the whole session running, start gimlet in tmux, or give the task to `gimlet -c -p \"<task>\"`.")),
    row("bug", &["share", "feedback"], "", "", CommandAction::Elsewhere("gimlet sends no reports; open an issue in its repository.")),
    row("chrome", &[], "", "", NOT_YET),
    row("claude-api", &[], "", "", NOT_YET),
    row("dataviz", &[], "", "", NOT_YET),
    row("debug", &[], "", "", CommandAction::Elsewhere("The log is chosen at the start: `gimlet -c --debug-file <file>` continues this session with one; `gimlet doctor` checks installation and settings.")),
    row("deep-research", &[], "", "", NOT_YET),
    row("design-login", &["design-sync"], "", "", HOSTED),
    row("desktop", &["app"], "", "", HOSTED),
    row("fast", &[], "", "", NOT_YET),
    row("fork", &[], "", "", CommandAction::Elsewhere("/branch continues in a copy of this session; for a copy beside it, run `gimlet --resume <id> --fork-session` in another terminal.")),
    row("goal", &[], "", "", CommandAction::Elsewhere("Put the goal, and how to check it, in the prompt. A Stop hook can keep a turn going until your own check passes: see docs/hooks.md.")),
    row("heapdump", &[], "", "", NOT_YET),
    row("ide", &[], "", "", NOT_YET),
    row("import", &[], "", "", NOT_YET),
    row("insights", &[], "", "", NOT_YET),
    row("install-github-app", &["install-slack-app"], "", "", HOSTED),
    row("list-agents", &["peers"], "", "", CommandAction::Elsewhere("Use /tasks for agents that run here, `gimlet agents` in a shell for others.")),
    row("loop", &["proactive"], "", "", CommandAction::Elsewhere("There is no timer in a session yet. `gimlet -c -p \"<prompt>\"` from cron, or in a shell loop with sleep, repeats a prompt in this session.")),
    row("mobile", &[], "", "", HOSTED),
    row("passes", &[], "", "", HOSTED),
    row("plugin", &[], "", "", PLUGINS),
    row("powerup", &[], "", "", NOT_YET),
    row("privacy-settings", &[], "", "", HOSTED),
    row("radio", &[], "", "", NOT_YET),
    row("reload-plugins", &[], "", "", PLUGINS),
    row("reload-skills", &[], "", "", CommandAction::Elsewhere("Skills are reloaded automatically before every request.")),
    row("remote-control", &["rc", "remote-env"], "", "", HOSTED),
    row("schedule", &["routines"], "", "", HOSTED),
    row("setup-bedrock", &["setup-vertex"], "", "", CommandAction::Elsewhere("Cloud providers are not supported yet.")),
    row("stickers", &[], "", "", NOT_YET),
    row("stop", &[], "", "", NOT_YET),
    row("subtask", &[], "", "", NOT_YET),
    row("team-onboarding", &[], "", "", NOT_YET),
    row("teleport", &["tp", "web-setup"], "", "", HOSTED),
    row("ultrareview", &[], "", "", HOSTED),
    row("upgrade", &[], "", "", HOSTED),
    row("usage-credits", &["extra-usage"], "", "", HOSTED),
    row("workflows", &[], "", "", NOT_YET),
];

/// A prompt that is one of our commands.
#[derive(Clone, Debug)]
pub(crate) struct TypedCommand {
    pub row: &'static CommandRow,
    /// The name or alias as it was typed, for answers about it.
    pub name: &'static str,
    pub arguments: String,
}

/// The commands of a session: ours, and the skills that a person may type.
pub(crate) struct CommandList {
    /// Slash commands are not switched off.
    pub has_commands: bool,
    pub skills: Arc<Skills>,
}

impl CommandList {
    /// The command in a prompt; `None` when it is not one of ours or a skill of that name takes precedence.
    pub(crate) fn find_typed(&self, text: &str) -> Option<TypedCommand> {
        let typed = parse(text)?;
        if !self.has_commands {
            return None;
        }
        let name = text.trim()[1..].split(char::is_whitespace).next().unwrap_or_default();
        let skill = typed.row.yields_to_skill() && self.skills.find(name).is_some_and(Skill::is_user_visible);
        (!skill).then_some(typed)
    }

    /// Name, arguments and expanded prompt of a command that stands for a prompt.
    pub(crate) fn expansion(&self, text: &str) -> Option<(&'static str, String, String)> {
        let TypedCommand { row, arguments, .. } = self.find_typed(text)?;
        let CommandAction::Expand(prompt) = row.action else { return None };
        let filled = prompt.replace("$ARGUMENTS", &arguments).replace(" \n", "\n");
        Some((row.name, arguments, filled.trim().to_owned()))
    }

    /// Our commands, then skills and custom commands. A skill replaces a command of the same name that allows it.
    fn listed(&self) -> Vec<ListedCommand<'_>> {
        let typed: Vec<&Skill> = self.skills.all.iter().filter(|skill| skill.is_user_visible()).collect();
        let replaced = |name: &str| typed.iter().any(|skill| skill.name == name);
        let is_own = |row: &&CommandRow| row.is_listed() && !(row.yields_to_skill() && replaced(row.name));
        let own: Vec<&'static CommandRow> = ROWS.iter().filter(|row| self.has_commands && is_own(row)).collect();
        let own_names: HashSet<&str> = own.iter().map(|row| row.name).collect();
        let skills = typed.into_iter().filter(|skill| !own_names.contains(skill.name.as_str()));
        own.iter().map(|row| ListedCommand::Own(row)).chain(skills.map(ListedCommand::Skill)).collect()
    }

    /// Everything a host may offer.
    pub(crate) fn listing(&self) -> Vec<SlashCommand> {
        let shown = |command: &ListedCommand<'_>| match command {
            ListedCommand::Own(row) => of_row(row),
            ListedCommand::Skill(skill) => of_skill(skill),
        };
        self.listed().iter().map(shown).collect()
    }

    /// The names of all commands a host may offer.
    pub(crate) fn names(&self) -> Vec<String> {
        let name = |command: &ListedCommand<'_>| match command {
            ListedCommand::Own(row) => row.name.to_owned(),
            ListedCommand::Skill(skill) => skill.name.clone(),
        };
        self.listed().iter().map(name).collect()
    }

    /// The names of the commands that need the terminal interface.
    pub(crate) fn terminal_names(&self) -> Vec<String> {
        if !self.has_commands {
            return Vec::new();
        }
        let only = ROWS.iter().filter(|row| row.action == CommandAction::Terminal);
        only.map(|row| row.name.to_owned()).collect()
    }
}

fn parse(text: &str) -> Option<TypedCommand> {
    let text = text.trim();
    let (name, arguments) =
        text.strip_prefix('/')?.split_once(char::is_whitespace).unwrap_or((text.get(1..).unwrap_or_default(), ""));
    let row = find(name)?;
    let alias = row.aliases.iter().find(|alias| **alias == name);
    Some(TypedCommand { row, name: alias.unwrap_or(&row.name), arguments: arguments.trim().to_owned() })
}

/// A command that a host may offer.
enum ListedCommand<'a> {
    Own(&'static CommandRow),
    Skill(&'a Skill),
}

fn of_row(row: &CommandRow) -> SlashCommand {
    SlashCommand {
        name: row.name.to_owned(),
        description: row.help.to_owned(),
        argument_hint: row.hint.to_owned(),
        aliases: row.aliases.iter().map(|alias| (*alias).to_owned()).collect(),
        builtin: true,
    }
}

/// A skill as hosts list it.
pub(crate) fn of_skill(skill: &Skill) -> SlashCommand {
    SlashCommand {
        name: skill.name.clone(),
        description: described(skill),
        argument_hint: skill.argument_hint.clone().unwrap_or_default(),
        aliases: skill.aliases.clone(),
        builtin: false,
    }
}

/// The description of a skill and its scope, as hosts show it.
pub(crate) fn described(skill: &Skill) -> String {
    let text = skill.description.clone().or_else(|| skill.label.clone()).unwrap_or_default();
    let from = match skill.scope {
        DefinitionScope::User => " (user)",
        DefinitionScope::Project | DefinitionScope::Nested => " (project)",
        _ => "",
    };
    format!("{}{from}", text.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_every_row_says_something() {
        let mut names = BTreeSet::new();
        for row in ROWS {
            for name in std::iter::once(&row.name).chain(row.aliases) {
                assert!(names.insert(*name), "{name} twice");
            }
            assert!(!row.is_listed() || !row.help.is_empty(), "{}", row.name);
            assert!(row.help.len() <= 66, "{}", row.name);
        }
    }

    /// The commands of the specification that a person may type.
    #[test]
    fn every_documented_command_is_known() {
        // [CLI-213]
        let documented = "add-dir advisor agents artifacts auto-mode-setup autocompact autofix-pr background bg batch branch btw \
            bug share feedback cd chrome claude-api clear reset new code-review review color compact config settings context \
            copy cost stats usage dataviz debug deep-research design-login design-sync desktop app diff doctor checkup effort \
            exit quit export fast fewer-permission-prompts focus fork goal heapdump help hooks ide keybindings memory mobile \
            passes powerup privacy-settings radio stickers upgrade import init insights install-github-app install-slack-app \
            list-agents peers login logout loop proactive mcp model permissions allowed-tools plan plugin recap release-notes \
            reload-plugins reload-skills remote-control rc remote-env rename resume continue rewind checkpoint undo run \
            run-skill-generator verify sandbox schedule routines scroll-speed security-review setup-bedrock setup-vertex \
            simplify skills status statusline stop subtask tasks bashes team-onboarding teleport tp web-setup terminal-setup \
            theme tui ultrareview usage-credits voice workflows extra-usage vim output-style pr-comments ultraplan";
        for name in documented.split_whitespace() {
            assert!(find(name).is_some(), "/{name}");
        }
    }

    #[test]
    fn the_page_lists_what_works() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/commands.md");
        let page = std::fs::read_to_string(page).unwrap();
        for row in ROWS.iter().filter(|row| row.is_listed()) {
            let aliases: Vec<String> = row.aliases.iter().map(|alias| format!(", `/{alias}`")).collect();
            let aliases = aliases.concat();
            let hint = if row.hint.is_empty() { String::new() } else { format!(" {}", row.hint.replace('|', "\\|")) };
            let line = format!("| `/{}{hint}`{aliases} | {} |", row.name, row.help);
            assert!(page.contains(&line), "docs/commands.md lacks the line:\n{line}");
        }
    }

    #[test]
    fn only_whole_names_are_commands() {
        // [SDK-66]
        let parsed = |text: &str| parse(text).map(|typed| (typed.row.name, typed.arguments));
        assert_eq!(parsed("/compact"), Some(("compact", String::new())));
        assert_eq!(parsed("  /compact keep the API  "), Some(("compact", "keep the API".into())));
        assert_eq!(parsed("/reset x"), Some(("clear", "x".into())));
        for row in ROWS {
            for name in std::iter::once(&row.name).chain(row.aliases) {
                let typed = parse(&format!("/{name} x")).unwrap();
                assert_eq!((typed.name, typed.row.name), (*name, row.name), "an answer names what was typed");
            }
        }
        for other in ["/compactor", "compact", "/", "", "/unknown x", "see /compact", "/usr/bin"] {
            assert_eq!(parsed(other), None, "{other:?}");
        }
    }
}
