/** Structured logs: one JSON line per exchange, buffered, and never a key or a prompt in them. */
import { type DestinationStream, destination, type Logger, type LoggerOptions, pino } from 'pino'
import type { Clock, Timer } from './clock.ts'
import { type Format, formattedLine, type LogSettings, type Part, USUAL_LOG } from './log-settings.ts'

export type Log = Logger

/** Wherever one of these appears its value is replaced, whatever object it sits in. */
const SECRETS = [
  'authorization',
  'x-api-key',
  'x-goog-api-key',
  'cookie',
  'key.secret',
  'headers.authorization',
  'headers["x-api-key"]',
  'headers["x-goog-api-key"]',
  '*.authorization',
  '*.key',
]

/** Buffered lines leave at this size, or after this long. */
const BUFFER_BYTES = 32 * 1024
const FLUSH_MS = 500

/** Bytes that a pipe takes in one piece (PIPE_BUF): processes that share one must not tear each other's lines. */
export const WHOLE_BYTES = 4096

/** As the settings of the configuration, with the form that is written. */
type WrittenSettings = LogSettings & { readonly format: Format }

export interface LogSink {
  log: Log
  readonly settings: WrittenSettings
  /** Takes settings over, also those of a reload. */
  follow(settings: LogSettings): void
  /** The log of one part of the program. */
  part(name: Part): Log
  /**
   * Writes one finished line as it is: for the line of every exchange, which holds nothing that could need redaction. Its writer hands
   * it to `also`, too.
   */
  readonly write: (line: string) => void
  /** Takes each line as JSON, too, where it is set. */
  also: ((line: string) => void) | undefined
  /** Writes out what is buffered. */
  flush(): void
}

/**
 * @param write takes whole lines instead of standard output, for tests and embedding.
 * @param piece bytes written at once; `WHOLE_BYTES` where several processes share the output.
 */
export function openLog(clock: Clock, write?: (line: string) => void, piece: number = BUFFER_BYTES): LogSink {
  const options = {
    base: null,
    redact: { paths: SECRETS, censor: '[redacted]' },
    timestamp: () => `,"time":${clock.now()}`,
  }
  if (write) {
    return openSink(options, { usual: 'json', write, flush: () => {} })
  }
  const stream = destination({ fd: 1, sync: false, contentMode: 'buffer', ...(piece < BUFFER_BYTES ? { maxWrite: piece } : undefined) })
  // A closed pipe or a full disk costs log lines, not requests.
  stream.on('error', () => {})
  let timer: Timer | undefined
  // Gathered here, as bytes: the stream would measure all that it holds anew with every line.
  let held = Buffer.allocUnsafe(piece)
  let length = 0
  const hand = (): void => {
    timer?.cancel()
    timer = undefined
    if (length === 0) return
    const bytes = held.subarray(0, length)
    held = Buffer.allocUnsafe(piece)
    length = 0
    writeBytes(stream, bytes)
  }
  const gather = (line: string): void => {
    // A character takes at most three bytes of UTF-8.
    if (length + line.length * 3 > piece) hand()
    if (line.length * 3 > piece) writeBytes(stream, Buffer.from(line))
    else length += held.write(line, length)
    timer ??= clock.after(FLUSH_MS, hand)
  }
  const flush = (): void => {
    hand()
    try {
      stream.flushSync()
    } catch {
      // Not opened yet, or gone: there is nowhere left to write.
    }
  }
  return openSink(options, { usual: process.stdout.isTTY ? 'text' : 'json', write: gather, flush })
}

interface Output {
  /** The form of lines where the settings name none. */
  readonly usual: Format
  readonly write: (line: string) => void
  readonly flush: () => void
}

function openSink(options: LoggerOptions, { usual, write, flush }: Output): LogSink {
  const written = (settings: LogSettings): WrittenSettings => ({
    ...settings,
    format: settings.format === 'auto' ? usual : settings.format,
  })
  const parts = new Map<Part, Log>()
  const stream: DestinationStream = {
    write: (json) => {
      const { format } = sink.settings
      write(format === 'json' ? json : formattedLine(JSON.parse(json) as Record<string, unknown>, format))
      sink.also?.(json)
    },
  }
  const sink: LogSink & { settings: WrittenSettings } = {
    settings: written(USUAL_LOG),
    log: pino(options, stream),
    also: undefined,
    write,
    flush,
    part: (name) => {
      let log = parts.get(name)
      if (!log) {
        log = sink.log.child({ part: name }, { level: sink.settings.levels[name] ?? sink.settings.level })
        parts.set(name, log)
      }
      return log
    },
    follow: (next) => {
      sink.settings = written(next)
      sink.log.level = next.level
      for (const [name, log] of parts) log.level = next.levels[name] ?? next.level
    },
  }
  return sink
}

/** In buffer mode the stream takes bytes, which its type does not declare. */
function writeBytes(stream: { write(data: string): boolean }, bytes: Buffer): void {
  ;(stream as unknown as { write(data: Buffer): boolean }).write(bytes)
}

/** Name and stack of something thrown; its message stays out of the log, since it may quote a request. */
export function stackWithoutMessage(thrown: unknown): string {
  if (!(thrown instanceof Error)) return typeof thrown
  const frames = (thrown.stack ?? '').split('\n').filter((line) => line.startsWith('    at '))
  return [thrown.name, ...frames].join('\n')
}
