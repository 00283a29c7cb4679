/** The caller's `parameters`: a model, and settings that are the image model's own (contract section 1.4). */
import { badField, type Json, type JsonObject, type Model, type ToolContext } from '../../plugin-api/index.ts'
import { textOf } from '../model-calls.ts'

export interface ImageConfig {
  model: string
  /** `image_config` of the request; undefined where nothing is set. */
  settings: JsonObject | undefined
}

/**
 * @param at path of the tool in the request.
 * @param settings the operator's, of the plugin `image-generation`: the `model` where the caller names none.
 * @throws Fault 400 naming the path.
 */
export function parseConfig(
  parameters: JsonObject,
  at: string,
  settings: JsonObject,
  { models }: Pick<ToolContext, 'models'>,
): ImageConfig {
  const path = `${at}.parameters`
  const { model: named, ...rest } = parameters
  const own = Object.entries(rest).filter(([, value]) => value !== null)
  for (const [key, value] of own)
    if (!isSetting(value)) throw badField(`${path}.${key}`, `expected a text, a number or a list of at most ${MOST_LISTED}`)
  const wanted = textOf(named, `${path}.model`, 'a model slug')
  const known = models.find(({ slug }) => slug === wanted)
  if (known && !drawsImages(known)) throw badField(`${path}.model`, `${known.slug} makes no images, expected a model that does`)
  const usual = typeof settings.model === 'string' ? settings.model : models.find(drawsImages)?.slug
  const model = wanted ?? usual
  if (model === undefined) throw badField(`${path}.model`, 'is required: no model that makes images is configured')
  return { model, settings: own.length === 0 ? undefined : Object.fromEntries(own) }
}

/** Entries of a list, such as reference images. */
const MOST_LISTED = 64

function isSetting(value: Json | undefined): boolean {
  return typeof value === 'string' || typeof value === 'number' || (Array.isArray(value) && value.length <= MOST_LISTED)
}

function drawsImages({ kind, output }: Model): boolean {
  return kind === 'generate' && output.includes('image')
}
