//! A list to choose from: a typed filter, scrolling, digits, and the outcome of a key. It draws itself into any number
//! of rows and always shows the selected one. The owner of the list decides what a choice does.

use crate::completion::fuzzy;
use terminal::keys::bindings::{BindingMatch, KeyAction, KeyBindings, KeyContext};
use terminal::keys::{KeyCode, KeyPress};
use terminal::style::{StyledLine, TextStyle};
use terminal::text;
use terminal::theme::{Theme, ThemeToken};

/// Columns that a value may take; longer ones are cut.
const VALUE_WIDTH: usize = 22;
/// Columns between two parts of a row.
const GAP: usize = 2;

/// One row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelectItem {
    pub label: String,
    /// Shown after the label, in a column of its own.
    pub value: String,
    /// Shown dimmed at the end.
    pub detail: String,
    /// Found by the filter too, but not shown.
    pub search: String,
    /// Marks the value that applies now.
    pub current: bool,
    /// Shown dimmed: it has no effect.
    pub dimmed: bool,
}

impl SelectItem {
    pub fn new(label: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { label: label.into(), detail: detail.into(), ..Self::default() }
    }

    #[must_use]
    pub fn value(mut self, value: impl Into<String>) -> Self {
        self.value = value.into();
        self
    }

    #[must_use]
    pub fn search(mut self, search: impl Into<String>) -> Self {
        self.search = search.into();
        self
    }

    #[must_use]
    pub fn dimmed(mut self, dimmed: bool) -> Self {
        self.dimmed = dimmed;
        self
    }

    #[must_use]
    pub fn current(mut self, current: bool) -> Self {
        self.current = current;
        self
    }
}

/// How letters and digits are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypingMode {
    /// Letters filter the list.
    Filters,
    /// Digits choose a row; letters are returned as unused.
    Digits,
}

/// The outcome of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelectOutcome {
    /// The selection or the filter changed.
    Moved,
    /// An item was chosen, by its index in the whole list.
    Chose(usize),
    Cancelled,
    /// The list did not use the key.
    Unused,
}

#[derive(Clone, Debug)]
pub struct SelectList {
    items: Vec<SelectItem>,
    /// Indices of the items that match the filter, best first.
    shown: Vec<usize>,
    at: usize,
    filter: String,
    typing: TypingMode,
}

impl SelectList {
    pub fn new(items: Vec<SelectItem>, typing: TypingMode) -> Self {
        let shown = (0..items.len()).collect();
        let at = items.iter().position(|item| item.current).unwrap_or(0);
        Self { items, shown, at, filter: String::new(), typing }
    }

    /// Replaces the items; keeps the filter and, where possible, the position.
    pub fn renew(&mut self, other: Self) {
        let at = self.at;
        self.items = other.items;
        self.narrow();
        self.at = at.min(self.shown.len().saturating_sub(1));
    }

    /// The selected item, by its index in the whole list.
    pub fn chosen(&self) -> Option<usize> {
        self.shown.get(self.at).copied()
    }

    pub fn choose(&mut self, item: usize) {
        if let Some(at) = self.shown.iter().position(|shown| *shown == item) {
            self.at = at;
        }
    }

    pub fn filter(&self) -> &str {
        &self.filter
    }

    pub fn is_filtered(&self) -> bool {
        self.typing == TypingMode::Filters
    }

    pub fn key(&mut self, key: KeyPress, bindings: &KeyBindings) -> SelectOutcome {
        if let Some(c) = key.text()
            && let Some(pressed) = self.letter(c)
        {
            return pressed;
        }
        match (key.code, key.mods.is_none()) {
            (KeyCode::Backspace, true) if self.filter.pop().is_some() => {
                self.narrow();
                return SelectOutcome::Moved;
            }
            (KeyCode::PageUp, true) => return self.go(self.at.saturating_sub(10)),
            (KeyCode::PageDown, true) => return self.go(self.at + 10),
            (KeyCode::Home, true) => return self.go(0),
            (KeyCode::End, true) => return self.go(usize::MAX),
            _ => {}
        }
        match bindings.find(&[KeyContext::Select], &[key]) {
            BindingMatch::KeyAction(KeyAction::SelectNext) => {
                self.go(if self.at + 1 < self.shown.len() { self.at + 1 } else { 0 })
            }
            BindingMatch::KeyAction(KeyAction::SelectPrevious) => self.go(self.at.checked_sub(1).unwrap_or(usize::MAX)),
            BindingMatch::KeyAction(KeyAction::SelectAccept) => {
                self.chosen().map_or(SelectOutcome::Moved, SelectOutcome::Chose)
            }
            BindingMatch::KeyAction(KeyAction::SelectCancel) if !self.filter.is_empty() => {
                self.filter.clear();
                self.narrow();
                SelectOutcome::Moved
            }
            BindingMatch::KeyAction(KeyAction::SelectCancel) => SelectOutcome::Cancelled,
            BindingMatch::KeyAction(_) | BindingMatch::Prefix | BindingMatch::None => SelectOutcome::Unused,
        }
    }

    fn letter(&mut self, c: char) -> Option<SelectOutcome> {
        match (self.typing, c.to_digit(10)) {
            (TypingMode::Filters, _) => {
                self.filter.push(c);
                self.narrow();
                Some(SelectOutcome::Moved)
            }
            (TypingMode::Digits, Some(digit)) => {
                let item = (digit as usize).checked_sub(1).filter(|at| *at < self.items.len())?;
                self.choose(item);
                Some(SelectOutcome::Chose(item))
            }
            (TypingMode::Digits, None) => None,
        }
    }

    pub fn paste(&mut self, text: &str) {
        if self.typing == TypingMode::Filters {
            self.filter.push_str(text::clean(text).lines().next().unwrap_or_default());
            self.narrow();
        }
    }

    fn go(&mut self, at: usize) -> SelectOutcome {
        self.at = at.min(self.shown.len().saturating_sub(1));
        SelectOutcome::Moved
    }

    fn narrow(&mut self) {
        let mut scored: Vec<(i32, usize)> = self
            .items
            .iter()
            .enumerate()
            .filter_map(|(index, item)| {
                let label = fuzzy::score(&self.filter, &item.label).map(|score| score + 20);
                let name = || fuzzy::score(&self.filter, &item.search).filter(|_| !item.search.is_empty());
                let found = || [&item.value, &item.detail].into_iter().any(|text| contains(text, &self.filter));
                Some((label.or_else(name).or_else(|| found().then_some(0))?, index))
            })
            .collect();
        sys::compact_sort::sort_by_key(&mut scored, |(score, index)| (-score, *index));
        self.shown = scored.into_iter().map(|(_, index)| index).collect();
        self.at = 0;
    }

    /// How many items there are, or how many of them match the filter.
    pub fn count(&self) -> ListCount {
        ListCount { shown: self.shown.len(), all: self.items.len() }
    }

    /// At most `room` rows of at most `columns` columns, and the caret while a filter can be typed.
    pub fn rows(&self, theme: &Theme, columns: usize, room: usize) -> (Vec<StyledLine>, Option<(usize, usize)>) {
        let faint = theme.fg(ThemeToken::Inactive);
        let mut rows = Vec::new();
        let mut caret = None;
        if self.typing == TypingMode::Filters && room > 1 {
            let lead = "  Search: ";
            let hint = if self.filter.is_empty() { "type to narrow the list" } else { "" };
            let line = StyledLine::styled(lead, faint).and(self.filter.clone(), TextStyle::PLAIN).and(hint, faint);
            caret = Some((0, (text::width(lead) + text::width(&self.filter)).min(columns.saturating_sub(1))));
            rows.push(line.truncated(columns));
            if room > 10 {
                rows.push(StyledLine::new());
            }
        }
        let room = room.saturating_sub(rows.len()).max(1);
        if self.shown.is_empty() {
            rows.push(StyledLine::styled("    Nothing matches", faint));
            return (rows, caret);
        }
        let start = self.at.saturating_sub(room / 2).min(self.shown.len().saturating_sub(room));
        let window = &self.shown[start..(start + room).min(self.shown.len())];
        let grid = self.grid(columns);
        for (offset, item) in window.iter().enumerate() {
            rows.push(self.row(start + offset, *item, grid, theme).truncated(columns));
        }
        (rows, caret)
    }

    /// The widths of the columns: the same for all rows, so that nothing moves while the list is scrolled or narrowed.
    fn grid(&self, columns: usize) -> SelectGrid {
        let widest =
            |of: fn(&SelectItem) -> &str| self.items.iter().map(|item| text::width(of(item))).max().unwrap_or(0);
        let label = widest(|item| &item.label).min((columns * 2 / 5).max(12));
        let tick = if self.items.iter().any(|item| item.current) { 2 } else { 0 };
        SelectGrid { label: label + tick, value: widest(|item| &item.value).min(VALUE_WIDTH) }
    }

    fn row(&self, at: usize, index: usize, grid: SelectGrid, theme: &Theme) -> StyledLine {
        let item = &self.items[index];
        let faint = theme.fg(ThemeToken::Inactive);
        let style = match (at == self.at, item.dimmed) {
            (true, _) => theme.fg(ThemeToken::Suggestion),
            (false, true) => faint,
            (false, false) => TextStyle::PLAIN,
        };
        let pointer = if at == self.at { "  ❯ " } else { "    " };
        let number = match self.typing {
            TypingMode::Digits if self.items.len() <= 9 => format!("{}. ", index + 1),
            TypingMode::Digits | TypingMode::Filters => String::new(),
        };
        let mut line = StyledLine::styled(format!("{pointer}{number}"), style);
        let label = text::clean(&item.label).replace('\n', " ");
        let has_more = !item.detail.is_empty() || !item.value.is_empty();
        let tick = if item.current { " ✔" } else { "" };
        let room = grid.label.saturating_sub(text::width(tick));
        let label = if has_more { text::truncate(&label, room) } else { label };
        let mut used = text::width(&label) + text::width(tick);
        line.push(label, style);
        line.push(tick, theme.fg(ThemeToken::Success));
        if grid.value > 0 && has_more {
            let value = text::truncate(&text::clean(&item.value).replace('\n', " "), grid.value);
            line.push(" ".repeat(grid.label.saturating_sub(used) + GAP), TextStyle::PLAIN);
            used = grid.label + text::width(&value);
            line.push(value, style);
        }
        if !item.detail.is_empty() {
            let end = if grid.value > 0 { grid.label + grid.value } else { grid.label };
            let detail = text::clean(&item.detail).replace('\n', " ");
            line.push(format!("{}{detail}", " ".repeat(end.saturating_sub(used) + GAP)), faint);
        }
        line
    }
}

/// How many items a list has and how many are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListCount {
    pub shown: usize,
    pub all: usize,
}

/// The widths of the columns of a list.
#[derive(Clone, Copy, Debug)]
struct SelectGrid {
    label: usize,
    /// Zero when no item has a value.
    value: usize,
}

fn contains(text: &str, part: &str) -> bool {
    text.to_lowercase().contains(&part.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(typing: TypingMode) -> SelectList {
        let items = ["alpha", "beta", "gamma", "delta"].map(|name| SelectItem::new(name, format!("about {name}")));
        SelectList::new(items.to_vec(), typing)
    }

    fn press(list: &mut SelectList, key: KeyPress) -> SelectOutcome {
        list.key(key, &KeyBindings::default())
    }

    fn texts(list: &SelectList, room: usize) -> Vec<String> {
        list.rows(&Theme::default(), 40, room).0.iter().map(StyledLine::text).collect()
    }

    #[test]
    fn typing_narrows_and_escape_widens_before_it_cancels() {
        let mut list = list(TypingMode::Filters);
        press(&mut list, KeyPress::char('g'));
        press(&mut list, KeyPress::char('m'));
        assert_eq!(press(&mut list, KeyPress::plain(KeyCode::Enter)), SelectOutcome::Chose(2));
        assert_eq!(press(&mut list, KeyPress::plain(KeyCode::Escape)), SelectOutcome::Moved);
        assert_eq!(list.filter(), "");
        assert_eq!(press(&mut list, KeyPress::plain(KeyCode::Escape)), SelectOutcome::Cancelled);
        for c in "zzz".chars() {
            press(&mut list, KeyPress::char(c));
        }
        assert_eq!((list.chosen(), press(&mut list, KeyPress::plain(KeyCode::Enter))), (None, SelectOutcome::Moved));
        assert_eq!(texts(&list, 5)[1], "    Nothing matches");
    }

    #[test]
    fn digits_choose_and_letters_are_left_to_the_owner() {
        let mut list = list(TypingMode::Digits);
        assert_eq!(press(&mut list, KeyPress::char('3')), SelectOutcome::Chose(2));
        assert_eq!(press(&mut list, KeyPress::char('9')), SelectOutcome::Unused);
        assert_eq!(press(&mut list, KeyPress::char('s')), SelectOutcome::Unused);
        assert_eq!(press(&mut list, KeyPress::char('j')), SelectOutcome::Moved);
        assert_eq!(list.chosen(), Some(3));
        press(&mut list, KeyPress::plain(KeyCode::Down));
        assert_eq!(list.chosen(), Some(0));
    }

    #[test]
    fn the_chosen_row_is_seen_in_any_room() {
        // [TST-247]
        let mut list = list(TypingMode::Digits);
        for room in 1..6 {
            for item in 0..4 {
                list.choose(item);
                let rows = texts(&list, room);
                assert!(rows.len() <= room);
                assert_eq!(rows.iter().filter(|row| row.starts_with("  ❯")).count(), 1, "{rows:?}");
            }
        }
    }

    #[test]
    fn what_holds_is_ticked_and_chosen_first() {
        let items = vec![SelectItem::new("a", ""), SelectItem::new("b", "now").current(true)];
        let list = SelectList::new(items, TypingMode::Digits);
        assert_eq!(list.chosen(), Some(1));
        assert_eq!(texts(&list, 4), ["    1. a", "  ❯ 2. b ✔  now"]);
    }

    #[test]
    fn columns_stay_where_they_are_while_a_list_is_scrolled_and_raw_names_are_found() {
        let items = vec![
            SelectItem::new("Keys", "of the prompt").value("vim").search("editorMode"),
            SelectItem::new("A much larger name", "about it").value("on").search("longKey"),
        ];
        let mut list = SelectList::new(items, TypingMode::Filters);
        let column = |rows: &[String], part: &str| {
            rows.iter().find_map(|row| row.find(part).map(|at| text::width(&row[..at]))).unwrap()
        };
        let one = list.rows(&Theme::default(), 80, 2).0.iter().map(StyledLine::text).collect::<Vec<_>>();
        press(&mut list, KeyPress::plain(KeyCode::Down));
        let two = list.rows(&Theme::default(), 80, 2).0.iter().map(StyledLine::text).collect::<Vec<_>>();
        assert_eq!(column(&one, "vim"), column(&two, "on"));
        assert_eq!(column(&one, "of the"), column(&two, "about it"));
        for c in "edmode".chars() {
            press(&mut list, KeyPress::char(c));
        }
        assert_eq!(list.count(), ListCount { shown: 1, all: 2 });
        assert_eq!(list.chosen(), Some(0));
    }
}
