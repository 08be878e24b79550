use super::*;

fn pattern(spec: &str, behaviour: RuleBehaviour) -> PathPattern {
    let anchors = PatternAnchors {
        cwd: Path::new("/w/app"),
        home: Some(Path::new("/home/u")),
        root: Path::new("/home/u/.claude"),
        resolve: &Path::to_path_buf,
    };
    PathPattern::compile(spec, behaviour, anchors).unwrap()
}

#[test]
fn anchors_and_depth_follow_the_rule_forms() {
    // [CLI-150] [CLI-151] [CLI-152] [CLI-153]
    let cases = [
        ("//etc/hosts", RuleBehaviour::Allow, "/etc/hosts", true),
        ("//**/.env", RuleBehaviour::Deny, "/anywhere/.env", true),
        ("//**", RuleBehaviour::Allow, "/anywhere/x", true),
        ("~/notes/*.md", RuleBehaviour::Allow, "/home/u/notes/a.md", true),
        ("~/notes/*.md", RuleBehaviour::Allow, "/home/u/notes/sub/a.md", false),
        ("/secrets/**", RuleBehaviour::Deny, "/home/u/.claude/secrets/k", true),
        ("/secrets/**", RuleBehaviour::Deny, "/w/app/secrets/k", false),
        (".env", RuleBehaviour::Deny, "/w/app/deep/er/.env", true),
        (".env", RuleBehaviour::Deny, "/w/.env", false),
        ("./.env", RuleBehaviour::Deny, "/w/app/.env", true),
        ("src/**", RuleBehaviour::Allow, "/w/app/src/a/b.rs", true),
        ("src/**", RuleBehaviour::Allow, "/w/app/vendor/src/b.rs", false),
        ("src/**", RuleBehaviour::Deny, "/w/app/vendor/src/b.rs", true),
        ("src/lib/**", RuleBehaviour::Deny, "/w/app/vendor/src/lib/b.rs", false),
        ("src", RuleBehaviour::Allow, "/w/app/src/b.rs", true),
        ("src/", RuleBehaviour::Deny, "/w/app/src/b.rs", true),
        ("../other/**", RuleBehaviour::Allow, "/w/other/x", true),
        ("src/[ab].rs", RuleBehaviour::Allow, "/w/app/src/a.rs", true),
        ("src/[ab].rs", RuleBehaviour::Allow, "/w/app/src/c.rs", false),
    ];
    for (spec, behaviour, path, expected) in cases {
        assert_eq!(pattern(spec, behaviour).matches(Path::new(path)), expected, "{behaviour:?} {spec} on {path}");
    }
}

#[test]
fn containment_is_by_component() {
    // SC-C01
    let roots = [PathBuf::from("/w/app")];
    assert!(is_inside(Path::new("/w/app"), &roots));
    assert!(is_inside(Path::new("/w/app/x"), &roots));
    assert!(!is_inside(Path::new("/w/app-secrets/k"), &roots));
    assert!(!is_inside(&normalise(Path::new("/w/app/src/../../outside.txt")), &roots));
}
