/**
 * Budgets of four levels over two programs, one of them with workers, on one PostgreSQL: random limits, bursts, callers that leave, and a
 * kill -9 with open requests. No limit of any level is passed, and each level has the sum of the rows that name it.
 */
import { request } from 'node:http'
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { freshVerdict } from '../../support/admin.ts'
import { ask, type Cluster, type Member, manage, newCluster, PRICE, QUESTION, startServers, tally } from '../../support/cluster.ts'
import { left, processFamily } from '../../support/crash/processes.ts'
import { eventually } from '../../support/eventually.ts'
import { createRandom } from '../../support/matrix/mutate.ts'
import { runs, seed } from '../../support/seed.ts'
import { Gate } from '../../support/upstream.ts'

t.setTimeout(280_000)
const SECRETS = ['ada', 'bob', 'cy', 'dee', 'eve'].map((name) => `sk-router-v1-${name}00000000000000000000000`)
/** The budget of each key. */
const PARENTS = ['project', 'project', 'team', 'other', 'organisation']
const ABOVE: Readonly<Record<string, string | undefined>> = {
  project: 'team',
  team: 'division',
  other: 'division',
  division: 'organisation',
}
const BURST = 40
const OPEN = 6

/** Requests that each limit pays for; the windows of a budget rise. */
type Limits = Readonly<Record<string, { daily?: number; monthly?: number; lifetime: number }>>

function drawLimits(below: (most: number) => number): Limits {
  const draw = (most: number) => {
    const lifetime = 4 + below(most)
    return { ...(below(2) === 0 ? { monthly: lifetime - 1 } : {}), ...(below(2) === 0 ? { daily: lifetime - 2 } : {}), lifetime }
  }
  return { organisation: draw(110), division: draw(90), team: draw(60), other: draw(40), project: draw(40) }
}

const usd = (requests: number): string => `"${(requests * PRICE) / 1e9}"`

function budgetLines(limits: Limits): string {
  const lines = Object.entries(limits).map(([name, windows]) => {
    const bounds = Object.entries(windows).map(([window, requests]) => `${window}: ${usd(requests)}`)
    return `  ${name}: { ${[...bounds, ...(ABOVE[name] ? [`parent: ${ABOVE[name]}`] : [])].join(', ')} }`
  })
  return `budgets:\n${lines.join('\n')}\n`
}

/** A caller that leaves before its answer is there. */
function leave({ url }: Pick<Member, 'url'>, key: string, after: number): Promise<number> {
  const text = JSON.stringify(QUESTION)
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'content-length': text.length }
  return new Promise((resolve) => {
    const sent = request(`${url}/v1/chat/completions`, { method: 'POST', agent: false, headers }, (reply) => reply.resume())
    sent.on('error', () => resolve(0)).on('close', () => resolve(0))
    sent.end(text)
    setTimeout(() => sent.destroy(), after)
  })
}

/** Nano-dollars of the rows that name each budget as a payer. */
async function rowSums({ postgres, database }: Cluster): Promise<ReadonlyMap<string, number>> {
  const rows = await postgres.query(
    database,
    "SELECT p.account, sum(g.cost)::float8 AS cost FROM generation g, unnest(string_to_array(g.payer, '>')) AS p (account) GROUP BY p.account",
  )
  return new Map(rows.map(({ account, cost }) => [String(account).slice('budget:'.length), Number(cost)]))
}

const servers = await startServers(t)
for (let round = 0; round < runs(2, 12); round++)
  t.test(`four levels of random limits, round ${round}`, { skip: !servers }, async (t) => {
    if (!servers) return
    const random = createRandom(seed() + round)
    const below = (most: number): number => Math.floor(random() * most)
    const limits = drawLimits(below)
    const cluster = await newCluster(t, servers)
    const keys = SECRETS.map((key, at) => `{ name: k${at}, key: "${key}", parent: ${PARENTS[at]} }`)
    const parts = { keys, more: budgetLines(limits) }
    const [here, other] = [await cluster.start(parts), await cluster.start({ ...parts, workers: 2 })]
    let there = other
    const statuses: { status: number }[] = []
    const burst = async (): Promise<void> => {
      const leaving = Array.from({ length: 5 }, () => leave([here, there][below(2)] ?? here, SECRETS[below(5)] ?? '', below(30)))
      const sent = Array.from({ length: BURST }, () => ask([here, there][below(2)] ?? here, { key: SECRETS[below(5)] ?? '' }))
      statuses.push(...(await Promise.all(sent)))
      await Promise.all(leaving)
    }
    const check = async (isSettled: boolean): Promise<void> => {
      const sums = await rowSums(cluster)
      for (const [name, { lifetime, monthly = lifetime, daily = monthly }] of Object.entries(limits))
        t.ok((sums.get(name) ?? 0) <= Math.min(lifetime, monthly, daily) * PRICE, `${name} is within its limits`)
      if (!isSettled) return
      for (const member of [here, there])
        await eventually('each level shows its rows', async () => {
          const now = await rowSums(cluster)
          const { data } = (await manage(member, '/budgets')) as { data: { name: string; windows: { window: string; used: number }[] }[] }
          return data.every(({ name, windows }) => {
            const used = windows.find(({ window }) => window === 'lifetime')?.used ?? 0
            return Math.round(used * 1e9) === (now.get(name) ?? 0)
          })
        })
    }
    await burst()
    await check(false)
    const gate = new Gate()
    const { script } = cluster.upstream
    cluster.upstream.script = async (seen, index) => {
      await gate.opened
      return script(seen, index)
    }
    const before = cluster.upstream.requests.length
    const open = Array.from({ length: OPEN }, (_, at) => ask(there, { key: SECRETS[at % 5] ?? '' }).catch(() => ({ status: 0 })))
    // Where little is left, some are refused.
    await Promise.race([eventually('open requests', () => cluster.upstream.requests.length > before), Promise.all(open)])
    const family = processFamily(there.pid)
    process.kill(there.pid, 'SIGKILL')
    await there.exited
    await eventually('the end of the workers', () => left(family).length === 0)
    gate.open()
    cluster.upstream.script = script
    await Promise.all(open)
    there = await there.again()
    for (let wave = 0; wave < 3; wave++) await burst()
    await check(true)
    const counts = tally(statuses)
    t.comment(JSON.stringify({ limits, counts }))
    t.ok((counts[200] ?? 0) > 0 && (counts[402] ?? 0) > 0)
    const refused = statuses.find(({ status }) => status === 402) as { text?: string } | undefined
    const { error } = JSON.parse(refused?.text ?? '{}') as { error: { metadata: { limit: JsonObject } } }
    t.match(error.metadata.limit, { scope: 'budget', name: /^(?:organisation|division|team|other|project)$/ })
    for (const member of [here, there]) t.match(await freshVerdict(member.admin), { ok: true, open: 0, problems: [] })
  })
