/** `headgate keys import`: a file of keys, one JSON object a line or CSV with a head, sent to the gateway in parts. */
import { readFileSync } from 'node:fs'
import { badField, Fault } from '../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../core/json.ts'
import { fromLitellm, isLitellm } from './litellm-keys.ts'

export interface FileKey {
  /** In the file, from 1. */
  readonly line: number
  readonly fields: JsonObject
}

export interface KeyFile {
  readonly keys: readonly FileKey[]
  /** Names of columns that have no place here, with the number of rows that state something in them. */
  readonly leftOut: ReadonlyMap<string, number>
}

/** @throws Fault naming the line. */
export function readKeyFile(path: string): KeyFile {
  const text = readFileSync(path, 'utf8').replace(/^\ufeff/, '')
  const start = text.trimStart()
  const rows = start.startsWith('[') ? jsonArray(text) : start.startsWith('{') ? jsonLines(text) : csvRows(text)
  const [first] = rows
  if (!first) throw badField('FILE', 'has no keys')
  const leftOut = new Map<string, number>()
  if (!isLitellm(first.fields)) return { keys: rows, leftOut }
  const note = (column: string): void => void leftOut.set(column, (leftOut.get(column) ?? 0) + 1)
  return { keys: rows.map(({ line, fields }) => ({ line, fields: atLine(line, () => fromLitellm(fields, note)) })), leftOut }
}

function atLine<T>(line: number, work: () => T): T {
  try {
    return work()
  } catch (thrown) {
    if (thrown instanceof Error) throw new Fault('bad_request', { message: `line ${line}: ${thrown.message}` })
    throw thrown
  }
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    // The text of a parser shows what stands there.
    throw new Fault('bad_request', { message: 'expected JSON' })
  }
}

function jsonLines(text: string): FileKey[] {
  return text.split('\n').flatMap((each, index) => {
    if (each.trim() === '') return []
    const line = index + 1
    const fields = atLine(line, () => parsed(each))
    if (!isObject(fields)) throw badField(`line ${line}`, 'expected a JSON object')
    return [{ line, fields }]
  })
}

/** One array of objects, as `json_agg` of PostgreSQL writes it; keys count as lines. */
function jsonArray(text: string): FileKey[] {
  const list = parsed(text)
  return (Array.isArray(list) ? list : []).map((fields, index) => {
    if (!isObject(fields)) throw badField(`line ${index + 1}`, 'expected a JSON object')
    return { line: index + 1, fields }
  })
}

/** Columns whose cells are no texts. */
const NUMBERS: ReadonlySet<string> = new Set([
  'limit',
  'usage',
  'default_max_output',
  'spend',
  'max_budget',
  'tpm_limit',
  'rpm_limit',
  'max_parallel_requests',
])
const FLAGS: ReadonlySet<string> = new Set(['disabled', 'pass_through', 'capture_content', 'blocked'])
const LISTS: ReadonlySet<string> = new Set(['allowed_models', 'provider_ids', 'models'])
const OBJECTS: ReadonlySet<string> = new Set([
  'provider',
  'limits',
  'tags',
  'metadata',
  'aliases',
  'config',
  'permissions',
  'model_spend',
  'model_max_budget',
])
const TRUE: ReadonlySet<string> = new Set(['true', 't', '1'])
const FALSE: ReadonlySet<string> = new Set(['false', 'f', '0'])

function csvRows(text: string): FileKey[] {
  const [head, ...rows] = csvCells(text)
  if (!head) return []
  return rows.map(({ line, cells }) => {
    if (cells.length !== head.cells.length)
      throw badField(`line ${line}`, `expected ${head.cells.length} columns as in the head, not ${cells.length}`)
    const fields = head.cells.flatMap((name, at) => {
      const cell = cells[at] ?? ''
      return cell === '' ? [] : [[name.trim(), atLine(line, () => cellValue(name.trim(), cell))] as const]
    })
    return { line, fields: Object.fromEntries(fields) }
  })
}

function cellValue(name: string, cell: string): Json {
  if (NUMBERS.has(name)) {
    const value = Number(cell)
    if (!Number.isFinite(value)) throw badField(name, 'expected a number')
    return value
  }
  if (FLAGS.has(name)) {
    const word = cell.toLowerCase()
    if (!TRUE.has(word) && !FALSE.has(word)) throw badField(name, 'expected true or false')
    return TRUE.has(word)
  }
  if (LISTS.has(name)) return listCell(cell)
  return OBJECTS.has(name) ? parsed(cell) : cell
}

/** As JSON, as PostgreSQL writes an array (`{a,"b c"}`), or words with spaces or commas between them. */
function listCell(cell: string): Json {
  if (cell.startsWith('[')) return parsed(cell)
  const inner = /^\{(.*)\}$/s.exec(cell)?.[1] ?? cell
  return Array.from(inner.matchAll(/"((?:[^"\\]|\\.)*)"|[^\s,]+/g), ([word, quoted]) => quoted?.replace(/\\(.)/g, '$1') ?? word)
}

interface CsvRow {
  readonly line: number
  readonly cells: string[]
}

/** RFC 4180: cells in quotes may have commas, line ends, and quotes that are doubled. @throws Fault naming the line. */
function csvCells(text: string): CsvRow[] {
  const rows: CsvRow[] = []
  let [line, begun] = [1, 1]
  let cells: string[] = []
  const cell = /"((?:[^"]|"")*)"(,|\r?\n|$)|([^",\r\n]*)(,|\r?\n|$)/gy
  while (cell.lastIndex < text.length) {
    const at = line
    const found = cell.exec(text)
    if (!found) throw badField(`line ${at}`, 'expected a cell of CSV: quotes around it are missing, or not closed')
    const [whole, quoted, endQuoted, plain = '', endPlain = ''] = found
    cells.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'))
    line += whole.split('\n').length - 1
    if ((endQuoted ?? endPlain) === ',') {
      if (cell.lastIndex === text.length) cells.push('')
      else continue
    }
    if (cells.length > 1 || cells[0] !== '') rows.push({ line: begun, cells })
    cells = []
    begun = line
  }
  return rows
}
