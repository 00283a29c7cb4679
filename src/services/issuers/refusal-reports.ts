/** Logs refused tokens: one line for each issuer and reason in ten seconds, since strangers decide how many there are. */
import { RefusedToken } from '../../core/token-refusals.ts'
import type { IssuerParts } from './types.ts'

const PAUSE_MS = 10_000

export class RefusalReports {
  private readonly parts: IssuerParts
  private readonly text: string
  /** By issuer and reason, of which there are few: issuers that are not configured have no name here. */
  private readonly reported = new Map<string, { at: number; silent: number }>()

  /** @param text of the line. */
  constructor(parts: IssuerParts, text = 'token refused') {
    this.parts = parts
    this.text = text
  }

  /** @returns what was thrown. @param issuer undefined where it is none of the configuration. */
  noted(thrown: unknown, issuer: string | undefined): unknown {
    if (thrown instanceof RefusedToken) this.note(thrown.why, issuer)
    return thrown
  }

  private note(reason: string, issuer: string | undefined): void {
    const { clock, log } = this.parts
    const name = `${reason} ${issuer ?? ''}`
    const now = clock.monotonic()
    const last = this.reported.get(name)
    if (last && now - last.at < PAUSE_MS) {
      last.silent++
      return
    }
    this.reported.set(name, { at: now, silent: 0 })
    log.warn({ issuer, reason, since_last_line: (last?.silent ?? 0) + 1 }, this.text)
  }
}
