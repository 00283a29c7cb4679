/** The one stage of a plugin in `router_metadata.pipeline`. */
import { isObject, type JsonObject } from '../../core/json.ts'
import type { Stage } from '../../plugin-api/index.ts'

/** Why a plugin did not do its work: it threw, it did not answer in time, or its result does not match the interface. */
export type Trouble = 'error' | 'timeout' | 'junk'

/** What is known of a plugin's work, beside its own report. */
export interface Deeds {
  /** Of the stage, where the plugin does not name another. */
  name: string
  edited: boolean
  trouble: Trouble | undefined
  /** The request went on without it. */
  skipped: boolean
  /** Milliseconds; undefined where nothing was waited for. */
  took: number | undefined
  charges: readonly { what: string; nano: number }[]
}

const SUMMARIES: Readonly<Record<Trouble, string>> = {
  error: 'it failed',
  timeout: 'it did not answer in time',
  junk: 'it gave what cannot be used',
}

const NANO = 1_000_000_000

/**
 * @param said what the plugin pushed, in order: what comes later stands over what came before.
 * @returns undefined for a plugin that has not acted.
 */
export function stageOf(said: readonly unknown[], { name, edited, trouble, skipped, took, charges }: Deeds): Stage | undefined {
  const own = said.filter(isObject)
  if (own.length === 0 && !edited && !trouble && charges.length === 0) return undefined
  const stage: Stage = { type: 'plugin', name }
  const data: JsonObject = {}
  for (const one of own) {
    for (const key of ['type', 'name', 'summary', 'guardrail_id', 'guardrail_scope'] as const) {
      const value = one[key]
      if (typeof value === 'string') stage[key] = value
    }
    if (typeof one.cost_usd === 'number' && Number.isFinite(one.cost_usd)) stage.cost_usd = one.cost_usd
    Object.assign(data, plainData(one.data))
  }
  if (trouble) {
    stage.summary = `${skipped ? 'skipped' : 'failed'}: ${SUMMARIES[trouble]}`
    Object.assign(data, { skipped, reason: trouble })
  }
  if (took !== undefined) data.duration_ms = took
  if (charges.length > 0) {
    stage.cost_usd = charges.reduce((sum, { nano }) => sum + nano, 0) / NANO
    data.charges = charges.map(({ what, nano }) => ({ what, cost_usd: nano / NANO }))
  }
  if (Object.keys(data).length > 0) stage.data = data
  return stage
}

/** The part that JSON can hold: the reply must not fail over the data of a plugin. */
function plainData(data: unknown): JsonObject {
  if (!isObject(data)) return {}
  try {
    return JSON.parse(JSON.stringify(data)) as JsonObject
  } catch {
    return {}
  }
}
