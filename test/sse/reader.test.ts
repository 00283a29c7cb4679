/** Events are read alike whatever ends their lines, and however the bytes are cut. */
import { createParser } from 'eventsource-parser'
import fc from 'fast-check'
import t from 'tap'
import { EventReader } from '../../src/machines/sse/reader.ts'
import { property } from '../support/seed.ts'

type Event = [data: string, event: string | undefined]

function read(chunks: readonly string[]): Event[] {
  const found: Event[] = []
  const reader = new EventReader(({ data, event }) => found.push([data, event]))
  for (const chunk of chunks) reader.push(Buffer.from(chunk))
  reader.close()
  return found
}

/** The parser with nothing before it. */
function parsed(chunks: readonly string[]): Event[] {
  const found: Event[] = []
  const parser = createParser({ onEvent: ({ data, event }) => found.push([data, event]) })
  for (const chunk of chunks) parser.feed(chunk)
  parser.feed('\n\n')
  return found
}

t.test('any text in any pieces gives the events of the parser alone', async (t) => {
  const piece = fc.constantFrom(
    '\r',
    '\n',
    '\r\n',
    '\r\n\r\n',
    '\n\n',
    'a',
    'data: {"a":1}',
    'data:b',
    'data',
    'event: x',
    ': c',
    'id: 7',
    '',
  )
  const chunks = fc.array(
    fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join('')),
    { maxLength: 6 },
  )
  fc.assert(
    fc.property(chunks, (some) => JSON.stringify(read(some)) === JSON.stringify(parsed(some))),
    property(5000, 100_000),
  )
  t.pass('the same events')
})

t.test('lines that end in CR and LF are read, cut anywhere', async (t) => {
  const text = 'event: x\r\ndata: {"a":1}\r\n\r\ndata: é\r\n\r\n'
  const wanted: Event[] = [
    ['{"a":1}', 'x'],
    ['é', undefined],
  ]
  for (let at = 0; at <= text.length; at++) t.same(read([text.slice(0, at), text.slice(at)]), wanted, `cut at ${at}`)
})

t.test('a frame that comes in many pieces is one, short or long', async (t) => {
  for (const length of [100, 4_000, 4_200, 20_000]) {
    const words = 'x'.repeat(length)
    const text = `data: a\n\ndata: ${words}\n\ndata: b\n\n`
    const pieces = Array.from({ length: Math.ceil(text.length / 700) }, (_, at) => text.slice(at * 700, at * 700 + 700))
    t.same(
      read(pieces).map(([data]) => data),
      ['a', words, 'b'],
      `${length} letters`,
    )
  }
  t.same(read(['data: a']), [['a', undefined]], 'the last one may lack its end')
})

t.test('what a handler throws comes out, as for a frame that is too long', async (t) => {
  const reader = new EventReader(() => {
    throw new RangeError('no more')
  })
  t.throws(() => reader.push(Buffer.from('data: a\n\n')), { message: 'no more' })
})
