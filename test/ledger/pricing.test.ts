import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { PriceSnapshot as Price } from '../../src/core/price.ts'
import { noUsage, type Usage } from '../../src/dialects/canon/usage.ts'
import { affordableOutput, charge, holdFor } from '../../src/ledger/pricing.ts'
import { estimateFromBytes, estimateTokens, tokensOfLengths } from '../../src/ledger/settlement.ts'
import { property } from '../support/seed.ts'

const usage = (counts: Partial<Usage>): Usage => ({ ...noUsage(), ...counts })

/** USD per million tokens with ten decimals, as attodollars per token. */
const rate = fc.oneof(fc.bigInt({ min: 0n, max: 80_000_000_000_000n }), fc.constantFrom(0n, 1n, 499_999_999n, 500_000_001n))
const price: fc.Arbitrary<Price> = fc.record(
  {
    prompt: rate,
    completion: rate,
    cached: rate,
    cacheWrite: rate,
    cacheWriteLong: rate,
    reasoning: rate,
    imageOutput: rate,
    audioOutput: rate,
    image: rate,
    audio: rate,
    imageInput: rate,
    request: rate,
    webSearch: rate,
  },
  { requiredKeys: ['prompt', 'completion'] },
)
const count = fc.oneof(fc.nat(2_000), fc.nat(4_000_000))
/** Reports as providers send them: parts may pass their whole, or be negative. */
const wild = fc.oneof({ weight: 9, arbitrary: count }, { weight: 1, arbitrary: fc.integer({ min: -50, max: -1 }) })
const report = fc
  .record({
    input: wild,
    output: wild,
    cached: wild,
    cacheWrite: wild,
    cacheWriteLong: wild,
    reasoning: wild,
    audioInput: wild,
    pictured: wild,
    imageOutput: wild,
    audioOutput: wild,
  })
  .map(({ pictured, ...counts }) => usage({ ...counts, inputSplit: { image: pictured } }))

t.test('each kind of token has its own rate', async (t) => {
  const dear: Price = {
    prompt: 1_000_000_000n,
    completion: 2_000_000_000n,
    cached: 100_000_000n,
    cacheWrite: 1_250_000_000n,
    reasoning: 3_000_000_000n,
    audio: 7_000_000_000n,
    image: 50_000_000_000n,
    request: 11_000_000_000n,
  }
  const plain: Price = { prompt: 1_000_000_000n, completion: 2_000_000_000n }
  const counts = usage({ input: 100, cached: 20, cacheWrite: 10, audioInput: 5, output: 50, reasoning: 30 })
  t.same(charge(counts, dear), { total: 65 + 2 + 12.5 + 0.5 + 35 + 11 + 40 + 90, input: 126, output: 130 })
  t.same(charge(counts, plain), { total: 200, input: 100, output: 100 }, 'absent kinds cost what their whole costs')
  t.same(charge(counts, dear, { images: 2 }).input - charge(counts, dear).input, 100)
  const kinds: Price = {
    ...plain,
    cacheWrite: 1_250_000_000n,
    cacheWriteLong: 4_000_000_000n,
    imageOutput: 30_000_000_000n,
    audioOutput: 8_000_000_000n,
    webSearch: 10_000_000_000_000n,
  }
  const rich = usage({ input: 10, cacheWrite: 6, cacheWriteLong: 2, output: 20, imageOutput: 5, audioOutput: 4, webSearches: 3 })
  t.same(
    charge(rich, kinds),
    { total: 4 + 5 + 8 + 22 + 150 + 32 + 30_000, input: 30_017, output: 204 },
    'hours, images, sound and searches',
  )
  const seen = usage({ input: 100, audioInput: 5, inputSplit: { text: 55, image: 40, audio: 5 } })
  t.same(
    charge(seen, { ...plain, audio: 7_000_000_000n, imageInput: 4_000_000_000n }).total,
    55 + 160 + 35,
    'tokens of images that are read',
  )
  t.equal(charge(seen, plain).total, 100)
  t.equal(holdFor({ ...plain, imageInput: 4_000_000_000n }, 100, 0).hold, 400, 'any of them may be one')
  t.same(charge(noUsage(), dear), { total: 11, input: 11, output: 0 }, 'the request has a price of its own')
  t.same(charge(counts, 'free'), { total: 0, input: 0, output: 0 })
  t.same(charge(counts, 'unpriced'), { total: 0, input: 0, output: 0 })
  t.same(charge(usage({ input: -5, output: -5, cached: -1 }), plain), { total: 0, input: 0, output: 0 })
  t.same(charge(usage({ input: 10, cached: 99, output: 3, reasoning: 99 }), dear).total, 1 + 9 + 11, 'parts never pass their whole')
  t.ok(Number.isSafeInteger(charge(usage({ input: 1e300, output: Number.POSITIVE_INFINITY }), dear).total), 'nonsense stays a number')
})

/** Of a cache write whose lifetime has no price of its own. */
function dearestWrite({ prompt, cacheWrite = 0n, cacheWriteLong = 0n }: Price): bigint {
  return [prompt, cacheWrite, cacheWriteLong].reduce((most, each) => (each > most ? each : most))
}

/** The same rule, told in rational arithmetic. */
function exactCharge(u: Usage, p: Price, asked: number): bigint {
  const clamp = (value: number, most: number) => Math.max(0, Math.min(value, most))
  const input = Math.max(0, u.input)
  const cached = clamp(u.cached, input)
  const written = clamp(u.cacheWrite, input - cached)
  const audio = clamp(u.audioInput, input - cached - written)
  const pictured = clamp(u.inputSplit?.image ?? 0, input - cached - written - audio)
  const output = Math.max(0, u.output)
  const long = clamp(u.cacheWriteLong ?? 0, written)
  const reasoning = clamp(u.reasoning, output)
  const images = clamp(u.imageOutput, output - reasoning)
  const spoken = clamp(u.audioOutput, output - reasoning - images)
  return (
    BigInt(input - cached - written - audio - pictured) * p.prompt +
    BigInt(pictured) * (p.imageInput ?? p.prompt) +
    BigInt(cached) * (p.cached ?? p.prompt) +
    BigInt(written - long) * (p.cacheWrite ?? dearestWrite(p)) +
    BigInt(long) * (p.cacheWriteLong ?? dearestWrite(p)) +
    BigInt(audio) * (p.audio ?? p.prompt) +
    BigInt(output - reasoning - images - spoken) * p.completion +
    BigInt(images) * (p.imageOutput ?? p.completion) +
    BigInt(spoken) * (p.audioOutput ?? p.completion) +
    BigInt(u.webSearches ?? 0) * (p.webSearch ?? 0n) +
    BigInt(reasoning) * (p.reasoning ?? p.completion) +
    BigInt(asked) * (p.image ?? 0n) +
    (p.request ?? 0n)
  )
}

t.test('a charge is off by at most half a nano-dollar, and its parts add up', async (t) => {
  fc.assert(
    fc.property(report, price, fc.nat(20), (u, p, images) => {
      const got = charge(u, p, { images })
      const exact = exactCharge(u, p, images)
      const off = BigInt(got.total) * 1_000_000_000n - exact
      assert.ok(off <= 500_000_000n && off > -500_000_000n, `off by ${off}`)
      assert.equal(got.input + got.output, got.total)
      assert.ok(got.input >= 0 && got.output >= 0)
    }),
    property(400, 1_000_000),
  )
  t.pass('holds for every run')
})

t.test('a hold covers every charge within its bounds, its floor every charge of the input', async (t) => {
  fc.assert(
    fc.property(report, price, count, count, fc.nat(20), (u, p, bound, cap, images) => {
      const inside = { ...u, input: Math.min(u.input, bound), output: Math.min(u.output, cap) }
      const { hold, floor } = holdFor(p, bound, cap, { images })
      const cost = charge(inside, p, { images })
      assert.ok(hold >= cost.total, `hold ${hold} < ${cost.total}`)
      assert.ok(floor >= charge({ ...inside, output: 0 }, p, { images }).total)
      assert.ok(hold >= floor)
      assert.ok(Number.isSafeInteger(hold) && Number.isSafeInteger(floor))
    }),
    property(400, 1_000_000),
  )
  t.pass('holds for every run')
  t.same(holdFor('free', 1e6, 1e6), { hold: 0, floor: 0 })
  t.same(holdFor({ prompt: 1n, completion: 1n }, 1, 0), { hold: 1, floor: 1 }, 'rounded up')
})

t.test('the affordable output fits, and one token more does not', async (t) => {
  fc.assert(
    fc.property(price, count, fc.nat(50_000_000), (p, bound, left) => {
      const tokens = affordableOutput(p, bound, left)
      const fits = (output: number) => holdFor(p, bound, output).hold <= left
      if (tokens === Number.POSITIVE_INFINITY) assert.ok(fits(1e9))
      else if (tokens === Number.MAX_SAFE_INTEGER) assert.ok(fits(1e12))
      else if (tokens === 0) assert.ok(!fits(1))
      else assert.ok(fits(tokens) && !fits(tokens + 1), `${tokens} tokens of ${left}`)
    }),
    property(300, 100_000),
  )
  t.pass('holds for every run')
  t.equal(affordableOutput('free', 10, 0), Number.POSITIVE_INFINITY)
  t.equal(affordableOutput({ prompt: 1_000_000_000n, completion: 2_000_000_000n }, 10, 30), 10)
  t.equal(affordableOutput({ prompt: 1_000_000_000n, completion: 2_000_000_000n }, 10, 9), 0)
})

t.test('estimates err high, bounds always hold', async (t) => {
  // what common byte-level tokenizers make of it, rounded up
  const known: [string, number][] = [
    ['The quick brown fox jumps over the lazy dog.', 10],
    ['export function add(a: number, b: number): number {\n  return a + b\n}\n', 22],
    ['Быстрая коричневая лиса прыгает через ленивую собаку', 20],
    ['机器学习模型正在改变世界', 12],
    ['🙂🙂🙂', 5],
  ]
  for (const [text, tokens] of known) {
    t.ok(estimateTokens(text) >= tokens, text)
    t.ok(estimateTokens(text) <= Buffer.byteLength(text), 'never above the bound')
    t.ok(estimateFromBytes(Buffer.byteLength(text)) >= tokens, text)
  }
  t.equal(estimateTokens(''), 0)
  t.equal(estimateFromBytes(0), 0)
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 12 }), (pieces) => {
      const bytes = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0)
      const tokens = tokensOfLengths(bytes, pieces.join('').length)
      assert.equal(tokens, estimateTokens(pieces.join('')), 'in pieces as in one')
      assert.ok(Number.isInteger(tokens) && tokens >= 0)
    }),
    property(100, 10_000),
  )
  t.pass('holds for every run')
})
