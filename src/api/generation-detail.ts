/** GET /v1/generations/{id}: one request as a timeline, from what its row keeps. */
import { Fault } from '../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../core/json.ts'
import { usd } from '../core/money.ts'
import { factsOf } from '../ledger/facts.ts'
import { generationView } from '../ledger/generation.ts'
import type { GenerationRecord, LedgerReader } from '../ledger/types.ts'
import { allKeys, type KeySource } from './key-entry.ts'
import { type ApiReply, ok } from './reply.ts'

export interface DetailSource extends Pick<KeySource, 'configured' | 'store'> {
  readonly ledger: Pick<LedgerReader, 'find'>
}

/** @throws Fault 404. */
export async function generationDetail(id: string, source: DetailSource): Promise<ApiReply> {
  const record = await source.ledger.find(id)
  if (!record) throw new Fault('not_found', { message: 'No such generation' })
  const key = (await allKeys(source)).find(({ identity }) => identity === record.hold.key)
  const view = generationView(record)
  const attempts = attemptsOf(view)
  return ok({
    data: {
      ...view,
      api_key_hash: key?.hash ?? record.hold.key,
      api_key_name: key?.name ?? null,
      attempts,
      timeline: timelineOf(record, view, attempts),
      tokens: tokensOf(record),
      money: moneyOf(record),
      held: usd(record.hold.hold),
    },
  })
}

/** Calls of providers, in order. */
function attemptsOf(view: JsonObject): JsonObject[] {
  const calls = Array.isArray(view.provider_responses) ? view.provider_responses.filter(isObject) : []
  return calls.map((call, at) => ({
    position: at + 1,
    provider_name: call.provider_name ?? null,
    endpoint: call.endpoint ?? view.endpoint ?? null,
    status: call.status ?? null,
    error: call.code ?? null,
    latency: call.latency ?? null,
    dropped: call.dropped ?? [],
    reason: at === 0 ? 'first' : 'previous_failed',
  }))
}

/** Milliseconds since the admission where they are known. */
function timelineOf({ settled, at }: GenerationRecord, view: JsonObject, attempts: readonly JsonObject[]): JsonObject[] {
  const event = (kind: string, at_ms: Json, more: JsonObject = {}): JsonObject => ({ kind, at_ms, ...more })
  const events = [event('admitted', 0, { at: new Date(at).toISOString() })]
  if (view.moderation_latency !== null) events.push(event('moderation', null, { duration_ms: view.moderation_latency ?? null }))
  for (const attempt of attempts)
    events.push(
      event('attempt', null, {
        name: attempt.provider_name ?? null,
        duration_ms: attempt.latency ?? null,
        position: attempt.position ?? null,
      }),
    )
  if (!settled) return events
  events.push(event('first_content', view.latency ?? null))
  events.push(event('settled', view.generation_time ?? null, { name: settled.status, error: view.error ?? null }))
  return events
}

function tokensOf({ settled }: GenerationRecord): JsonObject | null {
  if (!settled) return null
  const { input, output, reasoning, cached, cacheWrite } = settled
  return { prompt: input, completion: output, reasoning, cached, cache_write: cacheWrite }
}

/** What the charge is made of, as far as the row keeps it. USD. */
function moneyOf({ settled }: GenerationRecord): JsonObject[] {
  if (!settled) return []
  const facts = factsOf(settled)
  const tools = typeof facts.tools_cost === 'number' ? facts.tools_cost : 0
  const lines: JsonObject[] = [{ item: 'providers', usd: usd(settled.cost - tools) }]
  if (tools > 0) lines.push({ item: 'tools', usd: usd(tools) })
  return lines
}
