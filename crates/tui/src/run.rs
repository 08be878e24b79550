//! The terminal loop: keys, engine events, signals and time go into `App`; effects and frames come out. Nothing wakes
//! up while nothing happens: a timer runs only while something moves. The terminal is restored on every exit.

mod effects;
mod panel_jobs;
mod screen;
mod session_open;

use crate::app::session::SessionDisplay;
use crate::app::{App, AppEffect, AppInput, Preferences, ScreenReaderMark};
use crate::notify::TerminalIdentity;
use crate::reload::{FileReloader, ReloadKind};
use crate::screen_reader::ScreenReaderPauses;
use effects::EffectRunner;
use engine::{Command, Event, EventReceiver, ShellOutputUse, StartRequest};
use screen::TerminalScreen;
use session_open::{OpenTask, SessionOpener, SessionSwitch, wait_for_open};
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use sys::signal::{Signal, Signals, TerminalSignal, TerminalSignals};
use sys::tty::{self, Tty};
use terminal::editor::Submission;
use terminal::glyphs::GlyphSet;
use terminal::keys::bindings::KeyBindings;
use terminal::keys::decode::InputDecoder;
use terminal::keys::{self};
use terminal::surface::{CaretStyle, Reflow};
use terminal::theme::{self, Theme};
use tokio::sync::mpsc;

/// The least time between frames for engine events. Keys do not wait for it.
const FRAME_INTERVAL: Duration = Duration::from_millis(33);
/// Engine events processed before the next frame.
const BURST: usize = 256;
/// How long a session may take to close.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(1_700);

/// What the interface starts with.
#[derive(Debug)]
pub struct TuiStart {
    pub boot: StartRequest,
    /// Submitted as if it had been typed.
    pub prompt: Option<String>,
    pub preferences: Preferences,
    /// The theme follows the background of the terminal.
    pub follows_background: bool,
    /// Makes the report of `gimlet doctor`.
    pub doctor: fn(&sys::Env) -> String,
    /// User files that are read again when they change.
    pub files: Vec<(ReloadKind, PathBuf)>,
    /// Problems found in these files.
    pub warnings: Vec<String>,
}

/// Runs the interface until the user exits; returns the exit code. Must be called inside the runtime.
pub async fn run(mut start: TuiStart) -> u8 {
    let place = engine::planned_worktree(&mut start.boot);
    match TuiLoop::open(&start, place) {
        Ok(interface) => Box::pin(interface.serve(start)).await,
        Err(error) => {
            tty::restore();
            tracing::error!(%error, "the terminal cannot be used");
            1
        }
    }
}

struct TuiLoop {
    app: App,
    screen: TerminalScreen,
    decoder: InputDecoder,
    bytes: mpsc::Receiver<Vec<u8>>,
    effects: EffectRunner,
    reload: FileReloader,
    /// Set in screen reader mode.
    pauses: Option<ScreenReaderPauses>,
    /// Bytes for the terminal from background work.
    sequences: mpsc::Receiver<Vec<u8>>,
    signals: Signals,
    terminal_signals: TerminalSignals,
    started_at: Instant,
    drawn_at: Instant,
    /// When bytes last came from the keyboard.
    last_key_at: Instant,
    /// The state changed since the last frame.
    needs_redraw: bool,
    /// The session being opened in the background; keys are handled meanwhile.
    opening: Option<OpenTask>,
    /// The switch to perform next.
    pending_switch: Option<SessionSwitch>,
}

/// Why the loop ends.
enum LoopEnd {
    Asked,
    Signal(Signal),
    /// The terminal has hung up.
    HungUp,
    /// No session could be opened.
    NoSession,
}

impl TuiLoop {
    /// `place` is where the session works when that is not where it was started.
    fn open(start: &TuiStart, place: Option<PathBuf>) -> io::Result<Self> {
        let env = &start.boot.env;
        let tty = Tty::open()?;
        // Must happen before the terminal is changed: from here on, every exit restores it.
        let (signals, terminal_signals) = (Signals::listen()?, TerminalSignals::listen()?);
        restore_on_panic();
        let mut preferences = start.preferences.clone();
        if preferences.theme.base() == theme::BaseTheme::Dark && env.non_empty("COLORFGBG").is_some_and(is_light) {
            preferences.theme = Theme::new(theme::BaseTheme::Light);
        }
        let profile = terminal::surface::TerminalProfile {
            capabilities: terminal::style::TerminalCapabilities {
                depth: crate::printed::colour_depth(env),
                links: env.get("TERM") != Some("linux"),
            },
            reflow: reflow(env),
            synchronized: true,
            glyphs: GlyphSet::of(
                env.get("TERM").unwrap_or_default(),
                ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| env.non_empty(name)).unwrap_or_default(),
            ),
            caret: if preferences.tracks_cursor || preferences.screen_reader.is_some() {
                CaretStyle::Terminal
            } else {
                CaretStyle::DrawnWhenTall
            },
        };
        let mut session = session_of(&start.boot);
        if let Some(place) = place {
            session.cwd = place.to_string_lossy().into_owned();
            session.shown_cwd = short_home(&session.cwd, env);
        }
        let titles = !env.is_on("CLAUDE_CODE_DISABLE_TERMINAL_TITLE");
        // Created before the first frame, because the user may change a file as soon as it is shown.
        let reload = FileReloader::new(start.files.iter().cloned());
        let mut screen = TerminalScreen::enter(tty, profile, titles, TerminalIdentity::of(env))?;
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
        let (effects, sequences) = EffectRunner::new(
            start,
            if start.preferences.answers_shell { ShellOutputUse::Answered } else { ShellOutputUse::Recorded },
        );
        let now = Instant::now();
        Ok(Self {
            app,
            screen,
            decoder: InputDecoder::new(),
            bytes,
            effects,
            reload,
            pauses: start.preferences.screen_reader.map(|_| ScreenReaderPauses::of(&start.boot.env)),
            sequences,
            signals,
            terminal_signals,
            started_at: now,
            drawn_at: now,
            last_key_at: now,
            needs_redraw: false,
            opening: None,
            pending_switch: None,
        })
    }

    async fn serve(mut self, start: TuiStart) -> u8 {
        if let Some(prompt) = start.prompt.filter(|prompt| !prompt.trim().is_empty()) {
            self.app.submit(Submission::plain(prompt));
        }
        let mut opener = SessionOpener::new(start.boot);
        self.opening = Some(opener.open());
        let mut end = None;
        while end.is_none() {
            end = self.step(&mut opener).await;
            if let Some(to) = self.pending_switch.take().filter(|_| end.is_none()) {
                end = self.switch_session(&mut opener, to).await;
            }
        }
        let code = match end {
            Some(LoopEnd::Signal(signal)) => signal.exit_code(),
            Some(LoopEnd::HungUp) => Signal::Hangup.exit_code(),
            Some(LoopEnd::NoSession) => 1,
            Some(LoopEnd::Asked) | None => 0,
        };
        self.close(opener.events).await;
        code
    }

    /// Waits for one event and handles it.
    async fn step(&mut self, opener: &mut SessionOpener) -> Option<LoopEnd> {
        if self.needs_redraw && Instant::now() >= self.frame_at() && self.draw().is_err() {
            return Some(LoopEnd::HungUp);
        }
        let wake = self.wake_at();
        // Counted from the last byte, so that other events do not postpone it.
        let settles = self.decoder.flush_delay().map(|patience| self.last_key_at + patience);
        tokio::select! {
            biased;
            signal = self.signals.next() => match signal {
                Signal::Interrupt => self.update(AppInput::Key(keys::KeyPress::ctrl('c'))).await,
                signal @ (Signal::Terminate | Signal::Hangup) => Some(LoopEnd::Signal(signal)),
            },
            bytes = self.bytes.recv() => match bytes {
                Some(bytes) if !bytes.is_empty() => {
                    self.last_key_at = Instant::now();
                    let inputs = self.decoder.push(&bytes);
                    self.inputs(inputs).await
                }
                Some(_) | None => Some(LoopEnd::HungUp),
            },
            () = sleep_until(settles), if settles.is_some() => {
                let inputs = self.decoder.flush();
                self.inputs(inputs).await
            }
            signal = self.terminal_signals.next() => {
                if signal == TerminalSignal::Continued {
                    self.screen.resume().ok();
                }
                self.needs_redraw = true;
                None
            }
            arrived = wait_for_open(&mut self.opening) => self.finish_open(arrived, opener).await,
            event = next_event(&mut opener.events) => self.event(event, &mut opener.events).await,
            Some(bytes) = self.sequences.recv() => {
                self.screen.send(&bytes);
                None
            }
            Some(input) = self.effects.next() => self.update(input).await,
            () = sleep_until(wake), if wake.is_some() => self.update(AppInput::Tick).await,
        }
    }

    /// When the loop must wake up without an event; `None` when it need not.
    fn wake_at(&self) -> Option<Instant> {
        let frame = self.needs_redraw.then(|| self.frame_at());
        let change = self.app.next_change().map(|at| self.started_at + at);
        frame.into_iter().chain(change).min()
    }

    /// Handles keys; a burst of them causes one frame.
    async fn inputs(&mut self, inputs: Vec<keys::TerminalInput>) -> Option<LoopEnd> {
        if !inputs.is_empty() {
            self.reload();
        }
        for input in inputs {
            let input = match input {
                keys::TerminalInput::Key(key) => AppInput::Key(key),
                keys::TerminalInput::Paste(text) => AppInput::Paste(text),
                keys::TerminalInput::Focus(focus) => AppInput::Focus(focus),
                keys::TerminalInput::Report(report) => {
                    self.report(&report);
                    continue;
                }
            };
            if let Some(end) = self.update(input).await {
                return Some(end);
            }
        }
        if self.pauses.is_some() {
            self.request_redraw();
            return None;
        }
        if self.draw().is_err() { Some(LoopEnd::HungUp) } else { None }
    }

    /// Applies the files that changed.
    fn reload(&mut self) {
        for (what, text) in self.reload.changed(Instant::now()) {
            match what {
                ReloadKind::Theme => self.app.preferences.theme = Theme::parse(&text),
                ReloadKind::Bindings => {
                    let (bindings, warnings) =
                        if text.is_empty() { Default::default() } else { KeyBindings::parse(&text) };
                    self.app.preferences.bindings = bindings;
                    self.app.warn(&warnings);
                }
            }
            self.needs_redraw = true;
        }
    }

    fn report(&mut self, report: &str) {
        if let Some(base) = report.strip_prefix("]11;").and_then(theme::base_for_background) {
            self.app.set_background(base);
            self.needs_redraw = true;
        }
    }

    async fn event(&mut self, event: Option<Event>, events: &mut Option<EventReceiver>) -> Option<LoopEnd> {
        let Some(event) = event else {
            return self.update(AppInput::Gone("The session has ended.".into())).await;
        };
        let mut next = Some(event);
        for _ in 0..BURST {
            let Some(event) = next else { break };
            if let Some(end) = self.update(AppInput::Event(event)).await {
                return Some(end);
            }
            next = events.as_mut().and_then(EventReceiver::try_recv);
        }
        if let Some(event) = next {
            return self.update(AppInput::Event(event)).await;
        }
        // Only now the messages of a resumed conversation have been received.
        self.app.begin_queued();
        self.update(AppInput::Tick).await
    }

    async fn update(&mut self, input: AppInput) -> Option<LoopEnd> {
        self.app.now = self.started_at.elapsed();
        let effects = self.app.update(input);
        self.request_redraw();
        self.perform(effects).await
    }

    /// Requests a new frame. For a screen reader, the pause before the change begins now.
    fn request_redraw(&mut self) {
        if !std::mem::replace(&mut self.needs_redraw, true) && self.pauses.is_some() {
            self.drawn_at = Instant::now();
        }
    }

    /// When the next frame may be drawn.
    fn frame_at(&self) -> Instant {
        match self.pauses {
            Some(pauses) => (self.drawn_at + pauses.change).max(self.started_at + pauses.start),
            None => self.drawn_at + FRAME_INTERVAL,
        }
    }

    async fn perform(&mut self, effects: Vec<AppEffect>) -> Option<LoopEnd> {
        for effect in effects {
            match effect {
                AppEffect::Exit => return Some(LoopEnd::Asked),
                AppEffect::Redraw => self.screen.redraw(),
                // If the terminal is gone, drawing the next frame reports it.
                AppEffect::ClearScreen => drop(self.screen.clear()),
                // If the terminal is gone, drawing the next frame reports it.
                AppEffect::AskBackground => drop(self.screen.ask_background()),
                AppEffect::Alert(text) => self.screen.alert(self.app.preferences.channel, &text),
                AppEffect::Mark(mark) => self.screen.send(match mark {
                    ScreenReaderMark::Bell => b"\x07",
                    ScreenReaderMark::Sent => b"\x1b]133;C\x07",
                    ScreenReaderMark::Over => b"\x1b]133;D\x07\x1b]133;A\x07",
                }),
                AppEffect::Sequence(sequence) => self.screen.hook_sequence(&sequence),
                AppEffect::Suspend => {
                    self.screen.suspend(&mut self.app).ok();
                }
                AppEffect::ExternalEditor(text) => {
                    let text = self.external_editor(text).await;
                    self.app.update(AppInput::Edited(text));
                }
                AppEffect::RunPanelJob(job) => {
                    if let Some(path) = self.effects.file_of(&job) {
                        self.edit_file(&path).await;
                    } else {
                        self.effects.run_panel_job(job);
                    }
                }
                AppEffect::View(text) => {
                    self.external_editor(text).await;
                }
                AppEffect::SignIn(key) => match self.effects.sign_in(key).await {
                    Ok(place) => {
                        self.app.update(AppInput::SignedIn(place));
                        self.pending_switch = Some(SessionSwitch::Again);
                    }
                    Err(why) => {
                        self.app.update(AppInput::NotSignedIn(why));
                    }
                },
                AppEffect::Chosen(chosen) => {
                    self.pending_switch = Some(chosen.map_or(SessionSwitch::Stay, SessionSwitch::To));
                }
                AppEffect::Fork { session, prompt } => {
                    self.pending_switch = Some(SessionSwitch::Fork { session, prompt });
                }
                AppEffect::ReturnTo(session) => self.pending_switch = Some(SessionSwitch::Back(session)),
                AppEffect::Moved { session, cwd } => self.pending_switch = Some(SessionSwitch::Moved { session, cwd }),
                AppEffect::Entry(answer) => self.pending_switch = Some(SessionSwitch::Answered(answer)),
                effect => self.effects.perform(effect).await,
            }
        }
        None
    }

    async fn external_editor(&mut self, text: String) -> String {
        let Ok(sender) = self.screen.release(&mut self.app) else { return text };
        let edited = self.effects.edit(text).await;
        self.screen.take_back(sender).ok();
        edited
    }

    async fn edit_file(&mut self, path: &std::path::Path) {
        let Ok(sender) = self.screen.release(&mut self.app) else { return };
        let edited = self.effects.edit_file(path).await;
        self.screen.take_back(sender).ok();
        let note = edited.map(|()| format!("Closed {}", path.display()));
        self.app.update(AppInput::PanelJobDone(crate::app::panel::PanelJobResult::Note(note)));
    }

    fn draw(&mut self) -> io::Result<()> {
        self.drawn_at = Instant::now();
        self.needs_redraw = false;
        self.app.now = self.started_at.elapsed();
        self.screen.draw(&mut self.app)
    }

    /// Restores the terminal, then waits for the session to close.
    async fn close(mut self, events: Option<EventReceiver>) {
        let busy = self.app.is_busy();
        self.app.close_transcript();
        self.app.print_resume_hint();
        self.screen.leave(&mut self.app).ok();
        self.effects.close(if busy { Command::Shutdown } else { Command::Close }).await;
        let Some(mut events) = events else { return };
        let drained = async {
            while let Some(event) = events.recv().await {
                // What the end of the session has to say is read below the interface.
                if let Event::Notice(text) = event {
                    let text = terminal::text::clean(&text).replace('\n', "\r\n");
                    self.screen.send(format!("{text}\r\n").as_bytes());
                }
            }
        };
        tokio::time::timeout(CLOSE_TIMEOUT, drained).await.ok();
    }
}

/// Waits for ever while there is no session. Cancel safe.
async fn next_event(events: &mut Option<EventReceiver>) -> Option<Event> {
    match events {
        Some(events) => events.recv().await,
        None => std::future::pending().await,
    }
}

async fn sleep_until(at: Option<Instant>) {
    if let Some(at) = at {
        tokio::time::sleep_until(at.into()).await;
    }
}

/// What is known about a session before it is open.
fn session_of(boot: &StartRequest) -> SessionDisplay {
    let cwd = boot.cwd.to_string_lossy().into_owned();
    SessionDisplay {
        shown_cwd: short_home(&cwd, &boot.env),
        cwd,
        mode: boot.options.permissions.mode.unwrap_or_default(),
        may_bypass: boot.options.permissions.allow_bypass,
        needs_credentials: boot.options.cassette.replay.is_none(),
        ..SessionDisplay::default()
    }
}

/// Restores the terminal on a panic, so that the message is readable and the shell usable.
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

/// Whether the terminal cuts rows when it becomes narrower. Unknown terminals are assumed to reflow.
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
