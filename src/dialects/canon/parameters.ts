/**
 * Fields of each wire for the parameters of a request: a table per wire, from which plain values are read and written, losses are recorded
 * and errors about a field of one wire are explained in the words of another.
 */
import { type TSchema, Type } from 'typebox'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { isSampling, memberName, PARAMETER_NAMES, PARAMETERS, type ParameterName } from '../../core/parameters.ts'
import type { CanonicalRequest } from './request.ts'
import { GATEWAY_KEYS } from './request-fields.ts'

/**
 * `here`: the gateway does it itself, so it counts as accepted. `as`: it is sent, in the named field of the wire. `dropped`: it is left out and recorded, for the reason given.
 * `refused`: an endpoint of this dialect does not serve a request that has it.
 */
export type ParameterOutcome = { as: string } | { here: string } | { dropped: string } | { refused: string }

/** Without `field` and `isPlain` code of the wire reads and writes it. */
type FieldRow = ParameterOutcome & {
  /** Field in which callers of the wire send the canonical value as it is. */
  readonly field?: string
  /** True where providers are sent the canonical value as it is. */
  readonly isPlain?: true
  /** Their value for a canonical one; undefined where the wire cannot say it. */
  write?(value: Json): Json | undefined
}

export type ParameterTable = Readonly<Record<ParameterName, FieldRow>>

/** A plain value in a field of callers and providers alike. */
export const plainField = (name: string): FieldRow => ({ as: name, field: name, isPlain: true })

/** Plain values in fields that have the canonical names. */
export function sameFields<Name extends ParameterName>(...names: readonly Name[]): { [Each in Name]: FieldRow } {
  return Object.fromEntries(names.map((name) => [name, plainField(name)])) as { [Each in Name]: FieldRow }
}

/** A plain value at a path of providers' bodies alone. */
export const sentAs = (as: string, write?: FieldRow['write']): FieldRow => ({ as, isPlain: true, ...(write ? { write } : {}) })

/** `top_k` for a wire without a word for no limit. */
export const limited = (topK: Json): Json | undefined => (typeof topK === 'number' && topK >= 0 ? topK : undefined)

/** @param otherwise reason why a parameter without a row is left out. */
export function parameterTable(
  rows: Readonly<Partial<Record<ParameterName, FieldRow>>>,
  otherwise = 'this format has no field for it',
): ParameterTable {
  return Object.fromEntries(PARAMETER_NAMES.map((name) => [name, rows[name] ?? { dropped: otherwise }])) as ParameterTable
}

/** Names that the dialect sends, or that the gateway does in its place. */
export function sentParameters(table: ParameterTable): ReadonlySet<string> {
  return new Set(PARAMETER_NAMES.filter((name) => 'as' in table[name] || 'here' in table[name]))
}

/** By canonical parameter, and `conversation` and `system`: paths in the body. */
export type FieldNames = ReadonlyMap<string, readonly string[]>

/** @param others parts that the table does not have, and parameters that have several names. */
export function fieldNames(table: ParameterTable, others: Readonly<Record<string, readonly string[]>>): FieldNames {
  const names = new Map<string, readonly string[]>()
  for (const name of PARAMETER_NAMES) {
    const outcome = table[name]
    // The beginning of an answer is a place in the conversation, and no field of its own.
    if ('as' in outcome && name !== 'prefill') names.set(name, [outcome.as.replaceAll('[]', '')])
  }
  for (const [name, paths] of Object.entries(others)) names.set(name, paths)
  return names
}

/** Checks of the numbers that callers of a wire send as plain values. */
export function numberFields(table: ParameterTable): Record<string, TSchema> {
  return Object.fromEntries(
    PARAMETER_NAMES.flatMap((name) => {
      const { kind, range: [minimum, maximum] = [] } = PARAMETERS[name]
      const { field } = table[name]
      if (field === undefined || minimum === undefined || maximum === undefined) return []
      const value = kind === 'integer' ? Type.Integer({ minimum, maximum }) : Type.Number({ minimum, maximum })
      return [[field, Type.Optional(Type.Union([value, Type.Null()]))]]
    }),
  )
}

/** Types of JavaScript by the kind of a parameter. */
const TYPES = { number: 'number', integer: 'number', boolean: 'boolean', text: 'string', texts: 'list', object: 'object' } as const

interface ReadField {
  readonly name: ParameterName
  readonly member: string
  readonly type: (typeof TYPES)[keyof typeof TYPES]
  readonly isSampling: boolean
  readonly isCounted: boolean
}

const fits = (value: Json, type: ReadField['type']): boolean =>
  type === 'list' ? Array.isArray(value) : type === 'object' ? isObject(value) : typeof value === type

/** Sets parameters of a request by the fields of a checked body. @returns fields that are neither the wire's nor the gateway's. */
export type FieldReader = (body: JsonObject, request: CanonicalRequest) => JsonObject

/**
 * @param others fields of the wire that are no plain parameters.
 * @param countsAll true where no parameter of the wire's callers is `isAside`.
 */
export function fieldReader(table: ParameterTable, others: Iterable<string>, countsAll = false): FieldReader {
  const fields = new Map<string, ReadField | 'other'>()
  for (const name of [...GATEWAY_KEYS, ...others]) fields.set(name, 'other')
  for (const name of PARAMETER_NAMES) {
    const { field } = table[name]
    const { kind, isAside } = PARAMETERS[name]
    if (field !== undefined && kind !== undefined)
      fields.set(field, {
        name,
        member: memberName(name),
        type: TYPES[kind],
        isSampling: isSampling(name),
        isCounted: countsAll || isAside !== true,
      })
  }
  return (body, request) => {
    const rest: JsonObject = {}
    for (const key in body) {
      const value = body[key]
      if (value === undefined || value === null) continue
      const known = fields.get(key)
      if (known === undefined) rest[key] = value
      else if (known !== 'other') {
        if (known.isCounted) request.used.add(known.name)
        if (fits(value, known.type)) place(request, known)[known.member] = value
      }
    }
    return rest
  }
}

/** The object that holds a parameter. */
const place = (request: CanonicalRequest, { isSampling: inSampling }: Pick<ReadField, 'isSampling'>): JsonObject =>
  (inSampling ? request.sampling : request) as unknown as JsonObject

interface Placed {
  readonly name: ParameterName
  readonly member: string
  readonly isSampling: boolean
}

const placed = (name: ParameterName): Placed => ({ name, member: memberName(name), isSampling: isSampling(name) })

/** @returns false for a parameter that the endpoint does not take, which is then left out. */
type Takes = (name: ParameterName) => boolean

/** Writes the plain values of a request by the last names of their fields; those that the wire cannot say are recorded. */
export type FieldWriter = (request: CanonicalRequest, body: JsonObject, dropped: Set<string>, takes?: Takes) => void

export function fieldWriter(table: ParameterTable): FieldWriter {
  const plain = PARAMETER_NAMES.flatMap((name) => {
    const row = table[name]
    return 'as' in row && row.isPlain ? [{ ...placed(name), field: row.as.slice(row.as.lastIndexOf('.') + 1), write: row.write }] : []
  })
  return (request, body, dropped, takes) => {
    for (const row of plain) {
      const value = place(request, row)[row.member]
      if (value === undefined) continue
      const written = row.write ? row.write(value) : value
      if (written === undefined || takes?.(row.name) === false) dropped.add(row.name)
      else body[row.field] = written
    }
  }
}

/** Records the parameters of a request that the wire leaves out. */
export type LossRecorder = (request: CanonicalRequest, dropped: Set<string>) => void

export function lossRecorder(table: ParameterTable): LossRecorder {
  const lost = PARAMETER_NAMES.flatMap((name) => {
    const { kind, key, idle } = PARAMETERS[name]
    return 'as' in table[name] || (kind === undefined && key === undefined) ? [] : [{ ...placed(name), idle }]
  })
  return (request, dropped) => {
    for (const row of lost) {
      const value = place(request, row)[row.member]
      if (value !== undefined && value !== null && !isIdle(value, row.idle)) dropped.add(row.name)
    }
  }
}

function isIdle(value: Json, idle: readonly Json[] | undefined): boolean {
  if (idle === undefined) return false
  return Array.isArray(value) ? value.every((each) => idle.includes(each)) : idle.includes(value)
}
