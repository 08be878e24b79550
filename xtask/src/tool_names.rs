//! Names of tools in the code. What the program does about a tool follows from its facts (`tools::facts`), so that a new
//! tool needs no change elsewhere; a name in quotes is allowed only where a tool is defined and in the files listed here.

use crate::source;
use anyhow::{Result, ensure};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Folders and files that name tools, and why facts do not do.
const ALLOWED: &[(&str, &str)] = &[
    ("crates/tools/src", "the tools themselves"),
    ("crates/wire/src", "names as they are written in transcripts, rules and messages"),
    ("crates/permission/src", "the language of rules: each name has its own syntax and fields"),
    ("crates/acp/src/call_display.rs", "labels from the input fields of each tool"),
    ("crates/acp/src/updates.rs", "the plan shown by an editor, from the fields of each task tool"),
    ("crates/tui/src/app/tools", "labels and results from the fields of each tool"),
    ("crates/tui/src/app/rule_suggestions.rs", "rules in words, from the syntax that each tool has"),
    ("crates/tui/src/app/todos.rs", "the todo list, from the fields of each task tool"),
    ("crates/tui/src/app/dialog", "previews and editable fields, from the input of each tool"),
    ("crates/store/src/checkpoints/log.rs", "calls in transcripts of another program, whose tools have no facts here"),
    ("crates/session_parts/src/import", "calls of other programs, in the terms of the tools here"),
    ("crates/testkit/src/clumsy", "the calls a scripted model makes"),
];

/// Crates that define tools.
const DEFINING: [&str; 3] = ["tools", "session_parts", "engine"];

pub(crate) fn check(root: &Path) -> Result<()> {
    let mut files = Vec::new();
    for folder in source::crate_folders(root)? {
        source::collect(&folder.join("src"), &mut files)?;
    }
    let texts: Vec<(PathBuf, String)> = files
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path)?;
            Ok((path.strip_prefix(root).unwrap_or(&path).to_path_buf(), text))
        })
        .collect::<Result<_>>()?;
    let defines = |path: &Path| DEFINING.iter().any(|name| path.starts_with(format!("crates/{name}")));
    let names: BTreeSet<&str> =
        texts.iter().filter(|(path, _)| defines(path)).flat_map(|(_, text)| defined_names(text)).collect();
    ensure!(names.len() > 25, "only {} tools are found: {names:?}", names.len());
    let mut wrong = Vec::new();
    for (path, text) in texts.iter().filter(|(path, _)| !is_allowed(path)) {
        wrong.extend(uses(path, text, &names));
    }
    ensure!(
        wrong.is_empty(),
        "names of tools outside of their definitions. Ask for a fact of the tool (tools::facts), or add the file with its \
         reason to xtask/src/tool_names.rs:\n  {}",
        wrong.join("\n  ")
    );
    Ok(())
}

fn is_allowed(path: &Path) -> bool {
    let is_xtask = path.starts_with("xtask");
    is_xtask
        || ALLOWED.iter().any(|(allowed, _)| path.starts_with(allowed) || path == Path::new(&format!("{allowed}.rs")))
}

/// The names that a file gives to tools.
fn defined_names(text: &str) -> Vec<&str> {
    if !text.contains("ToolFacts") {
        return Vec::new();
    }
    let lines: Vec<&str> = text.lines().collect();
    let at = |index: usize| {
        let line = lines[index];
        let before = index.checked_sub(1).map_or("", |before| lines[before].trim_end());
        is_definition(line) || before.ends_with("ToolSpec::of(") || before.ends_with("(&str, ToolFacts) =")
    };
    let named = (0..lines.len()).filter(|index| at(*index)).filter_map(|index| literals(lines[index]).next());
    named.filter(|name| name.starts_with(|c: char| c.is_ascii_uppercase())).collect()
}

fn is_definition(line: &str) -> bool {
    let is_name = line.contains("const NAME:") && line.contains("str = \"");
    is_name || line.contains("ToolSpec::of(\"") || line.contains("(&str, ToolFacts) = (\"")
}

/// The lines of product code that name a tool.
fn uses(path: &Path, text: &str, names: &BTreeSet<&str>) -> Vec<String> {
    let product = source::product(path, text);
    let lines: Vec<&str> = text.lines().collect();
    let is_use = |(index, blank): &(usize, &str)| {
        let before = index.checked_sub(1).map_or("", |before| lines[before].trim_end());
        let defines = is_definition(lines[*index]) || before.ends_with("(&str, ToolFacts) =");
        !blank.trim().is_empty() && !defines && literals(lines[*index]).any(|literal| names.contains(literal))
    };
    let found = product.lines().enumerate().filter(is_use);
    found.map(|(index, _)| format!("{}:{}: {}", path.display(), index + 1, lines[index].trim())).collect()
}

/// The texts in quotes of a line; escapes are of no interest here.
fn literals(line: &str) -> impl Iterator<Item = &str> {
    line.split('"').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFINITION: &str = r#"
        use tools::ToolFacts;
        pub const NAME: &str = "Weigh";
        static SPEC: ToolSpec = ToolSpec::of("Count", "d", "s", FACTS);
        const LIST: (&str, ToolFacts) =
            ("List", FACTS);
        static OTHER: ToolSpec = ToolSpec::of(
            "Sort",
    "#;

    #[test]
    fn definitions_are_found() {
        assert_eq!(defined_names(DEFINITION), ["Weigh", "Count", "List", "Sort"]);
        assert!(defined_names("const NAME: &str = \"Weigh\";").is_empty(), "no tool is defined here");
    }

    #[test]
    fn a_name_outside_of_its_definition_is_reported() {
        let names: BTreeSet<&str> = ["Count", "List"].into();
        let text = "fn f(tool: &str) {\n    if tool == \"Count\" {}\n    // \"List\"\n    g(\"Lists\");\n}\n\
                    #[cfg(test)]\nmod tests {\n    const X: &str = \"Count\";\n}\n";
        let found = uses(Path::new("crates/engine/src/x.rs"), text, &names);
        assert_eq!(found, ["crates/engine/src/x.rs:2: if tool == \"Count\" {}"]);
        let definition = "const NAME: &str = \"Count\";\n";
        assert!(uses(Path::new("crates/engine/src/x.rs"), definition, &names).is_empty());
    }

    #[test]
    fn allowed_places_are_folders_and_their_roots() {
        for (path, allowed) in [
            ("crates/tui/src/app/tools.rs", true),
            ("crates/tui/src/app/tools/results.rs", true),
            ("crates/tui/src/app/keys.rs", false),
            ("crates/engine/src/calls.rs", false),
        ] {
            assert_eq!(is_allowed(Path::new(path)), allowed, "{path}");
        }
    }
}
