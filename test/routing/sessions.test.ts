/** Sticky sessions against the plainest model of them. */
import fc from 'fast-check'
import t from 'tap'
import { StickySessions } from '../../src/routing/sessions.ts'
import { FakeClock } from '../support/clock.ts'
import { property } from '../support/seed.ts'

const IDLE = 600_000
const word = fc.constantFrom('', 'a', 'ab', 'b', 'a:', ':', '1:1:a')
const place = fc.record({ key: word, model: word, session: word })
const step = fc.oneof(
  fc.record({ kind: fc.constant('get' as const), place }),
  fc.record({ kind: fc.constant('set' as const), place, endpoint: fc.constantFrom('m@x', 'm@y') }),
  fc.record({ kind: fc.constant('wait' as const), ms: fc.oneof(fc.nat(400_000), fc.constantFrom(IDLE - 1, IDLE, IDLE + 1)) }),
)

t.test('a pin is found for ten minutes after it was last set, by its key, model and session alone', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const clock = new FakeClock()
      const sessions = new StickySessions(clock)
      const pins = new Map<string, { endpoint: string; until: number }>()
      for (const one of steps) {
        if (one.kind === 'wait') {
          await clock.advance(one.ms)
          continue
        }
        const { key, model, session } = one.place
        const name = JSON.stringify([key, model, session])
        if (one.kind === 'set') {
          sessions.set({ ...one.place, endpoint: one.endpoint })
          pins.set(name, { endpoint: one.endpoint, until: clock.monotonic() + IDLE })
        } else {
          const pin = pins.get(name)
          const found = sessions.get(key, model, session)
          const expected = pin && clock.monotonic() <= pin.until ? pin.endpoint : undefined
          if (found !== expected) throw new Error(`${name}: found ${found}, expected ${expected}`)
        }
      }
    }),
    property(200, 20_000),
  )
  t.pass('all as the model has it')
})

t.test('bounded: the conversation idle longest goes first', async (t) => {
  const sessions = new StickySessions(new FakeClock(), 100)
  for (let i = 0; i < 1000; i++) sessions.set({ key: 'k', model: 'm', session: `${i}`, endpoint: 'm@x' })
  t.equal(sessions.size, 100)
  t.equal(sessions.get('k', 'm', '900'), 'm@x')
  t.equal(sessions.get('k', 'm', '899'), undefined)
})
