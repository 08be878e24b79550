use super::*;
use serde_json::json;

struct Place {
    temp: tempfile::TempDir,
    env: Env,
}

impl Place {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let env = Env::default().with([("HOME", temp.path())]);
        Self { temp, env }
    }

    fn file(&self) -> std::path::PathBuf {
        self.temp.path().join("p/.claude/settings.json")
    }

    fn edit(&self, keys: &[&str], change: &SettingsEdit) -> Result<bool, EditError> {
        edit(&self.file(), keys, change, FilePrivacy::Private, &self.env)
    }

    fn start(&self, text: &str) {
        std::fs::create_dir_all(self.file().parent().unwrap()).unwrap();
        std::fs::write(self.file(), text).unwrap();
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.file()).unwrap()
    }
}

#[test]
fn comments_unknown_keys_and_order_survive() {
    // [CLI-76]
    let place = Place::new();
    place.start("{\n  // keep me\n  \"zzz\": {\"x\": [1, 2]},\n  \"model\": \"a\", // here\n  \"permissions\": {\n    \"allow\": [\"Read\"]\n  }\n}\n");
    assert!(place.edit(&["model"], &SettingsEdit::Set(json!("b"))).unwrap());
    assert!(place.edit(&["permissions", "allow"], &SettingsEdit::Add(vec![json!("Read"), json!("Bash(ls)")])).unwrap());
    assert!(place.edit(&["permissions", "deny"], &SettingsEdit::Add(vec![json!("WebFetch")])).unwrap());
    let text = place.text();
    for kept in ["// keep me", "\"zzz\": {\"x\": [1, 2]}", "\"model\": \"b\", // here"] {
        assert!(text.contains(kept), "{kept} in {text}");
    }
    assert!(text.find("zzz") < text.find("model"));
    let parsed = parse_object(&text).unwrap().object;
    assert_eq!(parsed["permissions"], json!({"allow": ["Read", "Bash(ls)"], "deny": ["WebFetch"]}));
    assert!(place.edit(&["permissions", "allow"], &SettingsEdit::Take(vec![json!("Read")])).unwrap());
    assert!(place.edit(&["model"], &SettingsEdit::Remove).unwrap());
    let parsed = parse_object(&place.text()).unwrap().object;
    assert_eq!(parsed["permissions"]["allow"], json!(["Bash(ls)"]));
    assert!(!parsed.contains_key("model"));
    assert!(place.edit(&["permissions", "allow"], &SettingsEdit::Take(vec![json!("Bash(ls)")])).unwrap());
    let parsed = parse_object(&place.text()).unwrap().object;
    assert_eq!(parsed["permissions"], json!({"deny": ["WebFetch"]}), "an empty list is not left behind");
}

#[test]
fn nothing_to_do_leaves_the_file_alone() {
    let place = Place::new();
    assert!(!place.edit(&["model"], &SettingsEdit::Remove).unwrap());
    assert!(!place.file().exists());
    assert!(place.edit(&["model"], &SettingsEdit::Set(json!("a"))).unwrap());
    assert!(!place.edit(&["model"], &SettingsEdit::Set(json!("a"))).unwrap());
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(std::fs::metadata(place.file()).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_file_that_does_not_parse_is_not_touched() {
    let place = Place::new();
    for broken in ["{\n \"a\": \n}", "[1]", "{\"a\": 1"] {
        place.start(broken);
        let error = place.edit(&["model"], &SettingsEdit::Set(json!("a"))).unwrap_err();
        assert!(error.to_string().contains("was not changed"), "{error}");
        assert_eq!(place.text(), broken);
    }
    place.start("{\"model\": \"a\", \"env\": 3}");
    assert!(place.edit(&["model"], &SettingsEdit::Add(vec![json!("b")])).is_err());
    assert!(place.edit(&["env", "A"], &SettingsEdit::Set(json!("b"))).is_err());
    assert_eq!(place.text(), "{\"model\": \"a\", \"env\": 3}");
}

#[test]
fn concurrent_writers_lose_nothing() {
    let place = Place::new();
    place.start("{ // first\n}\n");
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let place = &place;
            scope.spawn(move || {
                for n in 0..10 {
                    let rule = json!(format!("Bash({writer} {n})"));
                    assert!(place.edit(&["permissions", "allow"], &SettingsEdit::Add(vec![rule])).unwrap());
                }
            });
        }
    });
    let text = place.text();
    assert!(text.contains("// first"));
    assert_eq!(parse_object(&text).unwrap().object["permissions"]["allow"].as_array().unwrap().len(), 80);
    let beside = std::fs::read_dir(place.file().parent().unwrap()).unwrap().count();
    assert_eq!(beside, 1, "no temporary file or lock is left beside it");
}
