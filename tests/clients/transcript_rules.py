"""What strict transcript readers demand of every line, checked without any of our code.

Usage readers search the bytes before they parse and drop a line that holds null under certain keys; tree builders need the
common keys and an unbroken parent chain; metadata is found by text search, so it must be compact with `type` first.
"""

import json
import re
import stat

NEVER_NULL = {
    "id", "cwd", "model", "speed", "costUSD", "version", "sessionId", "requestId", "isApiErrorMessage",
    "cache_read_input_tokens", "cache_creation_input_tokens",
}  # fmt: skip
CHAINED = {"user", "assistant", "system", "attachment"}
COMMON = ("isSidechain", "userType", "cwd", "sessionId", "version", "uuid", "timestamp", "type")
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
# The Python SDK stamps the last line of its forks with microseconds.
FORK_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,6}Z")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def check(path, unanswered=()):
    """Raises AssertionError at the first line that a strict reader would refuse. `unanswered` are calls that were never run."""
    data = path.read_text()
    assert data and data.endswith("\n"), f"{path}: empty or torn"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600, f"{path}: readable by others"
    seen, calls, answers = set(), set(), []
    for number, raw in enumerate(data.splitlines(), 1):
        where = f"{path.name}:{number}: {raw[:300]}"
        entry = json.loads(raw)
        assert raw in compact_forms(raw), f"not compact: {where}"
        assert not nulls(entry), f"null {nulls(entry)}: {where}"
        if entry["type"] in CHAINED:
            check_chained(entry, path.stem, seen, where)
            collect_calls(entry, calls, answers, where)
        else:
            assert raw.startswith('{"type":"'), f"type is not first: {where}"
            assert entry["type"] != "summary" or entry["leafUuid"], where
    assert len(answers) == len(set(answers)), f"{path}: a call is answered twice: {answers}"
    assert set(answers) | set(unanswered) == calls, f"{path}: calls {calls} but answers {answers}"


def compact_forms(raw):
    # Readers do not care whether non-ASCII text is escaped, nor how a fraction is written (0.000075 or 7.5e-05).
    entry = json.loads(raw, parse_float=lambda text: f"<fraction>{text}")
    forms = (json.dumps(entry, separators=(",", ":"), ensure_ascii=ascii_only) for ascii_only in (False, True))
    return {re.sub(r'"<fraction>([^"]*)"', r"\1", form) for form in forms}


def nulls(value):
    if isinstance(value, dict):
        own = [key for key, item in value.items() if item is None and key in NEVER_NULL]
        return own + [key for item in value.values() for key in nulls(item)]
    if isinstance(value, list):
        return [key for item in value for key in nulls(item)]
    return []


def check_chained(entry, session, seen, where):
    missing = [key for key in COMMON if key not in entry]
    assert not missing and "parentUuid" in entry, f"missing {missing}: {where}"
    assert entry["sessionId"] == session, f"foreign session: {where}"
    assert re.fullmatch(r"\d+\.\d+\.\d+", entry["version"]), f"bad version: {where}"
    assert (FORK_TIMESTAMP if "forkedFrom" in entry else TIMESTAMP).fullmatch(entry["timestamp"]), f"bad timestamp: {where}"
    assert UUID.fullmatch(entry["uuid"]) and entry["uuid"] not in seen, f"bad uuid: {where}"
    assert entry["parentUuid"] is None or entry["parentUuid"] in seen, f"unknown parent: {where}"
    seen.add(entry["uuid"])
    if entry["type"] == "attachment":
        assert entry["attachment"]["type"], where
    if entry["type"] in ("user", "assistant"):
        assert entry["message"]["role"] == entry["type"], where
    if entry["type"] == "assistant":
        check_answer(entry, where)


def check_answer(entry, where):
    message = entry["message"]
    assert message["type"] == "message" and message["id"] and message["model"], f"no id or model: {where}"
    assert len(message["content"]) == 1, f"one line per content block: {where}"
    assert "requestId" not in entry or entry["requestId"], where
    if message["model"] != "<synthetic>":
        assert '"usage":{' in json.dumps(entry, separators=(",", ":")), where
        for key in ("input_tokens", "output_tokens"):
            assert isinstance(message["usage"][key], int), where


def collect_calls(entry, calls, answers, where):
    blocks = entry.get("message", {}).get("content", [])
    for block in blocks if isinstance(blocks, list) else []:
        if block["type"] == "tool_use":
            calls.add(block["id"])
        if block["type"] == "tool_result":
            assert block["tool_use_id"] in calls, f"answer before its call: {where}"
            answers.append(block["tool_use_id"])
