import t from 'tap'
import { type Price, priceAt, ratesAt, ratesFor, ratesWithin } from '../../src/core/price.ts'

/** Milliseconds of a time of day. @param clock HHMM. */
const at = (clock: string): number => Date.UTC(2026, 10, 21, Number(clock.slice(0, 2)), Number(clock.slice(2)))

const plain: Price = { prompt: 10n, completion: 20n, cached: 1n, request: 7n }
const long: Price = { ...plain, overrides: [{ minPromptTokens: 1000, rates: { prompt: 20n, completion: 30n } }] }

t.test('without overrides a price is itself', async (t) => {
  t.equal(priceAt(plain, 0), plain)
  t.equal(ratesFor(priceAt(plain, 0), 1e9), plain)
  t.same(ratesWithin(priceAt(plain, 0), 1e9), [plain])
  t.equal(ratesAt(plain, { at: 0, promptTokens: 5 }), plain)
})

t.test('a longer prompt: strictly above the threshold, and what is not stated stays', async (t) => {
  const now = priceAt(long, 0)
  t.match(ratesFor(now, 1000), { prompt: 10n, completion: 20n })
  t.match(ratesFor(now, 1001), { prompt: 20n, completion: 30n, cached: 1n, request: 7n })
  t.equal(priceAt(long, 1), now, 'made once')
  t.equal(ratesWithin(now, 1000).length, 1)
  t.equal(ratesWithin(now, 1001).length, 2)
  t.equal(ratesAt(long, undefined), long, 'its own without a moment')
  t.equal(ratesAt(long, { at: 0, promptTokens: 1001 }).prompt, 20n)
})

t.test('hours: from the start, before the end, over midnight', async (t) => {
  const day: Price = { ...plain, overrides: [{ window: { hours: { start: 9 * 60 + 30, end: 17 * 60 } }, rates: { prompt: 5n } }] }
  const night: Price = { ...plain, overrides: [{ window: { hours: { start: 22 * 60, end: 6 * 60 + 15 } }, rates: { prompt: 5n } }] }
  const cheap = (price: Price, clock: string): boolean => priceAt(price, at(clock)).prompt === 5n
  for (const [clock, expected] of Object.entries({
    '0000': false,
    '0929': false,
    '0930': true,
    '1659': true,
    '1700': false,
    '2359': false,
  })) {
    t.equal(cheap(day, clock), expected, `day at ${clock}`)
  }
  for (const [clock, expected] of Object.entries({
    '0000': true,
    '0614': true,
    '0615': false,
    '2159': false,
    '2200': true,
    '2359': true,
  })) {
    t.equal(cheap(night, clock), expected, `night at ${clock}`)
  }
  t.equal(cheap(day, '0930'), true)
  t.equal(priceAt(day, at('0930')), priceAt(day, at('1200')), 'one snapshot for the whole window')
})

t.test('every condition must hold, and of several the later one wins kind by kind', async (t) => {
  const price: Price = {
    ...plain,
    overrides: [
      { minPromptTokens: 100, rates: { prompt: 50n, completion: 60n } },
      { window: { hours: { start: 0, end: 720 } }, rates: { prompt: 8n } },
      { minPromptTokens: 1000, window: { hours: { start: 0, end: 720 } }, rates: { completion: 90n, reasoning: 91n } },
      { minPromptTokens: 50, rates: { cached: 3n } },
    ],
  }
  const morning = priceAt(price, at('0800'))
  const evening = priceAt(price, at('2000'))
  const seen = (tokens: number, when: typeof morning) => {
    const { prompt, completion, cached, reasoning } = ratesFor(when, tokens)
    return [prompt, completion, cached, reasoning]
  }
  t.same(seen(10, morning), [8n, 20n, 1n, undefined])
  t.same(seen(51, morning), [8n, 20n, 3n, undefined])
  t.same(seen(101, morning), [8n, 60n, 3n, undefined], 'the later entry wins its kind, not the others')
  t.same(seen(1001, morning), [8n, 90n, 3n, 91n])
  t.same(seen(10, evening), [10n, 20n, 1n, undefined])
  t.same(seen(5000, evening), [50n, 60n, 3n, undefined], 'one of two conditions is not enough')
})
