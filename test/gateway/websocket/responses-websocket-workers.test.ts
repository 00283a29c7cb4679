/** Responses over WebSocket while several processes answer: a connection and what it continues belong to one of them. */
import t from 'tap'
import { SECRET } from '../../support/crash/configuration.ts'
import { eventually } from '../../support/eventually.ts'
import { lastEvent, openSocket, responseId } from '../../support/responses-socket.ts'
import { startUpstream } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'
import { configured, fetchMetrics, inTurn, rows, serveWorkers, verified } from '../../support/workers.ts'

/** Connections of which, dealt out by chance, every worker gets some. */
const MANY = 16
const model = 'acme/one'

t.test('connections are spread over workers, each continues its own responses, and all are settled', async (t) => {
  const upstream = await startUpstream((seen) => answerFor(seen, { text: ['fine'] }))
  t.teardown(() => upstream.close())
  const { file } = await configured(t, upstream.url, { keys: `- { name: app, key: "${SECRET}" }` })
  const workerPool = await serveWorkers(t, file, 2)
  const clients = await inTurn(MANY, () => openSocket({ url: workerPool.url, key: SECRET }))
  t.equal((await fetchMetrics(workerPool.admin))('headgate_websockets'), MANY)
  const firsts = await Promise.all(clients.map((client) => client.respond({ model, input: 'Hello', stream_id: 'main' })))
  const nexts = await Promise.all(
    clients.map((client, at) =>
      client.respond({ model, previous_response_id: responseId(firsts[at] ?? []), input: 'More', stream_id: 'fork' }),
    ),
  )
  for (const reply of [...firsts, ...nexts]) t.equal(lastEvent(reply).type, 'response.completed')
  const stranger = lastEvent(await (clients[0] ?? t).respond({ model, previous_response_id: responseId(firsts[1] ?? []), input: 'More' }))
  t.match(stranger, { error: { code: 'previous_response_not_found' } }, 'no other connection has it')
  const settled = await eventually('the ledger', async () => {
    const found = await rows(workerPool.admin)
    return found.length === 2 * MANY && found.every(({ status }) => status === 'completed') ? found : undefined
  })
  t.same(settled.map(({ id }) => id).sort(), [...firsts, ...nexts].map(responseId).sort(), 'each response once')
  await verified(t, workerPool.admin)
  workerPool.child.kill('SIGTERM')
  for (const client of clients) t.match(await client.ended(), { code: 1001 })
  t.match(await workerPool.exited, { code: 0 })
})
