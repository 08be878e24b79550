//! From the start to a session, and from one session to another: what has to be asked is asked first, one thing after the
//! other, and only then something is opened. The session before goes on until the next one stands.

use super::{End, Interface, session_of};
use crate::app::gate::{Answer, Continued};
use crate::app::{App, Effect, Input};
use crate::theme::Token;
use engine::entry::{self, Answered, Step};
use engine::query::SessionInfo;
use engine::{Boot, Command, Commands, Events, SessionChoice};
use std::path::Path;
use std::time::Duration;

/// How long a session that was left may take to put itself away.
const GRACE: Duration = Duration::from_secs(10);

/// How the session behind the interface changes.
pub(super) enum Move {
    /// The same one, with what has changed outside.
    Again,
    To(Box<SessionInfo>),
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
    pub(super) link: Option<(Commands, Events)>,
}

impl Door {
    pub(super) fn new(boot: Boot) -> Self {
        Self { boot, before: None, answered: Answered::default(), link: None }
    }

    pub(super) fn events(&mut self) -> Option<&mut Events> {
        self.link.as_mut().map(|(_, events)| events)
    }
}

impl Interface {
    /// Asks the next question, or opens the session when there is none.
    pub(super) async fn proceed(&mut self, door: &mut Door) -> Option<End> {
        match entry::next(&mut door.boot, &door.answered) {
            Ok(Step::Open) => return self.open_session(door).await,
            Ok(Step::Pick(query)) => self.app.pick(&query),
            Ok(Step::Ask(question)) => {
                self.app.now = self.began.elapsed();
                self.app.ask_entry(question);
            }
            Err(error) => return self.fail(door, error.message),
        }
        self.dirty = true;
        let effects = self.app.update(Input::Tick);
        Box::pin(self.perform(effects)).await
    }

    pub(super) async fn go(&mut self, door: &mut Door, to: Move) -> Option<End> {
        self.dirty = true;
        match to {
            Move::Again => self.open_session(door).await,
            Move::Stay => {
                self.outside.stop_fetching();
                // Without a session there is nowhere to stay.
                door.link.is_none().then_some(End::Asked)
            }
            Move::To(session) => {
                self.outside.stop_fetching();
                door.before = Some(door.boot.clone());
                door.answered = Answered::default();
                aim(&mut door.boot, &session);
                self.proceed(door).await
            }
            Move::Answered(answer) => self.answered(door, answer).await,
        }
    }

    async fn answered(&mut self, door: &mut Door, answer: Answer) -> Option<End> {
        let recorded = match answer {
            Answer::Trusted(asked) => entry::trust(&mut door.boot, &asked),
            Answer::Untrusted => {
                entry::distrust(&mut door.boot);
                Ok(())
            }
            Answer::Bypassed => entry::accept_bypass(&door.boot),
            Answer::Server(server, Some(decision)) => {
                door.answered.later.push(server.name.clone());
                entry::decide_server(&door.boot, &server, decision)
            }
            Answer::Server(server, None) => {
                door.answered.later.push(server.name);
                Ok(())
            }
            Answer::Summary(how) => {
                door.answered.summary = true;
                if how == Continued::FromSummary {
                    self.prompts.insert(0, "/compact".into());
                }
                Ok(())
            }
            Answer::Declined if door.link.is_none() => return Some(End::Asked),
            Answer::Declined => return self.fail(door, "Not changed: this conversation goes on.".into()),
        };
        if let Err(why) = recorded {
            // An answer that cannot be kept counts for nothing.
            return self.fail(door, format!("The answer could not be recorded: {why}"));
        }
        self.proceed(door).await
    }

    /// The conversation before goes on; without one it is the end.
    fn fail(&mut self, door: &mut Door, why: String) -> Option<End> {
        let Some(before) = door.before.take().filter(|_| door.link.is_some()) else { return Some(End::Failed(why)) };
        door.boot = before;
        self.note(&why);
        None
    }

    fn note(&mut self, why: &str) {
        self.app.note(why, Token::Error);
        self.dirty = true;
    }

    async fn open_session(&mut self, door: &mut Door) -> Option<End> {
        let mut boot = door.boot.clone();
        boot.options.approves_servers = true;
        let link = match engine::open(boot).await {
            Ok(link) => link,
            Err(error) => return self.fail(door, error.message),
        };
        self.outside.connect(link.0.clone());
        self.outside.relocate(&door.boot.cwd);
        let is_move = door.before.take().is_some();
        if let Some((commands, events)) = door.link.replace(link) {
            put_away(commands, events).await;
            if is_move {
                self.app.switched(session_of(&door.boot));
            }
        }
        self.app.initialize();
        let effects: Vec<Effect> = App::update(&mut self.app, Input::Tick);
        Box::pin(self.perform(effects)).await
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
async fn put_away(commands: Commands, mut events: Events) {
    commands.send(Command::Close).await.ok();
    drop(commands);
    tokio::spawn(async move {
        let drained = async { while events.recv().await.is_some() {} };
        tokio::time::timeout(GRACE, drained).await.ok();
    });
}
