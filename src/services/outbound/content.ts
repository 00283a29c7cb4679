/** Body of one reply: checked by its head, inflated and counted while it arrives, with back-pressure. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Transform } from 'node:stream'
import { contentCoding, createDecoder } from '../../core/content-coding.ts'
import { Pieces } from '../../core/pieces.ts'
import { tooLarge, unreachable, wrongType } from './refusals.ts'

export interface ContentLimits {
  /** Bytes, both as sent and inflated. */
  maxBytes: number
  /** Accepted media types, such as `text/html` or `image/*`; any where the list is empty. */
  types: readonly string[]
  /** Reserves memory for further bytes; see `FetchOptions`. */
  memory?: ((bytes: number) => Promise<void> | undefined) | undefined
}

export interface Flow {
  pause(): void
  resume(): void
}

/** The media type in lower case without parameters; '' where the answer names none. */
export function mediaType(headers: IncomingHttpHeaders): string {
  return (headers['content-type'] ?? '').replace(/;.*$/s, '').trim().toLowerCase()
}

function isWanted(type: string, types: readonly string[]): boolean {
  if (types.length === 0) return true
  return types.some((one) => one === '*/*' || one === type || (one.endsWith('/*') && type.startsWith(one.slice(0, -1))))
}

/** Bytes of memory that are reserved at a time. */
const STEP_BYTES = 64 * 1024

export class Content {
  private readonly limits: ContentLimits
  private readonly inflater: Transform | undefined
  private readonly pieces = new Pieces()
  private sent = 0
  private size = 0
  /** Bytes for which memory has been reserved. */
  private counted = 0
  /** Pending reservations of memory. */
  private waiting = 0
  private ended = false
  /** Called once, with the bytes or the reason why there are none. */
  private readonly done: (bytes: Buffer | Error) => void

  /**
   * @param checked false for the body of an error status, whose type does not matter.
   * @throws Fault 413 or 415 where the head already shows that the body is unwanted.
   */
  constructor(
    headers: IncomingHttpHeaders,
    limits: ContentLimits,
    { checked, done }: { checked: boolean; done: (bytes: Buffer | Error) => void },
  ) {
    this.limits = limits
    this.done = done
    if (checked && !isWanted(mediaType(headers), limits.types)) throw wrongType(limits.types)
    if (Number(headers['content-length']) > limits.maxBytes) throw tooLarge(limits.maxBytes)
    this.inflater = createInflater(headers['content-encoding'])
    this.inflater?.on('data', (chunk: Buffer) => this.take(chunk, this.inflater as Flow))
    this.inflater?.on('end', () => this.finish())
    this.inflater?.on('error', (cause) => done(unreachable(cause)))
  }

  push(chunk: Buffer, flow: Flow): void {
    this.sent += chunk.length
    if (this.sent > this.limits.maxBytes) this.refuse()
    else if (!this.inflater) this.take(chunk, flow)
    else if (!this.inflater.destroyed && !this.inflater.write(chunk)) {
      flow.pause()
      this.inflater.once('drain', () => flow.resume())
    }
  }

  end(): void {
    if (this.inflater && this.sent > 0) this.inflater.end()
    else this.finish()
  }

  /** Stops the work without calling `done`. */
  drop(): void {
    this.inflater?.removeAllListeners()
    this.inflater?.on('error', () => {})
    this.inflater?.destroy()
    this.pieces.clear()
  }

  private take(chunk: Buffer, flow: Flow): void {
    this.size += chunk.length
    if (this.size > this.limits.maxBytes) this.refuse()
    else {
      this.pieces.push(chunk)
      if (this.size > this.counted) this.count(flow)
    }
  }

  /** Reserves memory in steps, so that a body of many small pieces needs no more calls than one of large pieces. */
  private count(flow: Flow): void {
    const step = Math.max(this.size - this.counted, STEP_BYTES)
    const open = this.limits.memory?.(step)
    this.counted += step
    if (!open) return
    flow.pause()
    this.waiting++
    open.then(
      () => {
        this.waiting--
        flow.resume()
        if (this.ended) this.finish()
      },
      (thrown: unknown) => this.fail(thrown instanceof Error ? thrown : unreachable(thrown)),
    )
  }

  private finish(): void {
    this.ended = true
    if (this.waiting === 0) this.done(this.pieces.take())
  }

  private refuse(): void {
    this.fail(tooLarge(this.limits.maxBytes))
  }

  private fail(fault: Error): void {
    this.drop()
    this.done(fault)
  }
}

/** @throws Fault for an encoding that was not requested, or several on top of each other. */
function createInflater(encoding: string | string[] | undefined): Transform | undefined {
  const coding = contentCoding(encoding)
  if (coding === undefined) return undefined
  const decoder = createDecoder(coding)
  if (!decoder) throw unreachable(new Error('unknown content-encoding'))
  return decoder
}
