//! The end of a resumed conversation, told again to a host that shows conversations. Bounded: what does not fit into the
//! empty queue is left out, oldest first.

use crate::command::Event;
use crate::history::Part;
use crate::resume::Restored;
use model::{Role, Turn};
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use wire::block::BlockHead;
use wire::sdk::{Message, Past, System, SystemBody};

/// Turns of the model and of the user that are told.
const TURNS: usize = 60;

pub(super) fn tell(restored: &Restored, stream: &mpsc::Sender<Event>, session_id: &str, has_boundary: bool) {
    let from = first_told(&restored.history);
    if from > 0 || has_boundary {
        let body = SystemBody::Informational { content: EARLIER.into(), level: "info" };
        let frame = System { kind: "system", body, session_id: session_id.to_owned(), uuid: sys::id::uuid() };
        stream.try_send(Event::Message(Message::System(frame))).ok();
    }
    for (turn, _, uuid) in &restored.history[from..] {
        if let Some(message) = message(turn, uuid, session_id) {
            stream.try_send(Event::Message(message)).ok();
        }
    }
}

const EARLIER: &str = "… earlier: ctrl+o";

/// What is told begins with something a person said, if that is not too far back.
fn first_told(history: &[(Turn, Part, String)]) -> usize {
    let from = history.len().saturating_sub(TURNS);
    if from == 0 {
        return 0;
    }
    let is_prompt = |(turn, ..): &(Turn, Part, String)| {
        turn.role == Role::User
            && turn
                .blocks
                .iter()
                .all(|b| matches!(BlockHead::read(b.raw()), Some(BlockHead::Text(text)) if !text.starts_with('<')))
    };
    from + history[from..].iter().position(is_prompt).unwrap_or(0)
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
