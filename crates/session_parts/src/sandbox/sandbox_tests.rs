use super::*;
use config::{ConfigLoader, SettingsSelection};
use std::io::Write;
use sys::sandbox::{RuleEffect, SandboxRule};

struct Home {
    _temp: tempfile::TempDir,
    root: PathBuf,
}

impl Home {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        for dir in ["home/.claude", "home/.ssh", "work/.git/hooks", "scratch"] {
            std::fs::create_dir_all(root.join(dir)).unwrap();
        }
        Self { _temp: temp, root }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn confinement(&self, settings: &str) -> (SessionSandbox, ProjectConfig) {
        let env = Env::default().with([("HOME", self.root.join("home"))]);
        let selection = SettingsSelection {
            settings: Some(settings.into()),
            managed_dir: Some(self.root.join("managed")),
            ..SettingsSelection::default()
        };
        let cwd = self.root.join("work");
        let loaded = ConfigLoader::open(&cwd, &env, &selection).unwrap();
        let grounds = SandboxInputs {
            cwd,
            additional: Vec::new(),
            env: env.clone(),
            base_env: env,
            scratch: self.root.join("scratch"),
        };
        (SessionSandbox::always_on(&loaded, grounds), loaded)
    }

    /// The file rules of the next command, relative to the temporary directory.
    fn rules(&self, settings: &str) -> Vec<(RuleEffect, String)> {
        let (confinement, loaded) = self.confinement(settings);
        let mut lists = confinement.lists.clone();
        lists.add_rules(&loaded.rules, &confinement.roots);
        let confined = paths::file_rules(&lists, &confinement.roots, &self.root.join("scratch/tmp"));
        let shown = |rule: &SandboxRule| {
            (rule.effect, rule.path.strip_prefix(&self.root).unwrap_or(&rule.path).display().to_string())
        };
        confined.rules.iter().map(shown).collect()
    }
}

fn has(rules: &[(RuleEffect, String)], effect: RuleEffect, path: &str) -> bool {
    rules.iter().any(|(e, p)| *e == effect && p == path)
}

#[test]
fn spellings_mean_what_the_settings_say() {
    // [CLI-193] SC-C15
    let home = Home::new();
    home.write("work/deep/.env.local", "");
    home.write("work/deep/a.secret", "");
    let abs = home.root.join("outside").display().to_string();
    let settings = format!(
        r#"{{"sandbox": {{"filesystem": {{"denyRead": ["~/.aws/", "~/.azure/**", "**/*.secret", "{abs}"],
            "allowWrite": ["out/", "/{abs}/w", "gen-*"], "denyWrite": ["vendor/**"]}}}},
            "permissions": {{"deny": ["Read(~/.kube/**)", "Edit(/locked)", "Read(*.pem)"], "allow": ["Edit(~/notes/**)"]}}}}"#
    );
    home.write("work/tls/x.pem", "");
    let rules = home.rules(&settings);
    for (effect, path) in [
        (RuleEffect::DenyRead, "home/.aws"),
        (RuleEffect::DenyRead, "home/.azure"),
        (RuleEffect::DenyRead, "work/deep/a.secret"),
        (RuleEffect::DenyRead, "work/deep/.env.local"),
        (RuleEffect::DenyRead, "outside"),
        (RuleEffect::DenyRead, "home/.kube"),
        (RuleEffect::DenyRead, "home/.ssh"),
        (RuleEffect::DenyRead, "work/tls/x.pem"),
        (RuleEffect::AllowWrite, "work/out"),
        (RuleEffect::AllowWrite, "outside/w"),
        (RuleEffect::AllowWrite, "home/notes"),
        (RuleEffect::DenyWrite, "work/vendor"),
        (RuleEffect::DenyWrite, "work/locked"),
        (RuleEffect::Protect, "work/.git/hooks"),
        (RuleEffect::Protect, "work/.claude/settings.json"),
        (RuleEffect::Protect, "home/.claude"),
    ] {
        assert!(has(&rules, effect, path), "{effect:?} {path} is missing from {rules:#?}");
    }
    assert!(!rules.iter().any(|(_, path)| path.contains('*')), "{rules:?}");
    let (confinement, _) = home.confinement(&settings);
    let warned = confinement.lists.warnings.join("\n");
    assert!(warned.contains("gen-*"), "{warned}");
}

#[test]
fn what_is_opened_is_not_hidden_by_default() {
    // [CLI-192]
    let home = Home::new();
    home.write("work/.env", "");
    home.write("work/.env.example", "");
    home.write("work/certs/test.pem", "");
    let rules = home.rules("{}");
    assert!(has(&rules, RuleEffect::DenyRead, "work/.env"));
    assert!(!rules.iter().any(|(e, p)| *e == RuleEffect::DenyRead && (p.contains("example") || p.contains("certs"))));
    let opened = home.rules(r#"{"sandbox": {"filesystem": {"allowRead": [".env", "~/.ssh"]}}}"#);
    assert!(!opened.iter().any(|(e, _)| *e == RuleEffect::DenyRead), "{opened:?}");
}

#[test]
fn who_runs_where() {
    // [CLI-198] [CLI-199] SC-F07 SC-F08
    let home = Home::new();
    let stands = |settings: &str, command: &str, escaping: bool| {
        let (confinement, _) = home.confinement(settings);
        if confinement.backend().is_none() {
            return "unavailable";
        }
        match confinement.placement(command, escaping) {
            CommandPlacement::Inside => "inside",
            CommandPlacement::Outside(CommandConfinement::Escaping) => "escaping",
            CommandPlacement::Outside(_) => "outside",
        }
    };
    if stands("{}", "ls", false) == "unavailable" {
        std::io::stderr().write_all(b"NOT RUN: no sandbox on this machine\n").unwrap();
        return;
    }
    let docker = r#"{"sandbox": {"excludedCommands": ["docker"]}}"#;
    assert_eq!(stands(docker, "ls", false), "inside");
    assert_eq!(stands(docker, "docker ps; curl x", false), "outside");
    assert_eq!(stands(docker, "ls", true), "escaping");
    let strict = r#"{"sandbox": {"allowUnsandboxedCommands": false}}"#;
    assert_eq!(stands(strict, "ls", true), "inside");
}

#[test]
fn domains_come_from_settings_and_rules() {
    // [CLI-196]
    let home = Home::new();
    let settings = r#"{"sandbox": {"network": {"allowedDomains": ["a.test"], "deniedDomains": ["b.test"]}},
        "permissions": {"allow": ["WebFetch(domain:c.test)"], "deny": ["WebFetch(domain:d.test)"]}}"#;
    let (confinement, loaded) = home.confinement(settings);
    let (allowed, denied) = confinement.domains(&loaded.rules);
    assert_eq!((allowed, denied), (vec!["a.test".into(), "c.test".into()], vec!["b.test".into(), "d.test".to_owned()]));
}

#[test]
fn a_running_session_only_gets_stricter() {
    let home = Home::new();
    let (first, _) = home.confinement(r#"{"sandbox": {"network": {"allowedDomains": ["a.test"]}}}"#);
    let (_, newer) = home.confinement(
        r#"{"sandbox": {"network": {"allowedDomains": ["a.test", "b.test"], "deniedDomains": ["c.test"]}}}"#,
    );
    let (allowed, denied) = first.tightened(&newer).domains(&[]);
    assert_eq!((allowed, denied), (vec!["a.test".to_owned()], vec!["c.test".to_owned()]));
}
