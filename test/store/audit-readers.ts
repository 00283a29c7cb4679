/** Readers of the audit log, on any store: in order, at least once, one process at a time, and anew where the log is another one. */
import type { Test } from 'tap'
import type { ReaderBatch } from '../../src/ledger/types.ts'
import type { AuditLogStore } from '../../src/store/audit-log.ts'
import type { AuditReaders } from '../../src/store/audit-readers.ts'
import { ALICE } from './record-audit-contract.ts'

interface ReaderScene {
  readonly log: AuditLogStore
  readonly readers: AuditReaders
  run(statements: readonly string[]): Promise<void> | void
}

const NAME = 'audit:siem'
const entry = (subject: string) => ({ ...ALICE, action: 'key.changed' as const, subject, before: null, after: { name: subject } })

export function auditReadersContract(t: Test, start: (t: Test) => Promise<ReaderScene>, isShared: boolean): void {
  const claimed = async ({ readers }: ReaderScene, { most = 2, holder = 'one' } = {}): Promise<ReaderBatch | undefined> =>
    readers.claim({ reader: NAME, holder, holdFor: 60_000, since: 0, age: 0, most, now: 1_000 })
  const sequences = async ({ readers }: ReaderScene, batch: ReaderBatch | undefined): Promise<number[]> => {
    const found: number[] = []
    if (batch) for await (const page of readers.pages(batch)) found.push(...page.map(({ sequence }) => sequence))
    return found
  }

  t.test('batches follow one another, and come again until they are accepted', async (t) => {
    const scene = await start(t)
    const { log, readers } = scene
    t.match(await claimed(scene), { begunAt: 0 }, 'nothing yet')
    t.equal(await readers.unreadFrom([NAME, 'audit:other']), 1)
    await log.add(['a', 'b', 'c'].map(entry))
    t.match(await readers.unread(NAME, 0, 10_000), { rows: 3 })
    const first = await claimed(scene)
    t.same(await sequences(scene, first), [1, 2])
    await log.add([entry('d')])
    t.same(await sequences(scene, await claimed(scene)), [1, 2], 'the same batch')
    t.equal(first && (await readers.accept(first, '')), true)
    t.equal(first && (await readers.accept(first, '')), false, 'it is no longer open')
    t.equal(await readers.unreadFrom([NAME]), 3)
    const second = await claimed(scene, { most: 500 })
    t.same(await sequences(scene, second), [3, 4])
    t.equal(second && (await readers.accept(second, '')), true)
    t.match(await readers.unread(NAME, 0, 10_000), { rows: 0, oldest: undefined })
    if (isShared) t.equal(await claimed(scene, { holder: 'two' }), undefined, 'another process waits')
  })

  t.test('entries that take the place of those that were read are delivered', async (t) => {
    const scene = await start(t)
    const { log, readers, run } = scene
    const setBack: string[] = []
    readers.setBack = (reader) => setBack.push(reader)
    await log.add(['a', 'b', 'c', 'd'].map(entry))
    const all = await claimed(scene, { most: 500 })
    if (all) await readers.accept(all, '')
    const cut = [
      'delete from audit_entry where sequence > 2',
      'update audit_head set sequence = 2, hash = (select hash from audit_entry where sequence = 2)',
    ]
    await run(cut)
    const shorter = await claimed(scene, { most: 500 })
    t.same(await sequences(scene, shorter), [1, 2], 'an end that was cut')
    if (shorter) await readers.accept(shorter, '')
    await log.add([entry('x')])
    const next = await claimed(scene, { most: 500 })
    t.same(await sequences(scene, next), [3])
    if (next) await readers.accept(next, '')
    await run(cut)
    await log.add(['y', 'z'].map(entry))
    t.same(await sequences(scene, await claimed(scene, { most: 500 })), [1, 2, 3, 4], 'another entry under the same number')
    t.same(setBack, [NAME, NAME])
  })

  t.test('a reader goes on behind entries that retention has removed', async (t) => {
    const scene = await start(t)
    const { log, readers } = scene
    await log.add(['a', 'b', 'c', 'd'].map(entry))
    const first = await claimed(scene)
    if (first) await readers.accept(first, '')
    t.equal(await log.prune(Number.MAX_SAFE_INTEGER, 3), 3)
    t.same(await sequences(scene, await claimed(scene, { most: 500 })), [4, 5])
  })
}
