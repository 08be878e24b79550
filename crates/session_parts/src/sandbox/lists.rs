//! The lists of the `sandbox` settings, layer by layer, because relative paths depend on the file, plus what
//! permission rules add.

use super::paths::{SandboxPath, SandboxRoots};
use config::ProjectConfig;
use serde_json::Value;
use tools::facts::FileContact;
use wire::settings::{RuleBehaviour, RuleText, SettingsSource};

#[derive(Clone, Debug, Default)]
pub(super) struct SandboxLists {
    pub(super) allow_write: Vec<SandboxPath>,
    pub(super) deny_write: Vec<SandboxPath>,
    pub(super) deny_read: Vec<SandboxPath>,
    pub(super) allow_read: Vec<SandboxPath>,
    pub(super) allowed_domains: Vec<String>,
    pub(super) denied_domains: Vec<String>,
    /// Variables that commands must not see.
    pub(super) unset: Vec<String>,
    pub(super) warnings: Vec<String>,
    managed_domains_only: bool,
}

impl SandboxLists {
    pub(super) fn read(loaded: &ProjectConfig, roots: &SandboxRoots) -> Self {
        let settings = &loaded.settings.sandbox;
        let managed_domains_only = settings.network.allow_managed_domains_only == Some(true);
        let mut lists = Self { managed_domains_only, ..Self::default() };
        for layer in loaded.layers.iter() {
            let Some(sandbox) = layer.effective.get("sandbox") else { continue };
            let managed = layer.source == SettingsSource::Managed;
            let paths = |key: &str| -> Vec<SandboxPath> {
                let texts = texts(sandbox, "filesystem", key);
                texts.iter().filter_map(|text| roots.resolve_setting(text, &layer.root)).collect()
            };
            lists.grant_writes(paths("allowWrite"));
            lists.deny_write.extend(paths("denyWrite"));
            lists.deny_read.extend(paths("denyRead"));
            if managed || settings.filesystem.allow_managed_read_paths_only != Some(true) {
                lists.allow_read.extend(paths("allowRead"));
            }
            if managed || !managed_domains_only {
                lists.allowed_domains.extend(texts(sandbox, "network", "allowedDomains"));
            }
            lists.denied_domains.extend(texts(sandbox, "network", "deniedDomains"));
            lists.credentials(sandbox, |text| roots.resolve_setting(text, &layer.root));
        }
        lists
    }

    fn grant_writes(&mut self, paths: Vec<SandboxPath>) {
        for path in paths {
            match &path {
                SandboxPath::Glob { text, .. } if cfg!(target_os = "linux") => {
                    self.warnings
                        .push(format!("sandbox.filesystem.allowWrite: {text} is ignored: no wildcards on Linux"));
                }
                SandboxPath::Glob { .. } | SandboxPath::Path(_) => self.allow_write.push(path),
            }
        }
    }

    /// `mask` would require opening TLS connections; until that exists, such values are hidden.
    fn credentials(&mut self, sandbox: &Value, resolve: impl Fn(&str) -> Option<SandboxPath>) {
        let entries = |key: &str| {
            let list = sandbox.get("credentials").and_then(|c| c.get(key)).and_then(Value::as_array);
            list.cloned().unwrap_or_default()
        };
        let text = |entry: &Value, key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
        for entry in entries("files") {
            let Some(path) = text(&entry, "path") else { continue };
            self.warn_unsupported_mask(&entry, &path);
            self.deny_read.extend(resolve(&path));
        }
        for entry in entries("envVars") {
            let Some(name) = text(&entry, "name") else { continue };
            self.warn_unsupported_mask(&entry, &name);
            self.unset.push(name);
        }
    }

    fn warn_unsupported_mask(&mut self, entry: &Value, what: &str) {
        if entry.get("mode").and_then(Value::as_str) == Some("mask") {
            self.warnings.push(format!("sandbox.credentials: {what} is denied: masking is not available yet"));
        }
    }

    /// Adds path and domain rules, which apply to the sandbox too.
    pub(super) fn add_rules(&mut self, rules: &[RuleText], roots: &SandboxRoots) {
        for rule in rules {
            let Some((name, spec)) = rule.text.strip_suffix(')').and_then(|text| text.split_once('(')) else {
                continue;
            };
            let resolve = || roots.resolve_rule(spec, &rule.root, rule.behaviour);
            let tool = wire::names::canonical(name);
            let contact = tools::builtin::facts_of(tool).and_then(|facts| facts.file).map(|file| file.contact);
            match (contact, rule.behaviour) {
                (Some(FileContact::Read), RuleBehaviour::Deny) => self.deny_read.extend(resolve()),
                (Some(FileContact::Read), RuleBehaviour::Allow) => {
                    // The sandbox may read everything by default; this only exempts the path from being hidden.
                    self.allow_read.extend(resolve().filter(|path| matches!(path, SandboxPath::Path(_))));
                }
                (Some(FileContact::Write), RuleBehaviour::Allow) => {
                    self.allow_write.extend(resolve().filter(|path| matches!(path, SandboxPath::Path(_))));
                }
                (Some(FileContact::Write), RuleBehaviour::Deny) => self.deny_write.extend(resolve()),
                (None, behaviour) if tool == tools::web_fetch::NAME => self.add_domain(spec, behaviour, rule.source),
                _ => {}
            }
        }
    }

    fn add_domain(&mut self, spec: &str, behaviour: RuleBehaviour, source: SettingsSource) {
        let Some(domain) = spec.strip_prefix("domain:").map(|domain| domain.trim().to_owned()) else { return };
        match behaviour {
            RuleBehaviour::Deny => self.denied_domains.push(domain),
            RuleBehaviour::Allow if !self.managed_domains_only || source == SettingsSource::Managed => {
                self.allowed_domains.push(domain);
            }
            RuleBehaviour::Allow | RuleBehaviour::Ask => {}
        }
    }

    /// Adds the denials of `newer` and removes grants that it no longer contains.
    pub(super) fn tighten(&mut self, newer: Self) {
        self.allow_write.retain(|path| newer.allow_write.contains(path));
        self.allow_read.retain(|path| newer.allow_read.contains(path));
        self.allowed_domains.retain(|domain| newer.allowed_domains.contains(domain));
        self.deny_write.extend(newer.deny_write);
        self.deny_read.extend(newer.deny_read);
        self.denied_domains.extend(newer.denied_domains);
        self.unset.extend(newer.unset);
        self.managed_domains_only |= newer.managed_domains_only;
    }
}

fn texts(sandbox: &Value, block: &str, key: &str) -> Vec<String> {
    let list = sandbox.get(block).and_then(|block| block.get(key)).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
