//! The end of a resumed conversation, told again to a host that shows conversations. Bounded: what does not fit into the
//! empty queue is left out, oldest first.

use crate::command::Event;
use crate::resume::Restored;
use model::{Role, Turn};
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use wire::sdk::{Message, Past};

/// Turns of the model and of the user that are told.
const TURNS: usize = 60;

pub(super) fn tell(restored: &Restored, stream: &mpsc::Sender<Event>, session_id: &str) {
    let from = restored.history.len().saturating_sub(TURNS);
    for (turn, uuid) in &restored.history[from..] {
        if let Some(message) = message(turn, uuid, session_id) {
            stream.try_send(Event::Message(message)).ok();
        }
    }
}

#[derive(Serialize)]
struct Said<'a> {
    role: &'static str,
    content: Vec<&'a RawValue>,
}

fn message(turn: &Turn, uuid: &str, session_id: &str) -> Option<Message> {
    let content = turn.blocks.iter().map(model::Fragment::raw).collect();
    let message = wire::raw::to_raw(&Said { role: turn.role.name(), content }).ok()?;
    let (session_id, uuid, timestamp) = (session_id.to_owned(), uuid.to_owned(), sys::clock::now_iso());
    let past = Past { message, session_id, uuid, timestamp };
    Some(match turn.role {
        Role::Assistant => past.assistant(),
        Role::User => past.user(),
    })
}
