/** Entries of the ledger where workers ask their owner over the channel: whichever of them is asked, a refund counts once and at all. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { freshVerdict } from '../../support/admin.ts'
import { SECRET } from '../../support/crash/configuration.ts'
import { eventually } from '../../support/eventually.ts'
import { startUpstream } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'
import { askOnce, configured, inTurn, QUESTION, ready, serveWorkers } from '../../support/workers.ts'

const BOSS = 'sk-router-v1-boss0000000000000000'
const MANY = 12
/** Nano-dollars of each request. */
const COST = 100_000 * 1000 + 1000 * 2000

t.test(
  'a refund that any worker takes is seen by all, repeated at another it is the same, and none passes what was spent',
  {
    timeout: 120_000,
  },
  async (t) => {
    const upstream = await startUpstream((seen) => answerFor(seen, { text: ['fine'], usage: { input: 100_000, output: 1000 } }))
    t.teardown(() => upstream.close())
    const keys = `- { name: app, key: "${SECRET}", limit: "1000.00" }\n    - { name: boss, key: "${BOSS}", management: true }`
    const { file } = await configured(t, upstream.url, { keys })
    const workerPool = await serveWorkers(t, file, 2)
    await ready(workerPool.admin)
    const asked = await inTurn(MANY, () => askOnce(workerPool.url, { key: SECRET, body: QUESTION }))
    t.same(
      asked.map(({ status }) => status),
      Array(MANY).fill(200),
    )
    const app = async (): Promise<JsonObject> => {
      const { text } = await askOnce(workerPool.url, { key: BOSS, path: '/v1/keys' })
      const found = (JSON.parse(text) as { data: JsonObject[] }).data.find(({ name }) => name === 'app')
      if (!found) throw new Error(`expected the key in ${text}`)
      return found
    }
    const usdNano = (usd: unknown): number => Math.round(Number(usd) * 1e9)
    /** Spending of the key, once every worker shows the same. */
    const settled = (nano: number): Promise<unknown> =>
      eventually(`${nano} at every worker`, async () => (await inTurn(4, app)).every(({ usage }) => usdNano(usage) === nano) || undefined)
    const all = MANY * COST
    await settled(all)
    const { hash } = await app()

    const add = (body: JsonObject) =>
      askOnce(workerPool.url, { key: BOSS, path: '/v1/ledger/entries', body: { api_key_hash: hash, ...body } })
    const nano = Math.floor(all / 4)
    const refund = { kind: 'refund', amount: nano / 1e9, reason: 'cut off', idempotency_key: 'ticket-1' }
    const answers = await inTurn(6, () => add(refund))
    t.same(
      answers.map(({ status }) => status),
      [201, 200, 200, 200, 200, 200],
    )
    await settled(all - nano)
    const most = { kind: 'refund', amount: (all - nano + 1) / 1e9, reason: 'too much' }
    t.same(
      (await inTurn(2, () => add(most))).map(({ status }) => status),
      [409, 409],
    )
    // The next request hands in its row after the refund: the sums have both.
    const { status } = await askOnce(workerPool.url, { key: SECRET, body: QUESTION })
    t.equal(status, 200)
    await settled(all - nano + COST)
    t.match(await freshVerdict(workerPool.admin), { ok: true, problems: [], entries: { refund: nano } })
  },
)
