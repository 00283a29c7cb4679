/** Events as they come, as server-sent events (HTML standard, section 9.2): the id of each is the place to resume from. */
import { Readable } from 'node:stream'
import { badField, Fault } from '../core/faults.ts'
import { cloudEvent } from '../services/events/index.ts'
import { type EventReading, wantedTypes } from './events.ts'

export interface EventStream {
  readonly status: 200
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Readable
}

/** Events of one reading; milliseconds between two, and between two signs of life. */
const PAGE = 100
const LOOK = 1_000
const HEARTBEAT = 15_000
/** Streams of one process. */
const MAX_STREAMS = 32

let streams = 0

/**
 * @param lastId of the header `Last-Event-ID`; absent: only what comes from now on.
 * @throws Fault 400, 503 where too many streams are open.
 */
export async function eventStream(query: URLSearchParams, lastId: string | undefined, from: EventReading): Promise<EventStream> {
  const types = wantedTypes(query)
  const resumed = lastId ?? query.get('cursor') ?? undefined
  if (resumed !== undefined && !/^\d{1,15}$/.test(resumed)) throw badField('Last-Event-ID', 'expected the id of an event of this stream')
  if (streams >= MAX_STREAMS)
    throw new Fault('unavailable', { message: `More than ${MAX_STREAMS} streams of events are open`, retryAfter: 5 })
  streams++
  let after: number
  try {
    after = resumed === undefined ? await from.events.last() : Number(resumed)
  } catch (thrown) {
    streams--
    throw thrown
  }
  const bytes = Readable.from(streamText({ after, types, from }), { objectMode: false, encoding: 'utf8', highWaterMark: 64 * 1024 })
  bytes.once('close', () => streams--)
  const headers = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store', 'x-accel-buffering': 'no' }
  return { status: 200, headers, bytes }
}

async function* streamText({
  after,
  types,
  from,
}: {
  after: number
  types: readonly string[]
  from: EventReading
}): AsyncGenerator<string> {
  const { events, source, time } = from
  yield ': events\n\n'
  let sentAt = time.monotonic()
  for (let place = after; ; ) {
    const page = await events.page({ after: place, types, limit: PAGE })
    for (const event of page) {
      place = event.number
      yield `id: ${event.number}\nevent: ${event.type}\ndata: ${JSON.stringify(cloudEvent(event, source))}\n\n`
    }
    if (page.length > 0) sentAt = time.monotonic()
    else if (time.monotonic() - sentAt >= HEARTBEAT) {
      sentAt = time.monotonic()
      yield ': still here\n\n'
    }
    if (page.length === 0 && from.isDraining?.()) return
    if (page.length < PAGE) await new Promise<void>((resolve) => time.after(LOOK, resolve))
  }
}
