//! The instruction files that apply, opened in the editor from here. Notes of earlier sessions are switched here too.

use super::{Panel, PanelJob, PanelSubject, PendingResponse};
use crate::app::App;
use crate::app::select::{SelectItem, TypingMode};
use serde_json::Value;
use wire::control::{GetContextUsage, HostRequest};

/// What a row does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryRow {
    Open(String),
    Notes(bool),
}

impl App {
    pub(in crate::app) fn open_memory(&mut self) {
        self.open_panel(Panel::waiting("Memory", PanelSubject::Memory(Vec::new())));
        self.request(HostRequest::GetContextUsage(GetContextUsage::default()), PendingResponse::Memory);
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
            items.push(SelectItem::new(self.session.short_path(&path), detail));
            rows.push(MemoryRow::Open(path));
        }
        let own = format!("{}/CLAUDE.md", self.session.cwd);
        if !rows.contains(&MemoryRow::Open(own.clone())) {
            items.push(SelectItem::new("CLAUDE.md", "of this project; new"));
            rows.push(MemoryRow::Open(own));
        }
        items.push(SelectItem::new("Keep notes between sessions", "from the next session on"));
        rows.push(MemoryRow::Notes(true));
        items.push(SelectItem::new("Keep no notes", "from the next session on"));
        rows.push(MemoryRow::Notes(false));
        let panel = Panel::list("Memory", items, TypingMode::Digits, PanelSubject::Memory(rows))
            .keys("enter to edit or switch · esc to close");
        self.fill_list(|subject| matches!(subject, PanelSubject::Memory(_)), panel);
    }

    pub(super) fn memory_chosen(&mut self, item: usize) {
        let Some(PanelSubject::Memory(rows)) = self.panel().map(|panel| &panel.subject) else { return };
        match rows.get(item).cloned() {
            Some(MemoryRow::Open(path)) => {
                self.close_panels();
                self.start_panel_job(PanelJob::EditFile(path));
            }
            Some(MemoryRow::Notes(kept)) => {
                self.close_panels();
                let value = Some(Value::Bool(kept));
                self.start_panel_job(PanelJob::Change { file: "userSettings", key: "autoMemoryEnabled".into(), value });
            }
            None => {}
        }
    }
}
