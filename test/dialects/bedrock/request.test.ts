/** Requests as Converse bodies: order, media, marks, tools, reasoning, parameters, and what is left out. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { bedrockConverse } from '../../../src/dialects/bedrock/index.ts'
import { withNative } from '../../../src/dialects/canon/native.ts'
import type { Item, Part, ToolSpec } from '../../../src/dialects/canon/request.ts'
import { every } from '../../support/every.ts'
import { assistant, call, encode, messages, result, system, target, user } from './rig.ts'

const CLAUDE = 'anthropic-claude-v1'
const PNG = 'data:image/png;base64,iVBORw0KGgo='
const PDF = 'JVBERi0xLjQK'
const says = (role: 'user' | 'assistant', ...content: JsonObject[]): JsonObject => ({ role, content })
const of = (...parts: Part[]): Item => ({ kind: 'message', role: 'user', parts })
const tool = (name: string, more: Partial<Extract<ToolSpec, { kind: 'function' }>> = {}): ToolSpec => ({ kind: 'function', name, ...more })
const weather = tool('weather', { parameters: { type: 'object', properties: {} } })
const spec = (name: string): JsonObject => ({ toolSpec: { name, inputSchema: { json: { type: 'object', properties: {} } } } })

t.test('the model stands in the path, with every sign of an ARN encoded', async (t) => {
  const arn = 'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/mi1dadi0g15f'
  t.equal(
    encode({}, { model: arn }).path,
    // Recording test_bedrock_inference_profile_converse.
    '/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Aapplication-inference-profile%2Fmi1dadi0g15f/converse',
  )
  t.equal(encode({}, { model: 'eu.amazon.nova-micro-v1:0', stream: true }).path, '/model/eu.amazon.nova-micro-v1%3A0/converse-stream')
})

t.test('roles alternate, and results follow their calls in the order of the calls', async (t) => {
  t.same(
    messages([
      system('Be brief.'),
      user('One'),
      user('Two'),
      call('a'),
      call('b', 'clock', '{"z":1}'),
      result('b', 'noon'),
      user('Well?'),
      result('a', 'rain', { error: true }),
      assistant('So.'),
      system('Be kind.'),
      user('  '),
      user('Thanks'),
    ]),
    {
      system: [{ text: 'Be brief.' }, { text: 'Do not call any tool now: reply with text.' }],
      messages: [
        says('user', { text: 'One' }, { text: 'Two' }),
        says(
          'assistant',
          { toolUse: { toolUseId: 'a', name: 'weather', input: {} } },
          { toolUse: { toolUseId: 'b', name: 'clock', input: { z: 1 } } },
        ),
        says(
          'user',
          { toolResult: { toolUseId: 'a', content: [{ text: 'rain' }], status: 'error' } },
          { toolResult: { toolUseId: 'b', content: [{ text: 'noon' }], status: 'success' } },
          { text: 'Well?' },
        ),
        says('assistant', { text: 'So.' }),
        says('user', { text: '<system>\nBe kind.\n</system>' }, { text: 'Thanks' }),
      ],
      dropped: ['system.position'],
    },
  )
  t.match(messages([system('Alone')]), { system: undefined, messages: [says('user', { text: 'Alone' })], dropped: ['system.position'] })
  t.match(messages([user('x'), system('Now'), assistant('y ')], { quirks: { system_messages: true } }), {
    messages: [says('user', { text: 'x' }), { role: 'system', content: [{ text: 'Now' }] }, says('assistant', { text: 'y' })],
    dropped: [],
  })
})

t.test('identifiers of calls fit the pattern, and stay apart', async (t) => {
  const long = `call_${'x'.repeat(70)}|fc_1`
  const { messages: sent } = messages([
    call(long),
    call(`${long}2`),
    call('functions.get:0'),
    result(long, 'a'),
    result(`${long}2`, 'b'),
    result('functions.get:0', 'c'),
  ])
  const [calls, results] = sent as { content: JsonObject[] }[]
  const ids = (list: JsonObject[], member: string) => list.map((block) => (block[member] as JsonObject).toolUseId as string)
  t.same(ids(calls.content, 'toolUse'), ids(results.content, 'toolResult'))
  t.equal(new Set(ids(calls.content, 'toolUse')).size, 3)
  t.ok(ids(calls.content, 'toolUse').every((id) => /^[A-Za-z0-9_.:-]{1,64}$/.test(id)))
  t.equal(ids(calls.content, 'toolUse')[2], 'functions.get:0', 'one that fits is sent as it is')
})

t.test('media are bytes of a stated format', async (t) => {
  const part = (media: 'image' | 'file' | 'audio' | 'video', more: object): Part => ({ kind: 'media', media, ...more })
  const sent = (...parts: Part[]) => messages([of({ kind: 'text', text: 'Look' }, ...parts)])
  t.same(sent(part('image', { url: PNG })).messages, [
    says('user', { text: 'Look' }, { image: { format: 'png', source: { bytes: 'iVBORw0KGgo=' } } }),
  ])
  t.match(sent(part('audio', { data: 'AAAA', format: 'mp3' }), part('video', { url: 'data:video/quicktime;base64,AAAA' })).messages, [
    { content: [{}, { audio: { format: 'mp3' } }, { video: { format: 'mov', source: { bytes: 'AAAA' } } }] },
  ])
  const docs = sent(
    part('file', { url: `data:application/pdf;base64,${PDF}`, name: "John's  report_v1.pdf" }),
    part('file', { url: `data:;base64,${PDF}`, name: 'John s report v1.PDF' }),
    part('file', { data: 'a,b', format: 'text', name: 'table.csv' }),
    part('file', { data: 'plain', format: 'text' }),
    part('file', { url: 'data:application/json;base64,e30=', name: '報告.json' }),
  )
  t.match(docs.messages, [
    {
      content: [
        {},
        { document: { format: 'pdf', name: 'John s report v1' } },
        { document: { format: 'pdf', name: 'John s report v1 2' } },
        { document: { format: 'csv', name: 'table', source: { bytes: Buffer.from('a,b').toString('base64') } } },
        { document: { format: 'txt', name: 'document' } },
        { document: { format: 'txt', name: 'document 2', source: { bytes: 'e30=' } } },
      ],
    },
  ])
  t.same(docs.dropped, [])
  t.same(sent(part('image', { url: 'https://example.com/a.png' }), part('image', { url: 'data:image/tiff;base64,AAAA' })).dropped, [
    'input_image',
  ])
  t.same(sent(part('file', { fileId: 'file-1' })).dropped, ['input_file'])
  const s3 = part('image', { url: 's3://bucket/secret.png' })
  t.same(sent(s3).dropped, ['input_image'], 'the account of the operator is not the caller’s')
  t.match(messages([of({ kind: 'text', text: 'Look' }, s3)], { quirks: { stored_files: true } }).messages, [
    { content: [{}, { image: { format: 'png', source: { s3Location: { uri: 's3://bucket/secret.png' } } } }] },
  ])
  t.match(messages([of(part('file', { url: `data:application/pdf;base64,${PDF}`, name: 'a.pdf' }))]).messages, [
    { content: [{ text: 'a:' }, { document: { name: 'a' } }] },
  ])
})

t.test('citations and context of documents are sent on, text as text', async (t) => {
  const part: Part = withNative({ kind: 'media', media: 'file', data: 'The grass is green.', format: 'text', name: 'Facts' } as const, {
    dialect: 'messages',
    type: 'document',
    data: { citations: { enabled: true }, context: 'From a book' },
  })
  t.match(messages([of(part, { kind: 'text', text: 'Colour?' })]).messages, [
    {
      content: [
        { document: { format: 'txt', source: { text: 'The grass is green.' }, citations: { enabled: true }, context: 'From a book' } },
        {},
      ],
    },
  ])
})

t.test('cache marks become points where the service takes one', async (t) => {
  const cache = {}
  const point = { cachePoint: { type: 'default' } }
  const text = (value: string, more = {}): Part => ({ kind: 'text', text: value, ...more })
  const csv: Part = { kind: 'media', media: 'file', url: 'data:text/csv;base64,YQ==', name: 'a.csv', cache }
  t.same(messages([of(text('Long', { cache: { ttl: '1h' } }), text('short'))]).messages, [
    says('user', { text: 'Long' }, { cachePoint: { type: 'default', ttl: '1h' } }, { text: 'short' }),
  ])
  t.match(
    messages([of(text('Read'), csv)]).messages,
    [{ content: [{ text: 'Read' }, point, { document: {} }] }],
    'in front of extracted text',
  )
  t.match(messages([of(csv, text('Read'))]), { dropped: ['cache_control'] }, 'with nothing in front of it, none')
  t.match(
    encode({
      items: [{ kind: 'message', role: 'system', parts: [text('Rules', { cache })] }, call('a'), { ...result('a', 'x'), cache } as Item],
      tools: [tool('weather', { cache })],
    }).body,
    {
      system: [{ text: 'Rules' }, point],
      messages: [{}, { content: [{ toolResult: { content: [{ text: 'x' }] } }, point] }],
      toolConfig: { tools: [{ toolSpec: { name: 'weather' } }, point] },
    },
  )
  const none = encode(
    { items: [of(text('Long', { cache }))], tools: [tool('weather', { cache })], cache },
    { quirks: { body: { drop: ['cache_control'] } } },
  )
  t.equal(JSON.stringify(none.body).includes('cachePoint'), false)
  t.same(none.dropped, ['cache_control'])
  t.match(encode({ cache: {} }).body.messages, [{ content: [{ text: 'Hello' }, point] }], 'a mark of the whole request')
})

t.test('reasoning comes back to the family that made it', async (t) => {
  const items = (format: string, more: object): Item[] => [
    user('Hi'),
    { kind: 'reasoning', format, ...more },
    assistant('So.'),
    user('And?'),
  ]
  const [, signed] = messages(items(CLAUDE, { text: 'Hm', signature: 'sig' })).messages as JsonObject[]
  t.same(signed, says('assistant', { reasoningContent: { reasoningText: { text: 'Hm', signature: 'sig' } } }, { text: 'So.' }))
  const redacted = messages(items(CLAUDE, { encrypted: 'EtkE' })).messages
  t.match(redacted, [{}, { content: [{ reasoningContent: { redactedContent: Buffer.from('EtkE').toString('base64') } }, {}] }])
  const nova = { quirks: { thinking: 'reasoningConfig' } } as const
  t.match(messages(items(CLAUDE, { text: 'Hm', signature: 'sig' }), nova), {
    messages: [{}, says('assistant', { text: 'So.' }), {}],
    dropped: ['reasoning'],
  })
  t.match(messages(items('amazon-bedrock-v1', { encrypted: 'gAAA' }), nova).messages, [
    {},
    { content: [{ reasoningContent: { redactedContent: 'gAAA' } }, {}] },
  ])
  t.match(messages(items('amazon-bedrock-v1', { encrypted: 'gAAA' })), { dropped: ['reasoning'] })
  t.match(messages(items(CLAUDE, { text: 'Hm' })), { dropped: ['reasoning'] }, 'never unsigned')
  const alone: Item[] = [user('Hi'), { kind: 'reasoning', format: CLAUDE, text: 'Hm', signature: 's' }, user('And?')]
  t.same(
    messages(alone),
    { system: undefined, messages: [says('user', { text: 'Hi' }, { text: 'And?' })], dropped: ['reasoning'] },
    'never alone',
  )
  t.equal(bedrockConverse.bindsReasoning?.({}), false)
  t.equal(bedrockConverse.bindsReasoning?.({ thinking: 'reasoning' }), true)
})

t.test('tools, and the choice among them', async (t) => {
  const fields = (more: object, to = {}) => encode({ tools: [weather], ...more }, to)
  t.same(fields({ toolChoice: { mode: 'required' } }).body.toolConfig, { tools: [spec('weather')], toolChoice: { any: {} } })
  t.match(fields({ toolChoice: { mode: 'named', name: 'weather' } }).body.toolConfig, { toolChoice: { tool: { name: 'weather' } } })
  t.match(fields({ toolChoice: { mode: 'auto' } }).body.toolConfig, { toolChoice: { auto: {} } })
  t.equal(fields({ toolChoice: { mode: 'none' } }).body.toolConfig, undefined, 'nothing to call')
  t.same(fields({ toolChoice: { mode: 'none' } }).dropped, [])
  const within = fields({ toolChoice: { mode: 'none' }, items: [user('x'), call('a'), result('a', 'y')] })
  t.match(within, { body: { toolConfig: { tools: [spec('weather')] }, system: [{ text: /Do not call/ }] }, dropped: ['tool_choice'] })
  const forgotten = encode({ items: [user('x'), call('a', 'old'), result('a', 'y')] })
  t.match(forgotten.body, { toolConfig: { tools: [spec('old')] }, system: [{ text: /Do not call/ }] }, 'history with calls needs tools')
  t.match(fields({ toolChoice: { mode: 'required' } }, { quirks: { forced_tools: false } }), {
    body: { toolConfig: { toolChoice: { auto: {} } }, system: [{ text: /Call one of the tools/ }] },
    dropped: ['tool_choice'],
  })
  const serial = { sampling: { parallelToolCalls: false } }
  t.match(fields(serial).body.additionalModelRequestFields, { tool_choice: { type: 'auto', disable_parallel_tool_use: true } })
  const forced = fields({ ...serial, toolChoice: { mode: 'required' } }).body
  t.same(forced.additionalModelRequestFields, { tool_choice: { disable_parallel_tool_use: true } })
  t.match(fields(serial, { quirks: { thinking: 'none' } }), { dropped: ['parallel_tool_calls'] })
  const strict = tool('weather', {
    strict: true,
    description: ' ',
    parameters: { type: 'object', properties: { n: { type: 'number', minimum: 1 } } },
  })
  t.match(encode({ tools: [strict] }), {
    body: {
      toolConfig: {
        tools: [{ toolSpec: { strict: true, description: undefined, inputSchema: { json: { additionalProperties: false } } } }],
      },
    },
    dropped: ['tools.parameters.minimum'],
  })
  t.same(encode({ tools: [strict] }, { quirks: { json_schema: 'words' } }).dropped, ['tools.strict'])
})

t.test('each family of models is requested to think in its own words', async (t) => {
  const fields = (reasoning: object, quirks: object = {}, more: object = {}) => {
    const { body, dropped } = encode({ reasoning, ...more }, { quirks, maxOutput: 10_000 })
    return [body.additionalModelRequestFields, dropped]
  }
  t.same(fields({ effort: 'medium' }), [{ thinking: { type: 'enabled', budget_tokens: 5000 } }, []])
  t.same(fields({ maxTokens: 500 }), [{ thinking: { type: 'enabled', budget_tokens: 1024 } }, []])
  t.same(fields({ effort: 'none' }), [undefined, []])
  t.same(fields({ effort: 'high' }, {}, { sampling: { maxOutput: 1000 } }), [undefined, ['reasoning']], 'no room')
  t.same(fields({ effort: 'xhigh' }, { thinking: 'adaptive', efforts: ['low', 'high'] }), [
    { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'high' } },
    [],
  ])
  t.same(fields({ enabled: false }, { thinking: 'adaptive' }), [{ thinking: { type: 'disabled' } }, []])
  t.same(fields({ enabled: false }, { thinking: 'adaptive', thinking_off: 'adaptive' }), [
    { output_config: { effort: 'low' } },
    ['reasoning.effort'],
  ])
  t.same(fields({ effort: 'high' }, { thinking: 'reasoningConfig' }), [
    { reasoningConfig: { type: 'enabled', maxReasoningEffort: 'high' } },
    [],
  ])
  t.same(fields({ effort: 'high' }, { thinking: 'reasoningConfig' }, { sampling: { maxOutput: 1000 } }), [
    { reasoningConfig: { type: 'enabled', maxReasoningEffort: 'medium' } },
    ['reasoning.effort'],
  ])
  t.same(fields({ effort: 'high' }, { thinking: 'reasoning_effort' }), [{ reasoning_effort: 'high' }, []])
  t.same(fields({ maxTokens: 8000 }, { thinking: 'reasoning_config' }), [{ reasoning_config: 'high' }, ['reasoning.max_tokens']])
  t.same(fields({ effort: 'minimal' }, { thinking: 'reasoning' }), [{ reasoning: { effort: 'low' } }, ['reasoning.effort']])
  t.same(fields({ effort: 'high' }, { thinking: 'none' }), [undefined, ['reasoning']])
  t.same(encode({ reasoning: { effort: 'high' } }, { supported: new Set(['tools']) }).dropped, ['reasoning'])
})

t.test('Claude is not sent what it refuses while it thinks', async (t) => {
  const { body, dropped } = encode(
    { reasoning: { effort: 'low' }, sampling: { temperature: 0.3, topK: 5 }, tools: [weather], toolChoice: { mode: 'required' } },
    { maxOutput: 20_000 },
  )
  t.match(body, { inferenceConfig: { temperature: undefined }, toolConfig: { toolChoice: { auto: {} } }, system: [{ text: /Call one/ }] })
  t.same(body.additionalModelRequestFields, { thinking: { type: 'enabled', budget_tokens: 4000 } })
  t.same(dropped.toSorted(), ['temperature', 'tool_choice', 'top_k'])
  const running = encode(
    { reasoning: { effort: 'low' }, items: [user('x'), call('a'), result('a', 'y')], tools: [weather] },
    { maxOutput: 20_000 },
  )
  t.match(
    running,
    { body: { additionalModelRequestFields: undefined }, dropped: ['reasoning'] },
    'a turn that began without thinking goes on without',
  )
  t.same(encode({ sampling: { temperature: 0.4, topP: 0.8 } }).body.inferenceConfig, { temperature: 0.4 })
  t.same(encode({ sampling: { temperature: 1.7 } }), {
    path: encode({}).path,
    body: { messages: [says('user', { text: 'Hello' })], inferenceConfig: { temperature: 1 } },
    dropped: ['temperature'],
  })
})

t.test('the form of the answer', async (t) => {
  const schema = { type: 'object', properties: { n: { type: 'number', maximum: 5 } } }
  const { body, dropped } = encode({ format: { type: 'json_schema', name: 'my answer', schema, strict: true } })
  const { textFormat } = body.outputConfig as { textFormat: { structure: { jsonSchema: { schema: string; name: string } } } }
  t.equal(textFormat.structure.jsonSchema.name, 'my_answer')
  t.match(JSON.parse(textFormat.structure.jsonSchema.schema), { additionalProperties: false })
  t.same(dropped, ['response_format.schema.maximum'])
  const words = encode({ format: { type: 'json_schema', schema } }, { quirks: { json_schema: 'words' } })
  t.match(words, { body: { outputConfig: undefined, system: [{ text: /"maximum":5/ }] }, dropped: ['response_format'] })
  t.match(encode({ format: { type: 'json_object' } }), { looseFormat: true, body: { system: [{ text: /one JSON object/ }] } })
})

t.test('parameters of the service itself', async (t) => {
  const given = (fields: JsonObject, to = {}) => encode({ extras: { dialect: 'chat', fields } }, to)
  const guardrailConfig = { guardrailIdentifier: 'g-1', guardrailVersion: '1' }
  t.match(given({ guardrailConfig, additionalModelRequestFields: { top_k: 5 } }), {
    body: { guardrailConfig: undefined, additionalModelRequestFields: { top_k: 5 } },
    dropped: ['guardrailConfig'],
  })
  t.match(given({ guardrailConfig }, { quirks: { guardrails: ['g-1'] } }), { body: { guardrailConfig }, dropped: [] })
  t.same(given({ performanceConfig: { latency: 'optimized' }, serviceTier: { type: 'priority' }, unheard_of: 1 }).dropped, [
    'performanceConfig',
    'serviceTier',
    'unheard_of',
  ])
  await every(t, 'every name of a cap or a tier', async (t) => {
    for (const name of [
      'max_tokens',
      'maxTokens',
      'max_new_tokens',
      'max_gen_len',
      'max_completion_tokens',
      'max_tokens_to_sample',
      'service_tier',
      'speed',
    ]) {
      const { body, dropped } = given({ additionalModelRequestFields: { inner: { [name]: 9, kept: 1 } } })
      t.same(body.additionalModelRequestFields, { inner: { kept: 1 } }, name)
      t.same(dropped, [`additionalModelRequestFields.inner.${name}`])
    }
  })
  const quirks = { model_fields: { top_k: 7, anthropic_beta: ['context-1m-2025-08-07'] } }
  t.same(given({ additionalModelRequestFields: { top_k: 5, other: true } }, { quirks }).body.additionalModelRequestFields, {
    top_k: 7,
    other: true,
    anthropic_beta: ['context-1m-2025-08-07'],
  })
  t.same(encode({ metadata: { team: 'a b', bad: 'ü', 'odd;key': 'x' } }), {
    path: encode({}).path,
    body: { messages: [says('user', { text: 'Hello' })], requestMetadata: { team: 'a b' } },
    dropped: ['metadata'],
  })
  t.same(encode({}, { tier: 'priority' }).body.serviceTier, { type: 'priority' })
  t.same(encode({ sampling: { topK: 4 } }, { quirks: { top_k: 'inferenceConfig' } }).body.additionalModelRequestFields, {
    inferenceConfig: { topK: 4 },
  })
  t.match(encode({ sampling: { maxOutput: 900, stop: ['END', ' '] } }, { outputCap: 300 }), {
    body: {
      inferenceConfig: { maxTokens: 300, stopSequences: ['END'] },
      additionalModelResponseFieldPaths: ['/stop_sequence', '/delta/stop_sequence'],
    },
    dropped: ['stop'],
  })
  t.match(encode({ items: [user('x'), assistant('y')] }, { quirks: { body: { drop: ['prefill'] } } }), {
    body: { messages: [{ role: 'user' }] },
    dropped: ['prefill'],
  })
})

t.test('tokens are counted at the provider', async (t) => {
  const { countTokens } = bedrockConverse
  const request = { items: [user('Hi')], tools: [weather], sampling: { maxOutput: 5 }, stream: false, used: new Set<string>() }
  t.same(countTokens?.encode(request, target({ model: 'm' })), {
    path: '/model/m/count-tokens',
    body: { input: { converse: { messages: [says('user', { text: 'Hi' })], toolConfig: { tools: [spec('weather')] } } } },
    dropped: [],
  })
  t.equal(countTokens?.decode({ inputTokens: 375 }), 375)
  t.equal(countTokens?.decode({}), undefined)
})

t.test('refusals by the exception that a header names, and whether the credential is at fault', async (t) => {
  await every(t, 'every refusal', async (t) => {
    for (const [status, type, message, code] of [
      [400, 'ExpiredTokenException', undefined, 'upstream_auth'],
      [403, 'ExpiredTokenException', 'The security token included in the request is expired', 'upstream_auth'],
      [403, 'UnrecognizedClientException', 'The security token included in the request is invalid.', 'upstream_auth'],
      [403, 'InvalidSignatureException', 'The request signature we calculated does not match', 'upstream_auth'],
      [403, 'AccessDeniedException', 'Authentication failed: Please make sure your API Key is valid.', 'upstream_auth'],
      [403, 'AccessDeniedException', "You don't have access to the model with the specified model ID.", 'upstream_rights'],
      [403, 'AccessDeniedException', 'Your account is not authorized to invoke this API operation.', 'upstream_rights'],
      [
        403,
        undefined,
        'User: arn:aws:sts::111111111111:assumed-role/a is not authorized to perform: bedrock:InvokeModel',
        'upstream_rights',
      ],
      [403, undefined, 'The security token included in the request is invalid.', 'upstream_auth'],
      [403, 'AccessDeniedException', 'You invoked an unsupported model or your request did not allow prompt caching', 'upstream_rejected'],
      [400, 'ThrottlingException', 'Rate exceeded', 'upstream_limited'],
      [400, 'SerializationException', undefined, 'upstream_rejected'],
    ] as const) {
      const address = type && `${type}:http://internal.amazon.com/coral/com.amazon.bedrock/`
      const fault = bedrockConverse.decodeFault(status, message === undefined ? undefined : { message }, { 'x-amzn-errortype': address })
      const name = `${status} ${type} ${message}`
      t.equal(fault.code, code, name)
      t.equal(fault.sentence, message, name)
      if (type) t.equal(fault.metadata?.provider_code, type, name)
    }
  })
})

t.test('refusals by status and words', async (t) => {
  await every(t, 'every refusal', async (t) => {
    for (const [status, message, code] of [
      [400, 'The provided model identifier is invalid.', 'upstream_missing'],
      [400, "Invocation of model ID x with on-demand throughput isn't supported.", 'upstream_missing'],
      [400, 'Input is too long for requested model.', 'upstream_context'],
      [400, 'Malformed input request', 'upstream_rejected'],
      [403, 'The security token included in the request is invalid.', 'upstream_auth'],
      [403, "You don't have access to the model with the specified model ID.", 'upstream_rights'],
      [403, 'You invoked an unsupported model or your request did not allow prompt caching', 'upstream_rejected'],
      [404, 'The requested resource was not found', 'upstream_missing'],
      [408, 'Model has timed out', 'upstream_silent'],
      [424, 'The model failed', 'upstream_error'],
      [429, 'Too many tokens, please wait before trying again.', 'upstream_limited'],
      [500, 'An internal error occurred', 'upstream_error'],
      [503, 'Unavailable', 'upstream_overloaded'],
    ] as const)
      t.equal(bedrockConverse.decodeFault(status, { message }).code, code, message)
  })
  const blank = 'The text field in the ContentBlock object at messages.0.content.0 is blank. Add text to the text field, and try again.'
  t.match(bedrockConverse.decodeFault(400, { message: blank }), { message: 'Provider rejected the request (messages.0.content.0)' })
  const reasoning = 'User messages cannot contain reasoning content. Please remove the reasoning content and try again.'
  t.equal(bedrockConverse.decodeFault(400, { message: reasoning }).refusesReasoning, true)
  t.equal(bedrockConverse.decodeFault(400, undefined).code, 'upstream_rejected')
})
