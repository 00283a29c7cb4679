/** Whatever a part of the store of record does on PostgreSQL has its row in the test that grows the store, or a reason not to have one. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openConnections } from '../../src/store/postgres/connections.ts'
import { PostgresRecord } from '../../src/store/postgres/record.ts'
import { FakeClock } from '../support/clock.ts'

const ROWS = readFileSync(join(import.meta.dirname, '../support/grown/operations.ts'), 'utf8')

/** Operations without a test, by why its cost does not grow with keys, days and rows of the ledger. */
const WITHOUT: Readonly<Record<string, readonly string[]>> = {
  'called by an operation that has one': [
    ...[
      'record.lease',
      'record.checkLeast',
      'record.addUse',
      'keys.keyRow',
      'keys.changing',
      'keys.note',
      'compactionKeys.make',
      'byokKeys.changing',
      'guardrails.changing',
      'readers.paged',
      'ledger.rollups',
    ],
    ...[
      'ledger.rollupPage',
      'ledger.use',
      'ledger.search',
      'ledger.sessionNames',
      'ledger.sessionSums',
      'ledger.sessionSumPage',
      'ledger.spent',
      'ledger.carried',
      'ledger.windows',
      'ledger.removedUnread',
      'ledger.prune',
    ],
    ...['readers.pages', 'readers.kept'],
  ],
  'rows of one key or name, by an index': [
    ...[
      'record.lease',
      'keys.put',
      'keys.change',
      'keys.add',
      'keys.write',
      'keys.remove',
      'keys.issuedBy',
      'readers.accept',
      'readers.reset',
      'readers.keep',
      'readers.dropKept',
    ],
    ...['events.find', 'events.conclude', 'events.redeliver', 'events.setDisabled'],
  ],
  'as many rows as an operator has made': [
    ...['guardrails.all', 'guardrails.put', 'guardrails.remove', 'guardrails.assign', 'guardrails.unassign', 'guardrails.secret'],
    ...['compactionKeys.all', 'compactionKeys.add', 'compactionKeys.rewrite', 'compactionKeys.remove', 'events.receivers'],
    ...['levels.since', 'levels.put', 'levels.remove', 'levels.note'],
    ...['byokKeys.all', 'byokKeys.put', 'byokKeys.rewrap', 'byokKeys.remove'],
  ],
  'tables of their own, which are pruned: read in pages': [
    ...['guardrails.note', 'guardrails.findings', 'guardrails.prune', 'refusals.put', 'refusals.list', 'refusals.prune'],
    ...['auditLog.add', 'auditLog.page', 'auditLog.head', 'auditLog.prune'],
    ...['auditReaders.claim', 'auditReaders.pages', 'auditReaders.accept', 'auditReaders.unread', 'auditReaders.unreadFrom'],
    ...['events.add', 'events.page', 'events.last', 'events.deliveries', 'events.spread', 'events.claim', 'events.prune'],
  ],
  'sums of days and names, of requests with a key of a team alone': ['ledger.byokUse'],
  'no statement': ['record.close'],
}

function partMethods(part: object): string[] {
  const names: string[] = []
  for (let type = Object.getPrototypeOf(part); type !== Object.prototype; type = Object.getPrototypeOf(type))
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(type)))
      if (name !== 'constructor' && typeof value === 'function') names.push(name)
  return names
}

t.test('each operation has a row, or a reason', async (t) => {
  // Nothing connects before its first statement.
  const record = new PostgresRecord(
    openConnections('postgres://127.0.0.1:4/none', () => {}, { connect: 1, statement: 1 }),
    new FakeClock(),
  )
  const { keys, ledger, guardrails, compactionKeys, byokKeys, levels, readers, events, auditLog, auditReaders, refusals, givenIds } = record
  const stores = { keys, guardrails, compactionKeys, byokKeys, levels, events, auditLog, auditReaders, refusals, givenIds }
  const parts = { record, ledger, readers, ...stores }
  const own = Object.entries(record).filter(
    ([, value]) => typeof value === 'object' && value !== null && /^Postgres/.test(value.constructor.name),
  )
  t.same(
    own.map(([name]) => name).sort(),
    Object.keys(parts)
      .filter((name) => name !== 'record')
      .sort(),
    'all parts',
  )
  const all = Object.entries(parts).flatMap(([part, value]) => partMethods(value).map((name) => `${part}.${name}`))
  const excused = Object.values(WITHOUT).flat()
  const hasRow = (name: string): boolean => new RegExp(`\\b${name.replace('.', '\\.')}\\(`).test(ROWS)
  t.same(
    all.filter((name) => !hasRow(name) && !excused.includes(name)),
    [],
    'no row in operations.ts, and no reason here',
  )
  t.same(
    excused.filter((name) => !all.includes(name) || hasRow(name)),
    [],
    'a reason that nothing needs',
  )
  await record.close()
})
