use super::*;

fn prompt(line: &str) -> Option<(String, Option<String>, bool)> {
    match read_frame(line.as_bytes()).unwrap() {
        InputFrame::Prompt(p) => Some((p.content.get().to_owned(), p.uuid, p.query)),
        InputFrame::Request { .. }
        | InputFrame::Reply(_)
        | InputFrame::Withdraw { .. }
        | InputFrame::Malformed { .. }
        | InputFrame::Nothing => None,
    }
}

#[test]
fn user_content_keeps_its_form() {
    // [SDK-57] [SDK-59] [SDK-60] [SDK-61]
    let text = prompt(r#"{"type":"user","message":{"role":"user","content":"hi"},"session_id":"default"}"#);
    assert_eq!(text, Some((r#""hi""#.into(), None, true)));
    let blocks = prompt(
        r#"{"type":"user","uuid":"u","shouldQuery":false,"message":{"role":"user","content":[ {"type":"text","text":"x"} ]}}"#,
    );
    assert_eq!(blocks, Some((r#"[ {"type":"text","text":"x"} ]"#.into(), Some("u".into()), false)));
}

#[test]
fn blank_prompts_and_foreign_frames_are_nothing() {
    // [SDK-65]
    for line in [
        "",
        "  \r\n",
        r#"{"type":"user","message":{"role":"user","content":" \n"}}"#,
        r#"{"type":"user","message":{"role":"user","content":[]}}"#,
        r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":" "}]}}"#,
        r#"{"type":"user"}"#,
        r#"{"subtype":"interrupt"}"#,
        r#"{"type":"keep_alive"}"#,
        r#"{"type":"novel","uuid":7}"#,
        r#"{"type":"control_response","request_id":"x"}"#,
        r#"{"type":"control_request"}"#,
    ] {
        assert!(matches!(read_frame(line.as_bytes()), Ok(InputFrame::Nothing)), "{line}");
    }
    let image = r#"{"type":"user","message":{"role":"user","content":[{"type":"image","source":{}}]}}"#;
    assert!(prompt(image).is_some());
}

#[test]
fn crlf_is_tolerated() {
    assert!(prompt("{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\r\n").is_some());
}

#[test]
fn answers_are_handed_on_as_they_came() {
    let line = br#"{"type":"control_response","response":{"subtype":"success","request_id":"x","response":{"a":1}}}"#;
    let Ok(InputFrame::Reply(reply)) = read_frame(line) else { panic!() };
    assert_eq!((reply.request_id.as_str(), reply.outcome.unwrap().get()), ("x", r#"{"a":1}"#));
}

#[test]
fn control_requests_are_routed_or_answered() {
    let line = br#"{"type":"control_request","request_id":"r1","request":{"subtype":"interrupt"}}"#;
    let Ok(InputFrame::Request { id, request: HostRequest::Interrupt(_) }) = read_frame(line) else { panic!() };
    assert_eq!(id, "r1");
    let Ok(InputFrame::Malformed { request_id }) = read_frame(br#"{"type":"control_request","request_id":"r2"}"#)
    else {
        panic!()
    };
    assert!(malformed_reply(&request_id).unwrap().contains(r#""request_id":"r2""#));
}

#[test]
fn broken_lines_are_named_by_kind_and_length_only() {
    for (line, kind) in [("{oops secret", "syntax error"), ("5", "not an object"), ("[1]", "not an object")] {
        let bad = read_frame(line.as_bytes()).unwrap_err();
        assert_eq!((bad.kind, bad.length), (kind, line.len()));
        assert!(!bad.to_string().contains("secret"));
    }
    assert_eq!(read_frame(b"{\"a\":\"\xff\"}").unwrap_err().kind, "not UTF-8");
}
