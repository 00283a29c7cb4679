import fc from 'fast-check'
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { PARAMETER_NAMES, type ParameterName } from '../../../src/core/parameters.ts'
import type { CanonicalRequest, Item, Part } from '../../../src/dialects/canon/request.ts'
import { anthropicUpstream } from '../../../src/dialects/messages/upstream.ts'
import type { Target } from '../../../src/dialects/types.ts'
import { every } from '../../support/every.ts'
import { requestWith } from '../../support/parameter-samples.ts'
import { property } from '../../support/seed.ts'
import { encoded, request, target } from './upstream-rig.ts'

const say = (role: 'user' | 'assistant' | 'system' | 'developer', ...parts: (string | Part)[]): Item => ({
  kind: 'message',
  role,
  parts: parts.map((part) => (typeof part === 'string' ? { kind: 'text', text: part } : part)),
})
const call = (callId: string, name = 'f', args = '{}'): Item => ({ kind: 'call', callId, name, args })
const result = (callId: string, text: string): Item => ({ kind: 'result', callId, parts: [{ kind: 'text', text }] })
const thought = (signature = 'SIG', text = 'hm'): Item => ({ kind: 'reasoning', text, signature, format: 'anthropic-claude-v1' })
const fn = (name = 'f') => ({ kind: 'function' as const, name })
const messages = (items: Item[], at: Partial<Target> = {}, more: Partial<CanonicalRequest> = {}): [unknown, string[]] => {
  const { body, dropped } = encoded({ items, ...more }, at)
  return [body.messages, dropped]
}
const own = (fields: JsonObject = {}): Partial<CanonicalRequest> => ({ extras: { dialect: 'messages', fields } })

t.test('the least request', async (t) => {
  const { path, body, dropped, headers } = anthropicUpstream.encodeRequest(request(), target())
  t.equal(path, '/v1/messages')
  t.same(body, { model: 'claude-sonnet-4-5', max_tokens: 4096, messages: [{ role: 'user', content: 'hi' }] })
  t.same([dropped, headers], [[], undefined])
  t.same(anthropicUpstream.auth('k'), ['x-api-key', 'k'])
  t.same(anthropicUpstream.headers?.({}), { 'anthropic-version': '2023-06-01' })
  t.same(anthropicUpstream.headers?.({ raw_predict: true }), {}, 'where the body has it')
  t.equal(encoded({}, { stream: true }).body.stream, true)
})

t.test('system and turns', async (t) => {
  t.match(encoded({ items: [say('system', 'A'), say('user', 'u')] }).body, { system: 'A', messages: [{ role: 'user', content: 'u' }] })
  const two = encoded({ items: [say('system', 'A'), say('developer', 'B'), say('user', 'u')] })
  t.same(two.body.system, [
    { type: 'text', text: 'A' },
    { type: 'text', text: 'B' },
  ])
  t.same(messages([say('user', 'a'), say('user', 'b'), say('assistant', 'c'), say('assistant', 'd'), say('user', 'e')])[0], [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'c' },
        { type: 'text', text: 'd' },
      ],
    },
    { role: 'user', content: 'e' },
  ])
  const late = [say('user', 'a'), say('developer', 'B'), say('assistant', 'c'), say('system', 'D'), say('user', 'e')]
  t.same(messages(late), [
    [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: '<system>\nB\n</system>' },
        ],
      },
      { role: 'assistant', content: 'c' },
      {
        role: 'user',
        content: [
          { type: 'text', text: '<system>\nD\n</system>' },
          { type: 'text', text: 'e' },
        ],
      },
    ],
    ['system.position'],
  ])
  t.match(
    messages(late, { quirks: { system_messages: true } }),
    [
      [
        { role: 'user' },
        { role: 'system', content: 'B' },
        { role: 'assistant' },
        { role: 'user', content: [{ text: /D/ }, { text: 'e' }] },
      ],
      ['system.position'],
    ],
    'within the conversation where model and place allow it',
  )
  t.match(
    messages(late, {}, own())[0],
    [{}, { role: 'system', content: 'B' }, {}, { role: 'system', content: 'D' }, {}],
    'own wire: as it is',
  )
  t.same(messages([say('system', 'only')]), [[{ role: 'user', content: 'only' }], ['system.position']])
  t.same(messages([say('user', ' ', 'x', '')])[0], [{ role: 'user', content: 'x' }], 'the API refuses empty text')
  t.same(messages([say('user', 'x'), say('assistant', '  '), say('user', 'y')])[0], [
    { role: 'user', content: 'x' },
    { role: 'user', content: 'y' },
  ])
})

t.test('prefill', async (t) => {
  t.same(messages([say('user', 'x'), say('assistant', 'Sure: \n')])[0], [
    { role: 'user', content: 'x' },
    { role: 'assistant', content: 'Sure:' },
  ])
  t.same(messages([say('user', 'x'), say('assistant', ' ')])[0], [{ role: 'user', content: 'x' }])
  t.same(messages([say('user', 'x'), say('assistant', 'Sure')], { quirks: { body: { drop: ['prefill'] } } }), [
    [{ role: 'user', content: 'x' }],
    ['prefill'],
  ])
})

t.test('calls and results', async (t) => {
  const items = [
    say('user', 'u'),
    say('assistant', 'a'),
    call('c1', 'f', '{"x":1}'),
    call('c2'),
    result('c2', 'two'),
    result('c1', 'one'),
    say('user', 'v'),
  ]
  t.same(messages(items)[0], [
    { role: 'user', content: 'u' },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'a' },
        { type: 'tool_use', id: 'c1', name: 'f', input: { x: 1 } },
        { type: 'tool_use', id: 'c2', name: 'f', input: {} },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'c1', content: 'one' },
        { type: 'tool_result', tool_use_id: 'c2', content: 'two' },
        { type: 'text', text: 'v' },
      ],
    },
  ])
  t.match(
    messages([
      say('user', 'u'),
      call('a'),
      say('user', 'meanwhile'),
      say('assistant', 'ok'),
      result('a', 'late'),
      call('b'),
      result('b', 'r'),
    ])[0],
    [
      { role: 'user' },
      { role: 'assistant', content: [{ id: 'a' }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a' }, { text: 'meanwhile' }] },
      { role: 'assistant', content: [{ text: 'ok' }, { id: 'b' }] },
      { role: 'user', content: [{ tool_use_id: 'b' }] },
    ],
  )
  t.match(
    messages([say('user', 'u'), call('a'), result('a', '1'), call('b'), result('b', '2')])[0],
    [{}, { content: [{ id: 'a' }] }, { content: [{ tool_use_id: 'a' }] }, { content: [{ id: 'b' }] }, { content: [{ tool_use_id: 'b' }] }],
    'one call after the other',
  )
  const [odd] = messages([say('user', 'u'), call('fc:1.a'), call('fc/1.a'), result('fc/1.a', 'y'), result('fc:1.a', 'x')]) as [
    JsonObject[],
    string[],
  ]
  t.match(odd[1].content, [{ id: 'fc_1_a' }, { id: 'fc_1_a_2' }])
  t.match(odd[2].content, [
    { tool_use_id: 'fc_1_a', content: 'x' },
    { tool_use_id: 'fc_1_a_2', content: 'y' },
  ])
  t.match(messages([say('user', 'u'), call('a', 'f', '{"x":'), result('a', '')]), [
    [{}, { content: [{ input: { INVALID_JSON: '{"x":' } }] }, {}],
    ['function_call.arguments'],
  ])
  t.same(messages([say('user', 'u'), call('a', 'f', ' ')])[1], [])
  const failed: Item = {
    kind: 'result',
    callId: 'a',
    error: true,
    cache: { ttl: '1h' },
    parts: [
      { kind: 'text', text: 'see' },
      { kind: 'media', media: 'image', url: 'https://i.example/x.png' },
    ],
  }
  t.match((messages([say('user', 'u'), call('a'), failed])[0] as JsonObject[])[2].content, [
    {
      is_error: true,
      cache_control: { type: 'ephemeral', ttl: '1h' },
      content: [
        { type: 'text', text: 'see' },
        { type: 'image', source: { type: 'url', url: 'https://i.example/x.png' } },
      ],
    },
  ])
})

t.test('media', async (t) => {
  const media = (fields: object): Part => ({ kind: 'media', media: 'file', ...fields }) as Part
  const table: [Part, unknown, string[]][] = [
    [
      media({ media: 'image', url: 'data:image/png;base64,AAAA' }),
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
      [],
    ],
    [
      media({ media: 'image', url: 'https://x/y.png', detail: 'high' }),
      { type: 'image', source: { type: 'url', url: 'https://x/y.png' } },
      ['input_image.detail'],
    ],
    [media({ media: 'image', fileId: 'file_1' }), { type: 'image', source: { type: 'file', file_id: 'file_1' } }, []],
    [
      media({ url: 'data:application/pdf;base64,JVBERi0x', name: 'a.pdf', cache: {} }),
      {
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0x' },
        title: 'a.pdf',
        cache_control: { type: 'ephemeral' },
      },
      [],
    ],
    [media({ data: 'JVBERi0x' }), { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0x' } }, []],
    [media({ url: 'https://x/y.pdf' }), { type: 'document', source: { type: 'url', url: 'https://x/y.pdf' } }, []],
    [
      media({ data: 'plain words', format: 'text', name: 'n' }),
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'plain words' }, title: 'n' },
      [],
    ],
    [
      media({ url: 'data:text/csv;base64,YSxi' }),
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a,b' } },
      [],
    ],
    [media({ url: 'data:text/plain,a%20b' }), { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a b' } }, []],
    [
      media({ url: 'data:image/gif;base64,R0lG' }),
      { type: 'image', source: { type: 'base64', media_type: 'image/gif', data: 'R0lG' } },
      [],
    ],
    [media({ fileId: 'file_2' }), { type: 'document', source: { type: 'file', file_id: 'file_2' } }, []],
    [media({ url: 'data:application/zip;base64,UEsD' }), undefined, ['input_file']],
    [media({ media: 'audio', data: 'AA', format: 'wav' }), undefined, ['input_audio']],
    [media({ media: 'video', url: 'https://x/y.mp4' }), undefined, ['input_video']],
    [{ kind: 'opaque', of: { dialect: 'chat', type: 'odd', data: {} } }, undefined, ['odd']],
    [
      { kind: 'opaque', of: { dialect: 'messages', type: 'search_result', data: { type: 'search_result', source: 's' } } },
      { type: 'search_result', source: 's' },
      [],
    ],
  ]
  await every(t, 'every case', async (t) => {
    for (const [part, block, dropped] of table) {
      const [utterance, left] = messages([say('user', 'x', part)])
      const content = (utterance as JsonObject[])[0].content
      t.same(block === undefined ? content : (content as unknown[])[1], block ?? 'x', JSON.stringify(part))
      t.same(left, dropped)
    }
  })
  t.same(messages([say('user', 'u'), say('assistant', 'a', media({ media: 'image', url: 'https://x/y' })), say('user', 'v')])[1], [
    'output_image',
  ])
  const { headers } = anthropicUpstream.encodeRequest(
    request({ items: [say('user', 'x', media({ fileId: 'file_2' }))] }),
    target({ betas: 'a-1, b-2,a-1' }),
  )
  t.same(headers, ['anthropic-beta', 'a-1,b-2,files-api-2025-04-14'])
  t.same(anthropicUpstream.encodeRequest(request(), target({ betas: 'x\r\ny: 1,ok' })).headers, ['anthropic-beta', 'ok'])
})

t.test('reasoning is replayed to its own family alone', async (t) => {
  const items = [
    say('user', 'u'),
    thought(),
    { kind: 'reasoning', encrypted: 'ENCRYPTED', format: 'anthropic-claude-v1' } as Item,
    call('a'),
    result('a', 'r'),
  ]
  t.match(messages(items), [
    [
      {},
      {
        content: [
          { type: 'thinking', thinking: 'hm', signature: 'SIG' },
          { type: 'redacted_thinking', data: 'ENCRYPTED' },
          { type: 'tool_use' },
        ],
      },
      {},
    ],
    [],
  ])
  for (const foreign of [
    { kind: 'reasoning', text: 'x' },
    { kind: 'reasoning', text: 'x', signature: 's' },
    { kind: 'reasoning', encrypted: 's', format: 'openai-responses-v1' },
    { kind: 'reasoning', encrypted: 's', format: 'google-gemini-v1', id: 'a' },
  ] as Item[])
    t.match(messages([say('user', 'u'), foreign, say('assistant', 'a'), say('user', 'v')]), [[{}, { content: 'a' }, {}], ['reasoning']])
  t.match(messages([say('user', 'u'), say('assistant', 'a'), thought(), say('user', 'v')])[0], [
    {},
    { content: [{ type: 'thinking' }, { type: 'text' }] },
    {},
  ])
  t.same(messages([say('user', 'u'), thought(), say('user', 'v')]), [
    [
      { role: 'user', content: 'u' },
      { role: 'user', content: 'v' },
    ],
    ['reasoning'],
  ])
})

t.test('cache marks', async (t) => {
  const mark = (text: string): Part => ({ kind: 'text', text, cache: { ttl: '5m' } })
  const items = [say('system', mark('s')), ...['1', '2', '3', '4'].map((text) => say('user', mark(text)))]
  const tools = [{ ...fn(), cache: {} }]
  const { body, dropped } = encoded({ items, tools })
  const marked = JSON.stringify(body).match(/cache_control/g) ?? []
  t.equal(marked.length, 4)
  t.same(dropped, ['cache_control'])
  t.same(
    ((body.messages as JsonObject[])[0].content as JsonObject[]).map((block) => block.cache_control !== undefined),
    [false, false, true, true],
    'the earliest of the conversation go first',
  )
  const whole = encoded({ items: items.slice(0, 4), cache: { ttl: '1h' } })
  t.same(whole.body.cache_control, { type: 'ephemeral', ttl: '1h' })
  t.equal(JSON.stringify(whole.body).match(/cache_control/g)?.length, 4)
  const none = encoded({ items, tools, cache: {} }, { quirks: { body: { drop: ['cache_control'] } } })
  t.notMatch(JSON.stringify(none.body), /cache_control/)
  t.same(none.dropped, ['cache_control'])
})

t.test('tools and the choice between them', async (t) => {
  const parameters = { type: 'object', properties: { x: { type: 'number' } }, additionalProperties: false }
  const tools = [
    { kind: 'function' as const, name: 'f', description: 'd', parameters, strict: true },
    fn('g'),
    {
      kind: 'opaque' as const,
      of: { dialect: 'messages', type: 'web_search_20250305', data: { type: 'web_search_20250305', name: 'web_search' } },
    },
  ]
  t.same(encoded({ tools }).body.tools, [
    { name: 'f', description: 'd', input_schema: parameters, strict: true },
    { name: 'g', input_schema: { type: 'object', properties: {} } },
    { type: 'web_search_20250305', name: 'web_search' },
  ])
  t.same(encoded({ tools: [{ kind: 'opaque', of: { dialect: 'responses', type: 'mcp', data: {} } }] }).dropped, ['tools.mcp'])
  const table: [Partial<CanonicalRequest>, unknown][] = [
    [{ toolChoice: { mode: 'auto' } }, { type: 'auto' }],
    [{ toolChoice: { mode: 'required' } }, { type: 'any' }],
    [{ toolChoice: { mode: 'none' } }, { type: 'none' }],
    [{ toolChoice: { mode: 'named', name: 'f' } }, { type: 'tool', name: 'f' }],
    [{ sampling: { parallelToolCalls: false } }, { type: 'auto', disable_parallel_tool_use: true }],
    [
      { toolChoice: { mode: 'named', name: 'f' }, sampling: { parallelToolCalls: false } },
      { type: 'tool', name: 'f', disable_parallel_tool_use: true },
    ],
    [{ toolChoice: { mode: 'none' }, sampling: { parallelToolCalls: false } }, { type: 'none' }],
    [{ sampling: { parallelToolCalls: true } }, undefined],
  ]
  await every(t, 'every case', async (t) => {
    for (const [fields, choice] of table) t.same(encoded({ tools, ...fields }).body.tool_choice, choice)
  })
  t.equal(encoded({ toolChoice: { mode: 'required' } }).body.tool_choice, undefined)
  const allowed = { mode: 'required', tools: [{ type: 'function', name: 'f' }] }
  const few = encoded({ tools, toolChoice: { mode: 'opaque', of: { dialect: 'responses', type: 'allowed_tools', data: allowed } } })
  t.match(few.body, { tools: [{ name: 'f' }], tool_choice: { type: 'any' } }, 'only the allowed ones are offered')
  t.same(encoded({ tools, toolChoice: { mode: 'opaque', of: { dialect: 'responses', type: 'custom', data: {} } } }).dropped, [
    'tool_choice',
  ])
})

t.test('output cap', async (t) => {
  const cap = (asked: number | undefined, at: Partial<Target>) =>
    encoded({ sampling: asked === undefined ? {} : { maxOutput: asked } }, at).body.max_tokens
  t.equal(cap(undefined, {}), 4096)
  t.equal(cap(undefined, { maxOutput: 64000 }), 64000)
  t.equal(cap(undefined, { maxOutput: 64000, outputCap: 900 }), 900)
  t.equal(cap(100, { maxOutput: 64000, outputCap: 900 }), 100)
  t.equal(cap(5000, { outputCap: 900 }), 900)
  t.equal(cap(100_000, { maxOutput: 64000 }), 64000)
})

t.test('thinking: budgets', async (t) => {
  const think = (reasoning: object, maxOutput?: number, at: Partial<Target> = {}) => {
    const { body, dropped } = encoded({ reasoning, sampling: maxOutput === undefined ? {} : { maxOutput } }, at)
    return [body.thinking, body.max_tokens, dropped]
  }
  const on = (budget_tokens: number) => ({ type: 'enabled', budget_tokens })
  t.same(think({ effort: 'high' }, 10000), [on(8000), 10000, []])
  t.same(think({ effort: 'minimal' }, 5000), [on(1024), 5000, []], 'raised to the least')
  t.same(think({ effort: 'max' }, 200_000), [on(128_000), 200_000, []])
  t.same(think({ enabled: true }, 10000), [on(5000), 10000, []])
  t.same(think({ maxTokens: 500 }, 10000), [on(1024), 10000, []])
  t.same(think({ maxTokens: 20000 }), [on(20000), 24096, []], 'room for the answer where nobody set a cap')
  t.same(think({ maxTokens: 20000 }, 10000), [on(9500), 10000, ['reasoning.max_tokens']])
  t.same(think({ effort: 'high' }, 500), [undefined, 500, ['reasoning']], 'no room for any')
  t.same(think({ maxTokens: 20000 }, undefined, { outputCap: 8000 }), [on(7600), 8000, ['reasoning.max_tokens']])
  t.same(think({ effort: 'none' }, 10000), [{ type: 'disabled' }, 10000, []])
  t.same(think({ enabled: false }), [{ type: 'disabled' }, 4096, []])
  t.same(think({ effort: 'high' }, 10000, { supported: new Set(['tools']) }), [undefined, 10000, ['reasoning']])
  t.same(think({ effort: 'high', summary: 'auto' }, 10000), [{ ...on(8000), display: 'summarized' }, 10000, []])
})

t.test('thinking: models that decide themselves', async (t) => {
  const at = { quirks: { thinking: 'adaptive' as const } }
  const think = (reasoning: object, quirks: JsonObject = {}) => {
    const { body, dropped } = encoded({ reasoning, sampling: { maxOutput: 10000 } }, { quirks: { ...at.quirks, ...quirks } })
    return [body.thinking, body.output_config, dropped]
  }
  const on = { type: 'adaptive', display: 'summarized' }
  t.same(think({ effort: 'high' }), [on, { effort: 'high' }, []])
  t.same(think({ effort: 'minimal', exclude: true }), [{ type: 'adaptive' }, { effort: 'low' }, []])
  t.same(think({ enabled: true }), [on, { effort: 'medium' }, []])
  t.same(think({ maxTokens: 8000 }), [on, { effort: 'high' }, ['reasoning.max_tokens']])
  t.same(think({ effort: 'max' }, { efforts: ['low', 'high'] }), [on, { effort: 'high' }, []])
  t.same(think({ effort: 'none' }), [{ type: 'disabled' }, undefined, []])
})

t.test('thinking: a caller of this wire is taken by its word', async (t) => {
  const think = (fields: Partial<CanonicalRequest>, at: Partial<Target> = {}) => {
    const { body } = encoded({ sampling: { maxOutput: 10000 }, ...own(), ...fields }, at)
    return [body.thinking, body.output_config]
  }
  t.same(think({ reasoning: { maxTokens: 3000 } }), [{ type: 'enabled', budget_tokens: 3000 }, undefined])
  t.same(think({ reasoning: { effort: 'low' } }), [undefined, { effort: 'low' }], 'an effort alone asks for no thinking')
  t.same(think({ reasoning: { enabled: true, exclude: true, effort: 'max' } }), [
    { type: 'adaptive', display: 'omitted' },
    { effort: 'max' },
  ])
  t.same(think({ reasoning: { enabled: false } }), [{ type: 'disabled' }, undefined])
  const thinking = { type: 'adaptive', display: 'updates' }
  const task_budget = { type: 'tokens', total: 20000 }
  t.same(think({ reasoning: { enabled: true, effort: 'low' }, ...own({ thinking, output_config: { task_budget } }) }), [
    thinking,
    { task_budget, effort: 'low' },
  ])
  const decides = { quirks: { thinking: 'adaptive' as const } }
  // With a budget the thinking is shown unless the caller says otherwise; these models omit it unless they are requested to show it.
  t.same(think({ reasoning: { maxTokens: 8000 } }, decides), [{ type: 'adaptive', display: 'summarized' }, { effort: 'high' }])
  t.same(think({ reasoning: { maxTokens: 8000, exclude: true } }, decides)[0], { type: 'adaptive', display: 'omitted' })
})

t.test('what thinking forbids', async (t) => {
  const tools = [fn()]
  const { body, dropped } = encoded({
    tools,
    toolChoice: { mode: 'required' },
    reasoning: { effort: 'high' },
    sampling: { temperature: 0.5, topK: 5, maxOutput: 9000, parallelToolCalls: false },
  })
  t.same([body.temperature, body.top_k, body.tool_choice], [undefined, undefined, { type: 'auto', disable_parallel_tool_use: true }])
  t.same(dropped, ['temperature', 'tool_choice', 'top_k'])
  t.match(encoded({ reasoning: { effort: 'high' }, sampling: { temperature: 1, maxOutput: 9000 } }), {
    body: { temperature: 1 },
    dropped: [],
  })
  t.match(encoded({ reasoning: { effort: 'high' }, sampling: { topP: 0.5, maxOutput: 9000 } }), {
    body: { top_p: 0.95 },
    dropped: ['top_p'],
  })
  const loop = (first: Item[]): unknown => {
    const items = [say('user', 'u'), ...first, call('a'), result('a', 'r'), call('b'), result('b', 's')]
    const { body, dropped } = encoded({ items, tools, reasoning: { effort: 'high' }, sampling: { maxOutput: 9000 } })
    return [body.thinking !== undefined, dropped]
  }
  t.same(loop([]), [false, ['reasoning']], 'a running loop that began without thinking')
  t.same(loop([thought()]), [true, []])
  const over = [say('user', 'u'), call('a'), result('a', 'r'), say('assistant', 'done'), say('user', 'next')]
  t.ok(encoded({ items: over, tools, reasoning: { effort: 'high' } }).body.thinking, 'a loop that is over')
})

t.test('sampling', async (t) => {
  const sampling = (fields: object, more: Partial<CanonicalRequest> = {}) => {
    const { body, dropped } = encoded({ sampling: fields, ...more })
    return [body.temperature, body.top_p, body.stop_sequences, dropped]
  }
  t.same(sampling({ temperature: 1.7 }), [1, undefined, undefined, ['temperature']])
  t.same(sampling({ temperature: 0.3, topP: 1 }), [0.3, undefined, undefined, []])
  t.same(sampling({ temperature: 1, topP: 0.4 }), [undefined, 0.4, undefined, []])
  t.same(sampling({ temperature: 0.3, topP: 0.4 }), [0.3, undefined, undefined, ['top_p']])
  t.same(sampling({ temperature: 0.3, topP: 0.4 }, own()), [0.3, 0.4, undefined, []])
  t.same(sampling({ stop: ['END', '\n'] }), [undefined, undefined, ['END'], ['stop']])
})

t.test('format, tier, user, extras', async (t) => {
  const schema = { type: 'object' }
  t.match(encoded({ format: { type: 'json_schema', name: 'n', description: 'd', schema, strict: true } }), {
    body: { output_config: { format: { type: 'json_schema', schema } } },
    dropped: ['response_format.description', 'response_format.name'],
  })
  const { body: asked, dropped: lost } = encoded({ format: { type: 'json_object' } })
  t.match(asked, { output_config: undefined, system: /^Reply with one JSON object/ })
  t.same(lost, [], 'the instruction stands for the field')
  for (const [tier, sent] of [
    ['default', 'standard_only'],
    ['priority', undefined],
    ['flex', undefined],
  ] as const)
    t.match(encoded({ serviceTier: tier }), { body: { service_tier: sent }, dropped: sent ? [] : ['service_tier'] })
  t.match(encoded({ serviceTier: 'auto' }), { body: { service_tier: undefined }, dropped: [] })
  t.match(encoded({ serviceTier: 'priority' }, { tier: 'priority' }), { body: { service_tier: 'auto' }, dropped: [] })
  t.same(encoded({ user: 'u' }).body.metadata, { user_id: 'u' })
  t.same(encoded({ safetyIdentifier: 's' }).body.metadata, { user_id: 's' })
  t.match(encoded({ user: 'u', safetyIdentifier: 's' }), { body: { metadata: { user_id: 'u' } }, dropped: ['safety_identifier'] })
  t.match((encoded({ user: 'u' }, { user: 'hash' }).body.metadata as JsonObject).user_id, /^[0-9a-f]{64}$/)
  t.match(encoded({ user: 'u' }, { user: 'drop' }), { body: { metadata: undefined }, dropped: ['user'] })
  t.match(encoded(own({ container: 'c', speed: 'fast' }), { tier: 'priority' }).body, { container: 'c', speed: 'fast' })
  const betas = anthropicUpstream.encodeRequest(request(own({ betas: ['b-1'] })), target({ betas: 'a-1' }))
  t.same([betas.headers, betas.body.betas], [['anthropic-beta', 'a-1,b-1'], undefined])
  t.match(encoded({ extras: { dialect: 'chat', fields: { truncation: 'auto' } } }), {
    body: { truncation: undefined },
    dropped: ['truncation'],
  })
})

t.test('the endpoint decides', async (t) => {
  const all: Partial<CanonicalRequest> = {
    tools: [fn()],
    toolChoice: { mode: 'auto' },
    sampling: { temperature: 0.2, topK: 3, stop: ['x'], maxOutput: 50 },
    format: { type: 'json_schema', schema: {} },
  }
  const none = encoded(all, { supported: new Set() })
  t.same(Object.keys(none.body).sort(), ['max_tokens', 'messages', 'model'])
  t.same(none.dropped, ['response_format', 'stop', 'temperature', 'tool_choice', 'tools', 'top_k'])
  const some = encoded({ ...all, user: 'u' }, { quirks: { body: { drop: ['stop', 'user', 'max_tokens_x'] } } })
  t.same([some.body.stop_sequences, some.body.metadata, some.dropped], [undefined, undefined, ['stop', 'user']])
})

t.test('the parameter table says what happens', async (t) => {
  const at = target({ maxOutput: 9000 })
  const samples: Partial<Record<ParameterName, Partial<CanonicalRequest>>> = {
    tools: { tools: [fn()] },
    tool_choice: { tools: [fn()], toolChoice: { mode: 'required' } },
    parallel_tool_calls: { tools: [fn()], sampling: { parallelToolCalls: false } },
    response_format: { format: { type: 'json_schema', schema: {} } },
    structured_outputs: { format: { type: 'json_schema', schema: {} } },
    reasoning: { reasoning: { effort: 'low' } },
    service_tier: { serviceTier: 'default' },
    modalities: { modalities: ['text', 'audio'] },
    web_search_options: { extras: { dialect: 'chat', fields: { web_search_options: {} } } },
    prompt_cache_options: { extras: { dialect: 'responses', fields: { prompt_cache_options: {} } } },
    cache_control: { cache: {} },
    truncation: { extras: { dialect: 'responses', fields: { truncation: 'auto' } } },
    prefill: { items: [say('user', 'u'), say('assistant', 'a')] },
  }
  await every(t, 'every name', async (t) => {
    for (const name of PARAMETER_NAMES) {
      const { body, dropped } = anthropicUpstream.encodeRequest(request(samples[name] ?? requestWith(name)), at)
      const outcome = anthropicUpstream.parameters[name]
      if (!('as' in outcome)) {
        t.same(dropped, [name], `${name} is dropped and recorded`)
        t.same(Object.keys(body).sort(), ['max_tokens', 'messages', 'model'], name)
        continue
      }
      let value: unknown = body
      for (const step of outcome.as.split(/[.[\]]+/).filter((each) => each !== ''))
        value = step === '-1' ? (value as unknown[]).at(-1) : (value as JsonObject)[step]
      t.not(value, undefined, `${name} is sent as ${outcome.as}`)
      t.same(dropped, [], name)
    }
  })
})

t.test('counting tokens', async (t) => {
  const { countTokens } = anthropicUpstream
  const all = request({
    tools: [fn()],
    sampling: { temperature: 0.2, stop: ['x'] },
    user: 'u',
    serviceTier: 'auto',
    cache: {},
    stream: true,
  })
  const { path, body } = countTokens?.encode(all, target({ stream: true })) ?? { path: '', body: {} }
  t.equal(path, '/v1/messages/count_tokens')
  t.same(Object.keys(body).sort(), ['cache_control', 'messages', 'model', 'tools'])
  t.equal(countTokens?.decode({ input_tokens: 14 }), 14)
  for (const wrong of [{}, { input_tokens: 'x' }, { input_tokens: -1 }]) t.equal(countTokens?.decode(wrong), undefined)
})

t.test('any conversation comes out in a legal order', async (t) => {
  const text = fc.constantFrom('a', ' ', '', 'b ')
  const id = fc.constantFrom('c1', 'c2', 'c:3', 'c/3')
  const item: fc.Arbitrary<Item> = fc.oneof(
    fc.record({
      kind: fc.constant('message' as const),
      role: fc.constantFrom('user' as const, 'assistant' as const, 'system' as const, 'developer' as const),
      parts: fc.array(
        text.map((each): Part => ({ kind: 'text', text: each })),
        { maxLength: 2 },
      ),
    }),
    id.map((each) => result(each, 'r')),
    fc.constantFrom(thought(), { kind: 'reasoning', text: 'x' } as Item),
  )
  const turn = fc.uniqueArray(id, { maxLength: 3 }).map((ids) => ids.map((each) => call(each)))
  await every(t, 'every case', async (t) => {
    fc.assert(
      fc.property(
        fc.array(item, { maxLength: 8 }),
        turn,
        fc.array(item, { maxLength: 6 }),
        fc.boolean(),
        (before, calls, after, inside) => {
          const known = new Set(calls.map((each) => (each.kind === 'call' ? each.callId : '')))
          const kept = [
            ...before.filter(({ kind }) => kind !== 'result'),
            ...calls,
            ...after.filter((each) => each.kind !== 'result' || known.has(each.callId)),
          ]
          const { body } = encoded({ items: kept }, { quirks: { system_messages: inside } })
          const turns = body.messages as JsonObject[]
          turns.forEach((message, i) => {
            const content =
              typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : (message.content as JsonObject[])
            t.ok(content.length > 0, 'no empty message')
            t.ok(
              content.every((block) => block.type !== 'text' || String(block.text).trim() !== ''),
              'no empty text',
            )
            const kinds = content.map(({ type }) => type)
            t.ok(
              kinds.lastIndexOf('tool_result') < Math.max(kinds.filter((each) => each === 'tool_result').length, 0) ||
                !kinds.includes('tool_result'),
              'results first',
            )
            if (kinds.includes('tool_result')) t.equal(turns[i - 1]?.role, 'assistant', 'right behind their calls')
            if (message.role === 'system') t.ok(turns[i - 1]?.role === 'user' && (turns[i + 1]?.role ?? 'assistant') === 'assistant')
            for (const block of content) if (typeof block.id === 'string') t.match(block.id, /^[a-zA-Z0-9_-]+$/)
          })
        },
      ),
      property(300, 3_000),
    )
  })
})

t.test('Vertex AI: the path names the model, the body has the version', async (t) => {
  const vertex = { model: 'claude-haiku-4-5@20251001', quirks: { raw_predict: true } }
  for (const [stream, method] of [
    [false, 'rawPredict'],
    [true, 'streamRawPredict'],
  ] as const) {
    const { path, body } = anthropicUpstream.encodeRequest(request(), target({ ...vertex, stream }))
    t.equal(path, `/models/claude-haiku-4-5@20251001:${method}`)
    t.match(body, { anthropic_version: 'vertex-2023-10-16', model: undefined, stream: stream ? true : undefined })
  }
  t.equal(anthropicUpstream.encodeRequest(request(), target({ ...vertex, model: 'a/../b' })).path, '/models/a%2F..%2Fb:rawPredict')
  const count = anthropicUpstream.countTokens?.encode(request(), target(vertex))
  t.match(count, {
    path: '/models/count-tokens:rawPredict',
    body: { model: 'claude-haiku-4-5@20251001', anthropic_version: 'vertex-2023-10-16', messages: [{}] },
  })
})
