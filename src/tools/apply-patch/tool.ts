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
import { operationOf } from './operation.ts'

const NAME = 'apply_patch'
const ENGINES = ['auto', 'native', 'router']

export const applyPatch: SessionTool = {
  name: NAME,
  description:
    'Creates, changes or deletes one file by a patch, which the user then applies. The diff of a new file is its lines, each after a +. The diff of a change is made of sections: a line @@, or @@ and a line of the file above the place, then about three lines of context, each after a blank, with - before a line that goes and + before one that comes.',
  parameters: {
    type: 'object',
    properties: {
      type: { type: 'string', enum: ['create_file', 'update_file', 'delete_file'] },
      path: { type: 'string', description: 'Relative to the root of the project.' },
      diff: { type: 'string', description: 'Not for delete_file.' },
    },
    required: ['type', 'path'],
    additionalProperties: false,
  },
  plugin: 'apply-patch',

  begin(parameters: JsonObject, at: string, _settings: JsonObject, { client, brand, depth }: ToolContext): ToolSession {
    if (client !== 'responses') throw badField(`${at}.type`, 'is available on the Responses API only')
    if (depth > 0) throw badField(`${at}.type`, 'has no client to hand a patch to within a call of another tool')
    const engine = parameters.engine ?? 'auto'
    if (engine !== brand && !ENGINES.includes(String(engine))) throw badField(`${at}.parameters.engine`, 'expected auto, native or router')
    return { bound: 0, run, recalls }
  },
}

function run(args: JsonObject, { callId }: ToolHost): ToolOutcome {
  const operation = operationOf(args)
  if (typeof operation === 'string') {
    const error = `The patch was not handed on. ${operation}`
    return { output: JSON.stringify({ error }), item: { status: 'incomplete', call_id: callId, error }, status: 'failed' }
  }
  const data: JsonObject = {
    id: `apc_${callId.replace(/[^A-Za-z0-9]/g, '')}`,
    call_id: callId,
    operation: { ...operation },
    status: 'completed',
  }
  return {
    output: JSON.stringify({ status: 'handed to the user' }),
    item: { call_id: callId, operation: { ...operation } },
    status: 'completed',
    shown: [{ kind: 'opaque', of: { dialect: 'responses', type: 'apply_patch_call', data } }],
    handOver: true,
  }
}

/** The caller's account of earlier patches, as the model knows them: calls of its function. */
function recalls({ dialect, type, data }: Opaque): readonly Recalled[] | undefined {
  if (dialect !== 'responses') return undefined
  const callId = String(data.call_id)
  if (type === 'apply_patch_call') return [{ kind: 'call', callId, function: NAME, args: JSON.stringify(data.operation ?? {}) }]
  if (type !== 'apply_patch_call_output') return undefined
  const { status, output } = data
  const text = JSON.stringify({ status, ...(typeof output === 'string' ? { output } : {}) })
  return [{ kind: 'result', callId, text, ...(status === 'failed' ? { error: true } : {}) }]
}
