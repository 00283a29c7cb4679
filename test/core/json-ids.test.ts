/** Depth and size of a JSON text, and the text of an identifier: both are short cuts, so both are held against the plain way. */
import fc from 'fast-check'
import t from 'tap'
import { GenerationIds, generationId, parseGenerationId } from '../../src/core/ids.ts'
import { JsonSize, membersExceed } from '../../src/core/json.ts'
import { every } from '../support/every.ts'
import { property } from '../support/seed.ts'

/** Nesting of a parsed value. */
function jsonDepth(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(jsonDepth))
}

/** Objects and arrays of a parsed value, members of its objects, those of the largest one, and elements of its arrays. */
function jsonSizes(value: unknown): { containers: number; members: number; largest: number; elements: number } {
  const sizes = { containers: 0, members: 0, largest: 0, elements: 0 }
  if (typeof value !== 'object' || value === null) return sizes
  const inside = Object.values(value)
  sizes.containers = 1
  if (Array.isArray(value)) sizes.elements = inside.length
  else sizes.members = sizes.largest = inside.length
  for (const each of inside.map(jsonSizes)) {
    sizes.containers += each.containers
    sizes.members += each.members
    sizes.elements += each.elements
    sizes.largest = Math.max(sizes.largest, each.largest)
  }
  return sizes
}

const ANY = { depth: 128, members: 1_000_000, commas: 1_000_000 }
const mayOverflow = (text: string): boolean => new JsonSize().measure(text, ANY).mayOverflow
const depthExceeds = (text: string, depth: number): boolean => new JsonSize().measure(text, { ...ANY, depth }).containers === -1

/** Long runs and much that is escaped. */
const words = fc.array(fc.constantFrom('"', '\\', '{', ']', 'ü', '\n', 'a'.repeat(30)), { maxLength: 20 }).map((parts) => parts.join(''))

/** Any value of JSON, nested. */
function anyJson(): fc.Arbitrary<unknown> {
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 6 },
      words,
      fc.integer(),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(words, tie('value'), { maxKeys: 3 }),
    ),
  }))
  return value
}

t.test('members, elements and containers of any JSON text are counted exactly', async () => {
  fc.assert(
    fc.property(anyJson(), (each) => {
      const text = JSON.stringify(each)
      const { containers, members, commas } = new JsonSize().measure(text, ANY)
      const wanted = jsonSizes(each)
      const values = wanted.members + wanted.elements
      const exact = containers === wanted.containers && members === wanted.members
      const largest = !membersExceed(text, wanted.largest) && (wanted.largest === 0 || membersExceed(text, wanted.largest - 1))
      return exact && largest && commas <= values && values <= commas + containers
    }),
    property(100, 1_000),
  )
})

t.test('the depth of any JSON text is told exactly', async (t) => {
  fc.assert(
    fc.property(anyJson(), (each) => {
      const text = JSON.stringify(each)
      const depth = jsonDepth(each)
      return !depthExceeds(text, depth) && (depth === 0 || depthExceeds(text, depth - 1))
    }),
    property(100, 1_000),
  )
  t.equal(depthExceeds(`{"a":"${'\\"'.repeat(40)}[[[["}`, 1), false, 'brackets in a long string with escaped quotes')
  t.equal(depthExceeds(`["${'x'.repeat(22)}\\\\",[]]`, 1), true, 'a string that ends in an escaped backslash')
  t.equal(depthExceeds('["never closed [[[', 1), false)
})

t.test('no number that parses to infinity goes unseen, and ordinary texts are not suspected', async (t) => {
  const digits = fc.integer({ min: 1, max: 320 }).map((length) => '1'.padEnd(length, '7'))
  const exponent = fc.oneof(
    fc.constant(''),
    fc.tuple(fc.constantFrom('e', 'E', 'e+', 'E-'), fc.integer({ min: 0, max: 400 })).map(([e, n]) => `${e}${n}`),
  )
  const number = fc.tuple(fc.constantFrom('', '-'), digits, fc.constantFrom('', '.5', '.0'), exponent).map((pieces) => pieces.join(''))
  const member = fc.oneof(
    number,
    words.map((word) => JSON.stringify(word)),
    fc.constantFrom('true', 'false', 'null', '[]'),
  )
  fc.assert(
    fc.property(fc.array(fc.tuple(words, member), { maxLength: 6 }), (members) => {
      const text = `{${members.map(([name, value], i) => `${JSON.stringify(`${name}${i}`)}: ${value}`).join(', ')}}`
      const isInfinite = Object.values(JSON.parse(text)).some((value) => Math.abs(Number(value)) === Number.POSITIVE_INFINITY)
      return !isInfinite || mayOverflow(text)
    }),
    property(100, 1_000),
  )
  for (const text of ['{"a":1e-5,"b":true,"c":"4e500","d":[false,null,1.25]}', JSON.stringify({ long: 'e'.repeat(1000), n: 1 }), '{}'])
    t.equal(mayOverflow(text), false, text.slice(0, 40))
  for (const text of ['1e400', '{"a":1E5}', `[${'9'.repeat(309)}]`, `{"a":[],"b":-${'9'.repeat(309)}}`])
    t.equal(mayOverflow(text), true, text.slice(0, 40))
})

t.test('an identifier is the sequence in base 36 and the tag', async (t) => {
  const steps = fc.integer({ min: -40, max: 40 })
  fc.assert(
    fc.property(fc.maxSafeNat(), steps, (seq, step) => {
      const other = Math.min(Math.max(0, seq + step), Number.MAX_SAFE_INTEGER)
      // Neighbours share what stands in front, which is remembered.
      return [seq, other].every((each) => generationId(each, 'abcdefghijkl') === `gen-${each.toString(36)}-abcdefghijkl`)
    }),
    property(100, 1_000),
  )
  await every(t, 'every round', async (t) => {
    for (const seq of [0, 35, 36, 46_655, 46_656, 36 ** 4 - 1, 36 ** 4, 36 ** 5 + 1, Number.MAX_SAFE_INTEGER])
      t.equal(generationId(seq, 'abcdefghijkl'), `gen-${seq.toString(36)}-abcdefghijkl`)
  })
  const ids = new GenerationIds({ last: 0 })
  const first = ids.next(Date.UTC(2026, 0, 5))
  const second = ids.next(Date.UTC(2026, 0, 5))
  t.same(parseGenerationId(first.id), { seq: first.seq, tag: first.tag })
  t.equal(second.seq, first.seq + 1)
})
