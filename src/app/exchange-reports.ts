/** What an exchange reports to the operator's log beside its own line. */
import { type LogSink, stackWithoutMessage } from '../core/log.ts'
import { counter, type Tallies } from '../core/metrics.ts'
import { countAttempt } from '../pipeline/attempt/attempt.ts'
import type { ChainDependencies } from '../pipeline/dependencies.ts'
import type { EventRecorders } from '../server/witness.ts'

const unrecoveredUsd = counter('unrecovered_usd_total', 'Usage in USD that no limit or budget of its key could pay.', { perUnit: 1e9 })

const disputedUsd = counter('disputed_usd_total', 'Usage in USD that providers reported and that is more than the request can have used.', {
  perUnit: 1e9,
})

export function exchangeReports(
  tallies: Tallies,
  logs: LogSink,
  events: Pick<EventRecorders['sources'], 'ledgerLoss'>,
): Pick<ChainDependencies, 'alarm' | 'overrun' | 'pluginFailure'> {
  return {
    alarm: ({ slug }, { code }, denial) =>
      logs.log.error(
        { provider: slug, fault: code, ...(denial === undefined ? {} : { denial }) },
        "a provider refused the gateway's own key",
      ),
    overrun: (exchange, { excess, unrecovered, disputed }) => {
      const {
        head: { id },
        auth: { key },
        run: { committedEndpoint, lastTurn },
      } = exchange
      const provider = (committedEndpoint ?? lastTurn?.endpoint)?.provider.slug ?? ''
      const of = { generation: id, key: key.identity, provider }
      countAttempt(tallies, provider, 'overrun')
      const log = logs.part('ledger')
      if (excess > 0) log.error({ gen: id, provider, nano: excess }, 'a provider used more than its request allowed')
      if (disputed > 0) {
        tallies.of(disputedUsd).add(disputed)
        log.error({ gen: id, provider, disputed_nano: disputed }, 'a provider reported more usage than is possible')
        events.ledgerLoss('disputed', disputed, of)
      }
      if (unrecovered === 0) return
      tallies.of(unrecoveredUsd).add(unrecovered)
      log.error({ gen: id, provider, unrecovered_nano: unrecovered }, 'usage beyond what the limits of the key could pay')
      events.ledgerLoss('unrecovered', unrecovered, of)
    },
    pluginFailure: (exchange, { cause, ...failure }) =>
      logs.part('plugins').warn({ gen: exchange.head.id, ...failure, cause: stackWithoutMessage(cause) }, 'a plugin failed'),
  }
}
