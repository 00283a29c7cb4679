/** Holds the ledger's export against the provider's own records. */
import type { Call } from './provider.ts'

/** A row of `headgate ledger export`, as far as an audit looks at it. */
export interface Row {
  readonly id: string
  readonly key: string
  readonly status: string
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number }
  readonly cost_nano: number
  readonly hold_nano: number
  readonly estimated: boolean
  /** `<ended by>/<progress>/<basis>`; absent where the model ended the answer and its provider reported the usage. */
  readonly charge_reason?: string
  /** Nano-dollars that no allowance could pay. */
  readonly unrecovered_nano: number
  readonly entries: readonly { readonly account: string; readonly nano: number }[]
}

export function parseRows(ndjson: string): Row[] {
  return ndjson
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row)
}

export interface Audit {
  /** Good answers that the provider gave to their end. */
  completed: number
  /** Of these: settled as such, at what they reported. */
  settled: number
  /** Of these: the crash came before the settlement's commit, charged at the floor. */
  unknown: number
  /** Of these: the caller had left, or its deadline had passed. */
  left: number
  /** Of these: no row at all. */
  lost: number
  /** Rows beyond the first of one generation or of one answer. */
  double: number
  /** One line for everything that must not be. */
  problems: string[]
}

/** Nano-dollars per token of the configuration that the audit is for. */
const INPUT_NANO = 1000
const OUTPUT_NANO = 2000

/** @param rows of a gateway that has started again: nothing is open any more. @param calls of the provider, by generation. */
export function audit(rows: readonly Row[], calls: ReadonlyMap<string, readonly Call[]>): Audit {
  const found: Audit = { completed: 0, settled: 0, unknown: 0, left: 0, lost: 0, double: 0, problems: [] }
  const byId = new Map<string, Row>()
  for (const row of rows) {
    if (byId.has(row.id)) found.double++
    byId.set(row.id, row)
  }
  countDoubleAnswers(rows, found)
  for (const [id, made] of calls) {
    const row = byId.get(id)
    if (!row) {
      found.lost += made.some((call) => call.completed) ? 1 : 0
      found.problems.push(`${id}: the provider was called without a row`)
    } else noteProblem(row, made, found)
  }
  for (const row of rows) {
    const unsent = row.charge_reason?.startsWith('caller/not_sent') && row.cost_nano === 0
    if (!calls.has(row.id) && row.status !== 'unknown' && !unsent)
      found.problems.push(`${row.id}: ${row.status}, but the provider never saw it`)
    if (row.status === 'unknown' && !(row.estimated && row.cost_nano > 0 && row.cost_nano <= row.hold_nano))
      found.problems.push(`${row.id}: unknown, charged ${row.cost_nano} of a hold of ${row.hold_nano}`)
    const sum = row.entries.reduce((total, { nano }) => total + nano, 0)
    const paid = row.entries.find(({ account }) => account === 'key')?.nano ?? 0
    if (sum !== 0 || paid !== 0 - row.cost_nano)
      found.problems.push(`${row.id}: entries of ${JSON.stringify(row.entries)} for ${row.cost_nano}`)
  }
  return found
}

function countDoubleAnswers(rows: readonly Row[], found: Audit): void {
  const inputs = rows.filter((row) => row.status === 'completed').map((row) => row.usage.input_tokens)
  found.double += inputs.length - new Set(inputs).size
}

function noteProblem(row: Row, made: readonly Call[], found: Audit): void {
  const whole = made.find((call) => call.completed)
  const answer = whole ?? made.find((call) => call.answered)
  if (whole) found.completed++
  if (made.filter((call) => call.completed).length > 1) found.problems.push(`${row.id}: answered to the end more than once`)
  if (row.status === 'unknown') {
    if (whole) found.unknown++
  } else if (row.status === 'completed') {
    if (whole) found.settled++
    if (!answer) found.problems.push(`${row.id}: completed, but the provider did not answer it`)
    else if (row.usage.input_tokens !== answer.input || paidFor(row) !== answer.input * INPUT_NANO + answer.output * OUTPUT_NANO)
      found.problems.push(`${row.id}: charged ${row.cost_nano} for ${row.usage.input_tokens} tokens, answered were ${answer.input}`)
  } else if (row.charge_reason?.startsWith('caller/')) {
    if (whole) found.left++
    if (!row.charge_reason.startsWith('caller/not_sent') && paidFor(row) === 0)
      found.problems.push(`${row.id}: ${row.charge_reason}, but charged nothing`)
  } else if (whole) found.problems.push(`${row.id}: ${row.status}, but the provider answered it to the end`)
  else if (row.cost_nano !== 0) found.problems.push(`${row.id}: ${row.status}, but charged ${row.cost_nano}`)
}

/** Nano-dollars charged, and those that no allowance could pay. */
function paidFor({ cost_nano: cost, unrecovered_nano: unrecovered = 0 }: Row): number {
  return cost + unrecovered
}
