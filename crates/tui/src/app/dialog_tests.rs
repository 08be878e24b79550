use super::*;

fn request(value: &Value) -> ToolPermissionRequest {
    serde_json::from_str::<CanUseTool>(&value.to_string()).unwrap().into()
}

/// The body of the answer, as it is written.
fn answer(dialog: &Dialog, choice: DialogChoice) -> String {
    dialog.answer(choice).outcome.unwrap().get().to_owned()
}

fn dialog(value: &Value) -> Dialog {
    Dialog::new("q1".into(), request(value), Duration::ZERO, PlanOffers::default())
}

fn texts(dialog: &Dialog) -> Vec<String> {
    sized(dialog, 60, 24)
}

fn sized(dialog: &Dialog, columns: usize, rows: usize) -> Vec<String> {
    let (session, theme) = (SessionDisplay::default(), Theme::default());
    let place = DialogArea { session: &session, theme: &theme, columns, rows, waiting: 0 };
    layout::inside_margin(&dialog.rows_in(&place).0, &place)
}

#[test]
fn the_rule_that_would_be_saved_is_shown_in_full() {
    // [TST-240]
    let suggestions = json!([{"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "cargo test:*"}],
                              "behavior": "allow", "destination": "localSettings"}]);
    let dialog = dialog(
        &json!({"tool_name": "Bash", "input": {"command": "cargo test"}, "permission_suggestions": suggestions}),
    );
    let rows = texts(&dialog);
    assert!(rows.contains(&"  cargo test".to_owned()), "{rows:?}");
    let all = rows.join(" ");
    assert!(all.contains("2. Yes, and do not ask again for  cargo test:*  in this"), "{rows:?}");
    assert!(answer(&dialog, DialogChoice::YesAlways).contains("localSettings"));
}

#[test]
fn a_file_to_be_read_is_named_by_the_question_alone() {
    let dialog = dialog(&json!({"tool_name": "Read", "input": {"file_path": "/etc/motd"}, "description": "/etc/motd"}));
    let rows = texts(&dialog);
    assert!(rows[1].starts_with("Do you want to read "), "{rows:?}");
    assert_eq!(rows.concat().matches("etc/motd").count(), 1, "{rows:?}");
    let fetch = self::dialog(
        &json!({"tool_name": "WebFetch", "input": {"url": "https://a.example/"}, "description": "https://a.example/"}),
    );
    assert_eq!(texts(&fetch).concat().matches("https://a.example/").count(), 1, "{:?}", texts(&fetch));
}

#[test]
fn a_scope_that_cannot_be_told_is_not_offered() {
    // [TST-240]
    for suggestion in
        [json!({"type": "novel"}), json!({"type": "addRules", "behavior": "allow", "destination": "moon", "rules": []})]
    {
        let dialog = dialog(&json!({"tool_name": "Bash", "permission_suggestions": [suggestion]}));
        assert_eq!(dialog.choices, [DialogChoice::Yes, DialogChoice::No]);
    }
}

#[test]
fn no_ends_the_turn_unless_something_was_said_or_an_agent_asked() {
    let mut asked = dialog(&json!({"tool_name": "Bash", "input": {"command": "x"}}));
    assert!(answer(&asked, DialogChoice::No).contains("\"interrupt\":true"));
    let mut comment = Editor::new();
    comment.insert("use make");
    asked.field = Some(DialogField::Comment(comment));
    let answered = answer(&asked, DialogChoice::No);
    assert!(answered.contains("use make") && !answered.contains("interrupt"));
    let agent = dialog(&json!({"tool_name": "Bash", "agent_id": "a1"}));
    assert!(answer(&agent, DialogChoice::No).contains("\"interrupt\":false"));
    assert!(texts(&agent)[2].contains("asked by agent a1"));
}

#[test]
fn a_plan_is_shown_rendered_and_its_approval_sets_the_mode() {
    // [TST-241]
    let plan = dialog(&json!({"tool_name": "ExitPlanMode", "input": {"plan": "# Steps\n\n1. look\n2. leap"}}));
    let rows = texts(&plan);
    assert!(rows.contains(&"  1. look".to_owned()) && rows.contains(&"  Steps".to_owned()), "{rows:?}");
    assert_eq!(plan.choices, [DialogChoice::PlanAccepting, DialogChoice::PlanAsking, DialogChoice::No]);
    assert!(answer(&plan, DialogChoice::PlanAccepting).contains("\"mode\":\"acceptEdits\""));
    let refused = answer(&plan, DialogChoice::No);
    assert!(refused.contains("keep planning") && !refused.contains("interrupt"));
}

#[test]
fn an_edit_is_shown_as_its_diff() {
    let dialog = dialog(&json!({"tool_name": "Edit",
        "input": {"file_path": "a.rs", "old_string": "let a = 1;\n", "new_string": "let b = 1;\n"}}));
    let rows = texts(&dialog);
    assert_eq!(rows[1], "Do you want to edit a.rs?");
    assert!(rows[3].ends_with("- let a = 1;") && rows[4].ends_with("+ let b = 1;"));
}

#[test]
fn preview_reason_and_answers_are_set_apart_where_there_is_room() {
    let asked = dialog(&json!({"tool_name": "Bash", "input": {"command": "make"}, "decision_reason": "uses make"}));
    let rows = sized(&asked, 60, 24);
    assert_eq!(
        rows[1..],
        [
            "Do you want to run this command?",
            "",
            "  make",
            "",
            "Uses make",
            "",
            "❯ 1. Yes",
            "  2. No, and say what to do instead",
            "",
            "esc to cancel · tab adds a note · ctrl+e why it asks"
        ],
        "{rows:?}"
    );
    let low = sized(&asked, 60, 12);
    assert!(!low.contains(&String::new()) && low.contains(&"Uses make".to_owned()), "{low:?}");
}

#[test]
fn that_a_question_wants_an_answer_is_no_reason() {
    let asks = |tool: &str| {
        let reason = "the tool needs an answer of the user";
        dialog(&json!({"tool_name": tool, "input": {"plan": "1. look"}, "decision_reason": reason,
                      "requires_user_interaction": true}))
    };
    let plan = texts(&asks("ExitPlanMode"));
    assert!(!plan.iter().any(|row| row.contains("answer of the user")), "{plan:?}");
    let tool = texts(&asks("mcp__bank__pay"));
    assert!(tool.contains(&"This tool asks every time.".to_owned()), "{tool:?}");
}

#[test]
fn parts_of_a_command_are_told_with_what_each_needs() {
    // [TST-240]
    let parts = json!([{"command": "cd src", "decision": "allow", "reason": "read-only"},
                       {"command": "rm x", "decision": "ask", "reason": "no rule allows it"}]);
    let mut dialog =
        dialog(&json!({"tool_name": "Bash", "input": {"command": "cd src && rm x"}, "command_parts": parts}));
    let rows = texts(&dialog);
    assert!(rows.contains(&"  ✔ cd src".to_owned()) && rows.contains(&"  ? rm x".to_owned()), "{rows:?}");
    dialog.explains = true;
    let rows = texts(&dialog);
    assert!(rows.iter().any(|row| row.contains("no rule allows it")), "{rows:?}");
    assert!(rows.contains(&"1 of 2 parts need your permission".to_owned()), "{rows:?}");
}

#[test]
fn the_chosen_answer_is_seen_at_every_size_and_previews_scroll() {
    // [TST-240] [TST-247]
    let command: Vec<String> = (0..60).map(|n| format!("echo {n}")).collect();
    let mut dialog = dialog(&json!({"tool_name": "Bash", "input": {"command": command.join("\n")},
        "decision_reason": "a reason that is long enough to wrap in a narrow window"}));
    for (columns, rows) in [(20, 5), (40, 8), (80, 24), (200, 60)] {
        for chosen in 0..2 {
            dialog.chosen = chosen;
            let shown = sized(&dialog, columns, rows);
            assert!(shown.len() <= rows, "{columns}x{rows}");
            assert!(shown.iter().any(|row| row.starts_with('❯')), "{columns}x{rows}: {shown:?}");
        }
    }
    dialog.top = Some(30);
    assert!(texts(&dialog).contains(&"  echo 30".to_owned()));
}

#[test]
fn a_change_is_shown_in_its_file_and_can_be_edited() {
    // [TST-44]
    let mut dialog = dialog(&json!({"tool_name": "Edit",
        "input": {"file_path": "a.rs", "old_string": "two\n", "new_string": "zwei\n"}}));
    dialog.original = Some("one\ntwo\nthree\n".into());
    let rows = texts(&dialog);
    assert!(
        rows.iter().any(|row| row.ends_with("2 - two")) && rows.iter().any(|row| row.ends_with("  three")),
        "{rows:?}"
    );
    // The missing final line break is restored.
    dialog.edit("deux".into());
    assert!(dialog.is_edited);
    let answer = answer(&dialog, DialogChoice::Yes);
    assert!(answer.contains(r#""new_string":"deux\n""#), "{answer}");
    assert!(texts(&dialog).iter().any(|row| row.contains("changed by you")));
}

/// A change in the middle of a long file whose name is long too, with an answer of several rows.
fn edit_of_a_long_file() -> Dialog {
    let suggestions = json!([{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]);
    let mut edit = dialog(&json!({"tool_name": "Edit", "permission_suggestions": suggestions,
        "decision_reason": "the file is outside the project",
        "input": {"file_path": "src/deep/in/the/tree/cart_total.rs", "old_string": "line 42\n", "new_string": "changed 42\n"}}));
    edit.original = Some((1..90).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n"));
    edit
}

#[test]
fn a_small_window_keeps_what_is_asked_the_change_the_answer_and_the_way_out() {
    // [TST-240] [TST-247]
    for (columns, rows) in [(20, 5), (20, 16), (40, 10), (80, 24), (20, 6), (20, 8), (32, 9), (200, 16)] {
        let mut edit = edit_of_a_long_file();
        for chosen in 0..edit.choices.len() {
            edit.chosen = chosen;
            let shown = sized(&edit, columns, rows);
            let has = |part: &str| shown.concat().contains(part);
            assert!(shown.len() <= rows, "{columns}x{rows}: {shown:?}");
            assert!(has("cart_total.rs"), "{columns}x{rows}: {shown:?}");
            assert!(has("42 - line 42"), "{columns}x{rows}: {shown:?}");
            assert_eq!(shown.iter().filter(|row| row.starts_with('❯')).count(), 1, "{columns}x{rows}: {shown:?}");
            assert!(shown.iter().any(|row| row.starts_with("esc to cancel")), "{columns}x{rows}: {shown:?}");
        }
    }
    assert_eq!(
        sized(&edit_of_a_long_file(), 20, 5),
        ["Edit …cart_total.rs?", "   42 - line 42", "❯ 1. Yes", "  2. Yes, and accept", "esc to cancel · pgdn"]
    );
}

#[test]
fn a_change_in_one_row_can_be_scrolled() {
    // [TST-240]
    let mut edit = edit_of_a_long_file();
    edit.top = Some(4);
    assert!(sized(&edit, 20, 5).concat().contains("42 + changed"), "{:?}", sized(&edit, 20, 5));
    edit.top = Some(0);
    assert!(sized(&edit, 20, 5).concat().contains("39   line 39"), "{:?}", sized(&edit, 20, 5));
}

#[test]
fn a_question_of_the_model_keeps_its_words_in_a_small_window() {
    // [TST-241] [TST-247]
    let option = |label: &str| json!({"label": label, "description": "some words about it"});
    let question =
        |text: &str| json!({"question": text, "header": "Choice", "options": [option("one"), option("two")]});
    let input = json!({"questions": [question("Which data base?"), question("And then?")]});
    let asked = dialog(&json!({"tool_name": "AskUserQuestion", "input": input}));
    let shown = sized(&asked, 20, 5);
    assert!(shown.contains(&"Which data base?".to_owned()) && shown.contains(&"❯ 1. one".to_owned()), "{shown:?}");
    assert!(shown.last().is_some_and(|row| row.starts_with("esc to cancel")), "{shown:?}");
}

#[test]
fn a_plan_offers_what_the_session_may() {
    // [TST-241]
    let request = || request(&json!({"tool_name": "ExitPlanMode", "input": {"plan": "x"}}));
    let offers = PlanOffers { clears: true, bypasses: true };
    let plan = Dialog::new("q".into(), request(), Duration::ZERO, offers);
    assert_eq!(
        plan.choices,
        [DialogChoice::PlanClearing, DialogChoice::PlanBypassing, DialogChoice::PlanAsking, DialogChoice::No]
    );
    assert!(answer(&plan, DialogChoice::PlanClearing).contains("\"interrupt\":true"));
}

#[test]
fn what_a_call_is_for_stands_below_the_question_and_one_part_is_not_listed() {
    // [TST-240] [TST-247]
    let one = json!([{"command": "make all", "decision": "ask", "reason": "no rule allows it"}]);
    let input = json!({"command": "make all", "description": "Build\neverything"});
    let dialog = dialog(&json!({"tool_name": "Bash", "input": input, "command_parts": one}));
    for (columns, rows) in [(20, 24), (40, 24), (80, 24), (200, 24)] {
        let shown = sized(&dialog, columns, rows);
        assert!(shown.contains(&"Build everything".to_owned()), "{columns}: {shown:?}");
        assert!(!shown.iter().any(|row| row.contains("? make")), "{columns}: {shown:?}");
        assert!(shown.iter().any(|row| row.starts_with("esc to cancel")), "{columns}: {shown:?}");
    }
}

#[test]
fn hidden_rows_are_counted_on_the_sides_where_there_are_any() {
    // [TST-240]
    let command: Vec<String> = (0..60).map(|n| format!("echo {n}")).collect();
    let mut dialog = dialog(&json!({"tool_name": "Bash", "input": {"command": command.join("\n")}}));
    assert!(texts(&dialog).contains(&"  … 49 rows below · pgdn".to_owned()), "{:?}", texts(&dialog));
    dialog.top = Some(10);
    assert!(texts(&dialog).contains(&"  … 10 rows above, 39 below · pgup pgdn".to_owned()), "{:?}", texts(&dialog));
    dialog.top = Some(60);
    assert!(texts(&dialog).contains(&"  … 49 rows above · pgup".to_owned()), "{:?}", texts(&dialog));
}
