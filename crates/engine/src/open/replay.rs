//! Sends the end of a resumed conversation to a host that shows conversations. Limited to the newest turns, which fit
//! into the empty queue.

use model::{Message, Role};
use serde::Serialize;
use serde_json::value::RawValue;
use session_parts::command::Event;
use session_parts::history::HistoryPart;
use session_parts::resume::RestoredConversation;
use tokio::sync::mpsc;
use wire::block::BlockHead;
use wire::sdk::{PastMessage, SdkMessage, SystemBody, SystemMessage};

/// Maximum number of turns that are sent.
const MAX_TURNS: usize = 60;

pub(super) fn send_history(
    restored: &RestoredConversation,
    stream: &mpsc::Sender<Event>,
    session_id: &str,
    has_boundary: bool,
) {
    let from = first_replayed(&restored.history);
    if from > 0 || has_boundary {
        let body = SystemBody::Informational { content: EARLIER_HINT.into(), level: "info" };
        let frame = SystemMessage { kind: "system", body, session_id: session_id.to_owned(), uuid: sys::id::uuid() };
        stream.try_send(Event::Message(SdkMessage::System(frame))).ok();
    }
    for (turn, _, uuid) in &restored.history[from..] {
        if let Some(message) = message(turn, uuid, session_id) {
            stream.try_send(Event::Message(message)).ok();
        }
    }
}

const EARLIER_HINT: &str = "… earlier: ctrl+o";

/// Starts at a user prompt if there is one among the last turns.
fn first_replayed(history: &[(Message, HistoryPart, String)]) -> usize {
    let from = history.len().saturating_sub(MAX_TURNS);
    if from == 0 {
        return 0;
    }
    let is_prompt = |(turn, ..): &(Message, HistoryPart, String)| {
        turn.role == Role::User
            && turn
                .blocks
                .iter()
                .all(|b| matches!(BlockHead::read(b.raw()), Some(BlockHead::Text(text)) if !text.starts_with('<')))
    };
    from + history[from..].iter().position(is_prompt).unwrap_or(0)
}

#[derive(Serialize)]
struct ReplayedMessage<'a> {
    role: &'static str,
    content: Vec<&'a RawValue>,
}

fn message(turn: &Message, uuid: &str, session_id: &str) -> Option<SdkMessage> {
    let content = turn.blocks.iter().map(model::Fragment::raw).collect();
    let message = wire::raw::to_raw(&ReplayedMessage { role: turn.role.name(), content }).ok()?;
    let (session_id, uuid, timestamp) = (session_id.to_owned(), uuid.to_owned(), sys::clock::now_iso());
    let past = PastMessage { message, session_id, uuid, timestamp };
    Some(match turn.role {
        Role::Assistant => past.assistant(),
        Role::User => past.user(),
    })
}
