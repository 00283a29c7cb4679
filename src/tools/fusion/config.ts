/** The caller's `parameters` of the tool over the operator's settings of the plugin `fusion` (docs/contract.md#tools-in-a-request, docs/contract.md#plugins). */
import {
  badField,
  isObject,
  type JsonObject,
  type Model,
  type PanelFields,
  panelFields,
  panelFor,
  type ToolContext,
} from '../../plugin-api/index.ts'
import { callSettings } from '../model-calls.ts'

/** Steps of the panel, where the request sets none (docs/contract.md#plugins). */
const USUAL_STEPS = 8
const USUAL_LENGTH = 16_000

export interface FusionConfig {
  models: readonly string[]
  /** Undefined where the calling model is to analyse the answers itself. */
  analyst: string | undefined
  /** Output tokens of every call, where its model can write as many; undefined where the caller does not say. */
  length: number | undefined
  /** Fields of the request for every member of the panel, and for the analyst. */
  member: JsonObject
  judge: JsonObject
}

/** @param at path of the tool in the request. @throws Fault 400 naming the path. */
export function parseConfig(parameters: JsonObject, at: string, settings: JsonObject, context: ToolContext): FusionConfig {
  const path = `${at}.parameters`
  const wanted = panelFields(parameters, path)
  const { models, analyst } = panelFor(wanted, settings, context.models, path)
  const { temperature, max_output_tokens: length, ...manner } = callSettings(parameters, path)
  const cache = parseCache(parameters, path)
  const tools = panelTools(wanted, settings, path, context)
  return {
    models,
    analyst,
    length: typeof length === 'number' ? length : undefined,
    member: { ...manner, ...cache, ...(temperature === undefined ? {} : { temperature }), ...tools },
    judge: { ...manner, ...cache, temperature: 0 },
  }
}

function panelTools(wanted: PanelFields, settings: JsonObject, path: string, { brand, runs, checkTools }: ToolContext): JsonObject {
  const own = panelFields(settings, 'plugins.defaults.fusion')
  const steps = wanted.steps ?? own.steps ?? USUAL_STEPS
  const research = ['web_search', 'web_fetch'].filter((name) => runs(name))
  const named = wanted.tools ?? own.tools
  for (const [i, { type }] of (wanted.tools ?? []).entries()) {
    const [, name = ''] = String(type).split(':')
    if (!runs(name)) throw badField(`${path}.tools[${i}].type`, `${name} is no server tool that runs here, expected one that does`)
  }
  checkTools(wanted.tools ?? [], `${path}.tools`)
  const tools = named ?? research.map((name) => ({ type: `${brand}:${name}`, parameters: { max_uses: steps } }))
  return tools.length === 0 ? {} : { tools: [...tools], max_tool_calls: steps }
}

function parseCache({ cache_control: cache }: JsonObject, path: string): JsonObject {
  if (cache === undefined || cache === null) return {}
  if (!isObject(cache) || cache.type !== 'ephemeral') throw badField(`${path}.cache_control.type`, "expected 'ephemeral'")
  return { cache_control: cache }
}

/** The output cap, lowered to what the model can write: a larger one would have no endpoint. @returns a field of its request. */
export function answerLength(slug: string, wanted: number | undefined, models: readonly Model[]): JsonObject {
  const model = models.find((one) => one.slug === slug)
  // What an alias or a router stands for is not known here.
  if (!model) return wanted === undefined ? {} : { max_output_tokens: wanted }
  const most = wanted ?? USUAL_LENGTH
  const can = model.endpoints.map(({ maxOutput }) => maxOutput ?? most)
  return { max_output_tokens: Math.min(most, Math.max(...can)) }
}
