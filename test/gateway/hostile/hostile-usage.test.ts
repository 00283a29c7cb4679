/**
 * Random requests of keys with limits, whose provider reports whatever it likes: counts as numbers, texts, fractions, below zero and far
 * beyond what is possible, at tiers that it names by words known and unknown; and an operator who corrects. No key passes its limit, and
 * what the provider bills is in the ledger to the nano-dollar: charged, unrecovered, disputed, or insured.
 */
import t from 'tap'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { adminFetch } from '../../support/admin.ts'
import { every } from '../../support/every.ts'
import { createRandom } from '../../support/matrix/mutate.ts'
import { startScene } from '../../support/scene.ts'
import { property } from '../../support/seed.ts'
import { jsonAnswer, type Seen, sseAnswer } from '../../support/upstream.ts'

/** Nano-dollars per token, by tier. */
const PRICES: Readonly<Record<string, readonly [prompt: number, completion: number]>> = {
  flex: [500, 1_000],
  default: [1_000, 2_000],
  priority: [2_000, 4_000],
  ultrafast: [6_000, 12_000],
}
const DEAREST = 'ultrafast'
const LIMIT = 1_000_000_000
const KEYS = ['one', 'two'] as const
const namedSecret = (name: string): string => `sk-router-v1-${name}-0123456789abcdef0123456789`
const BOSS = { authorization: `Bearer ${namedSecret('boss')}` }
/** Largest cost of a request in the ledger: 2^53 nano-dollars, 9 million dollars. */
const MOST = Number.MAX_SAFE_INTEGER
/** The words of a chat provider, and the tier that each is billed at. */
const WORDS: readonly [word: Json | undefined, tier: string][] = [
  [undefined, 'default'],
  [null, 'default'],
  ['auto', 'default'],
  ['default', 'default'],
  ['flex', 'flex'],
  ['priority', 'priority'],
  ['fast', 'priority'],
  ['ultrafast', 'ultrafast'],
  ['turbo_plus', DEAREST],
  [7, DEAREST],
]

/** Usage that the next reply reports, and whether it fails behind it. */
interface Report {
  usage: JsonObject
  word: Json | undefined
  fails: boolean
}

let report: Report = { usage: {}, word: undefined, fails: false }

function answer(seen: Seen) {
  const { usage, word, fails } = report
  const tier = word === undefined ? {} : { service_tier: word }
  if (!seen.body.includes('"stream":true')) {
    const choice = { index: 0, message: { role: 'assistant', content: 'fine' }, finish_reason: fails ? 'error' : 'stop' }
    return jsonAnswer({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [choice], usage, ...tier })
  }
  const chunk = (choices: Json[], more: JsonObject = {}): string =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices, ...tier, ...more })}\n\n`
  return sseAnswer([
    chunk([{ index: 0, delta: { role: 'assistant', content: 'fine' }, finish_reason: null }]),
    chunk([{ index: 0, delta: {}, finish_reason: fails ? 'error' : 'stop' }], { usage }),
    'data: [DONE]\n\n',
  ])
}

const { gateway } = await startScene(t, {
  answer,
  config: (url) => `
auth:
  keys:
    - { name: boss, key: ${namedSecret('boss')}, management: true }
${KEYS.map((name) => `    - { name: ${name}, key: ${namedSecret(name)}, limit: "1.00" }`).join('\n')}
providers: { chat: { dialect: openai-chat, base_url: "${url}/v1", key: sk-up } }
models:
  m/any:
    context: 200000
    max_output: 4000
    endpoints:
${Object.entries(PRICES)
  .map(([tier, [prompt, completion]]) => {
    const named = tier === 'default' ? '' : `tier: ${tier}, `
    return `      - { provider: chat, model: m, ${named}price: { prompt: "${prompt / 1000}", completion: "${completion / 1000}" } }`
  })
  .join('\n')}
`,
})

interface Shown {
  readonly hash: string
  readonly usage: number
}

async function shown(name: string): Promise<Shown> {
  const { data } = (await (await gateway.get('/v1/keys', BOSS)).json()) as { data: (Shown & JsonObject)[] }
  const found = data.find((key) => key.name === name)
  if (!found) throw new Error(`expected the key ${name}`)
  return found
}

t.test('no key passes its limit, and all that was billed is in the ledger', async (t) => {
  const { numRuns, seed } = property(150, 5_000)
  const random = createRandom(seed)
  const below = (most: number): number => Math.floor(random() * most)
  const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T
  /** As a provider may write a count, and what it bills for it; undefined where it counts nothing. */
  const counted = (usual: number): [written: Json, billed: number | undefined] => {
    const count = below(usual)
    switch (below(8)) {
      case 0:
        return [String(count), count]
      case 1:
        return [count + 0.25, count + 1]
      case 2:
        return [`${count}.0`, count]
      case 3:
        return pick<[Json, number]>([
          [1e12, 1e12],
          ['1e12', 1e12],
          [1e20, 1e20],
          [3e9, 3e9],
        ])
      case 4:
        return pick<[Json, undefined]>([
          [-count - 1, undefined],
          ['many', undefined],
        ])
      default:
        return [count, count]
    }
  }
  let [billed, insured, estimates, refunded, kinds] = [0n, 0n, 0n, 0n, 0]
  const charged = new Map<string, number>()
  await every(t, `${numRuns} moves`, async (t) => {
    for (let move = 0; move < numRuns; move++) {
      const name = pick(KEYS)
      if (below(6) === 0) {
        const { hash, usage } = await shown(name)
        const kind = pick(['refund', 'correction'])
        const most = Math.round(usage * 1e9)
        const nano = kind === 'refund' ? below(most) : -below(most)
        if (nano === 0) continue
        const body = { kind, amount: nano / 1e9, api_key_hash: hash, reason: 'a move', idempotency_key: `move ${move}` }
        for (const status of [201, 200])
          t.equal((await gateway.post('/v1/ledger/entries', body, BOSS)).status, status, 'once, however often')
        refunded += BigInt(Math.abs(nano))
        continue
      }
      const [prompt, sent] = counted(60_000)
      const [completion, made] = counted(4_000)
      const [word, tier] = pick(WORDS)
      const fails = below(8) === 0
      report = { usage: { prompt_tokens: prompt, completion_tokens: completion }, word, fails }
      const body = { model: 'm/any', max_tokens: 1000, stream: below(2) === 0, messages: [{ role: 'user', content: 'Hi' }] }
      const reply = await gateway.post('/v1/chat/completions', body, { authorization: `Bearer ${namedSecret(name)}` })
      await reply.text()
      if (reply.status === 402) {
        kinds++
        continue
      }
      const row = gateway.running.store.journal.find(reply.headers.get('x-generation-id') ?? '')
      if (!row?.settled) throw new Error(`${reply.status}: no row`)
      const facts = JSON.parse(row.settled.facts) as { unrecovered_nano?: number; disputed_nano?: number }
      const [prompts, completions] = PRICES[tier] ?? [0, 0]
      const bill = Math.min((sent ?? 0) * prompts + (made ?? 0) * completions, MOST)
      const kept = row.settled.cost + (facts.unrecovered_nano ?? 0) + (facts.disputed_nano ?? 0)
      charged.set(name, (charged.get(name) ?? 0) + row.settled.cost)
      if (fails) {
        t.equal(kept, 0, 'a failure is free')
        insured += BigInt(bill)
      } else if (sent === undefined || made === undefined) {
        // What it does not count is estimated.
        estimates += BigInt(kept - bill)
        t.ok(kept >= bill, `${JSON.stringify(report)}: ${kept} of ${bill}`)
      } else t.equal(kept, bill, JSON.stringify(report))
      billed += BigInt(bill)
      t.ok((await shown(name)).usage * 1e9 <= LIMIT, `${name} passed its limit`)
    }
  })
  const verdict = (await (await adminFetch(`${gateway.admin}/ledger/verify/full`)).json()) as {
    ok: boolean
    charged: number
    entries: Record<string, number | string>
  }
  t.equal(verdict.ok, true)
  const of = (kind: string): bigint => BigInt(verdict.entries[kind] ?? 0)
  t.equal(BigInt(verdict.charged) + of('unrecovered') + of('disputed') + insured, billed + estimates, 'to the nano-dollar')
  t.equal(of('refund') - of('correction'), refunded)
  t.ok(of('unrecovered') > 0n && of('disputed') > 0n && insured > 0n && kinds > 0, 'all kinds were among them')
})
