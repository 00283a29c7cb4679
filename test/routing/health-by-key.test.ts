/**
 * Failures of one key's requests move that key: the others by stated rules alone (a second key or a probe of the gateway's own fails as
 * well, the connection itself fails, or one key uses the endpoint alone and more than half of its last 20 requests fail).
 */
import fc from 'fast-check'
import t from 'tap'
import { Fault } from '../../src/core/faults.ts'
import { HealthBook } from '../../src/routing/health.ts'
import { orderEndpoints } from '../../src/routing/order.ts'
import { FakeClock } from '../support/clock.ts'
import { Hub } from '../support/hub.ts'
import { property } from '../support/seed.ts'
import { model, slugs } from './catalogue.ts'

const [a, b] = model('a/m', ['a', 'b']).endpoints
const BROKEN = new Fault('upstream_error')
const SERVED = { firstTokenMs: 100, tokensPerSecond: 50 }

function rig() {
  const clock = new FakeClock()
  const book = new HealthBook(clock)
  return {
    clock,
    book,
    fail: (key: string, times = 1, status: number | null = 500) => {
      for (let i = 0; i < times; i++) book.failure(a, BROKEN, { key, status })
    },
    serve: (key: string, times = 1) => {
      for (let i = 0; i < times; i++) book.success(a, SERVED, key)
    },
    first: (key: string) => slugs(orderEndpoints([a, b], {}, () => 0, book.forKey(key)))[0],
    ejected: (key: string) => book.forKey(key).ejected(a),
  }
}

t.test('a failure moves the key that had it at once, and its own success brings it back', async (t) => {
  const { clock, fail, serve, first, ejected } = rig()
  serve('other')
  fail('bad')
  t.same([first('bad'), first('other'), first('third')], ['b', 'a', 'a'])
  fail('bad', 6)
  t.same([ejected('bad'), ejected('other')], [true, false], 'seven requests with one bad conversation')
  await clock.advance(1_000)
  t.equal(ejected('bad'), false, 'its probe is due')
  serve('other')
  t.equal(first('bad'), 'b', 'others that are served say nothing of what this key sends')
  serve('bad')
  t.equal(first('bad'), 'a')
})

t.test('a second key moves everybody', (t) => {
  const { fail, serve, first, ejected } = rig()
  fail('one', 7)
  fail('two')
  t.same([first('one'), first('two'), first('three')], ['b', 'b', 'b'])
  t.equal(ejected('three'), true, 'more than five in a row, of two keys')
  serve('three')
  t.same([first('one'), first('two'), first('three')], ['a', 'a', 'a'], 'it was the endpoint for all: its success forgives all')
  t.end()
})

t.test('two keys of one owner move all keys of that owner and no others; one of another owner moves everybody', async (t) => {
  const { clock, book, serve } = rig()
  const fail = (key: string, owner?: string, times = 1) => {
    for (let i = 0; i < times; i++) book.failure(a, BROKEN, { key, owner, status: 500 })
  }
  const first = (key: string, owner?: string) => slugs(orderEndpoints([a, b], {}, () => 0, book.forKey(key, owner)))[0]
  serve('bystander')
  fail('one', 'ann', 10)
  t.equal(first('three', 'ann'), 'a')
  fail('two', 'ann', 10)
  t.same([first('one', 'ann'), first('two', 'ann'), first('three', 'ann')], ['b', 'b', 'b'])
  t.same([first('bystander'), first('other', 'bob')], ['a', 'a'])
  t.equal(book.forKey('other', 'bob').ejected(a), false)
  t.equal(book.forKey('other', 'bob').band(a), 0, 'nor do they lower the share of the others')
  book.success(a, SERVED, 'three', 'ann')
  t.equal(first('four', 'ann'), 'a', 'a success of one of them is one for all')
  fail('one', 'ann')
  fail('two', 'ann')
  fail('other', 'bob')
  t.same([first('bystander'), first('four', 'ann')], ['b', 'b'])
  await clock.advance(30_001)
  t.equal(first('bystander'), 'a')
})

t.test('keys of one owner that use an endpoint alone, of whose last 20 requests over half fail', (t) => {
  const { book } = rig()
  for (let i = 0; i < 11; i++) book.failure(a, BROKEN, { key: `key ${i}`, owner: 'ann', status: 500 })
  t.equal(slugs(orderEndpoints([a, b], {}, () => 0, book.forKey('other', 'bob')))[0], 'b')
  t.end()
})

t.test('the owner of a key goes to the other processes', (t) => {
  const hub = new Hub()
  const clock = new FakeClock()
  const [one, two] = [0, 1].map(() => {
    const book = new HealthBook(clock)
    book.share(hub.end())
    return book
  }) as [HealthBook, HealthBook]
  for (let i = 0; i < 5; i++) one.failure(a, BROKEN, { key: 'one', owner: 'ann', status: 500 })
  hub.deliver()
  t.equal(two.forKey('one', 'ann').ejected(a), true)
  two.failure(a, BROKEN, { key: 'two', owner: 'ann', status: 500 })
  t.equal(two.forKey('other').recentOutage(a), false, 'another key of the same owner')
  two.failure(a, BROKEN, { key: 'three', owner: 'bob', status: 500 })
  t.equal(two.forKey('other').recentOutage(a), true)
  t.end()
})

t.test('two keys that fail with a success between them move themselves alone', async (t) => {
  const { clock, fail, serve, first } = rig()
  fail('one')
  serve('three')
  fail('two')
  t.same([first('one'), first('two'), first('three')], ['b', 'b', 'a'])
  serve('three')
  fail('one')
  await clock.advance(30_001)
  fail('two')
  t.equal(first('three'), 'a', 'half a minute later it is no second failure')
  t.end()
})

t.test('a connection that fails, and a probe of the gateway’s own, move everybody', (t) => {
  for (const [fault, status] of [
    [new Fault('upstream_connect'), null],
    [BROKEN, 502],
    [BROKEN, 503],
    [new Fault('upstream_overloaded'), 503],
  ] as const) {
    const { book, serve, first } = rig()
    serve('other')
    book.failure(a, fault, { key: 'one', status })
    t.same([first('one'), first('other')], ['b', 'b'], `${fault.code} ${status}`)
  }
  for (const [fault, status] of [
    [new Fault('upstream_cut'), null],
    [new Fault('upstream_silent'), 504],
    [new Fault('upstream_auth'), 401],
    [new Fault('upstream_credit'), 402],
    [BROKEN, 200],
  ] as const) {
    const { book, serve, first } = rig()
    serve('other')
    book.failure(a, fault, { key: 'one', status })
    t.same([first('one'), first('other')], ['b', 'a'], `${fault.code} ${status}`)
  }
  const { book, fail, serve, first } = rig()
  serve('other')
  book.failure(a, BROKEN)
  t.equal(first('other'), 'b', 'a probe')
  serve('other')
  fail('one')
  t.equal(first('other'), 'a', 'and then one key')
  t.end()
})

t.test('one key that uses an endpoint alone moves others once more than half of its last 20 requests have failed', async (t) => {
  const { clock, fail, serve, first } = rig()
  fail('one', 10)
  t.equal(first('new'), 'a')
  fail('one')
  t.equal(first('new'), 'b', 'eleven')
  serve('one', 10)
  t.equal(first('new'), 'a')
  fail('one')
  t.equal(first('new'), 'a', 'eleven of 22: of the last 20 ten have failed')
  serve('new')
  fail('one', 30)
  t.equal(first('new'), 'a', 'another key uses it')
  await clock.advance(300_001)
  fail('one')
  t.equal(first('new'), 'b', 'and does no more, for five minutes')
})

t.test('a provider’s demand for a pause is for all where it is about its load, else for the key alone', (t) => {
  for (const [code, status, all] of [
    ['upstream_limited', 429, true],
    ['upstream_overloaded', 529, true],
    ['upstream_error', 503, true],
    ['upstream_error', 500, false],
    ['upstream_rejected', 400, false],
  ] as const) {
    const { book, serve } = rig()
    serve('other')
    book.failure(a, new Fault(code, { retryAfter: 20 }), { key: 'one', status })
    t.same([book.forKey('one').resting(a), book.forKey('other').resting(a)], [true, all], `${code} ${status}`)
  }
  t.end()
})

t.test('what the requests of one key fail for does not lower the band of others', (t) => {
  const { book, fail, serve } = rig()
  for (let round = 0; round < 200; round++) {
    fail('bad')
    serve('bad')
    serve(`good${round % 7}`)
  }
  t.same([book.forKey('bad').band(a), book.forKey('good1').band(a), book.forKey('new').band(a)], [2, 0, 0])
  for (let round = 0; round < 200; round++) {
    fail('worse')
    serve('worse')
  }
  t.not(book.forKey('good1').band(a), 0, 'two keys are more than one')
  t.end()
})

t.test('failures of keys that are forgotten still count', (t) => {
  const { book, fail, serve } = rig()
  serve('good', 100)
  for (let key = 0; key < 200; key++) {
    fail(`k${key}`)
    serve('good')
  }
  t.equal(book.forKey('good').band(a), 2, 'an endpoint that fails for many keys, each once')
  t.end()
})

t.test('processes hear of one key’s ejection as of that key’s, and of all keys’ as of all keys’', (t) => {
  const clock = new FakeClock()
  const hub = new Hub()
  const [one, two] = [0, 1].map(() => {
    const book = new HealthBook(clock)
    book.share(hub.end())
    return book
  })
  two.success(a, SERVED, 'other')
  const ejected = () => ['bad', 'other'].map((key) => two.forKey(key).ejected(a))
  for (let i = 0; i < 15; i++) one.failure(a, BROKEN, { key: 'bad', status: 500 })
  t.same([one.forKey('bad').ejected(a), one.forKey('new').ejected(a)], [true, true], 'it is the only key there')
  hub.deliver()
  t.same(ejected(), [true, false], 'and not here')
  one.success(a, SERVED, 'bad')
  hub.deliver()
  t.same(ejected(), [false, false], 'its end as well')
  for (let i = 0; i < 5; i++) one.failure(a, BROKEN, { key: i % 2 === 0 ? 'bad' : 'worse', status: 500 })
  hub.deliver()
  t.same(ejected(), [true, true], 'two keys')
  t.end()
})

t.test('news of one key count as its failure where a second key fails', (t) => {
  const clock = new FakeClock()
  const hub = new Hub()
  const [one, two] = [0, 1].map(() => {
    const book = new HealthBook(clock)
    book.share(hub.end())
    return book
  })
  for (let i = 0; i < 5; i++) one.failure(a, BROKEN, { key: 'bad', status: 500 })
  hub.deliver()
  two.failure(a, BROKEN, { key: 'second', status: 500 })
  t.equal(two.forKey('third').recentOutage(a), true)
  t.end()
})

t.test('whatever one key does, another gets what it gets without it', (t) => {
  const keys = ['good', 'fine', 'well']
  const move = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('bad' as const),
        outcome: fc.constantFrom('500', '500 later', 'cut', 'silent', '401', '200'),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('bad served' as const) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('served' as const), key: fc.constantFrom(...keys) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 40_000 }) }) },
  )
  const FAULTS = {
    '500': [BROKEN, 500],
    '500 later': [new Fault('upstream_error', { retryAfter: 50 }), 500],
    cut: [new Fault('upstream_cut'), null],
    silent: [new Fault('upstream_silent'), null],
    '401': [new Fault('upstream_auth'), 401],
    '200': [BROKEN, 200],
  } as const
  const holds = fc.asyncProperty(fc.array(move, { maxLength: 60 }), async (moves) => {
    const clock = new FakeClock()
    const [both, without] = [new HealthBook(clock), new HealthBook(clock)]
    // The others use it: the rule for one key alone does not apply.
    let used = 0
    for (const book of [both, without]) book.success(a, SERVED, 'good')
    for (const each of moves) {
      if (each.kind === 'wait') await clock.advance(each.ms)
      else if (each.kind === 'served') for (const book of [both, without]) book.success(a, SERVED, each.key)
      else if (each.kind === 'bad served') both.success(a, SERVED, 'bad')
      else {
        const [fault, status] = FAULTS[each.outcome]
        both.dispatched(a, 'bad')
        both.failure(a, fault, { key: 'bad', status })
      }
      if (each.kind === 'served') used = clock.monotonic()
      if (clock.monotonic() - used > 240_000) {
        for (const book of [both, without]) book.success(a, SERVED, 'good')
        used = clock.monotonic()
      }
      for (const key of keys) {
        const [seen, alone] = [both, without].map((book) => {
          const health = book.forKey(key)
          return [health.ejected(a), health.recentOutage(a), health.resting(a), health.failing(a), health.band(a)]
        })
        if (JSON.stringify(seen) !== JSON.stringify(alone)) return false
      }
    }
    return true
  })
  return fc.assert(holds, property(300, 5_000)).then(() => t.pass('no key was moved'))
})
