"""One client at the task of ../support/task.ts: both questions in one conversation, the tool run where the model calls it.

Reads lines of JSON, [client, url, key, model], and writes for each a line: a list of both answers, or the error as text.
"""

import asyncio
import json
import sys
import traceback

QUESTIONS = ["What is the weather in Rome and in Oslo?", "And what do I take along?"]
DESCRIPTION = "The weather of a place"
SCHEMA = {
    "type": "object",
    "properties": {"place": {"type": "string", "description": "Name of the place"}},
    "required": ["place"],
    "additionalProperties": False,
}
FUNCTION = {"type": "function", "function": {"name": "weather", "description": DESCRIPTION, "parameters": SCHEMA}}


def weather_of(place):
    return f"It rains frogs in {place}."


def openai_chat(url, key, model):
    from openai import OpenAI

    client = OpenAI(base_url=f"{url}/v1", api_key=key)
    messages, answers = [], []
    for question in QUESTIONS:
        messages.append({"role": "user", "content": question})
        while True:
            with client.chat.completions.stream(model=model, messages=messages, tools=[FUNCTION]) as stream:
                stream.until_done()
                message = stream.get_final_completion().choices[0].message
            messages.append(message)
            for call in message.tool_calls or []:
                place = json.loads(call.function.arguments)["place"]
                messages.append({"role": "tool", "tool_call_id": call.id, "content": weather_of(place)})
            if not message.tool_calls:
                answers.append(message.content)
                break
    return answers


def openai_responses(url, key, model):
    from openai import OpenAI

    client = OpenAI(base_url=f"{url}/v1", api_key=key)
    tool = {"type": "function", "name": "weather", "description": DESCRIPTION, "parameters": SCHEMA, "strict": False}
    items, answers = [], []
    for question in QUESTIONS:
        items.append({"role": "user", "content": question})
        while True:
            events = client.responses.create(model=model, input=items, tools=[tool], stream=True)
            response = [event for event in events if event.type == "response.completed"][-1].response
            items += response.output
            calls = [item for item in response.output if item.type == "function_call"]
            for call in calls:
                output = weather_of(json.loads(call.arguments)["place"])
                items.append({"type": "function_call_output", "call_id": call.call_id, "output": output})
            if not calls:
                answers.append(response.output_text)
                break
    return answers


def anthropic(url, key, model, **more):
    from anthropic import Anthropic

    client = Anthropic(base_url=url, api_key=key)
    tool = {"name": "weather", "description": DESCRIPTION, "input_schema": SCHEMA}
    messages, answers = [], []
    for question in QUESTIONS:
        messages.append({"role": "user", "content": question})
        while True:
            with client.messages.stream(model=model, max_tokens=4096, messages=messages, tools=[tool], **more) as stream:
                message = stream.get_final_message()
            messages.append({"role": "assistant", "content": message.content})
            calls = [block for block in message.content if block.type == "tool_use"]
            if not calls:
                answers.append("".join(block.text for block in message.content if block.type == "text"))
                break
            results = [{"type": "tool_result", "tool_use_id": call.id, "content": weather_of(call.input["place"])} for call in calls]
            messages.append({"role": "user", "content": results})
    return answers


def anthropic_thinking(url, key, model):
    return anthropic(url, key, model, thinking={"type": "enabled", "budget_tokens": 2048})


def langchain(url, key, model, **more):
    from langchain_core.messages import HumanMessage, ToolMessage
    from langchain_openai import ChatOpenAI

    chat = ChatOpenAI(model=model, api_key=key, base_url=f"{url}/v1", **more).bind_tools([FUNCTION])
    messages, answers = [], []
    for question in QUESTIONS:
        messages.append(HumanMessage(question))
        while True:
            whole = None
            for chunk in chat.stream(messages):
                whole = chunk if whole is None else whole + chunk
            messages.append(whole)
            for call in whole.tool_calls:
                messages.append(ToolMessage(weather_of(call["args"]["place"]), tool_call_id=call["id"]))
            if not whole.tool_calls:
                answers.append(whole.text if isinstance(whole.text, str) else whole.text())
                break
    return answers


def langchain_responses(url, key, model):
    return langchain(url, key, model, use_responses_api=True)


async def stream_agent(agent):
    answers, history = [], []
    for question in QUESTIONS:
        async with agent.run_stream(question, message_history=history) as result:
            answers.append(await result.get_output())
            history = result.all_messages()
    return answers


def pydantic_agent(model):
    from pydantic_ai import Agent

    agent = Agent(model)

    @agent.tool_plain
    def weather(place: str) -> str:
        """The weather of a place"""
        return weather_of(place)

    return asyncio.run(stream_agent(agent))


def pydantic_ai_chat(url, key, model):
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    return pydantic_agent(OpenAIChatModel(model, provider=OpenAIProvider(base_url=f"{url}/v1", api_key=key)))


def pydantic_ai_responses(url, key, model):
    from pydantic_ai.models.openai import OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    return pydantic_agent(OpenAIResponsesModel(model, provider=OpenAIProvider(base_url=f"{url}/v1", api_key=key)))


def pydantic_ai_anthropic(url, key, model):
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    return pydantic_agent(AnthropicModel(model, provider=AnthropicProvider(base_url=url, api_key=key)))


async def run_agents(url, key, name, uses_responses):
    from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool
    from agents import set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)

    @function_tool
    def weather(place: str) -> str:
        """The weather of a place"""
        return weather_of(place)

    client = AsyncOpenAI(base_url=f"{url}/v1", api_key=key)
    make = OpenAIResponsesModel if uses_responses else OpenAIChatCompletionsModel
    agent = Agent(name="Tester", model=make(model=name, openai_client=client), tools=[weather])
    items, answers = [], []
    for question in QUESTIONS:
        items.append({"role": "user", "content": question})
        result = Runner.run_streamed(agent, items)
        async for _event in result.stream_events():
            pass
        answers.append(result.final_output)
        items = result.to_input_list()
    return answers


def agents_chat(url, key, model):
    return asyncio.run(run_agents(url, key, model, False))


def agents_responses(url, key, model):
    return asyncio.run(run_agents(url, key, model, True))


def validated_place():
    from pydantic import BaseModel, field_validator

    class Place(BaseModel):
        place: str

        @field_validator("place")
        @classmethod
        def has_country(cls, place):
            if "," not in place:
                raise ValueError("Name the country too.")
            return place

    return Place


def instructor_chat(url, key, model):
    """Not the task: forced calls whose arguments are the answers. What does not validate goes back to the model with the reason."""
    import instructor as library
    from openai import OpenAI

    client = library.from_openai(OpenAI(base_url=f"{url}/v1", api_key=key), mode=library.Mode.TOOLS)
    place = validated_place()
    messages = [{"role": "user", "content": QUESTIONS[0]}]
    first, completion = client.chat.completions.create_with_completion(
        model=model, response_model=place, max_retries=1, messages=messages
    )
    message = completion.choices[0].message
    # This library takes messages as dictionaries only.
    messages.append(message.model_dump())
    messages.append({"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "Noted."})
    messages.append({"role": "user", "content": QUESTIONS[1]})
    parts = list(client.chat.completions.create_partial(model=model, response_model=place, messages=messages))
    return [first.place, parts[-1].place]


def instructor_anthropic(url, key, model):
    import instructor as library
    from anthropic import Anthropic

    client = library.from_anthropic(Anthropic(base_url=url, api_key=key), mode=library.Mode.TOOLS)
    place = validated_place()
    messages = [{"role": "user", "content": QUESTIONS[0]}]
    limits = {"model": model, "max_tokens": 4096, "response_model": place}
    first, message = client.messages.create_with_completion(max_retries=1, messages=messages, **limits)
    call = [block for block in message.content if block.type == "tool_use"][0]
    messages.append({"role": "assistant", "content": message.content})
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "Noted."}
    messages.append({"role": "user", "content": [result, {"type": "text", "text": QUESTIONS[1]}]})
    second = client.messages.create(messages=messages, **limits)
    return [first.place, second.place]


# agent-framework keeps its connections for the loop that opened them.
LOOP = asyncio.new_event_loop()


def agent_framework(client_name, **settings):
    def task(url, key, model):
        import agent_framework_openai as kinds
        from agent_framework import tool

        @tool
        def weather(place: str) -> str:
            """The weather of a place"""
            return weather_of(place)

        async def converse():
            client = getattr(kinds, client_name)(model=model, api_key=key, base_url=f"{url}/v1")
            agent = client.as_agent(tools=[weather], **settings)
            session = agent.create_session()
            answers = []
            for question in QUESTIONS:
                stream = agent.run(question, session=session, stream=True)
                async for _update in stream:
                    pass
                answers.append((await stream.get_final_response()).text)
            return answers

        return LOOP.run_until_complete(converse())

    return task


CLIENTS = {
    "agent-framework, chat": agent_framework("OpenAIChatCompletionClient"),
    "agent-framework, responses": agent_framework("OpenAIChatClient", default_options={"store": False}),
    "agent-framework, responses, by its defaults": agent_framework("OpenAIChatClient"),
    "openai, chat": openai_chat,
    "openai, responses": openai_responses,
    "anthropic": anthropic,
    "anthropic with thinking": anthropic_thinking,
    "langchain, chat": langchain,
    "langchain, responses": langchain_responses,
    "pydantic-ai, chat": pydantic_ai_chat,
    "pydantic-ai, responses": pydantic_ai_responses,
    "pydantic-ai, anthropic": pydantic_ai_anthropic,
    "openai-agents, chat": agents_chat,
    "openai-agents, responses": agents_responses,
    "instructor, chat": instructor_chat,
    "instructor, anthropic": instructor_anthropic,
}

def answer(name, url, key, model):
    try:
        return CLIENTS[name](url, key, model)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error} ({place.filename}:{place.lineno})"


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(*json.loads(line))), flush=True)
