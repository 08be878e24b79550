//! Signs a person in: determines what the server requires, sends the person to the authorization server, waits for
//! the answer, exchanges it, and checks that the token works. A server that keeps asking for more scopes is given
//! up after three rounds, or at once when it asks only for scopes that were already requested.

use super::challenge::AuthChallenge;
use super::client::{ClientAuthMethod, ConfiguredClient, OauthClient};
use super::discovery::{DiscoveredAuth, DiscoverySubject, discover};
use super::exchange::{AuthAnswer, origin, parse};
use super::probe::{AuthProbe, ProbeFinding};
use super::redirect::{AuthorizationCode, RedirectListener, pasted};
use super::stored::{TokenEntry, TokenVault, identity};
use super::{AuthError, keyring};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::Http;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::time::Duration;
use sys::Env;
use tokio::sync::mpsc;
use url::Url;
use wire::mcp::RemoteConfig;

const MAX_ROUNDS: usize = 3;
const LOGIN_TIMEOUT: Duration = Duration::from_mins(5);

/// A sign-in to one server.
pub struct McpLogin<'a> {
    pub http: &'a Http,
    pub env: &'a Env,
    pub vault: Arc<dyn TokenVault>,
    pub name: &'a str,
    pub remote: &'a RemoteConfig,
    /// Headers in addition to the configured ones, without a token.
    pub headers: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginOutcome {
    SignedIn,
    /// The server answers without a sign-in, or with the stored one.
    NotNeeded,
}

/// The data of one round that later steps need.
struct LoginRound {
    found: DiscoveredAuth,
    client: OauthClient,
    redirect: RedirectListener,
    scopes: Vec<String>,
    verifier: String,
    state: String,
}

impl McpLogin<'_> {
    /// Runs the sign-in. `show` is called with each address the person must visit; `typed` delivers addresses they
    /// paste.
    pub async fn run(
        &self,
        mut show: impl FnMut(&str),
        typed: &mut mpsc::Receiver<String>,
    ) -> Result<LoginOutcome, AuthError> {
        if keyring::has_authorization(self.remote) {
            return Err(AuthError::StaticHeader);
        }
        let key = identity(self.name, self.remote);
        let mut entry = self.read(&key).await;
        // When more scope is wanted, the probe is sent without the token: with it, the server would not report a
        // missing scope.
        let more = wanted(&mut entry);
        let mut finding = self.ask(more.is_empty().then_some(&entry)).await?;
        if more.is_empty() && matches!(finding, ProbeFinding::Open) {
            return Ok(LoginOutcome::NotNeeded);
        }
        let mut asked: Option<Vec<String>> = None;
        for _ in 0..MAX_ROUNDS {
            let challenge = self.challenge(finding, asked.as_deref())?;
            let before: Vec<String> = asked.into_iter().flatten().chain(more.clone()).collect();
            let round = self.prepare(&challenge, &entry, &before).await?;
            asked = Some(round.scopes.clone());
            entry = self.visit(round, entry, &mut show, typed).await?;
            self.write(&key, &entry).await?;
            finding = self.ask(Some(&entry)).await?;
            if matches!(finding, ProbeFinding::Open) {
                return Ok(LoginOutcome::SignedIn);
            }
        }
        match finding {
            ProbeFinding::Open => Ok(LoginOutcome::SignedIn),
            ProbeFinding::Other(status) | ProbeFinding::Refused { status, .. } => Err(AuthError::StillRefused(status)),
        }
    }

    /// The challenge for the next round, or an error when another round cannot help.
    fn challenge(&self, finding: ProbeFinding, asked: Option<&[String]>) -> Result<AuthChallenge, AuthError> {
        match (finding, asked) {
            (ProbeFinding::Open, _) => Ok(AuthChallenge::default()),
            (ProbeFinding::Other(status), None) => {
                let what = parse(&self.remote.url).map_or_else(|_| self.name.to_owned(), |url| origin(&url));
                Err(AuthError::Answered { what, status, detail: String::new() })
            }
            (ProbeFinding::Refused { challenge, .. }, None) => Ok(challenge),
            (ProbeFinding::Other(status), Some(_)) => Err(AuthError::StillRefused(status)),
            (ProbeFinding::Refused { status, challenge }, Some(asked)) => {
                check_progress(status, &challenge, asked)?;
                Ok(challenge)
            }
        }
    }

    async fn read(&self, key: &str) -> TokenEntry {
        let (vault, key) = (Arc::clone(&self.vault), key.to_owned());
        let read = tokio::task::spawn_blocking(move || TokenEntry::read(&*vault, &key)).await;
        read.ok().flatten().unwrap_or_default()
    }

    async fn write(&self, key: &str, entry: &TokenEntry) -> Result<(), AuthError> {
        let (vault, key, entry) = (Arc::clone(&self.vault), key.to_owned(), entry.clone());
        let written = tokio::task::spawn_blocking(move || entry.write(&*vault, &key)).await;
        written.map_err(std::io::Error::other)??;
        Ok(())
    }

    async fn ask(&self, entry: Option<&TokenEntry>) -> Result<ProbeFinding, AuthError> {
        let mut headers = self.headers.clone();
        let token = entry.and_then(|entry| entry.access_token.as_ref());
        headers.extend(token.map(|token| ("authorization".to_owned(), format!("Bearer {token}"))));
        AuthProbe { http: self.http, url: &self.remote.url, headers }.run().await
    }

    async fn prepare(
        &self,
        challenge: &AuthChallenge,
        entry: &TokenEntry,
        before: &[String],
    ) -> Result<LoginRound, AuthError> {
        let oauth = self.remote.oauth.clone().unwrap_or_default();
        let server = parse(&self.remote.url)?;
        let metadata_url = oauth.auth_server_metadata_url.as_deref();
        let found = discover(self.http, &DiscoverySubject { server: &server, challenge, metadata_url }).await?;
        let scopes = scopes(&oauth.scopes, challenge, &found, before);
        let fixed = oauth.callback_port.or_else(|| self.env.number("MCP_OAUTH_CALLBACK_PORT"));
        let redirect = self.listen(fixed, entry.redirect_port).await?;
        let configured = ConfiguredClient {
            client_id: oauth.client_id.as_deref(),
            client_secret: entry.own_client_secret.as_deref(),
            document: self.env.non_empty("GIMLET_MCP_CLIENT_METADATA_URL"),
        };
        let known = OauthClient::from_entry(entry).filter(|_| {
            configured.client_id.is_none()
                && entry.redirect_port == Some(redirect.port)
                && entry.token_endpoint.as_deref() == Some(found.server.token.as_str())
                && entry.issuer == found.server.issuer
        });
        let client = match known {
            Some(client) => client,
            None => OauthClient::obtain(self.http, &found, &configured, &redirect.address()).await?,
        };
        // Hex digits of 366 random bits: within the characters and lengths of RFC 7636.
        let verifier: String = (0..3).map(|_| sys::id::uuid().replace('-', "")).collect();
        Ok(LoginRound { found, client, redirect, scopes, verifier, state: sys::id::uuid() })
    }

    /// Listens on the port of the last sign-in, so that its registration can be used again, or on another one when
    /// it is taken.
    async fn listen(&self, fixed: Option<u16>, last: Option<u16>) -> Result<RedirectListener, AuthError> {
        if fixed.is_some() {
            return RedirectListener::open(fixed).await;
        }
        match RedirectListener::open(last).await {
            Ok(redirect) => Ok(redirect),
            Err(_) => RedirectListener::open(None).await,
        }
    }

    async fn visit(
        &self,
        round: LoginRound,
        entry: TokenEntry,
        show: &mut impl FnMut(&str),
        typed: &mut mpsc::Receiver<String>,
    ) -> Result<TokenEntry, AuthError> {
        show(round.address().as_str());
        let answer = tokio::time::timeout(LOGIN_TIMEOUT, round.answer(typed)).await;
        let code = answer.map_err(|_| AuthError::TimedOut(LOGIN_TIMEOUT))??;
        round.check_issuer(&code)?;
        let redirect = round.redirect.address();
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", &code.code),
            ("redirect_uri", &redirect),
            ("code_verifier", &round.verifier),
            ("resource", &round.found.resource),
        ];
        let answer = round.client.token(self.http, &round.found.server.token, &fields).await?;
        let what = format!("the token endpoint at {}", origin(&round.found.server.token));
        let tokens = IssuedTokens::read(&answer, what)?;
        Ok(tokens.into_entry(round.entry(self.name, self.remote, entry)))
    }
}

/// Fails when the server asks only for scopes that were already requested; the rounds would never end.
fn check_progress(status: u16, challenge: &AuthChallenge, asked: &[String]) -> Result<(), AuthError> {
    let wanted = challenge.scopes();
    if status != 403 || !challenge.wants_more_scope() {
        return Err(AuthError::StillRefused(status));
    }
    let new = wanted.iter().any(|scope| !asked.contains(scope));
    if new { Ok(()) } else { Err(AuthError::StepUp(wanted.join(" "))) }
}

/// The scopes the server asked for since the last sign-in, together with the granted ones; empty when it asked for
/// none.
fn wanted(entry: &mut TokenEntry) -> Vec<String> {
    let Some(wanted) = entry.wanted_scope.take() else { return Vec::new() };
    let all = entry.scope.iter().flat_map(|scope| scope.split_whitespace()).chain(wanted.split_whitespace());
    all.map(str::to_owned).collect()
}

/// The scopes to request: the user's choice, else those of the challenge, else those of the metadata; then those
/// requested before.
fn scopes(chosen: &[String], challenge: &AuthChallenge, found: &DiscoveredAuth, before: &[String]) -> Vec<String> {
    let mut scopes = if !chosen.is_empty() {
        chosen.to_vec()
    } else if challenge.scope.is_some() {
        challenge.scopes()
    } else {
        found.scopes.clone()
    };
    for scope in before {
        if !scopes.contains(scope) {
            scopes.push(scope.clone());
        }
    }
    let offline = "offline_access".to_owned();
    // Requested alone, it would exclude all other scopes; no scope means the default of the server.
    if !scopes.is_empty() && found.server.scopes.contains(&offline) && !scopes.contains(&offline) {
        scopes.push(offline);
    }
    scopes
}

impl LoginRound {
    fn address(&self) -> Url {
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(self.verifier.as_bytes()));
        let mut url = self.found.server.authorization.clone();
        {
            let mut query = url.query_pairs_mut();
            query
                .append_pair("response_type", "code")
                .append_pair("client_id", &self.client.id)
                .append_pair("redirect_uri", &self.redirect.address())
                .append_pair("state", &self.state)
                .append_pair("code_challenge", &challenge)
                .append_pair("code_challenge_method", "S256")
                .append_pair("resource", &self.found.resource);
            if !self.scopes.is_empty() {
                query.append_pair("scope", &self.scopes.join(" "));
            }
            if self.scopes.iter().any(|scope| scope == "offline_access") {
                query.append_pair("prompt", "consent");
            }
        }
        url
    }

    /// The code from the browser's redirect or from the pasted address, whichever comes first.
    async fn answer(&self, typed: &mut mpsc::Receiver<String>) -> Result<AuthorizationCode, AuthError> {
        let wait = self.redirect.wait(&self.state);
        tokio::pin!(wait);
        let mut open = true;
        loop {
            tokio::select! {
                code = &mut wait => return code,
                line = typed.recv(), if open => match line {
                    Some(line) if line.trim().is_empty() => {}
                    Some(line) => return pasted(&line, &self.state),
                    None => open = false,
                },
            }
        }
    }

    /// RFC 9207: the answer must come from the server that was asked.
    fn check_issuer(&self, code: &AuthorizationCode) -> Result<(), AuthError> {
        let expected = self.found.server.issuer.clone().unwrap_or_default();
        match &code.issuer {
            Some(claimed) if *claimed != expected && !expected.is_empty() => {
                Err(AuthError::OtherIssuer { claimed: claimed.clone(), expected })
            }
            None if self.found.server.names_issuer => Err(AuthError::OtherIssuer { claimed: String::new(), expected }),
            Some(_) | None => Ok(()),
        }
    }

    /// An entry with everything except the tokens.
    fn entry(self, name: &str, remote: &RemoteConfig, before: TokenEntry) -> TokenEntry {
        let own = before.own_client_secret;
        TokenEntry {
            server_name: name.to_owned(),
            server_url: remote.url.clone(),
            scope: (!self.scopes.is_empty()).then(|| self.scopes.join(" ")),
            client_id: Some(self.client.id),
            client_secret: self.client.secret.filter(|secret| own.as_ref() != Some(secret)),
            auth_method: (self.client.method != ClientAuthMethod::None).then(|| self.client.method.name().to_owned()),
            own_client_secret: own,
            issuer: self.found.server.issuer,
            token_endpoint: Some(self.found.server.token.to_string()),
            resource: Some(self.found.resource),
            redirect_port: Some(self.redirect.port),
            ..TokenEntry::default()
        }
    }
}

/// The tokens of a token response.
pub(super) struct IssuedTokens {
    access: String,
    refresh: Option<String>,
    expires_at: Option<u64>,
    scope: Option<String>,
}

impl IssuedTokens {
    pub(super) fn read(answer: &AuthAnswer, what: String) -> Result<Self, AuthError> {
        if !(200..300).contains(&answer.status) {
            return Err(AuthError::Answered { what, status: answer.status, detail: answer.error() });
        }
        let text = |name: &str| answer.body.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let is_bearer = text("token_type").is_none_or(|kind| kind.eq_ignore_ascii_case("bearer"));
        let Some(access) = text("access_token").filter(|_| is_bearer).map(str::to_owned) else {
            return Err(AuthError::Malformed { what, why: "it gave no bearer token".into() });
        };
        // Some servers send the number as a string.
        let seconds = answer.body.get("expires_in").and_then(|v| v.as_u64().or_else(|| v.as_str()?.parse().ok()));
        let expires_at = seconds.map(|seconds| sys::clock::now_ms().saturating_add(seconds.saturating_mul(1000)));
        let (refresh, scope) = (text("refresh_token").map(str::to_owned), text("scope").map(str::to_owned));
        Ok(Self { access, refresh, expires_at, scope })
    }

    /// Puts the tokens into `entry`. A missing refresh token or scope keeps the old one.
    pub(super) fn into_entry(self, entry: TokenEntry) -> TokenEntry {
        TokenEntry {
            access_token: Some(self.access),
            refresh_token: self.refresh.or(entry.refresh_token),
            expires_at: self.expires_at,
            scope: self.scope.or(entry.scope),
            ..entry
        }
    }
}
