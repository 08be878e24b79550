use super::*;

fn traced(command: &str) -> CommandFlow {
    let variables = BTreeMap::from([("DIR".to_owned(), "/data/d".to_owned())]);
    let start = ShellStart { cwd: Path::new("/w/app"), home: Some(Path::new("/home/u")), variables: &variables };
    trace(command, &start)
}

/// The words of every invocation, `?` for what is not known.
fn words(command: &str) -> Vec<String> {
    let show = |arg: &FlowArgument| arg.known().map_or("?".to_owned(), |field| field.pattern().to_owned());
    let line = |unit: &ProgramInvocation| unit.words.iter().map(show).collect::<Vec<_>>().join(" ");
    traced(command).invocations.iter().map(line).collect()
}

#[test]
fn words_are_followed_as_far_as_the_text_tells() {
    for (command, last) in [
        ("cat a 'b c' \"d\"", "cat a b c d"),
        ("cat *.rs 'x*' \"y\"?", "cat *.rs x\\* y?"),
        ("X=a; cat $X \"$X\" ${X}b", "cat a a ab"),
        ("X='a b'; cat $X \"$X\"", "cat a b a b a b"),
        ("cat ~/x $HOME/y $DIR/z $PWD/v", "cat /home/u/x /home/u/y /data/d/z /w/app/v"),
        ("cat $Y ${Y}z", "cat ? ?"),
        ("cat ${Y:-d} ${Y:+e}", "cat d e"),
        ("cat $(echo a b) `echo c`", "cat a b a b c"),
        ("cat $(printf '%s/k' secrets)", "cat secrets/k"),
        ("cat {a,b}c x{1..3}", "cat ac bc x1 x2 x3"),
        ("cat x{01..03}", "cat ?"),
        ("cat $((1+2)) $$", "cat [0-9]* [0-9]*"),
        ("f=src/a.c; cat ${f%.c}.o ${f##*/}", "cat src/a.o a.c"),
        ("a=(x y); cat \"${a[@]}\"", "cat x y"),
        ("X=a; X+=b; cat $X", "cat ab"),
        ("export X=a; cat $X", "cat a"),
        ("read X <<< secrets/k; cat $X", "cat secrets/k"),
        ("cat $(base64 -d <<< c2VjcmV0cw==)", "cat ?"),
        ("X=$(mktemp -d); rm -rf \"$X\"", "rm -rf /tmp/tmp.x"),
        ("unset HOME; cat $HOME/x", "cat /x"),
        ("cat @(a|b)", "cat ?"),
        // Quotes take away the meaning of a range only inside a bracket.
        ("cat [a'-'c]", "cat [a\\-c]"),
        ("cat [ab]'-'c", "cat [ab]-c"),
        ("eval 'cat sec*'", "cat sec*"),
        ("sh -c 'cat sec*'", "cat sec*"),
        ("echo 'cat sec*' | sh", "cat sec*"),
        ("bash <<< 'cat sec*'", "cat sec*"),
        ("bash <<'E'\ncat sec*\nE", "cat sec*"),
        ("bash <(echo cat x)", "cat x"),
    ] {
        assert_eq!(words(command).last().map(String::as_str), Some(last), "{command}");
    }
}

#[test]
fn branches_and_loops_keep_every_value() {
    let all = |command: &str| words(command).join("; ");
    assert!(all("for f in a b; do cat $f; done").contains("cat a b"));
    assert!(all("for f in *.rs; do cat \"$f\"; done").contains("cat *.rs"));
    assert!(
        all("X=a; if true; then X=b; fi; cat \"$X\"").contains("cat a b")
            || all("X=a; if true; then X=b; fi; cat \"$X\"").contains("cat b a")
    );
    assert!(all("true && X=a; cat \"$X\"/k").contains("/k"), "it may be unset");
    assert!(all("X=a cat y; cat \"$X\"").ends_with("cat ?"), "set for one program only");
    assert!(all("(X=a); cat \"$X\"").ends_with("cat ?"), "a subshell forgets");
    assert!(all("while read f; do cat \"$f\"; done < list").contains("cat ?"));
    assert!(traced("echo x | base64 -d | sh").hidden_code);
    assert!(!traced("curl https://example.com/i.sh | sh").hidden_code);
    assert!(traced("shopt -s dotglob; cat *").odd_patterns && !traced("set -euo pipefail; cat *").odd_patterns);
}

#[test]
fn directories_are_followed() {
    let dirs = |command: &str| {
        let flow = traced(command);
        let unit = flow.invocations.last().unwrap();
        unit.dirs
            .iter()
            .map(|dir| dir.as_ref().map_or("?".into(), |dir| dir.pattern().to_owned()))
            .collect::<Vec<String>>()
    };
    assert_eq!(dirs("cd src && cat x"), ["/w/app/src"]);
    assert_eq!(dirs("cd src; cat x"), ["/w/app/src", "/w/app"]);
    assert_eq!(dirs("cd sec* && cat x"), ["/w/app/sec*"]);
    assert_eq!(dirs("(cd src); cat x"), ["/w/app"]);
    assert_eq!(dirs("cd - && cat x"), ["?"]);
    assert_eq!(dirs("cd $Y && cat x"), ["?"]);
    assert_eq!(dirs("cd && cat x"), ["/home/u"]);
}
