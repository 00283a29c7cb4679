/** What an exchange reports to the operator's log beside its own line. */
import type { Clock } from '../core/clock.ts'
import { type LogSink, stackWithoutMessage } from '../core/log.ts'
import { counter, type Tallies } from '../core/metrics.ts'
import { countAttempt } from '../pipeline/attempt/attempt.ts'
import type { ChainDependencies } from '../pipeline/dependencies.ts'
import type { PoolsOptions } from '../services/upstream/pools.ts'

const unrecoveredUsd = counter('unrecovered_usd_total', 'Usage in USD that no limit or budget of its key could pay.', { perUnit: 1e9 })

export function exchangeReports(tallies: Tallies, logs: LogSink): Pick<ChainDependencies, 'alarm' | 'overrun' | 'pluginFailure'> {
  return {
    alarm: ({ slug }, { code }, denial) =>
      logs.log.error(
        { provider: slug, fault: code, ...(denial === undefined ? {} : { denial }) },
        "a provider refused the gateway's own key",
      ),
    overrun: (exchange, { excess, unrecovered }) => {
      const provider = exchange.run.committedEndpoint?.provider.slug ?? ''
      countAttempt(tallies, provider, 'overrun')
      logs.part('ledger').error({ gen: exchange.head.id, provider, nano: excess }, 'a provider used more than its request allowed')
      if (unrecovered === 0) return
      tallies.of(unrecoveredUsd).add(unrecovered)
      const facts = { gen: exchange.head.id, provider, unrecovered_nano: unrecovered }
      logs.part('ledger').error(facts, 'usage beyond what the limits of the key could pay')
    },
    pluginFailure: (exchange, { cause, ...failure }) =>
      logs.part('plugins').warn({ gen: exchange.head.id, ...failure, cause: stackWithoutMessage(cause) }, 'a plugin failed'),
  }
}

const surplus = counter('upstream_surplus_total', 'Times that a provider has sent bytes which nothing requested.')

/** Milliseconds between two lines about files that the gateway may not open. */
const EXHAUSTED_EVERY = 10_000

/** What connections to providers report beside the fate of a request. */
export function connectionReports(tallies: Tallies, logs: LogSink, clock: Clock): Pick<PoolsOptions, 'onSurplus' | 'onExhausted'> {
  let silentUntil = 0
  return {
    // They may be the reply to someone else.
    onSurplus: (origin) => {
      tallies.of(surplus).add()
      logs.log.warn({ origin }, 'a provider sent bytes that nothing requested')
    },
    onExhausted: (code) => {
      if (clock.monotonic() < silentUntil) return
      silentUntil = clock.monotonic() + EXHAUSTED_EVERY
      logs.log.error({ cause: code }, 'the gateway cannot open more connections: raise its limit of open files')
    },
  }
}
