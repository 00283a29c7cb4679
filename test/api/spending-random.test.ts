/** `GET /v1/activity/keys` over a random ledger of 25 days, from outside, against plain sums of its generations. Runs with `npm run test:servers`. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { SqliteJournal } from '../../src/store/journal.ts'
import { openPostgres } from '../../src/store/postgres/record.ts'
import type { SettledRows } from '../../src/store/record.ts'
import { openDatabase } from '../../src/store/sqlite.ts'
import { holdRow, settleRow } from '../store/samples.ts'
import { FakeClock } from '../support/clock.ts'
import { oneModel, startGateway } from '../support/gateway.ts'
import { startPostgres } from '../support/postgres.ts'

const DAY = 86_400_000
const DAYS = 25
const TODAY = Date.UTC(2026, 0, 25)
const NOW = TODAY + DAY / 2
const BOSS = 'sk-router-v1-boss0000000000000000000000'
const AUTH = `auth: { keys: [ { name: boss, key: "${BOSS}", management: true } ] }`

/** Numbers of Park and Miller, always the same. */
function randomNumbers(): (below: number) => number {
  let state = 20_260_105
  return (below) => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
}

interface Sample {
  readonly day: number
  readonly key: string
  readonly model: string
  readonly provider: string
  readonly failed: boolean
  readonly rows: SettledRows
}

/** Most days have many keys, some have none. */
function samples(): Sample[] {
  const next = randomNumbers()
  return Array.from({ length: 9_000 }, (_, index) => {
    const ago = next(DAYS)
    const day = TODAY - (ago % 5 === 3 ? ago - 1 : ago) * DAY
    const [key, model, provider, failed] = [`key ${next(60)}`, `acme/${next(4)}`, `p${next(3)}`, next(10) === 0]
    const at = day + index
    const facts = JSON.stringify({ model, provider })
    const settled = settleRow(at * 4096, 1 + next(2_000_000), { at, facts, status: failed ? 'failed' : 'completed' })
    return { day, key, model, provider, failed, rows: { hold: holdRow(at * 4096, { key, model }), settled } }
  })
}

const ALL = samples()
/** Entries that come when the sums of its day are made already. */
const EARLY = ALL.filter((_, index) => index % 9 > 0)
const LATE = ALL.filter((_, index) => index % 9 === 0)

type Names = readonly ('day' | 'model' | 'provider')[]

interface Query {
  readonly groups: Names
  readonly model?: string
  readonly provider?: string
  /** Days before today. */
  readonly since?: number
  readonly until?: number
}

const QUERIES: Query[] = [
  ...(
    [['day', 'model', 'provider'], ['day', 'model'], ['day', 'provider'], ['model', 'provider'], ['day'], ['model'], ['provider']] as const
  ).map((groups) => ({ groups })),
  { groups: ['model', 'provider'], since: 20, until: 2 },
  { groups: ['model', 'provider'], since: 11, until: 9 },
  { groups: ['day', 'provider'], model: 'acme/1' },
  { groups: ['day'], model: 'acme/1', provider: 'p2' },
  { groups: ['model'], provider: 'p0', since: 19 },
  { groups: ['provider'], model: 'acme/3', provider: 'p1' },
]

/** The rows of a reply, from the generations one by one. */
function expected({ groups, model, provider, since = DAYS, until = 0 }: Query): JsonObject[] {
  const sums = new Map<string, { sample: Sample; cost: number; requests: number; failed: number }>()
  const within = ALL.filter(({ day }) => day >= TODAY - since * DAY && day <= TODAY - until * DAY)
  for (const sample of within) {
    if ((model !== undefined && sample.model !== model) || (provider !== undefined && sample.provider !== provider)) continue
    const name = [sample.key, ...groups.map((group) => sample[group])].join('\n')
    const sum = sums.get(name) ?? { sample, cost: 0, requests: 0, failed: 0 }
    sum.cost += sample.rows.settled.cost
    sum.requests++
    if (sample.failed) sum.failed++
    sums.set(name, sum)
  }
  const order = ({ sample }: { sample: Sample }): string => [sample.key, sample.model, sample.provider].join('\n')
  return [...sums.values()]
    .sort((a, b) => (groups.includes('day') ? b.sample.day - a.sample.day : 0) || b.cost - a.cost || (order(a) < order(b) ? -1 : 1))
    .map(({ sample, cost, requests, failed }) => ({
      ...(groups.includes('day') ? { date: new Date(sample.day).toISOString().slice(0, 10) } : {}),
      ...(groups.includes('model') ? { model: sample.model } : {}),
      ...(groups.includes('provider') ? { provider_name: sample.provider } : {}),
      ...{ usage: cost / 1e9, requests, failed_requests: failed, prompt_tokens: 120 * requests, completion_tokens: 34 * requests },
      ...{ reasoning_tokens: 4 * requests, cache_discount: 0, api_key_hash: sample.key, api_key_name: null },
    }))
}

function queryPath({ groups, model, provider, since = DAYS, until = 0 }: Query): string {
  const day = (ago: number): string => new Date(TODAY - ago * DAY).toISOString().slice(0, 10)
  const query = new URLSearchParams({ group_by: groups.join(','), since: day(since), until: day(until) })
  if (model !== undefined) query.set('model', model)
  if (provider !== undefined) query.set('provider', provider)
  return `/v1/activity/keys?${query}`
}

async function checked(t: Test, store: string): Promise<void> {
  const gateway = await startGateway(`store: ${store}\n${AUTH}\n${oneModel('http://127.0.0.1:9', 'openai-chat')}`, {
    clock: new FakeClock(1, NOW),
  })
  t.teardown(() => gateway.close())
  const get = async (path: string): Promise<string> => {
    const reply = await gateway.get(path, { authorization: `Bearer ${BOSS}` })
    const text = await reply.text()
    if (reply.status !== 200) throw new Error(text)
    return text
  }
  const fetchRows = async (path: string) => JSON.parse(await get(path)) as { data: JsonObject[]; next: string | null }
  for (const query of QUERIES) {
    const [path, wanted] = [queryPath(query), expected(query)]
    const whole = await fetchRows(`${path}&limit=10000`)
    t.same(whole.data, wanted, `${path}: ${wanted.length} sums`)
    t.equal(whole.next, null)
    const paged: JsonObject[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { data, next } = await fetchRows(`${path}&limit=${Math.ceil(wanted.length / 3)}&cursor=${cursor}`)
      paged.push(...data)
      cursor = next
    }
    t.same(paged, whole.data, 'page by page')
    const skipped = Math.floor(wanted.length / 2)
    t.same((await fetchRows(`${path}&limit=10000&offset=${skipped}`)).data, wanted.slice(skipped), 'with an offset')
    const lines = (await get(`${path}&format=csv`)).trimEnd().split('\r\n').slice(1)
    t.same(
      lines.map((line) => line.split(',', 1)[0]),
      wanted.map((row) => row.api_key_hash),
      'as CSV',
    )
  }
}

t.test('sums of SQLite', async (t) => {
  const file = join(t.testdir(), 'ledger.db')
  const journal = new SqliteJournal(openDatabase(file, 'process'), { clock: new FakeClock(1, NOW) })
  const write = async (some: readonly Sample[]): Promise<void> => {
    for (const { rows } of some) {
      journal.hold(rows.hold)
      journal.settle(rows.settled)
    }
    await journal.committed()
  }
  journal.roll(NOW, 500)
  await write(EARLY)
  while (journal.roll(NOW + DAY, 500) >= 500);
  await write(LATE)
  journal.close()
  await checked(t, `{ url: "sqlite:${file}" }`)
})

const server = await startPostgres(t)
t.test('sums of PostgreSQL', { skip: server ? false : 'PostgreSQL is not installed' }, async (t) => {
  if (!server) return
  const url = await server.database()
  const record = await openPostgres(url, { clock: new FakeClock(1, NOW) })
  await record.take(
    'n1',
    EARLY.map(({ rows }) => rows),
  )
  while ((await record.roll(NOW, 500)) >= 500);
  await record.take(
    'n1',
    LATE.map(({ rows }) => rows),
  )
  await record.close()
  await checked(t, `{ url: "${url}", journal: "${join(t.testdir(), 'journal.db')}" }`)
})
