/** `GET /v1/chargeback` over the embedded store: every sum is that of the ledger, also while requests are settled. */
import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { startScene } from '../support/scene.ts'
import { answerFor, upstreamError } from '../support/wire.ts'
import { AUTH, boss, compareWithLedger, enter, KEYS, readStatement, say, watchTurns } from './chargeback-scene.ts'

const DAY = 86_400_000
const usage = (count: number) => ({ input: 1000 + 7 * count, output: 13 + count })

t.test('a charge-back', { timeout: 200_000 }, async (t) => {
  let count = 0
  const scene = await startScene(t, {
    yaml: AUTH,
    provider: 'name: First',
    answer: (seen) => (seen.body.includes('fault') ? upstreamError(400, 'no') : answerFor(seen, { text: ['fine'], usage: usage(count++) })),
  })
  const { gateway, clock } = scene
  const made = await fetch(`${gateway.url}/v1/keys`, {
    method: 'POST',
    headers: boss,
    body: JSON.stringify({ name: 'carol', creator_user_id: 'team-c' }),
  })
  const { key: carol, data } = (await made.json()) as { key: string; data: { hash: string } }
  const ids: string[] = []
  for (let round = 0; round < 3; round++) {
    ids.push(await say(scene, KEYS.ada, { session_id: `s${round}` }, { 'x-title': 'Reports' }))
    await say(scene, KEYS.bob, { user: 'someone' })
    await say(scene, carol)
    await say(scene, KEYS.bob, { messages: [{ role: 'user', content: 'fault' }] })
    await clock.advance(DAY)
  }
  await enter(scene, { kind: 'refund', amount: 0.000000123, generation_id: ids[0] ?? '', reason: 'The answer was cut off' })
  await enter(scene, { kind: 'correction', amount: 0.25, api_key_hash: data.hash, reason: 'Ticket 4711' })
  const moved = 250_000_000n - 123n

  t.test('has the sum of the ledger by whatever it is divided', (t) => compareWithLedger(t, scene, moved))

  t.test('divides requests and entries by budget, member, key, application, session and user', async (t) => {
    const lines = async (group: string): Promise<readonly JsonObject[]> => (await readStatement(scene, `?group_by=${group}`)).data
    t.match(await lines('parent'), [
      { kind: 'usage', parent: null },
      { kind: 'correction', parent: null, amount: '0.25', reason: 'Ticket 4711', actor: 'boss' },
      { kind: 'usage', parent: 'team-a', requests: 3 },
      { kind: 'refund', parent: 'team-a', amount: '-0.000000123', generation_id: ids[0], reason: 'The answer was cut off' },
    ])
    t.match(
      (await lines('member')).filter(({ creator_user_id: user }) => user === 'team-c'),
      [{ kind: 'usage', requests: 3 }, { kind: 'correction' }],
    )
    t.match(
      (await lines('app')).filter(({ app_title: app }) => app !== null),
      [{ app_title: 'Reports', requests: 3 }],
    )
    t.same(
      (await lines('session')).flatMap(({ session_id: session }) => session ?? []),
      ['s0', 's1', 's2'],
    )
    t.match(
      (await lines('user')).filter(({ external_user: user }) => user !== null),
      [{ external_user: 'someone', requests: 3 }],
    )
    t.match(
      (await lines('key')).filter(({ api_key_name: name }) => name === 'bob'),
      [{ requests: 6, failed_requests: 3 }],
    )
    t.equal((await lines('day')).filter(({ kind }) => kind === 'usage').length, 3)
  })

  t.test('is for a period of whole days, this month without one', async (t) => {
    const today = new Date(clock.now() - 2 * DAY).toISOString().slice(0, 10)
    const { total } = await readStatement(scene, `?since=${today}&until=${today}`)
    t.equal(total.requests, 4)
    for (const [query, field] of [
      ['?since=2026-02-30', 'since'],
      ['?since=2027-01-02&until=2027-01-01', 'since'],
      ['?since=2020-01-01&until=2027-01-01', 'since'],
      ['?group_by=team', 'group_by'],
    ] as const) {
      const reply = await gateway.get(`/v1/chargeback${query}`, boss)
      t.equal(reply.status, 400, query)
      t.match(await reply.json(), { error: { metadata: { field } } }, query)
    }
    t.equal((await gateway.get('/v1/chargeback', { authorization: `Bearer ${KEYS.ada}` })).status, 403)
  })

  t.test('comes as CSV whose amounts are numbers', async (t) => {
    const text = await (await gateway.get('/v1/chargeback?group_by=key&format=csv', boss)).text()
    const [head = '', ...rows] = text.trimEnd().split('\r\n')
    const at = head.split(',').indexOf('amount_nano')
    const sum = rows.reduce((all, row) => all + BigInt(row.split(',')[at] ?? ''), 0n)
    t.equal(sum, BigInt((await readStatement(scene)).total.amount_nano))
    t.ok(text.includes(',-0.000000123,-123,'), 'a refund is a number below zero')
  })

  t.test('is of one moment', (t) => watchTurns(t, scene, 60))

  t.test('has the sum of the ledger afterwards', (t) => compareWithLedger(t, scene, moved))
})
