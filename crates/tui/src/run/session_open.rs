//! Opening a session, and switching from one to another. The questions before a start are asked one at a time; then the
//! session is opened outside the loop. The previous session continues until the next one is open.

use super::{LoopEnd, TuiLoop, session_of};
use crate::app::AppInput;
use crate::app::confirm::{StartAnswer, SummaryChoice};
use engine::preflight::{self, PreflightAnswers, PreflightQuestion, PreflightStep};
use engine::query::SessionInfo;
use engine::{Command, CommandSender, EventReceiver, SessionChoice, StartError, StartFailure, StartRequest};
use std::path::Path;
use std::time::Duration;
use terminal::theme::ThemeToken;
use tokio::task::JoinHandle;

/// How long a session that was left may take to close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// How the session of the interface changes.
pub(super) enum SessionSwitch {
    /// Open the same session again with a new API key.
    Again,
    To(Box<SessionInfo>),
    /// Back to the session with this id, in the same directory.
    Back(String),
    /// Open a fork of this session and send `prompt` there first.
    Fork {
        session: String,
        prompt: String,
    },
    /// The session moved to another directory.
    Moved {
        session: String,
        cwd: String,
    },
    /// The picker was cancelled.
    Stay,
    Answered(StartAnswer),
}

/// The state of opening and switching sessions.
pub(super) struct SessionOpener {
    boot: StartRequest,
    /// The request before a switch that has not succeeded yet.
    previous_boot: Option<StartRequest>,
    answers: PreflightAnswers,
    /// The session is a fork made here; the session chosen next must not be forked.
    is_copy: bool,
    pub(super) events: Option<EventReceiver>,
}

/// A session that is being opened.
pub(super) type OpenTask = JoinHandle<OpenResult>;

/// The result of opening a session.
pub(super) struct OpenResult {
    /// The request after preflight.
    boot: StartRequest,
    outcome: Result<OpenOutcome, StartError>,
}

enum OpenOutcome {
    Session(CommandSender, EventReceiver),
    Pick(String),
    Ask(PreflightQuestion),
}

impl SessionOpener {
    pub(super) fn new(boot: StartRequest) -> Self {
        Self { boot, previous_boot: None, answers: PreflightAnswers::default(), is_copy: false, events: None }
    }

    /// Prepares a switch to `session`; keeps the previous request.
    fn switch_to(&mut self, session: SessionChoice) {
        self.previous_boot = Some(self.boot.clone());
        self.answers = PreflightAnswers { summary: true, ..PreflightAnswers::default() };
        self.boot.options.conversation.choice = session;
    }

    /// Updates the request after the session moved to `cwd`. Returns `true` when preflight has a question about that
    /// folder; then the session must be opened again there.
    fn follow_cwd(&mut self, session: String, cwd: String) -> bool {
        self.boot.cwd = cwd.into();
        // The trust decision for the previous folder does not apply to this one.
        self.boot.options.configuration.trust = engine::SessionOptions::default().configuration.trust;
        self.boot.options.conversation.choice = SessionChoice::Resume { target: session, fork: None };
        let answered = PreflightAnswers { summary: true, ..PreflightAnswers::default() };
        let asks = matches!(preflight::next_step(&mut self.boot.clone(), &answered), Ok(PreflightStep::Ask(_)));
        if asks {
            self.previous_boot = Some(self.boot.clone());
            self.answers = answered;
        }
        asks
    }

    /// Finds the next question, or opens the session when there is none. Reading settings and a long conversation is
    /// slow, so it runs on a blocking thread.
    pub(super) fn open(&self) -> OpenTask {
        let (mut boot, answered) = (self.boot.clone(), self.answers.clone());
        let runtime = tokio::runtime::Handle::current();
        tokio::task::spawn_blocking(move || {
            let outcome = match preflight::next_step(&mut boot, &answered) {
                Ok(PreflightStep::Open) => {
                    let mut opened = boot.clone();
                    opened.options.servers.needs_approval = true;
                    runtime
                        .block_on(engine::open(opened))
                        .map(|(commands, events)| OpenOutcome::Session(commands, events))
                }
                Ok(PreflightStep::Pick(query)) => Ok(OpenOutcome::Pick(query)),
                Ok(PreflightStep::Ask(question)) => Ok(OpenOutcome::Ask(question)),
                Err(error) => Err(error),
            };
            OpenResult { boot, outcome }
        })
    }
}

/// Waits for ever when nothing is being opened. Cancel safe.
pub(super) async fn wait_for_open(opening: &mut Option<OpenTask>) -> Result<OpenResult, StartError> {
    match opening {
        Some(opening) => opening.await.map_err(|error| StartError::new(StartFailure::Internal, error.to_string())),
        None => std::future::pending().await,
    }
}

impl TuiLoop {
    /// Handles the result: attaches the session, asks a question, opens the picker or reports an error.
    pub(super) async fn finish_open(
        &mut self,
        arrived: Result<OpenResult, StartError>,
        opener: &mut SessionOpener,
    ) -> Option<LoopEnd> {
        self.opening = None;
        self.needs_redraw = true;
        self.app.now = self.started_at.elapsed();
        let outcome = arrived.and_then(|OpenResult { boot, outcome }| {
            opener.boot = boot;
            outcome
        });
        match outcome {
            Ok(OpenOutcome::Session(commands, events)) => return self.attach_session(opener, commands, events).await,
            Ok(OpenOutcome::Pick(query)) => self.app.open_picker(&query),
            Ok(OpenOutcome::Ask(question)) => self.app.ask_before_start(question),
            Err(error) => return self.report_open_failure(opener, error.to_string()),
        }
        self.update(AppInput::Tick).await
    }

    async fn attach_session(
        &mut self,
        opener: &mut SessionOpener,
        commands: CommandSender,
        events: EventReceiver,
    ) -> Option<LoopEnd> {
        let is_move = opener.previous_boot.take().is_some();
        if let Some(before) = opener.events.replace(events) {
            self.effects.close(Command::Close).await;
            drain(before);
            if is_move {
                self.app.replace_session(session_of(&opener.boot));
            }
        }
        self.effects.relocate(&opener.boot.cwd);
        // Commands that were queued meanwhile are sent after `initialize`.
        self.app.initialize();
        let greeting = self.app.update(AppInput::Tick);
        let held = self.effects.connect(commands);
        let end = self.perform(greeting).await;
        self.effects.send_all(held).await;
        end
    }

    pub(super) async fn switch_session(&mut self, opener: &mut SessionOpener, to: SessionSwitch) -> Option<LoopEnd> {
        self.needs_redraw = true;
        match to {
            SessionSwitch::Again => {
                // The previous session has had no turn yet, so nothing is lost.
                self.effects.close(Command::Close).await;
                opener.events = None;
            }
            SessionSwitch::Stay => {
                self.effects.stop_fetching();
                // Without a session the interface ends.
                return opener.events.is_none().then_some(LoopEnd::Asked);
            }
            SessionSwitch::To(session) => {
                self.effects.stop_fetching();
                // Prompts typed from now on are for the other session.
                self.app.is_ready = false;
                opener.previous_boot = Some(opener.boot.clone());
                opener.answers = PreflightAnswers::default();
                opener.boot.options.conversation.is_price_accepted = false;
                if std::mem::take(&mut opener.is_copy) {
                    opener.boot.options.conversation.choice = SessionChoice::New { id: None };
                }
                point_to_session(&mut opener.boot, &session);
            }
            SessionSwitch::Back(session) => {
                self.app.is_ready = false;
                opener.switch_to(SessionChoice::Resume { target: session, fork: None });
                opener.is_copy = false;
            }
            SessionSwitch::Fork { session, prompt } => {
                self.app.is_ready = false;
                opener.switch_to(SessionChoice::Resume { target: session, fork: Some(engine::ForkTarget::default()) });
                opener.is_copy = true;
                self.app.submit_first(&prompt);
            }
            SessionSwitch::Moved { session, cwd } => {
                self.app.session.shown_cwd = super::short_home(&cwd, &opener.boot.env);
                self.effects.relocate(Path::new(&cwd));
                if !opener.follow_cwd(session, cwd) {
                    return None;
                }
                self.app.is_ready = false;
            }
            SessionSwitch::Answered(StartAnswer::Declined) if opener.events.is_none() => return Some(LoopEnd::Asked),
            SessionSwitch::Answered(StartAnswer::Declined) => {
                return self.report_open_failure(opener, "Staying in this session.".into());
            }
            SessionSwitch::Answered(answer) => {
                if let Err(why) = self.record(opener, answer) {
                    // An answer that cannot be saved is not used.
                    return self.report_open_failure(opener, format!("The answer could not be saved: {why}"));
                }
            }
        }
        self.opening = Some(opener.open());
        None
    }

    fn record(&mut self, opener: &mut SessionOpener, answer: StartAnswer) -> Result<(), String> {
        match answer {
            StartAnswer::Trusted(asked) => return preflight::trust(&mut opener.boot, &asked),
            StartAnswer::Bypassed => return preflight::accept_bypass(&opener.boot),
            StartAnswer::Server(server, Some(decision)) => {
                opener.answers.postponed_servers.push(server.name.clone());
                return preflight::decide_server(&opener.boot, &server, decision);
            }
            StartAnswer::Untrusted(asked) => return preflight::distrust(&mut opener.boot, &asked),
            StartAnswer::Server(server, None) => opener.answers.postponed_servers.push(server.name),
            StartAnswer::Summary(how) => {
                opener.answers.summary = true;
                opener.boot.options.conversation.is_price_accepted = true;
                if how == SummaryChoice::FromSummary {
                    self.app.submit_first("/compact");
                }
            }
            StartAnswer::Declined => {}
        }
        Ok(())
    }

    /// Continues with the previous session; without one the loop ends, and the reason stays on the screen.
    fn report_open_failure(&mut self, opener: &mut SessionOpener, why: String) -> Option<LoopEnd> {
        let Some(before) = opener.previous_boot.take().filter(|_| opener.events.is_some()) else {
            self.app.update(AppInput::Gone(why));
            return Some(LoopEnd::NoSession);
        };
        opener.boot = before;
        self.app.is_ready = true;
        self.app.note(&why, ThemeToken::Error);
        None
    }
}

/// Resumes the chosen session, in its directory when that still exists.
fn point_to_session(boot: &mut StartRequest, session: &SessionInfo) {
    boot.options.conversation.choice = SessionChoice::Resume {
        target: session.path.display().to_string(),
        fork: fork_of(&boot.options.conversation.choice),
    };
    if let Some(cwd) = session.cwd.as_deref().map(Path::new).filter(|cwd| cwd.is_dir()) {
        boot.cwd = cwd.to_path_buf();
    }
}

/// `--fork-session` applies only to the session chosen at the start.
fn fork_of(choice: &SessionChoice) -> Option<engine::ForkTarget> {
    match choice {
        SessionChoice::Resume { target, fork } if Path::new(target).extension().is_none_or(|end| end != "jsonl") => {
            fork.clone()
        }
        SessionChoice::Resume { .. } | SessionChoice::Continue { .. } | SessionChoice::New { .. } => None,
    }
}

/// Discards the events of a session until it has closed.
fn drain(mut events: EventReceiver) {
    tokio::spawn(async move {
        let drained = async { while events.recv().await.is_some() {} };
        tokio::time::timeout(CLOSE_TIMEOUT, drained).await.ok();
    });
}
