/** The store of record behind PgBouncer in transaction mode, in the version of Debian 12, which knows no prepared statements. */
import { spawn } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { verifyLedger } from '../../src/ledger/verify.ts'
import { openPostgres } from '../../src/store/postgres/record.ts'
import { FakeClock } from '../support/clock.ts'
import { freePorts } from '../support/crash/configuration.ts'
import { eventually } from '../support/eventually.ts'
import { startPostgres } from '../support/postgres.ts'
import { ask, generation, leaseFrom, nodePulse } from './record-contract.ts'

t.setTimeout(280_000)
const PROGRAM = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer'].find((path) => existsSync(path))
const server = await startPostgres(t)

if (server && PROGRAM === undefined)
  process.stderr.write('\n*** PgBouncer is not installed: its test is SKIPPED (Debian: apt-get install pgbouncer) ***\n\n')

if (server && PROGRAM !== undefined)
  t.test('two gateways whose transactions take turns on three connections of the server', async (t) => {
    const url = await server.database()
    const { hostname, port, username, pathname } = new URL(url)
    const folder = t.testdir()
    const [own] = await freePorts(1)
    const file = join(folder, 'pgbouncer.ini')
    const users = join(folder, 'users.txt')
    writeFileSync(users, `"${username}" ""\n`)
    writeFileSync(
      file,
      `[databases]
* = host=${hostname} port=${port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${own}
auth_type = any
auth_file = ${users}
pool_mode = transaction
default_pool_size = 3
unix_socket_dir =
${process.getuid?.() === 0 ? 'user = postgres' : ''}
`.replace('* = ', `* = user=${username} `),
    )
    const child = spawn(PROGRAM, [file], { stdio: ['ignore', 'ignore', 'pipe'] })
    t.teardown(() => void child.kill('SIGKILL'))
    let utterance = ''
    child.stderr.on('data', (text: Buffer) => {
      utterance += text
    })
    const pooled = `postgres://${username}@127.0.0.1:${own}${pathname}`
    await eventually(
      'PgBouncer listens',
      async () => {
        const found = await server.query(pooled, 'SELECT 1 AS one').catch(() => undefined)
        return found?.[0]?.one === 1
      },
      { found: () => utterance },
    )
    const clock = new FakeClock()
    const limits = { connect: 20_000, statement: 20_000 }
    const open = async () => {
      const record = await openPostgres(pooled, { clock, limits })
      t.teardown(() => record.close())
      return record
    }
    const [first, second] = [await open(), await open()]
    let seq = 0
    const at = Date.now()
    const work = async (record: typeof first, node: string): Promise<void> => {
      for (let round = 0; round < 30; round++) {
        await Promise.all([
          record.pulse(nodePulse(node)),
          leaseFrom(record, node, ask(`k${round % 4}`, 5, { limit: 1_000_000 })),
          record.take(node, [generation(at * 4096 + ++seq, `k${round % 4}`, 3, at)]),
          record.balances(['k0', 'k1']),
          record.keys.find('a'.repeat(64)),
        ])
        if (round % 10 === 9) await record.roll(clock.now(), 100)
      }
    }
    await Promise.all([work(first, 'n1'), work(second, 'n2')])
    t.match(await verifyLedger(second.ledger, { full: true }), { ok: true, generations: 60, charged: 180 })
    await first.endLeases('n1')
    await second.endLeases('n2')
    t.ok((await first.balances(['k0', 'k1', 'k2', 'k3'])).every(({ leased }) => leased === 0))
    const settings = await server.query(
      url,
      "SELECT proname, proconfig::text FROM pg_proc WHERE proname IN ('headgate_take', 'headgate_roll') ORDER BY 1",
    )
    t.match(settings, [{ proconfig: /jit=off.*lock_timeout=5s/ }, { proconfig: /jit=off/ }], 'what a session would set the functions have')
  })

if (server)
  t.test('pulses leave few dead versions of their rows, which a long snapshot keeps', async (t) => {
    const url = await server.database()
    const record = await openPostgres(url, { clock: new FakeClock(), limits: { connect: 20_000, statement: 20_000 } })
    t.teardown(() => record.close())
    const place = async () => (await server.query(url, 'SELECT ctid::text, life FROM node'))[0]
    const { life } = await record.pulse({ ...nodePulse('n1'), expiry: 600_000 })
    const before = await place()
    for (let count = 0; count < 20; count++) t.equal((await record.pulse({ ...nodePulse('n1'), expiry: 600_000 })).life, life)
    t.same(await place(), before, 'the row is the same version')
    await record.pulse({ ...nodePulse('n1'), expiry: 6_000_000 })
    t.not((await place())?.ctid, before?.ctid, 'until a third of the time is over')
  })
