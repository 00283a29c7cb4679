/** How the listener takes connections: many of them in one turn of the event loop, alone on its port, and none after its end. */
import { connect } from 'node:net'
import t from 'tap'
import { startGateway } from '../support/gateway.ts'
import { RawClient } from '../support/raw.ts'

const MANY = 128
const MODEL = `
providers: { here: { dialect: sim } }
models: { acme/one: { endpoints: [ { provider: here, model: echo } ] } }
`

t.test('connections that come at once are taken in a few turns of the event loop', { skip: process.platform !== 'linux' }, async (t) => {
  const gateway = await startGateway(MODEL)
  t.teardown(() => gateway.close())
  const head = `GET /v1/models HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${gateway.key}\r\n\r\n`
  const clients = await Promise.all(Array.from({ length: MANY }, () => RawClient.open(gateway.url)))
  let [turns, counting] = [0, true]
  const turn = (): void => {
    turns++
    if (counting) setImmediate(turn)
  }
  turn()
  await Promise.all(clients.map((client) => client.send(head).until(/HTTP\/1.1 200/)))
  counting = false
  t.ok(turns < MANY, `${turns} turns`)
  for (const client of clients) client.close()
})

t.test('the port of one gateway is not another’s, and is free after its end', async (t) => {
  const first = await startGateway(MODEL)
  const { port } = new URL(first.url)
  const same = `server: { host: 127.0.0.1, port: ${port} }\n${MODEL}`
  await t.rejects(startGateway(same), { code: 'EADDRINUSE' })
  t.equal((await first.get('/v1/models')).status, 200)
  await first.running.drain.begin()
  await first.close()
  const refused = await new Promise((resolve) =>
    connect(Number(port), '127.0.0.1').once('error', (error: NodeJS.ErrnoException) => resolve(error.code)),
  )
  t.equal(refused, 'ECONNREFUSED')
  const second = await startGateway(same)
  t.equal((await second.get('/v1/models')).status, 200)
  await second.close()
})
