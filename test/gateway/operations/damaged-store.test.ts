/** A large file of the embedded store: the start reads the latest rows alone, and the rest is checked while the gateway serves. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { adminFetch } from '../../support/admin.ts'
import { FakeClock } from '../../support/clock.ts'
import { SECRET } from '../../support/crash/configuration.ts'
import { eventually } from '../../support/eventually.ts'
import { type Gateway, KEY } from '../../support/gateway.ts'
import { damageRow, fillLargeStore } from '../../support/large-store.ts'
import { type Scene, startScene } from '../../support/scene.ts'
import { Gate, startUpstream } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'
import { askOnce, configured, QUESTION, serveWorkers } from '../../support/workers.ts'

const BOSS = 'sk-router-v1-boss0000000000000000'
const KEYS = `auth: { keys: [ { name: test, key: "${KEY}" }, { name: boss, key: "${BOSS}", management: true } ] }\n`

const withStore = (file: string): string => `store: { url: "sqlite:${file}" }\n${KEYS}`

async function readiness({ admin }: Gateway): Promise<{ status: number; body: JsonObject }> {
  const reply = await adminFetch(`${admin}/readyz`)
  return { status: reply.status, body: (await reply.json()) as JsonObject }
}

const asBoss = { authorization: `Bearer ${BOSS}` }

async function read(gateway: Gateway, path: string): Promise<JsonObject> {
  return (await (await gateway.get(path, asBoss)).json()) as JsonObject
}

/** Lets the check go on until there is something. */
function checked<Found>({ clock }: Scene, what: string, look: () => Found | Promise<Found>) {
  return eventually(what, async () => {
    await clock.advance(20)
    return look()
  })
}

async function refusedAsDamaged(t: Test, scene: Scene, problem: RegExp): Promise<void> {
  const { clock, gateway } = scene
  const begun = clock.monotonic()
  const reasons = await checked(scene, 'the damage', async () => {
    const { status, body } = await readiness(gateway)
    return status === 503 ? JSON.stringify(body.reasons) : undefined
  })
  t.match(reasons, problem)
  const found = clock.monotonic()
  const reply = await scene.ask()
  t.equal(reply.status, 503)
  const text = await reply.text()
  t.match(text, /store of the gateway is damaged/)
  t.notMatch(text, problem, 'what exactly is the operator’s')
  t.equal(clock.monotonic() - found, 0, 'at once')
  t.match(gateway.logs.join('\n'), /"msg":"the store is damaged: no new work is taken/)
  t.match(await read(gateway, '/v1/status'), { data: { state: 'degraded', reasons: [problem] } })
  const event = await eventually('the event', async () => {
    const { data } = await read(gateway, '/v1/events')
    return (data as JsonObject[]).find(({ subject }) => subject === 'damaged')
  })
  t.match(event, { type: 'headgate.ledger.problem', data: { problem: 'damaged' } })
  t.ok(found - begun < 60_000)
}

t.test(
  'damage in an old page is found beside the work: nothing new begins, what runs ends and is charged, nothing is repaired',
  async (t) => {
    const file = join(t.testdir(), 'ledger.db')
    fillLargeStore(file)
    damageRow(file, 4_000)
    const gate = new Gate()
    const scene = await startScene(t, {
      yaml: withStore(file),
      // The clock moves while a busy machine reads the file: the stream that waits for it must not count as idle.
      provider: 'timeouts: { idle: 1h, total: 1h }',
      answer: (seen) => {
        const answer = answerFor(seen, { text: ['Hel', 'lo'] })
        const frames = seen.json.stream === true && Array.isArray(answer.body) ? answer.body : undefined
        return frames ? { ...answer, body: [...frames.slice(0, 3), gate.step, ...frames.slice(3)] } : answer
      },
    })
    const { gateway } = scene
    t.match(await readiness(gateway), { status: 200, body: { status: 'ready', notes: [/is being checked/] } })
    t.match(await read(gateway, '/v1/status'), { data: { state: 'ready', notes: [/is being checked/] } })
    t.equal((await scene.ask()).status, 200, 'it serves')
    const running = await scene.ask({ stream: true })
    const rows = scene.rows.bind(scene)
    await refusedAsDamaged(t, scene, /settlement behind .*malformed/)
    gate.open()
    t.match(await running.text(), /\[DONE\]/)
    await gateway.running.store.journal.committed()
    t.throws(rows, 'the page is as it was')
    const socket = await gateway.post('/v1/responses', { model: 'acme/one', input: 'Hello' })
    t.equal(socket.status, 503)
    t.equal((await gateway.post('/v1/plan', { model: 'acme/one', messages: [] })).status, 503)
  },
)

t.test('a row that an index lacks is found', async (t) => {
  const file = join(t.testdir(), 'ledger.db')
  fillLargeStore(file)
  const db = new DatabaseSync(file, { defensive: false })
  const [made] = db.prepare("SELECT sql FROM sqlite_schema WHERE name = 'settlement_ending'").all()
  db.exec("DROP INDEX settlement_ending; CREATE INDEX settlement_ending ON settlement (status) WHERE status = 'aborted'")
  db.exec('PRAGMA writable_schema = ON')
  db.prepare("UPDATE sqlite_schema SET sql = ? WHERE name = 'settlement_ending'").run(made?.sql ?? null)
  db.close()
  await refusedAsDamaged(t, await startScene(t, { yaml: withStore(file) }), /missing from index settlement_ending/)
})

t.test('a whole file is checked once, while rows and checkpoints come, and stays locked', async (t) => {
  const file = join(t.testdir(), 'ledger.db')
  fillLargeStore(file)
  const scene = await startScene(t, { yaml: withStore(file) })
  const { clock, gateway } = scene
  await checked(scene, 'the end of the check', async () => {
    t.equal((await scene.ask()).status, 200)
    return gateway.logs.some((line) => line.includes('the file of the store is whole'))
  })
  t.match(await readiness(gateway), { status: 200, body: { status: 'ready', notes: undefined } })
  await clock.advance(120_000)
  t.equal(gateway.logs.filter((line) => line.includes('the file of the store is whole')).length, 1)
  const open = readdirSync('/proc/self/fd').flatMap((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`) === file ? [name] : []
    } catch {
      return []
    }
  })
  t.ok(open.length <= 2, `${open.length} descriptors`)
  const other = `new (require('node:sqlite').DatabaseSync)(${JSON.stringify(file)}, { timeout: 0 }).exec('SELECT 1 FROM hold')`
  t.match(
    spawnSync(process.execPath, ['-e', other], { encoding: 'utf8' }).stderr,
    /database is locked/,
    'the thread has not given the lock away',
  )
})

t.test('damage among the latest rows refuses the start, and not a byte changes', async (t) => {
  const file = join(t.testdir(), 'ledger.db')
  fillLargeStore(file)
  const bytes = damageRow(file, 8_990)
  await t.rejects(startScene(t, { yaml: withStore(file), clock: new FakeClock() }), {
    code: 'unavailable',
    message: /ledger\.db is damaged/,
  })
  t.ok(readFileSync(file).equals(bytes))
})

t.test('with workers the owner checks once, and all workers refuse', { timeout: 120_000 }, async (t) => {
  const upstream = await startUpstream((seen) => answerFor(seen, { text: ['fine'] }))
  t.teardown(() => upstream.close())
  const { file, store } = await configured(t, upstream.url, { keys: `- { name: app, key: "${SECRET}" }` })
  fillLargeStore(store)
  damageRow(store, 4_000)
  const workerPool = await serveWorkers(t, file, 2)
  await eventually('both refuse', async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => askOnce(workerPool.url, { key: SECRET, body: QUESTION })))
    return all.every(({ status }) => status === 503)
  })
  t.equal(workerPool.out().split('the rest of the file is checked beside the work').length - 1, 1)
  const reply = await adminFetch(`${workerPool.admin}/readyz`)
  t.equal(reply.status, 503)
  t.match(await reply.text(), /the store is damaged: settlement/)
})
