/** A body in chunks that is read without the parser, or given to it in the middle, is what the parser reads from the beginning. */
import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import fc from 'fast-check'
import t from 'tap'
import { ProviderConnection } from '../../src/machines/http1-client/provider-connection.ts'

interface Seen {
  body: string
  end: 'ended' | 'failed' | 'open'
  /** True if the connection can serve again. */
  free: boolean
}

class OpenSocket extends EventEmitter {
  writableLength = 0
  write(): boolean {
    return true
  }
  pause(): void {}
  resume(): void {}
  ref(): void {}
  unref(): void {}
  destroy(): void {}
}

/** Result of a connection for a reply that comes in these pieces. */
async function read(head: string, pieces: readonly string[]): Promise<Seen> {
  const seen: Seen = { body: '', end: 'open', free: false }
  const connection = new ProviderConnection({
    opened: () => {},
    free: () => {
      seen.free = true
    },
    closed: () => {},
    again: () => {},
    stale: () => {},
    surplus: () => {},
    maxAge: 300_000,
    singleUseUntil: 0,
  })
  const written = new Promise<void>((resolve) => {
    connection.send(
      { head: '', body: '', isRelayed: false, isHead: false },
      {
        onRequestStart: () => resolve(),
        onResponseStart: () => {},
        onResponseData: (_controller, chunk) => {
          seen.body += chunk.toString('latin1')
        },
        onResponseEnd: () => {
          seen.end = 'ended'
        },
        onResponseError: () => {
          seen.end = 'failed'
        },
      },
    )
  })
  connection.connected(null, new OpenSocket() as unknown as Socket, false)
  await written
  // One buffer for all reads, as the pools have it.
  const shared = Buffer.alloc(4_096)
  for (const piece of [head, ...pieces]) {
    const length = shared.write(piece, 'latin1')
    if (length > 0 && seen.end === 'open') connection.read(shared.subarray(0, length))
  }
  connection.close()
  return seen
}

const PLAIN = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
/** The same to the parser, and not taken for plain. */
const OTHER = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n'

const chunk = fc
  .tuple(fc.string({ unit: fc.constantFrom('a', '\r', '\n', '0', ';', 'é'), minLength: 1, maxLength: 40 }), fc.constantFrom('', '0', '000'))
  .map(([text, zeros]) => `${zeros}${text.length.toString(16)}\r\n${text}\r\n`)
const end = fc.constantFrom('0\r\n\r\n', '00\r\n\r\n', '0\r\nX-Late: 1\r\n\r\n', '', '0\r\n\r\nHTTP/1.1 200 OK\r\n', '0\r\n', '0;a\r\n\r\n')
const put = fc.constantFrom('', '\r', '\n', '\r\n', ' ', ';', ';x=y', '0', '-', 'g', '\t', 'fffffff', '123456789')
const change = fc.record({ at: fc.nat(160), cut: fc.nat(2), put })
const cuts = fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 12, size: 'max' })

t.test('random bodies, cut anywhere and changed anywhere, are read as the parser reads them', async (t) => {
  const outcomes = { ended: 0, failed: 0, open: 0 }
  await fc.assert(
    fc.asyncProperty(
      fc.array(chunk, { maxLength: 6 }),
      end,
      fc.array(change, { maxLength: 2 }),
      cuts,
      async (chunks, last, changes, lengths) => {
        let body = chunks.join('') + last
        for (const one of changes) body = body.slice(0, one.at) + one.put + body.slice(one.at + one.cut)
        const pieces: string[] = []
        let from = 0
        for (const length of lengths) {
          pieces.push(body.slice(from, from + length))
          from += length
        }
        pieces.push(body.slice(from))
        const ours = await read(PLAIN, pieces)
        const parsed = await read(OTHER, pieces)
        outcomes[ours.end]++
        // Line ends between two replies are nothing to the parser; without it a connection with anything behind its reply is not used again.
        const same = ours.end === parsed.end && ours.body === parsed.body && (parsed.free || !ours.free)
        if (!same) throw new Error(`${JSON.stringify(pieces)}: ${JSON.stringify(ours)}, ${JSON.stringify(parsed)}`)
      },
    ),
    { numRuns: 6_000, seed: 20261126 },
  )
  t.ok(outcomes.ended > 1_000 && outcomes.failed > 500 && outcomes.open > 500, JSON.stringify(outcomes))
})
