/** Engines outside the gateway: what they are asked, what their answers do, and what happens when none comes. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { FakeClock } from '../support/clock.ts'
import { list, object } from '../support/fold.ts'
import { type Gateway, KEY, oneModel, startGateway } from '../support/gateway.ts'
import { jsonAnswer, type Script, startUpstream, type Upstream } from '../support/upstream.ts'
import { says } from '../support/wire.ts'

interface Scene {
  gateway: Gateway
  upstream: Upstream
  engine: Upstream
  clock: FakeClock
  ask(content: string): Promise<{ status: number; body: JsonObject }>
}

async function openScene(t: Test, settings: (url: string) => string, script: Script): Promise<Scene> {
  const clock = new FakeClock(5)
  const upstream = await startUpstream(says({ text: ['ok'] }))
  const engine = await startUpstream(script)
  const gateway = await startGateway(
    `auth: { keys: [ { name: app, key: "${KEY}" } ] }\nguardrails: [ { name: guard, ${settings(engine.url)} } ]\n${oneModel(upstream.url, 'openai-chat')}`,
    { clock },
  )
  t.teardown(async () => {
    await gateway.close()
    await upstream.close()
    await engine.close()
  })
  return {
    gateway,
    upstream,
    engine,
    clock,
    ask: async (content) => {
      const messages = [{ role: 'user', content }]
      const response = await gateway.post('/v1/chat/completions', { model: 'acme/one', messages }, { 'x-router-metadata': 'enabled' })
      return { status: response.status, body: (await response.json()) as JsonObject }
    },
  }
}

const stageOf = (body: JsonObject): JsonObject => object(list(object(body.router_metadata).pipeline ?? [])[0])

t.test('a webhook flags, redacts and blocks', async (t) => {
  const scene = await openScene(
    t,
    (url) => `engine: { type: webhook, url: "${url}/check", key: hook-secret }`,
    () => jsonAnswer({ flagged: false }),
  )
  const { ask, engine, upstream } = scene
  t.equal((await ask('hello')).status, 200)
  t.same(engine.requests[0].json, { guardrail: 'guard', key: 'app', model: 'acme/one', direction: 'input', texts: ['hello'] })
  t.equal(engine.requests[0].path, '/check')
  t.equal(engine.requests[0].headers.authorization, 'Bearer hook-secret')
  engine.script = () => jsonAnswer({ flagged: true, action: 'flag', reasons: ['tone'] })
  const flagged = await ask('hello')
  t.match(stageOf(flagged.body), {
    name: 'content-filter',
    guardrail_id: 'guard',
    data: { action: 'flagged', engines: ['webhook'], matched_entity_types: ['tone'] },
  })
  engine.script = () => jsonAnswer({ flagged: true, action: 'redact', texts: ['h***o'] })
  t.equal((await ask('hello')).status, 200)
  t.match(upstream.requests.at(-1)?.json, { messages: [{ content: 'h***o' }] })
  engine.script = () => jsonAnswer({ flagged: true, label: 'RUDE', patterns: ['hello'] })
  const before = upstream.requests.length
  const blocked = await ask('hello')
  t.equal(blocked.status, 403, 'block is what a finding does by default')
  t.match(blocked.body.error, { message: 'Request blocked by content filter: RUDE', metadata: { patterns: ['hello'] } })
  t.match(stageOf(blocked.body), { data: { action: 'blocked', detected: true, engines: ['webhook'] } })
  t.equal(upstream.requests.length, before)
})

t.test('an analyser of the Presidio format', async (t) => {
  const text = '😀 Anna lives in Bonn'
  const scene = await openScene(
    t,
    (url) => `action: redact, engine: { type: presidio, url: "${url}/", entities: [ PERSON, LOCATION ], threshold: 0.6, language: de }`,
    (seen) =>
      jsonAnswer(
        seen.json.text === text
          ? ([
              { entity_type: 'PERSON', start: 2, end: 6, score: 0.9 },
              { entity_type: 'LOCATION', start: 16, end: 20, score: 0.8 },
            ] as unknown as JsonObject)
          : ([] as unknown as JsonObject),
      ),
  )
  const { body } = await scene.ask(text)
  t.same(scene.engine.requests[0].json, { text, language: 'de', entities: ['PERSON', 'LOCATION'], score_threshold: 0.6 })
  t.equal(scene.engine.requests[0].path, '/analyze')
  t.match(
    scene.upstream.requests.at(-1)?.json,
    { messages: [{ content: '😀 [PERSON_NAME] lives in [ADDRESS]' }] },
    'offsets count characters',
  )
  t.match(stageOf(body).data, { action: 'redacted', engines: ['presidio'], matched_entity_types: ['PERSON', 'LOCATION'] })
  t.equal((await scene.ask('nothing here')).status, 200)
})

t.test('without an answer: closed unless it says open', async (t) => {
  const broken: [string, Script][] = [
    ['an error', () => ({ status: 500 })],
    ['no JSON', () => ({ status: 200, body: ['<html>'] })],
    ['another form', () => jsonAnswer({ ok: true })],
    ['a lost connection', () => ({ before: 'reset' })],
  ]
  for (const mode of ['closed', 'open'] as const) {
    const scene = await openScene(
      t,
      (url) => `engine: { type: webhook, url: "${url}", timeout: 2s, on_error: ${mode} }`,
      () => ({ status: 500 }),
    )
    for (const [name, script] of broken) {
      scene.engine.script = script
      const { status, body } = await scene.ask('secret words')
      t.equal(status, mode === 'closed' ? 503 : 200, `${mode}: ${name}`)
      t.match(stageOf(body), { guardrail_id: 'guard', data: { action: 'unchecked', engines: ['webhook'] } }, 'it is told')
      if (mode === 'closed') t.match(object(body.error).message, 'The guardrail guard could not be asked')
    }
    t.equal(scene.upstream.requests.length, mode === 'closed' ? 0 : broken.length)
    t.notMatch(scene.gateway.logs.join('\n'), 'secret words')
    scene.engine.script = () => ({ status: 200, before: 'stall' })
    const index = scene.engine.requests.length
    const waiting = scene.ask('slow')
    await scene.engine.request(index)
    await scene.clock.advance(2_001)
    t.equal((await waiting).status, mode === 'closed' ? 503 : 200, `${mode}: time-out`)
  }
})

t.test('built-in recognisers come first: what they hide no engine sees', async (t) => {
  const { ask, engine } = await openScene(
    t,
    (url) => `content_filter_builtins: [ { slug: email, action: redact } ], engine: { type: webhook, url: "${url}" }`,
    () => jsonAnswer({ flagged: false }),
  )
  t.equal((await ask('to anna@example.com')).status, 200)
  t.same(engine.requests[0].json.texts, ['to [EMAIL]'])
})
