/** Offers the tool `fusion` to the model of any request, and answers for the slugs `fusion` and `fusion-flash`. */
import {
  badField,
  Fault,
  isObject,
  type JsonObject,
  type Model,
  type Plugin,
  panelFields,
  panelFor,
  type Read,
  type Resolved,
  type RouterChoice,
  type RouterView,
} from '../../src/plugin-api/index.ts'

const ID = 'fusion'
const STRATEGY = 'fusion'
const FLASH = 'fusion-flash'
const FAST = 'general-fast'

/** Settings of the tool from the request's entry; those of the operator it has anyway. */
const FIELDS = ['analysis_models', 'model', 'preset', 'max_tool_calls', 'tools'] as const

interface FusionSettings {
  enabled: boolean
  /** The operator's, with the request's entry on top. */
  settings: JsonObject
  path: string
}

export const fusion: Plugin<FusionSettings> = {
  id: ID,
  reserved: ['presets'],
  parse,
  impliedBy: { strategy: STRATEGY },
  implied: ({ depth }) => depth === 0,
  shape,
  router: { names: ['fusion', FLASH], strategy: STRATEGY, choose },
}

/** @throws Fault 400 naming the field under `path`. */
function parse(settings: JsonObject, path: string): FusionSettings {
  const { enabled = true, presets = {} } = settings
  if (typeof enabled !== 'boolean') throw badField(`${path}.enabled`, 'expected true or false')
  if (!isObject(presets)) throw badField(`${path}.presets`, 'expected panels by name')
  for (const [name, preset] of Object.entries(presets)) {
    const at = `${path}.presets.${name}`
    if (!isObject(preset)) throw badField(at, 'expected analysis_models and model')
    if (!panelFields(preset, at).models) throw badField(`${at}.analysis_models`, 'expected a list of model slugs')
  }
  panelFields(settings, path)
  return { enabled, settings, path }
}

/** Adds the panel as a tool, but not to calls of a panel's members, also those of another gateway. */
function shape(exchange: Resolved, { enabled, path }: FusionSettings): void {
  if (!enabled || exchange.depth > 0 || withinPanel(exchange)) return
  if (exchange.request().tools.some((tool) => tool.kind === 'server' && tool.name === ID)) return
  const parameters = panelParameters(exchange)
  exchange.edit(ID, (draft) => {
    draft.tools = [...draft.tools, { kind: 'server', name: ID, parameters, written: { object: path, type: `${path}.id` } }]
  })
}

/** Another gateway says so in a header, `x-<brand>-fusion-depth`, whatever its brand is. */
function withinPanel({ headers }: Resolved): boolean {
  return Object.entries(headers).some(([name, value]) => name.endsWith('-fusion-depth') && Number(value) > 0)
}

/** Settings of the panel by the caller: by the fields of the entry, or by the slug. */
function panelParameters({ gateway, requested, strategy }: Pick<Resolved, 'gateway' | 'requested' | 'strategy'>): JsonObject {
  const entry: JsonObject = gateway.plugins.find(({ id }) => id === ID) ?? {}
  const parameters: JsonObject = {}
  if (strategy === STRATEGY && requested.includes(`/${FLASH}`)) parameters.preset = FAST
  for (const field of FIELDS) if ((entry[field] ?? null) !== null) parameters[field] = entry[field]
  return parameters
}

/** The model that leads the panel, then the others to fall back on. @throws Fault 404 where none of them can serve. */
function choose(exchange: Read, { settings, path }: FusionSettings, view: RouterView): RouterChoice {
  const fields = panelFields(panelParameters({ gateway: exchange.gateway, requested: `/${view.name}`, strategy: STRATEGY }), path)
  const panel = panelFor(fields, settings, view.models, path)
  const leader = panel.analyst ?? panel.models[0]
  const bySlug = new Map(view.models.map((model) => [model.slug, model]))
  const models = [leader, ...panel.models].flatMap((slug): readonly Model[] => {
    const model = slug === undefined ? undefined : bySlug.get(slug)
    return model ? [model] : []
  })
  const [first] = models
  if (!first || (fields.analyst !== undefined && !bySlug.has(fields.analyst))) throw noLeader(leader, exchange)
  return {
    models: [...new Set(models)],
    summary: `${first.slug} with a panel of ${panel.models.length}`,
    data: { panel: [...panel.models] },
  }
}

function noLeader(leader: string | undefined, { gateway }: Read): Fault {
  return new Fault('model_not_found', {
    message: `no models match: ${leader ?? 'no model'} cannot serve this request`,
    availability: {
      code: 'model_not_found',
      retryable: false,
      requested_models: gateway.model === undefined ? [] : [gateway.model],
    },
  })
}
