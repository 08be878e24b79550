//! Errors, grouped by what the caller can do about them. Messages name the origin, never the path, query or
//! credentials.

use std::error::Error;
use std::io;
use std::time::Duration;

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// No connection was made: refused, unreachable, DNS failure, handshake timeout. May be retried.
    #[error("could not connect: {0}")]
    Connect(String),
    /// The certificate was rejected. A retry does not help.
    #[error("TLS certificate not accepted: {0}")]
    Certificate(String),
    /// The connection broke after it was made. May be retried if nothing was consumed.
    #[error("connection broke: {0}")]
    Broken(String),
    #[error("timed out after {0:?}")]
    Timeout(Duration),
    /// The request or the client's configuration cannot work.
    #[error("invalid request: {0}")]
    Invalid(String),
}

pub(crate) fn classify(error: &reqwest::Error, origin: &str) -> HttpError {
    let message = describe(error, origin);
    if is_certificate(error) {
        HttpError::Certificate(message)
    } else if error.is_builder() {
        HttpError::Invalid(message)
    } else if error.is_connect() {
        HttpError::Connect(message)
    } else {
        HttpError::Broken(message)
    }
}

/// The chain of causes, outermost first. The library's first line is omitted because it repeats the URL.
fn describe(error: &reqwest::Error, origin: &str) -> String {
    let mut message = origin.to_owned();
    let mut cause = error.source();
    while let Some(current) = cause {
        let text = current.to_string();
        if !message.ends_with(&text) {
            message.push_str(": ");
            message.push_str(&text);
        }
        cause = current.source();
    }
    if message == origin {
        message.push_str(": ");
        message.push_str(if error.is_builder() { "the request cannot be built" } else { "the exchange failed" });
    }
    message
}

fn is_certificate(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(current) = cause {
        if current.downcast_ref().is_some_and(is_certificate_tls) {
            return true;
        }
        // `source()` of an I/O error skips the error it wraps, so the wrapped error is checked here.
        if let Some(inner) = current.downcast_ref::<io::Error>().and_then(io::Error::get_ref)
            && is_certificate(inner)
        {
            return true;
        }
        cause = current.source();
    }
    false
}

fn is_certificate_tls(error: &rustls::Error) -> bool {
    use rustls::AlertDescription as Alert;
    match error {
        rustls::Error::InvalidCertificate(_)
        | rustls::Error::InvalidCertRevocationList(_)
        | rustls::Error::NoCertificatesPresented
        | rustls::Error::UnsupportedNameType => true,
        // The server rejected our certificate, or requires one.
        rustls::Error::AlertReceived(alert) => matches!(
            alert,
            Alert::BadCertificate
                | Alert::UnsupportedCertificate
                | Alert::CertificateRevoked
                | Alert::CertificateExpired
                | Alert::CertificateUnknown
                | Alert::UnknownCA
                | Alert::AccessDenied
                | Alert::CertificateRequired
        ),
        _ => false,
    }
}
