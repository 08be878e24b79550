//! Runs the official JSON Schema test suite (`json_schema_suite/README.md`), and cases the suite does not cover.
#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use wire::json_schema::Schema;

/// Accepted reasons for refusing a schema of the suite: it needs a feature that is not supported.
const REFUSALS: [&str; 4] =
    ["refers to another document", "has several targets", "another draft than the schema around it", "is not known"];

const DRAFTS: [(&str, &str, &str); 5] = [
    ("4", "http://json-schema.org/draft-04/schema#", include_str!("json_schema_suite/draft4.json")),
    ("6", "http://json-schema.org/draft-06/schema#", include_str!("json_schema_suite/draft6.json")),
    ("7", "http://json-schema.org/draft-07/schema#", include_str!("json_schema_suite/draft7.json")),
    ("2019-09", "https://json-schema.org/draft/2019-09/schema", include_str!("json_schema_suite/draft2019-09.json")),
    ("2020-12", "https://json-schema.org/draft/2020-12/schema", include_str!("json_schema_suite/draft2020-12.json")),
];

#[derive(Default)]
struct Counts {
    checked: usize,
    refused: usize,
    wrong: Vec<String>,
}

fn run_group(draft: &str, dialect: &str, file: &str, group: &Value, counts: &mut Counts) {
    let mut document = group["schema"].clone();
    if let Value::Object(members) = &mut document {
        members.entry("$schema").or_insert_with(|| dialect.into());
    }
    let name = format!("{draft} {file}: {}", group["description"]);
    let schema = match Schema::compile(&document) {
        Ok(schema) => schema,
        Err(error) if REFUSALS.iter().any(|reason| error.why.contains(reason)) => {
            counts.refused += 1;
            return;
        }
        Err(error) => {
            counts.wrong.push(format!("{name}: {error}"));
            return;
        }
    };
    for test in group["tests"].as_array().unwrap() {
        let (data, expected) = (&test["data"], test["valid"].as_bool().unwrap());
        counts.checked += 1;
        if schema.is_valid(data) != expected || schema.faults(data, 5).is_empty() != expected {
            counts.wrong.push(format!("{name}: {}: expected {expected}", test["description"]));
        }
    }
}

#[test]
fn the_official_suite_passes() {
    let mut counts = Counts::default();
    for (draft, dialect, text) in DRAFTS {
        let files: Value = serde_json::from_str(text).unwrap();
        for (file, groups) in files.as_object().unwrap() {
            for group in groups.as_array().unwrap() {
                run_group(draft, dialect, file, group, &mut counts);
            }
        }
    }
    assert!(counts.wrong.is_empty(), "{} wrong:\n{}", counts.wrong.len(), counts.wrong.join("\n"));
    println!("{} checked, {} schemas refused", counts.checked, counts.refused);
    assert!(counts.checked > 4500, "{}", counts.checked);
    assert!(counts.refused <= 90, "{}", counts.refused);
}

fn refusal(schema: &Value) -> String {
    Schema::compile(schema).unwrap_err().to_string()
}

#[test]
fn what_is_no_schema_is_refused_with_its_place() {
    for (schema, at, why) in [
        (json!(5), "(at /)", "5 is not a schema"),
        (json!({"type": "nonsense"}), "(at /type)", "\"nonsense\" is not a type"),
        (
            json!({"properties": {"a/b": {"minLength": -1}}}),
            "(at /properties/a~1b/minLength)",
            "-1 is not a whole number",
        ),
        (json!({"$defs": {"unused": {"pattern": "("}}}), "(at /$defs/unused/pattern)", "regular expression"),
        (json!({"required": [1]}), "(at /required)", "list of names"),
        (json!({"items": [{}]}), "(at /items)", "prefixItems"),
        (json!({"anyOf": []}), "(at /anyOf)", "must not be empty"),
        (json!({"multipleOf": 0}), "(at /multipleOf)", "above zero"),
        (json!({"$ref": "#/nowhere"}), "(at /$ref)", "refers to nothing"),
        (json!({"$ref": "https://example.com/other.json"}), "(at /$ref)", "refers to another document"),
        (json!({"$schema": "https://example.com/mine"}), "(at /$schema)", "is not known"),
    ] {
        let text = refusal(&schema);
        assert!(text.ends_with(at) && text.contains(why), "{text}");
    }
    let deep = (0..200).fold(json!({}), |inner, _| json!({"not": inner}));
    assert!(refusal(&deep).contains("nested too deeply"));
}

#[test]
fn faults_name_the_place_and_the_reason() {
    let schema = json!({
        "type": "object", "required": ["n"], "additionalProperties": false,
        "properties": {"n": {"type": "integer", "minimum": 3}, "tags": {"items": {"enum": ["a", "b"]}, "maxItems": 2}}
    });
    let schema = Schema::compile(&schema).unwrap();
    let faults = |value: Value| schema.faults(&value, 5).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(faults(json!({"n": 3})), Vec::<String>::new());
    assert_eq!(faults(json!({"n": "x"})), [r#"/n: "x" is not of type "integer""#]);
    assert_eq!(faults(json!({"n": 2})), ["/n: 2 is less than the minimum of 3"]);
    assert_eq!(
        faults(json!({"tags": ["a", "c"], "more": 1})),
        [
            r#"/: "n" is a required property"#,
            r#"/tags/1: "c" is not one of "a", "b""#,
            r#"/: the additional property "more" is not allowed"#
        ]
    );
    assert_eq!(schema.faults(&json!({"tags": [1, 2, 3, 4, 5], "x": 0}), 2).len(), 2);
    let long = schema.faults(&json!({"n": "é".repeat(1000)}), 1).remove(0).why;
    assert!(long.chars().count() < 300, "{long}");
}

#[test]
fn a_schema_that_only_refers_to_itself_ends() {
    let schema = Schema::compile(&json!({"$ref": "#"})).unwrap();
    assert!(schema.faults(&json!(1), 1)[0].why.contains("without an end"));
    let list = json!({"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": false});
    let list = Schema::compile(&list).unwrap();
    assert!(list.is_valid(&json!({"next": {"next": {}}})));
    assert!(!list.is_valid(&json!({"next": {"other": {}}})));
}
