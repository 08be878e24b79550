"""A real model instead of a script. It is small: shapes are asserted, never wording. A job of its own, since it installs
its own server (`.venv-model`).
"""

import json
import subprocess
from pathlib import Path

import pytest
from sandbox import Sandbox

HERE = Path(__file__).resolve().parent
CONTEXT = 2048
PLAIN = ("--system-prompt", "Answer briefly.", "--tools", "", "--thinking", "disabled")
# One sentence is enough, and makes the tests quick on a slow machine.
ONE_SENTENCE = json.dumps({"temperature": 0, "stop_sequences": ["."]})
# The only thing a clean run says there: the model is in no table.
NOTICE = (
    '[claude-code:unrecognized_model] {"model":"smollm2"}\n'
    "Note: gimlet does not know the model smollm2. A context window of 200,000 tokens is assumed; "
    "CLAUDE_CODE_MAX_CONTEXT_TOKENS=N sets another one.\n"
)


@pytest.fixture(scope="module")
def url():
    command = [HERE / ".venv-model/bin/python", HERE / "serve_model.py", str(CONTEXT)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        address = server.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), f"the model server did not start: {address!r}"
        yield address
    finally:
        server.kill()
        server.wait()


@pytest.fixture
def box(tmp_path, url, binary):
    sandbox = Sandbox(tmp_path, url, binary)
    sandbox.env |= {"CLAUDE_CODE_EXTRA_BODY": ONE_SENTENCE, "ANTHROPIC_MODEL": "smollm2"}
    return sandbox


def ask(box, prompt, *args, code=0):
    return box.ask(prompt, *PLAIN, *args, code=code, model="smollm2", err=NOTICE)


def assert_used(result):
    assert result["usage"]["input_tokens"] > 0 and result["usage"]["output_tokens"] > 0
    ((name, usage),) = result["modelUsage"].items()
    assert name == "smollm2"
    assert (usage["inputTokens"], usage["outputTokens"]) == (result["usage"]["input_tokens"], result["usage"]["output_tokens"])


def test_streams_an_answer(box):
    done = ask(box, "Tell me about the sea.", "--include-partial-messages")
    result = done.result
    assert (result["subtype"], result["is_error"]) == ("success", False) and result["result"]
    assert_used(result)
    events = [line["event"] for line in done.of_type("stream_event")]
    assert events[0]["type"] == "message_start" and events[-1]["type"] == "message_stop"
    deltas = [event["delta"].get("text", "") for event in events if event["type"] == "content_block_delta"]
    assert len(deltas) > 1
    (answer,) = done.of_type("assistant")
    assert "".join(deltas) == answer["message"]["content"][0]["text"] == result["result"]


def test_text_and_json(box):
    plain = box.finish(box.start("-p", "Say hello.", *PLAIN))
    assert plain.code == 0 and plain.err == NOTICE and plain.out.strip()
    done = box.finish(box.start("-p", "Say hello.", *PLAIN, "--output-format", "json"))
    assert done.code == 0 and done.err == NOTICE
    result = json.loads(done.out)
    assert result["type"] == "result" and result["result"]
    assert_used(result)


def test_remembers_a_resumed_conversation(box):
    first = ask(box, "My name is Ada.")
    again = ask(box, "What is my name?", "--resume", first.session)
    assert again.session == first.session
    assert again.result["usage"]["input_tokens"] + again.result["usage"]["cache_read_input_tokens"] > (
        first.result["usage"]["input_tokens"] + first.result["usage"]["cache_read_input_tokens"]
    )


def test_interrupt_mid_stream(box):
    prompt = "Write a very long story about a ship, with many chapters."
    del box.env["CLAUDE_CODE_EXTRA_BODY"]
    done = box.interrupted(prompt, *PLAIN, after=3)
    assert done.code == 1 and done.err == NOTICE
    assert done.result["subtype"] == "error_during_execution"
    assert done.result["terminal_reason"] == "aborted_streaming"
    box.env["CLAUDE_CODE_EXTRA_BODY"] = ONE_SENTENCE
    again = ask(box, "Say hello.", "--resume", done.session)
    assert again.result["is_error"] is False


def test_survives_a_full_context(box):
    first = ask(box, "Say hello.")
    full = ask(box, "word " * (CONTEXT * 2), "--resume", first.session, code=1)
    assert full.result["is_error"] is True
    assert full.result["terminal_reason"] == "prompt_too_long"
    assert full.result["api_error_status"] == 400
    assert full.of_type("assistant")[-1]["message"]["model"] == "<synthetic>"
    keep = first.of_type("assistant")[-1]["uuid"]
    again = ask(box, "Say hello.", "--resume", first.session, "--resume-session-at", keep)
    assert again.result["is_error"] is False and again.session == first.session
