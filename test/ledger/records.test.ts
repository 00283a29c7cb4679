import t from 'tap'
import { Fault } from '../../src/core/faults.ts'
import { exportEntries, exportRow } from '../../src/ledger/export.ts'
import type { Facts } from '../../src/ledger/facts.ts'
import { generationView } from '../../src/ledger/generation.ts'
import type { LedgerReader } from '../../src/ledger/reader.ts'
import type { GenerationRecord, SettleRow } from '../../src/ledger/types.ts'
import { verifyLedger } from '../../src/ledger/verify.ts'
import { every } from '../support/every.ts'
import { ledgerOfRows } from '../support/memory/ledger.ts'
import { verify } from '../support/verify-records.ts'

const AT = Date.UTC(2026, 0, 5, 12)

function settled(seq: number, cost: number, facts: Facts = {}): SettleRow {
  return {
    seq,
    status: 'completed',
    cost,
    at: 0,
    input: 120,
    output: 34,
    cached: 20,
    cacheWrite: 3,
    reasoning: 4,
    estimated: false,
    facts: JSON.stringify(facts),
  }
}

function record(seq: number, key: string, settlement?: SettleRow): GenerationRecord {
  return {
    id: `gen-${seq.toString(36)}-abcdefghijkl`,
    at: AT,
    hold: { seq, tag: 'abcdefghijkl', key, model: 'acme/one', endpoint: 'acme/one@here', hold: 900, floor: 300 },
    settled: settlement,
  }
}

const FACTS: Facts = {
  model: 'acme/two',
  provider: 'Here',
  endpoint: 'acme/two@here',
  user: 'u-1',
  session_id: 's-1',
  finish_reason: 'stop',
  native_finish_reason: 'end_turn',
  latency: 250,
  generation_time: 900,
  streamed: true,
  cancelled: false,
  input_cost: 1_000_000,
  output_cost: 500_000,
  tools_cost: 1000,
  provider_responses: [{ provider_name: 'There', status: 502, latency: 30 }],
  app_title: 'App',
  http_referer: 'https://app.example',
}

t.test('a generation as the wire shows it', async (t) => {
  const view = generationView(record(9, 'dev', settled(9, 1_501_000, FACTS)))
  t.match(view, {
    id: 'gen-9-abcdefghijkl',
    created_at: '2026-01-05T12:00:00.000Z',
    model: 'acme/two',
    provider_name: 'Here',
    status: 'completed',
    usage: 0.001501,
    total_cost: 0.001501,
    upstream_inference_cost: 0.0015,
    tokens_prompt: 120,
    tokens_completion: 34,
    native_tokens_prompt: 120,
    native_tokens_completion: 34,
    native_tokens_reasoning: 4,
    native_tokens_cached: 20,
    finish_reason: 'stop',
    native_finish_reason: 'end_turn',
    latency: 250,
    generation_time: 900,
    streamed: true,
    cancelled: false,
    is_byok: false,
    session_id: 's-1',
    external_user: 'u-1',
    origin: 'https://app.example',
    provider_responses: [{ provider_name: 'There', status: 502, latency: 30 }],
    router: null,
    service_tier: null,
    estimated: false,
  })
  t.notOk('key' in view, 'whose key it was stays inside')
  const undefinedFields = Object.entries(view).filter(([, value]) => value === undefined)
  t.same(undefinedFields, [], 'every field is there, null or not')
})

t.test('required fields are there for an open and for an unknown generation as well', async (t) => {
  const full = Object.keys(generationView(record(9, 'dev', settled(9, 1, FACTS)))).sort()
  const open = generationView(record(9, 'dev'))
  t.same(Object.keys(open).sort(), full)
  t.match(open, { status: 'open', total_cost: 0, tokens_prompt: null, model: 'acme/one', cancelled: null, provider_name: null })
  const unknown = generationView(record(9, 'dev', { ...settled(9, 300), status: 'unknown', estimated: true, facts: '' }))
  t.same(Object.keys(unknown).sort(), full)
  t.match(unknown, { status: 'unknown', estimated: true, total_cost: 3e-7, upstream_inference_cost: 3e-7 })
  t.match(generationView(record(9, 'dev', { ...settled(9, 1), status: 'aborted' })), { cancelled: true })
  const required = ['upstream_id', 'app_id', 'cache_discount', 'moderation_latency', 'native_tokens_completion_images', 'num_media_prompt']
  required.push('num_input_audio_prompt', 'num_media_completion', 'num_search_results', 'num_fetches', 'web_search_engine', 'api_type')
  required.push('preset_id', 'user_agent', 'http_referer', 'data_region', 'workspace_id')
  t.same(
    required.filter((name) => !(name in open)),
    [],
  )
})

t.test('a row of the export', async (t) => {
  const row = exportRow(record(9, 'dev', settled(9, 1_501_000, { ...FACTS, key: 'forged', id: 'forged' })))
  t.match(row, {
    id: 'gen-9-abcdefghijkl',
    key: 'dev',
    model: 'acme/two',
    provider: 'Here',
    user: 'u-1',
    session_id: 's-1',
    status: 'completed',
    usage: { input_tokens: 120, output_tokens: 34, cached_tokens: 20, cache_write_tokens: 3, reasoning_tokens: 4 },
    cost_nano: 1_501_000,
    hold_nano: 900,
    estimated: false,
    created_at: '2026-01-05T12:00:00.000Z',
    native_finish_reason: 'end_turn',
    app_title: 'App',
  })
  const refused = record(9, 'dev', settled(9, 0, { provider: '', endpoint: '' }))
  t.match(exportRow(refused), { provider: null, endpoint: 'acme/one@here' }, 'a request that no provider served')
  t.match(generationView(refused), { provider_name: null, endpoint: 'acme/one@here' })
  t.match(exportRow(record(9, 'dev')), { status: 'open', cost_nano: 0, model: 'acme/one', provider: null, user: null, session_id: null })
})

t.test('a settlement has two sides, and a third where tools ran', async (t) => {
  t.same(exportEntries(record(9, 'dev', settled(9, 1_501_000, FACTS))), [
    { account: 'key', of: 'dev', nano: -1_501_000 },
    { account: 'provider', of: 'Here', nano: 1_500_000 },
    { account: 'fee', of: 'tools', nano: 1000 },
  ])
  const free = exportEntries(record(9, 'dev', settled(9, 0)))
  t.ok(Object.is(free[0].nano, 0), 'no negative zero')
  t.same(free[1], { account: 'provider', of: 'acme/one@here', nano: 0 }, 'nobody served: the endpoint that was held for')
  t.same(exportEntries(record(9, 'dev')), [], 'what is open has moved nothing')
  const exported = [record(1, 'a', settled(1, 7, { tools_cost: 7 })), record(2, 'b', settled(2, 5)), record(3, 'b')].map(exportRow)
  await every(t, 'every case', async (t) => {
    for (const { entries, cost_nano } of exported) {
      t.equal(
        entries.reduce((sum, { nano }) => sum + nano, 0),
        0,
      )
      t.equal(entries[0]?.nano ?? 0, 0 - cost_nano)
    }
  })
})

const GOOD = { ok: true, providers: 35, fees: 0, carried: 0, problems: [] }

t.test('verify finds what is wrong with the ledger', async (t) => {
  const records = [record(1, 'a', settled(1, 10)), record(2, 'b', settled(2, 20)), record(3, 'a', settled(3, 5)), record(4, 'b')]
  const spent = new Map([
    ['a', 15n],
    ['b', 20n],
  ])
  t.same(verify(records, spent), { ...GOOD, generations: 4, open: 1, charged: 35 })
  t.same(verify([], new Map()), { ...GOOD, generations: 0, open: 0, charged: 0, providers: 0 })
  t.match(verify([record(1, 'a', settled(1, 10, { tools_cost: 4 }))], new Map([['a', 10n]])), {
    ok: true,
    charged: 10,
    providers: 6,
    fees: 4,
  })

  const wrong = (records: GenerationRecord[], sums: Map<string, bigint>, pattern: RegExp, carried?: Map<string, bigint>) => {
    const verdict = verify(records, sums, carried)
    t.equal(verdict.ok, false, String(pattern))
    t.equal(verdict.problems.length > 0 && verdict.problems.every((problem) => pattern.test(problem)), true, verdict.problems.join('; '))
  }
  const short = new Map([...spent, ['a', 14n]])
  wrong(records, short, /key a: settlements sum to 15, 14/)
  wrong(records, new Map([...spent, ['c', 1n]]), /key c/)
  wrong([...records, record(4, 'b')], spent, /recorded twice/)
  wrong([...records, record(2, 'b')], spent, /out of order/)
  wrong([record(1, 'a', settled(1, -1))], new Map([['a', -1n]]), /cost of -1|an entry of -1|key a: -1/)
  wrong([record(1, 'a', settled(2, 1))], new Map([['a', 1n]]), /another sequence/)
  wrong([record(1, 'a', { ...settled(1, 1), output: -3 })], new Map([['a', 1n]]), /token counts/)
  wrong([record(1, 'a', settled(1, 5, { tools_cost: 6 }))], new Map([['a', 5n]]), /an entry of -1 for provider/)
  wrong([record(1, 'a', settled(1, 5, { tools_cost: -2 }))], new Map([['a', 5n]]), /an entry of -2 for fee/)
  wrong([record(1, 'a', settled(1, 5, { tools_cost: 0.5 }))], new Map([['a', 5n]]), /an entry of/)
  wrong([record(1, 'a', { ...settled(1, 5), facts: '{"tools' })], new Map([['a', 5n]]), /no JSON|key a: settlements sum to 0/)
  wrong(records, spent, /key a: settlements sum to 16/, new Map([['a', 1n]]))
  wrong(records, spent, /key gone/, new Map([['gone', 1n]]))
  t.equal(
    verify(
      Array.from({ length: 500 }, () => record(4, 'b')),
      new Map(),
    ).problems.length,
    100,
    'a long list is cut',
  )
})

t.test('what retention has removed counts by its sum', async (t) => {
  const left = [record(8, 'a', settled(8, 5))]
  const carried = new Map([
    ['a', 10n],
    ['b', 20n],
  ])
  const spent = new Map([
    ['a', 15n],
    ['b', 20n],
  ])
  t.match(verify(left, spent, carried), { ok: true, generations: 1, charged: 5, carried: 30 })
})

t.test('one sequence may name generations of several processes', async (t) => {
  const twin = (tag: string): GenerationRecord => {
    const { hold, ...rest } = record(5, 'a', settled(5, 1))
    return { ...rest, id: `gen-5-${tag}`, hold: { ...hold, tag } }
  }
  t.match(verify([twin('a'), twin('b'), record(6, 'a')], new Map([['a', 2n]])), { ok: true, generations: 3 })
  t.match(verify([twin('a'), twin('b'), twin('a')], new Map([['a', 3n]])), { ok: false, problems: [/recorded twice/] })
})

/** A ledger on which something happens while it is read: `between` is called after every record. */
function livingLedger(
  records: GenerationRecord[],
  between: (spent: Map<string, bigint>, carried: Map<string, bigint>) => void,
): LedgerReader {
  const spent = new Map<string, bigint>()
  const carried = new Map<string, bigint>()
  for (const { hold, settled } of records) if (settled) spent.set(hold.key, (spent.get(hold.key) ?? 0n) + BigInt(settled.cost))
  return ledgerOfRows({
    async *export() {
      for (const each of [...records]) {
        yield each
        between(spent, carried)
      }
    },
    spent: () => new Map(spent),
    carried: () => new Map(carried),
  })
}

t.test('a ledger is verified while it is written to', async (t) => {
  const records = Array.from({ length: 1200 }, (_, index) => record(index + 1, 'a', settled(index + 1, 1)))
  const quiet = livingLedger(records, () => {})
  const still = await verifyLedger(quiet)
  const entries = { unrecovered: 0, disputed: 0, correction: 0, refund: 0, write_off: 0, open: 0 }
  t.same(still, { ...GOOD, generations: 1200, open: 0, charged: 1200, providers: 1200, entries })
  const busy = await verifyLedger(livingLedger(records, (spent) => spent.set('a', (spent.get('a') ?? 0n) + 3n)))
  t.match(busy, { ok: true, charged: 1200 }, 'charges that came meanwhile are neither missing nor too many')
  const lost = livingLedger(records, () => {})
  const missing = await verifyLedger({ ...lost, export: () => records.slice(1) })
  t.match(missing, { ok: false, problems: ['key a: settlements sum to 1199, 1200 are recorded as spent'] })
  const shrinking = await verifyLedger(livingLedger(records, (spent) => spent.set('a', 1100n)))
  t.match(shrinking, { ok: false })

  const broken = await verifyLedger({
    ...quiet,
    *export() {
      yield* records.slice(0, 2)
      throw new TypeError('expected a settlement status')
    },
  })
  t.match(broken, {
    ok: false,
    generations: 2,
    problems: [/^after 2 generations: a row cannot be read: expected a settlement status$/, /key a/],
  })
  const down = { ...quiet, spent: () => Promise.reject(new Fault('unavailable')) }
  await t.rejects(verifyLedger(down), { code: 'unavailable' }, 'a store that does not answer is no verdict')

  let pruned = false
  const overtaken = livingLedger([...records], (_, carried) => {
    if (pruned) return
    pruned = true
    carried.set('a', 1n)
  })
  const walk = overtaken.export
  const again = await verifyLedger({ ...overtaken, export: () => (pruned ? records.slice(1) : walk()) })
  t.match(again, { ok: true, charged: 1199, carried: 1 }, 'a walk that retention overtook is begun anew')
})
