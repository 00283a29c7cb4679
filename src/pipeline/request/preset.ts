/** The preset that a request names, laid under what it says itself. */
import type { Config } from '../../config/config.ts'
import { badField, type Fault, unknownModel } from '../../core/faults.ts'
import type { JsonObject } from '../../core/json.ts'
import { type Preset, sends } from '../../dialects/canon/presets.ts'
import type { GatewayFields } from '../../dialects/canon/request-fields.ts'
import type { ClientDialect } from '../../dialects/types.ts'

/** Fields that the body no longer has once the preset is merged into it. */
export type PresetFields = Pick<GatewayFields, 'requested' | 'presetProvider'>

interface WithPreset {
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
 * The preset that a request names, laid under what the request says itself.
 * Fields that the request sends win; the preset's provider preferences go beside the body, since they combine.
 * @param body with nothing checked: what is malformed stays for the check to name.
 * @throws Fault 404 for a slug with an unknown preset, 400 naming `preset` for an unknown one there or for two that differ.
 */
export function withPreset(body: JsonObject, client: ClientDialect, config: Pick<Config, 'presets' | 'defaultModel'>): WithPreset {
  const inSlug = typeof body.model === 'string' ? parseSlug(body.model) : undefined
  const { preset: inField } = body
  const name = inSlug?.name ?? inField
  if (typeof name !== 'string') return { body }
  if (inSlug && typeof inField === 'string' && inField !== name)
    throw badField('preset', `model names the preset ${name}, expected the same`)
  const preset = config.presets.get(name)
  if (!preset) throw inSlug ? unknownModel(String(body.model), [], `No such preset: ${name}`) : unknownField(name)
  const whole: JsonObject = { ...(client.withPreset?.(body, preset) ?? body) }
  const model = chooseModel(body, inSlug, preset, config.defaultModel)
  if (model !== undefined) whole.model = model
  else if (inSlug) delete whole.model
  const ownFallbacks = sends(body, 'models') || (client.gatewayFields?.(body).models?.length ?? 0) > 0
  if (preset.models && !ownFallbacks) whole.models = [...preset.models]
  const requested = inSlug ? String(body.model) : sends(body, 'model') || sends(body, 'models') ? undefined : `${MARK}${name}`
  return { body: whole, fields: { requested, presetProvider: preset.provider } }
}

function parseSlug(model: string): Named | undefined {
  if (!model.includes(MARK)) return undefined
  const [, named, name, variants] = SLUG.exec(model) ?? []
  return named !== undefined && name !== undefined && variants !== undefined ? { model: named, name, variants } : undefined
}

/** The model that the request names, else the preset's; undefined to leave the body as it is. */
function chooseModel(body: JsonObject, inSlug: Named | undefined, preset: Preset, fallback: string | undefined): string | undefined {
  if (!inSlug) return sends(body, 'model') || sends(body, 'models') ? undefined : (preset.model ?? preset.models?.[0])
  if (inSlug.model !== '') return inSlug.model + inSlug.variants
  const list: readonly unknown[] | undefined = Array.isArray(body.models) && body.models.length > 0 ? body.models : preset.models
  const model = preset.model ?? list?.[0] ?? fallback
  return typeof model === 'string' ? model + inSlug.variants : undefined
}

function unknownField(name: string): Fault {
  return badField('preset', NAME.test(name) ? `no preset is named ${name}` : 'expected the name of a preset')
}
