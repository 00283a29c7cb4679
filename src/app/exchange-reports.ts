/** Reports of an exchange to the operator's log beside its own line. */
import type { Clock } from '../core/clock.ts'
import type { Fault } from '../core/faults.ts'
import { type LogSink, stackWithoutMessage } from '../core/log.ts'
import { counter, type MetricRegistry, open } from '../machines/metrics/metrics.ts'
import { countAttempt } from '../pipeline/attempt/attempt.ts'
import type { ChainDependencies } from '../pipeline/dependencies.ts'
import type { ByokReports } from '../services/byok/byok-keys.ts'
import type { EventSources } from '../services/events/index.ts'
import type { PoolsOptions } from '../services/upstream/pools.ts'

const unrecoveredUsd = counter('unrecovered_usd_total', 'Usage in USD that no limit or budget of its key could pay.', { perUnit: 1e9 })

const disputedUsd = counter('disputed_usd_total', 'Usage in USD that providers reported and that is more than the request can have used.', {
  perUnit: 1e9,
})

const accountRefusals = counter('account_refusals_total', "Calls that a provider refused for the sake of the gateway's account there.", {
  labels: [open('provider'), open('problem')],
  limit: 48,
})

const unknownWords = counter(
  'unknown_words_total',
  'Replies in which a provider sent a word that is not known, by what it is in the format.',
  {
    labels: [open('provider'), open('kind')],
    limit: 42,
  },
)

/** Trouble with the account, and the remedy: for the log. */
const REMEDIES: Partial<Record<Fault['code'], string>> = {
  upstream_auth: 'its key is wrong: put a valid one at `setting`, or into the variable that it names',
  credential_refused:
    'the provider refuses its identity: replace the credential at `setting`, or check the rights of that identity and the clock of this machine',
  upstream_rights: 'it lacks the right or the model: have it granted there',
  upstream_credit: 'it is out of credit: pay there, or raise its spending limit',
  upstream_account: 'it cannot be used: it is on hold, suspended or lacks a setting',
  upstream_quota: 'the request is larger than it may send in a minute: raise its tier there',
  upstream_region: 'the provider does not serve the place that the gateway calls from',
}

export function exchangeReports(
  metrics: MetricRegistry,
  logs: LogSink,
  events: Pick<EventSources, 'accountRefused' | 'ledgerLoss' | 'unknownWord'>,
): Pick<ChainDependencies, 'alarm' | 'unknownWords' | 'overrun' | 'pluginFailure'> {
  return {
    alarm: ({ slug, key, credential }, { code, isEchoed }, denial) => {
      const setting = `providers.${slug}.${key === undefined && credential ? (credential.another ? 'keys' : 'credential') : 'key'}`
      const facts = { provider: slug, fault: code, setting, remedy: REMEDIES[code], ...(denial === undefined ? {} : { denial }) }
      if (isEchoed) {
        logs.log.warn(facts, "a provider's error may be about the gateway's account there: its words stand in the request as well")
        return
      }
      logs.log.error(facts, "a provider refused the gateway's own key or account")
      metrics.of(accountRefusals).series(slug, code).add()
      events.accountRefused(slug, code, setting)
    },
    unknownWords: ({ slug }, words) => {
      for (const { kind, word } of words) {
        metrics.of(unknownWords).series(slug, kind).add()
        if (!events.unknownWord(slug, kind, word)) continue
        logs.log.warn({ provider: slug, kind, word }, 'a provider sent a word that is not known')
      }
    },
    overrun: (of, { excess, unrecovered, disputed }) => {
      const { generation: id, provider } = of
      countAttempt(metrics, provider, 'overrun')
      const log = logs.part('ledger')
      if (excess > 0) log.error({ gen: id, provider, nano: excess }, 'a provider used more than its request allowed')
      if (disputed > 0) {
        metrics.of(disputedUsd).add(disputed)
        log.error({ gen: id, provider, disputed_nano: disputed }, 'a provider reported more usage than is possible')
        events.ledgerLoss('disputed', disputed, of)
      }
      if (unrecovered === 0) return
      metrics.of(unrecoveredUsd).add(unrecovered)
      log.error({ gen: id, provider, unrecovered_nano: unrecovered }, 'usage beyond what the limits of the key could pay')
      events.ledgerLoss('unrecovered', unrecovered, of)
    },
    pluginFailure: (exchange, { cause, ...failure }) =>
      logs.part('plugins').warn({ gen: exchange.head.id, ...failure, cause: stackWithoutMessage(cause) }, 'a plugin failed'),
  }
}

/** Keys that teams have brought: the entry is named, and nothing of its key. */
export function byokReports({ log }: LogSink, events: Pick<EventSources, 'accountRefused'>): ByokReports {
  return {
    unusable: ({ id, provider }) => {
      log.error(
        { provider, byok: id, remedy: `give byok.encryption_keys the key that it was encrypted with, or write it anew` },
        'a key that a team brought cannot be decrypted',
      )
      events.accountRefused(provider, 'byok_unusable', `byok/${id}`)
    },
    refused: ({ id, provider }, { code }) => {
      log.warn({ provider, byok: id, fault: code }, 'a provider refused a key that a team brought')
      events.accountRefused(provider, code, `byok/${id}`)
    },
  }
}

const surplus = counter('upstream_surplus_total', 'Times that a provider has sent bytes which nothing requested.')

/** Milliseconds between two lines about files that the gateway may not open. */
const EXHAUSTED_EVERY = 10_000

/** Reports of connections to providers beside the fate of a request. */
export function connectionReports(metrics: MetricRegistry, logs: LogSink, clock: Clock): Pick<PoolsOptions, 'onSurplus' | 'onExhausted'> {
  let silentUntil = 0
  return {
    // They may be the reply to someone else.
    onSurplus: (origin) => {
      metrics.of(surplus).add()
      logs.log.warn({ origin }, 'a provider sent bytes that nothing requested')
    },
    onExhausted: (code) => {
      if (clock.monotonic() < silentUntil) return
      silentUntil = clock.monotonic() + EXHAUSTED_EVERY
      logs.log.error({ cause: code }, 'the gateway cannot open more connections: raise its limit of open files')
    },
  }
}
