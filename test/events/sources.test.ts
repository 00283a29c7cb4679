/** Events by their source and number, and that they survive: providers, configuration, guardrails, drain, crash. */
import { join } from 'node:path'
import t from 'tap'
import { isObject, type JsonObject } from '../../src/core/json.ts'
import { ADMIN_TOKEN } from '../support/admin.ts'
import { FakeClock } from '../support/clock.ts'
import { freePorts } from '../support/crash/configuration.ts'
import { eventually } from '../support/eventually.ts'
import { type Gateway, startGateway } from '../support/gateway.ts'
import { runProgram } from '../support/program.ts'
import { startScene } from '../support/scene.ts'
import { jsonAnswer } from '../support/upstream.ts'
import { startReceiver, WEBHOOK_SECRET } from '../support/webhook-receiver.ts'

const BOSS = 'sk-router-v1-boss-0123456789abcdef'
const KEY = 'sk-router-v1-0123456789abcdef0123456789abcdef'

interface Listed extends JsonObject {
  type: string
  subject: string
  data: JsonObject
}

async function fetchEvents(url: string): Promise<Listed[]> {
  const reply = await fetch(`${url}/v1/events?limit=100`, { headers: { authorization: `Bearer ${BOSS}` } })
  const { data } = (await reply.json()) as JsonObject
  return Array.isArray(data) ? (data.filter(isObject) as Listed[]) : []
}

const AUTH = `auth: { keys: [ { name: test, key: "${KEY}", limit: "100.00" }, { name: boss, key: "${BOSS}", management: true } ] }`

const config =
  (more = '') =>
  (upstream: string): string =>
    `${AUTH}
providers: { first: { dialect: openai-chat, base_url: "${upstream}/v1", key: "sk-provider-secret" } }
models: { acme/one: { endpoints: [ { provider: first, model: upstream-model, price: free } ] } }
${more}`

async function typed(gateway: Gateway, type: string, count = 1): Promise<Listed[]> {
  const found = async (): Promise<Listed[]> => (await fetchEvents(gateway.url)).filter((event) => event.type === `headgate.${type}`)
  await eventually(`${count} of ${type}`, async () => (await found()).length >= count)
  return found()
}

t.test('a flapping provider is one event when it is ejected and one when it is restored', async (t) => {
  const clock = new FakeClock()
  const { gateway, upstream, ask } = await startScene(t, { clock, config: config() })
  const fails = () => ({ status: 500, body: ['{}'] })
  const fine = upstream.script
  upstream.script = fails
  for (let round = 0; round < 12; round++) {
    await (await ask()).text()
    await clock.advance(2_000)
  }
  const ejected = await typed(gateway, 'provider.ejected')
  t.equal(ejected.length, 1, 'however often it is ejected anew')
  t.match(ejected[0], { data: { provider: 'first', model: 'acme/one' } })
  upstream.script = fine
  await clock.advance(60_000)
  t.equal((await ask()).status, 200)
  t.equal((await typed(gateway, 'provider.restored')).length, 1)
})

t.test('an account that a provider refuses is one event a minute, with the log line that says what helps, and a metric', async (t) => {
  const clock = new FakeClock()
  const { gateway, upstream, ask } = await startScene(t, { clock, config: config() })
  const refusals: [number, JsonObject, string, RegExp][] = [
    [
      401,
      { error: { message: 'Incorrect API key provided: sk-abc', code: 'invalid_api_key' } },
      'upstream_auth',
      /put a valid one at `setting`/,
    ],
    [
      400,
      { error: { message: 'Billing hard limit has been reached', code: 'billing_hard_limit_reached' } },
      'upstream_credit',
      /out of credit: pay there/,
    ],
    [412, { error: { message: 'Account acme is suspended' } }, 'upstream_account', /cannot be used/],
  ]
  for (const [status, body, problem, line] of refusals) {
    upstream.script = () => jsonAnswer(body, status)
    for (let times = 0; times < 3; times++) t.equal((await ask()).status, 502)
    const logged = gateway.logs.find((each) => each.includes(`"fault":"${problem}"`) && each.includes('"setting"'))
    t.match(JSON.parse(logged ?? '{}'), { level: 50, provider: 'first', setting: 'providers.first.key', remedy: line })
    t.notMatch(logged, /sk-abc|sk-provider-secret|Account acme|Billing hard/, 'no sentence and no key')
    const metrics = await (await fetch(`${gateway.admin}/metrics`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })).text()
    t.match(metrics, `headgate_account_refusals_total{provider="first",problem="${problem}"} 3`)
  }
  await clock.advance(60_000)
  t.equal((await ask()).status, 502)
  const events = await typed(gateway, 'provider.account', 4)
  const told = events.map(({ data: { provider, problem, setting, refusals } }) => ({ provider, problem, setting, refusals }))
  const event = (problem: string, refusals: number) => ({ provider: 'first', problem, setting: 'providers.first.key', refusals })
  t.strictSame(
    new Set(told.map((each) => JSON.stringify(each))),
    new Set(
      [event('upstream_auth', 1), event('upstream_credit', 1), event('upstream_account', 1), event('upstream_account', 3)].map((each) =>
        JSON.stringify(each),
      ),
    ),
  )
})

t.test('a word of a provider that nothing knows is one event, a line of the log, and a row of the command', async (t) => {
  const { gateway, upstream, ask } = await startScene(t, { config: config() })
  const utterance = (more: JsonObject, finish = 'stop', tier: JsonObject = {}) =>
    jsonAnswer({
      choices: [{ index: 0, message: { role: 'assistant', content: 'fine' }, finish_reason: finish }],
      usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7, ...more },
      ...tier,
    })
  const known = { completion_tokens_details: { reasoning_tokens: 1 }, prompt_time: 0.2, surprise_zero: 0, nothing: null }
  const strange = { surprise_tokens: 500, prompt_tokens_details: { cached_tokens: 1, holographic_tokens: 3 }, 'sk-a secret': 4 }
  upstream.script = () => utterance(known)
  await (await ask()).text()
  upstream.script = () => utterance(strange, 'moonrise', { service_tier: 'lightning' })
  for (let times = 0; times < 3; times++) await (await ask()).text()
  const events = await typed(gateway, 'provider.unknown_word', 4)
  const words = events.map(({ subject, data: { provider, kind, word } }) => [subject, provider, kind, word].join(' ')).sort()
  t.strictSame(words, [
    'first first end moonrise',
    'first first tier lightning',
    'first first usage prompt_tokens_details.holographic_tokens',
    'first first usage surprise_tokens',
  ])
  const lines = gateway.logs.filter((line) => line.includes('a provider sent a word that is not known'))
  t.equal(lines.length, 4, 'each once, however often it comes')
  t.notMatch([...lines, JSON.stringify(events)].join(), /sk-a secret/)
  const page = await fetch(`${gateway.url}/v1/events?type=headgate.provider.unknown_word`, { headers: { authorization: `Bearer ${BOSS}` } })
  t.equal(((await page.json()) as { data: unknown[] }).data.length, 4)
})

t.test('a configuration is reloaded, refused for a setting of the start, or invalid', async (t) => {
  const gateway = await startGateway(
    `${AUTH}\nproviders: { sim: { dialect: sim } }\nmodels: { sim/echo: { endpoints: [ { provider: sim, model: echo } ] } }`,
    {
      directory: t.testdir(),
    },
  )
  t.teardown(() => gateway.close())
  await gateway.running.reload()
  await gateway.reconfigure('nonsense: [').catch(() => undefined)
  t.equal((await typed(gateway, 'configuration.reloaded')).length, 1)
  const [refused] = await typed(gateway, 'configuration.refused')
  t.match(refused, { data: { reason: 'invalid', settings: [] } })
})

t.test('hits of guardrails name the guardrail and the kind, never the text, and are one a minute', async (t) => {
  const clock = new FakeClock()
  const guardrail = 'guardrails: [ { name: mail, content_filter_builtins: [ { slug: email, action: flag } ] } ]'
  const { gateway, ask } = await startScene(t, { clock, config: config(guardrail) })
  const hit = async (): Promise<void> => {
    await (await ask({ messages: [{ role: 'user', content: 'write to jane.doe@corp.example' }] })).text()
  }
  await hit()
  await hit()
  const first = await typed(gateway, 'guardrail.hit')
  t.equal(first.length, 1)
  t.match(first[0], { subject: 'mail', data: { guardrail: 'mail', action: 'flagged', direction: 'input', hits: 1 } })
  t.notMatch(JSON.stringify(first), /jane|corp\.example/)
  await clock.advance(61_000)
  await hit()
  const [, second] = await typed(gateway, 'guardrail.hit', 2)
  t.equal(second?.data.hits, 2, 'those between are counted')
})

t.test('kill -9 between the fact and its delivery loses nothing, and doubles nothing but deliveries of one id', async (t) => {
  const receiver = await startReceiver()
  t.teardown(() => receiver.close())
  // Nothing is answered: the process dies while it waits.
  const answer = receiver.answer
  receiver.answer = () => {}
  const [port, adminPort] = await freePorts(2)
  const folder = t.testdir({
    'headgate.yaml': `server: { host: 127.0.0.1, port: ${port} }
admin: { host: 127.0.0.1, port: ${adminPort}, token: of-the-tests-0123456789 }
store: { url: "sqlite:./headgate.db" }
${AUTH}
events: { receivers: [ { name: ops, url: "${receiver.url}", secret: "${WEBHOOK_SECRET}" } ] }
providers: { sim: { dialect: sim } }
models: { sim/echo: { endpoints: [ { provider: sim, model: echo } ] } }
`,
  })
  const url = `http://127.0.0.1:${port}`
  const program = () => runProgram(['--config', join(folder, 'headgate.yaml')], { cwd: folder })
  const first = program()
  t.teardown(() => first.child.kill('SIGKILL'))
  await listening(url)
  const made: string[] = []
  for (let count = 0; count < 10; count++) {
    const reply = await fetch(`${url}/v1/keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${BOSS}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: `key ${count}` }),
    })
    made.push(String(((await reply.json()) as { data: { hash: string } }).data.hash))
  }
  first.child.kill('SIGKILL')
  await first.exited
  receiver.answer = answer
  const second = program()
  t.teardown(() => second.child.kill('SIGKILL'))
  await listening(url)
  const subjects = () => new Set(receiver.received.map(({ event }) => event.subject))
  await eventually('all events', () => subjects().size === 10, { limit: 60_000 })
  t.same([...subjects()].sort(), made.sort(), 'an event of every key that was made')
  t.equal(new Set(receiver.received.map(({ event }) => event.id)).size, 10, 'each has one id')
  second.child.kill('SIGTERM')
  await second.exited
  const third = program()
  t.teardown(() => third.child.kill('SIGKILL'))
  await eventually('the event of the drain', () => receiver.typesTaken().includes('headgate.drain.begun'), { limit: 60_000 })
  third.child.kill('SIGKILL')
  await third.exited
})

async function listening(url: string): Promise<void> {
  await eventually(
    'it listens',
    () =>
      fetch(`${url}/v1/models`).then(
        () => true,
        () => false,
      ),
    { limit: 60_000 },
  )
}
