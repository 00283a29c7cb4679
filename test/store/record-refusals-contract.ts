/** Contract of every store of record for refused requests. */
import type { Test } from 'tap'
import type { RefusalRow, RefusalStore } from '../../src/store/refusals.ts'
import { FakeClock } from '../support/clock.ts'
import type { OpenedRecord, OpenRecord } from './record-contract.ts'

function refusal(at: number, id: string, more: Partial<RefusalRow> = {}, generation = `gen-${at}-${id}`): RefusalRow {
  const latest = [{ id: generation, at, operation: 'openai-chat', model: 'acme/ü\u0000', field: null, message: 'says "no"' }]
  return { at, id, key: 'a', reason: 'no_credit', detail: { status: 402, type: 'payment_required', count: 1, last: at, latest }, ...more }
}

export function recordRefusalsContract(t: Test, name: string, open: OpenRecord): void {
  const fresh = async (t: Test): Promise<{ opened: OpenedRecord; store: RefusalStore }> => {
    const opened = await open(new FakeClock())
    t.teardown(() => opened.close())
    return { opened, store: opened.record.refusals }
  }

  t.test(`${name}: rows of refused requests are replaced, found with the newest first, and leave the oldest first`, async (t) => {
    const { opened, store } = await fresh(t)
    const rows = [
      refusal(10, 'x.1'),
      refusal(10, 'x.2', { key: 'b' }),
      refusal(20, 'x.3', { reason: 'rate_limited' }),
      refusal(30, 'y.1', { key: 'b', reason: 'rate_limited' }),
    ]
    const newest = rows.toReversed()
    await store.put([])
    await store.put([refusal(20, 'x.3', { reason: 'rate_limited', detail: { ...rows[2].detail, count: 9, latest: [] } }), rows[0]])
    await store.put(rows)
    await store.put(rows)
    t.same(await store.list({ since: 0, limit: 10 }), newest)
    t.same(await store.list({ since: 0, limit: 2 }), newest.slice(0, 2))
    t.same(await store.list({ since: 0, limit: 2, after: newest[1] }), newest.slice(2), 'page by page')
    t.same(await store.list({ since: 20, limit: 10 }), newest.slice(0, 2))
    t.same(await store.list({ since: 0, limit: 10, key: 'b' }), [rows[3], rows[1]])
    t.same(await store.list({ since: 0, limit: 10, reason: 'no_credit' }), [rows[1], rows[0]])
    t.same(await store.list({ since: 0, limit: 10, reason: 'no_credit', key: 'b' }), [rows[1]])
    t.same(await store.list({ since: 0, limit: 10, generation: 'gen-20-x.3' }), [rows[2]])
    t.same(await store.list({ since: 0, limit: 10, generation: 'gen-20' }), [], 'no part of an id')
    const again = (await opened.reopen?.())?.refusals ?? store
    t.equal(await again.prune(30, 2), 2)
    t.same(await again.list({ since: 0, limit: 10 }), newest.slice(0, 2))
    t.equal(await again.prune(30, 2), 1)
    t.equal(await again.prune(30, 2), 0)
    t.same(await again.list({ since: 0, limit: 10 }), [rows[3]])
  })
}
