"""Sessions that gimlet wrote, read and changed by the session functions of the real Python and TypeScript SDKs.

[TST-136] [TST-184] [SDK-165] [SDK-166] [SDK-167] [SDK-168] [SDK-171] [SDK-172] [SDK-173] [SDK-174] [SDK-176] [SDK-183]
"""

import asyncio
import signal
import time

import claude_agent_sdk as sdk
from model_server import Failure, content, reply, text, thinking, tool


def told(done):
    """What the run said on stdout, as the store functions should return it (the prompt is not among it)."""
    return [(line["type"], line["uuid"], line["message"]["content"]) for line in done.of_type("assistant", "user")]


def stored(messages):
    return [(m["type"], m["uuid"], m["message"]["content"]) for m in messages]


def contents(messages):
    return [(m["type"], m["message"]["content"]) for m in messages]


# [TST-136]
def test_plain_session(box, model, reader):
    model.push(reply(text("Paris, of course.")))
    before = int(time.time() * 1000)
    done = box.ask("What is the capital of France?")
    (info,) = reader.list()
    assert info == {**info, **reader.info(done.session)}
    assert info["session_id"] == done.session
    assert info["first_prompt"] == info["summary"] == "What is the capital of France?"
    assert info["cwd"] == str(box.project)
    assert before - 1000 <= info["created_at"] <= int(time.time() * 1000)
    assert not info["custom_title"] and not info["tag"]
    prompt, answer = reader.messages(done.session)
    assert prompt["message"] == {"role": "user", "content": "What is the capital of France?"}
    assert (answer["uuid"], answer["message"]["content"]) == told(done)[0][1:]
    assert answer["message"]["content"] == content(text("Paris, of course."))
    assert answer["message"]["usage"]["output_tokens"] == 5
    assert {prompt["session_id"], answer["session_id"]} == {done.session}


def test_git_branch_and_unusual_directories(box, model, reader):
    odd = box.root / "Ünïcode & spaces (1)" / ("deep" * 30) / ("deeper" * 20)
    odd.mkdir(parents=True)
    (odd / ".git").mkdir()
    (odd / ".git" / "HEAD").write_text("ref: refs/heads/topic/one\n")
    link = box.root / "link"
    link.symlink_to(odd)
    model.push(reply(text("here")))
    done = box.ask("where", cwd=link)
    for directory in (odd, link):
        (info,) = reader.list(str(directory))
        assert (info["session_id"], info["cwd"], info["git_branch"]) == (done.session, str(odd), "topic/one")
        assert len(reader.messages(done.session, str(directory))) == 2


def test_a_session_that_moved_is_found_where_it_is(box, model, reader):
    """[TST-184]"""
    other = box.root / "other"
    other.mkdir()
    model.push(reply(text("One.")), reply(text("Two.")))
    session = box.ask("begin").session
    assert box.ask(f"/cd {other}", "--resume", session).session == session
    box.ask("go on", "--resume", session, cwd=other)
    assert reader.list() == []
    (info,) = reader.list(str(other))
    assert (info["session_id"], info["first_prompt"]) == (session, "begin")
    messages = reader.messages(session, str(other))
    assert [m["message"]["content"] for m in messages if m["type"] == "assistant"] == [content(text("One.")), content(text("Two."))]


def test_parallel_calls_come_back_in_order(box, model, reader):
    for name in ("a", "b", "c"):
        (box.project / name).write_text(f"text of {name}\n")
    calls = [tool("Read", {"file_path": str(box.project / n)}, f"toolu_{n}") for n in ("a", "b", "c")]
    model.push(reply(text("Reading."), *calls), reply(text("Read.")))
    done = box.ask("read them")
    messages = reader.messages(done.session)
    assert stored(messages)[1:] == told(done)
    kinds = [m["message"]["content"][0]["type"] for m in messages[1:]]
    assert kinds == ["text", *["tool_use"] * 3, *["tool_result"] * 3, "text"]
    assert [m["message"]["content"][0]["tool_use_id"] for m in messages[5:8]] == ["toolu_a", "toolu_b", "toolu_c"]
    assert len({m["message"]["id"] for m in messages[1:5]}) == 1


def test_thinking_keeps_its_signature(box, model, reader):
    blocks = [thinking("Hm.", "c2lnLTE="), text("Yes.")]
    model.push(reply(*blocks))
    done = box.ask("well?")
    assert [m["message"]["content"][0] for m in reader.messages(done.session)[1:]] == content(*blocks)


def test_denied_call(box, model, reader):
    model.push(reply(tool("Bash", {"command": "touch x"}, "toolu_no")), reply(text("Then not.")))
    done = box.ask("touch x")
    assert [d["tool_use_id"] for d in done.result["permission_denials"]] == ["toolu_no"]
    assert not (box.project / "x").exists()
    messages = reader.messages(done.session)
    assert stored(messages)[1:] == told(done)
    assert messages[2]["message"]["content"][0]["is_error"] is True


def test_resumed_session_grows_in_place(box, model, reader):
    model.push(reply(text("one")), reply(text("two")), reply(text("three")))
    first = box.ask("first")
    second = box.ask("second", "--resume", first.session)
    third = box.ask("third", "--continue")
    assert {second.session, third.session} == {first.session}
    assert len(reader.list()) == 1
    assert contents(reader.messages(first.session)) == [
        ("user", "first"),
        ("assistant", content(text("one"))),
        ("user", "second"),
        ("assistant", content(text("two"))),
        ("user", "third"),
        ("assistant", content(text("three"))),
    ]
    assert reader.info(first.session)["first_prompt"] == "first"


def test_rewound_session_shows_the_new_branch(box, model, reader):
    model.push(reply(text("one")), reply(text("two")), reply(text("two again")))
    first = box.ask("first")
    box.ask("second", "--resume", first.session)
    keep = first.of_type("assistant")[0]["uuid"]
    box.ask("instead", "--resume", first.session, "--resume-session-at", keep)
    shown = [content for _, content in contents(reader.messages(first.session))]
    assert shown == ["first", content(text("one")), "instead", content(text("two again"))]


def test_forked_session(box, model, reader):
    model.push(reply(text("one")), reply(text("two")))
    first = box.ask("first")
    source = box.transcript(first.session).read_bytes()
    fork = box.ask("second", "--resume", first.session, "--fork-session")
    assert fork.session != first.session
    assert box.transcript(first.session).read_bytes() == source
    assert {info["session_id"] for info in reader.list()} == {first.session, fork.session}
    assert [m["message"]["content"] for m in reader.messages(fork.session)] == [
        "first",
        content(text("one")),
        "second",
        content(text("two")),
    ]


def test_name_becomes_the_title(box, model, reader):
    model.push(reply(text("ok")))
    done = box.ask("hello", "--name", 'Ship "it" – ü')
    info = reader.info(done.session)
    assert info["custom_title"] == info["summary"] == 'Ship "it" – ü'


def test_api_error_leaves_a_readable_session(box, model, reader):
    model.push(Failure(400, "invalid_request_error", "no"), reply(text("fine now")))
    failed = box.ask("first", code=1)
    assert failed.result["is_error"] is True
    messages = reader.messages(failed.session)
    assert messages[0]["message"]["content"] == "first"
    assert stored(messages)[1:] == told(failed)
    box.ask("again", "--resume", failed.session)
    assert reader.messages(failed.session)[-1]["message"]["content"] == content(text("fine now"))


def test_interrupted_session(box, model, reader):
    model.push(reply(text("one two three four", pieces=4), hold_after_deltas=2), reply(text("done")))
    done = box.interrupted("count", after=2)
    assert done.code == 1 and done.result["subtype"] == "error_during_execution"
    messages = reader.messages(done.session)
    assert stored(messages)[1:] == told(done)
    assert messages[0]["message"]["content"] == "count"
    assert messages[1]["message"]["content"] == content(text("one two th"))
    model_turns = len(model.requests)
    box.ask("go on", "--resume", done.session)
    assert len(model.requests) == model_turns + 1
    assert reader.messages(done.session)[-1]["message"]["content"] == content(text("done"))


def test_interrupted_call(box, model, reader):
    command = "touch started; sleep 60"
    model.push(reply(tool("Bash", {"command": command}, "toolu_slow")), reply(text("done")))
    process = box.start("-p", "wait", "--allowedTools", "Bash", "--output-format", "stream-json", "--verbose")
    deadline = time.monotonic() + 30
    while not (box.project / "started").exists():
        assert process.poll() is None and time.monotonic() < deadline, "the command never started"
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    done = box.finish(process)
    assert done.code == 1 and done.result["subtype"] == "error_during_execution"
    messages = reader.messages(done.session)
    assert stored(messages)[1:] == told(done)
    assert messages[2]["message"]["content"][0]["tool_use_id"] == "toolu_slow"
    box.ask("go on", "--resume", done.session)
    assert reader.messages(done.session)[-1]["message"]["content"] == content(text("done"))


def test_metadata_stays_within_reach_of_tail_readers(box, model, reader):
    """Readers look at the first and last 64 KiB only; the title must be found again after a long turn."""
    model.push(reply(text("ok")))
    done = box.ask("short", "--name", "Long story")
    reader.tag(done.session, "kept")
    # Two turns, each longer than the window.
    model.push(reply(text("x" * 90_000)), reply(text("y" * 90_000)))
    box.ask("long one", "--resume", done.session)
    box.ask("long two", "--resume", done.session)
    tail = box.transcript(done.session).read_bytes()[-65536:]
    assert b'"customTitle":"Long story"' in tail and b'{"type":"tag"' in tail and b'"lastPrompt":"long two"' in tail
    info = reader.info(done.session)
    assert (info["custom_title"], info["tag"], info["first_prompt"]) == ("Long story", "kept", "short")


def test_rename_and_tag_survive_a_resume(box, model, reader):
    model.push(reply(text("one")), reply(text("z" * 90_000)))
    done = box.ask("first", "--name", "Old")
    reader.rename(done.session, "New name")
    reader.tag(done.session, "blue")
    box.ask("second", "--resume", done.session)
    info = reader.info(done.session)
    assert (info["custom_title"], info["tag"]) == ("New name", "blue")
    assert len(reader.messages(done.session)) == 4


def test_rename_and_tag_during_a_run_survive_its_end(box, model, reader):
    model.push(reply(text("one")), reply(text("a" * 90_000, pieces=4), hold_after_deltas=1))
    done = box.ask("first", "--name", "Old")
    process = box.start("-p", "second", "--resume", done.session, "--output-format", "stream-json", "--verbose")
    model.wait_until_held()
    reader.rename(done.session, "Meanwhile")
    reader.tag(done.session, "green")
    model.release()
    assert box.finish(process).code == 0
    info = reader.info(done.session)
    assert (info["custom_title"], info["tag"]) == ("Meanwhile", "green")


def test_a_renamed_session_resumes_by_title(box, model, reader):
    model.push(reply(text("one")), reply(text("two")))
    done = box.ask("first")
    reader.rename(done.session, "By its name")
    assert box.ask("second", "--resume", "By its name").session == done.session


def test_a_fork_by_the_sdk_resumes(box, model, reader):
    (box.project / "a").write_text("text of a\n")
    call = tool("Read", {"file_path": str(box.project / "a")}, "toolu_a")
    model.push(reply(text("Reading."), call), reply(text("Read.")), reply(text("more")))
    done = box.ask("read a")
    fork = reader.fork(done.session)
    assert fork != done.session
    again = box.ask("more", "--resume", fork)
    assert again.session == fork
    sent = model.requests[-1]["messages"]
    assert [m["role"] for m in sent if m["role"] != "system"] == ["user", "assistant", "user", "assistant", "user"]
    assert any(b["type"] == "tool_result" for m in sent for b in m["content"] if isinstance(b, dict))
    original, forked = reader.messages(done.session), reader.messages(fork)
    assert contents(forked)[: len(original)] == contents(original)
    assert not {m["uuid"] for m in forked} & {m["uuid"] for m in original}
    assert [m["message"]["content"] for m in forked[len(original) :]] == ["more", content(text("more"))]


def test_a_partial_fork_by_the_sdk_resumes(box, model, reader):
    model.push(reply(text("one")), reply(text("two")), reply(text("three")))
    done = box.ask("first")
    box.ask("second", "--resume", done.session)
    fork = reader.fork(done.session, up_to=reader.messages(done.session)[1]["uuid"])
    box.ask("third", "--resume", fork)
    assert [m["message"]["content"] for m in reader.messages(fork)] == [
        "first",
        content(text("one")),
        "third",
        content(text("three")),
    ]


def test_a_deleted_session_is_gone(box, model, reader):
    model.push(reply(text("one")), reply(text("two")))
    kept, gone = box.ask("kept"), box.ask("gone")
    reader.delete(gone.session)
    assert [info["session_id"] for info in reader.list()] == [kept.session]
    assert reader.messages(gone.session) == []
    done = box.finish(box.start("-p", "hello", "--resume", gone.session))
    assert done.code == 1 and gone.session in done.err + done.out


def test_import_into_a_store_parses_every_line(box, model, monkeypatch):
    """[SDK-183]"""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(box.config))
    model.push(reply(tool("Bash", {"command": "true"}, "toolu_1")), reply(text("ok")))
    done = box.ask("go")
    store = sdk.InMemorySessionStore()
    asyncio.run(sdk.import_session_to_store(done.session, store, directory=str(box.project)))
    found = asyncio.run(sdk.get_session_messages_from_store(store, done.session, directory=str(box.project)))
    assert [m.uuid for m in found] == [m.uuid for m in sdk.get_session_messages(done.session, directory=str(box.project))]


def test_both_sdks_agree(box, model, monkeypatch, request):
    """[SDK-168] The same chain, byte for byte, from either library."""
    from store_readers import PythonReader, TypeScriptReader

    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(box.config))
    (box.project / "a").write_text("a\n")
    calls = [tool("Read", {"file_path": str(box.project / "a")}, f"toolu_{n}") for n in range(3)]
    model.push(reply(thinking("Hm."), text("Reading."), *calls), reply(text("Done.")), reply(text("More.")))
    done = box.ask("read")
    box.ask("more", "--resume", done.session)
    python, typescript = PythonReader(box), TypeScriptReader(request.path.parent, box)
    assert python.messages(done.session) == typescript.messages(done.session)
    theirs = python.info(done.session)
    assert typescript.info(done.session) == {key: theirs[key] for key in TypeScriptReader.NAMES}


def test_agents_of_a_session(box, model, reader):
    """[SDK-170]"""
    call = {"description": "look", "prompt": "LOOK HERE", "subagent_type": "general-purpose", "run_in_background": False}
    model.push(reply(tool("Agent", call, "toolu_a")), reply(text("SCOUTED")), reply(text("done")))
    done = box.ask("go")
    (agent,) = reader.agents(done.session)
    said = [(m["type"], str(m["message"]["content"])) for m in reader.agent_messages(done.session, agent)]
    assert [kind for kind, _ in said] == ["user", "assistant"]
    assert "LOOK HERE" in said[0][1] and "SCOUTED" in said[1][1]
