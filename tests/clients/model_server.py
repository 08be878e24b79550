"""A scripted model server: real HTTP/1.1 and server-sent events on loopback, one reply per request.

Replies are data. A reply may be held after some of its events, so that a test can act in the middle of a stream. A request
that finds no reply left gets a status no client retries, so that a test with too short a script fails at once.
"""

import json
import threading
from collections import deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PATIENCE = 30


def text(value, pieces=1):
    """A text block, streamed in that many pieces."""
    step = max(1, -(-len(value) // pieces))
    return {"type": "text", "text": value, "_pieces": [value[at : at + step] for at in range(0, len(value), step)]}


def thinking(value, signature="c2lnbmVk"):
    return {"type": "thinking", "thinking": value, "signature": signature}


def tool(name, tool_input, call_id):
    return {"type": "tool_use", "id": call_id, "name": name, "input": tool_input}


def content(*blocks):
    """The blocks as a transcript holds them."""
    return [{key: value for key, value in block.items() if key != "_pieces"} for block in blocks]


@dataclass
class Reply:
    """One answer of the model. `usage` is reported by `message_start`, `output_tokens` by `message_delta`."""

    blocks: list
    usage: dict = field(default_factory=lambda: {"input_tokens": 10})
    output_tokens: int = 5
    hold_after_deltas: int | None = None

    def events(self, message_id, model):
        usage = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 1, **self.usage}
        message = {"id": message_id, "type": "message", "role": "assistant", "model": model, "content": []}
        yield {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}}
        yield {"type": "ping"}
        for index, block in enumerate(self.blocks):
            start, deltas = stream(block)
            yield {"type": "content_block_start", "index": index, "content_block": start}
            for delta in deltas:
                yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        reason = "tool_use" if any(block["type"] == "tool_use" for block in self.blocks) else "end_turn"
        delta = {"stop_reason": reason, "stop_sequence": None}
        yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": self.output_tokens}}
        yield {"type": "message_stop"}


@dataclass
class Failure:
    """An answer with an error status."""

    status: int
    kind: str
    message: str
    headers: dict = field(default_factory=dict)


def reply(*blocks, **fields):
    return Reply(list(blocks), **fields)


def stream(block):
    match block["type"]:
        case "text":
            return {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in block["_pieces"]]
        case "thinking":
            deltas = [{"type": "thinking_delta", "thinking": block["thinking"]}]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
            return {"type": "thinking", "thinking": "", "signature": ""}, deltas
        case "tool_use":
            data = json.dumps(block["input"])
            pieces = ["", data[: len(data) // 2], data[len(data) // 2 :]]
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    raise ValueError(f"no such block: {block}")


class ModelServer:
    def __init__(self):
        self.requests = []
        self.held = threading.Semaphore(0)
        self._script = deque()
        self._after_calls = deque()
        self._release = threading.Event()
        handler = type("Bound", (Handler,), {"script": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def push(self, *replies):
        self._script.extend(replies)

    def answer_calls_with(self, replies):
        """What requests get whose last message holds results of calls: for many conversations at once."""
        self._after_calls.extend(replies)

    def unused(self):
        return len(self._script) + len(self._after_calls)

    def wait_until_held(self):
        """Returns when a reply with `hold_after_deltas` has been sent up to there."""
        assert self.held.acquire(timeout=PATIENCE), "no reply reached its hold"

    def release(self):
        """Lets held replies go on."""
        self._release.set()

    def close(self):
        self.release()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(PATIENCE)

    def answer(self, body):
        self.requests.append(body)
        last = body["messages"][-1]["content"]
        if self._after_calls and any(isinstance(b, dict) and b["type"] == "tool_result" for b in last):
            return len(self.requests), self._after_calls.popleft()
        if self._script:
            return len(self.requests), self._script.popleft()
        return len(self.requests), Failure(400, "invalid_request_error", "the script has no reply left")

    def hold(self):
        self.held.release()
        self._release.wait(PATIENCE)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    script: ModelServer

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path.split("?")[0] != "/v1/messages":
            return self.whole(404, {"type": "error", "error": {"type": "not_found_error", "message": self.path}})
        number, answer = self.script.answer(body)
        request_id = f"req_{id(self.script):x}_{number:04}"
        if isinstance(answer, Failure):
            error = {"type": "error", "error": {"type": answer.kind, "message": answer.message}}
            return self.whole(answer.status, error, {"request-id": request_id, **answer.headers})
        try:
            self.stream(answer, f"msg_{id(self.script):x}_{number:04}", body["model"], request_id)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def stream(self, answer, message_id, model, request_id):
        self.head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked", "request-id": request_id})
        deltas = 0
        for event in answer.events(message_id, model):
            self.chunk(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
            deltas += event["type"] == "content_block_delta"
            if event["type"] == "content_block_delta" and deltas == answer.hold_after_deltas:
                self.script.hold()
        self.chunk(b"")

    def chunk(self, data):
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def whole(self, status, value, headers=None):
        data = json.dumps(value).encode()
        self.head(status, {"content-type": "application/json", "content-length": str(len(data)), **(headers or {})})
        self.wfile.write(data)

    def head(self, status, headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_):
        """Nothing on stderr: pytest reports what matters."""
