//! The documentation matches the binary: every option of the help is on its page and no other, links lead somewhere,
//! and the picture shows the current demo.
#![allow(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use testkit::{ModelServer, Sandbox, ScriptedReply};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn page(relative: &str) -> String {
    std::fs::read_to_string(root().join(relative)).unwrap_or_else(|e| panic!("{relative}: {e}"))
}

/// `--word`s at the beginning of the lines or cells that introduce an option.
fn options<'a>(lines: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let long = |line: &str| {
        let at = line.find("--")?;
        let name: String = line[at + 2..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        (!name.is_empty()).then_some(name)
    };
    lines.filter_map(long).collect()
}

#[test]
fn the_command_line_page_lists_the_options_of_the_help() {
    let help = Sandbox::new(EXE).gimlet(&["--help"]).run().expect_clean().stdout;
    let told = options(help.lines().filter(|l| l.trim_start().starts_with('-')));
    let text = page("docs/cli.md");
    let documented = options(text.lines().filter(|l| l.starts_with("| `-")));
    assert!(told.len() > 30, "{told:?}");
    assert_eq!(told, documented);
    let commands = help.split("Commands:").nth(1).unwrap();
    for name in commands.lines().filter_map(|l| l.strip_prefix("  ")?.split(' ').next()) {
        assert!(text.contains(&format!("| `gimlet {name}")), "{name} is not on the page");
    }
}

// [F-C9]
#[expect(clippy::disallowed_methods, reason = "a repository for the tools that want one")]
#[test]
fn the_guide_lists_the_tools_of_the_registry() {
    let mut known: BTreeSet<String> = tools::builtin::all().iter().map(|tool| tool.spec().name.to_string()).collect();
    // Options that a session adds, when everything they need is there.
    let server = ModelServer::with_handler(|_| ScriptedReply::text("done"));
    let sandbox = Sandbox::with_server(EXE, &server);
    let git = |args: &[&str]| {
        let done = std::process::Command::new("git").args(args).current_dir(sandbox.project()).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "-q"]);
    let config = crate::common::mcp::config(&[]);
    let schema = r#"{"type": "object", "properties": {"a": {"type": "string"}}}"#;
    let base = ["-p", "hi", "--output-format", "stream-json", "--verbose", "--mcp-config", &config];
    for (more, search) in [(vec!["--json-schema", schema], "false"), (vec![], "true")] {
        let args: Vec<&str> = base.iter().chain(&more).copied().collect();
        let lines = sandbox.gimlet(&args).env("ENABLE_TOOL_SEARCH", search).run().lines();
        let init = lines.iter().find(|line| line["subtype"] == "init").unwrap();
        let names = init["tools"].as_array().unwrap().iter().map(|name| wire::names::canonical(name.as_str().unwrap()));
        known.extend(names.filter(|name| !name.starts_with("mcp__")).map(str::to_owned));
    }
    // Offered from the first compaction on.
    known.insert("Recall".to_owned());
    let text = page("docs/guide.md");
    let rows = text.split("## Tools").nth(1).unwrap().lines().skip_while(|line| !line.starts_with('|')).skip(2);
    let cells = rows.take_while(|line| line.starts_with('|')).filter_map(|row| row.split('|').nth(1));
    let words = cells.flat_map(|cell| cell.split([',', ' ']).map(str::trim).map(str::to_owned).collect::<Vec<_>>());
    let documented: BTreeSet<String> = words.filter(|word| word.starts_with(char::is_uppercase)).collect();
    assert!(known.len() > 25, "{known:?}");
    assert_eq!(known, documented);
}

/// The pages of the repository: those in its root and those in `docs`.
fn pages() -> Vec<String> {
    let mut names = Vec::new();
    for folder in ["", "docs/"] {
        let entries = std::fs::read_dir(root().join(folder)).unwrap();
        let files = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.extend(
            files
                .filter(|name| Path::new(name).extension().is_some_and(|end| end == "md"))
                .map(|name| format!("{folder}{name}")),
        );
    }
    names.sort();
    names
}

fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split(')').next()).filter(|target| !target.contains("://"))
}

#[test]
fn links_lead_to_files_and_headings() {
    let mut count = 0;
    for from in pages() {
        let text = page(&from);
        let dir = root().join(&from).parent().unwrap().to_path_buf();
        for target in links(&text) {
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let path = if file.is_empty() { root().join(&from) } else { dir.join(file) };
            assert!(path.exists(), "{from}: {target}");
            let there = || std::fs::read_to_string(&path).unwrap();
            assert!(heading.is_empty() || anchors(&there()).contains(heading), "{from}: {target}");
            count += 1;
        }
        // A page that is named without a link.
        for name in text.split('`').skip(1).step_by(2).filter(|code| code.starts_with("docs/") && !code.contains(' ')) {
            assert!(root().join(name).exists(), "{from} names {name}");
        }
    }
    assert!(count > 100, "{count} links");
}

#[test]
fn the_readme_links_every_page() {
    let text = page("README.md");
    let linked: BTreeSet<&str> = links(&text).filter_map(|target| target.split('#').next()).collect();
    for name in pages().iter().filter(|name| *name != "README.md") {
        assert!(linked.contains(name.as_str()), "{name} is not linked from README.md");
    }
}

/// Headings as link targets.
fn anchors(text: &str) -> BTreeSet<String> {
    let anchor = |line: &str| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-')).collect::<String>().replace(' ', "-")
    };
    text.lines().filter(|l| l.starts_with('#')).map(anchor).collect()
}

#[test]
fn the_picture_shows_the_demo() {
    let sandbox = Sandbox::new(EXE);
    let out = sandbox.gimlet(&["demo"]).env("TMPDIR", sandbox.root()).run().expect_clean().stdout;
    let picture = page("docs/pictures/demo.svg");
    let mut shown = String::new();
    for text in picture.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text) {
        let text = text.replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&");
        shown.extend(text.split_whitespace());
    }
    // A terminal wraps lines elsewhere and a picture has a part for each colour, so words are compared, without gaps.
    for line in out.lines().take_while(|l| !l.starts_with('✓')).filter(|l| !l.trim_start().starts_with("folder")) {
        for word in line.split_whitespace() {
            assert!(
                shown.contains(word),
                "{word} is not in docs/pictures/demo.svg: {line} (run `cargo xtask pictures`)"
            );
        }
    }
}
