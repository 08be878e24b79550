//! Side questions: asked with the current conversation, answered without tools, and not part of it. The request is
//! the conversation's next one with the question as its last message, so that its prefix is read from the prompt
//! cache. History, transcript and a running turn are not affected; the cost is counted.

use crate::command::RequestRefusal;
use crate::prompts;
use crate::side_requests::SideClient;
use model::{Message, ModelClient, ModelRequest};
use serde_json::{Value, json};
use std::sync::Arc;

/// A question that is ready to be asked.
pub struct SideQuestionRequest {
    pub side: Arc<SideClient>,
    pub client: ModelClient,
    pub request: ModelRequest,
}

impl SideQuestionRequest {
    pub async fn answer(self) -> Result<String, String> {
        self.side.complete(&self.client, &self.request).await
    }

    /// The answer as a reply to the host.
    pub async fn reply(self) -> Result<Value, RequestRefusal> {
        self.answer().await.map(|answer| json!({ "answer": answer })).map_err(RequestRefusal::new)
    }
}

/// While a turn runs: uses the last request that was sent. `None` when there is none.
pub fn during_turn(side: &Arc<SideClient>, question: &str) -> Option<SideQuestionRequest> {
    let (client, sent) = side.last_request()?;
    let mut request = (*sent).clone();
    request.messages.push(Message::user_text(&prompts::side_question(question)));
    Some(SideQuestionRequest { side: Arc::clone(side), client, request })
}
