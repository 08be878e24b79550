//! Git commands that run without a question start nothing that a repository names, and still print what plain git prints.
//! Every hostile layout plants a recorder; a layout that is marked as armed is first shown to run it under plain git.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]
#![expect(clippy::disallowed_methods, reason = "tests run git themselves to compare")]
#![cfg(unix)]

use crate::common::EXE;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;
use testkit::{ModelServer, Sandbox, ScriptedBlock, ScriptedReply};

/// What is run in every hostile folder.
const READING: [&str; 12] = [
    "git status",
    "git diff",
    "git diff --stat",
    "git log -p -3",
    "git log -3",
    "git show HEAD",
    "git blame a.txt",
    "git branch -v",
    "git stash list",
    "git stash show -p",
    "git ls-files -m",
    "git describe --always --dirty",
];

/// Prints what it is given, and leaves a trace.
const RECORDER: &str =
    "#!/bin/sh\necho ran >> \"$(dirname \"$0\")/ran\"\nif [ -f \"$1\" ]; then cat \"$1\"; else cat; fi\n";

/// Leaves a trace and ends, for those who would wait for an answer.
const SHORT_RECORDER: &str = "#!/bin/sh\necho ran >> \"$(dirname \"$0\")/ran\"\n";

/// Two commits, a stash, and a file whose time has changed since git last looked. `$R` is the recorder, `$Q` the short one.
const BASE: &str = "git init -q . && printf 'a.txt filter=ev diff=ev\\n' > .gitattributes && echo one > a.txt && git add -A \
    && git commit -qm one && echo two > a.txt && git commit -qam two && echo three > a.txt && git stash -q \
    && touch -d 2020-01-01 a.txt\n";

/// A submodule whose working tree has changed.
const SUBMODULE: &str = "git init -q ../inner && (cd ../inner && printf 'x filter=sf diff=sf\\n' > .gitattributes && echo 1 > x \
    && git add -A && git commit -qm x) && git submodule --quiet add ../inner sub && git commit -qm sub && echo 2 > sub/x\n";

/// A commit with something that looks like a signature.
const SIGNED: &str = "printf 'tree %s\\nparent %s\\nauthor a <a@b.test> 1 +0000\\ncommitter a <a@b.test> 1 +0000\\ngpgsig -----BEGIN PGP \
    SIGNATURE-----\\n \\n eA==\\n -----END PGP SIGNATURE-----\\n\\nsigned\\n' $(git rev-parse HEAD^{tree} HEAD) > ../c \
    && git update-ref HEAD $(git hash-object -t commit -w ../c)\n";

/// A remote that promises an object which is missing.
const PROMISOR: &str =
    "git config core.repositoryformatversion 1; git config extensions.partialClone o; git config remote.o.promisor true
    B=$(git rev-parse HEAD~1:a.txt); rm -f .git/objects/$(echo $B | cut -c1-2)/$(echo $B | cut -c3-)\n";

#[derive(Clone, Copy)]
struct Layout {
    name: &'static str,
    script: &'static str,
    /// Plain git runs the recorder here.
    armed: bool,
    /// Where the session starts, below the project.
    at: &'static str,
    /// A further command.
    command: &'static str,
}

const fn armed(name: &'static str, script: &'static str) -> Layout {
    Layout { name, script, armed: true, at: "", command: "git status --short" }
}

/// Plain git of some version does not run the recorder either.
const fn quiet(name: &'static str, script: &'static str) -> Layout {
    Layout { armed: false, ..armed(name, script) }
}

#[rustfmt::skip]
const HOSTILE: &[Layout] = &[
    armed("fsmonitor", "base; git config core.fsmonitor $R"),
    armed("fsmonitor in the folder", "base; cp $R rec; git config core.fsmonitor ./rec; ln -sf $PWD/ran $(dirname $R)/ran"),
    armed("spelling of keys", "base; printf '[CORE] FSMonitor = %s\\n[FilTer \"ev\"]\\nCLEAN=%s\\n' $R $R >> .git/config"),
    armed("continued lines", "base; printf '[core]\\n\\tfsmonitor = \"%s\" \\\\\\n # x\\n' $R >> .git/config"),
    armed("clean filter", "base; git config filter.ev.clean $R"),
    armed("required clean filter", "base; git config filter.ev.clean $R; git config filter.ev.required true"),
    armed("process filter", "base; git config filter.ev.process $R"),
    quiet("smudge filter", "base; git config filter.ev.smudge $R"),
    armed("textconv", "base; git config diff.ev.textconv $R"),
    armed("cached textconv", "base; git config diff.ev.textconv $R; git config diff.ev.cachetextconv true"),
    armed("external diff", "base; echo x >> a.txt; git config diff.external $R"),
    armed("diff driver", "base; echo x >> a.txt; git config diff.ev.command $R"),
    armed("hook", "base; cp $R .git/hooks/post-index-change; ln -sf $(dirname $R)/ran .git/hooks/ran"),
    armed("hooks path", "base; mkdir hk; cp $R hk/post-index-change; ln -sf $(dirname $R)/ran hk/ran; git config core.hooksPath hk"),
    quiet("configured hook", "base; git config hook.e.event post-index-change; git config hook.e.command $R"),
    armed("signatures", "base; signed; git config log.showSignature true; git config gpg.program $R"),
    armed("signatures by format", "base; signed; git config log.showSignature true; git config gpg.openpgp.program $R"),
    armed("include chain", "base; git config include.path ../one.inc; printf '[include]\\npath=two.inc\\n' > one.inc; git config -f two.inc filter.ev.clean $R"),
    armed("include from home", "base; git config include.path '~/x.inc'; git config -f ~/x.inc core.fsmonitor $R"),
    armed("conditional include", "base; git config includeIf.gitdir:**.path ../one.inc; git config -f one.inc core.fsmonitor $R"),
    armed("include by branch", "base; git config includeIf.onbranch:ma**.path ../one.inc; git config -f one.inc filter.ev.clean $R"),
    armed("commondir", "base; mkdir common; mv .git/config .git/objects .git/refs common/; echo ../common > .git/commondir; git config -f common/config core.fsmonitor $R"),
    armed("worktree configuration", "base; git config extensions.worktreeConfig true; git config --worktree core.fsmonitor $R"),
    armed("linked git directory", "base; git config core.fsmonitor $R; mv .git store; ln -s store .git"),
    armed("git file", "base; git config core.fsmonitor $R; mv .git store; echo 'gitdir: store' > .git"),
    armed("linked worktree", "base; git config filter.ev.clean $R; git worktree add -q ../tree; cp -r ../tree/. tree/; touch -d 2020-01-01 ../tree/a.txt"),
    armed("submodule filter", "base; submodule; git -C sub config filter.sf.clean $R"),
    armed("submodule fsmonitor", "base; submodule; git -C sub config core.fsmonitor $R"),
    armed("submodule of version 4", "base; submodule; git update-index --index-version 4; git -C sub config core.fsmonitor $R"),
    armed("submodule in a split index", "base; submodule; git update-index --split-index; git -C sub config core.fsmonitor $R"),
    armed("submodule summary", "base; submodule; git config status.submoduleSummary true; git -C sub config core.fsmonitor $R"),
    armed("submodule diff", "base; submodule; git config diff.submodule diff; git -C sub config diff.sf.textconv $R"),
    armed("embedded repository", "base; git init -q emb; (cd emb; echo 1 > x; git add x; git commit -qm x); git add emb 2>/dev/null; git commit -qm emb; git -C emb config core.fsmonitor $R"),
    armed("promised object by a program", "base; promisor; git config remote.o.url $PWD; git config remote.o.uploadpack $Q"),
    armed("promised object by ssh", "base; promisor; git config remote.o.url ssh://h.test/x; git config core.sshCommand $Q"),
    armed("promised object by proxy", "base; promisor; git config remote.o.url git://h.test/x; git config core.gitProxy $Q"),
    armed("promised object by ext", "base; promisor; git config remote.o.url \"ext::$Q\"; git config protocol.ext.allow always"),
    quiet("credentials", "base; promisor; git config remote.o.url http://127.0.0.1:1/x; git config credential.helper $R; git config core.askPass $R"),
    quiet("pagers", "base; git config core.pager $R; git config pager.log $R; git config pager.status $R; git config interactive.diffFilter $R"),
    quiet("aliases", "base; git config alias.status \"!$R\"; git config alias.log \"!$R\""),
    quiet("server hooks", "base; git config uploadpack.packObjectsHook $R; git config core.alternateRefsCommand $R; git config trailer.x.command $R"),
    quiet("merge driver", "base; git config merge.ev.driver $R; git config log.diffMerges remerge; printf 'a.txt merge=ev\\n' >> .gitattributes"),
    Layout { at: "src/deep", ..armed("from below", "base; mkdir -p src/deep; git config core.fsmonitor $R") },
    Layout { command: "cd nest && git status", ..armed("after cd", "base; mkdir nest; (cd nest; base); git -C nest config core.fsmonitor $R") },
    Layout { command: "git -C nest status", ..armed("another directory", "base; mkdir nest; (cd nest; base); git -C nest config core.fsmonitor $R") },
    armed("bare layout", "base; git config core.fsmonitor $R; git config core.bare false; git config core.worktree ..; mv .git/* .; rm -rf .git; git config -f config core.worktree $PWD"),
    Layout { command: "cd b && git status", ..armed("bare layout below", "base; mkdir b; cp -r .git/. b/; cp a.txt .gitattributes b/; git config -f b/config core.fsmonitor $R; git config -f b/config core.bare false; git config -f b/config core.worktree $PWD/b") },
    Layout { command: "git -C b log -p", ..armed("bare layout by -C", "base; mkdir b; cp -r .git/. b/; git config -f b/config diff.ev.textconv $R; cp .gitattributes b/; printf 'a.txt diff=ev\\n' > b/info/attributes") },
];

/// Files that git finds elsewhere, or reads otherwise, than a careless reader of its configuration does.
#[rustfmt::skip]
const DISGUISED: &[Layout] = &[
    Layout { at: "src", ..armed("include by the process", "base; mkdir src; git config include.path /proc/self/cwd/.gitcfg; git config -f .gitcfg core.fsmonitor $R; git config -f .gitcfg diff.ev.textconv $R; git config -f .gitcfg filter.ev.clean $R") },
    Layout { at: "src", ..armed("include by a link to the process", "base; mkdir src; ln -s /proc/self/cwd .git/here; git config include.path here/.gitcfg; git config -f .gitcfg diff.ev.textconv $R") },
    Layout { command: "git -C nest log -p", ..armed("nested, by the process", "mkdir nest; cd nest; base; git config include.path /proc/self/cwd/.gitcfg; git config -f .gitcfg diff.ev.textconv $R") },
    Layout { command: "cd nest && git log -p", ..armed("nested, by the thread", "mkdir nest; cd nest; base; git config include.path /proc/thread-self/cwd/.gitcfg; git config -f .gitcfg diff.ev.textconv $R") },
    Layout { command: "git -C nest log -p", ..armed("nested, by a descriptor", "mkdir nest; cd nest; base; git config include.path /dev/fd/../cwd/.gitcfg; git config -f .gitcfg diff.ev.textconv $R") },
    Layout { at: "src", ..armed("git directory by the process", "base; mkdir src; git config diff.ev.textconv $R; mv .git store; cp -r store src/; git -C src config -f store/config --unset diff.ev.textconv; echo 'gitdir: /proc/self/cwd/../store' > src/.git; git config -f store/config core.worktree $PWD/src; cp a.txt src/") },
    Layout { at: "src", ..quiet("linked git directory by the process", "base; mkdir src; git config diff.ev.textconv $R; mv .git store; ln -s /proc/self/cwd/store .git") },
    Layout { at: "src", ..quiet("common directory by the process", "base; mkdir src common; mv .git/config .git/objects .git/refs common/; echo /proc/self/cwd/common > .git/commondir; git config -f common/config diff.ev.textconv $R") },
    Layout { at: "src", ..armed("index by the process", "base; submodule; mkdir src; git -C sub config core.fsmonitor $R; mv .git/index .idx; ln -s /proc/self/cwd/.idx .git/index") },
    Layout { command: "cd nest && git -C /proc/self/cwd log -p", ..armed("directory by the process", "base; mkdir nest; cd nest; base; git config diff.ev.textconv $R") },
    armed("NUL in a section", "base; echo x >> a.txt; printf '[diff \"external\\000\"]\n x = %s\n' $R >> .git/config"),
    armed("NUL in a git file", "base; git config diff.ev.textconv $R; mv .git store; printf 'gitdir: store\\000x\n' > .git"),
    armed("NUL in a common directory", "base; mkdir common; mv .git/config .git/objects .git/refs common/; printf '../common\\000x\n' > .git/commondir; git config -f common/config diff.ev.textconv $R"),
    armed("blank in a common directory", "base; mkdir -p '.git/ ../common'; mv .git/config .git/objects .git/refs '.git/ ../common/'; printf ' ../common\n' > .git/commondir; git config -f '.git/ ../common/config' diff.ev.textconv $R"),
    armed("form feed in an include", "base; mkdir \".git/$(printf '\\f')..\"; printf '[include]\n path = \\f../x.inc\n' >> .git/config; git config -f \".git/$(printf '\\f')../x.inc\" diff.ev.textconv $R"),
    armed("include beside a linked file", "base; mkdir s; mv .git/config s/config; ln -s ../s/config .git/config; git config -f s/config include.path x.inc; git config -f .git/x.inc diff.ev.textconv $R"),
    Layout { at: "src", ..armed("no repository on the way up", "base; git config diff.ev.textconv $R; mkdir -p src/.git/objects; echo x > src/.git/HEAD") },
    Layout { at: "src", ..armed("no refs on the way up", "base; git config diff.ev.textconv $R; mkdir -p src/.git/objects; cp .git/HEAD src/.git/HEAD") },
    armed("submodule of the history", "base; submodule; git -C sub commit -qam 2; git commit -qam 2; git rm -q --cached sub; git commit -qm gone; git config diff.submodule diff; git -C sub config diff.sf.textconv $R"),
    armed("submodule of the history in the user's way", "base; submodule; git -C sub commit -qam 2; git commit -qam 2; git rm -q --cached sub; git commit -qm gone; git config --global diff.submodule diff; git -C sub config diff.sf.textconv $R"),
    quiet("signed submodule of the history", "base; submodule; (cd sub; signed); git commit -qam 2; git rm -q --cached sub; git config status.submoduleSummary true; git -C sub config log.showSignature true; git -C sub config gpg.program $R"),
    quiet("endless includes", "base; for i in 1 2 3 4 5 6 7 8 9; do printf '[include]\npath=config\n' >> .git/config; done"),
];

struct Field {
    sandbox: Sandbox,
}

impl Field {
    fn new() -> Self {
        let sandbox = Sandbox::new(EXE);
        std::fs::create_dir(sandbox.root().join("rec")).unwrap();
        for (name, text) in [("rec.sh", RECORDER), ("short.sh", SHORT_RECORDER)] {
            let recorder = sandbox.root().join("rec").join(name);
            std::fs::write(&recorder, text).unwrap();
            std::fs::set_permissions(&recorder, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        }
        let global = "[user]\n\tname = a\n\temail = a@b.test\n[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n\
                      [advice]\n\taddEmbeddedRepo = false\n";
        std::fs::write(sandbox.home().join(".gitconfig"), global).unwrap();
        Self { sandbox }
    }

    /// Runs a script with git as the user would, and returns what it printed on both streams.
    fn shell(&self, dir: &Path, script: &str) -> String {
        let functions = format!(
            "base() {{ {BASE} }}; submodule() {{ {SUBMODULE} }}; signed() {{ {SIGNED} }}; promisor() {{ {PROMISOR} }}; \
             R={0}/rec.sh; Q={0}/short.sh; ",
            self.sandbox.root().join("rec").display()
        );
        let mut command = std::process::Command::new("bash");
        command.args(["-c", &format!("exec 2>&1; {functions} {script}")]).current_dir(dir).env_clear();
        command.env("PATH", self.path()).env("HOME", self.sandbox.home()).env("TZ", "UTC").env("GIT_EDITOR", "true");
        String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned()
    }

    /// Programs of the user's lie before those of the machine.
    fn path(&self) -> std::ffi::OsString {
        let own = self.sandbox.root().join("bin");
        let dirs = std::env::var_os("PATH").unwrap_or_default();
        std::env::join_paths(std::iter::once(own).chain(std::env::split_paths(&dirs))).unwrap()
    }

    /// Whether the recorder ran since the last time this was asked.
    fn has_run(&self) -> bool {
        let places = [self.sandbox.root().join("rec/ran"), self.sandbox.project().join("ran")];
        let found = places.iter().filter(|place| std::fs::metadata(place).is_ok_and(|meta| meta.is_file())).count() > 0;
        for place in places {
            std::fs::remove_file(place).ok();
        }
        found
    }

    /// Has the model send these commands; returns what came back for each, and how many were refused.
    fn run(&self, dir: &Path, commands: &[&str], flags: &[&str]) -> (Vec<String>, usize) {
        let calls = commands.iter().map(|command| ScriptedReply::tool("Bash", json!({ "command": command })));
        let server = ModelServer::script(calls.chain([ScriptedReply::text("done")]).collect::<Vec<_>>());
        let args: Vec<&str> = ["-p", "go", "--output-format", "json"].iter().chain(flags).copied().collect();
        let run = self.sandbox.gimlet(&args).env("ANTHROPIC_BASE_URL", server.url()).env("PATH", self.path());
        let done = run.cwd(dir).timeout(Duration::from_mins(2)).run();
        let refused = done.json()["permission_denials"].as_array().map_or(0, Vec::len);
        let texts = (0..commands.len()).map(|at| {
            let results = server.request(at + 1).tool_results();
            let content = &results.last().unwrap()["content"];
            content.as_str().map_or_else(|| content.to_string(), str::to_owned)
        });
        (texts.collect(), refused)
    }
}

fn check(layouts: &[Layout]) {
    for layout in layouts {
        let field = Field::new();
        let project = field.sandbox.project();
        let said = field.shell(&project, layout.script);
        field.has_run();
        let at = match layout.name {
            "linked worktree" => field.sandbox.root().join("tree"),
            _ => project.join(layout.at),
        };
        let commands: Vec<&str> = READING.iter().copied().chain([layout.command]).collect();
        for mode in ["default", "acceptEdits", "plan", "dontAsk"] {
            field.run(&at, &commands, &["--permission-mode", mode]);
            assert!(!field.has_run(), "{} in mode {mode}: the recorder ran ({said})", layout.name);
        }
        if layout.armed {
            // `git describe --needs_redraw` has refreshed the index, with hooks off.
            field.shell(&at, "[ ! -f a.txt ] || touch -d 2021-01-01 a.txt");
            for command in commands {
                field.shell(&at, command);
            }
            assert!(
                field.has_run(),
                "{}: plain git does not run the recorder, the layout proves nothing: {said}",
                layout.name
            );
        }
    }
}

// [F-A2]
#[test]
fn hostile_repositories_run_nothing_first_quarter() {
    check(&HOSTILE[..12]);
}

// [F-A2]
#[test]
fn hostile_repositories_run_nothing_second_quarter() {
    check(&HOSTILE[12..24]);
}

// [F-A2]
#[test]
fn hostile_repositories_run_nothing_third_quarter() {
    check(&HOSTILE[24..36]);
}

// [F-A2]
#[test]
fn hostile_repositories_run_nothing_last_quarter() {
    check(&HOSTILE[36..]);
}

// [F-A2]
#[test]
fn disguised_repositories_run_nothing_first_half() {
    check(&DISGUISED[..11]);
}

// [F-A2]
#[test]
fn disguised_repositories_run_nothing_second_half() {
    check(&DISGUISED[11..]);
}

/// Layouts of honest people: name, script in the root of the sandbox, folder to work in.
#[rustfmt::skip]
const HONEST: &[(&str, &str, &str)] = &[
    ("init", "mkdir w && cd w && plain", "w"),
    ("clone", "mkdir s && (cd s && plain) && git clone -q file://$PWD/s w && cd w && dirty", "w"),
    ("shallow", "mkdir s && (cd s && plain) && git clone -q --depth 2 file://$PWD/s w && cd w && dirty", "w"),
    ("partial", "mkdir s && (cd s && plain && git config uploadpack.allowFilter true) && git clone -q --filter=blob:none file://$PWD/s w && cd w && git log -p > /dev/null && dirty", "w"),
    ("worktree", "mkdir s && (cd s && plain && git worktree add -q ../w) && cd w && dirty", "w"),
    ("bare clone with worktrees", "mkdir s && (cd s && plain) && git clone -q --bare s p/.bare && cd p && echo 'gitdir: ./.bare' > .git && git worktree add -q ../p/main && cd main && dirty", "p/main"),
    ("top of a bare clone with worktrees", "mkdir s && (cd s && plain) && git clone -q --bare s w/.bare && cd w && echo 'gitdir: ./.bare' > .git && git worktree add -q main", "w"),
    ("submodules", "mkdir w && cd w && plain && submodule", "w"),
    ("inside a submodule", "mkdir w && cd w && plain && submodule && cd sub && cp x a.txt && git add a.txt && git commit -qm a && dirty", "w/sub"),
    ("git-lfs", "mkdir w && cd w && git init -q && git config filter.lfs.clean 'git-lfs clean -- %f' && git config filter.lfs.smudge 'git-lfs smudge -- %f' && git config filter.lfs.required true && printf 'a.txt filter=lfs\\n' > .gitattributes && git add -A && plain && touch -d 2020-01-01 a.txt", "w"),
    ("husky", "mkdir w && cd w && plain && mkdir -p .husky/_ && printf '#!/bin/sh\\n' > .husky/_/pre-commit && git config core.hooksPath .husky/_", "w"),
    ("built-in fsmonitor", "mkdir w && cd w && plain && git config core.fsmonitor true", "w"),
    ("a subdirectory", "mkdir w && cd w && plain && mkdir -p src && cp a.txt src/", "w/src"),
];

const PLAIN: &str = "git init -q . && echo one > a.txt && git add -A && git commit -qm one && echo two > a.txt && git commit -qam two && dirty";
const DIRTY: &str = "echo three > a.txt && git stash -q && echo four >> a.txt && echo new > new.txt";

// [F-A2]
#[test]
fn ordinary_repositories_are_quiet_and_print_what_git_prints() {
    let commands = [
        "git status",
        "git diff",
        "git log",
        "git log -p -1",
        "git show",
        "git blame a.txt",
        "git branch",
        "git branch -a -v",
        "git stash list",
        "git stash show",
        "git stash show -p",
        "git status --short",
        "git -C . status",
    ];
    for (name, script, at) in HONEST {
        let field = Field::new();
        let root = field.sandbox.root().to_path_buf();
        let lfs = "mkdir bin && printf '#!/bin/sh\\ncase $1 in clean) sed s/^/ptr:/;; *) sed s/^ptr://;; esac\\n' > bin/git-lfs && chmod +x bin/git-lfs";
        let said = field.shell(&root, &format!("{lfs}; plain() {{ {PLAIN}; }}; dirty() {{ {DIRTY}; }}; {script}"));
        let dir = root.join(at);
        let (results, refused) = field.run(&dir, &commands, &[]);
        assert_eq!(refused, 0, "{name} asks: {results:#?} ({said})");
        for (command, result) in commands.iter().zip(results) {
            let expected = field.shell(&dir, command);
            assert_same(&result, expected.trim_end(), &format!("{name}: {command} ({said})"));
        }
    }
}

/// Without the time of day in lines of `git blame` that are not committed: it is that of the run.
fn timeless(text: &str) -> String {
    let line = |line: &str| {
        if line.contains("Not Committed Yet") {
            line.replace(|c: char| c.is_ascii_digit(), "0")
        } else {
            line.to_owned()
        }
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// A failing command has its code in front, an empty output a sentence of its own.
fn assert_same(result: &str, expected: &str, what: &str) {
    let result = result.strip_prefix("Exit code 128\n").unwrap_or(result);
    if expected.is_empty() {
        assert!(!result.contains("fatal"), "{what}: {result}");
    } else {
        assert_eq!(timeless(result), timeless(expected), "{what}");
    }
}

// [F-A2]
#[test]
fn a_key_that_cannot_be_overridden_is_named_and_a_rule_allows_it() {
    let field = Field::new();
    let project = field.sandbox.project();
    field.shell(&project, "base; echo x >> a.txt; git config diff.external $R");
    let (texts, refused) = field.run(&project, &["git diff", "git diff --no-ext-diff", "git diff --stat"], &[]);
    assert_eq!(refused, 1, "{texts:#?}");
    assert!(texts[0].contains("diff.external"), "{}", texts[0]);
    assert!(texts[1].contains("+x") && texts[2].contains("1 file changed"), "{texts:#?}");
    field.shell(&project, "git config core.worktree /etc");
    let (texts, refused) = field.run(&project, &["git status"], &[]);
    assert!(refused == 1 && texts[0].contains("core.worktree"), "{texts:#?}");
    field.shell(&project, "git config --unset core.worktree");
    assert!(!field.has_run());
    let (_, refused) = field.run(&project, &["git diff"], &["--allowedTools", "Bash(git diff:*)"]);
    assert!(refused == 0 && field.has_run(), "a rule of the user's allows the command as it is");
}

// [F-A2]
#[test]
fn what_a_rule_allows_runs_as_usual_beside_a_guarded_call() {
    let field = Field::new();
    let project = field.sandbox.project();
    field.shell(&project, "base; git config diff.ev.textconv $R; printf '#!/bin/sh\\necho hooked > hooked\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; echo x >> a.txt");
    let rule = ["--allowedTools", "Bash(git commit:*)"];
    let (texts, refused) = field.run(&project, &["git commit -qam 'a b' && git log -p -1"], &rule);
    assert_eq!(refused, 0, "{texts:#?}");
    assert!(texts[0].contains("+x"), "{texts:#?}");
    assert!(project.join("hooked").exists(), "hooks of an allowed commit run");
    assert!(!field.has_run(), "the textconv of a call that only reads does not");
    // Behind another program the call cannot be told apart: it is asked about.
    let (_, refused) = field.run(&project, &["git commit -qam c; timeout 5 git log -p -1"], &rule);
    assert!(refused == 1 && !field.has_run());
}

// [F-A2]
#[test]
fn configuration_written_by_the_same_command_or_message_gains_nothing() {
    let field = Field::new();
    let project = field.sandbox.project();
    field.shell(
        &project,
        "base; git config include.path ../shared.inc; git config -f evil.inc diff.ev.textconv $R; touch shared.inc",
    );
    let accept = ["--permission-mode", "acceptEdits"];
    let (texts, refused) =
        field.run(&project, &["cp evil.inc shared.inc && git log -p -1", "cp a.txt b.txt && git log -p -1"], &accept);
    assert!(refused == 1 && texts[0].contains("shared.inc") && !field.has_run(), "{texts:#?}");
    // Both calls of one message are decided before either runs.
    let evil = std::fs::read_to_string(project.join("evil.inc")).unwrap();
    let calls: [Value; 2] =
        [json!({"file_path": project.join("new.inc"), "content": evil}), json!({"command": "git log -p -1"})];
    field.shell(&project, "git config include.path ../new.inc");
    let both =
        ScriptedReply::message(vec![ScriptedBlock::tool("Write", &calls[0]), ScriptedBlock::tool("Bash", &calls[1])]);
    let server = ModelServer::script([both, ScriptedReply::text("done")]);
    let args = ["-p", "go", "--permission-mode", "acceptEdits"];
    field.sandbox.gimlet(&args).env("ANTHROPIC_BASE_URL", server.url()).run();
    assert!(project.join("new.inc").exists() && !field.has_run());
}

// [F-A2]
#[test]
fn our_own_git_runs_nothing_of_the_repository() {
    let field = Field::new();
    let project = field.sandbox.project();
    let script = "base; git config filter.ev.smudge $R; git config filter.ev.clean $R; git config core.fsmonitor $R; \
                  cp $R .git/hooks/post-checkout; ln -sf $(dirname $R)/ran .git/hooks/ran";
    field.shell(&project, script);
    field.has_run();
    let server = ModelServer::script([ScriptedReply::text("done")]);
    let run = field.sandbox.gimlet(&["-p", "go", "--worktree", "side"]).env("ANTHROPIC_BASE_URL", server.url()).run();
    assert_eq!(run.code(), 0, "{}", run.stderr);
    assert!(project.join(".claude/worktrees/side/a.txt").exists() && !field.has_run());
    let (_, refused) = field.run(&project, &["git reset --hard"], &["--allowedTools", "Bash(rm:*)"]);
    assert!(refused == 1 && !field.has_run());
}

// [F-A2]
#[test]
fn a_toolchain_that_the_folder_names_is_asked_about() {
    let field = Field::new();
    let project = field.sandbox.project();
    field.shell(&project, "printf '[toolchain]\\nchannel = \"stable\"\\n' > rust-toolchain.toml; mkdir sub");
    let (texts, refused) = field.run(&project, &["rustc --version", "cd sub && rustc --version"], &[]);
    assert_eq!(refused, 1, "{texts:#?}");
    field.shell(&project, "printf '[toolchain]\\npath = \"./evil\"\\n' > rust-toolchain.toml");
    let (texts, refused) = field.run(&project, &["rustc --version", "cargo --version"], &[]);
    assert_eq!(refused, 2, "{texts:#?}");
}

// [F-A2]
#[test]
fn settings_of_npm_that_the_folder_brings_are_asked_about() {
    let field = Field::new();
    let (project, root) = (field.sandbox.project(), field.sandbox.root().to_path_buf());
    let stand_in =
        "mkdir -p bin && printf '#!/bin/sh\necho npm-ran\n' > bin/npm && cp bin/npm bin/npx && chmod +x bin/*";
    field.shell(&root, stand_in);
    let commands = ["npm ls", "npm root", "npm prefix -g", "npm pkg get name", "npx --version"];
    std::fs::write(field.sandbox.home().join(".npmrc"), "registry=https://own.test/\n").unwrap();
    for quiet in [None, Some("save-exact=true\n# registry=x\n\n fund = false\npublic-hoist-pattern[]=*x*\n")] {
        if let Some(text) = quiet {
            std::fs::write(project.join(".npmrc"), text).unwrap();
        }
        let (texts, refused) = field.run(&project, &commands, &[]);
        assert!(refused == 0 && texts.iter().all(|text| text.contains("npm-ran")), "{quiet:?}: {texts:#?}");
    }
    field.shell(&project, "mkdir -p sub");
    for setting in [
        "registry=http://127.0.0.1:1/",
        "//127.0.0.1:1/:_authToken=${MY_DEPLOY_TOKEN}",
        "cache=./.c",
        " Logs-Dir = ../x",
        "update-notifier=true",
        "\"registry\"=\"http://127.0.0.1:1/\"",
        "save-exact=true\nuserconfig=./x",
        "[section]",
    ] {
        std::fs::write(project.join(".npmrc"), setting).unwrap();
        for dir in [project.clone(), project.join("sub")] {
            let (texts, refused) = field.run(&dir, &commands, &[]);
            assert!(refused == 5 && !texts.iter().any(|text| text.contains("npm-ran")), "{setting}: {texts:#?}");
        }
    }
    let (texts, refused) = field.run(&root, &["cd project && npm ls"], &[]);
    assert_eq!(refused, 1, "behind a cd: {texts:#?}");
}
