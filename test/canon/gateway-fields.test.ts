import fc from 'fast-check'
import t from 'tap'
import { Type } from 'typebox'
import { Check } from 'typebox/value'
import { checker } from '../../src/core/check.ts'
import { Fault } from '../../src/core/faults.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { gatewayProperties } from '../../src/dialects/canon/gateway-schema.ts'
import { checkFields } from '../../src/dialects/canon/request-fields.ts'
import { every } from '../support/every.ts'
import { property } from '../support/seed.ts'

const schema = Type.Object(gatewayProperties)
const check = checker(schema)

function message(run: () => void): string | undefined {
  try {
    run()
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.status === 400) return thrown.message
    throw thrown
  }
  return undefined
}

const refusal = (body: JsonObject): string | undefined => message(() => checkFields(check, body))

t.test('a refusal names the deepest field and what was expected', async (t) => {
  const table: [JsonObject, string][] = [
    [{ provider: { x: 1 } }, 'provider.x: unknown field'],
    [{ provider: 'acme' }, 'provider: expected an object or null'],
    [{ provider: { order: 'acme' } }, 'provider.order: expected an array or null'],
    [{ provider: { order: ['a', 2] } }, 'provider.order[1]: expected a string'],
    [{ provider: { sort: { by: 'speed' } } }, 'provider.sort.by: expected one of: price, throughput, latency, exacto, least_busy; or null'],
    [{ provider: { preferred_max_latency: { p42: 1 } } }, 'provider.preferred_max_latency.p42: unknown field'],
    [{ provider: { max_price: { prompt: 'a lot' } } }, 'provider.max_price.prompt: expected a decimal number such as "0.25"'],
    [{ provider: { max_price: { prompt: -1 } } }, 'provider.max_price.prompt: must be at least 0'],
    [{ provider: { data_collection: 'maybe' } }, 'provider.data_collection: expected one of: allow, deny; or null'],
    [{ plugins: [{}] }, 'plugins[0].id: is required'],
    [{ plugins: [{ id: 'web', enabled: 1 }] }, 'plugins[0].enabled: expected a boolean'],
    [{ user: 'x'.repeat(257) }, 'user: must be at most 256 characters'],
    [{ stop_server_tools_when: [] }, 'stop_server_tools_when: must have at least 1 item'],
    [{ stop_server_tools_when: [{ type: 'max_cost' }] }, 'stop_server_tools_when[0].max_cost_in_dollars: is required'],
    [{ cache_control: { type: 'ephemeral', ttl: '2h' } }, 'cache_control.ttl: expected one of: 5m, 1h'],
    [{ max_tool_calls: 1.5 }, 'max_tool_calls: expected an integer or null'],
    [{ trace: [] }, 'trace: expected an object'],
    [{ metadata: { a: 1 } }, 'metadata.a: expected a string'],
  ]
  await every(t, 'every case', async (t) => {
    for (const [body, expected] of table) t.equal(refusal(body), expected)
  })
  t.equal(
    message(() => checker(Type.Object({ a: Type.String() }))({}, 'tools[2]')),
    'tools[2].a: is required',
    'a part of something',
  )
  t.equal(
    message(() => checker(Type.String({ minLength: 1 }))('', 'name')),
    'name: must not be empty',
  )
})

t.test('slugs', async (t) => {
  await every(t, 'every model', async (t) => {
    for (const model of [
      'openai/gpt-5',
      '~anthropic/claude-latest',
      '@preset/mine',
      'a/b:free:online',
      'a/b@preset/x',
      'local/meta/llama3:8b',
      'a/b.c-1+d',
      'claude-haiku-4-5',
    ])
      t.equal(refusal({ model }), undefined, model)
  })
  await every(t, 'every model', async (t) => {
    for (const model of ['gpt 5', '/x', 'a/', 'a b/c', 'a/b:', 'a//b', '@preset/', 'a/b c', 'a/b\n', 'ä/b', 'x'.repeat(300)])
      t.match(refusal({ model }), /^model: /, JSON.stringify(model))
  })
  t.match(refusal({ models: ['a/b', 'c d'] }), /^models\[1\]: /)
})

t.test('metadata pairs', async (t) => {
  const pairs = (count: number): JsonObject => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'v']))
  t.equal(refusal({ metadata: pairs(16) }), undefined)
  t.match(refusal({ metadata: pairs(17) }), /^metadata: /)
  t.equal(refusal({ metadata: { ['k'.repeat(64)]: 'v'.repeat(512) } }), undefined)
  t.match(refusal({ metadata: { 'a]': 'v' } }), /^metadata: /)
})

t.test('property: refuses exactly what the schema refuses, and always names a field of it', async (t) => {
  const keys = fc.constantFrom(...Object.keys(gatewayProperties), 'other')
  const provider = fc.dictionary(
    fc.constantFrom('order', 'sort', 'zdr', 'max_price', 'quantizations', 'preferred_max_latency', 'bad'),
    fc.jsonValue(),
  )
  const value = fc.oneof(fc.jsonValue({ maxDepth: 3 }), provider, fc.constantFrom('auto', 'flex', 1, null, true, ['text'], [{ id: 'web' }]))
  const agrees = fc.property(fc.dictionary(keys, value), (body) => {
    const refused = message(() => check(body))
    if (refused === undefined) return Check(schema, body)
    return !Check(schema, body) && Object.keys(body).some((key) => refused.startsWith(key))
  })
  t.doesNotThrow(() => fc.assert(agrees, property(600, 20_000)))
})
