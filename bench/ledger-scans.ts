/**
 * Cost of scans of a large ledger: `node bench/ledger-scans.ts [--rows 1000000] [--file <path>]`. Fills a SQLite store with
 * 40 days of generations (kept where `--file` names it, and used again), then opens it, reads the week's use, the activity of
 * 30 days and of one key, verifies it and removes what is older than 32 days. Prints how long each takes, its CPU time, and the
 * longest piece of work between two turns of the event loop.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { systemClock } from '../src/core/clock.ts'
import { LedgerScans } from '../src/ledger/scans.ts'
import { DAY_MS } from '../src/ledger/use.ts'
import { SqliteJournal } from '../src/store/journal.ts'
import { openDatabase } from '../src/store/sqlite.ts'

const { values } = parseArgs({ options: { rows: { type: 'string', default: '1000000' }, file: { type: 'string' } } })
const rows = Number(values.rows)
const DAYS = 40
const TICKS = 4096
const KEYS = 50
const MODELS = 20
/** Rows of one commit while filling, and of one batch of the removal. */
const COMMIT = 5_000
const REMOVE = 200

async function fill(file: string): Promise<void> {
  const journal = new SqliteJournal(openDatabase(file, 'process'), { clock: systemClock })
  const begun = Date.now() - DAYS * DAY_MS
  for (let index = 0; index < rows; index++) {
    const at = Math.floor(begun + (index * DAYS * DAY_MS) / rows)
    const seq = at * TICKS + (index % TICKS)
    const [model, provider] = [`acme/model-${index % MODELS}`, `provider-${index % 5}`]
    const endpoint = `${model}@${provider}`
    const facts = `{"model":"${model}","provider":"${provider}","endpoint":"${endpoint}","finish_reason":"stop","native_finish_reason":"end_turn","latency":250,"generation_time":900,"streamed":true,"cancelled":false,"provider_responses":[{"provider_name":"There","status":200,"latency":30}],"operation":"chat","upstream_id":"chatcmpl-0123456789abcdef"}`
    journal.hold({ seq, tag: 'abcdefghijkl', key: `key-${index % KEYS}`, model, endpoint, hold: 9000, floor: 3000 })
    const counts = { input: 120, output: 34, cached: 20, cacheWrite: 3, reasoning: 4 }
    journal.settle({ seq, status: 'completed', cost: 1500, at: at + 1150, ...counts, estimated: false, facts })
    if (index % COMMIT === COMMIT - 1) await journal.committed()
  }
  await journal.committed()
  journal.close()
}

/** Milliseconds of CPU time of this thread. */
function cpu(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/**
 * Prints how long the work takes, and the most that the thread worked between two timers: on a quiet machine that is by how
 * much a request may be late. @returns milliseconds.
 */
async function measured(name: string, work: () => unknown): Promise<number> {
  const slices: number[] = []
  let last = cpu()
  const look = (): void => {
    const now = cpu()
    slices.push(now - last)
    last = now
  }
  const timer = setInterval(look, 1)
  const [begun, before] = [performance.now(), last]
  await work()
  look()
  clearInterval(timer)
  const ms = performance.now() - begun
  const sorted = slices.sort((x, y) => x - y)
  const [most, nearly] = [sorted.at(-1) ?? 0, sorted[Math.floor(sorted.length * 0.99)] ?? 0]
  const slice = `longest slice ${most.toFixed(1)} ms (99 %: ${nearly.toFixed(1)} ms)`
  console.log(`${name.padEnd(30)} ${ms.toFixed(0)} ms, ${(cpu() - before).toFixed(0)} ms of CPU, ${slice}`)
  return ms
}

async function run(file: string): Promise<void> {
  if (!existsSync(file)) await measured(`fill ${rows} rows`, () => fill(file))
  let journal: SqliteJournal | undefined
  await measured('open', () => {
    journal = new SqliteJournal(openDatabase(file, 'process'), { clock: systemClock })
  })
  const opened = journal
  if (!opened) throw new Error('the file does not open')
  await measured('settle what is open', () => opened.reconcile())
  await measured('sums of all keys', () => opened.spent())
  await measured('sums of the windows', () => [...opened.charges(Date.now() - 31 * DAY_MS)])
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS
  const scans = new LedgerScans(opened.ledger, systemClock)
  await measured('/v1/models?sort=top-weekly', () => scans.use({ from: today - 6 * DAY_MS, until: today + DAY_MS }))
  await measured('/v1/activity', () => scans.use({ from: today - 30 * DAY_MS, until: today }))
  await measured('/v1/activity again', () => scans.use({ from: today - 30 * DAY_MS, until: today }))
  await measured('/v1/activity?api_key_hash=…', () => scans.use({ from: today - 30 * DAY_MS, until: today, keys: ['key-7'] }))
  await measured('/ledger/verify', () => scans.verify())
  let removed = 0
  const ms = await measured('remove, in batches of 200', () => {
    for (const end = performance.now() + 3000; performance.now() < end; ) {
      const count = opened.prune(Date.now() - 32 * DAY_MS, REMOVE)
      removed += count
      if (count < REMOVE) break
    }
  })
  console.log(`${removed} removed, ${Math.round((removed / ms) * 1000)} a second of this process's time`)
  opened.close()
}

const folder = mkdtempSync(join(tmpdir(), 'headgate-scans-'))
try {
  await run(values.file ?? join(folder, 'ledger.db'))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
