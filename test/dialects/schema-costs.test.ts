/** Cost of fitting a hostile schema, in members that are read: it grows with the length of the schema, never faster. */
import t from 'tap'
import { isObject, type Json, type JsonObject } from '../../src/core/json.ts'
import { fitSchema as fitClaude, fitsSchema } from '../../src/dialects/canon/claude-schema.ts'
import { fitFunctions } from '../../src/dialects/canon/closed-schema.ts'
import { fitSchemas } from '../../src/dialects/chat/fit-request.ts'
import { fitSchema as fitGemini } from '../../src/dialects/gemini/generation-config.ts'
import { every } from '../support/every.ts'

const TEXT = { type: 'string' }
const many = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => make(index))
const named = (count: number, make: (index: number) => Json): JsonObject =>
  Object.fromEntries(many(count, (index): [string, Json] => [`p${index}`, make(index)]))
const nested = (depth: number, wrap: (inner: Json) => JsonObject, inner: Json): Json =>
  depth === 0 ? inner : nested(depth - 1, wrap, wrap(inner))
const under = (x: Json): JsonObject => ({ type: 'object', properties: { x } })
const chain = (count: number, link: (pointer: string) => JsonObject): JsonObject => ({
  type: 'object',
  properties: { x: link('#/$defs/p0') },
  $defs: named(count, (index) => link(`#/$defs/p${index + 1}`)),
})

/** Each definition holds the next one twice, with something beside it: written out, there are 2^28. */
const DOUBLING: JsonObject = chain(28, ($ref) => ({ properties: { l: { $ref, maxItems: 1 }, r: { $ref, maxItems: 2 } } }))
const ALL_DOUBLING: JsonObject = chain(28, ($ref) => ({ allOf: [{ $ref }, { $ref }] }))

const HOSTILE: Readonly<Record<string, readonly JsonObject[]>> = {
  '3,000 properties': [{ type: 'object', properties: named(3000, () => TEXT) }],
  'properties, and keywords that nobody knows': [{ ...named(900, () => 1), properties: named(500, () => ({})) }],
  '1,500 required properties, the last one first': [
    {
      type: 'object',
      additionalProperties: false,
      properties: named(1500, () => TEXT),
      required: many(1500, (index) => `p${1499 - index}`),
    },
  ],
  'a chain of references': [chain(900, ($ref) => ({ $ref }))],
  'a chain of references with more beside them': [chain(500, ($ref) => ({ $ref, minLength: 1 }))],
  'a chain of parts': [chain(500, ($ref) => ({ allOf: [{ $ref }, TEXT] }))],
  'products of alternatives': [
    under({ allOf: many(18, () => ({ anyOf: many(18, (minLength) => ({ allOf: [{ minLength }, { anyOf: [TEXT, {}] }] })) })) }),
  ],
  'alternatives in alternatives': [under(nested(9, (inner) => ({ minProperties: 1, anyOf: [inner, inner] }), TEXT))],
  'parts that grow': [under({ allOf: many(600, (index) => ({ properties: { [`q${index}`]: TEXT }, required: [`q${index}`] })) })],
  'many alternatives of one property': [{ anyOf: many(700, (maxLength) => ({ properties: { x: { maxLength } } })) }],
  'all refer to a large one': [
    {
      type: 'object',
      properties: named(300, (minProperties) => ({ $ref: '#/$defs/big', minProperties })),
      $defs: { big: { type: 'object', properties: named(300, () => TEXT) } },
    },
  ],
  'a choice in each choice': [under(nested(50, (inner) => ({ anyOf: [TEXT], oneOf: [inner] }), { enum: many(1000, String) }))],
  'the same with references': [
    under(nested(50, (inner) => ({ anyOf: [TEXT], oneOf: [inner] }), { anyOf: many(600, (index) => ({ $ref: `#/$defs/${index}` })) })),
  ],
  '80 tools that double': many(80, () => DOUBLING),
  '80 tools whose parts double': many(80, () => ALL_DOUBLING),
}

/** Members read, by a schema that counts them; its copies count where they read what it holds. */
function counting(root: JsonObject): { schema: JsonObject; reads: () => number } {
  let reads = 0
  const views = new WeakMap<object, JsonObject>()
  const view = (value: JsonObject): JsonObject => {
    const known = views.get(value)
    if (known) return known
    const counted = new Proxy(value, {
      get: (target, name, receiver) => {
        reads++
        const found: unknown = Reflect.get(target, name, receiver)
        return isObject(found) || Array.isArray(found) ? view(found as JsonObject) : found
      },
    })
    views.set(value, counted)
    return counted
  }
  return { schema: view(root), reads: () => reads }
}

const FITTERS: Readonly<Record<string, (schemas: readonly JsonObject[]) => unknown>> = {
  mfjs: (schemas) => {
    const body: JsonObject = {
      tools: schemas.map((parameters, index) => ({ type: 'function', function: { name: `t${index}`, parameters } })),
    }
    fitSchemas(body, { schemas: 'mfjs' }, [])
  },
  claude: (schemas) => schemas.map((schema) => fitClaude(schema, () => {})),
  'claude, a look': (schemas) => schemas.map(fitsSchema),
  gemini: (schemas) => schemas.map((schema) => fitGemini(schema, () => {})),
  closed: (schemas) => {
    const tools = schemas.map((parameters, index) => ({ type: 'function', function: { name: `t${index}`, strict: true, parameters } }))
    fitFunctions(tools, 'function', [])
  },
}

/** Members read for each character of the schemas, and beyond that in one request. */
const PER_CHARACTER = 1
const BEYOND = 10_000

for (const [name, fit] of Object.entries(FITTERS))
  t.test(`${name}: the cost is bounded by the length`, async (t) => {
    await every(t, 'bounded', (t) => {
      for (const [title, schemas] of Object.entries(HOSTILE)) {
        const counted = schemas.map(counting)
        const length = schemas.reduce((sum, schema) => sum + JSON.stringify(schema).length, 0)
        fit(counted.map(({ schema }) => schema))
        const reads = counted.reduce((sum, each) => sum + each.reads(), 0)
        t.ok(reads < PER_CHARACTER * length + BEYOND, `${title}: ${reads} for ${length} characters`)
      }
    })
  })
