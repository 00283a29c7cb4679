/** Contract of every store of record for ids that providers gave. */
import type { Test } from 'tap'
import type { GivenId, GivenIdStore } from '../../src/store/given-ids.ts'
import { FakeClock } from '../support/clock.ts'
import type { OpenedRecord, OpenRecord } from './record-contract.ts'

const given = (id: string, owner: string, until: number): GivenId => ({ id, owner, until })
const byId = (rows: readonly GivenId[]): GivenId[] => rows.toSorted((a, b) => (a.id < b.id ? -1 : 1))

export function recordGivenIdsContract(t: Test, name: string, open: OpenRecord): void {
  const fresh = async (t: Test): Promise<{ opened: OpenedRecord; store: GivenIdStore }> => {
    const opened = await open(new FakeClock())
    t.teardown(() => opened.close())
    return { opened, store: opened.record.givenIds }
  }

  t.test(`${name}: an id that was given keeps its owner, and leaves once it has ended`, async (t) => {
    const { opened, store } = await fresh(t)
    await store.give([])
    t.same(await store.find([]), [])
    const rows = [given('a', 'first', 10), given('b', 'first', 20), given('c', 'second', 30)]
    await store.give(rows)
    await store.give([given('a', 'second', 99), given('d', 'second', 40)])
    t.same(byId(await store.find(['a', 'b', 'c', 'd', 'e'])), [...rows, given('d', 'second', 40)])
    const many = Array.from({ length: 1_200 }, (_, at) => given(`m${1_000 + at}`, 'first', 1_000))
    await store.give(many)
    t.equal((await store.find(many.map(({ id }) => id))).length, many.length)
    const again = (await opened.reopen?.())?.givenIds ?? store
    t.equal(await again.prune(40, 2), 2)
    t.same(await again.find(['a', 'b']), [])
    t.equal(await again.prune(40, 2), 1)
    t.equal(await again.prune(40, 2), 0)
    t.same(await again.find(['c', 'd']), [given('d', 'second', 40)])
  })
}
