/** Leases of one key beside a disk that takes its time: they wait for it together, and none is answered before it is there. */
import t, { type Test } from 'tap'
import { openPostgres } from '../../src/store/postgres/record.ts'
import { FakeClock } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { ask, balance, leaseFrom, nodePulse } from './record-contract.ts'

const server = await startPostgres(t)
if (server) suite(server)
else t.plan(0, 'PostgreSQL is not installed')

async function opened(t: Test, url: string) {
  const record = await openPostgres(`${url}?pool=8`, { clock: new FakeClock(), limits: { connect: 60_000, statement: 60_000 } })
  t.teardown(() => record.close().catch(() => {}))
  return record
}

/** A commit that waits for the disk of a standby which is not there never ends, as on a disk that stands still; the test goes on meanwhile. */
async function standstill(server: TestPostgres, url: string, isStill: boolean): Promise<void> {
  await server.query(url, `ALTER SYSTEM SET synchronous_standby_names = '${isStill ? 'absent' : ''}'`)
  await server.query(url, 'SELECT pg_reload_conf()')
  await eventually('the setting holds', async () => {
    const [row] = await server.query(url, 'SHOW synchronous_standby_names')
    return row?.synchronous_standby_names === (isStill ? 'absent' : '')
  })
}

function suite(server: TestPostgres): void {
  t.test('leases and returns of one key hold no lock while they wait for the disk', async (t) => {
    const url = await server.database()
    await server.query(url, 'ALTER SYSTEM SET wal_level = replica')
    await server.query(url, 'ALTER SYSTEM SET max_wal_senders = 2')
    await server.restart()
    const record = await opened(t, url)
    for (const node of ['n0', 'n1', 'n2', 'n3']) await record.pulse(nodePulse(node))
    await leaseFrom(record, 'n0', ask('a', 100))
    await standstill(server, url, true)
    let answered = 0
    const calls = [
      ...['n1', 'n2', 'n3'].map((node) => leaseFrom(record, node, ask('a', 10))),
      record.giveBack('n0', { key: 'a' }, 40, 2),
    ].map((call) => call.then(() => answered++))
    await eventually('all four are done at the record', async () => (await balance(record, 'a')).leased === 100 + 30 - 40)
    t.equal(answered, 0, 'and none is answered before the disk has it')
    await standstill(server, url, false)
    await Promise.all(calls)
    t.equal(answered, 4)
  })

  t.test('a lease that was answered survives a crash of the server', async (t) => {
    const url = await server.database()
    const record = await opened(t, url)
    await record.pulse(nodePulse('n1'))
    for (let turn = 1; turn <= 5; turn++) await leaseFrom(record, 'n1', ask('a', 10, { turn }))
    await record.giveBack('n1', { key: 'a' }, 3, 6)
    await server.kill9()
    await server.restart()
    t.match(await balance(await opened(t, url), 'a'), { leased: 47 })
  })
}
