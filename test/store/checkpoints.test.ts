/** On a slow disk requests wait for checkpoints a fiftieth of the time, and the log says so. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import type { Clock } from '../../src/core/clock.ts'
import { type CheckpointReport, Checkpoints } from '../../src/store/checkpoints.ts'
import { FakeClock } from '../support/clock.ts'

/** Milliseconds that a disk takes for the two writes of a checkpoint. */
const SLOW_MS = 800

t.test('a disk that takes 800 ms for a checkpoint stalls requests for a fiftieth of the time', async (t) => {
  const time = new FakeClock()
  let stalled = 0
  const clock: Clock = Object.assign(Object.create(time) as Clock, { monotonic: () => time.monotonic() + stalled })
  const db = new DatabaseSync(join(t.testdir(), 'ledger.db'))
  const exec = db.exec.bind(db)
  db.exec = (text) => {
    stalled += SLOW_MS / 2
    exec(text)
  }
  t.teardown(() => db.close())
  const news: CheckpointReport[] = []
  const checkpoints = new Checkpoints(db, { clock, report: (each) => news.push(each) })
  const began = clock.monotonic()
  for (let second = 0; second < 300; second++) {
    checkpoints.logged(5_000)
    await time.advance(1_000)
  }
  const took = clock.monotonic() - began
  t.ok(checkpoints.count >= 5, `${checkpoints.count} checkpoints`)
  t.ok(stalled <= took / 50 + SLOW_MS, `${stalled} of ${took} ms`)
  t.same(news, [{ kind: 'checkpoint-slow', ms: SLOW_MS }], 'once in ten minutes')
  checkpoints.close()
})

t.test('a checkpoint that fails is reported, and tried again', async (t) => {
  const clock = new FakeClock()
  const db = new DatabaseSync(join(t.testdir(), 'ledger.db'))
  const exec = db.exec.bind(db)
  let isFull = true
  db.exec = (text) => {
    if (isFull) throw new Error('disk I/O error')
    exec(text)
  }
  t.teardown(() => db.close())
  const news: CheckpointReport[] = []
  const checkpoints = new Checkpoints(db, { clock, report: (each) => news.push(each) })
  checkpoints.logged(5_000)
  await clock.advance(250)
  t.match(news, [{ kind: 'checkpoint-failed', cause: /disk I\/O error/ }])
  isFull = false
  checkpoints.logged(5_000)
  await clock.advance(250)
  t.equal(checkpoints.count, 2)
  t.equal(news.length, 1)
  checkpoints.close()
})
