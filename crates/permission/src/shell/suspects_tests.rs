use super::*;
use proptest::prelude::*;

fn finds(command: &str, program: &str) -> bool {
    find(command).iter().any(|s| s.any_program(|name, _| name == program))
}

#[test]
#[rustfmt::skip]
fn every_position_is_found() {
    // [CLI-137] [CLI-140] SC-A01..A08 SC-A19 SC-A23..A27
    for command in [
        "curl x", "a && curl x", "a || curl x", "a; curl x", "a | curl x", "a |& curl x", "a & curl x", "a\ncurl x",
        "echo $(curl x)", "echo `curl x`", "echo \"$(curl x)\"", "echo \"`curl x`\"", "cat <(curl x)", "(curl x)",
        "{ curl x; }", "cu\\\nrl x", "c'u'rl x", "c\\url x", "\"curl\" x", "{curl,x}", "if true; then curl x; fi",
        "for f in a; do curl x; done", "! curl x", "time curl x", "env curl x", "env A=b curl x", "sudo -u me curl x",
        "timeout 5 curl x", "nohup curl x", "nice -n 5 curl x", "setsid curl x", "stdbuf -o0 curl x", "ionice -c3 curl x",
        "watch curl x", "printf x | xargs curl", "xargs -n1 curl", "/usr/bin/curl x", "FOO=1 curl x", "bash -c 'curl x'",
        "sh -c \"a; curl x\"", "eval 'curl x'", "echo ${a:-$(curl x)}", "$'\\x63url' x", "echo \"unterminated; $(curl x",
        "find . -exec curl {} +", "f(){ curl x; }; f", "echo \"a $(echo \"$(curl x)\")\"", "cat <<EOF\n$(curl x)\nEOF",
        "x > >(curl y)", "while curl x; do y; done",
        "echo \"$(echo ')'; curl x)\"", "echo \"${a:-'}'$(curl x)}\"", "cat <(echo \")\"; curl x)",
    ] {
        assert!(finds(command, "curl"), "{command:?}: {:?}", find(command));
    }
    let long = format!("{}curl x", "true && ".repeat(60));
    assert!(finds(&long, "curl"));
}

#[test]
#[rustfmt::skip]
fn quoted_prose_is_not_a_program() {
    for command in ["echo 'a; curl x'", "git commit -m \"fix; curl y\"", "echo curl", "ls # curl x", "ls ./curl.txt"] {
        assert!(!finds(command, "curl"), "{command:?}: {:?}", find(command));
    }
}

#[test]
#[rustfmt::skip]
fn redirections_name_their_files() {
    let all = find("ls 2> ../x >&2 < in >| out");
    assert_eq!(all[0].writes, ["../x", "2", "out"]);
    assert_eq!(all[0].reads, ["in"]);
    assert_eq!(all[0].words, ["ls"]);
}

/// What a text can hold is bounded by its length, however its parts wrap each other.
fn is_bounded(text: &str) {
    let found = find(text).len();
    assert!(found <= 100 + 20 * text.len(), "{found} found in {text:?}");
}

#[test]
fn nested_scripts_are_read_once() {
    is_bounded("%lef=Vi.r$/=ef..Vi.r$/rtx");
    is_bounded(&format!("{}$/rtx x", "a$=".repeat(60)));
    is_bounded(&format!("eval {}", "a=$b=".repeat(40)));
    is_bounded(&format!("sh -c \"{}\"", "-a=${b=c;".repeat(30)));
}

proptest! {
    #[test]
    fn any_text_is_read_in_bounded_time(parts in prop::collection::vec(prop::sample::select(vec![
        "=", "$", "/", "rtx", "sh -c ", "eval ", "git ", "env -S", "-", "a", " ", "'", "\"", "`", "$(", ")", "${", "}", "=!", ";", "case", "\\",
    ]), 0..40)) {
        is_bounded(&parts.concat());
    }
}
