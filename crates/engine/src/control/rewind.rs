//! Requests to go back, and to summarise a part. Files can be taken back at any time; the conversation only between turns, by the session.

use super::SessionControl;
use super::dispatch::RequestOutcome;
use super::handles::SessionHandles;
use crate::control::HostConnection;
use crate::rewind::RewindPlace;
use serde_json::{Value, json};
use session_parts::command::RequestRefusal;
use session_parts::compaction_policy::PartDirection;
use session_parts::rewind;
use store::checkpoints::{OverwriteChoice, RewindPart, RewindTarget};
use wire::control::{CompactPart, RewindConversation, RewindFiles};

impl SessionControl {
    fn rewind_place(&self, handles: &SessionHandles) -> RewindPlace {
        let own = std::iter::once(handles.cwd.clone());
        let allowed = own.chain(self.view.rules.read().directories.iter().cloned()).collect();
        RewindPlace { transcript: handles.transcript.clone(), env: handles.base_env.clone(), allowed }
    }

    /// `rewind_files`: an unknown message is no error of the request.
    pub(super) fn rewind_files(&self, front: &HostConnection, asked: RewindFiles) -> RequestOutcome {
        let place = self.rewind_place(&front.handles);
        RequestOutcome::Later(Box::pin(async move {
            let replied = place.with_log(move |request, log| {
                let unknown = || format!("There is no checkpoint for message {}", asked.user_message_id);
                let point = log.prompts.iter().find(|point| point.uuid == asked.user_message_id);
                let point = point.filter(|point| point.has_checkpoint).ok_or_else(unknown)?;
                let done = if asked.dry_run == Some(true) {
                    rewind::preview(request, log, RewindTarget::Before(point), rewind::DiffDetail::Counts)
                } else {
                    rewind::apply(request, log, RewindTarget::Before(point), RewindPart::Code, &OverwriteChoice::None)
                };
                done.map(|report| report.sdk_reply()).map_err(|error| error.to_string())
            });
            Ok(replied.await.unwrap_or_else(|error| json!({"canRewind": false, "error": error})))
        }))
    }

    /// `x_rewind_list`
    pub(super) fn rewind_list(&self, front: &HostConnection) -> RequestOutcome {
        let place = self.rewind_place(&front.handles);
        RequestOutcome::Later(Box::pin(async move {
            let listed: Result<Value, String> = place.with_log(|_, log| Ok(rewind::list(log))).await;
            listed.map_err(RequestRefusal::new)
        }))
    }

    /// `x_rewind`
    pub(super) fn rewind(&mut self, request_id: &str, asked: RewindConversation) -> RequestOutcome {
        let Some(part) = crate::rewind::part(&asked) else {
            return RequestOutcome::refused("part must be code, conversation or both");
        };
        let Some(front) = &self.host else { return RequestOutcome::refused("There is no host here") };
        if asked.dry_run == Some(true) {
            let place = self.rewind_place(&front.handles);
            return RequestOutcome::Later(Box::pin(async move {
                let planned = place.with_log(move |request, log| crate::rewind::preview(request, log, &asked, part));
                planned.await.map_err(RequestRefusal::new)
            }));
        }
        if self.running {
            return RequestOutcome::refused("A turn is running. Interrupt it first, then go back.");
        }
        self.changes.rewinds.push((request_id.to_owned(), asked));
        RequestOutcome::Noted
    }

    /// `x_compact_part`
    pub(super) fn compact_part(&mut self, request_id: &str, asked: CompactPart) -> RequestOutcome {
        if PartDirection::parse(&asked.direction).is_none() {
            return RequestOutcome::refused("direction must be from or up_to");
        }
        if self.running {
            return RequestOutcome::refused("A turn is running. Interrupt it first, then summarise.");
        }
        self.parts.push_back((request_id.to_owned(), asked));
        RequestOutcome::Noted
    }
}
