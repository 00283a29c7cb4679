/** The certificate of one listener while it runs: looked at again from time to time, taken where it is good, and warned of before its end. */
import type { Server } from 'node:tls'
import type { TlsSettings } from '../../config/listener-tls.ts'
import type { Clock, Timer } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import type { MetricRegistry } from '../../machines/metrics/metrics.ts'
import { buildKeyPair, type KeyPair, readTexts } from './key-pair.ts'

/** Block of the configuration that the listener belongs to. */
export type ListenerName = 'server' | 'admin'

/** Milliseconds between two looks at the files. They are read, not watched: Kubernetes swaps links of directories. */
const LOOK_MS = 5_000
const DAY_MS = 86_400_000
/** Let's Encrypt certificates are renewed with 30 days left, those of cert-manager with a third: this close to its end, a renewal has failed. */
const WARNING_MS = 14 * DAY_MS

export interface CertificateParts {
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'warn'>
  readonly metrics: MetricRegistry
}

export class ListenerCertificate {
  readonly name: ListenerName
  readonly parts: CertificateParts
  private settings: TlsSettings
  private current: KeyPair
  private server: Pick<Server, 'setSecureContext'> | undefined
  private readonly trusting = new Set<() => void>()
  private timer: Timer | undefined
  /** Problem of the last look: a certificate and its key are two files, so that one look may fall between their changes. */
  private problem: string | undefined
  private reported: string | undefined
  private warnedAt: number | undefined

  /** @throws Error that names the setting. */
  constructor(name: ListenerName, settings: TlsSettings, parts: CertificateParts) {
    this.name = name
    this.settings = settings
    this.parts = parts
    this.current = buildKeyPair(readTexts(settings, this.setting), settings, this.setting)
    this.warnOfEnd()
    this.arm()
  }

  get context(): KeyPair['context'] {
    return this.current.context
  }

  /** Milliseconds since the epoch. */
  get endsAt(): number {
    return this.current.endsAt
  }

  /** Changes with the authorities and lists that client certificates are verified with. */
  get trustDigest(): string {
    return this.current.trustDigest
  }

  /** Calls back with each change of `trustDigest`. @returns ends that. */
  onTrustChange(fn: () => void): () => void {
    this.trusting.add(fn)
    return () => void this.trusting.delete(fn)
  }

  /** True if clients are requested to show a certificate. */
  get requestsCertificates(): boolean {
    return this.settings.clientCa !== undefined
  }

  /** True if a connection without one fails. */
  get requiresCertificates(): boolean {
    return this.requestsCertificates && this.settings.clientCertificates === 'required'
  }

  /** New connections of this server get the certificate from now on; those that are open keep theirs. */
  serve(server: Pick<Server, 'setSecureContext'>): void {
    this.server = server
  }

  /** Reads the files at once, as after SIGHUP. @param settings of the new configuration. */
  reload(settings: TlsSettings | undefined): void {
    if (settings) this.settings = settings
    this.look(true)
  }

  close(): void {
    this.timer?.cancel()
    this.server = undefined
  }

  private get setting(): string {
    return `${this.name}.tls`
  }

  private arm(): void {
    this.timer = this.parts.clock.after(LOOK_MS, () => {
      this.look(false)
      this.warnOfEnd()
      this.arm()
    })
  }

  /** @param isFinal true: a problem is reported now, not only where it is there at the next look as well. */
  private look(isFinal: boolean): void {
    let next = this.current
    try {
      const texts = readTexts(this.settings, this.setting)
      if (texts.digest !== next.digest) next = buildKeyPair(texts, this.settings, this.setting)
    } catch (error) {
      this.keepOld(error instanceof Error ? error.message : String(error), isFinal)
      return
    }
    this.problem = undefined
    this.reported = undefined
    if (next === this.current) return
    const { trustDigest } = this
    this.current = next
    this.server?.setSecureContext(next.context)
    if (next.trustDigest !== trustDigest) for (const changed of [...this.trusting]) changed()
    this.warnedAt = undefined
    this.parts.log.info({ listener: this.name, ends: new Date(next.endsAt).toISOString() }, 'certificate of a listener replaced')
    this.warnOfEnd()
  }

  private keepOld(problem: string, isFinal: boolean): void {
    const stays = isFinal || problem === this.problem
    this.problem = problem
    if (!stays || problem === this.reported) return
    this.reported = problem
    this.parts.log.warn({ listener: this.name, why: problem }, 'certificate of a listener cannot be replaced, the old one stays in use')
  }

  private warnOfEnd(): void {
    const { clock, log } = this.parts
    const now = clock.now()
    const left = this.endsAt - now
    if (left > WARNING_MS || (this.warnedAt !== undefined && now - this.warnedAt < DAY_MS)) return
    this.warnedAt = now
    const facts = { listener: this.name, ends: new Date(this.endsAt).toISOString(), days: Math.floor(left / DAY_MS) }
    if (left > 0) log.warn(facts, 'certificate of a listener ends soon')
    else log.warn(facts, 'certificate of a listener has ended')
  }
}
