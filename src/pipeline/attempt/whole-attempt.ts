/** One upstream answer that is not streamed: gathered, parsed once, then patched or translated. */
import { asFault, Fault, unreadable } from '../../core/faults.ts'
import { asString, isObject, type JsonObject } from '../../core/json.ts'
import { CallWatch } from '../../dialects/canon/call-watch.ts'
import { failedEnd } from '../../dialects/canon/ends.ts'
import { isContent, MEDIA_BYTES, type StreamEvent, toEnd } from '../../dialects/canon/events.ts'
import { withSignedIds } from '../../dialects/canon/provider-ids.ts'
import { markEvents } from '../../dialects/canon/reasoning-owner.ts'
import { restoreNames } from '../../dialects/canon/tool-names.ts'
import { countsOutput } from '../../dialects/canon/usage.ts'
import type { Final, PassFacts, Sent, Target, UpstreamDialect } from '../../dialects/types.ts'
import type { Tap } from '../../plugin-api/index.ts'
import type { BodyReceiver } from '../../services/upstream/call.ts'
import { JsonBody } from '../../services/upstream/json-body.ts'
import type { Planned } from '../exchange.ts'
import type { EventSink } from '../records.ts'
import { beginTurn } from '../reply/event-path.ts'
import { finishAll } from '../reply/relays.ts'
import { StopCutter } from '../reply/stop-cutter.ts'
import { withoutBeginning } from './given-beginning.ts'
import { marking } from './pass-relay.ts'
import type { Lane } from './turn.ts'
import { type AttemptPlan, REFUSED, UpstreamAttempt } from './upstream-attempt.ts'

/** A reply longer than this is cut off. */
const CAP = 16 * 1024 * 1024

/** Turns a parsed body into what a lane sends. */
export interface WholeResult extends PassFacts {
  /** Bytes of content, where no usage was reported. */
  content?: number | undefined
  /** True where the reply holds no content; looked at only where its end is not known as a success. */
  isEmpty?: boolean | undefined
  /** A guardrail refuses the answer. */
  refused?: Fault | undefined
  /** Guardrails read a long answer, and let others have their turn. Gives the fault where they refuse it. */
  reading?: Promise<Fault | undefined>
  /** Engines still read it. */
  path?: Pick<EventSink, 'pending' | 'refusal' | 'late'> | undefined
  finish(final: Final): string
}

export interface WholePlan extends AttemptPlan {
  /** Of an error that comes with a status of success. */
  decodeFault: (status: number, body: JsonObject) => Fault
  read(body: JsonObject): WholeResult
}

export class WholeAttempt extends UpstreamAttempt<WholePlan> implements BodyReceiver {
  private readonly body = new JsonBody(CAP)
  /** Monotonic milliseconds of the first byte that is no blank. */
  private begunAt: number | undefined
  private result: WholeResult | undefined
  /** The body holds an error and no answer, as some providers report failures inside a 200: content has not begun. */
  private onlyError = false
  private replyId: string | undefined

  data(chunk: Buffer): void {
    if (this.over) return
    // Some providers send blanks while they work: the reply has not begun with them.
    const now = this.exchange.head.clock.monotonic()
    if (this.begunAt === undefined) {
      if (isBlank(chunk)) return
      this.begunAt = now
    }
    this.flow?.alive?.(now)
    if (!this.body.push(chunk)) this.fail(new Fault('upstream_oversized'))
  }

  end(): void {
    if (this.over) return
    try {
      this.complete(this.plan.read(this.parse()))
    } catch (thrown) {
      this.fail(unreadable(thrown))
    }
  }

  fail(fault: Fault): void {
    if (this.over) return
    // The caller has ended it already, whatever becomes of the rest.
    if (this.cancellation.discarding) this.gone()
    else this.refuse(fault)
  }

  /** Takes the finished answer; a provider inside this process calls it straight. */
  complete(result: WholeResult): void {
    if (this.over) return
    this.result = result
    if (result.reading) {
      const { reading, ...rest } = result
      reading.then(
        (refused) => this.complete({ ...rest, refused }),
        (thrown: unknown) => this.fail(asFault(thrown)),
      )
      return
    }
    if (result.fault) {
      this.onlyError = !result.content && !result.usage?.output
      this.fail(result.fault)
      return
    }
    // With nothing to show for it an end that is not known as a success is a failure, as in a stream.
    if (result.end?.reason === 'unknown' && result.isEmpty) {
      this.fail(failedEnd(result.end.raw))
      return
    }
    const { path } = result
    if (!path?.pending) {
      this.completed(result)
      return
    }
    let failed: Fault | undefined
    path.late = {
      text: () => {},
      fail: (fault) => {
        failed = fault
      },
    }
    path.pending.then(() => {
      if (this.over) return
      if (path.refusal) this.completed({ ...result, refused: path.refusal })
      else if (failed) this.fail(failed)
      else this.completed(result)
    })
  }

  private completed(result: WholeResult): void {
    const { exchange, plan } = this
    exchange.run.commit(plan.endpoint, exchange.head.clock.monotonic())
    const { refused } = result
    const aborted = this.cancellation.discarding
    const ended = refused ? { refused, end: REFUSED, fault: undefined, aborted } : { fault: undefined, aborted }
    this.settle(this.facts(), ended, (final) => result.finish(final))
  }

  private parse(): JsonObject {
    const body = this.body.parse()
    this.replyId = asString(body.id)
    if (isObject(body.error)) {
      this.onlyError = true
      throw this.plan.decodeFault(200, body)
    }
    return body
  }

  protected override facts() {
    const { result, begunAt, onlyError } = this
    if (result) {
      const { usage, end, content = 0 } = result
      this.exchange.run.replyId = this.replyId
      return { usage, end, begun: !onlyError, relayed: countsOutput(usage) ? 0 : content }
    }
    return {
      usage: undefined,
      end: undefined,
      begun: begunAt !== undefined && !onlyError,
      relayed: this.body.size,
      hidden: this.hiddenTokens(begunAt),
    }
  }

  protected override finish(): string {
    return ''
  }
}

function isBlank(chunk: Buffer): boolean {
  for (const byte of chunk) if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return false
  return true
}

/** Characters of an answer that guardrails read in one go, and of a slice of a longer one: a few milliseconds. */
const LONG = 16_384
const SLICE = 4_096

function eventsLength(events: readonly StreamEvent[]): number {
  let length = 0
  for (const event of events) if (event.type === 'block-delta') length += event.text.length
  return length
}

/** @returns why guardrails refuse the answer, where they do. */
async function inSlices(events: readonly StreamEvent[], path: Pick<EventSink, 'push' | 'close' | 'refusal'>): Promise<Fault | undefined> {
  try {
    let read = 0
    for (const event of events) {
      const pieces = event.type === 'block-delta' ? (event.text.match(PIECES) ?? []).map((text) => ({ ...event, text })) : [event]
      for (const piece of pieces) {
        path.push([piece])
        read += piece.type === 'block-delta' ? piece.text.length : 0
        if (read < SLICE) continue
        read = 0
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    path.close()
    return undefined
  } catch (thrown) {
    if (!path.refusal) throw thrown
    return path.refusal
  }
}

const PIECES = new RegExp(`[^]{1,${SLICE}}`, 'g')

/** Reads a body by way of canonical events, into the exchange's path. */
export function translated(
  events: readonly StreamEvent[],
  path: Pick<EventSink, 'push' | 'close' | 'finish' | 'pending' | 'refusal' | 'late' | 'guarded'>,
): WholeResult {
  const result: WholeResult = { path, finish: (final) => path.finish(final) }
  for (const event of events) {
    if (event.type === 'usage') result.usage = event.usage
    else if (event.type === 'end') result.end = toEnd(event)
    else if (event.type === 'fault') result.fault = event.fault
  }
  if (!result.fault) {
    if (path.guarded && eventsLength(events) > LONG) result.reading = inSlices(events, path)
    else {
      try {
        path.push(events)
        path.close()
      } catch (thrown) {
        if (!path.refusal) throw thrown
        result.refused = path.refusal
      }
    }
  }
  if (!countsOutput(result.usage)) result.content = contentBytes(events)
  if (result.end?.reason === 'unknown') result.isEmpty = !events.some(isContent)
  return result
}

/** Bytes of the answer's content: the base of an estimate where the provider reports no usage. */
export function contentBytes(events: readonly StreamEvent[]): number {
  let bytes = 0
  for (const event of events) {
    if (event.type === 'block-delta') bytes += Buffer.byteLength(event.text)
    else if (event.type === 'block-start' && event.kind === 'media') bytes += MEDIA_BYTES
  }
  return bytes
}

/** A call whose reply comes as a whole. */
interface WholeCall {
  readonly exchange: Planned
  readonly dialect: UpstreamDialect
  readonly lane: Lane
  readonly stops: readonly string[] | undefined
  readonly beginning: string | undefined
  readonly observers: readonly Tap[]
  readonly target: Target
  readonly sign: ((id: string) => string) | undefined
}

/** Decodes a whole reply and passes it to the taps that observe it; in the pass lane it stays as it is. */
export function readWhole(
  { exchange, dialect, lane, stops, beginning, observers, target: { account, quirks }, sign }: WholeCall,
  sent: Sent,
  reply: JsonObject,
): WholeResult {
  const body = sign ? withSignedIds(reply, sign) : reply
  let events: StreamEvent[] = []
  if (lane !== 'pass') {
    dialect.decodeResult(body, events, quirks, sent)
    if (sent.toolNames) restoreNames(events, sent.toolNames)
    if (lane === 'translate') new CallWatch(exchange.run.toolNames).read(events)
    if (account !== undefined) markEvents(events, account)
    if (beginning) events = withoutBeginning(events, beginning)
    if (stops) events = new StopCutter(stops).push(events)
    for (const tap of observers) for (const event of events) tap.push(event, () => {})
    finishAll(observers)
  }
  if (lane !== 'translate' && dialect.pass) {
    const result = dialect.pass.result(body, exchange.run.ctx)
    const mark = marking(dialect.pass, account, undefined)
    const finish = (final: Final): string => (mark ? mark(result.finish(final)) : result.finish(final))
    const { usage, end, fault } = result
    const isUnknown = end?.reason === 'unknown'
    if ((countsOutput(usage) && !isUnknown) || fault) return { usage, end, fault, finish }
    if (lane === 'pass') dialect.decodeResult(body, events, quirks)
    return { usage, end, content: contentBytes(events), isEmpty: isUnknown && !events.some(isContent), finish }
  }
  return translated(events, exchange.run.path ?? beginTurn(exchange))
}
