#!/usr/bin/env bash
# Package: langchain-openai 1.7.4 (PyPI).
# Behaviour: ChatOpenAI(base_url=…, max_tokens=10) sends `max_completion_tokens: 10` and no `max_tokens`, at every address and for every model;
#   so does bind(max_tokens=20). Its base class, BaseChatOpenAI, sends `max_tokens` under the same arguments.
# Why a good guess is wrong: the argument is called max_tokens, the other servers are reached by base_url, and their examples send max_tokens.
#   Servers pass over a field that they do not know, so no error tells: Ollama and others that know max_tokens alone write until the model ends,
#   and the bill is that of an answer without a cap. To count max_tokens in the caller's program is to count a field that was never sent.
# A gateway should: read both names as one cap and send each provider the one that it knows; and where a request is passed on untouched, hold
#   credit for the longest answer unless the cap stands under the name that this provider reads.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check --no-cache-dir langchain-openai==1.7.4
cat > finding.py <<'PY'
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from langchain_openai import ChatOpenAI
from langchain_openai.chat_models.base import BaseChatOpenAI

seen = []
CHOICE = {"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}
USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
REPLY = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [CHOICE], "usage": USAGE}


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        seen.append({key: value for key, value in body.items() if key.startswith("max_")})
        data = json.dumps(REPLY).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


server = HTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
where = {"model": "llama3.2", "api_key": "none", "base_url": f"http://127.0.0.1:{server.server_port}/v1"}
model = ChatOpenAI(max_tokens=10, **where)
model.invoke("Hello")
model.bind(max_tokens=20).invoke("Hello")
BaseChatOpenAI(max_tokens=10, **where).invoke("Hello")
server.shutdown()
for name, caps in zip(["ChatOpenAI(max_tokens=10)", "bind(max_tokens=20)", "BaseChatOpenAI(max_tokens=10)"], seen):
    print(f"{name}: {json.dumps(caps)}")
holds = seen == [{"max_completion_tokens": 10}, {"max_completion_tokens": 20}, {"max_tokens": 10}]
print("as described" if holds else "the behaviour has changed")
sys.exit(0 if holds else 1)
PY
venv/bin/python finding.py
