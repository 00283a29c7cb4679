/** The tier of service that a request of the pass-through names, in its body or its head: another one than the usual has a price of its own. */
import type { IncomingHttpHeaders } from 'node:http'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { isQuickTier, requestedTier } from '../../core/service-tiers.ts'
import { isEndpoint, type PricedModel } from './native-prices.ts'

/** Headers by which it is requested (Amazon Bedrock, API reference of InvokeModel; Vertex AI). */
const HEADERS = ['x-amzn-bedrock-service-tier', 'x-amzn-bedrock-performanceconfig-latency', 'x-vertex-ai-llm-shared-request-type'] as const
/** Guardrails of Amazon Bedrock, which are billed beside tokens at a price that no endpoint has. */
const [GUARDRAIL, GUARDRAIL_HEADER] = ['guardrailConfig', 'x-amzn-bedrock-guardrailidentifier'] as const

/** A word for a tier, and the field or header that has it. */
export interface TierWord {
  readonly field: string
  readonly word: Json
}

export function tierWords(body: JsonObject, headers: IncomingHttpHeaders): readonly TierWord[] {
  const found = placesOfFields(body).flatMap(({ service_tier: older, serviceTier: tier, speed, performanceConfig: performance }) => [
    wordIn('service_tier', older),
    // Of Converse it is an object (API reference of its runtime, `ServiceTier`).
    wordIn('serviceTier', isObject(tier) ? (tier.type ?? tier) : tier),
    wordIn('speed', speed),
    wordIn('performanceConfig', isObject(performance) ? (performance.latency ?? performance) : performance),
  ])
  found.push(...HEADERS.map((name) => wordIn(name, headers[name]?.toString())))
  if (body[GUARDRAIL] !== undefined) found.push(wordIn(GUARDRAIL, GUARDRAIL))
  if (headers[GUARDRAIL_HEADER] !== undefined) found.push(wordIn(GUARDRAIL_HEADER, GUARDRAIL))
  return found.filter((each) => each !== undefined)
}

const wordIn = (field: string, word: Json | undefined): TierWord | undefined =>
  word === undefined || word === null ? undefined : { field, word }

/** A body, and the objects in it whose members count as its own (Converse; Gemini API, "OpenAI compatibility": `extra_body.google`). */
function placesOfFields(body: JsonObject): JsonObject[] {
  const inner = [body.additionalModelRequestFields, body.extra_body].filter((each) => isObject(each))
  return [body, ...inner, ...inner.flatMap((each) => Object.values(each).filter((member) => isObject(member)))]
}

/** Words that leave the tier to the provider, or name capacity that is paid for otherwise: what serves stands in the reply. */
const OPEN: ReadonlySet<Json> = new Set(['auto', 'scale'])

/** True for tiers that cost no more than the usual one. */
function isUsual(word: Json): boolean {
  const tier = requestedTier(word)
  return OPEN.has(word) || (tier !== undefined && (tier === 'default' || !isQuickTier(tier)))
}

/** The first field with a tier of which one of the models has no price; undefined where there is none. */
export function unpricedTier(words: readonly TierWord[], models: readonly PricedModel[]): string | undefined {
  const hasPrice = (word: Json): boolean => {
    const tier = requestedTier(word)
    const names = new Set(models.map((model) => (isEndpoint(model) ? model.upstreamModel : undefined)))
    return [...names].every((name) =>
      models.some((model) => isEndpoint(model) && model.upstreamModel === name && model.tier !== undefined && model.tier === tier),
    )
  }
  return words.find(({ word }) => !isUsual(word) && !hasPrice(word))?.field
}
