/** Lets the model have an image made from words by an image model of the catalogue; the caller gets the image, the model only hears of it. */
import {
  Fault,
  type JsonObject,
  type ModelAnswer,
  type SessionTool,
  type ToolContext,
  type ToolHost,
  type ToolOutcome,
  type ToolSession,
} from '../../plugin-api/index.ts'
import { reasonOf } from '../model-calls.ts'
import { type ImageConfig, parseConfig } from './config.ts'

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
    const wish = typeof prompt === 'string' ? prompt.trim() : ''
    if (wish === '') return failed('the argument prompt is missing, expected a description of the image', {})
    const { model, settings } = this.config
    const body: JsonObject = { model, input: wish, modalities: ['image', 'text'], ...(settings ? { image_config: settings } : {}) }
    try {
      return drawn(wish, imageOf(await host.generate({ body })), host)
    } catch (thrown) {
      if (signal.aborted) throw thrown
      const cause = thrown instanceof Fault && thrown.origin === 'client' ? {} : { cause: thrown }
      return { ...failed(reasonOf(thrown), { prompt: wish }), ...cause }
    }
  }
}

/** @throws Fault where the model has answered without an image. */
function imageOf({ blocks }: ModelAnswer): string {
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
      { kind: 'server', of: { dialect: 'gateway', type, data: { status: 'completed', ...item, call: callOf(type, callId, prompt, url) } } },
    ],
  }
}

/** Callers whose wire shows no items of tools get the image as the result of the call. */
function callOf(type: string, callId: string, prompt: string, url: string): JsonObject {
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
