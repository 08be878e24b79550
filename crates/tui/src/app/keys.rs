//! What each key does in the prompt and in the whole interface. The layers get a key first. The bindings map it in the
//! contexts of the layers and the prompt to an action. Keys without a binding edit text.

mod paste;
mod suggestions;

use super::help::PromptHelp;
use super::layers::KeyRoute;
use super::pager::Pager;
use super::panel::model::ModelList;
use super::prompt::{VimOutcome, edit};
use super::prompt_history::HistorySearch;
use super::prompt_view::editor_columns;
use super::spinner::TurnWait;
use super::{App, AppEffect, DoublePress};
use engine::prompt_history::EarlierPrompt;
use std::time::Duration;
use terminal::editor::Editor;
use terminal::keys::bindings::{BindingMatch, KeyAction, KeyContext};
use terminal::keys::{KeyCode, KeyMods, KeyPress};
use wire::control::{BackgroundTasksRequest, FieldChange, HostRequest, SetPermissionMode, SetThinking, TaskId};

const EXIT_WINDOW: Duration = Duration::from_millis(800);
const ESCAPE_WINDOW: Duration = Duration::from_millis(800);
/// How long the next press continues from the mode that was chosen last.
const MODE_CHOICE_WINDOW: Duration = Duration::from_secs(2);
const KILL_WINDOW: Duration = Duration::from_secs(3);
const HINT_DURATION: Duration = Duration::from_secs(4);

impl App {
    /// Passes a key to the layers, then to the prompt.
    pub(super) fn key(&mut self, key: KeyPress) {
        match self.with_layers(|layers, view| layers.key(key, view)) {
            KeyRoute::Layer(id, effects) => self.apply_layer_effects(id, effects),
            KeyRoute::Bindings(height) => self.bound_key(height, key),
            KeyRoute::EarlyPrompt => {
                if key.text().is_some() || key.code == KeyCode::Backspace {
                    edit(&mut self.prompt.editor, key);
                    self.typed_at = self.now;
                }
            }
            KeyRoute::Prompt => {
                if !self.vim_key(key) {
                    self.bound_key(0, key);
                }
            }
        }
    }

    /// Looks a key up in the bindings of the layers up to `height`.
    fn bound_key(&mut self, height: usize, key: KeyPress) {
        let contexts = self.contexts(height);
        self.keys.chord.push(key);
        match self.preferences.bindings.find(&contexts, &self.keys.chord) {
            BindingMatch::KeyAction(action) => {
                self.keys.chord.clear();
                match self.with_layers(|layers, view| layers.action(height, action, view)) {
                    Some(done) => self.apply_layer_return(done),
                    None => self.perform(action),
                }
            }
            BindingMatch::Prefix => {}
            BindingMatch::None => {
                let broken = self.keys.chord.len() > 1;
                self.keys.chord.clear();
                // An incomplete chord followed by an unbound key does nothing.
                if !broken {
                    self.unbound_key(height, key);
                }
            }
        }
    }

    pub(super) fn unbound_key(&mut self, height: usize, key: KeyPress) {
        match self.with_layers(|layers, view| layers.unbound_key(height, key, view)) {
            Some(done) => self.apply_layer_return(done),
            None => self.plain_key(key),
        }
    }

    /// Whether vim mode consumed the key: not while a chord is typed.
    fn vim_key(&mut self, key: KeyPress) -> bool {
        if !self.keys.chord.is_empty() {
            return false;
        }
        match self.prompt.vim_key(key) {
            VimOutcome::Unused => return false,
            VimOutcome::Edited => self.after_edit(),
            VimOutcome::Search => self.start_search(),
        }
        true
    }

    fn contexts(&self, height: usize) -> Vec<KeyContext> {
        let (mut contexts, is_prompt) = self.layers.contexts(height);
        if is_prompt {
            if self.is_busy() {
                contexts.push(KeyContext::Task);
            }
            contexts.extend([KeyContext::Chat, KeyContext::Global]);
        }
        contexts
    }

    /// An action of the prompt or of the whole interface.
    pub(super) fn perform(&mut self, action: KeyAction) {
        match action {
            KeyAction::Interrupt => self.interrupt_or_clear(),
            KeyAction::Exit => self.delete_or_exit(),
            KeyAction::Redraw | KeyAction::ClearScreen => self.effects.push(AppEffect::Redraw),
            KeyAction::ToggleTodos => self.next_task_display(),
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
            KeyAction::ExternalEditor => self.effects.push(AppEffect::ExternalEditor(self.prompt.editor.expanded())),
            KeyAction::Stash => self.stash(),
            KeyAction::KillAgents => self.kill_agents(),
            KeyAction::Background => self.send_to_background(),
            KeyAction::ModelPicker => self.open_panel(ModelList::panel()),
            KeyAction::FastMode => self.fast_mode(),
            KeyAction::ThinkingToggle => self.toggle_thinking(),
            KeyAction::ImagePaste => self.paste_picture(),
            // Actions of layers that are not open.
            KeyAction::Accept
            | KeyAction::Dismiss
            | KeyAction::CompletionPrevious
            | KeyAction::CompletionNext
            | KeyAction::SearchNext
            | KeyAction::SearchAccept
            | KeyAction::SearchCancel
            | KeyAction::SearchExecute
            | KeyAction::HelpDismiss
            | KeyAction::TranscriptExit
            | KeyAction::ScrollLineUp
            | KeyAction::ScrollLineDown
            | KeyAction::ScrollPageUp
            | KeyAction::ScrollPageDown
            | KeyAction::ScrollHalfUp
            | KeyAction::ScrollHalfDown
            | KeyAction::ScrollFullUp
            | KeyAction::ScrollFullDown
            | KeyAction::ScrollTop
            | KeyAction::ScrollBottom
            | KeyAction::ConfirmYes
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

    /// Handles a key without a binding that no layer took: editing.
    fn plain_key(&mut self, key: KeyPress) {
        if key == KeyPress::char('?') && self.prompt.editor.is_empty() {
            self.open_layer(PromptHelp);
            return;
        }
        match (key.code, key.mods) {
            (KeyCode::Up, KeyMods::NONE) => self.up(),
            (KeyCode::Down, KeyMods::NONE) => self.down(),
            (KeyCode::Tab, KeyMods::NONE) => {}
            (KeyCode::Left, KeyMods::NONE) if self.prompt.editor.is_empty() => self.open_agents(),
            _ => {
                if edit(&mut self.prompt.editor, key) {
                    self.after_edit();
                }
            }
        }
    }

    /// Applies an edit and updates what depends on the text.
    fn apply_edit(&mut self, change: impl FnOnce(&mut Editor)) {
        change(&mut self.prompt.editor);
        self.after_edit();
    }

    fn after_edit(&mut self) {
        self.typed_at = self.now;
        self.keys.first_press = None;
        self.suggest();
    }

    // The keys with several meanings.

    fn interrupt_or_clear(&mut self) {
        // Once the turn is stopping, the key works as without a turn, so that the user can exit if the turn does not
        // end.
        if self.activity.turn.as_ref().is_some_and(|turn| turn.waits != TurnWait::Interrupting) {
            return self.interrupt();
        }
        if self.waits_for_session() {
            return self.take_queue_back();
        }
        if !self.prompt.editor.is_empty() {
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
        if let Some(turn) = &mut self.activity.turn {
            turn.waits = TurnWait::Interrupting;
        }
        self.effects.push(AppEffect::Interrupt);
    }

    fn clear_input(&mut self) {
        self.prompt.clear();
        self.show_menu(None);
    }

    fn delete_or_exit(&mut self) {
        if !self.prompt.editor.is_empty() {
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
        if self.waits_for_session() {
            return self.take_queue_back();
        }
        if self.prompt.editor.is_empty() {
            return;
        }
        if self.is_second_press(DoublePress::Escape, ESCAPE_WINDOW) {
            self.clear_input();
        } else {
            self.hint("Press esc again to clear", ESCAPE_WINDOW);
        }
    }

    /// Enter, pressed earlier: a suggestion is accepted first.
    fn submit_prompt(&mut self) {
        let height = self.layers.height();
        match self.with_layers(|layers, view| layers.action(height, KeyAction::Submit, view)) {
            Some(done) => self.apply_layer_return(done),
            None => self.enter(),
        }
    }

    fn enter(&mut self) {
        if self.prompt.images.holds_submission() {
            return;
        }
        if self.prompt.continues_line() {
            return self.apply_edit(|editor| {
                editor.backspace();
                editor.insert("\n");
            });
        }
        self.show_menu(None);
        let Some((submission, typed)) = self.prompt.take() else { return };
        self.unrecorded.push(typed);
        if self.session.id.is_some() {
            self.record_prompts();
        }
        if !self.local_command(&submission.expanded) {
            self.submit(submission);
        }
    }

    /// Records prompts in the history. They wait until the session has its id, or until the interface ends.
    pub(super) fn record_prompts(&mut self) {
        let session_id = self.session.id.clone().unwrap_or_default();
        let record = |typed| AppEffect::Remember { typed, session_id: session_id.clone() };
        let recorded: Vec<AppEffect> = self.unrecorded.drain(..).map(record).collect();
        // They are recorded before the interface ends.
        self.effects.splice(0..0, recorded);
    }

    fn up(&mut self) {
        if self.prompt.editor.up(editor_columns(self.size.columns)) {
            return;
        }
        // Queued messages are taken back before earlier prompts are recalled.
        if !self.queue.is_empty() && self.prompt.editor.cursor() == 0
            || !self.queue.is_empty() && self.prompt.editor.is_empty()
        {
            return self.take_queue_back();
        }
        self.older();
    }

    fn down(&mut self) {
        if self.prompt.editor.down(editor_columns(self.size.columns)) {
            return;
        }
        // Below the newest prompt are the agents.
        if self.prompt.editor.is_empty() && self.prompt.is_newest() && !self.agents.all().is_empty() {
            return self.open_agents();
        }
        self.newer();
    }

    fn older(&mut self) {
        self.load_history();
        self.prompt.older();
        self.show_menu(None);
    }

    fn newer(&mut self) {
        self.prompt.newer();
        self.show_menu(None);
    }

    /// Asks for the prompts of earlier sessions, unless they are there.
    fn load_history(&mut self) {
        if !self.prompt.history.is_loaded() {
            self.effects.push(AppEffect::LoadHistory);
        }
    }

    fn cycle_mode(&mut self) {
        // Answers to earlier presses may be pending or have just arrived; the mode chosen last counts.
        if let Some((mode, until)) = self.keys.pending_mode
            && self.now < until
        {
            self.session.mode = mode;
        }
        let mode = self.session.next_mode();
        // Shown immediately; the engine's answer corrects it.
        self.session.mode = mode;
        self.keys.pending_mode = Some((mode, self.now + MODE_CHOICE_WINDOW));
        self.send_control_request(HostRequest::SetPermissionMode(SetPermissionMode { mode: mode.as_str().to_owned() }));
    }

    fn stash(&mut self) {
        if self.prompt.stash() {
            self.hint("Put aside; ctrl+s brings it back", HINT_DURATION);
        }
        self.show_menu(None);
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

    /// Alt+T: switches thinking on or off.
    fn toggle_thinking(&mut self) {
        self.session.thinking_off = !self.session.thinking_off;
        let tokens = if self.session.thinking_off { FieldChange::Set(0) } else { FieldChange::Reset };
        let request = SetThinking { max_thinking_tokens: tokens, thinking_display: FieldChange::Keep };
        self.send_control_request(HostRequest::SetMaxThinkingTokens(request));
        let state = if self.session.thinking_off { "off" } else { "on" };
        self.hint(format!("Thinking is {state} from the next request on"), HINT_DURATION);
    }

    /// Alt+O: explains that there is no fast mode.
    pub(super) fn fast_mode(&mut self) {
        self.hint("Fast mode is not available: it is a hosted service that gimlet does not use", HINT_DURATION);
    }

    // History search and views.

    fn start_search(&mut self) {
        self.load_history();
        self.show_menu(None);
        let search = HistorySearch::new(&self.prompt.editor, &self.prompt.history);
        self.open_layer(search);
    }

    /// Adds prompts of earlier sessions; a search that waits for them looks again.
    pub(super) fn learn_history(&mut self, prompts: Vec<EarlierPrompt>) {
        self.prompt.load_history(prompts, self.session.id.as_deref());
        if let Some(search) = self.layers.find_mut::<HistorySearch>() {
            search.search(&self.prompt.history);
        }
    }

    /// Opens or closes the transcript view.
    fn toggle_transcript(&mut self) {
        self.load_earlier();
        if !self.close_layer::<Pager>() {
            self.close_layer::<PromptHelp>();
            self.open_layer(Pager::default());
        }
    }
}
