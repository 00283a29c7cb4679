/** Contract of every store of record for the audit log: each change has its entry, and the entries are one chain. */
import { hash as digest } from 'node:crypto'
import type { Test } from 'tap'
import { type AuditRow, GATEWAY_ORIGIN, type Origin } from '../../src/core/audit-entries.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { verifyAuditLog } from '../../src/store/audit-verify.ts'
import type { StoreOfRecord } from '../../src/store/record.ts'
import { FakeClock } from '../support/clock.ts'
import { nodePulse, type OpenedRecord, type OpenRecord } from './record-contract.ts'
import { apiKey } from './samples.ts'

export const ALICE: Origin = { actor: { kind: 'management_key', id: 'boss', name: 'Boss' }, address: '192.0.2.7' }

const hash = (letter: string) => letter.repeat(64)

export async function auditRows(record: Pick<StoreOfRecord, 'auditLog'>): Promise<AuditRow[]> {
  return record.auditLog.page({ after: 0, limit: 10_000 })
}

const fields = ({ entry }: AuditRow): JsonObject => JSON.parse(entry) as JsonObject

export function recordAuditContract(t: Test, name: string, open: OpenRecord): void {
  const fresh = async (t: Test): Promise<{ clock: FakeClock; opened: OpenedRecord; record: StoreOfRecord }> => {
    const clock = new FakeClock()
    const opened = await open(clock)
    t.teardown(() => opened.close())
    return { clock, opened, record: opened.record }
  }

  t.test(`${name}: each change of a key has one entry with what changed, and none where nothing did`, async (t) => {
    const { record } = await fresh(t)
    const { keys } = record
    await keys.put(apiKey('a', { limit: 5 }), ALICE)
    await keys.change(hash('a'), (key) => ({ ...key, limit: 7 }), ALICE)
    await keys.change(hash('a'), (key) => ({ ...key, limit: 7 }), ALICE)
    await keys.change(hash('a'), (key) => ({ ...key, hash: hash('b'), label: 'sk-…b' }), ALICE)
    t.equal(await keys.remove(hash('b')), true)
    t.equal(await keys.remove(hash('b'), ALICE), false)
    await t.rejects(async () => {
      await keys.put(apiKey('c'), ALICE)
      await keys.change(
        hash('c'),
        () => {
          throw new Error('not so')
        },
        ALICE,
      )
    }, /not so/)
    const found = await auditRows(record)
    const [made, changed, rotated, gone] = found.map(fields)
    const subject = hash('a')
    t.match(made, {
      sequence: 1,
      action: 'key.created',
      subject,
      before: null,
      after: { name: 'key a', limit_nano: 5 },
      address: '192.0.2.7',
    })
    t.same(made?.actor, { kind: 'management_key', id: 'boss', name: 'Boss' })
    t.match(changed, { sequence: 2, action: 'key.changed', subject })
    t.same([changed?.before, changed?.after], [{ limit_nano: 5 }, { limit_nano: 7 }], 'only what has changed')
    t.match(rotated, { sequence: 3, action: 'key.rotated', subject })
    t.same(Object.keys(rotated?.after as object).sort(), ['hash', 'label'])
    t.match(gone, { sequence: 4, action: 'key.deleted', subject, after: null, actor: { kind: 'gateway' }, address: null })
    t.same(
      found.slice(4).map(({ action, actor }) => [action, actor]),
      [['key.created', 'boss']],
    )
    t.match(await verifyAuditLog(record.auditLog), { count: 5, problem: undefined, receipt: { sequence: 5 } })
  })

  t.test(`${name}: guardrails, assignments, keys of compaction and receivers have entries, texts to look for only as a hash`, async (t) => {
    const { record } = await fresh(t)
    const { guardrails, compactionKeys, events } = record
    const guardrail = { id: 'g', version: 1, name: 'no secrets', createdAt: 1, updatedAt: null }
    const secretive = { phrases: ['project tempest'], allowed_models: ['acme/*'] }
    t.equal(await guardrails.put({ ...guardrail, fields: secretive }, 0, ALICE), true)
    t.equal(await guardrails.put({ ...guardrail, fields: {} }, 0, ALICE), false, 'it is there already')
    t.equal(await guardrails.put({ ...guardrail, version: 2, fields: { ...secretive, restore: true } }, 1, ALICE), true)
    const assignment = { kind: 'key', subject: 'k', guardrail: 'g', id: 'a', by: null, createdAt: 1 } as const
    t.equal(await guardrails.assign([assignment, { ...assignment, subject: 'l' }], ALICE), 2)
    t.equal(await guardrails.unassign('key', 'g', ['k', 'other'], ALICE), 1)
    t.equal(await guardrails.remove('g', ALICE), true)
    t.equal(await guardrails.remove('g', ALICE), false)
    await compactionKeys.all(1, 'first value')
    await compactionKeys.add(2, 'second value', ALICE)
    t.equal(await compactionKeys.rewrite(1, 'first value', 'other value'), true)
    t.equal(await compactionKeys.remove(1, ALICE), true)
    t.equal(await compactionKeys.remove(1, ALICE), false)
    t.equal(await events.setDisabled('other', null, ALICE), false)
    const found = await auditRows(record)
    t.same(
      found.map(({ action, subject }) => `${action} ${subject}`),
      [
        ...['guardrail.created g', 'guardrail.changed g', 'guardrail.assigned k', 'guardrail.assigned l', 'guardrail.unassigned k'],
        ...['guardrail.unassigned l', 'guardrail.deleted g', 'compaction_key.created 1', 'compaction_key.created 2'],
        ...['compaction_key.rewritten 1', 'compaction_key.deleted 1'],
      ],
    )
    const [made, changed] = found.map(fields)
    t.match(made?.after, { name: 'no secrets', allowed_models: ['acme/*'], phrases: { hmac_sha256: /^[0-9a-f]{64}$/, characters: 19 } })
    const guessed = digest('sha256', '["project tempest"]')
    t.notMatch(JSON.stringify(found), guessed, 'a phrase that is guessed is not confirmed by its hash')
    t.same(changed?.after, { restore: true })
    t.notMatch(JSON.stringify(found), /tempest|first value|second value|other value/)
    t.match(await verifyAuditLog(record.auditLog), { count: 11, problem: undefined })
  })

  t.test(`${name}: names with control characters, halves of characters and any length stay one entry that fits`, async (t) => {
    const { record, opened } = await fresh(t)
    const names = ['line\nbreak \u0000 \u001b[31m', '\ud83d alone', '"quote\\', 'x'.repeat(5_000), '__proto__', '\u202edisguise']
    const from: Origin = { actor: { kind: 'key', id: names[0] ?? '', name: names[1] ?? '' }, address: names[2] ?? '' }
    const entry = (subject: string) => ({
      ...from,
      action: 'key.changed' as const,
      subject,
      before: null,
      after: { name: subject, x: null },
    })
    await record.auditLog.add(names.map(entry))
    const again = (await opened.reopen?.()) ?? record
    const found = await auditRows(again)
    t.equal(found.length, names.length)
    t.equal(found[3]?.subject.length, 1_000)
    t.match(fields(found[3] as AuditRow).after, { name: { sha256: /./, characters: 5_002 } })
    t.match(await verifyAuditLog(again.auditLog), { count: names.length, problem: undefined })
  })

  t.test(`${name}: entries are listed page by page, and by actor, action, subject and time`, async (t) => {
    const { record, clock } = await fresh(t)
    const { auditLog } = record
    const began = clock.now()
    for (const [index, subject] of ['a', 'b', 'a', 'c'].entries()) {
      const by = index < 2 ? ALICE : GATEWAY_ORIGIN
      const action = index === 3 ? 'key.deleted' : 'key.changed'
      await auditLog.add([{ ...by, action, subject, before: null, after: null }])
      await clock.advance(1_000)
    }
    const sequences = async (query: Partial<Parameters<typeof auditLog.page>[0]>) =>
      (await auditLog.page({ after: 0, limit: 10, ...query })).map(({ sequence }) => sequence)
    t.same(await sequences({ limit: 3 }), [1, 2, 3])
    t.same(await sequences({ after: 3 }), [4])
    t.same(await sequences({ newestFirst: true, limit: 2 }), [4, 3])
    t.same(await sequences({ newestFirst: true, after: 3 }), [2, 1])
    t.same(await sequences({ actor: 'boss' }), [1, 2])
    t.same(await sequences({ actor: 'gateway' }), [3, 4])
    t.same(await sequences({ action: 'key.deleted' }), [4])
    t.same(await sequences({ subject: 'a' }), [1, 3])
    t.same(await sequences({ since: began + 1_000, until: began + 3_000 }), [2, 3])
    t.same(await sequences({ subject: "a' OR 1=1 --" }), [])
  })

  t.test(`${name}: retention takes from the old end alone, and the chain says what went`, async (t) => {
    const { record, clock, opened } = await fresh(t)
    const { auditLog } = record
    const add = (subject: string) => auditLog.add([{ ...ALICE, action: 'key.changed', subject, before: null, after: null }])
    for (const subject of ['a', 'b', 'c']) await add(subject)
    const receipt = (await verifyAuditLog(auditLog)).receipt
    const old = clock.now()
    /** A pulse gives a database with a clock of its own the time of the test. */
    const pass = async () => {
      await clock.advance(10_000)
      await record.pulse(nodePulse('n1'))
    }
    await pass()
    for (const subject of ['d', 'e']) await add(subject)
    t.equal(await auditLog.prune(old, 10), 0, 'nothing is older')
    t.equal(await auditLog.prune(old + 1, 2), 2)
    t.match(await verifyAuditLog(auditLog), { count: 4, problem: undefined, receipt: { sequence: 6 } })
    t.match((await verifyAuditLog(auditLog, { receipt })).problem, undefined, 'an entry that is still there')
    t.equal(await auditLog.prune(old + 1, 10), 1)
    t.match((await verifyAuditLog(auditLog, { receipt })).problem, undefined, 'the last one that went')
    t.match((await verifyAuditLog(auditLog, { receipt: { ...receipt, hash: hash('0') } })).problem, { sequence: 3 })
    await pass()
    t.equal(await auditLog.prune(clock.now(), 100), 3, 'all but the last one')
    const again = (await opened.reopen?.())?.auditLog ?? auditLog
    t.same(
      (await again.page({ after: 0, limit: 10 })).map(({ action }) => action),
      ['audit_log.pruned', 'audit_log.pruned'],
    )
    t.match(await verifyAuditLog(again, { receipt }), { count: 2, problem: undefined, receipt: { sequence: 8 } })
  })
}
