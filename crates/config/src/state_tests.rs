use super::*;
use serde_json::json;

fn place() -> (tempfile::TempDir, Env) {
    let temp = tempfile::tempdir().unwrap();
    let env = Env::default().with([("HOME", temp.path())]);
    (temp, env)
}

#[test]
fn fifty_writers_lose_no_update() {
    // [CLI-92] [CLI-94]
    let (temp, env) = place();
    std::fs::write(temp.path().join(".claude.json"), r#"{"numStartups": 3, "unknown": {"deep": [1]}}"#).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..50 {
            let env = &env;
            scope.spawn(move || update(env, |state| drop(state.insert(format!("w{writer}"), json!(writer)))).unwrap());
        }
    });
    let state: Map<String, Value> =
        serde_json::from_slice(&std::fs::read(temp.path().join(".claude.json")).unwrap()).unwrap();
    assert_eq!(state.len(), 52);
    assert_eq!(state["unknown"], json!({"deep": [1]}));
    assert_eq!(backups(&temp.path().join(".claude/backups"), ".claude.json.backup.").len(), 5);
}

#[test]
fn a_corrupt_file_is_kept_aside_and_not_overwritten() {
    // [CLI-93]
    let (temp, env) = place();
    let path = temp.path().join(".claude.json");
    std::fs::write(&path, "{\"projects\": {").unwrap();
    for _ in 0..3 {
        let error = update(&env, |state| drop(state.insert("a".into(), json!(1)))).unwrap_err();
        assert!(matches!(error, StateError::Corrupt { .. }), "{error}");
    }
    assert!(check(&env).is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"projects\": {");
    let aside = backups(&temp.path().join(".claude/backups"), ".claude.json.corrupted.");
    assert_eq!(aside.len(), 1, "the same bytes are kept once");
    assert_eq!(std::fs::read_to_string(&aside[0]).unwrap(), "{\"projects\": {");
    std::fs::remove_file(&path).unwrap();
    assert!(check(&env).is_ok());
}

#[test]
fn the_state_file_is_private() {
    // SC-G02
    use std::os::unix::fs::PermissionsExt;
    let (temp, env) = place();
    update(&env, |state| drop(state.insert("a".into(), json!(1)))).unwrap();
    let mode = |path: &str| std::fs::metadata(temp.path().join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(".claude.json"), mode(".claude/locks")), (0o600, 0o700));
}
