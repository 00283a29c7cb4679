/**
 * Content of a reply comes back with the next turn, and no provider may refuse the conversation for it: members that replies alone
 * have, blank texts, open thoughts and ids of another provider, budgets of thinking where only efforts are known.
 */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { list, object } from '../../support/fold.ts'
import { startScene } from '../../support/scene.ts'
import { jsonAnswer, type Seen } from '../../support/upstream.ts'
import { says } from '../../support/wire.ts'

const USER = { role: 'user', content: 'Hello' }
const sentBy = (upstream: { requests: readonly Seen[] }): JsonObject => object(upstream.requests.at(-1)?.json)

t.test('tools that Groq has run stand in its replies alone', async (t) => {
  const message = { role: 'assistant', content: '7 degrees', executed_tools: [{ index: 0, type: 'search', arguments: '{}', output: 'x' }] }
  const reply = { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [{ index: 0, message, finish_reason: 'stop' }] }
  const { ask, upstream } = await startScene(t, {
    answer: () => jsonAnswer({ ...reply, usage: { prompt_tokens: 9, completion_tokens: 7, total_tokens: 16 } }),
  })
  const [choice] = list(((await (await ask()).json()) as JsonObject).choices)
  t.same(object(choice.message).executed_tools, message.executed_tools, 'callers of its own format see them')
  await ask({ messages: [USER, object(choice.message), USER] })
  t.same(Object.keys(list(sentBy(upstream).messages)[1]).sort(), ['content', 'role'])
})

t.test('texts without a letter in a turn of the model are refused by Anthropic, and left out', async (t) => {
  const { ask, upstream } = await startScene(t, { dialect: 'anthropic' })
  const thought = { type: 'thinking', thinking: '4', signature: 'c2ln' }
  const utterance = { type: 'text', text: '2 + 2 = 4' }
  const blank = { type: 'text', text: '\n\n' }
  const messages = [USER, { role: 'assistant', content: [blank, thought, utterance] }, USER, { role: 'assistant', content: [blank] }, USER]
  const response = await ask({ messages: messages as unknown as JsonObject[] }, 'messages')
  t.equal(response.status, 200, await response.text())
  t.same(sentBy(upstream).messages, [USER, { role: 'assistant', content: [thought, utterance] }, USER, USER])
  const only = [{ role: 'user', content: [blank] }]
  await ask({ messages: only as unknown as JsonObject[] }, 'messages')
  t.same(sentBy(upstream).messages, only, 'a question that is nothing else is for the provider to judge')
})

const OPEN = { type: 'reasoning', id: 'rs_1', summary: [], content: [{ type: 'reasoning_text', text: 'Hm' }] }
const UTTERANCES = {
  type: 'message',
  id: '99b90f85',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'So.' }],
}
const CALL = { type: 'function_call', id: 'a1b2', call_id: 'call_1', name: 'f', arguments: '{}' }
const OUTPUT = { type: 'function_call_output', call_id: 'call_1', output: 'done' }
const input = [{ type: 'message', ...USER }, OPEN, UTTERANCES, OPEN, CALL, OUTPUT] as unknown as JsonObject[]

const itemKinds = (items: unknown): string[] =>
  list(items as never).map(({ type, role, id }) => `${type ?? role}${id === undefined ? '' : ` ${id}`}`)

t.test('open thoughts of another provider are not sent to OpenAI, and no id is that it has not given', async (t) => {
  const { ask, upstream, gateway } = await startScene(t, { dialect: 'openai-responses', provider: 'preset: openai' })
  const response = await ask({ input }, 'responses')
  t.equal(response.status, 200, await response.clone().text())
  t.same(itemKinds(sentBy(upstream).input), ['message', 'message', 'function_call', 'function_call_output'])
  const id = response.headers.get('x-generation-id') ?? ''
  t.match(await (await gateway.get(`/v1/generation?id=${id}`)).text(), '"dropped":["reasoning"', 'it is recorded')
  const sealed = { ...OPEN, encrypted_content: 'gAAA' }
  await ask({ input: [USER, sealed, { ...UTTERANCES, id: 'msg_1' }, USER] as unknown as JsonObject[] }, 'responses')
  const [, thought] = list(sentBy(upstream).input)
  t.same(thought, { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' }, 'what is encrypted goes without the text')
})

t.test('a provider that is not known to refuse open thoughts gets them, and is called again without them where it does', async (t) => {
  const { ask, upstream } = await startScene(t, { dialect: 'openai-responses' })
  await ask({ input }, 'responses')
  t.same(itemKinds(sentBy(upstream).input), [
    'message',
    'reasoning rs_1',
    'message',
    'reasoning rs_1',
    'function_call',
    'function_call_output',
  ])
  const message =
    "Invalid 'input[1].content': array too long. Expected an array with maximum length 0, but got an array with length 1 instead."
  const error = { message, type: 'invalid_request_error', param: 'input[1].content', code: 'array_above_max_length' }
  const before = upstream.requests.length
  upstream.script = (request, index) =>
    JSON.stringify(request.json).includes('reasoning_text') ? jsonAnswer({ error }, 400) : says({ text: ['fine'] })(request, index)
  const response = await ask({ input }, 'responses')
  t.equal(response.status, 200, await response.text())
  t.equal(upstream.requests.length, before + 2)
  t.same(itemKinds(sentBy(upstream).input), ['message', 'message', 'function_call', 'function_call_output'])
})

t.test('a request to think is none to be without thought', async (t) => {
  const { ask, upstream } = await startScene(t, { provider: 'quirks: { efforts: [ none, high ] }' })
  const effort = async (more: JsonObject, client: 'chat' | 'messages' = 'chat'): Promise<unknown> => {
    const response = await ask(more, client)
    t.equal(response.status, 200, await response.text())
    return sentBy(upstream).reasoning_effort
  }
  t.equal(await effort({ reasoning_effort: 'low' }), 'high', 'as near to both')
  t.equal(await effort({ reasoning_effort: 'minimal' }), 'none')
  t.equal(await effort({ max_tokens: 4096, thinking: { type: 'enabled', budget_tokens: 1024 } }, 'messages'), 'high', 'a budget')
  t.equal(await effort({ reasoning: { max_tokens: 100 }, max_tokens: 4096 }), 'high', 'a small budget')
  t.equal(await effort({ reasoning_effort: 'none' }), 'none')
})
