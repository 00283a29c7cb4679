/** Reports findings in answers. Unlike for requests, the text that matched is not shown to the caller. */
import { Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import type { Stage } from '../plugin-api/exchange.ts'
import type { EngineVerdict } from './engine.ts'
import type { Hit } from './findings.ts'
import { findingData } from './moderation/finding.ts'
import { hitStages } from './report.ts'

/** Cost of the reading of an answer. */
export interface Held {
  /** The most that was held back at once. */
  readonly bytes: number
  /** Milliseconds for which something was held back at most; undefined where nothing streams. */
  readonly ms?: number
}

/** Changes a stage of a request into one of an answer. */
export function ofAnswer(stage: Stage, entities: readonly string[], held?: Held): Stage {
  const { patterns: _, ...data } = stage.data ?? {}
  const kinds = entities.length > 0 ? { matched_entity_types: [...entities] } : {}
  stage.data = { ...data, ...kinds, direction: 'output', ...heldData(held) }
  stage.summary = stage.summary?.replace(/^Request/, 'Response')
  return stage
}

function heldData(held: Held | undefined): JsonObject {
  if (!held) return {}
  return { held_bytes: held.bytes, ...(held.ms === undefined ? {} : { held_ms: held.ms }) }
}

/** One stage for each guardrail, kind of check and action that came of it. */
export function answerStages(hits: Iterable<Hit>, held?: Held): Stage[] {
  const all = [...hits]
  return hitStages(all).map((stage) => {
    const own = all.filter(({ rule }) => rule.guardrail.id === stage.guardrail_id && rule.stage === stage.name)
    return ofAnswer(
      stage,
      stage.data?.matched_entity_types === undefined ? hitEntities(own) : [...(stage.data.matched_entity_types as string[])],
      held,
    )
  })
}

/** An answer in which nothing was found. */
export function readStage(held: Held): Stage {
  const data: JsonObject = { action: 'passed', detected: false, engines: ['regex'], direction: 'output', ...heldData(held) }
  return { type: 'guardrail', name: 'content-filter', summary: 'Response read, nothing found', data }
}

function hitEntities(hits: readonly Hit[]): string[] {
  return [...new Set(hits.map(({ rule }) => rule.entity))]
}

/** 403 `guardrail_blocked`; undefined where nothing blocks. */
export function answerFault(hits: Iterable<Hit>): Fault | undefined {
  const blocking = [...hits].filter(({ rule }) => rule.action === 'block')
  const [first] = blocking
  if (!first) return undefined
  const { rule } = first
  return blocked(rule.stage === 'regex_pi_detection' ? 'prompt injection' : rule.label, hitEntities(blocking), rule.guardrail.name)
}

/** 403 where an engine wants the answer refused. */
export function answerEngineFault({ action, label, entities, moderation }: EngineVerdict, guardrail: string): Fault | undefined {
  if (action !== 'block') return undefined
  const fault = blocked(label, entities, guardrail)
  if (moderation) fault.metadata = { ...fault.metadata, ...findingData(moderation), provider_name: moderation.engine }
  return fault
}

function blocked(label: string | undefined, entities: readonly string[], guardrail: string): Fault {
  return new Fault('guardrail_blocked', {
    message: `Response blocked by content filter: ${label ?? '[BLOCKED]'}`,
    metadata: { direction: 'output', matched_entity_types: [...entities], guardrail },
  })
}
