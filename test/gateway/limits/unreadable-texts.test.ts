/** Texts that PostgreSQL does not read, NUL and lone surrogates, wherever a caller can write one: no 503, and no sum that fails. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Clock, systemClock } from '../../../src/core/clock.ts'
import { FakeClock } from '../../support/clock.ts'
import type { Gateway } from '../../support/gateway.ts'
import { startPostgres } from '../../support/postgres.ts'
import { startScene } from '../../support/scene.ts'
import { answerFor } from '../../support/wire.ts'

const APP = 'sk-router-v1-app00000000000000000'
const BOSS = 'sk-router-v1-boss0000000000000000'
const STRANGE = ['a\u0000b', 'a\ud800b', '\udc00', 'a\\u0000b']
const DAY = 86_400_000
const MESSAGES = [{ role: 'user', content: 'Hello' }]

const postgres = await startPostgres(t)

/** @param store the line of the configuration. */
async function opened(t: Test, store: string, clock: Clock = systemClock): Promise<Gateway> {
  const { gateway } = await startScene(t, {
    answer: (seen) => answerFor(seen, { text: ['ok'] }),
    config: (url) => `store: { ${store} }
auth: { keys: [ { name: app, key: "${APP}" }, { name: boss, key: "${BOSS}", management: true } ] }
guardrails: [ { name: written, content_filters: [ { pattern: "secret-[^ ]+", action: flag } ], audit: full } ]
providers: { up: { dialect: openai-chat, base_url: "${url}/v1", key: "sk-up" } }
models:
  acme/fixed: { context: 8000, endpoints: [ { provider: up, model: fixed, price: { prompt: "0", completion: "0", request: "0.01" } } ] }
  "local/*": { context: 8000, endpoints: [ { provider: up, model: "*", price: { prompt: "0", completion: "0", request: "0.01" } } ] }
`,
    clock,
  })
  return gateway
}

async function call(gateway: Gateway, method: string, path: string, body?: unknown): Promise<{ status: number; data: unknown }> {
  const headers = { authorization: `Bearer ${BOSS}`, 'content-type': 'application/json' }
  const reply = await fetch(`${gateway.url}/v1${path}`, { method, headers, body: body === undefined ? null : JSON.stringify(body) })
  return { status: reply.status, data: await reply.json() }
}

async function requests(t: Test, gateway: Gateway): Promise<void> {
  for (const text of STRANGE) {
    for (const more of [{ user: text }, { session_id: text }, { messages: [{ role: 'user', content: `secret-${text}` }] }]) {
      const { status } = await gateway.post('/v1/chat/completions', { model: 'acme/fixed', messages: MESSAGES, ...more })
      t.equal(status, 200, JSON.stringify(more))
    }
    const { status } = await gateway.post('/v1/chat/completions', { model: `local/${text}`, messages: MESSAGES })
    t.equal(status, 400, 'no model is called so')
  }
}

async function management(t: Test, gateway: Gateway): Promise<void> {
  const made = (await call(gateway, 'POST', '/keys', { name: 'k' })).data as { data: { hash: string } }
  const guarded = (await call(gateway, 'POST', '/guardrails', { name: 'g' })).data as { data: { id: string } }
  const { hash } = made.data
  const { id } = guarded.data
  for (const text of STRANGE) {
    const inPath = encodeURIComponent(text.toWellFormed())
    const calls: [string, string, unknown?][] = [
      ['POST', '/keys', { name: text }],
      ['POST', '/keys', { name: 'x', allowed_models: [`local/${text}`], creator_user_id: text, external_user: text, label: text }],
      ['PATCH', `/keys/${hash}`, { name: text }],
      ['GET', `/keys/${inPath}`],
      ['PATCH', `/keys/${inPath}`, { name: 'y' }],
      ['DELETE', `/keys/${inPath}`],
      ['POST', '/guardrails', { name: text, description: text }],
      ['POST', '/guardrails', { name: 'x', allowed_models: [`local/${text}`] }],
      ['POST', '/guardrails', { name: 'x', content_filters: [{ pattern: text, label: text, action: 'block' }] }],
      ['PATCH', `/guardrails/${id}`, { name: text, description: text }],
      ['GET', `/guardrails/${inPath}`],
      ['PATCH', `/guardrails/${inPath}`, { name: 'y' }],
      ['DELETE', `/guardrails/${inPath}`],
      ['POST', `/guardrails/${id}/assignments/keys`, { key_hashes: [text] }],
      ['POST', `/guardrails/${id}/assignments/keys/remove`, { key_hashes: [text] }],
      ['POST', `/guardrails/${inPath}/assignments/keys`, { key_hashes: [hash] }],
      ['POST', `/guardrails/${inPath}/assignments/keys/remove`, { key_hashes: [hash] }],
      ['GET', `/generation?id=${inPath}`],
      ['GET', `/generation?id=gen-1700000000-${inPath}`],
      ['GET', `/activity?date=${inPath}`],
      ['GET', `/activity?api_key_hash=${inPath}`],
    ]
    for (const [method, path, body] of calls) {
      const { status } = await call(gateway, method, path, body)
      t.ok(status < 500, `${method} ${path} ${JSON.stringify(body)}: ${status}`)
    }
  }
}

/** Sums of all generations, which were made yesterday. */
async function sums(t: Test, gateway: Gateway, count: number): Promise<void> {
  const { status, data } = await call(gateway, 'GET', '/activity')
  t.equal(status, 200)
  const { data: days } = data as { data: { requests: number }[] }
  t.equal(
    days.reduce((sum, { requests }) => sum + requests, 0),
    count,
  )
  t.equal((await gateway.get('/v1/models?sort=top-weekly')).status, 200)
}

async function check(t: Test, gateway: Gateway): Promise<void> {
  await requests(t, gateway)
  await management(t, gateway)
  t.notMatch(gateway.logs.join('\n'), /22P0\d|22021/, 'and nothing waits that PostgreSQL refuses')
}

t.test('SQLite', async (t) => {
  const clock = new FakeClock()
  const gateway = await opened(t, `url: "sqlite:${join(t.testdir(), 'store.db')}"`, clock)
  await check(t, gateway)
  await clock.advance(DAY)
  await sums(t, gateway, 12)
})

if (postgres)
  t.test('PostgreSQL', async (t) => {
    const url = await postgres.database()
    const gateway = await opened(t, `url: "${url}", journal: "${join(t.testdir(), 'journal.db')}"`)
    await check(t, gateway)
    await t.test('rows of earlier programs do not fail the sums either', async (t) => {
      for (const [index, facts] of ['{"user":"\\u0000"}', '{"user":"\\ud800 \\uDC00"}', '{"user":"\\\\u0000"}'].entries())
        await postgres.query(
          url,
          `INSERT INTO generation SELECT seq, 'old${index}', key, model, endpoint, hold, floor, status, cost, input, output, cached,
            cache_write, reasoning, estimated, '${facts}', at, payer FROM generation ORDER BY seq LIMIT 1`,
        )
      await postgres.query(url, `UPDATE generation SET seq = seq - ${DAY}::bigint * 4096`)
      await sums(t, gateway, 15)
    })
  })
