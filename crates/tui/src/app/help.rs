//! The keys that work in the prompt, listed below it.

use super::layers::effects::LayerEffect;
use super::layers::{Layer, LayerRank, LayerRows, LayerView};
use super::spinner::faint;
use terminal::keys::KeyPress;
use terminal::keys::bindings::{KeyAction, KeyBindings, KeyContext};
use terminal::style::StyledLine;
use terminal::text;
use terminal::theme::Theme;

/// Columns between the keys and what they do, and between two entries in a row.
const GAP: usize = 2;
/// Columns before everything.
const MARGIN: usize = 2;
/// Below this many columns for what a key does, the keys get a row of their own.
const NARROW: usize = 12;

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
        let columns = view.size.columns.saturating_sub(MARGIN);
        let rows = rows(&view.preferences.bindings, &view.preferences.theme, columns);
        LayerRows::BelowPrompt(rows.into_iter().map(|row| row.indented(MARGIN)).collect())
    }
}

/// The actions that are listed: those of the prompt and the whole interface that do something here, each once.
pub(super) fn listed(bindings: &KeyBindings) -> Vec<(KeyAction, String)> {
    let works_here = |action: &&KeyAction| {
        matches!(action.context(), KeyContext::Global | KeyContext::Chat | KeyContext::Task)
            && !matches!(action, KeyAction::FastMode | KeyAction::ClearScreen)
    };
    let entry = |action: &KeyAction| Some((*action, bindings.keys_of(*action)?));
    KeyAction::ALL.iter().filter(works_here).filter_map(entry).collect()
}

fn rows(bindings: &KeyBindings, theme: &Theme, columns: usize) -> Vec<StyledLine> {
    let first = "/ commands · @ files · ! shell · ↑ earlier prompts · ← agents · /keybindings for all keys";
    let mut rows = faint(first, theme).wrapped(columns, 0);
    let entries: Vec<(String, &str)> =
        listed(bindings).into_iter().map(|(action, keys)| (keys, action.help())).collect();
    let keys_width = entries.iter().map(|(keys, _)| text::width(keys)).max().unwrap_or(0);
    let help_width = entries.iter().map(|(_, help)| text::width(help)).max().unwrap_or(0);
    if columns < keys_width + GAP + NARROW {
        let stacked = |(keys, help): &(String, &str)| faint(format!("{keys}: {help}"), theme).wrapped(columns, 2);
        rows.extend(entries.iter().flat_map(stacked));
        return rows;
    }
    let one = keys_width + GAP + help_width;
    let across = ((columns + GAP) / (one + GAP)).clamp(1, 3);
    let height = entries.len().div_ceil(across);
    for row in 0..height {
        let cells = entries.iter().skip(row).step_by(height);
        let cell = |(keys, help): &(String, &str)| format!("{}{help}", padded(keys, keys_width + GAP));
        if across == 1 {
            rows.extend(cells.flat_map(|entry| faint(cell(entry), theme).wrapped(columns, keys_width + GAP)));
        } else {
            let cells: String = cells.map(|entry| padded(&cell(entry), one + GAP)).collect();
            rows.push(faint(cells.trim_end().to_owned(), theme));
        }
    }
    rows
}

fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text::width(text))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_listed_twice() {
        let mut told: Vec<&str> = listed(&KeyBindings::default()).iter().map(|(action, _)| action.help()).collect();
        let all = told.len();
        told.sort_unstable();
        told.dedup();
        assert_eq!(told.len(), all);
        assert_eq!(told.iter().filter(|help| help.starts_with("redraw")).count(), 1, "{told:?}");
    }

    #[test]
    fn every_key_and_what_it_does_fits_at_any_width() {
        let bindings = KeyBindings::default();
        for columns in 20..=220 {
            let rows = rows(&bindings, &Theme::default(), columns);
            let text = rows.iter().map(StyledLine::text).collect::<Vec<_>>();
            assert!(rows.iter().all(|row| row.width() <= columns), "{columns}: {text:#?}");
            let words: Vec<&str> = text.iter().flat_map(|row| row.split_whitespace()).collect();
            let all = words.join(" ");
            for (action, keys) in listed(&bindings).into_iter().filter(|_| columns < 80) {
                // One column of entries: each is whole, in its place.
                assert!(all.contains(&keys), "{columns}: {keys}");
                assert!(all.contains(action.help()), "{columns}: {} {all}", action.help());
            }
            for (action, keys) in listed(&bindings).into_iter().filter(|_| columns >= 80) {
                let is_whole = |row: &String| row.contains(&keys) && row.contains(action.help());
                assert!(text.iter().any(is_whole), "{columns}: {keys} {} {text:#?}", action.help());
            }
        }
    }
}
