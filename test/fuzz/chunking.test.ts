/** However a stream's bytes arrive, the same events and the same bytes come out: none lost, none invented. */
import fc from 'fast-check'
import t from 'tap'
import type { StreamEvent } from '../../src/dialects/canon/events.ts'
import { noUsage } from '../../src/dialects/canon/usage.ts'
import { upstreamDialects } from '../../src/dialects/registry.ts'
import type { PassWire, UpstreamDialect } from '../../src/dialects/types.ts'
import { EventReader } from '../../src/machines/sse/reader.ts'
import { EventOrder } from '../support/event-order.ts'
import { every } from '../support/every.ts'
import { wireStreams } from '../support/matrix/streams.ts'
import { property } from '../support/seed.ts'
import { WIRES, type WireName } from '../support/wire.ts'

const RUNS = property(1000, 100_000)

function wireDialect(wire: WireName): UpstreamDialect {
  const dialect = upstreamDialects.get(wire)
  if (!dialect) throw new Error(`no dialect ${wire}`)
  return dialect
}

/** Output of a decoder for these chunks, as text that can be compared. */
function decoded(dialect: UpstreamDialect, chunks: readonly Buffer[]): string {
  const events: StreamEvent[] = []
  const decoder = dialect.streamDecoder()
  const reader = new EventReader(({ data, event }) => decoder.feed(data, event, events))
  for (const chunk of chunks) reader.push(chunk)
  reader.close()
  decoder.end(events)
  return JSON.stringify(events)
}

/** Output of the pass lane for these chunks, with what it has read off them. */
function passed(wire: PassWire, chunks: readonly Buffer[]): string {
  const ctx = {
    id: 'gen-abc',
    created: 1_764_000_000,
    model: 'acme/möbius',
    provider: 'Acme',
    body: {},
    brand: 'router',
    sequence: 2,
    opened: true,
  }
  const stream = wire.stream(ctx)
  let out = ''
  for (const chunk of chunks) out += stream.feed(chunk)
  out += stream.close()
  const { usage = noUsage(), end = { reason: 'error' as const }, fault, committed, relayed } = stream
  const final = { usage, end, cost: 1500, inputCost: 500, outputCost: 1000, completedAt: 1_764_000_001, ...(fault ? { fault } : {}) }
  return `${JSON.stringify({ usage, end, fault, committed, relayed })}\n${out}${stream.finish(final)}`
}

/** Cuts at these shares of the length, in any order. */
function cutAt(bytes: Buffer, shares: readonly number[]): Buffer[] {
  const places = [...new Set(shares.map((share) => Math.floor(share * bytes.length)))].sort((a, b) => a - b)
  const chunks: Buffer[] = []
  let from = 0
  for (const place of [...places, bytes.length]) {
    chunks.push(bytes.subarray(from, place))
    from = place
  }
  return chunks
}

t.setTimeout(3_600_000)

const LINE_ENDS = ['\n', '\r\n', '\r'] as const

const shares = fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { maxLength: 24 })

/** Each stream with each line end, and what it gives in one piece. */
function cases(wire: WireName, give: (chunks: readonly Buffer[]) => string): { name: string; bytes: Buffer; expected: string }[] {
  return [...wireStreams(wire)].flatMap(([name, bytes]) => {
    const expected = give([bytes])
    return LINE_ENDS.map((end) => {
      const same = Buffer.from(bytes.toString('latin1').replaceAll('\n', end), 'latin1')
      return { name: `${name} with ${JSON.stringify(end)}`, bytes: same, expected }
    })
  })
}

function holds(all: ReturnType<typeof cases>, give: (chunks: readonly Buffer[]) => string): void {
  fc.assert(
    fc.property(fc.nat({ max: all.length - 1 }), shares, (index, places) => {
      const { name, bytes, expected } = all[index]
      if (give(cutAt(bytes, places)) !== expected) throw new Error(`${name} comes out otherwise when it is cut`)
    }),
    RUNS,
  )
}

for (const wire of Object.keys(WIRES) as WireName[]) {
  const dialect = wireDialect(wire)
  t.test(`decoding ${wire}`, async (t) => {
    const give = (chunks: readonly Buffer[]): string => decoded(dialect, chunks)
    const all = cases(wire, give)
    await every(t, 'every case', async (t) => {
      for (const { name, expected } of all) {
        const events = JSON.parse(expected) as StreamEvent[]
        const order = new EventOrder()
        t.doesNotThrow(() => {
          for (const event of events) order.check(event)
        }, `${name} gives events in a legal order`)
        t.equal(events.filter((event) => event.type === 'end' || event.type === 'fault').length, 1, `${name} ends once`)
      }
    })
    t.doesNotThrow(() => holds(all, give))
    await every(t, 'every case', async (t) => {
      for (const { name, bytes, expected } of all.filter(({ name }) => name.startsWith('said')))
        t.equal(give([...bytes].map((byte) => Buffer.of(byte))), expected, `${name}, byte by byte`)
    })
  })
  const { pass } = dialect
  if (!pass) continue
  t.test(`passing ${wire} on`, async (t) => {
    const give = (chunks: readonly Buffer[]): string => passed(pass, chunks)
    const all = cases(wire, give)
    t.ok(all.every(({ expected }) => expected.split('\n').length > 2))
    t.doesNotThrow(() => holds(all, give))
  })
}
