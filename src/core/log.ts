/** Structured logs: one JSON line per exchange, buffered, and never a key or a prompt in them. */
import { type DestinationStream, destination, type Logger, pino } from 'pino'
import type { Clock, Timer } from './clock.ts'

export type Log = Logger

/** Wherever one of these appears its value is replaced, whatever object it sits in. */
const SECRETS = [
  'authorization',
  'x-api-key',
  'cookie',
  'key.secret',
  'headers.authorization',
  'headers["x-api-key"]',
  '*.authorization',
  '*.key',
]

/** Buffered lines leave at this size, or after this long. */
const BUFFER_BYTES = 32 * 1024
const FLUSH_MS = 500

export interface LogSink {
  log: Log
  /** Writes one finished line: for the line of every exchange, which holds nothing that could need redaction. */
  line: (text: string) => void
  /** Writes out what is buffered. */
  flush(): void
}

/** @param write takes whole lines instead of standard output, for tests and embedding. */
export function openLog(clock: Clock, write?: (line: string) => void): LogSink {
  const options = {
    base: null,
    redact: { paths: SECRETS, censor: '[redacted]' },
    timestamp: () => `,"time":${clock.now()}`,
  }
  if (write) {
    const stream: DestinationStream = { write: (line: string) => write(line) }
    return { log: pino(options, stream), line: write, flush: () => {} }
  }
  const stream = destination({ fd: 1, sync: false, minLength: BUFFER_BYTES, maxWrite: 4 * BUFFER_BYTES })
  // A closed pipe or a full disk costs log lines, not requests.
  stream.on('error', () => {})
  let timer: Timer | undefined
  const flushLater = (): void => {
    timer = undefined
    stream.flush(() => {})
  }
  const lazy: DestinationStream = {
    write: (line: string) => {
      stream.write(line)
      timer ??= clock.after(FLUSH_MS, flushLater)
    },
  }
  return {
    log: pino(options, lazy),
    line: (text) => lazy.write(text),
    flush: () => {
      timer?.cancel()
      try {
        stream.flushSync()
      } catch {
        // Not opened yet, or gone: there is nobody left to tell.
      }
    },
  }
}
