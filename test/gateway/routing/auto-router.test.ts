/** The router plugins from outside, in every format: the prompt decides, the reply names the model, the metadata says why. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { object } from '../../support/fold.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { startUpstream, type Upstream } from '../../support/upstream.ts'
import { answerFor, says, upstreamError } from '../../support/wire.ts'

const CHAT = '/v1/chat/completions'
const RESPONSES = '/v1/responses'
const MESSAGES = '/v1/messages'
const IMAGE = 'data:image/png;base64,iVBORw0KGgo='
const SUM = 'Solve the equation 3x^2 - 12x + 9 = 0.'
const CODE = 'Write a Python function that sorts a list of dicts.'

const yaml = (url: string): string => `
providers:
  up: { dialect: openai-chat, base_url: "${url}/v1", key: sk-up }
models:
  acme/coder: { scores: { general: 0.5, coding: 0.9 }, endpoints: [ { provider: up, model: coder, price: { prompt: "1.00", completion: "1.00" } } ] }
  acme/maths: { scores: { general: 0.4, math: 0.9 }, endpoints: [ { provider: up, model: maths, price: { prompt: "1.00", completion: "1.00" } } ] }
  acme/agent: { scores: { general: 0.3, tools: 0.9 }, endpoints: [ { provider: up, model: agent, price: { prompt: "1.00", completion: "1.00" } } ] }
  acme/talker: { scores: { general: 0.8 }, endpoints: [ { provider: up, model: talker, price: { prompt: "1.00", completion: "1.00" } } ] }
  acme/eye: { input: [ text, image ], scores: { general: 0.1, vision: 0.6 }, endpoints: [ { provider: up, model: eye, price: { prompt: "2.00", completion: "2.00" } } ] }
  acme/lens: { input: [ text, image ], scores: { general: 0.2, vision: 0.9 }, endpoints: [ { provider: up, model: lens, price: { prompt: "2.00", completion: "2.00" } } ] }
`

let upstream: Upstream
let gateway: Gateway

t.before(async () => {
  upstream = await startUpstream(says({ text: ['fine'] }))
  gateway = await startGateway(yaml(upstream.url))
})

t.teardown(async () => {
  await gateway.close()
  await upstream.close()
})

interface Answer {
  status: number
  body: JsonObject
  metadata: JsonObject
}

async function ask(path: string, body: JsonObject, to = gateway): Promise<Answer> {
  const reply = await to.post(path, body, { 'x-router-metadata': 'enabled' })
  const json = (await reply.json()) as JsonObject
  return { status: reply.status, body: json, metadata: (json.router_metadata ?? {}) as JsonObject }
}

/** One user message to the auto router, in the form of the operation. */
function asked(path: string, text: string, more: JsonObject = {}): JsonObject {
  const common = { model: 'router/auto', ...more }
  if (path === RESPONSES) return { input: text, ...common }
  return { messages: [{ role: 'user', content: text }], ...(path === MESSAGES ? { max_tokens: 100 } : {}), ...common }
}

const stage = (task: string): JsonObject => ({ type: 'plugin', name: 'auto-router', data: { task_type: task } })

t.test('the same prompt is the same task in every format, and the reply names the model', async (t) => {
  await every(t, 'every path', async (t) => {
    for (const path of [CHAT, RESPONSES, MESSAGES])
      for (const [text, task, model] of [
        [SUM, 'math', 'acme/maths'],
        [CODE, 'coding', 'acme/coder'],
        ['Hello!', 'general', 'acme/talker'],
      ] as const) {
        const { status, body, metadata } = await ask(path, asked(path, text))
        t.match([status, body.model], [200, model], `${path}: ${task}`)
        t.match(metadata, { requested: 'router/auto', strategy: 'auto', pipeline: [stage(task)] })
        t.equal(upstream.requests.at(-1)?.json.model, model.slice('acme/'.length), 'the provider is asked for it')
        t.notOk(JSON.stringify(metadata).includes(text), 'the prompt is not quoted')
      }
  })
})

t.test('tools and images decide too', async (t) => {
  const tool = { type: 'function', function: { name: 'look_up', parameters: { type: 'object' } } }
  const used = await ask(CHAT, asked(CHAT, 'Look up order 88 and tell me when it arrives.', { tools: [tool] }))
  t.match(used, { body: { model: 'acme/agent' }, metadata: { pipeline: [stage('tools')] } })
  const content = [
    { type: 'text', text: 'What is this?' },
    { type: 'image_url', image_url: { url: IMAGE } },
  ]
  const image = { model: 'router/auto', messages: [{ role: 'user', content }] }
  const seen = await ask(CHAT, image)
  t.match(seen, { body: { model: 'acme/lens' }, metadata: { pipeline: [stage('vision')] } })
  const listed = await ask(CHAT, { ...image, plugins: [{ id: 'auto-router', excluded_models: ['acme/lens'] }] })
  t.equal(listed.body.model, 'acme/eye')
})

t.test('allowed_models holds, and no match is a 404 before any call', async (t) => {
  const plugins = (entry: JsonObject): JsonObject => ({ plugins: [{ id: 'auto-router', ...entry }] })
  const kept = await ask(CHAT, asked(CHAT, CODE, plugins({ allowed_models: ['acme/*s', 'acme/agent'] })))
  t.equal(kept.body.model, 'acme/maths', 'the best that is allowed')
  const before = upstream.requests.length
  const none = await ask(CHAT, asked(CHAT, CODE, plugins({ allowed_models: ['other/*'] })))
  t.match(none, { status: 404, body: { error: { message: /no models match/, availability: { requested_models: ['router/auto'] } } } })
  t.match(none.metadata, { requested: 'router/auto', strategy: 'auto', attempt: 0 })
  const wrong = await ask(CHAT, asked(CHAT, CODE, plugins({ cost_quality_tradeoff: 3.5 })))
  t.match(wrong, { status: 400, body: { error: { message: /plugins\[0\]\.cost_quality_tradeoff/ } } }, 'names the setting')
  t.equal(upstream.requests.length, before)
})

t.test('the next best serves where the first fails', async (t) => {
  upstream.script = (request) => (request.json.model === 'maths' ? upstreamError(500) : answerFor(request, { text: ['fine'] }))
  const { status, body, metadata } = await ask(CHAT, asked(CHAT, SUM))
  upstream.script = says({ text: ['fine'] })
  t.match([status, body.model], [200, 'acme/talker'], 'the second best at mathematics by its general score')
  t.match(metadata, { attempt: 2, attempts: [{ model: 'acme/maths' }, { model: 'acme/talker', status: 200 }] })
})

t.test('pin_model stays with the model that the conversation names', async (t) => {
  const messages = [
    { role: 'user', content: 'Hello!' },
    { role: 'assistant', content: 'Hello.', model: 'acme/agent' },
    { role: 'user', content: CODE },
  ]
  const pinned = (pin: boolean): Promise<Answer> =>
    ask(CHAT, { model: 'router/auto', messages, plugins: [{ id: 'auto-router', pin_model: pin }] })
  t.equal((await pinned(true)).body.model, 'acme/agent')
  t.equal((await pinned(false)).body.model, 'acme/coder')
})

t.test('the examples of the documentation', async (t) => {
  const text = readFileSync(join(import.meta.dirname, '../../../docs/router-models.md'), 'utf8')
  const blocks = (kind: string): string[] =>
    [...text.matchAll(new RegExp(`\`\`\`${kind}\\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, block]) => block)
  const provider = `providers: { acme: { dialect: openai-chat, base_url: "${upstream.url}/v1", key: sk-up } }\n`
  const documented = await startGateway(provider + blocks('yaml').join(''))
  t.teardown(() => documented.close())
  const answers: unknown[] = []
  for (const block of blocks('json')) {
    const { status, body } = await ask(CHAT, JSON.parse(block) as JsonObject, documented)
    answers.push(status === 200 ? body.model : object(body.error).message)
  }
  t.match(answers, [/no models match: plugins\[0\]\.allowed_models/, 'acme/large', /no models match: none .* is free/])
  const tuned = object((await ask(CHAT, { model: 'router/pareto-code', messages: [{ role: 'user', content: 'Hi' }] }, documented)).metadata)
  t.match(
    tuned,
    { strategy: 'pareto', pipeline: [{ name: 'pareto-router', data: { tier: 'high' } }] },
    'medium is asked for; high stands in',
  )
})
