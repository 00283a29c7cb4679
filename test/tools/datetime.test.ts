import t from 'tap'
import { Fault } from '../../src/core/faults.ts'
import type { Clock, Host } from '../../src/plugin-api/index.ts'
import { DiskFiles } from '../../src/services/files/index.ts'
import { datetime } from '../../src/tools/datetime/tool.ts'
import { serverTools } from '../../src/tools/registry.ts'
import { every } from '../support/every.ts'

function hostAt(iso: string): Host {
  const clock: Clock = {
    now: () => Date.parse(iso),
    monotonic: () => 0,
    after: () => ({ cancel: () => {} }),
    random: () => 0,
  }
  return { clock, estimateTokens: (text) => text.length, files: new DiskFiles({ path: undefined, maxFile: 0, maxBytes: 0 }, clock) }
}

const { signal } = new AbortController()

t.test('the registry lists the tool under the name without the brand', async (t) => {
  t.ok(serverTools.includes(datetime))
  t.equal(datetime.name, 'datetime')
  t.equal(new Set(serverTools.map((tool) => tool.name)).size, serverTools.length)
})

t.test('the same instant in several zones', async (t) => {
  const cases: [zone: string | undefined | null, at: string, expected: string][] = [
    [undefined, '2026-03-01T12:00:00.000Z', '2026-03-01T12:00:00.000+00:00'],
    [null, '2026-03-01T12:00:00.000Z', '2026-03-01T12:00:00.000+00:00'],
    ['Europe/Berlin', '2026-03-01T12:00:00.000Z', '2026-03-01T13:00:00.000+01:00'],
    ['Europe/Berlin', '2026-07-01T23:30:00.500Z', '2026-07-02T01:30:00.500+02:00'],
    ['Asia/Kolkata', '2026-12-31T20:00:00.000Z', '2027-01-01T01:30:00.000+05:30'],
    ['America/St_Johns', '2026-01-01T01:00:00.000Z', '2025-12-31T21:30:00.000-03:30'],
    ['Pacific/Kiritimati', '2026-01-01T11:00:00.000Z', '2026-01-02T01:00:00.000+14:00'],
    // The two sides of a change to summer time.
    ['America/New_York', '2026-03-08T06:59:59.000Z', '2026-03-08T01:59:59.000-05:00'],
    ['America/New_York', '2026-03-08T07:00:00.000Z', '2026-03-08T03:00:00.000-04:00'],
  ]
  await every(t, 'every case', async (t) => {
    for (const [zone, at, expected] of cases) {
      const parameters = datetime.parse(zone === undefined ? {} : { timezone: zone }, 'tools[0].parameters')
      const outcome = await datetime.run({}, parameters, hostAt(at), signal)
      t.equal(outcome.status, 'completed')
      t.same(outcome.item, { datetime: expected, timezone: zone ?? 'UTC' })
      t.same(JSON.parse(outcome.output), outcome.item, 'the model is told the same')
      t.equal(Date.parse(expected), Date.parse(at), 'it is the same instant')
      t.equal(outcome.cost, undefined, 'free')
    }
  })
})

t.test('a zone that does not exist is refused by its field', async (t) => {
  await every(t, 'every timezone', async (t) => {
    for (const timezone of ['Mars/Olympus', '', '+02:00', 'Europe/Berlin ', 7, {}, ['UTC']]) {
      try {
        datetime.parse({ timezone }, 'tools[2].parameters')
        t.fail(`${JSON.stringify(timezone)} was accepted`)
      } catch (problem) {
        t.ok(problem instanceof Fault)
        if (problem instanceof Fault)
          t.match(problem, { status: 400, message: /^tools\[2\]\.parameters\.timezone: expected an IANA time zone/ })
      }
    }
  })
})

t.test('parameters that were never checked end as a failed call, not as a throw', async (t) => {
  const outcome = await datetime.run({}, { timezone: 'Mars/Olympus' }, hostAt('2026-03-01T12:00:00Z'), signal)
  t.equal(outcome.status, 'failed')
})
