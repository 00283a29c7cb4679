import fc from 'fast-check'
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { PARAMETER_NAMES, type ParameterName } from '../../../src/core/parameters.ts'
import type { CanonicalRequest, Item, Part, ToolSpec } from '../../../src/dialects/canon/request.ts'
import { geminiUpstream } from '../../../src/dialects/gemini/index.ts'
import { every } from '../../support/every.ts'
import { requestWith } from '../../support/parameter-samples.ts'
import { property } from '../../support/seed.ts'
import { contents, encode, request, target, user } from './rig.ts'

const FORMAT = 'google-gemini-v1'
const SKIPPED = 'skip_thought_signature_validator'

const text = (value: string): Part => ({ kind: 'text', text: value })
const utterance = (role: 'system' | 'developer' | 'user' | 'assistant', ...parts: Part[]): Item => ({ kind: 'message', role, parts })
const call = (callId: string, name: string, args = '{}'): Item => ({ kind: 'call', callId, name, args })
const result = (callId: string, value: string, error?: boolean): Item => ({ kind: 'result', callId, parts: [text(value)], error })
const config = (fields: Partial<CanonicalRequest>, to = {}): unknown => encode(fields, to).body.generationConfig
const tool = (fields: Partial<ToolSpec> = {}): ToolSpec => ({ kind: 'function', name: 'look', ...fields }) as ToolSpec

t.test('a provider that matches calls by their order is sent no ids', async (t) => {
  const items: Item[] = [
    { kind: 'call', callId: 'c1', name: 'f', args: '{}' },
    { kind: 'result', callId: 'c1', parts: [{ kind: 'text', text: 'r' }] },
  ]
  t.match(JSON.stringify(encode({ items }).body), /"id":"c1"/)
  const { body } = encode({ items }, { quirks: { call_ids: false } })
  t.notMatch(JSON.stringify(body), /"id"/)
})

t.test('the path names the model and the operation', async (t) => {
  const path = (model: string, stream: boolean): string => encode({}, { model, stream }).path
  t.equal(path('gemini-3.8-flash', false), '/models/gemini-3.8-flash:generateContent')
  t.equal(path('gemini-3.8-flash', true), '/models/gemini-3.8-flash:streamGenerateContent?alt=sse')
  t.equal(path('models/gemini-3.8-flash', false), '/models/gemini-3.8-flash:generateContent')
  t.equal(path('tunedModels/mine', false), '/tunedModels/mine:generateContent')
  t.equal(path('publishers/google/models/x', true), '/publishers/google/models/x:streamGenerateContent?alt=sse')
  t.equal(path('a b?c', false), '/models/a%20b%3Fc:generateContent')
  t.same(geminiUpstream.auth('k'), ['x-goog-api-key', 'k'])
  t.match(geminiUpstream, { id: 'gemini', wire: 'gemini', takesTool: undefined })
})

t.test('roles, system messages and their places', async (t) => {
  const items = [
    utterance('system', text('Be brief.')),
    utterance('developer', text('Be kind.'), { kind: 'text', text: 'Always.', cache: {} }, { kind: 'media', media: 'image', url: 'x' }),
    user('One'),
    user('Two'),
    utterance('assistant', text('Three'), { kind: 'refusal', text: 'Not four.' }, text('')),
    utterance('system', text('Now be long.')),
    { kind: 'message', role: 'user', parts: [text('Five')], name: 'ann', phase: 'commentary' } as Item,
  ]
  t.same(encode({ items }), {
    path: '/models/gemini-3.8-flash:generateContent',
    body: {
      contents: [
        { role: 'user', parts: [{ text: 'One' }, { text: 'Two' }] },
        { role: 'model', parts: [{ text: 'Three' }, { text: 'Not four.' }] },
        { role: 'user', parts: [{ text: 'Now be long.' }, { text: 'Five' }] },
      ],
      systemInstruction: { parts: [{ text: 'Be brief.' }, { text: 'Be kind.' }, { text: 'Always.' }] },
    },
    dropped: ['cache_control', 'system.image', 'system.position', 'messages.name', 'messages.phase'],
  })
  t.same(contents([utterance('system', text('Alone'))]), {
    contents: [{ role: 'user', parts: [{ text: 'Alone' }] }],
    system: undefined,
    dropped: ['system.position'],
  })
  t.same(contents([user('Q'), utterance('assistant', text('Sure: '))]).contents, [
    { role: 'user', parts: [{ text: 'Q' }] },
    { role: 'model', parts: [{ text: 'Sure: ' }] },
  ])
})

t.test('media', async (t) => {
  const table: [Omit<Extract<Part, { kind: 'media' }>, 'kind'>, JsonObject | undefined, string[]?][] = [
    [{ media: 'image', url: 'data:image/png;base64,AAEC' }, { inlineData: { mimeType: 'image/png', data: 'AAEC' } }],
    [{ media: 'image', url: 'data:image/svg+xml,%3Csvg/%3E' }, { inlineData: { mimeType: 'image/svg+xml', data: btoa('<svg/>') } }],
    [{ media: 'file', url: 'data:;base64,AAEC' }, { inlineData: { mimeType: 'text/plain', data: 'AAEC' } }],
    [
      { media: 'file', url: 'data:application/octet-stream;base64,AAEC', name: 'a.pdf' },
      { inlineData: { mimeType: 'application/pdf', data: 'AAEC' } },
      ['input_file.filename'],
    ],
    [{ media: 'audio', url: 'data:audio/wav;codecs=1;base64,AAEC' }, { inlineData: { mimeType: 'audio/wav', data: 'AAEC' } }],
    [
      { media: 'image', url: 'https://a.example/b.JPG?x=1.gif#y', detail: 'auto' },
      { fileData: { fileUri: 'https://a.example/b.JPG?x=1.gif#y', mimeType: 'image/jpeg' } },
    ],
    [{ media: 'video', url: 'gs://bucket/v.mp4' }, { fileData: { fileUri: 'gs://bucket/v.mp4', mimeType: 'video/mp4' } }],
    [
      { media: 'image', url: 'https://a.example/files/abc', detail: 'high' },
      { fileData: { fileUri: 'https://a.example/files/abc' } },
      ['input_image.detail', 'input_image.mime_type'],
    ],
    [
      { media: 'file', url: 'https://a.example/doc', name: 'c.pdf' },
      { fileData: { fileUri: 'https://a.example/doc', mimeType: 'application/pdf' } },
      ['input_file.filename'],
    ],
    [{ media: 'audio', data: 'AAEC', format: 'mp3' }, { inlineData: { mimeType: 'audio/mp3', data: 'AAEC' } }],
    [{ media: 'audio', data: 'AAEC', format: 'pcm16' }, { inlineData: { mimeType: 'audio/pcm', data: 'AAEC' } }],
    [{ media: 'file', data: 'plain words', format: 'text', name: 'n.txt' }, { text: 'plain words' }, ['input_file.filename']],
    [{ media: 'file', data: 'AAEC', name: 'n.csv' }, { inlineData: { mimeType: 'text/csv', data: 'AAEC' } }, ['input_file.filename']],
    [{ media: 'file', data: 'AAEC' }, undefined, ['input_file.data']],
    [{ media: 'image', fileId: 'file-1' }, undefined, ['input_image.file_id']],
    [{ media: 'file' }, undefined, ['input_file']],
    [
      { media: 'image', url: 'data:image/png;base64,AAEC', cache: { ttl: '1h' } },
      { inlineData: { mimeType: 'image/png', data: 'AAEC' } },
      ['cache_control'],
    ],
  ]
  await every(t, 'every case', async (t) => {
    for (const [part, expected, dropped = []] of table) {
      const found = contents([user('See'), utterance('user', { kind: 'media', ...part })])
      const parts = expected === undefined ? [{ text: 'See' }] : [{ text: 'See' }, expected]
      t.same(found, { contents: [{ role: 'user', parts }], dropped, system: undefined }, JSON.stringify(part))
    }
  })
  const foreign: Part = { kind: 'opaque', of: { dialect: 'messages', type: 'search_result', data: { a: 1 } } }
  t.same(contents([utterance('user', foreign, text('x'))]).dropped, ['search_result'])
})

t.test('calls and their results', async (t) => {
  const items = [
    user('Weather?'),
    call('c1', 'get_weather', '{"city":"Oslo"}'),
    call('c2', 'get_time', ' '),
    call('c3', 'odd', '[1]'),
    call('c4', 'broken', '{"a":'),
    result('c1', '{"temp":3}'),
    { kind: 'result', callId: 'c2', parts: [text('noon'), text('sharp')], error: false, cache: {} } as Item,
    result('c3', 'no such thing', true),
    result('c4', '{"error":"bad","code":7}', true),
    result('c9', '[1,2]'),
    user('And?'),
  ]
  t.same(contents(items), {
    contents: [
      { role: 'user', parts: [{ text: 'Weather?' }] },
      {
        role: 'model',
        parts: [
          { functionCall: { id: 'c1', name: 'get_weather', args: { city: 'Oslo' } } },
          { functionCall: { id: 'c2', name: 'get_time', args: {} } },
          { functionCall: { id: 'c3', name: 'odd', args: { arguments: '[1]' } } },
          { functionCall: { id: 'c4', name: 'broken', args: { arguments: '{"a":' } } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: 'c1', name: 'get_weather', response: { temp: 3 } } },
          { functionResponse: { id: 'c2', name: 'get_time', response: { output: 'noon\nsharp' } } },
          { functionResponse: { id: 'c3', name: 'odd', response: { error: 'no such thing' } } },
          { functionResponse: { id: 'c4', name: 'broken', response: { error: 'bad', code: 7 } } },
          { functionResponse: { id: 'c9', name: 'c9', response: { output: '[1,2]' } } },
          { text: 'And?' },
        ],
      },
    ],
    dropped: ['cache_control'],
    system: undefined,
  })
  const shown: Item = {
    kind: 'result',
    callId: 'c1',
    parts: [{ kind: 'media', media: 'image', url: 'data:image/png;base64,AA==' }, text('seen')],
  }
  t.same((contents([call('c1', 'shoot'), shown]).contents as JsonObject[])[1], {
    role: 'user',
    parts: [
      { functionResponse: { id: 'c1', name: 'shoot', response: { output: 'seen' } } },
      { inlineData: { mimeType: 'image/png', data: 'AA==' } },
    ],
  })
  const failed = contents([call('c1', 'f'), result('c1', '{"code":1}', true)]).contents as { parts: JsonObject[] }[]
  t.match(failed[1].parts, [{ functionResponse: { response: { error: { code: 1 } } } }])
})

t.test('arguments and results of any depth can be written', async (t) => {
  for (const deep of [`${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`, `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`]) {
    const { body } = encode({ items: [user('x'), call('c', 'f', deep), result('c', deep)] })
    t.ok(JSON.stringify(body).includes(JSON.stringify(deep)), 'kept as text')
  }
})

t.test('signatures go back to the part that they came with', async (t) => {
  const encrypted = (data: string, id?: string): Item => ({ kind: 'reasoning', encrypted: data, format: FORMAT, ...(id ? { id } : {}) })
  const model = (items: Item[]): unknown => (contents([user('Q'), ...items]).contents as { parts: unknown }[])[1].parts
  const f = (id: string, more = {}): JsonObject => ({ functionCall: { id, name: 'f', args: {} }, ...more })
  t.same(
    model([
      encrypted('S1', 'c1'),
      encrypted('S2', 'c2'),
      utterance('assistant', text('T')),
      call('c1', 'f'),
      call('c2', 'f'),
      call('c3', 'f'),
    ]),
    [{ text: 'T' }, f('c1', { thoughtSignature: 'S1' }), f('c2', { thoughtSignature: 'S2' }), f('c3')],
    'by the id of the call',
  )
  t.same(
    model([encrypted('S1', 'rs_1'), call('c1', 'f'), call('c2', 'f')]),
    [f('c1', { thoughtSignature: 'S1' }), f('c2')],
    'else the next part',
  )
  t.same(model([encrypted('S1'), utterance('assistant', text('T'), text('U'))]), [{ text: 'T', thoughtSignature: 'S1' }, { text: 'U' }])
  t.same(model([utterance('assistant', text('T')), encrypted('S1')]), [{ text: 'T', thoughtSignature: 'S1' }], 'else the text before')
  t.same(model([utterance('assistant', text('T')), encrypted('S1'), encrypted('S2')]), [
    { text: 'T', thoughtSignature: 'S1' },
    { text: '', thoughtSignature: 'S2' },
  ])
  t.same(model([encrypted('S0'), encrypted('S1', 'c1'), call('c1', 'f')]), [
    { text: '', thoughtSignature: 'S0' },
    f('c1', { thoughtSignature: 'S1' }),
  ])
  t.same(contents([user('Q'), encrypted('S1'), user('R')]).contents, [
    { role: 'user', parts: [{ text: 'Q' }] },
    { role: 'model', parts: [{ text: '', thoughtSignature: 'S1' }] },
    { role: 'user', parts: [{ text: 'R' }] },
  ])
  t.same(
    model([{ kind: 'reasoning', summary: ['First.', 'Then.'], text: 'Raw.', encrypted: 'S1', format: FORMAT }, call('c1', 'f')]),
    [
      { text: 'First.', thought: true },
      { text: 'Then.', thought: true },
      { text: 'Raw.', thought: true },
      f('c1', { thoughtSignature: 'S1' }),
    ],
    'thoughts go back to their own family',
  )
  t.same(
    model([
      { kind: 'reasoning', signature: 'S1', format: FORMAT },
      utterance('assistant', { kind: 'media', media: 'image', url: 'data:image/png;base64,AA==' }),
    ]),
    [{ inlineData: { mimeType: 'image/png', data: 'AA==' }, thoughtSignature: 'S1' }],
  )
  await every(t, 'every case', async (t) => {
    for (const item of [
      { kind: 'reasoning', encrypted: 'X', id: 'c1' },
      { kind: 'reasoning', encrypted: 'X', id: 'c1', format: 'openai-responses-v1' },
      { kind: 'reasoning', text: 'X', signature: 'X', format: 'anthropic-claude-v1' },
      { kind: 'reasoning', text: 'X', summary: ['X'] },
    ] satisfies Item[]) {
      const { contents: found, dropped } = contents([user('Q'), item, call('c1', 'f')])
      t.same(found, [
        { role: 'user', parts: [{ text: 'Q' }] },
        { role: 'model', parts: [f('c1')] },
      ])
      t.same(dropped, ['reasoning'])
    }
  })
})

t.test('models with levels are told to pass calls that nobody signed', async (t) => {
  const items = [
    user('Q'),
    call('c1', 'f'),
    call('c2', 'f'),
    result('c1', 'x'),
    { kind: 'reasoning', encrypted: 'S', format: FORMAT } as Item,
    call('c3', 'f'),
    result('c3', 'x'),
  ]
  const signatures = (to: object): unknown =>
    (contents(items, to).contents as { parts: JsonObject[] }[]).flatMap(({ parts }) =>
      parts.filter((part) => part.functionCall).map((part) => part.thoughtSignature),
    )
  t.same(signatures({}), [undefined, undefined, 'S'])
  t.same(signatures({ quirks: { thinking: 'level' } }), [SKIPPED, undefined, 'S'])
})

t.test('parts of this wire go back as they came, those of others are recorded', async (t) => {
  const data = { executableCode: { language: 'PYTHON', code: '1' }, thoughtSignature: 'S' }
  const own: Item = { kind: 'opaque', of: { dialect: 'gemini', type: 'executableCode', data } }
  t.same(contents([user('Q'), own, { kind: 'opaque', of: { dialect: 'responses', type: 'item', data: {} } }]), {
    contents: [
      { role: 'user', parts: [{ text: 'Q' }] },
      { role: 'model', parts: [data] },
    ],
    dropped: ['item'],
    system: undefined,
  })
})

t.test('tools and the choice among them', async (t) => {
  const schema = {
    type: 'object',
    properties: { a: { $ref: '#/$defs/A' } },
    $defs: { A: { type: ['string', 'null'] } },
    additionalProperties: false,
  }
  const tools = [
    tool({ description: 'Looks', parameters: schema, strict: true, cache: {} } as Partial<ToolSpec>),
    tool({ name: 'plain', parameters: null, strict: false } as Partial<ToolSpec>),
    { kind: 'opaque', of: { dialect: 'gemini', type: 'googleSearch', data: { googleSearch: {} } } },
    { kind: 'opaque', of: { dialect: 'chat', type: 'custom', data: {} } },
    { kind: 'server', name: 'web_search', parameters: {} },
  ] as ToolSpec[]
  const { body, dropped } = encode({ tools, toolChoice: { mode: 'named', name: 'look' } })
  t.same(body.tools, [
    { functionDeclarations: [{ name: 'look', description: 'Looks', parametersJsonSchema: schema }, { name: 'plain' }] },
    { googleSearch: {} },
  ])
  t.same(body.toolConfig, { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['look'] } })
  t.same(dropped, ['tools.strict', 'cache_control', 'tools.custom', 'tools.web_search'])
  await every(t, 'every case', async (t) => {
    for (const [mode, expected] of [
      ['auto', 'AUTO'],
      ['none', 'NONE'],
      ['required', 'ANY'],
    ] as const) {
      t.same(encode({ tools: [tool()], toolChoice: { mode } }).body.toolConfig, { functionCallingConfig: { mode: expected } })
      const without = encode({ toolChoice: { mode } })
      t.equal(without.body.toolConfig, undefined)
      t.same(without.dropped, mode === 'required' ? ['tool_choice'] : [])
    }
  })
  const allowed = { mode: 'required', tools: [{ type: 'function', name: 'look' }] }
  const of = { dialect: 'responses', type: 'allowed_tools', data: allowed }
  const few = encode({ tools: [tool(), { kind: 'function', name: 'other' }], toolChoice: { mode: 'opaque', of } })
  t.same(few.body.toolConfig, { functionCallingConfig: { mode: 'ANY' } })
  t.match(few.body.tools, [{ functionDeclarations: [{ name: 'look' }] }], 'only the allowed ones are offered')
  t.same(few.dropped, [])
  const other = encode({ tools: [tool()], toolChoice: { mode: 'opaque', of: { dialect: 'chat', type: 'custom', data: {} } } })
  t.equal(other.body.toolConfig, undefined)
  t.same(other.dropped, ['tool_choice'])
})

t.test('sampling', async (t) => {
  const sampling = {
    temperature: 0.5,
    topP: 0.9,
    topK: 40,
    frequencyPenalty: 0.1,
    presencePenalty: 0.2,
    seed: 7,
    stop: ['a', 'b', 'c', 'd', 'e', 'f'],
    maxOutput: 100,
    logprobs: true,
    topLogprobs: 3,
    minP: 0.1,
    topA: 0.2,
    repetitionPenalty: 1.1,
    logitBias: { 5: 1 },
    parallelToolCalls: false,
  }
  const { body, dropped } = encode({ sampling })
  t.same(body.generationConfig, {
    maxOutputTokens: 100,
    temperature: 0.5,
    topP: 0.9,
    topK: 40,
    presencePenalty: 0.2,
    frequencyPenalty: 0.1,
    seed: 7,
    responseLogprobs: true,
    logprobs: 3,
  })
  t.same(dropped, ['stop', 'min_p', 'top_a', 'repetition_penalty', 'logit_bias', 'parallel_tool_calls'])
  t.equal(config({}), undefined)
  t.equal(config({ sampling: { stop: [], logprobs: false, topLogprobs: 0 } }), undefined)
  t.same(config({ sampling: { topLogprobs: 2 } }), { responseLogprobs: true, logprobs: 2 })
  t.same(config({ sampling: { seed: 2 ** 32 + 5 } }), { seed: 5 })
  t.same(config({ sampling: { maxOutput: 100 } }, { outputCap: 50 }), { maxOutputTokens: 50 })
  t.same(config({}, { outputCap: 50 }), { maxOutputTokens: 50 })
  t.same(config({ sampling: { maxOutput: 10 } }, { outputCap: 50, supported: new Set() }), { maxOutputTokens: 10 })
})

t.test('what the endpoint does not list or never takes is recorded', async (t) => {
  const all: Partial<CanonicalRequest> = {
    sampling: {
      temperature: 1,
      topP: 1,
      topK: 1,
      seed: 1,
      stop: ['x'],
      maxOutput: 9,
      logprobs: true,
      topLogprobs: 1,
      presencePenalty: 1,
      frequencyPenalty: 1,
    },
    tools: [tool()],
    toolChoice: { mode: 'auto' },
    reasoning: { effort: 'low' },
    format: { type: 'json_object' },
  }
  const names = [
    'temperature',
    'top_p',
    'top_k',
    'seed',
    'stop',
    'max_tokens',
    'logprobs',
    'top_logprobs',
    'presence_penalty',
    'frequency_penalty',
  ]
  const rest = ['tools', 'tool_choice', 'reasoning', 'response_format']
  const bare = encode(all, { supported: new Set() })
  t.same(bare.dropped.toSorted(), [...names, ...rest].toSorted())
  t.same(Object.keys(bare.body), ['contents'])
  t.same(encode(all, { quirks: { body: { drop: [...names, ...rest] } } }).dropped.toSorted(), [...names, ...rest].toSorted())
  t.same(encode(all, { supported: new Set([...names, ...rest]), quirks: { thinking: 'level' } }).dropped, [])
  const aliased = new Set(['max_completion_tokens', 'reasoning_effort', 'structured_outputs'])
  const kept = encode(
    { sampling: { maxOutput: 9 }, reasoning: { effort: 'low' }, format: { type: 'json_schema', schema: {} } },
    { supported: aliased },
  )
  t.same(kept.dropped, [])
  t.match(kept.body.generationConfig, { maxOutputTokens: 9, thinkingConfig: {}, responseJsonSchema: {} })
  t.same(
    encode({ modalities: ['image'], serviceTier: 'flex' }, { tier: 'flex', quirks: { body: { drop: ['modalities', 'service_tier'] } } })
      .dropped,
    ['modalities', 'service_tier'],
  )
})

t.test('formats, modalities, voices and images', async (t) => {
  const schema = { type: 'object', properties: { a: { type: 'string', pattern: '^x' } } }
  t.equal(config({ format: { type: 'text' } }), undefined)
  t.same(config({ format: { type: 'json_object' } }), { responseMimeType: 'application/json' })
  const { body, dropped } = encode({ format: { type: 'json_schema', name: 'n', description: 'd', schema, strict: true } })
  t.same(body.generationConfig, { responseMimeType: 'application/json', responseJsonSchema: schema })
  t.same(dropped, ['response_format.name', 'response_format.description', 'response_format.schema.pattern'])
  const shown = encode({
    modalities: ['text', 'image', 'audio', 'smell'],
    audio: { voice: 'Kore', format: 'wav' },
    imageConfig: { aspect_ratio: '16:9', image_size: '2K', quality: 'high' },
  })
  t.same(shown.body.generationConfig, {
    responseModalities: ['TEXT', 'IMAGE', 'AUDIO'],
    speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } } },
    imageConfig: { aspectRatio: '16:9', imageSize: '2K' },
  })
  t.same(shown.dropped, ['modalities', 'audio.format', 'image_config.quality'])
  t.same(encode({ audio: { voice: { id: 'v' } } }).dropped, ['audio.voice'])
})

t.test('reasoning as a budget', async (t) => {
  const asked = (reasoning: object, maxOutput?: number, to = {}): unknown =>
    (config({ reasoning, sampling: { maxOutput } }, to) as JsonObject | undefined)?.thinkingConfig
  for (const [effort, budget] of [
    ['minimal', 2000],
    ['low', 4000],
    ['medium', 10_000],
    ['high', 16_000],
    ['xhigh', 19_000],
    ['max', 19_000],
  ] as const)
    t.same(asked({ effort }, 20_000), { thinkingBudget: budget, includeThoughts: true }, effort)
  t.same(asked({ effort: 'high' }, 100_000), { thinkingBudget: 24_576, includeThoughts: true })
  t.same(asked({ effort: 'high' }, 4000), { thinkingBudget: 3200, includeThoughts: true })
  t.same(asked({ effort: 'low' }, 100), { thinkingBudget: 1024, includeThoughts: true })
  t.same(asked({ effort: 'low' }, undefined, { maxOutput: 10_000 }), { thinkingBudget: 2000, includeThoughts: true })
  t.same(asked({ effort: 'low' }, 50_000, { outputCap: 10_000 }), { thinkingBudget: 2000, includeThoughts: true })
  t.same(asked({ effort: 'medium' }), { thinkingBudget: 16_384, includeThoughts: true })
  t.same(asked({ maxTokens: 5000 }), { thinkingBudget: 5000, includeThoughts: true })
  t.same(asked({ maxTokens: 30_000, effort: 'low' }), { thinkingBudget: 30_000, includeThoughts: true })
  t.same(asked({ maxTokens: 5 }), { thinkingBudget: 1024, includeThoughts: true })
  t.same(asked({ enabled: true }, 10_000), { thinkingBudget: 5000, includeThoughts: true })
  t.same(asked({ effort: 'none' }), { thinkingBudget: 0 })
  t.same(asked({ enabled: false }), { thinkingBudget: 0 })
  t.same(asked({ effort: 'high', exclude: true }, 10_000), { thinkingBudget: 8000 })
  t.same(asked({ exclude: true }), undefined)
  t.same(asked({}), { includeThoughts: true })
  t.same(asked({ summary: 'auto' }), { includeThoughts: true })
  t.same(encode({ reasoning: { summary: 'detailed' } }).dropped, ['reasoning.summary'])
  t.same(encode({ reasoning: { summary: 'auto' } }).dropped, [])
})

t.test('reasoning as a level', async (t) => {
  const asked = (reasoning: object, quirks = {}, maxOutput?: number): unknown =>
    (config({ reasoning, sampling: { maxOutput } }, { quirks: { thinking: 'level', ...quirks } }) as JsonObject | undefined)?.thinkingConfig
  for (const [effort, level] of [
    ['minimal', 'MINIMAL'],
    ['low', 'LOW'],
    ['medium', 'MEDIUM'],
    ['high', 'HIGH'],
    ['xhigh', 'HIGH'],
    ['max', 'HIGH'],
  ])
    t.same(asked({ effort }), { thinkingLevel: level, includeThoughts: true }, effort)
  for (const effort of ['xhigh', 'max'])
    t.match(
      encode({ reasoning: { effort } }, { quirks: { thinking: 'level', efforts: ['low', 'xhigh'] } }).body,
      { generationConfig: { thinkingConfig: { thinkingLevel: 'XHIGH' } } },
      `${effort}, where XHIGH is offered`,
    )
  t.same(asked({ effort: 'none' }), { thinkingLevel: 'MINIMAL' })
  t.same(asked({ effort: 'none' }, { efforts: ['low', 'high'] }), { thinkingLevel: 'LOW' })
  t.same(
    asked({ effort: 'medium' }, { efforts: ['high', 'low'] }),
    { thinkingLevel: 'LOW', includeThoughts: true },
    'the lower of two as near',
  )
  t.same(asked({ effort: 'high', exclude: true }, { efforts: ['unheard-of'] }), { thinkingLevel: 'HIGH' })
  t.same(asked({ maxTokens: 5000 }, {}, 10_000), { thinkingLevel: 'MEDIUM', includeThoughts: true })
  t.same(asked({ maxTokens: 1024 }, {}, 65_536), { thinkingLevel: 'MINIMAL', includeThoughts: true })
  t.same(asked({ enabled: true }), { thinkingLevel: 'MEDIUM', includeThoughts: true })
  t.same(asked({}), { includeThoughts: true })
  t.same(encode({ reasoning: { maxTokens: 5000 } }, { quirks: { thinking: 'level' } }).dropped, ['reasoning.max_tokens'])
  t.same(encode({ reasoning: { maxTokens: 5000, enabled: false } }, { quirks: { thinking: 'level' } }).dropped, ['reasoning.effort'])
})

t.test('the rest of a request', async (t) => {
  for (const [tier, sent] of [
    ['default', 'standard'],
    ['flex', undefined],
    ['priority', undefined],
    ['fast', undefined],
    ['auto', undefined],
  ] as const)
    t.equal(encode({ serviceTier: tier }).body.serviceTier, sent)
  for (const tier of ['flex', 'priority'] as const) t.equal(encode({ serviceTier: 'default' }, { tier }).body.serviceTier, tier)
  t.same(encode({ serviceTier: 'auto' }).dropped, [])
  t.same(encode({ serviceTier: 'scale' }).dropped, ['service_tier'])
  t.same(encode({ serviceTier: 'constructor' }).dropped, ['service_tier'])
  const { body, dropped } = encode({
    verbosity: 'low',
    prediction: { type: 'content' },
    user: 'u',
    safetyIdentifier: 's',
    metadata: { a: 'b' },
    cacheKey: 'k',
    cache: {},
    include: ['reasoning.encrypted_content', 'message.output_text.logprobs'],
    extras: { dialect: 'chat', fields: { web_search_options: {}, stream_options: {} } },
  })
  t.same(Object.keys(body), ['contents'])
  t.same(dropped, [
    'verbosity',
    'prediction',
    'user',
    'safety_identifier',
    'metadata',
    'prompt_cache_key',
    'cache_control',
    'web_search_options',
    'stream_options',
  ])
  t.same(encode({ include: ['file_search_call.results'] }).dropped, ['include'])
})

/** One request per parameter that is no plain value. */
const ASKING: Partial<Record<ParameterName, Partial<CanonicalRequest>>> = {
  tools: { tools: [tool()] },
  tool_choice: { tools: [tool()], toolChoice: { mode: 'auto' } },
  response_format: { format: { type: 'json_object' } },
  structured_outputs: { format: { type: 'json_schema', schema: {} } },
  reasoning: { reasoning: { effort: 'low' } },
  service_tier: { serviceTier: 'default' },
  modalities: { modalities: ['text'] },
  audio: { audio: { voice: 'v' } },
  image_config: { imageConfig: { image_size: '1K' } },
  web_search_options: { extras: { dialect: 'chat', fields: { web_search_options: {} } } },
  prompt_cache_options: { extras: { dialect: 'chat', fields: { prompt_cache_options: {} } } },
  cache_control: { cache: {} },
  truncation: { extras: { dialect: 'responses', fields: { truncation: 'auto' } } },
  include: { sampling: { logprobs: true }, include: ['message.output_text.logprobs'] },
  prefill: { items: [user('Q'), utterance('assistant', text('A'))] },
}

function at(body: JsonObject, path: string): unknown {
  let value: unknown = body
  for (const key of path.split(/\[-?\d*\]\.?|\./).filter((each) => each !== '')) {
    if (Array.isArray(value)) value = value.at(-1)
    value = (value as JsonObject | undefined)?.[key]
  }
  return value
}

t.test('the parameter table is true', async (t) => {
  await every(t, 'every name', async (t) => {
    for (const name of PARAMETER_NAMES) {
      const outcome = geminiUpstream.parameters[name]
      const { body, dropped } = encode(ASKING[name] ?? requestWith(name))
      if ('as' in outcome) {
        t.not(at(body, outcome.as), undefined, `${name} is sent as ${outcome.as}`)
        t.same(dropped, [], name)
      } else t.same(dropped, [name], `${name} is recorded`)
    }
  })
})

t.test('tokens are counted with instructions and tools', async (t) => {
  const { countTokens, listing } = geminiUpstream
  const asked = request({ items: [utterance('system', text('S')), user('Q')], tools: [tool()], sampling: { temperature: 1 } })
  const counted = {
    contents: [{ role: 'user', parts: [{ text: 'Q' }] }],
    systemInstruction: { parts: [{ text: 'S' }] },
    tools: [{ functionDeclarations: [{ name: 'look' }] }],
  }
  t.same(countTokens?.encode(asked, target()), {
    path: '/models/gemini-3.8-flash:countTokens',
    body: { generateContentRequest: { model: 'models/gemini-3.8-flash', ...counted } },
    dropped: [],
  })
  t.same(countTokens?.encode(asked, target({ model: 'publishers/p/models/m' })), {
    path: '/publishers/p/models/m:countTokens',
    body: counted,
    dropped: [],
  })
  t.equal(countTokens?.decode({ totalTokens: 31 }), 31)
  for (const bad of [{}, { totalTokens: '31' }, { totalTokens: -1 }, { totalTokens: Number.NaN }])
    t.equal(countTokens?.decode(bad), undefined)
  t.same(
    listing?.read({
      models: [
        { name: 'models/a', inputTokenLimit: 100, supportedGenerationMethods: ['generateContent', 'countTokens'] },
        { name: 'models/embed', supportedGenerationMethods: ['embedContent'] },
        { name: 'tunedModels/b' },
        { displayName: 'nameless' },
      ],
    }),
    { data: [{ id: 'a', context_length: 100 }, { id: 'embed', kind: 'embedding' }, { id: 'tunedModels/b' }] },
  )
  t.same(listing?.paths, ['/models?pageSize=1000'])
})

t.test('any order of items becomes contents that alternate, with every call, result and signature', async (t) => {
  const item = fc.oneof(
    fc.record({
      kind: fc.constant('message' as const),
      role: fc.constantFrom('user', 'assistant', 'system'),
      parts: fc.array(fc.record({ kind: fc.constant('text' as const), text: fc.string() }), { maxLength: 3 }),
    }),
    fc.record({
      kind: fc.constant('call' as const),
      callId: fc.constantFrom('a', 'b', 'c'),
      name: fc.constantFrom('f', 'g'),
      args: fc.oneof(fc.json(), fc.string()),
    }),
    fc.record({
      kind: fc.constant('result' as const),
      callId: fc.constantFrom('a', 'b', 'z'),
      parts: fc.array(fc.record({ kind: fc.constant('text' as const), text: fc.oneof(fc.json(), fc.string()) })),
      error: fc.boolean(),
    }),
    fc.record({
      kind: fc.constant('reasoning' as const),
      encrypted: fc.constantFrom('S', 'T'),
      id: fc.constantFrom('a', 'b', 'rs'),
      format: fc.constantFrom(FORMAT, 'other'),
    }),
  )
  const ruled = fc.property(fc.array(item, { maxLength: 8 }), fc.boolean(), (items, level) => {
    const { body, dropped } = encode({ items: items as Item[] }, { quirks: level ? { thinking: 'level' } : {} })
    const turns = body.contents as unknown as { role: string; parts: JsonObject[] }[]
    const roles = turns.map(({ role }) => role)
    if (roles.some((role, i) => role === roles[i - 1])) return false
    if (turns.some(({ parts }) => parts.length === 0)) return false
    const calls = turns.flatMap(({ parts }) => parts).filter((part) => part.functionCall)
    if (calls.length !== items.filter(({ kind }) => kind === 'call').length) return false
    const results = turns.flatMap(({ parts }) => parts).filter((part) => part.functionResponse)
    if (results.length !== items.filter(({ kind }) => kind === 'result').length) return false
    const own = items.filter((each) => each.kind === 'reasoning' && each.format === FORMAT)
    if (own.length < items.filter(({ kind }) => kind === 'reasoning').length && !dropped.includes('reasoning')) return false
    const encrypted = JSON.stringify(body).match(/"thoughtSignature":"[ST]"/g) ?? []
    return encrypted.length > 0 === own.length > 0
  })
  t.doesNotThrow(() => fc.assert(ruled, property(100, 1_000)))
})
