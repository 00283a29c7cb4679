/**
 * Keys issued through sign-in where several processes serve: workers, and programs that share a PostgreSQL.
 * Runs with `npm run test:servers`.
 */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { fileText, freePorts } from '../../support/crash/configuration.ts'
import { eventually } from '../../support/eventually.ts'
import { startPostgres } from '../../support/postgres.ts'
import { startUpstream } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'
import { askOnce, command, configured, serveWorkers } from '../../support/workers.ts'

const APP = 'sk-router-v1-app-0123456789abcdef'
const BOSS = 'sk-router-v1-boss-0123456789abcdef'
/** RFC 7636 appendix B. */
const PROOF = { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' }
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const CALLBACK = 'http://127.0.0.1:4711/back'
const QUESTION = { model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }] }
/** A call costs $0.05. */
const PARTS = {
  auth: 'sign_in: {}',
  keys: `- { name: app, key: "${APP}", limit: "1.00", limit_reset: daily }\n    - { name: boss, key: "${BOSS}", management: true }`,
  price: '{ prompt: "0", completion: "0", request: "0.05" }',
}
const FITTING = 20

const postgres = await startPostgres(t)

async function json(url: string, path: string, key: string, body?: JsonObject): Promise<JsonObject> {
  const { status, text } = await askOnce(url, { key, path, body })
  if (status >= 300) throw new Error(`${path}: ${status} ${text}`)
  return JSON.parse(text) as JsonObject
}

/** A key that `secret` issues: the code is made and exchanged over connections of their own, at any worker. */
async function issued(url: string, secret: string): Promise<string> {
  const code = await json(url, '/v1/auth/keys/code', secret, { callback_url: CALLBACK, ...PROOF })
  const { key } = await json(url, '/v1/auth/keys', 'none', { code: (code.data as JsonObject).id, code_verifier: VERIFIER })
  return String(key)
}

const generate = async (url: string, key: string): Promise<number> => (await askOnce(url, { key, body: QUESTION })).status

async function provider(t: Test): Promise<string> {
  const upstream = await startUpstream((seen) => answerFor(seen, { text: ['fine'] }))
  t.teardown(() => upstream.close())
  return upstream.url
}

/** Ten issued keys and their issuer ask at all addresses at once: together they spend what the issuer may. */
async function spendTogether(t: Test, urls: readonly string[]): Promise<string[]> {
  const all = [APP]
  for (let index = 0; index < 10; index++) all.push(await issued(urls[index % urls.length], APP))
  const asked = Array.from({ length: 6 * all.length }, (_, index) => generate(urls[index % urls.length], all[index % all.length]))
  let served = (await Promise.all(asked)).filter((status) => status === 200).length
  const askOn = async (): Promise<void> => {
    for (const url of urls) for (const key of all) if ((await generate(url, key)) === 200) served++
  }
  // Credit that lies idle in a lease is called back, in its own time: what is left is spent by those that ask on.
  await eventually(
    'the last of the dollar',
    async () => {
      if (served < FITTING) await askOn()
      return served >= FITTING
    },
    { found: () => served },
  )
  await askOn()
  t.equal(served, FITTING, 'one dollar in all')
  return all
}

t.test('workers', async (t) => {
  const { file } = await configured(t, await provider(t), PARTS)
  const workerPool = await serveWorkers(t, file, 3)
  const [, child] = await spendTogether(t, [workerPool.url])
  // What other workers have spent is known once they have handed it in.
  const shown = async (): Promise<JsonObject> => (await json(workerPool.url, '/v1/key', child)).data as JsonObject
  const last = await eventually('what is left to show', async () => {
    const data = await shown()
    return data.limit_remaining === 0 ? data : undefined
  })
  t.equal(last.limit, null)

  const made = (await command(workerPool.admin, { verb: 'create', fields: { name: 'giver' } })) as { key: string; data: { hash: string } }
  const issuedByStore = await issued(workerPool.url, made.key)
  t.equal(await generate(workerPool.url, issuedByStore), 200)
  await command(workerPool.admin, { verb: 'disable', key: made.data.hash })
  await eventually('the end of the issued key', async () => {
    const statuses = await Promise.all(Array.from({ length: 9 }, () => generate(workerPool.url, issuedByStore)))
    return statuses.every((status) => status === 401) || undefined
  })
  await command(workerPool.admin, { verb: 'enable', key: made.data.hash })
  await eventually('its return', async () => (await generate(workerPool.url, issuedByStore)) === 200 || undefined)
  await command(workerPool.admin, { verb: 'rotate', key: made.data.hash })
  await eventually('its end for good', async () => (await generate(workerPool.url, issuedByStore)) === 401 || undefined)
})

if (!postgres) t.pass('skipped: no PostgreSQL')
else
  t.test('programs that share a PostgreSQL', async (t) => {
    const directory = t.testdir()
    const record = await postgres.database()
    const upstream = await provider(t)
    const urls: string[] = []
    for (const name of ['one', 'two']) {
      const file = join(directory, `${name}.yaml`)
      const [port, admin] = await freePorts(2)
      writeFileSync(file, fileText({ port, admin, store: join(directory, `${name}.db`), record, provider: upstream, ...PARTS }))
      urls.push((await serveWorkers(t, file, 2)).url)
    }
    await spendTogether(t, urls)
  })
