/** `router_metadata` after the fact (docs/contract.md#router-metadata), in every dialect: where a request went and why. */
import t, { type Test } from 'tap'
import { FAULTS, Fault, type FaultCode } from '../../../src/core/faults.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import type { Exchange } from '../../../src/pipeline/exchange.ts'
import { metadataOnFault } from '../../../src/pipeline/reply/metadata.ts'
import { every } from '../../support/every.ts'
import { list, object, parseStream } from '../../support/fold.ts'
import { messageEvents } from '../../support/fold-messages.ts'
import { CLIENTS, type Client, type Providers, type ProvidersOptions, questionFor, startProviders } from '../../support/providers.ts'
import { jsonAnswer, sseAnswer } from '../../support/upstream.ts'
import { framesFor, says, upstreamError } from '../../support/wire.ts'

const ON = { 'X-Router-Metadata': 'enabled' }
const ORDER = { provider: { order: ['aye', 'bee', 'sea'] } }
const REQUIRED = ['requested', 'strategy', 'region', 'summary', 'attempt', 'is_byok', 'endpoints']
const OPTIONAL = ['attempts', 'params', 'pipeline']
const STRATEGIES = ['direct', 'auto', 'free', 'latest', 'alias', 'fallback', 'pareto', 'bodybuilder', 'fusion']

const three = (t: Test, options: Partial<ProvidersOptions> = {}) => startProviders(t, { providers: ['aye', 'bee', 'sea'], ...options })

/** Events of a stream of any dialect. */
function events(client: Client, text: string): JsonObject[] {
  return client === 'messages' ? messageEvents(text) : parseStream(text)
}

/** Place of the metadata in the terminal event. */
const heldBy = (event: JsonObject): JsonObject | undefined =>
  ['router_metadata' in event ? event : undefined, 'router_metadata' in object(event.response) ? object(event.response) : undefined].find(
    Boolean,
  )

/** Checks the shape against the published one. */
function wellFormed(t: Test, metadata: JsonObject, name: string): void {
  for (const field of REQUIRED) t.ok(field in metadata, `${name}: ${field}`)
  t.same(
    Object.keys(metadata).filter((field) => !REQUIRED.includes(field) && !OPTIONAL.includes(field)),
    [],
    `${name}: nothing else`,
  )
  t.ok(STRATEGIES.includes(String(metadata.strategy)), `${name}: ${metadata.strategy}`)
  t.match(metadata, { requested: String, summary: /^available=\d+(, selected=.+)?$/, attempt: Number, is_byok: false, region: null }, name)
  const { total, available } = object(metadata.endpoints)
  t.equal(total, list(available).length, `${name}: total`)
  for (const endpoint of list(available)) t.match(endpoint, { provider: String, model: String, selected: Boolean })
  const attempts = list(metadata.attempts)
  const lastTurn = attempts.filter(({ turn }) => turn === attempts.at(-1)?.turn)
  t.equal(metadata.attempt, lastTurn.length, `${name}: attempts of the turn are counted`)
  for (const attempt of attempts) {
    t.match(attempt, { provider: String, model: String })
    t.ok(attempt.status === null || Number.isInteger(attempt.status), `${name}: the provider's own status, or null`)
  }
}

const selected = (metadata: JsonObject): JsonObject[] => list(object(metadata.endpoints).available).filter((endpoint) => endpoint.selected)

/** The metadata of a 200, stream or not. */
async function ofSuccess(t: Test, client: Client, response: Response, name: string): Promise<JsonObject> {
  t.equal(response.status, 200, name)
  const text = await response.text()
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return object(object(JSON.parse(text)).router_metadata)
  const all = events(client, text)
  t.same(all.filter(heldBy), all.slice(-1), `${name}: only in the last event`)
  return object(heldBy(all.at(-1) ?? {})?.router_metadata)
}

t.test('has all fields on success, in every dialect, streamed and not', async (t) => {
  const { ask } = await three(t)
  await every(t, 'every client', async (t) => {
    for (const client of CLIENTS)
      for (const stream of [false, true]) {
        const name = `${client}, stream ${stream}`
        const metadata = await ofSuccess(t, client, await ask(client, { ...ORDER, stream }, ON), name)
        wellFormed(t, metadata, name)
        t.same(metadata, {
          requested: 'acme/one',
          strategy: 'direct',
          region: null,
          summary: 'available=3, selected=aye',
          attempt: 1,
          is_byok: false,
          endpoints: {
            total: 3,
            available: ['aye', 'bee', 'sea'].map((provider) => ({ provider, model: 'acme/one', selected: provider === 'aye' })),
          },
          attempts: [{ provider: 'aye', model: 'acme/one', status: 200 }],
        })
      }
  })
})

t.test('the total is of the candidates', async (t) => {
  const { ask } = await three(t)
  await every(t, 'every client', async (t) => {
    for (const client of CLIENTS) {
      for (const [provider, names] of [
        [{ only: ['bee'] }, ['bee']],
        [{ ignore: ['bee'], order: ['aye'] }, ['aye', 'sea']],
        [{ order: ['sea', 'aye'], allow_fallbacks: false }, ['sea', 'aye']],
      ] as [JsonObject, string[]][]) {
        const metadata = await ofSuccess(t, client, await ask(client, { provider }, ON), client)
        t.same(
          list(object(metadata.endpoints).available).map((endpoint) => endpoint.provider),
          names,
          JSON.stringify(provider),
        )
        t.match(selected(metadata), [{ provider: names[0] }])
        t.equal(selected(metadata).length, 1)
      }
    }
  })
})

t.test('lists failed attempts and the final 200, each with its status', async (t) => {
  const { ask, script, clock } = await three(t)
  script(() => upstreamError(500), 'aye')
  script(() => upstreamError(429), 'bee')
  await every(t, 'every client', async (t) => {
    for (const client of CLIENTS)
      for (const stream of [false, true]) {
        await clock.advance(60_000)
        const metadata = await ofSuccess(t, client, await ask(client, { ...ORDER, stream }, ON), client)
        wellFormed(t, metadata, client)
        t.match(metadata, {
          attempt: 3,
          summary: 'available=3, selected=sea',
          attempts: [
            { provider: 'aye', status: 500, code: 'upstream_error' },
            { provider: 'bee', status: 429, code: 'upstream_limited' },
            { provider: 'sea', status: 200 },
          ],
        })
        t.match(selected(metadata), [{ provider: 'sea' }])
      }
  })
})

t.test('reads the older header and any case of its value, and is off otherwise', async (t) => {
  const { ask } = await three(t)
  await every(t, 'every client', async (t) => {
    for (const client of CLIENTS)
      for (const stream of [false, true]) {
        const shows = async (headers: Record<string, string>): Promise<boolean> =>
          (await (await ask(client, { stream }, headers)).text()).includes('router_metadata')
        for (const name of ['X-Router-Metadata', 'X-Router-Experimental-Metadata'])
          for (const [value, shown] of [
            ['enabled', true],
            ['ENABLED', true],
            ['Enabled', true],
            ['yes', false],
            ['true', false],
            ['1', false],
            ['', false],
            ['disabled', false],
            ['enabled, enabled', false],
          ] as [string, boolean][])
            t.equal(await shows({ [name]: value }), shown, `${client}, ${stream}: ${name}: ${value}`)
        t.equal(await shows({}), false, 'off by default')
        t.equal(
          await shows({ 'X-Router-Metadata': 'disabled', 'X-Router-Experimental-Metadata': 'enabled' }),
          false,
          'the new name decides',
        )
      }
  })
})

t.test('a stream that breaks off has it in its one terminal event', async (t) => {
  const { ask, script } = await three(t)
  script((seen) => {
    const frames = framesFor(seen.path, { text: ['one ', 'two'] })
    return sseAnswer(frames.slice(0, frames.findIndex((frame) => frame.includes('one ')) + 1), { after: 'close' })
  }, 'aye')
  await every(t, 'every client', async (t) => {
    for (const client of CLIENTS) {
      const metadata = await ofSuccess(t, client, await ask(client, { ...ORDER, stream: true }, ON), client)
      wellFormed(t, metadata, client)
      t.match(metadata, { attempt: 1, attempts: [{ provider: 'aye', status: 200, code: 'upstream_cut' }], summary: 'available=3' })
      t.same(selected(metadata), [], 'none is selected')
    }
  })
})

const KEYS = `auth:
  keys:
    - { name: app, key: "sk-router-v1-0123456789abcdef" }
    - { name: slow, key: "sk-router-v1-00000000000000aa", limits: { requests: 1 } }
`
const SLOW = { authorization: 'Bearer sk-router-v1-00000000000000aa' }

t.test('is on errors after routing, and not on those before', async (t) => {
  const top = `guardrails: [ { name: secrets, direction: input, content_filters: [ { pattern: "forbidden", action: block } ] } ]\n${KEYS}`
  const options = { top, provider: () => 'timeouts: { first_byte: 3s, idle: 3s }' }
  const { ask, script, heal, clock, upstreams } = await three(t, options)
  const told = async (t: Test, client: Client, response: Response | Promise<Response>, status: number): Promise<JsonObject | undefined> => {
    const answer = await response
    t.equal(answer.status, status, `${client}: ${status}`)
    const body = (await answer.json()) as JsonObject
    t.ok(object(body.error).message)
    if (!('router_metadata' in body)) return undefined
    const metadata = object(body.router_metadata)
    wellFormed(t, metadata, `${client}: ${status}`)
    t.same(selected(metadata), [], `${client}: ${status}: none is selected`)
    return metadata
  }
  await every(t, 'every client', async (t) => {
    for (const client of CLIENTS) {
      const absent = async (response: Promise<Response>, status: number, name: string): Promise<void> => {
        t.equal(await told(t, client, response, status), undefined, `${client}: absent on ${name}`)
      }
      await absent(ask(client, {}, { ...ON, authorization: 'Bearer wrong' }), 401, '401')
      await absent(ask(client, { temperature: 'hot' }, ON), 400, 'a check of the body')
      await absent(ask(client, {}, { ...ON, 'x-session-id': 'x'.repeat(257) }), 400, 'a check of the head')
      await absent(ask(client, {}, { ...ON, 'X-Router-Deadline': 'soon' }), 400, 'a check of the deadline')
      await ask(client, {}, { ...ON, ...SLOW })
      await absent(ask(client, {}, { ...ON, ...SLOW }), 429, 'a limit of the platform')

      for (const [status, own, answer] of [
        [502, 500, upstreamError(500)],
        [502, 401, upstreamError(401)],
        [502, 403, upstreamError(403)],
        [404, 404, upstreamError(404)],
        [502, 503, upstreamError(503)],
        [502, 429, jsonAnswer({ error: { message: 'no credit', code: 429, type: 'insufficient_quota' } })],
        [529, 529, upstreamError(529)],
        [429, 429, upstreamError(429)],
        [400, 400, jsonAnswer({ error: { message: 'no', code: 'invalid_value' } }, 400)],
      ] as const) {
        script(() => answer)
        const metadata = await told(t, client, ask(client, ORDER, ON), status)
        const made = status === 400 ? 1 : 3
        t.match(metadata, { attempt: made, attempts: Array.from({ length: made }, () => ({ status: own })), summary: 'available=3' })
        await clock.advance(120_000)
      }
      script(() => ({ before: 'stall' }))
      const before = upstreams.aye.requests.length
      const silent = ask(client, { provider: { only: ['aye'] } }, ON)
      await upstreams.aye.request(before)
      await clock.advance(3000)
      t.match(await told(t, client, silent, 524), { attempt: 1, attempts: [{ status: null, code: 'upstream_silent' }] })
      const late = ask(client, { provider: { only: ['aye'] } }, { ...ON, 'X-Router-Deadline': '1' })
      await upstreams.aye.request(before + 1)
      await clock.advance(1000)
      t.match(await told(t, client, late, 408), { attempt: 1, attempts: [{ status: null, code: 'deadline' }] })
      heal()
      await clock.advance(120_000)

      const nobody = await told(t, client, ask(client, { provider: { only: ['nobody'] } }, ON), 404)
      t.match(nobody, { attempt: 0, summary: 'available=0', endpoints: { total: 0, available: [] } }, 'no attempt')
      t.notOk('attempts' in (nobody ?? {}), 'nobody was called')
      const blocked = await told(t, client, ask(client, questionFor(client, 'forbidden'), ON), 403)
      t.match(blocked, {
        attempt: 0,
        endpoints: { total: 3 },
        pipeline: [{ type: 'guardrail', data: { action: 'blocked', detected: true } }],
      })
      t.notOk('attempts' in (blocked ?? {}), 'blocked before a call')
      t.equal(list(blocked?.pipeline).length, 1, 'one stage')
      const off = (await (await ask(client, { provider: { only: ['nobody'] } })).json()) as JsonObject
      t.notOk('router_metadata' in off, 'nor where it was not asked for')
    }
  })
})

t.test('follows one rule over all faults', async (t) => {
  const routed = (wantsMetadata: boolean, requested: string): Exchange =>
    ({ head: { wantsMetadata }, demand: { requested } }) as unknown as Exchange
  const absent = Object.keys(FAULTS).filter((code) => !metadataOnFault(routed(true, 'acme/one'), new Fault(code as FaultCode)))
  t.same(absent, ['bad_request', 'missing_key', 'invalid_key', 'rate_limited', 'internal', 'credential_unavailable'])
  await every(t, 'on no fault where it was not asked for, nor before routing', (t) => {
    for (const code of Object.keys(FAULTS) as FaultCode[]) {
      t.equal(metadataOnFault(routed(false, 'acme/one'), new Fault(code)), false, code)
      t.equal(metadataOnFault(routed(true, ''), new Fault(code)), false, `${code}, before routing`)
    }
  })
})

t.test('lists only stages that acted', async (t) => {
  const models = `  acme/small: { context: 8000, endpoints: [ { provider: bee, model: m2, price: free } ] }\n`
  const { ask } = await three(t, { models })
  const long = (client: Client): JsonObject => {
    const messages = Array.from({ length: 40 }, (_, i) => ({
      role: i % 2 ? 'assistant' : 'user',
      content: `number ${i}. ${'word '.repeat(400)}`,
    }))
    const utterance = [...messages, { role: 'user', content: 'the last' }]
    const { messages: _, input: __, ...rest } = questionFor(client)
    return {
      ...rest,
      model: 'acme/small',
      ...(client === 'responses' ? { input: utterance } : { messages: utterance }),
      plugins: [{ id: 'context-compression' }],
    }
  }
  await every(t, 'every client', async (t) => {
    for (const client of CLIENTS) {
      const acted = await ofSuccess(t, client, await ask(client, long(client), ON), client)
      t.match(acted.pipeline, [{ type: 'context_compression', name: 'context-compression', data: { original_count: 41 } }])
      t.equal(list(acted.pipeline).length, 1)
      const idle = await ofSuccess(t, client, await ask(client, { plugins: [{ id: 'context-compression' }] }, ON), client)
      t.notOk('pipeline' in idle, 'a plugin that had nothing to do')
    }
  })
})

t.test('strategy and params say what the request wanted of the choice', async (t) => {
  const models = `  acme/two-2: { context: 128000, endpoints: [ { provider: bee, model: m2, price: free } ] }
  acme/two-3: { context: 128000, endpoints: [ { provider: bee, model: m3, price: free } ] }
aliases: { quick: acme/two-2 }
`
  const { ask } = await three(t, { models })
  const cases: [name: string, body: JsonObject, expected: JsonObject, params: JsonObject | undefined][] = [
    ['plain', {}, { strategy: 'direct', requested: 'acme/one' }, undefined],
    ['a variant', { model: 'acme/one:floor' }, { strategy: 'direct', requested: 'acme/one:floor' }, undefined],
    ['fallbacks', { models: ['acme/two-2'] }, { strategy: 'fallback', endpoints: { total: 4 } }, undefined],
    ['an alias', { model: 'quick' }, { strategy: 'alias', requested: 'quick' }, { version_group: 'acme/two-2' }],
    ['the newest', { model: '~acme/two-latest' }, { strategy: 'latest', requested: '~acme/two-latest' }, { version_group: 'acme/two-3' }],
    ['a goal', { provider: { preferred_min_throughput: 40 } }, { strategy: 'direct' }, { throughput_floor: 40 }],
    ['percentiles', { provider: { preferred_min_throughput: { p90: 20, p75: 30 } } }, {}, { throughput_floor: 30 }],
    ['no goal', { provider: { preferred_min_throughput: null, preferred_max_latency: 3 } }, {}, undefined],
    ['a tier', { service_tier: 'priority' }, {}, { service_tier: 'priority' }],
    ['the usual tier', { service_tier: 'auto' }, {}, undefined],
  ]
  await every(t, 'every client', async (t) => {
    for (const client of CLIENTS)
      for (const [name, body, expected, params] of cases) {
        const metadata = await ofSuccess(t, client, await ask(client, body, ON), `${client}: ${name}`)
        wellFormed(t, metadata, `${client}: ${name}`)
        t.match(metadata, expected, `${client}: ${name}`)
        t.same(metadata.params, params, `${client}: ${name}: params`)
        t.equal(selected(metadata).length, 1)
      }
  })
})

t.test('a choice by score shows the floor that was asked for', async (t) => {
  const models = `  acme/strong: { context: 128000, scores: { coding: 0.9 }, endpoints: [ { provider: bee, model: m2, price: free } ] }\n`
  const { ask } = await three(t, { models })
  await every(t, 'every client', async (t) => {
    for (const client of CLIENTS) {
      const plugins = [{ id: 'pareto-router', min_coding_score: 0.7 }]
      const metadata = await ofSuccess(t, client, await ask(client, { model: 'router/pareto-code', plugins }, ON), client)
      wellFormed(t, metadata, client)
      t.match(metadata, { requested: 'router/pareto-code', strategy: 'pareto', params: { quality_floor: 0.7 } })
      t.match(selected(metadata), [{ model: 'acme/strong' }])
    }
  })
})

t.test('the tier that served is told, by the endpoint where the provider is silent', async (t) => {
  const made = await three(t, { endpoint: (name) => `price: free${name === 'sea' ? ', tier: flex' : ''}` })
  await every(t, 'every client', async (t) => {
    for (const client of CLIENTS)
      for (const stream of [false, true]) {
        for (const [tier, provider] of [
          ['flex', 'sea'],
          ['default', undefined],
        ] as const) {
          const response = await made.ask(client, { service_tier: tier, stream }, ON)
          const text = await response.text()
          const last = stream ? events(client, text) : [JSON.parse(text) as JsonObject]
          const metadata = object(heldBy(last.at(-1) ?? {})?.router_metadata)
          if (provider) t.match(selected(metadata), [{ provider }], `${client}: ${tier}`)
          const shown = JSON.stringify(
            last.filter(
              (event) => event.type !== 'response.created' && event.type !== 'response.in_progress' && event.type !== 'message_start',
            ),
          )
          t.equal(/"service_tier":"flex"/.test(shown), tier === 'flex', `${client}, stream ${stream}: ${tier}`)
        }
      }
  })
})

t.test('the turns of a tool loop are listed as attempts, each with its turn; `attempt` counts those of the last turn', async (t) => {
  const { ask, script } = await three(t)
  const call = { id: 'call_1', name: 'router_datetime', args: ['{}'] }
  await every(t, 'every client', async (t) => {
    for (const client of CLIENTS) {
      let turns = 0
      script((seen, index) => says(turns++ === 0 ? { calls: [call] } : { text: ['done'] })(seen, index), 'aye')
      const metadata = await ofSuccess(t, client, await ask(client, { ...ORDER, tools: [{ type: 'router:datetime' }] }, ON), client)
      wellFormed(t, metadata, client)
      t.match(metadata, {
        attempt: 1,
        attempts: [
          { status: 200, turn: 1 },
          { status: 200, turn: 2 },
        ],
      })
      t.match(selected(metadata), [{ provider: 'aye' }])
      turns = 0
      script((seen, index) => (turns++ === 0 ? says({ calls: [call] })(seen, index) : upstreamError(500)), 'aye')
      const moved = await ofSuccess(t, client, await ask(client, { ...ORDER, tools: [{ type: 'router:datetime' }] }, ON), client)
      t.match(moved, {
        attempt: 2,
        attempts: [
          { status: 200, turn: 1 },
          { status: 500, turn: 2 },
          { provider: 'bee', status: 200, turn: 2 },
        ],
      })
      t.match(selected(moved), [{ provider: 'bee' }])
      t.equal(selected(moved).length, 1)
    }
  })
})

t.test('the name has the brand word', async (t) => {
  const made: Providers = await three(t, { top: 'brand: { word: acme }' })
  await every(t, 'every client', async (t) => {
    for (const client of CLIENTS)
      for (const body of [{}, { provider: { only: ['nobody'] } }]) {
        const text = await (await made.ask(client, body, { 'X-Acme-Metadata': 'enabled', ...ON })).text()
        t.match(text, /"acme_metadata":/)
        t.notMatch(text, /router_metadata/)
      }
  })
})
