/** The calls behind one embedding request: split, in order, failing, falling over, paid once. */
import t from 'tap'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import type { GenerationRecord } from '../../../src/ledger/types.ts'
import { FakeClock, turn, turns } from '../../support/clock.ts'
import {
  base64Floats,
  inputNumbers,
  marks,
  numbersIn,
  openaiVectors,
  readError,
  readVectors,
  type Vectors,
} from '../../support/embedder.ts'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { heardLeave, READ_ON } from '../../support/leaving.ts'
import { type Answer, Gate, jsonAnswer, type Script, startUpstream } from '../../support/upstream.ts'

const PATH = '/v1/embeddings'
const LIMIT = 10
/** Milliseconds that a provider has for a whole reply, by default. */
const WHOLE_REPLY = 600_000
/** Milliseconds for which a provider with `on_abort: drain` is read on. */
const DRAIN = 30_000
const ORDER = { provider: { order: ['first', 'second'] } }

/** Presets whose provider takes fewer inputs than OpenAI. */
const BOUNDS = [
  ['cloudflare', 100],
  ['deepinfra', 1024],
  ['jina', 512],
  ['mistral', 512],
  ['qwen', 10],
  ['siliconflow', 64],
] as const

const clock = new FakeClock(3)
const first = await startUpstream(openaiVectors())
const second = await startUpstream(openaiVectors())
const gateway: Gateway = await startGateway(
  `
auth: { keys: [ { name: app, key: sk-router-v1-0123456789abcdef, limit: "${LIMIT}.00" } ] }
providers:
  first: { name: First, dialect: openai-chat, base_url: "${first.url}/v1", key: sk-up, quirks: { max_batch: 3 } }
  second: { name: Second, dialect: openai-chat, base_url: "${second.url}/v1", key: sk-up }
${BOUNDS.map(([preset]) => `  ${preset}: { preset: ${preset}, base_url: "${second.url}/v1", key: sk-up }`).join('\n')}
  nvidia: { preset: nvidia, base_url: "${second.url}/v1", key: sk-up }
  drained: { dialect: openai-chat, base_url: "${first.url}/v1", key: sk-up, on_abort: drain, quirks: { max_batch: 3 } }
  bad: { dialect: sim, faults: { status: 503 } }
  slow: { dialect: sim, faults: { delay: 10s } }
  cut: { dialect: sim, faults: { cut_after: 1 } }
  stuck: { dialect: sim, faults: { stall_after: 1 } }
models:
  acme/both:
    kind: embedding
    context: 1000
    endpoints:
      - { provider: first, model: m, price: { prompt: "1.00" } }
      - { provider: second, model: m, price: { prompt: "2.00" } }
  acme/one: { kind: embedding, context: 1000, endpoints: [ { provider: first, model: m, price: { prompt: "1.00" } } ] }
  acme/other: { kind: embedding, context: 1000, endpoints: [ { provider: second, model: m, price: { prompt: "2.00" } } ] }
${BOUNDS.map(([preset]) => `  acme/${preset}: { kind: embedding, endpoints: [ { provider: ${preset}, model: m, price: free } ] }`).join('\n')}
  acme/nvidia: { kind: embedding, endpoints: [ { provider: nvidia, model: m, price: free } ] }
  acme/drained: { kind: embedding, endpoints: [ { provider: drained, model: m, price: { prompt: "1.00" } } ] }
  acme/tokens: { kind: embedding, endpoints: [ { provider: second, model: m, price: free, quirks: { max_batch_tokens: 5 } } ] }
  sim/bad: { kind: embedding, endpoints: [ { provider: bad, model: embed } ] }
  sim/slow: { kind: embedding, endpoints: [ { provider: slow, model: embed } ] }
  sim/cut: { kind: embedding, endpoints: [ { provider: cut, model: embed } ] }
  sim/stuck: { kind: embedding, endpoints: [ { provider: stuck, model: embed } ] }
`,
  { clock },
)
t.teardown(async () => {
  await gateway.close()
  await Promise.all([first.close(), second.close()])
})

t.beforeEach(async () => {
  // Health is forgotten, so that no test sees the troubles of another.
  await clock.advance(3_600_000)
  first.script = openaiVectors()
  second.script = openaiVectors()
})

const ask = (body: JsonObject, headers?: Record<string, string>): Promise<Response> => gateway.post(PATH, body, headers)
const inputs = (count: number): string[] => Array.from({ length: count }, (_, i) => `text ${i}`)
const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i)
const embed = async (body: JsonObject): Promise<Vectors> => {
  const response = await ask(body)
  t.equal(response.status, 200)
  return readVectors(response)
}
const spent = async (): Promise<number> => {
  const { data } = (await (await gateway.get('/v1/key')).json()) as { data: { usage: number; limit_remaining: number } }
  t.equal(Math.round((data.usage + data.limit_remaining) * 1e9), LIMIT * 1e9, 'no hold is left open')
  return Math.round(data.usage * 1e9)
}
/** Cost of an action, in nano-dollars. */
const actionCost = async (action: () => Promise<unknown>): Promise<number> => {
  const before = await spent()
  await action()
  return (await spent()) - before
}
const failing: Script = () => jsonAnswer({ error: { message: 'no', type: 'server_error' } }, 500)
const jsonInput = (json: JsonObject): string[] => json.input as string[]

t.test('lists are split by what each provider is known to take', async (t) => {
  for (const [preset, most] of BOUNDS) {
    const before = second.requests.length
    const reply = await embed({ model: `acme/${preset}`, input: inputs(most + 2) })
    t.same(marks(reply), numbers(most + 2), preset)
    const sizes = second.requests.slice(before).map(({ json }) => jsonInput(json).length)
    t.equal(Math.max(...sizes), most, preset)
  }
})

t.test('NVIDIA gets the kind of input, without which it refuses', async (t) => {
  for (const kind of ['query', 'passage']) {
    await embed({ model: 'acme/nvidia', input: 'text 1', input_type: kind })
    t.equal(second.requests.at(-1)?.json.input_type, kind)
  }
})

t.test('a batch is split by what the provider takes, and comes back as one', async (t) => {
  const before = first.requests.length
  let reply: Vectors | undefined
  const cost = await actionCost(async () => {
    reply = await embed({ model: 'acme/one', input: inputs(10) })
  })
  t.same(marks(reply as Vectors), numbers(10))
  t.same(
    reply?.data.map(({ index }) => index),
    numbers(10),
  )
  const sizes = first.requests.slice(before).map(({ json }) => jsonInput(json).length)
  t.same(sizes.sort(), [1, 3, 3, 3])
  t.equal(reply?.usage.prompt_tokens, 28, 'the sum over the calls')
  t.equal(cost, 28_000)
  const tokens = second.requests.length
  t.same(marks(await embed({ model: 'acme/tokens', input: inputs(10) })), numbers(10))
  t.ok(second.requests.length - tokens > 1, 'split by tokens as well')
})

t.test('at most four calls at once', async (t) => {
  const gate = new Gate()
  let open = 0
  let most = 0
  first.script = async (seen, index): Promise<Answer> => {
    most = Math.max(most, ++open)
    if (most < 4) await gate.opened
    else gate.open()
    await turn()
    open--
    return openaiVectors()(seen, index)
  }
  t.same(marks(await embed({ model: 'acme/one', input: inputs(30) })), numbers(30))
  t.equal(most, 4)
})

t.test('order exact with one call failing first', async (t) => {
  await every(t, 'every break_', async (t) => {
    for (const break_ of [failing, (): Answer => ({ before: 'reset' }), (): Answer => jsonAnswer({ data: [] })]) {
      let failed = 0
      first.script = (seen, index) =>
        jsonInput(seen.json)[0] === 'text 3' && failed++ === 0 ? break_(seen, index) : openaiVectors()(seen, index)
      let reply: Vectors | undefined
      const cost = await actionCost(async () => {
        reply = await embed({ model: 'acme/one', input: inputs(11) })
      })
      t.same(marks(reply as Vectors), numbers(11))
      t.equal(failed, 2, 'it was asked again, and no other')
      t.equal(cost, 28_000, 'what failed costs nothing')
      await clock.advance(3_600_000)
    }
  })
})

t.test('an endpoint that goes on failing is left, with all that it has brought', async (t) => {
  first.script = (seen, index) => (jsonInput(seen.json)[0] === 'text 3' ? failing(seen, index) : openaiVectors()(seen, index))
  const body = { model: 'acme/both', input: inputs(11), ...ORDER }
  const response = await ask(body, { 'X-Router-Metadata': 'enabled' })
  const reply = await readVectors(response)
  t.same(marks(reply), numbers(11))
  t.equal(reply.provider, 'Second')
  t.same(second.requests.at(-1)?.json.input, inputs(11), 'asked for everything, in one call')
  t.equal(reply.usage.cost, 0.000014, 'what the first had brought is not charged')
  t.match(reply.router_metadata, {
    attempts: [
      { provider: 'First', status: 500 },
      { provider: 'Second', status: 200 },
    ],
  })
  await clock.advance(3_600_000)
  const before = first.requests.length
  first.script = failing
  await embed(body)
  t.ok(first.requests.length - before <= 5, 'an endpoint that is down is left at once')
  await clock.advance(3_600_000)
  const alone = await ask({ ...body, model: 'acme/one' })
  t.equal(alone.status, 502)
  await clock.advance(3_600_000)
  const firm = await ask({ ...body, provider: { order: ['first'], allow_fallbacks: false } })
  t.equal(firm.status, 502)
  await clock.advance(3_600_000)
  const fallen = await embed({ model: 'acme/one', models: ['acme/other'], input: 'x 5' })
  t.match(fallen, { model: 'acme/other', provider: 'Second' }, 'from model to model as well')
})

/** Replies that are none, though they come with status 200. */
const SPOILT: Record<string, (reply: JsonObject) => Json> = {
  'a vector missing': (reply) => ({ ...reply, data: (reply.data as Json[]).slice(1) }),
  'a vector too many': (reply) => ({ ...reply, data: [...(reply.data as Json[]), ...(reply.data as Json[])] }),
  'two of one index': (reply) => ({ ...reply, data: (reply.data as JsonObject[]).map((each) => ({ ...each, index: 0 })) }),
  'an index beyond': (reply) => ({ ...reply, data: (reply.data as JsonObject[]).map((each, i) => ({ ...each, index: i + 1 })) }),
  'vectors of two lengths': (reply) => ({
    ...reply,
    data: (reply.data as JsonObject[]).map((each, i) => ({ ...each, embedding: i === 0 ? [1] : [1, 2] })),
  }),
  'no number': (reply) => ({ ...reply, data: (reply.data as JsonObject[]).map((each) => ({ ...each, embedding: [1, 'x', 3, 4] })) }),
  nothing: (reply) => ({ ...reply, data: (reply.data as JsonObject[]).map((each) => ({ ...each, embedding: null })) }),
  'an empty vector': (reply) => ({ ...reply, data: (reply.data as JsonObject[]).map((each) => ({ ...each, embedding: [] })) }),
  'a list of vectors': (reply) => ({
    ...reply,
    data: (reply.data as JsonObject[]).map((each) => ({ ...each, embedding: [[1, 2, 3, 4]] })),
  }),
  'not a number in base64': (reply) => ({
    ...reply,
    data: (reply.data as JsonObject[]).map((each) => ({ ...each, embedding: base64Floats([1, Number.NaN, 3, 4]) })),
  }),
  'broken base64': (reply) => ({ ...reply, data: (reply.data as JsonObject[]).map((each) => ({ ...each, embedding: 'AAAA*' })) }),
  'no data': () => ({ object: 'list' }),
  'an error': () => ({ error: { message: 'down', type: 'server_error' } }),
  'an array': () => [],
}

const ANSWERS: Record<string, Script> = {
  ...Object.fromEntries(Object.entries(SPOILT).map(([name, spoil]): [string, Script] => [name, openaiVectors({ spoil })])),
  'no JSON': () => ({ headers: { 'content-type': 'text/html' }, body: ['<html>'] }),
  empty: () => ({ body: [] }),
  'cut short': () => ({ headers: { 'content-type': 'application/json' }, body: ['{"data":[{"index":0,"embedding":[1,2'], after: 'close' }),
  'ended in the middle': () => ({ headers: { 'content-type': 'application/json' }, body: ['{"data":[{"index":0,"embedding":[1,2'] }),
  'a number of infinite size': () => jsonAnswer('{"data":[{"index":0,"embedding":[1e999,1,1,1]}]}'),
  'no end of numbers': () => ({ body: [`{"data":[{"index":0,"embedding":[${'1,'.repeat(300_000)}1]}]}`] }),
  'no end of blanks': () => ({ body: [`{"data":[${' '.repeat(20_000_000)}]}`] }),
  'no end of blanks in a vector': () => ({ body: [`{"data":[{"index":0,"embedding":[1,${' '.repeat(3_000_000)}1,1,1]}]}`] }),
}

t.test('a reply that is none goes on to the next endpoint', async (t) => {
  const body = { model: 'acme/both', input: inputs(2), dimensions: 4, ...ORDER }
  await every(t, 'every case', async (t) => {
    for (const [name, script] of Object.entries(ANSWERS)) {
      first.script = script
      const reply = await embed(body)
      t.equal(reply.provider, 'Second', name)
      t.same(marks(reply), numbers(2), name)
      await clock.advance(3_600_000)
      const alone = await ask({ ...body, model: 'acme/one' })
      t.equal(alone.status, 502, name)
      t.match(await readError(alone), { code: 502, metadata: { error_type: 'provider_unavailable' } }, name)
      await clock.advance(3_600_000)
    }
  })
  t.equal(await actionCost(() => ask({ ...body, model: 'acme/one' })), 0, 'nothing is charged for it')
})

t.test('dimensions that a server ignores are a refusal that names them, and no failure of the endpoint', async (t) => {
  const uptime = async (model: string): Promise<unknown> => {
    const { data } = (await (await gateway.get(`/v1/models/${model}/endpoints`)).json()) as { data: { endpoints: JsonObject[] } }
    return data.endpoints[0]?.uptime_last_5m
  }
  await clock.advance(86_400_000)
  const body = { model: 'acme/both', input: inputs(2), dimensions: 4, ...ORDER }
  await every(t, 'every length', async (t) => {
    for (const length of [3, 64, 1536]) {
      first.script = openaiVectors({
        spoil: (reply) => ({
          ...reply,
          data: (reply.data as JsonObject[]).map((each) => ({ ...each, embedding: inputNumbers(1, length) })),
        }),
      })
      const both = await actionCost(async () => {
        t.equal((await embed(body)).provider, 'Second', 'another provider may know them')
      })
      t.equal(both, 21_000, 'what both have counted')
      const before = await spent()
      const alone = await ask({ ...body, model: 'acme/one' })
      t.equal(alone.status, 400)
      t.match(await readError(alone), {
        code: 400,
        message: `dimensions: the model gives vectors of ${length} numbers there`,
        param: 'dimensions',
        metadata: { error_type: 'invalid_request', field: 'dimensions' },
      })
      t.equal((await spent()) - before, 7_000, 'the provider has worked for it, and bills it')
      t.equal(await uptime('acme/one'), null, 'it does not count')

      const calls = first.requests.length
      t.equal((await embed(body)).provider, 'Second')
      const again = await ask({ ...body, model: 'acme/one' })
      t.equal(again.status, 400)
      t.match(await readError(again), { message: new RegExp(`^dimensions: .* gives vectors of ${length} numbers$`), param: 'dimensions' })
      t.equal(first.requests.length, calls, 'it is remembered: the provider does not work for vectors of no use')
      t.equal((await spent()) - before, 21_000, 'only the second provider has worked')
      const own = await ask({ ...body, model: 'acme/one', dimensions: length })
      t.equal(own.status, 200, 'its own length may be requested')
      await own.text()
      await clock.advance(600_001)
      await (await ask({ ...body, model: 'acme/one' })).text()
      t.equal(first.requests.length, calls + 2, 'and it is asked anew after ten minutes')
      await clock.advance(600_001)
    }
  })
  first.script = () =>
    jsonAnswer(
      {
        error: {
          code: 500,
          type: 'server_error',
          message: 'input (1202 tokens) is too large to process. increase the physical batch size (current batch size: 512)',
        },
      },
      500,
    )
  const long = await ask({ model: 'acme/one', input: 'x' })
  t.equal(long.status, 400)
  t.match(await readError(long), { metadata: { error_type: 'context_length_exceeded' } }, 'llama.cpp')
  t.equal(await uptime('acme/one'), null)
  first.script = openaiVectors()
})

t.test('however a reply arrives', async (t) => {
  const body = { model: 'acme/other', input: inputs(40), dimensions: 64 }
  const expected = await embed(body)
  await every(t, 'every how', async (t) => {
    for (const how of [{ split: 1 }, { split: 3 }, { split: 1000 }, { gzip: true }, { gzip: true, split: 100 }]) {
      second.script = async (seen, index) => ({ ...(await openaiVectors()(seen, index)), ...how })
      for (const encoding of ['float', 'base64']) {
        const reply = await embed({ ...body, encoding_format: encoding })
        t.same(marks(reply), marks(expected), JSON.stringify(how))
        if (encoding === 'float') t.same(reply.data, expected.data)
      }
    }
  })
})

t.test('a long reply in either form, and in both at once', async (t) => {
  const body = { model: 'acme/other', input: inputs(120), dimensions: 1536 }
  const forms = {
    floats: () => false,
    base64: () => true,
    'the one and the other': (index: number) => index % 2 === 1,
    'first floats': (index: number) => index > 60,
  }
  await every(t, 'every case', async (t) => {
    for (const [name, isBase64] of Object.entries(forms)) {
      second.script = ({ json }) => {
        const data = jsonInput(json).map((text, index) => {
          const vector = inputNumbers(text, 1536)
          return { object: 'embedding', index, embedding: isBase64(index) ? base64Floats(vector) : vector }
        })
        return jsonAnswer({ object: 'list', data, model: 'm', usage: { prompt_tokens: 9, total_tokens: 9 } })
      }
      for (const encoding of ['float', 'base64'] as const) {
        const { data } = await embed({ ...body, encoding_format: encoding })
        const wrong = data.findIndex(({ embedding }, index) => {
          const found = typeof embedding === 'string' ? numbersIn(embedding) : embedding
          return JSON.stringify(found) !== JSON.stringify(inputNumbers(`text ${index}`, 1536))
        })
        t.same([data.length, wrong], [120, -1], `${name}, asked for ${encoding}`)
      }
    }
  })
})

t.test('a long reply to one who reads slowly, and to one who leaves', async (t) => {
  const body = { model: 'acme/other', input: inputs(600), dimensions: 1536 }
  const response = await ask(body)
  const { length } = Object.fromEntries([...response.headers].map(([name, value]) => [name === 'content-length' ? 'length' : name, value]))
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const pieces: Uint8Array[] = []
  for (;;) {
    const { value, done } = await reader.read()
    if (done) break
    pieces.push(value)
    await turns(3)
  }
  const bytes = Buffer.concat(pieces)
  t.equal(`${bytes.length}`, length)
  t.same(marks(JSON.parse(bytes.toString()) as Vectors), numbers(600))
  const left = await ask(body)
  const half = (left.body as ReadableStream<Uint8Array>).getReader()
  await half.read()
  await half.cancel()
  t.equal((await embed({ ...body, input: 'x 3' })).data.length, 1, 'the gateway goes on')
  await spent()
})

t.test('returns the refusal of a provider', async (t) => {
  const body = { model: 'acme/both', input: inputs(2), ...ORDER }
  const rows: [status: number, error: JsonObject, told: number, type: string][] = [
    [400, { code: 'invalid_value', param: 'dimensions' }, 400, 'invalid_request'],
    [400, { message: "This model's maximum context length is 8192 tokens" }, 400, 'context_length_exceeded'],
    [413, {}, 413, 'payload_too_large'],
  ]
  await every(t, 'every case', async (t) => {
    for (const [status, error, told, type] of rows) {
      const before = second.requests.length
      first.script = () => jsonAnswer({ error }, status)
      const response = await ask(body)
      t.equal(response.status, told)
      t.match(await readError(response), { metadata: { error_type: type } })
      t.equal(second.requests.length, before, 'no other would take it')
    }
  })
  for (const status of [401, 402, 404, 429, 500, 503, 529]) {
    first.script = () => jsonAnswer({ error: { message: 'no' } }, status)
    t.equal((await embed(body)).provider, 'Second', `${status}`)
    await clock.advance(3_600_000)
  }
  first.script = () => jsonAnswer({ error: { message: 'sk-up is wrong' } }, 401)
  t.notMatch(await (await ask({ ...body, model: 'acme/one' })).text(), /sk-up/)
  await clock.advance(3_600_000)
  first.script = () => jsonAnswer({ error: {} }, 429, { 'retry-after': '7' })
  const limited = await ask({ ...body, model: 'acme/one' })
  t.equal(limited.status, 429)
  t.equal(limited.headers.get('retry-after'), '7')
})

t.test('the faults of the simulated provider', async (t) => {
  t.equal((await ask({ model: 'sim/bad', input: 'x' })).status, 502)
  t.equal((await ask({ model: 'sim/cut', input: inputs(3) })).status, 502)
  const delays = (): number => clock.waiting.filter((delay) => delay === 10_000).length
  const before = delays()
  const slow = ask({ model: 'sim/slow', input: 'x' })
  await eventually('the slow reply has begun', () => delays() > before)
  await clock.advance(10_000)
  t.equal((await slow).status, 200)
  const stuck = ask({ model: 'sim/stuck', input: inputs(3) }, { 'X-Router-Deadline': '7' })
  await clock.armed(7000)
  await clock.advance(7000)
  t.equal((await stuck).status, 408, 'our own deadline')
})

t.test('a silent provider', async (t) => {
  first.script = () => ({ before: 'stall' })
  const pending = ask({ model: 'acme/both', input: 'x 1', ...ORDER })
  await first.request(first.requests.length)
  await clock.armed(WHOLE_REPLY)
  await clock.advance(WHOLE_REPLY)
  t.equal((await readVectors(await pending)).provider, 'Second')
})

const ledgerRows = (): GenerationRecord[] => [...gateway.running.store.journal.export()]

/** Sends, and leaves once the provider has been asked so often. @returns the row that was settled. */
async function leaving(
  model: string,
  { count, calls, after }: { count: number; calls: number; after?: () => void },
): Promise<GenerationRecord> {
  const from = first.requests.length
  const rows = ledgerRows().length
  const leaver = new AbortController()
  const { signal } = leaver
  const headers = { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' }
  const response = fetch(gateway.url + PATH, { method: 'POST', headers, body: JSON.stringify({ model, input: inputs(count) }), signal })
  const left = response.then(
    () => false,
    () => true,
  )
  for (let i = 0; i < calls; i++) await first.request(from + i)
  await oneUnderWay()
  leaver.abort()
  t.ok(await left, 'the caller has gone')
  await heardLeave(clock, after ? DRAIN : READ_ON)
  if (after) after()
  else await clock.advance(READ_ON)
  return eventually('the settlement', () => {
    const row = ledgerRows()[rows]
    return row?.settled && row
  })
}

/** Resolves once the gateway has taken in the replies of all calls but one. */
const oneUnderWay = (): Promise<true> =>
  eventually('one call is left under way', () => clock.waiting.filter((delay) => delay === WHOLE_REPLY).length === 1)

t.test('a deadline is charged as if the caller had left', async (t) => {
  first.script = async (seen, index) => (jsonInput(seen.json)[0] === 'text 3' ? { before: 'stall' } : openaiVectors()(seen, index))
  const from = first.requests.length
  const cost = await actionCost(async () => {
    const asked = ask({ model: 'acme/one', input: inputs(12) }, { 'X-Router-Deadline': '5' })
    for (let i = 0; i < 4; i++) await first.request(from + i)
    await oneUnderWay()
    await clock.advance(5_000)
    t.equal((await asked).status, 408)
  })
  const { settled, id } = ledgerRows().at(-1) as GenerationRecord
  const input = settled?.input ?? 0
  t.match(settled, { status: 'failed', estimated: true, cost: input * 1000 })
  t.ok(input > 21 && input < 21 + 20, `${input}: three reports of 7, and an estimate of the fourth`)
  t.equal(cost, settled?.cost)
  const { data } = (await (await gateway.get(`/v1/generation?id=${id}`)).json()) as { data: JsonObject }
  t.equal(data.charge_reason, 'caller/content/estimated')
})

t.test('a caller that leaves is charged once, for what was under way', async (t) => {
  const gate = new Gate()
  // Of four calls that begin, three are answered.
  const script: Script = async (seen, index) => {
    if (jsonInput(seen.json)[0] === 'text 3') await gate.opened
    return openaiVectors()(seen, index)
  }
  first.script = script
  let row: GenerationRecord | undefined
  const cost = await actionCost(async () => {
    row = await leaving('acme/one', { count: 12, calls: 4 })
  })
  t.match(row?.settled, { status: 'aborted', estimated: true, output: 0 })
  const input = row?.settled?.input ?? 0
  t.ok(input > 21 && input < 21 + 20, `${input}: three reports of 7, and an estimate of the fourth`)
  t.equal(cost, input * 1000)
  t.equal(row?.settled?.cost, cost)
  const drained = await leaving('acme/drained', { count: 12, calls: 4, after: gate.open })
  t.match(drained.settled, { status: 'aborted', input: 28, estimated: false, cost: 28_000 }, 'a provider that is read to its end')
})
