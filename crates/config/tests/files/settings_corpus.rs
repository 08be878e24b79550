//! Settings files as people write them, good and bad: good ones load without a message and fit the shipped schema; bad
//! ones are reported with file, line and key, and never stop the rest from applying.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use config::{ConfigLoader, ProjectConfig, SettingsSelection};
use serde_json::Value;
use std::path::{Path, PathBuf};
use sys::Env;

fn corpus(kind: &str) -> Vec<(String, String)> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(kind);
    let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let json = files.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    let mut found: Vec<_> = json
        .map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(&path).unwrap()))
        .collect();
    found.sort();
    found
}

/// Loads `text` as the user's file, beside a project file that must load whatever is wrong with `text`.
fn load(text: &str, home: &Path) -> ProjectConfig {
    let env = Env::default().with([("HOME", home)]);
    let project = home.join("work");
    std::fs::create_dir_all(project.join(".claude")).unwrap();
    std::fs::create_dir_all(home.join(".claude")).unwrap();
    std::fs::write(home.join(".claude/settings.json"), text).unwrap();
    std::fs::write(project.join(".claude/settings.json"), r#"{"permissions": {"deny": ["Bash(canary)"]}}"#).unwrap();
    let selection = SettingsSelection { managed_dir: Some(home.join("managed")), ..SettingsSelection::default() };
    ConfigLoader::open(&project, &env, &selection).unwrap()
}

fn plain(text: &str) -> Option<Value> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (collect, options) = (jsonc_parser::CollectOptions::default(), jsonc_parser::ParseOptions::default());
    let value = jsonc_parser::parse_to_ast(text, &collect, &options).ok()?.value;
    Some(value.map_or_else(|| Value::Object(serde_json::Map::new()), Value::from))
}

#[test]
fn good_files_load_without_a_word_and_fit_the_schema() {
    // [CLI-100]
    let validator = wire::json_schema::Schema::compile(&wire::settings::schema()).unwrap();
    let files = corpus("valid");
    assert!(files.len() >= 20, "{}", files.len());
    for (name, text) in files {
        let temp = tempfile::tempdir().unwrap();
        let loaded = load(&text, temp.path());
        assert!(loaded.diagnostics.is_empty(), "{name}: {:?}", loaded.diagnostics);
        let value = without_nulls(plain(&text).expect(&name));
        let errors: Vec<String> = validator.faults(&value, usize::MAX).iter().map(ToString::to_string).collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
    }
}

/// `null` means that the key is absent.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(name, value)| (name, without_nulls(value))).collect())
        }
        other => other,
    }
}

#[test]
fn bad_files_are_reported_with_their_lines_and_disable_nothing_else() {
    // [CLI-74] [CLI-75]
    let validator = wire::json_schema::Schema::compile(&wire::settings::schema()).unwrap();
    for (name, text) in corpus("invalid") {
        let path = format!("{}/tests/corpus/invalid/{name}.expect", env!("CARGO_MANIFEST_DIR"));
        let expected = std::fs::read_to_string(path).unwrap();
        let temp = tempfile::tempdir().unwrap();
        let loaded = load(&text, temp.path());
        let said: Vec<String> = loaded.diagnostics.iter().map(ToString::to_string).collect();
        for line in expected.lines().filter(|line| !line.starts_with("schema: ")) {
            assert!(said.iter().any(|said| said.contains(line)), "{name}: {line:?} in {said:?}");
        }
        assert!(loaded.rules.iter().any(|rule| rule.text == "Bash(canary)"), "{name}");
        let judged = match plain(&text).filter(Value::is_object) {
            None => "schema: not JSON",
            Some(value) if validator.is_valid(&value) => "schema: silent",
            Some(_) => "schema: refuses",
        };
        let wanted = expected.lines().find(|line| line.starts_with("schema: ")).unwrap();
        // A parser that accepts more than ours, or joins duplicates, may still read the file.
        assert!(judged == wanted || wanted == "schema: not JSON", "{name}: {judged}");
    }
}
