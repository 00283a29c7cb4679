/** Connections of the pass-through: those that were closed while idle cost no call, and no reply reaches another caller. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { type Gateway, KEY, startGateway } from '../../support/gateway.ts'
import { RawClient } from '../../support/raw.ts'
import { type RawUpstream, rawJson, startRawUpstream, type WireRequest } from '../../support/raw-upstream.ts'

interface Stage {
  gateway: Gateway
  upstream: RawUpstream
  /** Asks for a path of its own. @returns the status, and whether the reply is the one to that path. */
  ask(method: string, body?: string): Promise<{ status: number; own: boolean }>
}

const echo = ({ line, body }: WireRequest): string => rawJson({ line, size: body.length })

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
  let count = 0
  return {
    gateway,
    upstream,
    ask: async (method, body) => {
      const path = `/n${count++}`
      const reply = await fetch(`${gateway.url}/v1/passage/first${path}`, {
        method,
        headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body }),
      })
      const text = await reply.text()
      return { status: reply.status, own: method === 'HEAD' || text.includes(`${method} /v1${path} HTTP/1.1`) }
    },
  }
}

const REQUESTS: readonly [method: string, body?: string][] = [
  ['GET'],
  ['HEAD'],
  ['DELETE'],
  ['POST', '{"a":1}'],
  ['PUT', JSON.stringify('x'.repeat(100_000))],
]

t.test('a connection that was closed while it was idle costs no call, whatever the method, and each is sent at most twice', async (t) => {
  await every(t, 'every method and end', async (t) => {
    for (const reset of [true, false])
      for (const [method, body] of REQUESTS) {
        const { ask, upstream } = await stage(t, (request, socket) => {
          if (request.position === 0) return echo(request)
          if (reset) socket.resetAndDestroy()
          else socket.end()
          return undefined
        })
        for (let i = 0; i < 6; i++) t.same(await ask(method, body), { status: 200, own: true }, `${method}, ${reset ? 'reset' : 'closed'}`)
        t.ok(upstream.requests.length <= 12, `${upstream.requests.length} requests`)
      }
  })
})

t.test('a request that the provider may have worked on is not sent again', async (t) => {
  const { ask, upstream } = await stage(t, (request, socket) => {
    if (request.position === 0) return echo(request)
    setTimeout(() => socket.destroy(), 400)
    return undefined
  })
  t.equal((await ask('POST', '{}')).status, 200)
  t.equal((await ask('POST', '{}')).status, 502)
  t.equal(upstream.requests.length, 2)
})

t.test('a reply that comes twice reaches no other caller, and the operator learns of it', async (t) => {
  for (const [when, send] of [
    ['in one piece', undefined],
    ['a moment later', 1],
    ['while the connection is idle', 30],
  ] as const) {
    let twice = true
    const { ask, gateway } = await stage(t, (request, socket) => {
      const reply = echo(request)
      if (!twice) return reply
      twice = false
      if (send === undefined) return reply + reply
      setTimeout(() => socket.write(reply), send)
      return reply
    })
    t.same(await ask('GET'), { status: 200, own: true })
    await eventually('the operator learns of it', () =>
      gateway.logs.some((line) => (JSON.parse(line) as JsonObject).msg === 'a provider sent bytes that nothing requested'),
    )
    for (let i = 0; i < 5; i++) t.same(await ask('POST', '{}'), { status: 200, own: true }, when)
  }
})

t.test('an upload that is sent as it comes has a connection to itself', async (t) => {
  const { ask, upstream } = await stage(t, echo)
  const long = JSON.stringify('x'.repeat(300_000))
  for (let i = 0; i < 3; i++) t.same(await ask('PUT', long), { status: 200, own: true })
  for (let i = 0; i < 3; i++) t.same(await ask('PUT', '"short"'), { status: 200, own: true })
  await eventually('those of the uploads are closed', () => upstream.sockets.size === 1)
  t.equal(upstream.accepted, 4)
})

t.test('content behind a reply to HEAD is no reply of the next request, and no reason for a warning', async (t) => {
  const { ask, gateway, upstream } = await stage(t, (request) => echo(request))
  t.equal((await ask('HEAD')).status, 200)
  t.same(await ask('GET'), { status: 200, own: true })
  t.equal(upstream.accepted, 2)
  t.notMatch(gateway.logs.join(''), 'nothing requested')
})

t.test('a short body of a known length is read before the provider is called', async (t) => {
  const { gateway, upstream } = await stage(t, echo)
  const client = await RawClient.open(gateway.url)
  client.send(
    `POST /v1/passage/first/x HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer ${KEY}\r\nConnection: close\r\nContent-Length: 6\r\n\r\nabc`,
  )
  await eventually('the request is open', () => gateway.running.drain.open === 1)
  t.equal(upstream.accepted, 0)
  client.send('def')
  t.match(await client.closed(), /"size":6/)
  t.equal(upstream.requests[0]?.headers.get('content-length'), '6')
})
