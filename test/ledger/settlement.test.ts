/** The table of charges, cell by cell: who ended it, how far it had come, what the provider reported. */
import t from 'tap'
import { Fault } from '../../src/core/faults.ts'
import { noUsage } from '../../src/dialects/canon/usage.ts'
import { countedUsage, type EndedBy, faultEnder, type Outcome, type Progress, settleOutcome } from '../../src/ledger/settlement.ts'
import { every } from '../support/every.ts'

/** 1 nano-dollar per input token, 10 per output token. */
const PRICE = { prompt: 1_000_000_000n, completion: 10_000_000_000n }
const REPORT = { ...noUsage(), input: 200, output: 40 }
const ZERO = { ...noUsage(), input: 200, output: 0 }
const EARLIER = { usage: { ...noUsage(), input: 7, output: 3 }, input: 1000, output: 2000 }
const TOOLS = 5000

interface Cell {
  by: EndedBy
  progress: Progress
  reported?: Outcome['reported']
  unreported?: number
  finish?: string | null | undefined
  /** Tokens charged; undefined where the turn costs nothing. */
  charged?: [input: number, output: number]
  basis: 'nothing' | 'reported' | 'estimated'
  /** Set if the reason does not name `by`. */
  shownBy?: EndedBy
  /** Earlier turns stay charged. */
  keeps: boolean
}

const atAnyStage = (by: EndedBy, basis: 'nothing', keeps: boolean): Cell[] =>
  (['not_sent', 'sent', 'content', 'usage_known'] as const).map((progress) => ({
    by,
    progress,
    reported: progress === 'usage_known' ? REPORT : undefined,
    unreported: 70,
    basis,
    keeps,
  }))

const TABLE: Cell[] = [
  { by: 'model', progress: 'usage_known', reported: REPORT, finish: 'stop', charged: [200, 40], basis: 'reported', keeps: true },
  { by: 'model', progress: 'usage_known', reported: REPORT, finish: null, charged: [200, 40], basis: 'reported', keeps: true },
  { by: 'model', progress: 'usage_known', reported: ZERO, finish: 'stop', charged: [200, 0], basis: 'reported', keeps: true },
  { by: 'model', progress: 'content', unreported: 70, finish: 'length', charged: [300, 70], basis: 'estimated', keeps: true },
  // No tokens and no reason: nothing for this turn, though the request was answered.
  ...[null, undefined, '', ' '].map(
    (finish): Cell => ({
      by: 'model',
      progress: 'usage_known',
      reported: ZERO,
      finish,
      basis: 'nothing',
      shownBy: 'provider',
      keeps: true,
    }),
  ),
  { by: 'model', progress: 'sent', finish: null, basis: 'nothing', shownBy: 'provider', keeps: true },
  { by: 'model', progress: 'usage_known', reported: REPORT, finish: 'error', basis: 'nothing', shownBy: 'provider', keeps: false },
  ...atAnyStage('provider', 'nothing', false),
  ...atAnyStage('gateway', 'nothing', true),
  ...(['caller', 'operator'] as const).flatMap((by): Cell[] => [
    { by, progress: 'not_sent', unreported: 70, basis: 'nothing', keeps: true },
    { by, progress: 'sent', charged: [300, 0], basis: 'estimated', keeps: true },
    { by, progress: 'sent', unreported: 90, charged: [300, 90], basis: 'estimated', keeps: true },
    { by, progress: 'content', unreported: 70, charged: [300, 70], basis: 'estimated', keeps: true },
    { by, progress: 'content', reported: REPORT, unreported: 5, charged: [200, 45], basis: 'estimated', keeps: true },
    { by, progress: 'usage_known', reported: REPORT, charged: [200, 40], basis: 'reported', keeps: true },
    { by, progress: 'usage_known', reported: ZERO, charged: [200, 0], basis: 'reported', keeps: true },
  ]),
]

function cellOutcome({ by, progress, reported, unreported = 0, finish = null }: Cell, more: Partial<Outcome> = {}): Outcome {
  const base = { endedBy: by, progress, reported, unreported, finish, input: 300, tools: 0, price: PRICE, held: undefined }
  return { ...base, status: 'aborted', ...more }
}

for (const cell of TABLE) {
  const name = `${cell.by}, ${cell.progress}, ${cell.reported ? `reported ${cell.reported.output}` : 'no report'}, ${cell.unreported ?? 0} unreported, finish ${JSON.stringify(cell.finish)}`
  t.test(name, async (t) => {
    const [input, output] = cell.charged ?? [0, 0]
    const cost = input + 10 * output
    const got = settleOutcome(cellOutcome(cell))
    t.match(got, { cost, input, output: 10 * output, used: input + output })
    t.equal(got.reason, `${cell.shownBy ?? cell.by}/${cell.progress}/${cell.basis}`)
    t.equal(settleOutcome(cellOutcome(cell, { price: 'free' })).cost, 0)

    const whole = settleOutcome(cellOutcome(cell, { tools: TOOLS, earlier: EARLIER }))
    const kept = cell.keeps ? 3000 : 0
    t.equal(whole.cost, cost + kept + TOOLS, 'tools that ran are charged; earlier turns unless the provider failed')
    t.equal(whole.used, input + output + (cell.keeps ? 10 : 0))
  })
}

t.test('every way to end meets every stage', async (t) => {
  const cells = new Set(TABLE.map((cell) => `${cell.by} ${cell.progress}`))
  const ways: EndedBy[] = ['provider', 'caller', 'operator', 'gateway']
  const stages: Progress[] = ['not_sent', 'sent', 'content', 'usage_known']
  const missing = ways.flatMap((by) => stages.map((progress) => `${by} ${progress}`)).filter((cell) => !cells.has(cell))
  t.same(missing, [])
})

t.test('an estimate never passes the hold, a report may', async (t) => {
  const aborted: Cell = { by: 'caller', progress: 'content', unreported: 1000, basis: 'estimated', keeps: true }
  const bounded = settleOutcome(cellOutcome(aborted, { held: 1305 }))
  t.match(bounded, { cost: 1300, used: 400 }, 'the output is cut first')
  t.match(settleOutcome(cellOutcome(aborted, { held: 120 })), { cost: 120, input: 120, output: 0 }, 'then the input')
  t.match(
    settleOutcome(cellOutcome(aborted, { held: 9000, tools: TOOLS, earlier: EARLIER })),
    { cost: 9000 },
    'tools and earlier turns first',
  )
  t.equal(settleOutcome(cellOutcome(aborted, { held: 7000, tools: TOOLS, earlier: EARLIER })).cost, 8000, 'which are charged in any case')
  const reported: Cell = { by: 'caller', progress: 'usage_known', reported: REPORT, basis: 'reported', keeps: true }
  t.equal(settleOutcome(cellOutcome(reported, { held: 100 })).cost, 600)
  const partly = { ...aborted, reported: REPORT }
  t.match(
    settleOutcome(cellOutcome(partly, { held: 100 })),
    { cost: 600, input: 200, output: 400 },
    'only what is added to it is an estimate',
  )
  t.match(settleOutcome(cellOutcome(partly, { held: 705 })), { cost: 700, input: 200, output: 500 }, 'as far as the hold reaches')
  const batch: Cell = { by: 'caller', progress: 'content', reported: ZERO, basis: 'estimated', keeps: true }
  const cut = { ...noUsage(), input: 50, estimated: true }
  t.match(settleOutcome(cellOutcome(batch, { cut })), { cost: 250, estimated: true }, 'calls of a batch that were cut off')
  t.match(settleOutcome(cellOutcome(batch, { cut, held: 230 })), { cost: 230, input: 230 }, 'as far as the hold reaches')
  t.match(settleOutcome(cellOutcome(batch, { cut, held: 100 })), { cost: 200, input: 200 }, 'never less than the report')
})

t.test('who caused a fault', async (t) => {
  const faults: [ConstructorParameters<typeof Fault>[0], boolean, EndedBy][] = [
    ['deadline', true, 'caller'],
    ['client_gone', false, 'caller'],
    ['no_credit', false, 'caller'],
    ['guardrail_blocked', true, 'operator'],
    ['upstream_overlong', true, 'operator'],
    ['upstream_oversized', false, 'operator'],
    ['internal', true, 'gateway'],
    ['unavailable', false, 'gateway'],
    ['upstream_cut', true, 'provider'],
    ['upstream_silent', false, 'provider'],
    ['upstream_limited', false, 'provider'],
    ['upstream_rejected', false, 'caller'],
    ['upstream_policy', true, 'provider'],
  ]
  await every(t, 'every case', async (t) => {
    for (const [code, content, by] of faults) t.equal(faultEnder(new Fault(code), content), by, code)
  })
})

t.test('what is not reported is estimated and flagged', async (t) => {
  t.match(countedUsage({ reported: undefined, unreported: 1.2, input: 2.5 }), { input: 3, output: 2, estimated: true })
  t.match(countedUsage({ reported: REPORT, unreported: 1.2, input: 99 }), { input: 200, output: 42, estimated: true })
  t.equal(countedUsage({ reported: REPORT, unreported: 0, input: 99 }), REPORT)
  const cut = { ...noUsage(), input: 5, estimated: true }
  t.match(countedUsage({ reported: REPORT, unreported: 0, input: 0, cut }), { input: 205, output: 40, estimated: true })
  t.match(countedUsage({ reported: undefined, unreported: 0, input: 0, cut }), { input: 5, output: 0, estimated: true })
})
