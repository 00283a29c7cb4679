"""How clients take the end of an answer: the official ones, and some of others.

Reads lines of JSON, [number, client, url, key, model, prompt, stream], in any order and at once, and writes for each a line:
[number, kind, arguments of the calls]; kind is finished, shown, raised or silent.
"""

import asyncio
import json
import logging
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import anthropic
import openai

# haystack reports its use to its makers.
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
# Clients that are collected behind their event loop say so, each in twenty lines.
logging.getLogger("asyncio").setLevel(logging.CRITICAL)
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


SUCCESS = ("stop", "tool_calls", "tool_call_requested", "completed")


def mistral(url, key, model, prompt, stream):
    from mistralai.client import Mistral

    client = client_of(lambda base_url, api_key, max_retries: Mistral(api_key=api_key, server_url=base_url), url, key)
    tools = [{"type": "function", "function": {"name": "look", "parameters": SCHEMA}}]
    body = {"model": model, "messages": [{"role": "user", "content": prompt}], "tools": tools}
    reason, calls = None, {}
    if stream:
        for event in client.chat.stream(**body):
            for choice in event.data.choices:
                reason = choice.finish_reason or reason
                for call in choice.delta.tool_calls or []:
                    calls[call.index] = calls.get(call.index, "") + call.function.arguments
    else:
        choice = client.chat.complete(**body).choices[0]
        reason = choice.finish_reason
        calls = {at: call.function.arguments for at, call in enumerate(choice.message.tool_calls or [])}
    return kind_of(reason, SUCCESS), list(calls.values())


def agent_framework(client_name):
    def read(url, key, model, prompt, stream):
        import agent_framework
        import agent_framework_openai

        # The loop that runs tools is left out: what it would run is read.
        tool = agent_framework.FunctionTool(name="look", description="Looks.", func=None, input_model=SCHEMA)
        client = getattr(agent_framework_openai, client_name)(
            model=model, api_key=key, base_url=f"{url}/v1", function_invocation_configuration={"enabled": False}
        )
        messages = [agent_framework.Message("user", [prompt])]

        async def run():
            options = {"tools": [tool], "store": False}
            if stream:
                return await client.get_response(messages, stream=True, options=options).get_final_response()
            return await client.get_response(messages, options=options)

        reply = asyncio.run(run())
        contents = [content for message in reply.messages for content in message.contents]
        calls = [content.arguments for content in contents if content.type == "function_call"]
        if any(content.type == "error" for content in contents):
            return "shown", calls
        return kind_of(str(reply.finish_reason or ""), SUCCESS), calls

    return read


def haystack(client_name):
    def read(url, key, model, prompt, stream):
        from haystack.components.generators import chat
        from haystack.dataclasses import ChatMessage
        from haystack.tools import Tool
        from haystack.utils import Secret

        tool = Tool(name="look", description="Looks.", parameters=SCHEMA, function=print)
        more = {"streaming_callback": lambda chunk: None} if stream else {}
        client = getattr(chat, client_name)(
            api_key=Secret.from_token(key), model=model, api_base_url=f"{url}/v1", max_retries=0, tools=[tool], **more
        )
        [reply] = client.run([ChatMessage.from_user(prompt)])["replies"]
        calls = [json.dumps(call.arguments, separators=(",", ":")) for call in reply.tool_calls]
        if reply.meta.get("error"):
            return "shown", calls
        return kind_of(reply.meta.get("finish_reason") or reply.meta.get("status"), SUCCESS + ("tool_calls",)), calls

    return read


READERS = {
    "openai, chat, in Python": openai_chat,
    "openai, responses, in Python": openai_responses,
    "anthropic, in Python": anthropic_messages,
    "mistral, in Python": mistral,
    "agent-framework, chat": agent_framework("OpenAIChatCompletionClient"),
    "agent-framework, responses": agent_framework("OpenAIChatClient"),
    "haystack, chat": haystack("OpenAIChatGenerator"),
    "haystack, responses": haystack("OpenAIResponsesChatGenerator"),
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
