/** kill -9 in a loop: whatever was acknowledged is there afterwards, and what was open is settled exactly once. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { openJournal, SqliteJournal } from '../../src/store/journal.ts'
import { integrityProblem, openDatabase } from '../../src/store/sqlite.ts'
import { FakeClock } from '../support/clock.ts'
import { LONG, runs } from '../support/seed.ts'
import { verify } from '../support/verify-records.ts'

const CHILD = join(import.meta.dirname, 'crash-child.ts')
const ROUNDS = runs(5, 100)
/** Lines to wait for before the kill; another one each round, so that it hits at another moment. */
const roundLines = (round: number) => 1500 + ((round * 977) % 2500)

/** Runs the child until it has acknowledged `lines` rows, kills it, and returns all that it said in whole lines. */
function killedAfter(lines: number, args: string[]): Promise<string[]> {
  const child = spawn(process.execPath, [CHILD, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let utterance = ''
  let seen = 0
  let complaint = ''
  child.stderr.on('data', (chunk: Buffer) => {
    complaint += chunk
  })
  child.stdout.on('data', (chunk: Buffer) => {
    utterance += chunk
    for (const byte of chunk) if (byte === 0x0a) seen++
    if (seen >= lines) child.kill('SIGKILL')
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (signal === 'SIGKILL') resolve(utterance.split('\n').slice(0, -1))
      else reject(new Error(`child ended with ${code}: ${complaint}`))
    })
  })
}

const timeout = LONG ? 900_000 : 300_000
t.setTimeout(timeout)

t.test(`${ROUNDS} rounds of kill -9`, { timeout }, async (t) => {
  const path = join(t.testdir(), 'headgate.db')
  const held = new Set<number>()
  const settled = new Map<number, number>()
  let openAtStart = 0
  let reconciled = 0
  for (let round = 0; round < ROUNDS; round++) {
    const lines = await killedAfter(roundLines(round), [path, String(round)])
    const [count] = lines[0].replace('r ', '').split(' ').map(Number)
    if (count !== openAtStart) t.fail(`round ${round}: ${count} reconciled, ${openAtStart} were open`)
    reconciled += count
    for (const line of lines.slice(1)) {
      const [kind, seq, cost] = line.split(' ')
      if (kind === 'h') held.add(Number(seq))
      else settled.set(Number(seq), Number(cost))
    }

    const db = openDatabase(path, 'process')
    if (integrityProblem(db) !== undefined) t.fail(`round ${round}: the file is damaged`)
    const journal = new SqliteJournal(db, { clock: new FakeClock() })
    const records = [...journal.export()]
    const verdict = verify(records, journal.spent())
    if (!verdict.ok) t.fail(`round ${round}: ${verdict.problems.join('; ')}`)
    openAtStart = verdict.open
    const rows = new Map(records.map((record) => [record.hold.seq, record.settled]))
    const lostHolds = [...held].filter((seq) => !rows.has(seq))
    const lostSettlements = [...settled].filter(([seq, cost]) => rows.get(seq)?.cost !== cost)
    if (lostHolds.length + lostSettlements.length > 0) t.fail(`round ${round}: ${lostHolds.length} holds, ${lostSettlements.length} lost`)
    journal.close()
  }
  t.ok(held.size > ROUNDS * 500, `${held.size} holds and ${settled.size} settlements acknowledged, none lost`)
  t.ok(reconciled > 0, `${reconciled} left open by a kill were settled by the next start`)

  const last = openJournal(path, { durability: 'process', clock: new FakeClock() })
  t.equal(last.reconcile().count, openAtStart)
  t.match(last.reconcile(), { count: 0, charged: 0 })
  const unknown = [...last.export()].filter((record) => record.settled?.status === 'unknown')
  t.equal(unknown.length, reconciled + openAtStart, 'each of them once')
  t.ok(unknown.every((record) => record.settled?.cost === record.hold.floor))
  t.ok(unknown.every((record) => !settled.has(record.hold.seq)))
  last.close()
})
