import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { Bill, usd } from '../../src/core/money.ts'
import { nanoFromUsd, nanoFromUsdNumber, rateFromUsd, rateFromUsdPerMillion, rateText, usdText } from '../../src/core/money-text.ts'
import { every } from '../support/every.ts'
import { property } from '../support/seed.ts'

const NANO = 1_000_000_000n
const SAFE = BigInt(Number.MAX_SAFE_INTEGER)

/** Rates from nothing to absurd, weighted towards what price lists hold. */
const rate = fc.oneof(
  fc.bigInt({ min: 0n, max: 20_000_000_000_000n }),
  fc.bigInt({ min: 0n, max: 1n << 70n }),
  fc.constantFrom(0n, 1n, 499_999_999n, 500_000_000n, 999_999_999n, NANO, SAFE, SAFE + 1n),
)
const tokens = fc.oneof(fc.nat(200_000), fc.maxSafeNat(), fc.constantFrom(0, 1))
const lines = fc.array(fc.tuple(tokens, rate), { maxLength: 8 })

function buildBill(items: [number, bigint][]): Bill {
  const bill = new Bill()
  for (const [count, each] of items) bill.add(count, each)
  return bill
}

function sumItems(items: [number, bigint][]): bigint {
  return items.reduce((sum, [count, each]) => sum + BigInt(count) * each, 0n)
}

const capped = (nano: bigint) => Number(nano > SAFE ? SAFE : nano)

t.test('a bill is the exact rational sum, rounded once', async (t) => {
  fc.assert(
    fc.property(lines, (items) => {
      const exact = sumItems(items)
      const bill = buildBill(items)
      assert.equal(bill.exact(), exact)
      assert.equal(bill.nano(), capped((exact * 2n + NANO) / (NANO * 2n)))
      assert.equal(bill.nanoUp(), capped((exact + NANO - 1n) / NANO))
    }),
    property(300, 1_000_000),
  )
  t.pass('holds for every run')
})

t.test('joining bills is adding their lines, in any split', async (t) => {
  fc.assert(
    fc.property(lines, lines, (left, right) => {
      const joined = buildBill(left)
      joined.join(buildBill(right))
      assert.equal(joined.exact(), sumItems([...left, ...right]))
    }),
    property(200, 100_000),
  )
  t.pass('holds for every run')
})

t.test('a count that is no count adds nothing, and nothing throws', async (t) => {
  const bill = new Bill()
  for (const count of [0, -1, -1e300, Number.NaN, Number.NEGATIVE_INFINITY, 0.9]) bill.add(count, 10n)
  t.equal(bill.exact(), 0n)
  bill.add(2.9, 10n)
  t.equal(bill.exact(), 20n, 'a fraction of a token is dropped')
  bill.add(Number.POSITIVE_INFINITY, 1n << 60n)
  t.equal(bill.nano(), Number.MAX_SAFE_INTEGER, 'cut, not thrown')
  t.equal(bill.nanoUp(), Number.MAX_SAFE_INTEGER)
})

t.test('decimal strings', async (t) => {
  t.equal(nanoFromUsd('10.00'), 10_000_000_000)
  t.equal(nanoFromUsd('0.000000001'), 1)
  t.equal(nanoFromUsd('0.0000000001'), undefined, 'finer than a nano-dollar')
  t.equal(nanoFromUsd('0.0000000010'), 1, 'trailing zeros say nothing')
  t.equal(nanoFromUsd('9007199.254740991'), Number.MAX_SAFE_INTEGER)
  t.equal(nanoFromUsd('9007199.254740992'), undefined)
  await every(t, 'every bad', async (t) => {
    for (const bad of ['', '-1', '+1', '1e3', '.5', '1.', ' 1', '1 ', '0x1', '1,5', 'NaN']) t.equal(nanoFromUsd(bad), undefined, bad)
  })
  t.equal(nanoFromUsdNumber(0.1 + 0.2), undefined, 'a sum of doubles has more decimals than there are')
  for (const [amount, nano] of [
    [10, 10_000_000_000],
    [0.25, 250_000_000],
    [1e-7, 100],
    [1e-9, 1],
    [1.5e-9, undefined],
    [9e6, 9e15],
    [1e21, undefined],
  ] as const)
    t.equal(nanoFromUsdNumber(amount), nano, String(amount))
  t.equal(rateFromUsdPerMillion('0.25'), 250_000_000_000n)
  t.equal(rateFromUsdPerMillion('0.000000000001'), 1n)
  t.equal(rateFromUsdPerMillion('0.0000000000001'), undefined)
  t.equal(rateFromUsd('0.000000000000000001'), 1n)
  t.equal(usd(1_500_000_000), 1.5)
  t.equal(usdText(0), '0.00')
  t.equal(usdText(-1), '-0.000000001')
  t.equal(rateText(250_000_000_000n), '0.00000025')
  t.equal(rateText(0n), '0')
})

t.test('text and integer are each other’s inverse', async (t) => {
  fc.assert(
    fc.property(fc.maxSafeNat(), rate, (nano, atto) => {
      assert.equal(nanoFromUsd(usdText(nano)), nano)
      if (atto < 10n ** 30n) assert.equal(rateFromUsd(rateText(atto)), atto)
    }),
    property(200, 100_000),
  )
  t.pass('holds for every run')
})
