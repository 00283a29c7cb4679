import t from 'tap'
import { Fault, type FaultCode } from '../../src/core/faults.ts'
import { Cancellation, DrainSlots } from '../../src/pipeline/attempt/upstream-attempt.ts'
import { CancelSource } from '../../src/pipeline/exchange.ts'
import { FakeClock } from '../support/clock.ts'

const CANCEL = { onAbort: 'cancel' } as const
const DRAIN = { onAbort: 'drain' } as const

/** An attempt that writes down what it is called for. */
function createAttempt(sent: boolean) {
  const calls: string[] = []
  const clock = new FakeClock()
  const cancel = new CancelSource()
  const drains = new DrainSlots()
  const cancellation = new Cancellation(
    { clock, cancel },
    {
      sent,
      fail: (fault) => calls.push(`fail ${fault.code}`),
      readOn: () => calls.push('readOn'),
      gone: () => calls.push('gone'),
    },
  )
  return { calls, clock, cancel, drains, cancellation }
}

t.test('a caller that leaves: the reply is read on, and given up after 2 s, or 30 s where the provider drains', async (t) => {
  for (const [provider, ms] of [
    [CANCEL, 2_000],
    [DRAIN, 30_000],
  ] as const) {
    const { calls, clock, cancel, drains, cancellation } = createAttempt(true)
    cancellation.watch(provider, drains)
    t.notOk(cancellation.discarding)
    cancel.abort(new Fault('client_gone'))
    t.same(calls, ['readOn'])
    t.ok(cancellation.discarding)
    await clock.advance(ms - 1)
    t.same(calls, ['readOn'])
    await clock.advance(1)
    t.same(calls, ['readOn', 'gone'])
  }
})

t.test('an attempt that ends while it is read on hears nothing more, and gives its place back', async (t) => {
  const { calls, clock, cancel, drains, cancellation } = createAttempt(true)
  cancellation.watch(CANCEL, drains)
  cancel.abort(new Fault('client_gone'))
  cancellation.end()
  await clock.advance(60_000)
  drains.close()
  t.same(calls, ['readOn'])
})

t.test('an attempt that has ended is not cancelled', (t) => {
  const { calls, cancel, drains, cancellation } = createAttempt(true)
  cancellation.watch(CANCEL, drains)
  cancellation.end()
  cancel.abort(new Fault('client_gone'))
  t.same(calls, [])
  t.end()
})

t.test('nothing is read on that was not sent, that has a deadline, or whose process ends', (t) => {
  const cases: [code: FaultCode, sent: boolean, call: string][] = [
    ['client_gone', false, 'gone'],
    ['deadline', true, 'fail deadline'],
    ['deadline', false, 'fail deadline'],
    ['shutdown', true, 'gone'],
  ]
  for (const [code, sent, call] of cases) {
    const { calls, cancel, drains, cancellation } = createAttempt(sent)
    cancellation.watch(DRAIN, drains)
    cancel.abort(new Fault(code))
    t.same(calls, [call], code)
    t.notOk(cancellation.discarding)
  }
  t.end()
})

t.test('a cancellation that came before is reported at once', (t) => {
  const { calls, cancel, drains, cancellation } = createAttempt(false)
  cancel.abort(new Fault('client_gone'))
  cancellation.watch(CANCEL, drains)
  t.same(calls, ['gone'])
  t.end()
})
