/** Guardrails that are managed over the API while several processes answer: in force in all of them within a second. */
import { appendFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { secretHash } from '../../../src/core/secret.ts'
import { adminFetch } from '../../support/admin.ts'
import { SECRET } from '../../support/crash/configuration.ts'
import { eventually, realTime } from '../../support/eventually.ts'
import { object } from '../../support/fold.ts'
import { runProgram } from '../../support/program.ts'
import { startUpstream } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'
import { askOnce, configured, fetchMetrics, inTurn, ready, serveWorkers, type WorkerGroup } from '../../support/workers.ts'

const BOSS = 'sk-router-v1-boss0000000000000000'
/** Connections of which, dealt out by chance, every worker gets some. */
const MANY = 24
const BODY = { model: 'acme/one', messages: [{ role: 'user', content: 'a forbidden-1 word' }] }
const BLOCK = { content_filters: [{ pattern: 'forbidden-[0-9]+', action: 'block' }] }

async function manage(workerPool: WorkerGroup, method: string, path: string, body?: JsonObject): Promise<JsonObject> {
  const { status, text } = await askOnce(workerPool.url, { key: BOSS, method, path: `/v1${path}`, body })
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`)
  return JSON.parse(text) as JsonObject
}

const say = (workerPool: WorkerGroup) => askOnce(workerPool.url, { key: SECRET, body: BODY })

/** Once a second has passed every connection is answered so. */
async function soonAll(t: Test, workerPool: WorkerGroup, status: number): Promise<void> {
  await realTime(1000)
  t.same(
    (await inTurn(MANY, () => say(workerPool))).map((reply) => reply.status),
    Array(MANY).fill(status),
    `${status} everywhere`,
  )
}

async function findings(workerPool: WorkerGroup, least: number): Promise<JsonObject[]> {
  return eventually(`${least} findings`, async () => {
    const response = await adminFetch(`${workerPool.admin}/guardrails/command`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"verb":"audit"}',
    })
    const rows = ((await response.json()) as { data: JsonObject[] }).data
    return rows.length >= least ? rows : undefined
  })
}

t.test('two workers: one set of guardrails, one audit trail', async (t) => {
  const upstream = await startUpstream((seen) => answerFor(seen, { text: ['ok'] }))
  t.teardown(() => upstream.close())
  const keys = `- { name: app, key: "${SECRET}" }\n    - { name: boss, key: "${BOSS}", management: true }`
  const { file } = await configured(t, upstream.url, { keys })
  appendFileSync(file, 'guardrails:\n  - { name: written, content_filters: [ { pattern: "a (forbidden-2)", action: flag } ] }\n')
  const workerPool = await serveWorkers(t, file, 2)
  const [one] = workerPool.workers()
  const id = String(object((await manage(workerPool, 'POST', '/guardrails', { name: 'stored', ...BLOCK })).data).id)

  await t.test('an assignment and a change reach both within a second', async (t) => {
    await soonAll(t, workerPool, 200)
    await manage(workerPool, 'POST', `/guardrails/${id}/assignments/keys`, { key_hashes: [secretHash(SECRET)] })
    await soonAll(t, workerPool, 403)
    await manage(workerPool, 'PATCH', `/guardrails/${id}`, { content_filters: null })
    await soonAll(t, workerPool, 200)
    await manage(workerPool, 'PATCH', `/guardrails/${id}`, BLOCK)
    await soonAll(t, workerPool, 403)
  })

  await t.test('every worker shows the same, and findings of both are in one audit trail, each once', async (t) => {
    const shown = await inTurn(MANY, () => askOnce(workerPool.url, { key: BOSS, path: '/v1/guardrails' }))
    t.equal(new Set(shown.map(({ text }) => text)).size, 1)
    const rows = await findings(workerPool, 2 * MANY)
    t.equal(rows.length, 2 * MANY)
    t.equal(new Set(rows.map(({ generation }) => generation)).size, 2 * MANY)
    t.equal(new Set(rows.map(({ hashes }) => String(hashes))).size, 1, 'one secret: the same text has the same hash')
    const metric = await fetchMetrics(workerPool.admin)
    t.equal(metric(`headgate_guardrail_hits_total{guardrail="${id}",action="blocked",direction="input"`), 2 * MANY)
  })

  await t.test('a worker that takes the place of another begins with them', async (t) => {
    process.kill(one, 'SIGKILL')
    await eventually('the replacement', async () => (await fetchMetrics(workerPool.admin))('headgate_worker_restarts_total') || undefined)
    await ready(workerPool.admin)
    t.same(
      (await inTurn(MANY, () => say(workerPool))).map(({ status }) => status),
      Array(MANY).fill(403),
    )
  })

  await t.test('the command line asks the owner', async (t) => {
    const list = runProgram(['guardrails', 'list', '--config', file])
    t.match(await list.exited, { code: 0 }, list.err())
    t.match(list.out(), /written\s+configuration\s+every request/)
    t.match(list.out(), new RegExp(`stored\\s+${id}\\s+store\\s+app`))
    await findings(workerPool, 3 * MANY)
    const audit = runProgram(['guardrails', 'audit', '--config', file, '--guardrail', 'stored', '--since', '1h', '--json'])
    t.match(await audit.exited, { code: 0 }, audit.err())
    t.equal(audit.out().trim().split('\n').length, 3 * MANY)
    t.notMatch(audit.out(), 'forbidden-1')
  })

  await t.test('they are there after the end', async (t) => {
    workerPool.child.kill('SIGTERM')
    t.match(await workerPool.exited, { code: 0 })
    const again = await serveWorkers(t, file, 2)
    t.same(
      (await inTurn(MANY, () => say(again))).map(({ status }) => status),
      Array(MANY).fill(403),
    )
    t.equal((await findings(again, 4 * MANY)).length, 4 * MANY, 'what the first ones had found was written at their end')
    again.child.kill('SIGTERM')
    t.match(await again.exited, { code: 0 })
  })
})
