use super::render::{RenderValues, RenderedPiece, render};
use super::*;
use crate::project::{ConfigLoader, SettingsSelection};
use std::fs;
use sys::Env;

struct Home {
    _temp: tempfile::TempDir,
    root: PathBuf,
    settings: Option<String>,
}

impl Home {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(temp.path()).unwrap();
        for dir in ["home/.claude", "repo/.git", "repo/sub", "managed", "added"] {
            fs::create_dir_all(root.join(dir)).unwrap();
        }
        Self { _temp: temp, root, settings: None }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn roots(&self, change: impl FnOnce(&mut SettingsSelection)) -> (DefinitionRoots, BTreeMap<String, String>) {
        let env = Env::default().with([("HOME", self.root.join("home"))]);
        let mut selection = SettingsSelection {
            managed_dir: Some(self.root.join("managed")),
            settings: self.settings.clone(),
            ..SettingsSelection::default()
        };
        change(&mut selection);
        let cwd = self.root.join("repo/sub");
        let loaded = ConfigLoader::open(&cwd, &env, &selection).unwrap();
        let added = [self.root.join("added")];
        (DefinitionRoots::find(&cwd, &env, &selection, &loaded, &added), loaded.settings.skill_overrides.clone())
    }

    fn load(&self) -> Skills {
        let (roots, overrides) = self.roots(|_| {});
        Skills::load(&roots, &[], &overrides)
    }
}

fn names(skills: &Skills) -> Vec<&str> {
    skills.all.iter().map(|skill| skill.name.as_str()).collect()
}

#[test]
fn every_place_gives_its_command_and_the_better_place_wins() {
    // [EXT-120] [EXT-121] [EXT-122] [EXT-125] [EXT-126]
    let home = Home::new();
    home.write("managed/.claude/skills/both/SKILL.md", "managed");
    home.write("home/.claude/skills/both/SKILL.md", "user");
    home.write("home/.claude/skills/mine/SKILL.md", "---\nname: Another Label\ndescription: Mine.\n---\nx");
    home.write("repo/.claude/skills/mine/SKILL.md", "project");
    home.write("repo/.claude/skills/root/SKILL.md", "root");
    home.write("repo/sub/.claude/skills/here/SKILL.md", "here");
    home.write("repo/sub/.claude/commands/cmd.md", "command");
    home.write("repo/sub/.claude/commands/here.md", "hidden by the skill");
    home.write("repo/sub/.claude/commands/frontend/component.md", "deep");
    home.write("repo/sub/.claude/commands/a/same.md", "a");
    home.write("repo/sub/.claude/commands/b/same.md", "b");
    home.write("added/.claude/skills/extra/SKILL.md", "added");
    home.write("added/.claude/commands/cmd.md", "loses");
    let skills = home.load();
    assert_eq!(
        names(&skills),
        ["both", "mine", "here", "root", "extra", "a:same", "b:same", "cmd", "frontend:component"]
    );
    assert_eq!(skills.find("both").unwrap().scope, DefinitionScope::Managed);
    let mine = skills.find("mine").unwrap();
    assert_eq!((mine.scope, mine.label.as_deref()), (DefinitionScope::User, Some("Another Label")));
    assert_eq!(skills.find("component").unwrap().name, "frontend:component");
    assert_eq!(skills.find("same").unwrap().name, "a:same");
    let hidden: Vec<_> = skills.hidden.iter().map(|hidden| hidden.name.as_str()).collect();
    assert_eq!(hidden, ["both", "mine", "here", "cmd"]);
    // [CLI-35]
    let (roots, _) = home.roots(|selection| selection.sources = Some(vec![wire::settings::SettingsSource::User]));
    assert_eq!(names(&Skills::load(&roots, &[], &BTreeMap::new())), ["both", "mine"]);
    let (roots, _) = home.roots(|selection| selection.safe_mode = true);
    assert!(Skills::load(&roots, &[], &BTreeMap::new()).all.is_empty());
    let (roots, _) = home.roots(|selection| selection.bare = true);
    assert_eq!(names(&Skills::load(&roots, &[], &BTreeMap::new())), ["extra", "cmd"]);
}

#[test]
fn links_are_followed_and_met_once() {
    // [EXT-127]
    let home = Home::new();
    home.write("elsewhere/deploy/SKILL.md", "x");
    home.write("shared/skills/tidy/SKILL.md", "y");
    let link = |target: &str, at: &str| {
        let at = home.root.join(at);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(home.root.join(target), at).unwrap();
    };
    link("elsewhere/deploy", "repo/.claude/skills/deploy");
    link("elsewhere/deploy", "repo/.claude/skills/again");
    link("repo/.claude/skills", "repo/.claude/skills/self");
    link("shared/skills", "repo/sub/.claude/skills");
    link("nowhere", "repo/.claude/skills/dangling");
    assert_eq!(names(&home.load()), ["tidy", "again"]);
}

#[test]
fn changes_on_disk_are_noticed() {
    // [EXT-128]
    let home = Home::new();
    home.write("repo/.claude/skills/a/SKILL.md", "one");
    let before = home.load();
    assert!(before.are_current());
    home.write("repo/.claude/skills/b/SKILL.md", "new");
    assert!(!before.are_current());
    let after = home.load();
    assert_eq!(names(&after), ["a", "b"]);
    home.write("repo/.claude/skills/a/SKILL.md", "one, longer");
    assert!(!after.are_current());
    // A missing directory is checked too.
    let third = home.load();
    home.write("repo/sub/.claude/commands/c.md", "c");
    assert!(!third.are_current());
    let fourth = home.load();
    fs::remove_dir_all(home.root.join("repo/.claude/skills/b")).unwrap();
    assert!(!fourth.are_current());
}

#[test]
fn nested_skills_keep_out_of_the_way_of_others() {
    // [EXT-123]
    let home = Home::new();
    home.write("repo/sub/.claude/skills/deploy/SKILL.md", "root");
    home.write("repo/sub/apps/web/.claude/skills/deploy/SKILL.md", "web");
    home.write("repo/sub/apps/web/.claude/skills/only/SKILL.md", "only");
    let (roots, _) = home.roots(|_| {});
    assert_eq!(names(&Skills::load(&roots, &[], &BTreeMap::new())), ["deploy"]);
    let nested = [home.root.join("repo/sub/apps/web")];
    let skills = Skills::load(&roots, &nested, &BTreeMap::new());
    assert_eq!(names(&skills), ["deploy", "apps/web:deploy", "only"]);
    assert_eq!(skills.qualified("deploy").count(), 1);
}

#[test]
fn untrusted_folders_bring_no_code() {
    // SC-D17
    let home = Home::new();
    let text = "---\nhooks:\n  Stop: []\nallowed-tools: Bash\n---\nx";
    home.write("added/.claude/skills/x/SKILL.md", text);
    home.write("home/.claude/skills/y/SKILL.md", text);
    let skills = home.load();
    let (x, y) = (skills.find("x").unwrap(), skills.find("y").unwrap());
    assert!(x.hooks.is_none() && x.allowed_tools.is_empty() && x.is_plain());
    assert!(y.hooks.is_some() && y.allowed_tools == ["Bash"] && !y.is_plain());
    let lines: Vec<_> = skills.findings.iter().map(|finding| finding.line).collect();
    assert_eq!(lines, [2, 4], "{:?}", skills.findings);
}

#[test]
fn overrides_have_four_states() {
    // [EXT-150]
    let mut home = Home::new();
    for name in ["a", "b", "c", "d"] {
        home.write(&format!("repo/.claude/skills/{name}/SKILL.md"), "Says something.");
    }
    home.settings = Some(r#"{"skillOverrides": {"b": "name-only", "c": "user-invocable-only", "d": "off"}}"#.into());
    let skills = home.load();
    let state = |name: &str| {
        let skill = skills.find(name).unwrap();
        (skill.is_listed(), skill.is_user_visible())
    };
    assert_eq!(["a", "b", "c", "d"].map(state), [(true, true), (true, true), (false, true), (false, false)]);
    let listed =
        list(skills.all.iter().filter(|s| s.is_listed()), ListingBudget { all: 1000, each: 100, whole: None }, |_| 0);
    assert_eq!(listed.lines.iter().map(|(_, line)| line.as_str()).collect::<Vec<_>>(), ["- a: Says something.", "- b"]);
}

#[test]
fn the_least_used_lose_their_descriptions_first() {
    // [EXT-148] [EXT-149]
    let home = Home::new();
    for name in ["a", "b", "c"] {
        home.write(
            &format!("repo/.claude/skills/{name}/SKILL.md"),
            &format!("---\ndescription: {}\n---\n", name.repeat(50)),
        );
    }
    let skills = home.load();
    let all = || skills.all.iter();
    let uses = |name: &str| u64::from(name != "b");
    let listed = list(all(), ListingBudget { all: 100, each: 1536, whole: None }, uses);
    assert_eq!(listed.cut, ["b"]);
    assert_eq!(listed.lines[1].1, "- b");
    assert_eq!(list(all(), ListingBudget { all: 40, each: 1536, whole: None }, uses).cut, ["b", "a", "c"]);
    // [MX-40] The names count too: three of one letter take 18 bytes.
    assert_eq!(list(all(), ListingBudget { all: 1000, each: 1536, whole: Some(58) }, uses).cut, ["b", "a", "c"]);
    assert_eq!(list(all(), ListingBudget { all: 40, each: 10, whole: None }, uses).cut, [""; 0]);
    assert_eq!(
        list(all(), ListingBudget { all: 40, each: 10, whole: None }, uses).lines[0].1,
        format!("- a: {}…", "a".repeat(10))
    );
}

fn rendered(body: &str, arguments: &str, names: &[&str]) -> String {
    let home = Home::new();
    home.write("repo/.claude/skills/x/SKILL.md", "x");
    let mut skill = home.load().all.remove(0);
    skill.arguments = names.iter().map(|name| (*name).to_owned()).collect();
    skill.dir = PathBuf::from("/skill");
    let values = RenderValues { arguments, session_id: "id", effort: "high", project: "/project" };
    let show = |piece: RenderedPiece| match piece {
        RenderedPiece::Text(text) => text,
        RenderedPiece::Command { command, .. } => format!("<<{command}>>"),
    };
    render(&skill, body, &values).into_iter().map(show).collect()
}

#[test]
fn arguments_are_filled_in() {
    // [EXT-130] [EXT-131] [EXT-132] [EXT-133]
    assert_eq!(rendered("Fix $ARGUMENTS now", "a  \"b c\"", &[]), "Fix a  \"b c\" now");
    assert_eq!(rendered("$0|$1|$ARGUMENTS[1]|$2|$ARGUMENTS[7]", "a \"b c\"", &[]), "a|b c|b c|$2|$ARGUMENTS[7]");
    assert_eq!(rendered("Nothing", "a b", &[]), "Nothing\n\nARGUMENTS: a b");
    assert_eq!(rendered("Nothing", "", &[]), "Nothing");
    assert_eq!(rendered("$file to $place.", "x", &["file", "place"]), "x to .");
    assert_eq!(
        rendered(r"\$1.00 \\$0 \$ARGUMENTS $5.00 $HOME", "a", &[]),
        r"$1.00 \\a $ARGUMENTS $5.00 $HOME".replace("$1.00", r"\$1.00")
    );
    assert_eq!(rendered(r"\$0.50 $0", "a", &[]), "$0.50 a");
    assert_eq!(
        rendered("${CLAUDE_SKILL_DIR} ${CLAUDE_PROJECT_DIR} ${CLAUDE_SESSION_ID} ${CLAUDE_EFFORT} ${OTHER}", "", &[]),
        "/skill /project id high ${OTHER}"
    );
    // The text of an argument is not processed again.
    assert_eq!(rendered("Say $ARGUMENTS", "$0 !`rm`", &[]), "Say $0 !`rm`");
    assert_eq!(rendered("it's $0", "don't 'stop now' a\\ b", &[]), "it's dont stop");
}

#[test]
fn commands_run_only_where_they_are_meant() {
    // [EXT-134] [EXT-137]
    assert_eq!(rendered("!`date`\nNow: !`git log -1 $0` end", "x", &[]), "<<date>>\nNow: <<git log -1 x>> end");
    assert_eq!(rendered("KEY=!`cmd` and a!`b`", "", &[]), "KEY=!`cmd` and a!`b`");
    let example = "Write `` !`cmd` `` or:\n```\n!`cmd`\n```\n~~~md\n!`cmd`\n~~~\n";
    assert_eq!(rendered(example, "", &[]), example);
    assert_eq!(rendered("a\n```!\ngit status\ngit diff\n```\nb", "", &[]), "a\n<<git status\ngit diff>>\nb");
    for open in ["```!\nnever closed", "! `x`", "!``x``", "!`"] {
        assert_eq!(rendered(open, "", &[]), open);
    }
}
