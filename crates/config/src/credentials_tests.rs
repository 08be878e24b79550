use super::*;
use crate::project::{ConfigLoader, KeyHelper, SettingsSelection};
use std::path::Path;

struct Home {
    temp: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        Self { temp: tempfile::tempdir().unwrap() }
    }

    fn env(&self, vars: &[(&str, &str)]) -> Env {
        let dir = self.temp.path().to_str().unwrap();
        Env::default().with([("HOME", dir), ("CLAUDE_CONFIG_DIR", dir)]).with(vars.iter().copied())
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.temp.path().join(name), text).unwrap();
    }

    fn resolve(
        &self,
        vars: &[(&str, &str)],
        helper: Option<SettingsSource>,
        options: CredentialOptions,
    ) -> Result<Credential, NoCredential> {
        let env = self.env(vars);
        let selection =
            SettingsSelection { managed_dir: Some(self.temp.path().join("none")), ..SettingsSelection::default() };
        let mut loaded = ConfigLoader::open(self.temp.path(), &env, &selection).unwrap();
        loaded.helper = helper.map(|source| KeyHelper { command: "key".into(), source });
        resolve(&env, &loaded, options)
    }
}

const TOKEN: (&str, &str) = ("ANTHROPIC_AUTH_TOKEN", "t");
const KEY: (&str, &str) = ("ANTHROPIC_API_KEY", "k");
const OAUTH: (&str, &str) = ("CLAUDE_CODE_OAUTH_TOKEN", "o");
const AT_100: CredentialOptions = CredentialOptions { bare: false, now_ms: 100 };
const BARE: CredentialOptions = CredentialOptions { bare: true, now_ms: 100 };
const LOGIN: &str = r#"{"claudeAiOauth": {"accessToken": "l", "expiresAt": 200, "scopes": ["user:inference"]}}"#;

#[test]
fn sources_outrank_each_other_in_the_documented_order() {
    // [CLI-101]
    let home = Home::new();
    home.write(".credentials.json", LOGIN);
    home.write(".claude.json", r#"{"primaryApiKey": "p"}"#);
    let user = Some(SettingsSource::User);
    assert_eq!(home.resolve(&[TOKEN, KEY, OAUTH], user, AT_100), Ok(Credential::AuthToken(CredentialSecret::new("t"))));
    assert_eq!(home.resolve(&[KEY, OAUTH], user, AT_100), Ok(Credential::ApiKey(CredentialSecret::new("k"))));
    let helper = home.resolve(&[OAUTH], user, AT_100).unwrap();
    assert_eq!(helper, Credential::Helper { command: "key".into(), source: SettingsSource::User });
    assert_eq!(home.resolve(&[OAUTH], None, AT_100), Ok(Credential::OauthToken(CredentialSecret::new("o"))));
    let login = home.resolve(&[], None, AT_100).unwrap();
    assert_eq!(login, Credential::Login { access_token: CredentialSecret::new("l"), expires_at: Some(200) });
    std::fs::remove_file(home.temp.path().join(".credentials.json")).unwrap();
    assert_eq!(home.resolve(&[], None, AT_100), Ok(Credential::StoredKey(CredentialSecret::new("p"))));
}

#[test]
fn a_blank_token_counts_and_a_blank_key_does_not() {
    let home = Home::new();
    let blank = home.resolve(&[("ANTHROPIC_AUTH_TOKEN", ""), KEY], None, AT_100);
    assert_eq!(blank, Ok(Credential::AuthToken(CredentialSecret::new(""))));
    assert_eq!(home.resolve(&[("ANTHROPIC_API_KEY", "")], None, AT_100), Err(NoCredential::Missing));
}

#[test]
fn bare_reads_no_login_and_only_explicit_helpers() {
    // [CLI-47]
    let home = Home::new();
    home.write(".claude.json", r#"{"primaryApiKey": "p"}"#);
    assert_eq!(home.resolve(&[OAUTH], Some(SettingsSource::User), BARE), Err(NoCredential::Missing));
    assert!(home.resolve(&[OAUTH], Some(SettingsSource::Flag), BARE).is_ok());
    assert!(home.resolve(&[KEY], None, BARE).is_ok());
}

#[test]
fn expired_and_unusable_logins() {
    let home = Home::new();
    home.write(".credentials.json", &LOGIN.replace("200", "100"));
    assert_eq!(home.resolve(&[], None, AT_100), Err(NoCredential::Expired));
    home.write(".credentials.json", &LOGIN.replace("user:inference", "user:profile"));
    assert_eq!(home.resolve(&[], None, AT_100), Err(NoCredential::Missing));
    home.write(".credentials.json", "not json");
    assert_eq!(home.resolve(&[], None, AT_100), Err(NoCredential::Missing));
}

#[test]
fn secrets_do_not_show() {
    let shown = format!("{:?}", Credential::ApiKey(CredentialSecret::new("sk-very-secret")));
    assert!(!shown.contains("sk-very"), "{shown}");
    assert!(NoCredential::Missing.to_string().contains("gimlet demo"));
}

#[test]
fn a_corrupt_state_file_is_an_empty_one() {
    let home = Home::new();
    home.write(".claude.json", "{");
    let state = GlobalState::read(&home.env(&[]));
    assert!(state.problem.is_some());
    assert!(!state.trusts(Path::new("/x")));
}

#[test]
fn a_stored_key_has_an_end() {
    let home = Home::new();
    crate::credential_store::store_key(&home.env(&[]), "s", Some(200)).unwrap();
    assert_eq!(home.resolve(&[], None, AT_100), Ok(Credential::StoredKey(CredentialSecret::new("s"))));
    let later = CredentialOptions { bare: false, now_ms: 200 };
    assert_eq!(home.resolve(&[], None, later), Err(NoCredential::KeyExpired));
    assert_eq!(home.resolve(&[], None, BARE), Err(NoCredential::Missing));
}

#[test]
fn a_required_login_keeps_other_keys_out() {
    // [CLI-109]
    let home = Home::new();
    std::fs::create_dir(home.temp.path().join("managed")).unwrap();
    home.write("managed/managed-settings.json", r#"{"forceLoginOrgUUID": "u"}"#);
    let env = home.env(&[KEY]);
    let selection =
        SettingsSelection { managed_dir: Some(home.temp.path().join("managed")), ..SettingsSelection::default() };
    let loaded = ConfigLoader::open(home.temp.path(), &env, &selection).unwrap();
    assert_eq!(resolve(&env, &loaded, AT_100), Err(NoCredential::LoginRequired("forceLoginOrgUUID")));
    let without = home.env(&[]);
    assert_eq!(resolve(&without, &loaded, AT_100), Err(NoCredential::Missing));
}
