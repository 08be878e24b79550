use super::*;
use crate::project::Project;
use std::fs;

struct Home {
    _temp: tempfile::TempDir,
    root: PathBuf,
}

impl Home {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(temp.path()).unwrap();
        for dir in ["home/.claude", "work/repo/.git", "work/repo/sub", "managed"] {
            fs::create_dir_all(root.join(dir)).unwrap();
        }
        Self { _temp: temp, root }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn load(&self, change: impl FnOnce(&mut Selection)) -> Memory {
        let env = Env::default().with([("HOME", self.root.join("home"))]);
        let mut selection = Selection { managed_dir: Some(self.root.join("managed")), ..Selection::default() };
        change(&mut selection);
        let cwd = self.root.join("work/repo/sub");
        let loaded = Project::open(&cwd, &env, &selection).unwrap();
        load(&cwd, &env, &selection, &loaded)
    }

    fn names(&self, memory: &Memory) -> Vec<String> {
        let shown = |path: &Path| path.strip_prefix(&self.root).unwrap().display().to_string();
        memory.files.iter().map(|file| shown(&file.path)).collect()
    }
}

#[test]
#[rustfmt::skip]
fn files_come_from_broad_to_specific() {
    let home = Home::new();
    for path in [
        "managed/CLAUDE.md", "home/.claude/CLAUDE.md", "work/CLAUDE.md", "work/repo/CLAUDE.md", "work/repo/.claude/CLAUDE.md",
        "work/repo/sub/CLAUDE.md", "work/repo/sub/CLAUDE.local.md", "work/repo/sub/below/CLAUDE.md",
    ] {
        home.write(path, path);
    }
    let all = home.load(|_| {});
    assert_eq!(
        home.names(&all),
        [
            "managed/CLAUDE.md", "home/.claude/CLAUDE.md", "work/CLAUDE.md", "work/repo/CLAUDE.md", "work/repo/.claude/CLAUDE.md",
            "work/repo/sub/CLAUDE.md", "work/repo/sub/CLAUDE.local.md",
        ]
    );
    let scopes: Vec<_> = all.files.iter().map(|file| file.scope).collect();
    assert_eq!(scopes[0], MemoryScope::Managed);
    assert_eq!(scopes[1], MemoryScope::User);
    assert_eq!(scopes[6], MemoryScope::Local);
    // [CLI-35]
    let user_only = home.load(|selection| selection.sources = Some(vec![Source::User]));
    assert_eq!(home.names(&user_only), ["managed/CLAUDE.md", "home/.claude/CLAUDE.md"]);
    // [CLI-47] [CLI-48]
    assert_eq!(home.load(|selection| selection.bare = true), Memory::default());
    assert_eq!(home.load(|selection| selection.safe_mode = true), Memory::default());
}

#[test]
fn imports_are_followed_and_cycles_cut() {
    let home = Home::new();
    home.write("work/repo/CLAUDE.md", "@docs/a.md and @missing.md");
    home.write("work/repo/docs/a.md", "@b.md\n@../CLAUDE.md");
    for (from, to) in [("b", "c"), ("c", "d"), ("d", "e"), ("e", "f")] {
        home.write(&format!("work/repo/docs/{from}.md"), &format!("@{to}.md"));
    }
    home.write("work/repo/docs/f.md", "too far");
    let memory = home.load(|_| {});
    assert_eq!(
        home.names(&memory),
        [
            "work/repo/CLAUDE.md",
            "work/repo/docs/a.md",
            "work/repo/docs/b.md",
            "work/repo/docs/c.md",
            "work/repo/docs/d.md"
        ]
    );
    assert_eq!(memory.files[1].imported_by, Some(home.root.join("work/repo/CLAUDE.md")));
}

#[test]
fn projects_do_not_import_from_outside_unasked() {
    let home = Home::new();
    home.write("work/repo/CLAUDE.md", "@~/private.md");
    home.write("home/private.md", "mine");
    std::os::unix::fs::symlink(home.root.join("home/private.md"), home.root.join("work/repo/sub/CLAUDE.md")).unwrap();
    home.write("home/.claude/CLAUDE.md", "@~/for-user.md");
    home.write("home/for-user.md", "fine");
    let memory = home.load(|_| {});
    assert_eq!(home.names(&memory), ["home/.claude/CLAUDE.md", "home/for-user.md", "work/repo/CLAUDE.md"]);
    assert_eq!(memory.skipped.len(), 1, "{:?}", memory.skipped);
    let key = home.root.join("work/repo");
    let state = serde_json::json!({"projects": {key.to_str().unwrap(): {"hasClaudeMdExternalIncludesApproved": true}}});
    home.write("home/.claude.json", &state.to_string());
    assert!(home.names(&home.load(|_| {})).contains(&"home/private.md".to_owned()));
}

#[test]
fn excluded_and_oversized_files_are_left_out() {
    let home = Home::new();
    home.write("home/.claude/settings.json", r#"{"claudeMdExcludes": ["**/work/CLAUDE.md", "**/managed/**"]}"#);
    home.write("managed/CLAUDE.md", "stays");
    home.write("work/CLAUDE.md", "excluded");
    home.write("work/repo/CLAUDE.md", &"x".repeat(4 * 1024 * 1024 + 1));
    let memory = home.load(|_| {});
    assert_eq!(home.names(&memory), ["managed/CLAUDE.md"]);
    assert_eq!(memory.skipped[0].reason, "it is larger than 4 MiB");
}
