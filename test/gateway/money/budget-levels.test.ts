/** Budgets below budgets: an organisation, its teams, their members. What is refused, named, moved, and kept over a crash. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { loadConfig } from '../../../src/config/load.ts'
import { ConfigError } from '../../../src/config/problems.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { Credit, fixedAsk } from '../../../src/ledger/credit.ts'
import { Hold } from '../../../src/pipeline/money/hold.ts'
import { holdRow, settleRow } from '../../store/samples.ts'
import { adminFetch, freshVerdict } from '../../support/admin.ts'
import { FakeClock } from '../../support/clock.ts'
import { MemoryJournal } from '../../support/memory/journal.ts'
import { runProgram } from '../../support/program.ts'
import { type Scene, type SceneOptions, startScene } from '../../support/scene.ts'
import { Gate } from '../../support/upstream.ts'
import { says } from '../../support/wire.ts'

const [ADA, BOB, CY, BOSS] = ['ada', 'bob', 'cy', 'boss'].map((name) => `sk-router-v1-${name}-0123456789abcdef`) as [
  string,
  string,
  string,
  string,
]
const as = (secret: string): Record<string, string> => ({ authorization: `Bearer ${secret}` })

const LEVELS = `
  acme: { monthly: "9.00", lifetime: "14.00" }
  ml: { daily: "3.00", monthly: "6.00", parent: acme }
  vision: { weekly: "4.00", parent: ml }
  web: { monthly: "8.00", parent: acme }`

/** A call costs exactly a dollar. */
const levelsConfig =
  (budgets: string, more = '') =>
  (url: string): string =>
    `
auth:
  sign_in: {}
  keys:
    - { name: ada, key: "${ADA}", parent: vision, limit: "100.00" }
    - { name: bob, key: "${BOB}", parent: ml }
    - { name: cy, key: "${CY}", parent: web }
    - { name: boss, key: "${BOSS}", management: true }
budgets:${budgets}
providers: { first: { dialect: openai-chat, base_url: "${url}/v1", key: "sk-provider-secret" } }
models: { acme/one: { endpoints: [ { provider: first, model: one, price: { prompt: "0", completion: "0", request: "1.00" } } ] } }
${more}
`

function start(t: Test, options: SceneOptions = {}): Promise<Scene> {
  return startScene(t, { config: levelsConfig(LEVELS), answer: says({ text: ['fine'] }), ...options })
}

const storeIn = (directory: string): string => `store: { url: "sqlite:${join(directory, 'ledger.db')}" }`

async function jsonBody(response: Response): Promise<JsonObject> {
  return (await response.json()) as JsonObject
}

async function fetchBudgets({ gateway }: Pick<Scene, 'gateway'>): Promise<Record<string, JsonObject>> {
  const { data } = (await jsonBody(await gateway.get('/v1/budgets', as(BOSS)))) as { data: JsonObject[] }
  return Object.fromEntries(data.map((budget) => [String(budget.name), budget]))
}

async function limitRemaining({ gateway }: Pick<Scene, 'gateway'>, secret: string): Promise<unknown> {
  return ((await jsonBody(await gateway.get('/v1/key', as(secret)))) as { data: JsonObject }).data.limit_remaining
}

/** Sends requests until one is refused. @returns how many were served, and the refusal. */
async function spendAll(place: Scene, secret: string): Promise<{ served: number; error: { message: string; metadata: JsonObject } }> {
  for (let served = 0; ; served++) {
    const reply = await place.ask({}, 'chat', as(secret))
    if (reply.status !== 200) return { served, ...((await jsonBody(reply)) as { error: { message: string; metadata: JsonObject } }) }
    await reply.text()
  }
}

t.test('each level refuses under its own name, and a charge counts at all of them', async (t) => {
  const place = await start(t)
  t.equal(await limitRemaining(place, ADA), 3, 'the tightest of all: the day of its team')
  const team = await spendAll(place, ADA)
  t.equal(team.served, 3)
  t.match(team.error.message, '$0.00 is left under the daily limit of the budget ml')
  t.match(team.error.metadata.limit, { scope: 'budget', name: 'ml', kind: 'usd', per: 'day' })
  t.equal((await place.ask({}, 'chat', as(BOB))).status, 402, 'for all keys of the team')
  const organisation = await spendAll(place, CY)
  t.equal(organisation.served, 6, 'what the other team has left of the organisation')
  t.match(organisation.error.metadata.limit, { scope: 'budget', name: 'acme', per: 'month' })
  t.match(organisation.error.message, 'under the monthly limit of the budget acme')
  const budgets = await fetchBudgets(place)
  t.match(budgets, {
    acme: {
      parent: null,
      children: ['ml', 'web'],
      remaining: 0,
      keys: [],
      windows: [
        { window: 'monthly', used: 9, remaining: 0 },
        { window: 'lifetime', used: 9, remaining: 5 },
      ],
    },
    ml: { parent: 'acme', children: ['vision'], remaining: 0, keys: [{ name: 'bob' }], windows: [{ used: 3 }, { used: 3, remaining: 3 }] },
    vision: { parent: 'ml', children: [], remaining: 0, keys: [{ name: 'ada' }], windows: [{ window: 'weekly', used: 3, remaining: 1 }] },
    web: { parent: 'acme', remaining: 0, windows: [{ used: 6, remaining: 2 }] },
  })
  t.same(
    ((budgets.ml?.windows ?? []) as JsonObject[]).map(({ window }) => window),
    ['daily', 'monthly'],
    'its own limits alone',
  )
  await place.clock.advance(32 * 86_400_000)
  const last = await spendAll(place, CY)
  t.equal(last.served, 5, 'a new month, and the lifetime of the organisation is over')
  t.match(last.error.metadata.limit, { scope: 'budget', name: 'acme', per: null })
  const payers = new Set(place.rows().map(({ hold }) => `${hold.key} ${hold.payer}`))
  t.same([...payers], ['ada budget:vision>budget:ml>budget:acme', 'cy budget:web>budget:acme'])
  t.match(await freshVerdict(place.gateway.admin), { ok: true, generations: 14 })
  const exported = (await (await adminFetch(`${place.gateway.admin}/ledger/export`)).text()).trim().split('\n')
  t.match(JSON.parse(exported[0] ?? ''), { payer: 'budget:vision>budget:ml>budget:acme' }, 'the row names every level')
  const { data: events } = (await jsonBody(await place.gateway.get('/v1/events?limit=100', as(BOSS)))) as { data: JsonObject[] }
  const subjects = events.filter(({ type }) => String(type).startsWith('headgate.budget')).map(({ subject }) => String(subject))
  t.same([...new Set(subjects)].sort(), ['budget:acme', 'budget:ml', 'budget:vision', 'budget:web'])
})

t.test('the own limit of a key is named as its own, whatever is above it', async (t) => {
  const place = await start(t, { config: (url) => levelsConfig(LEVELS)(url).replace('limit: "100.00"', 'limit: "1.00"') })
  const { served, error } = await spendAll(place, ADA)
  t.equal(served, 1)
  t.match(error.metadata.limit, { scope: 'key', name: 'ada', limit: '1.00', used: '1.00' })
  t.match(error.message, 'under the limit of $1.00 of the key ada')
})

t.test('a refund is given back at every level that had the charge', async (t) => {
  const directory = t.testdir()
  const place = await start(t, { directory, config: levelsConfig(LEVELS, storeIn(directory)) })
  await spendAll(place, ADA)
  const id = (await place.ask({}, 'chat', as(CY))).headers.get('x-generation-id')
  const [{ hold }] = place.rows() as [ReturnType<Scene['rows']>[number]]
  const { id: first } = place.rows()[0] ?? { id: '' }
  t.equal(hold.key, 'ada')
  for (const generation_id of [first, id])
    t.equal(
      (await place.gateway.post('/v1/ledger/entries', { kind: 'refund', amount: 0.5, reason: 'late', generation_id }, as(BOSS))).status,
      201,
    )
  t.match(await fetchBudgets(place), {
    acme: { windows: [{ used: 3 }, { used: 3 }] },
    ml: { windows: [{ used: 2.5 }, { used: 2.5 }] },
    vision: { windows: [{ used: 2.5 }] },
    web: { windows: [{ used: 0.5 }] },
  })
  await place.gateway.restart()
  t.match(await fetchBudgets(place), { acme: { windows: [{ used: 3 }, { used: 3 }] }, ml: { windows: [{ used: 2.5 }, {}] } })
  t.match(await freshVerdict(place.gateway.admin), { ok: true })
})

t.test('requests at once never pass a level, whatever keys and teams they come from', async (t) => {
  const gate = new Gate()
  const place = await start(t, {
    config: levelsConfig(LEVELS.replace('daily: "3.00", ', '')),
    answer: async (seen, index) => {
      await gate.opened
      return says({ text: ['fine'] })(seen, index)
    },
  })
  const secrets = [ADA, BOB, CY]
  const open = Array.from({ length: 45 }, (_, at) => place.ask({}, 'chat', as(secrets[at % 3] ?? '')))
  await place.upstream.request(8)
  t.match(await fetchBudgets(place), { acme: { held: 9, remaining: 0 } })
  gate.open()
  const statuses = (await Promise.all(open)).map(({ status }) => status).sort()
  t.same(statuses, [...Array(9).fill(200), ...Array(36).fill(402)])
  t.match(await fetchBudgets(place), { acme: { held: 0, windows: [{ used: 9 }, {}] } })
})

t.test('a team that moves to another organisation takes its open requests to the one that they began under', async (t) => {
  const gate = new Gate()
  const moved = `${LEVELS.replace('monthly: "6.00", parent: acme', 'monthly: "6.00", parent: other')}\n  other: { monthly: "1.00" }`
  const directory = t.testdir()
  const place = await start(t, {
    directory,
    config: levelsConfig(LEVELS, storeIn(directory)),
    answer: async (seen, index) => {
      await gate.opened
      return says({ text: ['fine'] })(seen, index)
    },
  })
  const open = place.ask({}, 'chat', as(ADA))
  await place.upstream.request(0)
  t.match(await place.gateway.reconfigure(levelsConfig(moved, storeIn(directory))(place.upstream.url)), { kind: 'applied' })
  t.match(await fetchBudgets(place), { acme: { held: 1 }, other: { held: 0, children: ['ml'] }, ml: { held: 1, parent: 'other' } })
  gate.open()
  t.equal((await open).status, 200)
  const { served, error } = await spendAll(place, ADA)
  t.equal(served, 1, 'what the new organisation has')
  t.match(error.metadata.limit, { scope: 'budget', name: 'other' })
  const after = { acme: { windows: [{ used: 1 }, {}] }, other: { windows: [{ used: 1 }] }, ml: { windows: [{ used: 2 }, {}] } }
  t.match(await fetchBudgets(place), after)
  await place.gateway.restart()
  t.match(await fetchBudgets(place), after, 'as the rows have it')
  t.match(await freshVerdict(place.gateway.admin), { ok: true })
})

t.test('an exchange keeps the payers of its first hold, which its row names', async (t) => {
  const credit = new Credit(new FakeClock())
  const journal = new MemoryJournal()
  const hold = new Hold()
  const under = (level: number) => [{ limit: 100, level }]
  hold.take(credit.account('k', 'team>old'), fixedAsk(30), under(2))
  await hold.write(journal, holdRow(1, { key: 'k' }))
  t.equal(hold.take(credit.account('k', 'team>new'), fixedAsk(40), under(2)), 40)
  t.match([credit.account('old').held, credit.account('new').held], [70, 0])
  t.equal(hold.take(credit.account('k', 'other'), fixedAsk(31), [{ limit: 1_000_000 }]), undefined, 'under the allowances that it had')
  await hold.settle(journal, settleRow(1, 65))
  t.match(
    ['k', 'team', 'old', 'new', 'other'].map((each) => credit.account(each).settled),
    [65n, 65n, 65n, 0n, 0n],
  )
  t.match(
    ['k', 'team', 'old', 'new'].map((each) => credit.account(each).held),
    [0, 0, 0, 0],
  )
  await journal.committed()
  t.match([...journal.export()], [{ hold: { payer: 'team>old' } }])
})

t.test('keys issued through sign-in spend at every level of the key that issued them, and learn no name of it', async (t) => {
  const place = await start(t)
  const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
  const wanted = {
    callback_url: 'http://localhost:3000/back',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  }
  const code = ((await jsonBody(await place.gateway.post('/v1/auth/keys/code', wanted, as(BOB)))) as { data: { id: string } }).data.id
  const exchanged = await jsonBody(
    await place.gateway.post('/v1/auth/keys', { code, code_verifier: verifier, code_challenge_method: 'S256' }, {}),
  )
  const issued = String(exchanged.key)
  const { served, error } = await spendAll(place, issued)
  t.equal(served, 3)
  t.match(error.metadata.limit, { scope: 'issuer', per: 'day' })
  t.notMatch(JSON.stringify(error), /acme"|"ml"|budget ml|bob/, 'nor of its budgets')
  t.equal((await place.ask({}, 'chat', as(BOB))).status, 402)
  t.match(await fetchBudgets(place), { acme: { windows: [{ used: 3 }, {}] }, ml: { windows: [{ used: 3 }, {}] } })
  t.same([...new Set(place.rows().map(({ hold }) => hold.payer))], ['bob>budget:ml>budget:acme'])
  t.match(await jsonBody(await place.gateway.get('/v1/credits', as(BOSS))), {
    data: { total_usage: 3, total_credits: 3 + 6 },
  })
})

function budgetProblems(budgets: string): string {
  try {
    loadConfig('h.yaml', {}, { text: levelsConfig(budgets)('http://127.0.0.1:1') })
    return ''
  } catch (thrown) {
    if (!(thrown instanceof ConfigError)) throw thrown
    return thrown.message
  }
}

t.test('a level that is unknown, leads back or is too deep is named with its remedy', (t) => {
  const KEYS = 'vision: { daily: "1.00" }, web: { daily: "1.00" }'
  t.equal(budgetProblems(LEVELS), '')
  t.equal(
    budgetProblems(
      ' { vision: { daily: "1.00", parent: ml }, ml: { daily: "1.00", parent: web }, web: { daily: "1.00", parent: d }, d: { daily: "1.00" } }',
    ),
    '',
  )
  for (const [budgets, problem] of [
    [
      ` { ${KEYS}, ml: { daily: "1.00", parent: acmee }, acme: { daily: "2.00" } }`,
      /budgets\.ml\.parent: no such budget, did you mean "acme"/,
    ],
    [
      ` { ${KEYS}, ml: { daily: "1.00", parent: ml } }`,
      /budgets\.ml\.parent: it leads back to this budget \(ml > ml\), expected one that is not below it/,
    ],
    [
      ` { ${KEYS}, ml: { daily: "1.00", parent: a }, a: { daily: "2.00", parent: ml } }`,
      /budgets\.a\.parent: it leads back to this budget \(a > ml > a\)/,
    ],
    [
      ` { ${KEYS}, ml: { daily: "1.00", parent: a }, a: { daily: "2.00", parent: b }, b: { daily: "2.00", parent: c }, c: { daily: "2.00", parent: d }, d: { daily: "2.00" } }`,
      /budgets\.ml\.parent: expected at most 4 budgets one above the other, these are 5: ml > a > b > c > d/,
    ],
    [` { ${KEYS}, ml: { parent: web } }`, /budgets\.ml: expected a limit/],
    [` { ${KEYS}, ml: { daily: "1.00", parent: [ web ] } }`, /budgets\.ml\.parent: /],
  ] as const)
    t.match(budgetProblems(budgets), problem, budgets)
  const deep = budgetProblems(
    ` { ${KEYS}, ml: { daily: "1.00", parent: x }, x: { daily: "1.00", parent: a }, a: { daily: "2.00", parent: b }, b: { daily: "2.00", parent: c }, c: { daily: "2.00", parent: d }, d: { daily: "2.00" } }`,
  )
  t.match(deep, /budgets\.x\.parent: expected at most 4/)
  t.notMatch(deep, /budgets\.ml\.parent/, 'each mistake once')
  t.end()
})

t.test('headgate check refuses them, a reload too, and headgate budgets shows the tree', async (t) => {
  const directory = t.testdir()
  const file = join(directory, 'checked.yaml')
  const run = async (...words: string[]) => {
    const program = runProgram(words)
    const { code } = await program.exited
    return { code, text: program.out() + program.err() }
  }
  writeFileSync(
    file,
    levelsConfig(' { vision: { daily: "1.00", parent: ml }, ml: { daily: "1.00", parent: vision }, web: { daily: "1.00" } }')(
      'http://127.0.0.1:1',
    ),
  )
  const checked = await run('check', file)
  t.equal(checked.code, 1)
  t.match(checked.text, /budgets\.vision\.parent: it leads back to this budget/)
  const place = await start(t, { directory })
  const wrong = levelsConfig(LEVELS.replace('parent: acme', 'parent: acne'))(place.upstream.url)
  t.match(await place.gateway.reconfigure(wrong), { kind: 'failed' })
  t.equal((await place.ask({}, 'chat', as(ADA))).status, 200, 'it goes on with what it had')
  writeFileSync(file, `store: { url: "sqlite:${join(directory, 'ledger.db')}" }\n${levelsConfig(LEVELS)('http://127.0.0.1:1')}`)
  const shown = await run('budgets', '--config', file)
  t.equal(shown.code, 0, shown.text)
  const names = shown.text
    .split('\n')
    .slice(1)
    .map((line) => line.slice(0, 13).trimEnd())
  t.same(
    names.filter((name, at) => name !== '' && name !== names[at - 1]),
    ['  acme', '    ml', '      vision', '    web'],
    shown.text,
  )
})
