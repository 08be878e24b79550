"""A place to run gimlet in: fresh home, configuration and project, an environment of its own, a limit on every wait."""

import json
import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 60
# Known to price tables outside, so that costs can be compared.
MODEL = "claude-sonnet-4-5-20250929"


@dataclass
class Finished:
    code: int
    out: str
    err: str

    @property
    def lines(self):
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def result(self):
        """The last line, which must be the result."""
        last = self.lines[-1]
        assert last["type"] == "result", last
        return last

    @property
    def session(self):
        return self.result["session_id"]

    def of_type(self, *types):
        return [line for line in self.lines if line["type"] in types]


class Sandbox:
    def __init__(self, root, url, binary):
        self.root = Path(root).resolve()
        self.config = self.root / "home" / ".claude"
        self.project = self.root / "project"
        self.binary = binary
        # Calls that a test expects to stay without a result on disk.
        self.unanswered = set()
        for directory in (self.config, self.project):
            directory.mkdir(parents=True)
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root / "home"),
            "CLAUDE_CONFIG_DIR": str(self.config),
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "test-key",
            "TZ": "UTC",
        }

    def start(self, *args, cwd=None):
        """The running process; its standard input is at its end."""
        return subprocess.Popen(
            [self.binary, *args],
            cwd=cwd or self.project,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self, process):
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return Finished(process.returncode, out, err)

    def ask(self, prompt, *args, code=0, err="", model=MODEL, cwd=None):
        """One headless turn, told as stream-json."""
        args = ["-p", prompt, "--output-format", "stream-json", "--verbose", "--model", model, *args]
        done = self.finish(self.start(*args, cwd=cwd))
        assert done.code == code, f"exit {done.code}\n{done.err}\n{done.out[-2000:]}"
        assert done.err == err, done.err
        return done

    def feed(self, text, *args):
        """A run that gets `text` on its standard input, then the end of it."""
        done = subprocess.run(
            [self.binary, *args], cwd=self.project, env=self.env, input=text, capture_output=True, text=True, timeout=PATIENCE
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    def interrupted(self, prompt, *args, after=1):
        """A turn that gets SIGINT when it has told that many deltas of the answer."""
        args = ["-p", prompt, "--output-format", "stream-json", "--verbose", "--include-partial-messages", *args]
        process = self.start(*args)
        read = []
        for line in process.stdout:
            read.append(line)
            after -= '"content_block_delta"' in line
            if after == 0:
                break
        process.send_signal(signal.SIGINT)
        rest = self.finish(process)
        return Finished(rest.code, "".join(read) + rest.out, rest.err)

    def add_foreign_transcript(self):
        """Lines of other writers: repeated, incomplete, of agents, broken."""

        def line(message, request, tokens, written=None, **more):
            usage = {"input_tokens": tokens, "output_tokens": 2}
            usage |= {"cache_creation": written, "cache_creation_input_tokens": 100} if written else {}
            answer = {"id": message, "model": MODEL, "role": "assistant", "content": [], "usage": usage}
            return {"type": "assistant", "timestamp": "2026-03-04T23:30:00.000Z", "message": answer, "requestId": request, **more}

        session = self.config / "projects/-foreign/33333333-3333-4333-8333-333333333333"
        agents = session / "subagents"
        agents.mkdir(parents=True)
        split = {"ephemeral_5m_input_tokens": 7, "ephemeral_1h_input_tokens": 5}
        own = [line("m1", "r1", 10), line("m1", "r1", 30), line("m1", "r2", 5), line("m2", "r3", 8, split), line("m2", "r3", 4)]
        own += [line("m3", "r4", 1.5), line("", "r5", 6), {**line("m4", "r6", 7), "timestamp": "yesterday"}]
        side = [line("m1", "r9", 900, isSidechain=True), line("m9", "r7", 50, isSidechain=True), line("m9", "r8", 60, isSidechain=True)]
        for path, lines in [(session.with_suffix(".jsonl"), own), (agents / "agent-a1.jsonl", side)]:
            text = [json.dumps(entry, separators=(",", ":")) for entry in lines]
            path.write_text("\n".join([*text, '{"usage":{']) + "\n")

    def transcripts(self):
        """Those that gimlet wrote."""
        return [path for path in sorted(self.config.glob("projects/*/*.jsonl")) if path.parent.name != "-foreign"]

    def transcript(self, session):
        (path,) = self.config.glob(f"projects/*/{session}.jsonl")
        return path

    def entries(self, session):
        return [json.loads(line) for line in self.transcript(session).read_text().splitlines()]
