/** Operations that cost no credit, many at once, at a gateway on PostgreSQL: the money of other keys never waits for them. */
import { join } from 'node:path'
import pg from 'pg'
import t, { type Test } from 'tap'
import { generationId } from '../../../src/core/ids.ts'
import { LOCKS } from '../../../src/store/postgres/locks.ts'
import { eventually } from '../../support/eventually.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { startPostgres } from '../../support/postgres.ts'
import { gateTo } from '../../support/postgres-gate.ts'

const BOSS = 'sk-router-v1-boss-0123456789abcdef'
/** Of the configuration; their limits are leased from the record. */
const APPS = ['sk-router-v1-app-0123456789abcdef', 'sk-router-v1-bot-0123456789abcdef', 'sk-router-v1-job-0123456789abcdef']
const [APP = ''] = APPS
const KEYS = APPS.map((key, index) => `{ name: app-${index}, key: "${key}", limit: "100.00" }`)
const YAML = `
auth: { keys: [ { name: boss, key: "${BOSS}", management: true }, ${KEYS.join(', ')} ] }
providers: { sim: { dialect: sim } }
models: { sim/echo: { endpoints: [ { provider: sim, model: echo, price: { prompt: "0", completion: "0", request: "0.01" } } ] } }
`
const postgres = await startPostgres(t)

async function gatewayOn(t: Test, url: string, name: string): Promise<Gateway> {
  const store = `store: { url: "${url}", journal: "${join(t.testdirName, `${name}.db`)}" }`
  const gateway = await startGateway(`${store}\nserver: { host: 127.0.0.1, port: 0 }${YAML}`)
  t.teardown(() => gateway.close())
  return gateway
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

async function chat(gateway: Gateway, token: string): Promise<number> {
  const body = { model: 'sim/echo', messages: [{ role: 'user', content: 'x' }] }
  const reply = await gateway.post('/v1/chat/completions', body, bearer(token))
  await reply.arrayBuffer()
  return reply.status
}

async function get(gateway: Gateway, token: string, path: string): Promise<number> {
  const reply = await gateway.get(path, bearer(token))
  await reply.arrayBuffer()
  return reply.status
}

async function makeKey(gateway: Gateway): Promise<{ key: string; hash: string }> {
  const reply = await gateway.post('/v1/keys', { name: 'mine', limit: 100 }, bearer(BOSS))
  const { key, data } = (await reply.json()) as { key: string; data: { hash: string } }
  return { key, hash: data.hash }
}

/** A transaction of somebody else, in which `statement` has been run. @returns what ends it. */
async function blocked(t: Test, url: string, statement: string): Promise<() => Promise<unknown>> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  t.teardown(() => client.end())
  await client.query('BEGIN')
  await client.query(statement)
  return () => client.query('ROLLBACK')
}

if (!postgres) t.pass('skipped: no PostgreSQL')
else {
  /** Statements that wait for a lock. */
  const stuck = async (url: string): Promise<string[]> => {
    const waiting = "wait_event_type = 'Lock' AND datname = current_database()"
    const rows = await postgres.query(url, `SELECT query FROM pg_stat_activity WHERE ${waiting}`)
    return rows.map(({ query }) => String(query))
  }

  /** Other statements, such as those of the upkeep, read generations as well. */
  const lookUps = async (url: string): Promise<number> => (await stuck(url)).filter((text) => text.includes('AS wanted (seq, tag)')).length

  t.test('while look-ups of generations hang, other keys are served, and a disabled key stops', async (t) => {
    t.testdir()
    const url = await postgres.database()
    const [one, two] = [await gatewayOn(t, url, 'one'), await gatewayOn(t, url, 'two')]
    const bad = await makeKey(two)
    t.equal(await chat(one, bad.key), 200)
    const unblock = await blocked(t, url, 'LOCK TABLE generation IN ACCESS EXCLUSIVE MODE')
    let isOver = false
    const seen = new Set<number>()
    const flood = Array.from({ length: 16 }, async (_, index) => {
      for (let round = 0; !isOver; round++)
        seen.add(await get(one, bad.key, `/v1/generation?id=${generationId(index + 100 * round + 1, 'aaaaaaaaaaaa')}`))
    })
    await eventually('look-ups that hang', async () => (await lookUps(url)) > 0 || undefined)
    // One request for each key: the lock also stops the forwarding of settled rows, and with it further credit of their keys.
    for (const app of APPS) t.equal(await chat(one, app), 200)
    t.ok((await lookUps(url)) <= 1, 'look-ups go in batches, one at a time')
    const reply = await fetch(`${two.url}/v1/keys/${bad.hash}`, {
      method: 'PATCH',
      headers: { ...bearer(BOSS), 'content-type': 'application/json' },
      body: JSON.stringify({ disabled: true }),
    })
    t.equal(reply.status, 200)
    await eventually('the end of the disabled key', async () => (await chat(one, bad.key)) === 401 || undefined)
    isOver = true
    await unblock()
    await Promise.all(flood)
    t.ok([...seen].every((status) => [401, 404, 503].includes(status)))
  })

  t.test('generations of many requests at once are all found', async (t) => {
    t.testdir()
    const url = await postgres.database()
    const [one, two] = [await gatewayOn(t, url, 'one'), await gatewayOn(t, url, 'two')]
    const made = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const body = { model: 'sim/echo', messages: [{ role: 'user', content: 'x' }] }
        const reply = await two.post('/v1/chat/completions', body, bearer(APP))
        await reply.arrayBuffer()
        return reply.headers.get('x-generation-id') ?? ''
      }),
    )
    const count = async () => Number((await postgres.query(url, 'SELECT count(*) AS n FROM generation'))[0].n)
    await eventually('all of them', async () => (await count()) === 20 || undefined)
    const found = await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        const id = index % 10 === 9 ? generationId(index, 'aaaaaaaaaaaa') : made[index % 20]
        const reply = await one.get(`/v1/generation?id=${id}`, bearer(APP))
        const { data } = (await reply.json()) as { data?: { id: string } }
        return index % 10 === 9 ? reply.status === 404 : data?.id === id
      }),
    )
    t.ok(
      found.every((isRight) => isRight),
      'each caller gets the generation that it named, or 404',
    )
  })

  t.test('while changes of keys wait for each other, other keys are served', async (t) => {
    t.testdir()
    const url = await postgres.database()
    const gateway = await gatewayOn(t, url, 'one')
    const unblock = await blocked(t, url, `SELECT pg_advisory_xact_lock(${LOCKS.program}, ${LOCKS.keys})`)
    const changes = Array.from({ length: 8 }, async () => (await gateway.post('/v1/keys', { name: 'mine' }, bearer(BOSS))).status)
    await eventually('a change that waits', async () => (await stuck(url)).length > 0 || undefined)
    for (let index = 0; index < 3; index++) t.equal(await chat(gateway, APP), 200)
    t.ok((await stuck(url)).length <= 1, 'one change at a time')
    await unblock()
    t.ok((await Promise.all(changes)).every((status) => [201, 503].includes(status)))
    t.match(await gateway.post('/v1/keys', { name: 'mine' }, bearer(BOSS)), { status: 201 })
  })

  t.test('however many callers read what their key has spent, two readings answer them', async (t) => {
    t.testdir()
    const url = await postgres.database()
    const gate = await gateTo(t, url)
    const gateway = await gatewayOn(t, gate.url, 'one')
    t.equal(await get(gateway, APP, '/v1/key'), 200)
    const before = gate.count('headgate_balances')
    gate.hold('headgate_balances')
    const start = performance.now()
    // A reading without an answer is given up after two seconds, which pass here on a busy machine; then another may be made.
    const givenUp = () => Math.floor((performance.now() - start) / 2_000)
    const readings = Array.from({ length: 50 }, () => get(gateway, APP, '/v1/key'))
    await eventually('a reading', () => gate.count('headgate_balances') > before || undefined)
    for (let index = 0; index < 3; index++) t.equal(await chat(gateway, APP), 200)
    t.ok(gate.count('headgate_balances') <= before + 1 + givenUp(), 'the others wait for one reading')
    gate.release()
    t.ok((await Promise.all(readings)).every((status) => [200, 503].includes(status)))
    t.ok(gate.count('headgate_balances') <= before + 3 + givenUp(), `${gate.count('headgate_balances') - before} readings for 50 callers`)
    t.equal(gate.count('select key, spent - issued'), 0, 'the sum over all keys is not read')
    t.equal(await get(gateway, BOSS, '/v1/credits'), 200)
    t.equal(gate.count('select key, spent - issued'), 1)
    const spent = async () => Number((await postgres.query(url, 'SELECT sum(spent) AS spent FROM balance'))[0].spent)
    await eventually('what was spent', async () => (await spent()) === 30_000_000 || undefined)
  })
}
