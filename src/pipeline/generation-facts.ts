/** The part of a generation's record that no query needs as a column, as JSON text: only what the columns do not tell. */
import fastJson from 'fast-json-stringify'
import type { Facts } from '../ledger/facts.ts'
import type { Settlement } from '../ledger/settlement.ts'
import { brandHeaders } from './brand-headers.ts'
import type { Exchange } from './exchange.ts'

const text = { type: 'string' } as const
const number = { type: 'number' } as const

/** Compiled, since every request writes one. */
const factsText = fastJson({
  type: 'object',
  properties: {
    model: text,
    provider: text,
    endpoint: text,
    router: text,
    operation: text,
    api_type: text,
    user: text,
    session_id: text,
    finish_reason: text,
    native_finish_reason: text,
    latency: number,
    generation_time: number,
    streamed: { type: 'boolean' },
    tools_cost: number,
    provider_responses: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          provider_name: text,
          endpoint: text,
          status: number,
          latency: number,
          code: text,
          dropped: { type: 'array', items: text },
        },
      },
    },
    http_referer: text,
    app_title: text,
  },
})

/** What equals a column of the hold, or follows from the others, is left out: `ledger/generation.ts` fills it in. */
export function generationFacts(exchange: Exchange, settlement: Settlement): string {
  const { clock, headers, gateway, attempts, candidates } = exchange
  const last = exchange.lastTurn
  const endpoint = last?.endpoint
  const held = exchange.books.heldAt ?? candidates[0]
  const elapsed = clock.monotonic() - exchange.started
  const finish = last?.end
  const plain = attempts.length === 1 && attempts[0].status === 200 && !attempts[0].dropped
  const facts: Facts = {
    model: endpoint && endpoint.model !== held?.model ? endpoint.model.slug : undefined,
    provider: endpoint?.provider.name,
    endpoint: endpoint && endpoint !== held ? endpoint.id : undefined,
    router: exchange.strategy === 'direct' || exchange.strategy === 'fallback' ? undefined : exchange.requested,
    operation: exchange.client.id,
    api_type: exchange.client.embedding ? 'embeddings' : undefined,
    user: typeof exchange.body.user === 'string' ? exchange.body.user : undefined,
    session_id: gateway.sessionId,
    finish_reason: finish?.reason,
    native_finish_reason: finish?.raw === finish?.reason ? undefined : finish?.raw,
    latency: Math.round(exchange.firstContentAt === 0 ? elapsed : exchange.firstContentAt - exchange.started),
    generation_time: Math.round(elapsed),
    streamed: exchange.stream || undefined,
    tools_cost: settlement.tools > 0 ? settlement.tools : undefined,
    provider_responses: plain
      ? undefined
      : attempts.map((attempt) => ({
          provider_name: attempt.provider,
          endpoint: attempt.endpoint,
          status: attempt.status,
          latency: attempt.latency,
          code: attempt.code,
          dropped: attempt.dropped && [...attempt.dropped],
        })),
    http_referer: shortened(headers['http-referer'] ?? headers.referer),
    app_title: shortened(headers[brandHeaders(exchange.brand).title] ?? headers['x-title']),
  }
  return factsText(facts)
}

function shortened(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value.slice(0, 256) : undefined
}
