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

    def transcripts(self):
        return sorted(self.config.glob("projects/*/*.jsonl"))

    def transcript(self, session):
        (path,) = self.config.glob(f"projects/*/{session}.jsonl")
        return path

    def entries(self, session):
        return [json.loads(line) for line in self.transcript(session).read_text().splitlines()]
