//! Folders made by others, in every layout in which their local settings file could be mistaken for the user's own.

use serde_json::json;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use testkit::Sandbox;

/// A folder that somebody else made.
pub(crate) struct Folder {
    pub(crate) sandbox: Sandbox,
    /// The directory in which gimlet is started.
    pub(crate) cwd: PathBuf,
    /// The real path of the local settings file.
    pub(crate) file: PathBuf,
    /// True when gimlet reads that file from `cwd`.
    pub(crate) is_read: bool,
    /// Whether a shared settings file may be put beside it.
    pub(crate) may_add_shared: bool,
}

pub(crate) struct Layout {
    pub(crate) name: &'static str,
    pub(crate) make: fn(Sandbox) -> Folder,
    /// True when the terminal must ask about it.
    pub(crate) is_asked: bool,
}

const LOCAL: &str = ".claude/settings.local.json";

const fn layout(name: &'static str, make: fn(Sandbox) -> Folder) -> Layout {
    Layout { name, make, is_asked: true }
}

pub(crate) const LAYOUTS: &[Layout] = &[
    layout("archive", |s| in_project(s, |_| {})),
    layout("archive with a .git made by hand", |s| {
        in_project(s, |s| drop(s.write(".git/HEAD", "ref: refs/heads/main\n")))
    }),
    layout("archive with an empty index", |s| in_project(s, |s| drop(s.write(".git/index", "")))),
    layout("archive whose index is a directory", |s| in_project(s, |s| drop(s.write(".git/index/x", "")))),
    layout("archive whose .git is a link", |s| {
        in_project(s, |s| {
            std::fs::create_dir(s.root().join("elsewhere")).unwrap();
            symlink("../elsewhere", s.project().join(".git")).unwrap();
        })
    }),
    layout("archive whose .git file points nowhere", |s| {
        in_project(s, |s| drop(s.write(".git", "gitdir: ./nowhere\n")))
    }),
    layout("repository that ignores the file", |s| {
        in_project(s, |s| {
            git(s, &s.project(), &["init", "-q"]);
            s.write(".gitignore", ".claude/\n");
        })
    }),
    layout("repository that does not track the file", |s| in_project(s, |s| git(s, &s.project(), &["init", "-q"]))),
    layout("repository that tracks the file", |s| in_project(s, |s| tracked(s, &[]))),
    layout("index version 3, intent to add", |s| {
        in_project(s, |s| {
            git(s, &s.project(), &["init", "-q"]);
            git(s, &s.project(), &["add", "-N", "-f", LOCAL]);
        })
    }),
    layout("index version 4", |s| in_project(s, |s| tracked(s, &["update-index", "--index-version", "4"]))),
    layout("split index", |s| in_project(s, |s| tracked(s, &["update-index", "--split-index"]))),
    layout("skip-worktree", |s| in_project(s, |s| tracked(s, &["update-index", "--skip-worktree", LOCAL]))),
    layout("assume-unchanged", |s| in_project(s, |s| tracked(s, &["update-index", "--assume-unchanged", LOCAL]))),
    layout("clone", clone),
    layout("bare repository", |s| {
        in_project(s, |s| {
            s.write("HEAD", "ref: refs/heads/main\n");
            s.write("config", "[core]\n\tbare = true\n");
            s.write("objects/x", "");
            s.write("refs/x", "");
        })
    }),
    layout("worktree, file in the main checkout", |s| worktree(s, Side::Main)),
    layout("worktree, file in the worktree", |s| worktree(s, Side::Tree)),
    layout("forged worktree of a trusted repository", forged_worktree),
    layout("worktree forged from within", worktree_from_within),
    layout("submodule of a trusted repository", submodule),
    layout("clone inside a trusted folder", |s| {
        let folder = nested(s, "vendor/clone", "vendor/clone");
        folder.sandbox.write("vendor/clone/.git/HEAD", "ref: refs/heads/main\n");
        trust(&folder.sandbox, &folder.sandbox.project());
        folder
    }),
    layout("folder inside a trusted folder", |s| {
        let folder = nested(s, "vendor/archive", "vendor/archive");
        trust(&folder.sandbox, &folder.sandbox.project());
        folder
    }),
    layout("folder inside a trusted repository", |s| {
        let folder = nested(s, "vendor/archive", "vendor/archive");
        folder.sandbox.write(".git/HEAD", "ref: refs/heads/main\n");
        trust(&folder.sandbox, &folder.sandbox.project());
        folder
    }),
    layout("started below the repository's root", |s| {
        let folder = nested(s, "src/deep", "");
        folder.sandbox.write(".git/HEAD", "ref: refs/heads/main\n");
        folder
    }),
    layout("file below the repository's root", |s| {
        let folder = nested(s, "src/deep", "src/deep");
        folder.sandbox.write(".git/HEAD", "ref: refs/heads/main\n");
        folder
    }),
    Layout { is_asked: false, ..layout("other case of the folder", |s| spelled(s, ".Claude", "settings.local.json")) },
    Layout { is_asked: false, ..layout("other case of the file", |s| spelled(s, ".claude", "Settings.Local.json")) },
    layout("folder found under another case", |s| linked(s, ".CLAUDE", "settings.local.json")),
    layout("file found under another case", |s| linked(s, ".claude", "SETTINGS.LOCAL.JSON")),
    layout("index with another case", |s| {
        let folder = linked(s, ".Claude", "settings.local.json");
        let (sandbox, project) = (&folder.sandbox, folder.sandbox.project());
        git(sandbox, &project, &["init", "-q"]);
        git(sandbox, &project, &["add", "-f", ".Claude"]);
        folder
    }),
    layout("linked file", |s| linked(s, "conf", "theirs.json")),
    layout("linked folder", |s| {
        let folder = in_project(s, |_| {});
        let project = folder.sandbox.project();
        std::fs::rename(project.join(".claude"), project.join("conf")).unwrap();
        symlink("conf", project.join(".claude")).unwrap();
        Folder { file: project.join("conf/settings.local.json"), ..folder }
    }),
    layout("linked folder outside", |s| {
        let folder = in_project(s, |_| {});
        let (project, outside) = (folder.sandbox.project(), folder.sandbox.root().join("conf"));
        std::fs::rename(project.join(".claude"), &outside).unwrap();
        symlink(&outside, project.join(".claude")).unwrap();
        Folder { file: outside.join("settings.local.json"), may_add_shared: false, ..folder }
    }),
    layout("hard link", |s| {
        let folder = in_project(s, |_| {});
        let project = folder.sandbox.project();
        std::fs::hard_link(project.join(LOCAL), project.join("theirs.json")).unwrap();
        Folder { file: project.join("theirs.json"), ..folder }
    }),
    layout("started through a link", |s| {
        let folder = in_project(s, |_| {});
        let link = folder.sandbox.root().join("link");
        symlink(folder.sandbox.project(), &link).unwrap();
        Folder { cwd: link, ..folder }
    }),
];

/// A local file at the usual place of the project.
fn in_project(sandbox: Sandbox, more: impl FnOnce(&Sandbox)) -> Folder {
    let file = sandbox.write(LOCAL, "{}");
    more(&sandbox);
    Folder { cwd: sandbox.project(), file, is_read: true, may_add_shared: true, sandbox }
}

/// Started in `cwd` of the project, the file in `place`.
fn nested(sandbox: Sandbox, cwd: &str, place: &str) -> Folder {
    let file = sandbox.write(&Path::new(place).join(LOCAL).display().to_string(), "{}");
    let cwd = sandbox.project().join(cwd);
    std::fs::create_dir_all(&cwd).unwrap();
    Folder { cwd, file, is_read: true, may_add_shared: true, sandbox }
}

/// Another spelling, without a link: read only on a case-insensitive file system.
fn spelled(sandbox: Sandbox, dir: &str, name: &str) -> Folder {
    let file = sandbox.write(&format!("{dir}/{name}"), "{}");
    let is_read = sandbox.project().join(LOCAL).exists();
    Folder { cwd: sandbox.project(), file, is_read, may_add_shared: true, sandbox }
}

/// Another spelling with a link from the expected name, as on a case-insensitive file system.
fn linked(sandbox: Sandbox, dir: &str, name: &str) -> Folder {
    let file = sandbox.write(&format!("{dir}/{name}"), "{}");
    let project = sandbox.project();
    if name == "settings.local.json" {
        symlink(dir, project.join(".claude")).unwrap();
    } else {
        std::fs::create_dir_all(project.join(".claude")).unwrap();
        symlink(&file, project.join(LOCAL)).unwrap();
    }
    Folder { cwd: project, file, is_read: true, may_add_shared: true, sandbox }
}

#[expect(clippy::disallowed_methods, reason = "repositories are made from outside")]
fn git(sandbox: &Sandbox, dir: &Path, args: &[&str]) {
    let out = std::process::Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "protocol.file.allow=always"])
        .args(args)
        .current_dir(dir)
        .env("HOME", sandbox.home())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
}

fn commit(sandbox: &Sandbox, dir: &Path) {
    git(sandbox, dir, &["init", "-q"]);
    git(sandbox, dir, &["add", "-f", "."]);
    git(sandbox, dir, &["commit", "-qm", "first"]);
}

fn tracked(sandbox: &Sandbox, then: &[&str]) {
    commit(sandbox, &sandbox.project());
    if !then.is_empty() {
        git(sandbox, &sandbox.project(), then);
    }
}

fn origin(sandbox: &Sandbox) -> PathBuf {
    let origin = sandbox.root().join("origin");
    std::fs::create_dir_all(origin.join(".claude")).unwrap();
    std::fs::write(origin.join(LOCAL), "{}").unwrap();
    commit(sandbox, &origin);
    origin
}

fn clone(sandbox: Sandbox) -> Folder {
    let origin = origin(&sandbox);
    let cwd = sandbox.root().join("cloned");
    git(&sandbox, sandbox.root(), &["clone", "-q", &origin.display().to_string(), "cloned"]);
    Folder { file: cwd.join(LOCAL), cwd, is_read: true, may_add_shared: true, sandbox }
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Main,
    Tree,
}

fn worktree(sandbox: Sandbox, side: Side) -> Folder {
    let origin = origin(&sandbox);
    git(&sandbox, &origin, &["worktree", "add", "-q", "../tree", "-b", "tree"]);
    let cwd = sandbox.root().join("tree");
    let file = if side == Side::Main { origin.join(LOCAL) } else { cwd.join(LOCAL) };
    Folder { cwd, file, is_read: true, may_add_shared: true, sandbox }
}

/// Sets the trust flag of the reference for a folder.
fn trust(sandbox: &Sandbox, folder: &Path) {
    let key = folder.display().to_string();
    let state = json!({"projects": {key: {"hasTrustDialogAccepted": true}}});
    sandbox.write_config(".claude.json", state.to_string());
}

/// `.git` names a worktree entry of a trusted repository that does not know this folder.
fn forged_worktree(sandbox: Sandbox) -> Folder {
    let trusted = sandbox.root().join("trusted");
    std::fs::create_dir_all(trusted.join(".git/worktrees/t")).unwrap();
    std::fs::write(trusted.join(".git/worktrees/t/gitdir"), trusted.join("t/.git").display().to_string()).unwrap();
    trust(&sandbox, &trusted);
    let folder = in_project(sandbox, |_| {});
    folder.sandbox.write(".git", format!("gitdir: {}\n", trusted.join(".git/worktrees/t").display()));
    folder
}

/// The folder contains the main repository that confirms it, with a `commondir` that names a trusted one.
fn worktree_from_within(sandbox: Sandbox) -> Folder {
    let trusted = sandbox.root().join("trusted");
    std::fs::create_dir_all(trusted.join(".git")).unwrap();
    trust(&sandbox, &trusted);
    let folder = in_project(sandbox, |_| {});
    let (sandbox, project) = (&folder.sandbox, folder.sandbox.project());
    sandbox.write("main/.git/worktrees/t/gitdir", project.join(".git").display().to_string());
    sandbox.write("main/.git/worktrees/t/commondir", trusted.join(".git").display().to_string());
    sandbox.write(".git", "gitdir: main/.git/worktrees/t\n");
    let file = sandbox.write("main/.claude/settings.local.json", "{}");
    Folder { file, ..folder }
}

fn submodule(sandbox: Sandbox) -> Folder {
    let origin = origin(&sandbox);
    let project = sandbox.project();
    git(&sandbox, &project, &["init", "-q"]);
    git(&sandbox, &project, &["submodule", "add", "-q", &origin.display().to_string(), "sub"]);
    trust(&sandbox, &project);
    let cwd = project.join("sub");
    Folder { file: cwd.join(LOCAL), cwd, is_read: true, may_add_shared: true, sandbox }
}
