/** Token counts, normalised once for the client and the ledger alike: `input >= cached + cacheWrite`. */
import { PAID_TOOLS, type PaidTool } from '../../core/price.ts'
import { TOKEN_KINDS } from '../../core/token-kinds.ts'
import { addCounts, inputCounts, noCounts, outputCounts, type TokenCounts } from './token-counts.ts'

export interface Usage extends TokenCounts {
  /** Tokens of a predicted answer (`prediction` of chat): those that stand in the answer, and those written in vain. Both are in `output`. */
  predicted?: { accepted: number; rejected: number } | undefined
  /** Searches that the provider itself ran. */
  webSearches?: number | undefined
  /** Calls of its other tools that it takes a fee for, by type. */
  toolCalls?: Readonly<Partial<Record<PaidTool, number>>> | undefined
  /** Nano-dollars that the provider states for what no other count here has: searches and citations (`provider-fees.ts`). */
  fees?: number | undefined
  /**
   * Rounds that the provider has run for the answer beside what the other counts hold. They are charged, and callers are not shown them
   * as tokens of the answer. `model` is the provider's name of another model that ran them; absent: the same.
   */
  others?: readonly { model?: string; usage: Usage }[] | undefined
  /** Of vectors: how `input` is made up, where the provider reports it. */
  inputSplit?: InputSplit | undefined
  /** True where the provider reported nothing and the counts are our estimate. */
  estimated?: boolean | undefined
  /** True in a report as long as none of the answer's reports has counted the input: what stands there is no zero of the provider's. */
  inputUnknown?: true | undefined
  /** As `inputUnknown`, of the output. */
  outputUnknown?: true | undefined
  /** Names of members that the report has and nothing reads: they may be money (`usage-members.ts`). */
  unknownMembers?: readonly string[] | undefined
}

/** Tokens by what they were read from; kinds without any are absent. */
export type InputSplit = Readonly<Partial<Record<InputKind, number>>>

export const INPUT_KINDS = ['text', 'image', 'audio', 'file', 'video'] as const
export type InputKind = (typeof INPUT_KINDS)[number]

export function noUsage(): Usage {
  return noCounts()
}

/** Usage before the first report: nothing of either side. */
export const NO_REPORT: Usage = Object.freeze({ ...noUsage(), inputUnknown: true, outputUnknown: true })

/** True for a report that counts the output, as far as it had come. */
export function countsOutput(usage: Usage | undefined): usage is Usage {
  return usage !== undefined && usage.outputUnknown !== true
}

/** True for a report that counts more output than the one before: others, as of the input alone, do not cover what has come since. */
export function countsMore(report: Usage | undefined, before: Usage | undefined): report is Usage {
  return countsOutput(report) && (!countsOutput(before) || report.output > before.output)
}

/**
 * Completes a report that leaves out a whole side: what an earlier one of the same answer counted of it still holds.
 * @param counted which sides the report itself has counts of.
 */
export function withEarlierSides(usage: Usage, before: Usage | undefined, counted: { input: boolean; output: boolean }): Usage {
  if (counted.input && counted.output) return usage
  const earlier = before ?? NO_REPORT
  const { inputUnknown, outputUnknown, predicted } = earlier
  return {
    ...usage,
    ...(counted.input ? {} : { ...inputCounts(earlier), ...(inputUnknown ? { inputUnknown } : {}) }),
    ...(counted.output
      ? {}
      : { ...outputCounts(earlier), ...(predicted ? { predicted } : {}), ...(outputUnknown ? { outputUnknown } : {}) }),
  }
}

const OUTPUT_PARTS = TOKEN_KINDS.flatMap((kind) => (kind.side === 'output' && 'count' in kind ? [kind.count] : []))

/** The parts of the output that a report has, each at most so many tokens. */
export function outputPartsWithin(usage: Usage, most: number): Partial<TokenCounts> {
  const parts: Partial<TokenCounts> = {}
  for (const part of OUTPUT_PARTS) if (usage[part] !== undefined) parts[part] = Math.min(usage[part], most)
  return parts
}

/** The parts of the input that a report has, together at most so many tokens: none of the input is left below zero beside them. */
export function inputPartsWithin(usage: Usage, most: number): Partial<TokenCounts> {
  const cached = Math.min(usage.cached, most)
  const cacheWrite = Math.min(usage.cacheWrite, most - cached)
  const long = usage.cacheWriteLong === undefined ? {} : { cacheWriteLong: Math.min(usage.cacheWriteLong, cacheWrite) }
  return { cached, cacheWrite, audioInput: Math.min(usage.audioInput, most), ...long }
}

/** A report with at least as many searches of the provider's own as its answer has shown so far. */
export function withSearches(usage: Usage, shown: number): Usage {
  return shown > (usage.webSearches ?? 0) ? { ...usage, webSearches: shown } : usage
}

/** The sum of two counts of calls; undefined where there are none. */
export function addCalls(a: Usage['toolCalls'], b: Usage['toolCalls']): Usage['toolCalls'] {
  if (!a || !b) return a ?? b
  const sum: Partial<Record<PaidTool, number>> = { ...a }
  for (const tool of PAID_TOOLS) if (b[tool]) sum[tool] = (a[tool] ?? 0) + b[tool]
  return sum
}

function addPredicted(a: Usage['predicted'], b: Usage['predicted']): Usage['predicted'] {
  return { accepted: (a?.accepted ?? 0) + (b?.accepted ?? 0), rejected: (a?.rejected ?? 0) + (b?.rejected ?? 0) }
}

/** The sum of two turns of one exchange. */
export function addUsage(a: Usage, b: Usage): Usage {
  return {
    ...addCounts(a, b),
    ...(a.predicted || b.predicted ? { predicted: addPredicted(a.predicted, b.predicted) } : {}),
    ...(a.webSearches || b.webSearches ? { webSearches: (a.webSearches ?? 0) + (b.webSearches ?? 0) } : {}),
    ...(a.toolCalls || b.toolCalls ? { toolCalls: addCalls(a.toolCalls, b.toolCalls) } : {}),
    ...(a.others || b.others ? { others: [...(a.others ?? []), ...(b.others ?? [])] } : {}),
    ...(a.inputSplit || b.inputSplit ? { inputSplit: addSplits(a, b) } : {}),
    ...(a.estimated || b.estimated ? { estimated: true } : {}),
  }
}

/** Input that one side reports without a split counts as text, so that the kinds add up to the whole. */
function addSplits(a: Usage, b: Usage): InputSplit {
  const sum: Partial<Record<InputKind, number>> = {}
  for (const { inputSplit, input } of [a, b]) {
    for (const [kind, tokens] of Object.entries(inputSplit ?? (input > 0 ? { text: input } : {}))) {
      sum[kind as InputKind] = (sum[kind as InputKind] ?? 0) + tokens
    }
  }
  return sum
}

/** Counts that a provider states along with each piece of a stream. */
export interface RunningReport {
  /** Number that have come. */
  readonly taken: number
  /** The last one, parsed when it is read; undefined where it holds no counts. */
  readonly usage: Usage | undefined
}
