"""Fixtures of every suite. Each sandbox's transcripts are held against the strict readers' rules when its test ends."""

import os
from pathlib import Path

import pytest
import transcript_rules
from model_server import ModelServer
from sandbox import Sandbox
from store_readers import PythonReader, TypeScriptReader

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="session")
def binary():
    path = os.environ.get("GIMLET_BIN")
    assert path and Path(path).is_absolute(), "set GIMLET_BIN to the absolute path of the built gimlet"
    return path


@pytest.fixture
def model():
    server = ModelServer()
    yield server
    server.close()


@pytest.fixture
def box(tmp_path, model, binary):
    sandbox = Sandbox(tmp_path, model.url, binary)
    yield sandbox
    for path in sandbox.transcripts():
        transcript_rules.check(path, sandbox.unanswered)
    assert model.unused() == 0, "the script has replies left"


@pytest.fixture(params=["python", "typescript"])
def reader(request, box, monkeypatch):
    """The session functions of the real SDKs, one at a time."""
    if request.param == "typescript":
        return TypeScriptReader(HERE, box)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(box.config))
    monkeypatch.setenv("HOME", box.env["HOME"])
    return PythonReader(box)
