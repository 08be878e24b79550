"""The real Python SDK drives gimlet: `query` and `ClaudeSDKClient` as users write them. [SDK-3] [SDK-31] [SDK-39] [SDK-47]
[SDK-57] [SDK-64] [SDK-67] [SDK-70] [SDK-71] [SDK-76] [SDK-78] [SDK-86] [SDK-99] [SDK-100] [SDK-101] [SDK-102] [SDK-104]
[SDK-139] [SDK-147] [SDK-176] [SDK-177] [SDK-180] [SDK-181] [SDK-184] [SDK-187]
"""

import asyncio
import json

import claude_agent_sdk as sdk
import pytest
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient
from model_server import Failure, reply, text, tool
from sandbox import MODEL, PATIENCE


def options(box, **more):
    stderr = []
    made = ClaudeAgentOptions(
        cli_path=box.binary, cwd=str(box.project), env=box.env, model=MODEL, stderr=stderr.append, **{"setting_sources": [], **more}
    )
    made.seen_stderr = stderr
    return made


def run(work):
    return asyncio.run(asyncio.wait_for(work, PATIENCE))


async def gather(stream):
    return [message async for message in stream]


def of(messages, kind):
    return [message for message in messages if isinstance(message, kind)]


def texts(messages):
    blocks = [block for message in of(messages, sdk.AssistantMessage) for block in message.content]
    return [block.text for block in blocks if isinstance(block, sdk.TextBlock)]


def bash(command, call_id="toolu_1"):
    return reply(tool("Bash", {"command": command}, call_id))


def test_query_with_a_string(box, model):
    model.push(reply(text("Hello.")))
    made = options(box)
    messages = run(gather(sdk.query(prompt="hi", options=made)))
    assert texts(messages) == ["Hello."]
    assert messages[-1].result == "Hello." and not messages[-1].is_error
    assert made.seen_stderr == []
    (entry,) = [e for e in box.entries(messages[-1].session_id) if e["type"] == "user"]
    assert entry["message"]["content"] == "hi"


def test_query_with_a_stream_of_prompts(box, model):
    model.push(reply(text("one")), reply(text("two")))

    async def prompts():
        for word in ("first", "second"):
            yield {"type": "user", "message": {"role": "user", "content": word}, "parent_tool_use_id": None, "session_id": "x"}

    messages = run(gather(sdk.query(prompt=prompts(), options=options(box))))
    assert texts(messages) == ["one", "two"]
    assert [message.result for message in of(messages, sdk.ResultMessage)] == ["one", "two"]


def test_client_turns_modes_and_models(box, model):
    model.push(reply(text("one")), reply(text("two")))

    async def work():
        async with ClaudeSDKClient(options(box)) as client:
            info = await client.get_server_info()
            assert info["models"][0]["value"] == "default" and isinstance(info["account"], dict)
            assert all(isinstance(command["argumentHint"], str) for command in info["commands"])
            await client.query("first")
            first = await gather(client.receive_response())
            await client.set_permission_mode("acceptEdits")
            await client.set_model("claude-haiku-4-5")
            usage = await client.get_context_usage()
            assert usage["totalTokens"] > 0 and usage["maxTokens"] > 0 and usage["categories"]
            await client.query("second")
            return first, await gather(client.receive_response())

    first, second = run(work())
    assert texts(first) == ["one"] and texts(second) == ["two"]
    init = next(m.data for m in of(second, sdk.SystemMessage) if m.subtype == "init")
    assert init["permissionMode"] == "acceptEdits" and init["model"].startswith("claude-haiku-4-5")
    assert model.requests[1]["model"].startswith("claude-haiku-4-5")


def test_interrupt_keeps_the_client_usable(box, model):
    model.push(reply(text("one two three", pieces=3), hold_after_deltas=1), reply(text("again")))

    async def work():
        async with ClaudeSDKClient(options(box, include_partial_messages=True)) as client:
            await client.query("count")
            stream = client.receive_response()
            async for message in stream:
                if isinstance(message, sdk.StreamEvent) and message.event["type"] == "content_block_delta":
                    await client.interrupt()
                    break
            rest = await gather(stream)
            model.release()
            await client.query("go on")
            return rest, await gather(client.receive_response())

    rest, after = run(work())
    assert rest[-1].subtype == "error_during_execution" and rest[-1].terminal_reason == "aborted_streaming"
    assert texts(after) == ["again"] and after[-1].subtype == "success"


@pytest.mark.parametrize("answer", ["allow", "changed", "suggested", "denied", "stop"])
def test_permission_callback(box, model, answer):
    asked = []

    async def may(name, given, context):
        asked.append((name, given, context))
        match answer:
            case "allow":
                return sdk.PermissionResultAllow()
            case "changed":
                return sdk.PermissionResultAllow(updated_input={"command": "touch changed"})
            case "suggested":
                return sdk.PermissionResultAllow(updated_permissions=context.suggestions)
            case "denied":
                return sdk.PermissionResultDeny(message="use another name")
        return sdk.PermissionResultDeny(message="no more", interrupt=True)

    model.push(bash("touch first"), *([] if answer == "stop" else [bash("touch second", "toolu_2"), reply(text("done"))]))

    async def work():
        async with ClaudeSDKClient(options(box, can_use_tool=may)) as client:
            await client.query("make files")
            return await gather(client.receive_response())

    messages = run(work())
    made = {path.name for path in box.project.iterdir()} - {".claude"}
    name, given, context = asked[0]
    assert (name, given) == ("Bash", {"command": "touch first"}) and context.suggestions
    expected = {
        "allow": {"first", "second"},
        "changed": {"changed"},
        "suggested": {"first", "second"},
        "denied": set(),
        "stop": set(),
    }
    assert made == expected[answer]
    assert len(asked) == (1 if answer in ("suggested", "stop") else 2)
    if answer == "denied":
        assert "use another name" in json.dumps(model.requests[1]["messages"])
    if answer == "stop":
        assert messages[-1].terminal_reason == "aborted_tools"


def test_parallel_questions_are_answered_in_any_order(box, model):
    calls = [tool("Write", {"file_path": str(box.project / name), "content": name}, f"toolu_{name}") for name in "abc"]
    model.push(reply(*calls), reply(text("done")))

    async def may(name, given, context):
        await asyncio.sleep({"a": 0.06, "b": 0.03, "c": 0}[given["content"]])
        return sdk.PermissionResultAllow()

    async def work():
        async with ClaudeSDKClient(options(box, can_use_tool=may)) as client:
            await client.query("write")
            return await gather(client.receive_response())

    run(work())
    assert sorted(path.name for path in box.project.iterdir() if path.is_file()) == ["a", "b", "c"]


def test_agents_of_the_program(box, model):
    model.push(
        reply(tool("Agent", {"description": "look", "prompt": "look", "subagent_type": "scout", "run_in_background": False}, "toolu_a")),
        reply(text("SCOUTED")),
        reply(text("done")),
    )
    agents = {"scout": sdk.AgentDefinition(description="looks around", prompt="SCOUT-PROMPT", tools=["Read"])}
    messages = run(gather(sdk.query(prompt="go", options=options(box, agents=agents))))
    init = next(m.data for m in of(messages, sdk.SystemMessage) if m.subtype == "init")
    assert "scout" in init["agents"]
    assert "SCOUT-PROMPT" in json.dumps(model.requests[1]["system"])
    assert [t["name"] for t in model.requests[1]["tools"]] == ["Read"]
    assert texts(messages)[-1] == "done"


def test_many_large_agents(box, model):
    model.push(reply(text("ok")))
    agents = {f"agent-{n}": sdk.AgentDefinition(description=f"number {n}", prompt="x" * 13_000) for n in range(20)}
    messages = run(gather(sdk.query(prompt="go", options=options(box, agents=agents))))
    init = next(m.data for m in of(messages, sdk.SystemMessage) if m.subtype == "init")
    assert set(agents) <= set(init["agents"])


def test_partial_messages_and_structured_output(box, model):
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    model.push(reply(text("thinking aloud", pieces=2), tool("StructuredOutput", {"n": 4}, "toolu_1")))
    made = options(box, include_partial_messages=True, output_format={"type": "json_schema", "schema": schema})
    messages = run(gather(sdk.query(prompt="a number", options=made)))
    kinds = [message.event["type"] for message in of(messages, sdk.StreamEvent)]
    assert {"message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_stop"} <= set(kinds)
    assert messages[-1].structured_output == {"n": 4}


def test_resume_fork_and_continue(box, model):
    model.push(*[reply(text(word)) for word in ("one", "two", "three", "four")])

    def ask(prompt, **more):
        return run(gather(sdk.query(prompt=prompt, options=options(box, **more))))[-1]

    first = ask("first")
    second = ask("second", resume=first.session_id)
    assert second.session_id == first.session_id
    before = box.transcript(first.session_id).read_bytes()
    forked = ask("third", resume=first.session_id, fork_session=True)
    assert forked.session_id != first.session_id and box.transcript(first.session_id).read_bytes() == before
    latest = ask("fourth", continue_conversation=True)
    assert latest.session_id == forked.session_id
    assert len(model.requests[3]["messages"]) > len(model.requests[1]["messages"])


def test_session_functions(box, model, monkeypatch):
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(box.config))
    model.push(reply(text("one")))
    session = run(gather(sdk.query(prompt="remember me", options=options(box))))[-1].session_id
    (listed,) = sdk.list_sessions(directory=str(box.project))
    assert (listed.session_id, listed.first_prompt) == (session, "remember me")
    sdk.rename_session(session, "A name", directory=str(box.project))
    assert sdk.get_session_info(session, directory=str(box.project)).custom_title == "A name"
    roles = [message.type for message in sdk.get_session_messages(session, directory=str(box.project))]
    assert roles == ["user", "assistant"]


def test_errors(box, model):
    model.push(Failure(400, "invalid_request_error", "no such luck"))
    with pytest.raises(Exception, match="no such luck"):
        run(gather(sdk.query(prompt="hi", options=options(box))))
    unknown = "11111111-2222-4333-8444-555555555555"
    with pytest.raises(Exception, match=f"No conversation found with session ID: {unknown}"):
        run(gather(sdk.query(prompt="hi", options=options(box, resume=unknown))))


def test_a_hundred_sessions_of_one_program(box, model, tmp_path):
    """Each asks for leave while others do; nobody's question or answer is lost. [SDK-69] [SDK-190]"""
    many = 100
    model.push(*[bash(f"touch made-$RANDOM-{n}", f"toolu_{n}") for n in range(many)])
    done = [reply(text("done")) for _ in range(many)]
    open_now, most, asked = 0, 0, 0
    all_begun = None

    async def may(name, given, context):
        nonlocal open_now, most, asked
        open_now, asked = open_now + 1, asked + 1
        most = max(most, open_now)
        if asked == many // 10:
            all_begun.set()
        await all_begun.wait()
        open_now -= 1
        return sdk.PermissionResultAllow(updated_input={"command": f"touch made-{asked}-{context.tool_use_id}"})

    async def one(gate):
        async with gate, ClaudeSDKClient(options(box, can_use_tool=may)) as client:
            await client.query("go")
            return (await gather(client.receive_response()))[-1]

    async def work():
        nonlocal all_begun
        all_begun = asyncio.Event()
        gate = asyncio.Semaphore(25)
        return await asyncio.gather(*[one(gate) for _ in range(many)])

    model.answer_calls_with(done)
    results = asyncio.run(asyncio.wait_for(work(), 5 * PATIENCE))
    assert [result.subtype for result in results] == ["success"] * many
    assert len({result.session_id for result in results}) == many and asked == many and most >= many // 10
    assert len([path for path in box.project.iterdir() if path.name.startswith("made-")]) == many


def test_hooks_of_the_program(box, model):
    """[SDK-113] [SDK-115] [SDK-121]"""
    heard = []

    async def before(given, tool_use_id, context):
        heard.append((given["hook_event_name"], given["tool_name"], tool_use_id))
        if given["tool_input"]["command"] == "touch no":
            decision = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "not that"}
            return {"hookSpecificOutput": decision}
        return {}

    async def stop(given, tool_use_id, context):
        heard.append((given["hook_event_name"], given["last_assistant_message"], tool_use_id))
        return {}

    model.push(bash("touch no"), bash("touch yes", "toolu_2"), reply(text("done")))
    hooks = {"PreToolUse": [sdk.HookMatcher(matcher="Bash", hooks=[before])], "Stop": [sdk.HookMatcher(hooks=[stop])]}
    made = options(box, hooks=hooks, allowed_tools=["Bash"])

    async def work():
        async with ClaudeSDKClient(made) as client:
            await client.query("go")
            return await gather(client.receive_response())

    run(work())
    assert heard == [("PreToolUse", "Bash", "toolu_1"), ("PreToolUse", "Bash", "toolu_2"), ("Stop", "done", None)]
    assert "not that" in json.dumps(model.requests[1]["messages"])
    assert (box.project / "yes").exists() and not (box.project / "no").exists()


def test_tools_of_the_program(box, model):
    """[SDK-122] [SDK-125] [SDK-126] [SDK-127]"""
    calls = []

    @sdk.tool("add", "Adds two numbers", {"a": int, "b": int})
    async def add(given):
        calls.append(given)
        return {"content": [{"type": "text", "text": f"sum {given['a'] + given['b']}"}]}

    @sdk.tool("fail", "Fails", {})
    async def fail(given):
        return {"content": [{"type": "text", "text": "went wrong"}], "is_error": True}

    server = sdk.create_sdk_mcp_server("calc", tools=[add, fail])
    model.push(
        reply(tool("mcp__calc__add", {"a": 2, "b": 3}, "toolu_1")),
        reply(tool("mcp__calc__fail", {}, "toolu_2")),
        reply(text("done")),
    )
    made = options(box, mcp_servers={"calc": server}, allowed_tools=["mcp__calc__add", "mcp__calc__fail"])

    async def work():
        async with ClaudeSDKClient(made) as client:
            await client.query("add")
            messages = await gather(client.receive_response())
            return messages, await client.get_mcp_status()

    messages, status = run(work())
    assert calls == [{"a": 2, "b": 3}] and texts(messages) == ["done"]
    results = [block for message in of(messages, sdk.UserMessage) for block in message.content]
    assert "sum 5" in json.dumps(results[0].content) and not results[0].is_error
    assert "went wrong" in json.dumps(results[1].content) and results[1].is_error
    (calc,) = status["mcpServers"]
    assert (calc["name"], calc["status"]) == ("calc", "connected") and {t["name"] for t in calc["tools"]} == {"add", "fail"}


def test_files_go_back_to_a_prompt(box, model):
    """[SDK-85] [LNG-12] `rewind_files` of the client, and its dry run as the control request behind it."""
    target = box.project / "a.txt"
    target.write_text("one\n")
    model.push(bash("echo two > a.txt"), reply(text("x")), bash("echo three > a.txt; echo made > b.txt", "toolu_2"), reply(text("y")))
    made = options(
        box, allowed_tools=["Bash"], enable_file_checkpointing=True, extra_args={"replay-user-messages": None}
    )  # fmt: skip

    async def turn(client, prompt):
        await client.query(prompt)
        seen = await gather(client.receive_response())
        return next(m.uuid for m in of(seen, sdk.UserMessage) if m.uuid and isinstance(m.content, str))

    async def work():
        async with ClaudeSDKClient(made) as client:
            first, second = await turn(client, "first"), await turn(client, "second")
            dry = {"subtype": "rewind_files", "user_message_id": first, "dry_run": True}
            plan = await client._query._send_control_request(dry)
            assert (plan["canRewind"], plan["insertions"], plan["deletions"]) == (True, 1, 2), plan
            assert sorted(plan["filesChanged"]) == [str(target), str(box.project / "b.txt")]
            assert target.read_text() == "three\n"
            await client.rewind_files(second)
            assert target.read_text() == "two\n" and not (box.project / "b.txt").exists()
            await client.rewind_files(first)
            assert target.read_text() == "one\n"

    run(work())
