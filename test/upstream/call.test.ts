/** Back-pressure of one call: bytes that a paused receiver still gets, plain and compressed. */
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import t from 'tap'
import type { Fault } from '../../src/core/faults.ts'
import { UpstreamCall } from '../../src/services/upstream/call.ts'
import { Pools } from '../../src/services/upstream/pools.ts'
import { FakeClock } from '../support/clock.ts'
import { Gate, startUpstream } from '../support/upstream.ts'

const LARGE = 48 * 1024 * 1024
/** Bytes that may still arrive after a pause: buffers of the decompressor and of the socket. */
const LITTLE = 512 * 1024
const TIMEOUTS = { connect: 5_000, firstByte: 6_000, idle: 7_000, total: 8_000 }

const CODINGS: Record<string, (bytes: Buffer) => Buffer> = {
  gzip: gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
}

/** Pauses at the first data, and counts the bytes. */
class Reader {
  received = 0
  readonly first = new Gate()
  readonly over = new Gate()
  fault: Fault | undefined
  call: UpstreamCall | undefined

  head(): this {
    return this
  }

  data(chunk: Buffer): void {
    if (this.received === 0) {
      this.call?.pause()
      this.first.open()
    }
    this.received += chunk.length
    this.call?.alive()
  }

  end(): void {
    this.over.open()
  }

  fail(fault: Fault): void {
    this.fault = fault
    this.over.open()
  }
}

for (const [coding, compress] of Object.entries(CODINGS))
  t.test(`${coding}: a paused reply does not grow in memory`, async (t) => {
    const bytes = compress(Buffer.alloc(LARGE, 'all the same '))
    const upstream = await startUpstream(() => ({ headers: { 'content-encoding': coding }, body: [bytes] }))
    const pools = new Pools()
    t.teardown(() => Promise.all([pools.close(), upstream.close()]))
    const clock = new FakeClock()
    const reader = new Reader()
    const call = new UpstreamCall(reader, clock, TIMEOUTS)
    reader.call = call
    call.send(pools.for({ origin: upstream.url, connectTimeout: 5_000 }), { path: '/', headers: [], body: '{}' })
    await reader.first.opened
    await upstream.requests[0].closed
    await clock.advance(60_000)
    t.ok(reader.received < LITTLE, `${reader.received} bytes of ${LARGE}`)
    t.equal(reader.fault, undefined, 'no time-out counts meanwhile')
    call.resume()
    await reader.over.opened
    t.equal(reader.fault, undefined)
    t.equal(reader.received, LARGE, 'then all of it')
  })

t.test('returns upstream_oversized for a reply that inflates beyond the limit', async (t) => {
  const bytes = gzipSync(Buffer.alloc(65 * 1024 * 1024))
  const upstream = await startUpstream(() => ({ headers: { 'content-encoding': 'gzip' }, body: [bytes] }))
  const pools = new Pools()
  t.teardown(() => Promise.all([pools.close(), upstream.close()]))
  const reader = new Reader()
  reader.call = new UpstreamCall(reader, new FakeClock(), TIMEOUTS)
  reader.call.send(pools.for({ origin: upstream.url, connectTimeout: 5_000 }), { path: '/', headers: [], body: '{}' })
  await reader.first.opened
  reader.call.resume()
  await reader.over.opened
  t.equal(reader.fault?.code, 'upstream_oversized')
})

/** Node's timers may fire a fraction of a millisecond before their time. */
class EarlyClock extends FakeClock {
  override after(ms: number, fn: () => void) {
    return super.after(Math.max(0, ms - 0.4), fn)
  }
}

t.test('reports silence of the provider even if the timer fires early', async (t) => {
  const upstream = await startUpstream(() => ({ body: ['one'], after: 'stall' }))
  const pools = new Pools()
  t.teardown(() => Promise.all([pools.close(), upstream.close()]))
  const clock = new EarlyClock()
  const reader = new Reader()
  const call = new UpstreamCall(reader, clock, TIMEOUTS)
  reader.call = call
  call.send(pools.for({ origin: upstream.url, connectTimeout: 5_000 }), { path: '/', headers: [], body: '{}' })
  await reader.first.opened
  call.resume()
  await clock.advance(6_999.6)
  t.equal(reader.fault?.code, 'upstream_silent')
})
