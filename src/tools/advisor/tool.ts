/** Lets the model ask another model for advice, which remembers what it advised earlier in the conversation. */
import type { JsonObject, SessionTool, ToolContext } from '../../plugin-api/index.ts'
import { AdvisorSession, parseConfig, TOOL } from './session.ts'

export const advisor: SessionTool = {
  name: TOOL,
  description: 'Asks another model for advice.',
  parameters: { type: 'object', properties: { prompt: { type: 'string' } } },
  plugin: TOOL,

  begin(parameters: JsonObject, at: string, _settings: JsonObject, context: ToolContext): AdvisorSession {
    return new AdvisorSession(parseConfig(parameters, at, context), context)
  },
}
