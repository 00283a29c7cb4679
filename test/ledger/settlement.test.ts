import t from 'tap'
import { noUsage } from '../../src/canon/usage.ts'
import { type Outcome, type OutcomeKind, settlementOf } from '../../src/ledger/settlement.ts'

/** 1 nano-dollar per input token, 10 per output token: a cost of 1,250 reads as 250 in, 100 out. */
const PRICE = { prompt: 1_000_000_000n, completion: 10_000_000_000n }
const REPORT = { ...noUsage(), input: 200, output: 40 }
const ZERO = { ...noUsage(), input: 200, output: 0 }

interface Cell {
  kind: OutcomeKind
  reported: 'usage' | 'zero output' | 'none'
  finish: string | null | undefined
  streamed: boolean
  status: string
  input: number
  output: number
  estimated?: boolean
  /** Tokens that the row shows, where they are not what is charged. */
  tokens?: [number, number]
  relayed?: number
}

const OUR_INPUT = 300
const RELAYED = 70

const both = (cell: Omit<Cell, 'streamed'>): Cell[] => [
  { ...cell, streamed: true },
  { ...cell, streamed: false },
]
const blank = [null, undefined, '', ' ']

const TABLE: Cell[] = [
  // completed and incomplete
  ...both({ kind: 'completed', reported: 'usage', finish: 'stop', status: 'completed', input: 200, output: 400 }),
  ...both({ kind: 'completed', reported: 'usage', finish: 'tool_calls', status: 'completed', input: 200, output: 400 }),
  ...both({ kind: 'incomplete', reported: 'usage', finish: 'length', status: 'incomplete', input: 200, output: 400 }),
  ...both({ kind: 'completed', reported: 'none', finish: 'stop', status: 'completed', input: 300, output: 700, estimated: true }),
  ...both({ kind: 'incomplete', reported: 'none', finish: 'length', status: 'incomplete', input: 300, output: 700, estimated: true }),
  // explicit zero is zero, and with a reason it is an answer that is paid for
  ...both({ kind: 'completed', reported: 'zero output', finish: 'stop', status: 'completed', input: 200, output: 0 }),
  ...both({ kind: 'incomplete', reported: 'zero output', finish: 'content_filter', status: 'incomplete', input: 200, output: 0 }),
  // insurance: no completion tokens and no reason
  ...blank.flatMap((finish) =>
    both({ kind: 'completed', reported: 'zero output', finish, status: 'completed', input: 0, output: 0, tokens: [200, 0] }),
  ),
  ...blank.flatMap((finish) =>
    both({
      kind: 'completed',
      reported: 'none',
      finish,
      status: 'completed',
      input: 0,
      output: 0,
      relayed: 0,
      tokens: [300, 0],
      estimated: true,
    }),
  ),
  ...both({ kind: 'completed', reported: 'usage', finish: null, status: 'completed', input: 200, output: 400 }),
  ...both({ kind: 'completed', reported: 'none', finish: null, status: 'completed', input: 300, output: 700, estimated: true }),
  // insurance: the provider ended with an error
  ...both({ kind: 'completed', reported: 'usage', finish: 'error', status: 'failed', input: 0, output: 0, tokens: [200, 40] }),
  ...both({ kind: 'incomplete', reported: 'zero output', finish: 'error', status: 'failed', input: 0, output: 0, tokens: [200, 0] }),
  ...both({ kind: 'completed', reported: 'none', finish: 'error', status: 'failed', input: 0, output: 0 }),
  // failed
  ...(['failed-before-content', 'failed-after-content'] as const).flatMap((kind) => [
    ...both({ kind, reported: 'usage', finish: null, status: 'failed', input: 0, output: 0, tokens: [200, 40] }),
    ...both({ kind, reported: 'usage', finish: 'stop', status: 'failed', input: 0, output: 0, tokens: [200, 40] }),
    ...both({ kind, reported: 'zero output', finish: null, status: 'failed', input: 0, output: 0, tokens: [200, 0] }),
    ...both({ kind, reported: 'none', finish: null, status: 'failed', input: 0, output: 0 }),
  ]),
  // aborted
  ...both({ kind: 'aborted', reported: 'usage', finish: null, status: 'aborted', input: 200, output: 400 }),
  ...both({ kind: 'aborted', reported: 'zero output', finish: null, status: 'aborted', input: 200, output: 0 }),
  { kind: 'aborted', reported: 'none', finish: null, streamed: true, status: 'aborted', input: 300, output: 700, estimated: true },
  { kind: 'aborted', reported: 'none', finish: null, streamed: true, status: 'aborted', input: 0, output: 0, relayed: 0, estimated: true },
  { kind: 'aborted', reported: 'none', finish: null, streamed: false, status: 'aborted', input: 300, output: 0, estimated: true },
  {
    kind: 'aborted',
    reported: 'none',
    finish: null,
    streamed: false,
    status: 'aborted',
    input: 300,
    output: 0,
    relayed: 0,
    estimated: true,
  },
]

function outcomeOf(cell: Cell, more: Partial<Outcome> = {}): Outcome {
  const reported = { usage: REPORT, 'zero output': ZERO, none: undefined }[cell.reported]
  const relayed = cell.relayed ?? RELAYED
  return { ...cell, reported, relayed, input: OUR_INPUT, tools: 0, price: PRICE, ...more }
}

const nameOf = (cell: Cell) =>
  `${cell.kind}, ${cell.reported}, finish ${JSON.stringify(cell.finish)}, ${cell.streamed ? 'streamed' : 'whole'}, relayed ${cell.relayed ?? RELAYED}`

for (const cell of TABLE) {
  t.test(nameOf(cell), async (t) => {
    const got = settlementOf(outcomeOf(cell))
    const [input, output] = cell.tokens ?? [cell.input, cell.output / 10]
    t.match(got, { status: cell.status, input: cell.input, output: cell.output, cost: cell.input + cell.output, tools: 0 })
    t.same([got.usage.input, got.usage.output], [input, output])
    t.equal(got.estimated, cell.estimated === true)

    const tooled = settlementOf(outcomeOf(cell, { tools: 5000 }))
    t.match(tooled, { cost: cell.input + cell.output + 5000, tools: 5000, input: cell.input }, 'tools that ran are paid for')
    t.equal(settlementOf(outcomeOf(cell, { price: 'free' })).cost, 0)
  })
}

t.test('every outcome meets every kind of report, streamed and whole', async (t) => {
  const cells = new Set(TABLE.map((cell) => `${cell.kind} ${cell.reported} ${cell.streamed}`))
  const kinds: OutcomeKind[] = ['completed', 'incomplete', 'failed-before-content', 'failed-after-content', 'aborted']
  const reports = ['usage', 'zero output', 'none']
  const missing = kinds
    .flatMap((kind) => reports.flatMap((report) => [true, false].map((streamed) => `${kind} ${report} ${streamed}`)))
    .filter((cell) => !cells.has(cell))
  t.same(missing, [])
})

t.test('earlier turns count by their own price, unless the exchange failed', async (t) => {
  const earlier = { usage: { ...noUsage(), input: 7, output: 3, estimated: true }, input: 1000, output: 2000 }
  const base = { reported: REPORT, relayed: RELAYED, input: OUR_INPUT, finish: 'stop', streamed: true, tools: 5, price: PRICE, earlier }
  const done = settlementOf({ ...base, kind: 'completed' })
  t.match(done, { cost: 1000 + 2000 + 200 + 400 + 5, input: 1200, output: 2400, estimated: true })
  t.match(done.usage, { input: 207, output: 43 })
  t.match(settlementOf({ ...base, kind: 'failed-after-content' }), { cost: 5, input: 0, output: 0, status: 'failed', estimated: false })
  t.match(settlementOf({ ...base, kind: 'aborted' }), { cost: 1000 + 2000 + 200 + 400 + 5, status: 'aborted' })
  const insured = settlementOf({ ...base, kind: 'completed', reported: ZERO, finish: null })
  t.match(insured, { cost: 3005 }, 'an empty last turn is free, those before it are not')
})
