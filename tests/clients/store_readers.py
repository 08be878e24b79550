"""The session functions of both SDKs behind one face, so that one suite holds them to the same answers.

The Python SDK runs in this process; the TypeScript SDK runs under Node with the sandbox's environment.
"""

import json
import subprocess
from dataclasses import asdict

import claude_agent_sdk as sdk


class PythonReader:
    def __init__(self, box):
        self.directory = str(box.project)

    def list(self, directory=None):
        return [asdict(info) for info in sdk.list_sessions(directory=directory or self.directory)]

    def info(self, session):
        found = sdk.get_session_info(session, directory=self.directory)
        return found and asdict(found)

    def messages(self, session, directory=None):
        found = sdk.get_session_messages(session, directory=directory or self.directory)
        return [{"type": m.type, "uuid": m.uuid, "session_id": m.session_id, "message": m.message} for m in found]

    def rename(self, session, title):
        sdk.rename_session(session, title, directory=self.directory)

    def tag(self, session, tag):
        sdk.tag_session(session, tag, directory=self.directory)

    def fork(self, session, up_to=None):
        return sdk.fork_session(session, directory=self.directory, up_to_message_id=up_to).session_id

    def delete(self, session):
        sdk.delete_session(session, directory=self.directory)

    def agents(self, session):
        return sdk.list_subagents(session, directory=self.directory)

    def agent_messages(self, session, agent):
        found = sdk.get_subagent_messages(session, agent, directory=self.directory)
        return [{"type": m.type, "message": m.message} for m in found]


class TypeScriptReader:
    NAMES = {
        "session_id": "sessionId", "summary": "summary", "custom_title": "customTitle", "first_prompt": "firstPrompt",
        "git_branch": "gitBranch", "cwd": "cwd", "tag": "tag", "created_at": "createdAt",
    }  # fmt: skip

    def __init__(self, here, box):
        self.here, self.box = here, box
        self.directory = {"dir": str(box.project)}

    def call(self, function, *args):
        command = ["node", str(self.here / "store.mjs"), function, *(json.dumps(arg) for arg in args)]
        done = subprocess.run(command, env=self.box.env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def list(self, directory=None):
        return [self.renamed(info) for info in self.call("listSessions", {"dir": directory} if directory else self.directory)]

    def info(self, session):
        found = self.call("getSessionInfo", session, self.directory)
        return found and self.renamed(found)

    def messages(self, session, directory=None):
        found = self.call("getSessionMessages", session, {"dir": directory} if directory else self.directory)
        return [{key: message[key] for key in ("type", "uuid", "session_id", "message")} for message in found]

    def rename(self, session, title):
        self.call("renameSession", session, title, self.directory)

    def tag(self, session, tag):
        self.call("tagSession", session, tag, self.directory)

    def fork(self, session, up_to=None):
        options = {**self.directory, **({"upToMessageId": up_to} if up_to else {})}
        return self.call("forkSession", session, options)["sessionId"]

    def delete(self, session):
        self.call("deleteSession", session, self.directory)

    def agents(self, session):
        return self.call("listSubagents", session, self.directory)

    def agent_messages(self, session, agent):
        return self.call("getSubagentMessages", session, agent, self.directory)

    def renamed(self, info):
        return {ours: info.get(theirs) for ours, theirs in self.NAMES.items()}
