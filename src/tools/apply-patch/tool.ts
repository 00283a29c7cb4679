/** Checks the patches that a model writes and hands them to the caller, which applies them; the gateway changes no file. */
import {
  badField,
  isObject,
  type Json,
  type JsonObject,
  type Opaque,
  type Recalled,
  type SessionTool,
  type ToolContext,
  type ToolHost,
  type ToolOutcome,
  type ToolSession,
} from '../../plugin-api/index.ts'

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
  const operation = parseOperation(args)
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

type Operation = { type: 'create_file' | 'update_file'; path: string; diff: string } | { type: 'delete_file'; path: string }

const MAX_PATH_LENGTH = 1024
const MAX_DIFF_LENGTH = 1024 * 1024
/** Ends a section whose lines are the last ones of the file. */
const END_OF_FILE = '*** End of File'

/**
 * One operation on a file, and whether its V4A diff is well-formed (docs/contract.md#server-tools).
 * @returns what is wrong, in words for the model.
 */
function parseOperation(args: JsonObject): Operation | string {
  // Some models nest the operation as the items of the API do.
  const { type, path, diff } = isObject(args.operation) ? args.operation : args
  if (type !== 'create_file' && type !== 'update_file' && type !== 'delete_file')
    return 'type: expected create_file, update_file or delete_file'
  const badPath = pathProblem(path)
  if (badPath !== undefined || typeof path !== 'string') return `path: ${badPath ?? 'is missing'}`
  if (type === 'delete_file') return { type, path }
  if (typeof diff !== 'string' || diff === '') return 'diff: is missing'
  if (diff.length > MAX_DIFF_LENGTH) return `diff: is longer than ${MAX_DIFF_LENGTH} characters`
  const badDiff = type === 'create_file' ? newFileProblem(diff) : changeProblem(diff)
  return badDiff === undefined ? { type, path, diff } : `diff: ${badDiff}`
}

function pathProblem(path: Json | undefined): string | undefined {
  if (typeof path !== 'string' || path === '') return 'is missing'
  if (path.length > MAX_PATH_LENGTH) return `is longer than ${MAX_PATH_LENGTH} characters`
  if (/\p{Cc}/u.test(path)) return 'has control characters'
  if (/^[\\/~]|^[A-Za-z]:/.test(path)) return 'expected one relative to the root of the project'
  if (path.split(/[\\/]/).includes('..')) return "must not lead out of the project with '..'"
  return undefined
}

/** Lines without the line end that a diff may close with. */
function diffLines(diff: string): string[] {
  const lines = diff.split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  return lines
}

function newFileProblem(diff: string): string | undefined {
  const wrong = diffLines(diff).findIndex((line) => !line.startsWith('+'))
  return wrong === -1 ? undefined : `line ${wrong + 1}: each line of a new file begins with +`
}

/** Sections that begin with `@@`, which the first may lack; their lines begin with a blank, `+` or `-`. */
function changeProblem(diff: string): string | undefined {
  const lines = diffLines(diff)
  let sectionAt = 0
  let ended = false
  let changes = 0
  let size = 0
  for (const [i, line] of lines.entries()) {
    const at = `line ${i + 1}:`
    if (line.startsWith('@@')) {
      if (line !== '@@' && !line.startsWith('@@ ')) return `${at} expected @@ alone, or @@, a blank and a line of the file`
      // Several in a row lead into nested places.
      if (size > 0) sectionAt = i
      size = 0
      ended = false
    } else if (line === END_OF_FILE) {
      if (size === 0) return `${at} a section needs lines before its end`
      ended = true
    } else if (ended) return `${at} after ${END_OF_FILE} expected @@ or nothing`
    else if (line === '' || /^[ +-]/.test(line)) {
      size++
      if (/^[+-]/.test(line)) changes++
    } else return `${at} expected a line that begins with a blank, + or -, or with @@`
  }
  if (size === 0) return `line ${sectionAt + 1}: a section without lines`
  return changes === 0 ? 'nothing is added and nothing taken out' : undefined
}
