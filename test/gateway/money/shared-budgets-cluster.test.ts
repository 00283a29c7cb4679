/** One budget over two programs, one of them with workers, on one PostgreSQL: its keys spend it to the cent and not beyond, wherever they call. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { ask, ledgersAgree, manage, newCluster, PRICE, startServers, tally } from '../../support/cluster.ts'
import { eventually } from '../../support/eventually.ts'

t.setTimeout(280_000)
/** Requests that the budget pays for, and that are sent. */
const PAID = 40
const SENT = 120
const KEYS = ['ada', 'bob', 'cy'].map((name) => `sk-router-v1-${name}00000000000000000000000`)

const servers = await startServers(t)
t.test('a budget is one for all processes', { skip: !servers }, async (t) => {
  if (!servers) return
  const cluster = await newCluster(t, servers)
  const keys = KEYS.map((key, at) => `{ name: k${at}, key: "${key}", parent: team }`)
  const more = `budgets: { team: { monthly: "${(PAID * PRICE) / 1e9}" } }`
  const [here, there] = [await cluster.start({ keys, more }), await cluster.start({ workers: 2, keys, more })]
  const replies = await Promise.all(
    Array.from({ length: SENT }, (_, at) => ask([here, there][at % 2] ?? here, { key: KEYS[at % KEYS.length] ?? '' })),
  )
  const first = tally(replies)
  t.ok((first[200] ?? 0) <= PAID, JSON.stringify(first))
  t.equal((first[200] ?? 0) + (first[402] ?? 0), SENT)
  // Leases that lie idle elsewhere come back: what the rush has left is spent to the end.
  let served = first[200] ?? 0
  await eventually('all of it is spent', async () => {
    const { status } = await ask(served % 2 === 0 ? here : there, { key: KEYS[served % KEYS.length] ?? '' })
    if (status === 200) served++
    else if (served < PAID) t.equal(status, 402)
    return served === PAID && status === 402
  })
  t.equal(served, PAID)
  const budgetAt = async (member: typeof here): Promise<JsonObject> => ((await manage(member, '/budgets')).data as JsonObject[])[0] ?? {}
  for (const member of [here, there])
    await eventually('both show all of it', async () => {
      const { windows } = await budgetAt(member)
      const [window = {}] = windows as JsonObject[]
      return window.used === (PAID * PRICE) / 1e9 && window.remaining === 0
    })
  await ledgersAgree(t, cluster, [here, there])
})
