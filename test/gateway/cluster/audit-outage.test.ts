/** A thousand changes by two programs, one with workers, while PostgreSQL is killed and then a program: one whole chain has each of them. */
import t from 'tap'
import { systemClock } from '../../../src/core/clock.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { verifyAuditLog } from '../../../src/store/audit-verify.ts'
import { openPostgres } from '../../../src/store/postgres/record.ts'
import { type Member, manage, newCluster, startServers } from '../../support/cluster.ts'
import { eventually } from '../../support/eventually.ts'

t.setTimeout(280_000)
const CHANGES = 1_000
const CLIENTS = 8

const servers = await startServers(t)
t.test('no change is without its entry, and no entry without its change', { skip: !servers }, async (t) => {
  if (!servers) return
  const cluster = await newCluster(t, servers)
  const [here, there] = [await cluster.start(), await cluster.start({ workers: 2 })]
  const made: string[] = []
  let sent = 0
  let failed = 0
  let isKilled = false
  const client = async (member: Member, number: number): Promise<void> => {
    while (sent < CHANGES && !(isKilled && member === there)) {
      const name = `c${number}-${sent++}`
      try {
        const reply = await manage(member, '/v1/keys', 'POST', { name, limit: 1 })
        made.push(String((reply.data as JsonObject).hash))
      } catch {
        // Refused, or cut: then either both or neither are in the store.
        failed++
      }
    }
  }
  const clients = Array.from({ length: CLIENTS }, (_, number) => client(number % 2 === 0 ? here : there, number))
  const passed = (count: number) => eventually(`${count} keys are made`, () => made.length >= count)
  await passed(200)
  await cluster.postgres.kill9()
  await cluster.postgres.restart()
  await passed(500)
  isKilled = true
  process.kill(there.pid, 'SIGKILL')
  await Promise.all(clients)
  const record = await openPostgres(cluster.database, { clock: systemClock })
  t.teardown(() => record.close())
  const { auditLog } = record
  const entries = []
  for (let after = 0; ; ) {
    const page = await auditLog.page({ after, limit: 1_000, action: 'key.created' })
    entries.push(...page)
    const last = page.at(-1)
    if (!last || page.length < 1_000) break
    after = last.sequence
  }
  const entered = new Set(entries.map(({ subject }) => subject))
  t.equal(entered.size, entries.length, 'each key has one entry')
  t.same(
    made.filter((hash) => !entered.has(hash)),
    [],
    `each of ${made.length} keys that were confirmed has its entry (${failed} were refused)`,
  )
  const stored = await record.keys.list()
  t.same(stored.map(({ identity }) => identity).toSorted(), [...entered].toSorted(), 'the store has the keys of the entries, and no others')
  t.match(await verifyAuditLog(auditLog), { problem: undefined })
})
