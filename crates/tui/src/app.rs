//! The state of the interface and how inputs change it. No I/O: `update` returns what is to be done, `view` what is to be
//! seen, `take_finished` what is to stay. Time is told from outside.

pub mod calls;
pub mod dialog;
pub mod feed;
pub mod keys;
pub mod menu;
pub mod onboarding;
pub mod question;
pub mod recall;
pub mod reply;
pub mod session;
pub mod spinner;
pub mod todos;
pub mod tools;
pub mod transcript;
pub mod view;

use crate::editor::vim::Vim;
use crate::editor::{Editor, Submission};
use crate::keys::bindings::Bindings;
use crate::keys::{Focus, Key};
use crate::markdown;
use crate::style::{Line, Style};
use crate::surface::Size;
use crate::theme::{Theme, Token};
use calls::Calls;
use dialog::Dialog;
use menu::Menu;
use onboarding::Onboarding;
use recall::{Recall, Search};
use reply::Reply;
use session::Session;
use spinner::{Turn, Waits};
use std::collections::VecDeque;
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
    /// The key was stored there.
    SignedIn(String),
    NotSignedIn(String),
    /// What came back from the external editor.
    Edited(String),
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
        text: String,
        session_id: String,
    },
    ExternalEditor(String),
    /// Store this key and open the session anew.
    SignIn(String),
    Suspend,
    Redraw,
    Exit,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    pub text: String,
    /// Media type and base64 data.
    pub images: Vec<(String, String)>,
    /// A command of the person's own, to be run as it stands.
    pub is_shell: bool,
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
    Transcript(transcript::Pager),
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
    pub overlay: Option<Overlay>,
    /// The engine has said what it can do.
    pub is_ready: bool,
    /// The request it answers then.
    greeting: Option<String>,
    vim: Option<Vim>,
    onboarding: Option<Onboarding>,
    recall: Recall,
    search: Option<Search>,
    menu: Option<Menu>,
    turn: Option<Turn>,
    reply: Reply,
    calls: Calls,
    todos: Vec<Todo>,
    shows_todos: bool,
    queue: VecDeque<Submission>,
    dialogs: VecDeque<Dialog>,
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
            overlay: None,
            is_ready: false,
            greeting: None,
            vim,
            onboarding: None,
            recall: Recall::default(),
            search: None,
            menu: None,
            turn: None,
            reply: Reply::default(),
            calls: Calls::default(),
            todos: Vec::new(),
            shows_todos: true,
            queue: VecDeque::new(),
            dialogs: VecDeque::new(),
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
        match input {
            Input::Key(key) => self.key(key),
            Input::Paste(text) => self.paste(&text),
            Input::Focus(_) | Input::Tick => {}
            Input::Event(event) => self.event(event),
            Input::History(prompts) => self.recall.load(prompts),
            Input::Files { query, found } => self.files(&query, found),
            Input::SignedIn(place) => self.note(&format!("The key is stored in {place}."), Token::Success),
            Input::NotSignedIn(why) => self.note(&why, Token::Error),
            Input::Edited(text) => self.editor.set(text),
            Input::Gone(why) => {
                self.note(&why, Token::Error);
                self.effects.push(Effect::Exit);
            }
        }
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
        let spins = self.turn.as_ref().map(|_| match self.preferences.motion {
            Motion::Full => next_multiple(self.now, spinner::STEP),
            Motion::Reduced => next_multiple(self.now, Duration::from_secs(1)),
        });
        let fades = [self.hint.as_ref().map(|(_, until)| *until), self.armed.map(|(_, until)| until)];
        spins.into_iter().chain(fades.into_iter().flatten()).min()
    }

    /// A welcome, printed once.
    pub fn welcome(&mut self, version: &str) {
        let theme = &self.preferences.theme;
        let mut title = Line::styled("gimlet ", theme.fg(Token::Accent).bold());
        title.push(version, theme.fg(Token::Inactive));
        let place = Line::styled(self.session.place.clone(), theme.fg(Token::Inactive));
        let tips = Line::styled("/ for commands · @ for files · ! for a shell command", theme.fg(Token::Inactive));
        self.cell(vec![title, place, tips]);
    }

    /// Asks the engine for what it can do.
    pub fn initialize(&mut self) {
        self.greeting = Some(self.control(&serde_json::json!({"subtype": "initialize"})));
    }

    /// The title of the window.
    pub fn title(&self) -> String {
        let place = self.session.place.rsplit('/').next().unwrap_or_default();
        let mark = if self.is_busy() { "✳ " } else { "" };
        format!("{mark}gimlet · {place}")
    }

    /// The last words: how to come back.
    pub fn farewell(&mut self) {
        if let Some(id) = self.session.id.clone() {
            let faint = self.preferences.theme.fg(Token::Inactive);
            self.cell(vec![Line::styled(format!("Continue with: gimlet --resume {id}"), faint)]);
        }
    }

    /// Starts or queues a prompt as if it had been typed.
    pub fn submit(&mut self, submission: Submission) {
        if submission.expanded.trim().is_empty() {
            return;
        }
        if self.is_busy() || !self.is_ready {
            self.queue.push_back(submission);
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

    fn next_queued(&mut self) {
        if let Some(next) = self.queue.pop_front() {
            self.send(next);
        }
    }

    fn send(&mut self, submission: Submission) {
        self.print_prompt(&submission.shown);
        let mut turn = Turn::new(self.now);
        let command = submission.expanded.trim().strip_prefix('!').map(str::trim).filter(|command| !command.is_empty());
        let prompt = match command {
            Some(command) => {
                turn.waits = Waits::Tool("your command".into());
                Prompt { text: command.to_owned(), images: Vec::new(), is_shell: true }
            }
            None => Prompt { text: submission.expanded, images: submission.images, is_shell: false },
        };
        self.turn = Some(turn);
        self.effects.push(Effect::Submit(prompt));
    }

    /// Adds a block of lines to the scrollback, set off from what stands there.
    pub(crate) fn cell(&mut self, lines: Vec<Line>) {
        if lines.is_empty() {
            return;
        }
        if self.printed {
            self.finished.push(Line::new());
        }
        self.printed = true;
        self.finished.extend(lines);
    }

    /// Lines that belong to the block before them.
    pub(crate) fn continue_cell(&mut self, lines: Vec<Line>) {
        self.printed |= !lines.is_empty();
        self.finished.extend(lines);
    }

    fn print_prompt(&mut self, text: &str) {
        let theme = &self.preferences.theme;
        let fill = theme.colour(Token::UserMessageBackground);
        let lines = crate::text::clean(text)
            .split('\n')
            .enumerate()
            .map(|(index, line)| {
                let mut shown = Line::styled(if index == 0 { "> " } else { "  " }, theme.fg(Token::Inactive));
                shown.push(line, Style::PLAIN);
                shown.fill = fill;
                shown
            })
            .collect();
        self.transcript.prompt(text);
        self.cell(lines);
    }

    /// A remark of ours in the scrollback.
    pub(crate) fn note(&mut self, text: &str, token: Token) {
        let style = self.preferences.theme.fg(token);
        let text = crate::text::clean(text);
        self.transcript.note(&text);
        self.cell(crate::style::lines_of(text.trim_end(), style));
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
