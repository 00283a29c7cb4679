/** Z07: whatever providers do, and in whatever order, every request has one well-formed end and one settled row. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { FakeClock } from '../../support/clock.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { runs, seed } from '../../support/seed.ts'
import { type Answer, JSON_TYPE, jsonAnswer, type Seen, sseAnswer, startUpstream } from '../../support/upstream.ts'
import { answerFor, framesFor, type Utterance, upstreamError } from '../../support/wire.ts'

const SEED = seed()
const chance = new FakeClock(SEED)
const pick = <T>(list: readonly T[]): T => list[Math.floor(chance.random() * list.length)]

const UTTERANCES: Utterance = {
  reasoning: ['hm ', 'so '],
  text: ['one ', 'two ', 'thrée'],
  calls: [{ id: 'c1', name: 'look', args: ['{"a"', ':1}'] }],
}
const ENDS = ['close', 'reset', 'stall'] as const
const STATUSES = [400, 401, 402, 403, 404, 408, 413, 422, 429, 500, 502, 503, 504, 529]
const HINTS = ['2', '-1', 'junk', '86400']

const cut = (frames: readonly string[]): string[] => frames.slice(0, Math.floor(chance.random() * (frames.length + 1)))
const sound = (seen: Seen): Answer => answerFor(seen, { ...UTTERANCES, end: pick(['stop', 'length', 'content_filter', 'tool_calls']) })

/** Behaviour of a provider for one request; half of the time it is sound. */
const DEEDS: readonly ((seen: Seen, frames: string[], stream: boolean) => Answer)[] = [
  () => upstreamError(pick(STATUSES), 'no', { 'retry-after': pick(HINTS) }),
  () => ({ before: pick(ENDS) }),
  (_seen, frames, stream) =>
    stream ? sseAnswer(cut(frames), { after: pick(ENDS) }) : { headers: JSON_TYPE, body: ['{"id":'], after: pick(ENDS) },
  (_seen, frames, stream) => (stream ? sseAnswer(cut(frames)) : jsonAnswer(pick<unknown>([{}, [], null, { error: { code: 500 } }]))),
  (_seen, frames, stream) => (stream ? sseAnswer([...cut(frames), 'data: {"broken\n\n']) : jsonAnswer({ choices: [{ message: null }] })),
  (_seen, frames, stream) =>
    stream ? sseAnswer([...cut(frames), 'data: null\n\n', 'data: {"error":{"code":429,"message":"x"}}\n\n']) : jsonAnswer({ output: [{}] }),
  (seen, frames, stream) => (stream ? sseAnswer(frames, { split: 3, lineEnd: pick(['\n', '\r', '\r\n']) }) : sound(seen)),
  (seen) => ({ ...sound(seen), gzip: true }),
  (seen) => {
    const answer = sound(seen)
    return { ...answer, headers: { ...answer.headers, 'content-encoding': pick(['gzip', 'br', 'bogus']) } }
  },
  ...Array.from({ length: 9 }, () => sound),
]

const script = (seen: Seen): Answer => pick(DEEDS)(seen, framesFor(seen.path, UTTERANCES), seen.json.stream === true)

const CLIENTS = { chat: '/v1/chat/completions', responses: '/v1/responses' } as const
const ORDERS = [
  ['ac', 'bc'],
  ['ar', 'br'],
  ['ac', 'ar'],
  ['br', 'ac', 'bc'],
]

function question(client: keyof typeof CLIENTS): JsonObject {
  const order = pick(ORDERS)
  const look = { name: 'look', parameters: { type: 'object' } }
  const tools: JsonObject[] = [client === 'chat' ? { type: 'function', function: look } : { type: 'function', ...look }]
  if (chance.random() < 0.4) tools.push({ type: 'router:datetime' })
  const utterance: JsonObject = client === 'chat' ? { messages: [{ role: 'user', content: 'x' }] } : { input: 'x' }
  return { model: 'acme/one', stream: chance.random() < 0.6, provider: { order, only: order }, tools, ...utterance }
}

type Event = JsonObject & {
  type?: string
  output_index?: number
  response?: { output: unknown[]; usage?: object | null }
  choices?: { finish_reason?: string | null }[]
}

/** Faults of a stream; empty where nothing is. */
function faultsOfStream(client: keyof typeof CLIENTS, text: string): string[] {
  const data = [...text.matchAll(/^data: (.*)$/gm)].map((match) => match[1])
  const wrong: string[] = []
  const demand = (holds: boolean, what: string): void => {
    if (!holds) wrong.push(what)
  }
  const hasFailed = client === 'chat' && data.at(-1)?.startsWith('{"error":') === true
  demand(hasFailed ? !data.includes('[DONE]') : data.indexOf('[DONE]') === data.length - 1, 'one [DONE], at the end of what has not failed')
  const events = data.slice(0, hasFailed ? undefined : -1).map((one) => JSON.parse(one) as Event)
  if (client === 'chat') {
    demand(events.filter((event) => event.choices?.[0]?.finish_reason).length === 1, 'one finish')
    demand(new Set(events.map((event) => event.id)).size === 1, 'one id')
    demand(events.filter((event) => event.usage).length === 1 || events.some((event) => event.error), 'usage once')
    return wrong
  }
  demand(
    events.every((event, index) => event.sequence_number === index),
    'numbers without gaps',
  )
  const ends = events.filter((event) => /^response\.(completed|failed|incomplete)$/.test(String(event.type)))
  demand(ends.length === 1 && ends[0] === events.at(-1), 'one end, at the end')
  const indexes = (type: string) => events.filter((event) => event.type === type).map((event) => Number(event.output_index))
  const added = indexes('response.output_item.added').sort()
  const done = new Set(indexes('response.output_item.done'))
  // Clients run a call when its item is done: one that may be cut is not (decision 39).
  const mayBeCut = (event: Event): boolean =>
    ends[0]?.type !== 'response.completed' && (event.item as JsonObject | undefined)?.type === 'function_call'
  const begun = events.filter((event) => event.type === 'response.output_item.added')
  demand(
    begun.every((event) => done.has(Number(event.output_index)) || mayBeCut(event)),
    'every item begins and ends',
  )
  demand(
    [...done].length === indexes('response.output_item.done').length && [...done].every((index) => added.includes(index)),
    'and ends once',
  )
  demand(new Set(added).size === added.length, 'items of their own number')
  demand(ends[0]?.response?.output.length === added.length, 'all items in the last event')
  demand(Boolean(ends[0]?.response?.usage), 'usage in the last event')
  return wrong
}

async function once(t: Test, gateway: Gateway): Promise<void> {
  const client = pick(['chat', 'responses'] as const)
  const body = question(client)
  const response = await gateway.post(CLIENTS[client], body, { 'x-router-metadata': 'enabled' })
  const text = await response.text()
  const name = `seed ${SEED}: ${JSON.stringify(body)}`
  if (![200, 400, 404, 413, 422, 429, 502, 524, 529].includes(response.status)) t.fail(`${name}: status ${response.status}`)
  if (response.status !== 200) {
    const fault = JSON.parse(text) as { error: { code: number }; router_metadata?: object }
    if (fault.error.code !== response.status || !fault.router_metadata) t.fail(`${name}: ${text}`)
  } else if (body.stream === true) {
    const wrong = faultsOfStream(client, text)
    if (wrong.length > 0) t.fail(`${name}: ${wrong.join(', ')}`, { text })
  } else JSON.parse(text)
}

for (const lane of ['pass', 'observe', 'translate'] as const)
  t.test(`random faults, lane ${lane} where it may`, async (t) => {
    const [a, b] = [await startUpstream(script), await startUpstream(script)]
    const provider = (name: string, dialect: string, url: string): string =>
      `  ${name}: { dialect: ${dialect}, base_url: "${url}/v1", timeouts: { first_byte: 60ms, idle: 60ms } }`
    const gateway = await startGateway(
      `
providers:
${provider('ac', 'openai-chat', a.url)}
${provider('bc', 'openai-chat', b.url)}
${provider('ar', 'openai-responses', a.url)}
${provider('br', 'openai-responses', b.url)}
models:
  acme/one:
    context: 100000
    endpoints: [ ${['ac', 'bc', 'ar', 'br'].map((name) => `{ provider: ${name}, model: m, price: { prompt: "1.00", completion: "2.00" } }`).join(', ')} ]
`,
      { lane },
    )
    t.teardown(async () => {
      await gateway.close()
      await Promise.all([a.close(), b.close()])
    })
    const rounds = runs(10, 400)
    for (let round = 0; round < rounds; round++) await Promise.all(Array.from({ length: 6 }, () => once(t, gateway)))
    const rows = [...gateway.running.store.journal.export()]
    t.equal(rows.length, rounds * 6, `seed ${SEED}: one row each`)
    t.equal(rows.filter((row) => row.settled === undefined).length, 0, 'all of them settled')
    t.equal(gateway.running.drain.open, 0, 'nothing is under way')
    t.notMatch(gateway.logs.join('\n'), /"fault":"internal"|"unexpected"/)
  })
