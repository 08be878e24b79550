//! The state of the interface and how inputs change it. No I/O: `update` returns what is to be done, `view` what is to be
//! seen, `take_finished` what is to stay. Time is told from outside.

pub mod agents;
pub mod alerts;
pub mod calls;
pub mod confirm;
pub mod dialog;
pub mod dialog_keys;
pub mod engine_events;
pub mod form;
pub mod interface_settings;
pub mod keys;
pub mod local_commands;
pub mod menu;
pub mod onboarding;
pub mod pager;
pub mod panel;
pub mod pictures;
pub mod print;
pub mod prompt_history;
pub mod question;
pub mod queue;
pub mod reply;
pub mod rule_suggestions;
pub mod screen_reader;
pub mod select;
pub mod session;
pub mod session_switch;
pub mod side_questions;
pub mod spinner;
pub mod status;
pub mod todos;
pub mod tools;
pub mod transcript;
pub mod view;

use crate::editor::vim::Vim;
use crate::editor::{Editor, Submission};
use crate::keys::bindings::KeyBindings;
use crate::keys::{FocusChange, KeyCode, KeyPress};
use crate::markdown;
use crate::notify::AlertChannel;
use crate::picker::{PickerRequest, PickerUpdate, SessionPicker};
use crate::screen_reader::ScreenReaderSource;
use crate::style::StyledLine;
use crate::surface::TerminalSize;
use crate::theme::{BaseTheme, Theme, ThemeToken};
use calls::CallTracker;
use confirm::ConfirmDialog;
use dialog::Dialog;
use engine::query::SessionInfo;
use menu::Menu;
use onboarding::Onboarding;
use panel::{Panel, PanelJob, PanelJobResult, PendingResponse};
use prompt_history::{HistorySearch, PromptHistory};
use reply::StreamingReply;
use session::SessionDisplay;
use spinner::{RunningTurn, TurnWait};
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::time::Duration;
use todos::TodoRow;
use transcript::TranscriptView;

/// What comes in.
#[derive(Debug)]
pub enum AppInput {
    Key(KeyPress),
    Paste(String),
    Focus(FocusChange),
    /// From the engine.
    Event(engine::Event),
    /// Prompts of earlier sessions, newest first.
    History(Vec<String>),
    /// The answer of the file index to a question of ours.
    Files {
        query: String,
        found: Vec<String>,
    },
    /// What a paste of paths, or the clipboard, held; `None` when the paste is a text.
    Pictures {
        found: Option<Vec<crate::images::PictureResult>>,
        text: String,
    },
    /// How something was copied, or why not.
    Copied(Result<String, String>),
    /// The key was stored there.
    SignedIn(String),
    NotSignedIn(String),
    Picker(PickerUpdate),
    /// What came back from the external editor.
    Edited(String),
    /// What an errand for a screen brought.
    Brought(PanelJobResult),
    /// The session could not be opened, or has ended by itself.
    Gone(String),
    /// Time has passed.
    Tick,
}

/// What is to be done outside.
#[derive(Debug, PartialEq, Eq)]
pub enum AppEffect {
    Submit(PromptMessage),
    Interrupt,
    /// A `control_request`: its id and its `request` object as JSON.
    Control {
        id: String,
        request: String,
    },
    /// The `response` object of a `control_response`, as JSON.
    Answer(String),
    /// Look for files; answered by `Input::Files`.
    FindFiles(String),
    /// Read the prompts of earlier sessions; answered by `Input::History`.
    LoadHistory,
    /// A prompt for later sessions.
    Remember {
        typed: engine::prompt_history::TypedPrompt,
        session_id: String,
    },
    ExternalEditor(String),
    /// Something the picker needs.
    Picker(PickerRequest),
    /// A conversation was chosen, or none.
    Chosen(Option<Box<SessionInfo>>),
    /// A copy of this session takes its place and is told this first.
    Fork {
        session: String,
        prompt: String,
    },
    /// The session works somewhere else now.
    Moved {
        session: String,
        cwd: String,
    },
    /// An answer that a start waits for.
    Entry(confirm::StartAnswer),
    /// Something for a screen; answered by `Input::Brought`.
    Errand(PanelJob),
    /// Show a text in the editor; what becomes of it there does not matter.
    View(String),
    /// Store this key and open the session anew.
    SignIn(String),
    /// Read the picture in the clipboard; answered by `Input::Pictures`.
    ClipboardPicture,
    /// Read these files; answered by `Input::Pictures`.
    ReadPictures {
        paths: Vec<PathBuf>,
        text: String,
    },
    /// Write to the clipboard; answered by `Input::Copied`.
    Copy(String),
    /// Write to a file; answered by `Input::Copied`.
    SaveCopy(String),
    /// A control request is no longer wanted.
    Withdraw(String),
    /// The person is called.
    Alert(String),
    /// For screen readers.
    Mark(ScreenReaderMark),
    /// A hook's sequence for the terminal, not checked yet.
    Sequence(String),
    /// Ask the terminal for its background; the answer comes through `set_background`.
    AskBackground,
    Suspend,
    Redraw,
    Exit,
}

/// What the terminal tells a screen reader besides text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenReaderMark {
    Bell,
    /// The prompt was sent: output follows.
    Sent,
    /// The output is over.
    Over,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptMessage {
    pub text: String,
    /// Media type and base64 data.
    pub images: Vec<(String, String)>,
    /// A command of the person's own, to be run as it stands.
    pub is_shell: bool,
    /// It was sent while a turn runs and may join it; the engine knows it by this.
    pub uuid: Option<String>,
    /// The numbers of its images, as shown.
    pub image_ids: Vec<u64>,
}

/// A second press of the same key does something larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DoublePress {
    Interrupt,
    Exit,
    Escape,
    KillAgents,
}

/// What covers the usual view.
#[derive(Debug)]
pub enum Overlay {
    Help,
    Transcript(pager::Pager),
}

/// How the person wants it.
#[derive(Clone, Debug)]
pub struct Preferences {
    pub theme: Theme,
    pub bindings: KeyBindings,
    pub syntax: markdown::SyntaxColouring,
    pub motion: MotionLevel,
    pub vim: bool,
    /// Whether the model answers to commands typed after `!`.
    pub answers_shell: bool,
    /// `askUserQuestionTimeout`: when questions that nobody answers are answered with what is chosen.
    pub question_timeout: Option<Duration>,
    /// `showClearContextOnPlanAccept`
    pub clears_on_plan: bool,
    pub alert_delays: alerts::AlertDelays,
    /// How the person is called.
    pub channel: AlertChannel,
    /// The window's progress mark follows the turn.
    pub progress: bool,
    pub home: Option<PathBuf>,
    /// Output for screen readers, and why.
    pub screen_reader: Option<ScreenReaderSource>,
    /// The cursor is always shown, at what counts.
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
            tracks_cursor: false,
        }
    }
}

#[derive(Debug)]
pub struct App {
    pub preferences: Preferences,
    pub size: TerminalSize,
    /// Since the start.
    pub now: Duration,
    pub editor: Editor,
    pub session: SessionDisplay,
    /// The theme is that of the terminal's background.
    pub follows_background: bool,
    pub overlay: Option<Overlay>,
    /// The engine has said what it can do.
    pub is_ready: bool,
    /// The request it answers then.
    initialize_request: Option<String>,
    vim: Option<Vim>,
    onboarding: Option<Onboarding>,
    picker: Option<SessionPicker>,
    confirm: Option<ConfirmDialog>,
    /// Part of a resumed conversation was not told.
    has_earlier_messages: bool,
    prompt_history: PromptHistory,
    search: Option<HistorySearch>,
    menu: Option<Menu>,
    turn: Option<RunningTurn>,
    reply: StreamingReply,
    calls: CallTracker,
    todos: Vec<TodoRow>,
    shows_todos: bool,
    queue: queue::MessageQueue,
    status: status::StatusLineState,
    side_questions: side_questions::SideQuestionLog,
    alerts: alerts::AlertTimers,
    agents: agents::AgentTracker,
    pending_images: pictures::PendingImages,
    /// Hooks that run and have words of their own for it.
    hook_statuses: Vec<(String, String)>,
    interface_settings: interface_settings::InterfaceSettings,
    /// What a hook wants shown in the place of the next text.
    replacement_text: Option<String>,
    dialogs: VecDeque<Dialog>,
    /// Screens in place of the prompt, the last one on top.
    panels: Vec<Panel>,
    /// Requests whose answers belong to a screen.
    pending_responses: BTreeMap<String, PendingResponse>,
    /// What the external editor has, when it is not the prompt.
    external_edit: Option<dialog_keys::ExternalEdit>,
    /// Sent once another conversation has begun.
    next_submission: Option<Submission>,
    stash: Option<String>,
    transcript: TranscriptView,
    chord: Vec<KeyPress>,
    first_press: Option<(DoublePress, Duration)>,
    hint: Option<(String, Duration)>,
    /// When the list of servers on the screen is asked for again.
    servers_due: Option<Duration>,
    /// When a key last went into the editor.
    typed_at: Duration,
    /// The permission mode last chosen by key, for a while.
    pending_mode: Option<(wire::mode::PermissionMode, Duration)>,
    finished: Vec<StyledLine>,
    printed: bool,
    effects: Vec<AppEffect>,
    control_count: u64,
}

impl App {
    pub fn new(preferences: Preferences, size: TerminalSize, session: SessionDisplay) -> Self {
        let vim = preferences.vim.then(Vim::default);
        Self {
            preferences,
            size,
            now: Duration::ZERO,
            editor: Editor::new(),
            session,
            follows_background: false,
            overlay: None,
            is_ready: false,
            initialize_request: None,
            vim,
            onboarding: None,
            picker: None,
            confirm: None,
            has_earlier_messages: false,
            prompt_history: PromptHistory::default(),
            search: None,
            menu: None,
            turn: None,
            reply: StreamingReply::default(),
            calls: CallTracker::default(),
            todos: Vec::new(),
            shows_todos: true,
            queue: queue::MessageQueue::default(),
            side_questions: side_questions::SideQuestionLog::default(),
            status: status::StatusLineState::default(),
            alerts: alerts::AlertTimers::default(),
            agents: agents::AgentTracker::default(),
            pending_images: pictures::PendingImages::default(),
            hook_statuses: Vec::new(),
            replacement_text: None,
            interface_settings: interface_settings::InterfaceSettings::default(),
            dialogs: VecDeque::new(),
            panels: Vec::new(),
            pending_responses: BTreeMap::new(),
            external_edit: None,
            next_submission: None,
            stash: None,
            transcript: TranscriptView::default(),
            chord: Vec::new(),
            first_press: None,
            hint: None,
            servers_due: None,
            typed_at: Duration::ZERO,
            pending_mode: None,
            finished: Vec::new(),
            printed: false,
            effects: Vec::new(),
            control_count: 0,
        }
    }

    /// Takes one input in; `now` must have been set.
    pub fn update(&mut self, input: AppInput) -> Vec<AppEffect> {
        self.drop_expired();
        let before = self.status_inputs();
        let mode_before = self.session.mode;
        let text_before = matches!(input, AppInput::Key(key) if !matches!(key.code, KeyCode::Enter))
            .then(|| self.has_screen_reader().then(|| self.editor.text().to_owned()))
            .flatten();
        match input {
            AppInput::Key(key) => {
                self.alerts.clear_idle();
                self.key(key);
            }
            AppInput::Paste(text) => {
                self.alerts.clear_idle();
                self.paste(&text);
            }
            AppInput::Tick => self.expire_questions(),
            // Never an answer to anything.
            AppInput::Focus(_) => {}
            AppInput::Event(event) => self.event(event),
            AppInput::History(prompts) => {
                self.prompt_history.load(prompts);
                self.prompt_history.show_awaited(&mut self.editor);
            }
            AppInput::Files { query, found } => self.receive_files(&query, found),
            AppInput::Pictures { found, text } => self.receive_pictures(found, &text),
            AppInput::Copied(outcome) => self.show_copy_result(outcome),
            AppInput::SignedIn(place) => self.note(&format!("The key is stored in {place}."), ThemeToken::Success),
            AppInput::NotSignedIn(why) => self.note(&why, ThemeToken::Error),
            AppInput::Picker(news) => self.update_picker(news),
            AppInput::Edited(text) => self.apply_external_edit(text),
            AppInput::Brought(brought) => self.receive_panel_job(brought),
            AppInput::Gone(why) => {
                self.note(&why, ThemeToken::Error);
                self.effects.push(AppEffect::Exit);
            }
        }
        self.announce_change(mode_before, text_before.as_deref());
        if self.status_inputs() != before {
            self.status.schedule_if_configured(self.now);
        }
        self.request_status();
        self.request_agent_rows();
        self.refresh_servers();
        self.alert_when_due();
        std::mem::take(&mut self.effects)
    }

    /// Lines that are done, to be printed once.
    pub fn take_finished(&mut self) -> Vec<StyledLine> {
        std::mem::take(&mut self.finished)
    }

    pub fn is_busy(&self) -> bool {
        self.turn.is_some()
    }

    /// When the picture changes by itself; `None` while nothing moves.
    pub fn next_change(&self) -> Option<Duration> {
        let spins = self.turn.as_ref().filter(|_| !self.has_screen_reader()).map(|_| match self.preferences.motion {
            MotionLevel::Full => next_multiple(self.now, spinner::STEP),
            MotionLevel::Reduced => next_multiple(self.now, Duration::from_secs(1)),
        });
        let fades = [
            self.hint.as_ref().map(|(_, until)| *until),
            self.first_press.map(|(_, until)| until),
            self.questions_expire_at(),
        ];
        let waits = [self.status.next_change(), self.agents.next_change(self.now), self.next_alert(), self.servers_due];
        spins.into_iter().chain(fades.into_iter().chain(waits).flatten()).min()
    }

    /// Asks the engine for what it can do.
    pub fn initialize(&mut self) {
        self.initialize_request = Some(self.send_control_request(&serde_json::json!({"subtype": "initialize"})));
    }

    /// The terminal has said how its background is.
    pub fn set_background(&mut self, base: BaseTheme) {
        if self.follows_background {
            self.preferences.theme = Theme::new(base);
        }
    }

    /// Starts or queues a prompt as if it had been typed.
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

    /// What was sent before the session was ready.
    pub fn begin_queued(&mut self) {
        if self.is_ready && !self.is_busy() && self.dialogs.is_empty() {
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
            ..PromptMessage::default()
        };
        if let Some(command) = command {
            turn.waits = TurnWait::Tool("your command".into());
            prompt = PromptMessage { text: command.to_owned(), images: Vec::new(), is_shell: true, ..prompt };
        } else if !submission.expanded.trim_start().starts_with('/') {
            turn.prompt = Some(submission);
        }
        self.turn = Some(turn);
        self.effects.push(AppEffect::Submit(prompt));
    }

    /// A remark that goes away.
    pub(crate) fn hint(&mut self, text: impl Into<String>, lasts: Duration) {
        self.hint = Some((text.into(), self.now + lasts));
    }

    /// Sends a control request; the engine answers each.
    pub(crate) fn send_control_request(&mut self, request: &serde_json::Value) -> String {
        self.control_count += 1;
        let id = format!("tui-{}", self.control_count);
        self.effects.push(AppEffect::Control { id: id.clone(), request: request.to_string() });
        id
    }

    fn drop_expired(&mut self) {
        let now = self.now;
        self.hint.take_if(|(_, until)| *until <= now);
        self.first_press.take_if(|(_, until)| *until <= now);
    }

    /// Whether this is the second press within its time; else it counts as the first.
    fn is_second_press(&mut self, what: DoublePress, within: Duration) -> bool {
        let second = self.first_press.is_some_and(|(armed, until)| armed == what && self.now < until);
        self.first_press = if second { None } else { Some((what, self.now + within)) };
        second
    }

    fn markdown_options(&self) -> markdown::MarkdownOptions<'_> {
        markdown::MarkdownOptions {
            theme: &self.preferences.theme,
            columns: self.size.columns,
            syntax: self.preferences.syntax,
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
