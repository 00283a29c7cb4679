/** The part of a generation's record that no query needs as a column, as JSON text. */
import type { Settlement } from '../ledger/settlement.ts'
import type { Exchange } from './exchange.ts'

/** Members of `facts` in a settlement row. */
export interface GenerationFacts {
  model: string
  provider: string
  endpoint: string
  /** The alias or router model that was asked for; null where the caller named the model itself. */
  router: string | null
  operation: string
  user?: string
  session_id?: string
  finish_reason?: string
  native_finish_reason?: string
  /** Milliseconds to the first content, and of the whole exchange. */
  latency: number
  generation_time: number
  streamed: boolean
  cancelled: boolean
  /** Nano-dollars. */
  input_cost: number
  output_cost: number
  tools_cost?: number
  provider_responses: { provider_name: string; endpoint: string; status: number; latency: number; code?: string }[]
  http_referer?: string
  app_title?: string
}

export function generationFacts(exchange: Exchange, settlement: Settlement): string {
  const { clock, headers, gateway } = exchange
  const last = exchange.books.turns.at(-1)
  const endpoint = last?.endpoint
  const elapsed = clock.monotonic() - exchange.started
  const referer = headers['http-referer'] ?? headers.referer
  const title = headers[`x-${exchange.brand}-title`] ?? headers['x-title']
  const facts: GenerationFacts = {
    model: endpoint?.model.slug ?? exchange.requested,
    provider: endpoint?.provider.name ?? '',
    endpoint: endpoint?.id ?? '',
    router: exchange.strategy === 'direct' || exchange.strategy === 'fallback' ? null : exchange.requested,
    operation: exchange.client.id,
    user: typeof exchange.body.user === 'string' ? exchange.body.user : undefined,
    session_id: gateway.sessionId,
    finish_reason: last?.end?.reason,
    native_finish_reason: last?.end?.raw,
    latency: Math.round(exchange.firstContentAt === 0 ? elapsed : exchange.firstContentAt - exchange.started),
    generation_time: Math.round(elapsed),
    streamed: exchange.stream,
    cancelled: settlement.status === 'aborted',
    input_cost: settlement.input,
    output_cost: settlement.output,
    tools_cost: settlement.tools > 0 ? settlement.tools : undefined,
    provider_responses: exchange.attempts.map((attempt) => ({
      provider_name: attempt.provider,
      endpoint: attempt.endpoint,
      status: attempt.status,
      latency: attempt.latency,
      code: attempt.code,
    })),
    http_referer: text(referer),
    app_title: text(title),
  }
  return JSON.stringify(facts)
}

function text(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value.slice(0, 256) : undefined
}
