/** A reply of the API, changed value by value as its description allows: words of a set, null, absent, empty, zero. */
import { isDeepStrictEqual } from 'node:util'

export interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}

export interface Change {
  /** Place in the schema, such as `data.*.health`. */
  readonly place: string
  readonly kind: 'listed' | 'unknown' | 'null' | 'absent' | 'empty' | 'zero'
  /** Undefined where the member is absent. */
  readonly value: unknown
  readonly paths: readonly Path[]
}

type Path = readonly (string | number)[]

/** Words that no version lists; one of them is a member of every object. */
export const UNKNOWN_WORDS = ['word of tomorrow', 'constructor'] as const

/** @param schemas those that a `$ref` names. @returns one change for each value of each place, at the first value that stands there. */
export function replyChanges(reply: unknown, schema: Schema, schemas: Readonly<Record<string, Schema>>): Change[] {
  const changes: Change[] = []
  const seen = new Set<string>()
  const numbers: Path[] = []
  walk({ value: reply, schema, path: [], place: '' })
  // All at once: a number is shown by the same few functions everywhere.
  if (numbers.length > 0) changes.push({ place: '', paths: numbers, kind: 'zero', value: 0 })
  return changes

  function walk({ value, schema: given, path, place }: { value: unknown; schema: Schema; path: Path; place: string }): void {
    const named = given.$ref === undefined ? given : (schemas[given.$ref.split('/').at(-1) ?? ''] ?? {})
    const choices = named.anyOf ?? [named]
    const words = choices.flatMap(({ enum: list = [], const: one }) => [...list, ...(one === undefined ? [] : [one])])
    const open = words.filter((word) => typeof word === 'string')
    const add = (kind: Change['kind'], changed: unknown): void => {
      if (!isDeepStrictEqual(changed, value)) changes.push({ place, paths: [path], kind, value: changed })
    }
    // One of each place is enough: what it has is known by the schema. A set of words is, where some value stands.
    const isFirst = !seen.has(place) && (value !== null || open.length === 0)
    if (isFirst) seen.add(place)
    if (isFirst && open.length > 1) {
      for (const word of open) add('listed', word)
      for (const word of UNKNOWN_WORDS) add('unknown', word)
    }
    if (isFirst && choices.some(({ type }) => type === 'null')) add('null', null)
    const object = choices.find(({ properties }) => properties !== undefined)
    if (object && value !== null && typeof value === 'object' && !Array.isArray(value))
      for (const [name, inner] of Object.entries(object.properties ?? {})) {
        if (!(name in value)) continue
        const at = { value: (value as Record<string, unknown>)[name], schema: inner, path: [...path, name], place: `${place}.${name}` }
        if (!object.required?.includes(name) && !seen.has(at.place))
          changes.push({ place: at.place, paths: [at.path], kind: 'absent', value: undefined })
        walk(at)
      }
    const list = choices.find(({ items }) => items !== undefined)
    if (list?.items && Array.isArray(value)) {
      if (isFirst) add('empty', [])
      for (const [at, each] of value.entries()) walk({ value: each, schema: list.items, path: [...path, at], place: `${place}.*` })
    }
    if (typeof value === 'number') numbers.push(path)
  }
}

/** @returns a copy with the change in it. */
export function changed<T>(reply: T, { paths, value, kind }: Change): T {
  const copy = structuredClone(reply)
  for (const path of paths) {
    let holder = copy as Record<string | number, unknown>
    for (const step of path.slice(0, -1)) holder = holder[step] as Record<string | number, unknown>
    const last = path.at(-1) ?? ''
    if (kind === 'absent') delete holder[last]
    else holder[last] = value
  }
  return copy
}
