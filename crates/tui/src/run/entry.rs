//! From the start to a session, and from one session to another: what has to be asked is asked first, one thing after the
//! other, and only then something is opened, beside the loop. The session before goes on until the next one stands.

use super::{End, Interface, session_of};
use crate::app::Input;
use crate::app::gate::{Answer, Continued};
use crate::theme::Token;
use engine::entry::{self, Answered, Question, Step};
use engine::query::SessionInfo;
use engine::{Boot, Command, Commands, Events, SessionChoice, StartError};
use std::path::Path;
use std::time::Duration;
use tokio::task::JoinHandle;

/// How long a session that was left may take to put itself away.
const GRACE: Duration = Duration::from_secs(10);

/// How the session behind the interface changes.
pub(super) enum Move {
    /// The same one, with what has changed outside.
    Again,
    To(Box<SessionInfo>),
    /// A copy of this session, which is told something first.
    Fork {
        session: String,
        prompt: String,
    },
    /// The session went to another directory by itself.
    Moved {
        session: String,
        cwd: String,
    },
    /// None was chosen.
    Stay,
    Answered(Answer),
}

/// What is behind the interface, and what is to be.
pub(super) struct Door {
    boot: Boot,
    /// How it was before a move that has not succeeded yet.
    before: Option<Boot>,
    answered: Answered,
    /// The session behind the interface is a copy that was made here: what is chosen next is not to be copied.
    is_copy: bool,
    pub(super) events: Option<Events>,
}

/// A session that is being opened.
pub(super) type Opening = JoinHandle<Arrived>;

/// What came of it.
pub(super) struct Arrived {
    /// With the conversation settled.
    boot: Boot,
    came: Result<Came, StartError>,
}

enum Came {
    Session(Commands, Events),
    Pick(String),
    Ask(Question),
}

impl Door {
    pub(super) fn new(boot: Boot) -> Self {
        Self { boot, before: None, answered: Answered::default(), is_copy: false, events: None }
    }

    /// The same person goes on with something else; how it was is kept.
    fn turn_to(&mut self, session: SessionChoice) {
        self.before = Some(self.boot.clone());
        self.answered = Answered { summary: true, ..Answered::default() };
        self.boot.options.session = session;
    }

    /// The session works in `cwd` now. Whether something has to be asked about that folder: then it is taken up anew there.
    fn follow(&mut self, session: String, cwd: String) -> bool {
        self.boot.cwd = cwd.into();
        // What was said about the folder before does not hold for this one.
        self.boot.options.trust = engine::Options::default().trust;
        self.boot.options.session = SessionChoice::Resume { target: session, fork: None };
        let answered = Answered { summary: true, ..Answered::default() };
        let asks = matches!(entry::next(&mut self.boot.clone(), &answered), Ok(Step::Ask(_)));
        if asks {
            self.before = Some(self.boot.clone());
            self.answered = answered;
        }
        asks
    }

    /// Finds the next question, or opens the session when there is none. Reading settings and a long conversation takes
    /// its time: not on the thread that serves keys.
    pub(super) fn knock(&self) -> Opening {
        let (mut boot, answered) = (self.boot.clone(), self.answered.clone());
        let runtime = tokio::runtime::Handle::current();
        tokio::task::spawn_blocking(move || {
            let came = match entry::next(&mut boot, &answered) {
                Ok(Step::Open) => {
                    let mut opened = boot.clone();
                    opened.options.approves_servers = true;
                    runtime.block_on(engine::open(opened)).map(|(commands, events)| Came::Session(commands, events))
                }
                Ok(Step::Pick(query)) => Ok(Came::Pick(query)),
                Ok(Step::Ask(question)) => Ok(Came::Ask(question)),
                Err(error) => Err(error),
            };
            Arrived { boot, came }
        })
    }
}

/// Never, when nothing is being opened. Cancel safe.
pub(super) async fn finished(opening: &mut Option<Opening>) -> Result<Arrived, StartError> {
    match opening {
        Some(opening) => opening.await.map_err(|error| StartError::new(error.to_string())),
        None => std::future::pending().await,
    }
}

impl Interface {
    /// The session stands, or something has to be asked first, or there is none.
    pub(super) async fn arrived(&mut self, arrived: Result<Arrived, StartError>, door: &mut Door) -> Option<End> {
        self.opening = None;
        self.dirty = true;
        self.app.now = self.began.elapsed();
        let came = arrived.and_then(|Arrived { boot, came }| {
            door.boot = boot;
            came
        });
        match came {
            Ok(Came::Session(commands, events)) => return self.connected(door, commands, events).await,
            Ok(Came::Pick(query)) => self.app.pick(&query),
            Ok(Came::Ask(question)) => self.app.ask_entry(question),
            Err(error) => return self.fail(door, error.message),
        }
        self.update(Input::Tick).await
    }

    async fn connected(&mut self, door: &mut Door, commands: Commands, events: Events) -> Option<End> {
        let is_move = door.before.take().is_some();
        if let Some(before) = door.events.replace(events) {
            self.outside.close(Command::Close).await;
            drain(before);
            if is_move {
                self.app.switched(session_of(&door.boot));
            }
        }
        self.outside.relocate(&door.boot.cwd);
        // What was asked for meanwhile comes after the greeting.
        self.app.initialize();
        let greeting = self.app.update(Input::Tick);
        let held = self.outside.connect(commands);
        let end = self.perform(greeting).await;
        self.outside.send_all(held).await;
        end
    }

    pub(super) async fn go(&mut self, door: &mut Door, to: Move) -> Option<End> {
        self.dirty = true;
        match to {
            Move::Again => {
                // The one before has had no turn yet: nothing is lost with it.
                self.outside.close(Command::Close).await;
                door.events = None;
            }
            Move::Stay => {
                self.outside.stop_fetching();
                // Without a session there is nowhere to stay.
                return door.events.is_none().then_some(End::Asked);
            }
            Move::To(session) => {
                self.outside.stop_fetching();
                // What is typed from now on is meant for the other one.
                self.app.is_ready = false;
                door.before = Some(door.boot.clone());
                door.answered = Answered::default();
                if std::mem::take(&mut door.is_copy) {
                    door.boot.options.session = SessionChoice::New { id: None };
                }
                aim(&mut door.boot, &session);
            }
            Move::Fork { session, prompt } => {
                self.app.is_ready = false;
                door.turn_to(SessionChoice::Resume { target: session, fork: Some(engine::Fork::default()) });
                door.is_copy = true;
                self.app.submit_first(&prompt);
            }
            Move::Moved { session, cwd } => {
                self.app.session.place = super::short_home(&cwd, &door.boot.env);
                self.outside.relocate(Path::new(&cwd));
                if !door.follow(session, cwd) {
                    return None;
                }
                self.app.is_ready = false;
            }
            Move::Answered(Answer::Declined) if door.events.is_none() => return Some(End::Asked),
            Move::Answered(Answer::Declined) => return self.fail(door, "This conversation goes on.".into()),
            Move::Answered(answer) => {
                if let Err(why) = self.record(door, answer) {
                    // An answer that cannot be kept counts for nothing.
                    return self.fail(door, format!("The answer could not be recorded: {why}"));
                }
            }
        }
        self.opening = Some(door.knock());
        None
    }

    fn record(&mut self, door: &mut Door, answer: Answer) -> Result<(), String> {
        match answer {
            Answer::Trusted(asked) => return entry::trust(&mut door.boot, &asked),
            Answer::Bypassed => return entry::accept_bypass(&door.boot),
            Answer::Server(server, Some(decision)) => {
                door.answered.later.push(server.name.clone());
                return entry::decide_server(&door.boot, &server, decision);
            }
            Answer::Untrusted(asked) => return entry::distrust(&mut door.boot, &asked),
            Answer::Server(server, None) => door.answered.later.push(server.name),
            Answer::Summary(how) => {
                door.answered.summary = true;
                if how == Continued::FromSummary {
                    self.app.submit_first("/compact");
                }
            }
            Answer::Declined => {}
        }
        Ok(())
    }

    /// The conversation before goes on; without one it is the end, and the reason stays on the screen.
    fn fail(&mut self, door: &mut Door, why: String) -> Option<End> {
        let Some(before) = door.before.take().filter(|_| door.events.is_some()) else {
            self.app.update(Input::Gone(why));
            return Some(End::NoSession);
        };
        door.boot = before;
        self.app.is_ready = true;
        self.app.note(&why, Token::Error);
        None
    }
}

/// The chosen conversation, in its own directory when that is still there.
fn aim(boot: &mut Boot, session: &SessionInfo) {
    boot.options.session =
        SessionChoice::Resume { target: session.path.display().to_string(), fork: fork_of(&boot.options.session) };
    if let Some(cwd) = session.cwd.as_deref().map(Path::new).filter(|cwd| cwd.is_dir()) {
        boot.cwd = cwd.to_path_buf();
    }
}

/// `--fork-session` holds for what is chosen at the start.
fn fork_of(choice: &SessionChoice) -> Option<engine::Fork> {
    match choice {
        SessionChoice::Resume { target, fork } if Path::new(target).extension().is_none_or(|end| end != "jsonl") => {
            fork.clone()
        }
        SessionChoice::Resume { .. } | SessionChoice::Continue { .. } | SessionChoice::New { .. } => None,
    }
}

/// The session ends by itself; what it still says is nobody's business.
fn drain(mut events: Events) {
    tokio::spawn(async move {
        let drained = async { while events.recv().await.is_some() {} };
        tokio::time::timeout(GRACE, drained).await.ok();
    });
}
