/** Contract of every store of record for levels of organisations. */
import type { Test } from 'tap'
import { type Level, ORGANIZATION } from '../../src/core/levels.ts'
import type { LevelChanges, LevelStore } from '../../src/store/levels.ts'
import { FakeClock } from '../support/clock.ts'
import { workspaceLevel } from './level-samples.ts'
import type { OpenRecord } from './record-contract.ts'

const names = ({ rows }: LevelChanges): string[] => rows.map(({ id, removedAt }) => (removedAt === null ? id : `${id} gone`))

export function recordLevelsContract(t: Test, name: string, open: OpenRecord): void {
  t.test(`${name}: levels are written once, replaced by version, unique by name, and read by the number of their change`, async (t) => {
    const opened = await open(new FakeClock())
    t.teardown(() => opened.close())
    const store: LevelStore = opened.record.levels
    const other = { id: 'org', kind: 'organization', parent: null } as const
    t.equal(await store.put(workspaceLevel('a', { parent: 'org' }), 0), 'orphan', 'no such organisation')
    t.equal(await store.put(workspaceLevel('org', other), 0), 'written')
    const puts = await Promise.all(Array.from({ length: 4 }, async () => store.put(workspaceLevel('a', { parent: 'org' }), 0)))
    t.same(puts.sort(), ['changed', 'changed', 'changed', 'written'], 'one of four makes it')
    t.equal(await store.put(workspaceLevel('b', { fields: { slug: 'a' } }), 0), 'taken')
    t.equal(await store.put(workspaceLevel('b'), 0), 'written', 'below the default organisation, which needs no row')
    const ada: Level = workspaceLevel('ada', { kind: 'member', parent: 'a', fields: { userId: 'Ada@example.com' } })
    t.equal(await store.put(ada, 0), 'written')
    t.equal(await store.put({ ...ada, id: 'ada2', fields: { ...ada.fields, userId: 'aDA@EXAMPLE.com' } }, 0), 'taken')
    t.equal(await store.put({ ...ada, id: 'ada-b', parent: 'b' }, 0), 'written', 'the same person elsewhere')
    const first = await store.since(0, 10)
    t.same(names(first), ['org', 'a', 'b', 'ada', 'ada-b'])
    t.match(
      first.rows.find(({ id }) => id === 'ada'),
      ada,
    )
    const changed = workspaceLevel('a', { parent: 'org', version: 2, updatedAt: 7, fields: { disabled: true } })
    t.equal(await store.put(changed, 2), 'changed', 'another change came first')
    t.equal(await store.put(changed, 1), 'written')
    const second = await store.since(first.last, 10)
    t.same(names(second), ['a'], 'what has changed since alone')
    t.match(second.rows[0], { version: 2, fields: { disabled: true }, updatedAt: 7, createdAt: 5 })
    t.same(names(await store.since(0, 2)), ['org', 'b'], 'in pages')
    t.equal(await store.remove('org', 9), 'occupied')
    t.equal(await store.remove('a', 9), 'removed')
    t.equal(await store.remove('a', 9), 'missing')
    t.equal(await store.put(ada, 0), 'orphan')
    const record = (await opened.reopen?.()) ?? opened.record
    const third = await record.levels.since(second.last, 10)
    t.same(names(third), ['ada gone', 'a gone'], 'its members go with it')
    t.notMatch(JSON.stringify(third.rows), /example/, 'nothing is kept of a removed person')
    t.equal(await record.levels.put(workspaceLevel('c', { fields: { slug: 'a' } }), 0), 'written', 'the name is free again')
    t.equal(await record.levels.remove('org', 9), 'removed')
    const entries = await record.auditLog.page({ after: 0, limit: 50 })
    const made = entries.map(({ action, subject }) => `${action} ${subject}`).filter((text) => /^(organ|work|memb)/.test(text))
    t.same(made, [
      ...['organization.created org', 'workspace.created a', 'workspace.created b', 'member.created ada', 'member.created ada-b'],
      ...['workspace.changed a', 'member.deleted ada', 'workspace.deleted a', 'workspace.created c', 'organization.deleted org'],
    ])
    t.equal(workspaceLevel('b').parent, ORGANIZATION)
  })
}
