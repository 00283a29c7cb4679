/** Contract of every store of record for guardrails, assignments and findings. */
import type { Test } from 'tap'
import { type Assignment, type AuditRow, GUARDRAILS_CHANGED, type StoredGuardrail } from '../../src/store/guardrails.ts'
import { FakeClock } from '../support/clock.ts'
import { nodePulse, type OpenRecord } from './record-contract.ts'

const FIELDS = { limit_usd: 5, content_filters: [{ pattern: 'a\\b"ü\u0000', action: 'block' }], allowed_models: null }

export function stored(id: string, more: Partial<StoredGuardrail> = {}): StoredGuardrail {
  return { id, version: 1, name: `the ${id}`, fields: FIELDS, createdAt: 100, updatedAt: null, ...more }
}

function assignment(subject: string, guardrail: string, more: Partial<Assignment> = {}): Assignment {
  return { kind: 'key', subject, guardrail, id: `a-${subject}-${guardrail}`, by: 'boss', createdAt: 200, ...more }
}

function finding(at: number, id: string, more: Partial<AuditRow> = {}): AuditRow {
  const detail = { entities: ['EMAIL'], engines: ['regex'], count: 1, hashes: ['ab'] }
  const what = { guardrail: 'g1', name: 'first', direction: 'input', stage: 'content-filter', action: 'flagged', detail }
  return { at, id, generation: 'gen-1', key: 'a', ...what, ...more }
}

export function recordGuardrailsContract(t: Test, name: string, open: OpenRecord): void {
  const fresh = async (t: Test) => {
    const opened = await open(new FakeClock())
    t.teardown(() => opened.close())
    return { opened, record: opened.record, store: opened.record.guardrails }
  }

  t.test(`${name}: guardrails are written where nobody was faster, and kept`, async (t) => {
    const { opened, store } = await fresh(t)
    t.same(await store.all(), { guardrails: [], assignments: [] })
    t.equal(await store.put(stored('g2', { createdAt: 101 }), 0), true)
    t.equal(await store.put(stored('g1'), 0), true)
    t.equal(await store.put(stored('g1', { name: 'another' }), 0), false, 'it is there already')
    t.equal(await store.put(stored('g3', { version: 2 }), 1), false, 'it is not there')
    const changed = stored('g1', { version: 2, name: 'changed', fields: { limit_usd: null }, updatedAt: 150 })
    t.equal(await store.put(changed, 1), true)
    t.equal(await store.put(stored('g1', { version: 2, name: 'too late' }), 1), false)
    t.same((await store.all()).guardrails, [changed, stored('g2', { createdAt: 101 })], 'in the order of their making')
    const again = (await opened.reopen?.())?.guardrails ?? store
    t.same((await again.all()).guardrails, [changed, stored('g2', { createdAt: 101 })])
    t.equal(await again.remove('g1'), true)
    t.equal(await again.remove('g1'), false)
    t.same((await again.all()).guardrails, [stored('g2', { createdAt: 101 })])
  })

  t.test(`${name}: of two that change at once one is told to look again`, async (t) => {
    const { store } = await fresh(t)
    await store.put(stored('g1'), 0)
    const tries = Array.from({ length: 8 }, async (_, i) => store.put(stored('g1', { version: 2, name: `n${i}` }), 1))
    t.equal((await Promise.all(tries)).filter(Boolean).length, 1)
  })

  t.test(`${name}: a key, a member or a workspace holds one guardrail at most`, async (t) => {
    const { store } = await fresh(t)
    for (const id of ['g1', 'g2']) await store.put(stored(id), 0)
    t.equal(await store.assign([assignment('a', 'g1'), assignment('b', 'g1', { createdAt: 201, by: null })]), 2)
    t.equal(await store.assign([assignment('a', 'nobody')]), 0, 'no such guardrail')
    t.equal(await store.assign([assignment('a', 'g2', { createdAt: 202 }), assignment('a', 'g1', { kind: 'member', createdAt: 203 })]), 2)
    t.equal(await store.assign([assignment('w', 'g2', { kind: 'workspace', createdAt: 204 })]), 1)
    t.same(
      (await store.all()).assignments.map(({ kind, subject, guardrail, by }) => [kind, subject, guardrail, by]),
      [
        ['key', 'b', 'g1', null],
        ['key', 'a', 'g2', 'boss'],
        ['member', 'a', 'g1', 'boss'],
        ['workspace', 'w', 'g2', 'boss'],
      ],
    )
    t.equal(await store.unassign('key', 'g1', ['a', 'b', 'b', 'c']), 1, 'a holds another one by now')
    t.equal(await store.unassign('member', 'g2', ['a']), 0)
    t.equal(await store.assign([]), 0)
    t.equal(await store.unassign('key', 'g2', []), 0)
    t.equal(await store.remove('g2'), true)
    t.match(await store.all(), { assignments: [{ kind: 'member', subject: 'a', guardrail: 'g1' }] }, 'assignments go with their guardrail')
  })

  t.test(`${name}: changes of guardrails are heard as those of keys are, and findings are none`, async (t) => {
    const { record, store } = await fresh(t)
    let { cursor } = await record.pulse(nodePulse('n1'))
    const heard = async (what: () => unknown): Promise<readonly string[] | undefined> => {
      await what()
      const reply = await record.pulse(nodePulse('n1', cursor))
      cursor = reply.cursor
      return reply.changed
    }
    t.same(await heard(() => store.put(stored('g1'), 0)), [GUARDRAILS_CHANGED])
    t.same(await heard(() => store.assign([assignment('a', 'g1')])), [GUARDRAILS_CHANGED])
    t.same(await heard(() => store.unassign('key', 'g1', ['a'])), [GUARDRAILS_CHANGED])
    t.same(await heard(() => store.remove('g1')), [GUARDRAILS_CHANGED])
    t.same(await heard(() => store.note([finding(1, 'x')])), [])
    t.same(await heard(() => store.all()), [])
  })

  t.test(`${name}: findings come in once, are found with the newest first, and leave the oldest first`, async (t) => {
    const { opened, store } = await fresh(t)
    const rows = [
      finding(10, 'a'),
      finding(10, 'b', { key: 'b', detail: { entities: [], engines: ['x'], count: 2, hashes: ['1', '2'], texts: ['a\u0000', 'ü'] } }),
      finding(20, 'a', { guardrail: 'g2', name: 'second', direction: 'output', action: 'blocked' }),
      finding(30, 'c', { guardrail: 'g2', name: 'renamed' }),
    ]
    const newest = rows.toReversed()
    await store.note([])
    await store.note([rows[2], rows[0]])
    await store.note(rows)
    await store.note(rows)
    t.same(await store.findings({ limit: 10 }), newest)
    t.same(await store.findings({ limit: 2 }), newest.slice(0, 2))
    t.same(await store.findings({ limit: 2, after: newest[1] }), newest.slice(2), 'page by page')
    t.same(await store.findings({ limit: 10, since: 20 }), newest.slice(0, 2))
    t.same(await store.findings({ limit: 10, key: 'b' }), [rows[1]])
    t.same(await store.findings({ limit: 10, guardrail: 'g2' }), newest.slice(0, 2), 'by id')
    t.same(await store.findings({ limit: 10, guardrail: 'second' }), [rows[2]], 'by name')
    t.same(await store.findings({ limit: 10, guardrail: 'g2', key: 'a', since: 21 }), [rows[3]])
    const again = (await opened.reopen?.())?.guardrails ?? store
    t.equal(await again.prune(30, 2), 2)
    t.same(await again.findings({ limit: 10 }), newest.slice(0, 2))
    t.equal(await again.prune(30, 2), 1)
    t.equal(await again.prune(30, 2), 0)
    t.same(await again.findings({ limit: 10 }), [rows[3]])
  })

  t.test(`${name}: the secret of the hashes is made once`, async (t) => {
    const { opened, store } = await fresh(t)
    const all = await Promise.all(Array.from({ length: 4 }, async () => store.secret()))
    t.match(all[0], /^[0-9a-f]{64}$/)
    t.equal(new Set(all).size, 1)
    const again = await opened.reopen?.()
    if (again) t.equal(await again.guardrails.secret(), all[0])
  })
}
