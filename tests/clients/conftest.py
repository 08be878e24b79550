"""A scripted model on loopback, and a temporary home to run gimlet in. Nothing here leaves 127.0.0.1."""

import json
import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

MODEL = "claude-sonnet-4-5-20250929"


def text(value):
    return {"type": "text", "text": value}


def tool(name, **tool_input):
    return {"type": "tool_use", "name": name, "input": tool_input}


class Model:
    """Answers POST /v1/messages with the queued replies, one each: lists of content blocks."""

    def __init__(self):
        self.replies, self.requests, self.usage = [], [], {"input_tokens": 11, "output_tokens": 7}
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                model.requests.append(body)
                events = model.events(body, model.replies.pop(0))
                data = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode()
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("request-id", f"req_test_{len(model.requests)}")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def events(self, request, blocks):
        number = len(self.requests)
        usage = {"input_tokens": self.usage["input_tokens"], "output_tokens": 1,
                 "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        head = {"id": f"msg_test_{number}", "type": "message", "role": "assistant", "model": request["model"],
                "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        events = [{"type": "message_start", "message": head}]
        for index, block in enumerate(blocks):
            if block["type"] == "text":
                start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                start = {**block, "id": f"toolu_test_{number}_{index}", "input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            events += [{"type": "content_block_start", "index": index, "content_block": start},
                       {"type": "content_block_delta", "index": index, "delta": delta},
                       {"type": "content_block_stop", "index": index}]
        stop = "tool_use" if any(b["type"] == "tool_use" for b in blocks) else "end_turn"
        events += [{"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None},
                    "usage": {"output_tokens": self.usage["output_tokens"]}},
                   {"type": "message_stop"}]
        return events


class Home:
    """A temporary home with a project in it."""

    def __init__(self, root, model):
        self.config, self.project = root / "home" / ".claude", root / "project"
        self.config.mkdir(parents=True)
        self.project.mkdir()
        self.env = {"PATH": os.environ["PATH"], "HOME": str(root / "home"), "CLAUDE_CONFIG_DIR": str(self.config),
                    "ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "x", "TZ": "UTC"}

    def gimlet(self, *args):
        done = subprocess.run([os.environ["GIMLET_BIN"], *args], cwd=self.project, env=self.env, timeout=60,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout

    def result(self, *args):
        return json.loads(self.gimlet(*args, "--output-format", "json", "--model", MODEL))


@pytest.fixture
def model():
    model = Model()
    yield model
    model.server.shutdown()


@pytest.fixture
def home(tmp_path, model, monkeypatch):
    home = Home(tmp_path, model)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home.config))
    return home


@pytest.fixture
def clients():
    return Path(__file__).parent
