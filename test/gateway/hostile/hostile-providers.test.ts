/**
 * Replies that a hostile or broken provider sends: each is one clear failure of the one request, which the provider is sent once; the next
 * caller gets its own reply, and what floods in is not kept (RFC 9112 sections 2.2, 5, 6 and 7; RFC 9110 section 15).
 */
import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { type Gateway, KEY, startGateway } from '../../support/gateway.ts'
import { type RawUpstream, rawJson, startRawUpstream, type WireRequest } from '../../support/raw-upstream.ts'
import { chatReply } from '../../support/wire-chat.ts'

t.setTimeout(280_000)

const FOREIGN = 'meant for someone else'
/** Bytes by which the process, which is the provider as well, may grow. */
const MAX_MEMORY = 256 * 1024 * 1024
/** Bytes behind a hostile reply, which must reach no caller. */
const NEXT = rawJson(chatReply({ text: [FOREIGN] }))
const J = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n'
const CHUNKED = `${J}Transfer-Encoding: chunked\r\n\r\n`
const PIECE = 'x'.repeat(64 * 1024)

/** Bytes that are sent over and over, until the gateway closes the connection. */
interface Flood {
  readonly begin: string
  readonly repeat: string
}

/** Bytes that the provider sends; `end` closes its side behind that. */
type Hostile = string | Flood | { readonly end: string }

const UNREADABLE: Readonly<Record<string, Hostile>> = {
  'interim replies without end': { begin: '', repeat: 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(1000) },
  'interim replies with fields without end': {
    begin: '',
    repeat: `HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=x\r\nX-A: ${'y'.repeat(4000)}\r\n\r\n`.repeat(16),
  },
  'fields without end': { begin: J, repeat: `X-A: ${'y'.repeat(4000)}\r\n`.repeat(16) },
  'one field without end': { begin: `${J}X-A: `, repeat: PIECE },
  'a length too large for a number': `${J}Content-Length: 99999999999999999999999\r\n\r\n{}`,
  'two lengths': `${J}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x`,
  'a list of lengths': `${J}Content-Length: 2, 2\r\n\r\n{}`,
  'a length in hexadecimal': `${J}Content-Length: 0x2\r\n\r\n{}`,
  'a negative length': `${J}Content-Length: -2\r\n\r\n{}`,
  'a length with a sign': `${J}Content-Length: +2\r\n\r\n{}`,
  'an empty length': `${J}Content-Length:\r\n\r\n{}`,
  'a length beside chunks': `${J}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
  'an unknown transfer coding': `${J}Transfer-Encoding: xchunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
  'two transfer codings': `${J}Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
  'a blank before the colon': `${J}Content-Length : 2\r\n\r\n{}`,
  'a folded field': `${J}X-A: b\r\n c\r\nContent-Length: 2\r\n\r\n{}`,
  'lines without CR': `${J}Content-Length: 2\r\n\r\n{}`.replaceAll('\r\n', '\n'),
  'lines without LF': `${J}Content-Length: 2\r\n\r\n{}`.replaceAll('\r\n', '\r'),
  'NUL in a value': `${J}X-A: a\0b\r\nContent-Length: 2\r\n\r\n{}`,
  'a status of two digits': 'HTTP/1.1 99 X\r\nContent-Length: 2\r\n\r\n{}',
  'a status of zeros': 'HTTP/1.1 000 X\r\nContent-Length: 2\r\n\r\n{}',
  'a status below 100': 'HTTP/1.1 099 X\r\nContent-Length: 2\r\n\r\n{}',
  'a status of four digits': 'HTTP/1.1 1000 X\r\nContent-Length: 2\r\n\r\n{}',
  'the head of HTTP/2': 'HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\n{}',
  'another protocol': 'ICY 200 OK\r\n\r\n{}',
  'a request in place of a reply': 'GET / HTTP/1.1\r\nHost: gateway\r\n\r\n',
  'no head': { end: '{"hello":1}' },
}

/** The head is good; what follows is not. The pass-through has relayed the head by then: it closes its connection. */
const CUT: Readonly<Record<string, Hostile>> = {
  'a size of a chunk beyond any number': `${CHUNKED}ffffffffffffffffff\r\n{}`,
  'a negative size of a chunk': `${CHUNKED}-1\r\n{}`,
  'a chunk longer than its size': `${CHUNKED}1\r\n{}\r\n0\r\n\r\n`,
  'an extension of a chunk without end': { begin: `${CHUNKED}2;a=`, repeat: PIECE },
  'trailers without end': { begin: `${CHUNKED}2\r\n{}\r\n0\r\n`, repeat: `X-A: ${'y'.repeat(1000)}\r\n`.repeat(64) },
  'one trailer without end': { begin: `${CHUNKED}2\r\n{}\r\n0\r\nX-A: `, repeat: PIECE },
  'the end within a chunk': { end: `${CHUNKED}5\r\n{}` },
  'the end before the last chunk': { end: `${CHUNKED}2\r\n{}\r\n` },
  'the end before the length': { end: `${J}Content-Length: 200\r\n\r\n{` },
  'the end within the head': { end: 'HTTP/1.1 200 OK\r\nConte' },
  'an upgrade that nothing requested': `HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n${NEXT}`,
}

function send(socket: Socket, hostile: Hostile): void {
  if (typeof hostile === 'string') socket.write(hostile, 'latin1')
  else if ('end' in hostile) socket.end(hostile.end, 'latin1')
  else {
    const more = (): void => {
      // A few pieces at a time: the gateway shares this event loop.
      for (let i = 0; i < 4 && !socket.destroyed; i++) if (!socket.write(hostile.repeat)) return
      if (!socket.destroyed) setImmediate(more)
    }
    socket.write(hostile.begin)
    socket.on('drain', more)
    more()
  }
}

type Kind = 'chat' | 'stream' | 'GET' | 'POST' | 'HEAD'
const KINDS: readonly Kind[] = ['chat', 'stream', 'GET', 'POST', 'HEAD']

interface Stage {
  gateway: Gateway
  upstream: RawUpstream
  /** @returns status and text; status 0 where the connection was cut. */
  ask(kind: Kind): Promise<{ status: number; text: string }>
}

async function stage(t: Test, answer: RawUpstream['answer']): Promise<Stage> {
  const upstream = await startRawUpstream(answer)
  const gateway = await startGateway(`
auth: { keys: [ { name: app, key: "${KEY}", pass_through: true } ] }
providers:
  first: { dialect: openai-chat, base_url: "${upstream.url}/v1", key: "sk-provider-secret", pass_through: { price: "0" } }
models: { acme/one: { endpoints: [ { provider: first, model: m, price: free } ] } }
`)
  t.teardown(async () => {
    await gateway.close()
    await upstream.close()
  })
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const question = { model: 'acme/one', messages: [{ role: 'user', content: 'x' }] }
  const ask: Stage['ask'] = async (kind) => {
    try {
      const reply =
        kind === 'chat' || kind === 'stream'
          ? await gateway.post('/v1/chat/completions', { ...question, stream: kind === 'stream' })
          : await fetch(`${gateway.url}/v1/passage/first/x`, { method: kind, headers, ...(kind === 'POST' ? { body: '{}' } : {}) })
      return { status: reply.status, text: await reply.text() }
    } catch {
      return { status: 0, text: '' }
    }
  }
  return { gateway, upstream, ask }
}

const own = ({ line }: WireRequest): string =>
  line.includes('/chat/completions') ? rawJson(chatReply({ text: ['fine'] })) : rawJson({ line })

/** A hostile reply on a new connection and on one that has served; the next request of another caller gets its own. */
async function attack(
  t: Test,
  name: string,
  hostile: Hostile,
  check: (kind: Kind, found: { status: number; text: string }) => void,
): Promise<void> {
  for (const kind of KINDS) {
    let isHostile = false
    const { ask, upstream, gateway } = await stage(t, (request, socket) => {
      if (!isHostile) return own(request)
      isHostile = false
      send(socket, hostile)
      return undefined
    })
    for (const place of ['a new connection', 'one that has served']) {
      const before = upstream.requests.length
      const memory = process.memoryUsage().rss
      isHostile = true
      check(kind, await ask(kind))
      t.equal(upstream.requests.length - before, 1, `${name}, ${kind}, ${place}: the provider has it once`)
      t.ok(process.memoryUsage().rss - memory < MAX_MEMORY, `${name}, ${kind}: what floods in is not kept`)
      // A stream that is refused and one that is served begin alike.
      const next = await ask(kind === 'stream' ? 'chat' : kind)
      t.equal(next.status, 200, `${name}, ${kind}: the next request is served`)
      if (kind !== 'HEAD')
        t.match(next.text, kind === 'GET' || kind === 'POST' ? `${kind} /v1/x` : 'fine', `${name}, ${kind}: by its own reply`)
      t.notMatch(next.text, FOREIGN, name)
      await eventually('one connection is left at most', () => upstream.sockets.size <= 1)
    }
    t.notMatch(gateway.logs.join(''), '"unexpected"', name)
  }
}

for (const [name, hostile] of Object.entries(UNREADABLE))
  t.test(`no reply: ${name}`, async (t) => {
    await every(t, 'every kind of request', async (t) => {
      await attack(t, name, hostile, (kind, { status, text }) => {
        t.equal(status, 502, `${kind}: ${name}`)
        if (kind !== 'HEAD') t.match(text, 'unreadable', `${kind}: ${name}`)
      })
    })
  })

for (const [name, hostile] of Object.entries(CUT))
  t.test(`half a reply: ${name}`, async (t) => {
    await every(t, 'every kind of request', async (t) => {
      await attack(t, name, hostile, (kind, { status, text }) => {
        // A reply to HEAD has no content that could be wrong (RFC 9110 section 9.3.2).
        if (kind === 'HEAD') t.ok(status === 200 || status === 502, `${kind}: ${name}: ${status}`)
        else if (kind === 'chat' || kind === 'stream') {
          t.equal(status, 502, `${kind}: ${name}`)
          t.match(text, /unreadable|closed the connection/, `${kind}: ${name}`)
        } else t.ok(status === 0 || status === 502, `${kind}: ${name}: ${status}`)
      })
    })
  })

t.test('content behind a 204 or a 304 is no reply of the next request', async (t) => {
  for (const head of ['204 No Content', '304 Not Modified'])
    await every(t, head, async (t) => {
      for (const framing of [`Content-Length: ${NEXT.length}`, 'Transfer-Encoding: chunked', 'X-A: b'])
        await attack(t, head, `HTTP/1.1 ${head}\r\n${framing}\r\n\r\n${NEXT}`, (kind, { status }) => {
          t.equal(status, kind === 'chat' || kind === 'stream' ? 502 : Number(head.slice(0, 3)), `${kind}: ${framing}`)
        })
    })
})

t.test('replies of HTTP/1.0: with a length, to the end of the connection, and in chunks, whose connection serves once', async (t) => {
  const body = JSON.stringify(chatReply({ text: ['fine'] }))
  const length = `HTTP/1.0 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n`
  for (const [reply, closes, accepted] of [
    [`${length}\r\n${body}`, false, 3],
    [`${length}Connection: keep-alive\r\n\r\n${body}`, false, 1],
    [`HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n${body}`, true, 3],
    [
      `HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
      false,
      3,
    ],
  ] as const)
    for (const kind of ['chat', 'POST'] as const) {
      const { ask, upstream } = await stage(t, (_request, socket) => {
        if (closes) socket.end(reply)
        return closes ? undefined : reply
      })
      for (let i = 0; i < 3; i++) t.match(await ask(kind), { status: 200, text: 'fine' })
      t.equal(upstream.accepted, accepted, `${kind}: ${reply.slice(0, 60)}`)
    }
})

t.test('a provider that answers before it has the request, or without one, answers no other caller', async (t) => {
  const { ask, upstream } = await stage(t, own)
  upstream.answer = (request, socket) => {
    // As soon as this request has come the reply to the next one is there.
    setImmediate(() => socket.write(NEXT))
    return own(request)
  }
  for (const kind of ['chat', 'GET', 'POST', 'chat'] as const) {
    const { text } = await ask(kind)
    t.notMatch(text, FOREIGN, kind)
    await eventually('the connection is closed', () => upstream.sockets.size === 0)
  }
})
