/** Callers with tokens in workspaces: they are the members that the store has of their names, with those members' limits and state. */
import t, { type Test } from 'tap'
import { type Level, ORGANIZATION } from '../../../src/core/levels.ts'
import { WORKSPACE } from '../../../src/core/workspace.ts'
import { workspaceLevel } from '../../store/level-samples.ts'
import { FakeClock } from '../../support/clock.ts'
import { eventually } from '../../support/eventually.ts'
import { type Scene, startScene } from '../../support/scene.ts'
import { bearer, issuerConfig, startIssuer } from '../../support/token-issuer.ts'

interface Place extends Scene {
  /** Writes levels; those that are there are replaced. */
  put(...levels: Level[]): Promise<void>
  statusFor(sub: string): Promise<number>
  refusalFor(sub: string): Promise<string>
}

async function start(t: Test, rules: string): Promise<Place> {
  const clock = new FakeClock()
  const issuer = await startIssuer(t, clock)
  const scene = await startScene(t, { clock, config: issuerConfig(issuer, { rules }) })
  const { levels } = scene.gateway.running.store
  const put: Place['put'] = async (...given) => {
    for (const level of given) t.equal(await levels.put(level, level.version - 1), 'written')
  }
  const call = async (sub: string): Promise<Response> => scene.ask({}, 'chat', bearer(await issuer.token({ sub })))
  const statusFor = async (sub: string): Promise<number> => (await call(sub)).status
  const refusalFor = async (sub: string): Promise<string> => {
    const { error } = (await (await call(sub)).json()) as { error?: { message: string } }
    return error?.message ?? ''
  }
  return { ...scene, put, statusFor, refusalFor }
}

const limit = (window: 'daily' | 'monthly', dollars: number) => ({
  limits: { [window]: { id: window, limit: dollars * 1e9, createdAt: 1, updatedAt: 1 } },
})
const member = (id: string, parent: string, userId: string, more: Partial<Level['fields']> = {}, version = 1): Level =>
  workspaceLevel(id, { kind: 'member', parent, version, fields: { userId, ...more } })

t.test('a rule names a workspace, and the member of this name is limited and disabled by its record', async (t) => {
  const place = await start(t, '[ { when: {}, workspace: ml } ]')
  t.equal(await place.refusalFor('ada'), 'The workspace ml of this caller does not exist')
  await place.put(workspaceLevel('w', { fields: { slug: 'ml', ...limit('monthly', 4) } }))
  await place.put(member('m', 'w', 'Ada', limit('daily', 1)))
  t.same([await place.statusFor('ada'), await place.statusFor('ada')], [200, 402], 'its own limit')
  t.match(await place.refusalFor('ada'), /daily limit of the member Ada/)
  t.same(
    [await place.statusFor('bob'), await place.statusFor('bob'), await place.statusFor('bob'), await place.statusFor('bob')],
    [200, 200, 200, 402],
  )
  t.match(await place.refusalFor('bob'), /monthly limit of the workspace ml/)
  t.same(place.rows().map(({ hold }) => hold.payer)[0], 'member:m>workspace:w')
  await place.put(member('m', 'w', 'Ada', { disabled: true }, 2))
  t.equal(await place.refusalFor('ada'), 'The member Ada is disabled')
  t.equal(await place.statusFor('bob'), 402, 'others are not')
})

t.test('a person who is disabled in the organisation is refused in all of its workspaces', async (t) => {
  const place = await start(t, '[ { when: {}, workspace: ml } ]')
  await place.put(workspaceLevel('w', { fields: { slug: 'ml' } }), member('m', 'w', 'ada'))
  t.equal(await place.statusFor('ada'), 200)
  await place.put(member('p', ORGANIZATION, 'ADA', limit('daily', 2)))
  t.same([await place.statusFor('ada'), await place.statusFor('ada'), await place.statusFor('ada')], [200, 200, 402])
  t.equal(place.rows().at(-1)?.hold.payer, 'member:m>workspace:w>member:p')
  await place.put(member('p', ORGANIZATION, 'ADA', { disabled: true }, 2))
  t.equal(await place.refusalFor('ada'), 'The member ADA is disabled')
})

t.test('without a workspace in its rule a caller is in the default one, where it may be a member', async (t) => {
  const place = await start(t, '[ { when: {} } ]')
  t.equal(await place.statusFor('ada'), 200)
  await place.put(member('m', WORKSPACE, 'ada', { disabled: true }))
  t.equal(await place.statusFor('ada'), 403)
  t.equal(await place.statusFor('bob'), 200)
})

t.test('a person is the member of its name, however that is written, and of no other', async (t) => {
  const place = await start(t, '[ { when: {}, workspace: ml } ]')
  await place.put(workspaceLevel('w', { fields: { slug: 'ml' } }), member('m', 'w', 'jos\u00e9@Example.com', { disabled: true }))
  for (const sub of ['jose\u0301@example.com', 'JOS\u00c9@EXAMPLE.COM', 'jos\u00e9@example\u200b.com', ' jos\u00e9@example.com'])
    t.equal(await place.statusFor(sub), 403, JSON.stringify(sub))
  t.equal(await place.statusFor('jose@example.com'), 200)
  await place.put(workspaceLevel('v', { fields: { slug: 'web' } }), member('n', 'v', 'bob'), member('o', 'w', 'n', { disabled: true }))
  t.equal(await place.refusalFor('n'), 'The member n is disabled', 'a claim is no id of a member')
})

t.test('a guardrail of a person holds without a record of the person', async (t) => {
  const place = await start(t, '[ { when: {} } ]')
  const { guardrails, levels } = place.gateway.running.store
  await place.put(member('m', WORKSPACE, 'Ada'))
  await guardrails.put({ id: 'g', version: 1, name: 'g', fields: { allowed_models: ['other/*'] }, createdAt: 1, updatedAt: null }, 0)
  await guardrails.assign([{ kind: 'member', subject: 'ada', guardrail: 'g', id: 'a', by: null, createdAt: 1 }])
  await eventually('it is in force', async () => (await place.statusFor('ada')) !== 200)
  const refused = await place.statusFor('ada')
  t.equal(await place.statusFor('bob'), 200)
  t.equal(await levels.remove('m', 2), 'removed')
  t.equal(await place.statusFor('ada'), refused)
})
