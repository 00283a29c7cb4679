/**
 * Rate at which one key's credit is held and settled by two processes on one PostgreSQL: `node bench/leases.ts [--seconds N] [--rate N]`.
 * Each process does what a gateway does for a request but for the HTTP: hold, the hold's row, its commit, the charge,
 * the settlement's row, its commit; the rows are handed in to PostgreSQL meanwhile. `--rate` paces both together: what
 * PostgreSQL has taken at the end then says whether it keeps up.
 */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openBookkeeping } from '../src/cluster/bookkeeping.ts'
import { NO_AUDIT_KEYS } from '../src/core/audit-keys.ts'
import { systemClock } from '../src/core/clock.ts'
import { entryAt } from '../src/core/entry-at.ts'
import { GenerationIds } from '../src/core/ids.ts'
import { holds, seeks } from '../test/support/holding.ts'
import { startPostgres } from '../test/support/postgres.ts'

const KEY = 'team'
/** Nano-dollars of a request: what it holds and what it costs. */
const HOLD = 3_000_000
const COST = 1_000_000
/** Exchanges of one process that are open at once. */
const OPEN = 200

interface Told {
  url: string
  journal: string
  seconds: number
  limit: number
  /** Holds per second of this process; 0: as fast as it goes. */
  rate: number
}

interface Found {
  served: number
  refused: number
  waited: number
  cpuMs: number
}

async function runProcess({ url, journal, seconds, limit, rate }: Told, tell: (found: Found) => void): Promise<void> {
  const clock = systemClock
  const bookkeeping = await openBookkeeping({
    url,
    journal,
    lostGrace: 3_600_000,
    auditKeys: NO_AUDIT_KEYS,
    clock,
    durability: 'process',
    report: (news) => console.error(news),
  })
  const ids = new GenerationIds({ last: 0 })
  const account = bookkeeping.credit.account(KEY)
  const found: Found = { served: 0, refused: 0, waited: 0, cpuMs: 0 }
  const begun = performance.now()
  const end = begun + seconds * 1000
  let started = 0
  const due = async (): Promise<void> => {
    const wait = rate === 0 ? 0 : begun + (++started * 1000) / rate - performance.now()
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
  }
  const cpu = process.cpuUsage()
  const one = async (): Promise<void> => {
    for (await due(); performance.now() < end; await due()) {
      const allowance = { limit, limitReset: null }
      let held = holds(account, HOLD, allowance)
      if (!held) {
        found.waited++
        held = (await seeks(account, HOLD, allowance)) ?? false
      }
      if (!held) {
        found.refused++
        return
      }
      const { seq, tag } = ids.next(clock.now())
      bookkeeping.journal.hold({ seq, tag, key: KEY, model: 'acme/one', endpoint: 'acme/one@acme', hold: HOLD, floor: COST })
      await bookkeeping.journal.committed()
      const at = Math.floor(clock.now())
      account.settle(HOLD, COST, at)
      const counts = { input: 10, output: 5, cached: 0, cacheWrite: 0, reasoning: 0 }
      bookkeeping.journal.settle({ seq, status: 'completed', cost: COST, at, ...counts, estimated: false, facts: '{}' })
      await bookkeeping.journal.committed()
      found.served++
    }
  }
  await Promise.all(Array.from({ length: OPEN }, one))
  const used = process.cpuUsage(cpu)
  found.cpuMs = (used.user + used.system) / 1000
  tell(found)
  await bookkeeping.close()
}

async function measured(seconds: number, rate: number): Promise<void> {
  const ends: (() => unknown)[] = []
  const postgres = await startPostgres({ teardown: (end) => ends.push(end) })
  if (!postgres) return
  const directory = mkdtempSync(join(tmpdir(), 'headgate-leases-'))
  const rows: string[] = []
  for (const limit of [1e15, 10_000 * COST]) {
    const children: ChildProcess[] = []
    const url = await postgres.database()
    const results = ['a', 'b'].map(async (name) => {
      const child = fork(import.meta.filename, [], { env: { ...process.env, NODE_OPTIONS: '', HEADGATE_LEASES: '1' } })
      children.push(child)
      child.send({ url: url, journal: join(directory, `${limit}-${name}.db`), seconds, limit, rate: rate / 2 } satisfies Told)
      const [found] = (await once(child, 'message')) as [Found]
      return found
    })
    const found = await Promise.all(results)
    const { count } = entryAt(await postgres.query(url, 'SELECT count(*) FROM generation'), 0)
    await Promise.all(children.map((child) => (child.exitCode === null ? once(child, 'exit') : undefined)))
    for (const child of children) if (child.connected) child.disconnect()
    const served = found.reduce((sum, one) => sum + one.served, 0)
    const cpu = found.reduce((sum, one) => sum + one.cpuMs, 0)
    const waited = found.reduce((sum, one) => sum + one.waited, 0)
    const name = limit === 1e15 ? 'far from the limit' : `credit for ${limit / COST} of them`
    rows.push(`| ${name} | ${served} | ${Math.round(served / seconds)} | ${((cpu * 1000) / served).toFixed(0)} | ${waited} | ${count} |`)
  }
  console.log(`Two processes, one key, PostgreSQL on the same machine, ${OPEN} open exchanges each, ${seconds} s.\n`)
  console.log('| credit | holds | holds/s | CPU µs each | waited for a lease | taken by PostgreSQL at the end |\n|---|--:|--:|--:|--:|--:|')
  console.log(rows.join('\n'))
  rmSync(directory, { recursive: true })
  for (const end of ends) await end()
}

if (process.env.HEADGATE_LEASES) {
  process.once('message', (told) => {
    void runProcess(told as Told, (found) => process.send?.(found))
  })
} else {
  const { values } = parseArgs({ options: { seconds: { type: 'string', default: '5' }, rate: { type: 'string', default: '0' } } })
  await measured(Number(values.seconds), Number(values.rate))
}
