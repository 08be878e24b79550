use super::*;
use crate::project::ConfigLoader;
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

    fn load(&self, change: impl FnOnce(&mut SettingsSelection)) -> InstructionMemory {
        let env = Env::default().with([("HOME", self.root.join("home"))]);
        let mut selection =
            SettingsSelection { managed_dir: Some(self.root.join("managed")), ..SettingsSelection::default() };
        change(&mut selection);
        let cwd = self.root.join("work/repo/sub");
        let loaded = ConfigLoader::open(&cwd, &env, &selection).unwrap();
        let query =
            MemoryQuery { cwd: &cwd, env: &env, selection: &selection, loaded: &loaded, added: &[], notes: None };
        load(&query)
    }

    fn names(&self, memory: &InstructionMemory) -> Vec<String> {
        let shown = |path: &Path| path.strip_prefix(&self.root).unwrap().display().to_string();
        memory.files.iter().map(|file| shown(&file.path)).collect()
    }
}

// [EXT-194] [EXT-195] [EXT-196]
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
    let user_only = home.load(|selection| selection.sources = Some(vec![SettingsSource::User]));
    assert_eq!(home.names(&user_only), ["managed/CLAUDE.md", "home/.claude/CLAUDE.md"]);
    // [CLI-47] [CLI-48]
    assert_eq!(home.load(|selection| selection.bare = true).files, []);
    assert_eq!(home.load(|selection| selection.safe_mode = true).files, []);
}

// [EXT-197]
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
    // [EXT-198] [EXT-199] Both the import and the link that leads outside are reported.
    assert_eq!(memory.skipped.len(), 2, "{:?}", memory.skipped);
    let key = home.root.join("work/repo");
    let state = serde_json::json!({"projects": {key.to_str().unwrap(): {"hasClaudeMdExternalIncludesApproved": true}}});
    home.write("home/.claude.json", &state.to_string());
    assert!(home.names(&home.load(|_| {})).contains(&"home/private.md".to_owned()));
}

// [EXT-201] [EXT-202]
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

// [EXT-204] [EXT-205] [EXT-195]
#[test]
fn rules_and_nested_files_wait_for_a_file_they_speak_of() {
    let home = Home::new();
    home.write("home/.claude/rules/always.md", "---\nglobs: x\n---\nuser rule");
    home.write("home/.claude/rules/sql.md", "---\npaths: \"**/*.sql\"\n---\nuser sql");
    home.write("work/repo/.claude/rules/b.md", "plain rule");
    home.write("work/repo/.claude/rules/a/ts.md", "---\npaths:\n  - sub/**/*.{ts,tsx}\n  - \"[\"\n---\nts rule");
    home.write("work/repo/sub/pkg/CLAUDE.md", "nested @more.md");
    home.write("work/repo/sub/pkg/more.md", "imported");
    home.write("work/repo/sub/pkg/.claude/skills/x/SKILL.md", "x");
    let mut memory = home.load(|_| {});
    assert_eq!(home.names(&memory), ["home/.claude/rules/always.md", "work/repo/.claude/rules/b.md"]);
    assert_eq!(memory.files[0].text, "user rule");
    assert_eq!(memory.files[0].lines, [(0, 4)]);
    assert_eq!(memory.findings.len(), 1, "{:?}", memory.findings);
    assert_eq!(memory.findings[0].line, 2);
    assert_eq!(memory.lazy.waiting().count(), 2);
    let file = home.root.join("work/repo/sub/pkg/a.ts");
    let brought = memory.lazy.file_touched(&file);
    let told: Vec<_> = brought.files.iter().map(|f| (f.text.as_str(), f.reason.hook_name())).collect();
    assert_eq!(
        told,
        [("nested @more.md", "nested_traversal"), ("imported", "include"), ("ts rule", "path_glob_match")]
    );
    assert_eq!(brought.files[2].globs.len(), 2);
    assert_eq!(brought.files[0].trigger.as_deref(), Some(file.as_path()));
    assert_eq!(brought.skill_dirs, [home.root.join("work/repo/sub/pkg")]);
    assert!(memory.lazy.file_touched(&file).files.is_empty());
    assert_eq!(memory.lazy.file_touched(&home.root.join("work/repo/x.sql")).files.len(), 1);
    // [EXT-211]
    memory.lazy.forget();
    assert_eq!(memory.lazy.file_touched(&file).files.len(), 3);
}

// SC-D18
#[test]
fn vendored_and_ignored_folders_bring_nothing() {
    let home = Home::new();
    home.write("work/repo/.gitignore", "/sub/out/\n!kept\n");
    for dir in ["node_modules/x", "vendor/y/z", "out", "fine", "nested/deep/node_modules/w"] {
        home.write(&format!("work/repo/sub/{dir}/CLAUDE.md"), "foreign");
        home.write(&format!("work/repo/sub/{dir}/.claude/skills/s/SKILL.md"), "foreign");
        home.write(&format!("work/repo/sub/{dir}/.claude/rules/r.md"), "foreign");
    }
    let mut memory = home.load(|_| {});
    let mut touch = |dir: &str| {
        let brought = memory.lazy.file_touched(&home.root.join("work/repo/sub").join(dir).join("a.js"));
        brought.files.len() + brought.skill_dirs.len()
    };
    let all = ["node_modules/x", "vendor/y/z", "out", "nested/deep/node_modules/w", "fine"];
    assert_eq!(all.map(&mut touch), [0, 0, 0, 0, 3]);
}

// [EXT-207] [EXT-208]
#[test]
fn agents_files_stand_in_where_nothing_else_speaks() {
    let home = Home::new();
    home.write("work/AGENTS.md", "for all agents");
    home.write("work/repo/.claude/AGENTS.md", "for all agents");
    assert_eq!(home.names(&home.load(|_| {})), ["work/AGENTS.md"]);
    assert!(home.load(|_| {}).files[0].is_agents_md);
    home.write("work/repo/sub/CLAUDE.md", "mine");
    assert_eq!(home.names(&home.load(|_| {})), ["work/repo/sub/CLAUDE.md"]);
    let option = |value: &str| {
        let text = format!(
            r#"{{"pluginConfigs": {{"agents-md@builtin": {{"options": {{"instructionFiles": "{value}"}}}}}}}}"#
        );
        let here = home.names(&home.load(|selection| selection.settings = Some(text.clone())));
        // A repository cannot choose.
        home.write("work/repo/sub/.claude/settings.json", &text);
        assert_eq!(home.names(&home.load(|_| {})), ["work/repo/sub/CLAUDE.md"]);
        here
    };
    assert_eq!(option("claude-md-and-agents-md"), ["work/AGENTS.md", "work/repo/sub/CLAUDE.md"]);
    assert_eq!(option("claude-md"), ["work/repo/sub/CLAUDE.md"]);
    assert_eq!(option("managed-only"), [""; 0]);
    std::fs::remove_file(home.root.join("work/AGENTS.md")).unwrap();
    std::os::unix::fs::symlink("sub/CLAUDE.md", home.root.join("work/repo/AGENTS.md")).unwrap();
    assert_eq!(option("claude-md-and-agents-md").len(), 2);
}

// [EXT-209] [EXT-210]
#[test]
fn notes_are_bounded_and_can_be_switched_off() {
    let home = Home::new();
    home.write("notes/MEMORY.md", &"a line\n".repeat(300));
    let notes = home.root.join("notes");
    let load = |vars: &[(&str, &str)], settings: &str| {
        let env = Env::default().with([("HOME", home.root.join("home"))]).with(vars.iter().copied());
        let selection = SettingsSelection {
            managed_dir: Some(home.root.join("managed")),
            settings: Some(settings.to_owned()),
            ..SettingsSelection::default()
        };
        let cwd = home.root.join("work/repo");
        let loaded = ConfigLoader::open(&cwd, &env, &selection).unwrap();
        let query = MemoryQuery {
            cwd: &cwd,
            env: &env,
            selection: &selection,
            loaded: &loaded,
            added: &[],
            notes: Some(&notes),
        };
        super::load(&query).files
    };
    let files = load(&[], "{}");
    assert_eq!(files[0].scope, MemoryScope::Auto);
    assert_eq!(files[0].text.matches("a line").count(), 200);
    assert!(load(&[], r#"{"autoMemoryEnabled": false}"#).is_empty());
    assert!(load(&[("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1")], "{}").is_empty());
    assert_eq!(load(&[("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "0")], r#"{"autoMemoryEnabled": false}"#).len(), 1);
}

// [EXT-203]
#[test]
fn added_directories_bring_instructions_only_when_told_to() {
    let home = Home::new();
    home.write("added/CLAUDE.md", "added");
    home.write("work/repo/sub/CLAUDE.md", "own");
    let load = |vars: &[(&str, &str)]| {
        let env = Env::default().with([("HOME", home.root.join("home"))]).with(vars.iter().copied());
        let selection =
            SettingsSelection { managed_dir: Some(home.root.join("managed")), ..SettingsSelection::default() };
        let cwd = home.root.join("work/repo/sub");
        let loaded = ConfigLoader::open(&cwd, &env, &selection).unwrap();
        let added = [home.root.join("added")];
        let query =
            MemoryQuery { cwd: &cwd, env: &env, selection: &selection, loaded: &loaded, added: &added, notes: None };
        home.names(&super::load(&query))
    };
    assert_eq!(load(&[]), ["work/repo/sub/CLAUDE.md"]);
    let on = load(&[("CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD", "1")]);
    assert_eq!(on, ["work/repo/sub/CLAUDE.md", "added/CLAUDE.md"]);
}
