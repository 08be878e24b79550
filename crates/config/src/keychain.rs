//! The macOS Keychain, through the `security` program of the system. A credential is never passed as an argument, where
//! a process list would show it: it is sent on standard input, as hexadecimal, so that no quoting is needed.

use crate::state::config_home;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;
use sys::Env;
use sys::process::BoundedCommand;

const SERVICE: &str = "Claude Code-credentials";

/// One item of the keychain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeychainItem {
    service: String,
    account: String,
}

impl KeychainItem {
    /// The item of this configuration: each `CLAUDE_CONFIG_DIR` has its own.
    pub(crate) fn of(env: &Env) -> Self {
        let mut service = SERVICE.to_owned();
        if env.non_empty("CLAUDE_CONFIG_DIR").is_some()
            && let Some(home) = config_home(env)
        {
            let digest = Sha256::digest(home.as_os_str().as_bytes());
            service.push('-');
            hex(&digest[..4], &mut service);
        }
        let account = env.non_empty("USER").filter(|name| is_plain(name)).unwrap_or("gimlet").to_owned();
        Self { service, account }
    }

    fn read_args(&self) -> [&str; 6] {
        ["find-generic-password", "-a", &self.account, "-s", &self.service, "-w"]
    }

    /// Commands for the standard input of `security -i`.
    fn write_script(&self, value: &[u8]) -> String {
        let mut script = format!("add-generic-password -U -a \"{}\" -s \"{}\" -X \"", self.account, self.service);
        hex(value, &mut script);
        script.push_str("\"\n");
        script
    }

    /// Returns `None` when there is no such item, or the keychain is locked.
    pub(crate) fn read(&self) -> Option<String> {
        let output = security(&self.read_args(), b"").ok()?;
        decoded(&String::from_utf8(output).ok()?)
    }

    pub(crate) fn write(&self, value: &[u8]) -> std::io::Result<()> {
        security(&["-i"], self.write_script(value).as_bytes()).map(drop)
    }
}

/// Runs `security`. The timeout leaves the user time to unlock the keychain.
fn security(args: &[&str], input: &[u8]) -> std::io::Result<Vec<u8>> {
    let program = Path::new("/usr/bin/security");
    BoundedCommand { program, args, input, env: Vec::new(), time: Duration::from_mins(1), bytes: 1024 * 1024 }.run()
}

fn hex(bytes: &[u8], out: &mut String) {
    for byte in bytes {
        // Writing to a string cannot fail.
        write!(out, "{byte:02x}").ok();
    }
}

fn is_plain(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'@'))
}

/// `security` prints values with unusual bytes as hexadecimal.
fn decoded(printed: &str) -> Option<String> {
    let printed = printed.trim_end_matches('\n');
    if printed.starts_with('{') {
        return Some(printed.to_owned());
    }
    let digits = printed.as_bytes().chunks(2).map(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok());
    String::from_utf8(digits.collect::<Option<Vec<u8>>>()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_on_standard_input_and_not_among_the_arguments() {
        let item = KeychainItem::of(&Env::default().with([("USER", "ann"), ("HOME", "/Users/ann")]));
        assert_eq!(item.read_args(), ["find-generic-password", "-a", "ann", "-s", "Claude Code-credentials", "-w"]);
        let script = item.write_script(b"{\"a\"}");
        assert_eq!(script, "add-generic-password -U -a \"ann\" -s \"Claude Code-credentials\" -X \"7b2261227d\"\n");
    }

    #[test]
    fn configurations_have_items_of_their_own() {
        let item =
            |dir: &str| KeychainItem::of(&Env::default().with([("CLAUDE_CONFIG_DIR", dir), ("USER", "x\" -s \"y")]));
        assert_ne!(item("/a").service, item("/b").service);
        assert!(item("/a").service.starts_with("Claude Code-credentials-"));
        assert_eq!(item("/a").account, "gimlet", "a name that would need quoting is not used");
    }

    #[test]
    fn both_forms_of_an_answer_are_read() {
        assert_eq!(decoded("{\"a\": 1}\n").as_deref(), Some("{\"a\": 1}"));
        assert_eq!(decoded("7b2261227d\n").as_deref(), Some("{\"a\"}"));
        assert_eq!(decoded("zz"), None);
    }
}
