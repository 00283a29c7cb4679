/** Sums over a simulated hour: by span of minutes, and how trouble ended. */
import { entryAt } from '../../src/core/entry-at.ts'
import type { HourRun, Outcome } from './hour.ts'
import { fairShares, MINUTE, MODELS, type ModelSlug, PRICE_MINUTES, PROVIDERS, type ProviderName } from './market.ts'
import type { Scenario } from './scenarios.ts'
import type { Span } from './troubles.ts'

export interface SpanFigures extends Span {
  readonly requests: number
  /** Percent of the requests. */
  readonly success: number
  readonly callsPerRequest: number
  /** Milliseconds of waiting added to the serving provider's own, among the served. */
  readonly addedP50: number
  readonly addedP99: number
  /** Percent of the served requests. */
  readonly shares: Readonly<Record<ProviderName, number>>
}

const within = (at: number, { from, to }: Span): boolean => at >= from * MINUTE && at < to * MINUTE

/** The figures of the requests that arrived in the span. */
export function spanFigures(run: HourRun, span: Span): SpanFigures {
  const outcomes = run.outcomes.filter(({ asked }) => within(asked.at, span))
  const served = outcomes.filter((outcome) => outcome.served)
  const added = Float64Array.from(served, ({ addedMs }) => addedMs ?? 0).sort()
  const calls = outcomes.reduce((sum, outcome) => sum + outcome.calls, 0)
  return {
    ...span,
    requests: outcomes.length,
    success: percent(served.length, outcomes.length),
    callsPerRequest: calls / Math.max(1, outcomes.length),
    addedP50: percentile(added, 0.5),
    addedP99: percentile(added, 0.99),
    shares: shares(served),
  }
}

function shares(served: readonly Outcome[]): Record<ProviderName, number> {
  const count = (name: ProviderName): number => served.reduce((sum, { by }) => sum + (by === name ? 1 : 0), 0)
  const share = (name: ProviderName): number => percent(count(name), served.length)
  return { alpha: share('alpha'), bravo: share('bravo'), charlie: share('charlie'), delta: share('delta'), echo: share('echo') }
}

const percent = (part: number, whole: number): number => (whole === 0 ? 0 : (part / whole) * 100)

/** Nearest rank; 0 where there is nothing. */
export function percentile(sorted: Float64Array, share: number): number {
  return sorted.length === 0 ? 0 : entryAt(sorted, Math.max(0, Math.ceil(share * sorted.length) - 1))
}

/** The spans between changes of prices and of the trouble, within what was simulated. */
export function hourSpans({ scenario, settings }: HourRun): Span[] {
  const { from, to } = settings.span
  const { window } = scenario
  const cuts = new Set([from, to, ...PRICE_MINUTES, window.from, window.to])
  const minutes = [...cuts].filter((minute) => minute >= from && minute <= to).sort((a, b) => a - b)
  return minutes.slice(1).map((end, at) => ({ from: entryAt(minutes, at), to: end }))
}

/** Providers in trouble in the scenario's window. */
export function troubled({ troubles, window }: Scenario): ProviderName[] {
  return PROVIDERS.filter((name) =>
    troubles.some(({ provider, from, to }) => provider === name && from === window.from && to === window.to),
  )
}

/** Seconds from the window's end until the provider has served each of its models again; Infinity where it never did. */
export function recoverySeconds({ calls, scenario }: HourRun, provider: ProviderName): number {
  const end = scenario.window.to * MINUTE
  const models = (Object.keys(MODELS) as ModelSlug[]).filter((model) => MODELS[model].providers.includes(provider))
  const firsts = models.map((model) => {
    const first = calls.find((call) => call.at >= end && call.provider === provider && call.model === model && call.outcome === 'ok')
    return first ? (first.at - end) / 1000 : Number.POSITIVE_INFINITY
  })
  return Math.max(...firsts)
}

/** Seconds from the window's end until the last arrival of a request that failed; 0 where none did. */
export function lastFailureSeconds({ outcomes, scenario }: HourRun): number {
  const end = scenario.window.to * MINUTE
  const last = outcomes.findLast(({ asked, served }) => asked.at >= end && !served)
  return last ? (last.asked.at - end) / 1000 : 0
}

/** Whom the routing chose freely for the large model: what the law of the draw is about. */
function freeChoices(run: HourRun, span: Span): Outcome[] {
  return run.outcomes.filter(
    ({ asked, served }) => served && within(asked.at, span) && asked.model === 'acme/large' && !asked.pinned && !asked.hurried,
  )
}

/** The provider's share of the free choices in the span, over the share that the law gives it. */
export function shareOfFair(run: HourRun, provider: ProviderName, span: Span): number {
  const fair = fairShares('acme/large', span.from).get(provider) ?? 0
  return shares(freeChoices(run, span))[provider] / 100 / fair
}

/** The largest difference of a share from the law, in percentage points, over all spans. */
export function worstShareError(run: HourRun): number {
  const errors = hourSpans(run).flatMap((span) => {
    const found = shares(freeChoices(run, span))
    return PROVIDERS.map((provider) => Math.abs(found[provider] - (fairShares('acme/large', span.from).get(provider) ?? 0) * 100))
  })
  return Math.max(...errors)
}

/** The slow provider's share among callers in a hurry, over its share among the others, in the window. */
export function avoidance(run: HourRun, provider: ProviderName): number {
  const served = run.outcomes.filter(({ asked, served }) => served && within(asked.at, run.scenario.window) && !asked.pinned)
  const hurried = shares(served.filter(({ asked }) => asked.hurried))[provider]
  return hurried / shares(served.filter(({ asked }) => !asked.hurried))[provider]
}

/** Percent of the provider's calls in the window that came although it had asked for a pause. */
export function unwelcomeCalls({ calls, scenario }: HourRun, provider: ProviderName): number {
  const own = calls.filter((call) => call.provider === provider && within(call.at, scenario.window))
  return percent(own.filter((call) => call.unwelcome).length, own.length)
}
