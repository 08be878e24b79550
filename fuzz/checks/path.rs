//! Path rules: matching ends, and nothing outside is read without a rule. The input is the rule, then the path, with 0xFF
//! between them.

pub(crate) fn check(bytes: &[u8]) {
    let mut parts = bytes.splitn(2, |b| *b == 0xff).map(|part| String::from_utf8_lossy(part).into_owned());
    let (rule, path) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    permission::fuzz::path(&rule, &path);
    assert!(!permission::fuzz::path_without_rules(&format!("../{path}/../../x")), "read outside: {path:?}");
}
