//! The shell judge: any text is decided in bounded time, a command that is denied stays denied behind another, and what
//! is beyond the limits is never allowed.

pub(crate) fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let decision = permission::fuzz::command(&text);
    assert!(decision != "allow" || text.chars().count() <= 10_000, "allowed unread");
    permission::fuzz::denied_behind(&text);
}
