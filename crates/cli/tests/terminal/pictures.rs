//! Pictures of the interface, drawn from the real binary. Each is compared with its file in `docs/pictures`, and
//! `cargo xtask pictures` writes those files. What differs from run to run (times, the spinner, names of files) is
//! replaced, so that a difference is one of the interface.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

mod scenes;
mod steady;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use testkit::{ScreenPicture, first_difference};

/// Set by `cargo xtask pictures`: pictures are written and not compared.
const WRITE: &str = "GIMLET_WRITE_PICTURES";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures")
}

/// Compares a picture with its file, or writes it.
#[expect(clippy::disallowed_methods, reason = "the task that writes the pictures says so in the environment")]
fn check(name: &str, label: &str, picture: &ScreenPicture) {
    let file = folder().join(format!("{name}.svg"));
    let drawn = picture.svg("gimlet", label);
    if std::env::var_os(WRITE).is_some() {
        std::fs::create_dir_all(folder()).unwrap();
        std::fs::write(&file, drawn).unwrap();
        return;
    }
    let stored = std::fs::read_to_string(&file).unwrap_or_default();
    if let Some(difference) = first_difference(&stored, &drawn) {
        panic!(
            "docs/pictures/{name}.svg: {difference}\nIf this is intended, run `cargo xtask pictures` and look at it. \
             The screen was:\n{}",
            picture.texts().join("\n")
        );
    }
}

/// A test for each picture, and their file names.
macro_rules! pictures {
    ($($name:ident: $label:literal, $scene:expr;)*) => {
        $(
            #[test]
            fn $name() {
                let mut picture = $scene;
                steady::make_steady(&mut picture);
                check(&file_name(stringify!($name)), $label, &picture);
            }
        )*
        const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

fn file_name(name: &str) -> String {
    name.replace('_', "-")
}

use scenes::{ASCII, DARK, LIGHT, NO_COLOR, SIXTEEN};

pictures! {
    demo: "gimlet demo: a failing test is found, fixed and run again", scenes::demo();
    start: "A new conversation: model, folder, branch and a prompt", scenes::start();
    first_start: "The first start without credentials", scenes::first_start();
    trust: "A folder with servers and hooks of its own is asked about first", scenes::trust();
    session: "A session: a file is read, changed with a diff, and the tests run", scenes::session((96, 44), DARK);
    session_light: "The same session in a light theme", scenes::session((96, 44), LIGHT);
    session_no_color: "The same session without colours", scenes::session((80, 46), NO_COLOR);
    session_sixteen_colors: "The same session in sixteen colours", scenes::session((80, 46), SIXTEEN);
    session_ascii: "The same session where the terminal has no other signs than ASCII", scenes::session((80, 46), ASCII);
    failure: "A failed command with the lines that look like its cause", scenes::failure();
    changes: "An edit and a new file in the stream", scenes::changes();
    permission: "A command that is asked for", scenes::permission((80, 24), DARK);
    permission_narrow: "The same question in 40 columns", scenes::permission((40, 28), DARK);
    permission_light: "The same question in a light theme", scenes::permission((80, 24), LIGHT);
    compound: "A command of several parts, with the part that asks", scenes::compound();
    diff: "A change that is asked for, as a diff", scenes::diff(DARK);
    diff_light: "The same change in a light theme", scenes::diff(LIGHT);
    plan: "A plan that waits for approval", scenes::plan();
    question: "A question of the model", scenes::question();
    reply: "A table and code in 120 columns", scenes::reply((120, 40));
    reply_wide: "The same reply in 200 columns", scenes::reply((200, 36));
    reply_narrow: "The same reply in 40 columns", scenes::reply((40, 60));
    files: "The menu of files", scenes::files();
    commands: "The menu of commands", scenes::commands();
    history: "The list of earlier prompts", scenes::history();
    picker: "The picker with the conversations of a folder", scenes::picker();
    transcript: "The whole conversation, opened with Ctrl+O", scenes::transcript();
    work: "Tasks and agents above the prompt", scenes::work();
    tasks: "Background tasks with their output", scenes::tasks();
    rewind: "The prompts of a conversation, with what their turns changed", scenes::rewind();
    rewind_choice: "What going back to a prompt would do", scenes::rewind_choice();
    config: "The settings", scenes::config();
    model: "The models with context window and price", scenes::model();
    mcp: "The servers and their state", scenes::mcp();
    context: "What fills the context", scenes::context();
    usage: "What the conversation cost, by model", scenes::usage();
}

#[test]
fn every_picture_is_shown_somewhere() {
    let pages = ["README.md", "docs/terminal.md", "docs/cost.md", "docs/rewind.md"]
        .map(|page| folder().join("../..").join(page));
    let text: String = pages.iter().map(|page| std::fs::read_to_string(page).unwrap()).collect();
    for name in NAMES {
        let picture = format!("pictures/{}.svg)", file_name(name));
        assert!(text.contains(&picture), "{picture} is on no page");
    }
}

#[test]
fn every_picture_belongs_to_a_test() {
    let of_tests: BTreeSet<String> = NAMES.iter().map(|name| format!("{}.svg", file_name(name))).collect();
    let files = std::fs::read_dir(folder()).unwrap();
    let files: BTreeSet<String> = files.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(files, of_tests);
}
