/** docs/recipes/behind-a-proxy.md, followed with a real nginx and a real Caddy. Runs with `npm run test:servers`. */
import { once } from 'node:events'
import { request } from 'node:https'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { eventually } from '../support/eventually.ts'
import { type FrontProxy, type ProxyName, startFrontProxy } from '../support/front-proxies.ts'
import { lastEvent, ResponsesSocket } from '../support/responses-socket.ts'
import { Gate, sseAnswer, startUpstream, type Upstream } from '../support/upstream.ts'
import { answerFor, framesFor } from '../support/wire.ts'
import { followRecipe, languageBlock, type Recipe, replaceAll } from './recipe.ts'

const PAGE = 'docs/recipes/behind-a-proxy.md'

const FILES: Readonly<Record<ProxyName, (place: { port: number; cert: string; key: string }, gateway: string) => string>> = {
  nginx: ({ port, cert, key }, gateway) =>
    replaceAll(languageBlock(PAGE, 'nginx'), {
      'listen 443 ssl;': `listen 127.0.0.1:${port} ssl;`,
      '/etc/nginx/tls/fullchain.pem': cert,
      '/etc/nginx/tls/privkey.pem': key,
      '127.0.0.1:8080': gateway,
    }),
  caddy: ({ port, cert, key }, gateway) =>
    replaceAll(languageBlock(PAGE, 'caddyfile'), {
      'api.example.com {': `https://localhost:${port} {\n\ttls ${cert} ${key}`,
      '127.0.0.1:8080': gateway,
    }),
}

interface Scene extends Recipe {
  proxy: FrontProxy
  provider: Upstream
}

async function follow(t: Test, name: ProxyName): Promise<Scene | undefined> {
  const provider = await startUpstream((seen) => answerFor(seen, { text: ['one ', 'two'] }))
  t.teardown(() => provider.close())
  const recipe = await followRecipe(t, 'behind-a-proxy', {
    env: { OPENAI_API_KEY: 'sk-openai' },
    with: { 'preset: openai }': `preset: openai, base_url: "${provider.url}/v1" }`, 'port: 8080': 'port: 0' },
  })
  const gateway = new URL(recipe.gateway.url).host
  const proxy = await startFrontProxy(t, { name, folder: recipe.folder, file: (place) => FILES[name](place, gateway) })
  return proxy && { ...recipe, proxy, provider }
}

interface Sending {
  key: string
  path?: string
  body?: unknown
  headers?: Record<string, string>
  /** Address of the client. */
  from?: string
}

/** Sends a request to the proxy; each piece of the reply as it comes. */
function send({ port, ca }: FrontProxy, { key, path = '/v1/key', body, headers, from }: Sending) {
  const pieces: string[] = []
  const call = request({
    host: '127.0.0.1',
    servername: 'localhost',
    port,
    ca,
    path,
    method: body === undefined ? 'GET' : 'POST',
    localAddress: from,
    agent: false,
    headers: { host: `localhost:${port}`, authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
  })
  const status = new Promise<number>((resolve, reject) => {
    call.once('error', reject)
    call.once('response', (response) => {
      response.on('data', (chunk: Buffer) => pieces.push(chunk.toString()))
      resolve(response.statusCode ?? 0)
    })
  })
  call.end(body === undefined ? undefined : JSON.stringify(body))
  return { pieces, status, ended: once(call, 'close') }
}

const QUESTION = { model: 'openai/gpt-5-mini', messages: [{ role: 'user', content: 'Count.' }] }

for (const name of ['nginx', 'caddy'] as const)
  t.test(`behind ${name}: commands, streams, WebSocket, large bodies, addresses of clients`, async (t) => {
    const scene = await follow(t, name)
    if (!scene) return
    const { gateway, proxy, provider, next, done } = scene
    t.match(await next({ GATEWAY: proxy.url, CURL_CA_BUNDLE: proxy.caFile }), /one [\s\S]*two[\s\S]*\[DONE\]/)

    const gate = new Gate()
    provider.script = (seen) => {
      const frames = framesFor(seen.path, { text: ['one ', 'two'] })
      const begun = frames.findIndex((frame) => frame.includes('one ')) + 1
      return sseAnswer([...frames.slice(0, begun), gate.step, ...frames.slice(begun)])
    }
    const stream = send(proxy, { key: gateway.key, path: '/v1/chat/completions', body: { ...QUESTION, stream: true } })
    t.equal(await stream.status, 200)
    await eventually('the first words', () => stream.pieces.join('').includes('one '))
    t.notMatch(stream.pieces.join(''), /two/, 'the first words come while the rest is not written yet')
    gate.open()
    await stream.ended
    t.match(stream.pieces.join(''), /two[\s\S]*\[DONE\]/)

    provider.script = (seen) => answerFor(seen, { text: ['over wss'] })
    const ws = new WebSocket(`wss://localhost:${proxy.port}/v1/responses`, {
      ca: proxy.ca,
      headers: { authorization: `Bearer ${gateway.key}` },
    })
    const socket = new ResponsesSocket(ws)
    await once(ws, 'open')
    t.match(lastEvent(await socket.respond({ model: 'openai/gpt-5-mini', input: 'Hello' })), { type: 'response.completed' })
    ws.close()

    const long = { ...QUESTION, messages: [{ role: 'user', content: 'word '.repeat(400_000) }] }
    const large = send(proxy, { key: gateway.key, path: '/v1/chat/completions', body: long })
    t.equal(await large.status, 200, 'a body of 2 MB')

    const wrong = async (from: string, forged?: string): Promise<number> =>
      send(proxy, { key: 'sk-wrong', from, ...(forged ? { headers: { 'x-forwarded-for': forged } } : {}) }).status
    let last = 401
    for (let i = 0; i < 200 && last === 401; i++) last = await wrong('127.0.0.2')
    t.equal(last, 429, 'one client has sent too many wrong keys')
    t.equal(await wrong('127.0.0.2', '203.0.113.9'), 429, 'and cannot pass for another')
    t.equal(await wrong('127.0.0.3'), 401, 'another client has its own count')
    t.notMatch(gateway.logs.join('\n'), 'X-Forwarded-For from an address')
    done()
  })
