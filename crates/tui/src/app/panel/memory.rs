//! The instruction files that apply, opened in the editor from here. Notes of earlier sessions are switched here too.

use super::{Panel, PanelContent, PanelFrame, PanelJob, PanelNews, PanelReaction, PanelSource};
use crate::app::layers::effects::LayerEffect;
use crate::app::layers::{LayerRank, LayerView};
use crate::app::select::{SelectItem, TypingMode};
use crate::app::session::SessionDisplay;
use serde_json::Value;
use wire::control::{GetContextUsage, HostRequest};

const TITLE: &str = "Memory";

/// What a row does.
#[derive(Clone, Debug, PartialEq, Eq)]
enum MemoryRow {
    Open(String),
    Notes(bool),
}

#[derive(Debug, Default)]
pub struct MemoryList {
    rows: Vec<MemoryRow>,
}

impl MemoryList {
    pub fn panel() -> Panel {
        PanelFrame::waiting(TITLE).with(Self::default())
    }

    fn fill(&mut self, body: &Value, session: &SessionDisplay) -> PanelFrame {
        let files = body.get("memoryFiles").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut rows = Vec::new();
        let mut items = Vec::new();
        let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        for file in files {
            let path = text(file, "path");
            let tokens = file.get("tokens").and_then(Value::as_u64).unwrap_or(0);
            let detail = format!("{} · about {tokens} tokens", text(file, "type"));
            items.push(SelectItem::new(session.short_path(&path), detail));
            rows.push(MemoryRow::Open(path));
        }
        let own = format!("{}/CLAUDE.md", session.cwd);
        if !rows.contains(&MemoryRow::Open(own.clone())) {
            items.push(SelectItem::new("CLAUDE.md", "of this project; new"));
            rows.push(MemoryRow::Open(own));
        }
        items.push(SelectItem::new("Keep notes between sessions", "from the next session on"));
        rows.push(MemoryRow::Notes(true));
        items.push(SelectItem::new("Keep no notes", "from the next session on"));
        rows.push(MemoryRow::Notes(false));
        self.rows = rows;
        PanelFrame::list(TITLE, items, TypingMode::Digits).keys("enter to edit or switch · esc to close")
    }
}

impl PanelContent for MemoryList {
    fn source(&self) -> Option<PanelSource> {
        Some(PanelSource::Engine(HostRequest::GetContextUsage(GetContextUsage::default())))
    }

    fn receive(&mut self, news: &PanelNews, view: &LayerView<'_>) -> PanelReaction {
        match news {
            PanelNews::Response(body) => PanelReaction::show(self.fill(body, view.session)),
            _ => PanelReaction::Ignored,
        }
    }

    fn choose(&mut self, item: usize, _: &LayerView<'_>) -> Vec<LayerEffect> {
        let job = match self.rows.get(item) {
            Some(MemoryRow::Open(path)) => PanelJob::EditFile(path.clone()),
            Some(MemoryRow::Notes(kept)) => {
                let value = Some(Value::Bool(*kept));
                PanelJob::Change { file: "userSettings", key: "autoMemoryEnabled".into(), value }
            }
            None => return Vec::new(),
        };
        vec![LayerEffect::Dismiss(LayerRank::Panel), LayerEffect::Job(job)]
    }
}
