use super::*;
use crate::project::{ConfigLoader, SettingsSelection};
use std::fs;
use sys::Env;

struct Home {
    _temp: tempfile::TempDir,
    root: PathBuf,
}

impl Home {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(temp.path()).unwrap();
        for dir in ["home/.claude", "repo/.git", "repo/sub", "managed"] {
            fs::create_dir_all(root.join(dir)).unwrap();
        }
        Self { _temp: temp, root }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn agent(&self, path: &str, name: &str, says: &str) {
        self.write(path, &format!("---\nname: {name}\ndescription: {says}\n---\nYou are {says}.\n"));
    }

    fn load(&self, given: &str) -> AgentDefinitions {
        let env = Env::default().with([("HOME", self.root.join("home"))]);
        let selection =
            SettingsSelection { managed_dir: Some(self.root.join("managed")), ..SettingsSelection::default() };
        let cwd = self.root.join("repo/sub");
        let loaded = ConfigLoader::open(&cwd, &env, &selection).unwrap();
        let roots = DefinitionRoots::find(&cwd, &env, &selection, &loaded, &[]);
        AgentDefinitions::load(&roots, &from_json(given).unwrap())
    }
}

#[test]
fn the_nearer_place_wins_and_the_name_decides() {
    // [EXT-156] [EXT-157] [EXT-158]
    let home = Home::new();
    home.agent("managed/.claude/agents/x.md", "one", "managed");
    home.agent("repo/.claude/agents/deep/er/y.md", "one", "project");
    home.agent("repo/.claude/agents/z.md", "two", "root");
    home.agent("repo/sub/.claude/agents/z.md", "two", "nearest");
    home.agent("home/.claude/agents/z.md", "two", "user");
    home.agent("repo/.claude/agents/three.md", "three", "project");
    home.agent("home/.claude/agents/four.md", "four", "user");
    let given = r#"{"three": {"description": "given", "prompt": "p"}, "one": {"description": "given", "prompt": "p"}}"#;
    let agents = home.load(given);
    let found: Vec<_> = agents.all.iter().map(|a| (a.name.as_str(), a.description.as_str())).collect();
    assert_eq!(found, [("one", "managed"), ("three", "given"), ("two", "nearest"), ("four", "user")]);
    assert_eq!(agents.find("two").unwrap().prompt.read().unwrap(), "You are nearest.");
    assert_eq!(agents.skipped.len(), 1, "{:?}", agents.skipped);
}

#[test]
fn files_that_are_no_agents_say_why() {
    // [EXT-157]
    let home = Home::new();
    for (name, text) in [
        ("plain", "Just notes"),
        ("nameless", "---\ndescription: x\n---\n"),
        ("silent", "---\nmodel: opus\nname: quiet\n---\n"),
        ("dash", "---\nname: -x\ndescription: y\n---\n"),
        ("colon", "---\nname: \"a:b\"\ndescription: y\n---\n"),
    ] {
        home.write(&format!("repo/.claude/agents/{name}.md"), text);
    }
    home.agent("repo/.claude/agents/twice1.md", "twice", "first");
    home.agent("repo/.claude/agents/twice2.md", "twice", "second");
    let agents = home.load("{}");
    assert_eq!(agents.all.len(), 1);
    let reasons: Vec<_> =
        agents.skipped.iter().map(|s| (s.path.file_stem().unwrap().to_str().unwrap(), s.line)).collect();
    assert_eq!(reasons, [("colon", 2), ("dash", 2), ("nameless", 1), ("plain", 1), ("silent", 3), ("twice2", 1)]);
}

#[test]
fn every_field_is_read_from_files_and_json_alike() {
    let home = Home::new();
    home.write(
        "home/.claude/agents/all.md",
        "---\nname: all\ndescription: d\ntools: Read, Agent(a, b), mcp__x\ndisallowedTools: [Bash]\nmodel: opus\npermissionMode: plan\nmaxTurns: 3\nskills:\n  - one\n  - two\nmcpServers:\n  - named\n  - own:\n      command: srv\nhooks:\n  Stop: []\nmemory: project\nbackground: true\neffort: high\nisolation: worktree\ncolor: cyan\ninitialPrompt: go\nomitClaudeMd: true\n---\nPrompt\n",
    );
    let json = r#"{"all": {"description": "d", "prompt": "Prompt", "tools": ["Read", "Agent(a, b)", "mcp__x"], "disallowedTools": ["Bash"],
        "model": "opus", "permissionMode": "plan", "maxTurns": 3, "skills": ["one", "two"], "mcpServers": ["named", {"own": {"command": "srv"}}],
        "hooks": {"Stop": []}, "memory": "project", "background": true, "effort": "high", "isolation": "worktree", "initialPrompt": "go", "omitClaudeMd": true, "unknown": 1}}"#;
    let file = (*home.load("{}").all.remove(0)).clone();
    let given = from_json(json).unwrap().remove(0);
    assert_eq!(file.prompt.read(), given.prompt.read());
    assert_eq!(file.color, Some("cyan"));
    let same = AgentDefinition { prompt: given.prompt.clone(), color: None, scope: given.scope, path: None, ..file };
    assert_eq!(same, given);
    assert_eq!(given.mcp_servers.len(), 2);
    for wrong in
        ["[]", "{", r#"{"a": 1}"#, r#"{"a": {"prompt": "x"}}"#, r#"{"a:b": {"prompt": "x", "description": "y"}}"#]
    {
        assert!(from_json(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn untrusted_projects_start_no_code_through_agents() {
    // SC-D17 [EXT-167]
    let home = Home::new();
    let text = "---\nname: x\ndescription: d\nhooks:\n  Stop: []\nmcpServers:\n  - shared\n  - own:\n      command: srv\n---\n";
    home.write("repo/.claude/agents/x.md", text);
    let agents = home.load("{}");
    let agent = agents.find("x").unwrap();
    assert!(agent.hooks.is_none());
    assert_eq!(agent.mcp_servers, [McpReference::Named("shared".into())]);
    assert_eq!(agents.findings.iter().map(|f| f.line).collect::<Vec<_>>(), [4, 6]);
}

#[test]
fn new_directories_are_noticed() {
    // [EXT-159]
    let home = Home::new();
    let before = home.load("{}");
    assert!(before.are_current());
    home.agent("repo/sub/.claude/agents/a.md", "a", "b");
    assert!(!before.are_current());
}
