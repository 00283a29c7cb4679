/** The pool of threads: results, limits, queue, and what becomes of a thread that breaks. */
import { spawnSync } from 'node:child_process'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/core/clock.ts'
import { type JobOptions, type PoolOptions, ThreadError, ThreadPool } from '../../src/services/threads/index.ts'
import { FakeClock, turn } from '../support/clock.ts'
import { every } from '../support/every.ts'

const module = new URL('../support/thread-jobs.ts', import.meta.url)

function pool(t: Test, options: Partial<PoolOptions> = {}): ThreadPool {
  const made = new ThreadPool({ module, ...options })
  t.teardown(() => made.close())
  return made
}

/** Time stands still unless a test moves it. */
const options = (more: Partial<JobOptions> = {}): JobOptions => ({ clock: new FakeClock(), timeout: 1000, ...more })

async function catchMessage(asked: Promise<unknown>): Promise<string> {
  try {
    return `none: ${String(await asked)}`
  } catch (thrown) {
    return thrown instanceof ThreadError ? thrown.failure : String(thrown)
  }
}

t.test('results, and buffers that move instead of being copied', async (t) => {
  const threads = pool(t)
  t.equal(threads.size, 0, 'none before the first job')
  const bytes = new Uint8Array([1, 2, 3])
  t.equal(await threads.run({ does: 'sum', bytes }, options()), 6)
  t.equal(bytes.length, 3, 'copied')
  t.equal(await threads.run({ does: 'sum', bytes }, options({ transfer: [bytes.buffer] })), 6)
  t.equal(bytes.length, 0, 'moved')
  t.same(await threads.run({ does: 'back', bytes: new Uint8Array([7]) }, options()), new Uint8Array([7]))
  t.equal(threads.size, 1, 'one does for one job at a time')
  t.equal(await threads.run({ does: 'environment' }, options()), 0, 'it sees nothing of the environment')
  t.equal(await threads.run({ does: 'print' }, options()), true)
})

t.test('a job that fails fails alone', async (t) => {
  const threads = pool(t, { threads: 1 })
  const thread = await threads.run({ does: 'thread' }, options())
  const refused = await threads.run({ does: 'refuse' }, options()).catch((error: unknown) => error)
  t.match(refused, { failure: 'refused', word: 'not this one' })
  const thrown = await threads.run({ does: 'throw' }, options()).catch((error: unknown) => error)
  t.match(thrown, { failure: 'failed', word: '' })
  t.notMatch(String(thrown) + JSON.stringify(thrown), /secret/)
  t.equal(await catchMessage(threads.run({ does: 'recurse' }, options())), 'failed')
  t.equal(await threads.run({ does: 'thread' }, options()), thread, 'the thread lives on')
  await every(t, 'every does', async (t) => {
    for (const does of ['exit', 'crash']) {
      const waiting = threads.run({ does: 'sum', bytes: new Uint8Array([4]) }, options())
      t.equal(await catchMessage(threads.run({ does }, options())), 'failed', does)
      t.equal(await waiting, 4)
      t.not(await threads.run({ does: 'thread' }, options()), thread, `${does}: another thread takes its place`)
    }
  })
  t.equal(await catchMessage(threads.run({ does: 'sum', bytes: () => 1 }, options())), 'failed', 'what cannot be sent')
  t.equal(await threads.run({ does: 'sum', bytes: new Uint8Array([5]) }, options()), 5)
  const missing = pool(t, { module: new URL('../support/no-such-module.ts', import.meta.url) })
  t.equal(await catchMessage(missing.run({ does: 'sum' }, options())), 'failed')
})

t.test('time: a job is cut at its limit, waiting or at work', async (t) => {
  const threads = pool(t, { threads: 1 })
  const first = await threads.run({ does: 'thread' }, options())
  const clock = new FakeClock()
  const spinning = catchMessage(threads.run({ does: 'spin' }, options({ clock, timeout: 1000 })))
  const waits = catchMessage(threads.run({ does: 'thread' }, options({ clock, timeout: 500 })))
  const after = threads.run({ does: 'thread' }, options({ clock, timeout: 5000 }))
  await clock.advance(500)
  t.equal(await waits, 'timeout', 'the time in the queue counts')
  await clock.advance(500)
  t.equal(await spinning, 'timeout')
  t.not(await after, first, 'the next job gets a new thread')
  t.same(
    clock.waiting.filter((delay) => delay < 60_000),
    [],
    'no timer is left behind',
  )
})

t.test('memory: of objects and of buffers', async (t) => {
  const threads = pool(t, { threads: 1, limits: { heap: 64, buffers: 64 } })
  const real = options({ clock: systemClock, timeout: 60_000 })
  await every(t, 'every does', async (t) => {
    for (const does of ['heap', 'buffers']) {
      t.equal(await catchMessage(threads.run({ does }, real)), 'memory', does)
      t.equal(await threads.run({ does: 'sum', bytes: new Uint8Array([1]) }, real), 1, `${does}: the pool goes on`)
    }
  })
  const small = pool(t, { threads: 1, limits: { heap: 30, buffers: 30 } })
  const thread = await small.run({ does: 'thread' }, options())
  t.equal(await small.run({ does: 'heavy' }, options()), 20)
  t.not(await small.run({ does: 'thread' }, options()), thread, 'a thread that holds much is not kept')
})

t.test('the queue is bounded, and jobs run side by side up to the number of threads', async (t) => {
  const threads = pool(t, { threads: 2, waiting: 3 })
  const latch = new SharedArrayBuffer(4)
  const jobs = Array.from({ length: 7 }, () => catchMessage(threads.run({ does: 'wait', latch }, options())))
  t.same(await Promise.all(jobs.slice(5)), ['busy', 'busy'])
  t.equal(threads.size, 2)
  const flag = new Int32Array(latch)
  Atomics.store(flag, 0, 1)
  Atomics.notify(flag, 0)
  const ran = await Promise.all(jobs.slice(0, 5))
  t.equal(new Set(ran).size, 2)
  await every(t, 'every outcome', async (t) => {
    for (const outcome of ran) t.match(outcome, /^none: \d+$/)
  })
})

t.test('a caller who leaves, and the end of the pool', async (t) => {
  const threads = pool(t, { threads: 1 })
  const leaving = new AbortController()
  const gone = new Error('gone')
  const spinning = threads.run({ does: 'spin' }, options({ signal: leaving.signal }))
  const waiting = threads.run({ does: 'thread' }, options({ signal: leaving.signal }))
  const stays = threads.run({ does: 'sum', bytes: new Uint8Array([2]) }, options())
  leaving.abort(gone)
  await t.rejects(spinning, gone)
  await t.rejects(waiting, gone)
  await t.rejects(threads.run({ does: 'thread' }, options({ signal: leaving.signal })), gone)
  t.equal(await stays, 2)
  const clock = new FakeClock()
  await threads.run({ does: 'thread' }, options({ clock }))
  await clock.advance(60_000)
  t.equal(threads.size, 0, 'threads without work end')
  const cut = [threads.run({ does: 'spin' }, options()), threads.run({ does: 'spin' }, options())].map(catchMessage)
  await turn()
  threads.close()
  t.same(await Promise.all(cut), ['closed', 'closed'])
  t.equal(threads.size, 0)
  t.equal(await threads.run({ does: 'sum', bytes: new Uint8Array([3]) }, options()), 3, 'a later job starts anew')
})

t.test('an idle thread keeps no process alive, a busy one does, and neither says a word', (t) => {
  const script = `
    import { ThreadPool } from ${JSON.stringify(new URL('../../src/services/threads/index.ts', import.meta.url).href)}
    import { systemClock as clock } from ${JSON.stringify(new URL('../../src/core/clock.ts', import.meta.url).href)}
    const pool = new ThreadPool({ module: new URL(${JSON.stringify(module.href)}) })
    console.log(await pool.run({ does: 'print' }, { clock, timeout: 60_000 }))`
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    timeout: 60_000,
    encoding: 'utf8',
  })
  t.same([status, stdout.trim(), stderr], [0, 'true', ''])
  t.end()
})

t.test('where the system gives no thread, the job is turned away and the next one may have more luck', async (t) => {
  const threads = pool(t, { module: new URL('https://example.com/no-file.js') })
  await every(t, 'every round', async (t) => {
    for (let i = 0; i < 3; i++) t.equal(await catchMessage(threads.run('x', options())), 'busy')
  })
  t.equal(threads.size, 0)
})
