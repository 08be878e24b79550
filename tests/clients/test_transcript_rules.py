"""The rules that every sandbox ends with refuse what strict readers refuse."""

import json

import pytest
import transcript_rules
from model_server import reply, text, tool


def lines(entries):
    return "".join(json.dumps(entry, separators=(",", ":")) + "\n" for entry in entries)


def set_path(entry, path, value):
    *parents, last = path.split(".")
    for key in parents:
        entry = entry[key]
    entry[last] = value


@pytest.fixture
def session(box, model, tmp_path):
    """The entries of a real session with one call, and a place to write a spoilt copy."""
    model.push(reply(tool("Bash", {"command": "true"}, "toolu_1")), reply(text("ok")))
    done = box.ask("go", "--allowedTools", "Bash")
    return box.entries(done.session), tmp_path / f"{done.session}.jsonl"


def refuse(path, data, why):
    path.write_text(data)
    path.chmod(0o600)
    with pytest.raises((AssertionError, json.JSONDecodeError), match=why):
        transcript_rules.check(path)


@pytest.mark.parametrize(
    ("path", "value", "why"),
    [
        ("requestId", None, "null"),
        ("message.usage.cache_read_input_tokens", None, "null"),
        ("version", "2.1", "bad version"),
        ("timestamp", "2026-01-01T00:00:00Z", "bad timestamp"),
        ("parentUuid", "00000000-0000-4000-8000-000000000000", "unknown parent"),
        ("sessionId", "00000000-0000-4000-8000-000000000000", "foreign session"),
        ("message.id", "", "no id"),
        ("message.content", [], "one line per content block"),
    ],
)
def test_spoilt_values(session, path, value, why):
    entries, copy = session
    answer = next(entry for entry in entries if entry["type"] == "assistant")
    set_path(answer, path, value)
    refuse(copy, lines(entries), why)


def test_spoilt_lines(session):
    entries, copy = session
    whole = lines(entries)
    refuse(copy, whole[:-1], "torn")
    refuse(copy, whole.replace('"usage":{', '"usage": {'), "not compact")
    refuse(copy, "{]\n" + whole, "Expecting")
    refuse(copy, '{"x":1,"type":"tag"}\n' + whole, "type is not first")
    results = [entry for entry in entries if "toolUseResult" in entry]
    refuse(copy, lines([entry for entry in entries if entry not in results]), "unknown parent")
    again = {**results[0], "uuid": "00000000-0000-4000-8000-000000000001"}
    refuse(copy, lines([*entries, again]), "answered twice")
