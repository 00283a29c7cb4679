/** Calls of a provider that are no generations: counts of tokens and lists of models, with a credential that is fetched. */
import t, { type Test } from 'tap'
import { FakeClock } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { type Gateway, startGateway } from '../support/gateway.ts'
import { type Answer, jsonAnswer, startUpstream, type Upstream } from '../support/upstream.ts'

interface Scene {
  gateway: Gateway
  provider: Upstream
  identity: Upstream
  clock: FakeClock
  /** Tokens that the provider refuses. */
  refused: Set<string>
  /** Tokens or keys of the calls to this path. */
  sent(path: string): string[]
}

const LIST = { object: 'list', data: [{ id: 'served', object: 'model', created: 1, owned_by: 'acme' }] }

function pathAnswer(path: string): Answer {
  if (path.endsWith('/count_tokens')) return jsonAnswer({ input_tokens: 42 })
  return path.endsWith('/models') ? jsonAnswer(LIST) : jsonAnswer({}, 404)
}

async function scene(t: Test, own: (identity: string) => string): Promise<Scene> {
  const clock = new FakeClock()
  const refused = new Set<string>()
  let count = 0
  const identity = await startUpstream(() => jsonAnswer({ access_token: `token-${++count}`, expires_in: 600 }))
  const headerKey = (headers: Upstream['requests'][number]['headers']): string =>
    String(headers['x-api-key'] ?? `${headers.authorization}`.replace('Bearer ', ''))
  const provider = await startUpstream((seen) =>
    refused.has(headerKey(seen.headers))
      ? jsonAnswer({ type: 'error', error: { type: 'authentication_error', code: 'invalid_api_key', message: 'invalid x-api-key' } }, 401)
      : pathAnswer(seen.path),
  )
  const credential = own(identity.url)
  const gateway = await startGateway(
    `
providers:
  counts: { dialect: anthropic, base_url: "${provider.url}", ${credential} }
  lists: { dialect: openai-chat, base_url: "${provider.url}/v1", discover: true, ${credential} }
models:
  acme/one: { endpoints: [ { provider: counts, model: claude, price: free } ] }
`,
    { clock },
  )
  t.teardown(() => Promise.all([gateway.close(), provider.close(), identity.close()]))
  return {
    gateway,
    provider,
    identity,
    clock,
    refused,
    sent: (path) => provider.requests.filter((seen) => seen.path.endsWith(path)).map(({ headers }) => headerKey(headers)),
  }
}

const fetched = (identity: string): string => `credential: { url: { address: "${identity}/token" } }`
const MESSAGES = { model: 'acme/one', messages: [{ role: 'user', content: 'hi' }] }
const count = async ({ gateway }: Scene): Promise<unknown> => await (await gateway.post('/v1/messages/count_tokens', MESSAGES)).json()
const listed = async ({ gateway }: Scene): Promise<string> => await (await gateway.get('/v1/models')).text()

t.test('a count of tokens has the token, and a refused one is replaced before the next', async (t) => {
  const made = await scene(t, fetched)
  t.match(await count(made), { input_tokens: 42 })
  const [first = ''] = made.sent('/count_tokens')
  t.match(first, /^token-\d$/)
  made.refused.add(first)
  const before = made.identity.requests.length
  t.equal((await made.gateway.post('/v1/messages/count_tokens', MESSAGES)).status, 200, 'an estimate')
  await eventually('another token', () => made.identity.requests.length > before)
  await eventually('a count with it', async () => {
    await count(made)
    return made.sent('/count_tokens').at(-1) !== first
  })
  t.match(await count(made), { input_tokens: 42 })
  t.equal(made.identity.requests.length, before + 1)
  t.notMatch(made.gateway.logs.join(''), /token-\d/)
})

t.test('a list of models has the token, and a refused one is replaced for it', async (t) => {
  const made = await scene(t, fetched)
  await eventually('the list', async () => (await listed(made)).includes('lists/served'))
  const [first = ''] = made.sent('/v1/models')
  t.match(first, /^token-\d$/)
  made.refused.add(first)
  const before = made.identity.requests.length
  await made.gateway.running.runtime.discover()
  t.equal(made.identity.requests.length, before + 1)
  const used = made.sent('/v1/models')
  t.strictSame(
    used.slice(-2).map((token) => token === first),
    [true, false],
    'the list is fetched again with the new one',
  )
  t.match(await listed(made), 'lists/served')
})

t.test('a list of models is fetched with another key of a pool where one is refused', async (t) => {
  const made = await scene(t, () => 'keys: [ { name: a, key: sk-one }, { name: b, key: sk-two } ]')
  await eventually('the list', async () => (await listed(made)).includes('lists/served'))
  made.refused.add('sk-one')
  const lasts: unknown[] = []
  for (let round = 0; round < 12; round++) {
    await made.gateway.running.runtime.discover()
    lasts.push(made.sent('/v1/models').at(-1))
  }
  t.strictSame(new Set(lasts), new Set(['sk-two']), 'each list comes')
  t.match(await listed(made), 'lists/served')
  // It may do without the right to list models.
  t.notMatch(made.gateway.logs.join(''), 'left out for ten minutes')
})
