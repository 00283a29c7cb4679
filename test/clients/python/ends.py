"""How the official clients take the end of an answer. Reads lines of JSON, [number, client, url, key, model, prompt, stream], in any order and
at once, and writes for each a line: [number, kind, arguments of the calls]; kind is finished, shown, raised or silent.
"""

import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import anthropic
import openai

SCHEMA = {"type": "object", "properties": {}}


def client_of(kind, url, key):
    known = CLIENTS.get((kind, url, key))
    if known is None:
        known = kind(base_url=url, api_key=key, max_retries=0)
        CLIENTS[(kind, url, key)] = known
    return known


CLIENTS = {}


def kind_of(reason, good):
    if not reason:
        return "silent"
    return "finished" if reason in good else "shown"


def openai_chat(url, key, model, prompt, stream):
    client = client_of(openai.OpenAI, f"{url}/v1", key)
    tools = [{"type": "function", "function": {"name": "look", "parameters": SCHEMA}}]
    body = {"model": model, "messages": [{"role": "user", "content": prompt}], "tools": tools}
    reason, calls = None, {}
    if stream:
        for chunk in client.chat.completions.create(**body, stream=True):
            for choice in chunk.choices:
                reason = choice.finish_reason or reason
                for call in choice.delta.tool_calls or []:
                    calls[call.index] = calls.get(call.index, "") + (call.function.arguments or "")
    else:
        choice = client.chat.completions.create(**body).choices[0]
        reason = choice.finish_reason
        calls = {at: call.function.arguments for at, call in enumerate(choice.message.tool_calls or [])}
    return kind_of(reason, ("stop", "tool_calls")), list(calls.values())


def openai_responses(url, key, model, prompt, stream):
    client = client_of(openai.OpenAI, f"{url}/v1", key)
    tools = [{"type": "function", "name": "look", "parameters": SCHEMA, "strict": False}]
    body = {"model": model, "input": prompt, "tools": tools}
    response = None
    if stream:
        for event in client.responses.create(**body, stream=True):
            if event.type in ("response.completed", "response.incomplete"):
                response = event.response
    else:
        response = client.responses.create(**body)
    if response is None:
        return "silent", []
    calls = [item.arguments for item in response.output if item.type == "function_call"]
    return kind_of(response.status, ("completed",)), calls


def anthropic_messages(url, key, model, prompt, stream):
    client = client_of(anthropic.Anthropic, url, key)
    tools = [{"name": "look", "input_schema": SCHEMA}]
    body = {"model": model, "max_tokens": 1000, "messages": [{"role": "user", "content": prompt}], "tools": tools}
    if stream:
        with client.messages.stream(**body) as events:
            message = events.get_final_message()
    else:
        message = client.messages.create(**body)
    calls = [json.dumps(block.input, separators=(",", ":")) for block in message.content if block.type == "tool_use"]
    return kind_of(message.stop_reason, ("end_turn", "tool_use", "stop_sequence")), calls


READERS = {
    "openai, chat, in Python": openai_chat,
    "openai, responses, in Python": openai_responses,
    "anthropic, in Python": anthropic_messages,
}
OUTPUT = threading.Lock()


def answer(line):
    number, client, url, key, model, prompt, stream = json.loads(line)
    try:
        kind, calls = READERS[client](url, key, model, prompt, stream)
    except Exception:  # whatever the client raises
        kind, calls = "raised", []
    with OUTPUT:
        print(json.dumps([number, kind, calls]), flush=True)


with ThreadPoolExecutor(24) as pool:
    for line in sys.stdin:
        pool.submit(answer, line)
