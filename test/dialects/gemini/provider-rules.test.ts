/** Requests as Google's services take them, each with its source in the code beside it. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import type { Item, Part } from '../../../src/dialects/canon/request.ts'
import { encode, user } from './rig.ts'

const text = (value: string): Part => ({ kind: 'text', text: value })
const image = (type: string): Part => ({ kind: 'media', media: 'image', url: `data:${type};base64,AAAA` })
const call = (callId: string, name: string): Item => ({ kind: 'call', callId, name, args: '{}' })
const result = (callId: string, ...parts: Part[]): Item => ({ kind: 'result', callId, parts })
const contents = (items: Item[], quirks = {}): JsonObject[] => encode({ items }, { quirks }).body.contents as JsonObject[]
const sentSchema = (schema: JsonObject): { schema: unknown; dropped: string[] } => {
  const { body, dropped } = encode({ format: { type: 'json_schema', schema } })
  return { schema: (body.generationConfig as JsonObject).responseJsonSchema, dropped }
}

t.test('where ids are refused, results stand in the order of their calls', async (t) => {
  const items = [user('Hi'), call('c1', 'f'), call('c2', 'g'), result('c2', text('two')), result('c1', text('one'))]
  t.same(contents(items, { call_ids: false })[2], {
    role: 'user',
    parts: [
      { functionResponse: { name: 'f', response: { output: 'one' } } },
      { functionResponse: { name: 'g', response: { output: 'two' } } },
    ],
  })
  const kept = contents(items)[2].parts as JsonObject[]
  t.same(
    kept.map(({ functionResponse }) => (functionResponse as JsonObject).id),
    ['c2', 'c1'],
    'with ids the order is the caller’s',
  )
})

t.test('media of results: within them at Gemini 3, behind them all elsewhere', async (t) => {
  const items = [user('Hi'), call('c1', 'f'), call('c2', 'g'), result('c1', text('one'), image('image/png')), result('c2', text('two'))]
  const png = { inlineData: { mimeType: 'image/png', data: 'AAAA' } }
  const one = { id: 'c1', name: 'f', response: { output: 'one' } }
  const two = { functionResponse: { id: 'c2', name: 'g', response: { output: 'two' } } }
  t.same(contents(items, { thinking: 'level' })[2].parts, [{ functionResponse: { ...one, parts: [png] } }, two])
  t.same(contents(items)[2].parts, [{ functionResponse: one }, two, png])
  const other = [user('Hi'), call('c1', 'f'), result('c1', text('one'), image('image/gif'))]
  const gif = { inlineData: { mimeType: 'image/gif', data: 'AAAA' } }
  t.same(contents(other, { thinking: 'level' })[2].parts, [{ functionResponse: one }, gif], 'results hold no other types')
})

t.test('fields of this wire pass, whatever format the caller speaks', async (t) => {
  const settings = [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }]
  const sent = (fields: JsonObject, quirks = {}) => {
    const { body, dropped } = encode({ extras: { dialect: 'chat', fields } }, { quirks })
    return { safety: body.safetySettings, cache: body.cachedContent, dropped }
  }
  const both = { safety: settings, cache: 'cachedContents/1', dropped: [] }
  t.same(sent({ safety_settings: settings, cached_content: 'cachedContents/1' }), both)
  t.same(sent({ safetySettings: settings, cachedContent: 'cachedContents/1' }), both)
  t.same(sent({ extra_body: { google: { safety_settings: settings, cached_content: 'cachedContents/1' } } }), both)
  t.same(sent({ extra_body: { google: { thinking_config: {} } } }).dropped, ['extra_body.google.thinking_config'])
  t.same(sent({ extra_body: { google: {}, other: 1 } }).dropped, ['extra_body'])
  t.same(sent({ safety_settings: 'none', cached_content: 5, unheard_of: 1 }), {
    safety: undefined,
    cache: undefined,
    dropped: ['safety_settings', 'cached_content', 'unheard_of'],
  })
  t.same(sent({ cached_content: 'c' }, { body: { drop: ['cached_content'] } }), {
    safety: undefined,
    cache: undefined,
    dropped: ['cached_content'],
  })
})

t.test('a service tier that is requested by a header', async (t) => {
  const sent = (serviceTier: string, tier?: 'flex' | 'priority') => {
    const quirks = { tier_header: 'X-Tier' }
    const { body, headers, dropped } = encode({ serviceTier }, tier ? { tier, quirks } : { quirks })
    return { field: body.serviceTier, headers, dropped }
  }
  t.same(sent('flex', 'flex'), { field: undefined, headers: ['X-Tier', 'flex'], dropped: [] })
  t.same(sent('default'), { field: undefined, headers: undefined, dropped: [] })
  t.same(sent('priority'), { field: undefined, headers: undefined, dropped: ['service_tier'] })
})

t.test('arguments of calls stream where the provider is to send them so', async (t) => {
  const tools = [{ kind: 'function' as const, name: 'f' }]
  const sent = (fields: object, stream: boolean) => encode(fields, { stream, quirks: { stream_arguments: true } }).body.toolConfig
  t.same(sent({ tools }, true), { functionCallingConfig: { streamFunctionCallArguments: true } })
  t.same(sent({ tools, toolChoice: { mode: 'required' } }, true), {
    functionCallingConfig: { mode: 'ANY', streamFunctionCallArguments: true },
  })
  t.equal(sent({ tools }, false), undefined, 'generateContent refuses it')
  t.equal(sent({}, true), undefined)
})

t.test('the schema of the answer: what the model does not keep to is recorded', async (t) => {
  const given = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    title: 'Tree',
    properties: {
      kind: { const: 'leaf' },
      size: { type: 'integer', minimum: 1, exclusiveMaximum: 9, multipleOf: 2 },
      name: { type: 'string', pattern: '^x', default: 'x' },
      left: { $ref: '#/$defs/Tree', description: 'The left one' },
      both: { type: 'array', items: { $ref: '#/$defs/Tree' }, uniqueItems: true, maxItems: 2 },
      any: { anyOf: [{ type: 'null' }, { type: 'string', minLength: 1 }] },
    },
    $defs: { Tree: { type: 'object', properties: { pattern: { type: 'string' } } } },
  }
  const copy = structuredClone(given)
  const { schema, dropped } = sentSchema(given)
  t.same(given, copy, 'the caller’s own is not touched')
  t.same(dropped, [
    'response_format.schema.exclusiveMaximum',
    'response_format.schema.multipleOf',
    'response_format.schema.pattern',
    'response_format.schema.uniqueItems',
    'response_format.schema.minLength',
  ])
  const { kind, left, ...rest } = given.properties
  t.same(schema, {
    ...given,
    properties: { kind: { enum: ['leaf'] }, left: { description: 'The left one', anyOf: [{ $ref: '#/$defs/Tree' }] }, ...rest },
  })
  t.same(sentSchema({ type: 'object', $ref: '#/$defs/A', $defs: { A: {} } }).schema, {
    type: 'object',
    $ref: '#/$defs/A',
    $defs: { A: {} },
  })
})

t.test(
  'without levels of thinking, JSON output and tools do not go together (github.com/googleapis/python-genai/issues/867)',
  async (t) => {
    const schema: JsonObject = { type: 'object', properties: { n: { type: 'number' } } }
    const format = { type: 'json_schema', schema } as const
    const tools = [{ kind: 'function', name: 'f' } as const]
    const sent = (request: Parameters<typeof encode>[0], quirks = {}) => {
      const { body, dropped } = encode(request, { quirks })
      const { responseMimeType, responseJsonSchema } = (body.generationConfig ?? {}) as JsonObject
      return { type: responseMimeType, schema: responseJsonSchema, system: body.systemInstruction, dropped }
    }
    const json = 'application/json'
    const whole = { type: json, schema, system: undefined, dropped: [] }
    t.same(sent({ format }), whole)
    t.same(sent({ format, tools }, { thinking: 'level' }), whole, 'models of Gemini 3 do both')
    const words = 'Unless you call a function, answer with a single JSON value and no other text'
    const parts = [{ text: `${words}, by this JSON Schema: ${JSON.stringify(schema)}` }]
    t.same(sent({ format, tools }), { type: undefined, schema: undefined, system: { parts }, dropped: ['response_format'] })
    t.match(sent({ format: { type: 'json_object' }, tools }), { type: undefined, system: { parts: [{ text: words }] } })
    t.same(sent({ format: { type: 'text' }, tools }), { type: undefined, schema: undefined, system: undefined, dropped: [] })
  },
)
