/** Endpoints of the shipped catalogue (`config/catalog`): an import takes from them what the file of the other gateway does not say. */
import { dirname, join } from 'node:path'
import { parse } from 'yaml'
import { providerPreset } from '../../config/provider-presets.ts'
import { type JsonObject, present } from '../../core/json.ts'
import { fileText } from '../../core/program-files.ts'
import { SHIPPED_CONFIG } from '../shipped-config.ts'

/** As the catalogue files have it. */
interface ShippedModel extends JsonObject {
  readonly context?: number
  readonly max_output?: number
  readonly endpoints: ({ readonly provider: string; readonly model: string } & JsonObject)[]
}

let endpoints: ReadonlyMap<string, JsonObject> | undefined

/**
 * @returns the endpoint without its provider, as an entry of `endpoints` has it; undefined where the catalogue does not have it. Of a preset
 *   that speaks another format with the same provider, what depends on the format is left out.
 */
export function shippedEndpoint(preset: string, model: string): JsonObject | undefined {
  endpoints ??= readEndpoints()
  return endpoints.get(endpointKey(preset, model)) ?? endpoints.get(endpointKey(presetAddress(preset), model))
}

const endpointKey = (place: string, model: string): string => `${place} ${model}`

const presetAddress = (preset: string): string => String(providerPreset(preset).provider.base_url)

/** By the preset and the model, and by the provider's address and the model. */
function readEndpoints(): ReadonlyMap<string, JsonObject> {
  const { providers, catalog } = parse(fileText(SHIPPED_CONFIG)) as { providers: Record<string, JsonObject>; catalog: string[] }
  const found = new Map<string, JsonObject>()
  // A second one of the same name differs by its tier or variant, which a caller of the other gateway has not chosen.
  const note = (key: string, settings: JsonObject): unknown => found.has(key) || found.set(key, settings)
  for (const file of catalog) {
    const { models } = parse(fileText(join(dirname(SHIPPED_CONFIG), file)), { merge: true }) as { models: Record<string, ShippedModel> }
    for (const { context, max_output, endpoints: own } of Object.values(models))
      for (const { provider, model, quirks, supported_parameters, ...settings } of own) {
        const preset = providers[provider]?.preset
        if (typeof preset !== 'string') continue
        const facts = present({ context, max_output, ...settings })
        note(endpointKey(preset, model), present({ ...facts, quirks, supported_parameters }))
        note(endpointKey(presetAddress(preset), model), facts)
      }
  }
  return found
}
