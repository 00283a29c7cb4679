/** Fit of a value to a stranger's JSON Schema: what is found, what remains open, and what hostile schemas cost. */
import t from 'tap'
import type { Json, JsonObject } from '../../src/core/json.ts'
import { type Fit, schemaFit } from '../../src/machines/json-schema/schema-fit.ts'
import { every } from '../support/every.ts'

const FITS: Fit = { fits: true }
const misfit = (path: string, keyword: string): Fit => ({ fits: false, path, keyword })

const conditional = (when: Json, then: Json, otherwise: Json = true): JsonObject =>
  Object.fromEntries([
    ['if', when],
    ['then', then],
    ['else', otherwise],
  ])
const IF_NUMBER = conditional({ type: 'number' }, { minimum: 1 }, { minLength: 1 })

t.test('objects, lists, references', async (t) => {
  const schema: JsonObject = {
    type: 'object',
    properties: {
      name: { type: 'string', minLength: 2 },
      age: { type: ['integer', 'null'], minimum: 0 },
      kind: { enum: ['a', 'b'] },
      tags: { type: 'array', items: { $ref: '#/$defs/a~1%20tag' }, maxItems: 2 },
      next: { anyOf: [{ $ref: '#' }, { type: 'null' }] },
    },
    required: ['name'],
    additionalProperties: false,
    $defs: { 'a/ tag': { type: 'string' } },
  }
  const cases: [value: JsonObject, fit: Fit][] = [
    [{ name: 'Al', age: null, kind: 'a', tags: ['x'], next: { name: 'Bo', next: null } }, FITS],
    [{ age: 1 }, misfit('$.name', 'required')],
    [{ name: 'A' }, misfit('$.name', 'minLength')],
    [{ name: '😀' }, misfit('$.name', 'minLength')],
    [{ name: 'Al', age: 1.5 }, misfit('$.age', 'type')],
    [{ name: 'Al', age: -1 }, misfit('$.age', 'minimum')],
    [{ name: 'Al', kind: 'c' }, misfit('$.kind', 'enum')],
    [{ name: 'Al', tags: ['x', 1] }, misfit('$.tags[1]', 'type')],
    [{ name: 'Al', tags: ['x', 'y', 'z'] }, misfit('$.tags', 'maxItems')],
    [{ name: 'Al', next: { name: 1 } }, misfit('$.next', 'anyOf')],
    [{ name: 'Al', more: 1 }, misfit('$.more', 'additionalProperties')],
  ]
  await every(t, 'every case', async (t) => {
    for (const [value, fit] of cases) t.same(schemaFit(schema, value), fit, JSON.stringify(value))
  })
})

t.test('each keyword', async (t) => {
  const cases: [schema: JsonObject, fits: Json, breaks: Json, keyword: string][] = [
    [{ const: { a: [1, null] } }, { a: [1, null] }, { a: [1] }, 'const'],
    [{ enum: [1, { b: 1, a: 2 }] }, { a: 2, b: 1 }, '1', 'enum'],
    [{ maximum: 3 }, 3, 4, 'maximum'],
    [{ exclusiveMinimum: 3 }, 4, 3, 'exclusiveMinimum'],
    [{ exclusiveMaximum: 3 }, 2, 3, 'exclusiveMaximum'],
    [{ multipleOf: 0.01 }, 1_234_567.89, 0.005, 'multipleOf'],
    [{ multipleOf: 0.1 }, 0.3, 0.35, 'multipleOf'],
    [{ maxLength: 1 }, '😀', 'ab', 'maxLength'],
    [{ pattern: '^\\d{3}$' }, '123', '1234', 'pattern'],
    [{ minItems: 1 }, [0], [], 'minItems'],
    [{ uniqueItems: true }, [1, '1', { a: 1 }, { a: 2 }], [{ a: 1, b: 2 }, 1, { b: 2, a: 1 }], 'uniqueItems'],
    [{ contains: { const: 1 } }, [0, 1], [0], 'contains'],
    [{ contains: { const: 1 }, minContains: 0, maxContains: 1 }, [], [1, 1], 'maxContains'],
    [{ minProperties: 1 }, { a: 1 }, {}, 'minProperties'],
    [{ maxProperties: 1 }, { a: 1 }, { a: 1, b: 1 }, 'maxProperties'],
    [{ propertyNames: { pattern: '^[a-z]+$' } }, { ab: 1 }, { A: 1 }, 'pattern'],
    [{ patternProperties: { '^s_': { type: 'string' } }, additionalProperties: false }, { s_a: 'x' }, { s_a: 1 }, 'type'],
    [{ patternProperties: { '^s_': {} }, additionalProperties: false }, { s_a: 1 }, { a: 1 }, 'additionalProperties'],
    [{ dependentRequired: { a: ['b'] } }, { b: 1 }, { a: 1 }, 'dependentRequired'],
    [{ dependentSchemas: { a: { required: ['b'] } } }, {}, { a: 1 }, 'required'],
    [IF_NUMBER, 'x', 0, 'minimum'],
    [IF_NUMBER, 1, '', 'minLength'],
    [{ allOf: [{ minimum: 1 }, { maximum: 3 }] }, 2, 4, 'maximum'],
    [{ oneOf: [{ type: 'number' }, { minimum: 1 }] }, 0, 2, 'oneOf'],
    [{ not: { const: 0.5 } }, 0, 0.5, 'not'],
    [{ prefixItems: [{ type: 'boolean' }], items: false }, [true], [true, 1], 'false'],
    [{ items: [{ type: 'boolean' }], additionalItems: { type: 'string' } }, [true, ''], [true, 1], 'type'],
    [{ type: 'string', nullable: true }, null, 1, 'type'],
  ]
  await every(t, 'every case', async (t) => {
    for (const [schema, fits, breaks, keyword] of cases) {
      t.same(schemaFit(schema, fits), FITS, `${keyword} fits`)
      t.match(schemaFit(schema, breaks), { fits: false, keyword }, keyword)
    }
  })
  t.same(schemaFit({ format: 'email', title: 'x', 'x-order': 1, minimum: 'two' }, 'no address'), FITS, 'notes and nonsense decide nothing')
})

t.test('what is not understood decides nothing, unless all else does', async (t) => {
  const odd: JsonObject = { pattern: '^(?!x)' }
  await every(t, 'open', async (t) => {
    const open: JsonObject[] = [
      odd,
      { unevaluatedProperties: false },
      { $ref: 'https://example.com/schema' },
      { $ref: '#name' },
      { $ref: '#/$defs/none' },
      { not: odd },
      { anyOf: [odd, { type: 'number' }] },
      { oneOf: [odd, { type: 'string' }] },
      conditional(odd, false),
      { patternProperties: { '(?=x)': false } },
    ]
    for (const schema of open) t.equal(schemaFit(schema, schema.patternProperties ? { a: 1 } : 'abc'), undefined, JSON.stringify(schema))
  })
  t.same(schemaFit({ anyOf: [odd, { type: 'string' }] }, 'abc'), FITS)
  t.same(schemaFit({ allOf: [odd, { maxLength: 1 }] }, 'abc'), misfit('$', 'maxLength'))
  t.same(schemaFit({ not: { allOf: [odd, { type: 'number' }] } }, 'abc'), FITS)
})

t.test('hostile schemas and answers end soon', async (t) => {
  const doubling: JsonObject = { $ref: '#/$defs/d0', $defs: {} }
  for (let i = 0; i < 60; i++)
    (doubling.$defs as JsonObject)[`d${i}`] = { allOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] }
  let deep: Json = 1
  for (let i = 0; i < 5_000; i++) deep = [deep]
  const many = (count: number): number[] => Array.from({ length: count }, (_, i) => i)
  const again = (part: JsonObject): JsonObject => ({ allOf: many(50_000).map(() => ({ $ref: '#/$defs/part' })), $defs: { part } })
  const named = Object.fromEntries(many(20_000).map((i) => [`k${i}`, true]))
  const text = 'a'.repeat(200_000)
  const cases: [name: string, schema: JsonObject, value: Json][] = [
    ['a reference to itself', { $ref: '#' }, 1],
    ['references that double', doubling, 1],
    ['a deep answer', { items: { $ref: '#' } }, deep],
    ['a deep constant', { const: deep }, deep],
    ['a costly pattern', { pattern: '^(a{1,30}){1,30}$' }, text],
    ['a pattern that backtracks elsewhere', { pattern: '^(a+)+$' }, `${text}!`],
    ['a pattern that is large once written out', { pattern: '((a{1,100}){1,100}){1,100}' }, text],
    ['many patterns', { allOf: many(2_000).map((i) => ({ pattern: `a{${i}}` })) }, text],
    ['a long list, compared in pairs', { uniqueItems: true }, many(50_000).map((i) => ({ i }))],
    ['long enumerations', again({ enum: many(20_000) }), -1],
    ['many required names', again({ required: ['k0', ...many(20_000).map(() => 'k0')] }), { k0: 1 }],
    ['many names of patterns', again({ patternProperties: named, anyOf: [false, true] }), named],
    ['many passed over', again({ allOf: many(20_000).map(() => true) }), 1],
    ['many types', again({ type: [...many(20_000).map(() => 'string'), 'number'] }), 1],
    ['a long text, counted again and again', again({ maxLength: 1e6 }), text],
    ['a long text, compared again and again', again({ const: text }), text],
    ['a long list, again and again', again({ items: true }), many(50_000)],
  ]
  await every(t, 'every case takes less than a second of processor time', async (t) => {
    for (const [name, schema, value] of cases) {
      const began = process.cpuUsage()
      schemaFit(schema, value)
      const { user, system } = process.cpuUsage(began)
      t.ok(user + system < 1_000_000, name)
    }
  })
})
