/** Answers whose form the provider does not see to: they pass as they are, and how they fit is recorded. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { list, object } from '../../support/fold.ts'
import { CLIENTS, type Client } from '../../support/matrix/clients.ts'
import { startScene } from '../../support/scene.ts'
import { says, type Utterance } from '../../support/wire.ts'

const price = 'price: free'
const { gateway, upstream } = await startScene(t, {
  answer: says({ text: ['{}'] }),
  config: (url) => `
providers:
  claude: { dialect: anthropic, base_url: "${url}", key: sk-up }
  gemini: { dialect: gemini, base_url: "${url}/v1", key: sk-up }
  closed: { dialect: openai-chat, base_url: "${url}/v1", key: sk-up, quirks: { closed_schemas: true } }
  words: { dialect: openai-chat, base_url: "${url}/v1", key: sk-up, quirks: { json_schema: json_object } }
  responses: { dialect: openai-responses, base_url: "${url}/v1", key: sk-up, quirks: { closed_schemas: true } }
  plain: { dialect: openai-chat, base_url: "${url}/v1", key: sk-up }
models:
  m/claude: { endpoints: [ { provider: claude, model: up, ${price} } ] }
  m/gemini: { endpoints: [ { provider: gemini, model: up, ${price} } ] }
  m/closed: { endpoints: [ { provider: closed, model: up, ${price} } ] }
  m/words: { endpoints: [ { provider: words, model: up, ${price} } ] }
  m/lacks: { endpoints: [ { provider: plain, model: up, ${price}, supported_parameters: [ max_tokens ] } ] }
  m/responses: { endpoints: [ { provider: responses, model: up, ${price} } ] }
  m/plain: { endpoints: [ { provider: plain, model: up, ${price} } ] }
`,
})

/** The optional property is beyond OpenAI's strict rules, the pattern beyond Claude's and Gemini's subsets. */
const PERSON: JsonObject = {
  type: 'object',
  properties: { name: { type: 'string', pattern: '^[A-Z]' }, nick: { type: 'string' } },
  required: ['name'],
  additionalProperties: false,
}
const LOSING = ['m/claude', 'm/gemini', 'm/closed', 'm/words', 'm/lacks', 'm/responses']
const WAYS = CLIENTS.flatMap((client) => [false, true].map((stream) => ({ client, stream })))

interface Got {
  text: string
  /** As `GET /v1/generation` shows the one call. */
  call: JsonObject
  /** As the reply's metadata shows it. */
  attempt: JsonObject
  lane: unknown
  logged: unknown
}

async function ask(
  { client, stream }: { client: Client; stream: boolean },
  model: string,
  utterance: Utterance,
  body: JsonObject,
): Promise<Got> {
  upstream.script = says(utterance)
  const response = await gateway.post(client.path, { ...body, model, stream }, { 'x-router-metadata': 'enabled' })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${response.status} ${text}`)
  const reply = stream ? client.foldStream(text) : client.fold(JSON.parse(text) as JsonObject)
  const id = response.headers.get('x-generation-id') ?? ''
  const found = await gateway.get(`/v1/generation?id=${id}`)
  const [call = {}] = list(object(((await found.json()) as JsonObject).data).provider_responses)
  const attempts = /"attempts":(\[\{.*?\}\])[,}]/.exec(text)?.[1] ?? '[]'
  const log = JSON.parse(gateway.logs.find((line) => line.includes(id) && line.includes('"exchange"')) ?? '{}') as JsonObject
  const [attempt = {}] = JSON.parse(attempts) as JsonObject[]
  return { text: reply.text, call, attempt, lane: log.lane, logged: log.answer_check }
}

const asking = (client: Client, schema = PERSON): JsonObject =>
  client.write({ turns: [{ user: [{ text: 'Who?' }] }], schema: { name: 'person', schema }, cap: 500 })

t.test('the whole answer is checked against the schema of the caller', async (t) => {
  const cases: [pieces: string[], check: JsonObject][] = [
    [['{"name": "A', 'lice"}'], { verdict: 'fits' }],
    [['{"name": "a', 'lice"}'], { verdict: 'misfit', keyword: 'pattern', path: '$.name' }],
    [['{"nick": "Al"}'], { verdict: 'misfit', keyword: 'required', path: '$.name' }],
    [['Here: {"name"', ': "Alice"}'], { verdict: 'no_json' }],
    [['{"name": "Alice"'], { verdict: 'no_json' }],
    [['{"name": "', 'A'.repeat(300_000), '"}'], { verdict: 'unchecked' }],
  ]
  for (const model of LOSING)
    for (const way of WAYS)
      await every(t, `${way.client.id} → ${model}${way.stream ? ', streamed' : ''}`, async (t) => {
        for (const [pieces, check] of cases) {
          const got = await ask(way, model, { text: pieces }, asking(way.client))
          // The Messages format has no field for strict schemas, so providers of other formats get none.
          const isUnchanged = way.client.id === 'messages' && (model === 'm/closed' || model === 'm/responses')
          const { path: _, ...kept } = check
          t.equal(got.text, pieces.join(''), 'it passes unchanged')
          t.same(got.attempt.answer_check, isUnchanged ? undefined : check, 'the caller sees it in the metadata')
          t.same(got.call.answer_check, isUnchanged ? undefined : kept, 'the generation has it without the place')
          t.equal(got.logged, isUnchanged ? undefined : check.verdict, 'and so has the log')
        }
      })
  const metrics = await (await fetch(`${gateway.admin}/metrics`)).text()
  t.match(metrics, /headgate_answer_checks_total\{provider="claude",verdict="misfit"\} 12\n/)
})

t.test('the format that stays the same is read beside the answer, without being written anew', async (t) => {
  const [chat] = WAYS.filter(({ client }) => client.id === 'chat')
  t.equal((await ask(chat, 'm/closed', { text: ['{}'] }, asking(chat.client))).lane, 'observe')
  t.equal((await ask(chat, 'm/plain', { text: ['{}'] }, asking(chat.client))).lane, 'pass')
})

t.test('a format that the provider gets as it is is not checked', async (t) => {
  const closed: JsonObject = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'], additionalProperties: false }
  for (const model of ['m/claude', 'm/gemini', 'm/closed', 'm/responses', 'm/plain'])
    await every(t, model, async (t) => {
      for (const way of WAYS) {
        const { call, attempt, logged } = await ask(way, model, { text: ['no JSON'] }, asking(way.client, closed))
        t.same([call.answer_check, attempt.answer_check, logged], [undefined, undefined, undefined])
      }
    })
})

t.test('JSON without a schema, which the provider is requested in words alone', async (t) => {
  const [chat, streamed] = WAYS.filter(({ client }) => client.id === 'chat')
  const body = { messages: [{ role: 'user', content: 'Hello' }], response_format: { type: 'json_object' } }
  for (const way of [chat, streamed]) {
    t.same((await ask(way, 'm/claude', { text: ['Well, {}'] }, body)).call.answer_check, { verdict: 'no_json' })
    const fits = await ask(way, 'm/claude', { text: ['{', '}'] }, body)
    t.same(fits.call.answer_check, { verdict: 'fits' })
    t.notOk(fits.call.dropped, 'nothing is left out')
    t.equal((await ask(way, 'm/gemini', { text: ['Well'] }, body)).call.answer_check, undefined, 'Gemini sees to it')
  }
})

t.test('gives no verdict on an answer that failed or is cut', async (t) => {
  const cases: [name: string, utterance: Utterance][] = [
    ['cut off', { text: ['{"na'], end: 'length' }],
    ['filtered', { text: ['{"na'], end: 'content_filter' }],
    ['refused', { refusal: ['I cannot.'] }],
    ['calls', { text: ['I look.'], calls: [{ id: 'c1', name: 'f', args: ['{}'] }] }],
  ]
  for (const [name, utterance] of cases)
    await every(t, name, async (t) => {
      for (const way of WAYS)
        for (const model of ['m/words', 'm/lacks'])
          t.equal((await ask(way, model, utterance, asking(way.client))).call.answer_check, undefined, `${way.client.id} → ${model}`)
    })
})

t.test('arguments of strict tools', async (t) => {
  const responses = CLIENTS.find(({ id }) => id === 'responses') as Client
  const strict = (name: string): JsonObject => ({ type: 'function', name, parameters: PERSON, strict: true })
  const free: JsonObject = { type: 'function', name: 'free', parameters: PERSON, strict: false }
  const body = { input: 'Who?', tools: [strict('one'), strict('two'), free] }
  const call = (name: string, ...args: string[]) => ({ id: `call_${name}`, name, args })
  const cases: [utterance: Utterance, check: JsonObject | undefined][] = [
    [{ calls: [call('one', '{"name": "A', 'lice"}')] }, { verdict: 'fits', tool: 'one' }],
    [
      { calls: [call('one', '{"name": "Alice"}'), call('two', '{"name": ', '"alice"}')] },
      { verdict: 'misfit', tool: 'two', keyword: 'pattern' },
    ],
    [{ calls: [call('one')] }, { verdict: 'misfit', tool: 'one', keyword: 'required' }],
    [{ calls: [call('free', '{}')] }, undefined],
    [{ text: ['Nobody.'] }, undefined],
  ]
  for (const model of ['m/claude', 'm/responses', 'm/closed', 'm/gemini'])
    for (const stream of [false, true])
      await every(t, `${model}${stream ? ', streamed' : ''}`, async (t) => {
        for (const [utterance, check] of cases)
          t.same((await ask({ client: responses, stream }, model, utterance, body)).call.answer_check, check, JSON.stringify(utterance))
      })
})

t.test('a plan shows the lane that the answer travels in', async (t) => {
  const chat = CLIENTS.find(({ id }) => id === 'chat') as Client
  for (const [model, lane] of [
    ['m/closed', 'observe'],
    ['m/plain', 'pass'],
  ]) {
    const plan = (await (await gateway.post('/v1/plan', { ...asking(chat), model })).json()) as JsonObject
    t.match(list(object(plan.data ?? plan).candidates)[0], { lane })
  }
})
