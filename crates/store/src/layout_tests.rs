use super::*;

fn layout(vars: &[(&str, &Path)]) -> StoreLayout {
    StoreLayout::new(&Env::default().with(vars.iter().map(|(k, v)| (k, v.as_os_str()))))
}

// [TST-132] [SDK-165]
#[test]
fn project_names_follow_the_published_rule() {
    let cases = [
        ("/Users/a/dev/my.app_x", "-Users-a-dev-my-app-x"),
        ("/", "-"),
        ("C:\\dev\\shop", "C--dev-shop"),
        ("/a b/@c-d", "-a-b--c-d"),
        ("/日本/x", "----x"),
        ("/é", "--"),
        ("/😀/x", "----x"),
        ("/a\nb", "-a-b"),
    ];
    for (path, name) in cases {
        assert_eq!(project_name(path), name, "{path}");
    }
}

// [TST-133] [SDK-165]
#[test]
fn long_names_end_in_a_hash_of_the_path() {
    let path = format!("/{}", "a".repeat(199));
    assert_eq!(project_name(&path).len(), 200);
    let path = format!("/{}", "a".repeat(200));
    let name = project_name(&path);
    assert_eq!(&name[..200], format!("-{}", "a".repeat(199)));
    // Computed with 32-bit signed arithmetic over code units, by hand for a short text.
    assert_eq!(hash("abc"), 96354);
    assert_eq!(base36(96354), "22ci");
    assert_eq!(&name[200..], format!("-{}", base36(hash(&path))));
    assert_eq!(base36(0), "0");
    assert_eq!(hash("polygenelubricants"), 2_147_483_648);
}

// [TST-132]
#[test]
fn links_are_followed_and_names_composed() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("cfg");
    let layout = layout(&[("CLAUDE_CONFIG_DIR", &home)]);
    let real = dir.path().join("re\u{301}al");
    std::fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, dir.path().join("link")).unwrap();
    let by_link = layout.project_dir(&dir.path().join("link"));
    assert_eq!(by_link, layout.project_dir(&real));
    // One dash for the composed letter.
    assert!(by_link.to_str().unwrap().ends_with("-r-al"), "{by_link:?}");
}

// [TST-135] [SDK-166]
#[test]
fn the_config_dir_moves_everything() {
    let moved = layout(&[("CLAUDE_CONFIG_DIR", Path::new("/cfg")), ("HOME", Path::new("/h"))]);
    assert_eq!(moved.home(), Path::new("/cfg"));
    assert_eq!(moved.global(), Path::new("/cfg/.claude.json"));
    assert_eq!(moved.history(), Path::new("/cfg/history.jsonl"));
    assert_eq!(moved.sessions_dir(), Path::new("/cfg/sessions"));
    let usual = layout(&[("CLAUDE_CONFIG_DIR", Path::new("")), ("HOME", Path::new("/h"))]);
    assert_eq!(usual.home(), Path::new("/h/.claude"));
    assert_eq!(usual.global(), Path::new("/h/.claude.json"));
    assert!(layout(&[]).home().is_absolute());
}

// [TST-135]
#[test]
fn the_project_name_can_be_given_only_with_a_config_dir() {
    let name = ("CLAUDE_CODE_PROJECT_DIR_NAME", Path::new("fixed_1"));
    let with = layout(&[("CLAUDE_CONFIG_DIR", Path::new("/cfg")), name]);
    assert_eq!(with.transcript(Path::new("/x"), "S"), Path::new("/cfg/projects/fixed_1/S.jsonl"));
    let without = layout(&[("HOME", Path::new("/h")), name]);
    assert_eq!(without.project_dir(Path::new("/nowhere/x")), Path::new("/h/.claude/projects/-nowhere-x"));
    for bad in ["a/b", "..", "con", "LPT1", &"x".repeat(65)] {
        let layout = layout(&[("CLAUDE_CONFIG_DIR", Path::new("/c")), (name.0, Path::new(bad))]);
        assert_eq!(layout.project_dir(Path::new("/nowhere")), Path::new("/c/projects/-nowhere"), "{bad}");
    }
}

// [TST-133]
#[test]
fn another_hash_of_the_same_path_is_used_again() {
    let dir = tempfile::tempdir().unwrap();
    let layout = layout(&[("CLAUDE_CONFIG_DIR", dir.path())]);
    let cwd = format!("/nowhere/{}", "x".repeat(250));
    let prefix = &project_name(&cwd)[..200];
    let line = |cwd: &str| format!("{{\"type\":\"user\",\"uuid\":\"u\",\"cwd\":\"{cwd}\"}}\n");
    for (suffix, recorded) in [("aaa", format!("{cwd}other")), ("bbb", cwd.clone())] {
        let project = layout.projects().join(format!("{prefix}-{suffix}"));
        std::fs::create_dir_all(&project).unwrap();
        std::fs::write(project.join("s.jsonl"), line(&recorded)).unwrap();
    }
    assert!(layout.project_dir(Path::new(&cwd)).to_str().unwrap().ends_with("-bbb"));
    let fresh = format!("/nowhere/{}y", "x".repeat(250));
    assert!(layout.project_dir(Path::new(&fresh)).ends_with(project_name(&fresh)));
}

// SC-C19 A planted link is refused; created directories are private.
#[test]
fn task_output_is_private() {
    let dir = tempfile::tempdir().unwrap();
    let layout = layout(&[("HOME", dir.path()), ("CLAUDE_CODE_TMPDIR", dir.path())]);
    let tasks = layout.create_tasks_dir(Path::new("/nowhere"), "S").unwrap();
    let root = dir.path().join(format!("claude-{}", sys::uid()));
    assert_eq!(tasks, root.join("-nowhere/S/tasks"));
    for dir in [&root, &tasks] {
        assert_eq!(dir.metadata().unwrap().mode() & 0o777, 0o700);
    }
    std::fs::remove_dir_all(&root).unwrap();
    std::os::unix::fs::symlink(dir.path(), &root).unwrap();
    // The next folder is used instead: here another temporary folder of the test.
    let other = tempfile::tempdir().unwrap();
    let env = [("HOME", dir.path()), ("CLAUDE_CODE_TMPDIR", dir.path()), ("TMPDIR", other.path())];
    assert!(self::layout(&env).create_tasks_dir(Path::new("/nowhere"), "S").unwrap().starts_with(other.path()));
}

// [F-C1]
#[test]
fn the_first_temporary_folder_that_can_be_written_is_used() {
    let dir = tempfile::tempdir().unwrap();
    let (first, second, gone) = (dir.path().join("first"), dir.path().join("second"), dir.path().join("gone"));
    std::fs::create_dir(&first).unwrap();
    std::fs::create_dir(&second).unwrap();
    let own = format!("claude-{}", sys::uid());
    let tasks = |env: &[(&str, &Path)]| layout(env).tasks_dir(Path::new("/nowhere"), "S");
    let (ours, general) = ("CLAUDE_CODE_TMPDIR", "TMPDIR");
    assert!(tasks(&[("HOME", dir.path()), (ours, &first), (general, &second)]).starts_with(first.join(&own)));
    assert!(tasks(&[("HOME", dir.path()), (general, &second)]).starts_with(second.join(&own)));
    assert!(tasks(&[("HOME", dir.path()), (ours, &gone), (general, &second)]).starts_with(second.join(&own)));
    assert!(tasks(&[("HOME", dir.path())]).starts_with(Path::new("/tmp").join(&own)));
}
