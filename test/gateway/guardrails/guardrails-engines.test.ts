/** Engines outside the gateway: what they are asked, what their answers do, and what happens when none comes. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { bodyText } from '../../support/body-text.ts'
import { FakeClock } from '../../support/clock.ts'
import { every } from '../../support/every.ts'
import { foldChatStream, list, object } from '../../support/fold.ts'
import { type Gateway, KEY } from '../../support/gateway.ts'
import { startScene } from '../../support/scene.ts'
import { jsonAnswer, type Script, startUpstream, type Upstream } from '../../support/upstream.ts'
import { says, type Utterance } from '../../support/wire.ts'

interface Guarded {
  gateway: Gateway
  upstream: Upstream
  engine: Upstream
  clock: FakeClock
  ask(content: string): Promise<{ status: number; body: JsonObject }>
}

async function guarded(t: Test, settings: (url: string) => string, script: Script): Promise<Guarded> {
  const engine = await startUpstream(script)
  t.teardown(() => engine.close())
  const { clock, gateway, upstream } = await startScene(t, {
    answer: says({ text: ['ok'] }),
    yaml: `auth: { keys: [ { name: app, key: "${KEY}" } ] }\nguardrails: [ { name: guard, ${settings(engine.url)} } ]`,
    clock: new FakeClock(5),
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

const firstStage = (body: JsonObject): JsonObject => object(list(object(body.router_metadata).pipeline ?? [])[0])

t.test('a webhook flags, redacts and blocks', async (t) => {
  const scene = await guarded(
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
  t.match(firstStage(flagged.body), {
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
  t.match(firstStage(blocked.body), { data: { action: 'blocked', detected: true, engines: ['webhook'] } })
  t.equal(upstream.requests.length, before)
})

t.test('an analyser of the Presidio format', async (t) => {
  const text = '😀 Anna lives in Bonn'
  const scene = await guarded(
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
  t.match(firstStage(body).data, { action: 'redacted', engines: ['presidio'], matched_entity_types: ['PERSON', 'LOCATION'] })
  t.equal((await scene.ask('nothing here')).status, 200)
})

t.test('without an answer: closed unless it says open', async (t) => {
  const broken: [string, Script][] = [
    ['an error', () => ({ status: 500 })],
    ['no JSON', () => ({ status: 200, body: ['<html>'] })],
    ['another form', () => jsonAnswer({ ok: true })],
    ['a lost connection', () => ({ before: 'reset' })],
  ]
  await every(t, 'every mode', async (t) => {
    for (const mode of ['closed', 'open'] as const) {
      const scene = await guarded(
        t,
        (url) => `engine: { type: webhook, url: "${url}", timeout: 2s, on_error: ${mode} }`,
        () => ({ status: 500 }),
      )
      for (const [name, script] of broken) {
        scene.engine.script = script
        const { status, body } = await scene.ask('secret words')
        t.equal(status, mode === 'closed' ? 503 : 200, `${mode}: ${name}`)
        t.match(firstStage(body), { guardrail_id: 'guard', data: { action: 'unchecked', engines: ['webhook'] } }, 'it is told')
        if (mode === 'closed') t.match(object(body.error).message, 'The engine of the guardrail guard did not answer')
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
})

t.test('built-in recognisers come first: what they hide no engine sees', async (t) => {
  const { ask, engine } = await guarded(
    t,
    (url) => `content_filter_builtins: [ { slug: email, action: redact } ], engine: { type: webhook, url: "${url}" }`,
    () => jsonAnswer({ flagged: false }),
  )
  t.equal((await ask('to anna@example.com')).status, 200)
  t.same(engine.requests[0].json.texts, ['to [EMAIL]'])
})

/** A gateway whose guardrail reads answers by an engine. */
async function openAnswers(
  t: Test,
  settings: (url: string) => string,
  script: Script,
): Promise<Guarded & { stream(utterance: Utterance): Promise<Response> }> {
  const scene = await guarded(t, (url) => `direction: output, ${settings(url)}`, script)
  return {
    ...scene,
    stream: (utterance) => {
      scene.upstream.script = says(utterance)
      return scene.gateway.post(
        '/v1/chat/completions',
        { model: 'acme/one', stream: true, messages: [{ role: 'user', content: 'hello' }] },
        { 'x-router-metadata': 'enabled' },
      )
    },
  }
}

const textsAsked = (upstream: Upstream): unknown[] => upstream.requests.map(({ json }) => json.texts)

t.test('an engine that reads answers: nothing goes out before it has answered', async (t) => {
  const scene = await openAnswers(
    t,
    (url) => `engine: { type: webhook, url: "${url}" }`,
    () => jsonAnswer({ flagged: false }),
  )
  const { ask, engine, upstream, stream } = scene
  upstream.script = says({ text: ['all ', 'is well'], calls: [{ id: 'c1', name: 'f', args: ['{"a":', '"\\u0062"}'] }] })
  const whole = await ask('hello')
  t.equal(whole.status, 200)
  t.match(engine.requests[0].json, { guardrail: 'guard', direction: 'output', model: 'acme/one' })
  t.same(textsAsked(engine), [['all is well', 'a', 'b']], 'asked once, with all of it, and without escapes')
  const streamed = await stream({ text: ['all ', 'is well'], calls: [{ id: 'c1', name: 'f', args: ['{"a":', '"b"}'] }] })
  t.match(foldChatStream(await bodyText(streamed)), { text: 'all is well', calls: [{ args: '{"a":"b"}' }] })
  t.ok(textsAsked(engine).length >= 2)
  engine.script = ({ json }) => {
    const texts = (json.texts as string[]).map((text) => text.replace('well', 'w**l'))
    return jsonAnswer({ flagged: true, action: 'redact', texts, reasons: ['tone'] })
  }
  const redacted = await stream({ text: ['all ', 'is well'], calls: [{ id: 'c1', name: 'f', args: ['{"a":', '"so well"}'] }] })
  const text = await redacted.text()
  t.match(foldChatStream(text), { text: 'all is w**l', calls: [{ args: '{"a":"so w**l"}' }] })
  t.notMatch(text, 'is well')
  t.match(text, '"action":"redacted"')
  t.match(text, '"direction":"output"')
  engine.script = () => jsonAnswer({ flagged: true, action: 'flag' })
  t.match(foldChatStream(await bodyText(await stream({ text: ['as it was'] }))).text, 'as it was')
  engine.script = () => jsonAnswer({ flagged: true, label: 'RUDE', patterns: ['well'] })
  upstream.script = says({ text: ['all is well'] })
  const blocked = await ask('hello')
  t.equal(blocked.status, 403)
  t.match(blocked.body.error, { message: 'Response blocked by content filter: RUDE' })
  const before = upstream.requests.length
  const refused = await stream({ text: ['all ', 'is well'] })
  t.equal(refused.status, 403, 'nothing had gone out')
  t.notMatch(await refused.text(), 'all is well')
  t.equal(upstream.requests.length, before + 1, 'nobody else is asked')
})

t.test('long blocks are asked about in slices; a later one may still end the stream', async (t) => {
  const { stream, engine } = await openAnswers(
    t,
    (url) => `engine: { type: webhook, url: "${url}" }`,
    ({ json }) => jsonAnswer({ flagged: (json.texts as string[]).some((text) => text.includes('forbidden')) }),
  )
  const pieces = [...Array.from({ length: 400 }, (_, i) => `piece ${i} ${'x'.repeat(90)} `), 'forbidden']
  const response = await stream({ text: pieces })
  t.equal(response.status, 200)
  const text = await bodyText(response)
  t.match(text, '"finish_reason":"content_filter"')
  t.match(text, 'piece 10 ')
  t.notMatch(text, 'forbidden')
  t.ok(engine.requests.length > 1)
  for (const texts of textsAsked(engine) as string[][]) t.ok(texts[0].length < 70_000, `${texts[0].length}`)
})

t.test('an engine that does not answer about an answer', async (t) => {
  await every(t, 'every mode', async (t) => {
    for (const mode of ['closed', 'open'] as const) {
      const { ask, stream, engine, upstream } = await openAnswers(
        t,
        (url) => `engine: { type: webhook, url: "${url}", on_error: ${mode} }`,
        () => ({ status: 500 }),
      )
      upstream.script = says({ text: ['some words'] })
      const { status, body } = await ask('hello')
      t.equal(status, mode === 'closed' ? 503 : 200, mode)
      t.match(firstStage(body), { data: { action: 'unchecked', direction: 'output' } })
      const before = upstream.requests.length
      const streamed = await stream({ text: ['some ', 'words'] })
      t.equal(streamed.status, mode === 'closed' ? 503 : 200, `${mode}, streamed`)
      const text = await bodyText(streamed)
      t[mode === 'closed' ? 'notMatch' : 'match'](text, 'words')
      t.equal(upstream.requests.length, before + 1, 'nobody else is asked')
      if (mode === 'open') continue
      let asked = 0
      engine.script = () => (asked++ === 0 ? jsonAnswer({ flagged: false }) : { status: 500 })
      const cut = await stream({ text: Array.from({ length: 400 }, (_, i) => `piece ${i} ${'x'.repeat(90)} `) })
      t.equal(cut.status, 200)
      t.match(await cut.text(), '"finish_reason":"error"', 'after content the stream ends with an error')
    }
  })
})

t.test('an analyser reads answers as well', async (t) => {
  const { stream } = await openAnswers(
    t,
    (url) => `action: redact, engine: { type: presidio, url: "${url}" }`,
    ({ json }) => {
      const start = String(json.text).indexOf('Anna')
      return jsonAnswer((start === -1 ? [] : [{ entity_type: 'PERSON', start, end: start + 4, score: 0.9 }]) as unknown as JsonObject)
    },
  )
  t.equal(foldChatStream(await bodyText(await stream({ text: ['so An', 'na said'] }))).text, 'so [PERSON_NAME] said')
})
