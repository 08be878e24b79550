//! Answers a question beside the conversation, between two turns.

use crate::session::LiveSession;
use model::ModelClient;
use session_parts::command::RequestRefusal;
use session_parts::prompts;
use session_parts::side_question::SideQuestionRequest;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

const TAKEN_BACK: &str = "The question was withdrawn.";

impl LiveSession {
    /// With everything that was said.
    fn side_question(&mut self, client: ModelClient, question: &str) -> Result<SideQuestionRequest, String> {
        if let Some(budget) = self.io.output.ledger.budgets().exhausted() {
            return Err(budget.to_string());
        }
        let request = self.context.summary_request(&prompts::side_question(question), 0);
        let request = request.map_err(|error| error.to_string())?;
        Ok(SideQuestionRequest { side: Arc::clone(&self.io.provider.side), client, request })
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
