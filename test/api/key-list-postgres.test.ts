/** Pages of 10,000 keys on PostgreSQL. Runs with `npm run test:servers`. */
import { join } from 'node:path'
import t from 'tap'
import { systemClock } from '../../src/core/clock.ts'
import { oneModel } from '../support/gateway.ts'
import { queryIn, startPostgres } from '../support/postgres.ts'
import { startScene } from '../support/scene.ts'

/** Milliseconds of this process, the client among them. */
const cpuMs = (began: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(began)
  return (user + system) / 1000
}
const BOSS = 'sk-router-v1-boss0000000000000000000000'
const server = await startPostgres(t)

t.test('10,000 keys on PostgreSQL are listed page by page', { timeout: 240_000 }, async (t) => {
  if (!server) return
  const url = await server.database()
  const { gateway } = await startScene(t, {
    clock: systemClock,
    config: (upstream) =>
      `store: { url: "${url}", journal: "${join(t.testdir(), 'journal.db')}" }
auth: { keys: [ { name: boss, key: "${BOSS}", management: true } ] }
${oneModel(upstream, 'openai-chat')}`,
  })
  const headers = { authorization: `Bearer ${BOSS}`, 'content-type': 'application/json' }
  const list = async (query: string): Promise<{ data: { hash: string; name: string }[]; total_count: number; next: string | null }> => {
    const reply = await gateway.get(`/v1/keys?${query}`, headers)
    if (reply.status !== 200) throw new Error(await reply.text())
    return (await reply.json()) as unknown as { data: { hash: string; name: string }[]; total_count: number; next: string | null }
  }
  const body = JSON.stringify({ name: 'first', limit: 5 })
  await (await fetch(`${gateway.url}/v1/keys`, { method: 'POST', headers, body })).text()
  await queryIn(
    url,
    `INSERT INTO api_key (hash, identity, name, label, credit_limit, management, disabled, expires_at, policy, limit_reset, include_byok, creator, issuer, created_at, updated_at)
     SELECT lpad(to_hex(n), 64, '0'), lpad(to_hex(n), 64, '0'), 'many-' || lpad(n::text, 5, '0'), label, credit_limit, management, disabled, expires_at, policy,
            limit_reset, include_byok, creator, issuer, created_at + n, updated_at FROM api_key, generate_series(0, 9999) AS n WHERE name = 'first'`,
  )
  const times: string[] = []
  for (const query of [
    'limit=25&include_forecast=true',
    'limit=1&include_totals=true',
    'limit=25&search=many-0777&include_totals=true',
    'limit=25&sort=usage&order=desc&include_totals=true',
    '',
  ]) {
    const runs: number[] = []
    for (let run = 0; run < 5; run++) {
      const began = process.cpuUsage()
      const { data } = await list(query)
      runs.push(cpuMs(began))
      if (run === 0) t.ok(data.length > 0, query)
    }
    const median = runs.sort((a, b) => a - b)[2] ?? Number.POSITIVE_INFINITY
    t.ok(median < 200, `${query}: ${median.toFixed(0)} ms`)
    times.push(median.toFixed(0))
  }
  t.comment(times.join(' '))
  const hashes = new Set<string>()
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Awaited<ReturnType<typeof list>> = await list(cursor && `cursor=${cursor}`)
    for (const { hash } of page.data) hashes.add(hash)
    cursor = page.next
  }
  t.equal(hashes.size, 10_002)
})
