/** The lines of a charge sum up to it exactly, and a row that keeps the rates alone gives the same lines. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { PriceSnapshot } from '../../src/core/price.ts'
import { noUsage, type Usage } from '../../src/dialects/canon/usage.ts'
import { partAmounts, plainParts, readPart, usageBill, writtenPart } from '../../src/ledger/bill-lines.ts'
import { charge } from '../../src/ledger/pricing.ts'
import { plainRates } from '../../src/ledger/row-rates.ts'
import { property } from '../support/seed.ts'

/** Attodollars, to the last digit. */
const rate = fc.oneof(fc.bigInt({ min: 0n, max: 80_000_000_000_000n }), fc.constantFrom(0n, 1n, 499_999_999n, 500_000_001n))
const price: fc.Arbitrary<PriceSnapshot> = fc.record(
  {
    prompt: rate,
    completion: rate,
    cached: rate,
    cacheWrite: rate,
    cacheWriteLong: rate,
    reasoning: rate,
    imageOutput: rate,
    audio: rate,
    request: rate,
    webSearch: rate,
    tiers: fc.constant([{ above: 100_000, rates: { prompt: 3n, completion: 7n } }]),
  },
  { requiredKeys: ['prompt', 'completion'] },
)
const count = fc.oneof(fc.nat(2_000), fc.nat(4_000_000), fc.integer({ min: -50, max: -1 }))
const usage: fc.Arbitrary<Usage> = fc
  .record(
    {
      input: count,
      output: count,
      cached: count,
      cacheWrite: count,
      reasoning: count,
      audioInput: count,
      imageOutput: count,
      webSearches: count,
    },
    { requiredKeys: [] },
  )
  .map((counts) => ({ ...noUsage(), ...counts }))
const whole = fc
  .tuple(usage, fc.array(fc.record({ usage }), { maxLength: 2 }))
  .map(([own, others]) => (others.length > 0 ? { ...own, others } : own))

const sum = (amounts: readonly number[]): number => amounts.reduce((all, amount) => all + amount, 0)

t.test('lines sum up to the charge, and none is negative', (t) => {
  fc.assert(
    fc.property(whole, price, (used, tariff) => {
      const amounts = usageBill(used, tariff).flatMap(({ parts }) => partAmounts(parts))
      assert.equal(sum(amounts), charge(used, tariff).total)
      assert.ok(amounts.every((amount) => amount >= 0))
    }),
    property(2_000, 100_000),
  )
  t.pass('all sums are exact')
  t.end()
})

t.test('lines survive their way through the facts of a row', (t) => {
  fc.assert(
    fc.property(whole, price, (used, tariff) => {
      const groups = usageBill(used, tariff)
      const read = groups.map(({ parts }) => (JSON.parse(JSON.stringify(parts.map(writtenPart))) as unknown[]).map(readPart))
      assert.deepEqual(
        read,
        groups.map(({ parts }) => parts),
      )
      const rates = plainRates(used, tariff, undefined)
      if (rates !== undefined) assert.equal(sum(partAmounts(plainParts(rates, used))), charge(used, tariff).total)
    }),
    property(2_000, 100_000),
  )
  t.pass('what is read is what was written')
  t.end()
})

t.test('a text of rates is short, and states them per million tokens', (t) => {
  const used = { ...noUsage(), input: 10, output: 2 }
  t.equal(plainRates(used, { prompt: 3_000_000_000_000n, completion: 15_000_000_000_000n }, undefined), '3 15')
  t.equal(plainRates(used, { prompt: 1n, completion: 2n, reasoning: 3n }, undefined), '0.000000000001 0.000000000002 - - 0.000000000003')
  t.equal(plainRates({ ...used, webSearches: 1 }, { prompt: 1n, completion: 2n }, undefined), undefined)
  t.equal(plainRates(used, { prompt: 1n, completion: 2n, request: 3n }, undefined), undefined)
  t.notOk(readPart(['prompt', 1]))
  t.end()
})
