//! The instruction files in force: opened in the editor from here. Notes of earlier sessions are switched here too.

use super::{Awaited, Errand, Panel, Subject};
use crate::app::App;
use crate::app::select::{Item, Typing};
use serde_json::{Value, json};

/// What a row does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    Open(String),
    Notes(bool),
}

impl App {
    pub(in crate::app) fn open_memory(&mut self) {
        self.open_panel(Panel::waiting("Memory", Subject::Memory(Vec::new())));
        self.request(&json!({"subtype": "get_context_usage"}), Awaited::Memory);
    }

    pub(super) fn memory_arrived(&mut self, body: &Value) {
        let files = body.get("memoryFiles").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut rows = Vec::new();
        let mut items = Vec::new();
        let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        for file in files {
            let path = text(file, "path");
            let tokens = file.get("tokens").and_then(Value::as_u64).unwrap_or(0);
            let detail = format!("{} · about {tokens} tokens", text(file, "type"));
            items.push(Item::new(self.session.short_path(&path), detail));
            rows.push(Row::Open(path));
        }
        let own = format!("{}/CLAUDE.md", self.session.cwd);
        if !rows.contains(&Row::Open(own.clone())) {
            items.push(Item::new("CLAUDE.md", "of this project; new"));
            rows.push(Row::Open(own));
        }
        items.push(Item::new("Keep notes between sessions", "from the next session on"));
        rows.push(Row::Notes(true));
        items.push(Item::new("Keep no notes", "from the next session on"));
        rows.push(Row::Notes(false));
        let panel = Panel::list("Memory", items, Typing::Digits, Subject::Memory(rows))
            .keys("enter to edit or switch · esc to close");
        self.fill_list(|subject| matches!(subject, Subject::Memory(_)), panel);
    }

    pub(super) fn memory_chosen(&mut self, item: usize) {
        let Some(Subject::Memory(rows)) = self.panels.last().map(|panel| &panel.subject) else { return };
        match rows.get(item).cloned() {
            Some(Row::Open(path)) => {
                self.close_panels();
                self.errand(Errand::EditFile(path));
            }
            Some(Row::Notes(kept)) => {
                self.close_panels();
                let value = Some(Value::Bool(kept));
                self.errand(Errand::Change { file: "userSettings", key: "autoMemoryEnabled".into(), value });
            }
            None => {}
        }
    }
}
