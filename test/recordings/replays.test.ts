/**
 * Whatever the gateway sends out it takes back: each reply that it makes of a recorded one, whole and streamed, comes back as the next
 * turn of its caller, with a result for each tool call, and is served. The short run takes every third recording.
 * Runs with `npm run test:recordings`.
 */
import t from 'tap'
import { startGateway } from '../support/gateway.ts'
import { nextTurn } from '../support/next-turn.ts'
import { startUpstream } from '../support/upstream.ts'
import { says } from '../support/wire.ts'
import { CLIENTS, shortRequest } from './callers.ts'
import { nameOf, readRecordings } from './cassettes.ts'
import { failureOf } from './failures.ts'
import { requiredFolder } from './folder.ts'
import { configuration, modelFor } from './providers.ts'

t.setTimeout(280_000)
const folder = requiredFolder(t)
if (folder !== undefined)
  await t.test('each reply is taken back', async (t) => {
    const { exchanges } = readRecordings(folder)
    const upstream = await startUpstream(() => ({ status: 500 }))
    t.teardown(() => upstream.close())
    const gateway = await startGateway(configuration(upstream.url))
    t.teardown(() => gateway.close())
    const served = new Map<string, number>()
    const refused: string[] = []
    const some = process.env.HEADGATE_LONG === '1' ? exchanges : exchanges.filter((_, at) => at % 3 === 0)
    for (const exchange of some) {
      if (failureOf(exchange)) continue
      const { status, headers, body, streamed, binary } = exchange
      for (const client of CLIENTS) {
        const bytes = binary ? Buffer.from(body, 'latin1') : body
        upstream.script = () => ({ status, headers, body: [bytes] })
        const request = shortRequest(client, modelFor(exchange), streamed)
        const reply = await gateway.post(client.path, request)
        const next = reply.status === 200 ? nextTurn(client, await reply.text(), streamed) : undefined
        if (!next) continue
        upstream.script = says({ text: ['fine'] })
        const second = await gateway.post(client.path, { ...request, ...next, stream: false })
        const text = await second.text()
        if (second.status === 200) served.set(client.id, (served.get(client.id) ?? 0) + 1)
        else refused.push(`${client.id}, ${nameOf(exchange)}: ${second.status} ${text.slice(0, 300)}`)
      }
    }
    for (const client of CLIENTS) t.ok((served.get(client.id) ?? 0) > 100, `${client.id}: ${served.get(client.id)} turns`)
    t.same(refused, [])
  })
