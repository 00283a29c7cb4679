"""One client at one feature of ../support/features.ts: a schema, an image, reasoning that is shown, or a stream that is left.

Reads lines of JSON, [client, url, key, model, feature], and writes for each a line: a list of texts, or the error as text.
A line without a feature is one of task.py, which runs in the same process, since the packages take long to load.
"""

import asyncio
import base64
import json
import sys
import traceback

import task
from pydantic import BaseModel

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
DATA_URL = f"data:image/png;base64,{PIXEL}"
QUESTION = "Is it worth it?"


class Capital(BaseModel):
    capital: str
    inhabitants: int


def parts_of(capital):
    return [capital.capital, str(capital.inhabitants)]


def openai_client(url, key):
    from openai import OpenAI

    return OpenAI(base_url=f"{url}/v1", api_key=key)


def openai_chat(url, key, model, feature):
    completions = openai_client(url, key).chat.completions
    messages = [{"role": "user", "content": QUESTION}]
    if feature == "schema":
        return parts_of(completions.parse(model=model, messages=messages, response_format=Capital).choices[0].message.parsed)
    if feature == "image":
        picture = {"type": "image_url", "image_url": {"url": DATA_URL}}
        messages = [{"role": "user", "content": [{"type": "text", "text": QUESTION}, picture]}]
        return [completions.create(model=model, messages=messages).choices[0].message.content]
    if feature == "reasoning":
        message = completions.create(model=model, messages=messages, reasoning_effort="medium").choices[0].message
        # No field of its types: what a server sends beside them is kept.
        return [getattr(message, "reasoning", None) or "", message.content]
    with completions.create(model=model, messages=messages, stream=True) as stream:
        for chunk in stream:
            if chunk.choices and chunk.choices[0].delta.content:
                return [chunk.choices[0].delta.content]
    return []


def openai_responses(url, key, model, feature):
    responses = openai_client(url, key).responses
    if feature == "schema":
        return parts_of(responses.parse(model=model, input=QUESTION, text_format=Capital).output_parsed)
    if feature == "image":
        content = [{"type": "input_text", "text": QUESTION}, {"type": "input_image", "image_url": DATA_URL, "detail": "auto"}]
        return [responses.create(model=model, input=[{"role": "user", "content": content}]).output_text]
    if feature == "reasoning":
        response = responses.create(model=model, input=QUESTION, reasoning={"effort": "medium", "summary": "auto"})
        thoughts = [item for item in response.output if item.type == "reasoning"]
        shown = [part.text for item in thoughts for part in item.summary or item.content or []]
        return ["".join(shown), response.output_text]
    with responses.create(model=model, input=QUESTION, stream=True) as stream:
        for event in stream:
            if event.type == "response.output_text.delta":
                return [event.delta]
    return []


def anthropic(url, key, model, feature):
    from anthropic import Anthropic

    messages_of = Anthropic(base_url=url, api_key=key).messages
    ask = {"model": model, "max_tokens": 4096, "messages": [{"role": "user", "content": QUESTION}]}
    if feature == "schema":
        return parts_of(messages_of.parse(output_format=Capital, **ask).parsed_output)
    if feature == "image":
        source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
        ask["messages"] = [{"role": "user", "content": [{"type": "image", "source": source}, {"type": "text", "text": QUESTION}]}]
        return [messages_of.create(**ask).content[-1].text]
    if feature == "reasoning":
        content = messages_of.create(thinking={"type": "enabled", "budget_tokens": 2048}, **ask).content
        shown = "".join(block.thinking for block in content if block.type == "thinking")
        return [shown, content[-1].text]
    with messages_of.stream(**ask) as stream:
        for text in stream.text_stream:
            return [text]
    return []


def langchain(**more):
    def run(url, key, model, feature):
        from langchain_core.messages import HumanMessage
        from langchain_openai import ChatOpenAI

        if feature == "reasoning":
            more_here = {"reasoning": {"effort": "medium", "summary": "auto"}} if more else {"reasoning_effort": "medium"}
        else:
            more_here = {}
        chat = ChatOpenAI(model=model, api_key=key, base_url=f"{url}/v1", **more, **more_here)
        if feature == "schema":
            return parts_of(chat.with_structured_output(Capital).invoke(QUESTION))
        if feature == "image":
            picture = {"type": "image", "base64": PIXEL, "mime_type": "image/png"}
            return [chat.invoke([HumanMessage([{"type": "text", "text": QUESTION}, picture])]).text]
        if feature == "reasoning":
            message = chat.invoke(QUESTION)
            shown = [block.get("reasoning", "") for block in message.content_blocks if block["type"] == "reasoning"]
            return ["".join(shown), message.text]
        chunks = chat.stream(QUESTION)
        for chunk in chunks:
            if chunk.text:
                chunks.close()
                return [chunk.text]
        return []

    return run


def pydantic_ai(kind):
    def model_of(url, key, model):
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
        from pydantic_ai.providers.anthropic import AnthropicProvider
        from pydantic_ai.providers.openai import OpenAIProvider

        if kind == "anthropic":
            return AnthropicModel(model, provider=AnthropicProvider(base_url=url, api_key=key))
        make = OpenAIChatModel if kind == "chat" else OpenAIResponsesModel
        return make(model, provider=OpenAIProvider(base_url=f"{url}/v1", api_key=key))

    async def converse(url, key, model, feature):
        from pydantic_ai import Agent, BinaryContent, NativeOutput, ThinkingPart

        served = model_of(url, key, model)
        if feature == "schema":
            return parts_of((await Agent(served, output_type=NativeOutput(Capital)).run(QUESTION)).output)
        if feature == "image":
            picture = BinaryContent(data=base64.b64decode(PIXEL), media_type="image/png")
            return [(await Agent(served).run([QUESTION, picture])).output]
        if feature == "reasoning":
            settings = {
                "anthropic": {"anthropic_thinking": {"type": "enabled", "budget_tokens": 2048}, "max_tokens": 4096},
                "chat": {"openai_reasoning_effort": "medium"},
                "responses": {"openai_reasoning_effort": "medium", "openai_reasoning_summary": "auto"},
            }[kind]
            result = await Agent(served, model_settings=settings).run(QUESTION)
            parts = [part for message in result.all_messages() for part in message.parts]
            return ["".join(part.content for part in parts if isinstance(part, ThinkingPart)), result.output]
        async with Agent(served).run_stream(QUESTION) as result:
            async for text in result.stream_text(delta=True, debounce_by=None):
                return [text]

    return lambda *ask: asyncio.run(converse(*ask))


def agents(kind):
    async def converse(url, key, name, feature):
        from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner
        from agents import set_tracing_disabled
        from openai import AsyncOpenAI
        from openai.types.shared import Reasoning

        set_tracing_disabled(True)
        make = OpenAIResponsesModel if kind == "responses" else OpenAIChatCompletionsModel
        model = make(model=name, openai_client=AsyncOpenAI(base_url=f"{url}/v1", api_key=key))
        if feature == "schema":
            return parts_of((await Runner.run(Agent(name="Tester", model=model, output_type=Capital), QUESTION)).final_output)
        if feature == "image":
            content = [{"type": "input_text", "text": QUESTION}, {"type": "input_image", "image_url": DATA_URL, "detail": "auto"}]
            return [(await Runner.run(Agent(name="Tester", model=model), [{"role": "user", "content": content}])).final_output]
        if feature == "reasoning":
            settings = ModelSettings(reasoning=Reasoning(effort="medium", summary="auto"))
            result = await Runner.run(Agent(name="Tester", model=model, model_settings=settings), QUESTION)
            items = [item.raw_item for item in result.new_items if item.type == "reasoning_item"]
            return ["".join(part.text for item in items for part in item.summary or item.content or []), result.final_output]
        result = Runner.run_streamed(Agent(name="Tester", model=model), QUESTION)
        async for event in result.stream_events():
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                result.cancel()
                return [event.data.delta]

    return lambda *ask: asyncio.run(converse(*ask))


def agent_framework(client_name, reasoning, **settings):
    async def converse(url, key, model, feature):
        import agent_framework_openai as kinds
        from agent_framework import Content, Message

        agent = getattr(kinds, client_name)(model=model, api_key=key, base_url=f"{url}/v1").as_agent(**settings)
        if feature == "schema":
            return parts_of((await agent.run(QUESTION, options={"response_format": Capital})).value)
        if feature == "image":
            picture = Content.from_data(base64.b64decode(PIXEL), "image/png")
            return [(await agent.run(Message("user", [QUESTION, picture]))).text]
        if feature == "reasoning":
            response = await agent.run(QUESTION, options=reasoning)
            contents = [content for message in response.messages for content in message.contents]
            return ["".join(content.text or "" for content in contents if content.type == "text_reasoning"), response.text]
        stream = agent.run(QUESTION, stream=True)
        async for update in stream:
            if update.text:
                await stream.close()
                return [update.text]
        return []

    return lambda *ask: task.LOOP.run_until_complete(converse(*ask))


CLIENTS = {
    "openai, chat": openai_chat,
    "openai, responses": openai_responses,
    "anthropic with thinking": anthropic,
    "langchain, chat": langchain(),
    "langchain, responses": langchain(use_responses_api=True),
    "pydantic-ai, chat": pydantic_ai("chat"),
    "pydantic-ai, responses": pydantic_ai("responses"),
    "pydantic-ai, anthropic": pydantic_ai("anthropic"),
    "openai-agents, chat": agents("chat"),
    "openai-agents, responses": agents("responses"),
    "agent-framework, chat": agent_framework("OpenAIChatCompletionClient", {"reasoning_effort": "medium"}),
    "agent-framework, responses": agent_framework(
        "OpenAIChatClient", {"reasoning": {"effort": "medium", "summary": "auto"}}, default_options={"store": False}
    ),
}


def answer(name, *ask):
    if len(ask) == 3:
        return task.answer(name, *ask)
    try:
        return CLIENTS[name](*ask)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error} ({place.filename}:{place.lineno})"


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(*json.loads(line))), flush=True)
