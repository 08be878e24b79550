use super::*;

fn compile_one(behaviour: RuleBehaviour, text: &str) -> (Option<PermissionRule>, Vec<RuleWarning>) {
    let rule = RuleText { behaviour, source: SettingsSource::User, text: text.into(), root: "/w".into() };
    let around = RuleContext { cwd: Path::new("/w"), home: None, resolve: &Path::to_path_buf };
    let mut warnings = Vec::new();
    (compile(&rule, &around, &mut warnings), warnings)
}

#[test]
fn lists_split_outside_parentheses() {
    // [CLI-28] [SDK-8]
    assert_eq!(split_list("Bash(git log *),Read"), ["Bash(git log *)", "Read"]);
    assert_eq!(split_list("Bash(git log --format=a,b) Read  Edit"), ["Bash(git log --format=a,b)", "Read", "Edit"]);
    assert_eq!(split_list(" , ,"), Vec::<String>::new());
    assert_eq!(split_list("Bash(echo \\) x),Read"), ["Bash(echo \\) x)", "Read"]);
    assert_eq!(split_list("Bash(f (a b)),mcp__s__*"), ["Bash(f (a b))", "mcp__s__*"]);
}

#[test]
fn parts_of_a_rule() {
    assert_eq!(split_rule("Read"), Ok(("Read", None)));
    assert_eq!(split_rule("Bash(*)"), Ok(("Bash", None)));
    assert_eq!(split_rule("Bash(a (b))"), Ok(("Bash", Some("a (b)"))));
    assert!(split_rule("Bash(a").is_err());
    assert!(split_rule("").is_err());
}

#[test]
fn allow_rules_name_what_they_allow() {
    // [CLI-160] [CLI-158]
    for text in ["*", "B*", "Bash()", "mcp__s*__t", "Write(src/**)", "Glob(src/**)", "WebSearch(x)", "Bash(ls"] {
        let (rule, warnings) = compile_one(RuleBehaviour::Allow, text);
        assert!(rule.is_none(), "{text} must not be kept");
        assert_eq!(warnings.len(), 1, "{text} must warn");
    }
    for text in ["mcp__*", "mcp__s", "mcp__s__*", "mcp__s__t*", "Read", "Task", "Bash(ls:*)"] {
        assert!(compile_one(RuleBehaviour::Allow, text).0.is_some(), "{text} must be kept");
    }
}

#[test]
fn deny_rules_may_be_broad() {
    for (text, tool) in [("*", "Bash"), ("mcp__*", "mcp__s__t"), ("mcp__s", "mcp__s__t"), ("Task", "Agent")] {
        assert!(compile_one(RuleBehaviour::Deny, text).0.unwrap().covers_tool(tool), "{text} covers {tool}");
    }
    assert!(!compile_one(RuleBehaviour::Deny, "mcp__s").0.unwrap().covers_tool("mcp__sx__t"));
}

#[test]
fn a_rule_for_a_tool_that_does_not_exist_is_told() {
    // [CLI-184]
    for (text, warned) in
        [("Stop Task", true), ("Bsh", true), ("Bash", false), ("some_tool", false), ("B*", false), ("WebSearch", false)]
    {
        let (_, warnings) = compile_one(RuleBehaviour::Deny, text);
        assert_eq!(!warnings.is_empty(), warned, "{text}: {warnings:?}");
    }
}
