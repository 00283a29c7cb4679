/** Replies of Anthropic's that few other providers have: what stands whole in `message_start`, paused turns, rounds that are billed apart. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { bodyText } from '../../support/body-text.ts'
import { every } from '../../support/every.ts'
import { list, object } from '../../support/fold.ts'
import { CLIENTS } from '../../support/matrix/clients.ts'
import { startScene } from '../../support/scene.ts'
import { type Answer, jsonAnswer, type Seen, sseAnswer } from '../../support/upstream.ts'

const frame = (type: string, more: JsonObject): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
const USAGE = { input_tokens: 10, output_tokens: 5, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 }
const message = (more: JsonObject): JsonObject => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'up',
  content: [],
  stop_reason: null,
  stop_sequence: null,
  usage: USAGE,
  ...more,
})

/** A usual stream of whole blocks. */
function streamFrames(content: readonly JsonObject[], stop: string, usage: JsonObject = USAGE): string[] {
  return [
    frame('message_start', { message: message({}) }),
    ...content.flatMap((block, index) => [
      frame('content_block_start', { index, content_block: block }),
      ...(block.type === 'text' ? [frame('content_block_delta', { index, delta: { type: 'text_delta', text: 'more' } })] : []),
      frame('content_block_stop', { index }),
    ]),
    frame('message_delta', { delta: { stop_reason: stop, stop_sequence: null }, usage }),
    frame('message_stop', {}),
  ]
}

let answer: (seen: Seen) => Answer = () => jsonAnswer(message({ content: [{ type: 'text', text: 'Fine.' }], stop_reason: 'end_turn' }))
const { gateway, upstream } = await startScene(t, {
  answer: (seen) => answer(seen),
  config: (url) => `
providers:
  one: { dialect: anthropic, base_url: "${url}", key: sk-up, quirks: { web_search: true } }
models:
  acme/one: { max_output: 8000, endpoints: [ { provider: one, model: up, price: { prompt: "1.00", completion: "2.00" } } ] }
`,
})

const user = { turns: [{ user: [{ text: 'Hello' }] }] }

t.test('whole calls and the end within message_start', async (t) => {
  const call = { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Oslo' }, caller: { type: 'code_execution_20260120' } }
  answer = () =>
    sseAnswer([
      frame('message_start', { message: message({ content: [{ type: 'text', text: 'I look.' }, call], stop_reason: 'tool_use' }) }),
      frame('message_stop', {}),
    ])
  for (const client of CLIENTS)
    await every(t, client.id, async (t) => {
      const response = await gateway.post(client.path, { model: 'acme/one', ...client.write(user), stream: true })
      const stream = await bodyText(response)
      const folded = client.foldStream(stream)
      t.equal(folded.text, 'I look.')
      t.same(
        folded.calls.map(({ name, args }) => [name, JSON.parse(args)]),
        [['weather', { city: 'Oslo' }]],
      )
      t.equal(folded.end, client.ends.tool_calls)
      t.match(folded.usage, { input: 10, output: 5 })
      if (client.id === 'messages') t.match(stream, /"content":\[\]/, 'the content travels in events of its own')
    })
})

t.test('a paused turn is sent back as it is, and goes on', async (t) => {
  const search = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'rain' } }
  const found = {
    type: 'web_search_tool_result',
    tool_use_id: 'srvtoolu_1',
    content: [{ type: 'web_search_result', url: 'https://a.example/', title: 'A', encrypted_content: 'secret', page_age: null }],
  }
  const thought = { type: 'thinking', thinking: 'Hm.', signature: 'signed' }
  const first = [thought, { type: 'text', text: 'I look. ' }, search]
  const second = [found, { type: 'text', text: 'It rains. ' }]
  const whole = (content: readonly JsonObject[]): JsonObject[] =>
    content.map((block) => (block.type === 'text' ? { ...block, text: `${block.text}more` } : block))
  answer = (seen) => {
    const paused = list(seen.json.messages).length === 1
    const [content, stop] = paused ? [first, 'pause_turn'] : [second, 'end_turn']
    return seen.json.stream === true
      ? sseAnswer(streamFrames(content, stop))
      : jsonAnswer(message({ content: whole(content), stop_reason: stop }))
  }
  for (const client of CLIENTS.filter(({ id }) => id !== 'messages'))
    for (const stream of [false, true])
      await every(t, `${client.id}${stream ? ', streamed' : ''}`, async (t) => {
        const from = upstream.requests.length
        const response = await gateway.post(client.path, {
          model: 'acme/one',
          ...client.write(user),
          plugins: [{ id: 'web', engine: 'native' }],
          stream,
        })
        const body = await bodyText(response)
        const folded = stream ? client.foldStream(body) : client.fold(JSON.parse(body) as JsonObject)
        t.equal(folded.text, 'I look. moreIt rains. more')
        t.equal(folded.end, client.ends.stop)
        const calls = upstream.requests.slice(from).map((seen) => seen.json)
        t.equal(calls.length, 2)
        t.same(list(calls[1].messages)[1], { role: 'assistant', content: whole(first) })
        t.same(calls[1].tools, calls[0].tools)
        t.match(folded.usage, { input: 20, output: 10 }, 'both rounds count')
      })
  const messages = CLIENTS.find(({ id }) => id === 'messages')
  const tools = [{ type: 'web_search_20250305', name: 'web_search' }]
  const direct = await gateway.post('/v1/messages', { model: 'acme/one', ...messages?.write(user), tools })
  t.match(await direct.json(), { stop_reason: 'pause_turn' }, 'callers of the format go on themselves')
})

t.test('a provider that pauses for ever is not asked for ever', async (t) => {
  answer = () =>
    jsonAnswer(
      message({ content: [{ type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }], stop_reason: 'pause_turn' }),
    )
  const from = upstream.requests.length
  const response = await gateway.post('/v1/chat/completions', {
    model: 'acme/one',
    messages: [{ role: 'user', content: 'Hello' }],
    plugins: [{ id: 'web', engine: 'native' }],
  })
  t.match(list(((await response.json()) as JsonObject).choices)[0], { finish_reason: 'length', native_finish_reason: 'pause_turn' })
  t.equal(upstream.requests.length - from, 11)
})

t.test('rounds of a compaction are charged, and are no part of the context', async (t) => {
  const round = { type: 'compaction', input_tokens: 1000, output_tokens: 100, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 }
  const usage = { ...USAGE, iterations: [round, { ...USAGE, type: 'message' }] }
  answer = (seen) =>
    seen.json.stream === true
      ? sseAnswer(streamFrames([{ type: 'text', text: '' }], 'end_turn', usage))
      : jsonAnswer(message({ content: [{ type: 'text', text: 'Fine.' }], stop_reason: 'end_turn', usage }))
  for (const client of CLIENTS)
    for (const stream of [false, true])
      await every(t, `${client.id}${stream ? ', streamed' : ''}`, async (t) => {
        const response = await gateway.post(client.path, { model: 'acme/one', ...client.write(user), stream })
        const body = await bodyText(response)
        const folded = stream ? client.foldStream(body) : client.fold(JSON.parse(body) as JsonObject)
        t.match(folded.usage, { input: 10, output: 5 })
        const found = await gateway.get(`/v1/generation?id=${response.headers.get('x-generation-id')}`)
        // 1,010 tokens at 1 dollar a million, 105 at 2.
        t.equal(object(((await found.json()) as JsonObject).data).total_cost, 0.00122)
      })
})

t.test(
  'a second answer within a stream ends it with an error, a repeated beginning does not (github.com/vercel/ai/pull/18332)',
  async (t) => {
    const begin = (id: string) => frame('message_start', { message: message({ id }) })
    const utterance = (text: string) => [
      frame('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
      frame('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
    ]
    const ended = [
      frame('content_block_stop', { index: 0 }),
      frame('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: USAGE }),
      frame('message_stop', {}),
    ]
    for (const client of CLIENTS)
      await every(t, client.id, async (t) => {
        const ask = async (frames: string[]): Promise<string> => {
          answer = () => sseAnswer(frames)
          const body = { ...client.write({ turns: [{ user: [{ text: 'Hello' }] }], cap: 500 }), model: 'acme/one', stream: true }
          return bodyText(await gateway.post(client.path, body))
        }
        const anew = await ask([begin('msg_1'), ...utterance('One '), begin('msg_2'), ...utterance('Two'), ...ended])
        t.match(anew, 'One ')
        t.notMatch(anew, 'Two', 'the second answer is not joined to the first')
        t.match(anew, /"error"/)
        t.notMatch(anew, /end_turn|"finish_reason":"stop"|response\.completed/)
        const again = client.foldStream(
          await ask([begin('msg_1'), ...utterance('One '), begin('msg_1'), ...utterance('Two').slice(1), ...ended]),
        )
        t.same([again.text, again.end], ['One Two', client.ends.stop], 'the same beginning says nothing')
        const early = client.foldStream(await ask([begin('msg_1'), begin('msg_2'), ...utterance('One'), ...ended]))
        t.same([early.text, early.end], ['One', client.ends.stop], 'before any block nothing is lost')
      })
  },
)
