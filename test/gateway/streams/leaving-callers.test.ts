/** Callers that leave, and callers that only finish sending: every way through the server, at every moment, and the pass-through. */
import { execFile } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'
import { createServer, type Socket } from 'node:net'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { KEY } from '../../support/gateway.ts'
import { listening, serverAddress } from '../../support/pass-through-front.ts'
import { type Client, PATHS, questionFor } from '../../support/providers.ts'
import { parseReply, RawClient } from '../../support/raw.ts'
import { openSocket } from '../../support/responses-socket.ts'
import { type Scene, startScene } from '../../support/scene.ts'
import { type Answer, Gate, JSON_TYPE, type Seen, sseAnswer } from '../../support/upstream.ts'
import { framesFor, replyFor } from '../../support/wire.ts'

const run = promisify(execFile)

/** The way through the server, by what a request has in its head: the plain form, Node's server, a request of HTTP/1.0. */
const WAYS = [
  ['plain', 'HTTP/1.1', 'Accept: */*'],
  ["Node's server", 'HTTP/1.1', 'TE: trailers'],
  ['HTTP/1.0', 'HTTP/1.0', 'Accept: */*'],
] as const
type Way = (typeof WAYS)[number]

/** Moment at which the caller leaves, by what it waits for. */
const MOMENTS = ['whole', 'first byte', 'streaming'] as const
type Moment = (typeof MOMENTS)[number]

const CLIENTS: readonly Client[] = ['chat', 'responses', 'messages']

/** The provider may take all the time for which callers are probed. */
const PATIENT = 'timeouts: { first_byte: 300s, idle: 300s, total: 600s }'

function rawRequest([, version, header]: Way, path: string, body: string): string {
  const lines = [`POST ${path} ${version}`, 'Host: a.example', `Authorization: Bearer ${KEY}`, header, `Content-Length: ${body.length}`]
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}

const chat = (way: Way): string => rawRequest(way, PATHS.chat, JSON.stringify(questionFor('chat')))

/** A provider that waits at the gate: before its head, or behind its first words. */
function waits(gate: Gate): (seen: Seen) => Promise<Answer> {
  return async (seen) => {
    const frames = framesFor(seen.path, { text: ['one ', 'two '] })
    const moment = seenMoment(seen)
    const wait = async (): Promise<undefined> => {
      await Promise.race([gate.opened, seen.closed])
      return undefined
    }
    if (moment === 'whole') return { headers: JSON_TYPE, body: [wait, JSON.stringify(replyFor(seen.path, { text: ['one two '] }))] }
    const at = moment === 'streaming' ? frames.findIndex((frame) => frame.includes('one ')) + 1 : 0
    return sseAnswer([...frames.slice(0, at), wait, ...frames.slice(at)])
  }
}

function seenMoment({ json, body }: Seen): Moment {
  if (json.stream !== true) return 'whole'
  return body.includes('later') ? 'first byte' : 'streaming'
}

function bodyAt(moment: Moment, client: Client): string {
  const words = moment === 'first byte' ? 'later' : 'now'
  const question = questionFor(client)
  const text = 'input' in question ? { input: words } : { messages: [{ role: 'user', content: words }] }
  return JSON.stringify({ ...question, ...text, stream: moment !== 'whole' })
}

/** Moves the clock until the provider's call has been ended. @returns milliseconds that it took. */
async function ended(scene: Scene, seen: Seen): Promise<number> {
  let over = false
  void seen.closed.then(() => {
    over = true
  })
  const from = scene.clock.monotonic()
  await eventually('the end of the call of the provider', async () => {
    if (!over) await scene.clock.advance(100)
    return over
  })
  return scene.clock.monotonic() - from
}

/** Milliseconds: noticed after 60, and read on for 2,000 for the report of the provider; with turns in which nothing happens yet. */
const SOON = 4_000

const ownRows = (scene: Scene, from: number) =>
  eventually('the rows are settled', () => {
    const rows = scene.rows().slice(from)
    return rows.length > 0 && rows.every(({ settled }) => settled) && rows
  })

t.test('a caller that leaves ends the call of the provider, whatever it waits for', async (t) => {
  for (const dialect of ['openai-chat', 'openai-responses', 'anthropic'])
    await every(t, dialect, async (t) => {
      const scene = await startScene(t, { answer: waits(new Gate()), dialect })
      for (const way of WAYS)
        for (const client of CLIENTS)
          for (const moment of MOMENTS)
            for (const leave of ['FIN', 'RST']) {
              const name = `${client} to ${dialect}, ${way[0]}, ${moment}, ${leave}`
              const [calls, rows] = [scene.upstream.requests.length, scene.rows().length]
              const caller = await RawClient.open(scene.gateway.url)
              caller.send(rawRequest(way, PATHS[client], bodyAt(moment, client)))
              const seen = await scene.upstream.request(calls)
              if (moment === 'streaming') await caller.until(/one /)
              if (leave === 'FIN') caller.close()
              else caller.reset()
              const took = await ended(scene, seen)
              t.ok(seen.aborted, `${name}: the call is given up`)
              t.ok(took < SOON, `${name}: after ${took} ms`)
              const [row] = await ownRows(scene, rows)
              t.equal(row?.settled?.status, 'aborted', name)
              t.ok((row?.settled?.cost ?? 0) > 0, `${name}: what was spent is charged`)
            }
    })
})

t.test('a caller that only finishes sending gets its reply, whatever it waits for', async (t) => {
  const gates: Gate[] = []
  const scene = await startScene(t, { answer: (seen, index) => waits(gates[index] as Gate)(seen), provider: PATIENT })
  await every(t, 'every way and moment', async (t) => {
    for (const way of WAYS)
      for (const client of CLIENTS)
        for (const moment of MOMENTS) {
          const name = `${client}, ${way[0]}, ${moment}`
          const gate = new Gate()
          gates.push(gate)
          const calls = scene.upstream.requests.length
          const caller = await RawClient.open(scene.gateway.url)
          caller.send(rawRequest(way, PATHS[client], bodyAt(moment, client))).halfClose()
          await scene.upstream.request(calls)
          // All of the times at which such a caller is probed.
          await scene.clock.advance(5 * 60_000 - 20_000)
          gate.open()
          const { status, body, headers } = parseReply(await caller.closed())
          t.equal(status, 200, name)
          t.match(body, moment === 'whole' ? /one two / : /one [\s\S]*two [\s\S]*\n$/, `${name}: the whole reply`)
          if (moment === 'whole') t.equal(body.length, Number(headers.get('content-length')), name)
          t.equal(scene.rows().at(-1)?.settled?.status ?? 'completed', 'completed', name)
        }
  })
})

t.test("Python's client gets the reply to a request behind which it has closed its sending side", async (t) => {
  const gate = new Gate()
  const scene = await startScene(t, { answer: waits(gate) })
  const program = `
import http.client, json, socket, sys
c = http.client.HTTPConnection('127.0.0.1', ${new URL(scene.gateway.url).port}, timeout=60)
c.request('POST', '/v1/chat/completions', body=${JSON.stringify(bodyAt('whole', 'chat'))}, headers={'Authorization': 'Bearer ${KEY}', ${"'TE': 'trailers'"}})
c.sock.shutdown(socket.SHUT_WR)
r = c.getresponse()
print(r.status, json.loads(r.read())['choices'][0]['message']['content'])
`
  const done = run('python3', ['-c', program])
  await scene.upstream.request(0)
  await eventually('the first probe', () => scene.clock.waiting.includes(40))
  await scene.clock.advance(5_000)
  gate.open()
  t.equal((await done).stdout.trim(), '200 one two')
})

t.test('a caller that leaves with another request behind the first ends both', async (t) => {
  const scene = await startScene(t, { answer: waits(new Gate()) })
  const long = rawRequest(WAYS[0], PATHS.chat, JSON.stringify({ ...questionFor('chat'), metadata: { filler: 'x'.repeat(300_000) } }))
  const behinds: readonly (readonly [name: string, bytes: string, ...together: true[]])[] = [
    ['a plain request', chat(WAYS[0])],
    ['a GET', `GET /v1/models HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${KEY}\r\n\r\n`],
    ['half a request', chat(WAYS[0]).slice(0, 60)],
    ['a plain request, in one write', chat(WAYS[0]), true],
    ['more than is read ahead', long],
  ]
  await every(t, 'every way, request and end', async (t) => {
    for (const way of WAYS.slice(0, 2))
      for (const [name, behind, together] of behinds)
        for (const leave of ['FIN', 'RST']) {
          const calls = scene.upstream.requests.length
          const caller = await RawClient.open(scene.gateway.url)
          caller.send(chat(way) + (together ? behind : ''))
          const seen = await scene.upstream.request(calls)
          if (!together) await caller.sent(behind)
          if (leave === 'FIN') caller.close()
          else caller.reset()
          const took = await ended(scene, seen)
          t.ok(seen.aborted, `${way[0]}, ${name}, ${leave}`)
          t.ok(took <= 40_000, `${way[0]}, ${name}, ${leave}: after ${took} ms`)
        }
  })
  await eventually('every row is settled', async () => {
    await scene.clock.advance(2_000)
    return scene.rows().every(({ settled }) => settled)
  })
  t.same([...new Set(scene.rows().map(({ settled }) => settled?.status))], ['aborted'])
})

t.test('a caller that finishes sending behind two requests gets both replies', async (t) => {
  const gates = [new Gate(), new Gate()]
  const scene = await startScene(t, { answer: (seen, index) => waits(gates[index % 2] as Gate)(seen) })
  await every(t, 'every way', async (t) => {
    for (const way of WAYS.slice(0, 2)) {
      for (const at of [0, 1]) gates[at] = new Gate()
      const calls = scene.upstream.requests.length
      const caller = await RawClient.open(scene.gateway.url)
      caller.send(chat(way))
      await scene.upstream.request(calls)
      caller.send(chat(way)).halfClose()
      await scene.clock.advance(70_000)
      gates[0]?.open()
      await scene.upstream.request(calls + 1)
      await scene.clock.advance(70_000)
      gates[1]?.open()
      t.same((await caller.closed()).match(/HTTP\/1\.1 200 OK\r\n/g)?.length, 2, way[0])
    }
  })
})

const passing = (url: string): string => `
auth: { keys: [ { name: app, key: "${KEY}", limit: "100.00", pass_through: true } ] }
providers:
  first: { dialect: openai-chat, base_url: "${url}/v1", key: "sk-provider-secret", pass_through: { price: "1.00", unread_price: "1.00" } }
models: { acme/one: { endpoints: [ { provider: first, model: m, price: { prompt: "1.00", completion: "2.00" } } ] } }
`

/** A scene of the pass-through: the provider waits at the gate before its head, or behind a piece of its body. */
async function passage(t: Test, gate: Gate): Promise<Scene> {
  return startScene(t, {
    config: passing,
    answer: async (seen) => {
      const wait = async (): Promise<undefined> => {
        await Promise.race([gate.opened, seen.closed])
        return undefined
      }
      if (seen.path.includes('streaming')) return sseAnswer(['data: one\n\n', wait, 'data: two\n\n'])
      await wait()
      return { body: ['done'] }
    },
  })
}

const passed = ([, version, header]: Way, path: string): string =>
  `GET /v1/passage/first/${path} ${version}\r\nHost: a\r\nAuthorization: Bearer ${KEY}\r\n${header}\r\n\r\n`

t.test('pass-through: a caller that leaves ends the call of the provider, and pays', async (t) => {
  const scene = await passage(t, new Gate())
  await every(t, 'every moment', async (t) => {
    for (const way of WAYS)
      for (const moment of ['waiting', 'streaming'])
        for (const leave of ['FIN', 'RST']) {
          // Nothing of the body of a reply to HTTP/1.0 means nothing: there the next piece finds out.
          if (way[1] === 'HTTP/1.0' && moment === 'streaming' && leave === 'FIN') continue
          const name = `${way[0]}, ${moment}, ${leave}`
          const [calls, rows] = [scene.upstream.requests.length, scene.rows().length]
          const caller = await RawClient.open(scene.gateway.url)
          caller.send(passed(way, moment))
          const seen = await scene.upstream.request(calls)
          if (moment === 'streaming') await caller.until(/data: one\n\n/)
          if (leave === 'FIN') caller.close()
          else caller.reset()
          const took = await ended(scene, seen)
          t.ok(seen.aborted, name)
          t.ok(took < 1_000, `${name}: after ${took} ms`)
          const [row] = await ownRows(scene, rows)
          t.same([row?.settled?.status, row?.settled?.cost], ['aborted', 1e9], name)
        }
  })
})

t.test('pass-through: a caller that only finishes sending gets its reply', async (t) => {
  await every(t, 'every moment', async (t) => {
    for (const way of WAYS)
      for (const moment of ['waiting', 'streaming']) {
        const gate = new Gate()
        const scene = await passage(t, gate)
        const caller = await RawClient.open(scene.gateway.url)
        caller.send(passed(way, moment)).halfClose()
        await scene.upstream.request(0)
        await eventually('the first probe', () => scene.clock.waiting.includes(40))
        await scene.clock.advance(29_000)
        gate.open()
        const { status, body } = parseReply(await caller.closed())
        t.same([status, body], [200, moment === 'streaming' ? 'data: one\n\ndata: two\n\n' : 'done'], `${way[0]}, ${moment}`)
      }
  })
})

/** A provider that never replies. @param takes false: it reads nothing. @param says all that it says, and it never closes its side then. */
async function startSilent(t: Test, takes: boolean, says?: string): Promise<{ url: string; sockets: Set<Socket>; taken(): number }> {
  const sockets = new Set<Socket>()
  let bytes = 0
  const server = createServer({ pauseOnConnect: !takes, allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
    if (!takes) return
    socket.once('data', () => says !== undefined && socket.write(says))
    socket.on('data', (chunk: Buffer) => (bytes += chunk.length))
    if (says === undefined) socket.on('end', () => socket.end())
  })
  await listening(server)
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { url: serverAddress(server), sockets, taken: () => bytes }
}

t.test('pass-through: a caller that leaves in the middle of its upload', async (t) => {
  const upload = ['POST /v1/passage/first/files HTTP/1.1', 'Host: a', `Authorization: Bearer ${KEY}`, 'Content-Length: 90000000'].join(
    '\r\n',
  )
  for (const takes of [true, false])
    for (const leave of ['FIN', 'RST'])
      await t.test(`${takes ? 'a provider that takes it' : 'a provider that holds it back'}, ${leave}`, async (t) => {
        const provider = await startSilent(t, takes)
        const scene = await startScene(t, { config: () => passing(provider.url) })
        const callers: IncomingMessage[] = []
        const hear = (message: unknown): void => void callers.push((message as { request: IncomingMessage }).request)
        subscribe('http.server.request.start', hear)
        t.teardown(() => unsubscribe('http.server.request.start', hear))
        const caller = await RawClient.open(scene.gateway.url)
        caller.send(`${upload}\r\n\r\n`).send('x'.repeat(takes ? 100_000 : 40_000_000))
        await eventually(takes ? 'all is taken' : 'the caller is held back', () =>
          takes ? provider.taken() >= 100_000 : callers[0]?.isPaused() && provider.sockets.size > 0,
        )
        if (leave === 'FIN') caller.close()
        else caller.reset()
        await eventually('the call is given up', async () => {
          await scene.clock.advance(500)
          return scene.rows()[0]?.settled
        })
        if (takes) await eventually('the end of its connection', () => provider.sockets.size === 0)
        t.ok(scene.clock.monotonic() < 60_000, `after ${scene.clock.monotonic()} ms`)
        const [row] = await ownRows(scene, 0)
        t.same([row?.settled?.status, row?.settled?.cost], ['aborted', 1e9])
      })
})

t.test('WebSocket: a caller that leaves by the end of its connection ends the call of the provider, and pays', async (t) => {
  const scene = await startScene(t, { answer: waits(new Gate()), dialect: 'openai-responses' })
  await every(t, 'every moment', async (t) => {
    for (const words of ['later', 'now'])
      for (const leave of ['FIN', 'half', 'RST']) {
        const [calls, rows] = [scene.upstream.requests.length, scene.rows().length]
        const client = await openSocket({ url: scene.gateway.url, key: KEY })
        client.send({ type: 'response.create', model: 'acme/one', input: words })
        const seen = await scene.upstream.request(calls)
        if (words === 'now') await eventually('the first words', () => client.messages.some(({ delta }) => delta === 'one '))
        const { _socket: socket } = client.ws as unknown as { _socket: Socket }
        if (leave === 'RST') socket.resetAndDestroy()
        else if (leave === 'FIN') socket.destroy()
        else socket.end()
        const took = await ended(scene, seen)
        t.ok(seen.aborted && took < SOON, `${words}, ${leave}: after ${took} ms`)
        const [row] = await ownRows(scene, rows)
        t.equal(row?.settled?.status, 'aborted', `${words}, ${leave}`)
        t.ok((row?.settled?.cost ?? 0) > 0, `${words}, ${leave}: charged`)
      }
  })
})

const HANDSHAKE = [
  'GET /v1/passage/first/socket HTTP/1.1',
  'Host: a',
  `Authorization: Bearer ${KEY}`,
  'Connection: Upgrade',
  'Upgrade: websocket',
]
const KEYS = ['Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==']
const OPENED = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'

t.test('pass-through: a caller that leaves its WebSocket, before it stands and afterwards', async (t) => {
  for (const stands of [false, true])
    for (const leave of ['FIN', 'half', 'RST'])
      await t.test(`${stands ? 'open' : 'handshake'}, ${leave}`, async (t) => {
        const provider = await startSilent(t, true, stands ? OPENED : undefined)
        const scene = await startScene(t, { config: () => passing(provider.url) })
        const caller = await RawClient.open(scene.gateway.url)
        caller.send(`${[...HANDSHAKE, ...KEYS].join('\r\n')}\r\n\r\n`)
        await eventually('the handshake is with the provider', () => provider.taken() > 0)
        if (stands) await caller.until(/ 101 /)
        if (leave === 'RST') caller.reset()
        else if (leave === 'FIN') caller.close()
        else caller.halfClose()
        const row = await eventually('the settlement', async () => {
          const [row] = scene.rows()
          if (row?.settled) return row
          await scene.clock.advance(500)
          return undefined
        })
        t.ok(scene.clock.monotonic() < 60_000, `after ${scene.clock.monotonic()} ms`)
        t.same([row?.settled?.status, row?.settled?.cost], [stands ? 'completed' : 'aborted', 1e9])
      })
})
