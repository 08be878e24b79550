//! `gimlet usage`: tokens and cost of what the binary recorded.

use crate::common::stream;
use serde_json::{Value, json};
use testkit::{ModelServer, Sandbox, ScriptedBlock, ScriptedReply};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");

fn billed(blocks: Vec<ScriptedBlock>, input: u64, output: u64) -> ScriptedReply {
    ScriptedReply::message(blocks).usage(
        json!({"input_tokens": input, "output_tokens": 1, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 3}),
        json!({"output_tokens": output}),
    )
}

fn usage(sandbox: &Sandbox, args: &[&str]) -> Value {
    let args: Vec<&str> = ["usage", "--json"].iter().chain(args).copied().collect();
    serde_json::from_str(&sandbox.gimlet(&args).run().expect_clean().stdout).unwrap()
}

/// [LNG-30] The report equals what the results said, for a session with several blocks per response and for its fork.
#[test]
fn the_report_equals_the_results() {
    let server = ModelServer::script([
        billed(vec![ScriptedBlock::text("both"), ScriptedBlock::tool("Glob", &json!({"pattern": "*"}))], 100, 40),
        billed(vec![ScriptedBlock::text("done")], 200, 30),
        billed(vec![ScriptedBlock::text("again")], 400, 20),
    ]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let first = stream(&sandbox, "go", &["--model", "claude-sonnet-4-5"]).pop().unwrap();
    let id = first["session_id"].as_str().unwrap().to_owned();
    let more = ["--resume", &id, "--fork-session", "--model", "claude-haiku-4-5"];
    let fork = stream(&sandbox, "more", &more).pop().unwrap();
    let report = usage(&sandbox, &["--by", "session"]);
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{report}");
    for (row, result, input, output) in [(0, &first, 300, 70), (1, &fork, 400, 20)] {
        let row = &rows[row];
        assert_eq!(row["session"], result["session_id"], "the dearer one first: {report}");
        assert_eq!((&row["inputTokens"], &row["outputTokens"]), (&json!(input), &json!(output)));
    }
    let cost = first["total_cost_usd"].as_f64().unwrap();
    assert!((rows[0]["costUSD"].as_f64().unwrap() - cost).abs() < 1e-9 && cost > 0.0, "{report}");
    assert_eq!(report["totals"]["responses"], 3);
    assert_eq!(
        (&report["totals"]["cacheReadTokens"], &report["totals"]["cacheCreationTokens"]),
        (&json!(21), &json!(9))
    );
    let by_model = usage(&sandbox, &["--by", "model"]);
    assert_eq!(by_model["rows"].as_array().unwrap().len(), 2);
    let before = usage(&sandbox, &["--until", "2020-01-01"]);
    assert_eq!((&before["rows"], &before["totals"]["totalTokens"]), (&json!([]), &json!(0)));
    let csv = sandbox.gimlet(&["usage", "--by", "project", "--csv"]).run().expect_clean().stdout;
    assert!(csv.starts_with("project,responses,input_tokens"), "{csv}");
    assert!(csv.lines().nth(1).unwrap().ends_with(",0"), "{csv}");
    assert!(csv.contains(",3,700,90,9,21,820,"), "{csv}");
    let text = sandbox.gimlet(&["usage"]).run().expect_clean().stdout;
    assert!(text.contains("Cost is an estimate"), "{text}");
    let wrong = sandbox.gimlet(&["usage", "--by", "week"]).run().expect_code(1);
    assert!(wrong.stderr.contains("day, session, project, model, agent"), "{}", wrong.stderr);
}
