/** Compaction items while several processes answer: made in one, opened in another, also with a key that has just been made. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { HISTORY, SUMMARY, TRIGGER, WORD } from '../../support/compaction.ts'
import { SECRET } from '../../support/crash/configuration.ts'
import { list, object } from '../../support/fold.ts'
import { runProgram } from '../../support/program.ts'
import { type Seen, startUpstream } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'
import { askOnce, configured, inTurn, serveWorkers, type WorkerGroup } from '../../support/workers.ts'

/** Connections of which, dealt out by chance, every worker gets some. */
const MANY = 16

const ask = (workerPool: WorkerGroup, input: readonly JsonObject[]) =>
  askOnce(workerPool.url, { key: SECRET, path: '/v1/responses', body: { model: 'acme/one', input: [...input] } })

async function made(workerPool: WorkerGroup): Promise<JsonObject> {
  const { text } = await ask(workerPool, [...HISTORY, TRIGGER])
  const [item] = list(object(JSON.parse(text) as JsonObject).output)
  if (item?.type !== 'compaction') throw new Error(text)
  return item
}

const opened = async (workerPool: WorkerGroup, item: JsonObject): Promise<number[]> =>
  (await inTurn(MANY, () => ask(workerPool, [item]))).map(({ status }) => status)

t.test('two workers, one set of keys, also after the end', async (t) => {
  const seen: Seen[] = []
  const upstream = await startUpstream((request) => {
    seen.push(request)
    return answerFor(request, { text: [SUMMARY] })
  })
  t.teardown(() => upstream.close())
  const { file } = await configured(t, upstream.url, { keys: `- { name: app, key: "${SECRET}" }` })
  const workerPool = await serveWorkers(t, file, 2)
  const items = await inTurn(MANY, () => made(workerPool))
  for (const { encrypted_content: content } of items) t.match(content, /^hgc1\.1\./, 'one first key for all')
  const [item] = items
  if (!item) throw new Error('no item')
  t.same(await opened(workerPool, item), Array(MANY).fill(200), 'in every worker')
  t.match(seen.at(-1)?.body, WORD)

  const rotate = runProgram(['compaction', 'rotate', '--config', file])
  t.match(await rotate.exited, { code: 0 }, rotate.err())
  t.match(rotate.out(), /1 +\S+ \S+ +decrypts\s+2 +\S+ \S+ +encrypts and decrypts/)
  workerPool.child.kill('SIGTERM')
  t.match(await workerPool.exited, { code: 0 })
  t.notMatch(workerPool.out() + workerPool.err(), WORD, 'no summary in the log')

  const stopped = runProgram(['compaction', 'list', '--config', file, '--json'])
  t.match(await stopped.exited, { code: 0 }, stopped.err())
  t.match(JSON.parse(stopped.out()), { data: [{ number: 1 }, { number: 2, encrypts: true }] }, 'of the file, where no gateway runs')
  const wrong = runProgram(['compaction', 'remove', '--config', file])
  t.match(await wrong.exited, { code: 2 })

  const again = await serveWorkers(t, file, 2)
  t.match((await made(again)).encrypted_content, /^hgc1\.2\./)
  t.same(await opened(again, item), Array(MANY).fill(200), 'after a restart, with the key of before')
})
