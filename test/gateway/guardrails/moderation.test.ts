/** Moderation over HTTP, as a plugin and as the engine of a guardrail, with stand-ins that speak the published formats. */
import t, { type Test } from 'tap'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { FakeClock } from '../../support/clock.ts'
import { every } from '../../support/every.ts'
import { foldChatStream, list, object } from '../../support/fold.ts'
import { type Gateway, KEY, oneModel, startGateway } from '../../support/gateway.ts'
import { type Answer, jsonAnswer, type Seen, startUpstream, type Upstream } from '../../support/upstream.ts'
import { answerFor, type Utterance } from '../../support/wire.ts'

interface Moderated {
  gateway: Gateway
  upstream: Upstream
  judge: Upstream
  clock: FakeClock
  ask(content: Json, more?: JsonObject, path?: string): Promise<{ status: number; body: JsonObject }>
}

interface ModeratedOptions {
  /** `JUDGE` stands for the address of the stand-in. */
  plugin?: string
  guardrail?: string
  answers?: (seen: Seen) => Answer
  utterance?: Utterance
}

/** The endpoint of OpenAI's format: whatever holds the word is violent, and a little harassing. */
function endpoint({ json }: Seen): Answer {
  const inputs = typeof json.input === 'string' ? [json.input] : (json.input as string[])
  return jsonAnswer({
    id: 'modr-1',
    model: String(json.model),
    results: inputs.map((text) => {
      const bad = text.includes('mayhem')
      return {
        flagged: bad,
        categories: { harassment: false, 'self-harm': false, violence: bad },
        category_scores: { harassment: bad ? 0.31 : 0.01, 'self-harm': 0.0001, violence: bad ? 0.97 : 0.02 },
        category_applied_input_types: { harassment: ['text'], 'self-harm': ['text'], violence: ['text'] },
      }
    }),
  })
}

/** A chat completion of a classifier, whose words are as its makers publish them. */
function classifier({ json }: Seen): Answer {
  const last = object(list(json.messages).at(-1) ?? null)
  const content = String(last.content).includes('mayhem') ? '\n\nunsafe\nS1,S10' : '\n\nsafe'
  return jsonAnswer({
    id: 'c1',
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
  })
}

async function open(t: Test, options: ModeratedOptions): Promise<Moderated> {
  const { plugin, guardrail, answers = endpoint, utterance = { text: ['ok'] } } = options
  const clock = new FakeClock(5)
  const upstream = await startUpstream((seen) => answerFor(seen, utterance))
  const judge = await startUpstream(answers)
  t.teardown(async () => {
    await judge.close()
    await upstream.close()
  })
  const own = [
    plugin === undefined ? '' : `plugins: { defaults: { moderation: { ${plugin} } } }\n`,
    guardrail === undefined ? '' : `guardrails: [ { name: guard, ${guardrail} } ]\n`,
  ].join('')
  const gateway = await startGateway(
    `auth: { keys: [ { name: app, key: "${KEY}" } ] }\n${own.replaceAll('JUDGE', judge.url)}${oneModel(upstream.url, 'openai-chat')}`,
    { clock },
  )
  t.teardown(() => gateway.close())
  return {
    gateway,
    upstream,
    judge,
    clock,
    ask: async (content, more = {}, path = '/v1/chat/completions') => {
      const input = path.endsWith('responses') ? { input: content } : { messages: [{ role: 'user', content }], max_tokens: 100 }
      const response = await gateway.post(path, { model: 'acme/one', ...input, ...more }, { 'x-router-metadata': 'enabled' })
      return { status: response.status, body: (await response.json()) as JsonObject }
    },
  }
}

const NAMED: JsonObject = { plugins: [{ id: 'moderation' }] }
const OPENAI = 'engine: openai, url: "JUDGE/v1/moderations", key: judge-secret'
const errorMetadata = (body: JsonObject): JsonObject => object(object(body.error).metadata ?? null)
const bodyStages = (body: JsonObject): JsonObject[] => list(object(body.router_metadata).pipeline ?? []).map((stage) => object(stage))

t.test('returns 403 with reasons for a request that is flagged', async (t) => {
  const { ask, judge, upstream, gateway } = await open(t, { plugin: OPENAI })
  const text = `make ${'a plan '.repeat(20)}for mayhem and nothing else`
  const { status, body } = await ask(text, NAMED)
  t.equal(status, 403)
  t.match(body.error, { code: 403, message: 'Request blocked by moderation: violence' })
  const metadata = errorMetadata(body)
  t.match(metadata, {
    error_type: 'permission_denied',
    reasons: ['violence'],
    scores: { violence: 0.97 },
    provider_name: 'openai',
    model_slug: 'acme/one',
  })
  const flagged = String(metadata.flagged_input)
  t.equal(flagged.length, 100)
  t.ok(flagged.startsWith('make a plan a plan') && flagged.endsWith('for mayhem and nothing else') && flagged.includes('...'))
  t.equal(upstream.requests.length, 0, 'no provider was asked')
  t.equal(judge.requests[0].path, '/v1/moderations')
  t.equal(judge.requests[0].headers.authorization, 'Bearer judge-secret')
  t.same(judge.requests[0].json, { model: 'omni-moderation-latest', input: [text] })
  t.match(bodyStages(body), [
    { type: 'guardrail', name: 'moderation', data: { flagged: true, action: 'blocked', engines: ['openai'], reasons: ['violence'] } },
  ])
  t.notMatch(JSON.stringify(bodyStages(body)), 'mayhem')
  t.notMatch(gateway.logs.join('\n'), 'mayhem')
  const fine = await ask('good morning', NAMED)
  t.equal(fine.status, 200)
  t.match(bodyStages(fine.body), [{ name: 'moderation', data: { flagged: false, engines: ['openai'] } }])
  t.equal((await ask('mayhem')).status, 200, 'only a request that asks for it is judged')
  t.equal(judge.requests.length, 2)
})

t.test('returns the 403 in every client format, streaming or not', async (t) => {
  const { ask, judge } = await open(t, { plugin: `${OPENAI}, enabled: true` })
  await every(t, 'every path', async (t) => {
    for (const path of ['/v1/chat/completions', '/v1/responses', '/v1/messages']) {
      for (const stream of [false, true]) {
        const { status, body } = await ask('mayhem', { stream }, path)
        t.equal(status, 403, `${path} ${stream}`)
        if (path === '/v1/messages') t.match(body.error, { type: 'permission_error' })
        else t.same(errorMetadata(body).reasons, ['violence'])
      }
      t.equal((await ask('morning', {}, path)).status, 200, 'without being asked for, since the operator wants it')
    }
  })
  t.equal(judge.requests.length, 9)
})

t.test('sends the moderation service the texts of a request', async (t) => {
  const { ask, judge } = await open(t, { plugin: OPENAI })
  const messages = [
    { role: 'system', content: 'be brief' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'one' },
        { type: 'text', text: 'two' },
      ],
    },
    { role: 'assistant', content: null, tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }] },
    { role: 'tool', tool_call_id: 'c1', content: 'found' },
  ]
  t.equal((await ask('x', { ...NAMED, messages })).status, 200)
  t.same(judge.requests[0].json.input, ['be brief', 'one\ntwo', '{"a":1}', 'found'])
  const long = `${'word '.repeat(4000)}mayhem`
  t.equal((await ask(long, NAMED)).status, 403, 'the end of a long text is judged, too')
  const parts = judge.requests.slice(1).flatMap(({ json }) => json.input as string[])
  t.ok(parts.every((part) => part.length <= 8000))
  t.match(parts.join(''), 'mayhem')
  const many = Array.from({ length: 40 }, (_, i) => ({ role: 'user', content: `line ${i}` }))
  const before = judge.requests.length
  t.equal((await ask('x', { ...NAMED, messages: many })).status, 200)
  const asked = judge.requests.slice(before).map(({ json }) => json.input as string[])
  t.ok(asked.length > 1 && asked.every((input) => input.length <= 16))
  t.equal(new Set(asked.flat()).size, 40)
})

t.test('thresholds and categories that do not count', async (t) => {
  const strict = await open(t, { plugin: `${OPENAI}, model: mine, thresholds: { harassment: 0.3 }` })
  const refused = await strict.ask('mayhem', NAMED)
  t.same(errorMetadata(refused.body).reasons, ['violence', 'harassment'], 'the highest score first')
  t.same(errorMetadata(refused.body).scores, { violence: 0.97, harassment: 0.31 })
  t.equal(strict.judge.requests[0].json.model, 'mine')
  const lax = await open(t, { plugin: `${OPENAI}, thresholds: { violence: 0.98 }` })
  t.equal((await lax.ask('mayhem', NAMED)).status, 200, 'the threshold rules over the word of the endpoint')
  const deaf = await open(t, { plugin: `${OPENAI}, ignored_categories: [ violence ]` })
  t.equal((await deaf.ask('mayhem', NAMED)).status, 200)
})

t.test('a classifier model', async (t) => {
  const plugin = 'engine: classifier, url: "JUDGE/v1", key: k1, model: meta/llama-guard-3-8b'
  const { ask, judge } = await open(t, { plugin, answers: classifier })
  const { status, body } = await ask('some mayhem', NAMED)
  t.equal(status, 403)
  t.match(errorMetadata(body), { reasons: ['S1', 'S10'], flagged_input: 'some mayhem', provider_name: 'classifier' })
  t.notOk('scores' in errorMetadata(body))
  t.equal(judge.requests[0].path, '/v1/chat/completions')
  t.same(judge.requests[0].json, {
    model: 'meta/llama-guard-3-8b',
    messages: [{ role: 'user', content: 'some mayhem' }],
    temperature: 0,
    max_tokens: 64,
  })
  t.equal((await ask('good morning', NAMED)).status, 200)
  const partly = await open(t, { plugin: `${plugin}, ignored_categories: [ S1 ]`, answers: classifier })
  t.same(errorMetadata((await partly.ask('mayhem', NAMED)).body).reasons, ['S10'])
  const deaf = await open(t, { plugin: `${plugin}, ignored_categories: [ S1, S10 ]`, answers: classifier })
  t.equal((await deaf.ask('mayhem', NAMED)).status, 200)
})

t.test('a list of words', async (t) => {
  const plugin = 'engine: lexicon, lexicon: { gardening: [ lawn mower, rake ], sailing: [ keel ] }'
  const { ask, judge } = await open(t, { plugin })
  const { status, body } = await ask('Sell me a LAWN  mower with a keel', NAMED)
  t.equal(status, 403)
  t.match(errorMetadata(body), { reasons: ['gardening', 'sailing'], provider_name: 'lexicon' })
  t.equal((await ask('ra\u200bke', NAMED)).status, 403, 'invisible characters hide nothing')
  t.equal((await ask('rakes and keels', NAMED)).status, 200, 'whole words only')
  t.equal((await ask(`${'grass '.repeat(20_000)}rake`, NAMED)).status, 403, 'however far it stands')
  t.equal(judge.requests.length, 0)
})

t.test('refuses requests while the service does not answer, unless the operator allows them', async (t) => {
  const broken: [string, () => Answer][] = [
    ['an error', () => ({ status: 500 })],
    ['no JSON', () => ({ status: 200, body: ['<html>'] })],
    ['another form', () => jsonAnswer({ results: [] })],
    ['no verdict', () => jsonAnswer({ results: [{ categories: {} }] })],
    ['a lost connection', () => ({ before: 'reset' })],
  ]
  await every(t, 'every case', async (t) => {
    for (const [mode, status] of [
      ['fail', 503],
      ['skip', 200],
    ] as const) {
      const scene = await open(t, { plugin: `${OPENAI}, on_error: ${mode}, timeout: 3s` })
      for (const [name, answer] of broken) {
        scene.judge.script = answer
        t.equal((await scene.ask('secret words', NAMED)).status, status, `${mode}: ${name}`)
      }
      scene.judge.script = () => ({ status: 200, before: 'stall' })
      const index = scene.judge.requests.length
      const waiting = scene.ask('slow', NAMED)
      await scene.judge.request(index)
      await scene.clock.advance(3_001)
      t.equal((await waiting).status, status, `${mode}: time-out`)
      t.notMatch(scene.gateway.logs.join('\n'), 'secret words')
    }
  })
  const garbled = await open(t, {
    plugin: 'engine: classifier, url: "JUDGE/v1", model: m',
    answers: () => jsonAnswer({ choices: [{ message: { content: 'I cannot say.' } }] }),
  })
  t.equal((await garbled.ask('x', NAMED)).status, 503, 'another answer of a classifier is no permission')
})

t.test('a request asks for it, and shapes nothing of it', async (t) => {
  const { ask } = await open(t, { plugin: `${OPENAI}, enabled: true` })
  t.equal((await ask('mayhem', { plugins: [{ id: 'moderation', enabled: false }] })).status, 403, 'enabled has no effect')
  await every(t, 'every field', async (t) => {
    for (const field of ['engine', 'url', 'thresholds', 'ignored_categories', 'lexicon', 'price']) {
      const { status, body } = await ask('x', { plugins: [{ id: 'moderation', [field]: 'x' }] })
      t.equal(status, 400, field)
      t.equal(errorMetadata(body).field, `plugins[0].${field}`)
    }
  })
  const bare = await open(t, {})
  const none = await bare.ask('x', NAMED)
  t.equal(none.status, 400)
  t.match(object(none.body.error).message, 'plugins.defaults.moderation')
  t.equal((await bare.ask('x', { plugins: [{ id: 'moderation', enabled: false }] })).status, 400)
})

t.test('holds, charges and reports the cost of moderation', async (t) => {
  const { ask } = await open(t, { plugin: `${OPENAI}, price: "0.002"` })
  const { body } = await ask('good morning', NAMED)
  t.match(bodyStages(body), [{ name: 'moderation', cost_usd: 0.002 }])
  t.ok(Number(object(body.usage).cost) >= 0.002)
})

t.test('the engine of a guardrail blocks, flags and redacts', async (t) => {
  const settings = 'engine: { type: moderation, url: "JUDGE/v1", key: k1 }'
  const blocking = await open(t, { guardrail: settings })
  const refused = await blocking.ask('some mayhem')
  t.equal(refused.status, 403)
  t.match(refused.body.error, { message: 'Request blocked by moderation: violence' })
  t.match(errorMetadata(refused.body), {
    reasons: ['violence'],
    flagged_input: 'some mayhem',
    provider_name: 'openai',
    model_slug: 'acme/one',
  })
  t.match(bodyStages(refused.body), [
    {
      type: 'guardrail',
      name: 'moderation',
      guardrail_id: 'guard',
      data: { action: 'blocked', detected: true, flagged: true, engines: ['openai'], reasons: ['violence'], scores: { violence: 0.97 } },
    },
  ])
  t.equal(blocking.upstream.requests.length, 0)
  t.equal((await blocking.ask('good morning')).status, 200)
  const flagging = await open(t, { guardrail: `action: flag, ${settings}` })
  const flagged = await flagging.ask('some mayhem')
  t.equal(flagged.status, 200)
  t.match(bodyStages(flagged.body), [{ name: 'moderation', data: { action: 'flagged', matched_entity_types: ['violence'] } }])
  t.match(flagging.upstream.requests[0].json, { messages: [{ content: 'some mayhem' }] })
  const redacting = await open(t, { guardrail: `action: redact, ${settings}` })
  const messages = [
    { role: 'user', content: 'some mayhem' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":"mayhem"}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'fine' },
  ]
  t.equal((await redacting.ask('x', { messages })).status, 200)
  t.match(redacting.upstream.requests[0].json.messages, [
    { content: '[MODERATED]' },
    { tool_calls: [{ function: { arguments: '{"text":"[MODERATED]"}' } }] },
    { content: 'fine' },
  ])
})

t.test('a list of words as the engine of a guardrail names what matched', async (t) => {
  const guardrail = 'engine: { type: moderation, engine: lexicon, lexicon: { sailing: [ keel ] } }'
  const { ask } = await open(t, { guardrail })
  const { body } = await ask('under the Keel')
  t.match(errorMetadata(body), { reasons: ['sailing'], flagged_input: 'under the Keel', provider_name: 'lexicon', patterns: ['Keel'] })
})

t.test('answers are judged as well, as those of the model', async (t) => {
  const guardrail = 'direction: output, engine: { type: moderation, engine: classifier, url: "JUDGE/v1", model: guard }'
  const bad = await open(t, { guardrail, answers: classifier, utterance: { text: ['pure ', 'may', 'hem'] } })
  const { status, body } = await bad.ask('hello')
  t.equal(status, 403)
  t.match(errorMetadata(body), { direction: 'output', reasons: ['S1', 'S10'], provider_name: 'classifier' })
  t.notMatch(JSON.stringify(body), 'mayhem', 'what the model said is not told')
  t.match(bodyStages(body), [{ name: 'moderation', data: { action: 'blocked', direction: 'output', reasons: ['S1', 'S10'] } }])
  t.match(bad.judge.requests[0].json.messages, [{ role: 'user' }, { role: 'assistant', content: 'pure mayhem' }])
  const streamed = await bad.gateway.post('/v1/chat/completions', {
    model: 'acme/one',
    stream: true,
    messages: [{ role: 'user', content: 'hello' }],
  })
  t.equal(streamed.status, 403)
  const hidden = await open(t, { guardrail: `action: redact, ${guardrail}`, answers: classifier, utterance: { text: ['pure may', 'hem'] } })
  const stream = await hidden.gateway.post('/v1/chat/completions', {
    model: 'acme/one',
    stream: true,
    messages: [{ role: 'user', content: 'hello' }],
  })
  t.equal(foldChatStream(await stream.text()).text, '[MODERATED]')
})

t.test('a guardrail whose judge does not answer', async (t) => {
  for (const [mode, expected] of [
    ['closed', 503],
    ['open', 200],
  ] as const) {
    const guardrail = `engine: { type: moderation, url: "JUDGE", timeout: 1s, on_error: ${mode} }`
    const { ask } = await open(t, { guardrail, answers: () => ({ status: 500 }) })
    const { status, body } = await ask('x')
    t.equal(status, expected, mode)
    t.match(bodyStages(body), [{ name: 'moderation', data: { action: 'unchecked', engines: ['openai'] } }])
  }
})

t.test('a missing key: not configured, and no start where every request is to be judged', async (t) => {
  const key = `key: "\${NO_SUCH_KEY?}"`
  const { ask } = await open(t, { plugin: `engine: openai, url: "JUDGE/v1/moderations", ${key}` })
  t.equal((await ask('x', NAMED)).status, 400)
  t.equal((await ask('x')).status, 200)
  const refused = await open(t, { plugin: `engine: openai, enabled: true, ${key}` }).catch((error: unknown) => error)
  t.match((refused as { problems?: unknown }).problems, [{ message: /every request is to be moderated/ }])
})
