//! Model requests of tools and hooks (page extraction, web search): they use the session's credentials, have no
//! history, and count in the totals. Side questions are sent through the same client.

use crate::ledger::Ledger;
use futures_util::future::BoxFuture;
use model::{
    ClosedBlock, Completion, Fragment, Message, ModelClient, ModelError, ModelRequest, RequestIdentity,
    ResponseProgress, RetryPolicy, RetryVerdict,
};
use std::sync::Arc;
use sys::sync::Mutex;
use tools::contract::SidePurpose;
use tools::{SideModel, SideReply, SideRequest};
use wire::block::BlockHead;
use wire::usage::Usage;

/// How often a failed side request is retried.
const MAX_RETRIES: u32 = 3;

pub struct SideClient {
    shared: Mutex<SideState>,
    identity: Mutex<Arc<RequestIdentity>>,
    small: String,
}

#[derive(Default)]
struct SideState {
    client: Option<ModelClient>,
    main: String,
    usage: Vec<(String, Usage)>,
    /// The last request of the running turn.
    last_request: Option<Arc<ModelRequest>>,
}

impl SideClient {
    pub fn new(identity: Arc<RequestIdentity>, small: String) -> Self {
        Self { shared: Mutex::default(), identity: Mutex::new(identity), small }
    }

    fn shared(&self) -> sys::sync::MutexGuard<'_, SideState> {
        self.shared.lock()
    }

    /// Sends later requests for another conversation.
    pub fn begin_session(&self, identity: Arc<RequestIdentity>) {
        *self.identity.lock() = identity;
    }

    /// Sets the client and main model that the next calls use.
    pub fn set(&self, client: ModelClient, main: &str) {
        let mut shared = self.shared();
        shared.client = Some(client);
        main.clone_into(&mut shared.main);
    }

    /// Records the request that the turn sends now.
    pub fn set_last_request(&self, request: &Arc<ModelRequest>) {
        self.shared().last_request = Some(Arc::clone(request));
    }

    /// Drops the request at the end of the turn.
    pub fn clear_last_request(&self) {
        self.shared().last_request = None;
    }

    /// The client and the last request of the running turn.
    pub fn last_request(&self) -> Option<(ModelClient, Arc<ModelRequest>)> {
        let shared = self.shared();
        Some((shared.client.clone()?, shared.last_request.clone()?))
    }

    /// Sends a complete request; returns the text of the answer.
    pub async fn complete(&self, client: &ModelClient, request: &ModelRequest) -> Result<String, String> {
        let done = complete(client, request).await.map_err(|error| error.to_string())?;
        let answered = if done.assembly.model.is_empty() { request.model.clone() } else { done.assembly.model };
        self.shared().usage.push((answered, done.assembly.usage));
        let text = reply(done.blocks).text.trim().to_owned();
        if text.is_empty() {
            Err("There was no answer; a question on the side cannot use tools.".into())
        } else {
            Ok(text)
        }
    }

    /// Moves the usage of side requests to the ledger.
    pub fn drain_usage(&self, ledger: &mut Ledger) {
        for (model, usage) in std::mem::take(&mut self.shared().usage) {
            ledger.record_side(&model, &usage);
        }
    }

    pub async fn run(&self, request: SideRequest) -> Result<SideReply, String> {
        self.ask_model(None, request).await
    }

    /// Like `ask`, with the model `named`; `None` for the default of the purpose.
    pub async fn ask_model(&self, named: Option<String>, request: SideRequest) -> Result<SideReply, String> {
        let (client, main) = {
            let shared = self.shared();
            (shared.client.clone().ok_or("no model connection is open")?, shared.main.clone())
        };
        let identity = Arc::clone(&self.identity.lock());
        let model = named.unwrap_or_else(|| match request.purpose {
            SidePurpose::Small => self.small.clone(),
            SidePurpose::Main => main,
        });
        let body = ModelRequest {
            system: request.system.iter().map(|s| Fragment::text(s)).collect(),
            tools: request.server_tools.into_iter().map(Fragment::new).collect(),
            messages: vec![Message::user_text(&request.prompt)],
            ..ModelRequest::new(&model, request.max_tokens.into(), identity)
        };
        let completed = tokio::time::timeout(request.timeout, complete(&client, &body)).await;
        let done = completed.map_err(|_| "the model did not answer in time".to_owned())?.map_err(|e| e.to_string())?;
        let answered = if done.assembly.model.is_empty() { model } else { done.assembly.model };
        self.shared().usage.push((answered, done.assembly.usage));
        Ok(reply(done.blocks))
    }
}

/// A side request has no side effects, so a failed one is retried a few times.
async fn complete(client: &ModelClient, request: &ModelRequest) -> Result<Completion, ModelError> {
    let mut policy = RetryPolicy::default();
    policy.max_retries = MAX_RETRIES;
    loop {
        let error = match client.complete(request).await {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        match policy.next(&error, ResponseProgress::Nothing) {
            RetryVerdict::Retry { delay, .. } => tokio::time::sleep(delay).await,
            RetryVerdict::Reissue => {}
            RetryVerdict::KeepCompleted
            | RetryVerdict::Complete
            | RetryVerdict::Compact
            | RetryVerdict::LowerMaxTokens(_)
            | RetryVerdict::Disable(_)
            | RetryVerdict::Reauthenticate
            | RetryVerdict::GiveUp => return Err(error),
        }
    }
}

fn reply(closed: Vec<ClosedBlock>) -> SideReply {
    let texts: Vec<String> = closed
        .iter()
        .filter_map(|c| match BlockHead::read(&c.block)? {
            BlockHead::Text(text) => Some(text.into_owned()),
            _ => None,
        })
        .collect();
    SideReply { text: texts.join("\n"), blocks: closed.into_iter().map(|c| c.block).collect() }
}

impl SideModel for SideClient {
    fn ask(&self, request: SideRequest) -> BoxFuture<'_, Result<SideReply, String>> {
        Box::pin(self.run(request))
    }
}
