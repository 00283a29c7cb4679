/**
 * Fetches and refreshes one credential that rotates: once for all calls that wait, ahead of its end, and again while the source fails. A
 * source (`sources/`) states how it is fetched; `token-response.ts` reads what it returns.
 */
import type { Clock, Timer } from '../../core/clock.ts'
import { Fault } from '../../core/faults.ts'
import type { Log } from '../../core/log.ts'
import { closed, counter, gauge, type MetricRegistry, open } from '../../machines/metrics/metrics.ts'
import { withinLimit } from './identity-call.ts'
import { type Credential, CredentialError, type CredentialedCall, type FetchGrant, type Grant, RefusedIdentity } from './types.ts'

const refreshes = counter(
  'credential_refreshes_total',
  'Fetches of credentials for providers. `outcome` is `ok`, `failed`, or `refused` where a provider refused one that should hold.',
  { labels: [open('provider'), closed('outcome')], limit: 60 },
)
const failing = gauge('credentials_failing', 'Credentials of providers whose last fetch has failed.')

/** Milliseconds for one fetch. */
const LIMIT = 30_000
/** A credential is fetched anew one to two times this long before its end, or this part of its life where that is shorter. */
const AHEAD = { ms: 5 * 60_000, part: 0.25 }
/** A credential counts as ended this long before its end, or this part of its life, so that it does not end on its way. */
const MARGIN = { ms: 10_000, part: 0.05 }
/** Milliseconds between two fetches where neither the answer nor the settings say. */
const USUAL = 5 * 60_000
/** Milliseconds between retries: doubled from the first to the longest. */
const RETRY = { first: 1_000, longest: 60_000 }
/** While the old credential holds: a part of the time that is left to it, at least this many milliseconds, so that some come before its end. */
const RETRY_WHILE_HELD = { part: 0.25, shortest: 100 }
/** Milliseconds after a failed fetch in which a request does not start another. */
const REST = 1_000
/** Milliseconds between two fetches that a refusal causes: a provider that refuses everything must not cause more. */
const FORCED = 30_000

export interface CredentialOptions {
  readonly provider: string
  readonly source: string
  /** All that the configuration says of it, as text: where that stays the credential stays. */
  readonly terms: string
  readonly fingerprint: string
  /** Opens the source; its code is loaded then. */
  readonly open: () => Promise<FetchGrant>
  readonly refresh: number | undefined
  /** Base URL that signatures are made for in place of that of the call. */
  readonly signedFor?: string | undefined
  /** True where calls may carry a key of the provider in its place. */
  readonly takesKeys?: boolean | undefined
}

export interface CredentialParts {
  readonly clock: Clock
  readonly metrics: MetricRegistry
  readonly log: Pick<Log, 'error' | 'warn' | 'info'>
}

export class RefreshedCredential implements Credential {
  grant: Grant | undefined
  readonly terms: string
  readonly fingerprint: string
  readonly takesKeys: boolean
  private readonly options: CredentialOptions
  private readonly parts: CredentialParts
  private fetchGrant: FetchGrant | undefined
  /** Until when the grant can be used; milliseconds since the epoch. */
  private until = Number.NEGATIVE_INFINITY
  private pending: Promise<void> | undefined
  private timer: Timer | undefined
  /** Fetches that have failed in a row. */
  private failures = 0
  /** True if the log says that nothing is left. */
  private isEndLogged = false
  /** Reason of the last fetch, where it has failed. */
  private failure: unknown
  /** Monotonic milliseconds. */
  private failedAt = Number.NEGATIVE_INFINITY
  private forcedAt = Number.NEGATIVE_INFINITY
  private isClosed = false

  constructor(options: CredentialOptions, parts: CredentialParts) {
    this.options = options
    this.parts = parts
    this.terms = options.terms
    this.fingerprint = options.fingerprint
    this.takesKeys = options.takesKeys === true
  }

  toJSON(): string {
    return this.fingerprint
  }

  forCall(): Credential {
    return this
  }

  ready(now: number): boolean {
    return now < this.until
  }

  refresh(): Promise<void> {
    if (this.pending) return this.pending
    if (this.parts.clock.monotonic() - this.failedAt < REST) return Promise.reject(unavailable(this.failure))
    return this.fetch()
  }

  async renew(refused: Grant | undefined): Promise<boolean> {
    const { clock } = this.parts
    if (this.grant === refused && !this.pending) {
      if (clock.monotonic() - this.forcedAt < FORCED) return false
      this.forcedAt = clock.monotonic()
      this.count('refused')
    }
    if (this.grant === refused) {
      try {
        await (this.pending ?? this.fetch())
      } catch {
        return false
      }
    }
    return this.ready(clock.now()) && !isSame(this.grant, refused)
  }

  headers(call: CredentialedCall): readonly string[] {
    if (!this.grant) throw unavailable()
    const { signedFor } = this.options
    return this.grant.headers(signedFor === undefined ? call : callAt(call, signedFor), this.parts.clock.now())
  }

  isIn(text: string): boolean {
    return this.grant?.secrets.some((secret) => text.includes(secret)) === true
  }

  /** Fetches it now and, from then on, ahead of its end. */
  start(): void {
    this.fetch().catch(() => {})
  }

  /** No more is fetched by itself; what is there can still be used. */
  close(): void {
    this.isClosed = true
    this.timer?.cancel()
    if (this.failures > 0) this.parts.metrics.of(failing).add(-1)
    this.failures = 0
  }

  private fetch(): Promise<void> {
    this.timer?.cancel()
    this.pending ??= this.fetchOnce().finally(() => {
      this.pending = undefined
    })
    return this.pending
  }

  private async fetchOnce(): Promise<void> {
    const late = () => new CredentialError(`no answer within ${LIMIT / 1000} seconds`)
    try {
      this.take(await withinLimit({ clock: this.parts.clock, ms: LIMIT, late }, (signal) => this.fetched(signal)))
    } catch (error) {
      this.failed(error)
      throw unavailable(error)
    }
  }

  private async fetched(signal: AbortSignal): Promise<Grant> {
    this.fetchGrant ??= await this.options.open()
    const { clock } = this.parts
    const grant = await this.fetchGrant(signal, clock.now())
    if (grant.expiresAt !== undefined && grant.expiresAt <= clock.now()) throw new CredentialError('the source gives one that has expired')
    return grant
  }

  private take(grant: Grant): void {
    const { clock, log } = this.parts
    const now = clock.now()
    const life = grant.expiresAt === undefined ? Number.POSITIVE_INFINITY : grant.expiresAt - now
    this.grant = grant
    this.until = now + life - Math.min(MARGIN.ms, life * MARGIN.part)
    this.count('ok')
    if (this.failures > 0) {
      this.failures = 0
      this.parts.metrics.of(failing).add(-1)
      log.info(this.names, 'the credential of a provider can be fetched again')
    }
    this.failedAt = Number.NEGATIVE_INFINITY
    this.isEndLogged = false
    this.arm(this.pauseAfter(life))
  }

  /** Milliseconds until it is fetched again. */
  private pauseAfter(life: number): number {
    const { refresh } = this.options
    const chance = this.parts.clock.random()
    const ahead = Math.min(AHEAD.ms, life * AHEAD.part) * (1 + chance)
    const every = refresh ?? (life === Number.POSITIVE_INFINITY ? USUAL : Number.POSITIVE_INFINITY)
    return Math.max(RETRY.first, Math.min(life - ahead, every * (1 - chance / 10)))
  }

  private failed(error: unknown): void {
    const { clock, log } = this.parts
    this.failedAt = clock.monotonic()
    this.failure = error
    this.failures++
    this.count('failed')
    if (this.failures === 1) this.parts.metrics.of(failing).add(1)
    const reason = errorReason(error)
    const left = this.until - clock.now()
    if (left > 0) {
      if (this.failures === 1)
        log.warn(
          { ...this.names, reason, ...(Number.isFinite(left) ? { seconds_left: Math.floor(left / 1000) } : {}) },
          'the credential of a provider cannot be refreshed: the one at hand is used while it holds',
        )
    } else if (!this.isEndLogged) {
      this.isEndLogged = true
      log.error({ ...this.names, reason }, 'no credential for a provider: requests there fail until one can be fetched')
    }
    const held = left > 0 ? Math.max(RETRY_WHILE_HELD.shortest, left * RETRY_WHILE_HELD.part) : Number.POSITIVE_INFINITY
    const pause = Math.min(held, RETRY.longest, RETRY.first * 2 ** Math.min(16, this.failures - 1))
    this.arm(pause * (0.5 + clock.random() / 2))
  }

  private arm(ms: number): void {
    this.timer?.cancel()
    if (!this.isClosed) this.timer = this.parts.clock.after(ms, () => this.start())
  }

  private count(outcome: string): void {
    this.parts.metrics.of(refreshes).series(this.options.provider, outcome).add()
  }

  private get names(): { provider: string; source: string } {
    const { provider, source } = this.options
    return { provider, source }
  }
}

/** A provider that refuses to exchange an identity refuses the gateway's account, as one that refuses a key. */
function unavailable(cause?: unknown): Fault {
  if (cause instanceof RefusedIdentity) return new Fault('credential_refused', { metadata: { credential: 'refused' }, cause })
  return new Fault('credential_unavailable', { metadata: { credential: 'unavailable' }, cause })
}

function isSame(one: Grant | undefined, other: Grant | undefined): boolean {
  if (!one || !other) return one === other
  return one.secrets.length === other.secrets.length && one.secrets.every((secret, index) => secret === other.secrets[index])
}

/** Words for the log: of errors that are not ours the kind alone, since their messages may quote what was sent. */
export function errorReason(error: unknown): string {
  if (error instanceof CredentialError) return error.message
  if (!(error instanceof Error)) return 'failed'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}

/** The call as the provider behind a forwarder sees it. */
function callAt(call: CredentialedCall, base: string): CredentialedCall {
  const { origin, pathname } = new URL(base)
  const { method, path, body, headers } = call
  return { method, origin, path: pathname.replace(/\/+$/, '') + path, body, headers, keyHeader: (key) => call.keyHeader(key) }
}
