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
const BUFFER_CHARACTERS = 32 * 1024
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
  const stream = destination({ fd: 1, sync: false })
  // A closed pipe or a full disk costs log lines, not requests.
  stream.on('error', () => {})
  let timer: Timer | undefined
  // Gathered here and not by the stream, which measures all that it holds anew with every line.
  let held = ''
  const hand = (): void => {
    timer?.cancel()
    timer = undefined
    const text = held
    held = ''
    if (text !== '') stream.write(text)
  }
  const gather = (line: string): void => {
    held += line
    if (held.length >= BUFFER_CHARACTERS) hand()
    else timer ??= clock.after(FLUSH_MS, hand)
  }
  return {
    log: pino(options, { write: gather }),
    line: gather,
    flush: () => {
      hand()
      try {
        stream.flushSync()
      } catch {
        // Not opened yet, or gone: there is nobody left to tell.
      }
    },
  }
}
