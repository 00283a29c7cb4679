/**
 * Types of events, items and parts of a reply that nothing knows are reported, once each: in streams and whole replies, to callers of the
 * same wire and of others. What is known, whatever becomes of it, is not.
 */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { PASSED_EVENTS } from '../../src/dialects/responses/known-words.ts'
import { eventually } from '../support/eventually.ts'
import { every } from '../support/every.ts'
import type { Client } from '../support/providers.ts'
import { startScene } from '../support/scene.ts'
import { jsonAnswer, sseAnswer } from '../support/upstream.ts'

/** One reply: its events, or all of it. */
interface Reply {
  readonly events?: readonly JsonObject[]
  readonly whole?: JsonObject
}

const replyAnswer = ({ events, whole }: Reply) =>
  events
    ? sseAnswer([
        events.map((event) => `${event.type === undefined ? '' : `event: ${event.type}\n`}data: ${JSON.stringify(event)}\n\n`).join(''),
      ])
    : jsonAnswer(whole)

/** Unknown words that are reported of a reply, as kind and word. */
async function reported(t: Test, dialect: string, client: Client, reply: Reply, expected: number): Promise<string[]> {
  const { gateway, ask } = await startScene(t, { dialect, answer: () => replyAnswer(reply) })
  const stream = reply.events !== undefined
  for (let n = 0; n < 2; n++) {
    const response = await ask({ stream }, client)
    const text = await response.text()
    t.equal(response.status, 200, text)
    t.match(text, 'fine')
  }
  const lines = () => gateway.logs.filter((line) => line.includes('a provider sent a word that is not known'))
  if (expected > 0) await eventually(`${expected} words`, () => lines().length >= expected)
  return lines()
    .map((line) => JSON.parse(line) as JsonObject)
    .map(({ kind, word }) => `${kind} ${word}`)
    .sort()
}

const block = (index: number, content_block: JsonObject, delta?: JsonObject): JsonObject[] => [
  { type: 'content_block_start', index, content_block },
  ...(delta ? [{ type: 'content_block_delta', index, delta }] : []),
  { type: 'content_block_stop', index },
]

const messages = (between: readonly JsonObject[]): JsonObject[] => [
  {
    type: 'message_start',
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [],
      stop_reason: null,
      usage: { input_tokens: 3, output_tokens: 1 },
    },
  },
  { type: 'ping' },
  ...block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'fine' }),
  ...between,
  ...block(9, { type: 'text', text: '' }, { type: 'text_delta', text: ' indeed' }),
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 2 } },
  { type: 'message_stop' },
]

const text = {
  type: 'message',
  id: 'm1',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'fine', annotations: [] }],
}

function responses(between: readonly JsonObject[], items: readonly JsonObject[]): JsonObject[] {
  const at = items.length
  const response = { id: 'resp_1', object: 'response', status: 'in_progress', output: [] }
  const usage = { input_tokens: 3, output_tokens: 2, total_tokens: 5 }
  const part = { type: 'output_text', text: '', annotations: [] }
  const events: JsonObject[] = [
    { type: 'response.created', response },
    { type: 'response.output_item.added', output_index: at, item: { ...text, status: 'in_progress', content: [] } },
    { type: 'response.content_part.added', output_index: at, item_id: 'm1', content_index: 0, part },
    { type: 'response.output_text.delta', output_index: at, item_id: 'm1', content_index: 0, delta: 'fine' },
    ...between,
    { type: 'response.output_item.done', output_index: at, item: text },
    { type: 'response.completed', response: { ...response, status: 'completed', output: [...items, text], usage } },
  ]
  return events.map((event, index) => ({ ...event, sequence_number: index }))
}

const item = { type: 'hologram_call', id: 'h1', status: 'completed' }
const added = ['added', 'done'].map((end): JsonObject => ({ type: `response.output_item.${end}`, output_index: 0, item }))
const searching: JsonObject = { type: 'response.web_search_call.searching', output_index: 0, item_id: 'w1' }
const beamed: JsonObject = { type: 'response.hologram_call.beamed', output_index: 0, item_id: 'h1' }

t.test('of Messages', async (t) => {
  const strange = [
    ...block(1, { type: 'hologram', content: 'x' }),
    ...block(2, { type: 'web_fetch_tool_result', tool_use_id: 'srvtoolu_1', content: {} }),
    ...block(3, { type: 'text', text: '' }, { type: 'hologram_delta', value: 'x' }),
    { type: 'hologram_notice', note: 'x' },
  ]
  const words = ['event hologram_notice', 'item hologram', 'part hologram_delta']
  const content = [
    { type: 'text', text: 'fine' },
    { type: 'hologram', content: 'x' },
  ]
  const whole = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content,
    stop_reason: 'end_turn',
    usage: { input_tokens: 3, output_tokens: 1 },
  }
  for (const client of ['messages', 'chat'] as const)
    await every(t, client, async (t) => {
      t.same(await reported(t, 'anthropic', client, { events: messages(strange) }, 3), words)
      t.same(await reported(t, 'anthropic', client, { whole }, 1), ['item hologram'])
    })
})

t.test('of Responses', async (t) => {
  for (const client of ['responses', 'chat'] as const)
    await every(t, client, async (t) => {
      const events = responses([...added, searching, beamed], [item])
      t.same(await reported(t, 'openai-responses', client, { events }, 2), ['event response.hologram_call.beamed', 'item hologram_call'])
      const whole = {
        id: 'resp_1',
        object: 'response',
        status: 'completed',
        model: 'm',
        output: [item, text],
        usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
      }
      t.same(await reported(t, 'openai-responses', client, { whole }, 1), ['item hologram_call'])
      const known = responses(
        [...PASSED_EVENTS].map((type) => ({ type, output_index: 0, item_id: 'x' })),
        [],
      )
      t.same(await reported(t, 'openai-responses', client, { events: [...known] }, 0), [], 'what is known is not')
    })
})

t.test('of Gemini', async (t) => {
  const parts = [{ text: 'fine' }, { hologram: { x: 1 } }, { executableCode: { language: 'PYTHON', code: 'x' } }]
  const whole = {
    candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
  }
  t.same(await reported(t, 'gemini', 'chat', { whole }, 1), ['part hologram'])
  t.same(await reported(t, 'gemini', 'messages', { events: [whole] }, 1), ['part hologram'])
})

t.test('of chat completions, to callers of other formats', async (t) => {
  const content = [
    { type: 'text', text: 'fine' },
    { type: 'hologram', x: 1 },
    { type: 'reference', reference_ids: [1] },
  ]
  const whole = {
    id: 'c1',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
  }
  t.same(await reported(t, 'openai-chat', 'messages', { whole }, 1), ['part hologram'])
})
