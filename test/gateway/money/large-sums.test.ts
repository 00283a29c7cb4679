/** Amounts stay exact to 10^12 dollars and beyond: nothing saturates, and a key is served on. */
import { join } from 'node:path'
import t from 'tap'
import { openJournal } from '../../../src/store/journal.ts'
import { holdRow, settleRow } from '../../store/samples.ts'
import { adminFetch } from '../../support/admin.ts'
import { FakeClock } from '../../support/clock.ts'
import { KEY } from '../../support/gateway.ts'
import { startScene } from '../../support/scene.ts'
import { says } from '../../support/wire.ts'

const MANAGEMENT = 'sk-router-v1-management0000000000000'
/** The most nano-dollars of one generation, and as many generations as make more than 10^12 dollars. */
const MOST = Number.MAX_SAFE_INTEGER
const COUNT = 111_100
const BODY = { model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }] }

const BILLION = 1_000_000_000n

/** As JSON shows them. */
const dollars = (nano: bigint): number => Number(`${nano / BILLION}.${String(nano % BILLION).padStart(9, '0')}`)

t.test('a key that has spent 10^12 dollars is served on, and its spending is exact', async (t) => {
  const file = join(t.testdir(), 'ledger.db')
  const journal = openJournal(file, { durability: 'process', clock: new FakeClock() })
  for (let seq = 1; seq <= COUNT; seq++) {
    journal.hold(holdRow(seq, { key: 'test' }))
    journal.settle(settleRow(seq, MOST))
  }
  await journal.committed()
  journal.close()
  const { gateway } = await startScene(t, {
    answer: says({ text: ['Hello'], usage: { input: 1, output: 1, cached: 0, reasoning: 0 } }),
    config: (url) => `
store: { url: "sqlite:${file}" }
auth:
  keys:
    - { name: test, key: "${KEY}" }
    - { name: boss, key: "${MANAGEMENT}", management: true }
providers: { up: { dialect: openai-chat, base_url: "${url}/v1", key: sk-up } }
models:
  acme/one: { endpoints: [ { provider: up, model: m, price: { prompt: "1000000.00", completion: "2000000.00" } } ] }
`,
  })
  const data = async (path: string, key: string) => {
    const reply = await gateway.get(path, { authorization: `Bearer ${key}` })
    return ((await reply.json()) as { data: { usage?: number; total_usage?: number } }).data
  }
  const before = BigInt(MOST) * BigInt(COUNT)
  t.ok(before > 10n ** 21n)
  t.equal((await data('/v1/key', KEY)).usage, dollars(before))
  const reply = await gateway.post('/v1/chat/completions', BODY)
  t.equal(reply.status, 200)
  await reply.text()
  // 1 token at a dollar, 1 at two.
  const after = dollars(before + 3_000_000_000n)
  t.not(after, dollars(before))
  t.equal((await data('/v1/key', KEY)).usage, after)
  t.equal((await data('/v1/credits', MANAGEMENT)).total_usage, after)
  t.match(await (await adminFetch(`${gateway.admin}/ledger/verify`)).json(), { ok: true })
})
