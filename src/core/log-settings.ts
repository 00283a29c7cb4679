/** Settings of the log: its levels, its parts, and the forms of a line. */

export const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const
export type Level = (typeof LEVELS)[number]

/** Parts of the program whose lines can have a level of their own; `part` in a line names them. */
export const PARTS = ['auth', 'config', 'credentials', 'guardrails', 'ledger', 'plugins', 'telemetry'] as const
export type Part = (typeof PARTS)[number]

/** Fields of the line of a request, in their order; `address` stands only in a text with fields in braces. */
export const ACCESS_FIELDS = [
  'time',
  'level',
  'address',
  'gen',
  'key',
  'client',
  'status',
  'fault',
  'model',
  'requested',
  'provider',
  'lane',
  'stream',
  'attempts',
  'ms',
  'first_ms',
  'answer_check',
  'in',
  'out',
  'cost_nano',
  'cause',
  'trace_id',
  'span_id',
] as const

/** Forms of all lines. `text` is for people. */
export const FORMATS = ['json', 'logfmt', 'journal', 'text'] as const
export type Format = (typeof FORMATS)[number]

export interface LogSettings {
  readonly level: Level
  readonly levels: Readonly<Partial<Record<Part, Level>>>
  /** `auto`: `text` on a terminal, `json` elsewhere. */
  readonly format: Format | 'auto'
  readonly access: AccessSettings
}

export interface AccessSettings {
  readonly lines: 'all' | 'failures' | 'none'
  readonly format?: string | undefined
}

export const USUAL_LOG: LogSettings = { level: 'info', levels: {}, format: 'auto', access: { lines: 'all' } }

/** Priorities of syslog by levels of pino (sd-daemon(3)). */
const PRIORITIES: Readonly<Record<number, number>> = { 10: 7, 20: 7, 30: 6, 40: 4, 50: 3, 60: 2 }
const NAMES: Readonly<Record<number, string>> = { 10: 'trace', 20: 'debug', 30: 'info', 40: 'warn', 50: 'error', 60: 'fatal' }

type Fields = Readonly<Record<string, unknown>>

/** `name=value` for each field that has a value, with a line end. @param journal puts the priority in front. */
function logfmt(fields: Fields, journal: boolean): string {
  const pairs: string[] = []
  for (const name of Object.keys(fields))
    if (fields[name] !== undefined) pairs.push(`${name}=${quotedWhereNeeded(shown(name, fields[name]))}`)
  const priority = journal ? `<${PRIORITIES[Number(fields.level)] ?? 6}>` : ''
  return `${priority}${pairs.join(' ')}\n`
}

/** Fields that stand at the head of a line for people, or say nothing to them. */
const AT_HEAD: ReadonlySet<string> = new Set(['time', 'level', 'msg'])
const MAX_LEVEL_LENGTH = 5

/** `12:30:05 warn  words name=value`, with the time of the machine, for a terminal. */
function textLine(fields: Fields): string {
  const time = new Date(Number(fields.time)).toTimeString().slice(0, 8)
  const level = shown('level', fields.level).padEnd(MAX_LEVEL_LENGTH)
  const rest = Object.entries(fields).filter(([name, value]) => !AT_HEAD.has(name) && value !== undefined && value !== null)
  const words = typeof fields.msg === 'string' ? [escaped(fields.msg)] : []
  return `${[time, level, ...words, ...rest.map(([name, value]) => `${name}=${quotedWhereNeeded(shown(name, value))}`)].join(' ')}\n`
}

/** A finished line in one of the forms, `json` apart. */
export function formattedLine(fields: Fields, format: Exclude<Format, 'json'>): string {
  return format === 'text' ? textLine(fields) : logfmt(fields, format === 'journal')
}

/** @returns what writes the fields of a line into a text with their names in braces. A field without a value is `-`. */
export function accessTemplate(format: string): (fields: Fields) => string {
  const parts = format.split(/\{(\w+)\}/)
  return (fields) => {
    let line = ''
    for (const [index, part] of parts.entries()) line += index % 2 === 0 ? part : escaped(shown(part, fields[part])) || '-'
    return `${line}\n`
  }
}

function shown(name: string, value: unknown): string {
  if (value === undefined) return ''
  if (name === 'time') return new Date(Number(value)).toISOString()
  if (name === 'level') return NAMES[Number(value)] ?? String(value)
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Callers choose some of the names: nothing in them ends a line or moves a terminal's cursor. */
function escaped(text: string): string {
  return JSON.stringify(text)
    .slice(1, -1)
    .replace(/[\x7f-\x9f\u2028\u2029]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function quotedWhereNeeded(text: string): string {
  const plain = escaped(text)
  return plain === text && /^[^\s="]+$/.test(text) ? text : `"${plain}"`
}
