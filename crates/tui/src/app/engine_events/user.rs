//! Messages of the user: results of calls, prompts of a resumed conversation, and texts that were sent with them.

use crate::app::App;
use crate::app::record::build::{RecordChange, of_user};
use crate::app::transcript::RecordOrigin;
use wire::sdk::{SdkMessage, UserMessage};

impl App {
    pub(super) fn user(&mut self, message: Box<UserMessage>) {
        if message.is_replay && self.receive_delivered(&message.uuid) {
            return;
        }
        if message.parent_tool_use_id.is_some() {
            return self.transcript.absorb(&SdkMessage::User(message), &self.session);
        }
        if message.is_replay {
            self.record_resumed(&message.session_id);
        }
        for change in of_user(&message, message.is_replay) {
            match change {
                RecordChange::Add(item) => self.record_item(item, RecordOrigin::default()),
                RecordChange::Begin(call) => self.begin_call(*call, RecordOrigin::default(), None),
                RecordChange::End(result) => self.finish_call(result),
                RecordChange::Interrupt => {
                    self.print_held_calls();
                    let remark = self.transcript.interruption();
                    self.record_item(remark, RecordOrigin::default());
                }
            }
        }
    }
}
