import fc from 'fast-check'
import t from 'tap'
import { Fault } from '../../../src/core/faults.ts'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import type { Item } from '../../../src/dialects/canon/request.ts'
import { wrapReasoning } from '../../../src/dialects/canon/wrapped-reasoning.ts'
import { anthropicUpstream, messagesClient } from '../../../src/dialects/messages/index.ts'
import type { Target } from '../../../src/dialects/types.ts'
import { every } from '../../support/every.ts'
import { property } from '../../support/seed.ts'
import { body } from './rig.ts'

const TARGET: Target = { model: 'acme-1', stream: false, quirks: { system_messages: true }, user: 'pass' }

const user = (...content: JsonObject[]): JsonObject => ({ messages: [{ role: 'user', content }] })
const assistant = (...content: JsonObject[]): JsonObject => ({
  messages: [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content },
    { role: 'user', content: 'go on' },
  ],
})

function refusal(more: JsonObject): string {
  try {
    messagesClient.check(body(more))
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.status === 400) return thrown.message
    throw thrown
  }
  return ''
}

/** Request as it is sent to a provider of the same wire. */
function upstream(more: JsonObject): JsonObject {
  messagesClient.check(body(more))
  return anthropicUpstream.encodeRequest(messagesClient.decodeRequest(body(more)), TARGET).body
}

const decodedItems = (more: JsonObject): Item[] => messagesClient.decodeRequest(body(more)).items
const decodedFields = (more: JsonObject): string[] => Object.keys(messagesClient.decodeRequest(body(more)).extras?.fields ?? {})

const EPHEMERAL = { type: 'ephemeral' }
const image = (source: JsonObject): JsonObject => ({ type: 'image', source })
const document = (source: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'document', source, ...more })

t.test('a wrong field is named, with what was expected there', async (t) => {
  const cases: [JsonObject, string][] = [
    [{ max_tokens: undefined }, 'max_tokens: is required'],
    [{ max_tokens: -1 }, 'max_tokens: must be at least 0'],
    [{ max_tokens: 1.5 }, 'max_tokens: expected an integer'],
    [{ messages: undefined }, 'messages: is required'],
    [{ messages: [] }, 'messages: must have at least 1 item'],
    [{ messages: [{ role: 'tool', content: 'x' }] }, 'messages[0].role: expected one of: user, assistant, system'],
    [{ messages: [{ role: 'user' }] }, 'messages[0].content: is required'],
    [{ model: 'no slug' }, 'model: expected a model slug of the form author/name'],
    [{ temperature: 1.1 }, 'temperature: must be from 0 to 1'],
    [{ top_p: -1 }, 'top_p: must be from 0 to 1'],
    [{ stop_sequences: [''] }, 'stop_sequences[0]: must not be empty'],
    [{ metadata: { user_id: 'x'.repeat(4097) } }, 'metadata.user_id: must be at most 4096 characters'],
    [
      { service_tier: '' },
      'service_tier: expected one of: auto, default, flex, priority, scale, fast, ultrafast, on_demand, performance, standard, standard_only; or null',
    ],
    [{ system: [{ type: 'image', text: 'x' }] }, 'system[0].type: expected text'],
    [{ system: [{ type: 'text', text: 'a', cache_control: { type: 'x' } }] }, 'system[0].cache_control.type: expected ephemeral'],
    [{ cache_control: { type: 'ephemeral', ttl: '2h' } }, 'cache_control.ttl: expected one of: 5m, 1h; or null'],
    [{ thinking: { type: 'enabled' } }, 'thinking.budget_tokens: is required'],
    [{ thinking: { type: 'enabled', budget_tokens: 1023 } }, 'thinking.budget_tokens: must be at least 1024'],
    [{ thinking: { type: 'enabled', budget_tokens: 4000 } }, 'thinking.budget_tokens: must be less than max_tokens (4000)'],
    [{ thinking: { type: 'maybe' } }, 'thinking.type: expected one of: enabled, adaptive, disabled, between_tools'],
    [{ output_config: { effort: '' } }, 'output_config.effort: must not be empty'],
    [{ output_config: { format: { type: 'json_schema' } } }, 'output_config.format.schema: is required'],
    [{ output_config: { task_budget: { type: 'tokens', total: 1 } } }, 'output_config.task_budget.total: must be at least 20000'],
    [{ tool_choice: { type: 'tool' } }, 'tool_choice.name: is required'],
    [{ tool_choice: { type: 'all' } }, 'tool_choice.type: expected one of: auto, any, none, tool'],
    [{ tools: [{ input_schema: {} }] }, 'tools[0].name: is required'],
    [{ tools: [{ name: 'f' }] }, 'tools[0].input_schema: is required'],
    [{ tools: [{ type: 'function', function: {} }] }, 'tools[0].type: expected custom, a tool of the provider or one of the gateway'],
    [
      {
        tools: [
          { name: 'f', input_schema: {} },
          { type: 'tool_search_tool_bm25_20251119', name: 's', defer_loading: true },
        ],
      },
      'tools[1].defer_loading: the search for tools cannot be deferred itself',
    ],
    [{ tools: [{ name: 'f', input_schema: {}, cache_control: { type: 'x' } }] }, 'tools[0].cache_control.type: expected ephemeral'],
    [{ fallbacks: [{ model: 'a/b' }], models: ['c/d'] }, 'fallbacks: expected either models or fallbacks'],
    [{ fallbacks: Array(4).fill({ model: 'a/b' }) }, 'fallbacks: must have at most 3 items'],
    [{ fallbacks: [{ model: 'a/b', max_tokens: 3 }] }, 'fallbacks[0].max_tokens: unknown field'],
    [{ provider: { nonsense: true } }, 'provider.nonsense: unknown field'],
  ]
  await every(t, 'every case', async (t) => {
    for (const [more, message] of cases) t.equal(refusal(more), message)
  })
})

t.test('every block must have what its kind needs', async (t) => {
  const at = 'messages[0].content[0]'
  const blocks: [JsonObject, string][] = [
    [{ type: 'text' }, `${at}.text: expected a string`],
    [{ type: 'image' }, `${at}.source: expected an object`],
    [image({ type: 'ftp' }), `${at}.source.type: expected base64, url or file`],
    [image({ type: 'base64', data: 'x' }), `${at}.source.media_type: expected a string`],
    [image({ type: 'url' }), `${at}.source.url: expected a string`],
    [image({ type: 'file' }), `${at}.source.file_id: expected a string`],
    [document({ type: 'blob' }), `${at}.source.type: expected base64, url, text, content or file`],
    [document({ type: 'text' }), `${at}.source.data: expected a string`],
    [document({ type: 'content' }), `${at}.source.content: expected a string or an array`],
    [document({ type: 'content', content: [{ type: 'text' }] }), `${at}.source.content[0].text: expected a string`],
    [{ type: 'search_result', source: 's', title: 't' }, `${at}.content: is required`],
    [{ type: 'thinking', signature: 'x' }, `${at}.thinking: expected a string`],
    [{ type: 'redacted_thinking' }, `${at}.data: expected a string`],
    [{ type: 'tool_use', id: 'a', name: 'f' }, `${at}.input: expected an object`],
    [{ type: 'server_tool_use', name: 'f', input: {} }, `${at}.id: expected a string`],
    [{ type: 'tool_result' }, `${at}.tool_use_id: expected a string`],
    [{ type: 'tool_result', tool_use_id: 'a', content: 5 }, `${at}.content: expected a string or an array`],
    [
      { type: 'tool_result', tool_use_id: 'a', content: [image({ type: 'x' })] },
      `${at}.content[0].source.type: expected base64, url or file`,
    ],
    [{ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'tool_reference' }] }, `${at}.content[0].tool_name: expected a string`],
    [{ type: 'web_search_tool_result', tool_use_id: 'a' }, `${at}.content: is required`],
    [{ type: 'router_shell_tool_result', content: [] }, `${at}.tool_use_id: expected a string`],
    [{ type: 'tool_addition' }, `${at}.tool: expected an object`],
    [{ type: 'container_upload' }, `${at}.file_id: expected a string`],
    [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '1d' } }, `${at}.cache_control.ttl: expected 5m or 1h`],
  ]
  await every(t, 'every case', async (t) => {
    for (const [block, message] of blocks) t.equal(refusal(user(block)), message)
  })
  t.equal(refusal({ messages: [{ role: 'user', content: [5] }] }), 'messages[0].content[0]: expected an object')
  t.equal(refusal(user({ type: 'of_tomorrow', anything: 1 })), '', 'a kind that is not known is the provider’s to judge')
  t.equal(refusal({ messages: [{ role: 'system' }, { role: 'user', content: 'x' }], of_tomorrow: { a: 1 } }), '', 'nor are fields')
})

t.test('reads fallbacks, service_tier and speed as fields of the gateway', async (t) => {
  const { gatewayFields } = messagesClient
  if (!gatewayFields) throw new Error('no gateway fields')
  t.same(gatewayFields(body({})), {})
  t.same(gatewayFields(body({ fallbacks: [{ model: 'a/b' }, { model: 'c/d' }] })), { models: ['a/b', 'c/d'] })
  t.same(gatewayFields(body({ service_tier: 'standard_only' })), { serviceTier: 'default' })
  t.same(gatewayFields(body({ service_tier: 'flex' })), { serviceTier: 'flex' })
  t.same(gatewayFields(body({ service_tier: 'auto', speed: 'fast' })), { serviceTier: 'fast' })
})

t.test('decodes instructions, settings and the user', async (t) => {
  const request = messagesClient.decodeRequest(
    body({
      system: 'be brief',
      stream: true,
      temperature: 0.5,
      top_p: 0.9,
      top_k: 40,
      stop_sequences: ['END'],
      thinking: { type: 'adaptive', display: 'omitted' },
      output_config: {
        effort: 'high',
        format: { type: 'json_schema', schema: { type: 'object' } },
        task_budget: { type: 'tokens', total: 20000 },
      },
      metadata: { user_id: 'u-1', team: 'x' },
      user: 'u-2',
      service_tier: 'standard_only',
      cache_control: { type: 'ephemeral', ttl: '1h' },
      session_id: 's',
      provider: { order: ['acme'] },
      container: 'c-1',
      betas: ['b-1'],
    }),
  )
  t.same(request.items[0], { kind: 'message', role: 'system', parts: [{ kind: 'text', text: 'be brief' }] })
  t.same(request.sampling, { maxOutput: 4000, temperature: 0.5, topP: 0.9, topK: 40, stop: ['END'] })
  const native = (data: JsonObject): object => ({ native: { dialect: 'messages', type: 'thinking', data } })
  t.same(request.reasoning, { effort: 'high', enabled: true, exclude: true, ...native({ type: 'adaptive', display: 'omitted' }) })
  t.same(request.format, { type: 'json_schema', name: 'response', schema: { type: 'object' } })
  t.same([request.user, request.serviceTier, request.cache, request.stream], ['u-1', 'default', { ttl: '1h' }, true])
  t.same(request.extras, {
    dialect: 'messages',
    fields: {
      output_config: { task_budget: { type: 'tokens', total: 20000 } },
      metadata: { team: 'x' },
      container: 'c-1',
      betas: ['b-1'],
    },
  })
  t.same([...request.used].sort(), [
    'cache_control',
    'max_tokens',
    'reasoning',
    'response_format',
    'service_tier',
    'stop',
    'structured_outputs',
    'temperature',
    'top_k',
    'top_p',
    'user',
  ])
  const thinks: readonly (readonly [thinking: JsonObject, reasoning: JsonObject])[] = [
    [{ type: 'enabled', budget_tokens: 2048 }, { maxTokens: 2048 }],
    [{ type: 'disabled' }, { enabled: false }],
    [
      { type: 'adaptive', display: 'summarized' },
      { enabled: true, summary: 'auto' },
    ],
  ]
  for (const [thinking, reasoning] of thinks)
    t.same(messagesClient.decodeRequest(body({ thinking })).reasoning, { ...reasoning, ...native(thinking) })
  t.same(messagesClient.decodeRequest(body({ output_format: { type: 'json_schema', schema: { a: 1 } } })).format?.schema, { a: 1 })
  t.same(messagesClient.decodeRequest(body({ user: 'u-2', speed: 'fast' })).user, 'u-2')
  const bare = messagesClient.decodeRequest(body({}))
  t.same(bare, {
    items: [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }],
    tools: [],
    sampling: { maxOutput: 4000 },
    stream: false,
    used: new Set(['max_tokens']),
    extras: { dialect: 'messages', fields: {} },
  })
  const prefilled = messagesClient.decodeRequest(
    body({
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b' },
      ],
    }),
  )
  t.ok(prefilled.used.has('prefill'))
})

t.test('tools and the choice between them', async (t) => {
  const tools = [
    { name: 'f', description: 'd', input_schema: { type: 'object' }, strict: true, cache_control: EPHEMERAL, defer_loading: true },
    { type: 'custom', name: 'g', input_schema: { type: 'object' } },
    { type: 'web_search_20250305', name: 'web_search', max_uses: 2 },
    { type: 'router:datetime', parameters: { zone: 'UTC' } },
  ]
  const request = messagesClient.decodeRequest(body({ tools, tool_choice: { type: 'tool', name: 'f', disable_parallel_tool_use: true } }))
  t.match(request.tools, [
    { kind: 'function', name: 'f', description: 'd', parameters: { type: 'object' }, strict: true, cache: {} },
    { kind: 'function', name: 'g' },
    { kind: 'opaque', of: { dialect: 'messages', type: 'web_search_20250305', data: tools[2] } },
    { kind: 'server', name: 'datetime', parameters: { zone: 'UTC' } },
  ])
  t.same([request.toolChoice, request.sampling.parallelToolCalls], [{ mode: 'named', name: 'f' }, false])
  t.ok(Object.hasOwn(request.extras?.fields ?? {}, 'tools.custom.defer_loading'), 'other wires are told what they cannot say')
  const choice = (tool_choice: JsonObject) => messagesClient.decodeRequest(body({ tools, tool_choice })).toolChoice
  t.same(choice({ type: 'any' }), { mode: 'required' })
  t.same(choice({ type: 'auto' }), { mode: 'auto' })
  t.same(choice({ type: 'none' }), { mode: 'none' })
  t.same(choice({ type: 'tool', name: 'router:datetime' }), { mode: 'named', name: 'datetime' })
})

/** Every kind of block, with all that the wire knows of it. */
const MEDIA = [
  { type: 'text', text: 'hi', cache_control: { type: 'ephemeral', ttl: '1h' } },
  image({ type: 'base64', media_type: 'image/png', data: 'aGk=' }),
  image({ type: 'url', url: 'https://i.example/a.png' }),
  { ...image({ type: 'file', file_id: 'file-1' }), transformations: { crop: 1 } },
  document({ type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' }, { title: 'T', context: 'C', citations: { enabled: true } }),
  document({ type: 'text', media_type: 'text/plain', data: 'plain' }, { cache_control: EPHEMERAL }),
  document({ type: 'content', content: [{ type: 'text', text: 'a' }, image({ type: 'url', url: 'https://i.example/b.png' })] }),
  document({ type: 'url', url: 'https://d.example/a.pdf' }),
  document({ type: 'file', file_id: 'file-2' }),
  { type: 'search_result', source: 's', title: 't', content: [{ type: 'text', text: 'x' }] },
  { type: 'container_upload', file_id: 'file-3' },
]

const SPOKEN = [
  { type: 'thinking', thinking: 'hm', signature: 'sig' },
  { type: 'redacted_thinking', data: 'encrypted' },
  { type: 'text', text: 'a', citations: [{ type: 'char_location', cited_text: 'x', document_index: 0 }] },
  { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'q' } },
  { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
  { type: 'mcp_tool_use', id: 'mcp-1', name: 'm', server_name: 's', input: {} },
  { type: 'mcp_tool_result', tool_use_id: 'mcp-1', content: [] },
  { type: 'compaction', content: 'so far' },
  { type: 'text', text: 'b' },
  { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: [1, { b: null }] }, caller: { type: 'code_execution_20250825', tool_id: 's' } },
  { type: 'tool_use', id: 'toolu_2', name: 'g', input: {}, cache_control: EPHEMERAL, toolset_name: 'computer' },
]

const RESULTS = [
  {
    type: 'tool_result',
    tool_use_id: 'toolu_1',
    is_error: true,
    content: [
      { type: 'text', text: 'r', cache_control: EPHEMERAL },
      { type: 'tool_reference', tool_name: 'g' },
      image({ type: 'base64', media_type: 'image/gif', data: 'R0k=' }),
      document({ type: 'text', media_type: 'text/plain', data: 'd' }),
    ],
  },
  { type: 'tool_result', tool_use_id: 'toolu_2', content: 'done', toolset_name: 'computer' },
]

t.test('a provider of the same wire gets every block as the caller sent it', async (t) => {
  const messages = [
    { role: 'user', content: MEDIA },
    { role: 'assistant', content: SPOKEN },
    { role: 'user', content: [...RESULTS, { type: 'text', text: 'and now' }] },
    {
      role: 'system',
      content: [
        { type: 'text', text: 'mind' },
        { type: 'tool_removal', tool: { type: 'tool_reference', tool_name: 'g' } },
      ],
      clear_at: 'never',
    },
    { role: 'user', content: 'well' },
  ]
  const system = [{ type: 'text', text: 'be brief', cache_control: EPHEMERAL }]
  const sent = upstream({ messages, system: [{ type: 'text', text: 'plain' }] })
  t.same(sent.messages, messages)
  t.same(upstream({ system }).system, system)
  const tool = {
    name: 'f',
    input_schema: { type: 'object' },
    defer_loading: true,
    input_examples: [{ a: 1 }],
    cache_control: { ...EPHEMERAL, scope: 'global' },
  }
  t.same(upstream({ tools: [tool] }).tools, [tool])
})

t.test('other wires get what the canon has words for, and are told the rest', async (t) => {
  const [message] = decodedItems(user(...MEDIA))
  if (message?.kind !== 'message') throw new Error('no message')
  t.match(message.parts, [
    { kind: 'text', text: 'hi', cache: { ttl: '1h' } },
    { media: 'image', url: 'data:image/png;base64,aGk=' },
    { media: 'image', url: 'https://i.example/a.png' },
    { media: 'image', fileId: 'file-1' },
    { media: 'file', url: 'data:application/pdf;base64,JVBERi0=', name: 'T' },
    { media: 'file', data: 'plain', format: 'text', cache: {} },
    { media: 'file', data: 'a', format: 'text' },
    { media: 'file', url: 'https://d.example/a.pdf' },
    { media: 'file', fileId: 'file-2' },
    { kind: 'opaque', of: { dialect: 'messages', type: 'search_result' } },
    { kind: 'opaque', of: { dialect: 'messages', type: 'container_upload' } },
  ])
  t.same(decodedFields(user(...MEDIA)), [
    'messages.image.transformations',
    'messages.document.context',
    'messages.document.citations',
    'messages.document.source',
  ])
  t.ok(messagesClient.decodeRequest(body(user(...MEDIA))).used.has('cache_control'))
  const items = decodedItems(assistant(...SPOKEN)).slice(1, -1)
  t.match(items, [
    { kind: 'reasoning', text: 'hm', signature: 'sig', format: 'anthropic-claude-v1' },
    { kind: 'reasoning', encrypted: 'encrypted', format: 'anthropic-claude-v1' },
    { kind: 'message', role: 'assistant', parts: { length: 7 } },
    { kind: 'call', callId: 'toolu_1', name: 'f', args: '{"a":[1,{"b":null}]}' },
    { kind: 'call', callId: 'toolu_2', name: 'g', args: '{}', cache: {} },
  ])
  t.match(decodedItems(user(...RESULTS)), [
    { kind: 'result', callId: 'toolu_1', error: true, parts: { length: 4 } },
    { kind: 'result', callId: 'toolu_2', parts: [{ kind: 'text', text: 'done' }] },
  ])
  t.same(decodedItems(assistant({ type: 'tool_use', id: 'c', name: 'f', input: {}, caller: { type: 'direct' } }))[1], {
    kind: 'call',
    callId: 'c',
    name: 'f',
    args: '{}',
  })
  t.same(decodedItems(user({ type: 'tool_result', tool_use_id: 'a' }))[0], { kind: 'result', callId: 'a', parts: [] })
  t.same(
    decodedItems({
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [] },
      ],
    })[1],
    { kind: 'message', role: 'assistant', parts: [] },
  )
})

t.test('what the gateway wrote for another wire never reaches a provider of this one', async (t) => {
  const encrypted = wrapReasoning({ format: 'openai-responses-v1', id: 'rs_1', encrypted: 'ENCRYPTED_TEXT' })
  const made = [
    { type: 'redacted_thinking', data: encrypted },
    { type: 'thinking', thinking: 'plain', signature: wrapReasoning({}) },
    { type: 'thinking', thinking: 'theirs', signature: wrapReasoning({ signature: 'x' }) },
    {
      type: 'text',
      text: 'a',
      citations: [{ type: 'web_search_result_location', url: 'u', title: 't', cited_text: 'c', encrypted_index: '' }],
    },
    { type: 'server_tool_use', id: 'srvtoolu_hg_1', name: 'router:datetime', input: {} },
    { type: 'router_datetime_tool_result', tool_use_id: 'srvtoolu_hg_1', content: {} },
  ]
  t.same(decodedItems(assistant(...made)).slice(1, 4), [
    { kind: 'reasoning', id: 'rs_1', encrypted: 'ENCRYPTED_TEXT', format: 'openai-responses-v1' },
    { kind: 'reasoning', text: 'plain' },
    { kind: 'reasoning', text: 'theirs', signature: 'x', format: 'unknown' },
  ])
  const sent = upstream(assistant(...made)).messages as JsonObject[]
  t.same(sent[1], { role: 'assistant', content: 'a' })
})

const json = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>

t.test('no body makes it fail otherwise than by a 400, and one that passes can be decoded', async (t) => {
  const kinds = [
    'text',
    'image',
    'document',
    'tool_use',
    'tool_result',
    'thinking',
    'redacted_thinking',
    'server_tool_use',
    'x_tool_result',
    'compaction',
  ]
  const names = [
    'text',
    'source',
    'id',
    'name',
    'input',
    'content',
    'tool_use_id',
    'thinking',
    'signature',
    'data',
    'cache_control',
    'citations',
  ]
  const block = fc
    .record({ type: fc.constantFrom(...kinds), members: fc.dictionary(fc.constantFrom(...names), json) })
    .map(({ type, members }) => {
      return { ...members, type }
    })
  const content = fc.oneof(fc.array(block, { maxLength: 3 }), fc.constant('x'), json)
  const message = fc.record({ role: fc.constantFrom('user', 'assistant', 'system'), content })
  const fields = ['system', 'thinking', 'tools', 'tool_choice', 'output_config', 'metadata', 'fallbacks', 'service_tier', 'cache_control']
  let passed = 0
  fc.assert(
    fc.property(
      fc.array(message, { minLength: 1, maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...fields), json, { maxKeys: 2 }),
      (messages, more) => {
        const sent = body({ messages, ...more } as JsonObject)
        try {
          messagesClient.check(sent)
        } catch (thrown) {
          return thrown instanceof Fault && thrown.status === 400
        }
        passed++
        messagesClient.gatewayFields?.(sent)
        return messagesClient.decodeRequest(sent).items.length >= messages.length
      },
    ),
    property(2000, 20_000),
  )
  t.ok(passed > 50, 'some are good')
})
