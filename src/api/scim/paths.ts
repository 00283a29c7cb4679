/** Names of attributes, as queries and patches write them (RFC 7644, 3.10): case does not count, and a URN may stand before them. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { type Attribute, type ResourceKind, subAttributes } from './schemas.ts'

/** An attribute or sub-attribute of a kind of resources. */
export interface Target {
  /** URN of the extension that it is part of; undefined in the core schema. */
  readonly extension: string | undefined
  /** Undefined: the whole extension. */
  readonly attribute: Attribute | undefined
  readonly sub: Attribute | undefined
}

/** @returns undefined where nothing has the name. */
export function findTarget(kind: ResourceKind, name: string): Target | undefined {
  const lower = name.toLowerCase()
  for (const [urn, { id, attributes }] of kind.extensions) {
    if (lower === urn) return { extension: id, attribute: undefined, sub: undefined }
    if (lower.startsWith(`${urn}:`)) return named(attributes, lower.slice(urn.length + 1), id)
  }
  const core = `${kind.schema.id.toLowerCase()}:`
  return named(kind.attributes, lower.startsWith(core) ? lower.slice(core.length) : lower, undefined)
}

function named(attributes: ResourceKind['attributes'], lower: string, extension: string | undefined): Target | undefined {
  const [first = '', second, ...more] = lower.split('.')
  const attribute = attributes.get(first)
  if (!attribute || more.length > 0) return undefined
  if (second === undefined) return { extension, attribute, sub: undefined }
  const sub = subAttributes(attribute).get(second)
  return sub && { extension, attribute, sub }
}

/** The part of a resource that has the attributes of the target's schema; undefined where there is none. */
export function holder(resource: JsonObject, { extension }: Pick<Target, 'extension'>): JsonObject | undefined {
  if (extension === undefined) return resource
  const part = resource[extension]
  return isObject(part) ? part : undefined
}

/** Values of a resource at the target, of a list each one. */
export function valuesAt(resource: JsonObject, target: Target): Json[] {
  const { attribute, sub } = target
  const part = holder(resource, target)
  if (!part) return []
  const value = attribute ? part[attribute.name] : part
  const values = value === undefined || value === null ? [] : Array.isArray(value) ? value : [value]
  if (!sub) return values
  return values.flatMap((each): Json[] => {
    const inner = isObject(each) ? each[sub.name] : undefined
    return inner === undefined || inner === null ? [] : Array.isArray(inner) ? inner : [inner]
  })
}

/** As texts are compared where case does not count: of two spellings of one text both are alike. */
export const folded = (text: string): string => text.normalize('NFC').toLowerCase()
