//! Reports the hooks that run to the host: as messages when it asked for them, and as a screen event while a hook
//! shows a status message.

use crate::command::{Event, ScreenEvent};
use crate::host::HostSender;
use futures_util::future::BoxFuture;
use hooks::{HookLifecycle, HookProgress, HookReport};
use wire::hooks::HookEventName;
use wire::sdk::SystemBody;

/// Reports hook runs to the host.
#[derive(Clone)]
pub struct HookReporter {
    pub host: HostSender,
    pub(super) all: bool,
}

impl HookReporter {
    pub(super) fn wants(&self, event: HookEventName) -> bool {
        self.all || matches!(event, HookEventName::SessionStart | HookEventName::Setup)
    }

    pub(super) async fn aside(&self, aside: ScreenEvent) {
        self.host.event(Event::Aside(aside)).await;
    }

    pub(super) async fn report(&self, report: &HookReport) {
        self.finished(&report.id, &report.name, report.event, Some(report)).await;
    }

    pub(super) async fn finished(&self, id: &str, name: &str, event: HookEventName, report: Option<&HookReport>) {
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

impl HookProgress for HookReporter {
    fn send_progress(&self, news: HookLifecycle) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            match &news {
                HookLifecycle::Started { id, status_message: Some(text), .. } => {
                    self.aside(ScreenEvent::Doing { id: id.clone(), text: text.clone() }).await;
                }
                HookLifecycle::Finished(report) if report.had_status => {
                    self.aside(ScreenEvent::Done { id: report.id.clone() }).await;
                }
                HookLifecycle::Started { .. } | HookLifecycle::Finished(_) => {}
            }
            match news {
                HookLifecycle::Started { id, name, event, .. } if self.wants(event) => {
                    let body = SystemBody::HookStarted { hook_id: id, hook_name: name, hook_event: event.as_str() };
                    self.host.system(body).await;
                }
                HookLifecycle::Started { .. } => {}
                HookLifecycle::Finished(report) => self.report(&report).await,
            }
        })
    }
}
