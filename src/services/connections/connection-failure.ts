/** A connection that could not be made, with the step that failed. */
import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'

/** Stage that a connection waits for while it is made: its addresses, the TCP connection, the proxy's consent, or TLS. */
export type Phase = 'name' | 'connect' | 'proxy' | 'tls'

export class ConnectionFailure extends Error {
  readonly phase: Phase
  /** Of the system, of OpenSSL or of Node; a word of ours where the proxy or the time is the reason. */
  readonly code: string
  readonly timedOut: boolean

  constructor(phase: Phase, code: string, { cause, timedOut = false }: { cause?: Error; timedOut?: boolean } = {}) {
    super(`the connection could not be made: ${phase}, ${code}`, cause && { cause })
    this.phase = phase
    this.code = code
    this.timedOut = timedOut
  }
}

/** The gateway's own limits on files and buffers: no provider is to blame. */
export const EXHAUSTED: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM'])

/** True where this process can open no file now: a look-up then fails as though the name did not exist, since its files cannot be read. */
export function lacksFiles(): boolean {
  try {
    closeSync(openSync(devNull, 'r'))
    return false
  } catch {
    return true
  }
}

/** @returns the failure of a step by the error of its socket. Node joins those of several addresses in one (`AggregateError` in lib/net.js). */
export function phaseFailure(phase: Phase, error: NodeJS.ErrnoException): ConnectionFailure {
  const all = error instanceof AggregateError ? (error.errors as NodeJS.ErrnoException[]) : [error]
  const late = all.find(({ code }) => code === 'ETIMEDOUT')
  return new ConnectionFailure(phase, (late ?? error).code ?? 'UNKNOWN', { cause: error, timedOut: late !== undefined })
}
