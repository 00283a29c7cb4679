/** Charges against exact rational arithmetic, over many random usages and prices. */
import assert from 'node:assert/strict'
import t from 'tap'
import { Bill } from '../../src/core/money.ts'
import { rateFromUsdPerMillion } from '../../src/core/money-text.ts'
import { type Price, type PriceOverride, priceAt, type Rates } from '../../src/core/price.ts'
import { noUsage, type Usage } from '../../src/dialects/canon/usage.ts'
import { Credit } from '../../src/ledger/credit.ts'
import { charge, holdFor } from '../../src/ledger/pricing.ts'
import { FakeClock } from '../support/clock.ts'
import { holds } from '../support/holding.ts'
import { runs, seed } from '../support/seed.ts'

const ROWS = runs(20_000, 1_000_000)
/** Rows to one price: a price is looked at more often than it is made. */
const ROWS_PER_PRICE = 20
const DAY = 86_400_000
const chance = new FakeClock(seed())
const below = (n: number): number => Math.floor(chance.random() * n)
const maybe = <T>(share: number, make: () => T): T | undefined => (chance.random() < share ? make() : undefined)

/** A decimal in USD per million tokens, and the same as an integer of 10^-12 of it: what the reference computes with. */
function decimal(): { text: string; exact: bigint } {
  const digits = below(13)
  const whole = below(chance.random() < 0.1 ? 5000 : 60)
  const fraction = Array.from({ length: digits }, () => below(10)).join('')
  return { text: digits === 0 ? `${whole}` : `${whole}.${fraction}`, exact: BigInt(`${whole}${fraction.padEnd(12, '0')}`) }
}

const KINDS = [
  'prompt',
  'completion',
  'cached',
  'cacheWrite',
  'cacheWriteLong',
  'reasoning',
  'imageOutput',
  'audioOutput',
  'audio',
  'imageInput',
] as const
type Kind = (typeof KINDS)[number]
type Exact = Partial<Record<Kind, bigint>>

interface Entry {
  above: number | undefined
  window: { start: number; end: number } | undefined
  exact: Exact
}

interface Priced {
  price: Price
  base: Exact
  entries: Entry[]
}

function rates(share: number): { rates: Partial<Rates>; exact: Exact } {
  const made: Partial<Record<Kind, bigint>> = {}
  const exact: Exact = {}
  for (const kind of KINDS) {
    const always = share < 1 && (kind === 'prompt' || kind === 'completion')
    if (!always && chance.random() > share) continue
    const value = decimal()
    const rate = rateFromUsdPerMillion(value.text)
    assert.equal(rate, value.exact, value.text)
    made[kind] = rate
    exact[kind] = value.exact
  }
  return { rates: made, exact }
}

function randomPrice(): Priced {
  const own = rates(0.5)
  const entries: Entry[] = []
  const overrides: PriceOverride[] = []
  for (let i = chance.random() < 0.5 ? 0 : 1 + below(4); i > 0; i--) {
    const other = rates(1)
    const entry = {
      above: maybe(0.7, () => below(300_000)),
      window: maybe(0.5, () => ({ start: below(1440), end: below(1440) })),
      exact: other.exact,
    }
    entries.push(entry)
    overrides.push({
      ...(entry.above === undefined ? {} : { minPromptTokens: entry.above }),
      ...(entry.window === undefined ? {} : { window: { hours: entry.window } }),
      rates: other.rates,
    })
  }
  const plain = { prompt: 0n, completion: 0n, ...own.rates }
  return { price: entries.length === 0 ? plain : { ...plain, overrides }, base: own.exact, entries }
}

function randomUsage(): Usage {
  const size = [10, 2000, 400_000, 1e8][below(4)]
  const input = below(size)
  const output = below(size)
  const cached = below(input + 1)
  const cacheWrite = below(input - cached + 1)
  const reasoning = below(output + 1)
  const imageOutput = below(output - reasoning + 1)
  const audioInput = below(input - cached - cacheWrite + 1)
  return {
    ...noUsage(),
    input,
    output,
    cached,
    cacheWrite,
    cacheWriteLong: below(cacheWrite + 1),
    audioInput,
    inputSplit: { image: below(input - cached - cacheWrite - audioInput + 1) },
    reasoning,
    imageOutput,
    audioOutput: below(output - reasoning - imageOutput + 1),
  }
}

/** The price as people read it: go through the entries, take over what applies. */
function exactRates({ base, entries }: Priced, promptTokens: number, minute: number): Exact {
  const result = { ...base }
  for (const { above, window, exact } of entries) {
    if (above !== undefined && !(promptTokens > above)) continue
    if (window) {
      const length = (window.end - window.start + 1440) % 1440 || 1440
      if ((minute - window.start + 1440) % 1440 >= length) continue
    }
    Object.assign(result, exact)
  }
  return result
}

/** Cost of the usage, in 10^-18 USD, without any rounding. */
function exactCost(usage: Usage, rate: Exact): { total: bigint; output: bigint } {
  const { prompt = 0n, completion = 0n, cached = prompt } = rate
  // Of a lifetime without a price: the dearest that input has.
  const written = [rate.cacheWrite, rate.cacheWriteLong, prompt].reduce<bigint>((most, each = 0n) => (each > most ? each : most), 0n)
  const { cacheWrite = written } = rate
  const { imageInput = prompt } = rate
  const pictured = usage.inputSplit?.image ?? 0
  const { cacheWriteLong = written, audio = prompt, reasoning = completion, imageOutput = completion, audioOutput = completion } = rate
  const long = usage.cacheWriteLong ?? 0
  const output =
    BigInt(usage.output - usage.reasoning - usage.imageOutput - usage.audioOutput) * completion +
    BigInt(usage.reasoning) * reasoning +
    BigInt(usage.imageOutput) * imageOutput +
    BigInt(usage.audioOutput) * audioOutput
  const input =
    BigInt(usage.input - usage.cached - usage.cacheWrite - usage.audioInput - pictured) * prompt +
    BigInt(pictured) * imageInput +
    BigInt(usage.cached) * cached +
    BigInt(usage.cacheWrite - long) * cacheWrite +
    BigInt(long) * cacheWriteLong +
    BigInt(usage.audioInput) * audio
  return { total: input + output, output }
}

const NANO = 1_000_000_000n

t.test('every row is within half a nano-dollar of the exact rational, and sums are exact', async (t) => {
  let account = new Credit(chance).account('k')
  let before = 0n
  let sum = 0n
  let exactSum = 0n
  let priced = randomPrice()
  let overridden = 0
  for (let row = 0; row < ROWS; row++) {
    if (row % ROWS_PER_PRICE === 0) priced = randomPrice()
    const at = below(DAY) + DAY * below(30_000)
    const usage = randomUsage()
    const applying = exactRates(priced, usage.input, Math.floor((at % DAY) / 60_000))
    if (applying.prompt !== priced.base.prompt || applying.completion !== priced.base.completion) overridden++
    const exact = exactCost(usage, applying)
    const snapshot = priceAt(priced.price, at)
    const { total, input, output } = charge(usage, snapshot)
    const off = 2n * (BigInt(total) * NANO - exact.total)
    if (off > NANO || off <= -NANO) assert.fail(`row ${row}: ${total} for ${exact.total}`)
    const offOutput = 2n * (BigInt(output) * NANO - exact.output)
    if (offOutput > NANO || offOutput <= -NANO) assert.fail(`row ${row}: output ${output} for ${exact.output}`)
    assert.equal(input + output, total)
    const { hold } = holdFor(snapshot, usage.input, usage.output)
    if (BigInt(hold) * NANO < exact.total) assert.fail(`row ${row}: a hold of ${hold} for ${exact.total}`)
    sum += BigInt(total)
    exactSum += exact.total
    // An account holds 9 million dollars; the rows are worth more, so a full one makes room for the next.
    if (!holds(account, hold, { limit: Number.MAX_SAFE_INTEGER })) {
      account = new Credit(chance).account('k')
      before = sum - BigInt(total)
      holds(account, hold, { limit: Number.MAX_SAFE_INTEGER })
    }
    account.settle(hold, total)
    assert.equal(BigInt(account.settled), sum - before)
  }
  const drift = 2n * (sum * NANO - exactSum)
  t.ok((drift < 0n ? -drift : drift) <= NANO * BigInt(ROWS), 'the whole ledger is off by half a nano-dollar per row at most')
  t.ok(overridden > ROWS / 20, `${overridden} of ${ROWS} rows at an overridden price`)
})

t.test('a bill is the exact sum of its products', async (t) => {
  for (let round = 0; round < runs(2_000, 100_000); round++) {
    const bill = new Bill()
    let exact = 0n
    for (let i = below(12); i > 0; i--) {
      const count = below([3, 5000, 1e8][below(3)])
      const rate = decimal().exact
      exact += BigInt(count) * rate
      const part = new Bill()
      part.add(count, rate)
      bill.join(part)
    }
    assert.equal(bill.exact(), exact)
    assert.equal(BigInt(bill.nano()), (exact + NANO / 2n) / NANO)
    assert.equal(BigInt(bill.nanoUp()), (exact + NANO - 1n) / NANO)
  }
  t.pass('all exact')
})
