/**
 * Active health checks: where one key's requests fail at an endpoint and no other key uses it, a request of the gateway's own decides for
 * all. Over real sockets; what the checks cost stands in the ledger, under a key that no caller has.
 */
import t, { type Test } from 'tap'
import { CheckSchedule } from '../../../src/app/health-checks/schedule.ts'
import { MemoryCounters } from '../../../src/cluster/shared/index.ts'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { ADMIN_TOKEN } from '../../support/admin.ts'
import { FakeClock } from '../../support/clock.ts'
import { eventually } from '../../support/eventually.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { PATHS, questionFor } from '../../support/providers.ts'
import { jsonAnswer, type Script, startUpstream, type Upstream } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'

const KEYS = {
  bad: 'sk-router-v1-bad-0123456789abcdef01',
  good: 'sk-router-v1-good-0123456789abcdef0',
}
type Key = keyof typeof KEYS
const BROKEN = () => jsonAnswer({ error: { message: 'Internal server error', type: 'server_error' } }, 500)
const isCheck = ({ body }: { body: string }): boolean => body.includes('Reply with the word OK.')
const isList = ({ path }: { path: string }): boolean => path === '/v1/models'

interface Scene {
  readonly clock: FakeClock
  readonly gateway: Gateway
  readonly cheap: Upstream
  /** Provider that served, or the status. */
  server(key: Key, content?: string): Promise<string>
  /** Lets checks that are due be sent, and waits until each has ended. @returns outcomes of all checks so far. */
  outcomes(count: number): Promise<unknown[]>
}

/** A provider at a five-hundredth of the other's price. @param settings of `health_checks`. */
async function scene(t: Test, settings: string, script: Script): Promise<Scene> {
  const clock = new FakeClock()
  const cheap = await startUpstream(script)
  const dear = await startUpstream((seen) => answerFor(seen, { text: ['dear'] }))
  const keys = Object.entries(KEYS).map(([name, key]) => `{ name: ${name}, key: "${key}" }`)
  const gateway = await startGateway(
    `auth: { keys: [ ${keys.join(', ')}, { name: boss, key: "sk-router-v1-boss0000000000000000000000", management: true } ] }
${settings}
providers:
  cheap: { dialect: openai-chat, base_url: "${cheap.url}/v1", key: "sk-cheap" }
  dear: { dialect: openai-chat, base_url: "${dear.url}/v1" }
models:
  acme/one: { context: 128000, endpoints: [ { provider: cheap, model: m, price: { prompt: "0.01", completion: "0.01" } }, { provider: dear, model: m, price: { prompt: "5.00", completion: "5.00" } } ] }
`,
    { clock },
  )
  t.teardown(() => Promise.all([gateway.close(), cheap.close(), dear.close()]))
  const ended = (): unknown[] =>
    gateway.logs
      .map((line) => JSON.parse(line) as JsonObject)
      .filter(({ msg }) => msg === 'health check')
      .map(({ outcome }) => outcome)
  return {
    clock,
    gateway,
    cheap,
    server: async (key, content = 'Hello') => {
      const reply = await gateway.post(PATHS.chat, questionFor('chat', content), { authorization: `Bearer ${KEYS[key]}` })
      const text = await reply.text()
      return reply.status === 200 ? (/"(cheap|dear)"/.exec(text)?.[1] ?? text) : `${reply.status}`
    },
    outcomes: async (count) => {
      await clock.advance(1_000)
      await eventually('the end of the check', () => ended().length >= count, { found: ended })
      return ended()
    },
  }
}

const REQUEST = 'health_checks: { kind: request }'
const served: Script = (seen) => answerFor(seen, { text: ['cheap'], usage: { input: 100_000, output: 1 } })

t.test('a check that fails moves all keys, before another one has failed', async (t) => {
  const { cheap, clock, gateway, server, outcomes } = await scene(t, REQUEST, served)
  t.equal(await server('good'), 'cheap')
  cheap.script = BROKEN
  t.equal(await server('bad'), 'dear')
  t.same(await outcomes(1), ['failed'])
  const calls = cheap.requests.length
  t.equal(await server('good'), 'dear')
  t.equal(cheap.requests.length, calls, 'without a call of its own')
  cheap.script = served
  await clock.advance(30_000)
  t.equal(await server('good'), 'cheap')
  t.equal(await server('bad'), 'cheap')
  const metrics = await (await fetch(`${gateway.admin}/metrics`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })).text()
  t.match(metrics, /^headgate_health_checks_total\{kind="request",outcome="failed"\} 1$/m)
})

t.test('a check that is served leaves the others where they are, and is charged to a key of the gateway’s own', async (t) => {
  const { cheap, gateway, server, outcomes } = await scene(t, REQUEST, (seen, index) =>
    seen.body.includes('stumble') ? BROKEN() : served(seen, index),
  )
  t.equal(await server('bad', 'stumble'), 'dear')
  t.same(await outcomes(1), ['well'])
  const sent = cheap.requests.filter(isCheck).map(({ json }) => json)
  t.match(sent, [{ model: 'm', max_tokens: 16, messages: [{ role: 'user', content: 'Reply with the word OK.' }] }])
  t.equal(sent.length, 1)
  t.equal(await server('bad', 'something else'), 'dear', 'the key that failed is still moved')
  t.equal(await server('good'), 'cheap', 'and no other')
  // The check has used the endpoint as well: one key alone never speaks for all there.
  for (let times = 0; times < 15; times++) await server('bad', 'stumble')
  t.equal(await server('good'), 'cheap')
  const rows = [...gateway.running.store.journal.export()].filter(({ hold }) => hold.key === 'health checks')
  t.match(rows, [{ hold: { key: 'health checks', model: 'acme/one' }, settled: { status: 'completed', cost: 1_000_010 } }])
  const usage = async (key: Key) => {
    const { data } = (await (await gateway.get('/v1/key', { authorization: `Bearer ${KEYS[key]}` })).json()) as { data: { usage: number } }
    return data.usage
  }
  const before = await usage('good')
  t.ok(before > 0 && before < 0.003, 'callers pay for their own requests alone')
})

t.test('one check in a minute, none at the start, none where all is well', async (t) => {
  const { cheap, clock, server, outcomes } = await scene(t, REQUEST, served)
  await clock.advance(600_000)
  for (let times = 0; times < 5; times++) await server('good')
  await clock.advance(60_000)
  t.equal(cheap.requests.filter(isCheck).length, 0)
  cheap.script = (seen, index) => (seen.body.includes('stumble') ? BROKEN() : served(seen, index))
  for (let times = 0; times < 10; times++) {
    await server('bad', 'stumble')
    await clock.advance(1_000)
  }
  t.same(await outcomes(1), ['well'])
  await clock.advance(60_000)
  await server('bad', 'stumble')
  t.same(await outcomes(2), ['well', 'well'])
})

t.test('checks of a day cost no more than their limit', async (t) => {
  const { cheap, server, outcomes } = await scene(t, 'health_checks: { kind: request, limit: "0.000000001" }', BROKEN)
  t.equal(await server('bad'), 'dear')
  t.same(await outcomes(1), ['unclear'])
  t.equal(cheap.requests.filter(isCheck).length, 0)
})

t.test('requests the list of models by default, which costs nothing', async (t) => {
  for (const [status, outcome, other] of [
    [200, 'well', 'cheap'],
    [503, 'failed', 'dear'],
    [502, 'failed', 'dear'],
    // transformers serve answers so for a list alone.
    [500, 'unclear', 'cheap'],
    [404, 'unclear', 'cheap'],
    [401, 'unclear', 'cheap'],
  ] as const) {
    const { cheap, server, gateway, outcomes } = await scene(t, 'health_checks: {}', (seen, index) => {
      if (isList(seen)) return jsonAnswer({ data: [] }, status)
      return seen.body.includes('stumble') ? BROKEN() : served(seen, index)
    })
    t.equal(await server('bad', 'stumble'), 'dear')
    t.same(await outcomes(1), [outcome], `${status}`)
    t.same(
      cheap.requests.filter(isList).map(({ method, headers }) => [method, headers.authorization]),
      [['GET', 'Bearer sk-cheap']],
    )
    t.equal(cheap.requests.filter(isCheck).length, 0)
    t.equal(await server('good'), other, `${status}`)
    t.equal([...gateway.running.store.journal.export()].filter(({ hold }) => hold.key === 'health checks').length, 0)
  }
})

t.test('a server that is gone by the time of its check is out for all', async (t) => {
  const { cheap, server, outcomes } = await scene(t, 'health_checks: {}', BROKEN)
  t.equal(await server('bad'), 'dear')
  await cheap.close()
  t.same(await outcomes(1), ['failed'])
  t.equal(await server('good'), 'dear')
})

t.test('sends no health check with kind: off', async (t) => {
  const { cheap, clock, server } = await scene(t, 'health_checks: { kind: off }', BROKEN)
  await server('bad')
  await clock.advance(120_000)
  t.equal(cheap.requests.length, 1)
})

for (const late of [false, true])
  t.test(`several processes send one check between them${late ? ', where announcements come late' : ''}`, async (t) => {
    const hears: ((message: Json) => void)[] = []
    const clock = new FakeClock()
    const counters = new MemoryCounters(clock)
    let sent = 0
    const processes = Array.from({ length: 8 }, () => {
      let own: ((message: Json) => void) | undefined
      const pubSub = {
        publish: (_: unknown, message: Json) => {
          const announce = (): void => {
            for (const hear of hears) if (hear !== own) hear(message)
          }
          if (late) clock.after(2_000, announce)
          else announce()
        },
        subscribe: (_: unknown, hear: (message: Json) => void) => {
          own = hear
          hears.push(hear)
        },
      }
      return new CheckSchedule(clock, { pubSub, counters, isDegraded: () => false })
    })
    const doubt = (): void => {
      for (const each of processes) each.request('a', 60_000, () => sent++)
    }
    doubt()
    await clock.advance(1_000)
    t.equal(sent, 1)
    doubt()
    await clock.advance(30_000)
    t.equal(sent, 1)
    await clock.advance(35_000)
    doubt()
    await clock.advance(1_000)
    t.equal(sent, 2)
    for (let target = 0; target < 50; target++) processes[0].request(`target ${target}`, 60_000, () => sent++)
    await clock.advance(1_000)
    t.ok(sent <= 12, `${sent - 2} of 50 targets in a minute`)
    processes[1].request('b', 60_000, () => sent++)
    processes[1].close()
    const before = sent
    await clock.advance(1_000)
    t.equal(sent, before, 'none after the end')
  })
