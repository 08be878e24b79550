"""Readers written by others understand the sessions gimlet writes, and count what gimlet counts."""

import json
import subprocess

from claude_agent_sdk import get_session_messages, list_sessions

from conftest import text, tool


def conversation(home, model):
    """Two turns, one with a tool call, in one session; the result of the last run."""
    (home.project / "notes.txt").write_text("remember the milk\n")
    model.replies = [[tool("Read", file_path=str(home.project / "notes.txt"))], [text("It says: milk.")], [text("Bye.")]]
    first = home.result("-p", "What do the notes say?")
    second = home.result("-p", "Thanks", "--resume", first["session_id"])
    assert second["session_id"] == first["session_id"]
    return first, second


def test_python_sdk_lists_and_reads_sessions(home, model):
    first, _ = conversation(home, model)
    sessions = list_sessions(directory=str(home.project))
    assert [s.session_id for s in sessions] == [first["session_id"]]
    assert sessions[0].first_prompt == "What do the notes say?"
    messages = get_session_messages(first["session_id"], directory=str(home.project))
    assert [m.type for m in messages] == ["user", "assistant", "user", "assistant", "user", "assistant"]
    assert messages[0].message["content"] == "What do the notes say?"
    assert messages[-1].message["content"][0]["text"] == "Bye."


def test_ccusage_counts_the_same_tokens(home, model, clients):
    first, second = conversation(home, model)
    ccusage = clients / "node_modules/@ccusage/ccusage-linux-x64/bin/ccusage"
    done = subprocess.run([ccusage, "claude", "session", "--offline", "--json"], env=home.env, capture_output=True,
                          text=True, check=True, timeout=60)
    [session] = json.loads(done.stdout)["sessions"]
    ours = [sum(r["usage"][key] for r in (first, second)) for key in
            ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")]
    theirs = [session[key] for key in ("inputTokens", "outputTokens", "cacheCreationTokens", "cacheReadTokens")]
    assert theirs == ours == [33, 21, 0, 0]
    assert abs(session["totalCost"] - first["total_cost_usd"] - run_cost(first, second)) < 1e-9


def run_cost(first, second):
    """The cost of the second run alone, whether or not its total carries the first."""
    total = second["total_cost_usd"]
    return total - first["total_cost_usd"] if total > first["total_cost_usd"] else total
