//! The state of the interface and how inputs change it. It does no I/O: `update` returns effects to perform, `view`
//! returns the frame to draw, and `take_finished` returns lines for the scrollback. The caller sets the time.

pub mod account;
pub mod agents;
pub mod alerts;
pub mod banner;
pub mod calls;
pub mod confirm;
pub mod dialog;
pub mod dialog_keys;
pub mod due_work;
pub mod engine_events;
pub mod focus;
pub mod footer;
pub mod form;
pub mod help;
pub mod history_search;
pub mod interface_settings;
pub mod keys;
pub mod layers;
pub mod local_commands;
pub mod menu;
pub mod onboarding;
pub mod pager;
pub mod panel;
pub mod pictures;
pub mod print;
pub mod prompt;
pub mod prompt_history;
pub mod prompt_view;
pub mod question;
pub mod queue;
pub mod record;
pub mod reply;
pub mod responses;
pub mod rule_suggestions;
pub mod screen_reader;
pub mod select;
pub mod session;
pub mod session_choices;
pub mod session_switch;
pub mod side_questions;
pub mod spinner;
pub mod status;
pub mod todos;
pub mod tools;
pub mod transcript;
pub mod view;
pub mod work_rows;

use crate::completion::index::FileQuestion;
use crate::notify::AlertChannel;
use crate::picker::{PickerRequest, PickerUpdate};
use crate::screen_reader::ScreenReaderSource;
use calls::CallTracker;
use engine::prompt_history::EarlierPrompt;
use engine::query::SessionInfo;
use layers::LayerRank;
use panel::{PanelJob, PanelJobResult};
use reply::StreamingReply;
use responses::PendingResponse;
use session::SessionDisplay;
use spinner::{RunningTurn, TurnWait};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use terminal::editor::Submission;
use terminal::keys::bindings::KeyBindings;
use terminal::keys::{FocusChange, KeyCode, KeyPress};
use terminal::markdown;
use terminal::style::StyledLine;
use terminal::surface::TerminalSize;
use terminal::theme::{BaseTheme, Theme, ThemeToken};
use todos::TodoRow;
use transcript::TranscriptView;
use wire::control::{HostReply, HostRequest};

/// An input of the interface.
#[derive(Debug)]
pub enum AppInput {
    Key(KeyPress),
    Paste(String),
    Focus(FocusChange),
    Event(engine::Event),
    /// Prompts of earlier sessions, newest first.
    History(Vec<EarlierPrompt>),
    /// The answer of the file index to a `FindFiles` effect.
    Files {
        query: String,
        found: Vec<String>,
    },
    /// Pictures read from pasted paths or from the clipboard; `None` when the paste is plain text.
    Pictures {
        found: Option<Vec<crate::images::PictureResult>>,
        text: String,
    },
    /// How a text was copied, or why it was not.
    Copied(Result<String, String>),
    /// The repository of the working directory; the answer to `LookAtRepository`.
    Repository(engine::repository::RepositoryState),
    /// The API key was stored; holds the place where it is kept.
    SignedIn(String),
    NotSignedIn(String),
    Picker(PickerUpdate),
    /// The text the external editor saved.
    Edited(String),
    /// The result of a panel job.
    PanelJobDone(PanelJobResult),
    /// The session could not be opened, or has ended unexpectedly; holds the message to show.
    Gone(String),
    /// Time has passed; expires hints and timers.
    Tick,
}

/// What is to be done outside.
#[derive(Debug, PartialEq)]
pub enum AppEffect {
    Submit(PromptMessage),
    Interrupt,
    /// A request to the engine. It answers with the same id.
    Request {
        id: String,
        request: HostRequest,
    },
    /// The answer to a question of the engine.
    Reply(HostReply),
    /// Look for files; answered by `Input::Files`.
    FindFiles(FileQuestion),
    /// Read the prompts of earlier sessions; answered by `AppInput::History`.
    LoadHistory,
    /// Save a prompt in the history for later sessions.
    Remember {
        typed: engine::prompt_history::TypedPrompt,
        session_id: String,
    },
    ExternalEditor(String),
    /// A request of the session picker; answered by `AppInput::Picker`.
    Picker(PickerRequest),
    /// The user chose a session in the picker; `None` when they cancelled.
    Chosen(Option<Box<SessionInfo>>),
    /// Replace this session by a fork of it and send `prompt` there first.
    Fork {
        session: String,
        prompt: String,
    },
    /// The engine changed the working directory of the session.
    Moved {
        session: String,
        cwd: String,
    },
    /// The answer to a question asked before a session starts.
    Entry(confirm::StartAnswer),
    /// Run a panel job; answered by `AppInput::PanelJobDone`.
    RunPanelJob(PanelJob),
    /// Show a text in the external editor; changes made there are dropped.
    View(String),
    /// Store this API key and open the session again.
    SignIn(onboarding::SignInEntry),
    /// Read the picture in the clipboard; answered by `AppInput::Pictures`.
    ClipboardPicture,
    /// Read these files; answered by `AppInput::Pictures`.
    ReadPictures {
        paths: Vec<PathBuf>,
        text: String,
    },
    /// Write to the clipboard; answered by `AppInput::Copied`.
    Copy(String),
    /// Write to a file; answered by `AppInput::Copied`.
    SaveCopy(String),
    /// Cancel the control request with this id.
    Withdraw(String),
    /// Notify the user with this text.
    Alert(String),
    /// Send a mark for screen readers.
    Mark(ScreenReaderMark),
    /// An escape sequence from a hook, not validated yet.
    Sequence(String),
    /// Look at the repository of the working directory; answered by `AppInput::Repository`.
    LookAtRepository,
    /// Ask the terminal for its background colour; the answer arrives through `set_background`.
    AskBackground,
    Suspend,
    Redraw,
    /// Move what is on the screen into the scrollback.
    ClearScreen,
    Exit,
}

/// What is sent to the terminal for a screen reader besides text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenReaderMark {
    Bell,
    /// The prompt was sent; output follows.
    Sent,
    /// The output has ended.
    Over,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptMessage {
    pub text: String,
    /// Media type and base64 data.
    pub images: Vec<(String, String)>,
    /// The text is a shell command of the user, to be run unchanged.
    pub is_shell: bool,
    /// The text is for the model although it begins like a command.
    pub is_verbatim: bool,
    /// Set when the message was sent during a turn and may join it; identifies it to the engine.
    pub uuid: Option<String>,
    /// The numbers of its images, as shown in the prompt.
    pub image_ids: Vec<u64>,
}

/// Actions that need a second press of the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DoublePress {
    Interrupt,
    Exit,
    Escape,
    KillAgents,
}

/// What is open in the external editor, when it is not the prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ExternalEdit {
    /// The proposed text of the question with this id.
    Proposal(String),
}

/// The settings of the user that the interface follows.
#[derive(Clone, Debug)]
pub struct Preferences {
    pub theme: Theme,
    pub bindings: KeyBindings,
    pub syntax: markdown::SyntaxColouring,
    /// `wrap`: who breaks the lines of prose.
    pub wrap: markdown::ProseWrap,
    pub motion: MotionLevel,
    pub vim: bool,
    /// Whether the model replies to commands typed after `!`.
    pub answers_shell: bool,
    /// `askUserQuestionTimeout`: after this time without a key, questions are answered with the current choices. `None`
    /// waits for ever.
    pub question_timeout: Option<Duration>,
    /// `showClearContextOnPlanAccept`
    pub clears_on_plan: bool,
    pub alert_delays: alerts::AlertDelays,
    /// How the user is notified.
    pub channel: AlertChannel,
    /// The progress mark of the window follows the turn.
    pub progress: bool,
    pub home: Option<PathBuf>,
    /// Set when the output is for screen readers; says what switched the mode on.
    pub screen_reader: Option<ScreenReaderSource>,
    /// Hints for newcomers: the person has begun only few conversations.
    pub shows_hints: bool,
    /// `showTurnDuration`: a line after each turn says how long it took and what it cost.
    pub shows_turn_line: bool,
    /// How much of the conversation is printed.
    pub view: focus::ViewMode,
    /// The settings say how much; false when the command line did.
    pub follows_view_setting: bool,
    /// The cursor is always shown, at the chosen row or the last one.
    pub tracks_cursor: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MotionLevel {
    Full,
    Reduced,
}

impl Default for Preferences {
    fn default() -> Self {
        Self {
            theme: Theme::default(),
            bindings: KeyBindings::default(),
            syntax: markdown::SyntaxColouring::Coloured,
            wrap: markdown::ProseWrap::Words,
            motion: MotionLevel::Full,
            vim: false,
            answers_shell: true,
            question_timeout: None,
            clears_on_plan: false,
            alert_delays: alerts::AlertDelays::default(),
            channel: AlertChannel::Auto,
            progress: true,
            home: None,
            screen_reader: None,
            view: focus::ViewMode::Default,
            follows_view_setting: true,
            tracks_cursor: false,
            shows_hints: true,
            shows_turn_line: true,
        }
    }
}

/// What the engine is doing now.
#[derive(Debug, Default)]
struct TurnActivity {
    /// `None` between turns.
    turn: Option<RunningTurn>,
    reply: StreamingReply,
    calls: CallTracker,
    /// Running hooks that have a status message: id and message.
    hook_statuses: Vec<(String, String)>,
    /// The text a hook wants shown in place of the next text of the model.
    replacement_text: Option<String>,
}

/// Keys whose meaning depends on those before them.
#[derive(Debug, Default)]
struct KeyState {
    /// The keys of a binding that is not complete yet.
    chord: Vec<KeyPress>,
    /// The key that must be pressed again, and until when.
    first_press: Option<(DoublePress, Duration)>,
    /// A hint below the prompt, and until when it is shown.
    hint: Option<(String, Duration)>,
    /// The permission mode last chosen by key, and until when the next press continues from it.
    pending_mode: Option<(wire::mode::PermissionMode, Duration)>,
}

/// Lines for the scrollback.
#[derive(Debug, Default)]
struct LinePrinter {
    /// Printed with the next frame.
    finished: Vec<StyledLine>,
    /// Something was printed before, so the next block begins with an empty line.
    printed: bool,
    /// The last lines tell of thinking or calls; further ones follow without an empty line.
    ends_with_activity: bool,
}

#[derive(Debug)]
pub struct App {
    pub preferences: Preferences,
    pub size: TerminalSize,
    /// Time since the start.
    pub now: Duration,
    prompt: prompt::Prompt,
    pub session: SessionDisplay,
    /// The theme follows the background of the terminal.
    pub follows_background: bool,
    /// The engine has answered `initialize`.
    pub is_ready: bool,
    /// The id of the `initialize` request.
    initialize_request: Option<String>,
    /// The engine did not send all messages of a resumed conversation.
    has_earlier_messages: bool,
    activity: TurnActivity,
    /// What the turn did, in the focus view.
    digest: focus::TurnDigest,
    todos: Vec<TodoRow>,
    task_display: work_rows::TaskDisplay,
    /// The open tasks that were last told at the end of a turn.
    tasks_left: Vec<String>,
    queue: queue::MessageQueue,
    status: status::StatusLineState,
    side_questions: side_questions::SideQuestionLog,
    alerts: alerts::AlertTimers,
    agents: agents::AgentTracker,
    interface_settings: interface_settings::InterfaceSettings,
    /// What is open above the prompt.
    layers: layers::LayerStack,
    /// Control requests whose answers something waits for, by request id.
    pending_responses: BTreeMap<String, PendingResponse>,
    /// What is open in the external editor; `None` means the prompt.
    external_edit: Option<ExternalEdit>,
    /// Prompts for the history that wait for the id of their session.
    unrecorded: Vec<engine::prompt_history::TypedPrompt>,
    /// The command that was sent last, until its turn has ended.
    sent_command: Option<String>,
    /// A prompt that is no command, offered again: sent unchanged, it goes to the model as text.
    offered_text: Option<String>,
    /// What `/resume` can be completed to.
    session_choices: session_choices::SessionChoices,
    /// Sent once the next conversation has begun.
    next_submission: Option<Submission>,
    transcript: TranscriptView,
    keys: KeyState,
    /// Not printed yet.
    banner: Option<banner::Banner>,
    /// `None` until it was looked at.
    repository: Option<engine::repository::RepositoryState>,
    /// When a key last went into the editor.
    typed_at: Duration,
    printer: LinePrinter,
    effects: Vec<AppEffect>,
    control_count: u64,
}

impl App {
    pub fn new(preferences: Preferences, size: TerminalSize, session: SessionDisplay) -> Self {
        let prompt = prompt::Prompt::new(preferences.vim);
        Self {
            preferences,
            size,
            now: Duration::ZERO,
            prompt,
            session,
            follows_background: false,
            is_ready: false,
            initialize_request: None,
            has_earlier_messages: false,
            activity: TurnActivity::default(),
            digest: focus::TurnDigest::default(),
            todos: Vec::new(),
            task_display: work_rows::TaskDisplay::default(),
            tasks_left: Vec::new(),
            queue: queue::MessageQueue::default(),
            side_questions: side_questions::SideQuestionLog::default(),
            status: status::StatusLineState::default(),
            alerts: alerts::AlertTimers::default(),
            agents: agents::AgentTracker::default(),
            interface_settings: interface_settings::InterfaceSettings::default(),
            layers: layers::LayerStack::default(),
            pending_responses: BTreeMap::new(),
            external_edit: None,
            unrecorded: Vec::new(),
            sent_command: None,
            offered_text: None,
            session_choices: session_choices::SessionChoices::default(),
            next_submission: None,
            transcript: TranscriptView::default(),
            keys: KeyState::default(),
            banner: None,
            repository: None,
            typed_at: Duration::ZERO,
            printer: LinePrinter::default(),
            effects: Vec::new(),
            control_count: 0,
        }
    }

    /// Processes one input. The caller must have set `now`.
    pub fn update(&mut self, input: AppInput) -> Vec<AppEffect> {
        self.drop_expired();
        let before = self.status_inputs();
        let mode_before = self.session.mode;
        let text_before = matches!(input, AppInput::Key(key) if !matches!(key.code, KeyCode::Enter))
            .then(|| self.has_screen_reader().then(|| self.prompt.editor.text().to_owned()))
            .flatten();
        match input {
            AppInput::Key(key) => {
                self.alerts.clear_idle();
                self.key(key);
                self.drop_outdated_offer();
            }
            AppInput::Paste(text) => {
                self.alerts.clear_idle();
                self.paste(&text);
                self.drop_outdated_offer();
            }
            AppInput::Tick => self.tick_layers(),
            // Focus changes never answer a question.
            AppInput::Focus(_) => {}
            AppInput::Event(event) => self.event(event),
            AppInput::History(prompts) => self.learn_history(prompts),
            AppInput::Files { query, found } => self.receive_files(&query, found),
            AppInput::Pictures { found, text } => self.receive_pictures(found, &text),
            AppInput::Copied(outcome) => self.show_copy_result(outcome),
            AppInput::Repository(state) => self.receive_repository(state),
            AppInput::SignedIn(place) => self.note(&format!("Key saved in {place}."), ThemeToken::Success),
            AppInput::NotSignedIn(why) => self.note(&why, ThemeToken::Error),
            AppInput::Picker(news) => self.update_picker(news),
            AppInput::Edited(text) => self.apply_external_edit(text),
            AppInput::PanelJobDone(result) => self.receive_panel_job(result),
            AppInput::Gone(why) => {
                self.note(&why, ThemeToken::Error);
                self.effects.push(AppEffect::Exit);
            }
        }
        self.wait_for_answers();
        self.announce_change(mode_before, text_before.as_deref());
        if self.status_inputs() != before {
            self.status.schedule_if_configured(self.now);
        }
        self.do_due_work();
        if self.effects.contains(&AppEffect::Exit) {
            self.record_prompts();
        }
        std::mem::take(&mut self.effects)
    }

    /// Finished lines, to be printed once.
    pub fn take_finished(&mut self) -> Vec<StyledLine> {
        if !self.printer.finished.is_empty() {
            self.print_banner();
        }
        std::mem::take(&mut self.printer.finished)
    }

    pub fn is_busy(&self) -> bool {
        self.activity.turn.is_some()
    }

    /// When the view changes without an input; `None` while nothing moves.
    pub fn next_change(&self) -> Option<Duration> {
        let spins =
            self.activity.turn.as_ref().filter(|_| !self.has_screen_reader()).map(|_| match self.preferences.motion {
                MotionLevel::Full => next_multiple(self.now, spinner::STEP),
                MotionLevel::Reduced => next_multiple(self.now, Duration::from_secs(1)),
            });
        let fades = [
            self.keys.hint.as_ref().map(|(_, until)| *until),
            self.keys.first_press.map(|(_, until)| until),
            self.layers.next_tick(&self.layer_view()),
        ];
        let waits = [self.status.next_change(), self.agents.next_change(self.now), self.next_alert()];
        spins.into_iter().chain(fades.into_iter().chain(waits).flatten()).min()
    }

    /// Sends `initialize`, which asks the engine for its commands, agents and account.
    pub fn initialize(&mut self) {
        self.initialize_request = Some(self.send_control_request(HostRequest::Initialize(Box::default())));
    }

    /// Applies the background that the terminal reported.
    pub fn set_background(&mut self, base: BaseTheme) {
        if self.follows_background {
            self.preferences.theme = Theme::new(base);
        }
    }

    /// Sends or queues a prompt as if it had been typed.
    pub fn submit(&mut self, submission: Submission) {
        if submission.expanded.trim().is_empty() {
            return;
        }
        if !self.is_ready {
            self.queue.hold(submission);
        } else if self.is_busy() {
            self.enqueue(submission);
        } else {
            self.send(submission);
        }
    }

    /// A prompt was submitted before the session was ready, and is still here.
    pub fn waits_for_session(&self) -> bool {
        !self.is_ready && !self.queue.is_empty()
    }

    /// Sends the first prompt that was submitted before the session was ready.
    pub fn begin_queued(&mut self) {
        if !self.is_busy() {
            // The turns of a resumed conversation have no end of their own.
            self.print_digest();
        }
        if self.is_ready && !self.is_busy() && !self.layers.has(LayerRank::Question) {
            self.next_queued();
        }
    }

    fn send(&mut self, submission: Submission) {
        self.alerts.clear_idle();
        self.mark(ScreenReaderMark::Sent);
        self.print_prompt(&submission.shown);
        let mut turn = RunningTurn::new(self.now);
        let command = submission.expanded.trim().strip_prefix('!').map(str::trim).filter(|command| !command.is_empty());
        let mut prompt = PromptMessage {
            text: submission.expanded.clone(),
            images: submission.images.clone(),
            is_verbatim: self.offered_text.take().is_some_and(|offered| offered == submission.expanded.trim()),
            ..PromptMessage::default()
        };
        if let Some(command) = command {
            turn.waits = TurnWait::Tool("your command".into());
            prompt = PromptMessage { text: command.to_owned(), images: Vec::new(), is_shell: true, ..prompt };
        } else if prompt.is_verbatim || !submission.expanded.trim_start().starts_with('/') {
            turn.prompt = Some(submission);
        } else {
            self.sent_command = Some(submission.expanded.trim().to_owned());
        }
        self.activity.turn = Some(turn);
        self.effects.push(AppEffect::Submit(prompt));
    }

    /// Shows a hint for the duration `lasts`.
    pub(crate) fn hint(&mut self, text: impl Into<String>, lasts: Duration) {
        self.keys.hint = Some((text.into(), self.now + lasts));
    }

    /// Sends a control request; the engine answers each.
    pub(crate) fn send_control_request(&mut self, request: HostRequest) -> String {
        self.control_count += 1;
        let id = format!("tui-{}", self.control_count);
        self.effects.push(AppEffect::Request { id: id.clone(), request });
        id
    }

    fn tick_layers(&mut self) {
        for done in self.with_layers(layers::LayerStack::tick) {
            self.apply_layer_return(done);
        }
    }

    /// Closes the transcript view, so that the conversation is on the screen.
    pub fn close_transcript(&mut self) {
        self.close_layer::<pager::Pager>();
    }

    /// While a question is open the turn waits for it, whatever else goes on.
    fn wait_for_answers(&mut self) {
        if let Some(turn) = self.activity.turn.as_mut().filter(|_| self.layers.has(LayerRank::Question)) {
            turn.wait_for(TurnWait::Permission);
        }
    }

    /// The offer to send a text to the model ends when another text is there.
    fn drop_outdated_offer(&mut self) {
        if self.offered_text.as_ref().is_some_and(|offered| offered != self.prompt.editor.text().trim()) {
            self.offered_text = None;
            self.keys.hint = None;
        }
    }

    fn drop_expired(&mut self) {
        let now = self.now;
        self.keys.hint.take_if(|(_, until)| *until <= now);
        self.keys.first_press.take_if(|(_, until)| *until <= now);
    }

    /// Whether this is the second press within `within`; otherwise records it as the first.
    fn is_second_press(&mut self, what: DoublePress, within: Duration) -> bool {
        let second = self.keys.first_press.is_some_and(|(armed, until)| armed == what && self.now < until);
        self.keys.first_press = if second { None } else { Some((what, self.now + within)) };
        second
    }

    fn markdown_options(&self) -> markdown::MarkdownOptions<'_> {
        markdown::MarkdownOptions {
            theme: &self.preferences.theme,
            columns: self.size.columns,
            syntax: self.preferences.syntax,
            wrap: self.preferences.wrap,
        }
    }
}

fn next_multiple(now: Duration, step: Duration) -> Duration {
    let steps = now.as_millis() / step.as_millis() + 1;
    Duration::from_millis((steps * step.as_millis()) as u64)
}

#[cfg(test)]
#[path = "app_tests.rs"]
mod tests;

#[cfg(test)]
pub(crate) mod control_lines {
    //! Control lines for tests, which write them as they look on the wire.

    use serde_json::Value;
    use wire::control::HostRequest;
    use wire::control::codec::SessionControlLine;

    /// The event that the engine sends for this line.
    pub(crate) fn event(line: &Value) -> engine::Event {
        match SessionControlLine::read(&line.to_string()).unwrap_or_else(|| panic!("{line}")) {
            SessionControlLine::Question { id, question } => engine::Event::Ask { id, question },
            SessionControlLine::Withdrawal { id } => engine::Event::AskWithdrawn { id },
            SessionControlLine::Response(response) => engine::Event::Response(response),
        }
    }

    /// The request as it is written.
    pub(crate) fn text_of(request: &HostRequest) -> String {
        serde_json::to_string(request).unwrap()
    }
}
