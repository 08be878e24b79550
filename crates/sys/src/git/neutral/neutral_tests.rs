use super::*;

struct Folder {
    dir: tempfile::TempDir,
    env: Env,
}

impl Folder {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["home", "w/.git/objects", "w/.git/refs", "w/src"] {
            std::fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        std::fs::write(dir.path().join("w/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let env = Env::default()
            .with([("HOME", dir.path().join("home").into_os_string()), ("GIT_CONFIG_NOSYSTEM", "1".into())]);
        Self { dir, env }
    }

    fn write(&self, path: &str, text: &str) -> &Self {
        let path = self.dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    fn of(&self, dir: &str) -> Result<NeutralConfig, NeutralObstacle> {
        NeutralConfig::of([self.dir.path().join(dir).as_path()], &self.env)
    }

    fn overrides(&self, dir: &str) -> Vec<String> {
        self.of(dir).unwrap().overrides.iter().map(|(key, value)| format!("{key}={value}")).collect()
    }

    fn obstacle(&self, dir: &str) -> String {
        self.of(dir).unwrap_err().key
    }
}

#[test]
fn programs_are_overridden_by_name() {
    // [F-A2]
    let folder = Folder::new();
    folder.write("w/.git/config", "[core]\n\tbare = false\n[user]\n\tname = n\n[alias]\n\tx = !evil\n");
    assert_eq!(folder.overrides("w/src"), [""; 0], "an ordinary repository needs nothing");
    folder.write(
        "w/.git/config",
        "[Filter \"a.B\"]\n CLEAN = e\n required\n[diff \"d\"] textconv=e\n[gpg] program = e\n[gpg \"ssh\"] program=e\n[hook \"h\"]\n event = x\n",
    );
    assert_eq!(
        folder.overrides("w/src"),
        [
            "diff.d.cachetextconv=false",
            "diff.d.textconv=cat",
            "filter.a.B.clean=",
            "filter.a.B.required=false",
            "gpg.program=gpg",
            "gpg.ssh.program=ssh-keygen",
            "hook.h.command=true",
            "hook.h.enabled=false"
        ]
    );
    folder.write("w/.git/config", "[diff \"d\"]\n cachetextconv = true\n");
    assert_eq!(folder.overrides("w"), ["diff.d.cachetextconv=false"], "a switch is no program");
    folder.write("w/.git/config", "[gpg]\n program = e\n");
    folder.write("home/.gitconfig", "[gpg]\n program = mine\n");
    assert!(folder.overrides("w").contains(&"gpg.program=mine".to_owned()), "the user's own value stays");
}

#[test]
fn includes_worktrees_and_submodules_are_followed() {
    // [F-A2]
    let folder = Folder::new();
    folder
        .write("w/.git/config", "[include]\n path = ../a.inc\n[includeIf \"onbranch:never\"]\n path = ~/b.inc\n")
        .write("w/a.inc", "[core]\n sshCommand = e\n")
        .write("home/b.inc", "[core]\n pager = e\n")
        .write("w/.git/config.worktree", "[core]\n editor = e\n");
    assert_eq!(folder.overrides("w"), ["core.editor=true", "core.pager=cat", "core.sshcommand=ssh"]);
    assert!(folder.of("w").unwrap().files.contains(&folder.dir.path().canonicalize().unwrap().join("w/a.inc")));
    // A linked worktree: its own configuration, and that of the main repository.
    folder
        .write("tree/.git", &format!("gitdir: {}\n", folder.dir.path().join("w/.git/worktrees/t").display()))
        .write("w/.git/worktrees/t/commondir", "../..\n")
        .write("w/.git/worktrees/t/config.worktree", "[diff]\n external = e\n");
    let found = folder.of("tree").unwrap();
    assert_eq!(found.external_diff.as_deref(), Some("diff.external"));
    assert_eq!(found.overrides.len(), 4);
    // A bare layout in a folder of the working tree.
    folder.write("w/src/HEAD", "x").write("w/src/objects/x", "").write("w/src/config", "[gpg]\nprogram=e\n");
    assert!(folder.overrides("w/src").contains(&"gpg.program=gpg".to_owned()));
}

#[test]
fn what_cannot_be_overridden_is_named() {
    // [F-A2]
    let folder = Folder::new();
    for (text, key) in [
        ("[core]\n worktree = /etc\n", "core.worktree"),
        ("[core]\n newCommand = e\n", "core.newcommand"),
        ("[include]\n path = %(prefix)/x\n", "include.path"),
        ("[include]\n path = ~other/x\n", "include.path"),
        ("[include]\n path = a\tb\n", "include.path"),
        ("[include]\n path = /proc/self/cwd/x\n", "a path that each process reads in its own way"),
        ("[core]\n worktree = /proc/self/cwd\n", "a path that each process reads in its own way"),
        ("[core\n", "line 2"),
    ] {
        folder.write("w/.git/config", text);
        assert_eq!(folder.obstacle("w"), key, "{text}");
    }
    folder.write("w/.git/config", "[include]\n path = config\n");
    assert!(folder.obstacle("w").contains("deeply"));
    folder.write("w/.git/config", "[core]\n worktree = ..\n").write("w/.git/index", "what is this?");
    assert!(folder.obstacle("w").contains("index"));
    let redirected = folder.env.with([("GIT_DIR", "/x")]);
    assert_eq!(NeutralConfig::of([Path::new("/")], &redirected).unwrap_err().key, "GIT_DIR");
}

#[test]
fn git_lfs_stays_when_it_is_the_users() {
    // [F-A2]
    let mut folder = Folder::new();
    let installed = "[filter \"lfs\"]\n clean = git-lfs clean -- %f\n smudge = git-lfs smudge -- %f\n\
                     \tprocess = git-lfs filter-process\n required = true\n";
    folder.write("w/.git/config", installed).write("bin/git-lfs", "").write("w/bin/git-lfs", "");
    let bin = |name: &str| folder.dir.path().join(name).into_os_string();
    let (own, planted) = (bin("bin"), bin("w/bin"));
    folder.env = folder.env.with([("PATH", &planted)]);
    assert_eq!(folder.overrides("w").len(), 4, "a program of the folder's");
    folder.env = folder.env.with([("PATH", &own)]);
    assert_eq!(folder.overrides("w"), [""; 0]);
    for more in [
        "[filter \"lfs\"]\n clean = \"git-lfs clean -- %f; e\"\n",
        "[lfs \"extension.e\"]\n clean = e\n",
        "[lfs]\nstandalonetransferagent=e\n",
    ] {
        folder.write("w/.git/config", &format!("{installed}{more}"));
        assert_eq!(folder.overrides("w").len(), 4, "{more}");
    }
}

#[test]
fn variables_come_after_those_of_the_user() {
    // [F-A2]
    let folder = Folder::new();
    let env = folder.env.with([("GIT_CONFIG_COUNT", "2")]);
    let variables = folder.of("w").unwrap().variables(&env).unwrap();
    let get = |name: &str| variables.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str());
    assert_eq!(get("GIT_CONFIG_KEY_2"), Some("safe.bareRepository"));
    assert_eq!(get("GIT_CONFIG_COUNT"), Some("5"));
    assert_eq!(get("GIT_CONFIG_KEY_1"), None);
    let broken = folder.env.with([("GIT_CONFIG_COUNT", "many")]);
    assert_eq!(folder.of("w").unwrap().variables(&broken).unwrap_err().key, "GIT_CONFIG_COUNT");
}
