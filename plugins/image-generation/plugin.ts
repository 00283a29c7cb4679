/** Offers the tool `image_generation` to the model of any request, and holds the operator's settings of it. */
import { badField, type JsonObject, type Plugin, type Resolved } from '../../src/plugin-api/index.ts'

const ID = 'image-generation'
const TOOL = 'image_generation'

interface ImageSettings {
  enabled: boolean
  /** Slug of the image model; undefined: the first of the catalogue. */
  model: string | undefined
  path: string
}

export const imageGeneration: Plugin<ImageSettings> = {
  id: ID,
  parse,
  shape,
}

/** @throws Fault 400 naming the field under `path`. */
function parse({ enabled = true, model }: JsonObject, path: string): ImageSettings {
  if (typeof enabled !== 'boolean') throw badField(`${path}.enabled`, 'expected true or false')
  if (model !== undefined && (typeof model !== 'string' || model === '')) throw badField(`${path}.model`, 'expected a model slug')
  return { enabled, model, path }
}

/** A model that another tool calls gets no tools added. */
function shape(exchange: Resolved, { enabled, model, path }: ImageSettings): void {
  if (!enabled || exchange.depth > 0) return
  if (exchange.request().tools.some((tool) => tool.kind === 'server' && tool.name === TOOL)) return
  exchange.edit(ID, (draft) => {
    const written = { object: path, type: `${path}.id` }
    draft.tools = [...draft.tools, { kind: 'server', name: TOOL, parameters: model === undefined ? {} : { model }, written }]
  })
}
