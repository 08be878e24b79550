//! Files that somebody else changed since gimlet wrote them: each stays, or is overwritten when the person says so.

use super::RewindGoal;
use super::choice::RewoundPart;
use crate::app::PendingResponse;
use crate::app::layers::effects::LayerEffect;
use crate::app::layers::{LayerRank, LayerView};
use crate::app::panel::{Panel, PanelContent, PanelFrame};
use crate::app::select::{SelectItem, TypingMode};
use crate::app::spinner::faint;
use crate::app::tools::counted;
use std::path::PathBuf;
use terminal::keys::KeyPress;
use terminal::style::StyledLine;
use wire::control::{HostRequest, RewindConversation};

const TITLE: &str = "Changed by somebody else since";
const ABOUT: &str = "  These files are not as gimlet left them. What stays is not touched; what is overwritten is saved first, and gimlet undo \
                     brings it back.";

/// Where to go back to, and with what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewindAsked {
    pub goal: RewindGoal,
    pub(super) part: RewoundPart,
}

impl RewindAsked {
    pub fn has_conversation(&self) -> bool {
        self.part.has_conversation()
    }

    pub fn has_code(&self) -> bool {
        self.part != RewoundPart::Conversation
    }

    pub(super) fn send(self, overwrite: Vec<String>) -> Vec<LayerEffect> {
        let request = RewindConversation {
            to: self.goal.to().to_owned(),
            part: Some(self.part.name().to_owned()),
            branch: self.goal.is_branch().then_some(true),
            dry_run: None,
            overwrite,
        };
        vec![
            LayerEffect::Dismiss(LayerRank::Panel),
            LayerEffect::Request(HostRequest::Rewind(request), PendingResponse::Rewound(Box::new(self))),
        ]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConflictAnswer {
    Keep,
    Overwrite,
}

#[derive(Clone, Debug)]
struct ConflictRow {
    path: PathBuf,
    answer: ConflictAnswer,
}

#[derive(Clone, Debug)]
pub(super) struct ConflictList {
    asked: RewindAsked,
    files: Vec<ConflictRow>,
}

impl ConflictList {
    pub(super) fn panel(asked: RewindAsked, kept: &[PathBuf]) -> Panel {
        let row = |path: &PathBuf| ConflictRow { path: path.clone(), answer: ConflictAnswer::Keep };
        Self { asked, files: kept.iter().map(row).collect() }.shown_at(0)
    }

    fn shown_at(self, chosen: usize) -> Panel {
        let over = self.files.iter().filter(|file| file.answer == ConflictAnswer::Overwrite).count();
        let kept = self.files.len() - over;
        let outcome = match (kept, over) {
            (kept, 0) => format!("{} stay as they are", counted(kept, "file")),
            (0, over) => format!("{} overwritten", counted(over, "file")),
            (kept, over) => format!("{kept} stay, {over} overwritten"),
        };
        let go = SelectItem::new("Go back", outcome).uncounted();
        let file = |file: &ConflictRow| {
            let answer = match file.answer {
                ConflictAnswer::Keep => "stays",
                ConflictAnswer::Overwrite => "overwrite",
            };
            SelectItem::new(file.path.display().to_string(), "").value(answer)
        };
        let items = std::iter::once(go).chain(self.files.iter().map(file)).collect();
        PanelFrame::list(TITLE, items, TypingMode::Digits)
            .counted("file")
            .chosen(chosen)
            .keys("enter on a file changes its answer · a all files · esc to go back")
            .with(self)
    }

    fn shown_again(&self, chosen: usize) -> Vec<LayerEffect> {
        vec![LayerEffect::Close, LayerEffect::OpenPanel(self.clone().shown_at(chosen))]
    }
}

impl ConflictAnswer {
    fn other(self) -> Self {
        match self {
            Self::Keep => Self::Overwrite,
            Self::Overwrite => Self::Keep,
        }
    }
}

impl PanelContent for ConflictList {
    fn choose(&mut self, item: usize, _: &LayerView<'_>) -> Vec<LayerEffect> {
        let Some(at) = item.checked_sub(1) else {
            let over = self.files.iter().filter(|file| file.answer == ConflictAnswer::Overwrite);
            let paths = over.map(|file| file.path.display().to_string()).collect();
            return self.asked.clone().send(paths);
        };
        if let Some(file) = self.files.get_mut(at) {
            file.answer = file.answer.other();
        }
        self.shown_again(item)
    }

    fn key(&mut self, key: KeyPress, item: Option<usize>, _: &LayerView<'_>) -> Vec<LayerEffect> {
        if key != KeyPress::char('a') {
            return Vec::new();
        }
        let all_over = self.files.iter().all(|file| file.answer == ConflictAnswer::Overwrite);
        for file in &mut self.files {
            file.answer = if all_over { ConflictAnswer::Keep } else { ConflictAnswer::Overwrite };
        }
        self.shown_again(item.unwrap_or_default())
    }

    fn details(&self, _: Option<usize>, view: &LayerView<'_>) -> Vec<StyledLine> {
        vec![faint(ABOUT, &view.preferences.theme)]
    }
}
