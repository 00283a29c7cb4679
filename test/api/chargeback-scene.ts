/** Scene of a charge-back on both stores: requests of several keys, entries of the ledger, and the sums of the rows of the ledger. */
import type { Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { exportRow } from '../../src/ledger/export.ts'
import { every } from '../support/every.ts'
import type { Scene } from '../support/scene.ts'

export const BOSS = 'sk-router-v1-boss0000000000000000000000'
export const KEYS = { ada: 'sk-router-v1-ada00000000000000000000000', bob: 'sk-router-v1-bob00000000000000000000000' } as const
/** A price of which no two requests' costs are round. */
export const AUTH = `
budgets: { team-a: { lifetime: "1000" } }
auth:
  keys:
    - { name: ada, key: "${KEYS.ada}", parent: team-a }
    - { name: bob, key: "${KEYS.bob}" }
    - { name: boss, key: "${BOSS}", management: true }
`

export interface Statement {
  readonly data: readonly (JsonObject & { readonly kind: string; readonly amount_nano: string; readonly requests: number })[]
  readonly total: {
    readonly amount: string
    readonly amount_nano: string
    readonly usage_nano: string
    readonly entries_nano: string
    readonly requests: number
  }
}

interface AnyScene extends Pick<Scene<never>, 'ask'> {
  readonly gateway: Scene['gateway']
}

export const boss = { authorization: `Bearer ${BOSS}`, 'content-type': 'application/json' }

export async function readStatement({ gateway }: AnyScene, query = ''): Promise<Statement> {
  const reply = await gateway.get(`/v1/chargeback${query}`, boss)
  if (reply.status !== 200) throw new Error(await reply.text())
  return (await reply.json()) as unknown as Statement
}

export async function say({ ask }: AnyScene, key: string, more: JsonObject = {}, headers: Record<string, string> = {}): Promise<string> {
  const response = await ask(more, 'chat', { authorization: `Bearer ${key}`, ...headers })
  await response.text()
  return response.headers.get('x-generation-id') ?? ''
}

export async function enter({ gateway }: AnyScene, body: JsonObject): Promise<void> {
  const reply = await fetch(`${gateway.url}/v1/ledger/entries`, { method: 'POST', headers: boss, body: JSON.stringify(body) })
  if (reply.status !== 201) throw new Error(await reply.text())
}

const GROUPINGS = [
  '',
  'day',
  'parent',
  'member',
  'key',
  'app',
  'session',
  'user',
  'model',
  'provider',
  'day,key,model,provider',
  'parent,model,app,day',
  'day,parent,member,key,app,session,user,model,provider',
]

/** Every grouping has the same sum, which is that of the rows of the ledger. */
export async function compareWithLedger(t: Test, scene: AnyScene, expectedEntries: bigint): Promise<void> {
  let [cost, rows] = [0n, 0]
  const { ledger } = scene.gateway.running.runtime.management
  for await (const record of (ledger as unknown as { export(): AsyncIterable<Parameters<typeof exportRow>[0]> }).export()) {
    const row = exportRow(record)
    if (row.status === 'open') continue
    cost += BigInt(row.cost_nano)
    rows++
  }
  await every(t, 'every grouping sums to the ledger', async (t) => {
    for (const group of GROUPINGS) {
      const { data, total } = await readStatement(scene, group === '' ? '' : `?group_by=${group}`)
      const sum = data.reduce((all, line) => all + BigInt(line.amount_nano), 0n)
      t.equal(sum, cost + expectedEntries, `${group}: all lines`)
      t.equal(BigInt(total.amount_nano), cost + expectedEntries, `${group}: the total`)
      t.equal(BigInt(total.usage_nano), cost, `${group}: requests`)
      t.equal(total.requests, rows, `${group}: their number`)
    }
  })
}

/** Requests of two keys in turn: at no moment has one of them two more than the other. */
export async function watchTurns(t: Test, scene: AnyScene, rounds: number): Promise<void> {
  const count = async (group: string): Promise<number> => {
    const { data } = await readStatement(scene, `?group_by=${group}`)
    const requests = (name: string): number =>
      data.filter((line) => line.kind === 'usage' && line.api_key_name === name).reduce((sum, line) => sum + line.requests, 0)
    return requests('ada') - requests('bob')
  }
  const before = await count('key')
  let isOver = false
  const writing = (async () => {
    for (let round = 0; round < rounds; round++) {
      await say(scene, KEYS.ada)
      await say(scene, KEYS.bob)
    }
    isOver = true
  })()
  let read = 0
  await every(t, 'a statement is of one moment while requests are settled', async (t) => {
    while (!isOver) {
      const ahead = (await count(['key', 'day,key,model', 'key,session'][read++ % 3] ?? 'key')) - before
      t.ok(ahead === 0 || ahead === 1, `${ahead} ahead`)
    }
  })
  await writing
  t.ok(read >= 3, `${read} statements were read meanwhile`)
}
