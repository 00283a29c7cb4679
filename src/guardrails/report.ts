/** Reports findings: the fault of a block for the caller, the stages for `router_metadata` (docs/contract.md#guardrails). */
import { Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import type { Stage } from '../plugin-api/exchange.ts'
import type { EngineVerdict, ExternalEngine } from './engine.ts'
import { evident } from './evidence.ts'
import { type Hit, MATCH_COUNT } from './findings.ts'
import { findingData, findingMetadata, moderationMessage } from './moderation/finding.ts'
import type { GuardrailName, StageName } from './rule.ts'
import type { Action } from './settings/recognisers.ts'

/** Past forms of the actions, as stages have them. */
export const DONE: Readonly<Record<Action, 'flagged' | 'redacted' | 'blocked'>> = { flag: 'flagged', redact: 'redacted', block: 'blocked' }

/** 403 `guardrail_blocked` with the matched texts in `metadata.patterns`; undefined where nothing blocks. */
export function blockFault(hits: Iterable<Hit>): Fault | undefined {
  const blocking = [...hits].filter(({ rule }) => rule.action === 'block')
  const [first] = blocking
  if (!first) return undefined
  const { rule } = first
  return new Fault('guardrail_blocked', {
    message: blockMessage(rule),
    metadata: { patterns: hitPatterns(blocking), guardrail: rule.guardrail.name },
  })
}

function blockMessage({ stage, label }: { stage: StageName; label: string | undefined }): string {
  if (stage === 'regex_pi_detection') return 'Request blocked: prompt injection patterns detected'
  return `Request blocked by content filter: ${label ?? '[BLOCKED]'}`
}

function hitPatterns(hits: readonly Hit[]): string[] {
  return [...new Set(hits.flatMap(({ matched }) => matched))].slice(0, MATCH_COUNT)
}

/** One stage for each guardrail, kind of check and action that came of it. */
export function hitStages(hits: Iterable<Hit>): Stage[] {
  const groups: [Hit, ...Hit[]][] = []
  for (const hit of hits) {
    const { guardrail, stage, action } = hit.rule
    const group = groups.find(([{ rule }]) => rule.guardrail.id === guardrail.id && rule.stage === stage && rule.action === action)
    if (group) group.push(hit)
    else groups.push([hit])
  }
  return groups.map(hitStage)
}

function hitStage(hits: readonly [Hit, ...Hit[]]): Stage {
  const [{ rule }] = hits
  const { action } = rule
  const data: JsonObject = { action: DONE[action], detected: true, engines: ['regex'] }
  if (action !== 'block') data.flagged = true
  // A redacted text is not shown again, only its kind.
  if (action === 'block' || rule.stage === 'regex_pi_detection') data.patterns = hitPatterns(hits)
  else data.matched_entity_types = [...new Set(hits.map((hit) => hit.rule.entity))]
  const stage = { type: 'guardrail', name: rule.stage, ...named(rule.guardrail), summary: actionSummary(action, hits), data }
  const entities = [...new Set(hits.map((hit) => hit.rule.entity))]
  return evident(stage, { guardrail: rule.guardrail, entities, matched: [...new Set(hits.flatMap(({ matched }) => matched))] })
}

export function named({ id, scope }: GuardrailName): { guardrail_id: string; guardrail_scope: string } {
  return { guardrail_id: id, guardrail_scope: scope }
}

function actionSummary(action: Action, hits: readonly [Hit, ...Hit[]]): string {
  const [{ rule }] = hits
  const done = DONE[action]
  if (rule.stage === 'regex_pi_detection') {
    const count = hitPatterns(hits).length
    return `${done.charAt(0).toUpperCase()}${done.slice(1)}: prompt injection detected (${count} pattern${count === 1 ? '' : 's'} matched)`
  }
  if (action === 'block') return blockMessage(rule)
  return `Content ${done} (${[...new Set(hits.map((hit) => hit.rule.entity))].join(', ')})`
}

/** The stage of an engine's finding; undefined if it found nothing. */
export function engineStage(
  guardrail: GuardrailName,
  { name: engine, stage: name = 'content-filter' }: EngineName,
  { action, entities, patterns, moderation }: EngineVerdict,
): Stage | undefined {
  if (action === undefined) return undefined
  const data: JsonObject = { action: DONE[action], detected: true, engines: [engine] }
  if (action !== 'block' || moderation) data.flagged = true
  if (action === 'block') data.patterns = [...patterns]
  if (entities.length > 0) data.matched_entity_types = [...entities]
  if (moderation) Object.assign(data, findingData(moderation))
  const kinds = entities.length > 0 ? ` (${entities.join(', ')})` : ''
  const summary = `Content ${DONE[action]} by ${engine}${kinds}`
  const stage = { type: 'guardrail', name, ...named(guardrail), summary, data }
  return evident(stage, { guardrail, entities, matched: [...new Set(patterns)] })
}

type EngineName = Pick<ExternalEngine, 'name' | 'stage'>

/** The stage of an engine that did not answer: reported even if the request goes on, and counted as `unchecked`. */
export function silentStage(guardrail: GuardrailName, { name: engine, stage: name = 'content-filter' }: EngineName): Stage {
  const data: JsonObject = { action: 'unchecked', engines: [engine] }
  const stage = { type: 'guardrail', name, ...named(guardrail), summary: `${engine} did not answer`, data }
  return evident(stage, { guardrail, entities: [], matched: [] })
}

interface EngineSubject {
  /** Its name in messages. */
  readonly guardrail: string
  /** Slug that the caller sent. */
  readonly model: string
}

/** 403 where the engine wants the request refused. */
export function engineFault(
  { action, label, patterns, moderation }: EngineVerdict,
  { guardrail, model }: EngineSubject,
): Fault | undefined {
  if (action !== 'block') return undefined
  if (moderation) {
    const metadata = { ...findingMetadata(moderation, model), patterns: [...patterns], guardrail }
    return new Fault('guardrail_blocked', { message: moderationMessage(moderation), metadata })
  }
  return new Fault('guardrail_blocked', {
    message: blockMessage({ stage: 'content-filter', label }),
    metadata: { patterns: [...patterns], guardrail },
  })
}
