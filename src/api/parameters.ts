/** Query parameters, each declared once: for the description of the API, and for reading it from a request. */
import { badField } from '../core/faults.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { DescribedParameter } from './described-operation.ts'
import { queryChoice, queryInteger, queryList, queryNumber, queryTime } from './query.ts'

export interface QueryParameter<T> extends DescribedParameter {
  readonly in: 'query'
  /** @returns undefined where it is absent or empty. @throws Fault 400 naming it. */
  read(query: URLSearchParams): T | undefined
}

type Read<T> = (query: URLSearchParams, name: string) => T | undefined

function parameter<T>(name: string, description: string, schema: JsonObject, read: Read<T>, example?: Json): QueryParameter<T> {
  return { name, in: 'query', description, schema, ...(example === undefined ? {} : { example }), read: (query) => read(query, name) }
}

/** @param most undefined: any number that can be counted. */
export function integer(
  name: string,
  description: string,
  { least = 0, most, example }: { least?: number; most?: number; example?: number } = {},
): QueryParameter<number> {
  const schema = { type: 'integer', minimum: least, ...(most === undefined ? {} : { maximum: most }) }
  return parameter(name, description, schema, (query) => queryInteger(query, name, least, most ?? Number.MAX_SAFE_INTEGER), example)
}

/** A number from 0 up. */
export function amount(name: string, description: string, example?: number): QueryParameter<number> {
  return parameter(name, description, { type: 'number', minimum: 0 }, queryNumber, example)
}

export function choice<T extends string>(name: string, description: string, choices: readonly T[], example?: T): QueryParameter<T> {
  return parameter(name, description, { type: 'string', enum: [...choices] }, (query) => queryChoice(query, name, choices), example)
}

export function flag(name: string, description: string, example?: 'true' | 'false'): QueryParameter<boolean> {
  const { read, ...described } = choice(name, description, ['true', 'false'], example)
  return { ...described, read: (query) => isTrue(read(query)) }
}

const isTrue = (word: string | undefined): boolean | undefined => (word === undefined ? undefined : word === 'true')

/** Several words, in lower case. */
export function list(name: string, description: string, example?: string): QueryParameter<string[]> {
  return parameter(name, description, { type: 'string' }, queryList, example)
}

/** Milliseconds since the epoch. */
export function time(name: string, description: string, schema: JsonObject = {}): QueryParameter<number> {
  return parameter(name, description, { type: 'string', ...schema }, queryTime)
}

/** A text as it stands. @param schema what is described of it beside, and not looked at here. */
export function text(name: string, description: string, schema: JsonObject = {}, example?: string): QueryParameter<string> {
  return parameter(name, description, { type: 'string', ...schema }, (query) => query.get(name) || undefined, example)
}

/** @param most characters. */
export function shortText(name: string, description: string, most: number, example?: string): QueryParameter<string> {
  const read = (query: URLSearchParams): string | undefined => {
    const found = query.get(name) || undefined
    if (found !== undefined && found.length > most) throw badField(name, `expected at most ${most} characters`)
    return found
  }
  return parameter(name, description, { type: 'string', maxLength: most }, read, example)
}

export function keyHash(description: string): QueryParameter<string> {
  const name = 'api_key_hash'
  return parameter(name, description, { type: 'string', pattern: '^[0-9a-f]{64}$' }, (query) => {
    const hash = query.get(name) || undefined
    if (hash !== undefined && !/^[0-9a-f]{64}$/.test(hash)) throw badField(name, 'expected 64 hexadecimal digits in lower case')
    return hash
  })
}

/** A row's number, behind which the page begins. */
export const cursor: QueryParameter<number> = parameter(
  'cursor',
  '`next_cursor` of the page before.',
  { type: 'string', pattern: '^[0-9]{1,15}$' },
  (query, name) => queryInteger(query, name, 0, Number.MAX_SAFE_INTEGER),
  '0',
)

/** The place of a row, as the reply before named it; each list has a form of its own. */
export const position = text('cursor', '`next` of an earlier reply.')

/** Of lists that are also sent as CSV. */
export const format = choice(
  'format',
  '`csv` for a file of comma-separated values (RFC 4180) with all rows, or as many as `limit` says; `Accept: text/csv` does the same.',
  ['json', 'csv'],
  'json',
)
