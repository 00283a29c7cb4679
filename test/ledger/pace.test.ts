/** Long scans share the event loop with requests. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { Pace } from '../../src/ledger/pace.ts'

function workFor(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

t.test('scans that go on in one turn of the event loop share its slice, and the next turn has one of its own', async (t) => {
  const first = Pace.ofList()
  workFor(6)
  const second = Pace.ofList()
  t.ok(first.over)
  t.ok(second.over, 'a scan that begins where another has used the slice up')
  await nextTurn()
  t.notOk(Pace.ofList().over)
})
