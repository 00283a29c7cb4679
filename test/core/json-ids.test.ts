/** The depth of a JSON text and the text of an identifier: both are short cuts, so both are held against the plain way. */
import fc from 'fast-check'
import t from 'tap'
import { GenerationIds, generationId, parseGenerationId } from '../../src/core/ids.ts'
import { depthExceeds, scanJson } from '../../src/core/json.ts'

/** Nesting of a parsed value. */
function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}

/** Long runs and much that is escaped. */
const words = fc.array(fc.constantFrom('"', '\\', '{', ']', 'ü', '\n', 'a'.repeat(30)), { maxLength: 20 }).map((parts) => parts.join(''))

t.test('the depth of any JSON text is told exactly', async (t) => {
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 6 },
      words,
      fc.integer(),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(words, tie('value'), { maxKeys: 3 }),
    ),
  }))
  fc.assert(
    fc.property(value, (each) => {
      const text = JSON.stringify(each)
      const depth = depthOf(each)
      return !depthExceeds(text, depth) && (depth === 0 || depthExceeds(text, depth - 1))
    }),
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
      return !isInfinite || scanJson(text, 10).mayOverflow
    }),
  )
  for (const text of ['{"a":1e-5,"b":true,"c":"4e500","d":[false,null,1.25]}', JSON.stringify({ long: 'e'.repeat(1000), n: 1 }), '{}'])
    t.equal(scanJson(text, 10).mayOverflow, false, text.slice(0, 40))
  for (const text of ['1e400', '{"a":1E5}', `[${'9'.repeat(309)}]`, `{"a":[],"b":-${'9'.repeat(309)}}`])
    t.equal(scanJson(text, 10).mayOverflow, true, text.slice(0, 40))
})

t.test('an identifier is the sequence in base 36 and the tag', async (t) => {
  const steps = fc.integer({ min: -40, max: 40 })
  fc.assert(
    fc.property(fc.maxSafeNat(), steps, (seq, step) => {
      const other = Math.min(Math.max(0, seq + step), Number.MAX_SAFE_INTEGER)
      // Neighbours share what stands in front, which is remembered.
      return [seq, other].every((each) => generationId(each, 'abcdefghijkl') === `gen-${each.toString(36)}-abcdefghijkl`)
    }),
  )
  for (const seq of [0, 35, 36, 46_655, 46_656, 36 ** 4 - 1, 36 ** 4, 36 ** 5 + 1, Number.MAX_SAFE_INTEGER])
    t.equal(generationId(seq, 'abcdefghijkl'), `gen-${seq.toString(36)}-abcdefghijkl`)
  const ids = new GenerationIds(0)
  const first = ids.next(Date.UTC(2026, 0, 5))
  const second = ids.next(Date.UTC(2026, 0, 5))
  t.same(parseGenerationId(first.id), { seq: first.seq, tag: first.tag })
  t.equal(second.seq, first.seq + 1)
})
