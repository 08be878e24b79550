use super::check;

#[path = "../../../fuzz/checks/mutate.rs"]
mod mutate;

const CORPUS: [&str; 5] = [
    r#"{"type":"user","message":{"role":"user","content":"hi \ud83d\ude00 there"},"parent_tool_use_id":null,"session_id":"","uuid":"u-1"}"#,
    r#"{"type":"user","message":{"content":[{"type":"text","text":"look"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}],"role":"user"},"shouldQuery":false}"#,
    r#"  {"type":"control_request","request_id":"r1","request":{"subtype":"initialize","hooks":{"PreToolUse":[{"matcher":"Bash","hookCallbackIds":["h"]}]}}}  "#,
    r#"{"type":"control_request","request_id":"r2"}"#,
    r#"{"type":"control_response","response":{"subtype":"success","request_id":"r3","response":{"behavior":"allow"}}}"#,
];

// [SDK-34]
#[test]
fn lines_of_hosts_survive_mutation() {
    mutate::kept(include_str!("../../../fuzz/corpus/inbound.txt"), check);
    mutate::smoke(&CORPUS, check, 31, 3_000);
}
