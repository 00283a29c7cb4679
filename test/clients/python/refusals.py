"""
Sends one long body with each client of Python that writes all of a body before it reads the reply, and prints what the client saw:
one JSON line with the status, the Retry-After header and the error. Arguments: the URL, the key, the bytes of the body.
"""

import http.client
import json
import sys
from urllib.parse import urlsplit

import httpx
import requests

URL, KEY, BYTES = sys.argv[1], sys.argv[2], int(sys.argv[3])
BODY = b" " * BYTES
HEADERS = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
TIMEOUT = 60


def with_requests():
    reply = requests.post(URL, data=BODY, headers=HEADERS, timeout=TIMEOUT)
    return reply.status_code, reply.headers.get("retry-after")


def with_httpx():
    reply = httpx.post(URL, content=BODY, headers=HEADERS, timeout=TIMEOUT)
    return reply.status_code, reply.headers.get("retry-after")


def with_http_client():
    parts = urlsplit(URL)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=TIMEOUT)
    connection.request("POST", parts.path, body=BODY, headers=HEADERS)
    reply = connection.getresponse()
    reply.read()
    return reply.status, reply.headers.get("retry-after")


for name, ask in {"requests": with_requests, "httpx": with_httpx, "http.client": with_http_client}.items():
    try:
        status, retry_after = ask()
        print(json.dumps({"client": name, "status": status, "retryAfter": retry_after}))
    except Exception as error:  # Whatever a client throws is what its user sees.
        print(json.dumps({"client": name, "error": repr(error)}))
