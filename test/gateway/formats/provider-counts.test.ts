/**
 * Token counters of providers: a request whose outside input is bounded by the rest of the context alone is counted where that bound does
 * not fit, and held at the count; one that fits never waits for a counter, and no caller gets more out of it than its own request.
 */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { parseFacts } from '../../../src/ledger/facts.ts'
import { buildPdf } from '../../support/documents.ts'
import { eventually } from '../../support/eventually.ts'
import { KEY } from '../../support/gateway.ts'
import { type Client, PATHS } from '../../support/providers.ts'
import { type Scene, startScene } from '../../support/scene.ts'
import { type Answer, jsonAnswer, type Seen } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'

const OPEN = 'sk-router-v1-abcdef0123456789abcdef'
const SLOW = 'sk-router-v1-fedcba9876543210fedcba'

const config =
  (limit: string) =>
  (url: string): string =>
    `
auth:
  keys:
    - { name: app, key: "${KEY}", limit: "${limit}", provider_ids: [ "*" ] }
    - { name: open, key: "${OPEN}", provider_ids: [ "*" ] }
    - { name: slow, key: "${SLOW}", limit: "${limit}", provider_ids: [ "*" ], limits: { requests: 3 } }
providers:
  messages: { dialect: anthropic, base_url: "${url}", key: k }
  responses: { dialect: openai-responses, base_url: "${url}/v1", key: k }
  gemini: { dialect: gemini, base_url: "${url}/v1beta", key: k }
models:
${['messages', 'responses', 'gemini']
  .map(
    (name) => `  acme/${name}:
    context: 1000000
    max_output: 4096
    input: [text, image, file]
    endpoints: [ { provider: ${name}, model: up, price: { prompt: "1.00", completion: "1.00" } } ]`,
  )
  .join('\n')}
`

const isCount = ({ path }: Seen): boolean => /count_tokens|input_tokens|:countTokens/.test(path)

interface Place extends Scene {
  readonly counts: () => Seen[]
  readonly answers: () => Seen[]
}

interface Behaviour {
  readonly limit?: string
  /** Tokens that the counter says, or what it does instead. */
  readonly counted?: number | (() => Answer | Promise<Answer>)
  /** Tokens that the provider bills. */
  readonly billed?: number
}

async function place(t: Test, { limit = '0.15', counted = 100_000, billed = 100_000 }: Behaviour = {}): Promise<Place> {
  const scene = await startScene(t, {
    config: config(limit),
    answer: (seen) => {
      if (!isCount(seen)) return answerFor(seen, { text: ['fine'], usage: { input: billed, output: 5 } })
      if (typeof counted === 'function') return counted()
      return jsonAnswer(seen.path.includes('countTokens') ? { totalTokens: counted } : { input_tokens: counted })
    },
  })
  const { upstream } = scene
  return { ...scene, counts: () => upstream.requests.filter(isCount), answers: () => upstream.requests.filter((seen) => !isCount(seen)) }
}

const withFile = (source: JsonObject): JsonObject => ({
  max_tokens: 100,
  messages: [
    {
      role: 'user',
      content: [
        { type: 'document', source },
        { type: 'text', text: 'Sum it up' },
      ],
    },
  ],
})
const STORED = withFile({ type: 'file', file_id: 'file_011CPMxVD3fHLUhvTqtsQA5w' })
const PDF = withFile({
  type: 'base64',
  media_type: 'application/pdf',
  data: buildPdf(
    Array.from({ length: 200 }, () => 'x'),
    { packed: true },
  ).toString('base64'),
})
const inputFile = (part: JsonObject): JsonObject => ({
  max_output_tokens: 100,
  input: [{ role: 'user', content: [{ type: 'input_file', ...part }] }],
})

const COUNTED: readonly [name: string, client: Client, model: string, body: JsonObject, path: RegExp, has: RegExp][] = [
  ['a stored file', 'messages', 'messages', STORED, /^\/v1\/messages\/count_tokens/, /file_011CPMxVD3fHLUhvTqtsQA5w/],
  ['an address', 'messages', 'messages', withFile({ type: 'url', url: 'https://example.com/a.pdf' }), /count_tokens/, /example\.com/],
  ['a PDF of many pages', 'messages', 'messages', PDF, /count_tokens/, /application\/pdf/],
  ['a stored file', 'responses', 'responses', inputFile({ file_id: 'file-abc' }), /^\/v1\/responses\/input_tokens$/, /file-abc/],
  ['an address', 'responses', 'responses', inputFile({ file_url: 'https://example.com/a.pdf' }), /input_tokens$/, /example\.com/],
  [
    'cached content',
    'chat',
    'gemini',
    { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 99, cached_content: 'cachedContents/abc123' },
    /^\/v1beta\/models\/up:countTokens$/,
    /"cachedContent":"cachedContents\/abc123"/,
  ],
]

const send = (scene: Scene, client: Client, body: JsonObject, key = KEY): Promise<Response> =>
  scene.gateway.post(PATHS[client], body, { authorization: `Bearer ${key}` })

async function left(scene: Scene): Promise<number> {
  const { data } = (await (await scene.gateway.get('/v1/key')).json()) as { data: { limit_remaining: number; usage: number } }
  return data.limit_remaining + data.usage
}

for (const [name, client, model, body, path, has] of COUNTED)
  t.test(`${client} at ${model}, ${name}: served at the count, which is requested once`, async (t) => {
    const scene = await place(t)
    const reply = await send(scene, client, { ...body, model: `acme/${model}` })
    t.equal(reply.status, 200, await reply.text())
    t.equal(scene.counts().length, 1)
    t.match(scene.counts()[0]?.path, path)
    t.match(scene.counts()[0]?.body, has)
    t.equal(scene.answers().length, 1)
    t.equal(await left(scene), 0.15, 'nothing stays held')
  })

t.test('ten at once never cost more than the limit', async (t) => {
  const scene = await place(t)
  // A PDF's own bytes are not remembered, so each is counted.
  const replies = await Promise.all(Array.from({ length: 10 }, () => send(scene, 'messages', { ...PDF, model: 'acme/messages' })))
  const statuses = replies.map(({ status }) => status)
  t.ok(statuses.includes(200), statuses.join())
  t.ok(scene.answers().length * 0.1 <= 0.15, `${scene.answers().length} answers of $0.10`)
  t.equal(await left(scene), 0.15)
})

t.test('requests whose counts fit beside each other run at the same time', async (t) => {
  let running = 0
  let most = 0
  const scene = await place(t, { limit: '0.65' })
  const { script } = scene.upstream
  const waiting: (() => void)[] = []
  scene.upstream.script = async (seen, index) => {
    if (isCount(seen)) return await script(seen, index)
    most = Math.max(most, ++running)
    await new Promise<void>((resolve) => waiting.push(resolve))
    running--
    return await script(seen, index)
  }
  const replies = Array.from({ length: 4 }, () => send(scene, 'messages', { ...STORED, model: 'acme/messages' }))
  await eventually('all at the provider', () => waiting.length === 4)
  for (const resolve of waiting) resolve()
  t.same(
    (await Promise.all(replies)).map(({ status }) => status),
    [200, 200, 200, 200],
  )
  t.equal(most, 4)
})

t.test('a count that does not fit is refused, with its figure', async (t) => {
  const scene = await place(t, { counted: 600_000 })
  const reply = await send(scene, 'messages', { ...STORED, model: 'acme/messages' })
  t.equal(reply.status, 402)
  const { error } = (await reply.json()) as { error: { message: string } }
  t.match(error.message, /a file by its id, as the provider counts/)
  t.match(error.message, /may add 5\d{5} tokens/)
  t.equal(scene.answers().length, 0)
  t.equal(await left(scene), 0.15)
})

const FAILURES: readonly [string, () => Answer | Promise<Answer>][] = [
  ['500', () => ({ status: 500 })],
  ['404', () => ({ ...jsonAnswer({ error: { message: 'no such path' } }), status: 404 })],
  ['405', () => ({ status: 405 })],
  ['400', () => ({ ...jsonAnswer({ type: 'error', error: { type: 'invalid_request_error', message: 'no files here' } }), status: 400 })],
  ['no count', () => jsonAnswer({ fine: true })],
  ['a text', () => jsonAnswer({ input_tokens: 'few' })],
  ['a number below zero', () => jsonAnswer({ input_tokens: -5 })],
  ['no JSON', () => ({ headers: { 'content-type': 'text/html' }, body: ['<html>'] })],
  [
    'an endless body',
    () => ({ headers: { 'content-type': 'application/json' }, body: Array.from({ length: 200 }, () => 'x'.repeat(1024)) }),
  ],
  ['a cut', () => ({ before: 'reset' })],
]
for (const [name, counted] of FAILURES)
  t.test(`a counter that fails changes nothing: ${name}`, async (t) => {
    const scene = await place(t, { counted })
    const reply = await send(scene, 'messages', { ...STORED, model: 'acme/messages' })
    t.equal(reply.status, 402)
    t.match(await reply.text(), /a file by its id/)
    t.equal(scene.counts().length, 1)
    t.equal(scene.answers().length, 0)
  })

t.test('a counter that is silent is given five seconds', async (t) => {
  const scene = await place(t, { counted: () => ({ before: 'stall' }) })
  const reply = send(scene, 'messages', { ...STORED, model: 'acme/messages' })
  await eventually('the count', () => scene.counts()[0])
  await eventually('the end', async () => {
    await scene.clock.advance(1_000)
    return scene.counts()[0]?.aborted
  })
  t.ok(scene.clock.monotonic() <= 10_000, `${scene.clock.monotonic()} ms`)
  t.equal((await reply).status, 402)
})

t.test('a caller that leaves ends the count, and nothing stays held', async (t) => {
  const scene = await place(t, { counted: () => ({ before: 'stall' }) })
  const leaving = new AbortController()
  const reply = fetch(`${scene.gateway.url}${PATHS.messages}`, {
    method: 'POST',
    signal: leaving.signal,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}` },
    body: JSON.stringify({ ...STORED, model: 'acme/messages' }),
  }).catch(() => undefined)
  const seen = await eventually('the count', () => scene.counts()[0])
  leaving.abort()
  await reply
  // The gateway probes a connection that has only been closed halfway.
  await eventually('the end of the count', async () => {
    await scene.clock.advance(20)
    return seen.aborted
  })
  t.ok(scene.clock.monotonic() < 5_000, 'before its time-out')
  await eventually('nothing held', async () => (await left(scene)) === 0.15)
  t.equal(scene.answers().length, 0)
})

t.test('a counter that says too little: the key is charged up to its limit, the rest is in the ledger', async (t) => {
  const scene = await place(t, { counted: 1, billed: 900_000 })
  const reply = await send(scene, 'messages', { ...STORED, model: 'acme/messages' })
  t.equal(reply.status, 200)
  await reply.text()
  const [row] = scene.rows()
  t.ok(row?.settled)
  const { unrecovered_nano: unrecovered } = row?.settled ? parseFacts(row.settled) : {}
  t.equal(row?.settled?.cost, 150_000_000, 'the limit and no more')
  t.equal((row?.settled?.cost ?? 0) + Number(unrecovered), 900_005_000, 'to the nano-dollar')
})

t.test('no counter is called where the bound fits, none applies, or the request is refused anyway', async (t) => {
  const scene = await place(t, { limit: '5.00' })
  const body = { ...STORED, model: 'acme/messages' }
  t.equal((await send(scene, 'messages', body)).status, 200, 'the whole context fits')
  t.equal((await send(scene, 'messages', body, OPEN)).status, 200, 'no limit')
  const small = await place(t, { limit: '0.00001' })
  t.equal((await send(small, 'messages', body)).status, 402, 'the body alone does not fit')
  const usual = await place(t)
  t.equal((await send(usual, 'messages', body, `${KEY}x`)).status, 401)
  const servers = { ...body, mcp_servers: [{ type: 'url', name: 'm', url: 'https://mcp.example.com/mcp' }] }
  t.equal((await send(usual, 'messages', servers)).status, 402, 'what servers add is not counted')
  t.equal((await usual.gateway.post('/v1/plan', { ...body })).status, 402, 'a plan sends nothing')
  for (const each of [scene, small, usual]) t.equal(each.counts().length, 0)
})

t.test("counts are within the key's own rate, and bounded beside it", async (t) => {
  const scene = await place(t, { counted: 900_000 })
  const body = { ...STORED, model: 'acme/messages' }
  const sent = async (times: number, key?: string): Promise<number[]> => {
    const statuses: number[] = []
    for (let i = 0; i < times; i++) statuses.push((await send(scene, 'messages', body, key)).status)
    return statuses
  }
  const statuses = await sent(10, SLOW)
  t.equal(statuses.filter((status) => status === 429).length, 7)
  t.equal(scene.counts().length, 3)
  const many = await sent(100)
  t.ok(many.every((status) => status === 402))
  t.equal(scene.counts().length, 33, 'thirty a minute')
  await scene.clock.advance(60_000)
  t.equal((await send(scene, 'messages', body)).status, 402)
  t.equal(scene.counts().length, 34)
})

t.test('an earlier count of a file bounds later ones, at the same model alone', async (t) => {
  const scene = await place(t, { limit: '0.55' })
  const body = { ...STORED, model: 'acme/messages' }
  for (let turn = 0; turn < 4; turn++) {
    const reply = await send(scene, 'messages', body)
    t.equal(reply.status, 200, `${turn}: ${await reply.text()}`)
  }
  t.equal(scene.counts().length, 1, 'counted once, remembered then')
  const other = withFile({ type: 'file', file_id: 'file_0another' })
  await (await send(scene, 'messages', { ...other, model: 'acme/messages' })).text()
  t.equal(scene.counts().length, 2, 'another file')
})

t.test('a request that may leave the file out, or reads it otherwise, bounds no later one', async (t) => {
  const scene = await place(t, { billed: 10 })
  const [message] = STORED.messages as JsonObject[]
  const later = { ...STORED, model: 'acme/messages' }
  const edits = { context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } }
  t.equal((await send(scene, 'messages', { ...later, ...edits })).status, 200)
  t.equal((await send(scene, 'messages', later)).status, 200)
  t.equal(scene.counts().length, 2, 'counted again')
  t.equal((await send(scene, 'messages', later)).status, 200)
  t.equal(scene.counts().length, 2, 'the second one is remembered')
  const twice = { ...later, messages: [message, { role: 'assistant', content: 'Fine' }, message] }
  await (await send(scene, 'messages', twice)).text()
  const low = inputFile({ file_id: 'file-abc', detail: 'low' })
  t.equal((await send(scene, 'responses', { ...low, model: 'acme/responses' })).status, 200)
  t.equal((await send(scene, 'responses', { ...inputFile({ file_id: 'file-abc' }), model: 'acme/responses' })).status, 200)
  t.equal(scene.counts().length, 4, 'each detail is counted')
})
