/** GET /v1/generations/{id} and `headgate generations show`: one request as a timeline, from what its row keeps. */

import { Type } from 'typebox'
import { checker } from '../core/check.ts'
import { Fault } from '../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../core/json.ts'
import { DETAILED_COUNTS } from '../core/ledger-counts.ts'
import { usd } from '../core/money.ts'
import { parseDetail, parseFacts } from '../ledger/facts.ts'
import { generationView } from '../ledger/generation.ts'
import type { LedgerReader } from '../ledger/reader.ts'
import type { GenerationRecord } from '../ledger/types.ts'
import { moneyLines, reservationEntry } from './generation-money.ts'
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
  const facts = parseFacts(record.settled)
  const detail = parseDetail(facts)
  const attempts = listAttempts(view, facts)
  const steps = listSteps(detail)
  return ok({
    data: {
      ...view,
      api_key_hash: key?.hash ?? record.hold.key,
      api_key_name: key?.name ?? null,
      attempts,
      steps,
      guardrails: asObjects(detail.guardrails),
      plugins: asObjects(detail.plugins).map(({ nano, ...plugin }) => ({ ...plugin, usd: usd(asNumber(nano) ?? 0) })),
      timeline: buildTimeline({ record, view, steps, attempts }),
      tokens: tokenCounts(record),
      money: moneyLines(record),
      reservation: reservationEntry(record),
      held: usd(record.hold.hold),
    },
  })
}

export interface GenerationCommand {
  readonly id: string
}

const checkCommand = checker(Type.Object({ id: Type.String({ minLength: 1, maxLength: 256 }) }, { additionalProperties: false }))

/** @param command as it was sent, not checked yet. @throws Fault 400 naming the field, 404. */
export async function runGenerationCommand(command: unknown, source: DetailSource): Promise<JsonObject> {
  checkCommand(command)
  return (await generationDetail((command as GenerationCommand).id, source)).body
}

/** Calls of providers, in order. Of older rows it is not known when they began. */
function listAttempts(view: JsonObject, facts: JsonObject): JsonObject[] {
  // Of the row itself: the view that callers have lacks the causes.
  const calls = asObjects(facts.provider_responses ?? view.provider_responses)
  // Of one call that answered at once the row keeps no more than its own times.
  const isPlain = facts.provider_responses === undefined && typeof facts.inputs === 'string'
  const sentAt = asNumber(facts.sent_at) ?? 0
  return calls.map((call, at) => {
    const latency = isPlain ? Math.max(0, (asNumber(facts.latency) ?? 0) - sentAt) : asNumber(call.latency)
    const took = isPlain ? Math.max(0, (asNumber(facts.generation_time) ?? 0) - sentAt) : asNumber(call.took)
    const hasAnswered = isPlain || took !== undefined
    return {
      position: at + 1,
      provider_name: call.provider_name ?? null,
      endpoint: call.endpoint ?? view.endpoint ?? null,
      status: call.status ?? null,
      error: call.code ?? null,
      cause: call.cause ?? null,
      latency: latency ?? null,
      at_ms: isPlain ? sentAt : (call.at ?? null),
      time_to_first_token: hasAnswered ? (latency ?? null) : null,
      duration_ms: took ?? latency ?? null,
      turn: call.turn ?? 1,
      dropped: call.dropped ?? [],
      answer_check: call.answer_check ?? null,
      reason: callReason(calls, at),
      choice: at === 0 ? (facts.why ?? null) : null,
    }
  })
}

/** `choice` says more of the first one. */
function callReason(calls: readonly JsonObject[], at: number): string {
  const call = calls[at]
  const before = calls[at - 1]
  if (!before) return 'first'
  if ((call?.turn ?? 1) !== (before.turn ?? 1)) return 'next_turn'
  // The same endpoint is called again within a turn only without the reasoning that it has refused.
  return before.endpoint !== undefined && before.endpoint === call?.endpoint ? 'without_reasoning' : 'previous_failed'
}

/** Tools, calls that they made of models, engines of guardrails and plugins that took their time. */
function listSteps(detail: JsonObject): JsonObject[] {
  return asObjects(detail.steps).map((step, at) => ({
    position: at + 1,
    kind: step.kind ?? null,
    name: step.name ?? null,
    at_ms: step.at ?? null,
    duration_ms: step.took ?? null,
    error: step.failure ?? null,
    within: typeof step.within === 'number' ? step.within + 1 : null,
    tokens: step.input === undefined ? null : { prompt: step.input, completion: step.output ?? 0 },
    usd: step.nano === undefined ? null : usd(asNumber(step.nano) ?? 0),
    attempts: asObjects(step.attempts).map(({ code, cause, at: at_ms, ...attempt }) => ({
      ...attempt,
      error: code ?? null,
      cause: cause ?? null,
      at_ms: at_ms ?? null,
    })),
  }))
}

const stepEvent = ({ kind, position, name, at_ms, duration_ms, error }: JsonObject): JsonObject => ({
  kind: String(kind),
  at_ms: at_ms ?? null,
  duration_ms: duration_ms ?? null,
  position: position ?? null,
  name: name ?? null,
  error: error ?? null,
})

const attemptEvent = ({ position, provider_name: name, at_ms, duration_ms }: JsonObject): JsonObject => ({
  kind: 'attempt',
  at_ms: at_ms ?? null,
  duration_ms: duration_ms ?? null,
  position: position ?? null,
  name: name ?? null,
})

interface Parts {
  readonly record: GenerationRecord
  readonly view: JsonObject
  readonly steps: readonly JsonObject[]
  readonly attempts: readonly JsonObject[]
}

/** In the order of their beginning, milliseconds since the admission; what has no time stands where it was noted. */
function buildTimeline({ record: { settled, at }, view, steps, attempts }: Parts): JsonObject[] {
  const parts = [...steps.map(stepEvent), ...attempts.map(attemptEvent)]
  const events: JsonObject[] = [{ kind: 'admitted', at_ms: 0, at: new Date(at).toISOString() }]
  // From the admission to the first call: the gateway's own layers, and what they waited for.
  const before = asNumber(attempts[0]?.at_ms)
  if (before) events.push({ kind: 'layers', at_ms: 0, duration_ms: before })
  const isStep = parts.some(({ kind, name }) => kind === 'guardrail' || (kind === 'plugin' && name === 'moderation'))
  if (view.moderation_latency !== null && !isStep)
    events.push({ kind: 'moderation', at_ms: null, duration_ms: view.moderation_latency ?? null })
  const moments = parts.every(({ at_ms }) => at_ms !== null)
  const hasContent = attempts.some(({ time_to_first_token: first, error }) => first !== null || error === null)
  const first: JsonObject[] = settled && hasContent ? [{ kind: 'first_content', at_ms: view.latency ?? null }] : []
  const middle = moments ? [...parts, ...first].sort((a, b) => Number(a.at_ms) - Number(b.at_ms)) : [...parts, ...first]
  events.push(...middle)
  if (settled) events.push({ kind: 'settled', at_ms: view.generation_time ?? null, name: settled.status, error: view.error ?? null })
  return events
}

function tokenCounts({ settled }: GenerationRecord): JsonObject | null {
  if (!settled) return null
  return Object.fromEntries(DETAILED_COUNTS.map(({ shown, count }) => [shown, settled[count] ?? 0]))
}

const asNumber = (value: Json | undefined): number | undefined => (typeof value === 'number' ? value : undefined)
const asObjects = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : [])
