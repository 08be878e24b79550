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

/// The server and, in words, what happened. For causes without words of ours the library's own, outermost first; its
/// first line is omitted because it repeats the URL.
fn describe(error: &reqwest::Error, origin: &str) -> String {
    if let Some(reason) = causes(error).into_iter().find_map(reason) {
        return format!("{origin}: {reason}");
    }
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

/// The error and everything that caused it, outermost first.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> Vec<&'a (dyn Error + 'static)> {
    let mut all = Vec::new();
    let mut cause = Some(error);
    while let Some(current) = cause {
        all.push(current);
        // `source()` of an I/O error skips the error it wraps.
        if let Some(inner) = current.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            all.extend(causes(inner));
        }
        cause = current.source();
    }
    all
}

/// What a cause means to a person; `None` when it has no words of ours.
fn reason(cause: &(dyn Error + 'static)) -> Option<&'static str> {
    if let Some(rustls::Error::InvalidCertificate(why)) = cause.downcast_ref::<rustls::Error>() {
        return certificate_reason(why);
    }
    if cause.to_string().contains("failed to lookup address") {
        return Some("the host name was not found (DNS)");
    }
    if cause.to_string().contains("end of file before message length reached") {
        return Some("the answer ended in the middle");
    }
    match cause.downcast_ref::<io::Error>().filter(|error| error.get_ref().is_none())?.kind() {
        io::ErrorKind::ConnectionRefused => Some("the connection was refused"),
        io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted | io::ErrorKind::BrokenPipe => {
            Some("the connection was closed by the other side")
        }
        io::ErrorKind::TimedOut => Some("no answer in time"),
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => Some("the network does not reach it"),
        io::ErrorKind::UnexpectedEof => Some("the connection ended in the middle"),
        _ => None,
    }
}

fn certificate_reason(why: &rustls::CertificateError) -> Option<&'static str> {
    use rustls::CertificateError as Refused;
    match why {
        Refused::Expired | Refused::ExpiredContext { .. } => Some("its certificate has expired"),
        Refused::NotValidYet | Refused::NotValidYetContext { .. } => Some("its certificate is not valid yet"),
        Refused::Revoked => Some("its certificate was revoked"),
        Refused::UnknownIssuer => Some("its certificate is signed by an unknown authority"),
        Refused::NotValidForName | Refused::NotValidForNameContext { .. } => {
            Some("its certificate belongs to another host")
        }
        _ => None,
    }
}

fn is_certificate(error: &(dyn Error + 'static)) -> bool {
    causes(error).into_iter().any(|cause| cause.downcast_ref().is_some_and(is_certificate_tls))
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
