"""Token totals and costs of a usage reader outside equal gimlet's own accounting. [TST-137] [TST-155]"""

import json
import subprocess
from pathlib import Path

import pytest
from model_server import Failure, reply, text, thinking, tool
from sandbox import MODEL

READER = Path(__file__).resolve().parent / "node_modules/@ccusage/ccusage-linux-x64/bin/ccusage"
FIELDS = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cacheCreationTokens": "cache_creation_input_tokens",
    "cacheReadTokens": "cache_read_input_tokens",
}
MODEL_FIELDS = {
    "inputTokens": "inputTokens",
    "outputTokens": "outputTokens",
    "cacheCreationTokens": "cacheCreationInputTokens",
    "cacheReadTokens": "cacheReadInputTokens",
}


def outside(box, report="session"):
    env = {**box.env, "TZ": "UTC"}
    command = [READER, "claude", report, "--offline", "--json"]
    done = subprocess.run(command, env=env, cwd=box.root, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def ours(results):
    """gimlet's own figures, added over the results of all runs: usage, model usage and cost must tell the same. Model usage and
    cost run on when a session is resumed, so the last result of each session counts."""
    last = {r["session_id"]: r for r in results}.values()
    tokens = {theirs: sum(r["usage"][name] for r in results) for theirs, name in FIELDS.items()}
    by_model = {t: sum(u[name] for r in last for u in r["modelUsage"].values()) for t, name in MODEL_FIELDS.items()}
    assert by_model == tokens
    cost = sum(r["total_cost_usd"] for r in last)
    assert sum(u["costUSD"] for r in last for u in r["modelUsage"].values()) == pytest.approx(cost)
    return tokens, cost


def assert_same(row, results):
    tokens, cost = ours(results)
    assert {key: row[key] for key in tokens} == tokens
    assert row["totalTokens"] == sum(tokens.values())
    assert row["totalCost"] == pytest.approx(cost, rel=1e-6)
    assert cost > 0


def usage(fresh, written=0, read=0):
    return {"input_tokens": fresh, "cache_creation_input_tokens": written, "cache_read_input_tokens": read}


# [TST-137]
def test_totals_of_several_sessions(box, model):
    (box.project / "a").write_text("a\n")
    calls = [tool("Read", {"file_path": str(box.project / "a")}, f"toolu_{n}") for n in range(4)]
    model.push(
        reply(text("plain"), usage=usage(1200), output_tokens=340),
        # Several lines on disk for one response: each token must be counted once.
        reply(thinking("Hm."), text("Reading."), *calls, usage=usage(15, 9000, 400), output_tokens=777),
        reply(text("Done."), usage=usage(3, 120, 9400), output_tokens=21),
        reply(tool("Bash", {"command": "x"}, "toolu_d"), usage=usage(50, 1, 2), output_tokens=9),
        reply(text("Denied."), usage=usage(60, 0, 53), output_tokens=11),
        reply(text("More."), usage=usage(7, 30, 9520), output_tokens=5),
    )
    plain, parallel, denied = box.ask("plain"), box.ask("read"), box.ask("denied")
    resumed = box.ask("more", "--resume", parallel.session)
    report = outside(box)
    rows = {row["sessionId"]: row for row in report["sessions"]}
    assert set(rows) == {plain.session, parallel.session, denied.session}
    assert_same(rows[plain.session], [plain.result])
    assert_same(rows[parallel.session], [parallel.result, resumed.result])
    assert_same(rows[denied.session], [denied.result])
    assert_same(report["totals"], [done.result for done in (plain, parallel, denied, resumed)])


def test_models_are_told_apart(box, model):
    small = "claude-haiku-4-5-20251001"
    model.push(reply(text("a"), usage=usage(100), output_tokens=10), reply(text("b"), usage=usage(200), output_tokens=20))
    first = box.ask("a")
    second = box.ask("b", "--resume", first.session, model=small)
    (row,) = outside(box)["sessions"]
    assert_same(row, [first.result, second.result])
    costs = {part["modelName"]: part["cost"] for part in row["modelBreakdowns"]}
    assert set(costs) == set(row["modelsUsed"]) == set(first.result["modelUsage"]) | {small}
    assert costs[small] == pytest.approx(second.result["modelUsage"][small]["costUSD"])


def test_failed_answers_are_not_counted(box, model):
    model.push(
        Failure(529, "overloaded_error", "busy", {"retry-after": "0"}),
        reply(text("ok"), usage=usage(40), output_tokens=4),
        Failure(400, "invalid_request_error", "no"),
    )
    good = box.ask("a")
    bad = box.ask("b", "--resume", good.session, code=1)
    (row,) = outside(box)["sessions"]
    assert_same(row, [good.result, bad.result])


def test_a_fork_is_not_billed_twice(box, model):
    model.push(reply(text("a"), usage=usage(500), output_tokens=50), reply(text("b"), usage=usage(600), output_tokens=60))
    first = box.ask("a")
    fork = box.ask("b", "--resume", first.session, "--fork-session")
    assert_same(outside(box)["totals"], [first.result, fork.result])


def test_interrupted_answer(box, model):
    """Tokens of a cut response are known only as far as the stream told them; both sides must tell the same."""
    model.push(reply(text("one two three", pieces=3), usage=usage(80, 10), hold_after_deltas=2))
    done = box.interrupted("count", "--model", MODEL, after=2)
    (row,) = outside(box)["sessions"]
    assert_same(row, [done.result])


def test_other_reports_read_the_same_lines(box, model):
    model.push(reply(text("a"), usage=usage(500, 20, 30), output_tokens=50))
    done = box.ask("a")
    assert_same(outside(box, "daily")["totals"], [done.result])
    (block,) = [block for block in outside(box, "blocks")["blocks"] if block["entries"]]
    assert block["costUSD"] == pytest.approx(done.result["total_cost_usd"])


def own_report(box, by):
    done = box.feed("", "usage", "--by", by, "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)


# [LNG-30]
def test_the_report_equals_the_outside_one(box, model):
    calls = [tool("Glob", {"pattern": f"{n}*"}, f"toolu_{n}") for n in range(3)]
    model.push(
        reply(thinking("Hm."), text("Looking."), *calls, usage=usage(15, 9000, 400), output_tokens=777),
        reply(text("Done."), usage=usage(3, 120, 9400), output_tokens=21),
        reply(text("b"), usage=usage(600, 20, 30), output_tokens=60),
        reply(tool("Agent", {"description": "d", "prompt": "p", "subagent_type": "general-purpose", "run_in_background": False}, "toolu_a"), usage=usage(9), output_tokens=4),
        reply(text("found"), usage=usage(70, 5, 6), output_tokens=8),
        reply(text("end"), usage=usage(80), output_tokens=2),
    )
    first = box.ask("a")
    box.ask("b", "--resume", first.session, "--fork-session")
    box.ask("c")
    box.add_foreign_transcript()
    theirs, sessions = outside(box), own_report(box, "session")
    same = ("inputTokens", "outputTokens", "cacheCreationTokens", "cacheReadTokens", "totalTokens")
    assert {key: sessions["totals"][key] for key in same} == {key: theirs["totals"][key] for key in same}
    days = {row["date"]: row for row in outside(box, "daily")["daily"]}
    ours = {row["day"]: row for row in own_report(box, "day")["rows"]}
    assert {day: [row[key] for key in same] for day, row in ours.items()} == {
        day: [row[key] for key in same] for day, row in days.items()
    }
