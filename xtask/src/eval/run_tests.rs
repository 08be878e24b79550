use super::*;
use crate::eval::task;
use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

fn tasks() -> Vec<Task> {
    task::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), None).unwrap()
}

/// [MX-41] The hidden checks fail where a run only says that it is done.
#[test]
fn no_check_passes_when_nothing_was_done() {
    let tasks = tasks();
    let line = json!({"type": "result", "result": "All done, the tests pass."});
    let next = AtomicUsize::new(0);
    let passed: Mutex<Vec<String>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let place = Place::prepare(task).unwrap();
                    let ran = Processes { lines: vec![line.clone()], ..Processes::default() };
                    if checked(task, &place, &ran, &[], Measures::default()).unwrap().passed {
                        passed.lock().unwrap().push(task.name.clone());
                    }
                }
            });
        }
    });
    assert_eq!(passed.into_inner().unwrap(), [""; 0]);
}

/// [MX-41] A run that has to be killed has not passed, whatever its check says.
#[test]
fn a_run_over_its_limit_fails() {
    let folder = tempfile::tempdir().unwrap();
    let line = json!({"type": "result", "result": "done"});
    let program = noting_program(folder.path(), &[line]);
    std::fs::write(folder.path().join("check"), "exit 0\n").unwrap();
    let task = Task { folder: folder.path().to_path_buf(), limit: Duration::from_secs(20), ..first_task() };
    let key = "CARGO_MANIFEST_DIR".to_owned();
    let backend = Backend::Live { url: None, key, model: None, record: None };
    assert!(run(&task, &program, &backend).unwrap().passed);
    std::fs::write(&program, "#!/bin/bash\nprintf '{\"type\": \"result\", \"result\": \"done\"}\\n'\nexec sleep 600\n")
        .unwrap();
    let late = run(&Task { limit: Duration::from_secs(1), ..task }, &program, &backend).unwrap();
    assert!(!late.passed && late.said.contains("did not end within 1 s"), "{}", late.said);
}

/// A program in place of gimlet that notes how it was started and answers with these lines.
fn noting_program(folder: &Path, lines: &[Value]) -> PathBuf {
    let path = folder.join("program");
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    let script = format!(
        "#!/bin/bash\nprintf '%s\\n' \"$@\" > '{0}/args'\nenv > '{0}/env'\ncat <<'END'\n{1}\nEND\n",
        folder.display(),
        text.join("\n")
    );
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn first_task() -> Task {
    tasks().into_iter().find(|task| task.name.starts_with("01-")).unwrap()
}

/// [MX-43] A live run gets the endpoint, the key of the named variable, the model and a cassette; the key is in no argument.
#[test]
fn a_live_run_is_connected_and_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let program = noting_program(folder.path(), &[json!({"type": "result", "result": "done"})]);
    let task = first_task();
    let cassettes = folder.path().join("cassettes");
    // Any variable that is set will do as the one that holds the key.
    let backend = Backend::Live {
        url: Some("http://127.0.0.1:9/gateway".into()),
        key: "CARGO_MANIFEST_DIR".into(),
        model: Some("some-model".into()),
        record: Some(cassettes.clone()),
    };
    let finished = run(&task, &program, &backend).unwrap();
    assert!(!finished.passed && finished.changed.is_none(), "{}", finished.said);
    let key = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    let [args, env] = ["args", "env"].map(|name| std::fs::read_to_string(folder.path().join(name)).unwrap());
    assert!(env.contains("ANTHROPIC_BASE_URL=http://127.0.0.1:9/gateway\n"), "{env}");
    assert!(env.contains(&format!("ANTHROPIC_API_KEY={key}\n")), "{env}");
    let cassette = cassettes.join(format!("{}-1.jsonl", task.name));
    assert!(args.contains("--model\nsome-model\n"), "{args}");
    assert!(args.contains(&format!("--record\n{}\n", cassette.display())), "{args}");
    assert!(!args.lines().any(|line| line == key), "{args}");
    let unset = Backend::Live { url: None, key: "NO_SUCH_VARIABLE_HERE".into(), model: None, record: None };
    let error = run(&task, &program, &unset).err().unwrap();
    assert!(format!("{error:#}").contains("NO_SUCH_VARIABLE_HERE holds no key"), "{error:#}");
}

/// [MX-43] A replayed run that differs from the cassette is reported with its first difference.
#[test]
fn a_replayed_run_that_differs_is_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let task = first_task();
    let replay = Backend::Replay(folder.path().join("cassettes"));
    let same = noting_program(folder.path(), &[json!({"type": "result", "result": "done"})]);
    assert_eq!(run(&task, &same, &replay).unwrap().changed, None);
    let args = std::fs::read_to_string(folder.path().join("args")).unwrap();
    let cassette = folder.path().join(format!("cassettes/{}-1.jsonl", task.name));
    assert!(args.contains(&format!("--replay\n{}\n", cassette.display())), "{args}");
    let said = "the conversation left the recorded way at exchange 2: message 3";
    let differs = noting_program(folder.path(), &[json!({"type": "result", "is_error": true, "result": said})]);
    assert_eq!(run(&task, &differs, &replay).unwrap().changed.as_deref(), Some(said));
}
