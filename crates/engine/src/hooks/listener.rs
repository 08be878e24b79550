//! Tells the host of the hooks that run: as lines where it asked for them, and beside the conversation while one shows a
//! message of its own.

use crate::command::{Aside, Event};
use crate::host::Host;
use futures_util::future::BoxFuture;
use hooks::{Lifecycle, Progress, Report};
use wire::hooks::EventName;
use wire::sdk::SystemBody;

/// Tells the host of every run it wants to hear of.
#[derive(Clone)]
pub(super) struct Listener {
    pub(super) host: Host,
    pub(super) all: bool,
}

impl Listener {
    pub(super) fn wants(&self, event: EventName) -> bool {
        self.all || matches!(event, EventName::SessionStart | EventName::Setup)
    }

    pub(super) async fn aside(&self, aside: Aside) {
        self.host.event(Event::Aside(aside)).await;
    }

    pub(super) async fn report(&self, report: &Report) {
        self.finished(&report.id, &report.name, report.event, Some(report)).await;
    }

    pub(super) async fn finished(&self, id: &str, name: &str, event: EventName, report: Option<&Report>) {
        if !self.wants(event) {
            return;
        }
        let (stdout, stderr) = report.map(|r| (r.stdout.clone(), r.stderr.clone())).unwrap_or_default();
        let body = SystemBody::HookResponse {
            hook_id: id.to_owned(),
            hook_name: name.to_owned(),
            hook_event: event.as_str(),
            output: format!("{stdout}{stderr}"),
            stdout,
            stderr,
            exit_code: report.and_then(|r| r.exit_code),
            outcome: report.map_or("cancelled", |r| r.outcome.as_str()),
        };
        self.host.system(body).await;
    }
}

impl Progress for Listener {
    fn tell(&self, news: Lifecycle) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            match &news {
                Lifecycle::Started { id, status_message: Some(text), .. } => {
                    self.aside(Aside::Doing { id: id.clone(), text: text.clone() }).await;
                }
                Lifecycle::Finished(report) if report.had_status => {
                    self.aside(Aside::Done { id: report.id.clone() }).await;
                }
                Lifecycle::Started { .. } | Lifecycle::Finished(_) => {}
            }
            match news {
                Lifecycle::Started { id, name, event, .. } if self.wants(event) => {
                    let body = SystemBody::HookStarted { hook_id: id, hook_name: name, hook_event: event.as_str() };
                    self.host.system(body).await;
                }
                Lifecycle::Started { .. } => {}
                Lifecycle::Finished(report) => self.report(&report).await,
            }
        })
    }
}
