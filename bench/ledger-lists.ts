/**
 * Cost of the lists of the management API over a large ledger: `node bench/ledger-lists.ts [--rows 10000000] [--store postgres]
 * [--file <path>] [--url <postgres://…>] [--rounds 20] [--list PART …]`. Fills SQLite (`--file` keeps it, and uses it again) or a
 * PostgreSQL of its own (`--url` names one that is running: a database without generations is filled, and kept) with 30 days of
 * generations of 200 keys and 8 models, starts the gateway and calls each list (`--list`: whose name has
 * this part) one after the other. Prints wall time, processor time of the gateway and the delay of its event loop meanwhile; ends with
 * code 1 where a goal is missed.
 */
import { parseArgs } from 'node:util'
import { any, keyHash, LEDGER_OPTIONS, type LedgerGateway, withLedger } from './ledger-gateway.ts'
import { KEYS, MODELS, PROVIDERS } from './ledger-lists-fill.ts'

const { values } = parseArgs({
  options: { ...LEDGER_OPTIONS, rounds: { type: 'string', default: '20' }, list: { type: 'string', multiple: true } },
})
const rounds = Number(values.rounds)
/** Milliseconds: of each call, and of the event loop's delay (99 %). */
const GOAL = { wall: 200, delay: 20 }
const DAY_MS = 86_400_000

/** By a name, a path; each call makes one anew. */
type Lists = Readonly<Record<string, () => string>>

const daysAgo = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString()
const one = <T>(from: readonly T[]): T | undefined => from[any(from.length)]
const model = (): string => `acme/model-${any(MODELS)}`
const provider = (): string => `provider-${any(PROVIDERS)}`
const ofKey = (): string => `api_key_hash=${keyHash(any(KEYS))}`

/** Names for some calls, found before. */
interface Known {
  readonly ids: readonly string[]
  readonly sessions: readonly string[]
  /** Of a search, and of the spending of all keys on each of some days. */
  readonly next: string
  readonly spending: readonly string[]
}

function chooseLists({ ids, sessions, next, spending }: Known): Lists {
  const at = daysAgo
  const search = '/v1/generations'
  return {
    '/v1/activity': () => '/v1/activity',
    '/v1/activity?date': () => `/v1/activity?date=${at(1 + any(28)).slice(0, 10)}`,
    '/v1/activity?api_key_hash': () => `/v1/activity?${ofKey()}`,
    '/v1/activity?format=csv': () => '/v1/activity?format=csv',
    ...spendingLists(spending),
    '/v1/keys/{hash}/budget': () => `/v1/keys/${keyHash(any(KEYS))}/budget`,
    '/v1/credits': () => '/v1/credits',
    '/v1/keys': () => '/v1/keys',
    '/v1/keys?format=csv': () => '/v1/keys?format=csv',
    '/v1/keys/{hash}': () => `/v1/keys/${keyHash(any(KEYS))}`,
    '/v1/key': () => '/v1/key',
    '/v1/models?sort=top-weekly': () => '/v1/models?sort=top-weekly',
    '/v1/models': () => '/v1/models',
    '/v1/providers': () => '/v1/providers',
    '/v1/status': () => '/v1/status',
    '/v1/guardrails': () => '/v1/guardrails',
    '/v1/events': () => '/v1/events?limit=100',
    '/v1/events/deliveries': () => '/v1/events/deliveries?limit=100',
    '/v1/events/receivers': () => '/v1/events/receivers',
    '/v1/sessions, a day': () => '/v1/sessions',
    '/v1/sessions, another day': () => `/v1/sessions?since=${at(3)}&until=${at(2)}`,
    '/v1/sessions, a minute of a day': () => `/v1/sessions?since=${at(3.0007)}&until=${at(3)}`,
    '/v1/sessions?api_key_hash, a day': () => `/v1/sessions?${ofKey()}`,
    '/v1/sessions?api_key_hash, 31 days': () => `/v1/sessions?since=${at(30)}&${ofKey()}`,
    '/v1/sessions?session_id, 31 days': () => `/v1/sessions?since=${at(30)}&session_id=${one(sessions)}`,
    '/v1/sessions?limit=1000, another day': () => `/v1/sessions?since=${at(3)}&until=${at(2)}&limit=1000`,
    '/v1/sessions?offset=5000, another day': () => `/v1/sessions?since=${at(4)}&until=${at(3)}&offset=5000`,
    '/v1/sessions?format=csv&limit=1000, a day': () => '/v1/sessions?format=csv&limit=1000',
    [search]: () => search,
    [`${search}?format=csv&limit=200`]: () => `${search}?format=csv&limit=200`,
    [`${search}?limit=200&endpoint`]: () => `${search}?limit=200&endpoint=${model()}@${provider()}`,
    [`${search}?limit=200&streamed&max_cost`]: () => `${search}?limit=200&streamed=true&max_cost=0.001`,
    [`${search}?cursor`]: () => `${search}?cursor=${next}`,
    [`${search}?since&until, an hour`]: () => `${search}?since=${at(1.04)}&until=${at(1)}`,
    [`${search}?api_key_hash`]: () => `${search}?${ofKey()}`,
    [`${search}?session_id`]: () => `${search}?session_id=${one(sessions)}`,
    [`${search}?status=failed,aborted`]: () => `${search}?status=failed,aborted`,
    [`${search}?error`]: () => `${search}?error=upstream_timeout`,
    [`${search}?error, none such`]: () => `${search}?error=never_happened`,
    [`${search}?api_key_hash&error`]: () => `${search}?${ofKey()}&error=upstream_timeout`,
    [`${search}?model`]: () => `${search}?model=${model()}`,
    [`${search}?provider`]: () => `${search}?provider=${provider()}`,
    [`${search}?model, none such`]: () => `${search}?model=acme/model-${MODELS}`,
    [`${search}?min_cost, a half`]: () => `${search}?min_cost=0.001`,
    [`${search}?min_cost, one in 100,000`]: () => `${search}?min_cost=1`,
    [`${search}?api_key_hash&min_cost, none`]: () => `${search}?${ofKey()}&min_cost=9`,
    '/v1/generations/{id}': () => `/v1/generations/${one(ids)}`,
    '/v1/generation?id': () => `/v1/generation?id=${one(ids)}`,
  }
}

/** Fields that may stand apart beside the key. */
const GROUPS = ['day', 'model', 'provider', 'day,model', 'day,provider', 'model,provider']

/** Calls of the spending of keys; without a period 30 days. */
function spendingLists(cursors: readonly string[]): Lists {
  const spending = '/v1/activity/keys'
  const most = 'limit=10000'
  const lists: Record<string, () => string> = {
    [`${spending}, 30 days`]: () => spending,
    [`${spending}?cursor, some day`]: () => `${spending}?cursor=${one(cursors)}`,
    [`${spending}?offset, the most`]: () => `${spending}?offset=10000`,
    [`${spending}?${most}`]: () => `${spending}?${most}`,
    [`${spending}?${most}&offset, the most`]: () => `${spending}?${most}&offset=10000`,
    [`${spending}?${most}&format=csv`]: () => `${spending}?${most}&format=csv`,
    [`${spending}?${most}&model`]: () => `${spending}?${most}&model=${model()}`,
    [`${spending}?${most}&model&provider`]: () => `${spending}?${most}&model=${model()}&provider=${provider()}`,
    [`${spending}?api_key_hash`]: () => `${spending}?${ofKey()}`,
    [`${spending}?api_key_hash&${most}`]: () => `${spending}?${ofKey()}&${most}`,
    [`${spending}?group_by=model, a week`]: () => `${spending}?group_by=model&since=${daysAgo(6).slice(0, 10)}`,
    [`${spending}?group_by=model,provider, a week`]: () => `${spending}?group_by=model,provider&since=${daysAgo(6).slice(0, 10)}`,
    [`${spending}?group_by=model,provider&api_key_hash`]: () => `${spending}?group_by=model,provider&${ofKey()}`,
    [`${spending}?group_by=model,provider&${most}&format=csv`]: () => `${spending}?group_by=model,provider&${most}&format=csv`,
    [`${spending}?group_by=model&provider`]: () => `${spending}?group_by=model&provider=${provider()}`,
    [`${spending}?group_by=provider&model`]: () => `${spending}?group_by=provider&model=${model()}`,
    [`${spending}?group_by=model&model&provider`]: () => `${spending}?group_by=model&model=${model()}&provider=${provider()}`,
    [`${spending}?group_by=day&model&provider&${most}`]: () => `${spending}?group_by=day&model=${model()}&provider=${provider()}&${most}`,
    [`${spending}?group_by=day,model&provider&${most}`]: () => `${spending}?group_by=day,model&provider=${provider()}&${most}`,
  }
  for (const groups of GROUPS)
    for (const limit of ['', `&${most}`])
      lists[`${spending}?group_by=${groups}${limit}, 30 days`] = () => `${spending}?group_by=${groups}${limit}`
  return lists
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
  const lists = chooseLists({
    ids: found.flatMap(({ id }) => id ?? []),
    sessions: found.flatMap(({ session_id: session }) => session ?? []),
    next,
    spending,
  })
  let fine = true
  console.log(
    '| list | first, ms | median, ms | worst, ms | processor, ms | event loop p99, ms | longest, ms |\n|---|---:|---:|---:|---:|---:|---:|',
  )
  for (const [name, inputPath] of Object.entries(lists)) {
    if (values.list && !values.list.some((part) => name.includes(part))) continue
    await gateway.delays()
    const cpu = gateway.cpuMs()
    const took: number[] = []
    let refused: unknown
    for (let round = 0; round < rounds && refused === undefined; round++) {
      const begun = performance.now()
      await gateway.text(inputPath()).catch((thrown: unknown) => {
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
