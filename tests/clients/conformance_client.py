"""The client under test, as the MCP conformance suite starts it: one scenario per run, the server's address is the last argument.

A scenario that needs a sign-in goes the way a person goes: add the server, sign in, use it, and sign in again when the server
asked for more meanwhile. The "browser" is one GET that follows redirects.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PATIENCE = 25
GIMLET = os.environ["GIMLET_BIN"]
SCENARIO = os.environ["MCP_CONFORMANCE_SCENARIO"]
ACCEPT = {"hookSpecificOutput": {"hookEventName": "Elicitation", "action": "accept", "content": {}}}
BROWSER = """#!{python}
import sys, urllib.request
urllib.request.urlopen(sys.argv[1], timeout=20).read()
"""


def main(url):
    with tempfile.TemporaryDirectory() as root:
        place = Place(Path(root))
        return place.sign_in_and_use(url) if SCENARIO.startswith("auth/") else place.use(url)


class Place:
    def __init__(self, root):
        self.project = root / "project"
        self.config = root / "home" / ".claude"
        self.project.mkdir()
        self.config.mkdir(parents=True)
        browser = root / "browser"
        browser.write_text(BROWSER.format(python=sys.executable))
        browser.chmod(0o755)
        hook = {"type": "command", "command": f"printf %s '{json.dumps(ACCEPT)}'"}
        settings = {"hooks": {"Elicitation": [{"hooks": [hook]}]}}
        (self.config / "settings.json").write_text(json.dumps(settings))
        context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
        self.client_id = context.get("client_id")
        # The scripted model makes the calls that the suite wants to see.
        calls = context.get("toolCalls")
        self.prompt = f"CALLS {json.dumps(calls)}" if calls else SCENARIO
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(root / "home"),
            "CLAUDE_CONFIG_DIR": str(self.config),
            "ANTHROPIC_API_KEY": "test-key",
            "ANTHROPIC_BASE_URL": os.environ["MODEL_URL"],
            "BROWSER": str(browser),
            # Every tool is offered at once, so the first request waits for the server.
            "ENABLE_TOOL_SEARCH": "false",
            "GIMLET_MCP_CLIENT_METADATA_URL": "https://conformance-test.local/client-metadata.json",
            "MCP_CLIENT_SECRET": context.get("client_secret", ""),
        }

    def gimlet(self, *args):
        done = subprocess.run(
            [GIMLET, *args],
            cwd=self.project,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        print(f"$ gimlet {' '.join(args)}\n{done.stdout}", flush=True)
        print(done.stderr, file=sys.stderr, flush=True)
        return done

    def ask(self, *args):
        return self.gimlet("-p", self.prompt, "--allowedTools", "mcp__t", *args).returncode

    def use(self, url):
        servers = {"mcpServers": {"t": {"type": "http", "url": url}}}
        (self.project / "mcp.json").write_text(json.dumps(servers))
        return self.ask("--strict-mcp-config", "--mcp-config", "mcp.json")

    def sign_in_and_use(self, url):
        client = ["--client-id", self.client_id, "--client-secret"] if self.client_id else []
        if self.gimlet("mcp", "add", "-t", "http", "-s", "user", *client, "t", url).returncode:
            return 1
        if self.gimlet("mcp", "login", "t").returncode:
            return 1
        if self.ask():
            return 1
        again = self.gimlet("mcp", "login", "t")
        if again.returncode == 0 and "Signed in" in again.stdout:
            return self.ask()
        return again.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[-1]))
