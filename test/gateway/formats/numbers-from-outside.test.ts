/**
 * Numbers of providers are read before they are written: whatever stands in their place, callers get JSON, and in it the numbers that the
 * format allows (docs/contract.md).
 */
import t from 'tap'
import { request } from 'undici'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { isObject } from '../../../src/core/json.ts'
import { FakeClock } from '../../support/clock.ts'
import { cohereVectors, geminiVectors, numbersIn, openaiVectors, type Speaks, voyageVectors } from '../../support/embedder.ts'
import { every } from '../../support/every.ts'
import { list, object, parseFrames } from '../../support/fold.ts'
import { type Gateway, KEY, startGateway } from '../../support/gateway.ts'
import { type Lane, lanesBetween } from '../../support/lanes.ts'
import { createRandom } from '../../support/matrix/mutate.ts'
import { NumberedReply, type NumberPlace, numberPaths, ODD_NUMBERS, withOdd } from '../../support/matrix/provider-numbers.ts'
import { LONG, seed } from '../../support/seed.ts'
import { type Script, startUpstream } from '../../support/upstream.ts'

const WIRES = ['openai-chat', 'openai-responses', 'anthropic', 'gemini', 'bedrock-converse'] as const
const LANES: readonly Lane[] = ['pass', 'observe', 'translate']
const MESSAGES = [{ role: 'user', content: 'Hello' }]
const TOOLS = { type: 'function', function: { name: 'clock', parameters: { type: 'object' } } }

interface Client {
  readonly path: string
  readonly body: JsonObject
}

const CLIENTS: Readonly<Record<string, Client>> = {
  chat: { path: '/v1/chat/completions', body: { messages: MESSAGES, logprobs: true, top_logprobs: 1, tools: [TOOLS] } },
  completions: { path: '/v1/completions', body: { prompt: 'Hello' } },
  responses: {
    path: '/v1/responses',
    body: { input: 'Hello', include: ['message.output_text.logprobs', 'reasoning.encrypted_content'], top_logprobs: 1 },
  },
  messages: { path: '/v1/messages', body: { messages: MESSAGES, max_tokens: 4096 } },
}

/** Members that count something: whole and not below zero, wherever they stand. */
const COUNTS =
  /^(created(_at)?|index|(output|content|summary|annotation)_index|sequence_number|\w+_tokens|\w+_requests|(start|end)_index|(start|end)_char_index|document_index)$/
/** Counts that may be null, and limits of the request. */
const NULLABLE = /^(max_\w+|completed_at|cache_\w+_tokens)$/

const isCount = (value: Json | undefined): boolean => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0

/** Problems of a value and all within it. */
function problemsIn(value: Json | undefined, path = ''): string[] {
  if (typeof value === 'number') return Number.isFinite(value) ? [] : [`${path} is ${value}`]
  if (value === 'undefined' || value === 'NaN' || value === 'Infinity') return [`${path} is ${value}`]
  if (typeof value !== 'object' || value === null) return []
  const problems: string[] = []
  for (const [key, each] of Object.entries(value)) {
    const place = `${path}.${key}`
    if (COUNTS.test(key) && !isCount(each as Json) && !(NULLABLE.test(key) && each === null))
      problems.push(`${place} is ${JSON.stringify(each)}`)
    problems.push(...problemsIn(each as Json, place))
  }
  return problems
}

/** Numbers without which an event or a reply of a format cannot be read. */
function missingIn(client: string, stream: boolean, event: JsonObject): string[] {
  const missing: string[] = []
  const needs = (holder: JsonObject, ...members: string[]): void => {
    for (const member of members) if (!isCount(holder[member])) missing.push(`${member} is ${JSON.stringify(holder[member])}`)
  }
  if (event.error !== undefined && event.id === undefined) return []
  if (client === 'chat' || client === 'completions') {
    needs(event, 'created')
    for (const choice of list(event.choices)) {
      needs(choice, 'index')
      if (stream) for (const call of list(object(choice.delta).tool_calls)) needs(call, 'index')
    }
    if (isObject(event.usage)) needs(event.usage, 'prompt_tokens', 'completion_tokens', 'total_tokens')
  } else if (client === 'responses') {
    const type = String(event.type)
    const response = stream ? object(event.response) : event
    if (stream) needs(event, 'sequence_number')
    if (event.item !== undefined || event.item_id !== undefined) needs(event, 'output_index')
    if (/^response\.(output_text|content_part|refusal|reasoning_text)\./.test(type)) needs(event, 'content_index')
    if (type === 'response.output_text.annotation.added') needs(event, 'annotation_index')
    if (/^response\.reasoning_summary_/.test(type)) needs(event, 'summary_index')
    if (response.id !== undefined) needs(response, 'created_at')
    if (isObject(response.usage)) needs(response.usage, 'input_tokens', 'output_tokens', 'total_tokens')
  } else {
    if (String(event.type).startsWith('content_block_')) needs(event, 'index')
    const usage = event.type === 'message_start' ? object(event.message).usage : event.usage
    if (isObject(usage)) needs(usage, 'output_tokens')
  }
  return missing
}

function eventsIn(text: string, stream: boolean): JsonObject[] {
  const jsons = stream ? parseFrames(text).map(({ data }) => data) : [text]
  return jsons.filter((json) => json !== '[DONE]').map((json) => JSON.parse(json) as JsonObject)
}

/** Problems of all that a caller got. */
function replyProblems(client: string, stream: boolean, text: string): string[] {
  try {
    return eventsIn(text, stream).flatMap((event) => [...problemsIn(event), ...missingIn(client, stream, event)])
  } catch (error) {
    return [`${error}: ${text}`]
  }
}

interface Case {
  readonly reply: NumberedReply
  readonly client: string
  readonly lane: Lane
}

const CASES: readonly Case[] = WIRES.flatMap((wire) =>
  [true, false].flatMap((stream) => {
    const reply = new NumberedReply(wire, stream)
    return Object.keys(CLIENTS).flatMap((client) => lanesBetween(client, wire).map((lane) => ({ reply, client, lane })))
  }),
)
const SEED = seed()

interface Odd {
  readonly place: NumberPlace
  readonly odd: string | undefined
}

/** All that is put in the place of numbers of a reply; in the short run one thing for each kind of place. */
function drawn(reply: NumberedReply, random: () => number): Odd[] {
  const pickOne = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)]
  const all = reply.places.flatMap((place) => ODD_NUMBERS.map((odd) => ({ place, odd })))
  return LONG ? all : Object.values(Object.groupBy(all, ({ place }) => reply.kind(place))).map((each) => pickOne(each ?? all))
}

t.setTimeout(3_600_000)
t.comment(`seed ${SEED}`)

const clock = new FakeClock()
const upstream = await startUpstream(() => ({}))
const gateways = new Map<Lane, Gateway>()
for (const lane of LANES)
  gateways.set(
    lane,
    await startGateway(
      `
providers:
${WIRES.map((wire) => `  ${wire}: { dialect: ${wire}, base_url: "${upstream.url}${wire.startsWith('openai') ? '/v1' : ''}", key: sk-up }`).join('\n')}
models:
${WIRES.map((wire) => `  m/${wire}: { context: 128000, endpoints: [ { provider: ${wire}, model: m, price: { prompt: "1.00", completion: "2.00" } } ] }`).join('\n')}
`,
      { lane, clock },
    ),
  )
t.teardown(async () => {
  for (const gateway of gateways.values()) await gateway.close()
  await upstream.close()
})

async function ask(lane: Lane, path: string, body: JsonObject): Promise<{ status: number; text: string }> {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const reply = await request(`${gateways.get(lane)?.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body), reset: true })
  let text = ''
  try {
    for await (const chunk of reply.body.setEncoding('utf8')) {
      text += String(chunk)
      // A chat stream that has failed ends without its last chunk, a little later (docs/contract.md#chat-stream).
      if (text.includes('data: {"error"')) await clock.advance(60_000)
    }
  } catch (error) {
    if (!text.includes('data: {"error"')) throw error
  }
  return { status: reply.statusCode, text }
}

t.test('numbers of streamed and whole replies', async (t) => {
  const random = createRandom(SEED)
  let sent = 0
  let answered = 0
  await every(t, 'every place', async (t) => {
    for (const { reply, client, lane } of CASES)
      for (const { place, odd } of drawn(reply, random)) {
        upstream.script = () => reply.answer(place, odd)
        const { path, body } = CLIENTS[client]
        const { status, text } = await ask(lane, path, { model: `m/${reply.wire}`, ...body, stream: reply.stream })
        const name = `${client}, ${lane}: ${reply.name(place)} as ${odd ?? 'missing'}`
        t.same(replyProblems(client, reply.stream && status === 200, text), [], name)
        sent++
        if (status === 200) answered++
      }
  })
  t.comment(`${sent} requests, ${answered} answered`)
  t.ok(answered > 0.9 * sent, 'nearly all are answered all the same')
})

const EMBEDDERS: Readonly<Record<string, (how?: Speaks) => Script>> = {
  'openai-chat': openaiVectors,
  gemini: geminiVectors,
  cohere: cohereVectors,
  voyage: voyageVectors,
}

/** Problems of a list of vectors. */
function vectorProblems(reply: JsonObject): string[] {
  const numbers = list(reply.data).flatMap(({ embedding }) =>
    typeof embedding === 'string' ? numbersIn(embedding) : (embedding as number[]),
  )
  const { prompt_tokens, total_tokens } = object(reply.usage)
  return [
    ...problemsIn(reply),
    ...numbers.filter((number) => !Number.isFinite(number)).map((number) => `${number} in a vector`),
    ...list(reply.data).flatMap(({ index }, at) => (index === at ? [] : [`index ${index} at ${at}`])),
    ...[prompt_tokens, total_tokens].filter((count) => !isCount(count)).map((count) => `${count} tokens`),
  ]
}

t.test('numbers of vectors', async (t) => {
  const provider = await startUpstream(() => ({}))
  const gateway = await startGateway(
    `
providers:
${Object.keys(EMBEDDERS)
  .map((dialect) => `  ${dialect}: { dialect: ${dialect}, base_url: "${provider.url}/v1", key: sk-up }`)
  .join('\n')}
models:
${Object.keys(EMBEDDERS)
  .map((dialect) => `  m/${dialect}: { kind: embedding, endpoints: [ { provider: ${dialect}, model: m, price: { prompt: "1.00" } } ] }`)
  .join('\n')}
`,
    { clock: new FakeClock() },
  )
  t.teardown(async () => {
    await gateway.close()
    await provider.close()
  })
  await every(t, 'every place', async (t) => {
    for (const [dialect, speak] of Object.entries(EMBEDDERS))
      for (const encoding_format of ['float', 'base64'])
        for (const odd of ODD_NUMBERS)
          for (let place = 0, last = 0; place <= last; place++) {
            provider.script = async (seen, index) => {
              const { body = [], ...answer } = await speak({ split: { text: 5, image: 2 } })(seen, index)
              const reply = JSON.parse(String(body[0])) as JsonObject
              const paths = [...numberPaths(reply)]
              last = paths.length - 1
              return { ...answer, body: [withOdd(reply, paths[place], odd)] }
            }
            const response = await gateway.post('/v1/embeddings', { model: `m/${dialect}`, input: ['a 3', 'b 1'], encoding_format })
            const reply = (await response.json()) as JsonObject
            t.same(
              response.status === 200 ? vectorProblems(reply) : problemsIn(reply),
              [],
              `${dialect} ${encoding_format} ${place} as ${odd}`,
            )
          }
  })
})
