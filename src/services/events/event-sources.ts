/** Makes events of what the parts of a process report, so that none of them comes more often than a receiver can bear. */
import { hostname } from 'node:os'
import type { Clock } from '../../core/clock.ts'
import {
  CONFIGURATION_REFUSED,
  CONFIGURATION_RELOADED,
  DRAIN_BEGUN,
  GUARDRAIL_HIT,
  LEDGER_LOSS,
  LEDGER_PROBLEM,
  PROVIDER_ACCOUNT,
  PROVIDER_EJECTED,
  PROVIDER_RESTORED,
  UNKNOWN_WORD,
} from '../../core/event-types.ts'
import { usdText } from '../../core/money-text.ts'
import type { EventLog } from './event-log.ts'

interface EndpointName {
  readonly id: string
  readonly wildcardId?: string | undefined
  readonly provider: { readonly slug: string }
  readonly model: { readonly slug: string }
}

export interface GuardrailHit {
  readonly name: string
  readonly action: string
  readonly direction: string
  readonly stage: string
  readonly entities: readonly string[]
}

/** Milliseconds from one event of a kind to the next of the same. */
const PAUSE = 60_000
/** Endpoints, and kinds of events, that are remembered. */
const MAX_REMEMBERED = 4_096

/** Words of one provider, which may send any. */
const MAX_WORDS = 64

/** Reports of the bookkeeping that need no look. */
const FINE: ReadonlySet<string> = new Set(['pruned', 'record-back', 'lease-freed'])

export class EventSources {
  /** True once the process drains. */
  draining = false
  private readonly log: EventLog
  private readonly clock: Clock
  private readonly process = `${hostname()} ${process.pid}`
  private readonly ejected = new Set<string>()
  /** Words by provider. */
  private readonly unknown = new Map<string, Set<string>>()
  /** When a kind was raised last, monotonic milliseconds, and how often it has come since. */
  private readonly recent = new Map<string, { at: number; since: number }>()

  constructor(log: EventLog, clock: Clock) {
    this.log = log
    this.clock = clock
  }

  /** Once until the endpoint is restored, however often it is ejected anew. */
  endpointEjected(endpoint: EndpointName): void {
    const id = endpoint.wildcardId ?? endpoint.id
    if (this.ejected.has(id)) return
    if (this.ejected.size >= MAX_REMEMBERED) {
      this.log.drop()
      return
    }
    this.ejected.add(id)
    this.log.raise(PROVIDER_EJECTED.make({ at: this.clock.now(), subject: id, data: this.endpointFacts(id, endpoint) }))
  }

  endpointRestored(endpoint: EndpointName): void {
    const id = endpoint.wildcardId ?? endpoint.id
    if (!this.ejected.delete(id)) return
    this.log.raise(PROVIDER_RESTORED.make({ at: this.clock.now(), subject: id, data: this.endpointFacts(id, endpoint) }))
  }

  /** @param problem code of the fault. @param setting where the configuration has the key. */
  accountRefused(provider: string, problem: string, setting: string): void {
    const refusals = this.countSince(JSON.stringify(['account', provider, problem, setting]))
    if (refusals === 0) return
    const data = { provider, problem, setting, refusals, process: this.process }
    this.log.raise(PROVIDER_ACCOUNT.make({ at: this.clock.now(), subject: provider, data }))
  }

  /**
   * Once for each word as long as its event is kept, whichever process reads it.
   * @param kind what it is in the provider's format: `usage`, `end`, `tier`, `event`, `item` or `part`.
   * @returns false where this process has raised it before, or the provider has sent too many others.
   */
  unknownWord(provider: string, kind: string, word: string): boolean {
    const known = this.unknown.get(provider) ?? new Set<string>()
    const name = `${kind}:${word}`
    if (known.has(name) || known.size >= MAX_WORDS) return false
    this.unknown.set(provider, known.add(name))
    const data = { provider, kind, word, process: this.process }
    this.log.raise(UNKNOWN_WORD.make({ at: this.clock.now(), subject: provider, data, once: `word:${provider}:${name}` }))
    return true
  }

  reloaded(file: string): void {
    this.log.raise(CONFIGURATION_RELOADED.make({ at: this.clock.now(), subject: file, data: { file, process: this.process } }))
  }

  /** @param settings that need a restart; undefined: the configuration is invalid. */
  refused(file: string, settings?: readonly string[]): void {
    const reason = settings ? ('restart' as const) : ('invalid' as const)
    const data = { file, process: this.process, reason, settings: [...(settings ?? [])] }
    this.log.raise(CONFIGURATION_REFUSED.make({ at: this.clock.now(), subject: file, data }))
  }

  guardrailHits(hits: readonly GuardrailHit[], { key, generation }: { key: string; generation: string }): void {
    for (const { name, action, direction, stage, entities } of hits) {
      const count = this.countSince(JSON.stringify(['hit', key, name, action, direction, stage]))
      if (count === 0) continue
      const data = { guardrail: name, action, direction, stage, entities: [...entities], key, generation, hits: count }
      this.log.raise(GUARDRAIL_HIT.make({ at: this.clock.now(), subject: name, data }))
    }
  }

  /** @param kind of the report of the bookkeeping. */
  ledgerReport(kind: string): void {
    if (FINE.has(kind) || this.countSince(`ledger ${kind}`) === 0) return
    this.log.raise(LEDGER_PROBLEM.make({ at: this.clock.now(), subject: kind, data: { problem: kind, process: this.process } }))
  }

  /** Each one counts: the ledger has an entry of it. @param nano nano-dollars. */
  ledgerLoss(kind: 'unrecovered' | 'disputed', nano: number, of: { generation: string; key: string; provider: string }): void {
    const data = { kind, ...of, usd: usdText(nano) }
    this.log.raise(LEDGER_LOSS.make({ at: this.clock.now(), subject: of.generation, data, once: `${kind}:${of.generation}` }))
  }

  drainBegun(): void {
    this.draining = true
    this.log.raise(DRAIN_BEGUN.make({ at: this.clock.now(), subject: this.process, data: { process: this.process } }))
  }

  private endpointFacts(endpoint: string, { provider, model }: EndpointName) {
    return { endpoint, provider: provider.slug, model: model.slug, process: this.process }
  }

  /** @returns how often the kind has come since its last event, this time included; 0 where that was less than a minute ago. */
  private countSince(kind: string): number {
    const now = this.clock.monotonic()
    const before = this.recent.get(kind)
    if (before && now - before.at < PAUSE) {
      before.since++
      return 0
    }
    if (!before && this.recent.size >= MAX_REMEMBERED) this.forgetOld(now)
    this.recent.delete(kind)
    this.recent.set(kind, { at: now, since: 0 })
    return (before?.since ?? 0) + 1
  }

  /** Those that stand first are the oldest. */
  private forgetOld(now: number): void {
    for (const [kind, { at }] of this.recent) {
      if (now - at < PAUSE && this.recent.size < MAX_REMEMBERED) return
      this.recent.delete(kind)
    }
  }
}
