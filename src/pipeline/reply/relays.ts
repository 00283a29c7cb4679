/** Relays that decode a stream on its way: to read along, or to write it in the caller's format. That of the pass lane stands with the attempt (`attempt/stream-attempt.ts`). */

import { type Fault, unreadable } from '../../core/faults.ts'
import { CallWatch } from '../../dialects/canon/call-watch.ts'
import { isContent, MEDIA_BYTES, type StreamEvent, toEnd } from '../../dialects/canon/events.ts'
import { signEvents } from '../../dialects/canon/provider-ids.ts'
import { markEvents } from '../../dialects/canon/reasoning-owner.ts'
import { restoreNames, type SentNames } from '../../dialects/canon/tool-names.ts'
import type { RunningReport } from '../../dialects/canon/usage.ts'
import type { Final, PassFacts, PassStream, StreamDecoder } from '../../dialects/types.ts'
import type { Frame, FrameReader, Framing } from '../../machines/sse/framing.ts'
import { EventReader } from '../../machines/sse/reader.ts'
import type { Tap } from '../../plugin-api/index.ts'
import { PassRelay } from '../attempt/pass-relay.ts'
import type { Relay, RelayFacts } from '../attempt/relay.ts'
import type { EventSink, LateReader } from '../records.ts'
import { StopCutter } from './stop-cutter.ts'

/** As pass, with the events decoded on the side for taps that only read. */
export class ObserveRelay extends PassRelay {
  private readonly reader: FrameReader
  private readonly decoder: StreamDecoder
  private readonly taps: readonly Tap[]
  private events: StreamEvent[] = []

  constructor(
    stream: PassStream,
    decoder: StreamDecoder,
    { observers, mark, framing }: Pick<Translation, 'observers' | 'framing'> & { mark: ((text: string) => string) | undefined },
  ) {
    super(stream, mark)
    this.decoder = decoder
    this.taps = observers
    const onFrame = ({ data, event }: Frame): void => decoder.feed(data, event, this.events)
    this.reader = framing?.reader(onFrame) ?? new EventReader(onFrame)
  }

  override feed(chunk: Buffer): string {
    try {
      this.reader.push(chunk)
    } catch (cause) {
      this.events.push({ type: 'fault', fault: unreadable(cause) })
    }
    this.show()
    return super.feed(chunk)
  }

  override close(): string {
    this.reader.close()
    this.decoder.end(this.events)
    this.show()
    finishAll(this.taps)
    return super.close()
  }

  abandon(): string {
    finishAll(this.taps)
    return ''
  }

  private show(): void {
    const { events } = this
    if (events.length === 0) return
    this.events = []
    for (const event of events) for (const tap of this.taps) tap.push(event, ignore)
  }
}

const ignore = (): void => {}

export function finishAll(taps: readonly Tap[]): void {
  for (const tap of taps) tap.finish?.(ignore)
}

/** Decoded, tapped, encoded. Events are held until the first content, so that a failed attempt leaves no trace. */
export class EventRelay implements Relay, RelayFacts {
  readonly raw = false
  readonly facts: RelayFacts = this
  begun = false
  relayed = 0
  images = 0
  usage: PassFacts['usage']
  firstUsage: PassFacts['firstUsage']
  beginning: PassFacts['beginning']
  end: PassFacts['end']
  fault: Fault | undefined
  private readonly path: EventSink
  private held: StreamEvent[] = []

  constructor(path: EventSink) {
    this.path = path
  }

  get committed(): boolean {
    return this.begun && (!this.path.guarded || this.path.hasContent)
  }
  get refusal(): Fault | undefined {
    return this.path.guarded ? this.path.refusal : undefined
  }
  get pending(): Promise<void> | undefined {
    return this.path.guarded ? this.path.pending : undefined
  }
  get crowded(): boolean {
    return this.path.guarded && this.path.crowded
  }

  listen(late: LateReader): void {
    this.path.late = late
  }

  /** Takes decoded events. @returns text for the client. */
  take(events: readonly StreamEvent[]): string {
    let content = false
    for (const event of events) {
      if (event.type === 'usage') this.usage = event.usage
      else if (event.type === 'opaque') this.beginning ??= this.begun || content ? undefined : event.of
      else if (event.type === 'end') this.end = toEnd(event)
      else if (event.type === 'fault') this.fault ??= event.fault
      else if (event.type === 'block-delta') this.relayed += Buffer.byteLength(event.text)
      else if (event.type === 'block-start' && event.kind === 'media') {
        this.relayed += MEDIA_BYTES
        if (event.of?.type === 'image') this.images++
      }
      if (!content && isContent(event)) {
        content = true
        if (!this.begun) this.firstUsage = this.usage
      }
    }
    if (this.begun) return this.path.push(events)
    if (!content) {
      for (const event of events) this.held.push(event)
      return ''
    }
    this.begun = true
    const all = this.held.length === 0 ? events : [...this.held, ...events]
    this.held = []
    return this.path.push(all)
  }

  feed(_chunk: Buffer): string {
    return ''
  }

  /** An answer that ended well without content is still an answer. */
  close(): string {
    if (this.begun) return this.path.close()
    if (this.held.length === 0 || this.fault) return ''
    const { held } = this
    this.held = []
    return this.path.push(held) + this.path.close()
  }

  abandon(): string {
    return this.begun ? this.path.close() : ''
  }

  finish(final: Final): string {
    return this.path.finishBytes(final)
  }
}

interface Translation {
  readonly observers: readonly Tap[]
  readonly account: string | undefined
  /** Signs ids of the provider's; undefined where the reply can hold none. */
  readonly sign: ((id: string) => string) | undefined
  readonly stops: readonly string[] | undefined
  /** Undefined for server-sent events. */
  readonly framing: Framing | undefined
  /** Names of tools, as the provider was sent them, and of those that the gateway runs. */
  readonly names: { readonly sent: SentNames | undefined; readonly ours: ReadonlySet<string> | undefined }
}

/** The event relay behind a provider's event stream. */
export class TranslateRelay extends EventRelay {
  private readonly reader: FrameReader
  private readonly decoder: StreamDecoder
  private readonly observers: readonly Tap[]
  private readonly account: string | undefined
  private readonly sign: Translation['sign']
  private readonly cutter: StopCutter | undefined
  private readonly names: SentNames | undefined
  private readonly calls: CallWatch
  private events: StreamEvent[] = []
  /** Running reports that have come, and the bytes of content that they cover. */
  private taken = 0
  counted = 0
  isCut = false
  readonly running: RunningReport | undefined

  /** @param account whose mark signed and encrypted reasoning gets. @param stops sequences at which the answer is cut. */
  constructor(path: EventSink, decoder: StreamDecoder, { observers, account, sign, stops, framing, names }: Translation) {
    super(path)
    this.decoder = decoder
    this.running = decoder.running
    this.observers = observers
    this.account = account
    this.sign = sign
    this.cutter = stops && new StopCutter(stops)
    this.names = names.sent
    this.calls = new CallWatch(names.ours)
    const onFrame = ({ data, event }: Frame): void => decoder.feed(data, event, this.events)
    this.reader = framing?.reader(onFrame) ?? new EventReader(onFrame)
  }

  override feed(chunk: Buffer): string {
    try {
      this.reader.push(chunk)
    } catch (cause) {
      this.events.push({ type: 'fault', fault: unreadable(cause) })
    }
    return this.drain()
  }

  override close(): string {
    this.reader.close()
    this.decoder.end(this.events)
    const text = this.drain()
    finishAll(this.observers)
    return text + super.close()
  }

  override abandon(): string {
    finishAll(this.observers)
    return super.abandon()
  }

  get replyId(): string | undefined {
    return this.decoder.replyId
  }

  private drain(): string {
    const { account, sign, cutter, names } = this
    let { events } = this
    this.events = []
    // Calls have the caller's names, and arguments that can be parsed wherever the answer ends well.
    if (names) restoreNames(events, names)
    this.calls.read(events)
    if (account !== undefined) markEvents(events, account)
    if (sign) signEvents(events, sign)
    if (cutter) {
      events = cutter.push(events)
      this.isCut = cutter.met
    }
    for (const tap of this.observers) for (const event of events) tap.push(event, ignore)
    const text = this.take(events)
    const { running } = this
    if (running && running.taken > this.taken) {
      this.taken = running.taken
      this.counted = this.relayed
    }
    return text
  }
}
