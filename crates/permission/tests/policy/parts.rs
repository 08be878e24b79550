//! What a question about a command shows: its parts as they are written, each once, and why it asks.

use permission::{Access, DecisionExplanation, PathFacts, PermissionQuery, Policy, SessionDirectories};
use std::path::Path;
use wire::mode::PermissionMode as Mode;

const CWD: &str = "/w/app";

fn explain(command: &str) -> DecisionExplanation {
    let place = SessionDirectories {
        cwd: CWD.into(),
        home: Some("/home/u".into()),
        roots: vec![CWD.into()],
        ..SessionDirectories::default()
    };
    let policy = Policy::new(Mode::Default, &[], place, &Path::to_path_buf).0;
    let accesses = [Access::Run(command.to_owned())];
    let request = PermissionQuery::new("Bash", &accesses);
    let facts = PathFacts::gather(CWD.into(), policy.needs(&request, Path::new(CWD)), permission::normalise);
    policy.explain(&request, &facts)
}

/// The parts, those that are asked about with a question mark in front.
fn parts(command: &str) -> Vec<String> {
    let shown = |part: &permission::ExplainedPart| match part.decision {
        "allow" => part.text.clone(),
        _ => format!("? {}", part.text),
    };
    explain(command).parts.iter().map(shown).collect()
}

/// [TST-240]
#[test]
#[rustfmt::skip]
fn parts_are_shown_as_they_are_written_and_each_once() {
    for (command, expected) in [
        ("ls", &["ls"][..]),
        ("cargo build 2>&1 | tee \"out log.txt\" && echo 'a  b'", &["? cargo build 2>&1", "? tee \"out log.txt\"", "echo 'a  b'"]),
        ("cat <<'EOF' > a.txt && make\nhello\nworld\nEOF", &["? cat <<'EOF' … 2 lines > a.txt", "? make"]),
        ("git commit -F - <<'EOF'\nx\nEOF", &["? git commit -F - <<'EOF' … 1 line"]),
        ("git add a && git commit -m \"$(cat <<'EOF'\nx\n\ny (z)\nEOF\n)\"", &["? git add a", "? git commit -m \"$(cat <<'EOF' … 5 lines"]),
        ("LANG=C sort -u < in.txt >> out.txt 2> /dev/null; pwd", &["? LANG=C sort -u < in.txt >> out.txt 2> /dev/null", "pwd"]),
        ("make &> log; wc -l <<< \"a b\"", &["? make &> log", "wc -l <<< \"a b\""]),
        ("make; make; make test", &["? make", "? make test"]),
        ("for f in a b; do cargo fmt \"$f\"; done", &["? cargo fmt \"$f\""]),
        // Not understood as a whole, and still the parts are whole.
        ("for f in *.rs; do mytool \"$f\" --name 'a b'; done; ls", &["? mytool \"$f\" --name 'a b'", "ls"]),
        ("echo \"$(curl x | sh)\"; ls", &["? echo \"$(curl x | sh)\"", "ls"]),
        ("if [ -f x ]; then make; fi", &["[ -f x ]", "? make"]),
        ("case $x in a) make;; esac; pwd", &["? make", "pwd"]),
        ("{ make; ls; } > out.txt", &["? make", "ls", "? > out.txt"]),
        ("X=curl; $X http://e.example; ls", &["? X=curl", "? $X http://e.example", "? ls"]),
        ("export PATH=.:$PATH; git status", &["? export PATH=.:$PATH", "? git status"]),
        ("ls(){ curl x; }; ls", &["? curl x", "? ls"]),
        ("diff <(sort a) b; rm x", &["diff <(sort a) b", "? rm x"]),
        ("echo \"unterminated", &[]),
    ] {
        assert_eq!(parts(command), expected, "{command}");
    }
}

/// [TST-240]
#[test]
#[rustfmt::skip]
fn the_reason_is_said_in_words() {
    for (command, expected) in [
        ("make", "no rule allows it"),
        ("make > out.txt", "no rule allows it"),
        ("echo x > out.txt", "writes a file: /w/app/out.txt"),
        ("echo x > /srv/out.txt", "writes outside the project: /srv/out.txt"),
        ("make > /srv/out.txt", "writes outside the project: /srv/out.txt"),
        ("cp a.txt /etc/hosts", "writes outside the project: /etc/hosts"),
        ("cat /etc/hosts", "reads outside the project: /etc/hosts"),
        ("cat < /srv/in.txt", "reads outside the project: /srv/in.txt"),
        ("cat ~/.ssh/id_rsa", "reads a private key or credential file: /home/u/.ssh/id_rsa"),
        ("LD_PRELOAD=./x.so ls", "sets the variable LD_PRELOAD, which may change what runs"),
        ("X=1 make", "sets the variable X, which may change what runs"),
        ("mytool $X", "the value of a variable is known only when it runs"),
        ("mytool $(date)", "the output of a command in it is known only when it runs"),
        ("eval ls", "it runs text as code"),
        ("f() { ls; }; f", "it defines a function"),
        ("echo \"unterminated", "the command cannot be read to its end"),
    ] {
        let reason = explain(command).decision.reason().describe();
        assert_eq!(reason, expected, "{command}");
    }
}
