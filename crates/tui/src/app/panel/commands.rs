//! `/help`: the commands, to be written into the prompt. `/export`: where to.

use super::{Panel, PanelContent, PanelFrame};
use crate::app::layers::effects::LayerEffect;
use crate::app::layers::{LayerRank, LayerView};
use crate::app::select::{SelectItem, TypingMode};
use crate::app::session::CommandSummary;
use terminal::editor::Submission;

#[derive(Debug)]
pub struct CommandList {
    names: Vec<String>,
}

impl CommandList {
    pub fn panel(commands: &[CommandSummary]) -> Panel {
        let item = |command: &CommandSummary| {
            let hint =
                if command.argument_hint.is_empty() { String::new() } else { format!(" {}", command.argument_hint) };
            SelectItem::new(format!("/{}{hint}", command.name), command.description.clone())
        };
        let names = commands.iter().map(|command| command.name.clone()).collect();
        PanelFrame::list("Commands", commands.iter().map(item).collect(), TypingMode::Filters)
            .counted("command")
            .keys("enter to put it into the prompt · ? on an empty prompt for keys · esc to close")
            .with(Self { names })
    }
}

impl PanelContent for CommandList {
    fn choose(&mut self, item: usize, _: &LayerView<'_>) -> Vec<LayerEffect> {
        let text = self.names.get(item).map(|name| format!("/{name} ")).unwrap_or_default();
        vec![LayerEffect::Dismiss(LayerRank::Panel), LayerEffect::SetPrompt(text)]
    }
}

/// The file that `/export` writes; its ending chooses the format.
#[derive(Debug)]
pub struct ExportEntry;

impl ExportEntry {
    pub fn panel() -> Panel {
        PanelFrame::entry("Export the session", "file", "conversation.md")
            .keys("enter to write it (.txt, .md, .html or .json) · esc to cancel")
            .with(Self)
    }
}

impl PanelContent for ExportEntry {
    fn submit(&mut self, file: &str, _: &LayerView<'_>) -> Vec<LayerEffect> {
        if file.trim().is_empty() {
            return Vec::new();
        }
        let command = Submission::plain(format!("/export {}", file.trim()));
        vec![LayerEffect::Dismiss(LayerRank::Panel), LayerEffect::Submit(command)]
    }
}
