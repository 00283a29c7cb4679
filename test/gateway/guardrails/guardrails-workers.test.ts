/** Guardrails that are managed over the API while several processes answer: in force in all of them within a second. */
import { appendFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { hashOf } from '../../../src/core/secret.ts'
import { adminFetch } from '../../support/admin.ts'
import { SECRET } from '../../support/crash/configuration.ts'
import { eventually, realTime } from '../../support/eventually.ts'
import { object } from '../../support/fold.ts'
import { runProgram } from '../../support/program.ts'
import { startUpstream } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'
import { askOnce, type Crew, configured, inTurn, metricsOf, ready, serveWorkers } from '../../support/workers.ts'

const BOSS = 'sk-router-v1-boss0000000000000000'
/** Connections of which, dealt out by chance, every worker gets some. */
const MANY = 24
const BODY = { model: 'acme/one', messages: [{ role: 'user', content: 'a forbidden-1 word' }] }
const BLOCK = { content_filters: [{ pattern: 'forbidden-[0-9]+', action: 'block' }] }

async function manage(crew: Crew, method: string, path: string, body?: JsonObject): Promise<JsonObject> {
  const { status, text } = await askOnce(crew.url, { key: BOSS, method, path: `/v1${path}`, body })
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`)
  return JSON.parse(text) as JsonObject
}

const say = (crew: Crew) => askOnce(crew.url, { key: SECRET, body: BODY })

/** Once a second has passed every connection is answered so. */
async function soonAll(t: Test, crew: Crew, status: number): Promise<void> {
  await realTime(1000)
  t.same(
    (await inTurn(MANY, () => say(crew))).map((reply) => reply.status),
    Array(MANY).fill(status),
    `${status} everywhere`,
  )
}

async function findings(crew: Crew, least: number): Promise<JsonObject[]> {
  return eventually(`${least} findings`, async () => {
    const response = await adminFetch(`${crew.admin}/guardrails/command`, {
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
  const crew = await serveWorkers(t, file, 2)
  const [one] = crew.workers()
  const id = String(object((await manage(crew, 'POST', '/guardrails', { name: 'stored', ...BLOCK })).data).id)

  await t.test('an assignment and a change reach both within a second', async (t) => {
    await soonAll(t, crew, 200)
    await manage(crew, 'POST', `/guardrails/${id}/assignments/keys`, { key_hashes: [hashOf(SECRET)] })
    await soonAll(t, crew, 403)
    await manage(crew, 'PATCH', `/guardrails/${id}`, { content_filters: null })
    await soonAll(t, crew, 200)
    await manage(crew, 'PATCH', `/guardrails/${id}`, BLOCK)
    await soonAll(t, crew, 403)
  })

  await t.test('every worker shows the same, and findings of both are in one trail, each once', async (t) => {
    const shown = await inTurn(MANY, () => askOnce(crew.url, { key: BOSS, path: '/v1/guardrails' }))
    t.equal(new Set(shown.map(({ text }) => text)).size, 1)
    const rows = await findings(crew, 2 * MANY)
    t.equal(rows.length, 2 * MANY)
    t.equal(new Set(rows.map(({ generation }) => generation)).size, 2 * MANY)
    t.equal(new Set(rows.map(({ hashes }) => String(hashes))).size, 1, 'one secret: the same text has the same hash')
    const metric = await metricsOf(crew.admin)
    t.equal(metric(`headgate_guardrail_hits_total{guardrail="${id}",action="blocked",direction="input"`), 2 * MANY)
  })

  await t.test('a worker that takes the place of another begins with them', async (t) => {
    process.kill(one, 'SIGKILL')
    await eventually('the replacement', async () => (await metricsOf(crew.admin))('headgate_worker_restarts_total') || undefined)
    await ready(crew.admin)
    t.same(
      (await inTurn(MANY, () => say(crew))).map(({ status }) => status),
      Array(MANY).fill(403),
    )
  })

  await t.test('the command line asks the owner', async (t) => {
    const list = runProgram(['guardrails', 'list', '--config', file])
    t.match(await list.exited, { code: 0 }, list.err())
    t.match(list.out(), /written\s+configuration\s+every request/)
    t.match(list.out(), new RegExp(`stored\\s+${id}\\s+store\\s+app`))
    await findings(crew, 3 * MANY)
    const audit = runProgram(['guardrails', 'audit', '--config', file, '--guardrail', 'stored', '--since', '1h', '--json'])
    t.match(await audit.exited, { code: 0 }, audit.err())
    t.equal(audit.out().trim().split('\n').length, 3 * MANY)
    t.notMatch(audit.out(), 'forbidden-1')
  })

  await t.test('they are there after the end', async (t) => {
    crew.child.kill('SIGTERM')
    t.match(await crew.exited, { code: 0 })
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
