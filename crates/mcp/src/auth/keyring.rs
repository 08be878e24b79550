//! Headers for the connections of a session: the output of the helper, and the token of a sign-in, which is
//! refreshed before it expires or when the server refuses it. One process refreshes, the others use the token it
//! stored; a refresh that fails temporarily removes nothing. This module never opens a browser.

use super::AuthError;
use super::challenge::AuthChallenge;
use super::client::OauthClient;
use super::exchange::{AuthAnswer, origin, parse};
use super::helper::{self, HelperPlace};
use super::login::IssuedTokens;
use super::stored::{TokenEntry, TokenVault, identity};
use crate::{HeaderOccasion, Headers};
use http::Http;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use sys::Env;
use sys::sync::Mutex;
use wire::mcp::RemoteConfig;

/// Milliseconds before its expiry at which a token is refreshed.
const REFRESH_EARLY_MS: u64 = 60_000;

pub struct Keyring {
    http: Http,
    env: Env,
    vault: Arc<dyn TokenVault>,
    /// The last token sent to each server, to recognise whether a refused token is already replaced.
    given: Mutex<BTreeMap<String, String>>,
}

/// The result of a refresh.
enum RefreshResult {
    Token(Box<TokenEntry>),
    /// The authorization server issues no more tokens for this sign-in.
    Ended,
    Later(AuthError),
}

pub(super) fn has_authorization(remote: &RemoteConfig) -> bool {
    remote.headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"))
}

impl Keyring {
    /// `env` is the session's environment, for proxies and helpers.
    pub fn new(http: Http, env: Env, vault: Arc<dyn TokenVault>) -> Self {
        Self { http, env, vault, given: Mutex::default() }
    }

    /// Headers in addition to the configured ones. `None` after a refusal: there is nothing else to try.
    pub async fn headers(
        &self,
        server: &str,
        remote: &RemoteConfig,
        place: &HelperPlace,
        occasion: &HeaderOccasion,
    ) -> Result<Option<Headers>, String> {
        let mut headers = match &remote.headers_helper {
            Some(command) => helper::run(command, (server, &remote.url), &self.env, place).await?,
            None => Headers::new(),
        };
        let own =
            has_authorization(remote) || headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        let token = if own { None } else { self.token(server, remote, occasion).await? };
        let refused = *occasion != HeaderOccasion::Connect;
        if refused && token.is_none() && remote.headers_helper.is_none() {
            return Ok(None);
        }
        headers.extend(token.map(|token| ("authorization".to_owned(), format!("Bearer {token}"))));
        Ok(Some(headers))
    }

    async fn token(
        &self,
        server: &str,
        remote: &RemoteConfig,
        occasion: &HeaderOccasion,
    ) -> Result<Option<String>, String> {
        let key = identity(server, remote);
        let Some(entry) = self.read(&key).await else { return Ok(None) };
        let Some(token) = entry.access_token.clone() else { return Ok(None) };
        let given = self.last_token(server);
        let fresh = match occasion {
            HeaderOccasion::Connect => entry.expires_at.is_none_or(|at| at > sys::clock::now_ms() + REFRESH_EARLY_MS),
            // Another process has signed in or refreshed meanwhile.
            HeaderOccasion::Refused { status: 401, .. } => given.as_ref() != Some(&token),
            HeaderOccasion::Refused { challenge, .. } => {
                self.record_scope(&key, entry, challenge.as_deref()).await;
                return Ok(None);
            }
        };
        if fresh {
            return Ok(Some(self.remember_token(server, token)));
        }
        match self.refresh(&key, &token).await {
            RefreshResult::Token(entry) => Ok(entry.access_token.map(|token| self.remember_token(server, token))),
            RefreshResult::Ended => Ok(None),
            // The old token has not expired yet, so it is used.
            RefreshResult::Later(_) if *occasion == HeaderOccasion::Connect && has_live_token(&entry) => {
                Ok(Some(self.remember_token(server, token)))
            }
            RefreshResult::Later(error) => Err(format!("the token could not be refreshed: {error}")),
        }
    }

    fn last_token(&self, server: &str) -> Option<String> {
        self.given.lock().get(server).cloned()
    }

    fn remember_token(&self, server: &str, token: String) -> String {
        self.given.lock().insert(server.to_owned(), token.clone());
        token
    }

    async fn read(&self, key: &str) -> Option<TokenEntry> {
        let (vault, key) = (Arc::clone(&self.vault), key.to_owned());
        tokio::task::spawn_blocking(move || TokenEntry::read(&*vault, &key)).await.ok().flatten()
    }

    /// Stores the scope a server asked for beyond the granted one, for the next sign-in.
    async fn record_scope(&self, key: &str, mut entry: TokenEntry, challenge: Option<&str>) {
        let challenge = challenge.map(AuthChallenge::parse).unwrap_or_default();
        let Some(scope) = challenge.scope.clone().filter(|_| challenge.wants_more_scope()) else { return };
        if entry.wanted_scope.as_ref() == Some(&scope) {
            return;
        }
        entry.wanted_scope = Some(scope);
        let (vault, key) = (Arc::clone(&self.vault), key.to_owned());
        let written = tokio::task::spawn_blocking(move || entry.write(&*vault, &key)).await;
        if !matches!(written, Ok(Ok(()))) {
            tracing::debug!("the wanted scope could not be stored");
        }
    }

    /// Gets a token that differs from `stale`.
    async fn refresh(&self, key: &str, stale: &str) -> RefreshResult {
        let (vault, name) = (Arc::clone(&self.vault), key.to_owned());
        let locked = tokio::task::spawn_blocking(move || vault.lock(&name)).await;
        let lock = match locked.map_err(std::io::Error::other).and_then(|lock| lock) {
            Ok(lock) => lock,
            Err(error) => return RefreshResult::Later(error.into()),
        };
        // Another process may have refreshed the token already.
        let Some(entry) = self.read(key).await else { return RefreshResult::Ended };
        if entry.access_token.as_deref().is_some_and(|token| token != stale) {
            return RefreshResult::Token(Box::new(entry));
        }
        let refreshed = self.exchange(&entry).await;
        let result = match refreshed {
            RefreshResult::Token(entry) => match self.store(key, Some(&entry)).await {
                Ok(()) => RefreshResult::Token(entry),
                Err(error) => RefreshResult::Later(error),
            },
            RefreshResult::Ended => {
                self.end(key, &entry).await;
                RefreshResult::Ended
            }
            later @ RefreshResult::Later(_) => later,
        };
        drop(lock);
        result
    }

    /// Removes the ended sign-in; a client secret that the user configured stays.
    async fn end(&self, key: &str, used: &TokenEntry) {
        // A program that does not use our lock may have signed in meanwhile.
        let unchanged = self.read(key).await.is_some_and(|now| now.refresh_token == used.refresh_token);
        if unchanged && let Err(error) = self.store(key, used.signed_out().as_ref()).await {
            tracing::debug!("the ended sign-in could not be removed: {error}");
        }
    }

    async fn store(&self, key: &str, entry: Option<&TokenEntry>) -> Result<(), AuthError> {
        let (vault, key, entry) = (Arc::clone(&self.vault), key.to_owned(), entry.cloned());
        let written = tokio::task::spawn_blocking(move || match entry {
            Some(entry) => entry.write(&*vault, &key),
            None => vault.write(&key, None),
        });
        written.await.map_err(std::io::Error::other)??;
        Ok(())
    }

    async fn exchange(&self, entry: &TokenEntry) -> RefreshResult {
        let Some(refresh) = entry.refresh_token.as_deref() else { return RefreshResult::Ended };
        let (Some(client), Some(endpoint)) = (OauthClient::from_entry(entry), entry.token_endpoint.as_deref()) else {
            return RefreshResult::Ended;
        };
        let Ok(endpoint) = parse(endpoint) else { return RefreshResult::Ended };
        let mut fields = vec![("grant_type", "refresh_token"), ("refresh_token", refresh)];
        fields.extend(entry.resource.as_deref().map(|resource| ("resource", resource)));
        let answer = match client.token(&self.http, &endpoint, &fields).await {
            Ok(answer) => answer,
            Err(error) => return RefreshResult::Later(error),
        };
        if is_final(&answer) {
            return RefreshResult::Ended;
        }
        match IssuedTokens::read(&answer, format!("the token endpoint at {}", origin(&endpoint))) {
            Ok(tokens) => RefreshResult::Token(Box::new(tokens.into_entry(entry.clone()))),
            Err(error) => RefreshResult::Later(error),
        }
    }
}

fn has_live_token(entry: &TokenEntry) -> bool {
    entry.expires_at.is_none_or(|at| at > sys::clock::now_ms())
}

/// Whether the refusal is final, so that another try cannot succeed.
fn is_final(answer: &AuthAnswer) -> bool {
    let error = answer.body.get("error").and_then(Value::as_str).unwrap_or_default();
    (400..500).contains(&answer.status)
        && matches!(error, "invalid_grant" | "invalid_client" | "unauthorized_client" | "unsupported_grant_type")
}

#[cfg(test)]
#[path = "keyring_tests.rs"]
mod tests;
