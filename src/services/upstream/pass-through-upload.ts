/** The caller's body on its way into the pass-through: read whole, or passed on as it comes; both end where it comes too slowly. */
import type { IncomingMessage } from 'node:http'
import { PassThrough, Transform } from 'node:stream'
import { Pieces } from '../../core/pieces.ts'
import type { SentBody } from './pass-through-call.ts'
import type { PassThroughRun } from './pass-through-run.ts'

/**
 * Bytes up to which a body of a known length is read before the provider is called: such a request needs no connection while it comes,
 * and can be sent again over a new connection where that of the pool had been closed.
 */
export const MAX_GATHERED = 128 * 1024

/** Reads the body. @param then is called with it, unless the exchange has ended before. */
export function gatherUpload(run: PassThroughRun, source: IncomingMessage, then: (body: Buffer) => void): void {
  const pieces = new Pieces()
  source.on('data', (chunk: Buffer) => pieces.push(chunk))
  // The end of the caller ends the exchange.
  source.on('error', () => {})
  source.once('end', () => {
    if (run.over) return
    const body = pieces.take()
    run.watch?.push(body)
    afterVerdict(run, () => then(body))
  })
  watchUpload(run, source, () => false)
}

/**
 * Passes the body on as fast as it is taken.
 * @returns a stream of its own: undici destroys what it was given, and with Node's `IncomingMessage` that would take the caller's socket
 *   with it (util.destroy in core/util.js of 8.12.4).
 */
export function streamUpload(run: PassThroughRun, source: IncomingMessage): PassThrough {
  const body = new PassThrough()
  // undici listens only while the request runs; its own end of the stream reports nothing that the caller's has not.
  body.on('error', () => {})
  source.on('error', (error) => body.destroy(error))
  source.on('data', (chunk: Buffer) => run.sent.push(chunk))
  watchUpload(run, source, () => body.writableNeedDrain)
  if (run.watch) source.pipe(withLastHeld(run, run.watch, source)).pipe(body)
  else source.pipe(body)
  return body
}

/** Goes on unless the body must not, or the exchange has ended meanwhile. */
function afterVerdict(run: PassThroughRun, go: () => void): void {
  if (!run.watch) {
    go()
    return
  }
  run.watch.verdict().then((fault) => {
    if (run.over) return
    if (fault) run.fail(fault)
    else go()
  })
}

/**
 * Holds back the piece that completes a body of a known length, else the last one: without it no provider begins, and it waits for the
 * verdict.
 */
function withLastHeld(run: PassThroughRun, watch: SentBody, { headers }: IncomingMessage): Transform {
  const length = Number(headers['content-length'] ?? 0)
  let received = 0
  let last: Buffer | undefined
  return new Transform({
    transform: (chunk: Buffer, _, done) => {
      const busy = watch.push(chunk)
      received += chunk.length
      const isShort = received < length
      const before = last
      last = isShort ? undefined : chunk
      const go = (): void => done(null, isShort ? chunk : before)
      if (busy) busy.then(go)
      else go()
    },
    flush: (done) => afterVerdict(run, () => done(null, last)),
  })
}

/** Milliseconds without a byte after which a body has stopped arriving. */
const MAX_SILENCE_MS = 30_000
/** Milliseconds after which the average rate counts, and the bytes per second that it has to reach. */
const SLOW_AFTER = 60_000
const SLOWEST = 16 * 1024

/**
 * Ends the exchange where the body comes too slowly. Watches until it has come or the provider's reply begins.
 * @param isHeldBack true while the provider takes no more: the time is not the caller's then.
 */
function watchUpload(run: PassThroughRun, source: IncomingMessage, isHeldBack: () => boolean): void {
  let bytes = 0
  let lastByte = run.now()
  /** Milliseconds for which the caller could send. */
  let free = 0
  let looked = lastByte
  source.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    lastByte = run.now()
  })
  const look = (): void => {
    if (run.over || run.headSent || source.readableEnded) return
    const now = run.now()
    if (isHeldBack()) lastByte = now
    else free += now - looked
    looked = now
    if (now - lastByte >= MAX_SILENCE_MS) run.late(`nothing of the body came for ${MAX_SILENCE_MS / 1000} seconds`)
    else if (free >= SLOW_AFTER && bytes * 1000 < free * SLOWEST) run.late('the body came at less than 16 KB per second')
    else run.after(Math.max(1, Math.min(lastByte + MAX_SILENCE_MS - now, free < SLOW_AFTER ? SLOW_AFTER - free : MAX_SILENCE_MS)), look)
  }
  look()
}
