/** Messages between processes about sticky sessions and outages, over a wire in memory. */
import fc from 'fast-check'
import t from 'tap'
import { Fault } from '../../src/core/faults.ts'
import type { Json } from '../../src/core/json.ts'
import { conversationName } from '../../src/pipeline/route/conversation.ts'
import { HealthBook, StickySessions } from '../../src/routing/index.ts'
import { model, usdPerMillion } from '../routing/catalogue.ts'
import { FakeClock } from '../support/clock.ts'
import { Hub } from '../support/hub.ts'
import { property } from '../support/seed.ts'

const pin = (endpoint: string, session = 's') => ({ key: 'k', model: 'm', session, endpoint })

function sessionScene(count = 2) {
  const clock = new FakeClock()
  const hub = new Hub()
  const members = Array.from({ length: count }, () => {
    const sessions = new StickySessions(clock, 100)
    sessions.share(hub.end())
    return sessions
  })
  const pinned = () => members.map((sessions) => sessions.get('k', 'm', 's'))
  return { clock, hub, members, pinned }
}

t.test('a process announces a new or changed pin, repeats it once a minute, and does not announce the pins of others', async (t) => {
  const { clock, hub, members, pinned } = sessionScene(3)
  const [a, b] = members
  a.set(pin('m@x'))
  t.equal(hub.deliver(), 1)
  t.same(pinned(), ['m@x', 'm@x', 'm@x'])
  for (let i = 0; i < 59; i++) {
    a.set(pin('m@x'))
    b.set(pin('m@x'))
    await clock.advance(1_000)
  }
  t.equal(hub.deliver(), 0)
  await clock.advance(1_000)
  a.set(pin('m@x'))
  t.equal(hub.deliver(), 1)
  b.set(pin('m@y'))
  t.equal(hub.deliver(), 1)
  t.same(pinned(), ['m@y', 'm@y', 'm@y'], 'a change holds everywhere')
  await clock.advance(600_001)
  t.same(pinned(), [undefined, undefined, undefined], 'ten idle minutes end it everywhere')
})

t.test('a pin that is announced every minute does not expire in other processes', async (t) => {
  const { clock, hub, members, pinned } = sessionScene()
  for (let minute = 0; minute < 30; minute++) {
    members[0].set(pin('m@x'))
    hub.deliver()
    await clock.advance(60_000)
  }
  t.same(pinned(), ['m@x', 'm@x'])
})

t.test('processes that pin at the same time agree in the end, whatever the order', async (t) => {
  const step = fc.record({ who: fc.nat(2), endpoint: fc.constantFrom('m@x', 'm@y', 'm@z'), deliver: fc.nat(3) })
  await fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 30 }), (steps) => {
      const { hub, members, pinned } = sessionScene(3)
      for (const { who, endpoint, deliver } of steps) {
        members[who].set(pin(endpoint))
        hub.deliver(deliver)
      }
      hub.deliver()
      if (new Set(pinned()).size !== 1) throw new Error(`${pinned()}`)
    }),
    property(500, 20_000),
  )
  t.pass('always')
})

t.test('ignores malformed announcements of pins', (t) => {
  const { hub, members, pinned } = sessionScene(1)
  const good: Json[] = ['k', 'm', 's', 'm@x', 1]
  const bad: Json[] = [null, 'text', 1, {}, [], good.slice(0, 4), [...good, 1]]
  good.forEach((_, i) => {
    for (const wrong of [null, '', 0, -1, 1.5, {}, 'y'.repeat(2_000)]) bad.push(good.with(i, wrong))
  })
  for (const message of bad) hub.inject('session', message)
  t.equal(members[0].size, 0)
  hub.inject('session', good)
  t.same(pinned(), ['m@x'])
  t.end()
})

t.test('a conversation without a name has the same one in all processes of a wire', (t) => {
  const cheaper = { ...usdPerMillion('1', '1'), cached: usdPerMillion('0.1').prompt }
  const { endpoints } = model('a/m', [{ price: cheaper }, 'b'])
  const exchange = { gateway: { models: [], plugins: [], echoUpstreamBody: false }, body: { input: 'Hello' } }
  const { members } = sessionScene(2)
  const nameWith = (secret: string | undefined) => conversationName(exchange, endpoints, secret)?.name
  t.type(nameWith(undefined), 'string')
  t.equal(nameWith(members[0].commonSecret), nameWith(members[1].commonSecret))
  t.not(nameWith(members[0].commonSecret), nameWith(undefined))
  t.end()
})

const [endpoint, other] = model('a/m', ['a', 'b']).endpoints
const TROUBLE = new Fault('upstream_error')
const SERVED = { firstTokenMs: 1, tokensPerSecond: 1 }

function healthScene() {
  const clock = new FakeClock()
  const hub = new Hub()
  const books = [0, 1].map(() => {
    const book = new HealthBook(clock)
    book.share(hub.end())
    return book
  })
  const [a, b] = books
  const eject = () => {
    for (let i = 0; i < 5; i++) a.failure(endpoint, TROUBLE)
  }
  const ejected = () => books.map((book) => book.ejected(endpoint))
  return { clock, hub, a, b, eject, ejected }
}

t.test('an ejection holds in the other process for its time, and then that one probes for itself', async (t) => {
  const { clock, hub, a, b, eject, ejected } = healthScene()
  for (let i = 0; i < 4; i++) a.failure(endpoint, TROUBLE)
  t.equal(hub.utterance.length, 0, 'four failures are not published')
  a.success(endpoint, SERVED)
  t.equal(hub.utterance.length, 0)
  eject()
  t.same(ejected(), [true, false])
  const due = a.dueIn(endpoint)
  hub.deliver()
  t.same(ejected(), [true, true])
  t.ok(b.dueIn(endpoint) - due < 1, 'the same time')
  t.equal(b.ejected(other), false)
  await clock.advance(Math.ceil(due))
  t.same(ejected(), [false, false])
  b.dispatched(endpoint)
  t.same(ejected(), [false, true], 'one probe at a time in each')
  b.failure(endpoint, TROUBLE)
  t.ok(b.dueIn(endpoint) > 1_500, 'a probe that fails ejects anew, for longer')
  hub.deliver()
  t.ok(a.dueIn(endpoint) > 1_500)
  t.equal(hub.utterance.length, 0, 'what was heard is not told again')
})

t.test('its end makes the other one probe at once', async (t) => {
  const { clock, hub, a, b, eject, ejected } = healthScene()
  eject()
  hub.deliver()
  await clock.advance(100)
  a.success(endpoint, SERVED)
  t.same(ejected(), [false, true])
  t.equal(hub.deliver(), 1)
  t.same(ejected(), [false, false])
  b.dispatched(endpoint)
  t.equal(b.ejected(endpoint), true, 'a probe, not all that wait')
  b.success(endpoint, SERVED)
  t.same(ejected(), [false, false])
})

t.test('a process whose probe succeeds ignores a second ejection by the other process for a minute', async (t) => {
  const { clock, hub, b, eject } = healthScene()
  eject()
  hub.deliver()
  t.equal(b.ejected(endpoint), true)
  b.success(endpoint, SERVED)
  hub.inject('outage', [endpoint.id, 30_000, 5])
  t.equal(b.ejected(endpoint), false)
  await clock.advance(60_000)
  hub.inject('outage', [endpoint.id, 30_000, 5])
  t.equal(b.ejected(endpoint), true, 'a minute later it is heard again')
})

t.test('shortens a stated time to the longest one, and ignores other messages', (t) => {
  const { hub, b } = healthScene()
  const good: Json[] = [endpoint.id, 500, 1]
  for (const message of [null, 'x', {}, [], good.slice(1), [...good, 1]]) hub.inject('outage', message)
  for (const wrong of ['', 'y'.repeat(2_000), 7, null]) hub.inject('outage', good.with(0, wrong))
  for (const wrong of [-1, 0.5, '5', null, 1e300]) {
    hub.inject('outage', good.with(1, wrong))
    hub.inject('outage', good.with(2, wrong))
  }
  t.equal(b.ejected(endpoint), false)
  hub.inject('outage', [endpoint.id, 86_400_000, 1_000])
  t.equal(b.dueIn(endpoint), 30_000)
  b.success(endpoint, SERVED)
  t.equal(b.ejected(endpoint), false)
  t.end()
})
