import {
  badField,
  isObject,
  type JsonObject,
  type SessionTool,
  sandboxOf,
  type ToolContext,
  type ToolOutcome,
  type ToolSession,
} from '../../plugin-api/index.ts'
import { actionOf, shownAction } from './action.ts'
import { environmentOf, neededSandbox } from './environment.ts'
import { idFor, recallsShell } from './items.ts'
import { ShellSession } from './session.ts'

const NAME = 'shell'

export const shell: SessionTool = {
  name: NAME,
  description:
    'Runs shell commands, one after the other, in a container without network. Files in its working folder stay until the next call, variables do not.',
  parameters: {
    type: 'object',
    properties: {
      commands: { type: 'array', items: { type: 'string' }, description: 'Each is run by a shell of its own.' },
      timeout_ms: { type: 'integer', description: 'Milliseconds that a command may take.' },
      max_output_length: { type: 'integer', description: 'Bytes of its output that are shown.' },
    },
    required: ['commands'],
    additionalProperties: false,
  },
  plugin: NAME,

  ready(settings: JsonObject): boolean {
    return sandboxOf(settings) !== undefined
  },

  begin(parameters: JsonObject, at: string, settings: JsonObject, context: ToolContext): ToolSession {
    if (context.client === 'chat') throw badField(`${at}.type`, 'is not available on chat completions')
    const spec = context.tools[context.place]
    const provided = spec.kind === 'server' && spec.standsFor !== undefined
    const recalls = recallsShell(`${context.brand}:${NAME}`)
    if (provided && context.depth === 0 && isCallers(parameters, settings))
      return { bound: 0, run: (args, { callId }) => handOver(args, callId), recalls }
    const path = provided ? at : `${at}.parameters`
    const { engine = null } = parameters
    if (![null, 'auto', 'router', context.brand].includes(engine as string | null))
      throw badField(`${path}.engine`, 'expected auto or router')
    const environment = environmentOf(parameters, path)
    return new ShellSession(neededSandbox(settings, `${at}.type`), environment, { provided, recalls })
  },
}

/** The tool of the API, other than the gateway's own, may run at the caller's. */
function isCallers({ environment = null }: JsonObject, settings: JsonObject): boolean {
  if (isObject(environment)) return environment.type === 'local'
  return environment === null && !isObject(settings.sandbox)
}

function handOver(args: JsonObject, callId: string): ToolOutcome {
  const action = shownAction(actionOf(args))
  const data: JsonObject = { id: idFor('shc', callId), call_id: callId, action, arguments: JSON.stringify(args), status: 'completed' }
  return {
    output: JSON.stringify({ status: 'handed to the user' }),
    item: { call_id: callId, action },
    status: 'completed',
    shown: [{ kind: 'opaque', of: { dialect: 'responses', type: 'shell_call', data } }],
    handOver: true,
  }
}
