/**
 * Whatever the gateway sends out it takes back: each reply that it makes of a recorded one, whole and streamed, comes back as the next
 * turn of its caller, with a result for each tool call, and is served. The short run takes every third recording.
 * Runs with `npm run test:recordings`.
 */
import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { eventsOf, list, object } from '../support/fold.ts'
import { messageEventsOf, messageOf } from '../support/fold-messages.ts'
import { startGateway } from '../support/gateway.ts'
import { startUpstream } from '../support/upstream.ts'
import { says } from '../support/wire.ts'
import { CLIENTS, type Client, shortRequest } from './callers.ts'
import { nameOf, readRecordings } from './cassettes.ts'
import { failureOf } from './failures.ts'
import { requiredFolder } from './folder.ts'
import { configuration, modelFor } from './providers.ts'

/** What an SDK keeps of a chat stream: texts and arguments joined, calls by their index. */
function messageOfChat(stream: string): JsonObject {
  const message: JsonObject = { role: 'assistant', content: null }
  const calls: JsonObject[] = []
  const details: JsonObject[] = []
  for (const chunk of eventsOf(stream)) {
    const [choice = {}] = list(chunk.choices)
    const { content, tool_calls, reasoning_details } = object(choice.delta)
    if (typeof content === 'string') message.content = `${typeof message.content === 'string' ? message.content : ''}${content}`
    details.push(...list(reasoning_details))
    for (const { index, function: piece, ...rest } of list(tool_calls)) {
      const at = Number(index)
      const { name, arguments: args } = object(piece)
      calls[at] ??= { ...rest, function: { name: '', arguments: '' } }
      const call = calls[at]
      const held = object(call.function)
      held.name ||= name ?? ''
      held.arguments = `${String(held.arguments)}${String(args ?? '')}`
    }
  }
  if (calls.length > 0) message.tool_calls = calls.filter((call) => call !== undefined)
  if (details.length > 0) message.reasoning_details = details
  return message
}

const RESULT = 'It is done.'

/** The conversation that follows a reply; undefined where it holds nothing that comes back. */
function nextTurn({ id }: Client, body: string, stream: boolean): JsonObject | undefined {
  const user = { role: 'user', content: 'Hello' }
  if (id === 'responses') {
    const whole = stream
      ? object(eventsOf(body).findLast(({ type }) => String(type).startsWith('response.'))?.response)
      : (JSON.parse(body) as JsonObject)
    const output = list(whole.output)
    const results = output.flatMap(({ type, call_id }) =>
      type === 'function_call' || type === 'custom_tool_call' ? [{ type: `${type}_output`, call_id, output: RESULT }] : [],
    )
    return output.length === 0 ? undefined : { input: [user, ...output, ...results, user] as unknown as JsonObject[] }
  }
  if (id === 'messages') {
    const content = list((stream ? messageOf(messageEventsOf(body)) : (JSON.parse(body) as JsonObject)).content)
    const results = content.flatMap((block) =>
      block.type === 'tool_use' ? [{ type: 'tool_result', tool_use_id: block.id, content: RESULT }] : [],
    )
    const messages = [user, { role: 'assistant', content }, { role: 'user', content: [...results, { type: 'text', text: 'Go on.' }] }]
    return content.length === 0 ? undefined : { messages: messages as unknown as JsonObject[] }
  }
  const message = stream ? messageOfChat(body) : object(list((JSON.parse(body) as JsonObject).choices)[0]?.message)
  const results = list(message.tool_calls).map((call) => ({ role: 'tool', tool_call_id: call.id, content: RESULT }))
  if ((message.content ?? '') === '' && results.length === 0) return undefined
  return { messages: [user, message, ...results, user] as unknown as JsonObject[] }
}

t.setTimeout(280_000)
const folder = requiredFolder(t)
if (folder !== undefined)
  await t.test('each reply is taken back', async (t) => {
    const { exchanges } = readRecordings(folder)
    const upstream = await startUpstream(() => ({ status: 500 }))
    t.teardown(() => upstream.close())
    const gateway = await startGateway(configuration(upstream.url))
    t.teardown(() => gateway.close())
    const served = new Map<string, number>()
    const refused: string[] = []
    const some = process.env.HEADGATE_LONG === '1' ? exchanges : exchanges.filter((_, at) => at % 3 === 0)
    for (const exchange of some) {
      if (failureOf(exchange)) continue
      const { status, headers, body, streamed, binary } = exchange
      for (const client of CLIENTS) {
        const bytes = binary ? Buffer.from(body, 'latin1') : body
        upstream.script = () => ({ status, headers, body: [bytes] })
        const request = shortRequest(client, modelFor(exchange), streamed)
        const reply = await gateway.post(client.path, request)
        const next = reply.status === 200 ? nextTurn(client, await reply.text(), streamed) : undefined
        if (!next) continue
        upstream.script = says({ text: ['fine'] })
        const second = await gateway.post(client.path, { ...request, ...next, stream: false })
        const text = await second.text()
        if (second.status === 200) served.set(client.id, (served.get(client.id) ?? 0) + 1)
        else refused.push(`${client.id}, ${nameOf(exchange)}: ${second.status} ${text.slice(0, 300)}`)
      }
    }
    for (const client of CLIENTS) t.ok((served.get(client.id) ?? 0) > 100, `${client.id}: ${served.get(client.id)} turns`)
    t.same(refused, [])
  })
