//! Side questions: asked with the current conversation, answered without tools, and not part of it. The request is
//! the conversation's next one with the question as its last message, so that its prefix is read from the prompt
//! cache. History, transcript and a running turn are not affected; the cost is counted.

use crate::control::RequestRefusal;
use crate::prompts;
use crate::session::Session;
use crate::side_requests::SideClient;
use model::{Message, ModelClient, ModelRequest};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

const TAKEN_BACK: &str = "The question was taken back.";

/// A question that is ready to be asked.
pub(crate) struct SideQuestionRequest {
    pub side: Arc<SideClient>,
    pub client: ModelClient,
    pub request: ModelRequest,
}

impl SideQuestionRequest {
    pub(crate) async fn answer(self) -> Result<String, String> {
        self.side.complete(&self.client, &self.request).await
    }

    /// The answer as a reply to the host.
    pub(crate) async fn reply(self) -> Result<Value, RequestRefusal> {
        self.answer().await.map(|answer| json!({ "answer": answer })).map_err(RequestRefusal::new)
    }
}

/// While a turn runs: uses the last request that was sent. `None` when there is none.
pub(crate) fn beside_turn(side: &Arc<SideClient>, question: &str) -> Option<SideQuestionRequest> {
    let (client, sent) = side.last_request()?;
    let mut request = (*sent).clone();
    request.messages.push(Message::user_text(&prompts::side_question(question)));
    Some(SideQuestionRequest { side: Arc::clone(side), client, request })
}

impl Session {
    /// With everything that was said.
    fn side_question(&mut self, client: ModelClient, question: &str) -> Result<SideQuestionRequest, String> {
        if self.is_over_budget() {
            return Err("The budget of this session is used up.".into());
        }
        let request = self.context.summary_request(&prompts::side_question(question), 0);
        let request = request.map_err(|error| error.to_string())?;
        Ok(SideQuestionRequest { side: Arc::clone(&self.io.side), client, request })
    }

    /// Answers a side question of the host between two turns.
    pub(crate) async fn start_side_question(&mut self, request_id: String, question: &str) {
        let Self { control, io, .. } = self;
        let Some(connected) = control.during(io.connect()).await else { return };
        let connected = connected.map_err(|error| error.to_string());
        let asked = connected.and_then(|client| self.side_question(client, question));
        self.control.start_reply(request_id, async move {
            match asked {
                Ok(asked) => asked.reply().await,
                Err(why) => Err(RequestRefusal::new(why)),
            }
        });
    }

    /// Answers a typed side question. `None` when the process must stop.
    pub(crate) async fn typed_side_question(
        &mut self,
        question: &str,
        token: &CancellationToken,
    ) -> Option<Result<String, String>> {
        if question.is_empty() {
            return Some(Err("Which question? Usage: /btw <question>".into()));
        }
        let Some(connected) = self.connect().await else {
            return (!self.control.is_shut_down()).then(|| Err(TAKEN_BACK.to_owned()));
        };
        let connected = connected.map_err(|error| error.to_string());
        let asked = match connected.and_then(|client| self.side_question(client, question)) {
            Ok(asked) => asked,
            Err(why) => return Some(Err(why)),
        };
        let token = token.clone();
        let answered = async move {
            tokio::select! {
                () = token.cancelled() => Err(TAKEN_BACK.to_owned()),
                answer = asked.answer() => answer,
            }
        };
        self.control.during(Box::pin(answered)).await
    }
}
