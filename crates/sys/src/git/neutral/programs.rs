//! Which keys name programs, and what takes their place.

use super::super::config::GitConfigEntry;
use std::collections::{BTreeMap, BTreeSet};

/// The commands that `git lfs install` writes.
#[rustfmt::skip]
const LFS: [(&str, &str); 5] = [
    ("clean", "git-lfs clean -- %f"),
    ("smudge", "git-lfs smudge -- %f"),
    ("smudge", "git-lfs smudge --skip -- %f"),
    ("process", "git-lfs filter-process"),
    ("process", "git-lfs filter-process --skip"),
];

/// Sections that read-only calls of git use. A name of theirs that sounds like a program and is not known may be one.
const READ_SECTIONS: &[&str] = &[
    "core",
    "diff",
    "filter",
    "gpg",
    "merge",
    "log",
    "status",
    "index",
    "fsmonitor",
    "stash",
    "blame",
    "grep",
    "show",
];
const SOUNDS_LIKE_PROGRAM: &[&str] = &["command", "cmd", "program", "helper", "hook", "exec", "driver", "textconv"];
/// Known names that sound so: always overridden, network only, or no program.
const KNOWN: &[&str] =
    &["hookspath", "fsmonitorhookversion", "gitproxy", "sshcommand", "alternaterefscommand", "defaultkeycommand"];

/// The programs that the files of one repository name.
#[derive(Default)]
pub(super) struct NamedPrograms {
    overrides: BTreeMap<String, String>,
    /// Names of filters, with the keys under each.
    filters: BTreeMap<String, BTreeSet<String>>,
    lfs: LfsFilters,
}

#[derive(Default)]
struct LfsFilters {
    /// Some command is not the one that `git lfs install` writes.
    is_changed: bool,
    /// Programs that git-lfs itself would start.
    starts_programs: bool,
}

impl NamedPrograms {
    /// Notes what an entry names; the error is a key that may name a program in a way that is not known here.
    pub(super) fn add(&mut self, entry: &GitConfigEntry) -> Result<(), String> {
        let subsection = entry.subsection.as_deref();
        let mut set = |key: String, value: &str| {
            self.overrides.insert(key, value.to_owned());
        };
        match (entry.section.as_str(), subsection, entry.name.as_str()) {
            ("filter", Some(name), "clean" | "smudge" | "process") => self.filter(name, entry),
            ("diff", Some(name), "textconv") => {
                set(entry.key(), "cat");
                set(format!("diff.{name}.cachetextconv"), "false");
            }
            ("diff", None, "external") | ("diff", Some(_), "command") | ("merge", Some(_), "driver") => {
                set(entry.key(), "false");
            }
            ("gpg", format, "program") => set(entry.key(), verifier(format)),
            ("gpg", _, "defaultkeycommand") | ("credential", _, "helper") => set(entry.key(), ""),
            ("core", None, "sshcommand") => set(entry.key(), "ssh"),
            ("core", None, "askpass" | "editor" | "alternaterefscommand") | ("sequence", None, "editor") => {
                set(entry.key(), "true");
            }
            ("core", None, "pager") | ("interactive", None, "difffilter") => set(entry.key(), "cat"),
            // The second one only says whether git stores what the program printed.
            ("pager", ..) | ("diff", Some(_), "cachetextconv") => set(entry.key(), "false"),
            ("hook", Some(name), _) => {
                set(format!("hook.{name}.enabled"), "false");
                set(format!("hook.{name}.command"), "true");
            }
            ("lfs", Some(name), _) => self.lfs.starts_programs |= starts_programs(name, &entry.name),
            ("lfs", None, name) => self.lfs.starts_programs |= name.contains("agent"),
            (section, _, name) if READ_SECTIONS.contains(&section) && may_be_program(name) => return Err(entry.key()),
            _ => {}
        }
        Ok(())
    }

    fn filter(&mut self, name: &str, entry: &GitConfigEntry) {
        self.filters.entry(name.to_owned()).or_default().insert(entry.key());
        if name == "lfs" {
            let value = entry.value.as_deref().unwrap_or_default();
            self.lfs.is_changed |= !LFS.contains(&(entry.name.as_str(), value));
        }
    }

    /// Keys and values. `has_lfs` says whether git-lfs is a program of the user's.
    pub(super) fn overrides(self, has_lfs: impl Fn() -> bool) -> BTreeMap<String, String> {
        let Self { mut overrides, filters, lfs } = self;
        for (name, keys) in filters {
            if name == "lfs" && !lfs.is_changed && !lfs.starts_programs && has_lfs() {
                continue;
            }
            overrides.extend(keys.into_iter().map(|key| (key, String::new())));
            // A filter that does nothing has failed, and git gives up when it must not fail.
            overrides.insert(format!("filter.{name}.required"), "false".into());
        }
        overrides
    }
}

/// Keys of extensions and transfer agents.
fn starts_programs(subsection: &str, name: &str) -> bool {
    let subsection = subsection.to_ascii_lowercase();
    subsection.starts_with("extension") || subsection.starts_with("customtransfer") || name.contains("agent")
}

fn may_be_program(name: &str) -> bool {
    !KNOWN.contains(&name) && SOUNDS_LIKE_PROGRAM.iter().any(|part| name.contains(part))
}

/// Git's own choice.
fn verifier(format: Option<&str>) -> &'static str {
    match format {
        None | Some("openpgp") => "gpg",
        Some("x509") => "gpgsm",
        Some("ssh") => "ssh-keygen",
        Some(_) => "false",
    }
}

/// The keys that name programs for signatures, with git's own choice.
pub(super) fn verifiers() -> impl Iterator<Item = (String, &'static str)> {
    let of_format = |format: &str| (format!("gpg.{format}.program"), verifier(Some(format)));
    [("gpg.program".to_owned(), verifier(None))].into_iter().chain(["openpgp", "x509", "ssh"].map(of_format))
}

pub(super) fn is_external_diff(key: &str) -> bool {
    key == "diff.external" || (key.starts_with("diff.") && key.ends_with(".command"))
}
