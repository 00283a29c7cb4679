/**
 * Replays every recorded reply of a real provider byte for byte, through all three client formats, and compares text, tool calls,
 * reasoning, citations, end and usage with what the recording holds; in the provider's own format also every other member.
 * Runs with `npm run test:recordings`.
 */
import t from 'tap'
import { startGateway } from '../support/gateway.ts'
import { startUpstream } from '../support/upstream.ts'
import { CLIENTS, type Client, foldReply, sameWire, shortRequest } from './callers.ts'
import { type Exchange, readRecordings } from './cassettes.ts'
import { type Difference, differences } from './compare.ts'
import { failureDifferences, recordedFailure } from './failures.ts'
import { requiredFolder } from './folder.ts'
import { configuration, modelFor } from './providers.ts'
import { recordedAnswer, recordedExpected } from './recorded.ts'
import { Tally } from './tally.ts'
import { memberDifferences } from './whole.ts'

function replyDifferences(client: Client, exchange: Exchange, status: number, body: string): Difference[] {
  const failure = recordedFailure(exchange)
  if (failure) return failureDifferences(failure, status, body)
  if (status !== 200) return [{ leaf: 'status', expected: 200, got: `${status} ${body}` }]
  try {
    const found = differences(client, exchange.wire, recordedExpected(exchange), foldReply(client, body, exchange.streamed))
    return sameWire(client, exchange.wire) ? [...found, ...memberDifferences(exchange, body)] : found
  } catch (error) {
    // A stream that breaks the rules of the client's format.
    return [{ leaf: 'format', expected: undefined, got: String(error) }]
  }
}

t.setTimeout(880_000)
const folder = requiredFolder(t)
if (folder !== undefined)
  await t.test('recorded replies', async (t) => {
    const { exchanges, skipped } = readRecordings(folder)
    for (const [reason, count] of skipped) t.comment(`not replayed, ${count}: ${reason}`)
    const upstream = await startUpstream(() => ({ status: 500 }))
    t.teardown(() => upstream.close())
    const gateway = await startGateway(configuration(upstream.url))
    t.teardown(() => gateway.close())
    const tally = new Tally('replies')
    for (const exchange of exchanges) {
      upstream.script = () => recordedAnswer(exchange)
      for (const client of CLIENTS) {
        const response = await gateway.post(client.path, shortRequest(client, modelFor(exchange), exchange.streamed))
        tally.settle(t, exchange, client.id, replyDifferences(client, exchange, response.status, await response.text()))
      }
    }
    tally.close(t)
  })
