/** Reads documents in worker threads: whatever they are made of, the event loop goes on and the process lives. */
import { extname } from 'node:path'
import { Fault, type FaultCode } from '../../core/faults.ts'
import { ThreadError, ThreadPool } from '../threads/index.ts'
import { documentKind } from './kind.ts'
import type { DocumentLimits, DocumentSource, DocumentText, ReadJob, ReadOptions, ReadResult } from './types.ts'

export { documentKind } from './kind.ts'

export type { DocumentKind, DocumentLimits, DocumentSource, DocumentText, ReadOptions } from './types.ts'

const LIMITS: DocumentLimits = { maxBytes: 20 * 1024 * 1024, maxPages: 1000, maxCharacters: 2_000_000, timeout: 10_000 }

// As source or as built: the worker is of the same kind as this module.
const threads = new ThreadPool({ module: new URL(`./worker${extname(import.meta.url)}`, import.meta.url) })

/**
 * Reads a document as markdown.
 * @throws Fault 408 (took too long), 413, 415 (nothing that can be read), 422 (broken, encrypted, a bomb, needs too much
 *   memory), 503 (too many at once); `metadata.document` names the reason. An aborted signal's own fault, or 499.
 */
export async function readDocument(bytes: Uint8Array, source: DocumentSource, options: ReadOptions): Promise<DocumentText> {
  const { clock, signal, handOver = false } = options
  const { maxBytes, maxPages, maxCharacters, timeout } = { ...LIMITS, ...options.limits }
  if (bytes.length > maxBytes) throw unread('too_large')
  const kind = documentKind(bytes, source)
  if (!kind) throw unread('type')
  const moved = movable(bytes, handOver)
  const job: ReadJob = { bytes: moved, kind, source, maxPages, maxCharacters }
  try {
    const result = (await threads.run(job, { clock, timeout, signal, transfer: [moved.buffer] })) as ReadResult
    // Joined here: the texts cross from thread to thread once.
    return { kind, ...result, text: result.pageTexts ? result.pageTexts.join('\n\n') : result.text }
  } catch (thrown) {
    throw documentFault(thrown)
  }
}

/** Ends the threads; reading a document later starts them anew. */
export function closeDocuments(): void {
  threads.close()
}

/** A part of a larger buffer is never moved: others may use the rest. */
function movable(bytes: Uint8Array, handOver: boolean): Uint8Array<ArrayBuffer> {
  const { buffer, byteLength } = bytes
  if (handOver && buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) return new Uint8Array(buffer)
  return new Uint8Array(bytes)
}

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

/** The faults of reading a document. None quotes it. */
function unread(failure: DocumentFailure, cause?: unknown): Fault {
  const [code, message] = FAILURES[failure]
  return new Fault(code, { message, metadata: { document: failure }, cause, ...(failure === 'busy' ? { retryAfter: 1 } : {}) })
}

/** Error of a pool of threads, as a fault. */
function documentFault(thrown: unknown): Fault {
  if (thrown instanceof Fault) return thrown
  if (!(thrown instanceof ThreadError)) return new Fault('client_gone')
  const { failure, word } = thrown
  if (failure === 'closed') return new Fault('unavailable', { cause: thrown })
  if (failure === 'failed') return unread('broken', thrown)
  if (failure !== 'refused') return unread(failure, thrown)
  return unread(word === 'encrypted' || word === 'bomb' ? word : 'broken', thrown)
}
