use super::*;
use std::time::{Duration, UNIX_EPOCH};
use sys::Env;

fn id(n: u8) -> String {
    format!("{n:08}-2222-4333-8444-555555555555")
}

struct World {
    dir: tempfile::TempDir,
    layout: StoreLayout,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let layout = StoreLayout::new(&Env::default().with([("CLAUDE_CONFIG_DIR", dir.path().join("cfg"))]));
        Self { dir, layout }
    }

    fn place(&self, name: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(&path).unwrap();
        std::fs::canonicalize(path).unwrap()
    }

    /// A session with one prompt in minute `minute`, in the project directory of `cwd`.
    fn session(&self, cwd: &Path, n: u8, minute: u64) -> Session {
        Session {
            path: self.layout.transcript(cwd, &id(n)),
            cwd: cwd.to_path_buf(),
            minute,
            extra: String::new(),
            entrypoint: "cli",
            prompt: "hi",
        }
    }
}

struct Session {
    path: PathBuf,
    cwd: PathBuf,
    minute: u64,
    extra: String,
    entrypoint: &'static str,
    prompt: &'static str,
}

impl Session {
    /// Writes it with the given file time.
    fn write_at(&self, modified_minute: u64) -> PathBuf {
        std::fs::create_dir_all(self.path.parent().unwrap()).unwrap();
        let Self { cwd, minute, extra, entrypoint, prompt, .. } = self;
        let line = format!(
            "{{\"parentUuid\":null,{extra}\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"{prompt}\"}},\"uuid\":\"u\",\"timestamp\":\"2026-01-01T00:{minute:02}:00.000Z\",\"entrypoint\":\"{entrypoint}\",\"cwd\":\"{}\"}}\n",
            cwd.display()
        );
        std::fs::write(&self.path, line).unwrap();
        let base = sys::clock::parse_iso("2026-01-01T00:00:00Z").unwrap();
        let time = UNIX_EPOCH + Duration::from_millis(base + modified_minute * 60_000);
        std::fs::File::options().append(true).open(&self.path).unwrap().set_modified(time).unwrap();
        self.path.clone()
    }

    fn write(&self) -> PathBuf {
        self.write_at(self.minute)
    }
}

// [SDK-175]
#[test]
fn the_newest_is_the_one_with_the_last_message_not_the_last_touch() {
    let world = World::new();
    let cwd = world.place("repo");
    world.session(&cwd, 1, 10).write_at(59);
    let newest = world.session(&cwd, 2, 30).write();
    world.session(&cwd, 3, 20).write();
    assert_eq!(latest(&world.layout, &cwd, LatestScope::Interactive), Some(newest));
    assert_eq!(latest(&world.layout, &world.place("other"), LatestScope::Headless), None);
}

// [TST-175] [CLI-17] [SDK-175]
#[test]
fn interactive_continue_leaves_out_programs_and_loops() {
    let world = World::new();
    let cwd = world.place("repo");
    let person = world.session(&cwd, 1, 1).write();
    let program = Session { entrypoint: "sdk-cli", ..world.session(&cwd, 2, 2) }.write();
    assert_eq!(latest(&world.layout, &cwd, LatestScope::Interactive), Some(person.clone()));
    assert_eq!(latest(&world.layout, &cwd, LatestScope::Headless), Some(program));
    let looped = Session { prompt: "/loop 5m check", ..world.session(&cwd, 3, 3) }.write();
    Session { extra: "\"sessionKind\":\"bg\",".into(), ..world.session(&cwd, 4, 4) }.write();
    Session { extra: "\"isSidechain\":true,".into(), ..world.session(&cwd, 5, 5) }.write();
    assert_eq!(latest(&world.layout, &cwd, LatestScope::Interactive), Some(person));
    assert_eq!(latest(&world.layout, &cwd, LatestScope::Headless), Some(looped));
}

// [TST-134]
#[test]
fn similar_paths_never_see_each_others_sessions() {
    let world = World::new();
    let (dash, under) = (world.place("my-app"), world.place("my_app"));
    assert_eq!(world.layout.project_dir(&dash), world.layout.project_dir(&under));
    let first = world.session(&dash, 1, 1).write();
    let second = world.session(&under, 2, 2).write();
    assert_eq!(latest(&world.layout, &dash, LatestScope::Headless), Some(first));
    assert_eq!(latest(&world.layout, &under, LatestScope::Headless), Some(second));
}

// [TST-176] [CLI-14] [CLI-18] [SDK-177]
#[test]
fn ids_are_found_here_or_in_exactly_one_other_place() {
    let world = World::new();
    let (here, there, third) = (world.place("here"), world.place("there"), world.place("third"));
    let own = world.session(&here, 1, 1).write();
    world.session(&there, 1, 1).write();
    assert_eq!(by_id(&world.layout, &here, &id(1)).unwrap(), own);
    let far = world.session(&there, 2, 1).write();
    assert_eq!(target(&world.layout, &here, &id(2)).unwrap(), far);
    // A copy without messages does not count, one with messages makes it ambiguous.
    let copy = world.session(&third, 2, 1);
    std::fs::create_dir_all(copy.path.parent().unwrap()).unwrap();
    std::fs::write(&copy.path, "{\"type\":\"mode\",\"mode\":\"normal\"}\n").unwrap();
    assert_eq!(by_id(&world.layout, &here, &id(2)).unwrap(), far);
    copy.write();
    let error = by_id(&world.layout, &here, &id(2)).unwrap_err();
    assert_eq!(error.to_string(), format!("No conversation found with session ID: {}", id(2)));
    by_id(&world.layout, &here, "../x").unwrap_err();
    assert!(!id_is_free(&world.layout, &here, &id(1)));
    assert!(id_is_free(&world.layout, &here, &id(9)));
}

#[test]
fn worktrees_of_the_repository_are_near() {
    let world = World::new();
    let (main, tree) = (world.place("main"), world.place("tree"));
    let git = main.join(".git/worktrees/tree");
    std::fs::create_dir_all(&git).unwrap();
    std::fs::write(git.join("gitdir"), format!("{}\n", tree.join(".git").display())).unwrap();
    std::fs::write(git.join("commondir"), "../..\n").unwrap();
    std::fs::write(tree.join(".git"), format!("gitdir: {}\n", git.display())).unwrap();
    let in_main = world.session(&main, 1, 1).write();
    let in_tree = world.session(&tree, 2, 1).write();
    // The same id elsewhere would be ambiguous if the worktree were not preferred.
    world.session(&world.place("x"), 1, 1).write();
    world.session(&world.place("x"), 2, 1).write();
    assert_eq!(by_id(&world.layout, &tree, &id(1)).unwrap(), in_main);
    assert_eq!(by_id(&world.layout, &main, &id(2)).unwrap(), in_tree);
}

#[test]
fn titles_match_exactly_and_once() {
    let world = World::new();
    let cwd = world.place("repo");
    let path = world.session(&cwd, 1, 1).write();
    let titled = |path: &Path, line: &str| {
        use std::io::Write;
        writeln!(std::fs::File::options().append(true).open(path).unwrap(), "{line}").unwrap();
    };
    titled(&path, r#"{"type":"custom-title","customTitle":"fix parser","sessionId":"S"}"#);
    assert_eq!(target(&world.layout, &cwd, "fix parser").unwrap(), path);
    by_title(&world.layout, &cwd, "fix").unwrap_err();
    by_title(&world.layout, &world.place("elsewhere"), "fix parser").unwrap_err();
    let second = world.session(&cwd, 2, 2).write();
    titled(&second, r#"{"type":"ai-title","aiTitle":"fix parser","sessionId":"S"}"#);
    let error = by_title(&world.layout, &cwd, "fix parser").unwrap_err();
    assert!(matches!(error, StoreError::Ambiguous { .. }), "{error}");
}

#[test]
fn paths_are_taken_as_they_are() {
    let world = World::new();
    let cwd = world.place("repo");
    let path = world.session(&cwd, 1, 1).write();
    assert_eq!(target(&world.layout, &cwd, path.to_str().unwrap()).unwrap(), path);
    target(&world.layout, &cwd, "missing.jsonl").unwrap_err();
}

// [F-C9]
#[test]
fn the_beginning_of_an_id_is_enough_when_it_is_the_only_one() {
    let world = World::new();
    let here = world.place("here");
    let first = world.session(&here, 11, 1).write_at(1);
    world.session(&here, 12, 2).write_at(2);
    assert_eq!(target(&world.layout, &here, "00000011").unwrap(), first);
    assert!(
        matches!(target(&world.layout, &here, "0000001"), Err(StoreError::Ambiguous { ids, .. }) if ids.len() == 2)
    );
    for none in ["000", "00000013", "0000 0011"] {
        assert!(matches!(target(&world.layout, &here, none), Err(StoreError::NotFound { .. })), "{none}");
    }
}
