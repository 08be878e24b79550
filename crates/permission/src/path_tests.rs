use super::*;

fn pattern(spec: &str, behaviour: Behaviour) -> PathPattern {
    let anchors = Anchors {
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
        ("//etc/hosts", Behaviour::Allow, "/etc/hosts", true),
        ("//**/.env", Behaviour::Deny, "/anywhere/.env", true),
        ("//**", Behaviour::Allow, "/anywhere/x", true),
        ("~/notes/*.md", Behaviour::Allow, "/home/u/notes/a.md", true),
        ("~/notes/*.md", Behaviour::Allow, "/home/u/notes/sub/a.md", false),
        ("/secrets/**", Behaviour::Deny, "/home/u/.claude/secrets/k", true),
        ("/secrets/**", Behaviour::Deny, "/w/app/secrets/k", false),
        (".env", Behaviour::Deny, "/w/app/deep/er/.env", true),
        (".env", Behaviour::Deny, "/w/.env", false),
        ("./.env", Behaviour::Deny, "/w/app/.env", true),
        ("src/**", Behaviour::Allow, "/w/app/src/a/b.rs", true),
        ("src/**", Behaviour::Allow, "/w/app/vendor/src/b.rs", false),
        ("src/**", Behaviour::Deny, "/w/app/vendor/src/b.rs", true),
        ("src/lib/**", Behaviour::Deny, "/w/app/vendor/src/lib/b.rs", false),
        ("src", Behaviour::Allow, "/w/app/src/b.rs", true),
        ("src/", Behaviour::Deny, "/w/app/src/b.rs", true),
        ("../other/**", Behaviour::Allow, "/w/other/x", true),
        ("src/[ab].rs", Behaviour::Allow, "/w/app/src/a.rs", true),
        ("src/[ab].rs", Behaviour::Allow, "/w/app/src/c.rs", false),
    ];
    for (spec, behaviour, path, expected) in cases {
        assert_eq!(pattern(spec, behaviour).matches(Path::new(path)), expected, "{behaviour:?} {spec} on {path}");
    }
}

#[test]
fn containment_is_by_component() {
    // SC-C01
    let roots = [PathBuf::from("/w/app")];
    assert!(inside(Path::new("/w/app"), &roots));
    assert!(inside(Path::new("/w/app/x"), &roots));
    assert!(!inside(Path::new("/w/app-secrets/k"), &roots));
    assert!(!inside(&normalise(Path::new("/w/app/src/../../outside.txt")), &roots));
}
