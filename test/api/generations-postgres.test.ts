/** `GET /v1/generations` on PostgreSQL. Runs with `npm run test:servers`. */
import { join } from 'node:path'
import t from 'tap'
import { openBookkeeping } from '../../src/cluster/bookkeeping.ts'
import { NO_AUDIT_KEYS } from '../../src/core/audit-keys.ts'
import { systemClock } from '../../src/core/clock.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { LedgerScans } from '../../src/ledger/scans.ts'
import { holdRow, settleRow } from '../store/samples.ts'
import { eventually } from '../support/eventually.ts'
import { oneModel } from '../support/gateway.ts'
import { queryIn, startPostgres } from '../support/postgres.ts'
import { startScene } from '../support/scene.ts'
import { answerFor, upstreamError } from '../support/wire.ts'

const APP = 'sk-router-v1-app00000000000000000000000'
const BOSS = 'sk-router-v1-boss0000000000000000000000'
const KEYS = `auth: { keys: [ { name: app, key: "${APP}" }, { name: boss, key: "${BOSS}", management: true } ] }`

const server = await startPostgres(t)

t.test('every filter finds its generations, newest first', { timeout: 240_000 }, async (t) => {
  if (!server) return
  const url = await server.database()
  const scene = await startScene(t, {
    clock: systemClock,
    config: (upstream) =>
      `store: { url: "${url}", journal: "${join(t.testdir(), 'journal.db')}" }\n${KEYS}\n${oneModel(upstream, 'openai-chat')}`,
    answer: (seen) =>
      seen.body.includes('fault') ? upstreamError(400, 'no') : answerFor(seen, { text: ['fine'], usage: { input: 100, output: 10 } }),
  })
  const find = async (query: string): Promise<{ data: JsonObject[]; next: string | null }> => {
    const reply = await scene.gateway.get(`/v1/generations${query}`, { authorization: `Bearer ${BOSS}` })
    if (reply.status !== 200) throw new Error(await reply.text())
    return (await reply.json()) as unknown as { data: JsonObject[]; next: string | null }
  }
  const say = async (words: string, more: JsonObject = {}): Promise<string> => {
    const reply = await scene.ask({ messages: [{ role: 'user', content: words }], ...more }, 'chat', { authorization: `Bearer ${APP}` })
    await reply.text()
    return String(reply.headers.get('x-generation-id'))
  }
  const first = await say('hello')
  const session = await say('hello', { session_id: 'conversation "1" \u0001' })
  const failed = await say('fault')
  const streamed = await say('hello', { stream: true })
  await eventually('all rows', async () => ((await find('')).data.length === 4 ? true : undefined))
  const ids = async (query: string) => (await find(query)).data.map(({ id }) => id)
  t.same(await ids(''), [streamed, failed, session, first])
  t.same(await ids(`?session_id=${encodeURIComponent('conversation "1" \u0001')}`), [session])
  t.same(await ids('?session_id=conversation'), [])
  t.same(await ids('?status=failed,aborted'), [failed])
  t.same(await ids('?status=completed&limit=1'), [streamed])
  t.same(await ids('?streamed=true'), [streamed])
  t.same(await ids('?max_cost=0'), [failed])
  t.same(await ids('?model=acme/one&provider=first&min_cost=0.0001'), [streamed, session, first])
  t.same(await ids('?endpoint=acme/one@first'), [streamed, failed, session, first])
  const [entry] = (await find('?status=failed')).data
  t.same(await ids(`?error=${entry?.error}`), [failed])
  t.same(await ids(`?api_key_hash=${entry?.api_key_hash}&status=failed`), [failed])
  t.same(await ids(`?api_key_hash=${'0'.repeat(64)}`), [])
  const seen: unknown[] = []
  for (let next: string | null = ''; next !== null && seen.length < 10; ) {
    const page: { data: JsonObject[]; next: string | null } = await find(
      `?limit=1&api_key_hash=${entry?.api_key_hash}${next && `&cursor=${next}`}`,
    )
    seen.push(...page.data.map(({ id }) => id))
    next = page.next
  }
  t.same(seen, [streamed, failed, session, first], 'page by page')
})

t.test('a search reads no generation but those of its slices', { timeout: 240_000 }, async (t) => {
  if (!server) return
  const [url, journal] = [await server.database(), join(t.testdir(), 'journal.db')]
  const bookkeeping = await openBookkeeping({
    url,
    journal,
    lostGrace: 0,
    auditKeys: NO_AUDIT_KEYS,
    clock: systemClock,
    durability: 'process',
    report: () => {},
  })
  t.teardown(() => bookkeeping.close())
  bookkeeping.journal.hold(holdRow(4096))
  bookkeeping.journal.settle(settleRow(4096, 5))
  const whole = (): never => {
    throw new Error('the whole ledger is read')
  }
  const scans = new LedgerScans({ ...bookkeeping.ledger, export: whole }, systemClock)
  const { rows } = await scans.search({ from: 0, until: 10, limit: 1 }, '')
  t.same(
    rows.map(({ hold }) => hold.seq),
    [4096],
  )
})

t.test('a search reads few generations where it begins, whatever another one has read', { timeout: 240_000 }, async (t) => {
  if (!server) return
  const [url, journal] = [await server.database(), join(t.testdir(), 'journal.db')]
  const open = () =>
    openBookkeeping({ url, journal, lostGrace: 0, auditKeys: NO_AUDIT_KEYS, clock: systemClock, durability: 'process', report: () => {} })
  const bookkeeping = await open()
  await queryIn(
    url,
    `INSERT INTO generation (seq, tag, key, payer, model, endpoint, hold, floor, status, cost, input, output, cached, cache_write, reasoning, estimated, facts, at)
      SELECT i * 4096, 'abcdefghijkl', 'key-' || i % 2, '', 'm', 'e', 9, 3, 'completed', 5, 1, 1, 0, 0, 0, false, '{}', i FROM generate_series(1::bigint, 20000) AS s (i)`,
  )
  await queryIn(url, 'ANALYZE generation')
  const search = async (bookkeeping: Awaited<ReturnType<typeof open>>, wanted: object, before = '') =>
    new LedgerScans(bookkeeping.ledger, systemClock).search({ from: 0, until: 30_000, limit: 5, ...wanted }, before)
  // What each search may take at once is learned meanwhile.
  for (let next: string | undefined = ''; next !== undefined; ) next = (await search(bookkeeping, { model: 'none such' }, next)).next
  // A connection reports what it has read when it ends.
  await bookkeeping.close()
  const read = async (): Promise<number> => {
    const sql = `SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::int AS rows FROM pg_stat_user_tables WHERE relname = 'generation'`
    return Number((await queryIn(url, sql))[0]?.rows)
  }
  const before = await eventually('what the first search has read', async () => ((await read()) >= 20_000 ? await read() : undefined))
  const again = await open()
  for (let next: string | undefined = ''; next !== undefined; ) next = (await search(again, { model: 'none such' }, next)).next
  const { rows } = await search(again, { key: 'key-1' })
  t.same(
    rows.map(({ hold }) => hold.seq / 4096),
    [19_999, 19_997, 19_995, 19_993, 19_991],
  )
  const few = await search(again, { key: 'key-0', minCost: 5 })
  t.equal(few.rows.length, 5)
  await again.close()
  const after = await eventually('what the others have read', async () => ((await read()) >= before + 20_000 ? await read() : undefined))
  t.ok(after - before < 21_000, `${after - before} rows were read`)
})
