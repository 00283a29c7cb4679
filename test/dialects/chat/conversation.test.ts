/** Conversations as providers take them: roles, ids of calls, media of results, reasoning of earlier turns. Both lanes agree. */
import t from 'tap'
import { isObject, type Json, type JsonObject } from '../../../src/core/json.ts'
import { chatClient, openaiChat } from '../../../src/dialects/chat/index.ts'
import type { Quirks } from '../../../src/dialects/quirks.ts'
import type { Target } from '../../../src/dialects/types.ts'
import { pass } from './rig.ts'

const user = { role: 'user', content: 'Hi' }

function sent(messages: readonly object[], quirks: Quirks = {}, more: JsonObject = {}) {
  const target: Target = { model: 'up-1', stream: false, quirks, user: 'pass' }
  const body = { model: 'a/b', messages: [...messages] as JsonObject[], ...more }
  const before = structuredClone(body)
  chatClient.check(body)
  const passed = pass().request(body, target)
  const translated = openaiChat.encodeRequest(chatClient.decodeRequest(body), target)
  t.same(translated.body, passed.body, 'lanes agree')
  t.same(body, before, 'the body of the caller is not changed')
  const { messages: out, ...rest } = passed.body
  return { messages: Array.isArray(out) ? out.filter(isObject) : [], body: rest, dropped: passed.dropped }
}

const call = (id: string, name = 'look') => ({ id, type: 'function', function: { name, arguments: '{}' } })
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }

t.test('a developer message is a system message, unless the provider is known to take the role', async (t) => {
  const messages = [{ role: 'developer', content: 'Be brief.' }, user]
  t.same(sent(messages).messages, [{ role: 'system', content: 'Be brief.' }, user])
  t.same(sent(messages, { developer: 'developer' }).messages, messages)
})

t.test('images of tool results go into a user message behind all results of the turn', async (t) => {
  const messages = [
    user,
    { role: 'assistant', content: null, tool_calls: [call('c1'), call('c2')] },
    { role: 'tool', tool_call_id: 'c1', content: [{ type: 'text', text: 'seen' }, image] },
    { role: 'tool', tool_call_id: 'c2', content: [image] },
    { role: 'user', content: 'And?' },
  ]
  const moved = sent(messages).messages
  t.same(
    moved.map(({ role }) => role),
    ['user', 'assistant', 'tool', 'tool', 'user', 'user'],
  )
  t.same(moved[2].content, [{ type: 'text', text: 'seen' }])
  t.type(moved[3].content, 'string', 'a result is never empty')
  t.same(moved[4].content, [
    { type: 'text', text: 'Result of tool call c1:' },
    image,
    { type: 'text', text: 'Result of tool call c2:' },
    image,
  ])
  t.equal(sent(messages.slice(0, 4)).messages.at(-1)?.role, 'user', 'at the end of a conversation as well')
  t.same(sent(messages, { tool_images: 'tool' }).messages, messages)
})

t.test('ids of calls in the form of Mistral, the same for a call and its result in each turn', async (t) => {
  const messages = [
    user,
    { role: 'assistant', content: null, tool_calls: [call('call_abcdefghij'), call('Ab3dEf9h1')] },
    { role: 'tool', tool_call_id: 'call_abcdefghij', content: 'x' },
    { role: 'tool', tool_call_id: 'Ab3dEf9h1', content: 'y' },
  ]
  const [, turn, first, second] = sent(messages, { tool_ids: 'alphanumeric_9' }).messages
  const ids = (turn.tool_calls as JsonObject[]).map(({ id }) => id)
  t.match(ids[0], /^[A-Za-z0-9]{9}$/)
  t.same([first.tool_call_id, second.tool_call_id], ids)
  t.equal(ids[1], 'Ab3dEf9h1', 'an id that has the form stays')
  t.same(sent(messages, { tool_ids: 'alphanumeric_9' }).messages[1].tool_calls, turn.tool_calls)
})

t.test('a provider that needs the reasoning of turns with calls gets the field even where it is empty', async (t) => {
  const quirks: Quirks = { reasoning_replay: 'reasoning_content', reasoning_replay_required: true }
  const thought = { role: 'assistant', content: null, reasoning: 'Hm', tool_calls: [call('c1')] }
  const silent = { role: 'assistant', content: null, tool_calls: [call('c2')] }
  const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'r' })
  const plain = { role: 'assistant', content: 'So.' }
  const { messages, dropped } = sent([user, thought, result('c1'), silent, result('c2'), plain, user], quirks)
  t.same(messages[1], { role: 'assistant', content: null, reasoning_content: 'Hm', tool_calls: [call('c1')] })
  t.same(messages[3], { ...silent, reasoning_content: '' })
  t.same(messages[5], plain, 'a turn without calls needs none')
  t.same(dropped, [])
})

t.test('reasoning of earlier turns is sent to no provider that is not known to take it', async (t) => {
  const thought = { role: 'assistant', content: 'a', reasoning: 'Hm', reasoning_content: 'Hm' }
  const { messages, dropped } = sent([user, thought, user])
  t.same(messages[1], { role: 'assistant', content: 'a' })
  t.same(dropped, ['reasoning'])
})

t.test('a forced call becomes a free choice where the provider refuses to be forced', async (t) => {
  const tools = [{ type: 'function', function: { name: 'look' } }]
  const named = { type: 'function', function: { name: 'look' } }
  for (const choice of ['required', named]) {
    const { body, dropped } = sent([user], { forced_tools: false }, { tools, tool_choice: choice })
    t.equal(body.tool_choice, 'auto')
    t.same(dropped, ['tool_choice'])
  }
  t.same(sent([user], { forced_tools: false }, { tools, tool_choice: 'none' }).body.tool_choice, 'none')
  const onlyAuto: Quirks = { tool_choice: 'auto' }
  const forced = sent([user], onlyAuto, { tools, tool_choice: named })
  t.same([forced.body.tool_choice, forced.dropped], ['auto', ['tool_choice']])
  const free = sent([user], onlyAuto, { tools, tool_choice: 'none', parallel_tool_calls: false })
  t.same([free.body.tools, free.body.tool_choice, free.dropped], [undefined, undefined, []], 'no tools instead of none to be called')
})

t.test('tools are chosen by words where the provider takes no name (github.com/ggml-org/llama.cpp/issues/26535)', async (t) => {
  const fn = (name: string): JsonObject => ({ type: 'function', function: { name } })
  const words: Quirks = { tool_choice: 'words' }
  const tools = [fn('look'), fn('listen')]
  const chosen = (choice: Json): unknown[] => {
    const { body, dropped } = sent([user], words, { tools, tool_choice: choice })
    return [body.tools, body.tool_choice, dropped]
  }
  const allowed = (mode: string, ...names: string[]): JsonObject => ({
    type: 'allowed_tools',
    allowed_tools: { mode, tools: names.map(fn) },
  })
  t.same(chosen(fn('listen')), [[fn('listen')], 'required', []], 'the named tool alone, and it must be called')
  t.same(chosen(allowed('required', 'look', 'listen')), [tools, 'required', []])
  t.same(chosen(allowed('auto', 'look')), [[fn('look')], 'auto', []])
  t.same(chosen(fn('other')), [tools, 'auto', ['tool_choice']], 'a tool that is not offered')
  for (const word of ['none', 'auto', 'required']) t.same(chosen(word), [tools, word, []])
  t.same(sent([user], {}, { tools, tool_choice: fn('look') }).body.tool_choice, fn('look'), 'elsewhere the name is sent')
})

t.test(
  'reasoning of earlier turns as parts of the content, as Mistral takes it (recorded: test_mistral_model_thinking_part)',
  async (t) => {
    const quirks: Quirks = { reasoning_replay: 'thinking_parts' }
    const thinking = { type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] }
    const thought = { role: 'assistant', content: 'So.', reasoning: 'Hm' }
    const calling = { role: 'assistant', content: null, reasoning: 'Hm', tool_calls: [call('c1')] }
    const { messages, dropped } = sent([user, thought, user, calling, { role: 'tool', tool_call_id: 'c1', content: 'r' }], quirks)
    t.same(messages[1], { role: 'assistant', content: [thinking, { type: 'text', text: 'So.' }] })
    t.same(messages[3], { role: 'assistant', content: [thinking], tool_calls: [call('c1')] })
    t.same(dropped, [])
  },
)

t.test('fields of messages that the provider does not know are left out; null says nothing', async (t) => {
  const quirks: Quirks = { body: { drop: ['messages.refusal'] } }
  const reply = { role: 'assistant', content: 'So.', refusal: null }
  const { messages, dropped } = sent([user, reply, user], quirks)
  t.same([messages[1], dropped], [{ role: 'assistant', content: 'So.' }, []])
  t.same(sent([user, { ...reply, refusal: 'No.' }, user], quirks).dropped, ['messages.refusal'])
})

t.test('content that is only text is one string where the provider wants that', async (t) => {
  const parts = [
    { type: 'text', text: 'one' },
    { type: 'text', text: 'two' },
  ]
  const mixed = { role: 'user', content: [{ type: 'text', text: 'one' }, image] }
  const result = { role: 'tool', tool_call_id: 'c1', content: [...parts, image] }
  const messages = [mixed, { role: 'assistant', content: null, tool_calls: [call('c1')] }, result]
  const joined = sent(messages, { text_parts: false }).messages
  t.same(joined[0], mixed)
  t.same(joined[2], { ...result, content: 'one\ntwo' }, 'a result whose image has gone into a user message')
})

const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }]

t.test('no effort goes with tools to a provider that refuses both together (github.com/openai/openai-openapi/issues/541)', async (t) => {
  const quirks: Quirks = { effort_with_tools: false }
  const { body, dropped } = sent([user], quirks, { tools, reasoning_effort: 'high' })
  t.same([body.reasoning_effort, dropped], [undefined, ['reasoning.effort']])
  t.equal(sent([user], quirks, { reasoning_effort: 'high' }).body.reasoning_effort, 'high')
  t.equal(sent([user], {}, { tools, reasoning_effort: 'high' }).body.reasoning_effort, 'high')
})

const format = (schema: JsonObject) => ({ response_format: { type: 'json_schema', json_schema: { name: 'city', schema, strict: true } } })
const CLOSED = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false }

t.test('a schema of the answer in words (github.com/UKGovernmentBEIS/inspect_ai/issues/4916)', async (t) => {
  const quirks: Quirks = { json_schema: 'json_object' }
  const { messages, body, dropped } = sent([{ role: 'system', content: 'Be brief.' }, user], quirks, format(CLOSED))
  t.same(body.response_format, { type: 'json_object' })
  t.same(dropped, ['response_format.json_schema'])
  t.match(String(messages[0].content), /^Be brief\.\n\n.*JSON/s)
  t.ok(String(messages[0].content).includes(JSON.stringify(CLOSED)))
  t.equal(messages.length, 2, 'one system message')
  t.same(
    sent([user], quirks, format(CLOSED)).messages.map(({ role }) => role),
    ['system', 'user'],
  )
  t.same(sent([user], quirks, { response_format: { type: 'json_object' } }).messages, [user])
})

t.test('strict only with schemas that the provider takes so', async (t) => {
  const quirks: Quirks = { closed_schemas: true }
  const sentStrict = (schema: JsonObject) => {
    const { body, dropped } = sent([user], quirks, format(schema))
    return [(body.response_format as { json_schema: JsonObject }).json_schema.strict, dropped]
  }
  t.same(sentStrict(CLOSED), [true, []])
  const named = { ...CLOSED, properties: { properties: CLOSED, required: { enum: [{ a: 1 }] } }, required: ['properties', 'required'] }
  t.same(sentStrict(named), [true, []], 'properties that are called as keywords are')
  const lost = [false, ['response_format.strict']]
  t.same(sentStrict({ ...CLOSED, required: [] }), lost, 'an optional property')
  t.same(sentStrict({ ...CLOSED, additionalProperties: true }), lost)
  t.same(sentStrict({ ...CLOSED, properties: { city: { anyOf: [{ type: 'object' }, { type: 'null' }] } } }), lost, 'deep inside')
  const strict = [{ type: 'function', function: { name: 'look', strict: true, parameters: { type: 'object', properties: {} } } }]
  const { body, dropped } = sent([user], quirks, { tools: strict })
  t.match(body.tools, [{ function: { strict: false } }])
  t.same(dropped, ['tools.strict'])
})

t.test(
  'system messages are one, at the start, where a chat template takes no other (github.com/vllm-project/vllm/issues/41114)',
  async (t) => {
    const quirks: Quirks = { one_system_message: true }
    const first = { role: 'system', content: 'A' }
    const later = {
      role: 'developer',
      content: [
        { type: 'text', text: 'B' },
        { type: 'text', text: 'C' },
      ],
    }
    t.same(sent([first, user, { role: 'system', content: 'B' }], quirks).messages, [{ role: 'system', content: 'A\n\nB' }, user])
    t.same(sent([user, later], quirks).messages, [{ role: 'system', content: later.content }, user])
    const parts = [{ type: 'text', text: 'A' }, ...later.content]
    t.same(sent([first, later, user], quirks).messages, [{ role: 'system', content: parts }, user])
    t.same(sent([first, user], quirks).messages, [first, user])
    t.same(sent([user], quirks).messages, [user])
  },
)

t.test('the one form that a provider takes', async (t) => {
  const calling = { role: 'assistant', content: null, tool_calls: [call('c1')] }
  t.equal(sent([user, calling], { null_content: false }).messages[1].content, '')
  const bare = { type: 'function', function: { name: 'look' } }
  const empty = { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }
  t.same(sent([user], { tool_parameters: 'required' }, { tools: [bare, empty] }).body.tools, [empty, empty])
  t.same(sent([user], { stop: 'list' }, { stop: ['a', 'b'] }).body.stop, ['a', 'b'])
  const target: Target = { model: 'up-1', stream: false, quirks: { stop: 'list' }, user: 'pass' }
  t.same(pass().request({ model: 'a/b', messages: [user], stop: 'END' }, target).body.stop, ['END'])
  const logprobs = (more: JsonObject): unknown[] => {
    const { body } = sent([user], { logprobs: 'count' }, more)
    return [body.logprobs, body.top_logprobs]
  }
  t.same(logprobs({ logprobs: true }), [1, undefined])
  t.same(logprobs({ logprobs: true, top_logprobs: 5 }), [5, undefined])
  t.same(logprobs({ logprobs: false }), [undefined, undefined])
})

t.test('what SDKs leave in a reply that comes back says nothing and is left out', async (t) => {
  const kept = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }
  const left = { ...kept, index: 0, function: { ...kept.function, parsed_arguments: {} } }
  const reply = { role: 'assistant', content: null, tool_calls: [left], parsed: null, audio: null, function_call: null, annotations: null }
  const { messages, dropped } = sent([user, reply, { role: 'tool', tool_call_id: 'c1', content: 'r' }])
  t.same(messages[1], { role: 'assistant', content: null, tool_calls: [kept] })
  t.same(dropped, [])
  const plain = { role: 'assistant', content: '{"a":1}', parsed: { a: 1 } }
  t.same(sent([user, plain, user]).messages[1], { role: 'assistant', content: '{"a":1}' })
})
