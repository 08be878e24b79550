//! The instruction files that apply, opened in the editor from here. Notes between sessions are switched here too.

use super::{Panel, PanelContent, PanelFrame, PanelJob, PanelJobResult, PanelNews, PanelReaction, PanelSource};
use crate::app::layers::effects::LayerEffect;
use crate::app::layers::{LayerRank, LayerView};
use crate::app::select::{SelectItem, TypingMode};
use crate::app::session::SessionDisplay;
use crate::app::tools;
use engine::screens::{MemoryPlace, MemoryPlaces, MemoryScope};
use serde_json::Value;

const TITLE: &str = "Memory";

/// What a row does.
#[derive(Clone, Debug, PartialEq, Eq)]
enum MemoryRow {
    Open(String),
    KeepNotes(bool),
}

#[derive(Debug, Default)]
pub struct MemoryList {
    rows: Vec<MemoryRow>,
}

impl MemoryList {
    pub fn panel() -> Panel {
        PanelFrame::waiting(TITLE).with(Self::default())
    }

    fn fill(&mut self, places: &MemoryPlaces, session: &SessionDisplay) -> PanelFrame {
        let item = |place: &MemoryPlace| {
            let path = place.path.to_string_lossy();
            let cost = place.tokens.map_or_else(|| "new".to_owned(), |tokens| format!("{tokens} tokens"));
            SelectItem::new(session.short_path(&path), scope_text(place.scope)).value(cost)
        };
        let mut items: Vec<SelectItem> = places.files.iter().map(item).collect();
        self.rows =
            places.files.iter().map(|place| MemoryRow::Open(place.path.to_string_lossy().into_owned())).collect();
        let state = if places.keeps_notes { "on" } else { "off" };
        items.push(SelectItem::new("Notes between sessions", "from the next session on").value(state));
        self.rows.push(MemoryRow::KeepNotes(!places.keeps_notes));
        let count = places.files.iter().filter(|place| place.tokens.is_some()).count();
        PanelFrame::list(format!("{TITLE}  {count} {}", tools::plural(count, "file")), items, TypingMode::Digits)
            .keys("enter to edit or switch · esc to close")
    }
}

/// Who reads a file of this kind.
fn scope_text(scope: MemoryScope) -> &'static str {
    match scope {
        MemoryScope::Managed => "administrator",
        MemoryScope::User => "all your projects",
        MemoryScope::Auto => "notes",
        MemoryScope::Project => "this project, shared",
        MemoryScope::Local => "this project, only you",
    }
}

impl PanelContent for MemoryList {
    fn source(&self) -> Option<PanelSource> {
        Some(PanelSource::Job(PanelJob::Memory))
    }

    fn receive(&mut self, news: &PanelNews, view: &LayerView<'_>) -> PanelReaction {
        match news {
            PanelNews::Job(PanelJobResult::Memory(Ok(places))) => PanelReaction::show(self.fill(places, view.session)),
            _ => PanelReaction::Ignored,
        }
    }

    fn choose(&mut self, item: usize, _: &LayerView<'_>) -> Vec<LayerEffect> {
        let job = match self.rows.get(item) {
            Some(MemoryRow::Open(path)) => PanelJob::EditFile(path.clone()),
            Some(MemoryRow::KeepNotes(kept)) => {
                let value = Some(Value::Bool(*kept));
                PanelJob::Change { file: "userSettings", key: "autoMemoryEnabled".into(), value }
            }
            None => return Vec::new(),
        };
        vec![LayerEffect::Dismiss(LayerRank::Panel), LayerEffect::Job(job)]
    }
}
