/**
 * Recorded requests that Amazon Bedrock accepted, sent by a caller of Messages wherever that format has an equal form: what arrives at
 * the provider is what was recorded, leaf by leaf. Runs with `npm run test:recordings`.
 */
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { startGateway } from '../support/gateway.ts'
import { startUpstream } from '../support/upstream.ts'
import { says } from '../support/wire.ts'
import { wireClient } from './callers.ts'
import { type Exchange, exchangeName, readRecordings } from './cassettes.ts'
import { CAP, messagesBody } from './converse-callers.ts'
import { list, object, text } from './expected.ts'
import { requiredFolder } from './folder.ts'
import { configuration, modelFor } from './providers.ts'
import { listLeaves } from './whole.ts'

/** Names of documents in their order: the gateway makes them fit and unique. */
const plain = (name: string): string => name.replaceAll(/[^A-Za-z0-9()[\]-]+/g, ' ').trim()

/** The leaves of a body without what says nothing; a schema is read. */
function leaves(body: JsonObject): Map<string, unknown> {
  const found = new Map<string, unknown>()
  for (const { path, value } of listLeaves(body)) {
    const isEmpty = typeof value === 'object' && value !== null && /^(system|inferenceConfig)$/.test(path)
    if (isEmpty || path.startsWith('additionalModelResponseFieldPaths') || path.endsWith('.toolUse.type')) continue
    if (path.endsWith('.document.name')) found.set(path, plain(text(value)))
    else if (path.endsWith('.jsonSchema.schema')) found.set(path, JSON.parse(text(value)))
    else found.set(path, value)
  }
  return found
}

/** Parts that Messages cannot say, or says in any case. */
function isOfTheFormat(path: string, value: unknown): boolean {
  return (path === 'inferenceConfig.maxTokens' && value === CAP) || path.endsWith('.jsonSchema.name') || path.endsWith('.toolResult.status')
}

function differences(recorded: JsonObject, arrived: JsonObject): string[] {
  const [wanted, found] = [leaves(recorded), leaves(arrived)]
  const missing = [...wanted].filter(([path, value]) => !isDeepStrictEqual(found.get(path), value) && !isOfTheFormat(path, value))
  const more = [...found].filter(([path, value]) => !wanted.has(path) && !isOfTheFormat(path, value))
  return [
    ...missing.map(([path, value]) => `${path}: ${JSON.stringify(value)} became ${JSON.stringify(found.get(path))}`),
    ...more.map(([path]) => `${path} is new`),
  ]
}

/** Sent together with thinking, these are what the gateway itself keeps from the model. */
const accepted = ({ wire, status }: Exchange): boolean => wire === 'bedrock-converse' && status < 300

t.setTimeout(880_000)
const folder = requiredFolder(t)
if (folder !== undefined)
  await t.test('recorded Converse requests', async (t) => {
    const upstream = await startUpstream(says({ text: ['Fine.'] }))
    t.teardown(() => upstream.close())
    const gateway = await startGateway(configuration(upstream.url))
    t.teardown(() => gateway.close())
    const client = wireClient('anthropic')
    if (!client) throw new Error('no client of Messages')
    const without = new Map<string, number>()
    let equal = 0
    for (const exchange of readRecordings(folder).exchanges.filter(accepted)) {
      const body = messagesBody(exchange.request)
      if (typeof body === 'string') {
        without.set(body, (without.get(body) ?? 0) + 1)
        continue
      }
      const response = await gateway.post(client.path, { ...body, model: modelFor(exchange) })
      const reply = await response.text()
      const arrived = response.status === 200 ? upstream.requests.at(-1)?.json : undefined
      t.same(arrived ? differences(exchange.request, arrived).slice(0, 6) : [reply], [], exchangeName(exchange))
      equal++
    }
    for (const [reason, count] of without) t.comment(`no equal form, ${count}: ${reason}`)
    t.ok(equal >= 100, `${equal} requests have an equal form`)
    t.ok(list(object(upstream.requests.at(-1)?.json).messages).length > 0)
  })
