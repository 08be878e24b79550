use super::*;
use terminal::surface::TerminalSize;
use terminal::theme::Theme;

fn session(number: u64, title: &str) -> SessionInfo {
    SessionInfo {
        id: format!("id-{number}"),
        path: PathBuf::from(format!("/s/id-{number}.jsonl")),
        first_prompt: Some(title.to_owned()),
        cwd: Some("/home/me/shop".into()),
        branch: Some("main".into()),
        modified_at: 1_000_000 - number,
        size: 1_234_567,
        ..SessionInfo::default()
    }
}

fn filled(sessions: Vec<SessionInfo>) -> SessionPicker {
    let mut picker = SessionPicker::new("", None);
    picker.apply_update(PickerUpdate::Sessions { round: 1, sessions, branch: Some("main".into()), is_all: true });
    picker.take_requests();
    picker
}

fn shown(picker: &SessionPicker, columns: usize, rows: usize) -> Vec<String> {
    let (lines, caret) = picker.drawn_rows(&Theme::default(), TerminalSize { columns, rows });
    assert!(lines.len() <= rows.max(2), "{} rows of {rows}", lines.len());
    assert!(lines.iter().all(|line| line.width() <= columns), "{lines:?}");
    assert!(caret.is_some_and(|caret| caret.row < lines.len() && caret.column < columns));
    // Wide windows have a margin.
    let margin = if columns >= 32 && rows >= 10 { 2 } else { 0 };
    lines.iter().map(|line| line.text().trim_end().get(margin..).unwrap_or_default().to_owned()).collect()
}

fn typed(picker: &mut SessionPicker, text: &str) {
    for c in text.chars() {
        assert_eq!(picker.press(KeyPress::char(c)), PickerOutcome::Stays);
    }
}

#[test]
fn typing_narrows_at_once_and_hits_follow() {
    // [TST-245]
    let linked = SessionInfo { pr_url: Some("https://example.test/pr/77".into()), ..session(3, "third") };
    let mut picker = filled(vec![session(1, "fix the parser"), session(2, "write docs"), linked]);
    typed(&mut picker, "parSER");
    assert_eq!(picker.list.len(), 1);
    let searches: Vec<PickerRequest> = picker.take_requests();
    let Some(PickerRequest::Search { round, query, scope: SessionScope::Folder }) = searches.last().cloned() else {
        panic!("{searches:?}")
    };
    assert_eq!(query, "parSER");
    let hit = |round| PickerUpdate::Hit {
        round,
        session: Box::new(session(2, "write docs")),
        snippet: "about the parser itself".into(),
        place: 10..16,
    };
    picker.apply_update(hit(round - 1));
    assert_eq!(picker.list.len(), 1, "an answer to an older question");
    picker.apply_update(hit(round));
    picker.apply_update(PickerUpdate::Searched { round });
    let rows = shown(&picker, 60, 20);
    assert!(rows[4].starts_with("❯ fix the parser") && rows[6].contains("write docs"), "{rows:?}");
    assert!(rows[7].contains("about the parser itself"), "{rows:?}");
    for _ in 0..6 {
        picker.press(KeyPress::plain(KeyCode::Backspace));
    }
    typed(&mut picker, "pr/77");
    assert_eq!(picker.list.get(0).unwrap().id, "id-3");
    assert_eq!(picker.list.len(), 1);
}

#[test]
fn forks_stand_below_what_they_belong_to() {
    let fork = |number, of: &str| SessionInfo { forked_from: Some(of.into()), ..session(number, "a fork") };
    let picker = filled(vec![fork(1, "id-4"), session(2, "other"), fork(3, "id-1"), session(4, "origin")]);
    let rows = shown(&picker, 60, 24);
    let titles: Vec<&str> =
        rows[4..].iter().step_by(2).map(|row| row.split("  ").find(|p| !p.is_empty()).unwrap()).take(4).collect();
    assert!(titles[0].starts_with("❯ a fork") && titles[1].starts_with("└ a fork"), "{rows:?}");
    assert!(titles[2].starts_with("└ origin") && titles[3].starts_with("other"), "{rows:?}");
}

#[test]
fn keys_choose_preview_rename_and_widen() {
    // [TST-245]
    let mut picker = filled(vec![session(1, "one"), session(2, "two")]);
    picker.press(KeyPress::plain(KeyCode::Down));
    picker.press(KeyPress::char(' '));
    assert_eq!(picker.take_requests(), [PickerRequest::Preview("/s/id-2.jsonl".into())]);
    picker.apply_update(PickerUpdate::Preview {
        path: "/s/id-2.jsonl".into(),
        messages: vec![(Speaker::User, "hello there".into())],
    });
    assert!(shown(&picker, 60, 20).iter().any(|row| row == "> hello there"));
    assert_eq!(picker.press(KeyPress::plain(KeyCode::Escape)), PickerOutcome::Stays);
    picker.press(KeyPress::ctrl('r'));
    typed(&mut picker, "new name");
    picker.press(KeyPress::plain(KeyCode::Enter));
    let path = PathBuf::from("/s/id-2.jsonl");
    assert_eq!(picker.take_requests(), [PickerRequest::Rename { path: path.clone(), name: "new name".into() }]);
    picker.apply_update(PickerUpdate::Renamed { path, name: Ok("new name".into()) });
    assert!(shown(&picker, 60, 20).iter().any(|row| row.starts_with("❯ new name")));
    picker.press(KeyPress::ctrl('b'));
    assert_eq!(picker.list.len(), 2);
    for (key, scope) in [('a', SessionScope::Everywhere), ('w', SessionScope::Worktrees), ('w', SessionScope::Folder)] {
        picker.press(KeyPress::ctrl(key));
        let asked = picker.take_requests();
        assert!(matches!(asked[0], PickerRequest::List { scope: told, .. } if told == scope), "{asked:?}");
    }
    assert_eq!(picker.list.len(), 0, "what was listed belongs to another question");
    assert_eq!(picker.press(KeyPress::plain(KeyCode::Enter)), PickerOutcome::Stays);
    assert_eq!(picker.press(KeyPress::plain(KeyCode::Escape)), PickerOutcome::Cancelled);
}

#[test]
fn every_size_shows_what_is_typed_and_a_session() {
    let sessions = (0..50).map(|n| session(n, &format!("第{n}の会話 conversation number {n}"))).collect();
    let mut picker = filled(sessions);
    for _ in 0..30 {
        picker.press(KeyPress::plain(KeyCode::Down));
    }
    for (columns, rows) in [(20, 5), (40, 24), (80, 10), (200, 60), (20, 2)] {
        let shown = shown(&picker, columns, rows);
        assert!(shown.iter().any(|row| row.starts_with("Search:")), "{shown:?}");
        assert!(shown.iter().any(|row| row.starts_with("❯ 第")), "{shown:?}");
    }
}

#[test]
fn the_keys_fit_every_width_and_the_least_important_go_first() {
    let picker = filled(vec![session(1, "one")]);
    let hint = |columns| shown(&picker, columns, 16).pop().unwrap();
    assert!(hint(120).ends_with("ctrl+w worktrees · ctrl+b branch · esc close"), "{}", hint(120));
    assert!(hint(96).ends_with("ctrl+w worktrees · esc close"), "{}", hint(96));
    assert_eq!(hint(44), "enter resume · space preview · esc close");
    assert_eq!(hint(20), "enter resume");
}
