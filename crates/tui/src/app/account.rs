//! Credentials: what is shown and asked when they are missing, stored or removed.

use super::App;
use super::onboarding::Onboarding;
use super::panel::StoredSignIn;
use terminal::theme::ThemeToken;
use wire::control::HostRequest;

/// How the engine names a stored key as a credential source.
const STORED_KEY_SOURCE: &str = "/login managed key";

impl App {
    /// Applies a key stored during a conversation: the next request uses it, unless other credentials take precedence.
    pub(super) fn receive_sign_in(&mut self, outcome: Result<StoredSignIn, String>) {
        let place = match outcome {
            // This session goes on with its endpoint, which must not be sent the key of another one.
            Ok(StoredSignIn { place, has_endpoint: true }) => {
                let text = format!("Key saved in {place}. Start gimlet again to use the endpoint.");
                return self.note(&text, ThemeToken::Success);
            }
            Ok(stored) => stored.place,
            Err(why) => return self.note(&why, ThemeToken::Error),
        };
        self.send_control_request(HostRequest::RenewCredentials);
        let used = match self.session.account.as_str() {
            "none" | "" | STORED_KEY_SOURCE => {
                STORED_KEY_SOURCE.clone_into(&mut self.session.account);
                "It applies from the next request.".to_owned()
            }
            other => format!("This session still uses {other}, which takes precedence."),
        };
        self.note(&format!("Key saved in {place}. {used}"), ThemeToken::Success);
    }

    pub(super) fn receive_sign_out(&mut self, outcome: Result<bool, String>) {
        match outcome {
            Ok(true) => {
                self.send_control_request(HostRequest::RenewCredentials);
                if self.session.account == STORED_KEY_SOURCE {
                    "none".clone_into(&mut self.session.account);
                }
                self.note("Stored key deleted.", ThemeToken::Inactive);
            }
            Ok(false) => self.note("No key is stored.", ThemeToken::Inactive),
            Err(why) => self.note(&why, ThemeToken::Error),
        }
    }

    /// Opens the choice when the engine reports that it has no credentials.
    pub(super) fn receive_account(&mut self, account: &serde_json::Value) {
        let has = |name: &str| account.get(name).is_some_and(|value| !value.is_null());
        if !has("apiKeySource") && !has("tokenSource") && !self.is_busy() {
            self.open_onboarding(Onboarding::default());
        }
    }

    pub(super) fn open_onboarding(&mut self, onboarding: Onboarding) {
        self.close_layer::<Onboarding>();
        self.open_layer(onboarding);
    }
}
