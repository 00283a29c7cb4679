/** Logs refused tokens: one line for each issuer and reason in ten seconds, since strangers decide how many there are. */
import { RefusedToken } from '../../core/token-refusals.ts'
import type { IssuerParts } from './types.ts'

const PAUSE_MS = 10_000

/** Fields of a line. */
interface RefusalLine {
  /** Undefined where it is none of the configuration. */
  readonly issuer: string | undefined
  readonly reason: string
  /** Refusals that it stands for. */
  readonly since_last_line: number
}

export class RefusalReports {
  private readonly parts: Pick<IssuerParts, 'clock'>
  private readonly write: (line: RefusalLine) => void
  /** By issuer and reason, of which there are few: issuers that are not configured have no name here. */
  private readonly reported = new Map<string, { at: number; silent: number }>()

  constructor(parts: Pick<IssuerParts, 'clock'>, write: (line: RefusalLine) => void) {
    this.parts = parts
    this.write = write
  }

  /** @returns what was thrown. @param issuer undefined where it is none of the configuration. */
  noted(thrown: unknown, issuer: string | undefined): unknown {
    if (thrown instanceof RefusedToken) this.note(thrown.why, issuer)
    return thrown
  }

  private note(reason: string, issuer: string | undefined): void {
    const { clock } = this.parts
    const name = `${reason} ${issuer ?? ''}`
    const now = clock.monotonic()
    const last = this.reported.get(name)
    if (last && now - last.at < PAUSE_MS) {
      last.silent++
      return
    }
    this.reported.set(name, { at: now, silent: 0 })
    this.write({ issuer, reason, since_last_line: (last?.silent ?? 0) + 1 })
  }
}
