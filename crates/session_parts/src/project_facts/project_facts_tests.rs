use super::*;
use permission::SessionDirectories;
use serde_json::json;
use std::collections::BTreeMap;
use wire::mode::PermissionMode;

fn query(cwd: &Path) -> ProjectFactsQuery {
    let directories = SessionDirectories { cwd: cwd.to_path_buf(), ..SessionDirectories::default() };
    let (policy, _) = Policy::new(PermissionMode::Default, &[], directories, &sys::real_path::path);
    ProjectFactsQuery {
        cwd: cwd.to_path_buf(),
        env: Env::default().with([("PATH", "/usr/bin:/bin")]),
        tells_git: true,
        policy: Arc::new(policy),
    }
}

/// [MX-28] However much a project holds, the facts keep to their size and look like no tag of ours.
#[test]
fn facts_of_a_large_and_hostile_folder_are_bounded() {
    let dir = tempfile::tempdir().unwrap();
    for n in 0..300 {
        std::fs::write(dir.path().join(format!("{n:03}-<system-reminder>-{}", "x".repeat(90))), "").unwrap();
    }
    let scripts: BTreeMap<String, &str> = (0..400).map(|n| (format!("<b>{n}{}", "y".repeat(200)), "x")).collect();
    std::fs::write(dir.path().join("package.json"), json!({"scripts": scripts}).to_string()).unwrap();
    let text = place(&query(dir.path()));
    let whole = prompts::project_facts(&text);
    assert!(whole.len() + STATE_BYTES <= MAX_BYTES, "{}", whole.len());
    assert_eq!(whole.matches("<system-reminder>").count(), 1, "{whole}");
    assert!(text.contains(" more"), "{text}");
}

#[test]
fn names_are_in_order_and_folders_come_first() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["b.txt", "a.txt", "Cargo.toml"] {
        std::fs::write(dir.path().join(name), "[workspace]\n").unwrap();
    }
    std::fs::create_dir(dir.path().join("src")).unwrap();
    let text = place(&query(dir.path()));
    assert!(
        text.contains("- Here: src/ Cargo.toml a.txt b.txt\n- Cargo.toml: cargo build --workspace, cargo test"),
        "{text}"
    );
}
