use super::*;

fn response(status: u16, body: &str) -> ModelError {
    ModelError::from_response(ResponseFacts { status, ..ResponseFacts::default() }, body.as_bytes())
}

fn api(status: u16, kind: &str, message: &str) -> ModelError {
    response(
        status,
        &format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}},"request_id":"r1"}}"#),
    )
}

#[test]
fn categories() {
    let cases = [
        (401, "authentication_error", "bad key", "authentication_failed"),
        (402, "billing_error", "pay", "billing_error"),
        (400, "invalid_request_error", "Your credit balance is too low", "billing_error"),
        (429, "rate_limit_error", "slow down", "rate_limit"),
        (529, "overloaded_error", "Overloaded", "overloaded"),
        (400, "invalid_request_error", "no such field", "invalid_request"),
        (404, "not_found_error", "model: x", "model_not_found"),
        (500, "api_error", "oops", "server_error"),
        (503, "x", "oops", "server_error"),
    ];
    for (status, kind, message, category) in cases {
        assert_eq!(api(status, kind, message).category(), category, "{status} {message}");
    }
    assert_eq!(ModelError::dropped("x").category(), "unknown");
}

#[test]
fn bodies_of_every_shape() {
    let e = api(400, "invalid_request_error", "bad");
    assert_eq!(
        (e.message.as_str(), e.api_type.as_deref(), e.request_id.as_deref()),
        ("bad", Some("invalid_request_error"), Some("r1"))
    );
    // Without a top-level type.
    let local = response(
        400,
        r#"{"error":{"code":400,"message":"request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error","n_ctx":8192}}"#,
    );
    assert!(local.is_context_overflow());
    assert!(local.message.starts_with("request (9000"));
    assert_eq!(response(500, r#"{"error":"plain"}"#).message, "plain");
    assert_eq!(response(500, r#"{"message":"outer"}"#).message, "outer");
    assert_eq!(
        response(502, "<html>\n  <b>Bad Gateway</b></html>").message,
        "the server sent a web page (\"Bad Gateway\") in place of an answer"
    );
    assert!(response(502, "").message.contains("502"));
    assert!(response(502, &"x".repeat(100_000)).message.len() <= 300);
}

#[test]
fn overflow_and_output_room() {
    assert!(
        api(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum").is_context_overflow()
    );
    assert!(api(413, "request_too_large", "Request too large").is_context_overflow());
    let room = api(
        400,
        "invalid_request_error",
        "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length",
    );
    assert_eq!(room.kind, ErrorKind::OutputRoom { input: 188_240, max_tokens: 21_333, limit: 200_000 });
    assert!(!room.is_context_overflow());
}

// [TST-116]
#[test]
fn refused_capabilities() {
    let cases = [
        ("messages.1.content.0: Invalid `signature` in `thinking` block", Capability::Thinking),
        ("thinking: adaptive is not supported on this model", Capability::Thinking),
        ("capability_rejected: context_management", Capability::ContextManagement),
        ("output_config.effort: extra inputs are not permitted", Capability::Effort),
    ];
    for (message, capability) in cases {
        assert_eq!(api(400, "invalid_request_error", message).capability_rejected(), Some(capability), "{message}");
    }
    assert_eq!(api(400, "invalid_request_error", "messages: empty").capability_rejected(), None);
}

// [TST-109]
#[test]
fn spend_limits_are_not_throttling() {
    let e = api(429, "rate_limit_error", "You have reached your specified API usage limits: spend limit");
    assert_eq!(e.kind, ErrorKind::Quota { resets_at: None });
    let facts = ResponseFacts { status: 429, quota: Some(Some("1767225600".into())), ..ResponseFacts::default() };
    let e = ModelError::from_response(facts, b"{}");
    assert_eq!(e.kind, ErrorKind::Quota { resets_at: Some("1767225600".into()) });
    assert!(!e.is_retryable());
}

#[test]
fn what_a_fallback_may_answer() {
    assert!(api(529, "overloaded_error", "x").is_unavailable());
    assert!(api(404, "not_found_error", "x").is_unavailable());
    assert!(!api(429, "rate_limit_error", "x").is_unavailable());
    assert!(!api(401, "authentication_error", "x").is_unavailable());
    assert!(!ModelError::dropped("x").is_unavailable());
}
