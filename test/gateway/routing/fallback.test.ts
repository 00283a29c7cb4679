/** From endpoint to endpoint and from model to model: which errors move on, which return, and what the caller is told. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { object, parseStream } from '../../support/fold.ts'
import { messageEvents } from '../../support/fold-messages.ts'
import { CLIENTS, type Client, type Providers, startProviders } from '../../support/providers.ts'
import { type Answer, jsonAnswer, type Seen, sseAnswer } from '../../support/upstream.ts'
import { framesFor, replyFor, says, upstreamError } from '../../support/wire.ts'

const ORDER = { provider: { order: ['aye', 'bee', 'sea'] } }
const METADATA = { 'X-Router-Metadata': 'enabled' }
const THREE = ['aye', 'bee', 'sea']

interface Failure {
  name: string
  answer: (seen: Seen) => Answer
  status: number
  type: string
  code: string
  /** Milliseconds of the provider's own limit that must pass. */
  wait?: number | undefined
}

const error =
  (status: number, code: string): (() => Answer) =>
  () =>
    jsonAnswer({ error: { message: 'no', type: 'some_error', code } }, status)
const failure = (name: string, answer: Failure['answer'], told: [status: number, type: string, code: string], wait?: number): Failure => {
  const [status, type, code] = told
  return { name, answer, status, type, code, wait }
}
const BROKEN: [number, string, string] = [502, 'provider_unavailable', 'temporarily_unavailable']
const SILENT: [number, string, string] = [524, 'timeout', 'temporarily_unavailable']

/** Status of the provider's own answer, where that is not the status that the caller gets. */
const OWN_STATUS: Readonly<Record<string, number | null>> = {
  '500': 500,
  '503': 503,
  'our key refused': 401,
  'our account empty': 402,
  'no such model there': 404,
  'a reset': null,
  'an empty 200': 200,
  '504': 504,
  silence: null,
}

function ownStatus({ name, status }: Failure): number | null {
  const own = OWN_STATUS[name]
  return own === undefined ? status : own
}

/** Failures that another endpoint may not have. */
const MOVE_ON: readonly Failure[] = [
  failure('500', () => upstreamError(500), BROKEN),
  failure('503', () => upstreamError(503), BROKEN),
  failure('our key refused', () => upstreamError(401), BROKEN),
  failure('our account empty', () => upstreamError(402), BROKEN),
  failure('no such model there', () => upstreamError(404), [404, 'not_found', 'model_unavailable_upstream']),
  failure('a reset', () => ({ before: 'reset' }), BROKEN),
  failure('an empty 200', () => jsonAnswer({}), BROKEN),
  failure('504', () => upstreamError(504), SILENT),
  failure('silence', () => ({ before: 'stall' }), SILENT, 3000),
  failure('overload', () => upstreamError(529), [529, 'provider_overloaded', 'temporarily_unavailable']),
  failure('a rate limit', () => upstreamError(429), [429, 'rate_limit_exceeded', 'capacity_exhausted']),
]

/** Requests that no other endpoint of the same model would take. */
const RETURN: readonly Failure[] = [
  failure('a wrong value', error(400, 'invalid_value'), [400, 'invalid_request', '']),
  failure('409', error(409, 'conflict'), [409, 'invalid_request', '']),
  failure('422', error(422, 'invalid_value'), [422, 'unprocessable', '']),
  failure('too long', error(400, 'context_length_exceeded'), [400, 'context_length_exceeded', '']),
  failure('refused content', error(400, 'content_policy_violation'), [400, 'content_policy_violation', '']),
  failure('too large', error(413, 'too_large'), [413, 'payload_too_large', '']),
]

const LIMITS = 'timeouts: { first_byte: 3s, idle: 3s }'
const TWO = `  acme/two: { context: 128000, endpoints: [ { provider: bee, model: other, price: { prompt: "5.00", completion: "5.00" } } ] }\n`

async function asked(scene: Providers, asking: Promise<Response>, { wait }: Failure, silent: string): Promise<Response> {
  if (wait === undefined) return asking
  await scene.upstreams[silent].request(scene.upstreams[silent].requests.length)
  await scene.clock.advance(wait)
  return asking
}

/** The error of any dialect. */
function toldError(client: Client, body: JsonObject): { type: unknown; metadata: JsonObject; availability: JsonObject } {
  const told = object(body.error)
  const metadata = object(client === 'messages' ? (told.metadata ?? body.metadata) : told.metadata)
  return { type: client === 'messages' ? told.error_type : metadata.error_type, metadata, availability: object(told.availability) }
}

t.test('calls the second provider when the first one fails', async (t) => {
  await every(t, 'every case', async (t) => {
    for (const one of MOVE_ON)
      for (const client of CLIENTS) {
        const scene = await startProviders(t, { providers: ['aye', 'bee'], provider: () => LIMITS })
        scene.script(one.answer, 'aye')
        const response = await asked(scene, scene.ask(client, ORDER, METADATA), one, 'aye')
        t.equal(response.status, 200, `${client}: ${one.name}`)
        const body = (await response.json()) as JsonObject
        t.match(JSON.stringify(body), /"bee"/)
        t.match(body.router_metadata, {
          attempt: 2,
          attempts: [
            { provider: 'aye', status: ownStatus(one) },
            { provider: 'bee', status: 200 },
          ],
        })
        t.same(scene.calls(), [1, 1], 'one call each')
      }
  })
})

t.test('the record of a generation shows the status that each provider sent', async (t) => {
  await every(t, 'every case', async (t) => {
    for (const one of MOVE_ON)
      for (const stream of [false, true]) {
        const scene = await startProviders(t, { providers: ['aye', 'bee'], provider: () => LIMITS })
        scene.script(one.answer, 'aye')
        const response = await asked(scene, scene.ask('chat', { ...ORDER, stream }), one, 'aye')
        await response.text()
        const id = response.headers.get('x-generation-id')
        const { data } = (await (await scene.gateway.get(`/v1/generation?id=${id}`)).json()) as { data: JsonObject }
        t.match(
          data.provider_responses,
          [
            { provider_name: 'aye', status: ownStatus(one), code: String },
            { provider_name: 'bee', status: 200, code: undefined },
          ],
          `${one.name}, stream ${stream}`,
        )
      }
  })
})

t.test('returns the status of the last failure, and whether waiting helps', async (t) => {
  await every(t, 'every case', async (t) => {
    for (const one of MOVE_ON)
      for (const client of CLIENTS) {
        const scene = await startProviders(t, { providers: ['aye', 'bee'], provider: () => LIMITS })
        scene.script(one.answer, 'aye')
        const alone = { provider: { order: ['aye'], allow_fallbacks: false } }
        const response = await asked(scene, scene.ask(client, alone, METADATA), one, 'aye')
        const name = `${client}: ${one.name}`
        t.equal(response.status, one.status, name)
        const body = (await response.json()) as JsonObject
        const { type, availability } = toldError(client, body)
        t.equal(type, one.type, name)
        t.match(
          availability,
          {
            code: one.code,
            retryable: one.status !== 404 && !one.name.startsWith('our '),
            requested_models: ['acme/one'],
            affected_providers: ['aye'],
            docs_url: String,
          },
          name,
        )
        t.equal(response.headers.get('retry-after'), one.status === 429 ? '1' : null, `${name}: Retry-After`)
        t.match(
          body.router_metadata,
          { attempt: 1, attempts: [{ status: ownStatus(one) }], endpoints: { available: [{ selected: false }] } },
          name,
        )
        t.same(scene.calls(), [1, 0], `${name}: nobody else is called`)
      }
  })
})

t.test('returns a request that is wrong, and does not try it again on the same model', async (t) => {
  const scene = await startProviders(t, { providers: THREE, models: TWO })
  await every(t, 'every case', async (t) => {
    for (const one of RETURN)
      for (const client of CLIENTS) {
        const name = `${client}: ${one.name}`
        scene.heal()
        scene.script(one.answer, 'aye')
        const before = scene.calls()
        const response = await scene.ask(client, ORDER)
        t.equal(response.status, one.status, name)
        const { type, availability } = toldError(client, (await response.json()) as JsonObject)
        t.equal(type, one.type, name)
        t.same(availability, {}, `${name}: waiting would not help`)
        t.same(scene.calls(), [before[0] + 1, before[1], before[2]], name)
        scene.script((seen, index) => (seen.json.model === 'm' ? one.answer(seen) : says({ text: ['two'] })(seen, index)), 'bee')
        const other = await scene.ask(client, { ...ORDER, models: ['acme/two'] })
        t.equal(other.status, 200, `${name}: another model may take it`)
        t.match(await other.json(), { model: 'acme/two' }, 'the next model serves')
        t.same(scene.calls(), [before[0] + 2, before[1] + 1, before[2]], `${name}: but no other endpoint of the first`)
      }
  })
})

t.test('calls the next model whatever fails, and reports the price and slug of the one that served', async (t) => {
  await every(t, 'every case', async (t) => {
    for (const one of [...MOVE_ON, ...RETURN])
      for (const stream of [false, true]) {
        const scene = await startProviders(t, { providers: ['aye', 'bee'], provider: () => LIMITS, models: TWO })
        scene.script(one.answer, 'aye')
        const only = { models: ['acme/two'], provider: { order: ['aye'], allow_fallbacks: true, ignore: [] }, stream }
        scene.script((seen, index) => (seen.json.model === 'm' ? upstreamError(500) : says({ text: ['two'] })(seen, index)), 'bee')
        const response = await asked(scene, scene.ask('chat', only, METADATA), one, 'aye')
        t.equal(response.status, 200, one.name)
        const reply = stream ? parseStream(await response.text()).at(-1) : ((await response.json()) as JsonObject)
        t.match(
          reply,
          { model: 'acme/two', usage: { cost: 0.00009 }, router_metadata: { strategy: 'fallback', requested: 'acme/one' } },
          one.name,
        )
        const key = (await (await scene.gateway.get('/v1/key')).json()) as { data: { usage: number } }
        t.equal(key.data.usage, 0.00009, 'and so is the charge')
      }
  })
})

t.test('returns the last error with those before it where all endpoints fail', async (t) => {
  const scene = await startProviders(t, { providers: THREE, models: TWO })
  scene.script(() => upstreamError(500), 'aye')
  scene.script((seen) => upstreamError(seen.json.model === 'm' ? 429 : 529), 'bee')
  scene.script(() => upstreamError(504), 'sea')
  await every(t, 'every client', async (t) => {
    for (const client of CLIENTS) {
      const response = await scene.ask(client, { ...ORDER, models: ['acme/two'] }, METADATA)
      t.equal(response.status, 529, client)
      const body = (await response.json()) as JsonObject
      const { type, metadata, availability } = toldError(client, body)
      t.equal(type, 'provider_overloaded')
      t.match(metadata.previous_errors, [
        { provider: 'aye', code: 'upstream_error', status: 500 },
        { provider: 'bee', code: 'upstream_limited', status: 429 },
        { provider: 'sea', code: 'upstream_silent', status: 504 },
      ])
      t.match(availability, { requested_models: ['acme/one', 'acme/two'], affected_providers: ['aye', 'bee', 'sea'] })
      t.match(body.router_metadata, {
        attempt: 4,
        attempts: [{ status: 500 }, { status: 429 }, { status: 504 }, { status: 529, model: 'acme/two' }],
      })
      t.notMatch(JSON.stringify(body), /the provider says no/)
      await scene.clock.advance(120_000)
    }
  })
  scene.script(error(400, 'invalid_value'), 'bee')
  t.equal((await scene.ask('chat', { ...ORDER, models: ['acme/two'] })).status, 400, 'the last one, whatever it is')
})

t.test('all limited: 429 with the soonest of the hints', async (t) => {
  const scene = await startProviders(t, { providers: THREE })
  const hints: [string | undefined, string | undefined, string | undefined, string][] = [
    ['20', '4', '9', '4'],
    [undefined, '7', undefined, '7'],
    [undefined, undefined, undefined, '1'],
  ]
  await every(t, 'every client', async (t) => {
    for (const client of CLIENTS)
      for (const [aye, bee, sea, soonest] of hints) {
        for (const [name, hint] of Object.entries({ aye, bee, sea }))
          scene.script(() => upstreamError(429, 'slow', hint === undefined ? {} : { 'retry-after': hint }), name)
        const response = await scene.ask(client, { ...ORDER, stream: true })
        t.equal(response.status, 429, client)
        t.equal(response.headers.get('retry-after'), soonest)
        const { type, availability } = toldError(client, (await response.json()) as JsonObject)
        t.equal(type, 'rate_limit_exceeded')
        t.match(availability, { code: 'capacity_exhausted', retryable: true, retry_after: Number(soonest) })
        await scene.clock.advance(120_000)
      }
  })
})

t.test('a final failure after a long silence says in the stream whether waiting helps', async (t) => {
  const scene = await startProviders(t, { providers: ['aye'], provider: () => 'timeouts: { first_byte: 60s, idle: 60s }' })
  scene.script(() => ({ before: 'stall' }))
  for (const client of CLIENTS) {
    const before = scene.upstreams.aye.requests.length
    const asking = scene.ask(client, { stream: true })
    await scene.upstreams.aye.request(before)
    await scene.clock.advance(10_000)
    const response = await asking
    t.equal(response.status, 200, client)
    await scene.clock.advance(50_000)
    const text = await response.text()
    const last = (client === 'messages' ? messageEvents(text) : parseStream(text)).at(-1) ?? {}
    const { availability } = object(object(last.response ?? last).error)
    t.match(availability, { code: 'temporarily_unavailable', retryable: true, affected_providers: ['aye'] }, client)
  }
})

t.test('checks of our own are never tried again', async (t) => {
  const top = `guardrails: [ { name: secrets, direction: input, content_filters: [ { pattern: "forbidden", action: block } ] } ]
auth: { keys: [ { name: test, key: "sk-router-v1-0123456789abcdef" }, { name: poor, key: "sk-router-v1-fedcba9876543210", limit: "0.000001" } ] }
`
  const scene = await startProviders(t, { providers: THREE, models: TWO, top })
  const models = { models: ['acme/two'] }
  const refusals: [number, Promise<Response>][] = [
    [400, scene.ask('chat', { ...models, temperature: 'hot' })],
    [401, scene.ask('chat', models, { authorization: 'Bearer sk-nobody' })],
    [402, scene.ask('chat', models, { authorization: 'Bearer sk-router-v1-fedcba9876543210' })],
    [403, scene.ask('chat', { ...models, messages: [{ role: 'user', content: 'forbidden' }] })],
    [404, scene.ask('chat', { ...models, model: 'acme/none' })],
  ]
  for (const [status, response] of refusals) t.equal((await response).status, status)
  t.same(scene.calls(), [0, 0, 0])
})

async function spent(scene: Providers): Promise<number> {
  return ((await (await scene.gateway.get('/v1/key')).json()) as { data: { usage: number } }).data.usage
}

/** A whole answer or stream that ends so, with these tokens. */
function ends(seen: Seen, finish: string | null, text: string, tokens: number): Answer {
  const utterance = { text: [text], usage: { input: 1000, output: tokens } }
  const changed = (json: string): string => json.replaceAll('"finish_reason":"stop"', `"finish_reason":${JSON.stringify(finish)}`)
  if (seen.json.stream === true) return sseAnswer(framesFor(seen.path, utterance).map(changed))
  return jsonAnswer(JSON.parse(changed(JSON.stringify(replyFor(seen.path, utterance)))) as JsonObject)
}

async function insured(t: Test, scene: Providers, client: Client, stream: boolean, name: string): Promise<void> {
  const before = await spent(scene)
  const response = await scene.ask(client, { stream })
  await response.text()
  t.equal(await spent(scene), before, `${client}, stream ${stream}: ${name}`)
  const id = response.headers.get('x-generation-id')
  const record = (await (await scene.gateway.get(`/v1/generation?id=${id}`)).json()) as { data: JsonObject }
  t.equal(record.data.total_cost, 0, 'and the record says so')
}

t.test('charges nothing for a reply that ended in error, or that is empty without a reason', async (t) => {
  const scene = await startProviders(t, { providers: ['aye'] })
  await every(t, 'every client', async (t) => {
    for (const client of CLIENTS)
      for (const stream of [false, true]) {
        await scene.clock.advance(120_000)
        for (const [name, finish, text, tokens] of [
          ['an error after some content', 'error', 'half', 5],
          ['an error and nothing', 'error', '', 0],
          ['nothing, no reason', null, '', 0],
          ['nothing, a blank reason', '', '', 0],
        ] as [string, string | null, string, number][]) {
          scene.script((seen) => ends(seen, finish, text, tokens))
          await insured(t, scene, client, stream, name)
        }
        scene.script(() => upstreamError(500))
        await insured(t, scene, client, stream, 'a plain failure')
        scene.script((seen) => ends(seen, 'stop', 'whole', 5))
        const before = await spent(scene)
        await (await scene.ask(client, { stream })).text()
        t.ok((await spent(scene)) > before, `${client}: and what is whole is charged`)
        scene.script((seen) => ends(seen, 'stop', '', 0))
        const empty = await spent(scene)
        await (await scene.ask(client, { stream })).text()
        t.ok((await spent(scene)) > empty, `${client}: and so is nothing that was said on purpose`)
      }
  })
})

t.test('an end in error counts against the endpoint', async (t) => {
  const scene = await startProviders(t, {
    providers: ['aye', 'bee'],
    endpoint: (name) => `price: { prompt: "${name === 'aye' ? '0.01' : '100'}", completion: "0" }`,
  })
  scene.script((seen) => ends(seen, 'error', 'half', 5), 'aye')
  await (await scene.ask('chat')).text()
  scene.heal()
  t.equal(await scene.server('chat'), 'bee', 'for thirty seconds')
  await scene.clock.advance(31_000)
  t.equal(await scene.server('chat'), 'aye')
})

t.test('calls that no tool of the request would take count against the endpoint', async (t) => {
  const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }]
  const scene = await startProviders(t, {
    providers: ['aye', 'bee'],
    endpoint: (name) => `price: { prompt: "${name === 'aye' ? '1.00' : '9.00'}", completion: "0" }`,
  })
  const calling = (name: string, args: string) => says({ calls: [{ id: 'call_1', name, args: [args] }] })
  for (const name of ['aye', 'bee']) {
    scene.script(calling('look', '{"a":1}'), name)
    for (let i = 0; i < 12; i++) await (await scene.ask('chat', { tools, stream: i % 2 === 0, provider: { only: [name] } })).text()
  }
  const before = scene.calls()
  for (let i = 0; i < 6; i++) await (await scene.ask('chat', { tools })).text()
  t.ok(scene.calls()[0] > before[0], 'both are fine: the price decides')
  for (const [name, args] of [
    ['look', '{"a":'],
    ['unheard', '{}'],
    ['look', '[1]'],
  ]) {
    scene.script(calling(name, args), 'aye')
    for (let i = 0; i < 8; i++) await (await scene.ask('chat', { tools, stream: i % 2 === 0, provider: { order: ['aye', 'bee'] } })).text()
  }
  const after = scene.calls()
  for (let i = 0; i < 12; i++) await (await scene.ask('chat', { tools })).text()
  t.same(scene.calls(), [after[0], after[1] + 12], 'quality comes before price')
})
