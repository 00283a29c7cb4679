/**
 * Signed and encrypted parts of a recorded reply come back to it with the next turn, byte for byte, through callers of each
 * format. Runs with `npm run test:recordings`.
 */
import t from 'tap'
import type { Json } from '../../src/core/json.ts'
import { startGateway } from '../support/gateway.ts'
import { nextTurn } from '../support/next-turn.ts'
import { startUpstream } from '../support/upstream.ts'
import { says } from '../support/wire.ts'
import { CLIENTS, shortRequest } from './callers.ts'
import { exchangeName, readRecordings } from './cassettes.ts'
import { recordedFailure } from './failures.ts'
import { requiredFolder } from './folder.ts'
import { configuration, modelFor } from './providers.ts'
import { recordedAnswer } from './recorded.ts'
import { exchangeSignatures, textsUnder } from './sealed.ts'

/** Members of requests that hold them, in all formats. */
const SEALED = new Set(['thoughtSignature', 'signature', 'data', 'encrypted_content', 'redactedContent'])

t.setTimeout(880_000)
const folder = requiredFolder(t)
if (folder !== undefined)
  await t.test('signatures and encrypted reasoning of a reply are sent back to the provider unchanged', async (t) => {
    const upstream = await startUpstream(() => ({ status: 500 }))
    t.teardown(() => upstream.close())
    const gateway = await startGateway(configuration(upstream.url))
    t.teardown(() => gateway.close())
    const turns = new Map<string, number>()
    const lost: string[] = []
    for (const exchange of readRecordings(folder).exchanges) {
      const seals = recordedFailure(exchange) ? [] : exchangeSignatures(exchange)
      if (seals.length === 0) continue
      const { streamed } = exchange
      for (const client of CLIENTS) {
        upstream.script = () => recordedAnswer(exchange)
        const request = shortRequest(client, modelFor(exchange), streamed)
        const reply = await gateway.post(client.path, request)
        const next = nextTurn(client, await reply.text(), streamed)
        if (!next) continue
        upstream.script = says({ text: ['fine'] })
        const second = await gateway.post(client.path, { ...request, ...next, stream: false })
        await second.text()
        const sent = new Set<string>()
        textsUnder(upstream.requests.at(-1)?.json as Json, SEALED, sent)
        const missing = seals.filter((forms) => !forms.some((form) => sent.has(form)))
        turns.set(client.id, (turns.get(client.id) ?? 0) + 1)
        if (missing.length > 0) lost.push(`${client.id}, ${exchangeName(exchange)}: ${missing.length} of ${seals.length}`)
      }
    }
    for (const client of CLIENTS) t.ok((turns.get(client.id) ?? 0) > 100, `${client.id}: ${turns.get(client.id)} turns`)
    t.same(lost, [])
  })
