/** The hard filters: which endpoints may serve a request at all, each exclusion with its reason. */

import type { PriceMoment } from '../core/price.ts'
import { UNLISTED } from '../dialects/canon/parameters.ts'
import type { Endpoint } from './catalog/types.ts'
import type { Ceiling } from './ceiling.ts'
import { overCeiling, parseCeiling } from './ceiling.ts'
import type { MergedPreferences, SidedSlugs } from './merge.ts'
import type { Tier } from './slugs.ts'
import { listExcludes, listNames, listTags } from './slugs.ts'

/** Names of the filters, in the order in which they are asked. Who is removed by a late one passed all before it. */
export const FILTERS = [
  'status',
  'dialect',
  'tier',
  'input_modality',
  'output_modality',
  'context',
  'max_output',
  'only',
  'ignore',
  'order',
  'quantization',
  'require_parameters',
  'soft_parameters',
  'max_price',
  'distillable',
  'data_collection',
  'zdr',
  'guardrail',
] as const
export type FilterName = (typeof FILTERS)[number]

export interface Removed {
  readonly endpoint: Endpoint
  readonly filter: FilterName
  /** What about the endpoint did not fit, for people. */
  readonly detail: string
  /** Whose lists they were, where the filter is a list: `request`, or `request and account`. */
  readonly from?: string
}

/** What a request asks of an endpoint; absent members ask nothing. */
export interface RouteNeeds {
  readonly provider: MergedPreferences
  /** Tokens that the request needs to fit, and the output cap that the caller named. */
  readonly contextTokens?: number
  readonly maxOutput?: number
  readonly input?: Iterable<string>
  readonly output?: Iterable<string>
  /** Canonical names of the parameters that the caller sent. */
  readonly used?: ReadonlySet<string>
  /** Parameters that the endpoint's dialect sends; absent where it sends all that the endpoint takes. */
  readonly sent?: (endpoint: Endpoint) => ReadonlySet<string> | undefined
  /** What the endpoint's dialect cannot say at all although the request needs it, in words. */
  readonly unable?: (endpoint: Endpoint) => string | undefined
  /** Tiers opened by a variant such as `:nitro`. */
  readonly tiers?: ReadonlySet<Tier>
  /** Tier asked by `service_tier`. */
  readonly serviceTier?: Tier
  /** Decides between the prices of an endpoint that has several; its own where absent. */
  readonly priceMoment?: PriceMoment
  /** What a guardrail has against the endpoint, whose name is `from`. Asked last: only what would serve otherwise is its doing. */
  readonly barred?: (endpoint: Endpoint) => { readonly detail: string; readonly from: string } | undefined
  /** Endpoints that are out of service by the operator's word. */
  readonly unavailable?: (endpoint: Endpoint) => boolean
}

export interface Filtered {
  readonly kept: Endpoint[]
  readonly removed: Removed[]
}

/**
 * Applies every hard filter of contract sections 5.1 and 5.2; `kept` stays in catalogue order.
 * @throws Fault 400 naming the member of `max_price` that is no price.
 */
export function filterEndpoints(endpoints: readonly Endpoint[], needs: RouteNeeds): Filtered {
  const compiled = compile(needs)
  const removed: Removed[] = []
  const kept: Endpoint[] = []
  for (const endpoint of endpoints) {
    const reason = firstReason(endpoint, compiled)
    if (reason) removed.push({ endpoint, ...reason })
    else kept.push(endpoint)
  }
  return preferAble(onlyAskedTier(kept, needs, removed), needs, removed)
}

interface Reason {
  readonly filter: FilterName
  readonly detail: string
  readonly from?: string
}

interface Compiled {
  readonly needs: RouteNeeds
  readonly admitted: ReadonlySet<Tier>
  readonly ceiling: Ceiling
  readonly quantizations: ReadonlySet<string> | undefined
  /** What a list says against all that it leaves out: the same words for each. */
  readonly listReasons: Map<SidedSlugs, Reason>
}

/** A lower precision that other formats are a kind of. */
const FAMILIES: Readonly<Record<string, readonly string[]>> = { fp4: ['mxfp4', 'nvfp4'], fp8: ['mxfp8'] }
/** Sent parameters that an endpoint must take as soon as any candidate does. */
const SOFT_PARAMETERS = ['tools', 'response_format', 'verbosity'] as const
const NO_CEILING: Ceiling = []
const NO_TIERS: ReadonlySet<Tier> = new Set()
const ALL_TIERS: ReadonlySet<Tier> = new Set(['flex', 'priority'])

function compile(needs: RouteNeeds): Compiled {
  const { max_price: maxPrice, quantizations } = needs.provider
  return {
    needs,
    admitted: needs.serviceTier ? new Set([...(needs.tiers ?? []), needs.serviceTier]) : (needs.tiers ?? NO_TIERS),
    ceiling: maxPrice ? parseCeiling(maxPrice) : NO_CEILING,
    quantizations: quantizations?.length ? new Set(quantizations.flatMap((name) => [name, ...(FAMILIES[name] ?? [])])) : undefined,
    listReasons: new Map(),
  }
}

function firstReason(endpoint: Endpoint, compiled: Compiled): Reason | undefined {
  return byAbility(endpoint, compiled) ?? byLists(endpoint, compiled) ?? byTerms(endpoint, compiled)
}

function byAbility(endpoint: Endpoint, { needs, admitted }: Compiled): Reason | undefined {
  if (needs.unavailable?.(endpoint)) return { filter: 'status', detail: 'out of service' }
  const unable = needs.unable?.(endpoint)
  if (unable !== undefined) return { filter: 'dialect', detail: unable }
  if (endpoint.tier !== undefined && !tierOpen(endpoint, endpoint.tier, needs, admitted)) {
    return { filter: 'tier', detail: `serves the ${endpoint.tier} tier only` }
  }
  // Of a model that does not declare what it reads the provider decides.
  const input = needs.input && !endpoint.model.anyInput ? firstMissing(needs.input, endpoint.model.input) : undefined
  if (input) return { filter: 'input_modality', detail: `takes no ${input} input` }
  const output = needs.output && firstMissing(needs.output, endpoint.model.output)
  if (output) return { filter: 'output_modality', detail: `gives no ${output} output` }
  const context = endpoint.context ?? endpoint.model.context
  if (needs.contextTokens !== undefined && context !== undefined && needs.contextTokens > context) {
    return { filter: 'context', detail: `its context of ${context} tokens is shorter than ${needs.contextTokens}` }
  }
  const maxOutput = endpoint.maxOutput ?? endpoint.model.maxOutput
  if (needs.maxOutput !== undefined && maxOutput !== undefined && needs.maxOutput > maxOutput) {
    return { filter: 'max_output', detail: `writes at most ${maxOutput} tokens` }
  }
  return undefined
}

function tierOpen(endpoint: Endpoint, tier: Tier, needs: RouteNeeds, admitted: ReadonlySet<Tier>): boolean {
  if (admitted.has(tier)) return true
  const { order, only } = needs.provider
  return (order && listTags(order, endpoint)) || only.some((list) => listTags(list.slugs, endpoint))
}

function byLists(endpoint: Endpoint, { needs, admitted, listReasons }: Compiled): Reason | undefined {
  const { order, allow_fallbacks: fallbacks, only, ignore } = needs.provider
  if (only.length > 0 || ignore.length > 0) {
    const against = excludingLists(endpoint, needs.provider)
    if (against.length > 0) return listReason(against, listReasons)
  }
  // Without fallbacks the order list is all that there is.
  if (fallbacks === false && order?.length && !listNames(order, endpoint, admitted)) {
    return { filter: 'order', detail: `order without fallbacks: [${shown(order)}]` }
  }
  return undefined
}

interface ExcludingList {
  readonly filter: 'only' | 'ignore'
  readonly list: SidedSlugs
}

/** Every side's list that leaves the endpoint out, so that an error can name them all. */
function excludingLists(endpoint: Endpoint, { only, ignore }: MergedPreferences): ExcludingList[] {
  const against: ExcludingList[] = []
  for (const list of only) {
    // A tier endpoint that came so far was asked for: a side that names its provider has nothing against it.
    if (!listNames(list.slugs, endpoint, ALL_TIERS)) against.push({ filter: 'only', list })
  }
  for (const list of ignore) {
    if (listExcludes(list.slugs, endpoint)) against.push({ filter: 'ignore', list })
  }
  return against
}

function listReason(against: readonly ExcludingList[], known: Map<SidedSlugs, Reason>): Reason {
  const [{ list: only }] = against
  if (against.length > 1) return reasonOf(against)
  const reason = known.get(only) ?? reasonOf(against)
  known.set(only, reason)
  return reason
}

function reasonOf(against: readonly ExcludingList[]): Reason {
  const names = against.map(({ filter, list }) => `${filter} of the ${list.from}: [${shown(list.slugs)}]`)
  return { filter: against[0].filter, detail: names.join(' and '), from: [...new Set(against.map(({ list }) => list.from))].join(' and ') }
}

function shown(slugs: readonly string[]): string {
  return slugs.length > 8 ? `${slugs.slice(0, 8).join(', ')}, …` : slugs.join(', ')
}

function byTerms(endpoint: Endpoint, { needs, ceiling, quantizations }: Compiled): Reason | undefined {
  const wanted = needs.provider
  if (quantizations && !quantizations.has(endpoint.quantization)) {
    return { filter: 'quantization', detail: `its quantization is ${endpoint.quantization}` }
  }
  if (wanted.require_parameters && needs.used) {
    const missing = missingFrom(needs.used, endpoint, needs)
    if (missing) return { filter: 'require_parameters', detail: `does not take ${missing}` }
  }
  const over = overCeiling(endpoint, ceiling, needs.priceMoment)
  if (over) return { filter: 'max_price', detail: over }
  if (wanted.enforce_distillable_text && !endpoint.model.distillable) {
    return { filter: 'distillable', detail: 'its author is not known to allow distillation' }
  }
  if (wanted.data_collection === 'deny' && endpoint.provider.dataCollection !== 'deny') {
    return { filter: 'data_collection', detail: 'its provider may collect data' }
  }
  if (wanted.zdr && !endpoint.provider.zdr) return { filter: 'zdr', detail: 'its provider does not promise zero retention' }
  const bar = needs.barred?.(endpoint)
  if (bar) return { filter: 'guardrail', ...bar }
  return undefined
}

function firstMissing(wanted: Iterable<string>, offered: readonly string[]): string | undefined {
  for (const name of wanted) if (!offered.includes(name)) return name
  return undefined
}

/** Parameters that `supported_parameters` may list under another name. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  max_tokens: 'max_completion_tokens',
  reasoning: 'reasoning_effort',
  response_format: 'structured_outputs',
}

/** True where the parameter reaches the provider and the endpoint takes it there. */
function takes(endpoint: Endpoint, name: string, needs: RouteNeeds): boolean {
  const { supported } = endpoint
  const other = OTHER_NAMES[name]
  const listed = supported === undefined || UNLISTED.has(name) || supported.has(name) || (other !== undefined && supported.has(other))
  if (!listed || needs.sent?.(endpoint)?.has(name) === false) return false
  const { drop } = endpoint.quirks ?? endpoint.provider.quirks
  return drop?.includes(name) !== true
}

function missingFrom(used: ReadonlySet<string>, endpoint: Endpoint, needs: RouteNeeds): string | undefined {
  for (const name of used) if (!takes(endpoint, name, needs)) return name
  return undefined
}

/** `service_tier: flex` uses flex endpoints alone where there are any (contract section 5.5). */
function onlyAskedTier(kept: Endpoint[], needs: RouteNeeds, removed: Removed[]): Endpoint[] {
  if (needs.serviceTier !== 'flex' || !kept.some((endpoint) => endpoint.tier === 'flex')) return kept
  return kept.filter((endpoint) => {
    if (endpoint.tier === 'flex') return true
    removed.push({ endpoint, filter: 'tier', detail: 'the flex tier was asked for' })
    return false
  })
}

/** Leaves out who cannot take tools, an output format or verbosity, as long as another candidate can. */
function preferAble(kept: Endpoint[], needs: RouteNeeds, removed: Removed[]): Filtered {
  let able = kept
  for (const name of SOFT_PARAMETERS) {
    if (able.length < 2 || !needs.used?.has(name)) continue
    const next = able.filter((endpoint) => takes(endpoint, name, needs))
    if (next.length === 0 || next.length === able.length) continue
    for (const endpoint of able)
      if (!next.includes(endpoint)) removed.push({ endpoint, filter: 'soft_parameters', detail: `does not take ${name}` })
    able = next
  }
  return { kept: able, removed }
}
