//! Notes when a change broke a JSON, TOML or YAML file: it could be parsed before, and no longer can.

mod toml;

use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use saphyr_parser::Parser;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::path::Path;

/// Larger files, in bytes, are not parsed.
const MAX_BYTES: usize = 1 << 20;
/// Most characters of what a parser says.
const MAX_PROBLEM_CHARS: usize = 160;

/// Why a text cannot be parsed.
#[derive(Debug, PartialEq, Eq)]
struct SyntaxProblem {
    /// Counted from 1.
    line: usize,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DataFormat {
    Json,
    /// JSON with comments and trailing commas.
    CommentedJson,
    Toml,
    Yaml,
}

/// A note for the result of a change when `before` could be parsed and `after` cannot. It begins with a newline.
pub(crate) fn broken_note(path: &Path, before: &str, after: &str) -> Option<String> {
    if before.trim().is_empty() || before.len().max(after.len()) > MAX_BYTES {
        return None;
    }
    let format = formats(path).iter().find(|format| format.problem(before).is_none())?;
    let problem = format.problem(after)?;
    let text: String = problem.text.chars().take(MAX_PROBLEM_CHARS).collect();
    // The end of the file may be reported as a line of its own.
    let line = problem.line.min(after.lines().count().max(1));
    Some(format!("\nNote: the file no longer parses: line {line}: {text}"))
}

/// The formats a file may have by its name, the stricter ones first.
fn formats(path: &Path) -> &'static [DataFormat] {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "json" => &[DataFormat::Json, DataFormat::CommentedJson],
        "jsonc" => &[DataFormat::CommentedJson],
        "toml" => &[DataFormat::Toml],
        "yaml" | "yml" => &[DataFormat::Yaml],
        _ => &[],
    }
}

impl DataFormat {
    fn problem(self, text: &str) -> Option<SyntaxProblem> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match self {
            Self::Json => json(text),
            Self::CommentedJson => commented_json(text),
            Self::Toml => toml::check(text).err(),
            Self::Yaml => yaml(text),
        }
    }
}

fn json(text: &str) -> Option<SyntaxProblem> {
    serde_json::from_str::<IgnoredAny>(text).err()?;
    // Costs more, and says better what is wrong.
    let error = serde_json::from_str::<Value>(text).err()?;
    let said = error.to_string();
    // The place is given apart.
    let problem = said.split(" at line ").next().unwrap_or_default();
    let column = if error.column() > 0 { format!(" (column {})", error.column()) } else { String::new() };
    Some(SyntaxProblem { line: error.line(), text: format!("{problem}{column}") })
}

fn commented_json(text: &str) -> Option<SyntaxProblem> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    match parse_to_ast(text, &CollectOptions::default(), &options) {
        Ok(parsed) if parsed.value.is_some() => None,
        Ok(_) => Some(SyntaxProblem { line: 1, text: "there is no value".into() }),
        Err(error) => Some(SyntaxProblem { line: error.line_display(), text: error.kind().to_string() }),
    }
}

fn yaml(text: &str) -> Option<SyntaxProblem> {
    let error = Parser::new_from_str(text).find_map(Result::err)?;
    Some(SyntaxProblem { line: error.marker().line().max(1), text: error.info().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(name: &str, before: &str, after: &str) -> Option<String> {
        broken_note(Path::new(name), before, after)
    }

    #[test]
    fn what_was_broken_is_said_with_its_line() {
        // [MX-9]
        let cases = [
            ("a.json", "{\"a\": 1}\n", "{\n  \"a\": 1,\n}\n", "line 3: trailing comma"),
            ("a.JSON", "// x\n{\"a\": [1,],}\n", "// x\n{\"a\": [1\n,]", "line 2: "),
            ("a.jsonc", "{} // x\n", "{'a': 1}\n", "line 1: "),
            ("a.yml", "a: 1\nb:\n  - c\n", "a: 1\nb: [c\n", "line "),
            ("a.yaml", "a: 1\n", "a: 1\nb: x: y\n", "line 2: "),
            ("Cargo.toml", "[a]\nb = 1\n", "[a]\nb = 1\nb = 2\n", "line 3: "),
        ];
        for (name, before, after, said) in cases {
            let note = note(name, before, after).unwrap_or_else(|| panic!("{name} counts as whole"));
            assert!(note.starts_with("\nNote: the file no longer parses: line ") && note.contains(said), "{note}");
        }
    }

    #[test]
    fn nothing_is_said_of_what_was_broken_before_or_is_not_known() {
        // [MX-9]
        for (name, before, after) in [
            ("a.json", "{,}", "{,,}"),
            ("a.json", "", "{,}"),
            ("a.json", "{}", "{\"a\": \"\\u00e9\"}"),
            ("a.json", "// x\n{}", "// y\n{\"a\": 1,}"),
            ("a.yaml", "{{ template }}: [", "x"),
            ("a.yaml", "a: 1\n", "---\na: 1\n---\nb: 2\n"),
            ("a.rs", "{}", "{,}"),
        ] {
            assert_eq!(note(name, before, after), None, "{name} {after}");
        }
        let large = format!("\"{}\"", "x".repeat(MAX_BYTES));
        assert_eq!(note("a.json", "{}", &format!("{large},")), None);
    }

    #[test]
    fn deep_nesting_is_a_problem_and_no_crash() {
        // [MX-9]
        let deep = "[".repeat(200_000);
        for name in ["a.json", "a.jsonc", "a.yaml"] {
            assert!(note(name, "[]", &deep).is_some(), "{name}");
        }
        assert!(note("a.toml", "a = []", &format!("a = {deep}")).is_some());
    }
}
