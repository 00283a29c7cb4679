/** A key that is changed while a request of it is open: what holds is the key as it is when money is taken, not as it was at the head. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { ADMIN_TOKEN } from '../../support/admin.ts'
import type { Gateway } from '../../support/gateway.ts'
import { RawClient } from '../../support/raw.ts'
import { startScene } from '../../support/scene.ts'
import type { Upstream } from '../../support/upstream.ts'
import { answerFor, type Utterance } from '../../support/wire.ts'

const BOSS = 'sk-router-v1-boss-0123456789abcdef'

/** A call costs exactly $1, however long it is. */
const configuration = (upstream: string): string => `
auth:
  sign_in: { callbacks: [ "https://app.example/*" ], pkce: optional }
  keys:
    - { name: boss, key: "${BOSS}", management: true }
providers:
  first: { dialect: openai-chat, base_url: "${upstream}/v1", key: "sk-provider-secret" }
models:
  acme/one:
    endpoints:
      - { provider: first, model: upstream-model, price: { prompt: "0", completion: "0", request: "1.00" } }
`

interface WithStoredKey {
  gateway: Gateway
  upstream: Upstream
  secret: string
  hash: string
}

async function withStoredKey(t: Test, limit: number | null): Promise<WithStoredKey> {
  const { gateway, upstream } = await startScene(t, { config: configuration })
  const { key, data } = await manage(gateway, 'POST', '/v1/keys', { name: 'app', limit })
  return { gateway, upstream, secret: String(key), hash: String(data?.hash) }
}

type Told = { status: number; key?: string; data?: JsonObject }

async function manage({ url }: Pick<Gateway, 'url'>, method: string, path: string, body?: JsonObject, secret = BOSS): Promise<Told> {
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
  const response = await fetch(`${url}${path}`, { method, headers, body: body ? JSON.stringify(body) : null })
  return { ...((await response.json()) as Omit<Told, 'status'>), status: response.status }
}

const BODY = JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }] })

/** A request of which the gateway has read the head, and waits for the body. */
async function opened(t: Test, { gateway, secret }: WithStoredKey): Promise<RawClient> {
  const client = await RawClient.open(gateway.url)
  t.teardown(() => client.close())
  client.send(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${secret}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${BODY.length}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n`,
  )
  await client.until(/^HTTP\/1\.1 100 /)
  return client
}

async function readStatus(client: RawClient): Promise<number> {
  const told = /\r\n\r\nHTTP\/1\.1 (\d{3})/
  return Number(told.exec(await client.send(BODY).until(told))?.[1])
}

t.test('a limit that is lowered meanwhile holds', async (t) => {
  const place = await withStoredKey(t, 5)
  const client = await opened(t, place)
  t.equal((await manage(place.gateway, 'PATCH', `/v1/keys/${place.hash}`, { limit: 0.5 })).status, 200)
  t.equal(await readStatus(client), 402)
  t.equal(place.upstream.requests.length, 0)
})

t.test('a limit that is given to a key without one holds', async (t) => {
  const place = await withStoredKey(t, null)
  const client = await opened(t, place)
  await manage(place.gateway, 'PATCH', `/v1/keys/${place.hash}`, { limit: 0.5 })
  t.equal(await readStatus(client), 402)
  t.equal(place.upstream.requests.length, 0)
})

t.test('a limit that is raised or taken away meanwhile serves', async (t) => {
  for (const limit of [1, null]) {
    const place = await withStoredKey(t, 0.5)
    const client = await opened(t, place)
    await manage(place.gateway, 'PATCH', `/v1/keys/${place.hash}`, { limit })
    t.equal(await readStatus(client), 200)
    t.equal((await manage(place.gateway, 'GET', `/v1/keys/${place.hash}`)).data?.usage, 1)
  }
})

t.test('a key that is disabled, deleted or rotated meanwhile buys nothing', async (t) => {
  const acts: [string, (place: WithStoredKey) => Promise<unknown>][] = [
    ['disabled', ({ gateway, hash }) => manage(gateway, 'PATCH', `/v1/keys/${hash}`, { disabled: true })],
    ['deleted', ({ gateway, hash }) => manage(gateway, 'DELETE', `/v1/keys/${hash}`)],
    ['rotated', ({ gateway, hash }) => manage({ url: gateway.admin }, 'POST', '/keys/command', { verb: 'rotate', key: hash }, ADMIN_TOKEN)],
  ]
  for (const [what, act] of acts) {
    const place = await withStoredKey(t, 5)
    const client = await opened(t, place)
    await act(place)
    t.equal(await readStatus(client), 401, what)
    t.equal(place.upstream.requests.length, 0)
  }
})

t.test('credit that an issued key spends meanwhile is not spent twice', async (t) => {
  const place = await withStoredKey(t, 3)
  const { gateway, secret, hash, upstream } = place
  const clients = await Promise.all([1, 2, 3].map(() => opened(t, place)))
  const { data } = await manage(gateway, 'POST', '/v1/auth/keys/code', { callback_url: 'https://app.example/back' }, secret)
  const { key: given } = await manage(gateway, 'POST', '/v1/auth/keys', { code: String(data?.id) })
  const others = await Promise.all([1, 2, 3, 4].map(() => opened(t, { ...place, secret: String(given) })))
  t.same((await Promise.all(others.map(readStatus))).sort(), [200, 200, 200, 402])
  t.equal((await manage(gateway, 'GET', `/v1/keys/${hash}`)).data?.limit_remaining, 0)
  t.same(await Promise.all(clients.map(readStatus)), [402, 402, 402])
  t.equal(upstream.requests.length, 3, 'three dollars were there, and three were spent')
})

const CALLS: Utterance = { calls: [{ id: 'call_1', name: 'router_datetime', args: ['{}'] }] }
const LOOP = JSON.stringify({ ...JSON.parse(BODY), tools: [{ type: 'router:datetime' }] })

/** A request of two turns; `act` runs while the provider answers the first. @returns its status. */
async function loop({ gateway, upstream, secret }: WithStoredKey, act: () => Promise<unknown>): Promise<number> {
  upstream.script = async (seen) => {
    if (/"role":"tool"/.test(seen.body)) return answerFor(seen, { text: ['done'] })
    await act()
    return answerFor(seen, CALLS)
  }
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
  const response = await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body: LOOP })
  await response.text()
  return response.status
}

t.test('a turn that follows is held under the limit of then', async (t) => {
  const place = await withStoredKey(t, 5)
  const patch = (limit: number) => (): Promise<unknown> => manage(place.gateway, 'PATCH', `/v1/keys/${place.hash}`, { limit })
  t.equal(await loop(place, patch(1.5)), 402)
  t.equal(place.upstream.requests.length, 1)
  t.match(
    (await manage(place.gateway, 'GET', `/v1/keys/${place.hash}`)).data,
    { usage: 1, limit_remaining: 0.5 },
    'the first turn is charged, and nothing stays held',
  )
  await patch(3)()
  t.equal(await loop(place, patch(3)), 200)
  t.match((await manage(place.gateway, 'GET', `/v1/keys/${place.hash}`)).data, { usage: 3, limit_remaining: 0 })
})

t.test('a request ends as usual though its key is removed meanwhile', async (t) => {
  const place = await withStoredKey(t, 5)
  t.equal(await loop(place, () => manage(place.gateway, 'DELETE', `/v1/keys/${place.hash}`)), 200)
  t.equal(place.upstream.requests.length, 2)
})
