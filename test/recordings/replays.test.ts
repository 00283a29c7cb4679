/**
 * Whatever the gateway sends out it takes back: each reply that it makes of a recorded one, whole and streamed, comes back as the next
 * turn of its caller, with a result for each tool call. It is served by the provider that wrote the reply and by another one, the next
 * in a row of all (the long run takes each of the row), and what goes out keeps the rules of that provider.
 * Runs with `npm run test:recordings`.
 */
import t from 'tap'
import { startGateway } from '../support/gateway.ts'
import { nextTurn } from '../support/next-turn.ts'
import { startUpstream } from '../support/upstream.ts'
import { says } from '../support/wire.ts'
import { CLIENTS, shortRequest } from './callers.ts'
import { exchangeName, readRecordings } from './cassettes.ts'
import { recordedFailure } from './failures.ts'
import { requiredFolder } from './folder.ts'
import { configuration, ownModel, PRESET_MODELS } from './providers.ts'
import { recordedAnswer } from './recorded.ts'
import { TakenBack } from './taken-back.ts'

/** Betas whose blocks stand in recorded replies; the recordings do not have the headers that named them. */
const BETAS = { 'anthropic-beta': 'advisor-tool-2026-03-01,mcp-client-2026-09-15' }

const LONG = process.env.HEADGATE_LONG === '1'

t.setTimeout(LONG ? 7_000_000 : 880_000)
const folder = requiredFolder(t)
if (folder !== undefined)
  await t.test('each reply is taken back', async (t) => {
    const upstream = await startUpstream(() => ({ status: 500 }))
    t.teardown(() => upstream.close())
    const gateway = await startGateway(configuration(upstream.url))
    t.teardown(() => gateway.close())
    const rules = new TakenBack()
    const served = new Map<string, number>()
    const refused: string[] = []
    let compactions = 0
    let turn = 0
    for (const exchange of readRecordings(folder).exchanges) {
      if (recordedFailure(exchange)) continue
      rules.know(exchange)
      const { streamed } = exchange
      const own = ownModel(exchange)
      for (const client of CLIENTS) {
        upstream.script = () => recordedAnswer(exchange)
        const request = shortRequest(client, own.model, streamed)
        const reply = await gateway.post(client.path, request, BETAS)
        const next = reply.status === 200 ? nextTurn(client, await reply.text(), streamed) : undefined
        if (!next) continue
        const row = PRESET_MODELS.filter(({ model }) => model !== own.model)
        const others = LONG ? row : row.slice(turn++ % row.length).slice(0, 1)
        for (const target of [own, ...others]) {
          upstream.script = says({ text: ['fine'] })
          const second = await gateway.post(client.path, { ...request, ...next, model: target.model, stream: false }, BETAS)
          const text = await second.text()
          const wrong = second.status === 200 ? rules.refusalFor(target, upstream.requests.at(-1)) : undefined
          // Its own account alone can read it, and the message says so.
          if (second.status === 400 && text.includes('this compaction item was made at a provider')) compactions++
          else if (second.status === 200 && !wrong) served.set(client.id, (served.get(client.id) ?? 0) + 1)
          else
            refused.push(
              `${client.id}, ${exchangeName(exchange)}, ${target.model}: ${wrong ? JSON.stringify(wrong) : `${second.status} ${text.slice(0, 300)}`}`,
            )
        }
      }
    }
    for (const client of CLIENTS) t.ok((served.get(client.id) ?? 0) > 1500, `${client.id}: ${served.get(client.id)} turns`)
    t.equal(compactions > 0, true, 'the one recorded compaction goes to no other account')
    t.same(refused, [])
  })
