/**
 * Sends every recorded request that a real provider accepted through a provider of the same format, where all of it must arrive
 * but for the documented changes, and through a provider of each other format, where nothing may be lost unless the generation's
 * record names it. Runs with `npm run test:recordings`.
 */
import t from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { startGateway } from '../support/gateway.ts'
import { startUpstream } from '../support/upstream.ts'
import type { WireName } from '../support/wire.ts'
import { accepted, arrivalDifferences } from './arrival.ts'
import type { Client } from './callers.ts'
import { type Exchange, readRecordings } from './cassettes.ts'
import type { Difference } from './compare.ts'
import { list } from './expected.ts'
import { requiredFolder } from './folder.ts'
import { LossCheck } from './losses.ts'
import { ANY_MODEL, configuration, modelFor } from './providers.ts'
import { exchangeCaller, passedHeaders, type Scene, send } from './requests.ts'
import { Tally } from './tally.ts'

/** Through a provider of the same format. */
async function sameDifferences(scene: Scene, client: Client, exchange: Exchange, body: JsonObject): Promise<Difference[]> {
  const headers = passedHeaders(exchange)
  const { status, reply, arrived, headers: seen } = await send(scene, client, { ...body, model: modelFor(exchange) }, headers)
  if (status !== 200 || !arrived) return [{ leaf: 'refused', expected: 200, got: reply }]
  const lost = Object.entries(headers).filter(([name, value]) => seen[name] !== value)
  return [
    ...arrivalDifferences(client, body, arrived),
    ...lost.map(([name, value]) => ({ leaf: `header ${name}`, expected: value, got: String(seen[name]) })),
  ]
}

/** Without remote MCP servers, which the gateway would call itself (docs/mcp.md). */
function withoutServers(body: JsonObject): JsonObject {
  const tools = list(body.tools).filter(({ type }) => type !== 'mcp')
  if (tools.length === list(body.tools).length) return body
  const { tools: _, tool_choice: _choice, ...rest } = body
  return tools.length > 0 ? { ...rest, tools } : rest
}

/** Through a provider of each other format. */
async function otherDifferences(check: LossCheck, client: Client, exchange: Exchange, request: JsonObject): Promise<Difference[]> {
  const body = withoutServers(request)
  const found: Difference[] = []
  for (const [wire, model] of Object.entries(ANY_MODEL))
    if (wire !== exchange.wire) found.push(...(await check.differences(client, wire as WireName, { ...body, model })))
  return found
}

t.setTimeout(880_000)
const folder = requiredFolder(t)
if (folder !== undefined)
  await t.test('recorded requests', async (t) => {
    const requests = readRecordings(folder).exchanges.flatMap((exchange) => {
      const client = exchangeCaller(exchange)
      if (!client || exchange.status >= 300) return []
      // Another gateway's preferences among its own providers (docs/dialects.md, "Fields that are never sent").
      const { provider: _, ...request } = exchange.request
      return [{ exchange, client, ...accepted(client, request) }]
    })
    const upstream = await startUpstream(() => ({ status: 500 }))
    t.teardown(() => upstream.close())
    const gateway = await startGateway(configuration(upstream.url))
    t.teardown(() => gateway.close())
    const scene: Scene = { gateway, upstream }
    const check = new LossCheck(scene, requests)
    const tally = new Tally('requests')
    const refused = new Map<string, number>()
    for (const { exchange, client, body, refused: fields } of requests) {
      for (const field of fields) refused.set(field, (refused.get(field) ?? 0) + 1)
      const same = await sameDifferences(scene, client, exchange, body)
      // What is refused whatever the provider is listed once.
      const other = same.some(({ leaf }) => leaf === 'refused') ? [] : await otherDifferences(check, client, exchange, body)
      tally.settle(t, exchange, client.id, [...same, ...other])
    }
    for (const [field, count] of refused) t.comment(`sent without ${field}, which is refused (docs/dialects.md), ${count}`)
    tally.close(t)
  })
