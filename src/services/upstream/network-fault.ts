/** Socket and HTTP client errors as faults; addresses and texts of the error stay in `cause`, for the log only. */
import type { Dispatcher } from 'undici'
import { Fault } from '../../core/faults.ts'
import { ConnectionPool, connectionsMade } from './pools.ts'

/** Errors that happen before a connection stands: nothing was sent. */
const BEFORE_CONNECT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL'])

interface SocketFacts {
  code?: string
  socket?: { bytesRead?: number } | null
}

/** Errors of a write to a socket that the other side has closed. */
const CLOSED_BEFORE = new Set(['ECONNRESET', 'EPIPE'])

/** Where a call went. */
interface CallPlace {
  pool: Dispatcher | undefined
  /** Connections that the pool had made before the call. */
  made: number | undefined
}

/**
 * The fault of a call over a pool. Where it met a connection that the provider had closed, the pool closes its other idle ones,
 * so that the next call has a new one.
 * @param answered true once the head of a reply had come.
 */
export function callFault(error: Error, answered: boolean, { pool, made }: CallPlace): Fault {
  const fault = networkFault(error, answered, made !== undefined && pool !== undefined && connectionsMade(pool) === made)
  if (fault.retry === 'at once' && pool instanceof ConnectionPool) pool.dropIdle()
  return fault
}

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
  // The provider itself may be well, so the next connection need not wait (RFC 9112 section 9.3.1).
  const isStale = (code === 'UND_ERR_SOCKET' && (socket?.bytesRead ?? 0) > 0) || (reused && code !== undefined && CLOSED_BEFORE.has(code))
  if (!answered && isStale) return new Fault('upstream_connect', { cause: error, retry: 'at once' })
  if (
    error.name === 'HTTPParserError' ||
    code === 'UND_ERR_HEADERS_OVERFLOW' ||
    code?.startsWith('HPE_') ||
    code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'
  )
    return new Fault('upstream_garbled', { cause: error })
  return new Fault('upstream_cut', { cause: error })
}
