use super::*;
use std::path::Path;
use wire::entry::{CheckpointFiles, MetaEntry, TranscriptEntry};

fn line(prompt: &str, files: impl IntoIterator<Item = (String, wire::entry::FileBackup)>) -> String {
    let snapshot = CheckpointFiles {
        message_id: prompt.into(),
        tracked_file_backups: files.into_iter().collect(),
        timestamp: "2026-01-01T00:00:00.000Z".into(),
    };
    let entry = MetaEntry::FileHistorySnapshot { message_id: prompt.into(), snapshot, is_snapshot_update: false };
    TranscriptEntry::Meta(entry).to_line().unwrap()
}

/// [LNG-13] [TST-189] The copies of the newest 100 checkpoints stay, and the first of each file; a copy that no checkpoint
/// names yet stays too.
#[test]
fn old_copies_are_removed() {
    let place = tempfile::tempdir().unwrap();
    let root = std::fs::canonicalize(place.path()).unwrap();
    let (file, transcript) = (root.join("f.txt"), root.join("s.jsonl"));
    let copies = CopyFolder::of(&root, "s");
    std::fs::write(&file, "0").unwrap();
    let mut tracked = copies.track(&file, CopySource::Original).unwrap();
    let mut text = String::new();
    for number in 1..=130 {
        std::fs::write(&file, format!("content {number}")).unwrap();
        assert!(matches!(copies.refresh(&mut tracked), FoundVersion::New(_)), "{number}");
        assert!(matches!(copies.refresh(&mut tracked), FoundVersion::Known), "unchanged content needs no copy");
        text.push_str(&line(&format!("p{number}"), [("f.txt".into(), tracked.backup.clone())]));
        text.push('\n');
    }
    std::fs::write(&transcript, text).unwrap();
    std::fs::write(&file, "not named yet").unwrap();
    copies.refresh(&mut tracked);
    let versions = || {
        let names = std::fs::read_dir(root.join("file-history/s")).unwrap();
        let mut found: Vec<u32> = names
            .map(|entry| entry.unwrap().file_name().to_string_lossy().split_once("@v").unwrap().1.parse().unwrap())
            .collect();
        found.sort_unstable();
        found
    };
    assert_eq!(versions(), (1..=132).collect::<Vec<u32>>());
    assert_eq!(copies.prune(&transcript).unwrap(), 30);
    // Version 1 is the first content; prompt 31 names version 32.
    assert_eq!(versions(), std::iter::once(1).chain(32..=132).collect::<Vec<u32>>());
}

/// [LNG-13] A file that is too large is not copied, and the reason is told.
#[test]
fn large_files_are_not_copied() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("large");
    std::fs::File::create(&file).unwrap().set_len(MAX_COPY_BYTES + 1).unwrap();
    let refused = CopyFolder::of(place.path(), "s").track(&file, CopySource::Original).unwrap_err();
    assert!(refused.contains("64 MiB"), "{refused}");
    std::fs::File::create(&file).unwrap().set_len(10).unwrap();
    assert!(CopyFolder::of(place.path(), "s").track(&file, CopySource::Original).is_ok());
}

/// A stored content becomes the copy without taking room.
#[test]
fn a_copy_shares_the_stored_content() {
    use std::os::unix::fs::MetadataExt;
    let place = tempfile::tempdir().unwrap();
    let (file, stored) = (place.path().join("f"), place.path().join("stored"));
    std::fs::write(&file, "x").unwrap();
    std::fs::write(&stored, "x").unwrap();
    let copies = CopyFolder::of(place.path(), "s");
    let tracked = copies.track(&file, CopySource::Stored(&stored)).unwrap();
    let copy = copies.path(&tracked.backup.backup_file_name.unwrap()).unwrap();
    assert_eq!(std::fs::metadata(copy).unwrap().ino(), std::fs::metadata(stored).unwrap().ino());
}

#[test]
fn names_from_transcripts_stay_in_the_folder() {
    let copies = CopyFolder::of(Path::new("/config"), "s");
    for name in ["../../etc/passwd", "/etc/passwd", "..", ".", ""] {
        assert_eq!(copies.path(name), None, "{name}");
    }
    assert_eq!(copies.path("ab@v1"), Some("/config/file-history/s/ab@v1".into()));
}

fn node(kind: &str, uuid: &str, parent: &str, text: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(
        r#"{{"parentUuid":{parent},"isSidechain":false,"type":"{kind}","message":{{"role":"{kind}","content":"{text}"}},"uuid":"{uuid}","timestamp":"2026-01-01T00:00:00.000Z","sessionId":"s"}}"#
    )
}

/// [LNG-9] Numbers count the present branch; branches that were left are told once, with what they hold alone.
#[test]
fn branches_are_told_apart() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("s.jsonl");
    let mut lines = vec![
        node("user", "u1", "", "one"),
        node("assistant", "a1", "u1", "x"),
        node("user", "u2", "a1", "two"),
        node("assistant", "a2", "u2", "x"),
        node("user", "u3", "a2", "three"),
        node("assistant", "a3", "u3", "x"),
        r#"{"type":"x-rewound","messageId":"u2","leafUuid":"a1","uuid":"w","timestamp":"t","sessionId":"s"}"#.into(),
    ];
    let read = |lines: &[String]| {
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
        let log = CheckpointLog::read(&path).unwrap();
        let here: Vec<String> = log.prompts.iter().filter(|p| p.number.is_some()).map(|p| p.text.clone()).collect();
        let left: Vec<(String, usize, String)> =
            log.branches.iter().map(|b| (b.leaf.clone(), b.prompts.len(), b.text.clone())).collect();
        (here, left, log.leaf)
    };
    let gone = vec![("a3".to_owned(), 2, "two".to_owned())];
    assert_eq!(read(&lines), (vec!["one".into()], gone.clone(), Some("a1".into())));
    lines.extend([node("user", "u4", "a1", "four"), node("assistant", "a4", "u4", "x")]);
    assert_eq!(read(&lines), (vec!["one".into(), "four".into()], gone.clone(), Some("a4".into())));
    lines.push(
        r#"{"type":"x-rewound","messageId":"u1","leafUuid":null,"uuid":"v","timestamp":"t","sessionId":"s"}"#.into(),
    );
    let all = vec![("a3".into(), 3, "one".into()), ("a4".into(), 2, "one".into())];
    assert_eq!(read(&lines), (vec![], all, None));
}
