/**
 * Surfaces: bodies in which every leaf can be told from every other, to see mechanically what becomes of each.
 * A leaf of a surface is made by one of the functions here; any other value only gives the body its shape.
 */
import { isObject, type Json, type JsonObject } from '../../../src/core/json.ts'

/** A leaf as the author of a surface writes it. */
type Leaf =
  | { $: 'text'; make: (mark: string) => string; needle: (mark: string) => string }
  | { $: 'number'; value: number; other: number }
  | { $: 'pick'; value: Json; other: Json }

export type Surface = Json | Leaf | readonly Surface[] | { readonly [key: string]: Surface | undefined }

/** A free text. */
export const text: Leaf = { $: 'text', make: (mark) => mark, needle: (mark) => mark }

/** A text that must have this form; `*` stands for the mark. */
export function like(form: string): Leaf {
  return { $: 'text', make: (mark) => form.replace('*', mark), needle: (mark) => mark }
}

const base64 = (mark: string): string => Buffer.from(`bytes of ${mark}`).toString('base64')

/** Base64 alone. */
export const bytes: Leaf = { $: 'text', make: base64, needle: base64 }

/** Base64 in a data URL. */
export function dataUrl(type: string): Leaf {
  return { $: 'text', make: (mark) => `data:${type};base64,${base64(mark)}`, needle: base64 }
}

/** JSON text with one member. */
export const jsonText: Leaf = { $: 'text', make: (mark) => `{"mark":"${mark}"}`, needle: (mark) => mark }

/** A number that stands nowhere else in the surface, and one to replace it with. */
export function number(value: number, other: number = value + 1): Leaf {
  return { $: 'number', value, other }
}

/** One of a few values, and another of them. */
export function pick(value: Json, other: Json): Leaf {
  return { $: 'pick', value, other }
}

export interface MarkedLeaf {
  /** Elements of a list go by their type or role: `messages[user].content[image_url].image_url.url`. */
  path: string
  /** Place in the body. */
  at: readonly (string | number)[]
  /** Text that must be found on the other side; undefined for a value that proves nothing. */
  needle: string | number | undefined
  /** The value to see a difference with. */
  other: Json
}

export interface Marked {
  body: JsonObject
  leaves: MarkedLeaf[]
}

const isLeaf = (value: unknown): value is Leaf => typeof value === 'object' && value !== null && '$' in value && typeof value.$ === 'string'

/** Name of an element of a list in a path: by its `#`, which is no part of the body, or else its type or role. */
function elementName(element: unknown): string {
  if (typeof element !== 'object' || element === null) return ''
  const { '#': name, type, role } = element as { '#'?: unknown; type?: unknown; role?: unknown }
  if (typeof name === 'string') return name
  return typeof type === 'string' ? type : typeof role === 'string' ? role : ''
}

/** Gives every leaf its mark. Marks count from `first`. */
export function marked(surface: Surface, first = 1): Marked {
  const leaves: MarkedLeaf[] = []
  let next = first
  const walk = (value: Surface | undefined, path: string, at: readonly (string | number)[]): Json | undefined => {
    if (isLeaf(value)) return leaf(value, path, at)
    if (Array.isArray(value)) return value.map((each, index) => walk(each, `${path}[${elementName(each)}]`, [...at, index]) as Json)
    if (typeof value !== 'object' || value === null) return value as Json
    const out: JsonObject = {}
    for (const [key, each] of Object.entries(value)) {
      if (key === '#') continue
      const made = walk(each as Surface, path === '' ? key : `${path}.${key}`, [...at, key])
      if (made !== undefined) out[key] = made
    }
    return out
  }
  const leaf = (value: Leaf, path: string, at: readonly (string | number)[]): Json => {
    if (value.$ === 'text') {
      const [mark, other] = [next++, next++].map((count) => `mk-${String(count).padStart(4, '0')}`)
      leaves.push({ path, at, needle: value.needle(mark), other: value.make(other) })
      return value.make(mark)
    }
    leaves.push({ path, at, needle: value.$ === 'number' ? value.value : undefined, other: value.other })
    return value.value
  }
  const body = walk(surface, '', [])
  if (!isObject(body)) throw new Error('a surface is an object')
  return { body, leaves }
}

/** The body with another value at one place; every other place is shared. */
export function changed(body: JsonObject, leaf: MarkedLeaf): JsonObject {
  const put = (value: Json, [key, ...rest]: readonly (string | number)[]): Json => {
    if (key === undefined) return leaf.other
    if (Array.isArray(value)) return value.map((each, index) => (index === key ? put(each, rest) : each))
    return { ...(value as JsonObject), [key]: put((value as JsonObject)[key] as Json, rest) }
  }
  return put(body, leaf.at) as JsonObject
}

/** True where the value holds the needle: a text within any text or name, or an equal number. */
export function holds(value: Json | undefined, needle: string | number): boolean {
  if (typeof value === 'string') return typeof needle === 'string' && value.includes(needle)
  if (typeof value === 'number') return value === needle
  if (Array.isArray(value)) return value.some((each) => holds(each, needle))
  if (!isObject(value)) return false
  return Object.entries(value).some(([key, each]) => (typeof needle === 'string' && key.includes(needle)) || holds(each, needle))
}
