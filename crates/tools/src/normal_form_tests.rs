use super::*;
use serde_json::json;

fn form(name: &str, input: &Value) -> (String, Value, String) {
    let registry = ToolRegistry::new(|_| true);
    let raw = wire::raw::to_raw(input).unwrap();
    let form = normalise(name, &raw, &registry);
    let input = form.input.map_or_else(|| input.clone(), |raw| serde_json::from_str(raw.get()).unwrap());
    (form.name.unwrap_or_else(|| name.to_owned()), input, form.note.unwrap_or_default())
}

#[test]
fn names_of_other_tool_sets_are_understood() {
    // [MX-21]
    for (sent, meant) in [
        ("bash", "Bash"),
        ("BASH", "Bash"),
        ("read_file", "Read"),
        ("readFile", "Read"),
        ("str_replace", "Edit"),
        ("web_fetch", "WebFetch"),
        ("todo_write", "TodoWrite"),
        ("multi-edit", "MultiEdit"),
        ("list_dir", "Read"),
    ] {
        let (name, _, note) = form(sent, &json!({}));
        assert_eq!(name, meant, "{sent}");
        assert!(note.contains(&format!("{sent} was taken for {meant}")), "{note}");
    }
    for sent in ["Bash", "Task", "make_coffee", "mcp__server__bash"] {
        assert_eq!(form(sent, &json!({})).0, sent);
    }
    let registry = ToolRegistry::new(|name| name != "Bash");
    let raw = wire::raw::to_raw(&json!({})).unwrap();
    assert!(normalise("shell", &raw, &registry).name.is_none(), "a tool that is not there is not taken");
}

#[test]
fn a_name_of_several_tools_is_told_by_its_fields() {
    // [MX-21]
    assert_eq!(form("search_files", &json!({"regex": "x", "path": "src"})).0, "Grep");
    assert_eq!(form("search_files", &json!({"pattern": "x", "output_mode": "content"})).0, "Grep");
    assert_eq!(form("search_files", &json!({"glob_pattern": "*.rs"})).0, "Glob");
    assert_eq!(form("search_files", &json!({"pattern": "*.rs"})).0, "search_files", "it could be both");
}

#[test]
fn unknown_names_get_the_nearest_tool() {
    // [MX-21]
    let registry = ToolRegistry::new(|_| true);
    let text = unknown_tool("Greb", &registry);
    assert!(text.starts_with("No such tool available: Greb. The nearest is Grep, which requires pattern."), "{text}");
    let text = unknown_tool("make_coffee", &registry);
    assert!(text.contains("The tools are ") && text.contains("Read"), "{text}");
}

#[test]
fn aliases_of_missing_fields_are_taken() {
    // [MX-22]
    let (_, input, note) = form("Read", &json!({"path": "a.txt"}));
    assert_eq!((input, note.as_str()), (json!({"file_path": "a.txt"}), "(`path` was taken for `file_path`)"));
    let (_, input, _) = form("Edit", &json!({"file": "a", "old_str": "x", "newText": "y"}));
    assert_eq!(input, json!({"file_path": "a", "old_string": "x", "new_string": "y"}));
    let (name, input, note) = form("run_command", &json!({"cmd": "ls"}));
    assert_eq!((name.as_str(), input), ("Bash", json!({"command": "ls"})));
    assert_eq!(note, "(run_command was taken for Bash; `cmd` was taken for `command`)");
}

#[test]
fn nothing_is_guessed_about_fields() {
    // [MX-22]
    let both = json!({"path": "a", "filename": "b"});
    assert_eq!(form("Read", &both).1, both, "two aliases");
    let present = json!({"file_path": "a", "path": "b"});
    assert_eq!(form("Read", &present).1, present, "the field is there");
    let grep = json!({"path": "src"});
    assert_eq!(form("Grep", &grep).1, grep, "a field of the tool itself");
}

#[test]
fn json_text_and_lists_of_words_are_read() {
    // [MX-22]
    let todos = json!([{"content": "a", "status": "pending", "activeForm": "b"}]);
    let (_, input, _) = form("TodoWrite", &json!({"todos": todos.to_string()}));
    assert_eq!(input, json!({"todos": todos}));
    let (_, input, _) = form("Bash", &json!({"command": ["git", "commit", "-m", "it's done"]}));
    assert_eq!(input, json!({"command": r"git commit -m 'it'\''s done'"}));
    let (_, input, _) = form("Bash", &json!({"command": ["bash", "-lc", "ls | wc -l"]}));
    assert_eq!(input, json!({"command": "ls | wc -l"}));
    let (name, _, _) = form("Edit", &json!({"file_path": "a", "edits": [{"old_string": "x", "new_string": "y"}]}));
    assert_eq!(name, "MultiEdit");
}

#[test]
fn ignored_fields_are_named_and_errors_show_what_is_needed() {
    // [MX-23]
    let (_, input, note) = form("Read", &json!({"file_path": "a", "view_range": [1, 5]}));
    assert_eq!(input, json!({"file_path": "a", "view_range": [1, 5]}));
    assert!(note.starts_with("(ignored `view_range`; Read has ") && note.contains("offset"), "{note}");
    assert_eq!(form("Read", &json!({"file_path": "a", "offset": "3"})).2, "");
    let registry = ToolRegistry::new(|_| true);
    let raw = wire::raw::to_raw(&json!({"file_path": "a", "text_old": "x"})).unwrap();
    let text =
        wrong_input("Edit: the required field `old_string` is missing", registry.find("Edit").unwrap().spec(), &raw);
    assert!(text.contains("Sent: file_path, text_old. Required: file_path, old_string, new_string."), "{text}");
    assert!(
        text.contains("Example: {\"file_path\":\"src/main.rs\",\"old_string\":\"…\",\"new_string\":\"…\"}"),
        "{text}"
    );
}
