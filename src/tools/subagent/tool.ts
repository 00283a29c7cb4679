/** Lets the model hand a task over to another model, which sees the task alone and may have tools of its own. */
import type { JsonObject, SessionTool, ToolContext } from '../../plugin-api/index.ts'
import { parseConfig, TOOL } from './config.ts'
import { SubagentSession } from './session.ts'

export const subagent: SessionTool = {
  name: TOOL,
  description: 'Hands a task over to another model.',
  parameters: { type: 'object', properties: { task_name: { type: 'string' }, task_description: { type: 'string' } } },
  plugin: TOOL,

  begin(parameters: JsonObject, at: string, _settings: JsonObject, context: ToolContext): SubagentSession {
    return new SubagentSession(parseConfig(parameters, at, context), context)
  },
}
