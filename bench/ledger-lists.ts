/**
 * What the lists of the management API cost over a large ledger: `node bench/ledger-lists.ts [--rows 10000000] [--store postgres]
 * [--file <path>] [--url <postgres://…>] [--rounds 20] [--list PART …]`. Fills SQLite (`--file` keeps it, and uses it again) or a
 * PostgreSQL of its own (`--url` names one that is running: a database without generations is filled, and kept) with 30 days of
 * generations of 200 keys and 8 models, starts the gateway, waits until sums are up to date and calls each list (`--list`: whose name has
 * this part) one after the other. Prints wall time, processor time of the gateway and the delay of its event loop meanwhile; ends with
 * code 1 where a goal is missed.
 */
import { parseArgs } from 'node:util'
import { any, hashOf, LEDGER_OPTIONS, type LedgerGateway, withLedger } from './ledger-gateway.ts'
import { KEYS, MODELS, PROVIDERS } from './ledger-lists-fill.ts'

const { values } = parseArgs({
  options: { ...LEDGER_OPTIONS, rounds: { type: 'string', default: '20' }, list: { type: 'string', multiple: true } },
})
const rounds = Number(values.rounds)
/** Milliseconds: of each call, and of the event loop's delay (99 %). */
const GOAL = { wall: 200, delay: 20 }
const DAY_MS = 86_400_000

/** A path with `?` in it; each call makes one anew. */
type Lists = Readonly<Record<string, () => string>>

/** What some calls name, found before. */
interface Known {
  readonly ids: readonly string[]
  readonly sessions: readonly string[]
  /** Of a search, and of the spending of all keys on each of some days. */
  readonly next: string
  readonly spending: readonly string[]
}

function listsOf({ ids, sessions, next, spending }: Known): Lists {
  const at = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString()
  const one = <T>(from: readonly T[]): T | undefined => from[any(from.length)]
  const search = '/v1/generations'
  return {
    '/v1/activity': () => '/v1/activity',
    '/v1/activity?date': () => `/v1/activity?date=${at(1 + any(28)).slice(0, 10)}`,
    '/v1/activity?api_key_hash': () => `/v1/activity?api_key_hash=${hashOf(any(KEYS))}`,
    '/v1/activity/keys, 30 days': () => '/v1/activity/keys',
    '/v1/activity/keys?cursor, some day': () => `/v1/activity/keys?cursor=${one(spending)}`,
    '/v1/activity/keys?offset, the most': () => '/v1/activity/keys?offset=10000',
    '/v1/activity/keys?group_by=model, a week': () => `/v1/activity/keys?group_by=model&since=${at(6).slice(0, 10)}`,
    '/v1/activity/keys?group_by=model, 30 days': () => '/v1/activity/keys?group_by=model',
    '/v1/activity/keys?group_by=day': () => '/v1/activity/keys?group_by=day',
    '/v1/activity/keys?api_key_hash': () => `/v1/activity/keys?api_key_hash=${hashOf(any(KEYS))}`,
    '/v1/keys/{hash}/budget': () => `/v1/keys/${hashOf(any(KEYS))}/budget`,
    '/v1/credits': () => '/v1/credits',
    '/v1/keys': () => '/v1/keys',
    '/v1/models?sort=top-weekly': () => '/v1/models?sort=top-weekly',
    '/v1/models': () => '/v1/models',
    '/v1/providers': () => '/v1/providers',
    '/v1/status': () => '/v1/status',
    '/v1/sessions, a day': () => '/v1/sessions',
    '/v1/sessions, another day': () => `/v1/sessions?since=${at(3)}&until=${at(2)}`,
    '/v1/sessions, a minute of a day': () => `/v1/sessions?since=${at(3.0007)}&until=${at(3)}`,
    '/v1/sessions?api_key_hash, a day': () => `/v1/sessions?api_key_hash=${hashOf(any(KEYS))}`,
    '/v1/sessions?api_key_hash, 31 days': () => `/v1/sessions?since=${at(30)}&api_key_hash=${hashOf(any(KEYS))}`,
    '/v1/sessions?session_id, 31 days': () => `/v1/sessions?since=${at(30)}&session_id=${one(sessions)}`,
    [search]: () => search,
    [`${search}?cursor`]: () => `${search}?cursor=${next}`,
    [`${search}?since&until, an hour`]: () => `${search}?since=${at(1.04)}&until=${at(1)}`,
    [`${search}?api_key_hash`]: () => `${search}?api_key_hash=${hashOf(any(KEYS))}`,
    [`${search}?session_id`]: () => `${search}?session_id=${one(sessions)}`,
    [`${search}?status=failed,aborted`]: () => `${search}?status=failed,aborted`,
    [`${search}?error`]: () => `${search}?error=upstream_timeout`,
    [`${search}?error, none such`]: () => `${search}?error=never_happened`,
    [`${search}?api_key_hash&error`]: () => `${search}?api_key_hash=${hashOf(any(KEYS))}&error=upstream_timeout`,
    [`${search}?model`]: () => `${search}?model=acme/model-${any(MODELS)}`,
    [`${search}?provider`]: () => `${search}?provider=provider-${any(PROVIDERS)}`,
    [`${search}?model, none such`]: () => `${search}?model=acme/model-${MODELS}`,
    [`${search}?min_cost, a half`]: () => `${search}?min_cost=0.001`,
    [`${search}?min_cost, one in 100,000`]: () => `${search}?min_cost=1`,
    [`${search}?api_key_hash&min_cost, none`]: () => `${search}?api_key_hash=${hashOf(any(KEYS))}&min_cost=9`,
    '/v1/generations/{id}': () => `/v1/generations/${one(ids)}`,
    '/v1/generation?id': () => `/v1/generation?id=${one(ids)}`,
  }
}

/** @returns whether every list keeps the goals. */
async function measure(gateway: LedgerGateway): Promise<boolean> {
  const found: { id?: string; session_id?: string }[] = []
  const spending: string[] = []
  let next = ''
  for (let day = 1; day < 30; day += 3) {
    const page = await gateway.get(`/v1/generations?limit=200&until=${new Date(Date.now() - day * DAY_MS).toISOString()}`)
    found.push(...(page.data ?? []))
    next = page.next ?? ''
    const until = new Date(Date.now() - day * DAY_MS).toISOString().slice(0, 10)
    spending.push((await gateway.get(`/v1/activity/keys?limit=500&until=${until}`)).next ?? '')
  }
  const lists = listsOf({
    ids: found.flatMap(({ id }) => id ?? []),
    sessions: found.flatMap(({ session_id: session }) => session ?? []),
    next,
    spending,
  })
  let fine = true
  console.log(
    '| list | first, ms | median, ms | worst, ms | processor, ms | event loop p99, ms | longest, ms |\n|---|---:|---:|---:|---:|---:|---:|',
  )
  for (const [name, pathOf] of Object.entries(lists)) {
    if (values.list && !values.list.some((part) => name.includes(part))) continue
    await gateway.delays()
    const cpu = gateway.cpuMs()
    const took: number[] = []
    let refused: unknown
    for (let round = 0; round < rounds && refused === undefined; round++) {
      const begun = performance.now()
      await gateway.get(pathOf()).catch((thrown: unknown) => {
        refused = thrown
      })
      took.push(performance.now() - begun)
    }
    if (refused !== undefined) {
      fine = false
      console.log(`| **${name}** | ${refused instanceof Error ? refused.message : String(refused)} | | | | | |`)
      continue
    }
    const each = (gateway.cpuMs() - cpu) / rounds
    const [delay, longest] = await gateway.delays()
    const sorted = took.toSorted((a, b) => a - b)
    const [first = 0, median = 0, worst = 0] = [took[0], sorted[Math.floor(rounds / 2)], sorted.at(-1)]
    const missed = worst >= GOAL.wall || delay >= GOAL.delay
    if (missed) fine = false
    const figures = [first, median, worst, each, delay, longest].map((ms) => ms.toFixed(1)).join(' | ')
    console.log(`| ${missed ? '**' : ''}${name}${missed ? '**' : ''} | ${figures} |`)
  }
  return fine
}

withLedger(values, measure).then(
  (fine) => process.exit(fine ? 0 : 1),
  (error: unknown) => {
    console.error(`bench: ${error instanceof Error ? error.stack : String(error)}`)
    process.exit(2)
  },
)
