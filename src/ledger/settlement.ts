/**
 * The charge of a request, as a pure function: one table, by the party that ended it and how far it had come.
 * Shown to operators and callers in docs/keys.md, "Who pays".
 */

import { type Fault, isRejection } from '../core/faults.ts'
import { addUsage, inputPartsWithin, NO_REPORT, noUsage, type Usage } from '../dialects/canon/usage.ts'
import { USUAL_REASON } from './facts.ts'
import { charge, type Extras, type Tariff } from './pricing.ts'
import type { SettleStatus } from './types.ts'

/**
 * model: an end of its own (completed, length, tools, filter), or a stop that we cut ourselves.
 * provider: error, cut, silence, an end that says nothing.
 * caller: it left, a deadline of the request passed, it read too slowly, its own limit or request stopped it.
 * operator: a guardrail, a shutdown, `total` while data still arrived, limits on a reply's size or depth.
 * gateway: a fault of our own.
 */
export type EndedBy = 'model' | 'provider' | 'caller' | 'operator' | 'gateway'

/** Progress of the last turn when it ended: not sent, sent, content begun, usage reported for all of it. */
export type Progress = 'not_sent' | 'sent' | 'content' | 'usage_known'

/** counted: the provider's last report and an estimate of what that does not cover; all of it is estimated without a report. */
type Basis = 'nothing' | 'counted'

/** Basis of the charge of the last turn. Reports are believed as they are: an explicit zero is zero. */
const TABLE: Readonly<Record<EndedBy, Readonly<Record<Progress, Basis>>>> = {
  model: { not_sent: 'nothing', sent: 'counted', content: 'counted', usage_known: 'counted' },
  provider: { not_sent: 'nothing', sent: 'nothing', content: 'nothing', usage_known: 'nothing' },
  caller: { not_sent: 'nothing', sent: 'counted', content: 'counted', usage_known: 'counted' },
  operator: { not_sent: 'nothing', sent: 'counted', content: 'counted', usage_known: 'counted' },
  gateway: { not_sent: 'nothing', sent: 'nothing', content: 'nothing', usage_known: 'nothing' },
}

/** Turns of the same exchange that ended well before the last one, each priced by the endpoint that served it. */
export interface EarlierTurns {
  usage: Usage
  /** Nano-dollars. */
  input: number
  output: number
  /** Nano-dollars of reports that were not believed. */
  disputed?: number | undefined
}

/** Token counts of one turn, reported and estimated. */
export interface Count {
  /** The provider's last cumulative report; undefined where it sent none. An explicit zero is a report. */
  reported: Usage | undefined
  /** Estimate of the output tokens that the report does not cover: what came since, and unreported reasoning. */
  unreported: number
  /** Tokens of images among `unreported`. */
  pictured?: number | undefined
  /** Estimate of the input tokens that were sent, for a report that does not count the input. */
  input: number
  /** Of several calls made as one turn: estimated usage of those that were cut off before they reported. */
  cut?: Usage | undefined
}

export interface Outcome extends Count {
  endedBy: EndedBy
  progress: Progress
  status: SettleStatus
  /** The unified end reason; null, undefined or '' where none came. */
  finish: string | null | undefined
  /** Nano-dollars of tools already run: charged whatever else happened. */
  tools: number
  /** Of the endpoint that served, as it was at admission. */
  price: Tariff
  extras?: Extras | undefined
  earlier?: EarlierTurns | undefined
  /** Nano-dollars that all turns and tools together may cost as far as they are estimated; undefined for no bound. */
  held: number | undefined
  /** Nano-dollars of the last turn's report that was not believed. */
  disputed?: number | undefined
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
  /** Tokens that count towards the key's tokens per minute. */
  used: number
  /** `<ended by>/<progress>/<basis>`, such as `caller/content/estimated`. */
  reason: string
  /** Nano-dollars that providers report beyond what is possible; not part of the charge. Absent where the answer is free. */
  disputed?: number | undefined
  /** Usage of the last turn that is charged; undefined where nothing of it is. */
  counted?: Usage | undefined
}

/**
 * The settlement of one exchange. Insurance covers the whole of it: where the provider failed only tools are charged.
 * Where it ended for another reason, earlier turns that ended well stay charged.
 */
export function settleOutcome(outcome: Outcome): Settlement {
  const tools = Math.max(0, outcome.tools)
  const failed = outcome.endedBy === 'provider' || (outcome.endedBy === 'model' && outcome.finish === 'error')
  const usage = outcome.progress === 'not_sent' ? noUsage() : countedUsage(outcome)
  if (failed) {
    const own = outcome.reported ?? noUsage()
    const seen = outcome.earlier ? addUsage(outcome.earlier.usage, own) : own
    const reason = `provider/${outcome.progress}/nothing`
    return { status: 'failed', usage: seen, cost: tools, input: 0, output: 0, tools, estimated: false, used: 0, reason }
  }
  // Nothing came out and no reason was given: the provider's failure, though the request has been answered.
  const blank = outcome.endedBy === 'model' && usage.output <= 0 && isBlank(outcome.finish)
  const free = blank || TABLE[outcome.endedBy][outcome.progress] === 'nothing'
  const { earlier } = outcome
  const counted = free || usage.estimated !== true ? usage : withinHold(usage, outcome, tools)
  const own = outcome.endedBy === 'gateway' ? (outcome.reported ?? noUsage()) : counted
  const shown = earlier ? addUsage(earlier.usage, own) : own
  const basis = free ? 'nothing' : counted.estimated === true ? 'estimated' : 'reported'
  const reason = settlementReason(blank ? 'provider' : outcome.endedBy, outcome.progress, basis)
  const used = (free ? 0 : usageTokens(counted)) + (earlier ? usageTokens(earlier.usage) : 0)
  const part = free ? FREE : charge(counted, outcome.price, outcome.extras)
  const input = part.input + (earlier?.input ?? 0)
  const output = part.output + (earlier?.output ?? 0)
  return {
    status: outcome.status,
    usage: shown,
    cost: input + output + tools,
    input,
    output,
    tools,
    estimated: shown.estimated === true,
    used,
    reason,
    disputed: (free ? 0 : (outcome.disputed ?? 0)) + (earlier?.disputed ?? 0) || undefined,
    counted: free ? undefined : counted,
  }
}

const FREE = { input: 0, output: 0 }

/** The usual one is the constant itself: comparing with it then looks at no character. */
function settlementReason(endedBy: EndedBy, progress: Progress, basis: 'nothing' | 'estimated' | 'reported'): string {
  if (endedBy === 'model' && progress === 'usage_known' && basis === 'reported') return USUAL_REASON
  return `${endedBy}/${progress}/${basis}`
}

/** Returns the party that caused the fault by which an exchange ended. @param content true if content had begun. */
export function faultEnder(fault: Fault, content: boolean): EndedBy {
  switch (fault.code) {
    case 'deadline':
    case 'client_gone':
      return 'caller'
    case 'guardrail_blocked':
    case 'shutdown':
    case 'upstream_overlong':
    case 'upstream_oversized':
      return 'operator'
  }
  if (fault.origin === 'client') return 'caller'
  if (fault.origin === 'gateway') return 'gateway'
  // A provider that refuses the request as wrong has not failed: what earlier turns brought is paid for.
  return isRejection(fault) && !content ? 'caller' : 'provider'
}

/** True where a report covers the whole turn. */
export function isReported(count: Count): count is Count & { reported: Usage } {
  const { reported, unreported, cut } = count
  return !cut && reported !== undefined && !reported.inputUnknown && !reported.outputUnknown && unreported <= 0
}

/** Usage of a turn: as reported, completed by an estimate of what the report does not cover. */
export function countedUsage(count: Count): Usage {
  const { reported, unreported, pictured = 0, input, cut } = count
  if (cut) return reported ? addUsage(reported, cut) : cut
  if (isReported(count)) return count.reported
  const { inputUnknown, outputUnknown: _, ...known } = reported ?? NO_REPORT
  const more = Math.max(0, Math.ceil(unreported))
  return {
    ...known,
    input: inputUnknown ? Math.max(0, Math.ceil(input)) : known.input,
    output: known.output + more,
    imageOutput: known.imageOutput + Math.min(pictured, more),
    estimated: true,
  }
}

/** An estimate never costs more than was held for it; a report is charged as it is, also where an estimate is added to it. */
function withinHold(usage: Usage, { price, extras, earlier, held, reported }: Outcome, tools: number): Usage {
  if (held === undefined) return usage
  const room = held - tools - (earlier ? earlier.input + earlier.output : 0)
  const cost = (share: Usage): number => charge(share, price, extras).total
  return usageWithin(usage, { room, cost, least: reported && reported.estimated !== true ? reported : NO_REPORT })
}

interface Room {
  /** Nano-dollars. */
  readonly room: number
  readonly cost: (share: Usage) => number
  /** Usage that is charged in any case. */
  readonly least: Usage
}

/** The largest part of a usage that costs no more than the room: first of its output, then of its input. */
export function usageWithin(usage: Usage, { room, cost, least }: Room): Usage {
  if (cost(usage) <= room) return usage
  const output = least.output + most(usage.output - least.output, (more) => cost({ ...usage, output: least.output + more }) <= room)
  const imageOutput = Math.min(usage.imageOutput, output)
  if (output > least.output) return { ...usage, output, imageOutput }
  const withInput = (input: number): Usage => ({ ...usage, input, ...inputPartsWithin(usage, input), output })
  const input = least.input + most(usage.input - least.input, (more) => cost(withInput(least.input + more)) <= room)
  return { ...withInput(input), imageOutput }
}

/** The largest count up to `limit` that fits; 0 where none does. */
function most(limit: number, fits: (tokens: number) => boolean): number {
  let low = 0
  let high = limit
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (fits(middle)) low = middle
    else high = middle - 1
  }
  return low
}

function isBlank(finish: string | null | undefined): boolean {
  return finish === undefined || finish === null || finish.trim() === ''
}

function usageTokens({ input, output, others }: Usage): number {
  const own = Math.ceil(input + output)
  return others === undefined ? own : others.reduce((sum, { usage }) => sum + usageTokens(usage), own)
}

/** Bytes per token of text whose script is not known; English has 4 to 5, code 3 to 4, Chinese about 3. */
const BYTES_PER_TOKEN = 2.5

/** Tokens that a provider may add by itself, out of the caller's sight, when a request offers tools. */
export const TOOL_PROMPT_TOKENS = 1024

/** Tokens from lengths: 3 ASCII characters each; beyond ASCII each further byte of a character adds half a token. */
export function tokensOfLengths(bytes: number, characters: number): number {
  return Math.ceil((3 * bytes - characters) / 6)
}

/** Estimated tokens of a text. */
export function estimateTokens(text: string): number {
  return tokensOfLengths(Buffer.byteLength(text), text.length)
}

/** Estimated tokens of text of which only the size in UTF-8 is known. */
export function estimateFromBytes(bytes: number): number {
  return bytes > 0 ? Math.ceil(bytes / BYTES_PER_TOKEN) : 0
}
