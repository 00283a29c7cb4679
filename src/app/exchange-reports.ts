/** What an exchange reports to the operator's log beside its own line. */
import { type LogSink, stackWithoutMessage } from '../core/log.ts'
import { counter, type Tallies } from '../core/metrics.ts'
import { countAttempt } from '../pipeline/attempt/attempt.ts'
import type { ChainDependencies } from '../pipeline/dependencies.ts'

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
