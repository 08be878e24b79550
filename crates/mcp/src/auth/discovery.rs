//! Finds the endpoints of the authorization server for an MCP server: RFC 9728 for the resource, RFC 8414 or OpenID
//! discovery for the authorization server, and the fixed endpoints of the first specification where there is
//! neither. The resource must be the configured server, and the issuer must be the one that was looked up.

use super::AuthError;
use super::challenge::AuthChallenge;
use super::exchange::{check_safe, document, origin, parse};
use http::Http;
use serde::Deserialize;
use serde_json::{Map, Value};
use url::Url;

/// Where to sign in, and for which resource and scopes.
#[derive(Clone, Debug)]
pub(super) struct DiscoveredAuth {
    /// The `resource` parameter (RFC 8707).
    pub(super) resource: String,
    /// The scopes that the resource metadata lists.
    pub(super) scopes: Vec<String>,
    pub(super) server: AuthEndpoints,
}

#[derive(Clone, Debug)]
pub(super) struct AuthEndpoints {
    pub(super) issuer: Option<String>,
    pub(super) authorization: Url,
    pub(super) token: Url,
    pub(super) registration: Option<Url>,
    pub(super) scopes: Vec<String>,
    /// How clients may authenticate; empty when the metadata does not say.
    pub(super) methods: Vec<String>,
    /// Accepts the address of a metadata document as client id.
    pub(super) takes_documents: bool,
    /// The authorization response contains `iss` (RFC 9207).
    pub(super) names_issuer: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ServerMetadata {
    issuer: Option<String>,
    authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
    registration_endpoint: Option<String>,
    scopes_supported: Option<Vec<String>>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    code_challenge_methods_supported: Option<Vec<String>>,
    client_id_metadata_document_supported: Option<bool>,
    authorization_response_iss_parameter_supported: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResourceMetadata {
    resource: Option<String>,
    authorization_servers: Option<Vec<String>>,
    scopes_supported: Option<Vec<String>>,
}

/// The server's address and its challenge.
pub(super) struct DiscoverySubject<'a> {
    pub(super) server: &'a Url,
    pub(super) challenge: &'a AuthChallenge,
    /// The setting `oauth.authServerMetadataUrl`.
    pub(super) metadata_url: Option<&'a str>,
}

impl DiscoverySubject<'_> {
    fn is_plain_http(&self) -> bool {
        self.server.scheme() == "http"
    }
}

pub(super) async fn discover(http: &Http, subject: &DiscoverySubject<'_>) -> Result<DiscoveredAuth, AuthError> {
    check_safe(subject.server, subject.is_plain_http())?;
    let resource = resource_metadata(http, subject).await?;
    let scopes = resource.as_ref().and_then(|found| found.scopes_supported.clone()).unwrap_or_default();
    let claimed = resource.as_ref().and_then(|found| found.resource.clone());
    let identity = match claimed {
        Some(claimed) if covers(&claimed, subject.server) => claimed,
        Some(claimed) => {
            return Err(AuthError::OtherResource { claimed, configured: canonical(subject.server) });
        }
        None => canonical(subject.server),
    };
    let issuer = resource.and_then(|found| found.authorization_servers?.into_iter().next());
    let server = endpoints(http, subject, issuer.as_deref()).await?;
    Ok(DiscoveredAuth { resource: identity, scopes, server })
}

/// The server's address without query and fragment.
fn canonical(server: &Url) -> String {
    let mut url = server.clone();
    url.set_query(None);
    url.set_fragment(None);
    let text = url.to_string();
    if url.path() == "/" { text.trim_end_matches('/').to_owned() } else { text }
}

/// Whether a resource identifier covers the server: the same origin, and the server's path or a parent of it.
fn covers(claimed: &str, server: &Url) -> bool {
    let Ok(claimed) = Url::parse(claimed) else { return false };
    if claimed.origin() != server.origin() || claimed.fragment().is_some() {
        return false;
    }
    let parent = claimed.path().trim_end_matches('/');
    let below = server.path().strip_prefix(parent);
    below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

async fn resource_metadata(http: &Http, subject: &DiscoverySubject<'_>) -> Result<Option<ResourceMetadata>, AuthError> {
    let mut places = Vec::new();
    if let Some(named) = &subject.challenge.resource_metadata {
        places.push(parse(named)?);
    } else {
        places.push(well_known(subject.server, "oauth-protected-resource", WellKnownPath::After));
        places.push(well_known(subject.server, "oauth-protected-resource", WellKnownPath::None));
        places.dedup();
    }
    for place in places {
        if let Some(found) = document(http, &place, subject.is_plain_http()).await? {
            return Ok(Some(decode(found)));
        }
    }
    Ok(None)
}

/// Where the path of the base address goes in a well-known address.
#[derive(Clone, Copy)]
enum WellKnownPath {
    None,
    After,
    Before,
}

fn well_known(base: &Url, name: &str, path: WellKnownPath) -> Url {
    let own = base.path().trim_end_matches('/');
    let path = match path {
        WellKnownPath::None => format!("/.well-known/{name}"),
        WellKnownPath::After => format!("/.well-known/{name}{own}"),
        WellKnownPath::Before => format!("{own}/.well-known/{name}"),
    };
    let mut url = base.clone();
    url.set_path(&path);
    url.set_query(None);
    url.set_fragment(None);
    url
}

async fn endpoints(
    http: &Http,
    subject: &DiscoverySubject<'_>,
    issuer: Option<&str>,
) -> Result<AuthEndpoints, AuthError> {
    let plain = subject.is_plain_http();
    if let Some(configured) = subject.metadata_url {
        let url = parse(configured)?;
        let what = origin(&url);
        let found = document(http, &url, plain).await?;
        let missing = || AuthError::Malformed { what, why: "there is no metadata at authServerMetadataUrl".into() };
        return read(found.ok_or_else(missing)?, &url, plain);
    }
    let base = match issuer {
        Some(issuer) => parse(issuer)?,
        None => subject.server.join("/").unwrap_or_else(|_| subject.server.clone()),
    };
    check_safe(&base, plain)?;
    for place in metadata_places(&base) {
        let Some(found) = document(http, &place, plain).await? else { continue };
        let endpoints = read(found, &base, plain)?;
        check_issuer(&endpoints, &base, issuer)?;
        return Ok(endpoints);
    }
    match issuer {
        Some(_) => Err(AuthError::Malformed { what: origin(&base), why: "it publishes no metadata".into() }),
        // Servers of the first specification may have only these endpoints.
        None => legacy(&base),
    }
}

fn metadata_places(base: &Url) -> Vec<Url> {
    let at = |name, path| well_known(base, name, path);
    if base.path().trim_matches('/').is_empty() {
        return vec![
            at("oauth-authorization-server", WellKnownPath::None),
            at("openid-configuration", WellKnownPath::None),
        ];
    }
    vec![
        at("oauth-authorization-server", WellKnownPath::After),
        at("openid-configuration", WellKnownPath::After),
        at("openid-configuration", WellKnownPath::Before),
    ]
}

/// A server at a well-known address must not claim another issuer. Where no issuer was named, the claimed issuer
/// must be on the same origin.
fn check_issuer(found: &AuthEndpoints, base: &Url, named: Option<&str>) -> Result<(), AuthError> {
    let Some(claimed) = &found.issuer else { return Ok(()) };
    let same = match named {
        Some(named) => claimed.trim_end_matches('/') == named.trim_end_matches('/'),
        None => Url::parse(claimed).is_ok_and(|claimed| claimed.origin() == base.origin()),
    };
    let expected = named.map_or_else(|| origin(base), str::to_owned);
    if same { Ok(()) } else { Err(AuthError::OtherIssuer { claimed: claimed.clone(), expected }) }
}

fn read(found: Map<String, Value>, base: &Url, plain: bool) -> Result<AuthEndpoints, AuthError> {
    let found: ServerMetadata = decode(found);
    let what = || origin(base);
    // A server that lists no methods often supports S256; the challenge is always sent.
    if found.code_challenge_methods_supported.is_some_and(|methods| !methods.iter().any(|method| method == "S256")) {
        return Err(AuthError::NoPkce);
    }
    let endpoint = |text: Option<String>, name: &str| {
        let text = text.ok_or_else(|| AuthError::Malformed { what: what(), why: format!("{name} is missing") })?;
        let url = parse(&text)?;
        check_safe(&url, plain).map(|()| url)
    };
    Ok(AuthEndpoints {
        issuer: found.issuer,
        authorization: endpoint(found.authorization_endpoint, "authorization_endpoint")?,
        token: endpoint(found.token_endpoint, "token_endpoint")?,
        registration: found
            .registration_endpoint
            .map(|url| endpoint(Some(url), "registration_endpoint"))
            .transpose()?,
        scopes: found.scopes_supported.unwrap_or_default(),
        methods: found.token_endpoint_auth_methods_supported.unwrap_or_default(),
        takes_documents: found.client_id_metadata_document_supported == Some(true),
        names_issuer: found.authorization_response_iss_parameter_supported == Some(true),
    })
}

fn legacy(base: &Url) -> Result<AuthEndpoints, AuthError> {
    let at = |path: &str| base.join(path).map_err(|_| AuthError::Address { url: origin(base), why: "it has no paths" });
    Ok(AuthEndpoints {
        issuer: None,
        authorization: at("/authorize")?,
        token: at("/token")?,
        registration: Some(at("/register")?),
        scopes: Vec::new(),
        methods: Vec::new(),
        takes_documents: false,
        names_issuer: false,
    })
}

/// Decodes a document. A member of the wrong type makes the whole document count as empty, because an invalid
/// document is not trusted.
fn decode<T: Default + for<'a> Deserialize<'a>>(found: Map<String, Value>) -> T {
    T::deserialize(Value::Object(found)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_stands_for_itself_and_what_is_below() {
        let server = Url::parse("https://h.example/a/mcp?x=1").unwrap();
        for good in ["https://h.example", "https://h.example/", "https://H.example/a", "https://h.example/a/mcp"] {
            assert!(covers(good, &server), "{good}");
        }
        for bad in
            ["https://evil.example/a/mcp", "http://h.example/a", "https://h.example/a/m", "https://h.example/b", "x"]
        {
            assert!(!covers(bad, &server), "{bad}");
        }
        assert_eq!(canonical(&server), "https://h.example/a/mcp");
        assert_eq!(canonical(&Url::parse("https://h.example/").unwrap()), "https://h.example");
    }

    #[test]
    fn metadata_is_looked_for_in_the_specified_order() {
        let places = |url: &str| -> Vec<String> {
            metadata_places(&Url::parse(url).unwrap()).iter().map(|url| url.path().to_owned()).collect()
        };
        assert_eq!(
            places("https://h/"),
            ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"]
        );
        assert_eq!(
            places("https://h/t"),
            [
                "/.well-known/oauth-authorization-server/t",
                "/.well-known/openid-configuration/t",
                "/t/.well-known/openid-configuration"
            ]
        );
    }

    #[test]
    fn endpoints_are_encrypted_and_issuers_are_who_they_say() {
        let base = Url::parse("https://as.example").unwrap();
        let document = |token: &str| {
            let value = serde_json::json!({"issuer": "https://as.example", "authorization_endpoint": "https://as.example/a",
                "token_endpoint": token, "code_challenge_methods_supported": ["S256"]});
            value.as_object().unwrap().clone()
        };
        assert!(matches!(read(document("http://as.example/t"), &base, false), Err(AuthError::Address { .. })));
        let found = read(document("https://as.example/t"), &base, false).unwrap();
        assert!(check_issuer(&found, &base, Some("https://as.example/")).is_ok());
        assert!(check_issuer(&found, &base, Some("https://other.example")).is_err());
        assert!(check_issuer(&found, &Url::parse("https://else.example").unwrap(), None).is_err());
        let mut weak = document("https://as.example/t");
        weak.insert("code_challenge_methods_supported".into(), serde_json::json!(["plain"]));
        assert!(matches!(read(weak, &base, false), Err(AuthError::NoPkce)));
    }
}
