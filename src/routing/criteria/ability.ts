/** Abilities of an endpoint: that it is in service, its wire format, what its model reads and writes, and how much. */
import type { Endpoint, Model } from '../catalog/types.ts'
import { type CountedInput, criterion } from './criterion.ts'

export const status = criterion({
  name: 'status',
  refusal: { code: 'no_endpoints' },
  removes: 'that is out of service',
  need: 'unavailable',
  demand: (_preferences, { unavailable }) => unavailable,
  test: (endpoint, unavailable) => !unavailable(endpoint),
  explain: () => 'out of service',
})

export const dialect = criterion({
  name: 'dialect',
  refusal: { code: 'constraint_filtered', field: 'tools' },
  removes: "whose format cannot express something that the request needs, such as another provider's own tool",
  need: 'unable',
  demand: (_preferences, { unable }) => unable,
  test: (endpoint, unable) => unable(endpoint) === undefined,
  explain: (endpoint, unable) => unable(endpoint) ?? '',
})

export const inputModality = criterion({
  name: 'input_modality',
  refusal: { code: 'constraint_filtered', field: 'input' },
  removes: 'whose model does not accept an image, audio, video or file of the request',
  need: 'input',
  demand: (_preferences, { input }) => input,
  // Of a model that does not declare what it reads the provider decides.
  test: ({ model }, input) => model.anyInput === true || firstMissing(input, model.input) === undefined,
  explain: ({ model }, input) => `takes no ${firstMissing(input, model.input)} input`,
})

export const outputModality = criterion({
  name: 'output_modality',
  refusal: { code: 'constraint_filtered', field: 'modalities' },
  removes: 'whose model cannot produce what `modalities` names',
  need: 'output',
  demand: (_preferences, { output }) => output,
  test: ({ model }, output) => firstMissing(output, model.output) === undefined,
  explain: ({ model }, output) => `gives no ${firstMissing(output, model.output)} output`,
})

function firstMissing(wanted: Iterable<string>, offered: readonly string[]): string | undefined {
  for (const name of wanted) if (!offered.includes(name)) return name
  return undefined
}

export const context = criterion({
  name: 'context',
  refusal: { code: 'constraint_filtered', excludedBy: 'context_length', field: 'input' },
  removes:
    'whose context is too short for the input, and if another endpoint has room for input and output cap together, those that may not have it; otherwise the cap is lowered to what is left. With `require_parameters` the cap is part of what must fit',
  need: 'contextTokens',
  demand: (_preferences, { contextTokens, counted, maxOutput: cap = 0, wholeCap: strict = false }) =>
    contextTokens === undefined ? undefined : { input: contextTokens, counted, cap, strict },
  test: (endpoint, need) => (need.strict ? hasRoom(endpoint, need) : mayFit(endpoint, need)),
  explain: (endpoint, need) => tooShort(endpoint, need),
  inferior(kept, need) {
    if (need.strict || !kept.some((endpoint) => hasRoom(endpoint, need))) return undefined
    const removed = new Map<Endpoint, string>()
    for (const endpoint of kept) if (!hasRoom(endpoint, need)) removed.set(endpoint, tooShort(endpoint, need))
    return removed
  },
})

/**
 * Factor by which the estimate of an input may be too high: it counts 3 letters a token, and hardly any text has more than 9. An input that fits
 * by this share of it may fit, and the provider decides.
 */
const ESTIMATE_EXCESS = 3

/** Share of an input by which a server's count may be too high: what a template writes can depend on more than is counted. */
const COUNT_EXCESS = 1 / 32

/** True where the input may fit, with one token of output. */
function mayFit(endpoint: Endpoint, { input, counted }: TokenNeed): boolean {
  const least = counted?.model === endpoint.model ? Math.ceil(counted.tokens * (1 - COUNT_EXCESS)) : Math.ceil(input / ESTIMATE_EXCESS)
  return least < (endpoint.context ?? Number.POSITIVE_INFINITY)
}

/** Share of a context from which on the estimate of an input decides more than it knows. */
const NEAR_END = 1 / 2
/** Multiple of the context that an estimate may be for an input that a count may show to fit: 48 letters a token. */
const FAR_BEYOND = 16

/** True where input and cap may not fit by the estimate, and it is the input that makes the difference: any, where no cap may be lowered. */
export function isNearEnd(endpoint: Endpoint, need: TokenNeed, strict: boolean): boolean {
  const { context } = endpoint
  if (context === undefined || hasRoom(endpoint, need)) return false
  return need.input > (strict ? 0 : context * NEAR_END) && need.input < context * FAR_BEYOND
}

/** Tokens of the input at this endpoint: as its model's server has counted them, else as they are estimated. */
const inputAt = (endpoint: Endpoint, { input, counted }: TokenNeed): number => (counted?.model === endpoint.model ? counted.tokens : input)

export function hasRoom(endpoint: Endpoint, need: TokenNeed): boolean {
  return tokensAt(endpoint, need) <= (endpoint.context ?? Number.POSITIVE_INFINITY)
}

function tooShort(endpoint: Endpoint, need: TokenNeed): string {
  return `its context of ${endpoint.context} tokens is shorter than ${tokensAt(endpoint, need)}`
}

/** Share of a context that is left for the output where the estimate of the input leaves less: it is rather too high than too low. */
const MIN_ROOM = 1 / 16

/** The output cap that fits into what the input leaves of the endpoint's context: the whole one where that has room. */
export function capWithin(endpoint: Endpoint, need: TokenNeed): number {
  const { context } = endpoint
  if (context === undefined || hasRoom(endpoint, need)) return need.cap
  const least = need.counted?.model === endpoint.model ? 1 : Math.ceil(context * MIN_ROOM)
  return Math.min(need.cap, Math.max(context - inputAt(endpoint, need), least))
}

/** Tokens of a request's input, and its output cap. */
export interface TokenNeed {
  /** Estimated. */
  readonly input: number
  readonly counted?: CountedInput | undefined
  /** 0 where the caller sets none. */
  readonly cap: number
}

/** Tokens that the request needs at this endpoint: a cap above what the endpoint writes is lowered to that. */
export function tokensAt(endpoint: Endpoint, need: TokenNeed): number {
  return inputAt(endpoint, need) + Math.min(need.cap, endpoint.maxOutput ?? need.cap)
}

/**
 * A cap above what the endpoint writes is lowered to that, since agents send one cap for every model. Where parameters have to
 * be honoured such an endpoint is removed, and otherwise only where another one of the same model writes as much as was requested.
 */
export const maxOutput = criterion({
  name: 'max_output',
  refusal: { code: 'constraint_filtered', field: 'max_output_tokens', badRequest: true },
  removes:
    'whose `max_output` is below the output cap that the request sets, with `require_parameters` or if another endpoint of the same model writes as much; otherwise the cap is lowered',
  need: 'maxOutput',
  demand: ({ require_parameters: strict }: { readonly require_parameters?: boolean | null }, { maxOutput: cap }) =>
    cap === undefined ? undefined : { cap, strict: strict === true },
  test: (endpoint, { cap, strict }) => !strict || writes(endpoint, cap),
  explain: (endpoint) => lessThanCap(endpoint),
  inferior(kept, { cap, strict }) {
    if (strict) return undefined
    const able = new Set<Model>()
    for (const endpoint of kept) if (writes(endpoint, cap)) able.add(endpoint.model)
    const removed = new Map<Endpoint, string>()
    for (const endpoint of kept) if (able.has(endpoint.model) && !writes(endpoint, cap)) removed.set(endpoint, lessThanCap(endpoint))
    return removed
  },
})

const writes = (endpoint: Endpoint, tokens: number): boolean => tokens <= (endpoint.maxOutput ?? Number.POSITIVE_INFINITY)
const lessThanCap = (endpoint: Endpoint): string => `writes at most ${endpoint.maxOutput} tokens`
