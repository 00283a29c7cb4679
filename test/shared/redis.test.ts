/** State that processes share through a real Redis: the law of the limits, its way out, and messages. */
import fc from 'fast-check'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { connectShared, type Shared, type SharedReport } from '../../src/cluster/shared/index.ts'
import { type Bucket, takeFrom } from '../../src/cluster/shared/rate-law.ts'
import { RedisCounters } from '../../src/cluster/shared/redis.ts'
import type { CounterAsk } from '../../src/cluster/shared/types.ts'
import { systemClock } from '../../src/core/clock.ts'
import { FakeClock, turn } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { type RedisServer, startRedis } from '../support/redis.ts'
import { property } from '../support/seed.ts'

const ask = fc.record({
  name: fc.constantFrom('a', 'b'),
  perMinute: fc.oneof(fc.constantFrom(0, 1, 7, 60_000, 1_000_000_000), fc.nat(100_000)),
  take: fc.oneof(fc.constantFrom(0, 1, -1), fc.integer({ min: -1_000, max: 100_000 })),
  always: fc.boolean(),
})
const step = fc.record({
  ask,
  pass: fc.oneof(fc.constantFrom(0, 1, 60_000), fc.nat(70_000), fc.integer({ min: -5_000, max: 0 })),
})

interface Member {
  shared: Shared
  reports: SharedReport[]
}

async function join(t: Test, url: string, { processes = 2, prefix = `${t.name}:` } = {}): Promise<Member> {
  const reports: SharedReport[] = []
  const shared = await connectShared(url, {
    clock: systemClock,
    processes: () => processes,
    report: (report) => reports.push(report),
    prefix,
  })
  t.teardown(() => shared.close())
  return { shared, reports }
}

const joinAll = (t: Test, urls: readonly string[]): Promise<Member[]> => Promise.all(urls.map((url) => join(t, url)))

const taken = async ({ shared }: Member, ask: Partial<CounterAsk> = {}): Promise<boolean> =>
  (await shared.counters.take({ name: 'requests:k', perMinute: 4, take: 1, ...ask })).taken

/** Number of passed attempts of so many. */
async function passed(members: readonly Member[], attempts: number): Promise<number[]> {
  const all = members.map((member) => Promise.all(Array.from({ length: attempts }, () => taken(member))))
  return (await Promise.all(all)).map((answers) => answers.filter(Boolean).length)
}

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0)

function laws(t: Test, server: RedisServer): void {
  t.test('the script keeps the law that memory keeps, to the last digit', async (t) => {
    const redis = new Redis(server.url)
    t.teardown(() => redis.disconnect())
    let run = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        let now = 1_700_000_000_000
        const buckets = new Map<string, Bucket>()
        const script = new RedisCounters(redis, { prefix: `law${run++}:`, now: () => now })
        for (const { ask, pass } of steps) {
          now += pass
          const bucket = buckets.get(ask.name) ?? { level: 0, at: now }
          buckets.set(ask.name, bucket)
          const here = takeFrom(bucket, now, ask)
          const there = await script.take(ask)
          if (JSON.stringify(here) !== JSON.stringify(there)) {
            throw new Error(`${JSON.stringify(ask)}: law ${JSON.stringify(here)}, script ${JSON.stringify(there)}`)
          }
        }
      }),
      property(300, 10_000),
    )
    t.pass('all alike')
  })

  t.test('the key of a bucket expires when the bucket has drained, and a read creates none', async (t) => {
    const redis = new Redis(server.url)
    t.teardown(() => redis.disconnect())
    const counters = new RedisCounters(redis, { prefix: 'expiry:' })
    await counters.take({ name: 'a', perMinute: 60, take: 0 })
    t.equal(await redis.exists('expiry:rate:v1:a'), 0)
    await counters.take({ name: 'a', perMinute: 60, take: 30 })
    const left = await redis.pttl('expiry:rate:v1:a')
    t.ok(left > 0 && left <= 30_000, `${left} ms`)
    await counters.take({ name: 'a', perMinute: 60, take: -30 })
    t.equal(await redis.exists('expiry:rate:v1:a'), 0)
    await redis.set('expiry:rate:v1:b', 'nonsense')
    t.equal((await counters.take({ name: 'b', perMinute: 60, take: 1 })).left, 59, 'what is no bucket counts as an empty one')
  })
}

function outages(t: Test, server: RedisServer): void {
  t.test('two processes share a limit to the unit', async (t) => {
    const members = await joinAll(t, [server.url, server.url])
    await Promise.all(members.map(({ shared }) => shared.ready))
    t.equal(sum(await passed(members, 30)), 4)
    t.equal(sum(await passed(members, 3)), 0)
    t.same([...members[0].reports, ...members[1].reports], [])
  })

  for (const how of ['stop', 'kill'] as const)
    t.test(`${how}: each goes on with its share, and together again afterwards`, async (t) => {
      const members = await joinAll(t, [server.url, server.url, server.url])
      await Promise.all(members.map(({ shared }) => shared.ready))
      t.equal(sum(await passed(members.slice(0, 1), 1)), 1)
      await server[how]()
      const alone = await passed(members, 30)
      t.same(alone, [1, 2, 2], 'what the first took before counts in its share')
      await eventually('all know', () => members.every(({ shared }) => shared.isDegraded()))
      t.equal(sum(await passed(members, 30)), 0)
      t.equal(members[0].shared.counters.take({ name: 'x', perMinute: 4, take: 1 }) instanceof Promise, false, 'nobody waits')
      for (const { reports } of members) t.match(reports, [{ kind: 'shared-lost', reason: /^E[A-Z]+$|not connected/ }], 'said once')
      await server.start()
      await eventually('together again', () => members.every(({ shared }) => !shared.isDegraded()))
      for (const { reports } of members) t.match(reports, { length: 2, 1: { kind: 'shared-back' } })
      t.equal(sum(await passed(members, 30)), 4, 'shared again')
    })

  t.test('a server that does not answer counts as gone, and comes back', async (t) => {
    const members = await joinAll(t, [server.url, server.url])
    await Promise.all(members.map(({ shared }) => shared.ready))
    server.pause()
    t.teardown(() => server.resume())
    t.same(await passed(members, 20), [2, 2])
    await eventually('all know', () => members.every(({ shared }) => shared.isDegraded()))
    t.match(members[0].reports, [{ kind: 'shared-lost', reason: 'no answer in time' }])
    server.resume()
    await eventually('together again', () => members.every(({ shared }) => !shared.isDegraded()))
    const more = await passed(members, 30)
    t.ok(sum(more) <= 4, `${more}`)
  })

  t.test('a server that answers and no longer writes counts as gone', async (t) => {
    const redis = new Redis(server.url)
    t.teardown(() => redis.disconnect())
    const member = await join(t, server.url)
    await member.shared.ready
    await redis.call('REPLICAOF', '127.0.0.1', '1')
    t.same(await passed([member], 20), [2])
    await eventually('alone', () => member.shared.isDegraded())
    t.match(member.reports, [{ kind: 'shared-lost', reason: /^READONLY$|not connected/ }])
    await redis.call('REPLICAOF', 'NO', 'ONE')
    await eventually('together', () => !member.shared.isDegraded())
  })

  t.test('a server that is silent when the connection is made, and speaks later', async (t) => {
    server.pause()
    t.teardown(() => server.resume())
    const member = await join(t, server.url)
    await member.shared.ready
    t.same(await passed([member], 20), [2])
    await eventually('alone', () => member.shared.isDegraded())
    server.resume()
    await eventually('together', () => !member.shared.isDegraded())
    t.equal(await taken(member, { name: 'new' }), true)
  })

  t.test('a start without the server: alone from the first request on, together when it comes', async (t) => {
    await server.stop()
    const member = await join(t, server.url)
    await member.shared.ready
    t.same(await passed([member], 20), [2])
    await server.start()
    await eventually('together', () => !member.shared.isDegraded())
    t.match(member.reports, [{ kind: 'shared-lost', reason: 'ECONNREFUSED' }, { kind: 'shared-back' }])
  })
}

function weather(t: Test, server: RedisServer): void {
  t.test('every request gets a decision while the server is killed and started five times', async (t) => {
    const members = await joinAll(t, [server.url, server.url])
    let over = false
    let answers = 0
    const asking = members.map(async (member) => {
      while (!over) {
        await Promise.all([taken(member, { perMinute: 1_000_000 }), taken(member, { perMinute: 1_000_000, name: 'other' })])
        answers++
        await turn()
      }
    })
    for (let round = 0; round < 5; round++) {
      const before = answers
      await server[round % 2 === 0 ? 'kill' : 'stop']()
      await eventually('alone', () => members.every(({ shared }) => shared.isDegraded()) && answers > before + 5)
      await server.start()
      await eventually('together', () => members.every(({ shared }) => !shared.isDegraded()))
    }
    over = true
    await Promise.all(asking)
    for (const { reports } of members) {
      t.same(
        reports.map(({ kind }) => kind),
        Array.from({ length: 5 }, () => ['shared-lost', 'shared-back']).flat(),
      )
    }
  })
}

function messages(t: Test, server: RedisServer): void {
  t.test('a message reaches all but its sender, and no other database or prefix', async (t) => {
    const urls = [server.url, server.url, `${server.url}/3`, server.url]
    const members = await Promise.all(urls.map((url, i) => join(t, url, { prefix: i === 3 ? 'other:' : 'news:' })))
    const heard: unknown[][] = members.map(() => [])
    members.forEach(({ shared }, i) => {
      shared.pubSub.subscribe('session', (message) => heard[i].push(message))
    })
    await Promise.all(members.map(({ shared }) => shared.ready))
    await eventually('heard', () => {
      members[0].shared.pubSub.publish('session', { from: 0 })
      members[2].shared.pubSub.publish('session', { from: 2 })
      members[3].shared.pubSub.publish('session', { from: 3 })
      members[1].shared.pubSub.publish('session', { from: 1 })
      return heard[0].length > 0 && heard[1].length > 0
    })
    const speaker = new Redis(server.url)
    t.teardown(() => speaker.disconnect())
    const channel = 'news:news:v1:0:session'
    for (const bad of ['', '{', 'null', '[]', '["x"]', '[1,2]', `["x","${'y'.repeat(5_000)}"]`]) await speaker.publish(channel, bad)
    await speaker.publish(channel, '["x","last"]')
    await eventually('the last', () => heard[1].includes('last') && heard[0].includes('last'))
    t.same(new Set(heard[0].map((one) => JSON.stringify(one))), new Set(['{"from":1}', '"last"']))
    t.same(new Set(heard[1].map((one) => JSON.stringify(one))), new Set(['{"from":0}', '"last"']))
    t.same([heard[2], heard[3]], [[], []])
  })

  t.test('after an outage messages arrive again, and the secret that all share is the same one', async (t) => {
    const members = await joinAll(t, [server.url, server.url])
    const secrets: string[][] = [[], []]
    const heard: unknown[] = []
    members.forEach(({ shared }, i) => {
      shared.pubSub.commonSecret?.((secret) => secrets[i].push(secret))
    })
    members[1].shared.pubSub.subscribe('outage', (message) => heard.push(message))
    await eventually('a secret', () => secrets.every((list) => list.length === 1))
    t.equal(secrets[0][0], secrets[1][0])
    t.match(secrets[0][0], /^[\w-]{24}$/)
    await server.kill()
    await server.start()
    await eventually('heard again', () => {
      members[0].shared.pubSub.publish('outage', 'again')
      return heard.includes('again')
    })
    const late = await join(t, server.url)
    const found: string[] = []
    late.shared.pubSub.commonSecret?.((secret) => found.push(secret))
    await eventually('the secret', () => found.length === 1)
    t.equal(found[0], secrets[0].at(-1), 'the server had lost it, the others had not')
    t.same(secrets[0], secrets[1])
  })

  t.test('drops announcements beyond the limit per second', async (t) => {
    const clock = new FakeClock()
    const shared = await connectShared(server.url, { clock, processes: () => 1, report: () => {}, prefix: 'many:' })
    t.teardown(() => shared.close())
    await shared.ready
    const listener = new Redis(server.url)
    t.teardown(() => listener.disconnect())
    let count = 0
    let last = false
    listener.on('message', (_channel, text: string) => {
      count++
      last ||= text.includes('"last"')
    })
    await listener.subscribe('many:news:v1:0:outage')
    for (let i = 0; i < 5_000; i++) shared.pubSub.publish('outage', i)
    await clock.advance(1_000)
    shared.pubSub.publish('outage', 'last')
    await eventually('the last', () => last)
    t.equal(count, 101)
  })
}

function secrecy(t: Test, server: RedisServer): void {
  t.test('a user without the right to subscribe still shares limits, and the loss of announcements is reported once', async (t) => {
    const redis = new Redis(server.url)
    t.teardown(() => redis.disconnect())
    await redis.call('ACL', 'SETUSER', 'mute', 'on', '>pa55word', '~*', '+@all', 'resetchannels')
    const member = await join(t, server.url.replace('redis://', 'redis://mute:pa55word@'))
    member.shared.pubSub.subscribe('session', () => {})
    member.shared.pubSub.subscribe('outage', () => {})
    await member.shared.ready
    await eventually('deaf', () => member.reports.length > 0)
    t.equal(await taken(member), true)
    member.shared.pubSub.publish('session', 'nobody hears')
    t.equal(await taken(member), true)
    t.same(member.reports, [{ kind: 'news-lost', reason: 'NOPERM' }])
  })

  t.test('neither the address nor the password is ever told', async (t) => {
    const guarded = await startRedis({ password: 'pa55word-of-the-server' })
    if (!guarded) throw new Error('it was there just now')
    t.teardown(() => guarded.close())
    const right = await join(t, guarded.url)
    await right.shared.ready
    t.equal(await taken(right), true)
    t.same(right.reports, [])
    const wrong = await join(t, guarded.url.replace('pa55word', 'an0ther'))
    wrong.shared.pubSub.subscribe('session', () => {})
    await wrong.shared.ready
    t.equal(await taken(wrong), true)
    await eventually('alone', () => wrong.shared.isDegraded())
    await guarded.stop()
    await eventually('alone', async () => (await taken(right, { name: 'y' })) && right.shared.isDegraded())
    await turn()
    const told = JSON.stringify([right.reports, wrong.reports])
    t.match(wrong.reports[0], { kind: 'shared-lost', reason: 'WRONGPASS' })
    t.notMatch(told, /pa55word|an0ther|of-the-server/)
  })
}

const server = await startRedis()
if (server) {
  t.teardown(() => server.close())
  laws(t, server)
  outages(t, server)
  weather(t, server)
  messages(t, server)
  secrecy(t, server)
} else t.plan(0, 'neither redis-server nor valkey-server is installed')
