//! The keys that work in the prompt, listed below it.

use super::layers::effects::LayerEffect;
use super::layers::{Layer, LayerRank, LayerRows, LayerView};
use super::spinner::faint;
use terminal::keys::KeyPress;
use terminal::keys::bindings::{KeyAction, KeyBindings, KeyContext};
use terminal::style::StyledLine;
use terminal::theme::Theme;

/// Columns from which two entries are shown in one row.
const WIDE: usize = 100;

#[derive(Debug)]
pub struct PromptHelp;

impl Layer for PromptHelp {
    fn rank(&self) -> LayerRank {
        LayerRank::Help
    }

    fn contexts(&self) -> &'static [KeyContext] {
        &[KeyContext::Help, KeyContext::Global]
    }

    fn action(&mut self, action: KeyAction, _: &LayerView<'_>) -> Option<Vec<LayerEffect>> {
        matches!(action, KeyAction::HelpDismiss | KeyAction::Interrupt).then(|| vec![LayerEffect::Close])
    }

    fn unbound_key(&mut self, _: KeyPress, _: &LayerView<'_>) -> Option<Vec<LayerEffect>> {
        Some(vec![LayerEffect::Close])
    }

    fn rows(&self, view: &LayerView<'_>) -> LayerRows {
        LayerRows::BelowPrompt(rows(&view.preferences.bindings, &view.preferences.theme, view.size.columns))
    }
}

fn rows(bindings: &KeyBindings, theme: &Theme, columns: usize) -> Vec<StyledLine> {
    let first = "/ commands · @ files · ! shell · ↑ earlier prompts · ← agents · /keybindings for all keys";
    let mut rows = vec![faint(first, theme)];
    let here =
        |action: &&KeyAction| matches!(action.context(), KeyContext::Global | KeyContext::Chat | KeyContext::Task);
    let entry = |action: &KeyAction| Some(format!("{:<14} {}", bindings.keys_of(*action)?, action.help()));
    let entries: Vec<String> = KeyAction::ALL.iter().filter(here).filter_map(entry).collect();
    let across = if columns >= WIDE { 2 } else { 1 };
    let height = entries.len().div_ceil(across);
    for index in 0..height {
        let right = entries.get(height + index).filter(|_| across > 1).map_or("", String::as_str);
        let row = format!("{:<50}{right}", entries[index]);
        rows.push(faint(row.trim_end().to_owned(), theme).truncated(columns));
    }
    rows
}
