/**
 * Demands of single providers of the Chat Completions API beyond the matrix, each against the rules of its stand-in: every effort, every
 * role, reasoning and ids of other providers in the history, forms that differ.
 */
import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { EFFORTS } from '../../src/dialects/canon/efforts.ts'
import { every } from '../support/every.ts'
import { list, object } from '../support/fold.ts'
import { startMatrix } from './matrix.ts'
import { RULES } from './rules/index.ts'
import type { RuledModel, StandIn } from './stand-in.ts'

const matrix = await startMatrix(
  t,
  RULES.filter(({ wire }) => wire === 'openai-chat'),
)

const user = { role: 'user', content: 'Hello, as JSON' }
const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }]
const call = { id: 'toolu_01A09q90qw90lq917835lq9', type: 'function', function: { name: 'look', arguments: '{}' } }

/** A provider may refuse the first of two calls of one request. */
type Calls = 'one' | 'two'

/** Sends a body for a model of a stand-in. @returns what the provider accepted; undefined where it refused more, or got nothing. */
async function sent(standIn: StandIn, model: RuledModel, body: object, calls: Calls = 'one'): Promise<JsonObject | undefined> {
  const before = standIn.accepted.length
  const refused = standIn.refused.length
  const response = await matrix.gateway.post('/v1/chat/completions', { model: model.slug, ...body, ...model.more })
  await response.text()
  if (response.status !== 200 || standIn.refused.length > refused + (calls === 'two' ? 1 : 0)) return undefined
  return standIn.accepted[before]
}

const why = (standIn: StandIn): string => JSON.stringify(standIn.refused.at(-1)?.refusal.body ?? null)

/** Every model of every stand-in. */
async function eachModel(t: Parameters<typeof every>[0], name: string, body: (model: RuledModel) => object | undefined, calls?: Calls) {
  await every(t, name, async (t) => {
    for (const standIn of matrix.standIns)
      for (const model of standIn.rules.models) {
        const fields = body(model)
        if (fields !== undefined) t.ok(await sent(standIn, model, fields, calls), `${standIn.rules.preset} ${model.name}: ${why(standIn)}`)
      }
  })
}

t.test('every effort reaches a model that reasons as one that it knows', async (t) => {
  for (const effort of EFFORTS) {
    const body = ({ reasons }: RuledModel) => (reasons ? { messages: [user], reasoning_effort: effort } : undefined)
    // A model that always thinks refuses to be kept from it: then its lowest effort is sent.
    await eachModel(t, effort, body, effort === 'none' ? 'two' : 'one')
  }
})

t.test('an effort for a model without reasoning is left out, not refused, where its endpoint says so', async (t) => {
  const groq = matrix.standIns.find(({ rules }) => rules.preset === 'groq')
  const llama = groq?.rules.models.find(({ reasons }) => !reasons)
  if (groq === undefined || llama === undefined) throw new Error('no model without reasoning at Groq')
  const body = await sent(groq, llama, { messages: [user], reasoning_effort: 'high' })
  t.ok(body && !('reasoning_effort' in body), why(groq))
})

t.test('developer messages, also in the middle', async (t) => {
  const messages = [{ role: 'developer', content: 'Be brief.' }, user, { role: 'assistant', content: 'Fine.' }, user]
  await eachModel(t, 'at the start', () => ({ messages }))
  const middle = [{ role: 'system', content: 'A' }, { role: 'system', content: 'B' }, user]
  await eachModel(t, 'two system messages', () => ({ messages: middle }))
})

t.test('a history that another provider wrote', async (t) => {
  const thought = {
    reasoning: 'Hm.',
    reasoning_details: [{ type: 'reasoning.text', text: 'Hm.' }],
  }
  const assistant = { role: 'assistant', content: null, refusal: null, annotations: [], tool_calls: [call], ...thought }
  const result = {
    role: 'tool',
    tool_call_id: call.id,
    content: [
      { type: 'text', text: 'one' },
      { type: 'text', text: 'two' },
    ],
  }
  await eachModel(t, 'with reasoning', ({ tools: takes }) => (takes === false ? undefined : { messages: [user, assistant, result], tools }))
  const { reasoning: _text, reasoning_details: _details, ...silent } = assistant
  await eachModel(t, 'without reasoning', ({ tools: takes }) => (takes === false ? undefined : { messages: [user, silent, result], tools }))
})

t.test('a user message directly behind a tool result', async (t) => {
  const assistant = { role: 'assistant', content: null, tool_calls: [call] }
  const result = { role: 'tool', tool_call_id: call.id, content: 'Rain' }
  const messages = [user, assistant, result, user]
  await eachModel(t, 'reaches every model', ({ tools: takes }) => (takes === false ? undefined : { messages, tools }))
  const mistral = matrix.standIns.find(({ rules }) => rules.preset === 'mistral')
  const roles = list(mistral?.accepted.at(-1)?.messages).map(({ role }) => role)
  t.same(roles, ['user', 'assistant', 'tool', 'assistant', 'user'])
})

t.test('parameters by the names of each provider', async (t) => {
  const more = { seed: 7, user: 'someone', stop: 'END', max_completion_tokens: 50, max_tokens: 40, stream_options: null }
  await eachModel(t, 'seed, user, a single stop sequence, both caps', () => ({ messages: [user], ...more }))
  const acceptedBody = (preset: string) => object(matrix.standIns.find(({ rules }) => rules.preset === preset)?.accepted.at(-1) ?? {})
  t.match(acceptedBody('mistral'), { random_seed: 7, max_tokens: 50 })
  t.match(acceptedBody('openai-chat'), { max_completion_tokens: 50 })
  t.match(acceptedBody('together'), { stop: ['END'] })
  for (const [preset, field] of [
    ['mistral', 'seed'],
    ['mistral', 'user'],
    ['openai-chat', 'max_tokens'],
  ])
    t.notOk(field in acceptedBody(preset), `${preset} gets no ${field}`)
})

t.test('Kimi takes no penalties, and requires the parameters of a tool', async (t) => {
  const standIn = matrix.standIns.find(({ rules }) => rules.preset === 'moonshot')
  if (standIn === undefined) throw new Error('no stand-in of Moonshot')
  const bare = [{ type: 'function', function: { name: 'look' } }]
  for (const model of standIn.rules.models) {
    const body = await sent(standIn, model, { messages: [user], tools: bare, frequency_penalty: 1, presence_penalty: 1, top_p: 0.5 })
    t.ok(body, `${model.name}: ${why(standIn)}`)
  }
})

t.test('a schema that need not be kept to exactly, where the provider knows only strict ones', async (t) => {
  const standIn = matrix.standIns.find(({ rules }) => rules.preset === 'baseten')
  if (standIn === undefined) throw new Error('no stand-in of Baseten')
  const json_schema = { name: 'x', schema: { type: 'object', properties: {} }, strict: false }
  const body = await sent(standIn, standIn.rules.models[0], { messages: [user], response_format: { type: 'json_schema', json_schema } })
  t.ok(body && !('strict' in object(object(body.response_format).json_schema)), why(standIn))
})

t.test('reasoning of earlier turns in the field of each provider', async (t) => {
  const history = [user, { role: 'assistant', content: 'Fine.', reasoning: 'Hm.' }, user]
  const fields: Readonly<Record<string, object>> = {
    deepseek: { reasoning_content: 'Hm.' },
    groq: { reasoning: 'Hm.' },
    cerebras: { reasoning: 'Hm.' },
    mistral: {
      content: [
        { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] },
        { type: 'text', text: 'Fine.' },
      ],
    },
    fireworks: { reasoning_content: 'Hm.' },
  }
  for (const [preset, expected] of Object.entries(fields)) {
    const standIn = matrix.standIns.find(({ rules }) => rules.preset === preset)
    if (standIn === undefined) throw new Error(`no stand-in of ${preset}`)
    const body = await sent(standIn, standIn.rules.models[0], { messages: history })
    t.match(list(object(body ?? {}).messages)[1], expected, `${preset}: ${why(standIn)}`)
  }
})
