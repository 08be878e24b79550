//! The check behind the `inbound` fuzz target: any input line is read without a panic, its content is passed on
//! byte for byte, and an error message never quotes it. Compiled for tests and fuzzing only.

use crate::input::{InputFrame, is_blank, malformed_reply, read_frame};
use wire::control::HostReply;

pub fn check(line: &[u8]) {
    let text = String::from_utf8_lossy(line);
    match read_frame(line) {
        Ok(InputFrame::Prompt(prompt)) => {
            assert!(text.contains(prompt.content.get()), "the prompt is what was sent");
            assert!(!is_blank(&prompt.content));
            compacts(prompt.content.get());
        }
        Ok(InputFrame::Reply(HostReply { outcome: Ok(answer), .. })) => {
            assert!(answer.get() == "{}" || text.contains(answer.get()));
        }
        Ok(InputFrame::Malformed { request_id }) => {
            let reply = malformed_reply(&request_id);
            assert!(reply.is_some_and(|r| !r.contains('\n') && serde_json::from_str::<serde_json::Value>(&r).is_ok()));
        }
        Ok(InputFrame::Request { .. } | InputFrame::Reply(_) | InputFrame::Withdraw { .. } | InputFrame::Nothing) => {}
        Err(bad) => {
            assert_eq!(bad.length, line.trim_ascii().len());
            assert!(bad.to_string().len() < 200, "a complaint has no content in it");
        }
    }
}

/// Checks that the compact form is one line of valid JSON, and that compacting it again changes nothing.
fn compacts(json: &str) {
    let Ok(once) = wire::raw::compact(json) else { panic!("content that was read is JSON") };
    assert!(!once.get().contains(['\n', '\r', '\u{2028}', '\u{2029}']));
    let again = wire::raw::compact(once.get()).map(|raw| raw.get().to_owned());
    assert_eq!(again.ok().as_deref(), Some(once.get()));
}

#[cfg(test)]
#[path = "probe_tests.rs"]
mod tests;
