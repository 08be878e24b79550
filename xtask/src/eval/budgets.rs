//! The budgets of what requests hold, measured on captured requests.

use super::baseline::rows_json;
use super::probe::{Probe, call};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::path::Path;
use testkit::{CapturedRequest, ScriptedReply};

/// Name and most bytes. `None`: compared with the recorded figure.
const BUDGETS: &[(&str, Option<u64>)] = &[
    ("static system prompt", Some(3_000)),
    ("tools, headless", Some(14_000)),
    ("tools, with a person", Some(17_000)),
    ("first context", Some(2_800)),
    ("skill listing", Some(8_000)),
    ("deferred names", Some(6_000)),
    ("Edit, success", Some(160)),
    ("Write, success", Some(160)),
    ("Edit, error", Some(1_200)),
    ("Read page", Some(60_000)),
    ("Bash, success", Some(30_000)),
    ("Bash, long success", Some(30_000)),
    ("Bash, failure", Some(15_000)),
    ("Grep", Some(20_000)),
    ("reminder after a result", Some(4_000)),
    ("30 calls, last body", None),
    ("30 calls, sum of bodies", None),
];

/// The sum of bodies may be larger than that of the binary it is compared with by this factor.
const GROWTH: f64 = 1.02;

/// The measured figures, in the order of the table.
fn measure(binary: &Path) -> Result<Vec<(String, u64)>> {
    let mut rows: Vec<(&str, u64)> = first_request(binary)?;
    rows.extend(listings(binary)?);
    rows.extend(results(binary)?);
    let (last, sum) = thirty_calls(binary)?;
    rows.extend([("30 calls, last body", last), ("30 calls, sum of bodies", sum)]);
    let find = |name: &str| rows.iter().find(|(row, _)| *row == name).map(|(_, bytes)| *bytes);
    BUDGETS
        .iter()
        .map(|(name, _)| Ok(((*name).to_owned(), find(name).with_context(|| format!("no figure: {name}"))?)))
        .collect()
}

pub(super) fn json(binary: &Path) -> Result<Value> {
    Ok(rows_json(&measure(binary)?))
}

/// Prints the table; fails above a budget, unless the recorded figure is above it too and not lower.
pub(super) fn check(root: &Path, binary: &Path, against: Option<&Path>) -> Result<()> {
    let file = root.join("eval/baseline.json");
    let recorded: Value =
        std::fs::read_to_string(&file).ok().and_then(|t| serde_json::from_str(&t).ok()).unwrap_or_default();
    let base = match against {
        Some(other) => json(other)?,
        None => recorded["budgets"].clone(),
    };
    let rows = measure(binary)?;
    println!("\n{:<28} {:>10} {:>10} {:>10}", "component (bytes)", "now", "budget", "base");
    for (name, bytes) in &rows {
        let budget = budget(name).map_or_else(|| "-".to_owned(), |most| most.to_string());
        let before = base[name].as_u64().map_or_else(|| "-".to_owned(), |bytes| bytes.to_string());
        let mark = if is_over(name, *bytes, &base) { "  OVER" } else { "" };
        println!("{name:<28} {bytes:>10} {budget:>10} {before:>10}{mark}");
    }
    let worse = worse(&rows, &recorded["budgets"], &base);
    if worse.is_empty() { Ok(()) } else { bail!("over budget, and not known to be:\n  {}", worse.join("\n  ")) }
}

/// Budgets that are exceeded, and by more than recorded.
pub(super) fn over(binary: &Path, recorded: &Value) -> Result<Vec<String>> {
    Ok(worse(&measure(binary)?, recorded, recorded))
}

fn worse(rows: &[(String, u64)], recorded: &Value, base: &Value) -> Vec<String> {
    let is_known =
        |name: &str, bytes: u64| budget(name).is_some() && recorded[name].as_u64().is_some_and(|known| bytes <= known);
    let rows = rows.iter().filter(|(name, bytes)| is_over(name, *bytes, base) && !is_known(name, *bytes));
    rows.map(|(name, bytes)| format!("{name}: {bytes} bytes")).collect()
}

fn budget(name: &str) -> Option<u64> {
    BUDGETS.iter().find(|(row, _)| *row == name).and_then(|(_, most)| *most)
}

fn is_over(name: &str, bytes: u64, base: &Value) -> bool {
    match budget(name) {
        Some(most) => bytes > most,
        None => base[name].as_u64().is_some_and(|before| bytes as f64 > before as f64 * GROWTH),
    }
}

fn size(value: &Value) -> u64 {
    if value.is_null() { 0 } else { value.to_string().len() as u64 }
}

fn system_text(request: &CapturedRequest) -> u64 {
    let blocks = request.json["system"].as_array().into_iter().flatten();
    let texts = blocks.filter_map(|block| block["text"].as_str());
    // What names this machine or session is not static.
    let of_machine = |text: &str| text.find("# Environment").map_or(text.len(), |at| at);
    texts.map(|text| of_machine(text) as u64).sum()
}

fn reminders(message: &Value) -> Vec<&str> {
    let blocks = message["content"].as_array().into_iter().flatten();
    blocks.filter_map(|block| block["text"].as_str()).filter(|text| text.starts_with("<system-reminder>")).collect()
}

/// The parts of a first request in a small repository.
fn first_request(binary: &Path) -> Result<Vec<(&'static str, u64)>> {
    let probe = Probe::new(binary);
    probe.sandbox.write("Makefile", "test:\n\ttrue\n");
    let folder = probe.sandbox.project();
    let git = |args: &[&str]| std::process::Command::new("git").args(args).current_dir(&folder).output();
    git(&["init", "-q", "-b", "main"]).context("git does not start")?;
    let requests = probe.run(Vec::new(), &[])?;
    let first = &requests[0];
    let context: usize = first.messages().first().map_or(0, |m| reminders(m).iter().map(|text| text.len()).sum());
    let person = Probe::new(binary).run_with_person();
    let offered = person.first().context("no request with a person")?;
    Ok(vec![
        ("static system prompt", system_text(first)),
        ("tools, headless", size(&first.json["tools"])),
        ("tools, with a person", size(&offered.json["tools"])),
        ("first context", context as u64),
    ])
}

/// Listings of many skills and many tools of a server.
fn listings(binary: &Path) -> Result<Vec<(&'static str, u64)>> {
    const SKILLS: usize = 200;
    const TOOLS: usize = 60;
    let mut probe = Probe::new(binary);
    probe.sandbox.set("ENABLE_TOOL_SEARCH", "true");
    for number in 0..SKILLS {
        let about = "Checks one part of a release and reports what is missing, in the form the release notes need.";
        let text = format!("---\nname: skill-{number:03}\ndescription: {about}\n---\nDo it.\n");
        probe.sandbox.write_config(&format!("skills/skill-{number:03}/SKILL.md"), text);
    }
    let server = probe.sandbox.write("server.py", MANY_TOOLS.replace("COUNT", &TOOLS.to_string()));
    let config = json!({"mcpServers": {"many": {"command": "python3", "args": [server]}}}).to_string();
    let requests = probe.run(Vec::new(), &["--mcp-config", &config])?;
    let first = requests.iter().find_map(|request| request.messages().first()).context("no message")?;
    let texts = reminders(first);
    let with =
        |word: &str| texts.iter().filter(|text| text.contains(word)).map(|text| text.len() as u64).max().unwrap_or(0);
    Ok(vec![("skill listing", with("skill-1")), ("deferred names", with("mcp__many__"))])
}

/// A server with many tools on stdio.
pub(super) const MANY_TOOLS: &str = r#"import json, sys
about = "Works on one kind of record: finds it by id, changes the named fields, keeps a history, and answers with the record."
schema = {"type": "object", "properties": {"id": {"type": "string", "description": "Id of the record"}, "fields": {"type": "object", "description": "What to change"}}, "required": ["id"]}
tools = [{"name": "record_%02d" % n, "description": about, "inputSchema": schema} for n in range(COUNT)]
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method = message.get("method")
    result = {}
    if method == "initialize":
        result = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "many", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": tools}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": "ok"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

/// The largest results of the tools.
fn results(binary: &Path) -> Result<Vec<(&'static str, u64)>> {
    let probe = Probe::new(binary);
    let line = "x".repeat(60);
    let numbered = |count: usize| (0..count).map(|n| format!("line {n:05} {line}\n")).collect::<Vec<_>>().concat();
    probe.sandbox.write("small.txt", "alpha\nbeta\n");
    probe.sandbox.write("large.txt", numbered(3_300));
    let (small, large) = (probe.path("small.txt"), probe.path("large.txt"));
    let long = format!("nothing like it {}\n", "y".repeat(200)).repeat(30);
    let script = vec![
        call("read", "Read", &json!({"file_path": small})),
        call("Edit, success", "Edit", &json!({"file_path": small, "old_string": "alpha", "new_string": "gamma"})),
        call("Edit, error", "Edit", &json!({"file_path": small, "old_string": long, "new_string": "z"})),
        call("Write, success", "Write", &json!({"file_path": probe.path("new.txt"), "content": "one\n"})),
        call("Read page", "Read", &json!({"file_path": large})),
        call("Bash, success", "Bash", &json!({"command": "head -c 29500 large.txt"})),
        call("Bash, long success", "Bash", &json!({"command": "cat large.txt"})),
        call("Bash, failure", "Bash", &json!({"command": "cat large.txt; exit 3"})),
        call(
            "Grep",
            "Grep",
            &json!({"pattern": "line 00[0-4]", "output_mode": "content", "path": large, "head_limit": 0}),
        ),
        call(
            "changed",
            "Bash",
            &json!({"command": "sed -i 's/line/LINE/' large.txt && sed -i s/gamma/delta/ small.txt"}),
        ),
    ];
    let requests = probe.run(script, &[])?;
    let last = requests.last().context("no request")?;
    let later = last.messages().iter().skip(1).flat_map(reminders).map(|text| text.len() as u64).max();
    let named = BUDGETS.iter().map(|(name, _)| *name);
    let results = last.tool_results();
    let size_of = |id: &str| {
        let result = results.iter().find(|result| result["tool_use_id"] == id)?;
        Some(text_of(&result["content"]).len() as u64)
    };
    let mut rows: Vec<(&'static str, u64)> = named.filter_map(|name| Some((name, size_of(name)?))).collect();
    rows.push(("reminder after a result", later.unwrap_or(0)));
    Ok(rows)
}

pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().filter_map(|b| b["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

/// Ten reads, eight edits and twelve commands: bytes of the last body, and of all.
fn thirty_calls(binary: &Path) -> Result<(u64, u64)> {
    let probe = Probe::new(binary);
    let mut script: Vec<ScriptedReply> = Vec::new();
    for file in 0..10 {
        let lines = (0..120).map(|n| format!("    value_{n:03} = compute({file}, {n})  # step {n}\n"));
        let text = lines.collect::<Vec<_>>().concat();
        probe.sandbox.write(&format!("src/part_{file}.py"), text);
        let path = probe.path(&format!("src/part_{file}.py"));
        script.push(call(&format!("r{file}"), "Read", &json!({"file_path": path})));
        if file < 8 {
            let input = json!({"file_path": path, "old_string": format!("value_040 = compute({file}, 40)"),
                "new_string": format!("value_040 = compute({file}, 41)")});
            script.push(call(&format!("e{file}"), "Edit", &input));
        }
        let command = format!("for n in $(seq 1 40); do echo \"test part_{file} case $n ... ok\"; done");
        script.push(call(&format!("b{file}"), "Bash", &json!({"command": command})));
    }
    for number in 10..12 {
        script.push(call(&format!("b{number}"), "Bash", &json!({"command": "ls -1 src && wc -l src/*.py"})));
    }
    let requests = probe.run(script, &[])?;
    let sizes: Vec<u64> = requests.iter().map(|request| request.body.len() as u64).collect();
    Ok((sizes.last().copied().unwrap_or(0), sizes.iter().sum()))
}

#[cfg(test)]
mod tests {
    use super::*;

    // [MX-40] A budget that is exceeded fails, one that is known to be exceeded only when it became worse.
    #[test]
    fn known_excess_may_not_grow() {
        let rows = |bytes| vec![("Grep".to_owned(), bytes), ("30 calls, sum of bodies".to_owned(), bytes)];
        let recorded = json!({"Grep": 25_000, "30 calls, sum of bodies": 25_000});
        assert!(worse(&rows(25_000), &recorded, &recorded).is_empty());
        assert_eq!(worse(&rows(25_100), &recorded, &recorded), ["Grep: 25100 bytes"]);
        assert_eq!(worse(&rows(25_600), &recorded, &recorded).len(), 2);
        assert!(worse(&rows(19_000), &Value::Null, &Value::Null).is_empty());
        assert_eq!(worse(&rows(21_000), &Value::Null, &Value::Null), ["Grep: 21000 bytes"]);
    }
}
