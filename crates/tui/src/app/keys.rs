//! Keys: which one does what, where. What is open decides the contexts; the table of bindings names the action; what no
//! binding names is editing.

use super::menu::{self, Item, Kind, Menu};
use super::recall::Search;
use super::spinner::Waits;
use super::{App, Armed, Effect, Overlay};
use crate::editor::Editor;
use crate::editor::chips::Chip;
use crate::editor::vim::Handled;
use crate::keys::bindings::{Action, Context, Match};
use crate::keys::{Code, Key, Mods};
use engine::recall::Typed;
use serde_json::json;
use std::time::Duration;

const EXIT_WINDOW: Duration = Duration::from_millis(800);
const ESCAPE_WINDOW: Duration = Duration::from_millis(800);
/// How long a mode that was chosen is the one the next press goes on from.
const WISH: Duration = Duration::from_secs(2);
const KILL_WINDOW: Duration = Duration::from_secs(3);
const HINT: Duration = Duration::from_secs(4);

impl App {
    pub(super) fn key(&mut self, key: Key) {
        // What is seen gets the keys.
        if self.overlay.is_none() && (self.gate_key(key) || self.picker_key(key)) {
            return;
        }
        if self.dialogs.front().is_some() && self.overlay.is_none() {
            return self.dialog_key(key);
        }
        if self.pager_types() {
            return self.pager_key(key);
        }
        if self.panel_key(key) || self.onboarding_key(key) || self.vim_key(key) {
            return;
        }
        let contexts = self.contexts();
        self.chord.push(key);
        match self.preferences.bindings.find(&contexts, &self.chord) {
            Match::Action(action) => {
                self.chord.clear();
                self.act(action);
            }
            Match::Prefix => {}
            Match::None => {
                let broken = self.chord.len() > 1;
                self.chord.clear();
                // The second key of a chord that does not exist does nothing.
                if !broken {
                    self.plain_key(key);
                }
            }
        }
    }

    /// Whether vim took the key: only where the prompt is edited, and never the keys that have their own meaning there.
    fn vim_key(&mut self, key: Key) -> bool {
        let editing = self.search.is_none() && self.overlay.is_none() && self.chord.is_empty();
        let Some(vim) = self.vim.as_mut().filter(|_| editing && self.menu.is_none()) else { return false };
        if vim.is_idle() && key == Key::char('/') && !self.editor.is_empty() {
            self.start_search();
            return true;
        }
        if vim.is_idle() && self.editor.is_empty() && matches!(key.text(), Some('?' | '/')) {
            vim.reset();
            return false;
        }
        if vim.key(&mut self.editor, key) == Handled::No {
            return false;
        }
        self.after_edit();
        true
    }

    fn contexts(&self) -> Vec<Context> {
        if self.search.is_some() {
            return vec![Context::HistorySearch, Context::Global];
        }
        match &self.overlay {
            Some(Overlay::Help) => return vec![Context::Help, Context::Global],
            Some(Overlay::Transcript(_)) => return vec![Context::Transcript, Context::Scroll, Context::Global],
            None => {}
        }
        let mut contexts = Vec::with_capacity(4);
        if self.menu.is_some() {
            contexts.push(Context::Autocomplete);
        }
        if self.is_busy() {
            contexts.push(Context::Task);
        }
        contexts.extend([Context::Chat, Context::Global]);
        contexts
    }

    pub(super) fn act(&mut self, action: Action) {
        match action {
            Action::Interrupt => self.interrupt_or_clear(),
            Action::Exit => self.delete_or_exit(),
            Action::Redraw | Action::ClearScreen => self.effects.push(Effect::Redraw),
            Action::ToggleTodos => self.shows_todos = !self.shows_todos,
            Action::ToggleTranscript => self.toggle_transcript(),
            Action::Suspend => self.effects.push(Effect::Suspend),
            Action::HistorySearch => self.start_search(),
            Action::HistoryPrevious => self.older(),
            Action::HistoryNext => self.newer(),
            Action::Cancel => self.escape(),
            Action::ClearInput => self.clear_input(),
            Action::CycleMode => self.cycle_mode(),
            Action::Submit => self.enter(),
            Action::Newline => self.typed(|editor| editor.insert("\n")),
            Action::Undo => self.typed(|editor| {
                editor.undo();
            }),
            Action::ExternalEditor => self.effects.push(Effect::ExternalEditor(self.editor.expanded())),
            Action::Stash => self.stash(),
            Action::KillAgents => self.kill_agents(),
            Action::Background => self.background(),
            Action::Accept => self.accept(),
            Action::Dismiss => self.menu = None,
            Action::CompletionPrevious => self.in_menu(Menu::previous),
            Action::CompletionNext => self.in_menu(Menu::next),
            Action::SearchNext => self.in_search(Search::next),
            Action::SearchAccept => self.end_search(),
            Action::SearchCancel => self.cancel_search(),
            Action::SearchExecute => {
                self.end_search();
                self.enter();
            }
            Action::HelpDismiss | Action::TranscriptExit => self.overlay = None,
            Action::ScrollLineUp
            | Action::ScrollLineDown
            | Action::ScrollPageUp
            | Action::ScrollPageDown
            | Action::ScrollHalfUp
            | Action::ScrollHalfDown
            | Action::ScrollFullUp
            | Action::ScrollFullDown
            | Action::ScrollTop
            | Action::ScrollBottom => self.scroll(action),
            Action::ModelPicker => self.open_models(),
            Action::FastMode => self.fast_mode(),
            Action::ThinkingToggle => self.toggle_thinking(),
            Action::ImagePaste => self.paste_picture(),
            // Bindings of screens that are not open.
            Action::ConfirmYes
            | Action::ConfirmNo
            | Action::ConfirmPrevious
            | Action::ConfirmNext
            | Action::ConfirmNextField
            | Action::ConfirmPreviousField
            | Action::ConfirmToggle
            | Action::ConfirmCycleMode
            | Action::ToggleExplanation
            | Action::PermissionDebug
            | Action::TranscriptShowAll
            | Action::SearchScope
            | Action::SyntaxToggle
            | Action::EffortDown
            | Action::EffortUp
            | Action::ThisSessionOnly
            | Action::TabsNext
            | Action::TabsPrevious
            | Action::SelectNext
            | Action::SelectPrevious
            | Action::SelectAccept
            | Action::SelectCancel => {}
        }
    }

    /// A key without a binding: editing, or text for what is open.
    fn plain_key(&mut self, key: Key) {
        if let Some(search) = &mut self.search {
            match (key.text(), key.code) {
                (Some(c), _) => search.type_char(c, &self.recall),
                (None, Code::Backspace) => search.backspace(&self.recall),
                (None, _) => {
                    self.end_search();
                    self.plain_key(key);
                }
            }
            return;
        }
        if self.overlay.is_some() {
            match self.overlay {
                Some(Overlay::Transcript(_)) => self.pager_key(key),
                Some(Overlay::Help) | None => self.overlay = None,
            }
            return;
        }
        if key == Key::char('?') && self.editor.is_empty() {
            self.overlay = Some(Overlay::Help);
            return;
        }
        match (key.code, key.mods) {
            (Code::Up, Mods::NONE) => self.up(),
            (Code::Down, Mods::NONE) => self.down(),
            (Code::Tab, Mods::NONE) => {}
            (Code::Left, Mods::NONE) if self.editor.is_empty() => self.open_agents(),
            _ => {
                if edit(&mut self.editor, key) {
                    self.after_edit();
                }
            }
        }
    }

    /// Runs an edit and what follows from it.
    pub(super) fn typed(&mut self, change: impl FnOnce(&mut Editor)) {
        change(&mut self.editor);
        self.after_edit();
    }

    fn after_edit(&mut self) {
        self.typed_at = self.now;
        self.armed = None;
        self.suggest();
    }

    pub(super) fn paste(&mut self, text: &str) {
        if self.dialog_paste(text) {
            return;
        }
        if !self.picker_paste(text)
            && !self.panel_paste(text)
            && !self.onboarding_paste(text)
            && !self.drop_pictures(text)
        {
            self.paste_text(text);
        }
    }

    pub(super) fn paste_text(&mut self, text: &str) {
        self.typed(|editor| editor.paste(text));
    }

    // Suggestions.

    pub(super) fn suggest(&mut self) {
        let Some(wanted) = menu::wanted(self.editor.text(), self.editor.cursor()) else {
            self.menu = None;
            return;
        };
        match wanted.kind {
            Kind::Command => {
                if !self.recall.is_loaded() && wanted.query.is_empty() {
                    self.effects.push(Effect::LoadHistory);
                }
                let items = menu::commands(&wanted.query, &self.session.commands, &self.recall.commands());
                self.menu = (!items.is_empty()).then(|| Menu::new(wanted, items));
            }
            Kind::File => {
                self.effects.push(Effect::FindFiles(wanted.query.clone()));
                // What is shown stays until the answer comes, so that nothing jumps.
                match self.menu.as_mut().filter(|menu| menu.kind == Kind::File) {
                    Some(menu) => menu.query = wanted.query,
                    None => self.menu = None,
                }
            }
        }
    }

    pub(super) fn files(&mut self, query: &str, found: Vec<String>) {
        let wanted = menu::wanted(self.editor.text(), self.editor.cursor());
        let Some(wanted) = wanted.filter(|wanted| wanted.kind == Kind::File && wanted.query == query) else { return };
        let items: Vec<Item> =
            found.into_iter().map(|path| Item { text: menu::mention(&path), note: String::new() }).collect();
        self.menu = (!items.is_empty()).then(|| Menu::new(wanted, items));
    }

    fn in_menu(&mut self, step: impl FnOnce(&mut Menu)) {
        if let Some(menu) = &mut self.menu {
            step(menu);
        }
    }

    fn accept(&mut self) {
        let Some(menu) = self.menu.take() else { return };
        let Some(item) = menu.current() else { return };
        let mut text = item.text.clone();
        // A directory is a step on the way; everything else is complete.
        let is_directory = menu.kind == Kind::File && text.trim_end_matches('"').ends_with('/');
        if !is_directory {
            text.push(' ');
        }
        let cursor = self.editor.cursor();
        self.editor.replace(menu.start..cursor, &text);
        if is_directory {
            self.suggest();
        }
    }

    // The keys with several meanings.

    fn interrupt_or_clear(&mut self) {
        if self.search.is_some() {
            return self.cancel_search();
        }
        if self.overlay.take().is_some() {
            return;
        }
        // Once it is stopping the key means what it means at rest: nobody is kept in a turn that does not end.
        if self.turn.as_ref().is_some_and(|turn| turn.waits != Waits::Interrupting) {
            return self.interrupt();
        }
        if !self.editor.is_empty() {
            self.clear_input();
            return;
        }
        if self.is_second(Armed::Interrupt, EXIT_WINDOW) {
            self.leave();
        } else {
            self.hint("Press ctrl+c again to exit", EXIT_WINDOW);
        }
    }

    pub(super) fn interrupt(&mut self) {
        if let Some(turn) = &mut self.turn {
            turn.waits = Waits::Interrupting;
        }
        self.effects.push(Effect::Interrupt);
    }

    fn clear_input(&mut self) {
        if !self.editor.is_empty() {
            let text = self.editor.take();
            self.recall.add(&text.expanded);
        }
        self.menu = None;
    }

    fn delete_or_exit(&mut self) {
        if !self.editor.is_empty() {
            return self.typed(Editor::delete);
        }
        if self.is_second(Armed::Exit, EXIT_WINDOW) {
            self.leave();
        } else {
            self.hint("Press ctrl+d again to exit", EXIT_WINDOW);
        }
    }

    fn escape(&mut self) {
        if self.is_busy() {
            return self.interrupt();
        }
        if self.editor.is_empty() {
            return;
        }
        if self.is_second(Armed::Escape, ESCAPE_WINDOW) {
            self.clear_input();
        } else {
            self.hint("Press esc again to clear", ESCAPE_WINDOW);
        }
    }

    pub(super) fn enter(&mut self) {
        if self.waits_for_picture() {
            return;
        }
        if let Some(menu) = self.menu.as_ref().filter(|menu| menu.is_meant()) {
            let complete = menu.current().is_some_and(|item| item.text == self.editor.text());
            if !complete {
                let runs = menu.kind == Kind::Command;
                self.accept();
                if !runs {
                    return;
                }
            }
        }
        // A backslash before Enter is a line break.
        if self.editor.text()[..self.editor.cursor()].ends_with('\\') {
            return self.typed(|editor| {
                editor.backspace();
                editor.insert("\n");
            });
        }
        self.menu = None;
        let submission = self.editor.take();
        if let Some(vim) = &mut self.vim {
            vim.reset();
        }
        if submission.expanded.trim().is_empty() {
            return;
        }
        self.recall.add(submission.expanded.trim());
        let session_id = self.session.id.clone().unwrap_or_default();
        let pasted = submission.chips.iter().filter_map(|(label, chip)| match chip {
            Chip::Text(text) => Some((label.clone(), text.clone())),
            Chip::Image { .. } => None,
        });
        let typed = Typed { shown: submission.shown.trim().to_owned(), pasted: pasted.collect() };
        self.effects.push(Effect::Remember { typed, session_id });
        if self.local_command(&submission.expanded) {
            return;
        }
        self.submit(submission);
    }

    fn up(&mut self) {
        if self.editor.up(self.editor_columns()) {
            return;
        }
        // What is queued comes back first.
        if !self.queue.is_empty() && self.editor.cursor() == 0 || !self.queue.is_empty() && self.editor.is_empty() {
            return self.take_queue_back();
        }
        self.older();
    }

    fn down(&mut self) {
        if !self.editor.down(self.editor_columns()) {
            self.newer();
        }
    }

    fn older(&mut self) {
        if !self.recall.is_loaded() {
            self.effects.push(Effect::LoadHistory);
        }
        self.recall.older(&mut self.editor);
        self.menu = None;
    }

    fn newer(&mut self) {
        self.recall.newer(&mut self.editor);
        self.menu = None;
    }

    fn cycle_mode(&mut self) {
        // The engine's answers to earlier presses may be under way or just in: the last wish counts.
        if let Some((mode, until)) = self.wished_mode
            && self.now < until
        {
            self.session.mode = mode;
        }
        let mode = self.session.next_mode();
        // Shown at once; the engine's answer corrects it.
        self.session.mode = mode;
        self.wished_mode = Some((mode, self.now + WISH));
        self.control(&json!({"subtype": "set_permission_mode", "mode": mode.as_str()}));
    }

    fn stash(&mut self) {
        match (self.editor.is_empty(), self.stash.take()) {
            (true, Some(text)) => self.editor.set(text),
            (true, None) => {}
            (false, _) => {
                self.stash = Some(self.editor.take().expanded);
                self.hint("Put aside; ctrl+s brings it back", HINT);
            }
        }
        self.menu = None;
    }

    fn kill_agents(&mut self) {
        if self.is_second(Armed::KillAgents, KILL_WINDOW) {
            let agents: Vec<String> =
                self.session.background.iter().filter(|task| task.is_agent).map(|task| task.id.clone()).collect();
            for id in agents {
                self.control(&json!({"subtype": "stop_task", "task_id": id}));
            }
        } else {
            self.hint("Press again to stop all background agents", KILL_WINDOW);
        }
    }

    fn background(&mut self) {
        self.control(&json!({"subtype": "background_tasks"}));
    }

    // History search.

    fn start_search(&mut self) {
        if !self.recall.is_loaded() {
            self.effects.push(Effect::LoadHistory);
        }
        self.menu = None;
        self.search = Some(Search::new(&self.editor));
    }

    fn in_search(&mut self, step: impl FnOnce(&mut Search, &super::recall::Recall)) {
        if let Some(search) = &mut self.search {
            step(search, &self.recall);
        }
    }

    fn end_search(&mut self) {
        let Some(search) = self.search.take() else { return };
        if let Some(text) = search.text(&self.recall) {
            self.editor.set(text.to_owned());
        }
    }

    fn cancel_search(&mut self) {
        if let Some(search) = self.search.take() {
            let (text, cursor) = search.before();
            self.editor.restore(text, cursor);
        }
    }
}

/// Editing keys. `false` when the key means nothing to an editor.
pub(crate) fn edit(editor: &mut Editor, key: Key) -> bool {
    let Mods { ctrl, alt, .. } = key.mods;
    let word = ctrl || alt;
    match key.code {
        Code::Char(c) if key.mods.is_none() => editor.insert(c.encode_utf8(&mut [0; 4])),
        Code::Char(c) if ctrl && !alt => match c {
            'a' => editor.line_start(),
            'e' => editor.line_end(),
            'b' => editor.left(),
            'f' => editor.right(),
            'h' => editor.backspace(),
            'k' => editor.kill_to_end(),
            'u' => editor.kill_to_start(),
            'w' => editor.kill_big_word(),
            'y' => editor.yank(),
            _ => return false,
        },
        Code::Char(c) if alt && !ctrl => match c {
            'b' => editor.word_left(),
            'f' => editor.word_right(),
            'd' => editor.kill_word_right(),
            'y' => editor.yank_older(),
            _ => return false,
        },
        Code::Backspace if word => editor.kill_word_left(),
        Code::Backspace => editor.backspace(),
        Code::Delete if word => editor.kill_word_right(),
        Code::Delete => editor.delete(),
        Code::Left if word => editor.word_left(),
        Code::Left => editor.left(),
        Code::Right if word => editor.word_right(),
        Code::Right => editor.right(),
        Code::Home => editor.line_start(),
        Code::End => editor.line_end(),
        _ => return false,
    }
    true
}
