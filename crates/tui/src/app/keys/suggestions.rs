//! Suggestions while the person types: commands, files, and arguments of commands.

use crate::app::local_commands::is_hidden;
use crate::app::menu::{self, Menu, MenuItem, SuggestionKind, SuggestionQuery};
use crate::app::panel::model::EFFORTS;
use crate::app::session::CommandSummary;
use crate::app::session_choices::SessionChoices;
use crate::app::{App, AppEffect};
use crate::completion::index::FileQuestion;
use terminal::theme::BaseTheme;

/// What an argument of a command can be.
#[derive(Debug)]
enum ArgumentChoice {
    Known(Vec<MenuItem>),
    /// Asked from the index.
    Directories,
    /// Conversations of this folder: the argument is the rest of the line.
    Sessions,
    Free,
}

impl App {
    pub(in crate::app) fn suggest(&mut self) {
        let Some(wanted) = menu::suggestion_query(self.prompt.editor.text(), self.prompt.editor.cursor()) else {
            return self.show_menu(None);
        };
        match wanted.kind {
            SuggestionKind::Command => self.suggest_commands(wanted),
            SuggestionKind::File => self.find_files(FileQuestion::Mention(wanted.query.clone()), wanted.query),
            SuggestionKind::Argument => self.suggest_arguments(wanted),
        }
    }

    /// Commands became known: the one being typed may be among them.
    pub(in crate::app) fn suggest_again(&mut self) {
        if self.prompt.editor.text().starts_with('/') {
            self.suggest();
        }
    }

    fn suggest_commands(&mut self, wanted: SuggestionQuery) {
        if wanted.query.is_empty() {
            self.load_history();
        }
        let used = self.prompt.history.commands();
        let known = &self.session.commands;
        // Only skills and custom commands do something within a prompt.
        let offered: Vec<CommandSummary>;
        let offered = if wanted.start == 0 {
            known
        } else {
            offered = known.iter().filter(|command| !command.builtin).cloned().collect();
            &offered
        };
        let items = menu::commands(&wanted.query, offered, &used);
        let is_listed = known.iter().any(|command| is_called(command, &wanted.query));
        let is_named = !is_listed && (is_hidden(&wanted.query) || engine::is_command(&wanted.query));
        self.show_menu(Some(Menu::new(wanted, items).named(is_named)));
    }

    fn find_files(&mut self, question: FileQuestion, query: String) {
        self.effects.push(AppEffect::FindFiles(question));
        // The current suggestions stay until the answer arrives, so that nothing jumps.
        match self.layers.find_mut::<Menu>().filter(|menu| menu.kind != SuggestionKind::Command) {
            Some(menu) => menu.query = query,
            None => self.show_menu(None),
        }
    }

    fn suggest_arguments(&mut self, wanted: SuggestionQuery) {
        let Some((command, words)) = self.command_being_typed(wanted.start) else { return self.show_menu(None) };
        if matches!(self.argument_choices(&command.name, &[]), ArgumentChoice::Sessions) {
            return self.suggest_sessions(&command);
        }
        let usage = usage(&command).filter(|_| words.is_empty() && wanted.query.is_empty());
        match self.argument_choices(&command.name, &words) {
            ArgumentChoice::Known(known) => {
                let items = menu::choices(&wanted.query, known);
                self.show_menu(Some(Menu::new(wanted, items).with_usage(usage)));
            }
            ArgumentChoice::Directories => {
                if self.layers.find_mut::<Menu>().is_none_or(|menu| menu.kind == SuggestionKind::Command) {
                    self.show_menu(Some(Menu::new(wanted.clone(), Vec::new()).with_usage(usage)));
                }
                self.find_files(FileQuestion::Directory(wanted.query.clone()), wanted.query);
            }
            ArgumentChoice::Sessions | ArgumentChoice::Free => {
                self.show_menu(Some(Menu::new(wanted, Vec::new()).with_usage(usage)));
            }
        }
    }

    /// Conversations by title, or by the beginning of an id. A title has several words, so the rest of the line counts.
    fn suggest_sessions(&mut self, command: &CommandSummary) {
        let (text, cursor) = (self.prompt.editor.text(), self.prompt.editor.cursor());
        let Some(after) = text.get(..cursor).and_then(|before| before.find(char::is_whitespace)) else { return };
        let start = after + 1;
        let query = text.get(start..cursor).unwrap_or_default().trim_start().to_owned();
        if query.is_empty() {
            self.session_choices.expect_news();
            self.effects.push(AppEffect::Picker(SessionChoices::request()));
        }
        let usage = usage(command).filter(|_| query.is_empty());
        let items = self.session_choices.items(&query, self.session.id.as_deref());
        let wanted = SuggestionQuery { kind: SuggestionKind::Argument, query, start };
        self.show_menu(Some(Menu::new(wanted, items).with_usage(usage)));
    }

    /// The command at the start of the prompt, and the words between it and `start`.
    fn command_being_typed(&self, start: usize) -> Option<(CommandSummary, Vec<String>)> {
        let mut words = self.prompt.editor.text().get(1..start)?.split_whitespace();
        let name = words.next()?;
        let command = self.session.commands.iter().find(|command| is_called(command, name))?.clone();
        Some((command, words.map(str::to_owned).collect()))
    }

    fn argument_choices(&self, command: &str, words: &[String]) -> ArgumentChoice {
        let plain = |names: &[&str]| ArgumentChoice::Known(names.iter().map(|name| MenuItem::new(*name, "")).collect());
        let first = words.first().map(String::as_str);
        match (command, first) {
            ("add-dir" | "cd" | "export", None) => ArgumentChoice::Directories,
            ("resume", None) => ArgumentChoice::Sessions,
            ("context", None) => plain(&["all"]),
            ("budget", None) => plain(&["turn", "run", "session", "project", "day", "month"]),
            ("model", None) => {
                let item = |(value, name): &(String, String)| MenuItem::new(value.clone(), name.clone());
                ArgumentChoice::Known(self.session.models.iter().map(item).collect())
            }
            ("effort", None) => {
                let levels = EFFORTS.iter().map(|(level, about)| MenuItem::new(*level, *about));
                ArgumentChoice::Known(levels.chain([MenuItem::new("status", "the current level")]).collect())
            }
            ("color", None) => plain(&[engine::SESSION_COLOURS, &["default"]].concat()),
            ("theme", None) => {
                let names = std::iter::once("auto").chain(BaseTheme::ALL.iter().map(|base| base.name()));
                ArgumentChoice::Known(names.map(|name| MenuItem::new(name, "")).collect())
            }
            ("mcp", None) => plain(&["reconnect", "enable", "disable"]),
            ("mcp", Some(_)) if words.len() == 1 => {
                ArgumentChoice::Known(self.session.servers.iter().map(|name| MenuItem::new(name.clone(), "")).collect())
            }
            ("permissions", None) => plain(&["allow", "ask", "deny", "remove"]),
            ("autocompact", None) => plain(&["auto"]),
            ("keybindings", None) => plain(&["edit"]),
            _ => ArgumentChoice::Free,
        }
    }

    pub(in crate::app) fn receive_files(&mut self, query: &str, found: Vec<String>) {
        let wanted = menu::suggestion_query(self.prompt.editor.text(), self.prompt.editor.cursor());
        let Some(wanted) = wanted.filter(|wanted| wanted.query == query) else { return };
        let (item, usage): (fn(String) -> MenuItem, Option<String>) = match wanted.kind {
            SuggestionKind::Command => return,
            SuggestionKind::File => (|path| MenuItem::new(menu::mention(&path), ""), None),
            SuggestionKind::Argument => {
                let typed = self.command_being_typed(wanted.start).filter(|(_, words)| words.is_empty());
                let Some((command, words)) = typed else { return };
                if !matches!(self.argument_choices(&command.name, &words), ArgumentChoice::Directories) {
                    return;
                }
                (|path| MenuItem::new(path, ""), usage(&command).filter(|_| query.is_empty()))
            }
        };
        let items = found.into_iter().map(item).collect();
        self.show_menu(Some(Menu::new(wanted, items).with_usage(usage)));
    }

    /// Replaces the suggestions.
    pub(in crate::app) fn show_menu(&mut self, menu: Option<Menu>) {
        self.close_layer::<Menu>();
        if let Some(menu) = menu.filter(Menu::says_something) {
            self.open_layer(menu);
        }
    }
}

fn is_called(command: &CommandSummary, name: &str) -> bool {
    command.name == name || command.aliases.iter().any(|alias| alias == name)
}

/// How a command with arguments is written, and what it does.
fn usage(command: &CommandSummary) -> Option<String> {
    let CommandSummary { name, argument_hint, description, .. } = command;
    (!argument_hint.is_empty()).then(|| format!("/{name} {argument_hint} · {description}"))
}
