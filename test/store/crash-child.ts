/**
 * A journal under load, to be killed: `node crash-child.ts <file> <round>`.
 * Prints `h <seq>` and `s <seq> <cost>` for every row once its commit is acknowledged, never before.
 */
import { writeSync } from 'node:fs'
import { systemClock } from '../../src/core/clock.ts'
import { openJournal } from '../../src/store/journal.ts'
import { holdRow, settleRow } from './samples.ts'

const [, , path, round] = process.argv
const journal = openJournal(path, { durability: 'process', clock: systemClock })
const found = journal.reconcile()
const before = journal.lastSeq()
writeSync(1, `r ${found.count} ${found.charged}\n`)

async function exchange(seq: number): Promise<void> {
  journal.hold(holdRow(seq, { key: `key-${seq % 5}`, floor: seq % 97 }))
  await journal.committed()
  writeSync(1, `h ${seq}\n`)
  for (let turns = seq % 4; turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve))
  journal.settle(settleRow(seq, seq % 1009, { facts: JSON.stringify({ round, text: 'x'.repeat(seq % 900) }) }))
  await journal.committed()
  writeSync(1, `s ${seq} ${seq % 1009}\n`)
}

async function lane(start: number, step: number): Promise<never> {
  for (let seq = start; ; seq += step) await exchange(seq)
}

const LANES = 8
for (let index = 0; index < LANES; index++) void lane(before + 1 + index, LANES)
