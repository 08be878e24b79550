//! The terminal loop: keys, engine events, signals and time go into `App`; effects and frames come out. Nothing wakes up
//! while nothing happens: there is a timer only while something moves. The terminal is put back on every way out.

mod effects;
mod entry;
mod errands;
mod screen;

use crate::app::session::Session;
use crate::app::{App, Effect, Input, Mark, Overlay, Preferences};
use crate::editor::Submission;
use crate::keys::bindings::Bindings;
use crate::keys::decode::Decoder;
use crate::keys::{self};
use crate::notify::Surroundings;
use crate::reader::Pauses;
use crate::reload::{Reload, What};
use crate::surface::Reflow;
use crate::theme::{self, ColourHints, Theme};
use effects::Outside;
use engine::{Boot, Command, Event, Events, Shell};
use entry::{Door, Move, Opening, finished};
use screen::Screen;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use sys::signal::{Signal, Signals, TerminalSignal, TerminalSignals};
use sys::tty::{self, Tty};
use tokio::sync::mpsc;

/// Between frames of what the engine tells: smooth to the eye, and half the work of twice as many. Keys do not wait for it.
const FRAME: Duration = Duration::from_millis(33);
/// Engine events taken in before the picture is renewed.
const BURST: usize = 256;
/// How long a session may take to put itself away.
const GRACE: Duration = Duration::from_millis(1_700);

/// What to start with.
#[derive(Debug)]
pub struct Start {
    pub boot: Boot,
    /// Sent as if it had been typed.
    pub prompt: Option<String>,
    pub preferences: Preferences,
    /// The theme follows the terminal's background.
    pub follows_background: bool,
    /// The report of `gimlet doctor`.
    pub doctor: fn(&sys::Env) -> String,
    /// Files of the person that are read again when they change.
    pub files: Vec<(What, PathBuf)>,
    /// What was wrong with them.
    pub warnings: Vec<String>,
}

/// Runs the interface until the person leaves; returns the exit code. Must be called inside the runtime.
pub async fn run(start: Start) -> u8 {
    match Interface::open(&start) {
        Ok(interface) => Box::pin(interface.serve(start)).await,
        Err(error) => {
            tty::restore();
            tracing::error!(%error, "the terminal cannot be used");
            1
        }
    }
}

struct Interface {
    app: App,
    screen: Screen,
    decoder: Decoder,
    bytes: mpsc::Receiver<Vec<u8>>,
    outside: Outside,
    reload: Reload,
    /// In the mode for screen readers.
    pauses: Option<Pauses>,
    /// Bytes for the terminal that come from outside.
    sequences: mpsc::Receiver<Vec<u8>>,
    signals: Signals,
    terminal_signals: TerminalSignals,
    began: Instant,
    drawn_at: Instant,
    /// When bytes last came from the keyboard.
    keyed_at: Instant,
    /// The picture is older than the state.
    dirty: bool,
    /// The session that is being opened, beside the loop: keys are taken meanwhile.
    opening: Option<Opening>,
    /// The session behind the interface is to change.
    moves: Option<Move>,
}

/// Why the loop ends.
enum End {
    Asked,
    Signal(Signal),
    /// The terminal has gone.
    HungUp,
    /// It could not be opened.
    NoSession,
}

impl Interface {
    fn open(start: &Start) -> io::Result<Self> {
        let env = &start.boot.env;
        let tty = Tty::open()?;
        // Before the terminal is changed: from here on every end puts it back.
        let (signals, terminal_signals) = (Signals::listen()?, TerminalSignals::listen()?);
        restore_on_panic();
        let mut preferences = start.preferences.clone();
        if preferences.theme.base() == theme::Base::Dark && env.non_empty("COLORFGBG").is_some_and(is_light) {
            preferences.theme = Theme::new(theme::Base::Light);
        }
        let profile = crate::surface::Profile {
            can: crate::style::Abilities {
                depth: theme::depth(ColourHints {
                    term: env.get("TERM").unwrap_or_default(),
                    colorterm: env.get("COLORTERM").unwrap_or_default(),
                    no_color: env.non_empty("NO_COLOR").is_some(),
                    force_color: env.get("FORCE_COLOR"),
                }),
                links: env.get("TERM") != Some("linux"),
            },
            reflow: reflow(env),
            synchronized: true,
        };
        let session = session_of(&start.boot);
        let titles = !env.is_on("CLAUDE_CODE_DISABLE_TERMINAL_TITLE");
        // Ahead of the first frame: whoever sees it may change a file at once.
        let reload = Reload::new(start.files.iter().cloned());
        let mut screen = Screen::enter(tty, profile, titles, Surroundings::of(env))?;
        let mut app = App::new(preferences, screen.size(), session);
        app.welcome(wire::version::OWN);
        app.warn(&start.warnings);
        app.follows_background = start.follows_background;
        screen.draw(&mut app)?;
        if start.follows_background {
            screen.ask_background()?;
        }
        let (sender, bytes) = mpsc::channel(64);
        screen.read(sender)?;
        let (outside, sequences) =
            Outside::new(start, if start.preferences.answers_shell { Shell::Answered } else { Shell::Recorded });
        let now = Instant::now();
        Ok(Self {
            app,
            screen,
            decoder: Decoder::new(),
            bytes,
            outside,
            reload,
            pauses: start.preferences.reader.map(|_| Pauses::of(&start.boot.env)),
            sequences,
            signals,
            terminal_signals,
            began: now,
            drawn_at: now,
            keyed_at: now,
            dirty: false,
            opening: None,
            moves: None,
        })
    }

    async fn serve(mut self, start: Start) -> u8 {
        if let Some(prompt) = start.prompt.filter(|prompt| !prompt.trim().is_empty()) {
            self.app.submit(Submission::plain(prompt));
        }
        let mut door = Door::new(start.boot);
        self.opening = Some(door.knock());
        let mut end = None;
        while end.is_none() {
            end = self.step(&mut door).await;
            if let Some(to) = self.moves.take().filter(|_| end.is_none()) {
                end = self.go(&mut door, to).await;
            }
        }
        let code = match end {
            Some(End::Signal(signal)) => signal.exit_code(),
            Some(End::HungUp) => Signal::Hangup.exit_code(),
            Some(End::NoSession) => 1,
            Some(End::Asked) | None => 0,
        };
        self.close(door.events).await;
        code
    }

    /// Waits for one thing to happen and deals with it.
    async fn step(&mut self, door: &mut Door) -> Option<End> {
        if self.dirty && Instant::now() >= self.frame_at() && self.draw().is_err() {
            return Some(End::HungUp);
        }
        let wake = self.wake_at();
        // Counted from the last byte: what comes from elsewhere meanwhile must not put it off.
        let settles = self.decoder.patience().map(|patience| self.keyed_at + patience);
        tokio::select! {
            biased;
            signal = self.signals.next() => match signal {
                Signal::Interrupt => self.update(Input::Key(keys::Key::ctrl('c'))).await,
                signal @ (Signal::Terminate | Signal::Hangup) => Some(End::Signal(signal)),
            },
            bytes = self.bytes.recv() => match bytes {
                Some(bytes) if !bytes.is_empty() => {
                    self.keyed_at = Instant::now();
                    let inputs = self.decoder.push(&bytes);
                    self.inputs(inputs).await
                }
                Some(_) | None => Some(End::HungUp),
            },
            () = until(settles), if settles.is_some() => {
                let inputs = self.decoder.settle();
                self.inputs(inputs).await
            }
            signal = self.terminal_signals.next() => {
                if signal == TerminalSignal::Continued {
                    self.screen.resume().ok();
                }
                self.dirty = true;
                None
            }
            arrived = finished(&mut self.opening) => self.arrived(arrived, door).await,
            event = heard(&mut door.events) => self.event(event, &mut door.events).await,
            Some(bytes) = self.sequences.recv() => {
                self.screen.send(&bytes);
                None
            }
            Some(input) = self.outside.next() => self.update(input).await,
            () = until(wake), if wake.is_some() => self.update(Input::Tick).await,
        }
    }

    /// When something has to be done although nothing comes in.
    fn wake_at(&self) -> Option<Instant> {
        let frame = self.dirty.then(|| self.frame_at());
        let change = self.app.next_change().map(|at| self.began + at);
        frame.into_iter().chain(change).min()
    }

    /// Keys are shown at once; a burst of them is one frame.
    async fn inputs(&mut self, inputs: Vec<keys::Input>) -> Option<End> {
        if !inputs.is_empty() {
            self.reload();
        }
        for input in inputs {
            let input = match input {
                keys::Input::Key(key) => Input::Key(key),
                keys::Input::Paste(text) => Input::Paste(text),
                keys::Input::Focus(focus) => Input::Focus(focus),
                keys::Input::Report(report) => {
                    self.report(&report);
                    continue;
                }
            };
            if let Some(end) = self.update(input).await {
                return Some(end);
            }
        }
        if self.pauses.is_some() {
            self.touch();
            return None;
        }
        if self.draw().is_err() { Some(End::HungUp) } else { None }
    }

    /// Files that were changed meanwhile count from this key on.
    fn reload(&mut self) {
        for (what, text) in self.reload.changed(Instant::now()) {
            match what {
                What::Theme => self.app.preferences.theme = Theme::parse(&text),
                What::Bindings => {
                    let (bindings, warnings) =
                        if text.is_empty() { Default::default() } else { Bindings::parse(&text) };
                    self.app.preferences.bindings = bindings;
                    self.app.warn(&warnings);
                }
            }
            self.dirty = true;
        }
    }

    fn report(&mut self, report: &str) {
        if let Some(base) = report.strip_prefix("]11;").and_then(theme::base_for_background) {
            self.app.set_background(base);
            self.dirty = true;
        }
    }

    async fn event(&mut self, event: Option<Event>, events: &mut Option<Events>) -> Option<End> {
        let Some(event) = event else {
            return self.update(Input::Gone("The session has ended.".into())).await;
        };
        let mut next = Some(event);
        for _ in 0..BURST {
            let Some(event) = next else { break };
            if let Some(end) = self.update(Input::Event(event)).await {
                return Some(end);
            }
            next = events.as_mut().and_then(Events::try_recv);
        }
        if let Some(event) = next {
            return self.update(Input::Event(event)).await;
        }
        // Only now: a conversation that is continued has been told.
        self.app.begin_queued();
        self.update(Input::Tick).await
    }

    async fn update(&mut self, input: Input) -> Option<End> {
        self.app.now = self.began.elapsed();
        let effects = self.app.update(input);
        self.touch();
        self.perform(effects).await
    }

    /// The picture is to be renewed. A screen reader is left in peace for a moment first.
    fn touch(&mut self) {
        if !std::mem::replace(&mut self.dirty, true) && self.pauses.is_some() {
            self.drawn_at = Instant::now();
        }
    }

    /// When the next frame may be drawn.
    fn frame_at(&self) -> Instant {
        match self.pauses {
            Some(pauses) => (self.drawn_at + pauses.change).max(self.began + pauses.start),
            None => self.drawn_at + FRAME,
        }
    }

    async fn perform(&mut self, effects: Vec<Effect>) -> Option<End> {
        for effect in effects {
            match effect {
                Effect::Exit => return Some(End::Asked),
                Effect::Redraw => self.screen.redraw(),
                // A terminal that is gone is noticed by the next frame.
                Effect::AskBackground => drop(self.screen.ask_background()),
                Effect::Alert(text) => self.screen.alert(self.app.preferences.channel, &text),
                Effect::Mark(mark) => self.screen.send(match mark {
                    Mark::Bell => b"\x07",
                    Mark::Sent => b"\x1b]133;C\x07",
                    Mark::Over => b"\x1b]133;D\x07\x1b]133;A\x07",
                }),
                Effect::Sequence(sequence) => self.screen.hook_sequence(&sequence),
                Effect::Suspend => {
                    self.screen.suspend(&mut self.app).ok();
                }
                Effect::ExternalEditor(text) => {
                    let text = self.external_editor(text).await;
                    self.app.update(Input::Edited(text));
                }
                Effect::Errand(errand) => {
                    if let Some(path) = self.outside.file_of(&errand) {
                        self.edit_file(&path).await;
                    } else {
                        self.outside.run_errand(errand);
                    }
                }
                Effect::View(text) => {
                    self.external_editor(text).await;
                }
                Effect::SignIn(key) => match self.outside.sign_in(key).await {
                    Ok(place) => {
                        self.app.update(Input::SignedIn(place));
                        self.moves = Some(Move::Again);
                    }
                    Err(why) => {
                        self.app.update(Input::NotSignedIn(why));
                    }
                },
                Effect::Chosen(chosen) => self.moves = Some(chosen.map_or(Move::Stay, Move::To)),
                Effect::Fork { session, prompt } => self.moves = Some(Move::Fork { session, prompt }),
                Effect::Moved { session, cwd } => self.moves = Some(Move::Moved { session, cwd }),
                Effect::Entry(answer) => self.moves = Some(Move::Answered(answer)),
                effect => self.outside.perform(effect).await,
            }
        }
        None
    }

    async fn external_editor(&mut self, text: String) -> String {
        let Ok(sender) = self.screen.lend(&mut self.app) else { return text };
        let edited = self.outside.edit(text).await;
        self.screen.take_back(sender).ok();
        edited
    }

    async fn edit_file(&mut self, path: &std::path::Path) {
        let Ok(sender) = self.screen.lend(&mut self.app) else { return };
        let edited = self.outside.edit_file(path).await;
        self.screen.take_back(sender).ok();
        let note = edited.map(|()| format!("Closed {}", path.display()));
        self.app.update(Input::Brought(crate::app::panel::Brought::Note(note)));
    }

    fn draw(&mut self) -> io::Result<()> {
        self.drawn_at = Instant::now();
        self.dirty = false;
        self.app.now = self.began.elapsed();
        self.screen.draw(&mut self.app)
    }

    /// The session puts itself away while the terminal is already back.
    async fn close(mut self, events: Option<Events>) {
        let busy = self.app.is_busy();
        if let Some(Overlay::Transcript(_)) = self.app.overlay {
            self.app.overlay = None;
        }
        self.app.farewell();
        self.screen.leave(&mut self.app).ok();
        self.outside.close(if busy { Command::Shutdown } else { Command::Close }).await;
        let Some(mut events) = events else { return };
        let drained = async { while events.recv().await.is_some() {} };
        tokio::time::timeout(GRACE, drained).await.ok();
    }
}

/// Never, while there is no session. Cancel safe.
async fn heard(events: &mut Option<Events>) -> Option<Event> {
    match events {
        Some(events) => events.recv().await,
        None => std::future::pending().await,
    }
}

async fn until(at: Option<Instant>) {
    if let Some(at) = at {
        tokio::time::sleep_until(at.into()).await;
    }
}

/// What is known of a session before it stands.
fn session_of(boot: &Boot) -> Session {
    let cwd = boot.cwd.to_string_lossy().into_owned();
    Session {
        place: short_home(&cwd, &boot.env),
        cwd,
        mode: boot.options.permission_mode.unwrap_or_default(),
        may_bypass: boot.options.allow_bypass,
        needs_credentials: boot.options.replay.is_none(),
        ..Session::default()
    }
}

/// A panic must be readable, and the shell usable after it.
fn restore_on_panic() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        tty::restore();
        before(info);
    }));
}

/// `COLORFGBG` ends in the number of the background colour.
fn is_light(value: &str) -> bool {
    matches!(value.rsplit(';').next(), Some("7" | "15"))
}

/// Which terminals cut rows when they become narrower. The others are taken to reflow.
fn reflow(env: &sys::Env) -> Reflow {
    let term = env.get("TERM").unwrap_or_default();
    let in_tmux = env.non_empty("TMUX").is_some();
    let cuts = !in_tmux
        && (env.non_empty("XTERM_VERSION").is_some()
            || env.non_empty("STY").is_some()
            || term == "linux"
            || term.starts_with("st-")
            || term == "st");
    if cuts { Reflow::Cuts } else { Reflow::Wraps }
}

fn short_home(path: &str, env: &sys::Env) -> String {
    let home = env.home().map(|home| home.to_string_lossy().into_owned()).unwrap_or_default();
    match path.strip_prefix(&home).filter(|_| !home.is_empty()) {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("~{rest}"),
        Some(_) | None => path.to_owned(),
    }
}
