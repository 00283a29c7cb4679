/** The rest of a key's limits stands in replies that the chain does not write: those of the pass-through, and the 101 of a WebSocket. */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { WebSocket, WebSocketServer } from 'ws'
import { KEY } from '../../support/gateway.ts'
import { startScene } from '../../support/scene.ts'
import { jsonAnswer } from '../../support/upstream.ts'

const FREE = 'sk-router-v1-fedcba9876543210fedcba9876543210'
/** Of the operator's account, which is none of a caller's business where the caller has a limit of its own. */
const PROVIDERS = { 'x-ratelimit-limit-requests': '10000', 'x-ratelimit-remaining-requests': '9999', 'x-ratelimit-reset-requests': '6ms' }

async function startTalker(t: Test): Promise<string> {
  const server = createServer()
  const sockets = new WebSocketServer({ server })
  sockets.on('headers', (lines) => void lines.push('X-RateLimit-Remaining-Requests: 9999'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const each of sockets.clients) each.terminate()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function start(t: Test) {
  const talker = await startTalker(t)
  return startScene(t, {
    answer: () => jsonAnswer({ fine: true }, 200, PROVIDERS),
    config: (url) => `
auth:
  keys:
    - { name: app, key: "${KEY}", pass_through: true, limits: { requests: 3, tokens: 5000 } }
    - { name: free, key: "${FREE}", pass_through: true }
providers:
  first: { dialect: openai-chat, base_url: "${url}/v1", key: k, pass_through: { price: "0" } }
  second: { dialect: anthropic, base_url: "${url}/v1", key: k, pass_through: { price: "0" } }
  talker: { dialect: openai-chat, base_url: "${talker}/v1", key: k, pass_through: { price: "0" } }
models: { acme/one: { endpoints: [ { provider: first, model: m, price: free } ] } }
`,
  })
}

async function handshake(url: string, path: string, key: string): Promise<IncomingMessage> {
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}${path}`, { headers: { authorization: `Bearer ${key}` } })
  socket.on('error', () => {})
  const [reply] = (await once(socket, 'upgrade')) as [IncomingMessage]
  socket.terminate()
  return reply
}

t.test('replies of the pass-through: of the key, in the form that clients of the provider read', async (t) => {
  const { gateway } = await start(t)
  const first = await gateway.get('/v1/passage/first/v1/models')
  t.equal(first.status, 200)
  t.match(Object.fromEntries(first.headers), {
    'x-ratelimit-limit-requests': '3',
    'x-ratelimit-remaining-requests': '2',
    'x-ratelimit-reset-requests': /^\d+(\.\d+)?m?s$/,
  })
  const second = await gateway.get('/v1/passage/second/v1/models')
  t.match(Object.fromEntries(second.headers), {
    'anthropic-ratelimit-requests-limit': '3',
    'anthropic-ratelimit-requests-remaining': '1',
    'anthropic-ratelimit-requests-reset': /^\d{4}-\d\d-\d\dT[\d:]+Z$/,
  })
  const third = await handshake(gateway.url, '/v1/passage/talker/realtime', KEY)
  t.match(third.headers, { 'x-ratelimit-limit-requests': '3', 'x-ratelimit-remaining-requests': '0' }, 'a WebSocket counts as a request')
  const refused = await gateway.get('/v1/passage/first/v1/models')
  t.equal(refused.status, 429)
  t.match(Object.fromEntries(refused.headers), {
    'x-ratelimit-remaining-requests': '0',
    'x-ratelimit-remaining': '0',
    'retry-after': /^\d+$/,
  })
  const free = await gateway.get('/v1/passage/first/v1/models', { authorization: `Bearer ${FREE}` })
  t.match(Object.fromEntries(free.headers), PROVIDERS, "a key without limits sees the provider's")
})

t.test('the handshake of Responses over WebSocket shows what is left and takes nothing', async (t) => {
  const { gateway } = await start(t)
  for (const left of ['3', '3']) {
    const { statusCode, headers } = await handshake(gateway.url, '/v1/responses', KEY)
    t.equal(statusCode, 101)
    t.match(headers, { 'x-ratelimit-limit-requests': '3', 'x-ratelimit-remaining-requests': left, 'x-ratelimit-remaining-tokens': '5000' })
  }
  await (await gateway.get('/v1/passage/first/v1/models')).text()
  t.match((await handshake(gateway.url, '/v1/responses', KEY)).headers, { 'x-ratelimit-remaining-requests': '2' })
  const { headers } = await handshake(gateway.url, '/v1/responses', FREE)
  t.notMatch(JSON.stringify(headers), /ratelimit/i)
})
