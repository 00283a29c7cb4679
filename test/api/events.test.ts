/** `GET /v1/events` by time and with deliveries, and `GET /v1/audit` by the key that was changed, from outside. */
import { join } from 'node:path'
import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { eventually } from '../support/eventually.ts'
import { startGateway } from '../support/gateway.ts'
import { startReceiver, WEBHOOK_SECRET } from '../support/webhook-receiver.ts'

const BOSS = 'sk-router-v1-boss0000000000000000000000'

for (const kind of ['a file', 'memory'])
  t.test(`events by time, with their deliveries: ${kind}`, async (t) => {
    const receiver = await startReceiver()
    t.teardown(() => receiver.close())
    const gateway = await startGateway(`
store: { url: "${kind === 'memory' ? 'memory:' : `sqlite:${join(t.testdir(), 'ledger.db')}`}" }
auth: { keys: [ { name: boss, key: "${BOSS}", management: true } ] }
providers: { sim: { dialect: sim } }
models: { sim/echo: { endpoints: [ { provider: sim, model: echo } ] } }
events: { receivers: [ { name: pager, url: "${receiver.url}", secret: "${WEBHOOK_SECRET}", types: [headgate.key.created] } ] }
`)
    t.teardown(() => gateway.close())
    const headers = { authorization: `Bearer ${BOSS}` }
    const get = async (path: string) => {
      const reply = await gateway.get(path, headers)
      return { status: reply.status, data: ((await reply.json()) as { data: JsonObject[] }).data }
    }
    const hashes: string[] = []
    for (const name of ['one', 'two']) {
      const reply = await gateway.post('/v1/keys', { name }, headers)
      hashes.push(((await reply.json()) as { data: { hash: string } }).data.hash)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    await eventually('both are delivered', () => receiver.received.length === 2)
    await eventually('their deliveries are concluded', async () => {
      const { data } = await get('/v1/events/deliveries?state=delivered')
      return data.length === 2
    })
    const { data: all } = await get('/v1/events')
    t.equal(all.length, 2)
    t.ok(
      all.every((event) => event.deliveries === undefined),
      'deliveries are there where they are wanted',
    )
    const [first, second] = all.map(({ time }) => String(time))
    const names = async (query: string): Promise<unknown[]> =>
      (await get(`/v1/events?${query}`)).data.map(({ data }) => (data as JsonObject).name)
    t.same(await names(`since=${second}`), ['two'], 'from a time on')
    t.same(await names(`until=${second}`), ['one'], 'before a time')
    t.same(await names(`since=${first}&order=newest`), ['two', 'one'])
    t.same(await names(`since=${first}&until=${first}`), [])
    t.equal((await get('/v1/events?since=soon')).status, 400)
    const { data: delivered } = await get('/v1/events?include_deliveries=true&order=newest')
    for (const event of delivered) t.match(event.deliveries, [{ receiver: 'pager', state: 'delivered', status: 204, event: event.id }])

    await fetch(`${gateway.url}/v1/keys/${hashes[0]}/rotate`, { method: 'POST', headers })
    for (const subject of ['one', hashes[0]]) {
      const found = await get(`/v1/audit?subject=${subject}&order=oldest`)
      t.same(
        found.data.map(({ action }) => action),
        ['key.created', 'key.rotated'],
        `${subject} is the key`,
      )
    }
  })
