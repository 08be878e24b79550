//! Requests of the host, one row each.

use super::Control;
use super::greeting::models;
use crate::grants::wanted_mode;
use futures_util::future::BoxFuture;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use wire::control::{Change, ControlResponse, HostRequest, Interrupt};

/// What `system/init` and the reply to `initialize` promise.
pub(crate) const CAPABILITIES: [&str; 2] = ["interrupt_receipt_v1", "interrupt_cancel_queued_v1"];

/// Why a request cannot be met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub error: String,
    /// For programs.
    pub code: Option<&'static str>,
}

impl Refusal {
    pub(crate) fn new(error: impl Into<String>) -> Self {
        Self { error: error.into(), code: None }
    }
}

/// What becomes of a request.
pub(super) enum Said {
    Now(Value),
    /// A finished line.
    Line(String),
    Later(BoxFuture<'static, Result<Value, Refusal>>),
    Refused(Refusal),
}

impl Control {
    pub(super) async fn serve(&mut self, request_id: String, request: &RawValue) {
        let request = match HostRequest::read(request.get()) {
            Ok(request) => request,
            Err(error) => return self.send(refused(&request_id, Refusal::new(error.to_string()))).await,
        };
        if let HostRequest::Interrupt(asked) = request {
            return self.interrupt_for(&request_id, asked).await;
        }
        match self.dispatch(&request_id, request) {
            Said::Now(response) => self.send(success(&request_id, response)).await,
            Said::Line(line) => self.send(line).await,
            Said::Refused(refusal) => self.send(refused(&request_id, refusal)).await,
            Said::Later(work) => {
                let id = request_id.clone();
                self.jobs.start(request_id, async move {
                    match work.await {
                        Ok(response) => success(&id, response),
                        Err(refusal) => refused(&id, refusal),
                    }
                });
            }
        }
    }

    /// The receipt goes out before anything of the turn's end.
    async fn interrupt_for(&mut self, request_id: &str, asked: Interrupt) {
        let cancelled = (asked.cancel_queued == Some(true)).then(|| self.queue.clear());
        let mut response = json!({"still_queued": self.queue.ids()});
        if let Some(cancelled) = cancelled {
            response["cancelled"] = json!(cancelled);
        }
        self.send(success(request_id, response)).await;
        self.interrupt();
    }

    fn dispatch(&mut self, request_id: &str, request: HostRequest) -> Said {
        let Some(front) = &self.front else { return Said::Refused(Refusal::new("There is no host here")) };
        match request {
            HostRequest::Initialize(asked) => match self.greet_again(request_id, *asked) {
                Ok(line) => Said::Line(line),
                Err(refusal) => Said::Refused(refusal),
            },
            HostRequest::SetPermissionMode(asked) => match wanted_mode(&asked.mode, self.modes.bypass) {
                Ok(mode) => {
                    self.modes.chosen.send_replace(Some(mode));
                    self.wishes.mode = true;
                    Said::Now(json!({"mode": mode.as_str()}))
                }
                Err(why) => Said::Refused(Refusal::new(why)),
            },
            HostRequest::SetModel(asked) => {
                let named = asked.model.filter(|name| name != "default");
                self.wishes.model = named.map_or(Change::Reset, Change::Set);
                Said::Now(json!({}))
            }
            HostRequest::StopTask(asked) => {
                if front.reach.agents.stop_for_user(&asked.task_id) {
                    return Said::Now(json!({}));
                }
                Said::Refused(Refusal::new(format!("No task with the id {} is running", asked.task_id)))
            }
            HostRequest::CancelAsyncMessage(asked) => {
                Said::Now(json!({"cancelled": self.queue.remove(&asked.message_uuid)}))
            }
            HostRequest::Mcp(asked) => Said::Later(front.reach.mcp.handle(asked)),
            HostRequest::ListModels => Said::Now(json!({"models": models(front)})),
            HostRequest::GetBinaryVersion => Said::Now(json!({"version": wire::version::COMPAT})),
            HostRequest::SetColor | HostRequest::SetHasSubscribers => Said::Now(json!({})),
            HostRequest::Unknown(subtype) => Said::Line(unsupported(request_id, &subtype)),
            other => Said::Line(unsupported(request_id, &format!("{other:?}"))),
        }
    }
}

pub(super) fn success(request_id: &str, response: Value) -> String {
    wire::raw::to_line(&ControlResponse::success(request_id, response)).unwrap_or_default()
}

fn refused(request_id: &str, refusal: Refusal) -> String {
    let response = match refusal.code {
        Some(code) => ControlResponse::refused_as(request_id, refusal.error, code),
        None => ControlResponse::refused(request_id, refusal.error),
    };
    wire::raw::to_line(&response).unwrap_or_default()
}

fn unsupported(request_id: &str, subtype: &str) -> String {
    wire::raw::to_line(&ControlResponse::unsupported(request_id, subtype)).unwrap_or_default()
}
