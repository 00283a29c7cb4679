/** The official clients in JavaScript, and how they take the end of an answer: plain calls, helpers, and loops that run tools. */
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import type { Account, Read, Reading } from './task-program.ts'

/** Result of the tools of a loop; a request that has it gets a good answer. */
export const TOOL_RESULT = 'it was looked at'

const SCHEMA = { type: 'object' as const, properties: {} }
const CHAT_ENDS: ReadonlySet<unknown> = new Set(['stop', 'tool_calls'])
const MESSAGE_ENDS: ReadonlySet<unknown> = new Set(['end_turn', 'tool_use', 'stop_sequence'])

const reasonKind = (reason: string | null | undefined, good: ReadonlySet<unknown>): Reading['kind'] =>
  reason ? (good.has(reason) ? 'finished' : 'shown') : 'silent'

/** Plain calls and helpers. */
export function officialReaders({ url, key }: Account): Record<string, Read> {
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 })
  const anthropic = new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 })
  const chatBody = (model: string, prompt: string) => ({
    model,
    messages: [{ role: 'user' as const, content: prompt }],
    tools: [{ type: 'function' as const, function: { name: 'look', parameters: SCHEMA } }],
  })
  const responsesBody = (model: string, prompt: string) => ({
    model,
    input: prompt,
    tools: [{ type: 'function' as const, name: 'look', parameters: SCHEMA, strict: false }],
  })
  const messagesBody = (model: string, prompt: string) => ({
    model,
    max_tokens: 1000,
    messages: [{ role: 'user' as const, content: prompt }],
    tools: [{ name: 'look', input_schema: SCHEMA }],
  })

  async function chat(model: string, prompt: string, stream: boolean): Promise<Reading> {
    const body = chatBody(model, prompt)
    if (!stream) return completed(await openai.chat.completions.create(body))
    const calls: string[] = []
    let reason: string | null | undefined
    for await (const { choices } of await openai.chat.completions.create({ ...body, stream })) {
      reason = choices[0]?.finish_reason ?? reason
      for (const { index, function: spec } of choices[0]?.delta.tool_calls ?? [])
        calls[index] = (calls[index] ?? '') + (spec?.arguments ?? '')
    }
    return { kind: reasonKind(reason, CHAT_ENDS), calls }
  }

  async function chatHelper(model: string, prompt: string): Promise<Reading> {
    return completed(await openai.chat.completions.stream(chatBody(model, prompt)).finalChatCompletion())
  }

  async function responses(model: string, prompt: string, stream: boolean): Promise<Reading> {
    const body = responsesBody(model, prompt)
    if (!stream) return responded(await openai.responses.create(body))
    let last: OpenAI.Responses.Response | undefined
    for await (const event of await openai.responses.create({ ...body, stream }))
      if (event.type === 'response.completed' || event.type === 'response.incomplete') last = event.response
    return responded(last)
  }

  async function responsesHelper(model: string, prompt: string): Promise<Reading> {
    return responded(await openai.responses.stream(responsesBody(model, prompt)).finalResponse())
  }

  async function messages(model: string, prompt: string, stream: boolean): Promise<Reading> {
    const body = messagesBody(model, prompt)
    return answered(stream ? await anthropic.messages.stream(body).finalMessage() : await anthropic.messages.create(body))
  }

  async function messageEvents(model: string, prompt: string): Promise<Reading> {
    const calls = new Map<number, string>()
    let reason: string | null | undefined
    let isOver = false
    for await (const event of await anthropic.messages.create({ ...messagesBody(model, prompt), stream: true })) {
      if (event.type === 'content_block_start' && event.content_block.type === 'tool_use') calls.set(event.index, '')
      if (event.type === 'content_block_delta' && event.delta.type === 'input_json_delta')
        calls.set(event.index, (calls.get(event.index) ?? '') + event.delta.partial_json)
      if (event.type === 'message_delta') reason = event.delta.stop_reason
      if (event.type === 'message_stop') isOver = true
    }
    return { kind: isOver ? reasonKind(reason, MESSAGE_ENDS) : 'silent', calls: [...calls.values()] }
  }

  return {
    'openai in JavaScript, chat': chat,
    'openai in JavaScript, chat by its helper': chatHelper,
    'openai in JavaScript, responses': responses,
    'openai in JavaScript, responses by its helper': responsesHelper,
    'anthropic in JavaScript': messages,
    'anthropic in JavaScript, events': messageEvents,
  }
}

function completed({ choices: [choice] }: OpenAI.ChatCompletion): Reading {
  const calls = (choice.message.tool_calls ?? []).flatMap((call) => (call.type === 'function' ? [call.function.arguments] : []))
  return { kind: reasonKind(choice.finish_reason, CHAT_ENDS), calls }
}

function responded(response: OpenAI.Responses.Response | undefined): Reading {
  const calls = (response?.output ?? []).flatMap((item) => (item.type === 'function_call' ? [item.arguments] : []))
  return { kind: response ? (response.status === 'completed' ? 'finished' : 'shown') : 'silent', calls }
}

function answered({ stop_reason: reason, content }: { stop_reason: string | null; content: { type: string; input?: unknown }[] }): Reading {
  const calls = content.flatMap((block) => (block.type === 'tool_use' ? [JSON.stringify(block.input)] : []))
  return { kind: reasonKind(reason, MESSAGE_ENDS), calls }
}

/** Loops that run the tools themselves: `calls` are the arguments with which one was run. */
export function toolLoops({ url, key }: Account): Record<string, Read> {
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 })
  const anthropic = new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 })

  async function runTools(model: string, prompt: string, stream: boolean): Promise<Reading> {
    const calls: string[] = []
    const look = (input: object): string => {
      calls.push(JSON.stringify(input))
      return TOOL_RESULT
    }
    const tools = [
      {
        type: 'function' as const,
        function: { name: 'look', description: 'Looks.', parameters: SCHEMA, parse: JSON.parse, function: look },
      },
    ]
    const body = { model, messages: [{ role: 'user' as const, content: prompt }], tools }
    const options = { maxChatCompletions: 3 }
    const runner = stream ? openai.chat.completions.runTools({ ...body, stream }, options) : openai.chat.completions.runTools(body, options)
    const final = await runner.finalChatCompletion().catch(() => undefined)
    return { kind: final ? reasonKind(final.choices[0].finish_reason, CHAT_ENDS) : 'raised', calls }
  }

  async function toolRunner(model: string, prompt: string, stream: boolean, isEager = false): Promise<Reading> {
    const calls: string[] = []
    const run = (input: unknown): string => {
      calls.push(JSON.stringify(input))
      return TOOL_RESULT
    }
    const tools = [
      { type: 'custom' as const, name: 'look', description: 'Looks.', input_schema: SCHEMA, run, parse: (input: unknown) => input },
    ]
    const body = {
      model,
      max_tokens: 1000,
      messages: [{ role: 'user' as const, content: prompt }],
      tools,
      max_iterations: 3,
    }
    const loop = stream
      ? anthropic.beta.messages.toolRunner({ ...body, stream, ...(isEager && { runToolsEagerly: true }) })
      : anthropic.beta.messages.toolRunner(body)
    const final = await loop.runUntilDone().catch(() => undefined)
    return { kind: final ? reasonKind(final.stop_reason, MESSAGE_ENDS) : 'raised', calls }
  }

  return {
    'openai in JavaScript, runTools': runTools,
    'anthropic in JavaScript, toolRunner': (model, prompt, stream) => toolRunner(model, prompt, stream),
    'anthropic in JavaScript, toolRunner that runs tools eagerly': (model, prompt) => toolRunner(model, prompt, true, true),
  }
}

/** Names of those whose `calls` are what was run. */
export const TOOL_LOOPS: ReadonlySet<string> = new Set(Object.keys(toolLoops({ url: 'http://localhost', key: 'none' })))

/** Those that ask for streams alone. */
export const STREAMS_ONLY: ReadonlySet<string> = new Set([
  'openai in JavaScript, chat by its helper',
  'openai in JavaScript, responses by its helper',
  'anthropic in JavaScript, events',
  'anthropic in JavaScript, toolRunner that runs tools eagerly',
])
