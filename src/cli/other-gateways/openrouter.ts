/**
 * Presets of OpenRouter: the reply of its `GET /presets/{slug}` (PresetWithDesignatedVersion of its OpenAPI document), or several in a list.
 * Their models are served by OpenRouter itself, until an endpoint of the provider takes its place.
 */
import { asObjects, isObject, type JsonObject } from '../../core/json.ts'
import { PRESET_PARAMETERS } from '../../core/parameters.ts'
import type { ConfigDraft } from './config-draft.ts'
import type { OtherGateway } from './other-gateway.ts'
import type { Part } from './source-file.ts'
import { GATEWAY_TITLES } from './titles.ts'

const isPreset = (value: unknown): boolean => isObject(value) && isObject(value.designated_version)

export const openrouter: OtherGateway = {
  name: 'openrouter',
  title: GATEWAY_TITLES.openrouter,
  compared: { documents: 'https://openrouter.ai/docs', read: '2026-08-22' },
  recognises: ({ data }) => isPreset(data) || (Array.isArray(data) && asObjects(data).some(isPreset)),
  read: ({ root }, draft) => {
    const one = root.part('data')
    const presets = one !== undefined && isObject(one.value) ? [one] : root.list('data')
    for (const preset of presets) readPreset(preset, draft)
    root.part('total_count')?.left('a count')
  },
}

function readPreset(preset: Part, draft: ConfigDraft): void {
  const slug = preset.text('slug') ?? preset.text('name') ?? 'preset'
  const version = preset.part('designated_version')
  const config = version?.part('config')
  const settings: JsonObject = {}
  const description = preset.text('description')
  if (description !== undefined) settings.description = description
  const prompt = version?.text('system_prompt') ?? config?.text('system_prompt')
  if (prompt !== undefined) settings.system_prompt = prompt
  const model = config?.text('model')
  const models = config?.texts('models') ?? []
  if (model !== undefined) settings.model = model
  if (models.length > 0) settings.models = models
  for (const name of new Set([...(model === undefined ? [] : [model]), ...models])) serve(name, draft)
  const provider = config?.part('provider')
  if (provider !== undefined && isObject(provider.value)) preferences(provider, settings)
  const parameters = Object.fromEntries(
    (config?.entries() ?? [])
      .filter(([name]) => PARAMETERS.has(name))
      .map(([name, part]) => {
        part.carried()
        return [name, part.value]
      }),
  )
  if (Object.keys(parameters).length > 0) settings.parameters = parameters
  config?.left('a request sends it itself')
  draft.preset(slug, settings)
  preset.members({ name: ['replaced', 'the slug of the preset'], status: ['left', 'take a preset out of the file to switch it off'] })
  preset.left('facts of the account at OpenRouter')
}

function serve(slug: string, draft: ConfigDraft): void {
  if (draft.modelEndpoints(slug).length > 0 || slug.startsWith('openrouter/')) return
  const provider = draft.provider('openrouter', draft.providerSettings('openrouter', {}))
  draft.endpoint(slug.replace(/:.*$/, ''), { provider, model: slug, price: 'snapshot' })
}

/** Names of providers are OpenRouter's own accounts there; what is wanted of every provider holds here too. */
function preferences(provider: Part, settings: JsonObject): void {
  const kept: JsonObject = {}
  for (const name of ['sort', 'data_collection', 'zdr', 'require_parameters', 'allow_fallbacks']) {
    const part = provider.part(name)
    if (part === undefined || isObject(part.value)) continue
    part.carried()
    kept[name] = part.value
  }
  provider.left('providers of OpenRouter: only, order and ignore name those of the file')
  if (Object.keys(kept).length > 0) settings.provider = kept
}

const PARAMETERS: ReadonlySet<string> = new Set([...PRESET_PARAMETERS, 'max_tokens', 'reasoning'])
