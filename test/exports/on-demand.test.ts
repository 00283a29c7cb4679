/** Exports of past ranges over the admin listener: one at a time, to exports of the configuration alone, and going on after a failure. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { adminFetch } from '../support/admin.ts'
import { eventually } from '../support/eventually.ts'
import { object } from '../support/fold.ts'
import { storedLines } from '../support/object-store.ts'
import { startScene } from '../support/scene.ts'

t.test('a range is exported once it is wanted, and a run that has failed goes on', async (t) => {
  const folder = t.testdir()
  const out = join(folder, 'out')
  const scene = await startScene(t, {
    yaml: `store: { url: "sqlite:${join(folder, 'headgate.db')}" }
exports: [ { name: lake, file: { path: "${out}" }, path: "{name}-{batch}", compression: none, rows: 2, interval: 1h, since: 2100-01-01T00:00:00Z } ]`,
  })
  const ids: string[] = []
  for (let i = 0; i < 5; i++) {
    const reply = await scene.ask()
    await reply.text()
    ids.push(String(reply.headers.get('x-generation-id')))
    await scene.clock.advance(1_000)
  }
  const at = (query: string, method = 'POST') => adminFetch(`${scene.gateway.admin}/ledger/exports${query}`, { method })
  const status = async (): Promise<JsonObject> => object((await (await at('', 'GET')).json()) as JsonObject)
  t.same(await status(), { exports: ['lake'], run: null })
  const cases: [string, number][] = [
    ['?export=other', 404],
    ['', 404],
    ['?export=../../etc', 404],
    ['?export=lake&since=yesterday', 400],
    ['?export=lake&since=2026-01-02&until=2026-01-01', 400],
  ]
  for (const [query, code] of cases) t.equal((await at(query)).status, code, query)
  const open = await fetch(`${scene.gateway.admin}/ledger/exports?export=lake`, { method: 'POST' })
  t.equal(open.status, 401, 'nobody else starts one')

  // The folder cannot be made: a file has its name.
  writeFileSync(out, '')
  const range = '?export=lake&since=2026-01-01&until=2026-02-01'
  t.equal((await at(range)).status, 202)
  t.equal((await at(range)).status, 409, 'one at a time')
  const failed = async () => {
    await scene.clock.advance(8_000)
    return object((await status()).run).state === 'failed'
  }
  await eventually('the destination is given up', failed)
  t.match(await status(), { run: { rows: 0, batches: 0, problem: String } })
  rmSync(out)
  mkdirSync(out)
  t.equal((await at(range)).status, 202)
  await eventually('it is done', async () => object((await status()).run).state === 'done')
  t.match(await status(), { run: { export: 'lake', rows: 5, batches: 3, problem: null } })
  t.ok(existsSync(out))
  const files = readdirSync(out).sort()
  t.same(
    files.map((name) => storedLines(readFileSync(join(out, name))).map(({ id }) => id)),
    [ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)],
  )
  const logs = scene.gateway.logs.join('\n')
  for (const line of ['an export on demand has begun', 'an export on demand has ended']) t.match(logs, line)
})
