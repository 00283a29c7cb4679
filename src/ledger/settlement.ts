/** What an exchange is charged, by how it ended: a pure function over the money table. */
import { addUsage, noUsage, type Usage } from '../canon/usage.ts'
import { charge, type Extras, type Tariff } from './pricing.ts'
import type { SettleStatus } from './types.ts'

export type OutcomeKind = 'completed' | 'incomplete' | 'failed-before-content' | 'failed-after-content' | 'aborted'

/** Turns of the same exchange that ended well before the last one, each priced by the endpoint that served it. */
export interface EarlierTurns {
  usage: Usage
  /** Nano-dollars. */
  input: number
  output: number
}

export interface Outcome {
  kind: OutcomeKind
  /** The provider's last cumulative report; undefined where it sent none. An explicit zero is a report. */
  reported: Usage | undefined
  /** Estimate of the output tokens that reached the client. */
  relayed: number
  /** Estimate of the input tokens that reached a provider; 0 where no call went out. */
  input: number
  /** The unified end reason; null, undefined or '' where none came. */
  finish: string | null | undefined
  streamed: boolean
  /** Nano-dollars of tools already run: charged whatever else happened. */
  tools: number
  /** Of the endpoint that served, as it was at admission. */
  price: Tariff
  extras?: Extras
  earlier?: EarlierTurns
}

export interface Settlement {
  status: SettleStatus
  usage: Usage
  /** Nano-dollars: `input + output + tools`. */
  cost: number
  input: number
  output: number
  tools: number
  /** True where a charged count is our estimate. */
  estimated: boolean
}

const STATUS: Record<OutcomeKind, SettleStatus> = {
  completed: 'completed',
  incomplete: 'incomplete',
  'failed-before-content': 'failed',
  'failed-after-content': 'failed',
  aborted: 'aborted',
}

/**
 * The settlement of one exchange.
 * - completed, incomplete: as reported, else input plus what was relayed, flagged.
 * - failed, or ended with reason `error`: nothing but the tools (insurance), earlier turns included.
 * - zero completion tokens without a reason: nothing for that turn but the tools.
 * - aborted: as reported so far; else, streamed, input plus what was relayed (nothing where nothing was relayed);
 *   not streamed, the input.
 */
export function settlementOf(outcome: Outcome): Settlement {
  const failed = outcome.kind === 'failed-before-content' || outcome.kind === 'failed-after-content'
  const tools = Math.max(0, outcome.tools)
  if (failed || (outcome.kind !== 'aborted' && outcome.finish === 'error')) {
    const usage = withEarlier(outcome.reported ?? noUsage(), outcome.earlier)
    return { status: 'failed', usage, cost: tools, input: 0, output: 0, tools, estimated: false }
  }
  const usage = outcome.reported ?? estimateOf(outcome)
  const part = insured(outcome, usage) ? FREE : charge(usage, outcome.price, outcome.extras)
  const whole = withEarlier(usage, outcome.earlier)
  const input = part.input + (outcome.earlier?.input ?? 0)
  const output = part.output + (outcome.earlier?.output ?? 0)
  const estimated = usage.estimated === true || outcome.earlier?.usage.estimated === true
  return { status: STATUS[outcome.kind], usage: whole, cost: input + output + tools, input, output, tools, estimated }
}

const FREE = { input: 0, output: 0 }

/** Nothing came out and nobody says why: the caller does not pay for it. */
function insured(outcome: Outcome, usage: Usage): boolean {
  if (outcome.kind === 'aborted') return false
  const blank = outcome.finish === undefined || outcome.finish === null || outcome.finish.trim() === ''
  return blank && usage.output <= 0
}

function estimateOf({ kind, streamed, input, relayed }: Outcome): Usage {
  const aborted = kind === 'aborted'
  if (aborted && streamed && relayed <= 0) return estimatedUsage(0, 0)
  return estimatedUsage(input, aborted && !streamed ? 0 : relayed)
}

/** What an answer used whose provider did not say. @param input estimate of its tokens. @param relayed the same of the output. */
export function estimatedUsage(input: number, relayed: number): Usage {
  return { ...noUsage(), input: Math.max(0, Math.ceil(input)), output: Math.max(0, Math.ceil(relayed)), estimated: true }
}

function withEarlier(usage: Usage, earlier: EarlierTurns | undefined): Usage {
  return earlier ? addUsage(earlier.usage, usage) : usage
}
