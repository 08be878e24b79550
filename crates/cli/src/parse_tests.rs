use super::*;
use crate::args::FormatFlag;
use engine::{SettingSource, ThinkingOption};
use wire::mode::PermissionMode;

fn parsed(words: &[&str]) -> Args {
    parse(&words.iter().map(OsString::from).collect::<Vec<_>>()).unwrap_or_else(|e| panic!("{words:?}: {e:?}"))
}

fn refused(words: &[&str]) -> String {
    match parse(&words.iter().map(OsString::from).collect::<Vec<_>>()) {
        Err(ParseExit::Usage(text)) => text,
        other => panic!("{words:?}: {other:?}"),
    }
}

#[test]
fn the_table_is_consistent() {
    command().debug_assert();
    for flag in FLAGS {
        assert!(flag.group == FlagGroup::Hidden || !flag.help.is_empty(), "--{} lacks help", flag.long);
        assert!(flag.help.len() <= 66, "--{}: keep help to one line", flag.long);
        assert!(flag.kind == FlagKind::Switch || !flag.value.is_empty(), "--{} lacks a value name", flag.long);
    }
}

// [SDK-5]
#[test]
fn every_valued_flag_takes_both_forms() {
    for flag in FLAGS.iter().filter(|f| !matches!(f.kind, FlagKind::Switch | FlagKind::OptionalEquals)) {
        for name in std::iter::once(&flag.long).chain(flag.aliases) {
            let long = format!("--{name}");
            let matches = |words: &[String]| {
                let matches = command().try_get_matches_from(words).unwrap_or_else(|e| panic!("{words:?}: {e}"));
                (values_of(flag, &matches), prompt(&matches).unwrap())
            };
            let two = matches(&[long.clone(), "value".into(), "--verbose".into(), "go".into()]);
            let one = matches(&[format!("{long}=value"), "go".into()]);
            assert_eq!((&two, &one), (&one, &(vec!["value".to_owned()], Some("go".to_owned()))), "{long}");
        }
    }
}

#[test]
fn the_command_lines_of_known_clients_parse() {
    // [SDK-3] [CLI-10]
    let python = parsed(&[
        "--output-format",
        "stream-json",
        "--verbose",
        "--system-prompt",
        "",
        "--tools",
        "",
        "--allowedTools",
        "Read,Bash(git log *)",
        "--max-turns",
        "3",
        "--max-budget-usd",
        "0.5",
        "--permission-prompt-tool",
        "stdio",
        "--resume=-odd",
        "--session-mirror",
        "--settings",
        "{\"a\":1}",
        "--add-dir",
        "/a",
        "--add-dir",
        "/b",
        "--mcp-config",
        "{\"mcpServers\":{}}",
        "--setting-sources=",
        "--thinking",
        "adaptive",
        "--input-format",
        "stream-json",
    ]);
    assert_eq!((python.output, python.input), (Some(FormatFlag::StreamJson), Some(FormatFlag::StreamJson)));
    assert_eq!(python.options.prompt.system.as_deref(), Some("")); // [SDK-12] [CLI-11]
    assert_eq!(python.options.tools.offered, Some(Vec::new())); // [SDK-10]
    assert_eq!(python.options.permissions.allowed, ["Read", "Bash(git log *)"]);
    assert_eq!(python.resume.as_deref(), Some("-odd")); // [SDK-6]
    assert_eq!(python.options.permissions.directories.len(), 2); // [SDK-9]
    assert_eq!(python.options.configuration.sources, Some(Vec::new())); // [SDK-11]
    assert_eq!(python.options.limits.max_budget_usd, Some(0.5)); // [SDK-20]
    assert!(python.without_effect.is_empty());
    assert_eq!(python.prompt, None);

    let typescript = parsed(&[
        "--output-format",
        "stream-json",
        "--verbose",
        "--input-format",
        "stream-json",
        "--tools=default",
        "--max-thinking-tokens=0",
        "--permission-mode=acceptEdits",
        "--allow-dangerously-skip-permissions",
        "--replay-user-messages",
        "",
        "--plugin-dir=/p",
        "--plugin-dir-no-mcp=/q",
        "--agent=x",
        "--betas=a,b",
        "--task-budget=9",
        "--fallback-model=m",
        "--json-schema={}",
    ]);
    assert_eq!(typescript.options.tools.offered, None);
    assert_eq!(typescript.options.model.thinking, ThinkingOption::Disabled); // [SDK-18]
    assert_eq!(typescript.options.permissions.mode, Some(PermissionMode::AcceptEdits));
    assert_eq!((typescript.replay_user_messages, typescript.prompt.as_deref()), (true, None)); // [SDK-7]
    assert_eq!(typescript.options.model.betas, ["a", "b"]); // [SDK-19]

    let rust = parsed(&[
        "--print",
        "--verbose",
        "--output-format",
        "stream-json",
        "--input-format",
        "stream-json",
        "--session-id",
        "u",
        "--allowed-tools",
        "A",
        "B",
        "--tools",
        "Read",
        "Bash",
        "--add-dir",
        "/a",
        "/b",
        "--betas",
        "x",
        "y",
        "--",
        "go",
    ]); // [SDK-4]
    assert_eq!(rust.options.permissions.allowed, ["A", "B"]);
    assert_eq!(rust.options.tools.offered, Some(vec!["Read".into(), "Bash".into()]));
    assert_eq!(
        (rust.options.permissions.directories.len(), rust.options.model.betas.len(), rust.prompt.as_deref()),
        (2, 2, Some("go"))
    );
}

#[test]
fn scalars_take_the_last_value_and_dashes() {
    let args = parsed(&["--model", "a", "--model=b", "-p", "--system-prompt", "- be brief", "hi"]);
    assert_eq!((args.options.model.name.as_deref(), args.prompt.as_deref()), (Some("b"), Some("hi")));
    assert_eq!(args.options.prompt.system.as_deref(), Some("- be brief"));
}

#[test]
fn optional_values_bind_only_when_unambiguous() {
    assert_eq!(parsed(&["-r"]).resume.as_deref(), Some(""));
    assert_eq!(parsed(&["--resume", "-p", "go"]).resume.as_deref(), Some(""));
    let both = parsed(&["-p", "--resume", "id", "go"]);
    assert_eq!((both.resume.as_deref(), both.prompt.as_deref()), (Some("id"), Some("go"))); // [CLI-14]
    let debug = parsed(&["--debug", "mcp"]); // [CLI-45]
    assert_eq!((debug.debug.filter, debug.prompt.as_deref()), (None, Some("mcp")));
    assert_eq!(parsed(&["--debug=mcp"]).debug.filter.as_deref(), Some("mcp"));
}

#[test]
fn the_prompt_may_stand_anywhere_and_after_the_dashes() {
    assert_eq!(parsed(&["hello", "-p"]).prompt.as_deref(), Some("hello"));
    assert_eq!(parsed(&["--print", "--", "-p is a flag"]).prompt.as_deref(), Some("-p is a flag"));
    let swallowed = parsed(&["-p", "--allowedTools", "Read", "fix it"]);
    assert_eq!((swallowed.prompt, swallowed.greedy), (None, vec!["allowedTools"]));
    assert!(refused(&["-p", "two", "words"]).starts_with("error: too many arguments"));
}

#[test]
fn bad_flags_and_values_are_named() {
    // [SDK-27] [CLI-39]
    assert_eq!(refused(&["--frobnicate=1"]), "error: unknown option '--frobnicate'");
    assert_eq!(refused(&["--await-claim"]).lines().next(), Some("error: unknown option '--await-claim'")); // [SDK-26]
    assert_eq!(refused(&["--modle", "x"]), "error: unknown option '--modle'\n(Did you mean --model?)");
    assert_eq!(refused(&["-x"]), "error: unknown option '-x'");
    assert_eq!(refused(&["--model"]), "error: option '--model <model>' argument missing");
    assert_eq!(refused(&["--verbose=yes"]), "error: option '--verbose' does not take a value");
    assert_eq!(
        refused(&["--permission-mode", "bogus"]),
        "error: option '--permission-mode <mode>' argument 'bogus' is invalid. Allowed choices are default, manual, \
         acceptEdits, plan, auto, dontAsk, bypassPermissions."
    );
    for bad in [["--max-turns", "x"], ["--max-turns", "0"], ["--max-budget-usd", "-1"], ["--max-budget-usd", "NaN"]] {
        assert!(refused(&bad).contains("is invalid."), "{bad:?}");
    }
    assert!(refused(&["--resume-drops-turn="]).contains("must be a UUID"));
    assert!(refused(&["--enable-auto-mode"]).contains("--permission-mode auto"));
    assert_eq!(parsed(&["--permission-mode", "manual"]).options.permissions.mode, Some(PermissionMode::Default));
}

#[test]
fn lists_are_reduced() {
    assert_eq!(parsed(&["--fallback-model", "a,b,a,c,d"]).options.model.fallbacks, ["a", "b", "c"]); // [CLI-49]
    let sources = parsed(&["--setting-sources", "user, local"]).options.configuration.sources;
    assert_eq!(sources, Some(vec![SettingSource::User, SettingSource::Local]));
    assert!(refused(&["--setting-sources", "user,team"]).contains("Allowed choices are user, project, local."));
}

// [CLI-60]
#[test]
fn hidden_flags_of_clients_are_accepted() {
    for words in [
        vec!["--await-initialize"],
        vec!["--include-hook-events"],
        vec!["--permission-prompts=none"],
        vec!["--strict-mcp-config"],
        vec!["--thinking-display", "omitted"],
        vec!["--resume-session-at=5f2f1c1e-0000-4000-8000-0000000000aa"],
        vec!["--agents", "{}"],
    ] {
        parsed(&words);
    }
}

#[test]
fn a_parser_of_the_named_flags_reads_the_same_as_one_of_all() {
    let read = |command: Command, argv: &[OsString]| {
        let matches = command.try_get_matches_from(argv).map_err(|error| format!("{error}")).ok()?;
        let given = |flag: &&CliFlag| {
            matches!(matches.try_contains_id(flag.long), Ok(true))
                && matches.value_source(flag.long).is_some_and(is_given)
        };
        let values = FLAGS.iter().filter(given).map(|flag| (flag.long, values_of(flag, &matches))).collect::<Vec<_>>();
        Some((values, prompt(&matches)))
    };
    let mut understood = 0;
    for flag in FLAGS {
        let long = format!("--{}", flag.long);
        let (joined, short) = (format!("{long}=a"), flag.short.map_or("-px".into(), |short| format!("-p{short}")));
        for words in [
            vec![long.as_str()],
            vec![&long, "a", "--verbose", "go"],
            vec![&joined, "go", "-p"],
            vec!["go", &long, "--model"],
            vec![&long, "-x", "a"],
            vec![&long, "-c", "--", "--verbose"],
            vec!["--model", &long, "a"],
            vec!["--tools", "a", &long, "b", "c"],
            vec![&short, "a"],
            vec!["-p", "--", &long],
        ] {
            let argv: Vec<OsString> = words.iter().map(OsString::from).collect();
            let named = FLAGS.iter().filter(|flag| may_be_named(flag, &argv));
            let Some(few) = read(command_of(named), &argv) else { continue };
            assert_eq!(Some(few), read(command(), &argv), "{words:?}");
            understood += 1;
        }
    }
    assert!(understood > 3 * FLAGS.len(), "{understood}");
}

#[test]
fn help_and_version_are_recognised() {
    let ask = |word: &str| parse(&[OsString::from(word)]).unwrap_err();
    assert_eq!((ask("-h"), ask("--help"), ask("-v")), (ParseExit::Help, ParseExit::Help, ParseExit::Version));
}
