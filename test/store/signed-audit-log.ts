/** The audit log with a key, on any store: without it no entry is written that a check takes. */
import { hash } from 'node:crypto'
import type { Test } from 'tap'
import { canonicalJson } from '../../src/core/audit-entries.ts'
import { AuditKeys } from '../../src/core/audit-keys.ts'
import type { JsonObject } from '../../src/core/json.ts'
import type { AuditLogStore } from '../../src/store/audit-log.ts'
import { type AuditVerdict, verifyAuditLog } from '../../src/store/audit-verify.ts'
import { ALICE } from './record-audit-contract.ts'

const OLD = 'o'.repeat(32)
const NEW = 'n'.repeat(32)
const keys = (key: string | undefined, ...formerKeys: string[]) => new AuditKeys({ key, formerKeys })
const entry = (subject: string) => ({ ...ALICE, action: 'key.changed' as const, subject, before: null, after: { name: subject } })

interface SignedScene {
  /** Opens the same log, with these keys; a file is closed before. */
  open(keys: AuditKeys): Promise<AuditLogStore>
  /** Behind the back of a log, which is to be opened anew. */
  run(statements: readonly string[]): Promise<void> | void
}

export function signedLog(t: Test, start: (t: Test) => Promise<SignedScene>): void {
  t.test('entries are signed from the first one with a key on, and a check needs the keys', async (t) => {
    const { open } = await start(t)
    await (await open(keys(undefined))).add(['a', 'b'].map(entry))
    await (await open(keys(OLD))).add(['c', 'd'].map(entry))
    const log = await open(keys(NEW, OLD))
    await log.add([entry('e')])
    const check = (known: AuditKeys): Promise<AuditVerdict> => verifyAuditLog(log, { keys: known })
    t.match(await check(keys(NEW, OLD)), { count: 5, problem: undefined, keyedFrom: 3 })
    t.match((await check(keys(NEW))).problem, { sequence: 3, text: /not known here/ })
    t.match((await check(keys(undefined))).problem, { sequence: 3 })
    t.match((await check(keys(undefined, OLD, NEW))).problem, undefined, 'keys that sign no longer still check')
    t.match((await check(keys(`${NEW}!`, OLD))).problem, { sequence: 5 })
    const rows = await log.page({ after: 0, limit: 10 })
    t.notMatch(JSON.stringify(rows), new RegExp(`${OLD}|${NEW}`), 'no entry has a key')
    t.equal(new Set(rows.map(({ entry: text }) => (JSON.parse(text) as JsonObject).key)).size, 3, 'each key has a name of its own')
  })

  t.test('a chain that is computed anew without the key does not pass', async (t) => {
    const { open, run } = await start(t)
    const known = keys(NEW)
    const log = await open(known)
    await log.add(['a', 'b', 'c', 'd'].map(entry))
    const rows = await log.page({ after: 0, limit: 10 })
    // An attacker who edits the second entry and computes the rest anew, once under the name of the key and once without.
    for (const isNamed of [true, false]) {
      let previous = rows[0]?.hash ?? ''
      const statements = rows.slice(1).map((row) => {
        const { key, ...fields } = JSON.parse(row.entry) as JsonObject
        const text = canonicalJson({ ...fields, ...(isNamed ? { key: key ?? null } : {}), previous, reason: 'forged' })
        previous = hash('sha256', text)
        return `update audit_entry set entry = '${text}', hash = '${previous}' where sequence = ${row.sequence}`
      })
      await run([...statements, `update audit_head set hash = '${previous}'`])
      const { problem } = await verifyAuditLog(await open(known), { keys: known })
      t.match(problem, { sequence: 2 }, isNamed ? 'with the name of the key' : 'without a key')
    }
  })

  t.test('entries of retention and of every change are signed', async (t) => {
    const { open } = await start(t)
    const known = keys(NEW)
    const log = await open(known)
    await log.add(['a', 'b', 'c'].map(entry))
    t.equal(await log.prune(Number.MAX_SAFE_INTEGER, 2), 2)
    t.match(await verifyAuditLog(log, { keys: known }), { count: 2, problem: undefined, keyedFrom: 3 })
  })
}
