use super::*;
use crate::app::session::SessionDisplay;
use crate::app::{AppEffect, AppInput, Preferences};
use serde_json::json;
use terminal::keys::{KeyCode, KeyPress};
use terminal::surface::TerminalSize;

fn app() -> App {
    let session = SessionDisplay { id: Some("s".into()), cwd: "/project".into(), ..SessionDisplay::default() };
    let mut app = App::new(Preferences::default(), TerminalSize { columns: 80, rows: 24 }, session);
    app.now = Duration::from_secs(10);
    app.is_ready = true;
    app
}

/// [LNG-9] A prompt returns with what was pasted into it and with its pictures, and is sent again unchanged.
#[test]
fn pastes_and_pictures_return() {
    let mut app = app();
    let pasted = "one\ntwo\nthree\nfour";
    app.update(AppInput::Key(KeyPress::char('x')));
    app.update(AppInput::Paste(pasted.into()));
    let label = app.prompt.editor.chips.add_image("image/png".into(), "cGlj".into());
    app.prompt.editor.insert(&format!(" {label}"));
    let shown = app.prompt.editor.text().to_owned();
    assert!(shown.contains("[Pasted text #1 +3 lines]") && shown.contains("[Image #2]"), "{shown}");
    let sent = |effects: Vec<AppEffect>| {
        effects.into_iter().find_map(|effect| if let AppEffect::Submit(prompt) = effect { Some(prompt) } else { None })
    };
    let first = sent(app.update(AppInput::Key(KeyPress::plain(KeyCode::Enter)))).unwrap();
    app.activity.turn = None;
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "cGlj"}});
    app.return_rewound_prompt(&json!([image, {"type": "text", "text": first.text}]));
    assert_eq!(app.prompt.editor.text(), shown);
    let again = sent(app.update(AppInput::Key(KeyPress::plain(KeyCode::Enter)))).unwrap();
    assert_eq!(again, first);
}

/// [LNG-9] So does a prompt of an earlier process: whole, with its pictures; a later picture gets a number of its own.
#[test]
fn prompts_of_an_earlier_process_return_whole() {
    let mut app = app();
    let image =
        |data: &str| json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}});
    app.return_rewound_prompt(&json!([image("b25l"), image("dHdv"), {"type": "text", "text": "see [Image #4]"}]));
    let text = app.prompt.editor.text().to_owned();
    assert!(text.starts_with("see [Image #4] [Image #"), "{text}");
    assert_eq!(
        app.prompt.editor.chips.images(&text),
        [("image/png".into(), "b25l".into()), ("image/png".into(), "dHdv".into())]
    );
    let later = app.prompt.editor.chips.add_image("image/png".into(), "bGF0ZXI=".into());
    assert!(!text.contains(&later), "{text} {later}");
}

#[test]
fn commands_return_as_they_were_typed() {
    let text = "<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>all of it</command-args>";
    let mut app = app();
    app.return_rewound_prompt(&json!(text));
    assert_eq!(app.prompt.editor.text(), "/review all of it");
}

#[test]
fn what_is_typed_stays_behind_the_prompt_that_returns() {
    let mut app = app();
    app.prompt.editor.set("typed");
    app.return_rewound_prompt(&json!("earlier"));
    assert_eq!(app.prompt.editor.text(), "earlier\ntyped");
}

#[test]
fn labels_are_found_in_order() {
    assert_eq!(image_labels("a [Image #2] b [Image #10][Image #x] [Image #"), ["[Image #2]", "[Image #10]"]);
}
