/** Long scans share the event loop with requests. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { Pace } from '../../src/ledger/pace.ts'

t.test('scans that go on in one turn of the event loop share its slice, and the next turn has one of its own', async (t) => {
  let now = 0
  Object.defineProperty(performance, 'now', { value: () => now, configurable: true })
  t.teardown(() => Reflect.deleteProperty(performance, 'now'))
  // Whatever began before this turn has ended.
  await nextTurn()
  const first = Pace.ofList()
  t.notOk(first.over)
  now += 6
  const second = Pace.ofList()
  t.ok(first.over)
  t.ok(second.over, 'a scan that begins where another has used the slice up')
  await nextTurn()
  t.notOk(second.over)
})
