/** The faults of reading a document. None quotes it. */
import { Fault, type FaultCode } from '../../core/faults.ts'
import { ThreadTrouble } from '../threads/index.ts'

/** Why a document was not read, in `metadata.document`. */
export type DocumentFailure = 'type' | 'too_large' | 'broken' | 'encrypted' | 'bomb' | 'memory' | 'timeout' | 'busy'

const FAILURES: Readonly<Record<DocumentFailure, [code: FaultCode, message: string]>> = {
  type: ['media_type', 'The document is none of: HTML, PDF, docx, plain text'],
  too_large: ['too_large', 'The document is too large to be read'],
  broken: ['unprocessable', 'The document is broken and cannot be read'],
  encrypted: ['unprocessable', 'The document is encrypted and cannot be read'],
  bomb: ['unprocessable', 'The document unpacks to far more than it is, and is not read'],
  memory: ['unprocessable', 'The document needs too much memory to be read'],
  timeout: ['deadline', 'The document took too long to be read'],
  busy: ['unavailable', 'Too many documents are being read, try again'],
}

export function unread(failure: DocumentFailure, cause?: unknown): Fault {
  const [code, message] = FAILURES[failure]
  return new Fault(code, { message, metadata: { document: failure }, cause, ...(failure === 'busy' ? { retryAfter: 1 } : {}) })
}

/** What a pool of threads rejected with, as a fault. */
export function faultOf(thrown: unknown): Fault {
  if (thrown instanceof Fault) return thrown
  if (!(thrown instanceof ThreadTrouble)) return new Fault('client_gone')
  const { failure, word } = thrown
  if (failure === 'closed') return new Fault('unavailable', { cause: thrown })
  if (failure === 'failed') return unread('broken', thrown)
  if (failure !== 'refused') return unread(failure, thrown)
  return unread(word === 'encrypted' || word === 'bomb' ? word : 'broken', thrown)
}
