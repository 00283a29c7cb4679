/** POST /v1/generations/{id}/plan: plans the recorded request anew, and lists where the plan differs from what the request did. */
import { Fault } from '../core/faults.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import { generationView } from '../ledger/generation.ts'
import { replayBody } from '../ledger/plan-inputs.ts'
import type { GenerationRecord } from '../ledger/types.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import type { DetailSource } from './generation-detail.ts'
import { allKeys } from './key-entry.ts'
import { type ApiReply, ok } from './reply.ts'

export type Planned = { plan: JsonObject } | { status: number; message: string }

export interface ReplaySource extends DetailSource {
  readonly replay: {
    /** @param format of the text, as that of `POST /v1/plan`. */
    plan(text: string, format: 'chat' | 'embeddings', key: ApiKey): Promise<Planned>
  }
}

/** Facts that a row does not keep, so that a plan made from it is approximate. */
const APPROXIMATE = [
  'the words of the request: a text of the same length stands for them',
  'the client format: the plan is that of chat',
  'values of parameters, and definitions of tools',
  'entries of plugins and the preset of the request',
]

/** @throws Fault 404; 409 where the row keeps no inputs, or its key is gone. */
export async function planGeneration(id: string, source: ReplaySource): Promise<ApiReply> {
  const record = await source.ledger.find(id)
  if (!record) throw new Fault('not_found', { message: 'No such generation' })
  const body = replayBody(record)
  if (!body)
    throw new Fault('conflict', { message: 'The record keeps no inputs of a plan: it is open, from an earlier version, or no generation' })
  const key = (await allKeys(source)).find(({ identity }) => identity === record.hold.key)
  if (!key) throw new Fault('conflict', { message: 'The key of the generation no longer exists' })
  const planned = await source.replay.plan(body.text, body.format, key)
  const refused = 'plan' in planned ? null : planned
  const plan = 'plan' in planned ? planned.plan : null
  const happened = happenedIn(record)
  return ok({ data: { id, approximate: APPROXIMATE, happened, plan, refused, differences: listDifferences(happened, planned) } })
}

/** The outcome of a recorded request, in fields of the API. */
export function happenedIn(record: GenerationRecord): JsonObject {
  const { model, provider_name, endpoint, status, usage } = generationView(record)
  return {
    model: model ?? null,
    provider_name: provider_name ?? null,
    endpoint: endpoint ?? null,
    status: status ?? null,
    usage: usage ?? null,
  }
}

function listDifferences(happened: JsonObject, planned: Planned): JsonObject[] {
  if (!('plan' in planned)) return [{ what: 'outcome', was: happened.status ?? null, would_be: `refused with ${planned.status}` }]
  const [first] = Array.isArray(planned.plan.candidates) ? planned.plan.candidates : []
  if (!isObject(first)) return []
  const would: JsonObject = { model: first.model ?? null, endpoint: `${String(first.model)}@${String(first.endpoint)}` }
  return (['model', 'endpoint'] as const).flatMap((what) =>
    happened[what] === would[what] ? [] : [{ what, was: happened[what] ?? null, would_be: would[what] ?? null }],
  )
}
