/** A key's limits where several processes hold them: on shared counters, and each with its share. */
import t, { type Test } from 'tap'
import { ShareCounters } from '../../src/cluster/shared/fallback-counters.ts'
import { type Counters, connectShared, MemoryCounters } from '../../src/cluster/shared/index.ts'
import { systemClock } from '../../src/core/clock.ts'
import { Fault } from '../../src/core/faults.ts'
import { SeenRates } from '../../src/pipeline/rate-headers.ts'
import { Admission } from '../../src/pipeline/request/admission.ts'
import type { ApiKey, RateLimits } from '../../src/plugin-api/key.ts'
import { FakeClock } from '../support/clock.ts'
import { type RedisServer, startRedis } from '../support/redis.ts'

function key(limits: RateLimits): ApiKey {
  return {
    identity: 'k',
    hash: '',
    label: '',
    name: 'k',
    role: 'member',
    disabled: false,
    limit: null,
    limitReset: null,
    expiresAt: null,
    allowedModels: undefined,
    provider: undefined,
    limits,
    passThrough: false,
  }
}

const FREE = key({})

/** Message of a refusal; undefined where nothing is refused. */
function catchRefusal(
  act: () => unknown,
): { message: string; left?: string | undefined; limit?: string | undefined; wait?: number | undefined } | undefined {
  try {
    act()
    return undefined
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.status !== 429) throw thrown
    const { message, headers, retryAfter } = thrown
    return { message, limit: headers?.['X-RateLimit-Limit'], left: headers?.['X-RateLimit-Remaining'], wait: retryAfter }
  }
}

t.test('a key without limits is never counted, whatever the counters are', (t) => {
  const counters: Counters = {
    take: () => {
      throw new Error('asked')
    },
    close: async () => {},
  }
  const processes = (): number => {
    throw new Error('asked')
  }
  const admission = new Admission(new FakeClock(), counters, processes)
  t.equal(admission.request(FREE), undefined)
  t.equal(admission.tokens(FREE, 1_000_000, false), undefined)
  admission.correctTokens(FREE, 5)
  admission.openStream(FREE)
  admission.closeStream(FREE)
  admission.takeBytes(FREE, 1_000_000)
  admission.giveBytes(FREE, 1_000_000)
  t.end()
})

t.test('in one process nothing is awaited', (t) => {
  const clock = new FakeClock()
  const limited = key({ requests: 1, tokens: 10 })
  const admission = new Admission(clock)
  t.equal(admission.request(limited), undefined)
  t.match(
    catchRefusal(() => admission.request(limited)),
    { limit: '1', left: '0', wait: 60 },
  )
  t.equal(admission.tokens(limited, 10, false), undefined)
  t.match(
    catchRefusal(() => admission.tokens(limited, 4, false)),
    { message: /10 tokens per minute for the key k$/, limit: '10', left: '0', wait: 24 },
  )
  admission.correctTokens(limited, -8)
  t.equal(admission.tokens(limited, 8, false), undefined)
  const never = catchRefusal(() => admission.tokens(limited, 11, false))
  t.match(never, { message: /needs up to 11 tokens$/ })
  t.equal(never?.wait, undefined)
  t.equal(admission.tokens(limited, 11, true), undefined, 'a request that has begun is not cut off')
  t.end()
})

t.test('what is left of a share is shown beside the size of that share', (t) => {
  const clock = new FakeClock()
  const admission = new Admission(clock, new ShareCounters(new MemoryCounters(clock), () => 3))
  const seen = new SeenRates()
  const limited = key({ requests: 60, tokens: 300 })
  admission.request(limited, seen)
  admission.tokens(limited, 40, false, seen)
  admission.correctTokens(limited, -10, seen)
  t.match(seen, { requests: { limit: 20, left: 19 }, tokens: { limit: 100, left: 70 } })
  t.end()
})

t.test('streams: each process opens its share', (t) => {
  let processes = 4
  const admission = new Admission(new FakeClock(), new MemoryCounters(new FakeClock()), () => processes)
  const limited = key({ streams: 10 })
  admission.openStream(limited)
  admission.openStream(limited)
  t.same(
    catchRefusal(() => admission.openStream(limited)),
    {
      message: 'Rate limit exceeded: 10 concurrent streams, of which this process has 2 for the key k',
      limit: '2',
      left: '0',
      wait: 1,
    },
  )
  processes = 1
  t.equal(
    catchRefusal(() => admission.openStream(limited)),
    undefined,
    'the share is that of the processes as last known',
  )
  processes = 40
  for (let i = 0; i < 3; i++) admission.closeStream(limited)
  admission.openStream(limited)
  t.match(
    catchRefusal(() => admission.openStream(limited)),
    { message: /this process has 1 for the key k$/ },
    'at least one',
  )
  t.end()
})

t.test('bytes: each process takes its share, and a body larger than that when nothing else is in flight', (t) => {
  const admission = new Admission(new FakeClock(), new MemoryCounters(new FakeClock()), () => 4)
  const limited = key({ bytes: 1_000 })
  admission.takeBytes(limited, 900)
  t.match(
    catchRefusal(() => admission.takeBytes(limited, 1)),
    { message: /of which this process has 250 for the key k$/, limit: '250', left: '0', wait: 1 },
  )
  admission.giveBytes(limited, 900)
  admission.takeBytes(limited, 200)
  t.equal(
    catchRefusal(() => admission.takeBytes(limited, 50)),
    undefined,
  )
  t.match(
    catchRefusal(() => admission.takeBytes(limited, 1)),
    { left: '0' },
  )
  const never = catchRefusal(() => admission.takeBytes(limited, 1_001))
  t.match(never, { message: /needs 1001 bytes$/, limit: '1000' })
  t.equal(never?.wait, undefined)
  t.end()
})

function together(t: Test, server: RedisServer): void {
  t.test('two processes on one server: requests and tokens are those of both', async (t) => {
    const admissions: Admission[] = []
    for (let i = 0; i < 2; i++) {
      const shared = await connectShared(server.url, { clock: systemClock, processes: () => 2, report: () => {} })
      t.teardown(() => shared.close())
      await shared.ready
      admissions.push(new Admission(systemClock, shared.counters, () => 2))
    }
    const limited = key({ requests: 4, tokens: 40 })
    t.equal(admissions[0].request(FREE), undefined, 'a key without limits waits for nobody')
    const asked = admissions.flatMap((admission) => Array.from({ length: 10 }, () => admission.request(limited)))
    const answers = await Promise.allSettled(asked)
    t.equal(answers.filter(({ status }) => status === 'fulfilled').length, 4)
    for (const answer of answers) if (answer.status === 'rejected') t.match(answer.reason, { status: 429, retryAfter: Number })
    await admissions[0].tokens(limited, 30, false)
    const [more] = await Promise.allSettled([admissions[1].tokens(limited, 30, false)])
    t.match(more, { status: 'rejected', reason: { status: 429 } })
    admissions[0].correctTokens(limited, -30)
    await admissions[0].tokens(limited, 0, true)
    await admissions[1].tokens(limited, 30, false)
  })
}

const server = await startRedis()
t.teardown(() => server?.close())
if (server) together(t, server)
