//! The profile text for `sandbox-exec` on macOS. In that language later lines win, so rules are written from broad to
//! narrow, and protection last. This is text only: it can be built and tested on any system.

use super::{FileConfinement, RuleEffect, SandboxProfile, SandboxRule, UnixSockets};
use std::fmt::Write;
use std::path::Path;

pub const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// The port of the filtering proxy on the loopback interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxProxy {
    Port(u16),
    None,
}

/// Returns the text for `sandbox-exec -p`.
pub fn profile(profile: &SandboxProfile, proxy: SandboxProxy) -> String {
    let mut text = String::from("(version 1)\n(allow default)\n");
    network(&mut text, profile, proxy);
    if let FileConfinement::Confined(rules) = &profile.files {
        files(&mut text, rules);
    }
    for path in &profile.removed_if_made {
        line(&mut text, "deny", "file-write*", path);
    }
    text
}

fn network(text: &mut String, profile: &SandboxProfile, proxy: SandboxProxy) {
    text.push_str("(deny network*)\n(allow network-bind (local ip \"localhost:*\"))\n");
    text.push_str("(allow network-inbound (local ip \"localhost:*\"))\n");
    if let SandboxProxy::Port(port) = proxy {
        writeln!(text, "(allow network-outbound (remote ip \"localhost:{port}\"))").ok();
    }
    match profile.unix_sockets {
        UnixSockets::Allowed => text.push_str("(allow network* (remote unix-socket))\n"),
        UnixSockets::Blocked => {}
    }
    // Other processes are not accessible.
    text.push_str("(deny process-info* (target others))\n(deny signal (target others))\n(deny mach-priv-task-port)\n");
}

fn files(text: &mut String, rules: &[SandboxRule]) {
    text.push_str("(deny file-write*)\n");
    text.push_str("(allow file-write* (literal \"/dev/null\") (literal \"/dev/tty\") (literal \"/dev/zero\"))\n");
    let mut sorted: Vec<&SandboxRule> = rules.iter().collect();
    sorted.sort_by_key(|rule| {
        let denies = matches!(rule.effect, RuleEffect::DenyRead | RuleEffect::DenyWrite | RuleEffect::Protect);
        (rule.effect == RuleEffect::Protect, rule.path.components().count(), denies)
    });
    for rule in sorted {
        match rule.effect {
            RuleEffect::AllowRead => line(text, "allow", "file-read*", &rule.path),
            RuleEffect::DenyRead => line(text, "deny", "file-read*", &rule.path),
            RuleEffect::AllowWrite => line(text, "allow", "file-write*", &rule.path),
            RuleEffect::DenyWrite | RuleEffect::Protect => line(text, "deny", "file-write*", &rule.path),
        }
    }
    // The folder above a protected path must not be renamed together with it.
    for parent in rules.iter().filter(|rule| rule.effect == RuleEffect::Protect).filter_map(|rule| rule.path.parent()) {
        writeln!(text, "(deny file-write-unlink (literal {}))", quoted(parent)).ok();
    }
}

fn line(text: &mut String, verb: &str, what: &str, path: &Path) {
    writeln!(text, "({verb} {what} (subpath {}))", quoted(path)).ok();
}

/// A string literal of the profile language; no character of the path can end it.
fn quoted(path: &Path) -> String {
    let mut out = String::from("\"");
    for c in path.to_string_lossy().chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_rules_and_protection_come_last() {
        let rules = vec![
            SandboxRule::new(RuleEffect::Protect, "/w/.git/hooks"),
            SandboxRule::new(RuleEffect::AllowRead, "/h/.ssh/known_hosts"),
            SandboxRule::new(RuleEffect::AllowWrite, "/w"),
            SandboxRule::new(RuleEffect::AllowWrite, "/w/.git/hooks/x"),
            SandboxRule::new(RuleEffect::DenyRead, "/h/.ssh"),
            SandboxRule::new(RuleEffect::DenyRead, "/h/a\"b"),
        ];
        let profile = SandboxProfile {
            files: FileConfinement::Confined(rules),
            removed_if_made: vec!["/w/.git/commondir".into()],
            own_data: Vec::new(),
            unix_sockets: UnixSockets::Blocked,
            private: "/p".into(),
        };
        let text = super::profile(&profile, SandboxProxy::Port(9));
        let at = |needle: &str| text.find(needle).unwrap_or_else(|| panic!("{needle} is missing from {text}"));
        assert!(at("(deny file-write*)") < at("(allow file-write* (subpath \"/w\"))"));
        assert!(
            at("(deny file-read* (subpath \"/h/.ssh\"))") < at("(allow file-read* (subpath \"/h/.ssh/known_hosts\"))")
        );
        assert!(at("(subpath \"/w/.git/hooks/x\")") < at("(deny file-write* (subpath \"/w/.git/hooks\"))"));
        assert!(
            at("(deny file-write-unlink (literal \"/w/.git\"))") > at("(deny file-write* (subpath \"/w/.git/hooks\"))")
        );
        at("(allow network-outbound (remote ip \"localhost:9\"))");
        at("\"/h/a\\\"b\"");
        assert!(text.starts_with("(version 1)\n") && text.contains("(deny network*)"));
    }
}
