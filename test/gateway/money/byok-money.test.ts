/** Money of requests that keys of teams pay for: the fee, what counts towards limits, holds, and what sums show. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { byokScene, encryptionKey, OPERATOR, refuses, TEAM } from '../../support/byok-scene.ts'
import { every } from '../../support/every.ts'
import { answerFor } from '../../support/wire.ts'

const usage = (body: JsonObject): JsonObject => body.usage as JsonObject
const settings = (more: string): string => `{ encryption_keys: [ "${encryptionKey()}" ], ${more} }`

t.test('the fee is a share of what the request would have cost, and is what a limit counts', async (t) => {
  const scene = await byokScene(t, { byok: settings('fee: 0.05'), key: { limit: 1 } })
  await scene.add(TEAM)
  t.match(usage((await scene.ask()).body), { is_byok: true, cost: 0.00000075, cost_details: { upstream_inference_cost: 0.000015 } })
  const [row] = scene.scene.rows()
  t.equal(row?.settled?.cost, 750, 'nano-dollars')
  const key = (await (await fetch(`${scene.url}/v1/key`, { headers: { authorization: `Bearer ${scene.key}` } })).json()) as JsonObject
  t.match(key.data, { usage: 0.00000075, byok_usage: 0.000015, limit_remaining: 0.99999925 })
})

t.test('with include_byok_in_limit the bill of the provider counts, and is not shown as charged', async (t) => {
  for (const fee of [0, 0.1]) {
    const scene = await byokScene(t, { byok: settings(`fee: ${fee}`), key: { limit: 0.1, include_byok_in_limit: true } })
    await scene.add(TEAM)
    const cost = fee * 0.000015
    t.match(usage((await scene.ask()).body), { is_byok: true, cost, cost_details: { upstream_inference_cost: 0.000015 } })
    const [row] = scene.scene.rows()
    t.equal(row?.settled?.cost, 15_000 * (1 + fee))
    const key = (await (await fetch(`${scene.url}/v1/key`, { headers: { authorization: `Bearer ${scene.key}` } })).json()) as {
      data: JsonObject
    }
    t.match(key.data, { usage: cost, byok_usage: 0.000015 })
    t.equal(key.data.limit_remaining, Math.round(1e9 * (0.1 - 0.000015 * (1 + fee))) / 1e9)
    const generation = await fetch(`${scene.url}/v1/generation?id=${row?.id}`, { headers: { authorization: `Bearer ${scene.key}` } })
    t.match(await generation.json(), { data: { is_byok: true, usage: cost, total_cost: cost, upstream_inference_cost: 0.000015 } })
    await scene.scene.clock.advance(86_400_000)
    const { body } = await scene.manage('GET', '/v1/activity')
    t.match(body.data, [{ usage: cost, byok_usage_inference: 0.000015, requests: 1, byok_requests: 1 }])
  }
})

t.test('a limit that counts the bill of the provider is never passed, whatever runs at once', async (t) => {
  const scene = await byokScene(t, { byok: settings('operator_fallback: false'), key: { limit: 0.0014, include_byok_in_limit: true } })
  await scene.add(TEAM)
  scene.answers.set(TEAM, (request) => answerFor(request, { text: ['fine'], usage: { input: 10, output: 50 } }))
  const replies = await Promise.all(Array.from({ length: 30 }, () => scene.ask()))
  const statuses = new Set(replies.map(({ status }) => status))
  t.same([...statuses].sort(), [200, 402])
  const sum = scene.scene.rows().reduce((total, { settled }) => total + (settled?.cost ?? 0), 0)
  t.ok(sum <= 1_400_000, `${sum} nano-dollars`)
})

t.test('the hold is that of the dearest candidate, and without credit for it the key of the team still serves', async (t) => {
  const scene = await byokScene(t, { key: { limit: 1 } })
  await scene.add(TEAM)
  await scene.ask()
  const [row] = scene.scene.rows()
  t.ok((row?.hold.hold ?? 0) >= 50_000, "the operator's account may follow")
  const poor = (await scene.manage('POST', '/v1/keys', { name: 'poor', limit: 0 })).body as { key: string }
  scene.arrived.length = 0
  const reply = await scene.ask({}, undefined, poor.key)
  t.match(usage(reply.body), { is_byok: true, cost: 0 })
  scene.answers.set(TEAM, refuses(401, 'no'))
  t.ok((await scene.ask({}, undefined, poor.key)).status >= 400)
  t.same(scene.arrived, [TEAM, TEAM], 'and the operator is never used for it')
})

t.test('random moves: what limits count is the fee, or the fee and the bill', async (t) => {
  const scene = await byokScene(t, { byok: settings('fee: 0.0333') })
  const ids: string[] = []
  let seed = 7
  const draw = (most: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
    return (seed >>> 16) % most
  }
  scene.answers.set(TEAM, (request) => {
    const kind = draw(5)
    if (kind === 0) return refuses(429, 'Rate limit reached')()
    if (kind === 1) return refuses(500, 'broken')()
    return answerFor(request, { text: ['fine'], usage: { input: draw(90) + 1, output: draw(40) + 1 } })
  })
  const keys = await Promise.all(
    [false, true].map(async (include) => {
      const { key, data } = (await scene.manage('POST', '/v1/keys', { name: `k${include}`, limit: 1, include_byok_in_limit: include }))
        .body as {
        key: string
        data: JsonObject
      }
      return { key, include, hash: String(data.hash) }
    }),
  )
  for (let round = 0; round < 60; round++) {
    const move = draw(6)
    if (move === 0) ids.push(await scene.add(TEAM, { is_fallback: draw(2) === 0 }))
    else if (move === 1 && ids.length > 0) await scene.manage('DELETE', `/v1/byok/${ids.pop()}`)
    else await Promise.all(keys.map(({ key }) => scene.ask({ stream: draw(2) === 0 }, undefined, key)))
    await scene.scene.clock.advance(draw(20_000))
  }
  const rows = scene.scene.rows()
  t.ok(rows.some(({ settled }) => settled?.facts.includes('"is_byok":true')))
  await every(t, 'each row', async (t) => {
    for (const { hold, settled } of rows) {
      const facts = JSON.parse(settled?.facts ?? '{}') as JsonObject
      const tokens = ((settled?.input ?? 0) + (settled?.output ?? 0)) * 1_000
      const cost = settled?.cost ?? 0
      if (facts.is_byok !== true) {
        t.equal(cost, settled?.status === 'failed' ? 0 : tokens)
        continue
      }
      const include = keys.find(({ hash }) => hash === hold.key)?.include
      t.equal(facts.byok_nano, tokens)
      t.equal(facts.byok_counted_nano ?? 0, include ? tokens : 0)
      t.ok(Math.abs(cost - tokens * 0.0333 - (include ? tokens : 0)) <= 1, `${cost} of ${tokens}`)
    }
  })
  for (const { key, hash } of keys) {
    const own = (await (await fetch(`${scene.url}/v1/key`, { headers: { authorization: `Bearer ${key}` } })).json()) as { data: JsonObject }
    const mine = rows.filter(({ hold }) => hold.key === hash)
    const sum = (read: (facts: JsonObject) => unknown): number =>
      mine.reduce((total, { settled }) => total + Number(read(JSON.parse(settled?.facts ?? '{}') as JsonObject) ?? 0), 0)
    const cost = mine.reduce((total, { settled }) => total + (settled?.cost ?? 0), 0)
    t.equal(own.data.byok_usage, sum(({ byok_nano: bill }) => bill) / 1e9)
    t.equal(own.data.usage, (cost - sum(({ byok_counted_nano: counted }) => counted)) / 1e9)
    t.equal(Math.round(Number(own.data.limit_remaining) * 1e9), 1e9 - cost)
  }
  t.ok(scene.arrived.includes(OPERATOR) && scene.arrived.includes(TEAM))
})
