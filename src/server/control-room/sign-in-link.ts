/**
 * A link that signs in one browser of this machine, once, for the person at the terminal where the gateway was started. Its code stands
 * behind `#`, which browsers send to no server and in no `Referer` (RFC 9110 sections 4.2.5 and 10.1.3): only the page reads it, and sends it
 * in the body of a sign-in.
 */
import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../core/clock.ts'
import { isLocalHost } from '../../core/transport.ts'
import { tokenCheck } from '../admin-token.ts'

/** Milliseconds from the start. */
const LIFETIME = 5 * 60_000
const CODE_BYTES = 32

export class SignInLink {
  private readonly clock: Pick<Clock, 'monotonic'>
  private opens: ((authorization: string) => boolean) | undefined
  private until = 0

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.clock = clock
  }

  /** @returns the link; undefined where others than this machine reach the admin listener. */
  make(adminUrl: string): string | undefined {
    if (!isLocalHost(new URL(adminUrl).hostname)) return undefined
    const code = randomBytes(CODE_BYTES).toString('base64url')
    this.opens = tokenCheck(code)
    this.until = this.clock.monotonic() + LIFETIME
    return `${adminUrl}/control-room/#code=${code}`
  }

  /** Uses the code up. @returns whether it opens a session of the operator's. */
  take(code: string, { socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): boolean {
    // What a proxy on this machine passes on may come from anywhere.
    const isNear = isLocalHost(socket.remoteAddress ?? '') && headers['x-forwarded-for'] === undefined && headers.forwarded === undefined
    if (!isNear || this.clock.monotonic() >= this.until || !this.opens?.(`Bearer ${code}`)) return false
    this.opens = undefined
    return true
  }
}
