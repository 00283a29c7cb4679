/** Workers that are killed, and what becomes of the ledger and of credit. */
import { existsSync } from 'node:fs'
import t from 'tap'
import { FakeClock } from '../../support/clock.ts'
import { audit } from '../../support/crash/audit.ts'
import { SECRET } from '../../support/crash/configuration.ts'
import { left, processFamily } from '../../support/crash/processes.ts'
import { BookkeepingProvider } from '../../support/crash/provider.ts'
import { eventually } from '../../support/eventually.ts'
import { startUpstream } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'
import {
  askOnce,
  configured,
  fetchMetrics,
  inTurn,
  QUESTION,
  ready,
  rows,
  serveWorkers,
  verified,
  type WorkerGroup,
} from '../../support/workers.ts'

/** Asks until told to stop, whatever becomes of a connection. @returns what was received whole. */
async function pressed(workerPool: WorkerGroup, ending: () => boolean, random: () => number): Promise<string[]> {
  const received: string[] = []
  const one = async (): Promise<void> => {
    while (!ending()) {
      const stream = random() < 0.5
      const reply = await askOnce(workerPool.url, { key: SECRET, body: { ...QUESTION, stream } }).catch(() => undefined)
      if (reply?.status === 200 && (!stream || reply.text.endsWith('data: [DONE]\n\n')) && !reply.text.includes('"error":{'))
        received.push(reply.id)
    }
  }
  await Promise.all(Array.from({ length: 16 }, one))
  return received
}

t.test('kill -9 of a worker, then of the owner: nothing is lost, nothing is there twice', async (t) => {
  const clock = new FakeClock(11)
  const random = (): number => clock.random()
  const provider = new BookkeepingProvider(random)
  const url = await provider.listen()
  t.teardown(() => provider.close())
  const { file, store } = await configured(t, url)
  const workerPool = await serveWorkers(t, file, 3)
  let ending = false
  const load = pressed(workerPool, () => ending, random)
  await provider.reached(150)
  const [victim] = workerPool.workers()
  process.kill(victim, 'SIGKILL')
  await eventually('the replacement', async () => (await fetchMetrics(workerPool.admin))('headgate_worker_restarts_total') || undefined)
  await ready(workerPool.admin)
  await provider.reached(provider.received + 150)
  const family = processFamily(workerPool.pid)
  ending = true
  // The workers end by themselves; whoever starts next waits for that.
  process.kill(workerPool.pid, 'SIGKILL')
  t.ok(
    [1, 2, 3].some((slot) => existsSync(`${store}-worker-${slot}`)),
    'journals of workers are left',
  )

  const next = await serveWorkers(t, file, 1)
  const received = await load
  t.same(left(family), [], 'no worker outlives its owner')
  t.notOk(existsSync(`${store}-worker-2`) || existsSync(`${store}-worker-3`), 'those of workers that are no more are taken in')
  await verified(t, next.admin)
  const all = await rows(next.admin)
  const found = audit(all, provider.calls)
  t.same(found.problems, [])
  t.match(found, { lost: 0, double: 0 })
  const settled = new Set(all.filter(({ status }) => status === 'completed').map(({ id }) => id))
  t.same(
    received.filter((id) => !settled.has(id)),
    [],
    'what a caller has read to its end is settled',
  )
  t.ok(received.length > 100, `${received.length} replies were read whole`)
  next.child.kill('SIGTERM')
  t.match(await next.exited, { code: 0 })
})

t.test('the lease of a dead worker is free again: a key spends its limit to the last cent, and not more', async (t) => {
  const upstream = await startUpstream((seen) => answerFor(seen, { text: ['ok'] }))
  t.teardown(() => upstream.close())
  const { file } = await configured(t, upstream.url, { price: '{ prompt: "0", completion: "0", request: "1.00" }', limit: '110.00' })
  const workerPool = await serveWorkers(t, file, 2)
  const ask = () => askOnce(workerPool.url, { key: SECRET, body: QUESTION })
  t.same(new Set((await inTurn(10, ask)).map(({ status }) => status)), new Set([200]))
  process.kill(workerPool.workers()[0], 'SIGKILL')
  await eventually('the replacement', async () => (await fetchMetrics(workerPool.admin))('headgate_worker_restarts_total') || undefined)
  await ready(workerPool.admin)
  const replies = await Promise.all(Array.from({ length: 1000 }, ask))
  const count = (status: number): number => replies.filter((reply) => reply.status === status).length
  // A machine that is short of time may be overloaded by a thousand at once.
  const shed = (await fetchMetrics(workerPool.admin))('headgate_shed_total')
  t.same([count(200), count(402), count(503)], [100, 900 - shed, shed])
  await eventually('the rows of all', async () => ((await rows(workerPool.admin)).length === 110 ? true : undefined))
  t.equal(
    (await rows(workerPool.admin)).reduce((sum, row) => sum + row.cost_nano, 0),
    110e9,
  )
  workerPool.child.kill('SIGTERM')
  t.match(await workerPool.exited, { code: 0 })
})
