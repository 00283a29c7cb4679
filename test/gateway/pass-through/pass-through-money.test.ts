/** Cost of a pass-through request, and what becomes of its hold where it fails. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import { Fault } from '../../../src/core/faults.ts'
import { eventually } from '../../support/eventually.ts'
import { KEY } from '../../support/gateway.ts'
import { RawClient } from '../../support/raw.ts'
import { type Scene, startScene } from '../../support/scene.ts'
import { jsonAnswer } from '../../support/upstream.ts'

/** A key with ten dollars, of which every request costs one. */
function tenDollars(t: Test, guardrails = '') {
  return startScene(t, {
    answer: () => jsonAnswer({ fine: true }),
    config: (url) => `
auth: { keys: [ { name: app, key: "${KEY}", limit: "10.00", pass_through: true } ] }
providers:
  first: { dialect: openai-chat, base_url: "${url}/v1", key: "sk-provider-secret", pass_through: { price: "1.00" } }
models:
  acme/one:
    endpoints:
      - { provider: first, model: upstream-model, price: { prompt: "1.00", completion: "2.00" } }
${guardrails}`,
  })
}

async function balance({ gateway }: Scene): Promise<unknown> {
  const { data } = (await (await gateway.get('/v1/key')).json()) as { data: { usage: number; limit_remaining: number } }
  return [data.usage, data.limit_remaining]
}

t.test('a pass-through request costs its price', async (t) => {
  const place = await tenDollars(t)
  t.equal((await place.gateway.get('/v1/passage/first/files')).status, 200)
  t.same(await balance(place), [1, 9])
})

t.test('GET /v1/generation shows the status of the provider, not that of the error the caller got', async (t) => {
  const { gateway, upstream } = await tenDollars(t)
  const statuses: unknown[] = []
  for (const [status, told] of [
    [401, 502],
    [404, 404],
    ['none', 502],
  ]) {
    upstream.script = () => (typeof status === 'number' ? jsonAnswer({ error: 'no' }, status) : { before: 'close' })
    const reply = await gateway.get('/v1/passage/first/files')
    t.equal(reply.status, told)
    await reply.text()
    const found = await gateway.get(`/v1/generation?id=${reply.headers.get('x-generation-id')}`)
    const { data } = (await found.json()) as { data: { provider_responses: { status: number | null }[] } }
    statuses.push(data.provider_responses[0].status)
  }
  t.same(statuses, [401, 404, null])
})

t.test('a hold whose commit was refused is settled, since its row may be there all the same', async (t) => {
  const place = await tenDollars(t)
  const { gateway, upstream } = place
  const { journal } = gateway.running.store
  const { committed } = journal
  journal.committed = async () => {
    journal.committed = committed
    await journal.committed()
    throw new Fault('unavailable', { retryAfter: 1 })
  }
  t.equal((await gateway.get('/v1/passage/first/files')).status, 503)
  t.equal(upstream.requests.length, 0)
  t.match([...journal.export()], [{ settled: { status: 'failed', cost: 0 } }], 'a crash would otherwise charge for it')
  t.same(await balance(place), [0, 10])
})

t.test('what a guardrail would have to read, or to choose, does not pass unread', async (t) => {
  for (const asks of ['phrases: ["secret"]', 'allowed_providers: [first]', 'engine: { type: webhook, url: "http://127.0.0.1:9" }']) {
    const { gateway, upstream } = await tenDollars(t, `guardrails: [ { name: careful, ${asks} } ]\n`)
    const reply = await gateway.get('/v1/passage/first/files')
    t.equal(reply.status, 403, asks)
    t.match(await reply.json(), { error: { message: /guardrail careful .* passes through/, metadata: { guardrail: 'careful' } } })
    t.equal(upstream.requests.length, 0, 'the provider is not asked')
  }
  const { gateway } = await tenDollars(t, 'guardrails: [ { name: answers, direction: output, phrases: ["secret"] } ]\n')
  t.equal((await gateway.get('/v1/passage/first/files')).status, 403, 'answers are not read there either')
})

t.test('a caller that leaves before the provider is called pays nothing', async (t) => {
  const place = await tenDollars(t)
  const { gateway, upstream } = place
  const { journal } = gateway.running.store
  const { committed } = journal
  const client = await RawClient.open(gateway.url)
  const callers: Socket[] = []
  const hear = (message: unknown): void => void callers.push((message as { socket: Socket }).socket)
  subscribe('http.server.request.start', hear)
  t.teardown(() => unsubscribe('http.server.request.start', hear))
  const ended = Promise.withResolvers<void>()
  journal.committed = async () => {
    journal.committed = committed
    client.reset()
    await new Promise((resolve) => callers[0]?.once('close', resolve))
    await journal.committed()
    ended.resolve()
  }
  client.send(`GET /v1/passage/first/files HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer ${KEY}\r\n\r\n`)
  await ended.promise
  await eventually('the settlement', () => [...journal.export()].every(({ settled }) => settled))
  t.equal(upstream.requests.length, 0)
  t.match([...journal.export()], [{ settled: { status: 'aborted', cost: 0 } }])
  t.same(await balance(place), [0, 10])
})

t.test('the budget of a guardrail holds in the pass-through', async (t) => {
  const { gateway, upstream } = await tenDollars(t, 'guardrails: [ { name: purse, limit_usd: 2 } ]\n')
  for (const status of [200, 200, 403]) t.equal((await gateway.get('/v1/passage/first/files')).status, status)
  t.equal(upstream.requests.length, 2)
})
