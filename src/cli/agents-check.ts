/** `headgate agents check`: has the running gateway plan the requests that an agent sends at its start. No provider is called, nothing is charged. */
import type { Agent, Place, Start } from '../config/agents/index.ts'
import { asObjects, isObject, type JsonObject } from '../core/json.ts'
import type { Streams } from './console.ts'

interface CheckOptions {
  readonly streams: Streams
  /** Secret of the key to check with; never shown. */
  readonly key: string | undefined
}

interface Answer {
  readonly status: number
  readonly body: JsonObject
}

/** Milliseconds for one request. */
const TIMEOUT_MS = 15_000

const TOOL = { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] }

/** The conversation of a start, in the agent's format. */
function formatBody(format: Agent['format'], { role, tools, body }: Start, { models }: Place): JsonObject {
  const name = 'run_command'
  const description = 'Runs a command'
  const turns =
    format === 'responses' ? { input: [{ role: 'user', content: 'Say ready.' }] } : { messages: [{ role: 'user', content: 'Say ready.' }] }
  const tool: JsonObject =
    format === 'messages'
      ? { name, description, input_schema: TOOL }
      : format === 'responses'
        ? { type: 'function', name, description, parameters: TOOL, strict: false }
        : { type: 'function', function: { name, description, parameters: TOOL } }
  return { model: models[role].name, ...turns, ...(tools ? { tools: [tool] } : {}), ...body }
}

/** @returns 1 where something would fail. */
export async function checkAgent(agent: Agent, place: Place, { streams, key }: CheckOptions): Promise<number> {
  if (key === undefined || key === '') {
    streams.error('headgate: agents check: set HEADGATE_KEY to the key that the agent is going to use')
    return 1
  }
  const ask = async (
    method: 'GET' | 'POST',
    path: string,
    headers: Readonly<Record<string, string>>,
    body?: JsonObject,
  ): Promise<Answer> => {
    const url = place.url + path
    const response = await fetch(url, {
      method,
      headers: { ...headers, authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }).catch((error: Error) => {
      throw new Error(`${url}: ${error.cause instanceof Error ? error.cause.message : error.message}`)
    })
    const read: unknown = await response.json().catch(() => undefined)
    return { status: response.status, body: isObject(read as JsonObject) ? (read as JsonObject) : {} }
  }
  let failed = 0
  const say = (what: string, wrong: string | undefined, notes: readonly string[]): void => {
    if (wrong !== undefined) failed++
    streams.out(`${wrong === undefined ? 'ok    ' : 'fails '} ${what}${wrong === undefined ? '' : `: ${wrong}`}`)
    for (const note of notes) streams.out(`       ${note}`)
  }
  const listed = await ask('GET', '/v1/models?limit=1000', agent.format === 'messages' ? { 'anthropic-version': '2023-06-01' } : {})
  say('GET /v1/models', wrongIn(listed), [])
  for (const start of agent.starts) {
    const body = formatBody(agent.format, start, place)
    const planned = await ask('POST', `/v1/plan?format=${agent.format}`, start.headers ?? {}, body)
    say(`${start.role}: ${String(body.model)}`, wrongIn(planned), planned.status === 200 ? planNotes(planned.body) : [])
    if (agent.format !== 'messages' || start.role !== 'main') continue
    const { max_tokens: _, stream: __, ...counted } = body
    const count = await ask('POST', '/v1/messages/count_tokens', start.headers ?? {}, counted)
    say(
      'POST /v1/messages/count_tokens',
      wrongIn(count),
      count.body.estimated === true ? ['an estimate: the provider counts no tokens'] : [],
    )
  }
  return failed === 0 ? 0 : 1
}

function wrongIn({ status, body }: Answer): string | undefined {
  if (status === 200) return undefined
  const { message } = isObject(body.error) ? body.error : {}
  return `${status}${typeof message === 'string' ? ` ${message}` : ''}`
}

/** Which endpoint would serve, and what of the request it would not get. */
function planNotes(plan: JsonObject): string[] {
  const [first] = asObjects(plan.candidates)
  if (!first) return ['no endpoint would serve']
  const dropped = Array.isArray(first.dropped) ? first.dropped.map(String) : []
  return [
    `served by ${String(first.model)} at ${String(first.endpoint)}`,
    ...(dropped.length > 0 ? [`left out or changed: ${dropped.join(', ')}`] : []),
    ...(isObject(first.refused) ? [`would be refused: ${String(first.refused.message)}`] : []),
  ]
}
