/** Sends a question to a panel of models at once, has another model compare their answers, and returns both to the calling model. */
import type { JsonObject, SessionTool, ToolContext } from '../../plugin-api/index.ts'
import { parseConfig } from './config.ts'
import { FusionSession, TOOL } from './session.ts'

export const fusion: SessionTool = {
  name: TOOL,
  description:
    'Puts a question to a panel of models that answer independently, and returns their answers with an analysis of where they agree, where they differ and what they miss. Use it where several views are worth their time and price: research, critique, comparisons, and where a mistake would be costly. Not for what is short or easy. It can be called once.',
  parameters: {
    type: 'object',
    properties: {
      prompt: { type: 'string', description: 'The question, with all that one has to know to answer it: the panel sees nothing else.' },
    },
    required: ['prompt'],
    additionalProperties: false,
  },
  plugin: 'fusion',

  begin(parameters: JsonObject, at: string, settings: JsonObject, context: ToolContext): FusionSession {
    return new FusionSession(parseConfig(parameters, at, settings, context), context)
  },
}
