/** Socket and HTTP client errors as faults; addresses and texts of the error stay in `cause`, for the log only. */
import { Fault } from '../../core/faults.ts'

/** Errors that happen before a connection stands: nothing was sent. */
const BEFORE_CONNECT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL'])

/**
 * A connection that had served before ended before a byte of this reply had come, and too soon after the request was written for the
 * provider to have worked on it: it had been closed while it was idle (RFC 9112 section 9.3.1).
 */
export class StaleConnection extends Error {
  constructor(cause: Error) {
    super('the connection had been closed while it was idle', { cause })
  }
}

/** @param answered true once the head of a reply had come. */
export function networkFault(error: Error, answered: boolean): Fault {
  if (error instanceof Fault) return error
  // The provider itself may be well, so the next connection need not wait.
  if (error instanceof StaleConnection) return new Fault('upstream_connect', { cause: error, retry: 'at once' })
  const { code } = error as NodeJS.ErrnoException
  // The connect timeout has passed already: the next attempt goes to another provider, without a retry here.
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return new Fault('upstream_silent', { cause: error })
  if (!answered && code !== undefined && BEFORE_CONNECT.has(code)) return new Fault('upstream_connect', { cause: error })
  if (
    error.name === 'HTTPParserError' ||
    code === 'UND_ERR_HEADERS_OVERFLOW' ||
    code?.startsWith('HPE_') ||
    code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'
  )
    return new Fault('upstream_garbled', { cause: error })
  return new Fault('upstream_cut', { cause: error })
}
