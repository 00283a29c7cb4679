/** Stored guardrails as a process holds them while their store comes and goes, and the way of findings into it. */
import t from 'tap'
import { AuditTrail, type Finding } from '../../src/cluster/audit-trail.ts'
import { HeldGuardrails } from '../../src/cluster/held-guardrails.ts'
import type { ClusterReport } from '../../src/cluster/record-calls.ts'
import { keepUp } from '../../src/cluster/upkeep.ts'
import { Fault } from '../../src/core/faults.ts'
import type { AuditRow } from '../../src/store/guardrails.ts'
import { stored } from '../store/record-guardrails-contract.ts'
import { FakeClock, turns } from '../support/clock.ts'
import { MemoryGuardrails } from '../support/memory/guardrails.ts'

/** A store that a test shuts, or leaves without an answer. */
class Shutting extends MemoryGuardrails {
  mode: 'open' | 'shut' | 'silent' = 'open'
  reads = 0

  override all() {
    this.reads++
    return this.answer(() => super.all()) as ReturnType<MemoryGuardrails['all']>
  }

  override note(rows: readonly AuditRow[]) {
    return this.answer(() => super.note(rows)) as ReturnType<MemoryGuardrails['note']>
  }

  private answer<T>(what: () => T): T | Promise<T> {
    if (this.mode === 'shut') throw new Fault('unavailable', { message: 'shut' })
    return this.mode === 'silent' ? new Promise<T>(() => {}) : what()
  }
}

function scene() {
  const clock = new FakeClock()
  const store = new Shutting()
  const reports: ClusterReport[] = []
  const held = new HeldGuardrails({ store, clock, report: (item) => reports.push(item) })
  let heard = 0
  held.onChange(() => heard++)
  return { clock, store, reports, held, heard: () => heard, ids: () => held.current.guardrails.map(({ id }) => id) }
}

t.test('the first reading must work', async (t) => {
  const { store, held, clock, ids } = scene()
  await store.put(stored('g1'), 0)
  store.mode = 'shut'
  await t.rejects(held.load(), { code: 'unavailable' })
  store.mode = 'silent'
  const silent = held.load()
  await turns(5)
  await Promise.all([t.rejects(silent, { code: 'unavailable' }), clock.advance(2000)])
  store.mode = 'open'
  await held.load()
  t.same(ids(), ['g1'])
})

t.test('what is in force stays while the store does not answer, and the new comes when it does', async (t) => {
  const { store, held, clock, ids, heard, reports } = scene()
  await store.put(stored('g1'), 0)
  await held.load()
  await store.put(stored('g2'), 0)
  for (const mode of ['shut', 'silent'] as const) {
    store.mode = mode
    held.changed()
    for (let i = 0; i < 6; i++) {
      await turns(5)
      await clock.advance(1000)
    }
    t.same(ids(), ['g1'], mode)
  }
  t.match(reports, [{ kind: 'record-lost', during: 'guardrails' }])
  t.equal(reports.length, 1, 'told once')
  store.mode = 'open'
  await clock.advance(3000)
  await turns(5)
  t.same(ids(), ['g1', 'g2'])
  t.equal(heard(), 2)
  t.match(reports, [{}, { kind: 'record-back', during: 'guardrails' }])
  held.changed()
  await turns(5)
  t.equal(heard(), 2, 'nothing new is nothing to hear of')
  held.close()
  t.same(clock.waiting, [])
})

t.test('a change through this process is in force when it returns; many at once cost few readings', async (t) => {
  const { store, held, ids, heard } = scene()
  await held.load()
  store.reads = 0
  await Promise.all(Array.from({ length: 20 }, (_, i) => held.put(stored(`g${i}`, { createdAt: i }), 0)))
  t.equal(ids().length, 20)
  t.ok(store.reads <= 4, `${store.reads} readings`)
  await held.remove('g0')
  t.equal(ids().length, 19)
  const before = heard()
  await held.assign([{ kind: 'key', subject: 'a', guardrail: 'g1', id: 'x', by: null, createdAt: 1 }])
  t.equal(held.current.assignments.length, 1)
  await held.unassign('key', 'g1', ['a'])
  t.equal(held.current.assignments.length, 0)
  t.equal(heard(), before + 2)
  t.equal(await held.put(stored('g1'), 0), false)
})

t.test('a change succeeds where its result cannot be read back, which is read later', async (t) => {
  const { store, held, clock, ids } = scene()
  await held.load()
  const put = store.put.bind(store)
  store.put = (guardrail, seen) => {
    store.mode = 'shut'
    return put(guardrail, seen)
  }
  t.equal(await held.put(stored('g1'), 0), true)
  t.same(ids(), [])
  store.mode = 'open'
  await turns(5)
  await clock.advance(500)
  await turns(5)
  t.same(ids(), ['g1'])
})

const finding = (n: number, more: Partial<Finding> = {}): Finding => {
  const where = {
    at: 1000 + n,
    generation: `gen-${n}`,
    key: 'app',
    guardrail: 'g',
    name: 'g',
    direction: 'input',
    stage: 's',
    action: 'flagged',
  }
  return { ...where, entities: [], engines: [], matched: [`text ${n}`], full: false, ...more }
}

async function auditScene() {
  const clock = new FakeClock()
  const store = new Shutting()
  const reports: ClusterReport[] = []
  const audit = new AuditTrail({ store, clock, report: (item) => reports.push(item) })
  await audit.load()
  const count = () => store.findings({ limit: 100_000 }).length
  const seen = (): AuditRow[] => store.findings({ limit: 100_000 }).reverse()
  return { clock, store, reports, audit, seen, count }
}

t.test('findings are written in batches every 250 ms, and no request waits for them', async (t) => {
  const { clock, audit, seen, count } = await auditScene()
  audit.note([finding(1), finding(1, { action: 'blocked' })])
  audit.note([])
  audit.note([finding(2)])
  t.equal(count(), 0)
  t.same(clock.waiting, [250], 'one timer')
  await clock.advance(250)
  await turns(5)
  t.same(
    seen().map(({ id, action }) => [id, action]),
    [
      ['gen-1.0', 'flagged'],
      ['gen-1.1', 'blocked'],
      ['gen-2.0', 'flagged'],
    ],
  )
  t.same(clock.waiting, [])
  audit.note([finding(3, { matched: Array.from({ length: 50 }, (_, i) => `t${i}`), full: true })])
  await audit.close()
  const last = seen().at(-1)
  t.match(last, { detail: { count: 50 } })
  t.same([last?.detail.hashes.length, last?.detail.texts?.length], [20, 20], 'the end writes what waits; few texts are kept of one finding')
})

t.test('findings wait for a store that does not answer, 10,000 at most', async (t) => {
  const { clock, store, audit, seen, count, reports } = await auditScene()
  store.mode = 'shut'
  for (let i = 0; i < 10_050; i++) audit.note([finding(i)])
  t.equal(audit.dropped, 50)
  for (let i = 0; i < 5; i++) {
    await clock.advance(1000)
    await turns(5)
  }
  t.match(reports, [{ kind: 'record-lost', during: 'audit' }])
  t.equal(reports.length, 1)
  store.mode = 'open'
  await clock.advance(1000)
  for (let i = 0; i < 40; i++) {
    await turns(5)
    await clock.advance(1)
  }
  t.equal(count(), 10_000)
  t.equal(new Set(seen().map(({ id }) => id)).size, 10_000)
  t.match(reports, [{}, { kind: 'record-back', during: 'audit' }])
  audit.note([finding(20_000)])
  await clock.advance(250)
  await turns(5)
  t.match(seen().at(-1), { id: 'gen-20000.0' }, 'there is room again')
})

t.test('what waits is bounded in bytes as well, and a shut store does not hold up the end', async (t) => {
  const { store, audit, clock } = await auditScene()
  store.mode = 'silent'
  const long = Array.from({ length: 20 }, (_, i) => `${i}`.padEnd(500, 'x'))
  for (let i = 0; i < 2000; i++) audit.note([finding(i, { matched: long, full: true })])
  t.ok(audit.dropped > 1000 && audit.dropped < 1500, `${audit.dropped} dropped`)
  const closed = audit.close()
  await turns(5)
  await clock.advance(2000)
  await closed
})

t.test('findings are removed at the age of generations', async (t) => {
  const clock = new FakeClock()
  const store = new Shutting()
  const day = 86_400_000
  const rows = Array.from({ length: 450 }, (_, i) => ({ ...finding(i), at: clock.now() - (i < 440 ? 40 : 10) * day, id: `r${i}` }))
  store.note(
    rows.map(({ entities, engines, matched: _, full: __, ...row }) => ({ ...row, detail: { entities, engines, count: 0, hashes: [] } })),
  )
  const reports: string[] = []
  const end = keepUp({
    store: { prune: () => 0 },
    guardrails: store,
    refusals: { prune: () => 0 },
    givenIds: { prune: () => 0 },
    retention: 32 * day,
    lostGrace: day,
    clock,
    report: ({ kind }) => reports.push(kind),
  })
  t.equal(store.findings({ limit: 1000 }).length, 450)
  await clock.advance(60_000)
  await clock.advance(1_000)
  t.equal(store.findings({ limit: 1000 }).length, 10)
  t.same(reports, [], 'no report of generations')
  end()
  t.same(clock.waiting, [])
})
