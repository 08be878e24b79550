//! Suggestions while the person types: commands and files.

use crate::app::menu::{self, Menu, MenuItem, SuggestionKind};
use crate::app::{App, AppEffect};

impl App {
    pub(in crate::app) fn suggest(&mut self) {
        let Some(wanted) = menu::suggestion_query(self.prompt.editor.text(), self.prompt.editor.cursor()) else {
            return self.show_menu(None);
        };
        match wanted.kind {
            SuggestionKind::Command => {
                if wanted.query.is_empty() {
                    self.load_history();
                }
                let items = menu::commands(&wanted.query, &self.session.commands, &self.prompt.history.commands());
                self.show_menu((!items.is_empty()).then(|| Menu::new(wanted, items)));
            }
            SuggestionKind::File => {
                self.effects.push(AppEffect::FindFiles(wanted.query.clone()));
                // The current suggestions stay until the answer arrives, so that nothing jumps.
                match self.layers.find_mut::<Menu>().filter(|menu| menu.kind == SuggestionKind::File) {
                    Some(menu) => menu.query = wanted.query,
                    None => self.show_menu(None),
                }
            }
        }
    }

    pub(in crate::app) fn receive_files(&mut self, query: &str, found: Vec<String>) {
        let wanted = menu::suggestion_query(self.prompt.editor.text(), self.prompt.editor.cursor());
        let Some(wanted) = wanted.filter(|wanted| wanted.kind == SuggestionKind::File && wanted.query == query) else {
            return;
        };
        let items: Vec<MenuItem> =
            found.into_iter().map(|path| MenuItem { text: menu::mention(&path), note: String::new() }).collect();
        self.show_menu((!items.is_empty()).then(|| Menu::new(wanted, items)));
    }

    /// Replaces the suggestions.
    pub(in crate::app) fn show_menu(&mut self, menu: Option<Menu>) {
        self.close_layer::<Menu>();
        if let Some(menu) = menu {
            self.open_layer(menu);
        }
    }
}
