/** Strangers at a gateway on PostgreSQL: their tokens cost few queries, and money never waits for them. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import pg from 'pg'
import t, { type Test } from 'tap'
import { eventually, startWatch } from '../../support/eventually.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { startPostgres } from '../../support/postgres.ts'

const BOSS = 'sk-router-v1-boss-0123456789abcdef'
/** Of the configuration: it needs no look-up, and its limit is leased from the record. */
const APP = 'sk-router-v1-app-0123456789abcdef'
/** Milliseconds for which a token counts as unknown once it was looked up (`src/cluster/cached-keys.ts`). */
const UNKNOWN_FOR = 10_000
const postgres = await startPostgres(t)

const YAML = `
auth: { keys: [ { name: boss, key: "${BOSS}", management: true }, { name: app, key: "${APP}", limit: "100.00" } ] }
providers: { sim: { dialect: sim } }
models: { sim/echo: { endpoints: [ { provider: sim, model: echo, price: { prompt: "0", completion: "0", request: "0.01" } } ] } }
`
const stranger = (): string => `sk-router-v1-${randomBytes(32).toString('hex')}`

async function gatewayOn(t: Test, url: string, name: string): Promise<Gateway> {
  const server = 'server: { host: 127.0.0.1, port: 0, auth_failures: { burst: 20 } }'
  const gateway = await startGateway(`store: { url: "${url}", journal: "${join(t.testdirName, `${name}.db`)}" }\n${server}${YAML}`)
  t.teardown(() => gateway.close())
  return gateway
}

async function askStatus(gateway: Gateway, token: string): Promise<number> {
  const body = { model: 'sim/echo', messages: [{ role: 'user', content: 'x' }] }
  const reply = await gateway.post('/v1/chat/completions', body, { authorization: `Bearer ${token}` })
  await reply.arrayBuffer()
  return reply.status
}

async function makeKey(gateway: Gateway, limit: number): Promise<string> {
  const reply = await gateway.post('/v1/keys', { name: 'mine', limit }, { authorization: `Bearer ${BOSS}` })
  return ((await reply.json()) as { key: string }).key
}

if (!postgres) t.pass('skipped: no PostgreSQL')
else {
  t.test('a flood of unknown tokens leaves new and known keys of the same address working', async (t) => {
    t.testdir()
    const url = await postgres.database()
    const [one, two] = [await gatewayOn(t, url, 'one'), await gatewayOn(t, url, 'two')]
    const known = await makeKey(one, 100)
    t.equal(await askStatus(one, known), 200)
    let isOver = false
    const seen = new Set<number>()
    const flood = Array.from({ length: 50 }, async () => {
      while (!isOver) seen.add(await askStatus(one, stranger()))
    })
    await eventually('the empty bucket', () => seen.has(429) || undefined)
    for (let index = 0; index < 10; index++) t.equal(await askStatus(one, known), 200, 'a known key')
    const made = await makeKey(two, 100)
    t.equal(await askStatus(one, made), 200, 'a key that another process has just made')
    isOver = true
    await Promise.all(flood)
    t.same([...seen].sort(), [401, 429])
  })

  t.test('a token that was unknown works as soon as the key is made elsewhere', async (t) => {
    t.testdir()
    const url = await postgres.database()
    const [one, two] = [await gatewayOn(t, url, 'one'), await gatewayOn(t, url, 'two')]
    const key = await makeKey(two, 1)
    const { keys } = two.running.store
    const [made] = await keys.list()
    await keys.remove(made.hash)
    await eventually('the removal', async () => (await askStatus(one, key)) === 401 || undefined)
    t.equal(await askStatus(one, key), 401, 'remembered as unknown')
    await keys.put(made)
    const watch = startWatch()
    await eventually('the key', async () => (await askStatus(one, key)) === 200 || undefined)
    const taken = watch()
    // By the news of the key, in a moment; without it the token would be unknown for the whole time.
    t.ok(taken < UNKNOWN_FOR - 1_000, `${taken} ms`)
  })

  t.test('look-ups that hang keep no money waiting', async (t) => {
    t.testdir()
    const url = await postgres.database()
    const gateway = await gatewayOn(t, url, 'one')
    const blocker = new pg.Client({ connectionString: url })
    await blocker.connect()
    t.teardown(() => blocker.end())
    await blocker.query('BEGIN')
    await blocker.query('LOCK TABLE api_key IN ACCESS EXCLUSIVE MODE')
    const strangers = Array.from({ length: 40 }, () => askStatus(gateway, stranger()))
    const waiting = async (): Promise<number> => {
      const rows = await postgres.query(
        url,
        // Look-ups of secrets alone: the start reads all keys once, for events of their budgets.
        `SELECT count(*) AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name LIKE 'headgate%'
          AND query LIKE '%hash = ANY%'`,
      )
      return Number(rows[0].n)
    }
    await eventually('look-ups that hang', async () => (await waiting()) > 0 || undefined)
    t.ok((await waiting()) <= 2, 'however many tokens come, two connections look up')
    for (let index = 0; index < 5; index++) t.equal(await askStatus(gateway, APP), 200)
    const charged = async (): Promise<unknown> => (await postgres.query(url, 'SELECT sum(spent) AS spent FROM balance'))[0].spent
    await eventually('what was spent', async () => Number(await charged()) === 50_000_000 || undefined)
    await blocker.query('ROLLBACK')
    t.ok((await Promise.all(strangers)).every((status) => [401, 429, 503].includes(status)))
  })
}
