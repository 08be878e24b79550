//! Trusted roots and the client certificate. Roots are those of the system's store or, when that is empty, the bundled
//! ones, so that missing roots are never an error; `CLAUDE_CODE_CERT_STORE` (`bundled`, `system`, or both) overrides
//! this. Bundles named by `NODE_EXTRA_CA_CERTS` and `SSL_CERT_FILE` are added; an unreadable bundle is logged and
//! skipped. A configured client certificate that cannot be used is an error.

use crate::HttpError;
use rustls::ClientConfig;
use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::path::Path;
use std::sync::Arc;
use sys::Env;

const CERTIFICATE: &str = "CLAUDE_CODE_CLIENT_CERT";
const KEY: &str = "CLAUDE_CODE_CLIENT_KEY";

/// For plain HTTP: trusts no certificate and reads no files.
pub(crate) fn none() -> Result<ClientConfig, HttpError> {
    let builder = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| invalid(&error))?;
    Ok(builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
}

/// A configuration for the given protocols. Reading the certificate stores takes milliseconds, so do not call it on the
/// main thread.
pub(crate) fn from_env(env: &Env, protocols: &[&[u8]]) -> Result<ClientConfig, HttpError> {
    let builder = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| invalid(&error))?.with_root_certificates(roots(env));
    let mut config = match identity(env)? {
        Some((chain, key)) => builder
            .with_client_auth_cert(chain, key)
            .map_err(|error| HttpError::Invalid(format!("{CERTIFICATE} and {KEY} cannot be used together: {error}")))?,
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Ok(config)
}

fn provider() -> Arc<CryptoProvider> {
    let installed = CryptoProvider::get_default().cloned();
    installed.unwrap_or_else(|| Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
}

fn invalid(error: &rustls::Error) -> HttpError {
    HttpError::Invalid(format!("TLS cannot be set up: {error}"))
}

/// Variables that name a file of further certificates.
const BUNDLES: [&str; 2] = ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"];
/// Names of `CLAUDE_CODE_CERT_STORE`.
const STORES: [&str; 2] = ["system", "bundled"];
/// In bytes. Larger bundles are refused.
const MAX_BUNDLE_BYTES: usize = 16 << 20;

fn roots(env: &Env) -> RootCertStore {
    let stores = env.non_empty("CLAUDE_CODE_CERT_STORE").unwrap_or("system");
    let wants = |name: &str| stores.split(',').any(|store| store.trim().eq_ignore_ascii_case(name));
    let mut roots = RootCertStore::empty();
    if wants("system") {
        let loaded = rustls_native_certs::load_native_certs();
        for error in &loaded.errors {
            tracing::warn!(%error, "system certificates");
        }
        roots.add_parsable_certificates(loaded.certs);
    }
    if wants("bundled") || roots.is_empty() {
        roots.add_parsable_certificates(webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().cloned());
    }
    for name in BUNDLES {
        let Some(path) = env.non_empty(name) else { continue };
        match certificates(Path::new(path)) {
            Ok(extra) => drop(roots.add_parsable_certificates(extra)),
            Err(error) => tracing::warn!(%error, path, "ignoring the certificates named by {name}"),
        }
    }
    roots
}

fn identity(env: &Env) -> Result<Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>, HttpError> {
    let (certificate, key) = match (env.non_empty(CERTIFICATE), env.non_empty(KEY)) {
        (None, None) => return Ok(None),
        // One file may contain both.
        (Some(certificate), None) => (certificate, certificate),
        (None, Some(_)) => return Err(HttpError::Invalid(format!("{KEY} is set but {CERTIFICATE} is not"))),
        (Some(certificate), Some(key)) => (certificate, key),
    };
    let chain = certificates(Path::new(certificate))
        .map_err(|error| HttpError::Invalid(format!("{CERTIFICATE}: {certificate}: {error}")))?;
    let key = PrivateKeyDer::from_pem_file(key)
        .map_err(|error| HttpError::Invalid(format!("{KEY}: no unencrypted private key in {key}: {error}")))?;
    Ok(Some((chain, key)))
}

/// Reads regular files only: a FIFO must not block us.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, rustls::pki_types::pem::Error> {
    let bytes = sys::fs::read_whole(path, MAX_BUNDLE_BYTES).map_err(rustls::pki_types::pem::Error::Io)?;
    let found: Vec<_> = CertificateDer::pem_slice_iter(&bytes).collect::<Result<_, _>>()?;
    if found.is_empty() { Err(rustls::pki_types::pem::Error::NoItemsFound) } else { Ok(found) }
}

/// One line for each certificate variable that names nothing usable.
pub fn unusable_certificates(env: &Env) -> Vec<String> {
    let mut lines = Vec::new();
    for name in BUNDLES {
        let Some(path) = env.non_empty(name) else { continue };
        let why = match certificates(Path::new(path)) {
            Ok(found) => match RootCertStore::empty().add_parsable_certificates(found) {
                (0, _) => "its certificates cannot be read".to_owned(),
                _ => continue,
            },
            Err(rustls::pki_types::pem::Error::NoItemsFound) => "it holds no certificate in PEM form".to_owned(),
            Err(rustls::pki_types::pem::Error::Io(error)) => error.to_string(),
            Err(error) => format!("it is damaged: {error}"),
        };
        lines.push(format!("Warning: {name}: {path} is not used: {why}. Only the other certificates count"));
    }
    let stores = env.non_empty("CLAUDE_CODE_CERT_STORE").unwrap_or_default().split(',').map(str::trim);
    let unknown: Vec<&str> =
        stores.filter(|name| !name.is_empty() && !STORES.contains(&name.to_ascii_lowercase().as_str())).collect();
    if !unknown.is_empty() {
        let names = unknown.join(", ");
        lines.push(format!("Warning: CLAUDE_CODE_CERT_STORE: {names} is unknown; the stores are system and bundled"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(vars: &[(&str, &str)]) -> Env {
        Env::default().with(vars.iter().copied())
    }

    #[test]
    fn there_are_always_roots() {
        assert!(!roots(&env(&[])).is_empty());
        let bundled = roots(&env(&[("CLAUDE_CODE_CERT_STORE", "bundled")]));
        assert_eq!(bundled.len(), webpki_root_certs::TLS_SERVER_ROOT_CERTS.len());
        assert_eq!(roots(&env(&[("CLAUDE_CODE_CERT_STORE", "nonsense")])).len(), bundled.len());
        assert!(!roots(&env(&[("NODE_EXTRA_CA_CERTS", "/nonexistent/ca.pem")])).is_empty());
    }

    #[test]
    fn a_client_certificate_that_cannot_be_used_is_named() {
        let error = from_env(&env(&[("CLAUDE_CODE_CLIENT_CERT", "/nonexistent/c.pem")]), &[]).unwrap_err().to_string();
        assert!(error.contains("CLAUDE_CODE_CLIENT_CERT"), "{error}");
        let error = from_env(&env(&[("CLAUDE_CODE_CLIENT_KEY", "/nonexistent/k.pem")]), &[]).unwrap_err().to_string();
        assert!(error.contains("CLAUDE_CODE_CLIENT_KEY"), "{error}");
    }
}
