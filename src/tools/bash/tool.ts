import {
  badField,
  type JsonObject,
  type Opaque,
  type Recalled,
  type SessionTool,
  type ToolContext,
  type ToolHost,
  type ToolOutcome,
  type ToolSession,
} from '../../plugin-api/index.ts'
import { commandOf } from '../shell/action.ts'
import { environmentOf, neededSandbox } from '../shell/environment.ts'
import { BashSession } from './session.ts'

const NAME = 'bash'
const TO_CALLER: readonly unknown[] = [null, 'auto', 'native']

export const bash: SessionTool = {
  name: NAME,
  description: 'Runs a command with bash. Files stay until the next call, variables do not.',
  parameters: {
    type: 'object',
    properties: { command: { type: 'string' } },
    required: ['command'],
    additionalProperties: false,
  },
  plugin: 'shell',

  begin(parameters: JsonObject, at: string, settings: JsonObject, { brand, depth }: ToolContext): ToolSession {
    const { engine = null } = parameters
    const path = `${at}.parameters`
    if (TO_CALLER.includes(engine) && depth > 0) throw badField(`${path}.engine`, 'expected router within a call of another tool')
    if (TO_CALLER.includes(engine)) return { bound: 0, run: handOver }
    if (engine !== 'router' && engine !== brand) throw badField(`${path}.engine`, 'expected auto, native or router')
    const environment = environmentOf(parameters, path)
    return new BashSession(neededSandbox(settings, `${path}.engine`), environment, recallsBash(`${brand}:${NAME}`))
  },
}

/** The name that clients of the tool know it by. */
function handOver(args: JsonObject, { callId }: ToolHost): ToolOutcome {
  const command = commandOf(args.command)
  return {
    output: JSON.stringify({ status: 'handed to the user' }),
    item: { call_id: callId, command },
    status: 'completed',
    shown: [{ kind: 'call', call: { id: callId, name: NAME }, args: JSON.stringify({ command }) }],
    handOver: true,
  }
}

function recallsBash(own: string): (item: Opaque) => readonly Recalled[] | undefined {
  return ({ dialect, type, data }) => {
    if (dialect !== 'responses' || type !== own || typeof data.call_id !== 'string') return undefined
    const { call_id: callId, command = '', stdout = '', stderr = '', exitCode = 0 } = data
    return [
      { kind: 'call', callId, function: NAME, args: JSON.stringify({ command }) },
      { kind: 'result', callId, text: JSON.stringify({ command, stdout, stderr, exitCode }) },
    ]
  }
}
