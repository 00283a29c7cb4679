/** A store whose log is cut or damaged at any byte, and one whose file is: a clean prefix, or a refusal that says why. Runs with `npm run test:servers`. */
import { createHash } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { asFault, type Fault } from '../../src/core/faults.ts'
import { SqliteJournal } from '../../src/store/journal.ts'
import { SqliteKeys } from '../../src/store/keys.ts'
import { openDatabase } from '../../src/store/sqlite.ts'
import { FakeClock } from '../support/clock.ts'
import { LONG, runs, seed } from '../support/seed.ts'
import { verify } from '../support/verify-records.ts'
import { commitsBefore, type Frame, freePages, logFrames } from './log-frames.ts'
import { apiKey, holdRow, settleRow } from './samples.ts'

const SEED = seed()
const chance = new FakeClock(SEED)
const below = (n: number): number => Math.floor(chance.random() * n)
const timeout = LONG ? 3_000_000 : 300_000
t.setTimeout(timeout)

interface Opened {
  readonly journal: SqliteJournal
  readonly keys: SqliteKeys
}

function open(path: string, clock = new FakeClock()): Opened {
  const db = openDatabase(path, 'process')
  // Nothing here is about power cuts.
  db.exec('PRAGMA synchronous = OFF')
  return { journal: new SqliteJournal(db, { clock }), keys: new SqliteKeys(db, clock) }
}

/** Everything that is in the ledger, as one short text. */
function openedState({ journal, keys }: Opened): string {
  const all = JSON.stringify([[...journal.export()], keys.list(), [...journal.carried()].map(([key, cost]) => [key, String(cost)])])
  return createHash('sha256').update(all).digest('hex')
}

/** A life of many commits, at random: holds, raised holds, settlements of several sizes, keys, what retention removes. */
class Life {
  readonly bookkeeping: Opened
  /** Content of the ledger after each commit; the first before any of them. */
  readonly states: string[]
  private readonly open = new Set<number>()
  private seq = 0

  constructor(bookkeeping: Opened) {
    this.bookkeeping = bookkeeping
    this.states = [openedState(bookkeeping)]
  }

  async commits(count: number): Promise<void> {
    for (let commit = 0; commit < count; commit++) {
      await this.one()
      this.states.push(openedState(this.bookkeeping))
    }
  }

  private async one(): Promise<void> {
    const { journal, keys } = this.bookkeeping
    const kind = below(20)
    if (kind === 0) keys.put(apiKey('abcdef'[below(6)], { limit: below(1000) }))
    else if (kind === 1 && journal.prune(Math.floor(this.seq / 8192), 5) > 0) return
    else {
      for (let rows = 1 + below(4); rows > 0; rows--) this.row()
      await journal.committed()
    }
  }

  private row(): void {
    const { journal } = this.bookkeeping
    const [oldest] = this.open
    if (oldest !== undefined && (this.open.size > 5 || below(3) === 0)) {
      this.open.delete(oldest)
      journal.settle(settleRow(oldest, below(1000), { facts: JSON.stringify({ text: 'x'.repeat(below(10) === 0 ? 5000 : below(400)) }) }))
      return
    }
    this.seq += 1 + below(8192)
    this.open.add(this.seq)
    journal.hold(holdRow(this.seq, { key: `key-${below(3)}` }))
  }
}

interface Copy {
  main: Buffer
  log: Buffer
  frames: Frame[]
  /** By the number of commits in the log that come back. */
  states: readonly string[]
}

/** File and log as they lie there while the process runs: what kill -9 leaves. @param before commits that a checkpoint has carried into the file. */
async function createCopy(t: Test, before: number, after: number): Promise<Copy> {
  const path = join(t.testdir(), 'living.db')
  const clock = new FakeClock()
  const life = new Life(open(path, clock))
  await life.commits(before)
  // Looks at the log, and carries it over since it is old.
  await clock.advance(6000)
  const carried = life.states.length - 1
  await life.commits(after)
  const [main, log] = [readFileSync(path), readFileSync(`${path}-wal`)]
  life.bookkeeping.journal.close()
  const frames = logFrames(log)
  // A checkpoint writes something that changes nothing, to begin the log anew.
  const states = [...(before > 0 ? [life.states[carried]] : []), ...life.states.slice(carried)]
  t.equal(frames.filter(({ commits }) => commits).length, states.length - 1, 'one transaction per commit')
  return { main, log, frames, states }
}

/** Fault of a store on this file and this log; undefined where it is just as it was after `commits` commits. */
function cutProblem(path: string, main: Buffer, log: Buffer, state: string): string | undefined {
  writeFileSync(path, main)
  writeFileSync(`${path}-wal`, log)
  rmSync(`${path}-shm`, { force: true })
  let bookkeeping: Opened | undefined
  try {
    bookkeeping = open(path)
    if (openedState(bookkeeping) !== state) return 'other rows than were committed'
    const { journal } = bookkeeping
    const before = [...journal.export()]
    const { count, charged } = journal.reconcile()
    const left = before.filter(({ settled }) => !settled)
    if (count !== left.length || charged !== left.reduce((sum, { hold }) => sum + hold.floor, 0)) return `${count} were reconciled`
    const verdict = verify(journal.export(), journal.spent(), journal.carried())
    return verdict.ok && verdict.open === 0 && verdict.generations === before.length ? undefined : verdict.problems.join('; ')
  } catch (error) {
    return String(error)
  } finally {
    bookkeeping?.journal.close()
  }
}

/** Offsets at which to cut or damage: all frame boundaries and one to either side, every byte of some stretches, others at random. */
function cutOffsets({ log, frames }: Copy, { stretches, random }: { stretches: number; random: number }): number[] {
  const offsets = new Set([0, 1, 31, log.length - 1, log.length])
  for (const { start, end } of frames) for (const at of [start, end]) for (const near of [-1, 0, 1]) offsets.add(at + near)
  for (let stretch = 0; stretch < stretches; stretch++) {
    const { start, end } = frames[below(frames.length)]
    const length = LONG ? end - start : 30
    for (let at = start - 20; at < start + length; at++) offsets.add(at)
  }
  for (let count = 0; count < random; count++) offsets.add(below(log.length))
  return [...offsets].filter((at) => at >= 0 && at <= log.length)
}

type Damage = (log: Buffer, at: number) => Buffer

/** Ways to damage a log at an offset; what lies before it stays. */
const DAMAGES: Record<string, Damage> = {
  'a bit is flipped': (log, at) => {
    const copy = Buffer.from(log)
    if (at < copy.length) copy[at] ^= 1 << below(8)
    return copy
  },
  'a stretch is overwritten': (log, at) => {
    const copy = Buffer.from(log)
    for (let next = at; next < Math.min(copy.length, at + 600); next++) copy[next] = below(256)
    return copy
  },
  'zeros from there on': (log, at) => Buffer.concat([log.subarray(0, at), Buffer.alloc(log.length - at)]),
  'cut, and garbage behind': (log, at) => Buffer.concat([log.subarray(0, at), Buffer.alloc(3000, 0x5a)]),
}

function firstDifference(a: Buffer, b: Buffer): number {
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at++) if (a[at] !== b[at]) return at
  return length
}

/** The commits that a damaged log still holds: those whose frames lie before the first changed byte. A damaged head is no log. */
function survivors({ log, frames }: Copy, damaged: Buffer): number {
  const from = firstDifference(log, damaged)
  return from < 32 ? 0 : commitsBefore(frames, from)
}

const SCENES: Record<string, [before: number, after: number]> = {
  'a young store, all of it in the log': [0, 25],
  'a store with a checkpoint behind it, and older frames at the end of its log': [120, 40],
  'a store that has just had a checkpoint': [150, 0],
}

for (const [name, [before, after]] of Object.entries(SCENES)) {
  t.test(`${name}, cut at any byte (seed ${SEED})`, { timeout }, async (t) => {
    const copy = await createCopy(t, before, after)
    const path = join(t.testdir({}), 'cut.db')
    const offsets = cutOffsets(copy, { stretches: runs(1, 4), random: runs(60, 2000) })
    const found = new Set<number>()
    for (const cut of offsets) {
      const commits = commitsBefore(copy.frames, cut)
      const problem = cutProblem(path, copy.main, copy.log.subarray(0, cut), copy.states[commits])
      if (problem !== undefined) t.fail(`cut at ${cut} of ${copy.log.length}, ${commits} commits: ${problem}`)
      found.add(commits)
    }
    t.equal(found.size, copy.states.length, `${offsets.length} cuts: every number of commits came back`)
  })

  t.test(`${name}, its log damaged (seed ${SEED})`, { timeout }, async (t) => {
    const copy = await createCopy(t, before, after)
    const path = join(t.testdir({}), 'damaged.db')
    let damaged = 0
    for (const [how, damage] of Object.entries(DAMAGES)) {
      const offsets = cutOffsets({ ...copy, frames: [copy.frames[below(copy.frames.length)]] }, { stretches: 1, random: runs(30, 1000) })
      for (const at of offsets) {
        const log = damage(copy.log, at)
        const commits = survivors(copy, log)
        const problem = cutProblem(path, copy.main, log, copy.states[commits])
        if (problem !== undefined) t.fail(`${how} at ${at} of ${copy.log.length}, ${commits} commits: ${problem}`)
        damaged++
      }
    }
    t.ok(damaged > 300, `${damaged} damages`)
  })
}

const REASONS =
  / is (damaged|a database of another program)| has schema version | cannot be opened: (unsupported file format|table "\w+" already exists|duplicate column)/

interface Whole {
  path: string
  file: Buffer
  state: string
}

/** A store that was closed in order, with rows, keys, sums carried over and free pages. */
async function wholeStore(t: Test): Promise<Whole> {
  const path = join(t.testdir(), 'whole.db')
  const life = new Life(open(path))
  await life.commits(300)
  for (let batch = 0; batch < 40; batch++) life.bookkeeping.journal.prune(Number.MAX_SAFE_INTEGER / 8192, 5)
  const state = openedState(life.bookkeeping)
  life.bookkeeping.journal.close()
  return { path, file: readFileSync(path), state }
}

/** Refused at the start with the reason, told by `ledger verify`, or just as it was. @throws where none of these holds. */
function openOutcome({ path, state }: Whole, file: Buffer, what: string): 'refused' | 'told' | 'whole' {
  writeFileSync(path, file)
  for (const suffix of ['-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true })
  let bookkeeping: Opened
  try {
    bookkeeping = open(path)
  } catch (thrown) {
    const { code, message }: Fault = asFault(thrown)
    const utterance = code === 'unavailable' && message.includes(path) && REASONS.test(message)
    if (!utterance) throw new Error(`${what}: refused with ${code}: ${message}`, { cause: thrown })
    return 'refused'
  }
  try {
    const { journal } = bookkeeping
    if (!verify(journal.export(), journal.spent(), journal.carried()).ok) return 'told'
    if (openedState(bookkeeping) !== state) throw new Error(`${what}: other rows than before`)
    return 'whole'
  } finally {
    bookkeeping.journal.close()
  }
}

t.test('a damaged head of the file: refused, or nothing is lost', async (t) => {
  const whole = await wholeStore(t)
  const counts = { refused: 0, told: 0, whole: 0 }
  for (let at = 0; at < 100; at++)
    for (const bit of LONG ? [0, 1, 2, 3, 4, 5, 6, 7] : [below(8)]) {
      const file = Buffer.from(whole.file)
      file[at] ^= 1 << bit
      counts[openOutcome(whole, file, `byte ${at}, bit ${bit}`)]++
    }
  t.ok(counts.refused > 30 && counts.whole > 0 && counts.told === 0, JSON.stringify(counts))
})

t.test('a damaged page: refused, but for those that hold nothing', async (t) => {
  const whole = await wholeStore(t)
  const size = whole.file.readUInt16BE(16)
  const free = new Set(freePages(whole.file))
  t.ok(free.size > 3, `${free.size} free pages`)
  const counts = { refused: 0, told: 0, whole: 0 }
  const pages = whole.file.length / size
  for (let page = 1; page <= pages; page++)
    for (const fill of [0, 0xa5]) {
      const file = Buffer.from(whole.file)
      file.fill(fill, (page - 1) * size, page * size)
      const outcome = openOutcome(whole, file, `page ${page} of ${pages} filled with ${fill}`)
      counts[outcome]++
      // A page in the middle of a long text has no structure that could be wrong: its text then is no JSON.
      if (free.has(page) !== (outcome === 'whole'))
        t.fail(`page ${page} of ${pages}, free: ${free.has(page)}, filled with ${fill}: ${outcome}`)
    }
  t.equal(counts.whole, free.size * 2)
  t.equal(counts.refused + counts.told, (pages - free.size) * 2)
  t.ok(counts.refused > counts.told * 4, JSON.stringify(counts))
})

t.test('a file cut at any length is refused', async (t) => {
  const whole = await wholeStore(t)
  const size = whole.file.readUInt16BE(16)
  const pages = whole.file.length / size
  const lengths = new Set([0, 1, 50, 99, 100, 511, 512, 513, whole.file.length - 1])
  for (let page = 1; page < pages; page++) for (const near of [-1, 0, 1]) lengths.add(page * size + near)
  for (let count = runs(20, 500); count > 0; count--) lengths.add(1 + below(whole.file.length - 1))
  const counts = { refused: 0, told: 0, whole: 0 }
  for (const length of lengths) counts[openOutcome(whole, whole.file.subarray(0, length), `cut to ${length} of ${whole.file.length}`)]++
  t.same(counts, { refused: lengths.size, told: 0, whole: 0 })
  t.equal(openOutcome(whole, whole.file, 'the whole file'), 'whole', 'the damage alone was the reason')
})

t.test('a file that is gone, with its log still there, is not begun anew', async (t) => {
  const { log } = await createCopy(t, 0, 10)
  const path = join(t.testdir({}), 'gone.db')
  writeFileSync(`${path}-wal`, log)
  const refusal = (): Fault => {
    try {
      open(path).journal.close()
    } catch (thrown) {
      return asFault(thrown)
    }
    throw new Error('it was opened')
  }
  const { code, message } = refusal()
  t.equal(code, 'unavailable')
  t.match(message, /gone\.db is missing, but its log is there/)
  t.same(readFileSync(`${path}-wal`), log, 'the log is left as it was')
  rmSync(`${path}-wal`)
  const bookkeeping = open(path)
  t.same([...bookkeeping.journal.export()], [], 'without both it is a new store')
  bookkeeping.journal.close()
  writeFileSync(path, '')
  t.match(refusal().message, /gone\.db is damaged: it has 0 bytes/)
})
