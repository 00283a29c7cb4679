/** `router_metadata`: where a request went and why (docs/contract.md#router-metadata). */

import type { Fault } from '../../core/faults.ts'
import { type JsonObject, present } from '../../core/json.ts'
import type { AttemptRecord } from '../../plugin-api/index.ts'
import { type Exchange, requestedModel } from '../exchange.ts'
import { creditCap } from '../money/output-caps.ts'
import { parseTier } from '../request/client-request.ts'

/** @param failed no endpoint is shown as selected, even if one began to answer. */
export function routerMetadata(exchange: Exchange, failed = false): JsonObject {
  const selected = failed ? undefined : exchange.run.committedEndpoint
  const listed = exchange.plan?.candidates ?? exchange.route?.endpoints ?? []
  const available = listed.map((endpoint) => ({
    provider: endpoint.provider.name,
    model: endpoint.model.slug,
    selected: endpoint === selected,
    ...(endpoint.byok ? { is_byok: true } : {}),
  }))
  const summary = selected ? `available=${available.length}, selected=${selected.provider.name}` : `available=${available.length}`
  const metadata: JsonObject = {
    requested: requestedModel(exchange),
    strategy: exchange.demand?.strategy ?? 'direct',
    region: null,
    summary,
    attempt: attemptsOfTurn(exchange),
    is_byok: selected?.byok !== undefined,
    endpoints: { total: available.length, available },
  }
  if (exchange.history.attempts.length > 0) {
    metadata.attempts = exchange.history.attempts.map((attempt) => attemptEntry(attempt, exchange.run.turns > 1))
  }
  const cap = creditCap(exchange)
  // The answer ended because the credit that was left paid for no more.
  if (cap !== undefined) metadata.output_cap = { tokens: cap, reason: 'credit' }
  const params = routingParams(exchange)
  if (params) metadata.params = params
  for (const run of exchange.history.pluginRuns) run.updateStage()
  if (exchange.history.stages.length > 0) metadata.pipeline = exchange.history.stages.map((stage) => ({ ...stage }) as JsonObject)
  return metadata
}

/** Number of the attempt that served, or attempts made, within the last turn (docs/contract.md#router-metadata). */
function attemptsOfTurn({ history: { attempts }, run: { turns } }: Exchange): number {
  let count = 0
  for (const { turn } of attempts) if (turn === turns) count++
  return count
}

/** `status` is the provider's own; `code` says why an attempt failed, since a reply of 200 may break off as well. */
function attemptEntry({ provider, model, status, code, dropped, turn, answerCheck }: AttemptRecord, severalTurns: boolean): JsonObject {
  const entry: JsonObject = { provider, model, status }
  if (code !== undefined) entry.code = code
  if (severalTurns) entry.turn = turn
  if (dropped) entry.dropped = [...dropped]
  if (answerCheck) entry.answer_check = present({ ...answerCheck })
  return entry
}

/**
 * Parameters of the request that bounded the choice; undefined where none did.
 * `version_group`: the model that the requested name stands for, where that is another name: an alias, or the newest of a family.
 * `quality_floor`: the least score that the settings of a router model accept, 0 to 1.
 * `throughput_floor`: `preferred_min_throughput` in tokens per second; of several percentiles the lowest one named.
 * `service_tier`: the requested tier, where it is not the usual one.
 */
function routingParams({ request, demand, route }: Exchange): JsonObject | undefined {
  if (!request || !demand) return undefined
  const { gateway } = request
  const { preferences, strategy } = demand
  const models = route?.models ?? demand.models
  const params: JsonObject = {}
  const score = gateway.plugins.length > 0 ? gateway.plugins.find((entry) => typeof entry.min_coding_score === 'number') : undefined
  if (score && strategy === 'pareto') params.quality_floor = score.min_coding_score
  const goal = preferences.preferred_min_throughput
  const floor = typeof goal === 'object' ? (goal?.p50 ?? goal?.p75 ?? goal?.p90 ?? goal?.p99) : goal
  if (floor !== undefined) params.throughput_floor = floor
  if ((strategy === 'latest' || strategy === 'alias') && models[0]) params.version_group = models[0].slug
  const tier = parseTier(gateway.serviceTier)
  if (tier) params.service_tier = tier
  return Object.keys(params).length > 0 ? params : undefined
}

/** False for errors that came before routing, or that are our own. */
export function metadataOnFault(exchange: Exchange, fault: Fault): boolean {
  if (!exchange.head.wantsMetadata || requestedModel(exchange) === '') return false
  if (fault.status === 500 || fault.status === 401) return false
  // Routing found that the request fits no context.
  if (fault.code === 'context_length') return true
  return !(fault.origin === 'client' && (fault.status === 400 || fault.status === 429))
}
