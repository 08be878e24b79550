//! The state of the interface and how inputs change it. No I/O: `update` returns what is to be done, `view` what is to be
//! seen, `take_finished` what is to stay. Time is told from outside.

pub mod agents;
pub mod alerts;
pub mod answer;
pub mod aside;
pub mod calls;
pub mod dialog;
pub mod feed;
pub mod form;
pub mod gate;
pub mod keys;
pub mod local;
pub mod menu;
pub mod offer;
pub mod onboarding;
pub mod pager;
pub mod panel;
pub mod pick;
pub mod pictures;
pub mod print;
pub mod question;
pub mod queue;
pub mod recall;
pub mod reply;
pub mod select;
pub mod session;
pub mod spinner;
pub mod spoken;
pub mod status;
pub mod todos;
pub mod tools;
pub mod transcript;
pub mod view;
pub mod wishes;

use crate::editor::vim::Vim;
use crate::editor::{Editor, Submission};
use crate::keys::bindings::Bindings;
use crate::keys::{Code, Focus, Key};
use crate::markdown;
use crate::notify::Channel;
use crate::picker::{News, Picker, Request};
use crate::reader::Via;
use crate::style::Line;
use crate::surface::Size;
use crate::theme::{Base, Theme, Token};
use calls::Calls;
use dialog::Dialog;
use engine::query::SessionInfo;
use gate::Gate;
use menu::Menu;
use onboarding::Onboarding;
use panel::{Awaited, Brought, Errand, Panel};
use recall::{Recall, Search};
use reply::Reply;
use session::Session;
use spinner::{Turn, Waits};
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::time::Duration;
use todos::Todo;
use transcript::Transcript;

/// What comes in.
#[derive(Debug)]
pub enum Input {
    Key(Key),
    Paste(String),
    Focus(Focus),
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
        found: Option<Vec<crate::images::Picture>>,
        text: String,
    },
    /// How something was copied, or why not.
    Copied(Result<String, String>),
    /// The key was stored there.
    SignedIn(String),
    NotSignedIn(String),
    Picker(News),
    /// What came back from the external editor.
    Edited(String),
    /// What an errand for a screen brought.
    Brought(Brought),
    /// The session could not be opened, or has ended by itself.
    Gone(String),
    /// Time has passed.
    Tick,
}

/// What is to be done outside.
#[derive(Debug, PartialEq, Eq)]
pub enum Effect {
    Submit(Prompt),
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
        typed: engine::recall::Typed,
        session_id: String,
    },
    ExternalEditor(String),
    /// Something the picker needs.
    Picker(Request),
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
    Entry(gate::Answer),
    /// Something for a screen; answered by `Input::Brought`.
    Errand(Errand),
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
    Mark(Mark),
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
pub enum Mark {
    Bell,
    /// The prompt was sent: output follows.
    Sent,
    /// The output is over.
    Over,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
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
enum Armed {
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
    pub bindings: Bindings,
    pub syntax: markdown::Syntax,
    pub motion: Motion,
    pub vim: bool,
    /// Whether the model answers to commands typed after `!`.
    pub answers_shell: bool,
    /// `askUserQuestionTimeout`: when questions that nobody answers are answered with what is chosen.
    pub question_timeout: Option<Duration>,
    /// `showClearContextOnPlanAccept`
    pub clears_on_plan: bool,
    pub patience: alerts::Patience,
    /// How the person is called.
    pub channel: Channel,
    /// The window's progress mark follows the turn.
    pub progress: bool,
    pub home: Option<PathBuf>,
    /// Output for screen readers, and why.
    pub reader: Option<Via>,
    /// The cursor is always shown, at what counts.
    pub tracks_cursor: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Motion {
    Full,
    Reduced,
}

impl Default for Preferences {
    fn default() -> Self {
        Self {
            theme: Theme::default(),
            bindings: Bindings::default(),
            syntax: markdown::Syntax::Coloured,
            motion: Motion::Full,
            vim: false,
            answers_shell: true,
            question_timeout: None,
            clears_on_plan: false,
            patience: alerts::Patience::default(),
            channel: Channel::Auto,
            progress: true,
            home: None,
            reader: None,
            tracks_cursor: false,
        }
    }
}

#[derive(Debug)]
pub struct App {
    pub preferences: Preferences,
    pub size: Size,
    /// Since the start.
    pub now: Duration,
    pub editor: Editor,
    pub session: Session,
    /// The theme is that of the terminal's background.
    pub follows_background: bool,
    pub overlay: Option<Overlay>,
    /// The engine has said what it can do.
    pub is_ready: bool,
    /// The request it answers then.
    greeting: Option<String>,
    vim: Option<Vim>,
    onboarding: Option<Onboarding>,
    picker: Option<Picker>,
    gate: Option<Gate>,
    /// Part of a resumed conversation was not told.
    has_earlier: bool,
    recall: Recall,
    search: Option<Search>,
    menu: Option<Menu>,
    turn: Option<Turn>,
    reply: Reply,
    calls: Calls,
    todos: Vec<Todo>,
    shows_todos: bool,
    queue: queue::Queue,
    status: status::Status,
    asides: aside::Asides,
    alerts: alerts::Alerts,
    agents: agents::Agents,
    pictures: pictures::Pictures,
    /// Hooks that run and have words of their own for it.
    doing: Vec<(String, String)>,
    wishes: wishes::Wishes,
    /// What a hook wants shown in the place of the next text.
    display: Option<String>,
    dialogs: VecDeque<Dialog>,
    /// Screens in place of the prompt, the last one on top.
    panels: Vec<Panel>,
    /// Requests whose answers belong to a screen.
    awaited: BTreeMap<String, Awaited>,
    /// What the external editor has, when it is not the prompt.
    editing: Option<answer::Editing>,
    /// Sent once another conversation has begun.
    carried: Option<Submission>,
    stash: Option<String>,
    transcript: Transcript,
    chord: Vec<Key>,
    armed: Option<(Armed, Duration)>,
    hint: Option<(String, Duration)>,
    /// When a key last went into the editor.
    typed_at: Duration,
    /// The permission mode last chosen by key, for a while.
    wished_mode: Option<(wire::mode::PermissionMode, Duration)>,
    finished: Vec<Line>,
    printed: bool,
    effects: Vec<Effect>,
    control_count: u64,
}

impl App {
    pub fn new(preferences: Preferences, size: Size, session: Session) -> Self {
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
            greeting: None,
            vim,
            onboarding: None,
            picker: None,
            gate: None,
            has_earlier: false,
            recall: Recall::default(),
            search: None,
            menu: None,
            turn: None,
            reply: Reply::default(),
            calls: Calls::default(),
            todos: Vec::new(),
            shows_todos: true,
            queue: queue::Queue::default(),
            asides: aside::Asides::default(),
            status: status::Status::default(),
            alerts: alerts::Alerts::default(),
            agents: agents::Agents::default(),
            pictures: pictures::Pictures::default(),
            doing: Vec::new(),
            display: None,
            wishes: wishes::Wishes::default(),
            dialogs: VecDeque::new(),
            panels: Vec::new(),
            awaited: BTreeMap::new(),
            editing: None,
            carried: None,
            stash: None,
            transcript: Transcript::default(),
            chord: Vec::new(),
            armed: None,
            hint: None,
            typed_at: Duration::ZERO,
            wished_mode: None,
            finished: Vec::new(),
            printed: false,
            effects: Vec::new(),
            control_count: 0,
        }
    }

    /// Takes one input in; `now` must have been set.
    pub fn update(&mut self, input: Input) -> Vec<Effect> {
        self.forget_old();
        let before = self.watched();
        let mode_before = self.session.mode;
        let text_before = matches!(input, Input::Key(key) if !matches!(key.code, Code::Enter))
            .then(|| self.is_spoken().then(|| self.editor.text().to_owned()))
            .flatten();
        match input {
            Input::Key(key) => {
                self.alerts.stirs();
                self.key(key);
            }
            Input::Paste(text) => {
                self.alerts.stirs();
                self.paste(&text);
            }
            Input::Tick => self.expire_questions(),
            // Never an answer to anything.
            Input::Focus(_) => {}
            Input::Event(event) => self.event(event),
            Input::History(prompts) => {
                self.recall.load(prompts);
                self.recall.show_awaited(&mut self.editor);
            }
            Input::Files { query, found } => self.files(&query, found),
            Input::Pictures { found, text } => self.pictures_came(found, &text),
            Input::Copied(outcome) => self.copied(outcome),
            Input::SignedIn(place) => self.note(&format!("The key is stored in {place}."), Token::Success),
            Input::NotSignedIn(why) => self.note(&why, Token::Error),
            Input::Picker(news) => self.picker_news(news),
            Input::Edited(text) => self.edited(text),
            Input::Brought(brought) => self.brought(brought),
            Input::Gone(why) => {
                self.note(&why, Token::Error);
                self.effects.push(Effect::Exit);
            }
        }
        self.announce_change(mode_before, text_before.as_deref());
        if self.watched() != before {
            self.status.changed(self.now);
        }
        self.renew_status();
        self.ask_about_agents();
        self.call_when_due();
        std::mem::take(&mut self.effects)
    }

    /// Lines that are done, to be printed once.
    pub fn take_finished(&mut self) -> Vec<Line> {
        std::mem::take(&mut self.finished)
    }

    pub fn is_busy(&self) -> bool {
        self.turn.is_some()
    }

    /// When the picture changes by itself; `None` while nothing moves.
    pub fn next_change(&self) -> Option<Duration> {
        let spins = self.turn.as_ref().filter(|_| !self.is_spoken()).map(|_| match self.preferences.motion {
            Motion::Full => next_multiple(self.now, spinner::STEP),
            Motion::Reduced => next_multiple(self.now, Duration::from_secs(1)),
        });
        let fades = [
            self.hint.as_ref().map(|(_, until)| *until),
            self.armed.map(|(_, until)| until),
            self.questions_expire_at(),
        ];
        let waits = [self.status.next_change(), self.agents.next_change(self.now), self.next_alert()];
        spins.into_iter().chain(fades.into_iter().chain(waits).flatten()).min()
    }

    /// Asks the engine for what it can do.
    pub fn initialize(&mut self) {
        self.greeting = Some(self.control(&serde_json::json!({"subtype": "initialize"})));
    }

    /// The terminal has said how its background is.
    pub fn set_background(&mut self, base: Base) {
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
        self.alerts.stirs();
        self.mark(Mark::Sent);
        self.print_prompt(&submission.shown);
        let mut turn = Turn::new(self.now);
        let command = submission.expanded.trim().strip_prefix('!').map(str::trim).filter(|command| !command.is_empty());
        let mut prompt =
            Prompt { text: submission.expanded.clone(), images: submission.images.clone(), ..Prompt::default() };
        if let Some(command) = command {
            turn.waits = Waits::Tool("your command".into());
            prompt = Prompt { text: command.to_owned(), images: Vec::new(), is_shell: true, ..prompt };
        } else if !submission.expanded.trim_start().starts_with('/') {
            turn.prompt = Some(submission);
        }
        self.turn = Some(turn);
        self.effects.push(Effect::Submit(prompt));
    }

    /// A remark that goes away.
    pub(crate) fn hint(&mut self, text: impl Into<String>, lasts: Duration) {
        self.hint = Some((text.into(), self.now + lasts));
    }

    /// Sends a control request; the engine answers each.
    pub(crate) fn control(&mut self, request: &serde_json::Value) -> String {
        self.control_count += 1;
        let id = format!("tui-{}", self.control_count);
        self.effects.push(Effect::Control { id: id.clone(), request: request.to_string() });
        id
    }

    fn forget_old(&mut self) {
        let now = self.now;
        self.hint.take_if(|(_, until)| *until <= now);
        self.armed.take_if(|(_, until)| *until <= now);
    }

    /// Whether this is the second press within its time; else it counts as the first.
    fn is_second(&mut self, what: Armed, within: Duration) -> bool {
        let second = self.armed.is_some_and(|(armed, until)| armed == what && self.now < until);
        self.armed = if second { None } else { Some((what, self.now + within)) };
        second
    }

    fn look(&self) -> markdown::Look<'_> {
        markdown::Look { theme: &self.preferences.theme, columns: self.size.columns, syntax: self.preferences.syntax }
    }
}

fn next_multiple(now: Duration, step: Duration) -> Duration {
    let steps = now.as_millis() / step.as_millis() + 1;
    Duration::from_millis((steps * step.as_millis()) as u64)
}

#[cfg(test)]
#[path = "app_tests.rs"]
mod tests;
