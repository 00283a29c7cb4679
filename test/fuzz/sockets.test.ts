/**
 * Requests at the level of the socket whose structure was changed, to generation routes and through the pass-through, with
 * a provider of raw sockets behind. Whatever a caller writes: the process lives, every connection ends, and the provider
 * sees each request that was meant at most once and nothing else. 1,000,000 requests with `npm run test:long`.
 */
import { connect } from 'node:net'
import t from 'tap'
import { eventually } from '../support/eventually.ts'
import { type Gateway, KEY, startGateway } from '../support/gateway.ts'
import { createRandom } from '../support/matrix/mutate.ts'
import { type RawUpstream, rawJson, startRawUpstream, type WireRequest } from '../support/raw-upstream.ts'
import { runs, seed } from '../support/seed.ts'
import { markersIn, type Written, writeRequests } from '../support/socket-requests.ts'
import { chatFrames, chatReply } from '../support/wire-chat.ts'

const REQUESTS = runs(2_500, 1_000_000)
const SEED = seed()
/** Requests of one gateway: what it keeps of them is in memory. */
const LIFE = 50_000
/** Connections at once. */
const WIDTH = 48
/** Milliseconds of real time after which a connection hangs: nothing here waits for a time-out. */
const TIMEOUT_MS = 15_000
const TARGET = { key: KEY, model: 'acme/one', provider: 'first' }

t.setTimeout(3_500_000)
t.comment(`seed ${SEED}`)

/** Counts of one gateway's life. */
class Tally {
  requests = 0
  connections = 0
  served = 0
  readonly statuses = new Map<string, number>()
  readonly faults: string[] = []
  /** Number of times each marker was written, while its connection lives and after. */
  readonly written = new Map<string, number>()
  readonly seen = new Map<string, number>()

  fault(what: string, bytes: string): void {
    if (this.faults.length < 5) this.faults.push(`${what}: ${JSON.stringify(bytes.slice(0, 2000))}`)
  }
}

/** Answers with the marker of the request, framed in one of two ways. */
function answer(tally: Tally) {
  return ({ line, headers, body }: WireRequest): string => {
    const generation = line.startsWith('POST /v1/chat/completions ')
    const markers = markersIn(generation ? body : line)
    tally.served++
    if (line.includes('hidden') || (headers.has('x-hidden') && markers.length === 0))
      tally.fault('a hidden request reached the provider', `${line}\r\n${body}`)
    for (const marker of new Set(markers)) tally.seen.set(marker, (tally.seen.get(marker) ?? 0) + 1)
    const text = markers.join(' ')
    if (line.startsWith('HEAD ')) return 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n'
    if (generation && /"stream":\s*true/.test(body)) {
      const frames = chatFrames({ text: [text] }).join('')
      return `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n${frames.length.toString(16)}\r\n${frames}\r\n0\r\n\r\n`
    }
    return rawJson(generation ? chatReply({ text: [text] }) : { line, text })
  }
}

/** Writes one connection's bytes and reads until the gateway closes it. @returns what came; undefined where it hangs. */
function converse(url: string, written: Written, resets: boolean): Promise<string | undefined> {
  const { port } = new URL(url)
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port: Number(port), allowHalfOpen: true })
    let text = ''
    const timer = setTimeout(() => {
      resolve(undefined)
      socket.destroy()
    }, TIMEOUT_MS)
    socket.setNoDelay(true)
    socket.on('error', () => undefined)
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
    })
    // A reset leaves no port behind that waits for late segments.
    socket.on('end', () => socket.resetAndDestroy())
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(text)
    })
    socket.on('connect', () => {
      const write = (index: number): void => {
        if (socket.destroyed) return
        if (index === written.pieces.length) {
          if (resets) socket.resetAndDestroy()
          else socket.end()
          return
        }
        socket.write(Buffer.from(written.pieces[index], 'latin1'), () => setImmediate(write, index + 1))
      }
      write(0)
    })
  })
}

/**
 * Answers that a caller may get: never a fault of ours, never one of the provider, which answers everything.
 * 102 probes a half-closed caller, and a saturated process sheds with 503.
 */
const EXPECTED = /^(100|102|200|4\d\d|503)$/

function examine(tally: Tally, written: Written, text: string | undefined): void {
  const bytes = written.pieces.join('')
  if (text === undefined) {
    tally.fault('the connection hangs', bytes)
    return
  }
  const own = new Set(markersIn(bytes))
  const foreign = markersIn(text).find((marker) => !own.has(marker))
  if (foreign !== undefined) tally.fault(`the reply to ${foreign} reached another caller`, bytes)
  for (const [, status] of text.matchAll(/(?:^|\r\n\r\n|\})HTTP\/1\.1 (\d{3}) /g)) {
    tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1)
    if (!EXPECTED.test(status)) tally.fault(`the answer is ${status}`, bytes)
  }
}

/** Writes connections until the count is reached. */
async function attack(gateway: Gateway, tally: Tally, source: { random: () => number; count: number; first: number }): Promise<void> {
  const { random, count, first } = source
  const logs = gateway.logs as string[]
  const lane = async (): Promise<void> => {
    while (tally.requests < count && tally.faults.length < 5) {
      const written = writeRequests(TARGET, random, first + tally.requests)
      tally.requests += written.requests
      tally.connections++
      for (const marker of markersIn(written.pieces.join(''))) tally.written.set(marker, (tally.written.get(marker) ?? 0) + 1)
      examine(tally, written, await converse(gateway.url, written, random() < 0.05))
      for (const line of logs.splice(0)) if (line.includes('"unexpected"')) tally.fault('the gateway logs', line)
    }
  }
  await Promise.all(Array.from({ length: WIDTH }, lane))
}

/** The gateway after it all: nothing open, nothing seen twice, no bytes at the provider that are no request. */
async function aftermath(gateway: Gateway, upstream: RawUpstream, tally: Tally): Promise<void> {
  for (const [marker, times] of tally.seen) {
    const meant = tally.written.get(marker) ?? 0
    if (times > meant) tally.fault(`the provider saw ${marker} ${times} times, it was written ${meant} times`, '')
  }
  for (const bytes of upstream.garbage) tally.fault('the provider could not read', bytes)
  // A request whose caller has reset its connection may still be on its way: only this one's line is counted.
  const line = 'GET /v1/alive HTTP/1.1'
  const before = upstream.requests.filter((request) => request.line === line).length
  const reply = await gateway.get('/v1/passage/first/alive')
  const times = upstream.requests.filter((request) => request.line === line).length - before
  if (reply.status !== 200 || times !== 1)
    tally.fault(`afterwards the answer is ${reply.status}, and the provider saw ${times} requests`, await reply.text())
  await eventually('no reply is open', () => gateway.running.drain.open === 0, { limit: TIMEOUT_MS }).catch(() =>
    tally.fault(`${gateway.running.drain.open} replies are open`, ''),
  )
}

const lives = Math.ceil(REQUESTS / LIFE)
const random = createRandom(SEED)
for (let life = 0; life < lives; life++) {
  const count = Math.min(LIFE, REQUESTS - life * LIFE)
  await t.test(`${count} changed requests, ${life + 1} of ${lives}`, async (t) => {
    const tally = new Tally()
    const upstream = await startRawUpstream(answer(tally))
    const gateway = await startGateway(`
auth: { keys: [ { name: app, key: "${KEY}", pass_through: true } ] }
providers:
  first: { dialect: openai-chat, base_url: "${upstream.url}/v1", key: "sk-provider-secret", pass_through: { price: "0" } }
models: { acme/one: { endpoints: [ { provider: first, model: m, price: { prompt: "1.00", completion: "2.00" } } ] } }
`)
    t.teardown(async () => {
      await gateway.close()
      await upstream.close()
    })
    const started = performance.now()
    await attack(gateway, tally, { random, count, first: life * LIFE * 2 })
    const rate = Math.round(tally.requests / ((performance.now() - started) / 1000))
    await aftermath(gateway, upstream, tally)
    t.same(tally.faults, [], 'no crash, no hang, no second request')
    t.comment(`${tally.requests} requests on ${tally.connections} connections, ${tally.served} at the provider, ${rate} a second`)
    t.comment(
      [...tally.statuses]
        .sort()
        .map(([status, times]) => `${status}: ${times}`)
        .join(', '),
    )
    t.ok(tally.served > tally.requests / 10, 'many were served')
    t.ok((tally.statuses.get('400') ?? 0) > tally.requests / 10, 'many were refused')
  })
}
