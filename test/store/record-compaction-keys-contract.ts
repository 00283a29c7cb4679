/** Contract of every store of record for the keys of compaction items. */
import type { Test } from 'tap'
import { FakeClock } from '../support/clock.ts'
import type { OpenRecord } from './record-contract.ts'

export function recordCompactionKeysContract(t: Test, name: string, open: OpenRecord): void {
  t.test(`${name}: compaction keys are made once, numbered and kept; the newest one stays`, async (t) => {
    const clock = new FakeClock()
    let values = 0
    const value = (): string => `value ${++values}`
    const opened = await open(clock)
    t.teardown(() => opened.close())
    const store = opened.record.compactionKeys
    const firsts = await Promise.all(Array.from({ length: 6 }, async () => store.all(clock.now(), value())))
    const [first] = firsts[0] ?? []
    t.match(first, { number: 1, value: /^value \d+$/, createdAt: Math.floor(clock.now()) })
    for (const each of firsts) t.same(each, [first], 'one for all')
    await clock.advance(1500.5)
    t.same(await store.all(clock.now(), value()), [first])
    t.equal(await store.remove(1), false, 'the only one encrypts')
    const added = await Promise.all(Array.from({ length: 3 }, async () => store.add(clock.now(), value())))
    t.same(added.map(({ number }) => number).sort(), [2, 3, 4])
    const all = await store.all(clock.now(), value())
    t.same(
      all.map(({ number }) => number),
      [1, 2, 3, 4],
    )
    t.equal(new Set(all.map(({ value }) => value)).size, 4)
    t.equal(all.at(-1)?.createdAt, Math.floor(clock.now()))
    const [, second] = all
    t.equal(await store.rewrite(2, 'not it', 'another'), false)
    t.equal(await store.rewrite(2, second?.value ?? '', 'written anew'), true)
    t.equal(await store.rewrite(99, 'x', 'y'), false)
    t.match((await store.all(clock.now(), value()))[1], { ...second, value: 'written anew' })
    t.equal(await store.remove(2), true)
    t.equal(await store.remove(2), false)
    t.equal(await store.remove(4), false, 'the newest one')
    t.equal(await store.remove(99), false)
    const again = (await opened.reopen?.())?.compactionKeys ?? store
    t.same(await again.all(clock.now(), value()), [all[0], all[2], all[3]])
    t.match(await again.add(clock.now(), value()), { number: 5 }, 'no number comes twice')
  })
}
