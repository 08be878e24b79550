//! `gimlet trust`: shows everything a folder would activate, then asks. The default answer is no; a host that would
//! receive credentials is confirmed separately; the approval covers exactly what was shown.

use crate::confirm::confirm;
use config::activation::{ActivationItem, ActivationKind};
use config::trust::{self, ApprovalOrigin};
use config::{ConfigLoader, ProjectConfig, SettingsSelection};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use sys::Env;

const USAGE: &str = "Usage: gimlet trust [PATH] [--yes [--allow-host HOST]...]
       gimlet trust [PATH] --show
       gimlet trust [PATH] --revoke
       gimlet trust --list";

#[derive(Default)]
struct TrustArgs {
    path: Option<PathBuf>,
    list: bool,
    show: bool,
    revoke: bool,
    yes: bool,
    hosts: Vec<String>,
}

/// Returns the text to print and the exit code; an error is ready to print.
pub(crate) fn run(rest: &[OsString], env: &Env) -> Result<(String, u8), String> {
    let asked = parse(rest)?;
    if asked.list {
        return Ok((trust::trusted_folders(env).join("\n"), 0));
    }
    let start =
        sys::launch::cwd(env).map_err(|error| format!("Error: the current directory is not available ({error})"))?;
    let folder = start.join(asked.path.clone().unwrap_or_default());
    let folder = std::fs::canonicalize(&folder).map_err(|error| format!("Error: {}: {error}", folder.display()))?;
    if asked.revoke {
        let had = trust::revoke(&folder, env).map_err(|error| format!("Error: {error}"))?;
        let text = if had { "No longer trusted: " } else { "Was not trusted: " };
        return Ok((format!("{text}{}", folder.display()), u8::from(!had)));
    }
    if env.home().and_then(|home| std::fs::canonicalize(home).ok()) == Some(folder.clone()) {
        return Err("Error: the home directory cannot be trusted permanently; trust the project's own folder".into());
    }
    let loaded =
        ConfigLoader::open(&folder, env, &SettingsSelection::default()).map_err(|error| format!("Error: {error}"))?;
    let items = trust::activations(&folder, &loaded);
    let shown = describe(&folder, &loaded, &items);
    if asked.show {
        return Ok((shown, u8::from(!loaded.trusted || !loaded.waiting.is_empty())));
    }
    if !confirmed(&asked, &shown, &items)? {
        return Ok((format!("Not trusted: {}", folder.display()), 1));
    }
    trust::approve(&folder, env, &items, ApprovalOrigin::Asked).map_err(|error| format!("Error: {error}"))?;
    Ok((format!("Trusted: {}", loaded.trust_key.display()), 0))
}

fn parse(rest: &[OsString]) -> Result<TrustArgs, String> {
    let mut asked = TrustArgs::default();
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--list") => asked.list = true,
            Some("--show") => asked.show = true,
            Some("--revoke") => asked.revoke = true,
            Some("--yes" | "-y") => asked.yes = true,
            Some("--allow-host") => {
                let host = words.next().ok_or(USAGE)?;
                asked.hosts.push(host.to_string_lossy().into_owned());
            }
            Some(flag) if flag.starts_with('-') => return Err(USAGE.into()),
            _ if asked.path.is_none() => asked.path = Some(PathBuf::from(word)),
            _ => return Err(USAGE.into()),
        }
    }
    Ok(asked)
}

fn describe(folder: &Path, loaded: &ProjectConfig, items: &[ActivationItem]) -> String {
    let mut text = format!("{}\n", folder.display());
    if items.is_empty() {
        text.push_str("\nNothing in this folder runs or grants anything by itself.\n");
    }
    let mut kind = None;
    for item in items {
        if kind != Some(item.kind) {
            write!(text, "\n{}:\n", item.kind.title()).ok();
            kind = Some(item.kind);
        }
        let file = item.file.strip_prefix(folder).unwrap_or(&item.file);
        writeln!(text, "  {}    ({})", shown_text(item.kind, &item.text), file.display()).ok();
    }
    if !loaded.trust_changes.is_empty() {
        text.push_str("\nSince you trusted this folder:\n");
        for change in &loaded.trust_changes {
            if let Some(before) = &change.before {
                writeln!(text, "  - {}", shown_text(change.kind, before)).ok();
            }
            writeln!(text, "  + {}", shown_text(change.kind, &change.now)).ok();
        }
    }
    if loaded.trusted && !loaded.waiting.is_empty() {
        text.push_str("\nWaiting until you accept it:\n");
        for waiting in &loaded.waiting {
            if let Some(before) = &waiting.before {
                writeln!(text, "  - {}", shown_text(waiting.item.kind, before)).ok();
            }
            writeln!(text, "  + {}", shown_text(waiting.item.kind, &waiting.item.text)).ok();
        }
    }
    text
}

fn shown_text(kind: ActivationKind, text: &str) -> String {
    printable(&engine::preflight::without_secrets(kind, text))
}

/// Replaces characters with which a repository could change how the question looks.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || is_invisible(c) { '\u{fffd}' } else { c }).collect()
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

fn confirmed(asked: &TrustArgs, shown: &str, items: &[ActivationItem]) -> Result<bool, String> {
    let hosts: Vec<&str> = items.iter().filter_map(|item| item.host.as_deref()).collect();
    if asked.yes {
        let missing: Vec<&&str> = hosts.iter().filter(|host| !asked.hosts.iter().any(|h| h == **host)).collect();
        if let Some(host) = missing.first() {
            return Err(format!(
                "{shown}\nError: your credentials would be sent to {host}. Add --allow-host {host} if that is meant"
            ));
        }
        return Ok(true);
    }
    if !std::io::stdin().is_terminal() {
        return Err(format!("{shown}\nError: no terminal to ask on; check the list and add --yes"));
    }
    print_line(shown);
    if !confirm("\nTrust this folder and everything listed above?") {
        return Ok(false);
    }
    Ok(hosts.iter().all(|host| confirm(&format!("\nSend your requests and credentials to {}?", printable(host)))))
}

fn print_line(text: &str) {
    std::io::stderr().write_all(text.as_bytes()).ok();
}
