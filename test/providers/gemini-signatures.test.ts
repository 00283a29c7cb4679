/**
 * Thought signatures of Gemini's tool calls through callers who keep nothing but the calls: the stand-in verifies what it signed, and
 * refuses a call of the current turn that has no signature.
 */
import t from 'tap'
import type { Json, JsonObject } from '../../src/core/json.ts'
import { list, object } from '../support/fold.ts'
import { collected } from './collect.ts'
import { startMatrix } from './matrix.ts'
import { gemini } from './rules/gemini.ts'
import { mistral } from './rules/mistral.ts'
import { TOOLS } from './scenarios.ts'

const MODEL = 'google/gemini-3.8-flash'
const { gateway, standIns } = await startMatrix(t, [gemini, mistral])
const [standIn, elsewhere] = standIns
const CALLS = [
  { id: 'callAAAA1', name: 'weather', args: ['{"city":"Oslo"}'] },
  { id: 'callBBBB2', name: 'clock', args: ['{"city":"Rome"}'] },
]

async function post(path: string, body: JsonObject, headers: Record<string, string> = {}): Promise<JsonObject> {
  const response = await gateway.post(path, body, headers)
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${response.status} ${text}`)
  if (body.stream !== true) return JSON.parse(text) as JsonObject
  return collected(path.endsWith('messages') ? 'messages' : 'chat', text)
}

const chatTools = TOOLS.map(({ name, description, schema }) => ({ type: 'function', function: { name, description, parameters: schema } }))
const question = { role: 'user', content: 'The weather in Oslo, and the time in Rome?' }

async function chatCalls(stream: boolean): Promise<JsonObject> {
  standIn.utterance = { calls: CALLS }
  const reply = await post('/v1/chat/completions', { model: MODEL, messages: [question], tools: chatTools, stream })
  return object(list(reply.choices)[0].message)
}

/** The second turn, with the assistant message as a caller has kept it. */
async function chatResults(model: string, message: JsonObject): Promise<void> {
  standIn.signatures.returned = 0
  const results = list(message.tool_calls).map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'Rain' }))
  await post('/v1/chat/completions', { model, messages: [question, message, ...results], tools: chatTools })
}

for (const stream of [false, true]) {
  const way = stream ? 'streamed' : 'whole'
  t.test(`chat: the signature stands in the call, ${way}`, async (t) => {
    const message = await chatCalls(stream)
    const [first, second] = list(message.tool_calls)
    t.type(object(object(first.extra_content).google).thought_signature, 'string')
    t.equal(second.extra_content, undefined, 'one call is signed')
    standIn.utterance = { text: ['Fine.'] }
    const kept = { role: 'assistant', content: null, tool_calls: message.tool_calls }
    await chatResults(MODEL, kept)
    t.equal(standIn.signatures.returned, 1, 'a caller that keeps calls alone returns it')
    await chatResults(MODEL, { ...kept, reasoning_details: message.reasoning_details })
    t.equal(standIn.signatures.returned, 1, 'with the reasoning beside it, it is still one')
    const bare = list(message.tool_calls).map(({ extra_content: _extra, ...call }) => call)
    await chatResults(MODEL, { ...kept, tool_calls: bare })
    t.equal(standIn.signatures.returned, 0, 'without it the turn does not fail')
    elsewhere.utterance = { text: ['Fine.'] }
    await chatResults('mistralai/mistral-medium-3.5', kept)
    t.same(elsewhere.refused, [], 'another provider never sees it')
    t.notMatch(JSON.stringify(elsewhere.accepted.at(-1)), 'extra_content')
  })

  t.test(`messages without thinking: the signature stands in the call, ${way}`, async (t) => {
    const tools = TOOLS.map(({ name, description, schema }) => ({ name, description, input_schema: schema }))
    const base = { model: MODEL, max_tokens: 500, tools }
    standIn.utterance = { calls: CALLS }
    const { content } = await post('/v1/messages', { ...base, messages: [question], stream })
    const blocks = list(content)
    t.same(
      blocks.map(({ type }) => type),
      ['tool_use', 'tool_use'],
      'no block that the caller did not request',
    )
    const results = blocks.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'Rain' }))
    const second = async (kept: JsonObject[]): Promise<number> => {
      standIn.signatures.returned = 0
      standIn.utterance = { text: ['Fine.'] }
      const messages = [question, { role: 'assistant', content: kept }, { role: 'user', content: results }]
      const reply = await post('/v1/messages', { ...base, messages })
      t.same(
        list(reply.content).map(({ type }) => type),
        ['text'],
      )
      return standIn.signatures.returned
    }
    t.equal(await second(blocks), 1, 'as the SDKs of Anthropic send a reply back')
    const rebuilt = blocks.map(({ type, id, name, input }) => ({ type, id, name, input }))
    t.equal(await second(rebuilt), 0, 'as Claude Code rebuilds calls: the turn does not fail')
    const thinking = { type: 'enabled', budget_tokens: 1024 }
    standIn.utterance = { calls: CALLS }
    const thought = await post('/v1/messages', { ...base, max_tokens: 2000, thinking, messages: [question], stream })
    t.same(
      list(thought.content).map(({ type }) => type),
      ['redacted_thinking', 'tool_use', 'tool_use'],
      'who expects thinking gets it there',
    )
    t.notMatch(JSON.stringify(thought), 'extra_content')
  })
}

const CLAUDE_CODE = { 'user-agent': 'claude-cli/2.1.330 (external, cli)' }
const THINKING = { max_tokens: 2000, thinking: { type: 'enabled', budget_tokens: 1024 } }

const contentTypes = (content: unknown): unknown[] => list(content as Json).map(({ type }) => type)

/** Number of signatures that come back with the second turn of an answer of text. @param seen receives the types of the answer's blocks. */
async function textReturned(more: JsonObject, headers: Record<string, string>, seen: unknown[][]): Promise<number> {
  const base = { model: MODEL, max_tokens: 500, ...more, stream: false }
  standIn.utterance = { reasoning: ['It rains.'], text: ['Take a coat.'] }
  const { content } = await post('/v1/messages', { ...base, ...more, messages: [question] }, headers)
  seen.push(contentTypes(content))
  const messages = [question, { role: 'assistant', content }, { role: 'user', content: 'Which?' }] as JsonObject[]
  standIn.signatures.returned = 0
  await post('/v1/messages', { ...base, messages }, headers)
  const { returned } = standIn.signatures
  elsewhere.utterance = { text: ['Fine.'] }
  await post('/v1/messages', { ...base, model: 'mistralai/mistral-medium-3.5', messages }, headers)
  t.same(elsewhere.refused, [], 'another provider never sees it')
  t.notMatch(JSON.stringify(elsewhere.accepted.at(-1)), /extra_content|hg\.|redacted/)
  return returned
}

t.test('messages: the signature of a text comes back', async (t) => {
  const seen: unknown[][] = []
  t.equal(await textReturned(THINKING, {}, seen), 1, 'whole: in front of the text')
  t.equal(await textReturned({ ...THINKING, stream: true }, {}, seen), 1, 'streamed: behind it, where it comes')
  t.equal(await textReturned({}, {}, seen), 1, 'whole, without thinking: in the text')
  t.equal(await textReturned(THINKING, CLAUDE_CODE, seen), 1, 'whole, to Claude Code')
  t.same(seen, [
    ['thinking', 'redacted_thinking', 'text'],
    ['thinking', 'text', 'redacted_thinking'],
    ['text'],
    ['thinking', 'redacted_thinking', 'text'],
  ])
})

t.test('messages: what cannot carry the signature of a text goes on without it', async (t) => {
  const seen: unknown[][] = []
  t.equal(await textReturned({ ...THINKING, stream: true }, CLAUDE_CODE, seen), 0, 'Claude Code 2.1.330 prints the last block alone')
  t.equal(await textReturned({ stream: true }, {}, seen), 0, 'a caller that does not count on thinking')
  t.same(seen, [['thinking', 'text'], ['text']])
})

t.test('the stand-in refuses what Google refuses', async (t) => {
  const message = await chatCalls(false)
  const [first, second] = list(message.tool_calls)
  const forged = { ...first, extra_content: { google: { thought_signature: 'Rm9yZ2Vk' } } }
  standIn.utterance = { text: ['Fine.'] }
  const before = standIn.refused.length
  await chatResults(MODEL, { role: 'assistant', content: null, tool_calls: [forged, second] })
  t.match(standIn.refused.slice(before), [{ refusal: { body: { error: { message: 'Corrupted thought signature.' } } } }])
  t.equal(standIn.signatures.returned, 0, 'and is called once more without the reasoning')
})
