use super::*;
use crate::pieces::CHUNK_BYTES;
use serde_json::json;
use std::path::Path;

fn row(dir: &Path, number: usize, lines: &[String]) -> TranscriptRow {
    let id = format!("11111111-2222-4333-8444-{number:012}");
    let path = dir.join(format!("{id}.jsonl"));
    let text = lines.join("\n") + "\n";
    std::fs::write(&path, &text).unwrap();
    TranscriptRow { id, path, modified_at: 1_000 - number as u64, size: text.len() as u64 }
}

fn line(kind: &str, content: &serde_json::Value) -> String {
    json!({"type": kind, "uuid": "u1", "sessionId": "needle-in-an-id", "timestamp": "2026-01-01T00:00:00.000Z",
           "message": {"role": kind, "content": content}})
    .to_string()
}

fn found(rows: &[TranscriptRow], query: &str) -> Vec<SearchResult> {
    let needle = SearchQuery::new(query).unwrap();
    let mut all = Vec::new();
    let wanted = SearchRequest { needle: &needle, per_session: 3, cancelled: &AtomicBool::new(false) };
    search(rows, wanted, &mut |found| {
        all.push(found);
        ControlFlow::Continue(())
    });
    all
}

#[test]
fn words_of_people_models_and_tools_are_found_in_the_order_of_the_files() {
    let dir = tempfile::tempdir().unwrap();
    let said = [
        line("user", &json!("Where is the\nNeedle \"here\"?")),
        line("assistant", &json!([{"type": "text", "text": "A needle."}])),
        line(
            "assistant",
            &json!([{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "grep needle ."}}]),
        ),
        line(
            "user",
            &json!([{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "./a: needle"}]}]),
        ),
        json!({"type": "summary", "summary": "Of needles", "leafUuid": "x"}).to_string(),
    ];
    let rows: Vec<TranscriptRow> =
        said.iter().enumerate().map(|(n, line)| row(dir.path(), n, std::slice::from_ref(line))).collect();
    let all = found(&rows, "needle");
    let speakers: Vec<Speaker> = all.iter().map(|found| found.hits[0].speaker).collect();
    use Speaker::{Assistant, Call, Result, Summary, User};
    assert_eq!(speakers, [User, Assistant, Call, Result, Summary]);
    assert!(all.iter().zip(&rows).all(|(found, row)| found.row == *row));
    let hit = &all[0].hits[0];
    assert_eq!(hit.snippet, "Where is the Needle \"here\"?");
    assert_eq!(&hit.snippet[hit.place.clone()], "Needle");
    assert_eq!(found(&rows, "\"the needle\"").len(), 0, "a line break is no blank");
    assert_eq!(found(&rows, "HERE where").len(), 1);
}

#[test]
fn what_nobody_wrote_is_not_found() {
    let dir = tempfile::tempdir().unwrap();
    let image = json!([{"type": "image", "source": {"type": "base64", "data": "AAneedleAA"}}]);
    let thinking = json!([{"type": "thinking", "thinking": "", "signature": "needle"}]);
    let result = json!([{"type": "tool_result", "tool_use_id": "needle", "content": image}]);
    let mut meta = line("user", &json!("needle"));
    meta.insert_str(1, "\"isMeta\":true,");
    let mut side = line("user", &json!("needle"));
    side.insert_str(1, "\"isSidechain\":true,");
    let lines = [
        line("user", &image),
        line("assistant", &thinking),
        line("user", &result),
        meta,
        side,
        "{\"type\":\"user\",\"message\":{\"content\":\"needle\"".into(),
        json!({"type": "attachment", "attachment": {"type": "file", "content": "needle"}}).to_string(),
        json!({"type": "last-prompt", "lastPrompt": "needle"}).to_string(),
    ];
    assert!(found(&[row(dir.path(), 1, &lines)], "needle").is_empty());
}

#[test]
fn a_line_belongs_to_one_piece_wherever_the_file_is_cut() {
    let dir = tempfile::tempdir().unwrap();
    let lines: Vec<String> = (0..9).map(|n| line("user", &json!(format!("needle {}", "x".repeat(n * 3))))).collect();
    let rows = [row(dir.path(), 1, &lines)];
    let needle = SearchQuery::new("needle").unwrap();
    let (never, next) = (AtomicBool::new(false), AtomicUsize::new(0));
    let wanted = SearchRequest { needle: &needle, per_session: 1_000, cancelled: &never };
    let file = File::open(&rows[0].path).unwrap();
    for size in (1..rows[0].size + 2).step_by(7) {
        let cut = pieces::of(rows.iter().map(|row| row.size), size);
        let shift = SearchWorker { rows: &rows, pieces: &cut, wanted, stop: &never, next: &next, counts: &[] };
        let mut hits = Vec::new();
        for piece in &cut {
            shift.search_piece(&file, *piece, &mut Vec::new(), &mut hits).unwrap();
        }
        assert_eq!(hits.len(), lines.len(), "pieces of {size}");
    }
}

#[test]
fn long_lines_are_read_over_several_chunks() {
    let dir = tempfile::tempdir().unwrap();
    let long = format!("{} needle {}", "a ".repeat(CHUNK_BYTES), "b ".repeat(CHUNK_BYTES));
    let lines = [line("user", &json!("first")), line("user", &json!(long)), line("user", &json!("a needle"))];
    let all = found(&[row(dir.path(), 1, &lines)], "needle");
    assert_eq!(all[0].hits.len(), 2);
    assert!(all[0].hits[0].snippet.starts_with('…') && all[0].hits[0].snippet.len() < 300);
}

#[test]
fn a_search_stops_when_it_is_told_to() {
    let dir = tempfile::tempdir().unwrap();
    let lines: Vec<String> = (0..10).map(|n| line("user", &json!(format!("needle {n}")))).collect();
    let rows: Vec<TranscriptRow> = (0..400).map(|n| row(dir.path(), n, &lines)).collect();
    assert_eq!(found(&rows[..1], "needle")[0].hits.len(), 3, "the rest of a session is not told");
    let needle = SearchQuery::new("needle").unwrap();
    let mut told = 0;
    let wanted = SearchRequest { needle: &needle, per_session: 1, cancelled: &AtomicBool::new(false) };
    search(&rows, wanted, &mut |_| {
        told += 1;
        if told == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(told, 2);
    let cancelled = SearchRequest { cancelled: &AtomicBool::new(true), ..wanted };
    search(&rows, cancelled, &mut |_| panic!("told although cancelled"));
    search(&[], wanted, &mut |_| panic!("told without a file"));
}
