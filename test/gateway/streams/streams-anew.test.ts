/**
 * A stream in which a second answer begins after the first one's content, since a service between has lost the first: an error, not text
 * that is doubled or a broken call. Streams of Messages: anthropic-replies.test.ts; of Gemini: dialects/gemini.
 */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { CLIENTS, type Client } from '../../support/matrix/clients.ts'
import { startScene } from '../../support/scene.ts'
import { sseAnswer } from '../../support/upstream.ts'

let frames: string[] = []
const { gateway } = await startScene(t, {
  answer: () => sseAnswer(frames),
  config: (url) => `
providers:
  chat: { dialect: openai-chat, base_url: "${url}", key: sk-up }
  responses: { dialect: openai-responses, base_url: "${url}", key: sk-up }
models:
  acme/chat: { endpoints: [ { provider: chat, model: up, price: { prompt: "1.00", completion: "2.00" } } ] }
  acme/responses: { endpoints: [ { provider: responses, model: up, price: { prompt: "1.00", completion: "2.00" } } ] }
`,
})

async function ask(client: Client, model: string, written: string[]): Promise<string> {
  frames = written
  const body = { ...client.write({ turns: [{ user: [{ text: 'Hello' }] }], cap: 500 }), model, stream: true }
  return (await gateway.post(client.path, body)).text()
}

const frame = (value: JsonObject): string => `data: ${JSON.stringify(value)}\n\n`
const DONE = 'data: [DONE]\n\n'

const chunk = (id: string, delta: JsonObject, end: string | null = null): string =>
  frame({ id, object: 'chat.completion.chunk', created: 7, model: 'up', choices: [{ index: 0, delta, finish_reason: end }] })

const event = (type: string, more: JsonObject): string => frame({ type, sequence_number: 0, ...more })

const response = (id: string, status: string, more: JsonObject = {}): JsonObject => ({
  response: { id, object: 'response', created_at: 7, status, model: 'up', output: [], ...more },
})

/** A message item with this text, from its beginning to its end. */
function item(text: string): string[] {
  const at = { item_id: 'msg_1', output_index: 0, content_index: 0 }
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text, annotations: [] }],
  }
  return [
    event('response.output_item.added', { output_index: 0, item: { ...message, status: 'in_progress', content: [] } }),
    event('response.content_part.added', { ...at, part: { type: 'output_text', text: '', annotations: [] } }),
    event('response.output_text.delta', { ...at, delta: text }),
    event('response.output_text.done', { ...at, text }),
    event('response.content_part.done', { ...at, part: { type: 'output_text', text, annotations: [] } }),
    event('response.output_item.done', { output_index: 0, item: message }),
  ]
}

const USAGE = { input_tokens: 3, output_tokens: 2, total_tokens: 5 }
const ENDED = /"finish_reason":"stop"|end_turn|response\.completed/

t.test('another answer within a stream of chat completions', async (t) => {
  const utterance = (id: string, text: string): string[] => [chunk(id, { role: 'assistant', content: '' }), chunk(id, { content: text })]
  const ended = (id: string): string[] => [chunk(id, {}, 'stop'), DONE]
  for (const client of CLIENTS)
    await every(t, client.id, async (t) => {
      const anew = await ask(client, 'acme/chat', [
        ...utterance('c1', 'One '),
        chunk('c1', { content: 'more ' }),
        ...utterance('c2', 'Two'),
        ...ended('c2'),
      ])
      t.match(anew, 'One ')
      t.notMatch(anew, 'Two', 'the second answer is not joined to the first')
      t.match(anew, /"error"/)
      t.notMatch(anew, ENDED)
      const call = (id: string, args: string): JsonObject => ({
        tool_calls: [{ index: 0, id, type: 'function', function: { name: 'f', arguments: args } }],
      })
      const calls = await ask(client, 'acme/chat', [
        chunk('c1', { role: 'assistant', content: null }),
        chunk('c1', call('call_1', '{"a"')),
        chunk('c2', { role: 'assistant', content: null }),
        chunk('c2', call('call_2', '{"a":1}')),
        chunk('c2', {}, 'tool_calls'),
        DONE,
      ])
      t.match(calls, /"error"/, 'a call that breaks off')
      t.notMatch(calls, 'call_2')
      const again = client.foldStream(
        await ask(client, 'acme/chat', [...utterance('c1', 'One '), ...utterance('c1', 'Two'), ...ended('c1')]),
      )
      t.same([again.text, again.end], ['One Two', client.ends.stop], 'the role again says nothing')
      const ids = client.foldStream(
        await ask(
          client,
          'acme/chat',
          [...utterance('c1', 'One '), chunk('c2', { role: 'assistant', content: 'Two' }), ...ended('c3')].map((each, index) =>
            each.replace('"id":"c1"', `"id":"d${index}"`),
          ),
        ),
      )
      t.same([ids.text, ids.end], ['One Two', client.ends.stop], 'an id of its own for each chunk says nothing')
      const early = client.foldStream(
        await ask(client, 'acme/chat', [utterance('c1', '')[0], utterance('c1', '')[0], ...utterance('c2', 'One'), ...ended('c2')]),
      )
      t.same([early.text, early.end], ['One', client.ends.stop], 'before any content nothing is lost')
    })
})

t.test('another answer within a stream of responses', async (t) => {
  const begin = (id: string): string[] => [
    event('response.created', response(id, 'in_progress')),
    event('response.in_progress', response(id, 'in_progress')),
  ]
  const ended = (id: string): string[] => [event('response.completed', response(id, 'completed', { usage: USAGE }))]
  for (const client of CLIENTS)
    await every(t, client.id, async (t) => {
      const anew = await ask(client, 'acme/responses', [
        ...begin('r1'),
        ...item('One ').slice(0, 3),
        ...begin('r2'),
        ...item('Two'),
        ...ended('r2'),
      ])
      t.match(anew, 'One ')
      t.notMatch(anew, 'Two', 'the second answer is not joined to the first')
      t.match(anew, /"error"/)
      t.notMatch(anew, ENDED)
      const again = client.foldStream(
        await ask(client, 'acme/responses', [
          ...begin('r1'),
          ...item('One').slice(0, 3),
          ...begin('r1'),
          ...item('One').slice(3),
          ...ended('r1'),
        ]),
      )
      t.same([again.text, again.end], ['One', client.ends.stop], 'the same beginning says nothing')
      const early = client.foldStream(await ask(client, 'acme/responses', [...begin('r1'), ...begin('r2'), ...item('One'), ...ended('r2')]))
      t.same([early.text, early.end], ['One', client.ends.stop], 'before any content nothing is lost')
    })
})
