/** Input items that OpenAI refuses never reach a provider: what is left out is recorded, the rest is fitted. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { openaiResponses, responsesClient } from '../../../src/dialects/responses/index.ts'
import { passWire, target } from './rig.ts'

const user = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }
const utterance = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'So.', annotations: [] }] }
const thought = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' }

/** The input in both lanes, and what was left out. */
function sent(input: JsonObject[], facts: Parameters<typeof target>[0] = {}): { input: unknown; dropped: string[] } {
  const body = { model: 'a/b', input }
  responsesClient.check(body)
  const passed = passWire.request(body, target(facts))
  const translated = openaiResponses.encodeRequest(responsesClient.decodeRequest(body), target(facts))
  t.same(translated.body.input, passed.body.input, 'both lanes agree')
  t.same(translated.dropped, passed.dropped)
  return { input: passed.body.input, dropped: passed.dropped }
}

t.test('reasoning needs what it led to behind it', async (t) => {
  // Recorded: test_openai_responses_thinking_with_modified_history.
  t.same(sent([user, thought, user]), { input: [user, user], dropped: ['reasoning'] })
  t.same(sent([user, thought]), { input: [user], dropped: ['reasoning'] })
  t.same(sent([user, thought, thought, utterance, user]), { input: [user, thought, thought, utterance, user], dropped: [] })
  const call = { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' }
  const output = { type: 'function_call_output', call_id: 'call_1', output: 'done' }
  t.same(sent([user, thought, call, output]), { input: [user, thought, call, output], dropped: [] })
})

t.test('reasoning without its encrypted content is not known to a provider that stores nothing', async (t) => {
  // github.com/vercel/ai/issues/7543
  const bare = { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm' }] }
  t.same(sent([user, bare, utterance, user]), { input: [user, utterance, user], dropped: ['reasoning'] })
  const open = { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'Hm' }] }
  t.same(sent([user, open, utterance, user]), { input: [user, open, utterance, user], dropped: [] })
})

t.test('what follows reasoning that is left out has no id', async (t) => {
  const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{}' }
  const output = { type: 'function_call_output', call_id: 'call_1', output: 'done' }
  const bare = { type: 'reasoning', id: 'rs_1', summary: [] }
  const { id: _id, ...nameless } = call
  t.same(sent([user, bare, call, output]).input, [user, nameless, output])
  t.same(sent([user, thought, call, output]).input, [user, thought, call, output])
})

t.test('a status of reasoning is an unknown parameter', async (t) => {
  // github.com/BerriAI/litellm/issues/13420
  t.same(sent([user, { ...thought, status: 'completed' }, utterance]).input, [user, thought, utterance])
})

t.test('ids of calls longer than 64 characters are shortened, the same way in each turn', async (t) => {
  // github.com/earendil-works/pi/issues/1022
  const long = `call_${'x'.repeat(60)}`
  const items = [
    user,
    { type: 'function_call', call_id: long, name: 'f', arguments: '{}' },
    { type: 'function_call_output', call_id: long, output: 'done' },
  ]
  const [, call, output] = sent(items).input as JsonObject[]
  t.match(call.call_id, /^call_[\w-]{43}$/)
  t.equal(output.call_id, call.call_id)
  t.same((sent(items).input as JsonObject[])[1], call)
  const fits = `call_${'x'.repeat(59)}`
  t.equal((sent([user, { ...items[1], call_id: fits }, { ...items[2], call_id: fits }]).input as JsonObject[])[1].call_id, fits)
})

t.test('a model without reasoning is not asked to encrypt any', async (t) => {
  // github.com/pydantic/pydantic-ai/issues/2865
  const encrypted = 'reasoning.encrypted_content'
  const body = { model: 'a/b', input: 'Hi', include: [encrypted, 'web_search_call.action.sources'], reasoning: { effort: 'low' } }
  const plain = target({ supported: new Set(['max_tokens', 'tools']) })
  const able = target({ supported: new Set(['reasoning']) })
  for (const [facts, include] of [
    [plain, ['web_search_call.action.sources']],
    [able, body.include],
  ] as const) {
    t.same(passWire.request(body, facts).body.include, include)
    t.same(openaiResponses.encodeRequest(responsesClient.decodeRequest(body), facts).body.include, include)
  }
  t.equal(passWire.request({ ...body, include: [encrypted] }, plain).body.include, undefined)
})

t.test('the nearest effort is sent and recorded, and an unsupported none becomes the lowest', async (t) => {
  // github.com/openai/codex/issues/6647
  const facts = target({ quirks: { efforts: ['low', 'medium', 'high'] } })
  for (const [effort, nearest] of [
    ['none', 'low'],
    ['minimal', 'low'],
    ['xhigh', 'high'],
    ['max', 'high'],
    ['medium', 'medium'],
  ]) {
    const { body, dropped } = passWire.request({ model: 'a/b', input: 'Hi', reasoning: { effort } }, facts)
    t.same(body.reasoning, { effort: nearest })
    t.same(dropped, effort === nearest ? [] : ['reasoning.effort'], effort)
  }
})

t.test('a cap below the least that the provider takes is raised to it, and recorded', async (t) => {
  // github.com/earendil-works/pi/issues/6265
  const facts = target({ quirks: { min_output_tokens: 16 } })
  for (const [cap, least] of [
    [1, 16],
    [15, 16],
    [16, 16],
    [400, 400],
  ]) {
    const { body, dropped } = passWire.request({ model: 'a/b', input: 'Hi', max_output_tokens: cap }, facts)
    t.equal(body.max_output_tokens, least)
    t.same(dropped, cap === least ? [] : ['max_tokens'], `a cap of ${cap}`)
  }
  t.notMatch(passWire.request({ model: 'a/b', input: 'Hi' }, facts).body, { max_output_tokens: 16 }, 'none is added')
})

const OPEN = { type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' } }, required: ['a'], additionalProperties: false }
const CLOSED = { ...OPEN, required: ['a', 'b'] }

t.test('a strict schema that the provider refuses is sent as one that is not strict', async (t) => {
  // github.com/vercel/ai/issues/6484, github.com/dottxt-ai/outlines/issues/844
  const facts = target({ quirks: { closed_schemas: true } })
  const toolBody = (schema: JsonObject, strict: boolean): JsonObject => ({
    tools: [{ type: 'function', name: 'f', parameters: schema, strict }],
    text: { format: { type: 'json_schema', name: 'x', schema, strict } },
  })
  const table: [JsonObject, boolean][] = [
    [CLOSED, true],
    [OPEN, false],
    [{ ...CLOSED, additionalProperties: true }, false],
    [{ ...CLOSED, properties: { a: OPEN, b: { type: 'string' } } }, false],
    [{ ...CLOSED, properties: { a: { type: 'array', items: CLOSED }, b: { anyOf: [CLOSED, { type: 'null' }] } } }, true],
    [{ ...CLOSED, properties: { a: { type: 'array', items: OPEN }, b: { type: 'string' } } }, false],
    [{ ...CLOSED, properties: { a: { allOf: [CLOSED] }, b: { type: 'string' } } }, false],
    [{ ...CLOSED, $defs: { x: OPEN } }, false],
    [{ type: 'array', items: CLOSED }, false],
  ]
  for (const [schema, strict] of table) {
    const body = { model: 'a/b', input: 'Hi', ...toolBody(schema, true) }
    for (const { body: written, dropped } of [
      passWire.request(body, facts),
      openaiResponses.encodeRequest(responsesClient.decodeRequest(body), facts),
    ]) {
      t.match(written, toolBody(schema, strict), JSON.stringify(schema))
      t.same(dropped, strict ? [] : ['tools.strict', 'response_format.strict'])
    }
    t.match(body, toolBody(schema, true), 'the caller’s own is untouched')
    t.match(passWire.request(body, target({})).body, toolBody(schema, true), 'without the quirk it is sent as it is')
  }
})

t.test('marks for the cache go only where they are taken', async (t) => {
  // github.com/anomalyco/opencode/issues/36315
  const part = { type: 'input_text', text: 'Hi' }
  const marked = { ...part, prompt_cache_breakpoint: { mode: 'explicit' } }
  const at = (content: JsonObject): JsonObject => ({ type: 'message', role: 'user', content: [part, content] })
  t.same(sent([at(marked)]), { input: [at(part)], dropped: ['cache_control'] })
  t.same(sent([at(marked)], { quirks: { explicit_caching: true } }), { input: [at(marked)], dropped: [] })
})

t.test('words that a provider defines pass to its own wire', async (t) => {
  const fields = {
    service_tier: 'scale',
    reasoning: { effort: 'ultra', summary: 'brief', mode: 'deep' },
    text: { verbosity: 'loud' },
    prompt_cache_options: { mode: 'implicit', ttl: '30m' },
  }
  const body = { model: 'a/b', input: 'Hi', ...fields }
  responsesClient.check(body)
  const facts = target({ quirks: { explicit_caching: true } })
  for (const { body: written, dropped } of [
    passWire.request(body, facts),
    openaiResponses.encodeRequest(responsesClient.decodeRequest(body), facts),
  ]) {
    t.match(written, { reasoning: fields.reasoning, text: fields.text, prompt_cache_options: fields.prompt_cache_options })
    // A tier has its price, so only that of the endpoint is sent.
    t.equal(written.service_tier, undefined)
    t.same(dropped, ['service_tier'])
  }
  const few = passWire.request(body, target({ quirks: { efforts: ['low', 'medium', 'high'] } }))
  t.match(few, { body: { reasoning: { effort: 'medium' } } }, 'a word that is none of ours counts as medium')
})
