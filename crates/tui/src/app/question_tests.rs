use super::*;
use crate::app::session::SessionDisplay;
use terminal::theme::Theme;

fn input() -> Value {
    json!({"questions": [
        {"question": "Which one?", "header": "One", "options": [{"label": "A", "description": "first", "preview": "+--+\n|A |\n+--+"}, {"label": "B"}]},
        {"question": "Which ones?", "header": "Many", "multiSelect": true, "options": [{"label": "C"}, {"label": "D"}, {"label": "E"}]},
        {"question": "Why?", "header": "Why", "options": [{"label": "F"}, {"label": "G"}]},
    ]})
}

fn questions(input: &Value) -> QuestionTabs {
    QuestionTabs::read("AskUserQuestion", input, Duration::ZERO).unwrap()
}

fn press(questions: &mut QuestionTabs, keys: &[KeyPress]) -> QuestionProgress {
    keys.iter().fold(QuestionProgress::Goes, |_, key| questions.key(*key, Duration::ZERO))
}

fn write(questions: &mut QuestionTabs, text: &str) -> QuestionProgress {
    let typed: Vec<KeyPress> = text.chars().map(KeyPress::char).collect();
    press(questions, &typed)
}

fn texts(questions: &QuestionTabs, columns: usize, rows: usize) -> Vec<String> {
    let (session, theme) = (SessionDisplay::default(), Theme::default());
    let place = DialogArea { session: &session, theme: &theme, columns, rows, waiting: 0 };
    crate::app::dialog::inside_margin(&questions.rows(&place).0, &place)
}

const ENTER: KeyPress = KeyPress { code: KeyCode::Enter, mods: terminal::keys::KeyMods::NONE };
const DOWN: KeyPress = KeyPress { code: KeyCode::Down, mods: terminal::keys::KeyMods::NONE };

#[test]
fn one_several_or_a_text_of_ones_own() {
    // [TST-241]
    let mut questions = questions(&input());
    assert_eq!(press(&mut questions, &[DOWN, ENTER]), QuestionProgress::Goes);
    assert_eq!(
        press(&mut questions, &[KeyPress::char(' '), DOWN, DOWN, KeyPress::char(' '), ENTER]),
        QuestionProgress::Goes
    );
    press(&mut questions, &[KeyPress::char('3')]);
    write(&mut questions, "because");
    let QuestionProgress::Done(fields) = press(&mut questions, &[ENTER]) else { panic!() };
    assert_eq!(fields["answers"], json!({"Which one?": "B", "Which ones?": "C, E", "Why?": "because"}));
}

#[test]
fn escape_refuses_and_other_tools_have_no_questions() {
    let mut asked = questions(&input());
    assert_eq!(press(&mut asked, &[KeyPress::plain(KeyCode::Escape)]), QuestionProgress::Refused);
    assert!(QuestionTabs::read("Bash", &input(), Duration::ZERO).is_none());
    assert!(QuestionTabs::read("AskUserQuestion", &json!({"questions": []}), Duration::ZERO).is_none());
}

#[test]
fn tabs_show_what_is_answered_and_a_last_look_what_is_missing() {
    // [TST-241]
    let mut asked = questions(&input());
    press(&mut asked, &[KeyPress::char('1'), KeyPress::plain(KeyCode::Right)]);
    let rows = texts(&asked, 60, 24);
    assert_eq!(rows[1], "☑ One   ☐ Many   ☐ Why   Send", "{rows:?}");
    // Answering the last question does not send while another one is open.
    assert_eq!(press(&mut asked, &[KeyPress::char('2')]), QuestionProgress::Goes);
    let rows = texts(&asked, 60, 24);
    assert!(
        rows.contains(&"    (not answered)".to_owned()) && rows.contains(&"❯ 1. Send answers".to_owned()),
        "{rows:?}"
    );
    let QuestionProgress::Done(fields) = press(&mut asked, &[ENTER]) else { panic!() };
    assert_eq!(fields["answers"], json!({"Which one?": "A", "Why?": "G"}));
}

#[test]
fn previews_are_shown_and_notes_go_along() {
    // [TST-241]
    let mut asked = questions(&input());
    let rows = texts(&asked, 60, 24);
    assert!(rows.contains(&"  │ |A |".to_owned()), "{rows:?}");
    press(&mut asked, &[KeyPress::char('n')]);
    write(&mut asked, "not sure");
    // Escape closes the note field without saving, and the question stays open.
    assert_eq!(press(&mut asked, &[KeyPress::plain(KeyCode::Escape)]), QuestionProgress::Goes);
    press(&mut asked, &[KeyPress::char('n')]);
    write(&mut asked, "maybe");
    press(&mut asked, &[ENTER, KeyPress::char('1'), KeyPress::char('1'), ENTER]);
    let QuestionProgress::Done(fields) = press(&mut asked, &[KeyPress::char('1')]) else { panic!() };
    assert_eq!(fields["annotations"]["Which one?"], json!({"notes": "maybe", "preview": "+--+\n|A |\n+--+"}));
}

#[test]
fn a_single_question_with_several_answers_needs_no_last_look() {
    let input = json!({"questions": [{"question": "Which?", "multiSelect": true, "options": [{"label": "A"}, {"label": "B"}]}]});
    let mut asked = questions(&input);
    press(&mut asked, &[KeyPress::char('1'), KeyPress::char('2'), KeyPress::char('3')]);
    write(&mut asked, "C too");
    press(&mut asked, &[ENTER]);
    let QuestionProgress::Done(fields) = press(&mut asked, &[ENTER]) else { panic!() };
    assert_eq!(fields["answers"]["Which?"], "A, B, C too");
}

#[test]
fn who_is_away_sends_what_was_chosen() {
    // [TST-241]
    let mut asked = questions(&input());
    asked.key(KeyPress::char('2'), Duration::from_secs(7));
    assert_eq!(asked.touched_at(), Duration::from_secs(7));
    let QuestionProgress::Done(fields) = asked.answer_unattended(Duration::from_mins(1)) else { panic!() };
    assert_eq!(fields["answers"], json!({"Which one?": "B"}));
    assert_eq!(fields["afkTimeoutMs"], 60_000);
}

#[test]
fn questions_fit_every_size() {
    // [TST-247]
    let mut asked = questions(&input());
    for (columns, rows) in [(20, 5), (40, 10), (80, 24)] {
        for step in [
            KeyPress::char('1'),
            KeyPress::char('2'),
            KeyPress::plain(KeyCode::Right),
            KeyPress::plain(KeyCode::Right),
            KeyPress::plain(KeyCode::Left),
        ] {
            let shown = texts(&asked, columns, rows);
            assert!(shown.len() <= rows, "{columns}x{rows}: {shown:?}");
            assert!(shown.iter().any(|row| row.starts_with('❯')), "{columns}x{rows}: {shown:?}");
            press(&mut asked, &[step]);
        }
        asked = questions(&input());
    }
}
