/** Limits of a key over real HTTP: what passes, what is refused, and what the refusal tells. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { estimateFromBytes } from '../../../src/ledger/settlement.ts'
import { KEY } from '../../support/gateway.ts'
import { CLIENTS, questionFor } from '../../support/providers.ts'
import { type Scene, startScene } from '../../support/scene.ts'
import { Gate, type Script, sseAnswer } from '../../support/upstream.ts'
import { framesFor, says, upstreamError } from '../../support/wire.ts'

/** One key with these limits, on a clock that stands still. */
function limited(t: Test, limits: string, script: Script = says({ text: ['fine'] }), key = '') {
  return startScene(t, {
    answer: script,
    yaml: `auth: { keys: [ { name: test, key: "${KEY}", limits: ${limits}${key} } ] }\n`,
  })
}

const limitHeaders = ({ headers }: Response): (string | null)[] =>
  ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'retry-after'].map((name) => headers.get(name))

/** Status, body and headers of a refusal by a limit. */
async function refused(
  t: Test,
  { clock }: Scene,
  response: Response,
  expected: { text: string; more?: string; limit: number; left: number; wait?: number },
) {
  const body = (await response.json()) as { error: { message: string } }
  t.equal(response.status, 429, expected.text)
  t.equal(body.error.message, `Rate limit exceeded: ${expected.text} for the key test${expected.more ?? ''}`)
  t.match(JSON.stringify(body), /"rate_limit_(exceeded|error)"/)
  const { limit, left, wait } = expected
  const reset = clock.now() + (wait ?? 0) * 1_000
  t.same(
    limitHeaders(response),
    [limit, left, reset, wait === undefined ? null : Math.min(60, wait)].map((value) => (value === null ? null : String(value))),
    'the headers of the limit',
  )
}

async function served(t: Test, response: Response, name: string): Promise<void> {
  await response.text()
  t.equal(response.status, 200, name)
  t.same(limitHeaders(response), [null, null, null, null], 'a success tells nothing of limits')
}

t.test('requests: so many at once, then one at a time as they drain, in every dialect', async (t) => {
  for (const client of CLIENTS) {
    const place = await limited(t, '{ requests: 3 }')
    for (let i = 0; i < 3; i++) await served(t, await place.ask({}, client), `${client} ${i}`)
    const expected = { text: '3 requests per minute', limit: 3, left: 0, wait: 20 }
    await refused(t, place, await place.ask({}, client), expected)
    await place.clock.advance(12_500)
    await refused(t, place, await place.ask({}, client), { ...expected, wait: 8 })
    t.equal(place.upstream.requests.length, 3, 'what is refused calls nobody')
    await place.clock.advance(7_500)
    await served(t, await place.ask({}, client), 'after the wait')
    await refused(t, place, await place.ask({}, client), expected)
  }
})

t.test('requests: what only counts tokens is a request as well', async (t) => {
  const place = await limited(t, '{ requests: 1 }')
  const counted = await place.gateway.post('/v1/messages/count_tokens', questionFor('messages'))
  t.equal(counted.status, 200)
  await refused(t, place, await place.ask(), { text: '1 request per minute', limit: 1, left: 0, wait: 60 })
})

const USED = 18
const says18 = says({ text: ['fine'], usage: { input: 11, output: 7 } })
const estimate = (more: JsonObject = {}): number =>
  estimateFromBytes(Buffer.byteLength(JSON.stringify({ ...questionFor('chat'), ...more })))

t.test('tokens: the estimate has to fit, and what was really used stays taken', async (t) => {
  const limit = 100
  const place = await limited(t, `{ tokens: ${limit} }`, says18)
  let used = 0
  for (; used + estimate() <= limit; used += USED) await served(t, await place.ask(), `with ${used} used`)
  t.ok(used >= 3 * USED, 'several passed')
  const wait = Math.ceil(((used + estimate() - limit) * 60) / limit)
  await refused(t, place, await place.ask(), { text: '100 tokens per minute', limit, left: limit - used, wait })
  await place.clock.advance(wait * 1_000)
  await served(t, await place.ask(), 'after the wait')
})

t.test("tokens: the caller's own output cap is taken beforehand and given back", async (t) => {
  const gate = new Gate()
  const place = await limited(t, '{ tokens: 200 }', async (seen, index) => {
    if (index === 0) await gate.opened
    return says18(seen, index)
  })
  const capped = { max_tokens: 140 }
  const first = place.ask(capped)
  await place.upstream.request(0)
  const left = 200 - 140 - estimate(capped)
  const wait = Math.ceil(((estimate(capped) + 140 - left) * 60) / 200)
  await refused(t, place, await place.ask(capped), { text: '200 tokens per minute', limit: 200, left, wait })
  gate.open()
  await served(t, await first, 'the first')
  await served(t, await place.ask(capped), 'only 18 were used')
})

t.test('tokens: a request that could never fit is told so, and no wait', async (t) => {
  const place = await limited(t, '{ tokens: 100 }', says18)
  const more = { max_tokens: 100 }
  const response = await place.ask(more)
  t.equal(response.headers.get('x-should-retry'), 'false')
  const needed = `, and this request alone needs up to ${estimate(more) + 100} tokens`
  await refused(t, place, response, { text: '100 tokens per minute', more: needed, limit: 100, left: 0 })
  t.equal(place.upstream.requests.length, 0)
  await served(t, await place.ask(), 'it has taken nothing')
})

t.test('tokens: more than was estimated is a debt that those who follow wait off', async (t) => {
  const place = await limited(t, '{ tokens: 100 }', says({ text: ['fine'], usage: { input: 11, output: 289 } }))
  await served(t, await place.ask(), 'the first')
  await refused(t, place, await place.ask(), {
    text: '100 tokens per minute',
    limit: 100,
    left: 0,
    wait: Math.ceil((200 + estimate()) * 0.6),
  })
})

t.test('tokens: what is not charged does not count', async (t) => {
  const place = await limited(t, `{ tokens: ${2 * estimate() - 1} }`, () => upstreamError(500))
  for (let i = 0; i < 4; i++) t.equal((await place.ask()).status, 502, 'a provider that fails')
  for (let i = 0; i < 4; i++) t.equal((await place.ask({ model: 'acme/none' })).status, 404, 'no such model')
  place.upstream.script = says18
  await served(t, await place.ask(), 'all is left')
  const poor = await limited(t, `{ tokens: ${2 * estimate() - 1} }`, says18, ', limit: "0.000001"')
  for (let i = 0; i < 4; i++) t.equal((await poor.ask()).status, 402, 'no credit')
})

t.test('tokens: a request with several turns is not cut off between them', async (t) => {
  const calls = says({ calls: [{ id: 'call_1', name: 'router_datetime', args: ['{}'] }], usage: { input: 40, output: 20 } })
  const script: Script = (seen, index) => (index === 0 ? calls : says18)(seen, index)
  const more = { tools: [{ type: 'router:datetime' }] }
  const small = await limited(t, '{ tokens: 1 }')
  const told = /needs up to (\d+) tokens/.exec(await (await small.ask(more)).text())
  const needed = Number(told?.[1])
  const limit = needed + 10
  const place = await limited(t, `{ tokens: ${limit} }`, script)
  await served(t, await place.ask(more), 'the whole')
  t.equal(place.upstream.requests.length, 2)
  const used = 60 + USED
  const wait = Math.ceil(((used + needed - limit) * 60) / limit)
  await refused(t, place, await place.ask(more), { text: `${limit} tokens per minute`, limit, left: Math.max(0, limit - used), wait })
})

t.test('streams: so many at once; whole replies do not count', async (t) => {
  const gate = new Gate()
  const place = await limited(t, '{ streams: 2 }', (seen, index) => {
    if (seen.json.stream !== true) return says18(seen, index)
    const frames = framesFor(seen.path, { text: ['one ', 'two'] })
    return sseAnswer([...frames.slice(0, -1), gate.step, ...frames.slice(-1)])
  })
  const open = [await place.ask({ stream: true }), await place.ask({ stream: true })]
  await refused(t, place, await place.ask({ stream: true }), { text: '2 concurrent streams', limit: 2, left: 0, wait: 1 })
  await served(t, await place.ask(), 'a whole reply')
  gate.open()
  for (const response of open) await served(t, response, 'a stream')
  await served(t, await place.ask({ stream: true }), 'another one')
})

t.test('bytes in flight: given back to the last one, and a body larger than the limit is told so', async (t) => {
  const gate = new Gate()
  const place = await limited(t, '{ bytes: 1KB }', async (seen, index) => {
    if (index === 0) await gate.opened
    return says18(seen, index)
  })
  const filled = questionFor('chat', 'x'.repeat(600))
  const bytes = Buffer.byteLength(JSON.stringify(filled))
  const first = place.ask(filled)
  await place.upstream.request(0)
  await refused(t, place, await place.ask(filled), { text: '1024 request bytes in flight', limit: 1_024, left: 1_024 - bytes, wait: 1 })
  await served(t, await place.ask(), 'a small one fits beside')
  const huge = questionFor('chat', 'x'.repeat(1_100))
  const text = '1024 request bytes in flight'
  const needed = `, and this request alone needs ${bytes + 500} bytes`
  await refused(t, place, await place.ask(huge), { text, more: needed, limit: 1_024, left: 0 })
  gate.open()
  await served(t, await first, 'the first')
  await served(t, await place.ask(filled), 'given back')
})
