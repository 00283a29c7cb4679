/** The simulated hour's goals on ten minutes of it: virtual time only, so a slow machine changes nothing. Runs with `npm run test:servers`. */
import t from 'tap'
import { seededChance } from '../../bench/simulation/chance.ts'
import { troubled } from '../../bench/simulation/figures.ts'
import { measureGoals } from '../../bench/simulation/goals.ts'
import { type HourRun, simulate } from '../../bench/simulation/hour.ts'
import { fairShares, PROVIDERS } from '../../bench/simulation/market.ts'
import { SCENARIOS, type Scenario } from '../../bench/simulation/scenarios.ts'
import { traffic } from '../../bench/simulation/traffic.ts'
import { VirtualClock } from '../../bench/simulation/virtual-clock.ts'

/** Six minutes of the trouble and four after it. */
const SPAN = { from: 24, to: 34 }
const REQUESTS = 4_000

const short = (scenario: Scenario): Promise<HourRun> => simulate(scenario, { requests: REQUESTS, seed: 1, span: SPAN })

for (const scenario of SCENARIOS) {
  t.test(`${scenario.name}: goals are met`, async (t) => {
    const run = await short(scenario)
    t.equal(run.outcomes.length, REQUESTS)
    const goals = measureGoals(run)
    t.equal(goals.length, scenario.goals.length)
    for (const { what, wanted, found, met } of goals) t.ok(met, `${what}: wanted ${wanted}, found ${found}`)
    t.ok(run.spent > 0, 'the ledger charged what was served')
    const charged = run.outcomes.filter(({ served }) => served).length
    t.equal(run.calls.filter(({ outcome }) => outcome === 'ok').length, charged, 'each served request has one call that served it')
    for (const provider of troubled(scenario)) {
      t.ok(
        run.calls.some((call) => call.provider === provider && call.outcome === 'ok'),
        `${provider} was in use`,
      )
    }
  })
}

t.test('a scenario in which providers fail has calls that fail', async (t) => {
  const withFailures = SCENARIOS.filter(({ troubles }) => troubles.some(({ kind }) => kind === 'failing'))
  t.ok(withFailures.length >= 5)
  for (const scenario of withFailures) {
    const run = await simulate(scenario, { requests: 300, seed: 2, span: { from: 25, to: 26 } })
    t.ok(
      run.calls.some(({ outcome }) => outcome !== 'ok' && outcome !== 'pending'),
      scenario.name,
    )
  }
})

t.test('the same seed tells the same story, another seed another', async (t) => {
  const [scenario] = SCENARIOS.slice(1)
  // Texts are compared: a diff of thousands of calls would take seconds.
  const story = (run: HourRun): string => run.calls.map(({ at, provider, outcome }) => `${at} ${provider} ${outcome}`).join()
  const run = (seed: number): Promise<HourRun> => simulate(scenario, { requests: 500, seed, span: { from: 29, to: 31 } })
  const [first, again, other] = [await run(7), await run(7), await run(8)]
  t.ok(story(again) === story(first))
  t.notOk(story(other) === story(first))
})

t.test('arrivals lie in their span, in order, with the mix that was asked for', async (t) => {
  const asked = traffic(2_000, { from: 5, to: 6 }, { hurried: 0.5 }, seededChance(3))
  t.equal(asked.length, 2_000)
  t.ok(asked.every(({ at }, i) => at >= 300_000 && at < 360_000 && (i === 0 || at >= asked[i - 1].at)))
  const hurried = asked.filter((one) => one.hurried)
  t.ok(hurried.length > 900 && hurried.length < 1_100, `${hurried.length} are in a hurry`)
  t.ok(hurried.every(({ body }) => body.includes('preferred_max_latency')))
})

t.test('fair shares add up and favour the cheap', async (t) => {
  for (const minute of [0, 20, 50]) {
    const shares = fairShares('acme/large', minute)
    t.same([...shares.keys()], PROVIDERS)
    t.ok(Math.abs([...shares.values()].reduce((sum, share) => sum + share, 0) - 1) < 1e-9)
  }
  t.ok((fairShares('acme/large', 0).get('alpha') ?? 0) > (fairShares('acme/large', 0).get('echo') ?? 1))
})

t.test('the virtual clock: in order of time, cancelled ones never, not before promises have settled', async (t) => {
  const clock = new VirtualClock(seededChance(1), 0, 1_000)
  const told: string[] = []
  const tell = (word: string) => (): void => void told.push(`${word}@${clock.monotonic()}`)
  clock.after(50, tell('third'))
  clock.after(20, tell('first'))
  clock.after(20, tell('second'))
  clock.after(30, tell('never')).cancel()
  clock.after(0, () => {
    void (async () => {
      for (let i = 0; i < 50; i++) await Promise.resolve()
      clock.after(5, tell('from a promise'))
    })()
  })
  await clock.run(
    () => told.length === 4,
    () => false,
  )
  t.same(told, ['from a promise@1005', 'first@1020', 'second@1020', 'third@1050'])
  await t.rejects(
    clock.run(
      () => false,
      () => false,
    ),
    /stands still/,
  )
})

t.test('the virtual clock: a heap of random times comes out sorted', async (t) => {
  const clock = new VirtualClock(seededChance(5), 0, 0)
  const times: number[] = []
  for (let i = 0; i < 500; i++) clock.after(Math.floor(clock.random() * 100), () => times.push(clock.monotonic()))
  await clock.run(
    () => times.length === 500,
    () => false,
  )
  t.same(
    times,
    times.toSorted((a, b) => a - b),
  )
  t.ok(new Set(times).size > 50)
})
