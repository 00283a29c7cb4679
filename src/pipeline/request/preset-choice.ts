/** The preset that a request names, laid under what the request says itself. */

import { badField, Fault } from '../../core/faults.ts'
import type { JsonObject } from '../../core/json.ts'
import type { GatewayFields } from '../../dialects/canon/gateway-fields.ts'
import { type Preset, sends } from '../../dialects/canon/presets.ts'
import type { ClientDialect } from '../../dialects/types.ts'
import type { ChainSettings } from '../parts.ts'

/** What the body no longer shows once the preset is merged into it. */
export type PresetFields = Pick<GatewayFields, 'requested' | 'presetProvider'>

export interface WithPreset {
  /** The very body where it names no preset. */
  readonly body: JsonObject
  readonly fields?: PresetFields
}

const MARK = '@preset/'
/** `@preset/x`, `author/name@preset/x`, and variants behind either. */
const SLUG = /^([^@]*)@preset\/([\w.-]+)((?::[\w.+-]+)*)$/
const NAME = /^[\w.-]{1,64}$/

interface Named {
  readonly name: string
  /** The model that stands in front of the preset in the slug; empty where there is none. */
  readonly model: string
  /** Variants behind the preset, with their colons. */
  readonly variants: string
}

/**
 * Fields that the request sends win; the preset's provider preferences go beside the body, since they combine.
 * @param body with nothing checked: what is malformed stays for the check to name.
 * @throws Fault 404 for a slug with an unknown preset, 400 naming `preset` for an unknown one there or for two that differ.
 */
export function withPreset(body: JsonObject, client: ClientDialect, settings: Pick<ChainSettings, 'presets' | 'defaultModel'>): WithPreset {
  const inSlug = slugOf(body.model)
  const { preset: inField } = body
  const name = inSlug?.name ?? inField
  if (typeof name !== 'string') return { body }
  if (inSlug && typeof inField === 'string' && inField !== name)
    throw badField('preset', `model names the preset ${name}, expected the same`)
  const preset = settings.presets.get(name)
  if (!preset) throw inSlug ? unknownSlug(String(body.model), name) : unknownField(name)
  const whole: JsonObject = { ...(client.withPreset?.(body, preset) ?? body) }
  const model = modelOf(body, inSlug, preset, settings.defaultModel)
  if (model !== undefined) whole.model = model
  else if (inSlug) delete whole.model
  const ownFallbacks = sends(body, 'models') || (client.gatewayFields?.(body).models?.length ?? 0) > 0
  if (preset.models && !ownFallbacks) whole.models = [...preset.models]
  const requested = inSlug ? String(body.model) : sends(body, 'model') || sends(body, 'models') ? undefined : `${MARK}${name}`
  return { body: whole, fields: { requested, presetProvider: preset.provider } }
}

function slugOf(model: unknown): Named | undefined {
  // One letter is looked for ten times as fast as a word.
  if (typeof model !== 'string' || !model.includes('@') || !model.includes(MARK)) return undefined
  const match = SLUG.exec(model)
  return match ? { model: match[1], name: match[2], variants: match[3] } : undefined
}

/** The model that the request names, else the preset's; undefined to leave the body as it is. */
function modelOf(body: JsonObject, inSlug: Named | undefined, preset: Preset, fallback: string | undefined): string | undefined {
  if (!inSlug) return sends(body, 'model') || sends(body, 'models') ? undefined : (preset.model ?? preset.models?.[0])
  if (inSlug.model !== '') return inSlug.model + inSlug.variants
  const list: readonly unknown[] | undefined = Array.isArray(body.models) && body.models.length > 0 ? body.models : preset.models
  const model = preset.model ?? list?.[0] ?? fallback
  return typeof model === 'string' ? model + inSlug.variants : undefined
}

function unknownSlug(slug: string, name: string): Fault {
  return new Fault('model_not_found', {
    message: `No such preset: ${name}`,
    availability: { code: 'model_not_found', retryable: false, requested_models: [slug], docs_url: '/docs' },
  })
}

function unknownField(name: string): Fault {
  return badField('preset', NAME.test(name) ? `no preset is named ${name}` : 'expected the name of a preset')
}
