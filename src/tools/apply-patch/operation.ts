/** One operation on a file, and whether its V4A diff is well-formed (contract section 6). */
import { isObject, type Json, type JsonObject } from '../../plugin-api/index.ts'

export type Operation = { type: 'create_file' | 'update_file'; path: string; diff: string } | { type: 'delete_file'; path: string }

const LONGEST_PATH = 1024
const LONGEST_DIFF = 1024 * 1024
/** Ends a section whose lines are the last ones of the file. */
const END_OF_FILE = '*** End of File'

/** @returns what is wrong, in words for the model. */
export function operationOf(args: JsonObject): Operation | string {
  // Some models nest the operation as the items of the API do.
  const { type, path, diff } = isObject(args.operation) ? args.operation : args
  if (type !== 'create_file' && type !== 'update_file' && type !== 'delete_file')
    return 'type: expected create_file, update_file or delete_file'
  const badPath = pathProblem(path)
  if (badPath !== undefined || typeof path !== 'string') return `path: ${badPath ?? 'is missing'}`
  if (type === 'delete_file') return { type, path }
  if (typeof diff !== 'string' || diff === '') return 'diff: is missing'
  if (diff.length > LONGEST_DIFF) return `diff: is longer than ${LONGEST_DIFF} characters`
  const badDiff = type === 'create_file' ? newFileProblem(diff) : changeProblem(diff)
  return badDiff === undefined ? { type, path, diff } : `diff: ${badDiff}`
}

function pathProblem(path: Json | undefined): string | undefined {
  if (typeof path !== 'string' || path === '') return 'is missing'
  if (path.length > LONGEST_PATH) return `is longer than ${LONGEST_PATH} characters`
  if (/\p{Cc}/u.test(path)) return 'has control characters'
  if (/^[\\/~]|^[A-Za-z]:/.test(path)) return 'expected one relative to the root of the project'
  if (path.split(/[\\/]/).includes('..')) return "must not lead out of the project with '..'"
  return undefined
}

/** Lines without the line end that a diff may close with. */
function linesOf(diff: string): string[] {
  const lines = diff.split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  return lines
}

function newFileProblem(diff: string): string | undefined {
  const wrong = linesOf(diff).findIndex((line) => !line.startsWith('+'))
  return wrong === -1 ? undefined : `line ${wrong + 1}: each line of a new file begins with +`
}

/** Sections that begin with `@@`, which the first may lack; their lines begin with a blank, `+` or `-`. */
function changeProblem(diff: string): string | undefined {
  const lines = linesOf(diff)
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
