/** One scenario from its first arrival to its last answer. */
import { entryAt } from '../../src/core/entry-at.ts'
import { CallerConnection } from './caller-connection.ts'
import { seededChance } from './chance.ts'
import { MINUTE, PRICE_MINUTES, type ProviderName } from './market.ts'
import { type Call, Providers } from './providers.ts'
import type { Scenario } from './scenarios.ts'
import { SimulatedGateway } from './simulated-gateway.ts'
import { type Asked, traffic } from './traffic.ts'
import type { Span } from './troubles.ts'
import { VirtualClock } from './virtual-clock.ts'
import { withVirtualTimers } from './virtual-timers.ts'

export interface RunSettings {
  /** Requests in all. */
  readonly requests: number
  readonly seed: number
  /** Minutes of the hour that are simulated. */
  readonly span: Span
}

/** Course of one request, as its caller and the providers saw it. */
export interface Outcome {
  readonly asked: Asked
  readonly served: boolean
  readonly status: number
  /** Upstream calls that it led to. */
  readonly calls: number
  /** Provider that served it. */
  readonly by: ProviderName | undefined
  /** Milliseconds until the first content beyond what the serving provider itself took; undefined where it failed. */
  readonly addedMs: number | undefined
}

export interface HourRun {
  readonly scenario: Scenario
  readonly settings: RunSettings
  /** In order of arrival. */
  readonly outcomes: readonly Outcome[]
  /** In order of time. */
  readonly calls: readonly Call[]
  /** Nano-dollars charged to the caller. */
  readonly spent: number
}

/** The wall clock at the first minute of the hour. */
const EPOCH = Date.UTC(2026, 0, 5, 12)

/** @throws Error where the gateway itself failed, or a request was never answered. */
export async function simulate(scenario: Scenario, settings: RunSettings): Promise<HourRun> {
  const { requests, seed, span } = settings
  // Each source of chance is its own, so that arrivals stay the same whatever the routing does.
  const clock = new VirtualClock(seededChance(seed * 4 + 1), EPOCH, span.from * MINUTE)
  const providers = new Providers(clock, seededChance(seed * 4 + 2), scenario.troubles)
  const asked = traffic(requests, span, scenario.mix, seededChance(seed * 4 + 3))
  const gateway = new SimulatedGateway(clock, providers, span.from)
  for (const minute of PRICE_MINUTES) {
    if (minute > span.from && minute < span.to) clock.after((minute - span.from) * MINUTE, () => gateway.reload(minute))
  }
  const connections: CallerConnection[] = []
  let answered = 0
  const arrive = (number: number): void => {
    const request = asked[number]
    if (request === undefined) return
    clock.after(request.at - clock.monotonic(), () => {
      const connection = new CallerConnection(clock, request.body)
      connections.push(connection)
      gateway.ask(connection).then(
        () => answered++,
        (error: unknown) => gateway.broken.push(error),
      )
      arrive(number + 1)
    })
  }
  arrive(0)
  const over = (): boolean => answered === asked.length || gateway.broken.length > 0
  await withVirtualTimers(clock, () => clock.run(over, () => gateway.busy))
  if (gateway.broken.length > 0) throw new Error(`scenario ${scenario.name}: the gateway failed`, { cause: gateway.broken[0] })
  return {
    scenario,
    settings,
    outcomes: callerOutcomes(asked, connections, providers.calls),
    calls: providers.calls,
    spent: gateway.spent(),
  }
}

function callerOutcomes(asked: readonly Asked[], connections: readonly CallerConnection[], calls: readonly Call[]): Outcome[] {
  const counts = new Uint16Array(asked.length)
  const last: Call[] = []
  for (const call of calls) {
    counts[call.request] = entryAt(counts, call.request) + 1
    last[call.request] = call
  }
  return asked.map((request, number) => {
    const { served, status, firstAt, ended } = entryAt(connections, number)
    const call = served ? last[number] : undefined
    if (!ended || (served && call?.outcome !== 'ok')) throw new Error(`request ${number} was answered by nobody`)
    const addedMs = call && firstAt - request.at - (call.contentAt - call.at)
    return { asked: request, served, status, calls: entryAt(counts, number), by: call?.provider, addedMs }
  })
}
