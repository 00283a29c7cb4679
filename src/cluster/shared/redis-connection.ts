/** A connection to Redis or Valkey on which no request waits long: short timeouts, no queue, automatic reconnects. */
import { Redis } from 'ioredis'

/** A command unanswered for this long has failed: longer than this process itself stands still when it is busy. */
const COMMAND_MS = 300
const CONNECT_MS = 2_000
/** A socket that owes an answer for this long is given up, and another is opened. */
const SILENT_MS = 2_000
const FIRST_RETRY_MS = 50
const MAX_RETRY_MS = 1_000

/**
 * Opens a connection; it is made in the background, and made again whenever it is lost.
 * @param url `redis://` or `rediss://`.
 * @param report receives the reason if the connection fails, without any part of the address.
 * @throws Error where the address cannot be read.
 */
export function openRedis(url: string, { report }: { report: (reason: string) => void }): Redis {
  return open(url, { commandTimeout: COMMAND_MS }, report)
}

/** The same for a connection that listens: it waits longer for answers, since no request depends on it. */
export function openSubscriber(url: string, { report }: { report: (reason: string) => void }): Redis {
  return open(url, {}, report)
}

function open(url: string, options: { commandTimeout?: number }, report: (reason: string) => void): Redis {
  // A server that became a replica takes no writes: its name may lead to another one by now. One of many such answers is enough.
  let leaving = false
  const reconnectOnError = (error: Error): boolean => {
    if (leaving || !error.message.startsWith('READONLY')) return false
    leaving = true
    return true
  }
  const redis = new Redis(url, { ...COMMON, ...options, reconnectOnError })
  redis.on('ready', () => {
    leaving = false
  })
  redis.on('error', (error) => report(errorSummary(error)))
  return redis
}

const COMMON = {
  connectTimeout: CONNECT_MS,
  socketTimeout: SILENT_MS,
  disableClientInfo: true,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  // RedisPubSub subscribes again itself: when the client repeats a subscription, a failure is not reported.
  autoResubscribe: false,
  retryStrategy: (times: number) => Math.min(FIRST_RETRY_MS * 2 ** Math.min(times, 10), MAX_RETRY_MS),
} as const

/**
 * Summary of an error, for a log. Never the error itself: it may contain the command, and with it the password.
 * @returns a system error's code, the code word of an error reply, or a few words of our own.
 */
export function errorSummary(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  if ('code' in error && typeof error.code === 'string') return error.code
  if (error.name === 'ReplyError') return /^[A-Z]+\b/.exec(error.message)?.[0] ?? 'ERR'
  if (/timed? ?out/i.test(error.message)) return 'no answer in time'
  return 'not connected'
}
