/** Lets the model have an image made from words by an image model of the catalogue; the caller gets the image, the model only hears of it. */
import {
  badField,
  Fault,
  type Json,
  type JsonObject,
  type Model,
  type ModelAnswer,
  type SessionTool,
  type ToolContext,
  type ToolHost,
  type ToolOutcome,
  type ToolSession,
} from '../../plugin-api/index.ts'
import { failureReason, parseText } from '../model-calls.ts'

interface ImageConfig {
  model: string
  /** `image_config` of the request; undefined where nothing is set. */
  settings: JsonObject | undefined
}

/**
 * @param at path of the tool in the request.
 * @param settings the operator's, of the plugin `image-generation`: the `model` where the caller names none.
 * @throws Fault 400 naming the path.
 */
function parseConfig(parameters: JsonObject, at: string, settings: JsonObject, { models }: Pick<ToolContext, 'models'>): ImageConfig {
  const path = `${at}.parameters`
  const { model: named, ...rest } = parameters
  const own = Object.entries(rest).filter(([, value]) => value !== null)
  for (const [key, value] of own)
    if (!isSetting(value)) throw badField(`${path}.${key}`, `expected a text, a number or a list of at most ${MAX_LISTED}`)
  const wanted = parseText(named, `${path}.model`, 'a model slug')
  const known = models.find(({ slug }) => slug === wanted)
  if (known && !drawsImages(known)) throw badField(`${path}.model`, `${known.slug} makes no images, expected a model that does`)
  const usual = typeof settings.model === 'string' ? settings.model : models.find(drawsImages)?.slug
  const model = wanted ?? usual
  if (model === undefined) throw badField(`${path}.model`, 'is required: no model that makes images is configured')
  return { model, settings: own.length === 0 ? undefined : Object.fromEntries(own) }
}

/** Entries of a list, such as reference images. */
const MAX_LISTED = 64

function isSetting(value: Json | undefined): boolean {
  return typeof value === 'string' || typeof value === 'number' || (Array.isArray(value) && value.length <= MAX_LISTED)
}

function drawsImages({ kind, output }: Model): boolean {
  return kind === 'generate' && output.includes('image')
}

/** Images of one request: another model makes them, the caller receives them, and the model gets a short description. */
const TOOL = 'image_generation'

const INLINE = /^data:([^;,]+);base64,/

class ImageSession implements ToolSession {
  readonly bound = 0
  private readonly config: ImageConfig

  constructor(config: ImageConfig) {
    this.config = config
  }

  async run({ prompt }: JsonObject, host: ToolHost, signal: AbortSignal): Promise<ToolOutcome> {
    const demand = typeof prompt === 'string' ? prompt.trim() : ''
    if (demand === '') return failed('the argument prompt is missing, expected a description of the image', {})
    const { model, settings } = this.config
    const body: JsonObject = { model, input: demand, modalities: ['image', 'text'], ...(settings ? { image_config: settings } : {}) }
    try {
      return drawn(demand, answerImage(await host.generate({ body })), host)
    } catch (thrown) {
      if (signal.aborted) throw thrown
      const cause = thrown instanceof Fault && thrown.origin === 'client' ? {} : { cause: thrown }
      return { ...failed(failureReason(thrown), { prompt: demand }), ...cause }
    }
  }
}

/** @throws Fault where the model has answered without an image. */
function answerImage({ blocks }: ModelAnswer): string {
  for (const { kind, of } of blocks) if (kind === 'media' && of?.type === 'image' && typeof of.data.url === 'string') return of.data.url
  throw new Fault('upstream_empty', { message: 'the model gave no image' })
}

/** The model gets the address of the image, or a note that the user has seen it where the image is inline. */
function drawn(prompt: string, url: string, { brand, callId }: ToolHost): ToolOutcome {
  const inline = INLINE.exec(url)
  const item: JsonObject = { prompt, imageUrl: url, ...(inline ? { imageB64: url.slice(inline[0].length) } : { result: url }) }
  const type = `${brand}:${TOOL}`
  const shown = { status: 'ok', imageUrl: inline ? 'the image itself, which the user has been shown' : url }
  return {
    output: JSON.stringify(shown),
    item,
    status: 'completed',
    shown: [
      {
        kind: 'server',
        of: { dialect: 'gateway', type, data: { status: 'completed', ...item, call: imageCall(type, callId, prompt, url) } },
      },
    ],
  }
}

/** Callers whose wire shows no items of tools get the image as the result of the call. */
function imageCall(type: string, callId: string, prompt: string, url: string): JsonObject {
  return {
    tool_call_id: callId,
    tool_name: type,
    arguments: JSON.stringify({ prompt }),
    result: JSON.stringify({ status: 'ok', imageUrl: url }),
  }
}

/** The wire's word for a tool that has not done its work is `incomplete`. */
function failed(error: string, item: JsonObject): ToolOutcome {
  return { output: JSON.stringify({ status: 'error', error }), item: { ...item, status: 'incomplete', result: null }, status: 'failed' }
}

export const imageGeneration: SessionTool = {
  name: TOOL,
  description:
    'Makes an image from a description. The user is shown the image; you are not, so do not describe it as if you saw it, and do not repeat its address unless you were given one.',
  parameters: {
    type: 'object',
    properties: { prompt: { type: 'string', description: 'What the image is to show, and in which style.' } },
    required: ['prompt'],
    additionalProperties: false,
  },
  plugin: 'image-generation',

  begin(parameters: JsonObject, at: string, settings: JsonObject, context: ToolContext): ImageSession {
    return new ImageSession(parseConfig(parameters, at, settings, context))
  },
}
