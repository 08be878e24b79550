//! Lists of permission rules: splitting and compiling ends, and no text grants anything but what a rule names.

pub(crate) fn check(bytes: &[u8]) {
    permission::fuzz::rules(&String::from_utf8_lossy(bytes));
}
