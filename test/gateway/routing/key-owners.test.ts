/**
 * One owner's keys are one voice: what two keys of one user, or of one issuer, fail for moves all of theirs, and no key of anybody else.
 * Over real sockets; the cheap provider fails for what these keys send, and serves everybody else.
 */
import { createHash } from 'node:crypto'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { FakeClock } from '../../support/clock.ts'
import { object } from '../../support/fold.ts'
import { startGateway } from '../../support/gateway.ts'
import { PATHS, questionFor } from '../../support/providers.ts'
import { jsonAnswer, startUpstream } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'

const BOSS = 'sk-router-v1-boss0000000000000000000000'
const PLAIN = 'sk-router-v1-plain000000000000000000000'
/** Of the file, and of one user. */
const LAPTOP = 'sk-router-v1-laptop00000000000000000000'
const SERVER = 'sk-router-v1-server00000000000000000000'

async function scene(t: Test) {
  const clock = new FakeClock()
  const cheap = await startUpstream((seen) =>
    seen.body.includes('a bad conversation')
      ? jsonAnswer({ error: { message: 'Internal server error', type: 'server_error' } }, 500)
      : answerFor(seen, { text: ['cheap'] }),
  )
  const dear = await startUpstream((seen) => answerFor(seen, { text: ['dear'] }))
  const gateway = await startGateway(
    `auth: { keys: [ { name: plain, key: "${PLAIN}" }, { name: boss, key: "${BOSS}", management: true }, { name: laptop, key: "${LAPTOP}", creator_user_id: eve }, { name: server, key: "${SERVER}", creator_user_id: eve } ] }
health_checks: { kind: off }
providers:
  cheap: { dialect: openai-chat, base_url: "${cheap.url}/v1", key: "sk-cheap" }
  dear: { dialect: openai-chat, base_url: "${dear.url}/v1" }
models:
  acme/one: { context: 128000, endpoints: [ { provider: cheap, model: m, price: { prompt: "0.01", completion: "0.01" } }, { provider: dear, model: m, price: { prompt: "5.00", completion: "5.00" } } ] }
`,
    { clock },
  )
  t.teardown(() => Promise.all([gateway.close(), cheap.close(), dear.close()]))
  return {
    make: async (name: string, creator?: string): Promise<string> => {
      const reply = await gateway.post(
        '/v1/keys',
        { name, ...(creator && { creator_user_id: creator }) },
        { authorization: `Bearer ${BOSS}` },
      )
      const { key } = (await reply.json()) as JsonObject
      return String(key)
    },
    /** Names the user of a key, or none. @returns what is shown of it from then on. */
    assign: async (key: string, creator: string | null): Promise<unknown> => {
      const hash = createHash('sha256').update(key).digest('hex')
      const reply = await fetch(`${gateway.url}/v1/keys/${hash}`, {
        method: 'PATCH',
        headers: { authorization: `Bearer ${BOSS}`, 'content-type': 'application/json' },
        body: JSON.stringify({ creator_user_id: creator }),
      })
      return object(((await reply.json()) as JsonObject).data).creator_user_id
    },
    /** Fields that a key reads of itself. */
    user: async (key: string): Promise<unknown> => {
      const reply = await fetch(`${gateway.url}/v1/key`, { headers: { authorization: `Bearer ${key}` } })
      return object(((await reply.json()) as JsonObject).data).creator_user_id
    },
    /** @returns the provider that served. */
    server: async (key: string, content = 'Hello'): Promise<string> => {
      const reply = await gateway.post(PATHS.chat, questionFor('chat', content), { authorization: `Bearer ${key}` })
      const text = await reply.text()
      return reply.status === 200 ? (/"(cheap|dear)"/.exec(text)?.[1] ?? text) : `${reply.status}`
    },
  }
}

t.test('two keys of one user move all keys of that user, and no others', async (t) => {
  const { make, server } = await scene(t)
  const [one, two, other, unowned] = [await make('one', 'ann'), await make('two', 'ann'), await make('other', 'bob'), await make('unowned')]
  t.equal(await server(PLAIN), 'cheap')
  for (let i = 0; i < 7; i++) for (const key of [one, two]) t.equal(await server(key, 'a bad conversation'), 'dear')
  t.equal(await server(await make('three', 'ann')), 'dear', 'one that has sent nothing yet')
  t.same([await server(PLAIN), await server(other), await server(unowned)], ['cheap', 'cheap', 'cheap'])
})

t.test('keys of two users move everybody', async (t) => {
  const { make, server } = await scene(t)
  const [one, two] = [await make('one', 'ann'), await make('two', 'bob')]
  t.equal(await server(PLAIN), 'cheap')
  t.equal(await server(one, 'a bad conversation'), 'dear')
  t.equal(await server(two, 'a bad conversation'), 'dear')
  t.equal(await server(PLAIN), 'dear')
})

t.test('a key that was made for no user is an owner of its own', async (t) => {
  const { make, server } = await scene(t)
  const [one, two] = [await make('one'), await make('two')]
  t.equal(await server(PLAIN), 'cheap')
  t.equal(await server(one, 'a bad conversation'), 'dear')
  t.equal(await server(two, 'a bad conversation'), 'dear')
  t.equal(await server(PLAIN), 'dear')
})

t.test('keys of the configuration and of the store have one user where both name it', async (t) => {
  const { make, server, user } = await scene(t)
  t.same([await user(LAPTOP), await user(PLAIN)], ['eve', null])
  t.equal(await server(PLAIN), 'cheap')
  for (const key of [LAPTOP, SERVER]) t.equal(await server(key, 'a bad conversation'), 'dear')
  t.equal(await server(await make('phone', 'eve')), 'dear', 'one of the store')
  t.equal(await server(PLAIN), 'cheap')
})

t.test('a key that is there gets a user', async (t) => {
  const { make, server, assign } = await scene(t)
  const [one, two] = [await make('one'), await make('two', 'ann')]
  t.equal(await assign(one, 'ann'), 'ann')
  t.equal(await server(PLAIN), 'cheap')
  for (const key of [one, two]) t.equal(await server(key, 'a bad conversation'), 'dear')
  t.equal(await server(PLAIN), 'cheap')
})

t.test('a key that loses its user is an owner of its own', async (t) => {
  const { make, server, assign } = await scene(t)
  const [one, two] = [await make('one', 'ann'), await make('two', 'ann')]
  t.equal(await assign(one, null), null)
  t.equal(await server(PLAIN), 'cheap')
  for (const key of [one, two]) t.equal(await server(key, 'a bad conversation'), 'dear')
  t.equal(await server(PLAIN), 'dear')
})
