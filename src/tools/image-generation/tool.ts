import type { JsonObject, SessionTool, ToolContext } from '../../plugin-api/index.ts'
import { parseConfig } from './config.ts'
import { ImageSession, TOOL } from './session.ts'

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
