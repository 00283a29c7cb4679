import fc from 'fast-check'
import t from 'tap'
import { Check } from 'typebox/schema'
import { isObject, type Json, type JsonObject } from '../../../src/core/json.ts'
import { schemaInstance } from '../../../src/dialects/sim/instance.ts'
import { every } from '../../support/every.ts'
import { property } from '../../support/seed.ts'

const person: JsonObject = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer', minimum: 18 }, tags: { type: 'array', items: { type: 'string' } } },
  required: ['name', 'age', 'tags'],
  additionalProperties: false,
}

const schemas: Record<string, JsonObject> = {
  'an object as strict mode wants it': person,
  'an enum': { enum: ['b', 'a'] },
  'a constant': { const: { fixed: [1] } },
  'a constant null': { type: 'object', properties: { n: { const: null } }, required: ['n'] },
  'a nullable type': { type: ['string', 'null'], minLength: 3 },
  'a union with null': { anyOf: [{ type: 'null' }, { type: 'integer' }] },
  'definitions by reference': {
    type: 'object',
    properties: { who: { $ref: '#/$defs/person' }, all: { type: 'array', items: { $ref: '#/$defs/person' }, minItems: 2 } },
    required: ['who', 'all'],
    $defs: { person },
  },
  'a path with escapes': { $ref: '#/$defs/a~1b%20c', $defs: { 'a/b c': { type: 'boolean' } } },
  'a linked list': {
    $ref: '#/$defs/node',
    $defs: {
      node: {
        type: 'object',
        properties: { value: { type: 'number' }, next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } },
        required: ['value', 'next'],
      },
    },
  },
  'a tree': { type: 'object', properties: { children: { type: 'array', items: { $ref: '#' } } }, required: ['children'] },
  'all of several': {
    allOf: [
      { type: 'object', properties: { a: { type: 'number', minimum: 5 } }, required: ['a'] },
      { type: 'object', properties: { a: { maximum: 7 }, b: { type: 'string', minLength: 20 } }, required: ['b'] },
    ],
  },
  'all of references': {
    allOf: [{ $ref: '#/$defs/x' }, { $ref: '#/$defs/y' }],
    $defs: { x: { type: 'object', required: ['p'] }, y: { properties: { p: { type: 'boolean' } } } },
  },
  'one of, with a common part': {
    type: 'object',
    properties: { kind: { type: 'string' } },
    required: ['kind'],
    oneOf: [{ properties: { kind: { const: 'cat' } } }, { properties: { kind: { const: 'dog' } } }],
  },
  'distinct items': { type: 'array', items: { type: 'string' }, minItems: 5, uniqueItems: true },
  'distinct objects': {
    type: 'array',
    items: { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] },
    minItems: 4,
    uniqueItems: true,
  },
  'distinct enum members': { type: 'array', items: { enum: ['a', 'b', 'c'] }, minItems: 3, uniqueItems: true },
  'no items': { type: 'array', items: { type: 'string' }, maxItems: 0 },
  'a tuple': { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }], items: false, minItems: 2 },
  'an array that contains': { type: 'array', items: { type: 'integer' }, contains: { minimum: 100 }, minItems: 3 },
  'counted properties': { type: 'object', additionalProperties: { type: 'integer' }, minProperties: 3 },
  'few properties': { type: 'object', properties: { a: {}, b: {}, c: { type: 'string' } }, required: ['c'], maxProperties: 2 },
  'a required property that nobody describes': { type: 'object', required: ['x'] },
  'a map': { type: 'object', additionalProperties: { type: 'string' } },
  'no type, properties': { properties: { a: { type: 'string' } }, required: ['a'] },
  'no type, bounds': { minimum: 10, maximum: 11 },
  nothing: {},
  'open bounds': { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 },
  'an open integer': { type: 'integer', exclusiveMinimum: 4, maximum: 5 },
  'negative bounds': { type: 'integer', minimum: -20, maximum: -10 },
  multiples: { type: 'number', multipleOf: 0.25, minimum: 3.3 },
  'multiples below': { type: 'integer', multipleOf: 7, maximum: -3 },
  'far bounds': { type: 'integer', minimum: 1e12 },
  'a tight range': { type: 'number', minimum: 0.31, maximum: 0.32 },
  'one value': { type: 'number', minimum: 2.5, maximum: 2.5 },
  lengths: { type: 'string', minLength: 12, maxLength: 14 },
  'a short text': { type: 'string', maxLength: 1 },
  'an empty text': { type: 'string', maxLength: 0 },
}
for (const format of ['date', 'date-time', 'time', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uri', 'uri-reference', 'uuid']) {
  schemas[`format ${format}`] = { type: 'array', items: { type: 'string', format }, minItems: 3, uniqueItems: true }
}
for (const pattern of [
  '^[A-Z]{3}-\\d{4}$',
  '^(foo|bar)+$',
  '^#[0-9a-fA-F]{6}$',
  '^\\+?[1-9]\\d{1,14}$',
  '^[^\\s@]+@[^\\s@]+\\.[^\\s@]+$',
  '[0-9]{2}',
  '^\\w+(?:-\\w+)*$',
  '^v\\d+\\.\\d+\\.\\d+$',
  '^[\\w.-]{2,5}$',
  '^$',
  '^[a-c\\-]?x$',
]) {
  schemas[`pattern ${pattern}`] = { type: 'string', pattern }
}
schemas['a pattern with a length'] = { type: 'string', pattern: '^[a-z]+$', minLength: 8, maxLength: 9 }
schemas['a loose pattern with a length'] = { type: 'string', pattern: 'ab', minLength: 8 }

t.test('instances are valid', async (t) => {
  await every(t, 'every case', async (t) => {
    for (const [name, schema] of Object.entries(schemas)) {
      const value = schemaInstance(schema)
      t.ok(Check(schema, value), `${name}: ${JSON.stringify(value)}`)
      t.same(schemaInstance(structuredClone(schema)), value, 'the same every time')
    }
  })
  t.ok(isObject(schemaInstance(person)))
  t.same(Object.keys(schemaInstance(person) as JsonObject), ['name', 'age', 'tags'], 'optional and required members are written')
})

t.test('what cannot be met ends, and never throws', async (t) => {
  const wide = (keys: string[]): JsonObject => Object.fromEntries(keys.map((key) => [key, { anyOf: [{ $ref: '#' }, { $ref: '#' }] }]))
  const names = Array.from({ length: 8 }, (_, i) => `p${i}`)
  await every(t, 'every schema', async (t) => {
    for (const schema of [
      false,
      null,
      7,
      'text',
      { $ref: '#' },
      { $ref: '#/nowhere' },
      { $ref: 'https://example.com/schema' },
      { $ref: '#/%E0%A4%A' },
      { type: 'integer', minimum: 5, maximum: 4 },
      { type: 'object', properties: wide(names), required: names },
      { type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] },
      { allOf: [{ $ref: '#' }] },
      { anyOf: [] },
      { enum: [] },
      { type: 'nonsense' },
      { type: [] },
      { type: 'string', pattern: '(?=a)b' },
      { type: 'string', pattern: '(((' },
      { type: 'string', pattern: '(a{9999}){9999}' },
      { type: 'string', minLength: 1e12 },
      { type: 'array', minItems: 1e12, items: { type: 'array', minItems: 1e12 } },
      { type: 'object', minProperties: 1e12 },
      { properties: 7, required: 'x', items: 'y', enum: 'z', allOf: {}, minLength: 'a' },
    ] as Json[]) {
      const value = schemaInstance(schema)
      t.ok(JSON.stringify(value) !== undefined, JSON.stringify(schema)?.slice(0, 60))
    }
  })
  const optional = schemaInstance({ type: 'object', properties: wide(names) })
  t.ok(JSON.stringify(optional).length < 200_000, 'optional recursion stays small')
})

t.test('composed schemas', async (t) => {
  const { schema } = fc.letrec<{ schema: JsonObject }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 4, depthSize: 'small' },
      fc.oneof(
        fc.record({ type: fc.constant('integer'), minimum: fc.integer({ min: -50, max: 50 }) }),
        fc.record({
          type: fc.constant('number'),
          maximum: fc.integer({ min: -50, max: 50 }),
          multipleOf: fc.constantFrom(0.5, 0.01, 2, 3),
        }),
        fc.record({ type: fc.constant('string'), minLength: fc.integer({ min: 0, max: 9 }), maxLength: fc.integer({ min: 9, max: 12 }) }),
        fc.record({ type: fc.constantFrom('boolean', 'null') }),
        fc.record({ enum: fc.array(fc.oneof(fc.string(), fc.integer(), fc.boolean()), { minLength: 1, maxLength: 3 }) }),
      ),
      fc.record({
        type: fc.constant('array'),
        items: tie('schema'),
        minItems: fc.integer({ min: 0, max: 2 }),
        maxItems: fc.integer({ min: 2, max: 3 }),
      }),
      fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }) }),
      fc
        .dictionary(
          fc.string({ minLength: 1, maxLength: 3 }).filter((key) => key !== '__proto__'),
          tie('schema'),
          { maxKeys: 3, noNullPrototype: true },
        )
        .map((properties) => ({
          type: 'object',
          properties,
          required: Object.keys(properties).slice(1),
          additionalProperties: false,
        })),
    ),
  }))
  let checked = 0
  fc.assert(
    fc.property(schema, (one) => {
      checked++
      return Check(one, schemaInstance(one))
    }),
    property(400, 4_000),
  )
  t.equal(checked, 400)
})
