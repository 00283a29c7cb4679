/** Socket and HTTP client errors as faults; addresses and texts of the error stay in `cause`, for the log only. */
import { Fault } from '../../core/faults.ts'

/** Errors that happen before a connection stands: nothing was sent. */
const BEFORE_CONNECT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL'])

interface SocketFacts {
  code?: string
  socket?: { bytesRead?: number } | null
}

/** Errors of a write to a socket that the other side has closed. */
const CLOSED_BEFORE = new Set(['ECONNRESET', 'EPIPE'])

/**
 * @param answered true once the head of a reply had come.
 * @param reused true where the connection had surely served before.
 */
export function networkFault(error: Error, answered: boolean, reused = false): Fault {
  if (error instanceof Fault) return error
  const { code, socket } = error as SocketFacts
  // The connect timeout has passed already: the next attempt goes to another provider, without a retry here.
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return new Fault('upstream_silent', { cause: error })
  if (!answered && code !== undefined && BEFORE_CONNECT.has(code)) return new Fault('upstream_connect', { cause: error })
  // A pooled socket that had served before and died without a byte of answer: the provider had closed it while idle.
  if (!answered && code === 'UND_ERR_SOCKET' && (socket?.bytesRead ?? 0) > 0) return new Fault('upstream_connect', { cause: error })
  if (!answered && reused && code !== undefined && CLOSED_BEFORE.has(code)) return new Fault('upstream_connect', { cause: error })
  if (
    error.name === 'HTTPParserError' ||
    code === 'UND_ERR_HEADERS_OVERFLOW' ||
    code?.startsWith('HPE_') ||
    code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'
  )
    return new Fault('upstream_garbled', { cause: error })
  return new Fault('upstream_cut', { cause: error })
}
