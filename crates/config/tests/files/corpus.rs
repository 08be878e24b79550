//! A corpus of skills, commands, agents and hook files as people write them: every field, and the defects that are
//! common in public files. For each file: what must load, and on which lines something is reported.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use config::agents::{AgentDefinition, AgentDefinitions};
use config::roots::DefinitionRoots;
use config::skills::{Skill, Skills};
use config::{ConfigLoader, SettingsSelection};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use sys::Env;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Skill,
    Command,
    Agent,
}

const KINDS: [Kind; 3] = [Kind::Skill, Kind::Command, Kind::Agent];

/// One file and its expected result.
struct Case {
    kind: Kind,
    name: String,
    bytes: Vec<u8>,
    /// `field=value`, formatted by `shown_skill` and `shown_agent`.
    expected: Vec<String>,
    /// The lines with a report.
    lines: Vec<usize>,
}

/// Heads with the fields DESCRIPTION and TOOLS, for every kind: name, text, the two expected values, and the reported
/// lines. `NAME` is replaced; the name is on line 2.
#[rustfmt::skip]
const HEADS: &[(&str, &str, &str, &str, &[usize])] = &[
    ("clean", "---\nname: NAME\ndescription: Does it\nTOOLS: Read, Grep\n---\nBody\n", "Does it", "Read Grep", &[]),
    ("crlf", "---\r\nname: NAME\r\ndescription: Does it\r\nTOOLS: Read, Grep\r\n---\r\nBody\r\n", "Does it", "Read Grep", &[]),
    ("bom", "\u{feff}---\nname: NAME\ndescription: Does it\nTOOLS: Read\n---\nBody\n", "Does it", "Read", &[]),
    ("bom-crlf", "\u{feff}---\r\nname: NAME\r\ndescription: Use it: now\r\nTOOLS: Read\r\n---\r\n", "Use it: now", "Read", &[3]),
    ("colon", "---\nname: NAME\ndescription: Use when: the user asks. Example: x\nTOOLS: Read\n---\n", "Use when: the user asks. Example: x", "Read", &[3]),
    ("colon-then-list", "---\nname: NAME\ndescription: One: two\nTOOLS:\n  - Read\n  - Bash(git diff:*)\n---\n", "One: two", "Read Bash(git diff:*)", &[3]),
    ("flow-list", "---\nname: NAME\ndescription: d\nTOOLS: [Read, \"Bash(git:*)\"]\n---\n", "d", "Read Bash(git:*)", &[]),
    ("flow-list-lines", "---\nname: NAME\ndescription: d\nTOOLS: [\n  Read,\n  Grep\n]\n---\n", "d", "Read Grep", &[]),
    ("block-list", "---\nname: NAME\ndescription: d\nTOOLS:\n  - Read\n  - Grep\n---\n", "d", "Read Grep", &[]),
    ("flush-list", "---\nname: NAME\ndescription: d\nTOOLS:\n- Read\n- Grep\n---\n", "d", "Read Grep", &[]),
    ("spaced-list", "---\nname: NAME\ndescription: d\nTOOLS: Read Bash(npm run *) Grep\n---\n", "d", "Read Bash(npm run *) Grep", &[]),
    ("quoted-list", "---\nname: NAME\ndescription: d\nTOOLS: \"Read,Grep\"\n---\n", "d", "Read Grep", &[]),
    ("bracket-string", "---\nname: NAME\ndescription: d\nTOOLS: \"[Read, Grep]\"\n---\n", "d", "Read Grep", &[]),
    ("tab-value", "---\nname:\tNAME\ndescription:\td\nTOOLS:\tRead\n---\n", "d", "Read", &[]),
    ("tab-list", "---\nname: NAME\ndescription: d\nTOOLS:\n\t- Read\n\t- Grep\n---\n", "d", "Read Grep", &[5]),
    ("no-end", "---\nname: NAME\ndescription: d\nTOOLS: Read\n\n# Title\nText: more\n", "d", "Read", &[1]),
    ("late", "\n\n---\nname: NAME\ndescription: d\nTOOLS: Read\n---\n", "d", "Read", &[3]),
    ("repeated", "---\nname: NAME\ndescription: old\nTOOLS: Read\ndescription: new\n---\n", "new", "Read", &[5]),
    ("blank-fences", "---  \nname: NAME\ndescription: d\nTOOLS: Read\n---\t\n", "d", "Read", &[]),
    ("dots", "---\nname: NAME\ndescription: d\nTOOLS: Read\n...\nBody\n", "d", "Read", &[]),
    ("comments", "---\n# about\nname: NAME\ndescription: d # not part\nTOOLS: Read\n# end\n---\n", "d", "Read", &[]),
    ("single-quotes", "---\nname: NAME\ndescription: 'It''s: fine'\nTOOLS: Read\n---\n", "It's: fine", "Read", &[]),
    ("escapes", "---\nname: NAME\ndescription: \"Say \\\"hi\\\": now\"\nTOOLS: Read\n---\n", "Say \"hi\": now", "Read", &[]),
    ("folded", "---\nname: NAME\ndescription: >-\n  One\n  two: three\nTOOLS: Read\n---\n", "One two: three", "Read", &[]),
    ("literal", "---\nname: NAME\ndescription: |\n  One\n  two\nTOOLS: Read\n---\n", "One\ntwo", "Read", &[]),
    ("wrapped", "---\nname: NAME\ndescription: One\n  two\n  three\nTOOLS: Read\n---\n", "One two three", "Read", &[]),
    ("wrapped-colon", "---\nname: NAME\ndescription: One\n  two: three\nTOOLS: Read\n---\n", "One two: three", "Read", &[4]),
    ("not-indented", "---\nname: NAME\ndescription: One\ntwo and more\nTOOLS: Read\n---\n", "One two and more", "Read", &[4]),
    ("no-blank", "---\nname: NAME\ndescription:Does it\nTOOLS: Read\n---\n", "Does it", "Read", &[3]),
    ("open-quote", "---\nname: NAME\ndescription: \"Never closed\nTOOLS: Read\n---\n", "\"Never closed", "Read", &[3]),
    ("bracket-start", "---\nname: NAME\ndescription: [WIP] does it\nTOOLS: Read\n---\n", "[WIP] does it", "Read", &[3]),
    ("at-start", "---\nname: NAME\ndescription: @scope thing\nTOOLS: Read\n---\n", "@scope thing", "Read", &[3]),
    ("tick-start", "---\nname: NAME\ndescription: `x` does it\nTOOLS: Read\n---\n", "`x` does it", "Read", &[3]),
    ("percent-start", "---\nname: NAME\ndescription: %d of it\nTOOLS: Read\n---\n", "%d of it", "Read", &[3]),
    ("star-start", "---\nname: NAME\ndescription: *Bold* claim\nTOOLS: Read\n---\n", "*Bold* claim", "Read", &[3]),
    ("brace-start", "---\nname: NAME\ndescription: {x} does it\nTOOLS: Read\n---\n", "{x} does it", "Read", &[3]),
    ("unicode", "---\nname: NAME\ndescription: Tut’s — 日本語 🎉\nTOOLS: Read\n---\n", "Tut’s — 日本語 🎉", "Read", &[]),
    ("examples", "---\nname: NAME\ndescription: Use it.\\n\\n<example>\\nuser: hi\\n</example>\nTOOLS: Read\n---\n", "Use it.\\n\\n<example>\\nuser: hi\\n</example>", "Read", &[3]),
    ("unknown-keys", "---\nname: NAME\ndescription: d\nversion: 1.10\nauthor: me\nTOOLS: Read, OldTool\n---\n", "d", "Read OldTool", &[]),
    ("empty-value", "---\nname: NAME\ndescription: d\nmodel:\nTOOLS: Read\n---\n", "d", "Read", &[]),
    ("key-blank", "---\nname : NAME\ndescription : d\nTOOLS : Read\n---\n", "d", "Read", &[]),
    ("nested-unknown", "---\nname: NAME\ndescription: d\nmetadata:\n  a: b\n  c: [d]\nTOOLS: Read\n---\n", "d", "Read", &[]),
    ("anchors", "---\nname: NAME\ndescription: &d here\nTOOLS: Read\nother: *d\n---\n", "here", "Read", &[]),
    ("windows-quotes", "---\nname: NAME\ndescription: “Quoted” text\nTOOLS: Read\n---\n", "“Quoted” text", "Read", &[]),
    ("url", "---\nname: NAME\ndescription: See https://x.org/a:b?c=d\nTOOLS: Read\n---\n", "See https://x.org/a:b?c=d", "Read", &[]),
    ("dash-in-list", "---\nname: NAME\ndescription: - starts with a dash\nTOOLS: Read\n---\n", "- starts with a dash", "Read", &[3]),
];

fn file_of(kind: Kind, name: &str) -> PathBuf {
    match kind {
        Kind::Skill => PathBuf::from(format!("skills/{name}/SKILL.md")),
        Kind::Command => PathBuf::from(format!("commands/{name}.md")),
        Kind::Agent => PathBuf::from(format!("agents/{name}.md")),
    }
}

fn head_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for kind in KINDS {
        for (label, text, description, tools, lines) in HEADS {
            let prefix = format!("{kind:?}").to_lowercase();
            let name = format!("{prefix}-{label}");
            let key = if kind == Kind::Agent { "tools" } else { "allowed-tools" };
            let bytes = text.replace("NAME", &name).replace("TOOLS", key).into_bytes();
            let expected = vec![format!("description={description}"), format!("tools={tools}")];
            cases.push(Case { kind, name, bytes, expected, lines: lines.to_vec() });
        }
    }
    cases
}

/// One field of a skill or agent: the lines of the field (from line 4 on), `field=value`, reported lines.
#[rustfmt::skip]
const SKILL_FIELDS: &[(&str, &str, &[usize])] = &[
    ("when_to_use: On Fridays", "when=On Fridays", &[]),
    ("argument-hint: [file]", "hint=[file]", &[]),
    ("argument-hint: [a] | [b]", "hint=[a] | [b]", &[4]),
    ("argument-hint: <x> [--flag: y]", "hint=<x> [--flag: y]", &[4]),
    ("argument-hint: \"[x]\"", "hint=[x]", &[]),
    ("arguments: file place", "arguments=file place", &[]),
    ("arguments: [file, place]", "arguments=file place", &[]),
    ("arguments:\n  - file", "arguments=file", &[]),
    ("disable-model-invocation: true", "model_invocable=false", &[]),
    ("disable-model-invocation: Yes", "model_invocable=false", &[]),
    ("disable-model-invocation: \"on\"", "model_invocable=false", &[]),
    ("disable-model-invocation: 1", "model_invocable=false", &[]),
    ("disable-model-invocation: maybe", "model_invocable=true", &[4]),
    ("disable-model-invocation: [true]", "model_invocable=true", &[4]),
    ("user-invocable: FALSE", "user_invocable=false", &[]),
    ("user-invocable: off", "user_invocable=false", &[]),
    ("disallowed-tools: Bash, WebFetch", "disallowed=Bash WebFetch", &[]),
    ("disallowed-tools:\n  a: b", "disallowed=", &[4]),
    ("model: opus", "model=opus", &[]),
    ("model: inherit", "model=", &[]),
    ("model: claude-sonnet-4-5", "model=claude-sonnet-4-5", &[]),
    ("effort: high", "effort=high", &[]),
    ("effort: HIGH", "effort=high", &[]),
    ("effort: extreme", "effort=", &[4]),
    ("context: fork", "context=Fork", &[]),
    ("context: thread", "context=Inline", &[4]),
    ("agent: Explore", "agent=Explore", &[]),
    ("background: false", "background=false", &[]),
    ("hooks:\n  Stop:\n    - hooks:\n        - type: command\n          command: x\n          timeout: 5", "hooks={\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"x\",\"timeout\":5}]}]}", &[]),
    ("hooks: nothing", "hooks=", &[4]),
    ("hooks: [1]", "hooks=", &[4]),
    ("paths: src/**/*.{ts,tsx}, docs/*.md", "paths=src/**/*.{ts,tsx} docs/*.md", &[]),
    ("paths:\n  - \"*.md\"", "paths=*.md", &[]),
    ("paths: \"**/*.rs\"", "paths=**/*.rs", &[]),
    ("paths: **/*.rs", "paths=**/*.rs", &[4]),
    ("shell: powershell", "shell=PowerShell", &[]),
    ("shell: fish", "shell=Bash", &[4]),
    ("license: MIT\ncompatibility: any\nmetadata:\n  a: 1", "model=", &[]),
    ("metadata: text", "model=", &[]),
    ("allowedTools: Read", "tools=", &[4]),
    ("whenToUse: x", "when=", &[4]),
    ("userInvocable: false", "user_invocable=true", &[4]),
];

#[rustfmt::skip]
const AGENT_FIELDS: &[(&str, &str, &[usize])] = &[
    ("tools: Read, Agent(a, b), mcp__x__*", "tools=Read Agent(a, b) mcp__x__*", &[]),
    ("tools: []", "tools=", &[]),
    ("tools: *", "tools=*", &[4]),
    ("disallowedTools: Bash", "disallowed=Bash", &[]),
    ("model: haiku", "model=haiku", &[]),
    ("model: inherit", "model=", &[]),
    ("permissionMode: plan", "mode=plan", &[]),
    ("permissionMode: acceptedits", "mode=acceptEdits", &[]),
    ("permissionMode: manual", "mode=default", &[]),
    ("permissionMode: yolo", "mode=", &[4]),
    ("maxTurns: 5", "turns=5", &[]),
    ("maxTurns: \"5\"", "turns=5", &[]),
    ("maxTurns: five", "turns=", &[4]),
    ("maxTurns: -1", "turns=", &[4]),
    ("skills: a, b", "skills=a b", &[]),
    ("skills:\n  - a\n  - b", "skills=a b", &[]),
    ("mcpServers: a, b", "servers=2", &[]),
    ("mcpServers:\n  - a\n  - own:\n      command: x", "servers=2", &[]),
    ("mcpServers:\n  own:\n    command: x", "servers=1", &[]),
    ("mcpServers: 5", "servers=0", &[4]),
    ("hooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks: []", "hooks={\"PreToolUse\":[{\"matcher\":\"Bash\",\"hooks\":[]}]}", &[]),
    ("memory: user", "memory=User", &[]),
    ("memory: project", "memory=Project", &[]),
    ("memory: local", "memory=Local", &[]),
    ("memory: global", "memory=", &[4]),
    ("background: true", "background=true", &[]),
    ("effort: max", "effort=max", &[]),
    ("effort: 30", "effort=30", &[]),
    ("effort: huge", "effort=", &[4]),
    ("isolation: worktree", "isolation=Worktree", &[]),
    ("isolation: container", "isolation=None", &[4]),
    ("color: Cyan", "color=cyan", &[]),
    ("color: mauve", "color=", &[4]),
    ("initialPrompt: |\n  Begin\n  here", "initial=Begin\nhere", &[]),
    ("omitClaudeMd: yes", "omit=true", &[]),
    ("disallowed-tools: Bash", "disallowed=", &[4]),
    ("max_turns: 3", "turns=", &[4]),
];

fn field_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let rows = [(Kind::Skill, SKILL_FIELDS), (Kind::Agent, AGENT_FIELDS)];
    for (kind, rows) in rows {
        for (at, (field, expected, lines)) in rows.iter().enumerate() {
            let name = format!("{}-field-{at}", format!("{kind:?}").to_lowercase());
            let text = format!("---\nname: {name}\ndescription: d\n{field}\n---\nBody\n");
            let expected = vec!["description=d".to_owned(), (*expected).to_owned()];
            cases.push(Case { kind, name, bytes: text.into_bytes(), expected, lines: lines.to_vec() });
        }
    }
    cases
}

fn odd_cases() -> Vec<Case> {
    let case = |kind, name: &str, bytes: &[u8], expected: &[&str], lines: &[usize]| Case {
        kind,
        name: name.to_owned(),
        bytes: bytes.to_vec(),
        expected: expected.iter().map(|text| (*text).to_owned()).collect(),
        lines: lines.to_vec(),
    };
    let long = format!("---\nname: x\ndescription: {}\nmodel: opus\n---\nBody", "word ".repeat(2000));
    let long_words = format!("description={}", "word ".repeat(2000).trim());
    vec![
        case(Kind::Skill, "odd-empty", b"", &["description="], &[]),
        case(
            Kind::Skill,
            "odd-no-head",
            b"# Title\n\nFirst words\nof it.\n\nMore.",
            &["description=First words of it."],
            &[],
        ),
        case(Kind::Command, "odd-no-head-command", b"Do $ARGUMENTS", &["description=Do $ARGUMENTS"], &[]),
        case(Kind::Skill, "odd-rule-below", b"Text\n\n---\n\nname: x\n---\n", &["description=Text"], &[]),
        case(Kind::Skill, "odd-latin1", b"---\ndescription: caf\xe9\n---\n", &["description=caf\u{fffd}"], &[1]),
        case(Kind::Skill, "odd-only-open", b"---", &["description="], &[1]),
        case(Kind::Skill, "odd-empty-head", b"---\n---\nWords", &["description=Words"], &[]),
        case(Kind::Skill, "odd-list-head", b"---\n- a\n- b\n---\nWords", &["description=Words"], &[2, 3]),
        case(Kind::Skill, "odd-text-head", b"---\nhello there\n---\nWords", &["description=Words"], &[2]),
        case(Kind::Skill, "odd-long", long.as_bytes(), &[long_words.as_str(), "model=opus"], &[]),
        case(Kind::Skill, "odd-nul", b"---\ndescription: a\0b\n---\n", &["description=a\0b"], &[]),
        case(
            Kind::Command,
            "odd-command-paths",
            b"---\ndescription: d\npaths: x\nname: other\n---\n",
            &["paths=", "description=d"],
            &[],
        ),
    ]
}

fn shown_skill(skill: &Skill, field: &str) -> String {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    match field {
        "description" => text(&skill.description),
        "tools" => skill.allowed_tools.join(" "),
        "when" => text(&skill.when_to_use),
        "hint" => text(&skill.argument_hint),
        "arguments" => skill.arguments.join(" "),
        "model_invocable" => skill.model_invocable.to_string(),
        "user_invocable" => skill.user_invocable.to_string(),
        "disallowed" => skill.disallowed_tools.join(" "),
        "model" => text(&skill.model),
        "effort" => text(&skill.effort),
        "context" => format!("{:?}", skill.context),
        "agent" => text(&skill.agent),
        "background" => skill.background.map(|b| b.to_string()).unwrap_or_default(),
        "hooks" => skill.hooks.as_ref().map(ToString::to_string).unwrap_or_default(),
        "paths" => skill.paths.join(" "),
        "shell" => format!("{:?}", skill.shell),
        other => panic!("no field {other}"),
    }
}

fn shown_agent(agent: &AgentDefinition, field: &str) -> String {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    match field {
        "description" => agent.description.clone(),
        "tools" => agent.tools.clone().unwrap_or_default().join(" "),
        "disallowed" => agent.disallowed_tools.join(" "),
        "model" => text(&agent.model),
        "mode" => agent.permission_mode.map(|mode| mode.as_str().to_owned()).unwrap_or_default(),
        "turns" => agent.max_turns.map(|turns| turns.to_string()).unwrap_or_default(),
        "skills" => agent.skills.join(" "),
        "servers" => agent.mcp_servers.len().to_string(),
        "hooks" => agent.hooks.as_ref().map(ToString::to_string).unwrap_or_default(),
        "memory" => agent.memory.map(|memory| format!("{memory:?}")).unwrap_or_default(),
        "background" => agent.background.to_string(),
        "effort" => text(&agent.effort),
        "isolation" => format!("{:?}", agent.isolation),
        "color" => agent.color.unwrap_or_default().to_owned(),
        "initial" => text(&agent.initial_prompt),
        "omit" => agent.omit_claude_md.to_string(),
        other => panic!("no field {other}"),
    }
}

struct Home {
    _temp: tempfile::TempDir,
    root: PathBuf,
}

impl Home {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(temp.path()).unwrap();
        fs::create_dir_all(root.join("work")).unwrap();
        Self { _temp: temp, root }
    }

    fn write(&self, path: &Path, bytes: &[u8]) {
        let path = self.root.join(".claude").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn open(&self) -> (config::ProjectConfig, DefinitionRoots) {
        let env = Env::default().with([("HOME", self.root.as_os_str())]);
        let selection =
            SettingsSelection { managed_dir: Some(self.root.join("managed")), ..SettingsSelection::default() };
        let cwd = self.root.join("work");
        let loaded = ConfigLoader::open(&cwd, &env, &selection).unwrap();
        let roots = DefinitionRoots::find(&cwd, &env, &selection, &loaded, &[]);
        (loaded, roots)
    }
}

// [EXT-129]
#[test]
fn every_file_of_the_corpus_loads_with_its_reports() {
    let home = Home::new();
    let cases: Vec<Case> = head_cases().into_iter().chain(field_cases()).chain(odd_cases()).collect();
    assert!(cases.len() >= 200, "{}", cases.len());
    for case in &cases {
        home.write(&file_of(case.kind, &case.name), &case.bytes);
    }
    let (_, roots) = home.open();
    let skills = Skills::load(&roots, &[], &BTreeMap::new());
    let agents = AgentDefinitions::load(&roots, &[]);
    let mut wrong = Vec::new();
    for case in &cases {
        let path = home.root.join(".claude").join(file_of(case.kind, &case.name));
        let findings = if case.kind == Kind::Agent { &agents.findings } else { &skills.findings };
        let mut lines: Vec<usize> = findings.iter().filter(|f| f.path == path).map(|f| f.line).collect();
        lines.sort_unstable();
        if lines != case.lines {
            let said: Vec<String> = findings.iter().filter(|f| f.path == path).map(ToString::to_string).collect();
            wrong.push(format!("{}: lines {lines:?}, expected {:?}: {said:?}", case.name, case.lines));
        }
        for expected in &case.expected {
            let (field, value) = expected.split_once('=').unwrap();
            let shown = match case.kind {
                Kind::Agent => agents.find(&case.name).map(|agent| shown_agent(agent, field)),
                Kind::Skill | Kind::Command => skills.find(&case.name).map(|skill| shown_skill(skill, field)),
            };
            if shown.as_deref() != Some(value) {
                wrong.push(format!("{}: {field} is {shown:?}, expected {value:?}", case.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(agents.skipped.is_empty(), "{:?}", agents.skipped);
    assert!(skills.hidden.is_empty(), "{:?}", skills.hidden);
}

/// Hook files as people write them: defects are reported with their line, the rest of the file applies.
#[test]
fn hook_files_load_with_their_reports() {
    #[rustfmt::skip]
    let files: &[(&str, usize)] = &[
        (r#"{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "x"}]}]}, "model": "m"}"#, 0),
        ("{\n  // comment\n  \"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"x\",}]}]},\n  \"model\": \"m\"\n}", 0),
        ("\u{feff}{\"hooks\": {}, \"model\": \"m\"}", 0),
        ("{\r\n\"hooks\": {\"Stop\": []},\r\n\"model\": \"m\"\r\n}", 0),
        (r#"{"hooks": "none", "model": "m"}"#, 1),
    ];
    for (text, reports) in files {
        let home = Home::new();
        home.write(Path::new("settings.json"), text.as_bytes());
        let (loaded, _) = home.open();
        assert_eq!(loaded.settings.model.as_deref(), Some("m"), "{text}");
        assert_eq!(loaded.diagnostics.len(), *reports, "{text}: {:?}", loaded.diagnostics);
    }
}
