/** Signs of life of a provider's stream, however its bytes are cut. */
import fc from 'fast-check'
import t from 'tap'
import { StreamLife } from '../../src/machines/sse/frames.ts'
import { property } from '../support/seed.ts'

const lives = (...chunks: string[]): boolean[] => {
  const life = new StreamLife()
  return chunks.map((chunk) => life.push(Buffer.from(chunk)))
}

t.test('events count as a sign of life', async (t) => {
  t.same(lives('data: {"a":1}\n\n', 'data: [DONE]\n\n', 'data:x\n\n', 'data: {"type":"message_start"}\n\n'), [true, true, true, true])
  t.same(lives('event: content_block_delta\ndata: {"type":"content_block_delta"}\n\n'), [true])
  t.same(lives('id: 1\r\ndata: {"a":1}\r\n\r\n'), [true])
  t.same(lives('data: {"a":1}\r\r'), [true])
  t.same(lives('data: {"a":1}\r\n\r\n', 'event: ping\r\ndata: {"type":"ping"}\r\n\r\n', ': x\r\n\r\n'), [true, false, false])
  t.same(lives('data: {"a":1}\r\n\r\n', 'data: {"ty', 'pe":"ping"}\r\n\r\n', 'data: {"a":1}\n\r\n'), [true, false, false, true])
})

t.test('comments, blank lines and keep-alive events are no sign of life', async (t) => {
  const quiet = [
    ': still here\n\n',
    '\n\n',
    'event: ping\ndata: {"type": "ping"}\n\n',
    'data: {"type":"ping"}\n\n',
    'event: keepalive\ndata: {"sequence_number":3,"type":"keepalive"}\n\n',
    ': PROCESSING\r\n\r\n',
    'retry: 10\n\n',
  ]
  t.same(
    lives(...quiet),
    quiet.map(() => false),
  )
  t.same(lives('data: {"a":1}\n\n: x\n\n', ': y\n\n'), [true, false])
  t.same(lives('event: ping\ndata: {}\n\n', 'data: {}\n\n'), [false, true])
})

t.test('each piece of a long event counts as a sign of life', async (t) => {
  t.same(lives('data: {"type":"image","b64":"', 'A'.repeat(1000), 'AA', '"}\n\n', ': x\n\n'), [true, true, true, true, false])
  t.same(lives('data: {"choi', 'ces":[]}', '\n\n', ': x'), [true, true, false, false])
  t.same(lives('data: {"ty', 'pe":"x"}', '\n\n'), [false, true, false])
  t.same(lives('event: pi', 'ng\nda', 'ta: {"type"', ': "ping"}', '\n\n'), [false, false, false, false, false])
})

t.test('finds the same signs of life wherever the bytes are cut', async (t) => {
  const pieces = fc.array(
    fc.constantFrom(
      ': c\n\n',
      'event: ping\ndata: {"type":"ping"}\n\n',
      'data: {"type":"x"}\n\n',
      'event: a\n',
      '\n',
      'data: {"type":"ping"}\n\n',
    ),
    { maxLength: 8 },
  )
  const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 10 })
  const same = fc.property(pieces, sizes, fc.constantFrom('\n', '\r\n'), (parts, cuts, end) => {
    const text = parts.join('').replaceAll('\n', end)
    const chunks: string[] = []
    for (let at = 0, i = 0; at < text.length; i++) {
      const size = cuts[i % cuts.length]
      chunks.push(text.slice(at, at + size))
      at += size
    }
    return lives(...chunks).includes(true) === lives(text).includes(true)
  })
  fc.assert(same, property(2000, 100_000))
  t.pass('every cut')
})
