"""Every line gimlet prints as stream-json is read by the Python SDK's own parser. [SDK-164] [SDK-130] [SDK-132] [SDK-133]
[SDK-134] [SDK-135] [SDK-139] [SDK-143] [SDK-144] [SDK-145] [SDK-163]
"""

import claude_agent_sdk as sdk
import pytest
from claude_agent_sdk._internal.message_parser import parse_message
from model_server import Failure, reply, text, thinking, tool

LINE_LIMIT = 1024 * 1024
INIT = (
    "cwd", "session_id", "tools", "mcp_servers", "model", "permissionMode", "slash_commands", "apiKeySource",
    "claude_code_version", "output_style", "agents", "skills", "plugins", "uuid",
)  # fmt: skip
RESULT = (
    "subtype", "is_error", "duration_ms", "duration_api_ms", "num_turns", "session_id", "total_cost_usd", "usage",
    "modelUsage", "permission_denials", "uuid",
)  # fmt: skip


def parsed(done):
    """The lines as the SDK's types; also holds them to what every host relies on."""
    assert all(len(line) < LINE_LIMIT for line in done.out.splitlines())
    lines = done.lines
    messages = [parse_message(line) for line in lines]
    assert None not in messages, "a line of a kind the SDK does not know"
    uuids = [line["uuid"] for line in lines]
    assert len(set(uuids)) == len(uuids)
    assert len({line["session_id"] for line in lines}) == 1
    check_turn(lines)
    return messages


def check_turn(lines):
    first = next(line for line in lines if line.get("subtype") not in ("hook_started", "hook_response"))
    assert (first["type"], first["subtype"]) == ("system", "init")
    assert [key for key in INIT if key not in first] == []
    assert [line["type"] for line in lines].count("result") == 1
    result = lines[-1]
    assert result["type"] == "result" and [key for key in RESULT if key not in result] == []
    assert all(isinstance(result[key], int) for key in ("duration_ms", "duration_api_ms", "num_turns"))
    if result["subtype"] == "success":
        assert isinstance(result["result"], str)
    else:
        assert result["errors"] and "result" not in result
    answered = [b["tool_use_id"] for b in blocks(lines, "user") if b["type"] == "tool_result"]
    called = [b["id"] for b in blocks(lines, "assistant") if b["type"] == "tool_use"]
    assert sorted(answered) == sorted(called)


def blocks(lines, kind):
    for line in lines:
        found = line["message"]["content"] if line["type"] == kind else []
        yield from found if isinstance(found, list) else []


def kinds(messages):
    return [type(message).__name__ for message in messages]


def of(messages, kind):
    return [message for message in messages if isinstance(message, kind)]


# [SDK-164]
def test_plain(box, model):
    model.push(reply(text("hello")))
    done = box.ask("hi")
    messages = parsed(done)
    assert kinds(messages) == ["SystemMessage", "AssistantMessage", "ResultMessage"]
    _, answer, result = messages
    assert answer.content == [sdk.TextBlock(text="hello")]
    assert answer.stop_reason is None and answer.session_id == result.session_id
    assert (result.subtype, result.is_error, result.result, result.num_turns) == ("success", False, "hello", 1)
    assert result.usage["input_tokens"] == 10 and result.usage["output_tokens"] == 5
    assert result.terminal_reason == "completed"
    on_disk = {entry["uuid"] for entry in box.entries(done.session) if entry["type"] == "assistant"}
    assert on_disk == {answer.uuid}


def test_thinking_and_parallel_calls(box, model):
    (box.project / "a").write_text("a\n")
    calls = [tool("Read", {"file_path": str(box.project / "a")}, f"toolu_{n}") for n in range(2)]
    model.push(reply(thinking("Hm.", "c2ln"), text("Reading."), *calls), reply(text("Done.")))
    messages = parsed(box.ask("read"))
    answers = of(messages, sdk.AssistantMessage)
    assert [type(answer.content[0]).__name__ for answer in answers] == [
        "ThinkingBlock",
        "TextBlock",
        "ToolUseBlock",
        "ToolUseBlock",
        "TextBlock",
    ]
    assert answers[0].content == [sdk.ThinkingBlock(thinking="Hm.", signature="c2ln")]
    assert len({answer.message_id for answer in answers[:4]}) == 1
    users = of(messages, sdk.UserMessage)
    assert [user.content[0].tool_use_id for user in users] == ["toolu_0", "toolu_1"]
    assert all(user.tool_use_result["file"]["content"].startswith("a") for user in users)


def test_denied_call(box, model):
    model.push(reply(tool("Write", {"file_path": "/etc/x", "content": ""}, "toolu_no")), reply(text("Then not.")))
    done = box.ask("write")
    messages = parsed(done)
    (user,) = of(messages, sdk.UserMessage)
    assert user.content[0].is_error is True and user.tool_use_result.startswith("Error: ")
    assert [m.data["tool_use_id"] for m in of(messages, sdk.SystemMessage) if m.subtype == "permission_denied"] == ["toolu_no"]
    (denial,) = messages[-1].permission_denials
    assert denial == {"tool_name": "Write", "tool_use_id": "toolu_no", "tool_input": {"file_path": "/etc/x", "content": ""}}


def test_failing_and_unknown_calls(box, model):
    model.push(
        reply(
            tool("Bash", {"command": "exit 3"}, "toolu_1"),
            tool("NoSuchTool", {}, "toolu_2"),
            tool("Read", {"wrong": 1}, "toolu_3"),
        ),
        reply(text("ok")),
    )
    users = of(parsed(box.ask("go", "--allowedTools", "Bash")), sdk.UserMessage)
    assert [user.content[0].is_error for user in users] == [True] * 3


def test_partial_messages(box, model):
    model.push(reply(text("one two three", pieces=3), tool("Bash", {"command": "echo x"}, "toolu_1")), reply(text("ok")))
    messages = parsed(box.ask("go", "--allowedTools", "Bash", "--include-partial-messages"))
    events = [message.event for message in of(messages, sdk.StreamEvent)]
    assert [event["type"] for event in events].count("message_start") == 2
    assert "ping" not in [event["type"] for event in events]
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    assert "".join(delta.get("text", "") for delta in deltas[:3]) == "one two three"
    assert "".join(delta.get("partial_json", "") for delta in deltas) == '{"command": "echo x"}'
    started = [event["message"]["id"] for event in events if event["type"] == "message_start"]
    assert list(dict.fromkeys(answer.message_id for answer in of(messages, sdk.AssistantMessage))) == started


@pytest.mark.parametrize(
    ("status", "kind", "error"),
    [
        (400, "invalid_request_error", "invalid_request"),
        (403, "permission_error", "authentication_failed"),
        (404, "not_found_error", "model_not_found"),
    ],
)
def test_api_errors(box, model, status, kind, error):
    model.push(Failure(status, kind, "no such luck"))
    messages = parsed(box.ask("hi", code=1))
    (answer,) = of(messages, sdk.AssistantMessage)
    assert (answer.model, answer.error) == ("<synthetic>", error)
    result = messages[-1]
    assert (result.subtype, result.is_error, result.api_error_status) == ("success", True, status)
    assert result.terminal_reason == "api_error"


def test_retry(box, model):
    model.push(Failure(529, "overloaded_error", "busy", {"retry-after": "0"}), reply(text("ok")))
    messages = parsed(box.ask("hi"))
    (retry,) = [message.data for message in of(messages, sdk.SystemMessage) if message.subtype == "api_retry"]
    assert (retry["attempt"], retry["error_status"], retry["error"]) == (1, 529, "overloaded")


def test_full_context(box, model):
    model.push(Failure(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"))
    result = parsed(box.ask("hi", code=1))[-1]
    assert (result.is_error, result.terminal_reason) == (True, "prompt_too_long")


def test_max_turns(box, model):
    model.push(reply(tool("Bash", {"command": "true"}, "toolu_1")))
    result = parsed(box.ask("go", "--max-turns", "1", "--allowedTools", "Bash", code=1))[-1]
    assert (result.subtype, result.terminal_reason) == ("error_max_turns", "max_turns")


def test_budget(box, model):
    """The call that came with the last cent is not run; a later run answers it in its request and goes on."""
    model.push(reply(tool("Bash", {"command": "touch x"}, "toolu_1"), usage={"input_tokens": 900_000}), reply(text("ok")))
    done = box.ask("go", "--max-budget-usd", "0.01", "--allowedTools", "Bash", code=1)
    assert kinds(map(parse_message, done.lines)) == ["SystemMessage", "AssistantMessage", "ResultMessage"]
    assert done.result["subtype"] == "error_max_budget_usd" and done.result["errors"]
    assert not (box.project / "x").exists()
    box.unanswered.add("toolu_1")
    parsed(box.ask("go on", "--resume", done.session))
    sent = [block for message in model.requests[-1]["messages"] for block in message["content"]]
    assert [b["tool_use_id"] for b in sent if isinstance(b, dict) and b["type"] == "tool_result"] == ["toolu_1"]


def test_structured_output(box, model):
    schema = '{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}'
    model.push(reply(tool("StructuredOutput", {"n": "no"}, "toolu_1")), reply(tool("StructuredOutput", {"n": 4}, "toolu_2")))
    result = parsed(box.ask("a number", "--json-schema", schema))[-1]
    assert result.structured_output == {"n": 4}


def test_interrupt(box, model):
    model.push(reply(text("one two three", pieces=3), hold_after_deltas=2))
    messages = parsed(box.interrupted("count", after=2))
    assert kinds(messages)[0] == "SystemMessage"
    assert kinds(messages)[-3:] == ["AssistantMessage", "UserMessage", "ResultMessage"]
    assert messages[-1].terminal_reason == "aborted_streaming"


def test_oversized_result_stays_below_the_line_limit(box, model):
    (box.project / "big").write_text("".join(f"{n:0100}\n" for n in range(2400)))
    model.push(
        reply(
            tool("Read", {"file_path": "big"}, "toolu_1"),
            tool("Bash", {"command": "yes gimlet | head -c 3000000"}, "toolu_2"),
        ),
        reply(text("z" * 400_000)),
    )
    parsed(box.ask("go", "--allowedTools", "Bash"))


def test_several_prompts_have_one_init_each(box, model):
    model.push(reply(text("one")), reply(text("two")))
    lines = "".join(
        '{"type":"user","message":{"role":"user","content":"%s"},"parent_tool_use_id":null,"session_id":""}\n' % word
        for word in ("first", "second")
    )
    args = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--replay-user-messages"]
    done = box.feed(lines, *args)
    assert done.code == 0 and done.err == ""
    messages = [parse_message(line) for line in done.lines]
    turn = ["SystemMessage", "UserMessage", "AssistantMessage", "ResultMessage"]
    assert kinds(messages) == turn * 2
    assert [message.content for message in of(messages, sdk.UserMessage)] == ["first", "second"]
