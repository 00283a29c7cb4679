/** Several keys of one provider, from outside: how calls are spread, and what becomes of a key that is refused or limited. */
import t, { type Test } from 'tap'
import { loadConfig } from '../../src/config/load.ts'
import { FakeClock } from '../support/clock.ts'
import { BASE, type Gateway, startGateway } from '../support/gateway.ts'
import { type Answer, JSON_TYPE, startUpstream } from '../support/upstream.ts'

const CHAT = { model: 'acme/one', messages: [{ role: 'user', content: 'hi' }] }
const ANSWER: Answer = {
  headers: JSON_TYPE,
  body: [
    JSON.stringify({
      id: 'c1',
      object: 'chat.completion',
      created: 1,
      model: 'upstream-model',
      choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    }),
  ],
}

interface Scene {
  gateway: Gateway
  clock: FakeClock
  /** Answers by key; 200 where absent. */
  answers: Map<string, Answer>
  /** Keys that the provider has seen, and forgets. */
  taken(): string[]
  ask(more?: object): Promise<Response>
}

const error = (status: number, message: string, headers: Record<string, string> = {}): Answer => ({
  status,
  headers: { ...JSON_TYPE, ...headers },
  body: [JSON.stringify({ error: { message, code: 'refused' } })],
})

async function scene(t: Test, keys: string): Promise<Scene> {
  const clock = new FakeClock()
  const answers = new Map<string, Answer>()
  const seen: string[] = []
  const provider = await startUpstream(({ headers }) => {
    const key = `${headers.authorization}`.replace('Bearer ', '')
    seen.push(key)
    return answers.get(key) ?? ANSWER
  })
  const gateway = await startGateway(
    `
providers: { first: { dialect: openai-chat, base_url: "${provider.url}/v1", keys: [${keys}] } }
models: { acme/one: { endpoints: [ { provider: first, model: upstream-model, price: free } ] } }
`,
    { clock },
  )
  t.teardown(async () => {
    await gateway.close()
    await provider.close()
  })
  return {
    gateway,
    clock,
    answers,
    taken: () => seen.splice(0),
    ask: (more = {}) => gateway.post('/v1/chat/completions', { ...CHAT, ...more }),
  }
}

const TWO = '{ key: sk-one }, { name: spare, key: sk-two }'

t.test('calls are spread by weight', async (t) => {
  const { ask, taken } = await scene(t, '{ key: sk-one, weight: 3 }, { key: sk-two }')
  for (let call = 0; call < 200; call++) await (await ask()).text()
  const keys = taken()
  const ones = keys.filter((key) => key === 'sk-one').length
  t.ok(ones > 125 && ones < 175, `${ones} of 200 by the key with three quarters of the weight`)
})

t.test('a conversation keeps its key, and conversations are spread', async (t) => {
  const { ask, taken } = await scene(t, TWO)
  const used = new Set<string>()
  for (let name = 0; name < 10; name++) {
    for (let turn = 0; turn < 3; turn++) await (await ask({ session_id: `session-${name}` })).text()
    const keys = new Set(taken())
    used.add([...keys].join(' and '))
  }
  t.same([...used].sort(), ['sk-one', 'sk-two'])
})

t.test('a key that is refused is left out with an alert, and the caller does not see it', async (t) => {
  const { gateway, ask, taken, answers, clock } = await scene(t, TWO)
  answers.set('sk-one', error(401, 'Incorrect API key provided: sk-one'))
  const statuses = new Set<number>()
  for (let call = 0; call < 20; call++) statuses.add((await ask()).status)
  const early = taken()
  t.same([...statuses], [200])
  t.equal(early.filter((key) => key === 'sk-one').length, 1)
  const alerts = gateway.logs.filter((line) => line.includes('left out for ten minutes'))
  t.match(alerts, [/"level":50.*"provider":"first","key":"1"/])
  t.notMatch(gateway.logs.join('\n'), 'sk-one')
  const metrics = await (await fetch(`${gateway.admin}/metrics`)).text()
  t.match(metrics, 'headgate_provider_key_refusals_total{provider="first",key="1"} 1')
  await clock.advance(10 * 60_000)
  answers.clear()
  for (let call = 0; call < 20; call++) await (await ask()).text()
  t.ok(taken().includes('sk-one'), 'it is used again ten minutes later')
})

t.test('where every key is refused the request fails as one with a refused credential', async (t) => {
  const { ask, taken, answers } = await scene(t, TWO)
  for (const key of ['sk-one', 'sk-two']) answers.set(key, error(401, `Incorrect API key provided: ${key}`))
  const reply = await ask()
  const text = await reply.text()
  t.equal(reply.status, 502)
  t.match(text, /"credential":"refused"/)
  t.notMatch(text, 'sk-')
  t.same(taken().sort(), ['sk-one', 'sk-two'])
})

t.test('a key that is limited rests for as long as the provider says, while the other serves', async (t) => {
  const { ask, taken, answers, clock } = await scene(t, TWO)
  answers.set('sk-two', error(429, 'Rate limit reached', { 'retry-after': '7' }))
  const statuses = new Set<number>()
  for (let call = 0; call < 20; call++) statuses.add((await ask()).status)
  t.same([...statuses], [200])
  t.equal(taken().filter((key) => key === 'sk-two').length, 1)
  await clock.advance(7_000)
  answers.clear()
  for (let call = 0; call < 20; call++) await (await ask()).text()
  t.ok(taken().includes('sk-two'), 'then it serves again')
})

t.test('where every key is limited the caller gets the 429 with its Retry-After', async (t) => {
  const { ask, taken, answers } = await scene(t, TWO)
  for (const key of ['sk-one', 'sk-two']) answers.set(key, error(429, 'Rate limit reached', { 'retry-after': '7' }))
  const reply = await ask()
  t.equal(reply.status, 429)
  t.equal(reply.headers.get('retry-after'), '7')
  t.same(taken().sort(), ['sk-one', 'sk-two'])
})

t.test('a key is not given more than its requests per minute while another has room', async (t) => {
  const { ask, taken, clock } = await scene(t, '{ key: sk-one, weight: 1000, requests_per_minute: 3 }, { key: sk-two }')
  for (let call = 0; call < 8; call++) await (await ask()).text()
  const first = taken()
  await clock.advance(60_000)
  for (let call = 0; call < 8; call++) await (await ask()).text()
  const counts = [first, taken()].map((keys) => keys.filter((key) => key === 'sk-one').length)
  t.same(counts, [3, 3])
})

t.test('keys beside a key or a credential, and two of one name, are refused', async (t) => {
  const problem = (provider: string): string => {
    try {
      loadConfig(
        'f.yaml',
        {},
        {
          text: `${BASE}providers: { first: { dialect: openai-chat, base_url: "http://127.0.0.1:1/v1", discover: true, ${provider} } }\n`,
        },
      )
      return ''
    } catch (thrown) {
      return String(thrown).replace(/^.*?f\.yaml:\d+:\d+: /, '')
    }
  }
  t.equal(problem(`keys: [${TWO}]`), '')
  t.equal(problem(`key: sk-three, keys: [${TWO}]`), 'providers.first.keys: keys beside a key, expected one of them')
  t.equal(
    problem(`keys: [${TWO}], credential: { file: /run/token }`),
    'providers.first.credential: a credential beside a key, expected one of them',
  )
  t.equal(
    problem('keys: [{ name: a, key: sk-one }, { name: a, key: sk-two }]'),
    'providers.first.keys: two keys of one name, expected another',
  )
})
