/** Many callers on one key's credit at once, over the network: never more than the limit, and never less than fits. */
import { Agent, type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { usdText } from '../../../src/core/money-text.ts'
import { adminFetch, freshVerdict } from '../../support/admin.ts'
import { FakeClock } from '../../support/clock.ts'
import { parseRows, type Row } from '../../support/crash/audit.ts'
import { every } from '../../support/every.ts'
import { type Gateway, KEY, oneModel } from '../../support/gateway.ts'
import { startScene } from '../../support/scene.ts'
import { seed } from '../../support/seed.ts'
import { type Answer, Gate, type Seen, type Upstream } from '../../support/upstream.ts'
import { answerFor, overReporting, says, upstreamError } from '../../support/wire.ts'

const SEED = seed()
/** Nano-dollars per token of `oneModel`. */
const INPUT_NANO = 1000
const OUTPUT_NANO = 2000
const CAP = 200

interface Racing {
  gateway: Gateway
  upstream: Upstream
  agent: Agent
  /** Sets the key's limit, in nano-dollars. */
  limit: (nano: number) => Promise<void>
}

async function racing(t: Test): Promise<Racing> {
  const directory = t.testdir()
  const yaml = (url: string, limit: string): string =>
    `store: { url: "sqlite:${join(directory, 'ledger.db')}" }\nauth: { keys: [ { name: app, key: "${KEY}", limit: "${limit}" } ] }\n${oneModel(url, 'openai-chat')}`
  const { gateway, upstream } = await startScene(t, { answer: says({ text: ['ok'] }), config: (url) => yaml(url, '1000.00'), directory })
  // A connection for each request: none that the gateway closes as idle while the test writes to it.
  const agent = new Agent({ keepAlive: false })
  t.teardown(() => agent.destroy())
  const limit = async (nano: number): Promise<void> => {
    const { kind } = await gateway.reconfigure(yaml(upstream.url, usdText(nano)))
    if (kind !== 'applied') throw new Error(`the limit was not taken: ${kind}`)
  }
  return { gateway, upstream, agent, limit }
}

/** Bodies of one length, streaming or not, so that every hold is the same. */
const requestBody = (stream: boolean): string =>
  `{"model":"acme/one","max_tokens":${CAP},"stream":${stream ? 'true ' : 'false'},"messages":[{"role":"user","content":"Hello"}]}`

interface Reply {
  status: number
  id: string
  text: string
}

async function replyText(reply: IncomingMessage): Promise<string> {
  let text = ''
  reply.setEncoding('utf8')
  for await (const chunk of reply) text += chunk as string
  return text
}

async function ask({ gateway, agent }: Racing, stream: boolean): Promise<Reply> {
  const body = requestBody(stream)
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', 'content-length': body.length }
  const reply = await new Promise<IncomingMessage>((resolve, reject) => {
    const options = { method: 'POST', agent, headers }
    request(`${gateway.url}/v1/chat/completions`, options, resolve).on('error', reject).end(body)
  })
  return { status: reply.statusCode ?? 0, id: String(reply.headers['x-generation-id']), text: await replyText(reply) }
}

async function rows({ gateway }: Racing): Promise<Row[]> {
  return parseRows(await (await adminFetch(`${gateway.admin}/ledger/export`)).text())
}

/** Nano-dollars: spent, and what may still be reserved. */
async function balance({ gateway }: Racing): Promise<{ spent: number; left: number }> {
  const { data } = (await (await gateway.get('/v1/key')).json()) as { data: { usage: number; limit_remaining: number } }
  return { spent: Math.round(data.usage * 1e9), left: Math.round(data.limit_remaining * 1e9) }
}

/** Reply of `GET /v1/generation`. */
async function generation({ gateway }: Racing, id: string): Promise<{ unrecovered_nano: number }> {
  return ((await (await gateway.get(`/v1/generation?id=${id}`)).json()) as { data: { unrecovered_nano: number } }).data
}

/** So many at once, of which only `expected` fit while none has ended. @returns the served ones once the gate is open. */
async function wave(t: Test, place: Racing, count: number, expected: number): Promise<Reply[]> {
  const { upstream } = place
  const before = upstream.requests.length
  const gate = new Gate()
  upstream.script = async (seen) => {
    await gate.opened
    return answerFor(seen, { text: ['ok'], usage: { input: 10, output: 2 } })
  }
  let refused = 0
  const enough = new Gate()
  const replies = Array.from({ length: count }, async (_, i) => {
    const reply = await ask(place, i % 2 === 0)
    if (reply.status === 402 && ++refused === count - expected) enough.open()
    return reply
  })
  // If more were admitted than fit, this waits for replies that the gate holds back: it then opens with all of them.
  const admitted = upstream.request(before + expected).then(() => enough.open())
  await enough.opened
  void admitted
  gate.open()
  const all = await Promise.all(replies)
  t.equal(upstream.requests.length - before, expected, `the provider has seen exactly ${expected} of ${count}`)
  const served = all.filter(({ status }) => status === 200)
  t.equal(served.length, expected)
  const others = all.filter(({ status }) => status !== 200)
  t.same([...new Set(others.map(({ status }) => status))], [402])
  await every(t, 'every case', async (t) => {
    for (const { text } of others) t.match(JSON.parse(text), { error: { code: 402, message: /Insufficient credits/ } })
  })
  return served
}

t.test('credit for exactly ten holds serves ten of a hundred at once', async (t) => {
  const place = await racing(t)
  await ask(place, false)
  const [{ hold_nano: hold, cost_nano: spentBefore }] = await rows(place)
  t.ok(hold > 10 * (10 * INPUT_NANO + 2 * OUTPUT_NANO), 'a hold is more than ten such replies cost')

  const limit = spentBefore + 10 * hold
  await place.limit(limit)
  const served = await wave(t, place, 100, 10)
  let spent = spentBefore + 10 * (10 * INPUT_NANO + 2 * OUTPUT_NANO)
  t.same(await balance(place), { spent, left: limit - spent }, 'what the holds did not use is free again')

  served.push(...(await wave(t, place, 100, 9)))
  spent += 9 * (10 * INPUT_NANO + 2 * OUTPUT_NANO)
  t.same(await balance(place), { spent, left: limit - spent })

  await place.limit(spent + hold - 1)
  t.equal((await ask(place, true)).status, 402, 'one nano-dollar less than a hold')
  await place.limit(spent + hold)
  t.equal((await ask(place, true)).status, 200, 'exactly a hold')
  t.match(await freshVerdict(place.gateway.admin), { ok: true, open: 0 })
  t.equal(new Set((await rows(place)).map(({ id }) => id)).size, served.length + 2, 'a refused request has no row')
})

/** Random usage within what was paid for; some fail, some report nothing. */
function randomAnswer(random: () => number): (seen: Seen) => Answer {
  return (seen) => {
    if (random() < 0.05) return upstreamError(500)
    const usage = { input: Math.floor(random() * 100), output: Math.floor(random() * (CAP + 1)) }
    return answerFor(seen, { text: ['some', ' words'], usage })
  }
}

t.test(`a thousand at once with random usage (seed ${SEED})`, async (t) => {
  const place = await racing(t)
  const clock = new FakeClock(SEED)
  await ask(place, false)
  const [{ hold_nano: hold }] = await rows(place)
  const limit = 150 * hold
  await place.limit(limit)
  place.upstream.script = randomAnswer(() => clock.random())

  const samples: { spent: number; left: number }[] = []
  let done = false
  const watch = (async (): Promise<void> => {
    while (!done) samples.push(await balance(place))
  })()
  const statuses = new Map<number, number>()
  for (let served = 1; served > 0; ) {
    const replies = await Promise.all(Array.from({ length: 1000 }, (_, i) => ask(place, i % 2 === 0)))
    served = replies.filter(({ status }) => status === 200).length
    for (const { status } of replies) statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }
  done = true
  await watch
  t.comment(`statuses ${JSON.stringify([...statuses])}, ${samples.length} samples`)
  t.ok((statuses.get(200) ?? 0) > 150, 'more were served than holds fit at once')
  t.ok((statuses.get(402) ?? 0) > 0)
  t.same(
    samples.filter(({ spent, left }) => spent > limit || left < 0 || spent + left > limit),
    [],
    'never over the limit',
  )
  const { spent, left } = await balance(place)
  t.ok(spent <= limit)
  t.ok(left < hold, 'and in the end less than a hold is left')
  const all = await rows(place)
  t.equal(
    all.reduce((sum, row) => sum + row.cost_nano, 0),
    spent,
  )
  t.equal(spent + left, limit, 'no hold is left over')
  const provided = place.upstream.requests.length
  t.ok(all.length <= provided && provided > 150, 'every row is a call')
  t.match(await freshVerdict(place.gateway.admin), { ok: true, open: 0, charged: spent })
})

t.test('charges as far as the limit reaches where a provider reports more, and records the rest', async (t) => {
  const place = await racing(t)
  await ask(place, false)
  const [{ hold_nano: hold, cost_nano: before }] = await rows(place)
  await place.limit(before + 3 * hold)
  const used = 10 * INPUT_NANO + 100 * CAP * OUTPUT_NANO
  place.upstream.script = overReporting({ input: 10, times: 100 })
  const replies = await Promise.all(Array.from({ length: 20 }, (_, i) => ask(place, i % 2 === 0)))
  const served = replies.filter(({ status }) => status === 200).length
  t.ok(served >= 1 && served <= 3, `${served} were under way`)
  const { spent, left } = await balance(place)
  const all = await rows(place)
  const unrecovered = all.reduce((sum, { unrecovered_nano: nano }) => sum + nano, 0)
  t.equal(spent, before + 3 * hold, 'charged as far as the limit reaches, never beyond')
  t.equal(left, 0)
  t.equal(spent + unrecovered, before + served * used, 'the rest is recorded')
  const shown = await generation(place, all.find(({ unrecovered_nano: nano }) => nano > 0)?.id ?? '')
  t.ok(shown.unrecovered_nano > 0)
  t.match(await freshVerdict(place.gateway.admin), { ok: true, charged: spent })
  t.equal((await ask(place, false)).status, 402)
  const metrics = await (await fetch(`${place.gateway.admin}/metrics`)).text()
  t.match(metrics, new RegExp(`outcome="overrun"[^\\n]* ${served}$`, 'm'), 'and the operator is told')
  t.match(metrics, new RegExp(`^headgate_unrecovered_usd_total ${unrecovered / 1e9}$`, 'm'))
})
