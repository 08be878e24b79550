"""The real TypeScript SDK drives gimlet. [SDK-3] [SDK-31] [SDK-39] [SDK-40] [SDK-47] [SDK-67] [SDK-70] [SDK-71] [SDK-76]
[SDK-78] [SDK-79] [SDK-80] [SDK-81] [SDK-82] [SDK-86] [SDK-99] [SDK-100] [SDK-101] [SDK-102] [SDK-139] [SDK-147] [SDK-176]
[SDK-177] [SDK-185] [SDK-189]
"""

import json
import subprocess
from pathlib import Path

import pytest
from model_server import reply, text, tool
from sandbox import MODEL, PATIENCE

HERE = Path(__file__).resolve().parent


@pytest.fixture
def play(box):
    def run(scenario, **env):
        given = {"binary": box.binary, "cwd": str(box.project), "env": {**box.env, **env}, "model": MODEL}
        done = subprocess.run(
            ["node", "typescript_sdk.mjs", scenario, json.dumps(given)],
            cwd=HERE, env=box.env, capture_output=True, text=True, timeout=PATIENCE,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        seen = json.loads(done.stdout)
        assert seen["stderr"] == [] or "error" in seen, seen["stderr"]
        return seen

    return run


def texts(messages):
    blocks = [block for m in messages if m["type"] == "assistant" for block in m["message"]["content"]]
    return [block["text"] for block in blocks if block["type"] == "text"]


def results(messages):
    return [message for message in messages if message["type"] == "result"]


def bash(command, call_id="toolu_1"):
    return reply(tool("Bash", {"command": command}, call_id))


def test_query_with_a_string(play, model):
    model.push(reply(text("Hello.")))
    messages = play("string")["messages"]
    assert texts(messages) == ["Hello."] and results(messages)[0]["result"] == "Hello."
    assert (messages[0]["type"], messages[0]["subtype"]) == ("system", "init")


def test_query_with_a_stream_of_prompts(play, model):
    model.push(reply(text("one")), reply(text("two")))
    messages = play("prompts")["messages"]
    assert [result["result"] for result in results(messages)] == ["one", "two"]


def test_control_requests(play, model):
    model.push(reply(text("one")), reply(text("two")))
    seen = play("control")
    assert seen["info"]["models"][0]["value"] == "default" and seen["models"] == seen["info"]["models"]
    assert isinstance(seen["account"], dict) and any(c["name"] == "compact" for c in seen["commands"])
    assert seen["usage"]["totalTokens"] > 0 and seen["servers"] == []
    init = [m for m in seen["messages"] if m.get("subtype") == "init"][-1]
    assert init["permissionMode"] == "acceptEdits" and init["model"].startswith("claude-haiku-4-5")
    assert model.requests[1]["model"].startswith("claude-haiku-4-5")


def test_interrupt(play, model):
    model.push(reply(text("one two three", pieces=3), hold_after_deltas=1), reply(text("again")))
    seen = play("interrupt")
    model.release()
    first, second = results(seen["messages"])
    assert seen["receipt"] == {"still_queued": []}
    assert (first["subtype"], first["terminal_reason"]) == ("error_during_execution", "aborted_streaming")
    assert second["result"] == "again"


@pytest.mark.parametrize("answer", ["allow", "changed", "suggested", "denied", "stop"])
def test_permission_callback(box, play, model, answer):
    model.push(bash("touch first"), *([] if answer == "stop" else [bash("touch second", "toolu_2"), reply(text("done"))]))
    seen = play(f"permission:{answer}")
    made = {path.name for path in box.project.iterdir()} - {".claude"}
    expected = {"allow": {"first", "second"}, "changed": {"changed"}, "suggested": {"first", "second"}}
    assert made == expected.get(answer, set())
    first = seen["asked"][0]
    assert (first["name"], first["input"], first["id"]) == ("Bash", {"command": "touch first"}, "toolu_1")
    assert first["suggestions"] and len(seen["asked"]) == (1 if answer in ("suggested", "stop") else 2)
    if answer == "denied":
        assert "use another name" in json.dumps(model.requests[1]["messages"])
    if answer == "stop":
        assert results(seen["messages"])[0]["terminal_reason"] == "aborted_tools"


def test_agents_of_the_program(play, model):
    call = {"description": "look", "prompt": "look", "subagent_type": "scout", "run_in_background": False}
    model.push(reply(tool("Agent", call, "toolu_a")), reply(text("SCOUTED")), reply(text("done")))
    messages = play("agents")["messages"]
    assert "scout" in messages[0]["agents"] and texts(messages)[-1] == "done"
    assert "SCOUT-PROMPT" in json.dumps(model.requests[1]["system"])


def test_structured_output_and_partial_messages(play, model):
    model.push(reply(text("aloud", pieces=2), tool("StructuredOutput", {"n": 4}, "toolu_1")))
    messages = play("structured")["messages"]
    kinds = {message["event"]["type"] for message in messages if message["type"] == "stream_event"}
    assert {"message_start", "content_block_delta", "message_stop"} <= kinds
    assert results(messages)[0]["structured_output"] == {"n": 4}


def test_resume_fork_and_continue(play, model):
    model.push(*[reply(text(word)) for word in ("one", "two", "three", "four")])
    first, second, forked, latest = play("sessions")["ids"]
    assert first == second and forked not in (first, second) and latest == forked


def test_unknown_session(play):
    assert "No conversation found with session ID" in play("missing")["error"]


def test_hooks_of_the_program(box, play, model):
    """[SDK-113] [SDK-115]"""
    model.push(bash("touch no"), bash("touch yes", "toolu_2"), reply(text("done")))
    seen = play("hooks")
    assert seen["heard"] == ["PreToolUse", "PreToolUse", "PostToolUse", "Stop"]
    assert "not that" in json.dumps(model.requests[1]["messages"])
    assert (box.project / "yes").exists() and not (box.project / "no").exists()


def test_tools_of_the_program(play, model):
    """[SDK-123] [SDK-125]"""
    model.push(reply(tool("mcp__calc__add", {"a": 2, "b": 3}, "toolu_1")), reply(text("done")))
    messages = play("tools")["messages"]
    assert "sum 5" in json.dumps(model.requests[1]["messages"]) and texts(messages) == ["done"]


def test_files_go_back_to_a_prompt(box, play, model):
    """[SDK-85] [LNG-12] A dry run says what would change; applying restores; an unknown prompt cannot be gone back to."""
    target = box.project / "a.txt"
    target.write_text("one\n")
    model.push(bash("echo two > a.txt"), reply(text("x")))
    seen = play("rewind")
    assert seen["unknown"]["canRewind"] is False and seen["unknown"]["error"]
    counts = {"canRewind": True, "filesChanged": [str(target)], "insertions": 1, "deletions": 1}
    assert seen["plan"].items() >= counts.items() and seen["between"] == "two\n"
    assert seen["done"].items() >= counts.items() and target.read_text() == "one\n"
