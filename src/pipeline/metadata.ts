/** `router_metadata`: where a request went and why (contract section 5.7). */

import type { Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import type { Exchange } from './exchange.ts'

export function routerMetadata(exchange: Exchange): JsonObject {
  const selected = exchange.committedEndpoint
  const listed = exchange.candidates.length > 0 ? exchange.candidates : exchange.endpoints
  const available = listed.map((endpoint) => ({
    provider: endpoint.provider.name,
    model: endpoint.model.slug,
    selected: endpoint === selected,
  }))
  const summary = selected ? `available=${available.length}, selected=${selected.provider.name}` : `available=${available.length}`
  const metadata: JsonObject = {
    requested: exchange.requested,
    strategy: exchange.strategy,
    region: null,
    summary,
    attempt: exchange.attempts.length,
    is_byok: false,
    endpoints: { total: available.length, available },
  }
  if (exchange.attempts.length > 0) {
    metadata.attempts = exchange.attempts.map(({ provider, model, status, dropped }) => {
      return dropped ? { provider, model, status, dropped: [...dropped] } : { provider, model, status }
    })
  }
  if (exchange.stages.length > 0) metadata.pipeline = exchange.stages.map((stage) => ({ ...stage }) as JsonObject)
  return metadata
}

/** Errors that came before routing, or that are our own, say nothing of it. */
export function metadataOnFault(exchange: Exchange, fault: Fault): boolean {
  if (!exchange.wantsMetadata || exchange.requested === '') return false
  if (fault.status === 500 || fault.status === 401) return false
  return !(fault.origin === 'client' && (fault.status === 400 || fault.status === 429))
}
