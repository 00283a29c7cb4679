/** Money of callers with tokens: the limit of a member holds over all of its tokens at once, and a budget over all members. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { FakeClock } from '../../support/clock.ts'
import { eventually } from '../../support/eventually.ts'
import { type Scene, type SceneOptions, startScene } from '../../support/scene.ts'
import { bearer, issuerConfig, startIssuer, type TokenIssuer } from '../../support/token-issuer.ts'
import { Gate } from '../../support/upstream.ts'
import { says } from '../../support/wire.ts'

type Place = Scene & { readonly issuer: TokenIssuer }

async function start(t: Test, settings: Parameters<typeof issuerConfig>[1], options: SceneOptions = {}): Promise<Place> {
  const clock = new FakeClock()
  const issuer = await startIssuer(t, clock)
  return { ...(await startScene(t, { clock, config: issuerConfig(issuer, settings), ...options })), issuer }
}

/** Number of replies by status. */
const tally = (statuses: readonly number[]): Record<string, number> =>
  Object.fromEntries([...new Set(statuses)].sort().map((status) => [status, statuses.filter((each) => each === status).length]))

t.test('the limit of a member is held exactly by requests at once with several of its tokens', async (t) => {
  const gate = new Gate()
  const place = await start(
    t,
    { rules: '[ { when: {}, limit: "5.00", limit_reset: monthly } ]' },
    {
      answer: async (seen, index) => {
        await gate.opened
        return says({ text: ['fine'] })(seen, index)
      },
    },
  )
  const { issuer, ask, upstream, rows } = place
  const tokens = [await issuer.token({ jti: 'one' }), await issuer.token({ jti: 'two' })]
  const other = await issuer.token({ sub: 'bob' })
  const sent = [...Array.from({ length: 20 }, (_, at) => tokens[at % 2] ?? ''), other].map((token) => ask({}, 'chat', bearer(token)))
  await eventually('what the limits pay for is sent', () => upstream.requests.length >= 6)
  gate.open()
  const statuses = (await Promise.all(sent)).map(({ status }) => status)
  t.same(tally(statuses), { 200: 6, 402: 15 })
  t.equal(statuses.at(-1), 200, 'another member has a limit of its own')
  const spent = new Map<string, number>()
  for (const { hold, settled } of rows()) spent.set(hold.key, (spent.get(hold.key) ?? 0) + (settled?.cost ?? 0))
  t.same([...spent.values()].sort(), [1e9, 5e9])
})

t.test('members of one rule spend its budget together, beside their own limits', async (t) => {
  const { issuer, ask } = await start(t, {
    rules: '[ { when: { groups: ml-team }, parent: ml, limit: "2.00" } ]',
    yaml: 'budgets: { ml: { monthly: "3.00" } }',
  })
  const statusFor = async (sub: string): Promise<number> =>
    (await ask({}, 'chat', bearer(await issuer.token({ sub, jti: crypto.randomUUID() })))).status
  t.same([await statusFor('ada'), await statusFor('ada'), await statusFor('ada')], [200, 200, 402], 'its own limit')
  t.same([await statusFor('bob'), await statusFor('bob')], [200, 402], 'the budget')
})

t.test('spending of a member is kept over a restart, and counts under the limit of the rule that maps it now', async (t) => {
  const directory = t.testdir({})
  const clock = new FakeClock()
  const issuer = await startIssuer(t, clock)
  const rules = '[ { when: { groups: lead }, limit: "3.00" }, { when: {}, limit: "1.00" } ]'
  const config = issuerConfig(issuer, { rules, yaml: `store: { url: "sqlite:${directory}/store.db" }` })
  const { gateway, ask } = await startScene(t, { clock, config })
  const statusFor = async (claims: JsonObject = {}): Promise<number> => (await ask({}, 'chat', bearer(await issuer.token(claims)))).status
  t.same([await statusFor(), await statusFor()], [200, 402])
  await gateway.restart()
  t.equal(await statusFor({ jti: 'new' }), 402)
  t.equal(await statusFor({ groups: ['lead'] }), 200, 'one dollar of three was spent')
})
