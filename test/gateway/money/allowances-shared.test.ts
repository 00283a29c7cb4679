/** A key with a limit and a guardrail's budget, spent by several processes at once: neither is ever passed, and both are used up. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openStore } from '../../../src/store/open.ts'
import { openPostgres } from '../../../src/store/postgres/record.ts'
import type { SettledRows } from '../../../src/store/record.ts'
import { holdRow, settleRow } from '../../store/samples.ts'
import { ADMIN_TOKEN } from '../../support/admin.ts'
import { FakeClock } from '../../support/clock.ts'
import { freePorts } from '../../support/crash/configuration.ts'
import { eventually } from '../../support/eventually.ts'
import { startPostgres } from '../../support/postgres.ts'
import { runProgram } from '../../support/program.ts'
import { startUpstream, type Upstream } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'
import { askOnce, rows, verified } from '../../support/workers.ts'

const DAY = 86_400_000
const BODY = { model: 'acme/fixed', messages: [{ role: 'user', content: 'Hello' }] }
/** Both have spent $8 on the day before. Of the first one's month $9 are left, of the second one's $22; both have $10 a day. */
const KEYS = [
  { name: 'narrow', secret: 'sk-router-v1-narrow000000000000', limit: 17 },
  { name: 'wide', secret: 'sk-router-v1-wide00000000000000', limit: 30 },
] as const
const BEFORE = 8_000_000_000
const ROUNDS = 3
const AT_ONCE = 40

interface Shape {
  programs: number
  workers: number
  /** URL of a PostgreSQL database; absent: a SQLite file. */
  database?: string
}

/** Rest of the budget and of the limit, which all processes read many times at once. */
async function spend(t: Test, shape: Shape): Promise<void> {
  const upstream = await startUpstream((seen) => answerFor(seen, { text: ['ok'] }))
  t.teardown(() => upstream.close())
  const directory = t.testdir()
  const store = shape.database ?? `sqlite:${join(directory, 'ledger.db')}`
  await seed(store)
  const members: { url: string; admin: string }[] = []
  for (let index = 0; index < shape.programs; index++)
    members.push(await start(t, { directory, index, store, upstream, workers: shape.workers }))
  const yesterday = new Date(Date.now() - DAY)
  const sameMonth = yesterday.getUTCMonth() === new Date().getUTCMonth()
  let seen = 0
  for (const { name, secret } of KEYS) {
    const statuses: Record<number, number> = {}
    for (let round = 0; round < ROUNDS; round++) {
      const asked = Array.from({ length: AT_ONCE }, (_, index) => askOnce(members[index % members.length].url, { key: secret, body: BODY }))
      for (const { status } of await Promise.all(asked)) statuses[status] = (statuses[status] ?? 0) + 1
    }
    const expected = name === 'narrow' && sameMonth ? 18 : 20
    t.equal(statuses[200], expected, `${name}: exactly what limit and budget leave`)
    t.equal(upstream.requests.length - seen, expected, 'and the provider saw no more')
    seen = upstream.requests.length
  }
  for (const { admin } of members) {
    await eventually('all rows', async () => ((await rows(admin)).length === KEYS.length + (sameMonth ? 38 : 40) ? true : undefined))
    await verified(t, admin)
  }
}

interface Start {
  directory: string
  index: number
  store: string
  upstream: Upstream
  workers: number
}

async function start(t: Test, { directory, index, store, upstream, workers }: Start): Promise<{ url: string; admin: string }> {
  const [port, admin] = await freePorts(2)
  const file = join(directory, `${index}.yaml`)
  const keys = KEYS.map(
    ({ name, secret, limit }) => `    - { name: ${name}, key: "${secret}", limit: "${limit}.00", limit_reset: monthly }`,
  )
  writeFileSync(
    file,
    `server: { host: 127.0.0.1, port: ${port} }
admin: { host: 127.0.0.1, port: ${admin}, token: ${ADMIN_TOKEN} }
store: { url: "${store}", journal: "${join(directory, `journal-${index}.db`)}" }
auth:
  keys:
${keys.join('\n')}
guardrails: [ { name: daily, limit_usd: 10, reset_interval: daily } ]
providers: { up: { dialect: openai-chat, base_url: "${upstream.url}/v1", key: "sk-up", timeouts: { first_byte: 120s } } }
models: { acme/fixed: { context: 8000, endpoints: [ { provider: up, model: m, price: { prompt: "0", completion: "0", request: "0.50" } } ] } }
`,
  )
  const program = runProgram(['--config', file, '--workers', String(workers)])
  t.teardown(async () => {
    program.child.kill('SIGTERM')
    await program.exited
  })
  await program.until(/listens on/)
  return { url: `http://127.0.0.1:${port}`, admin: `http://127.0.0.1:${admin}` }
}

/** Both keys have spent something on the day before. */
async function seed(store: string): Promise<void> {
  const at = Date.now() - DAY
  const generations: SettledRows[] = KEYS.map(({ name }, index) => ({
    hold: holdRow(at * 4096 + index, { key: name, hold: BEFORE }),
    settled: settleRow(at * 4096 + index, BEFORE, { at }),
  }))
  const clock = new FakeClock(1, Date.now())
  if (store.startsWith('sqlite:')) {
    const { journal, close } = openStore(store, { clock })
    for (const { hold, settled } of generations) {
      journal.hold(hold)
      journal.settle(settled)
    }
    await journal.committed()
    close()
    return
  }
  const record = await openPostgres(store, { clock })
  await record.take('seed', generations)
  await record.close()
}

const server = await startPostgres(t)

t.test('four workers on one SQLite file', (t) => spend(t, { programs: 1, workers: 4 }))

if (server)
  t.test('six workers of three programs on one PostgreSQL', async (t) =>
    spend(t, { programs: 3, workers: 2, database: await server.database() }),
  )
