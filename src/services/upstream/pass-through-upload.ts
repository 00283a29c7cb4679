/** The caller's body on its way through: it ends the exchange where it comes too slowly while the provider would take it. */
import type { IncomingMessage } from 'node:http'
import type { PassThrough } from 'node:stream'
import type { PassThroughRun } from './pass-through-run.ts'

/** Milliseconds without a byte after which a body has stopped arriving (issue 15, section 4). */
const LONGEST_SILENCE = 30_000
/** Milliseconds after which the average rate counts, and the bytes per second that it has to reach. */
const SLOW_AFTER = 60_000
const SLOWEST = 16 * 1024

/** Watches the body from `source` to `body` until it ends or the provider's reply begins. */
export function watchUpload(run: PassThroughRun, source: IncomingMessage, body: PassThrough): void {
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
    // While the provider holds the body back its time is not the caller's.
    if (body.writableNeedDrain) lastByte = now
    else free += now - looked
    looked = now
    if (now - lastByte >= LONGEST_SILENCE) run.late(`nothing of the body came for ${LONGEST_SILENCE / 1000} seconds`)
    else if (free >= SLOW_AFTER && bytes * 1000 < free * SLOWEST) run.late('the body came at less than 16 KB per second')
    else run.after(Math.max(1, Math.min(lastByte + LONGEST_SILENCE - now, free < SLOW_AFTER ? SLOW_AFTER - free : LONGEST_SILENCE)), look)
  }
  look()
}
