/** Replies that are recognised without the parser are read alike by the parser: replies with random faults go through both. */
import fc from 'fast-check'
import t from 'tap'
import { type AnswerFields, plainReply } from '../../src/machines/http1-client/plain-reply.ts'
import { ReplyParser } from '../../src/machines/http1-client/reply-parser.ts'

/** Reading of Node's parser for the same bytes; undefined where they are not exactly one reply after which the connection lives on. */
function parsed(bytes: Buffer): unknown {
  let begun = 0
  let whole = 0
  let head: { status: number; fields: AnswerFields } | undefined
  let lives = false
  let body = ''
  const parser = new ReplyParser({
    begin: () => {
      begun++
    },
    head: (status, headers, keepAlive, upgrade) => {
      head = { status, fields: answerFields(headers) }
      lives = keepAlive && !upgrade
      return false
    },
    body: (piece) => {
      body += piece.toString('latin1')
    },
    complete: () => {
      whole++
    },
  })
  const error = parser.execute(bytes)
  parser.close()
  return error === undefined && begun === 1 && whole === 1 && lives ? { ...head, body } : undefined
}

/** A field that is repeated has all its values, which no recognised reply shows. */
function answerFields(headers: readonly string[]): AnswerFields {
  const headerField = (name: string): string | undefined => {
    const values = headers.filter((_, at) => at % 2 === 1 && headers[at - 1]?.toLowerCase() === name)
    return values.length === 0 ? undefined : values.join(', ')
  }
  return {
    'content-type': headerField('content-type'),
    'content-encoding': headerField('content-encoding'),
    'keep-alive': headerField('keep-alive'),
  }
}

/** Of a reply in chunks the body is read elsewhere (chunked-body.test.ts). */
function plain(bytes: Buffer): unknown {
  const { chunked, ...reply } = plainReply(bytes) ?? { chunked: true }
  return chunked || !('body' in reply) ? undefined : { ...reply, body: reply.body.toString('latin1') }
}

const reply = (fields: string, body = '{"a":1}'): string => `HTTP/1.1 200 OK\r\n${fields}Content-Length: ${body.length}\r\n\r\n${body}`
const PLAIN = [
  reply(''),
  reply('', ''),
  reply('Content-Type: application/json\r\nDate: Wed, 25 Nov 2026 10:00:00 GMT\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\n'),
  reply('x-a:1\r\nX-A: 2\r\nx-b: a: b, c\r\n'),
  'HTTP/1.1 201 \r\nContent-Length: 2\r\n\r\n{}',
]

t.test('the quick reader accepts usual replies, and reads them as the parser does', async (t) => {
  for (const text of PLAIN) {
    const bytes = Buffer.from(text, 'latin1')
    t.ok(plain(bytes), text.slice(0, 60))
    t.same(plain(bytes), parsed(bytes))
  }
})

t.test('the quick reader leaves unusual replies to the parser', async (t) => {
  const others = [
    ...['Transfer-Encoding: chunked\r\n', 'Connection: close\r\n', 'Upgrade: x\r\n', 'Content-Length: 7\r\n', 'X-A: 1\r\n 2\r\n'],
    ...['Content-Type: a\r\nContent-Type: b\r\n', 'Keep-Alive: timeout=5\r\nkeep-alive: timeout=9\r\n'],
    ...['X-A : 1\r\n', ': 1\r\n', 'X-A: \u00e9\r\n', 'X-A: 1\n', 'X-A: 1\rX-B: 2\r\n', 'X-A: \0\r\n'],
  ].map((fields) => reply(fields))
  others.push(
    `${reply('')}x`,
    reply('').slice(0, -1),
    reply('').replace('1.1', '1.0'),
    reply('').replace('200', '204'),
    reply('').replace('200', '103'),
    reply('').replace('200', '529'),
  )
  others.push(reply('').replace('Content-Length: 7', 'Content-Length: 07x'), reply('').replace('\r\n\r\n', '\n\n'))
  for (const text of others) t.equal(plain(Buffer.from(text, 'latin1')), undefined, JSON.stringify(text.slice(0, 80)))
})

t.test('the quick reader and the parser agree on randomly changed replies', async (t) => {
  const piece = fc.constantFrom(
    '\r\n',
    '\n',
    '\r',
    ' ',
    '\t',
    ':',
    ',',
    '\0',
    '0',
    '7',
    'x',
    'Content-Length: 7\r\n',
    'Connection: close\r\n',
    'Transfer-Encoding: chunked\r\n',
    '\u00e9',
  )
  const change = fc.record({ at: fc.nat(200), cut: fc.nat(3), put: fc.oneof(piece, fc.constant('')) })
  let recognised = 0
  fc.assert(
    fc.property(fc.constantFrom(...PLAIN), fc.array(change, { maxLength: 3 }), (text, changes) => {
      let changed = text
      for (const { at, cut, put } of changes) changed = changed.slice(0, at) + put + changed.slice(at + cut)
      const bytes = Buffer.from(changed, 'latin1')
      const found = plain(bytes)
      if (found === undefined) return
      recognised++
      const same = parsed(bytes)
      if (JSON.stringify(found) !== JSON.stringify(same)) throw new Error(`${JSON.stringify(changed)}: ${JSON.stringify(same)}`)
    }),
    { numRuns: 20_000, seed: 20261125 },
  )
  t.ok(recognised > 2_000, `${recognised} of 20,000 were recognised`)
})
