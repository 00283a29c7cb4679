/** Replies with vectors, cut anywhere: what `JSON.parse` makes of them, and nothing of what it refuses. */
import fc from 'fast-check'
import t from 'tap'
import type { Json, JsonObject } from '../../src/core/json.ts'
import { floatsOfBase64, floatsOfText } from '../../src/machines/vectors/numbers.ts'
import { type RawVector, ReplyScan } from '../../src/machines/vectors/scan.ts'
import { Turns } from '../../src/machines/vectors/turns.ts'
import { writeFloats, writeRaw } from '../../src/machines/vectors/written.ts'
import { every } from '../support/every.ts'
import { property } from '../support/seed.ts'

const RUNS = property(500, 60_000)
const KEYS = new Set(['embedding', 'values', 'float'])

/** Result of the scan for these chunks: the parsed rest and the vectors, or undefined where it refuses them. */
function scanned(chunks: readonly Buffer[], length = 1000): { body: JsonObject; vectors: RawVector[] } | undefined {
  const vectors: RawVector[] = []
  const scan = new ReplyScan({ keys: KEYS, length, take: (vector) => vectors.push(vector) })
  try {
    for (const chunk of chunks) scan.push(chunk)
    // Of base64 only the decoder sees whether it is any.
    for (const vector of vectors) if (vector.form === 'base64') writeRaw(vector, 'base64')
    return { body: scan.end(), vectors }
  } catch {
    return undefined
  }
}

const rawVectorText = ({ pieces }: RawVector): string => Buffer.concat(pieces).toString('latin1')

/** Puts the vectors back where their numbers stand. */
function filled(value: Json | undefined, vectors: readonly RawVector[], inside = false): Json | undefined {
  if (inside && typeof value === 'number') {
    const vector = vectors[value]
    return vector.form === 'numbers' ? (JSON.parse(rawVectorText(vector)) as Json) : rawVectorText(vector).replaceAll('\\/', '/')
  }
  if (Array.isArray(value)) return value.map((each) => filled(each, vectors, inside) ?? null)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, filled(each, vectors, KEYS.has(key))]))
}

function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...new Set([...places.map((place) => place % (bytes.length + 1)), bytes.length])].sort((a, b) => a - b)
  return ends.map((end, i) => bytes.subarray(i === 0 ? 0 : ends[i - 1], end))
}

const blank = fc.constantFrom('', '', '', ' ', '\n', '\t ', '\r\n    ')
const number = fc.oneof(
  fc.double({ noDefaultInfinity: true, noNaN: true, min: -1e30, max: 1e30 }).map((value) => JSON.stringify(value)),
  fc.float({ noDefaultInfinity: true, noNaN: true }).map((value) => JSON.stringify(value)),
  fc.constantFrom('0', '-0', '1E5', '1e-7', '-2.5e+03', '0.000001', '0e0', '123456789012345678', '0.1234567890123456789012345', '1e-400'),
)
/** Between two 32-bit floats, and hardly to one side: where the last digit decides. */
const midway = fc
  .tuple(fc.float({ noDefaultInfinity: true, noNaN: true, min: Math.fround(1e-3), max: 1000 }), fc.constantFrom('', '1', '0000001', '9'))
  .map(([low, more]) => {
    const bits = new Uint32Array(new Float32Array([low]).buffer)
    bits[0]++
    const [high] = new Float32Array(bits.buffer)
    return `${((low + high) / 2).toFixed(18)}${more}`
  })
const numbers = fc.tuple(fc.array(fc.oneof(number, midway), { minLength: 1, maxLength: 9 }), blank, blank).map(([list, before, after]) => {
  return `[${list.map((each) => `${before}${each}${after}`).join(',')}]`
})
const base64 = fc
  .array(fc.float({ noDefaultInfinity: true, noNaN: true }), { minLength: 1, maxLength: 6 })
  .map((list) =>
    JSON.stringify(Buffer.from(new Float32Array(list).buffer).toString('base64')).replaceAll('/', list.length % 2 === 0 ? '/' : '\\/'),
  )
const vectorValue = fc.oneof(
  numbers,
  base64,
  fc
    .tuple(fc.array(fc.oneof(numbers, base64), { maxLength: 3 }), blank)
    .map(([list, gap]) => `[${gap}${list.join(`${gap},${gap}`)}${gap}]`),
  fc.constantFrom('null', 'true', '{"deep":[1,{"embedding":[1,2]}]}', '{}'),
)
const garbage = fc.json({ maxDepth: 4 })
const key = fc.oneof(fc.constantFrom('embedding', 'values', 'float', 'a"b', 'x\\', 'ünï', 'embeddin'), fc.string({ maxLength: 6 }))
const member = fc.oneof(
  fc
    .tuple(fc.constantFrom('"embedding"', '"values"', '"float"'), blank, blank, vectorValue)
    .map(([name, a, b, value]) => `${name}${a}:${b}${value}`),
  fc
    .tuple(
      key.filter((name) => !KEYS.has(name)),
      blank,
      garbage,
    )
    .map(([name, gap, value]) => `${JSON.stringify(name)}${gap}:${gap}${value}`),
)
const document = fc
  .tuple(fc.array(member, { minLength: 1, maxLength: 6 }), blank)
  .map(([members, gap]) => `{${gap}${members.join(`${gap},${gap}`)}${gap}}${gap}`)
/** Deep garbage may hold keys that look for a vector and have none; then the scan may refuse what is good JSON. */
const holdsStrangers = (text: string): boolean => {
  let strange = false
  const look = (value: Json | undefined, inside: boolean): void => {
    if (inside && !isVectors(value)) strange = true
    if (Array.isArray(value)) for (const each of value) look(each, false)
    else if (typeof value === 'object' && value !== null) for (const [name, each] of Object.entries(value)) look(each, KEYS.has(name))
  }
  look(JSON.parse(text) as Json, false)
  return strange
}
const isNumbers = (value: Json | undefined): boolean =>
  Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === 'number')
const isVectors = (value: Json | undefined): boolean =>
  value === null ||
  typeof value === 'boolean' ||
  typeof value === 'string' ||
  (typeof value === 'object' && !Array.isArray(value)) ||
  isNumbers(value) ||
  (Array.isArray(value) && value.every((each) => isNumbers(each) || typeof each === 'string'))

t.test('reads valid replies as JSON.parse does, wherever the bytes are cut', async (t) => {
  let vectors = 0
  await every(t, 'every case', async (t) => {
    fc.assert(
      fc.property(document, fc.array(fc.nat(), { maxLength: 12 }), (text, places) => {
        fc.pre(!holdsStrangers(text))
        const found = scanned(cut(Buffer.from(text), places))
        t.same(found && filled(found.body, found.vectors), JSON.parse(text), text)
        vectors += found?.vectors.length ?? 0
      }),
      RUNS,
    )
  })
  t.ok(vectors > 400, `${vectors} vectors`)
})

t.test('refuses invalid JSON, and reads a reply with one changed byte as JSON.parse does', async (t) => {
  let refused = 0
  await every(t, 'every case', async (t) => {
    fc.assert(
      fc.property(
        document,
        fc.nat(),
        fc.constantFrom(...'[]{},:"0-.eE+ax \\'),
        fc.array(fc.nat(), { maxLength: 4 }),
        (text, at, byte, places) => {
          const bytes = Buffer.from(text)
          bytes[at % bytes.length] = byte.charCodeAt(0)
          const changed = bytes.toString('utf8')
          let plain: Json | undefined
          try {
            plain = JSON.parse(changed) as Json
          } catch {
            refused++
            t.notOk(scanned(cut(bytes, places)), changed)
            return
          }
          const found = scanned(cut(bytes, places))
          if (found) t.same(filled(found.body, found.vectors), plain, changed)
        },
      ),
      RUNS,
    )
  })
  t.ok(refused > 150, `${refused} refused`)
})

t.test('converts numbers of the text to the same floats as JSON.parse', async (t) => {
  await every(t, 'every case', async (t) => {
    fc.assert(
      fc.property(numbers, (text) => {
        const expected = (JSON.parse(text) as number[]).map(Math.fround)
        if (expected.some((value) => !Number.isFinite(value))) {
          t.throws(() => floatsOfText(Buffer.from(text), expected.length), { code: 'upstream_garbled' })
          return
        }
        t.same([...floatsOfText(Buffer.from(text), expected.length)], expected, text)
      }),
      RUNS,
    )
  })
})

t.test('writes the same floats and base64, whichever of the two forms the provider sent', async (t) => {
  await every(t, 'every case', async (t) => {
    fc.assert(
      fc.property(fc.array(fc.float({ noDefaultInfinity: true, noNaN: true }), { minLength: 1, maxLength: 40 }), (list) => {
        const floats = new Float32Array(list)
        const text = Buffer.concat([...writeFloats(floats, 'float').pieces])
        const base64 = Buffer.concat([...writeFloats(floats, 'base64').pieces])
        const raw = {
          numbers: { form: 'numbers', pieces: [text], count: list.length },
          base64: { form: 'base64', pieces: [base64.subarray(1, -1)], count: 0 },
        } as const
        for (const came of [raw.numbers, raw.base64]) {
          t.same(Buffer.concat([...writeRaw(came, 'float').pieces]).toString(), text.toString())
          const again = writeRaw(came, 'base64')
          t.equal(again.length, list.length)
          t.same([...floatsOfBase64(Buffer.concat([...again.pieces]).subarray(1, -1))].map(Math.abs), list.map(Math.abs))
        }
        t.same(
          (JSON.parse(text.toString()) as number[]).map(Math.abs),
          list.map((value) => Math.abs(Math.fround(value))),
        )
      }),
      property(300, 10_000),
    )
  })
})

t.test('refuses lists that are no vectors', async (t) => {
  const refused = (text: string, length = 8) => t.notOk(scanned([Buffer.from(text)], length), text.slice(0, 60))
  for (const value of [
    '[]]',
    '[1,]',
    '[,1]',
    '[01]',
    '[+1]',
    '[1.]',
    '[.5]',
    '[1e]',
    '[NaN]',
    '[Infinity]',
    '[1e400]',
    '[-]',
    '[1 2]',
    '[1,"a"]',
    '[1,[2]]',
    '[[1],2]',
    '[[]]',
    '[[1],[[2]]]',
    '[true]',
    '7',
    '-7',
    '[1',
    '[1]0',
    '[[1]0]',
    '"AACAPw=="0',
    '"AAAA',
  ])
    refused(`{"embedding":${value}}`)
  refused('{"embedding":[1,2,3,4,5,6,7,8,9]}')
  t.ok(scanned([Buffer.from('{"embedding":[1,2,3,4,5,6,7,8]}')], 8), 'as many as are allowed')
  refused('')
  refused('[{"embedding":[1]}]')
  refused('{"embedding":[1]}}')
  const floats = (numbers: number[]): Buffer => Buffer.from(Buffer.from(new Float32Array(numbers).buffer).toString('base64'))
  await every(t, 'every bad', async (t) => {
    for (const bad of [
      floats([Number.NaN]),
      floats([1, Number.POSITIVE_INFINITY]),
      Buffer.from('AAA'),
      Buffer.from('AA*A'),
      Buffer.from(''),
      floats([1]).subarray(0, 5),
      Buffer.from('AAAAAA==='),
    ])
      t.throws(() => floatsOfBase64(bad), { code: 'upstream_garbled' }, bad.toString())
  })
  t.same([...floatsOfBase64(floats([1, -2.5]))], [1, -2.5])
  t.same([...floatsOfBase64(Buffer.from(floats([1, -2.5]).toString().replaceAll('=', '')))], [1, -2.5], 'padding may be left out')
  t.throws(() => floatsOfText(Buffer.from('[1e39]'), 1), { code: 'upstream_garbled' }, 'no 32-bit float holds it')
})

t.test('spreads long work over turns of the event loop', async (t) => {
  const sizes: number[] = []
  const seen: number[] = []
  let turn = 0
  const turns = new Turns(100, (chunk) => {
    sizes[turn] = (sizes[turn] ?? 0) + chunk.length
    for (const byte of chunk) seen.push(byte)
  })
  const all = Buffer.from(Array.from({ length: 1050 }, (_, i) => i % 251))
  let done = false
  const ticking = setImmediate(function tick() {
    turn++
    if (!done) setImmediate(tick)
  })
  for (let at = 0; at < all.length; at += 70) turns.push(all.subarray(at, at + 70))
  t.equal(seen.length, 100, 'no more than a turn at once')
  await new Promise<void>((resolve) => turns.end(resolve))
  done = true
  clearImmediate(ticking)
  t.same(Buffer.from(seen), all, 'all of it, in order')
  t.ok(
    sizes.every((size) => size === undefined || size <= 100),
    sizes.join(),
  )
  t.ok(sizes.filter((size) => size > 0).length > 8)
  const stopped = new Turns(10, (chunk) => seen.push(chunk.length))
  stopped.push(Buffer.alloc(100))
  const before = seen.length
  stopped.stop()
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(seen.length, before, 'nothing more once it has been stopped')
})
