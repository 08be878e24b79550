//! The message for the user when a request has finally failed: what happened, where, and what to do next.

use model::retry::LONGEST_WAIT;
use model::{ErrorKind, ModelError};
use session_parts::context::ModelContext;
use session_parts::provider::ProviderConnection;
use std::time::Duration;
use wire::counting::counted;

/// The text of the turn's result.
pub(super) fn text(error: &ModelError, context: &ModelContext, link: &ProviderConnection) -> String {
    let said = match (&error.kind, error.status) {
        (ErrorKind::Cassette, _) => return error.message.clone(),
        (_, Some(status)) => format!("API Error: {status} {}", error.message),
        (_, None) => format!("API Error: {}", error.message),
    };
    match advice(error, context, link) {
        Some(advice) => format!("{}. {advice}", said.trim_end_matches('.')),
        None => said,
    }
}

fn advice(error: &ModelError, context: &ModelContext, link: &ProviderConnection) -> Option<String> {
    match &error.kind {
        ErrorKind::Authentication if link.has_helper() => Some(format!(
            "{}. Run the helper by hand and check what it prints, and that ANTHROPIC_BASE_URL names the server that these \
             keys are for.",
            link.refused_advice()
        )),
        ErrorKind::Authentication => Some(match link.credential_variable() {
            Some(name) => format!(
                "{}. Set {name} to another one, or unset it and store a key with `gimlet auth login` (the variable goes \
                 before a stored key); check ANTHROPIC_BASE_URL too.",
                link.refused_advice()
            ),
            None => format!(
                "{}. Store another key with `gimlet auth login`, or check ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL.",
                link.refused_advice()
            ),
        }),
        ErrorKind::ModelNotFound => Some(format!(
            "The model {} may not exist at {}, or your key has no access to it. Choose another with --model, /model or \
             ANTHROPIC_MODEL; if every model fails like this, check ANTHROPIC_BASE_URL.",
            context.model(),
            shown_url(link.base_url())
        )),
        ErrorKind::Connect | ErrorKind::Stalled(_) => Some(connection_advice(link)),
        ErrorKind::Certificate => Some(
            "If your own proxy decrypts connections, name its certificate in NODE_EXTRA_CA_CERTS; otherwise \
             check ANTHROPIC_BASE_URL and the clock of this machine."
                .into(),
        ),
        ErrorKind::Dropped => Some("What was answered before is kept; send the prompt again to continue.".into()),
        ErrorKind::Server => Some("The fault is at the server; try again later.".into()),
        ErrorKind::Quota { resets_at: Some(at) } => Some(format!("The limit resets {}.", reset_time(at))),
        _ => error.retry_after.filter(|after| *after > LONGEST_WAIT / 5).map(too_long_to_wait),
    }
}

/// What to look at when no connection can be made.
fn connection_advice(link: &ProviderConnection) -> String {
    if model::is_first_party(link.base_url()) {
        return "Check the network, and HTTPS_PROXY if you use a proxy.".into();
    }
    format!("Check that the server at {} runs (ANTHROPIC_BASE_URL).", shown_url(link.base_url()))
}

/// The server asked to wait longer than a request does.
fn too_long_to_wait(after: Duration) -> String {
    let ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
    let at = clock_time(sys::clock::now_ms().saturating_add(ms));
    format!(
        "The server asks to wait until {at} (for {}). A request waits {} at most, so the turn ended; try again then, or set \
         CLAUDE_CODE_RETRY_WATCHDOG=1 to wait it out.",
        length(after),
        length(LONGEST_WAIT)
    )
}

/// Seconds since the epoch, or the text that the server sent.
fn reset_time(text: &str) -> String {
    match text.trim().parse::<u64>() {
        Ok(seconds) => format!("at {}", clock_time(seconds.saturating_mul(1_000))),
        Err(_) => format!("at {text}"),
    }
}

/// For example `2026-01-01 00:00 UTC`.
fn clock_time(ms: u64) -> String {
    /// Close to the end of the year 9999; later times cannot be formatted.
    const LAST_CLOCK_MS: u64 = 253_402_207_200_000;
    let iso = sys::clock::iso(ms.min(LAST_CLOCK_MS));
    format!("{} {} UTC", iso.get(..10).unwrap_or_default(), iso.get(11..16).unwrap_or_default())
}

/// The duration in a suitable unit.
fn length(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (count, unit) = match seconds {
        0..120 => (seconds, "second"),
        120..7_200 => (seconds / 60, "minute"),
        7_200..172_800 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    counted(count, unit)
}

/// The URL without user name, password and query.
fn shown_url(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or(url);
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let authority = rest.find('/').unwrap_or(rest.len());
    let host = rest[..authority].rfind('@').map_or(0, |at| at + 1);
    format!("{scheme}://{}", &rest[host..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_lengths_are_readable() {
        assert_eq!(length(Duration::from_secs(1)), "1 second");
        assert_eq!(length(LONGEST_WAIT), "5 minutes");
        assert_eq!(length(Duration::from_hours(5)), "5 hours");
        assert_eq!(length(Duration::from_hours(24 * 1_095)), "1095 days");
        assert_eq!(reset_time("1767225600"), "at 2026-01-01 00:00 UTC");
        assert_eq!(reset_time("2026-12-01"), "at 2026-12-01");
        assert_eq!(clock_time(u64::MAX), "9999-12-30 22:00 UTC");
        assert_eq!(shown_url("https://me:secret@gate.example/v1?k=1"), "https://gate.example/v1");
    }
}
