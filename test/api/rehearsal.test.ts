/** `POST /v1/configuration/rehearse`: recorded requests planned under another configuration, over real sockets. */
import t, { type Test } from 'tap'
import { type Clock, systemClock } from '../../src/core/clock.ts'
import type { JsonObject } from '../../src/core/json.ts'
import type { FakeClock } from '../support/clock.ts'
import { every } from '../support/every.ts'
import { startScene } from '../support/scene.ts'
import { answerFor } from '../support/wire.ts'

const APP = 'sk-router-v1-app00000000000000000000000'
const BOSS = 'sk-router-v1-boss0000000000000000000000'
const boss = { authorization: `Bearer ${BOSS}` }
const KEYS = `auth: { keys: [ { name: app, key: "${APP}" }, { name: boss, key: "${BOSS}", management: true } ] }\n`

/** @param prices of the prompt at the two providers. */
const config = (url: string, [first, second]: readonly [string, string] = ['1', '9']) => `${KEYS}providers:
  first: { dialect: openai-chat, base_url: "${url}/v1", key: "\${ACME_KEY}" }
  second: { dialect: openai-chat, base_url: "${url}/v1" }
models:
  acme/one:
    name: One
    endpoints:
      - { provider: first, model: one, price: { prompt: "${first}", completion: "2" } }
      - { provider: second, model: one, price: { prompt: "${second}", completion: "9" } }
`

interface Rehearsed {
  ok: boolean
  problems: JsonObject[]
  requests: JsonObject[]
  summary: JsonObject | null
  left_out: JsonObject
}

async function begin<SomeClock extends Clock = FakeClock>(t: Test, clock?: SomeClock) {
  const scene = await startScene<SomeClock>(t, {
    config,
    clock,
    env: { ACME_KEY: 'the-secret-of-the-provider' },
    answer: (seen) => answerFor(seen, { text: ['fine'], usage: { input: 1000, output: 100 } }),
  })
  const say = async (more: JsonObject = {}, key = APP): Promise<string> => {
    const body = { model: 'acme/one', messages: [{ role: 'user', content: 'the secret words' }], ...more }
    const reply = await scene.gateway.post('/v1/chat/completions', body, { authorization: `Bearer ${key}` })
    if (reply.status !== 200) throw new Error(await reply.text())
    await reply.text()
    return String(reply.headers.get('x-generation-id'))
  }
  const send = (body: JsonObject, key = BOSS) => scene.gateway.post('/v1/configuration/rehearse', body, { authorization: `Bearer ${key}` })
  /** Of what was sent since `fresh` was called. */
  let since: string | undefined
  const rehearse = async (body: JsonObject): Promise<Rehearsed> => {
    const reply = await send({ since, ...body })
    const text = await reply.text()
    if (reply.status !== 200) throw new Error(text)
    if (/the secret words|the-secret-of/.test(text)) throw new Error(`a secret is shown: ${text}`)
    return (JSON.parse(text) as { data: Rehearsed }).data
  }
  return {
    ...scene,
    say,
    send,
    rehearse,
    fresh: (now: number) => {
      since = new Date(now).toISOString()
    },
  }
}

t.test('rehearsals', async (t) => {
  // One gateway for all, and no minute without a rehearsal: its thread loads the program once.
  const { say, send, rehearse, upstream, gateway, clock, fresh: from } = await begin(t)
  const fresh = (): void => {
    clock.advance(20_000)
    from(clock.now())
  }

  t.test('each request stands with what happened, what is planned today and what would be planned', async (t) => {
    fresh()
    const pinned = await say({ provider: { order: ['second'] } })
    const free = await say()
    const found = await rehearse({ text: config('http://127.0.0.1:1', ['2000', '9']) })
    t.match(found, {
      ok: true,
      problems: [],
      requests: [
        {
          id: free,
          api_key_name: 'app',
          happened: { endpoint: 'acme/one@first', status: 'completed', usage: 0.0012 },
          today: { endpoint: 'acme/one@first', provider_name: 'first', cost: 0.0012, refused: null },
          planned: { endpoint: 'acme/one@second', cost: 0.0099, refused: null },
          differences: [
            { what: 'endpoint', was: 'acme/one@first', would_be: 'acme/one@second' },
            { what: 'price', was: 'prompt 1, completion 2', would_be: 'prompt 9, completion 9' },
          ],
        },
        { id: pinned, today: { endpoint: 'acme/one@second' }, planned: { endpoint: 'acme/one@second' }, differences: [] },
      ],
      summary: {
        requests: 2,
        differ: 1,
        by: { model: 0, endpoint: 1, price: 1, refused: 0, served: 0 },
        changes: [
          { what: 'endpoint', count: 1 },
          { what: 'price', count: 1 },
        ],
        cost: { happened: 0.0111, today: 0.0111, planned: 0.0198, requests: 2 },
      },
      left_out: { no_inputs: 0, key_gone: 0, no_time: 0 },
    })
    t.equal(upstream.requests.length, 2, 'no provider is called for a rehearsal')
  })

  t.test('the running text differs in nothing, however many endpoints have the same price', async (t) => {
    fresh()
    for (let i = 0; i < 12; i++) await say()
    const same = config('http://127.0.0.1:1', ['1', '1']).replace('"9"', '"2"')
    const found = await rehearse({ text: same })
    const seen = found.requests.map(({ planned }) => (planned as JsonObject).endpoint)
    t.equal(new Set(seen).size, 2, 'equal prices share the requests')
    t.match(await rehearse({ text: config('http://127.0.0.1:1') }), { summary: { requests: 12, differ: 0, changes: [] } })
  })

  t.test('what would be refused says why', async (t) => {
    fresh()
    await say()
    const gone = await rehearse({ text: config('http://127.0.0.1:1').replace('acme/one', 'acme/other') })
    t.match(gone, {
      requests: [{ planned: { endpoint: null, refused: { status: 404 } }, differences: [{ what: 'refused', was: 'acme/one@first' }] }],
      summary: { by: { refused: 1 }, changes: [{ what: 'refused', would_be: 'refused with 404', count: 1 }] },
    })
    const keyless = await rehearse({ text: config('http://127.0.0.1:1').replace('name: app', 'name: another') })
    t.match(keyless, { requests: [{ planned: { refused: { status: 401 } } }] })
  })

  t.test('a text with problems plans nothing, and says where they are', async (t) => {
    fresh()
    await say()
    const found = await rehearse({ text: config('http://127.0.0.1:1').replace('dialect: openai-chat', 'dialect: nothing') })
    t.match(found, { ok: false, problems: [{ line: 3, column: 21, path: 'providers.first.dialect' }], requests: [], summary: null })
  })

  t.test('the requests are chosen by key, model, time and number', async (t) => {
    fresh()
    await say()
    clock.advance(20_000)
    const since = new Date(clock.now()).toISOString()
    const last = await say()
    const text = config('http://127.0.0.1:1')
    const ids = async (filter: JsonObject) => (await rehearse({ text, ...filter })).requests.map(({ id }) => id)
    t.same(await ids({ since }), [last])
    t.same(await ids({ limit: 1 }), [last])
    t.same(await ids({ model: 'acme/none' }), [])
    const keys = (await (await gateway.get('/v1/keys', boss)).json()) as unknown as { data: { name: string; hash: string }[] }
    const keyHash = (name: string) => keys.data.find((key) => key.name === name)?.hash ?? ''
    t.equal((await ids({ api_key_hash: keyHash('app') })).length, 2)
    t.same(await ids({ api_key_hash: keyHash('boss') }), [])
    for (const [field, value] of [
      ['limit', 0],
      ['limit', 201],
      ['limit', '5'],
      ['since', 'yesterday'],
      ['api_key_hash', 'x'],
      ['model', 7],
    ] as const) {
      const reply = await send({ text, [field]: value })
      t.match([reply.status, await reply.text()], [400, new RegExp(`"message":"${field}: `)], `${field} ${value}`)
    }
  })

  t.test('keys of the store keep what they may do, and go with their requests', async (t) => {
    fresh()
    const made = (await (await gateway.post('/v1/keys', { name: 'temporary' }, boss)).json()) as unknown as {
      key: string
      data: { hash: string }
    }
    await say({}, made.key)
    const text = config('http://127.0.0.1:1').replace('name: app', 'name: another')
    t.match(await rehearse({ text }), { requests: [{ api_key_name: 'temporary', planned: { refused: null } }] })
    await fetch(`${gateway.url}/v1/keys/${made.data.hash}`, { method: 'DELETE', headers: boss })
    t.match(await rehearse({ text }), { requests: [], left_out: { key_gone: 1 } })
  })

  t.test('guardrails of the store and of the text hold in a rehearsal', async (t) => {
    fresh()
    await say()
    const text = config('http://127.0.0.1:1')
    const guarded = await rehearse({ text: `${text}guardrails: [{ name: second-only, allowed_providers: [second] }]\n` })
    t.match(guarded, { requests: [{ today: { endpoint: 'acme/one@first' }, planned: { endpoint: 'acme/one@second' } }] })
    const reply = await gateway.post('/v1/guardrails', { name: 'second', allowed_providers: ['second'] }, boss)
    const { data } = (await reply.json()) as unknown as { data: { id: string } }
    const keys = (await (await gateway.get('/v1/keys', boss)).json()) as unknown as { data: { name: string; hash: string }[] }
    const hash = keys.data.find(({ name }) => name === 'app')?.hash ?? ''
    await gateway.post(`/v1/guardrails/${data.id}/assignments/keys`, { key_hashes: [hash] }, boss)
    t.match(await rehearse({ text }), {
      requests: [
        { happened: { endpoint: 'acme/one@first' }, today: { endpoint: 'acme/one@second' }, planned: { endpoint: 'acme/one@second' } },
      ],
    })
  })

  t.test('only management keys, and only texts', async (t) => {
    fresh()
    t.equal((await send({ text: '' }, APP)).status, 403)
    t.equal((await gateway.get('/v1/configuration/rehearse', boss)).status, 405)
    t.equal((await send({})).status, 400)
    t.match(await (await send({ text: 'x'.repeat(1_000_001) })).text(), /text: expected at most 1000000 characters/)
  })
})

t.test('a hostile text does not hold the gateway', async (t) => {
  const { say, send, gateway } = await begin(t, systemClock)
  await say()
  const bomb = ['a0: &a0 [x, x]', ...Array.from({ length: 40 }, (_, i) => `a${i + 1}: &a${i + 1} [*a${i}, *a${i}]`)].join('\n')
  const pattern = '(x+x+)+y'
  const texts = [
    bomb,
    `${config('http://127.0.0.1:1')}guardrails: [{ name: slow, content_filters: [{ pattern: "${pattern}", action: block }] }]\n`,
    `models: { ${Array.from({ length: 20_000 }, (_, i) => `"a/m${i}": {}`).join(', ')} }`,
    '['.repeat(100_000),
  ]
  await every(t, 'another request overtakes each text', async (t) => {
    for (const text of texts) {
      const order: string[] = []
      const looked = send({ text }).then(() => order.push('text'))
      await (await fetch(`${gateway.url}/v1/models`, { headers: boss })).text()
      order.push('other')
      await looked
      t.same(order, ['other', 'text'], text.slice(0, 20))
    }
  })
  const at = await Promise.all(Array.from({ length: 6 }, () => send({ text: config('http://127.0.0.1:1') })))
  await every(t, 'each is answered, or refused where it takes too long or others wait', (t) => {
    for (const { status } of at) t.ok([200, 408, 503].includes(status), `status ${status}`)
  })
  t.ok(
    at.some(({ status }) => status === 503),
    'more than two at once are refused',
  )
})
