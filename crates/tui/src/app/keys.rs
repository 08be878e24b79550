//! What each key does. The open parts of the interface decide the contexts, and the bindings map a key in a context to
//! an action. Keys without a binding edit text.

use super::menu::{self, Menu, MenuItem, SuggestionKind};
use super::prompt_history::HistorySearch;
use super::spinner::TurnWait;
use super::{App, AppEffect, DoublePress, Overlay};
use engine::prompt_history::TypedPrompt;
use std::time::Duration;
use terminal::editor::Editor;
use terminal::editor::chips::Chip;
use terminal::editor::vim::KeyHandling;
use terminal::keys::bindings::{BindingMatch, KeyAction, KeyContext};
use terminal::keys::{KeyCode, KeyMods, KeyPress};
use wire::control::{BackgroundTasksRequest, HostRequest, SetPermissionMode, TaskId};

const EXIT_WINDOW: Duration = Duration::from_millis(800);
const ESCAPE_WINDOW: Duration = Duration::from_millis(800);
/// How long the next press continues from the mode that was chosen last.
const MODE_CHOICE_WINDOW: Duration = Duration::from_secs(2);
const KILL_WINDOW: Duration = Duration::from_secs(3);
const HINT_DURATION: Duration = Duration::from_secs(4);

impl App {
    pub(super) fn key(&mut self, key: KeyPress) {
        // The visible part gets the keys.
        if self.overlay.is_none() && (self.confirm_dialog_key(key) || self.picker_key(key)) {
            return;
        }
        if self.dialogs.front().is_some() && self.overlay.is_none() {
            return self.dialog_key(key);
        }
        if self.is_typing_search() {
            return self.pager_key(key);
        }
        if self.panel_key(key) || self.onboarding_key(key) || self.vim_key(key) {
            return;
        }
        let contexts = self.contexts();
        self.chord.push(key);
        match self.preferences.bindings.find(&contexts, &self.chord) {
            BindingMatch::KeyAction(action) => {
                self.chord.clear();
                self.perform(action);
            }
            BindingMatch::Prefix => {}
            BindingMatch::None => {
                let broken = self.chord.len() > 1;
                self.chord.clear();
                // An incomplete chord followed by an unbound key does nothing.
                if !broken {
                    self.plain_key(key);
                }
            }
        }
    }

    /// Whether vim mode consumed the key: only while the prompt is edited, and not keys with a special meaning there.
    fn vim_key(&mut self, key: KeyPress) -> bool {
        let editing = self.search.is_none() && self.overlay.is_none() && self.chord.is_empty();
        let Some(vim) = self.vim.as_mut().filter(|_| editing && self.menu.is_none()) else { return false };
        if vim.is_idle() && key == KeyPress::char('/') && !self.editor.is_empty() {
            self.start_search();
            return true;
        }
        if vim.is_idle() && self.editor.is_empty() && matches!(key.text(), Some('?' | '/')) {
            vim.reset();
            return false;
        }
        if vim.key(&mut self.editor, key) == KeyHandling::No {
            return false;
        }
        self.after_edit();
        true
    }

    fn contexts(&self) -> Vec<KeyContext> {
        if self.search.is_some() {
            return vec![KeyContext::HistorySearch, KeyContext::Global];
        }
        match &self.overlay {
            Some(Overlay::Help) => return vec![KeyContext::Help, KeyContext::Global],
            Some(Overlay::Transcript(_)) => {
                return vec![KeyContext::Transcript, KeyContext::Scroll, KeyContext::Global];
            }
            None => {}
        }
        let mut contexts = Vec::with_capacity(4);
        if self.menu.is_some() {
            contexts.push(KeyContext::Autocomplete);
        }
        if self.is_busy() {
            contexts.push(KeyContext::Task);
        }
        contexts.extend([KeyContext::Chat, KeyContext::Global]);
        contexts
    }

    pub(super) fn perform(&mut self, action: KeyAction) {
        match action {
            KeyAction::Interrupt => self.interrupt_or_clear(),
            KeyAction::Exit => self.delete_or_exit(),
            KeyAction::Redraw | KeyAction::ClearScreen => self.effects.push(AppEffect::Redraw),
            KeyAction::ToggleTodos => self.shows_todos = !self.shows_todos,
            KeyAction::ToggleTranscript => self.toggle_transcript(),
            KeyAction::Suspend => self.effects.push(AppEffect::Suspend),
            KeyAction::HistorySearch => self.start_search(),
            KeyAction::HistoryPrevious => self.older(),
            KeyAction::HistoryNext => self.newer(),
            KeyAction::Cancel => self.escape(),
            KeyAction::ClearInput => self.clear_input(),
            KeyAction::CycleMode => self.cycle_mode(),
            KeyAction::Submit => self.enter(),
            KeyAction::Newline => self.apply_edit(|editor| editor.insert("\n")),
            KeyAction::Undo => self.apply_edit(|editor| {
                editor.undo();
            }),
            KeyAction::ExternalEditor => self.effects.push(AppEffect::ExternalEditor(self.editor.expanded())),
            KeyAction::Stash => self.stash(),
            KeyAction::KillAgents => self.kill_agents(),
            KeyAction::Background => self.send_to_background(),
            KeyAction::Accept => self.accept_suggestion(),
            KeyAction::Dismiss => self.menu = None,
            KeyAction::CompletionPrevious => self.with_menu(Menu::previous),
            KeyAction::CompletionNext => self.with_menu(Menu::next),
            KeyAction::SearchNext => self.with_search(HistorySearch::next),
            KeyAction::SearchAccept => self.end_search(),
            KeyAction::SearchCancel => self.cancel_search(),
            KeyAction::SearchExecute => {
                self.end_search();
                self.enter();
            }
            KeyAction::HelpDismiss | KeyAction::TranscriptExit => self.overlay = None,
            KeyAction::ScrollLineUp
            | KeyAction::ScrollLineDown
            | KeyAction::ScrollPageUp
            | KeyAction::ScrollPageDown
            | KeyAction::ScrollHalfUp
            | KeyAction::ScrollHalfDown
            | KeyAction::ScrollFullUp
            | KeyAction::ScrollFullDown
            | KeyAction::ScrollTop
            | KeyAction::ScrollBottom => self.scroll(action),
            KeyAction::ModelPicker => self.open_models(),
            KeyAction::FastMode => self.fast_mode(),
            KeyAction::ThinkingToggle => self.toggle_thinking(),
            KeyAction::ImagePaste => self.paste_picture(),
            // Actions of panels and dialogs that are not open.
            KeyAction::ConfirmYes
            | KeyAction::ConfirmNo
            | KeyAction::ConfirmPrevious
            | KeyAction::ConfirmNext
            | KeyAction::ConfirmNextField
            | KeyAction::ConfirmPreviousField
            | KeyAction::ConfirmToggle
            | KeyAction::ConfirmCycleMode
            | KeyAction::ToggleExplanation
            | KeyAction::PermissionDebug
            | KeyAction::TranscriptShowAll
            | KeyAction::SearchScope
            | KeyAction::SyntaxToggle
            | KeyAction::EffortDown
            | KeyAction::EffortUp
            | KeyAction::ThisSessionOnly
            | KeyAction::TabsNext
            | KeyAction::TabsPrevious
            | KeyAction::SelectNext
            | KeyAction::SelectPrevious
            | KeyAction::SelectAccept
            | KeyAction::SelectCancel => {}
        }
    }

    /// Handles a key without a binding: editing, or text for the search or view that is open.
    fn plain_key(&mut self, key: KeyPress) {
        if let Some(search) = &mut self.search {
            match (key.text(), key.code) {
                (Some(c), _) => search.type_char(c, &self.prompt_history),
                (None, KeyCode::Backspace) => search.backspace(&self.prompt_history),
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
        if key == KeyPress::char('?') && self.editor.is_empty() {
            self.overlay = Some(Overlay::Help);
            return;
        }
        match (key.code, key.mods) {
            (KeyCode::Up, KeyMods::NONE) => self.up(),
            (KeyCode::Down, KeyMods::NONE) => self.down(),
            (KeyCode::Tab, KeyMods::NONE) => {}
            (KeyCode::Left, KeyMods::NONE) if self.editor.is_empty() => self.open_agents(),
            _ => {
                if edit(&mut self.editor, key) {
                    self.after_edit();
                }
            }
        }
    }

    /// Applies an edit and updates what depends on the text.
    pub(super) fn apply_edit(&mut self, change: impl FnOnce(&mut Editor)) {
        change(&mut self.editor);
        self.after_edit();
    }

    fn after_edit(&mut self) {
        self.typed_at = self.now;
        self.first_press = None;
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
        self.apply_edit(|editor| editor.paste(text));
    }

    // Suggestions.

    pub(super) fn suggest(&mut self) {
        let Some(wanted) = menu::suggestion_query(self.editor.text(), self.editor.cursor()) else {
            self.menu = None;
            return;
        };
        match wanted.kind {
            SuggestionKind::Command => {
                if !self.prompt_history.is_loaded() && wanted.query.is_empty() {
                    self.effects.push(AppEffect::LoadHistory);
                }
                let items = menu::commands(&wanted.query, &self.session.commands, &self.prompt_history.commands());
                self.menu = (!items.is_empty()).then(|| Menu::new(wanted, items));
            }
            SuggestionKind::File => {
                self.effects.push(AppEffect::FindFiles(wanted.query.clone()));
                // The current suggestions stay until the answer arrives, so that nothing jumps.
                match self.menu.as_mut().filter(|menu| menu.kind == SuggestionKind::File) {
                    Some(menu) => menu.query = wanted.query,
                    None => self.menu = None,
                }
            }
        }
    }

    pub(super) fn receive_files(&mut self, query: &str, found: Vec<String>) {
        let wanted = menu::suggestion_query(self.editor.text(), self.editor.cursor());
        let Some(wanted) = wanted.filter(|wanted| wanted.kind == SuggestionKind::File && wanted.query == query) else {
            return;
        };
        let items: Vec<MenuItem> =
            found.into_iter().map(|path| MenuItem { text: menu::mention(&path), note: String::new() }).collect();
        self.menu = (!items.is_empty()).then(|| Menu::new(wanted, items));
    }

    fn with_menu(&mut self, step: impl FnOnce(&mut Menu)) {
        if let Some(menu) = &mut self.menu {
            step(menu);
        }
    }

    fn accept_suggestion(&mut self) {
        let Some(menu) = self.menu.take() else { return };
        let Some(item) = menu.current() else { return };
        let mut text = item.text.clone();
        // Completion continues inside a directory; everything else is complete.
        let is_directory = menu.kind == SuggestionKind::File && text.trim_end_matches('"').ends_with('/');
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
        // Once the turn is stopping, the key works as without a turn, so that the user can exit if the turn does not
        // end.
        if self.turn.as_ref().is_some_and(|turn| turn.waits != TurnWait::Interrupting) {
            return self.interrupt();
        }
        if !self.editor.is_empty() {
            self.clear_input();
            return;
        }
        if self.is_second_press(DoublePress::Interrupt, EXIT_WINDOW) {
            self.request_exit();
        } else {
            self.hint("Press ctrl+c again to exit", EXIT_WINDOW);
        }
    }

    pub(super) fn interrupt(&mut self) {
        if let Some(turn) = &mut self.turn {
            turn.waits = TurnWait::Interrupting;
        }
        self.effects.push(AppEffect::Interrupt);
    }

    fn clear_input(&mut self) {
        if !self.editor.is_empty() {
            let text = self.editor.take();
            self.prompt_history.add(&text.expanded);
        }
        self.menu = None;
    }

    fn delete_or_exit(&mut self) {
        if !self.editor.is_empty() {
            return self.apply_edit(Editor::delete);
        }
        if self.is_second_press(DoublePress::Exit, EXIT_WINDOW) {
            self.request_exit();
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
        if self.is_second_press(DoublePress::Escape, ESCAPE_WINDOW) {
            self.clear_input();
        } else {
            self.hint("Press esc again to clear", ESCAPE_WINDOW);
        }
    }

    pub(super) fn enter(&mut self) {
        if self.waits_for_picture() {
            return;
        }
        if let Some(menu) = self.menu.as_ref().filter(|menu| menu.enter_accepts()) {
            let complete = menu.current().is_some_and(|item| item.text == self.editor.text());
            if !complete {
                let runs = menu.kind == SuggestionKind::Command;
                self.accept_suggestion();
                if !runs {
                    return;
                }
            }
        }
        // A backslash before Enter inserts a line break.
        if self.editor.text()[..self.editor.cursor()].ends_with('\\') {
            return self.apply_edit(|editor| {
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
        self.prompt_history.add(submission.expanded.trim());
        let session_id = self.session.id.clone().unwrap_or_default();
        let pasted = submission.chips.iter().filter_map(|(label, chip)| match chip {
            Chip::Text(text) => Some((label.clone(), text.clone())),
            Chip::Image { .. } => None,
        });
        let typed = TypedPrompt { shown: submission.shown.trim().to_owned(), pasted: pasted.collect() };
        self.effects.push(AppEffect::Remember { typed, session_id });
        if self.local_command(&submission.expanded) {
            return;
        }
        self.submit(submission);
    }

    fn up(&mut self) {
        if self.editor.up(self.editor_columns()) {
            return;
        }
        // Queued messages are taken back before earlier prompts are recalled.
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
        if !self.prompt_history.is_loaded() {
            self.effects.push(AppEffect::LoadHistory);
        }
        self.prompt_history.older(&mut self.editor);
        self.menu = None;
    }

    fn newer(&mut self) {
        self.prompt_history.newer(&mut self.editor);
        self.menu = None;
    }

    fn cycle_mode(&mut self) {
        // Answers to earlier presses may be pending or have just arrived; the mode chosen last counts.
        if let Some((mode, until)) = self.pending_mode
            && self.now < until
        {
            self.session.mode = mode;
        }
        let mode = self.session.next_mode();
        // Shown immediately; the engine's answer corrects it.
        self.session.mode = mode;
        self.pending_mode = Some((mode, self.now + MODE_CHOICE_WINDOW));
        self.send_control_request(HostRequest::SetPermissionMode(SetPermissionMode { mode: mode.as_str().to_owned() }));
    }

    fn stash(&mut self) {
        match (self.editor.is_empty(), self.stash.take()) {
            (true, Some(text)) => self.editor.set(text),
            (true, None) => {}
            (false, _) => {
                self.stash = Some(self.editor.take().expanded);
                self.hint("Put aside; ctrl+s brings it back", HINT_DURATION);
            }
        }
        self.menu = None;
    }

    fn kill_agents(&mut self) {
        if self.is_second_press(DoublePress::KillAgents, KILL_WINDOW) {
            let agents: Vec<String> =
                self.session.background.iter().filter(|task| task.is_agent).map(|task| task.id.clone()).collect();
            for id in agents {
                self.send_control_request(HostRequest::StopTask(TaskId { task_id: id.clone() }));
            }
        } else {
            self.hint("Press again to stop all background agents", KILL_WINDOW);
        }
    }

    fn send_to_background(&mut self) {
        self.send_control_request(HostRequest::BackgroundTasks(BackgroundTasksRequest::default()));
    }

    // History search.

    fn start_search(&mut self) {
        if !self.prompt_history.is_loaded() {
            self.effects.push(AppEffect::LoadHistory);
        }
        self.menu = None;
        self.search = Some(HistorySearch::new(&self.editor));
    }

    fn with_search(&mut self, step: impl FnOnce(&mut HistorySearch, &super::prompt_history::PromptHistory)) {
        if let Some(search) = &mut self.search {
            step(search, &self.prompt_history);
        }
    }

    fn end_search(&mut self) {
        let Some(search) = self.search.take() else { return };
        if let Some(text) = search.text(&self.prompt_history) {
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

/// Applies an editing key; `false` when the key is not one.
pub(crate) fn edit(editor: &mut Editor, key: KeyPress) -> bool {
    let KeyMods { ctrl, alt, .. } = key.mods;
    let word = ctrl || alt;
    match key.code {
        KeyCode::Char(c) if key.mods.is_none() => editor.insert(c.encode_utf8(&mut [0; 4])),
        KeyCode::Char(c) if ctrl && !alt => match c {
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
        KeyCode::Char(c) if alt && !ctrl => match c {
            'b' => editor.word_left(),
            'f' => editor.word_right(),
            'd' => editor.kill_word_right(),
            'y' => editor.yank_older(),
            _ => return false,
        },
        KeyCode::Backspace if word => editor.kill_word_left(),
        KeyCode::Backspace => editor.backspace(),
        KeyCode::Delete if word => editor.kill_word_right(),
        KeyCode::Delete => editor.delete(),
        KeyCode::Left if word => editor.word_left(),
        KeyCode::Left => editor.left(),
        KeyCode::Right if word => editor.word_right(),
        KeyCode::Right => editor.right(),
        KeyCode::Home => editor.line_start(),
        KeyCode::End => editor.line_end(),
        _ => return false,
    }
    true
}
