use super::*;
use sys::Env;

const ID: &str = "11111111-2222-4333-8444-555555555555";

fn read_text(text: &str) -> SessionInfo {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(format!("{ID}.jsonl"));
    std::fs::write(&path, text).unwrap();
    read(&path).unwrap()
}

fn user(content: &str, extra: &str) -> String {
    format!(
        "{{\"parentUuid\":null,{extra}\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":{content}}},\"uuid\":\"u\",\"timestamp\":\"2026-01-01T00:00:00.001Z\",\"entrypoint\":\"cli\",\"cwd\":\"/r\",\"sessionId\":\"{ID}\",\"gitBranch\":\"main\"}}\n"
    )
}

// [SDK-167]
#[test]
fn rows_say_what_other_readers_say() {
    let mut text = user("\"first\\nprompt\"", "");
    text.push_str("{\"type\":\"ai-title\",\"aiTitle\":\"generated\",\"sessionId\":\"S\"}\n");
    text.push_str(
        "{\"type\":\"tag\",\"tag\":\"old\",\"sessionId\":\"S\"}\n{\"type\":\"tag\",\"tag\":\"\",\"sessionId\":\"S\"}\n",
    );
    text.push_str(&user(&format!("\"{}\"", "x".repeat(200 << 10)), ""));
    text.push_str("{\"type\":\"custom-title\",\"customTitle\":\"mine\",\"sessionId\":\"S\"}\n");
    text.push_str("{\"type\":\"last-prompt\",\"lastPrompt\":\"latest\",\"sessionId\":\"S\"}\n");
    let info = read_text(&text);
    assert_eq!(info.title.as_deref(), Some("mine"));
    assert_eq!(info.first_prompt.as_deref(), Some("first prompt"));
    assert_eq!(info.last_prompt.as_deref(), Some("latest"));
    assert_eq!(info.tag, None);
    assert_eq!((info.cwd.as_deref(), info.branch.as_deref()), (Some("/r"), Some("main")));
    assert_eq!(info.created_at, Some(1_767_225_600_001));
    assert_eq!(info.entrypoint.as_deref(), Some("cli"));
}

#[test]
fn the_first_prompt_is_what_a_person_wrote() {
    let skipped = [
        user("\"meta\"", "\"isMeta\":true,"),
        user("\"summary\"", "\"isCompactSummary\":true,"),
        user("[{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":\"x\"}]", ""),
        user("\"<local-command-stdout>x\"", ""),
        user("\"[Request interrupted by user]\"", ""),
        user("\"<ide_opened_file>x</ide_opened_file>\"", ""),
        user("\"<command-name>/init</command-name>\"", ""),
    ]
    .concat();
    assert_eq!(read_text(&skipped).first_prompt.as_deref(), Some("/init"));
    let long = user(&format!("[{{\"type\":\"text\",\"text\":\"{}\"}}]", "é".repeat(300)), "");
    let info = read_text(&format!("{skipped}{long}"));
    assert_eq!(info.first_prompt.unwrap(), format!("{}…", "é".repeat(200)));
}

#[test]
fn a_directory_lists_sessions_only() {
    let dir = tempfile::tempdir().unwrap();
    let layout = StoreLayout::new(&Env::default().with([("CLAUDE_CONFIG_DIR", dir.path())]));
    let project_dir = layout.project_dir(Path::new("/nowhere"));
    std::fs::create_dir_all(project_dir.join(ID)).unwrap();
    std::fs::write(project_dir.join("notes.jsonl"), "x").unwrap();
    std::fs::write(project_dir.join(format!("{}.jsonl", ID.replace('1', "2"))), "").unwrap();
    std::fs::write(project_dir.join(format!("{ID}.jsonl")), user("\"hi\"", "")).unwrap();
    let hidden = ID.replace('1', "3");
    std::fs::write(project_dir.join(format!("{hidden}.jsonl")), user("\"hi\"", "\"isSidechain\":true,")).unwrap();
    let rows = project(&layout, Path::new("/nowhere"));
    assert_eq!(rows.len(), 2);
    let shown: Vec<String> = rows.iter().filter_map(TranscriptRow::info).map(|i| i.id).collect();
    assert_eq!(shown, [ID]);
    assert_eq!(everywhere(&layout).len(), 2);
}

#[test]
fn a_session_is_renamed_by_a_line_and_put_away_by_a_mark() {
    // [SDK-182]
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(format!("{ID}.jsonl"));
    let fork = r#""forkedFrom":{"sessionId":"S0","messageUuid":"m"},"#;
    let link = "{\"type\":\"pr-link\",\"prNumber\":7,\"prUrl\":\"https://example.test/pr/7\",\"sessionId\":\"S\"}";
    // The last line is torn.
    std::fs::write(&path, format!("{}{link}\n{{\"type\":\"us", user("\"hello\"", fork))).unwrap();
    rename(&path, "the \"new\" name").unwrap();
    let listed = || rows(dir.path()).remove(0).info().unwrap();
    let info = listed();
    assert_eq!(info.title.as_deref(), Some("the \"new\" name"));
    assert_eq!((info.forked_from.as_deref(), info.pr_url.as_deref()), (Some("S0"), Some("https://example.test/pr/7")));
    assert_eq!((info.size, info.archived), (std::fs::metadata(&path).unwrap().len(), false));
    std::fs::create_dir(dir.path().join(ID)).unwrap();
    std::fs::write(archive_mark(&path), r#"{"archived":true,"at":"x","by":"sdk"}"#).unwrap();
    assert!(listed().archived);
    std::fs::write(archive_mark(&path), r#"{"archived":false}"#).unwrap();
    assert!(!listed().archived);
}

#[test]
fn a_row_costs_the_two_ends_of_its_file() {
    // [TST-151] Reading these files in full would not end.
    use std::os::unix::fs::FileExt;
    let dir = tempfile::tempdir().unwrap();
    let length = 1_u64 << 40;
    for number in 0..50 {
        let file = File::create(dir.path().join(format!("11111111-2222-4333-8444-{number:012}.jsonl"))).unwrap();
        file.set_len(length).unwrap();
        file.write_all_at(user("\"first\"", "").as_bytes(), 0).unwrap();
        let last = "\n{\"type\":\"custom-title\",\"customTitle\":\"last\",\"sessionId\":\"S\"}\n";
        file.write_all_at(last.as_bytes(), length - last.len() as u64).unwrap();
    }
    let infos: Vec<SessionInfo> = rows(dir.path()).iter().filter_map(TranscriptRow::info).collect();
    assert_eq!(infos.len(), 50);
    assert!(infos.iter().all(|info| info.title.as_deref() == Some("last") && info.size == length));
}
