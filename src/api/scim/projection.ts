/** The attributes of a reply (RFC 7644, 3.9): all, those that are named, or all but those. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { findTarget, type Target } from './paths.ts'
import type { Attribute, ResourceKind } from './schemas.ts'
import { ScimError } from './scim-error.ts'

const MAX_NAMES = 100

export interface Projection {
  readonly attributes: readonly string[]
  readonly excluded: readonly string[]
}

export const EVERYTHING: Projection = { attributes: [], excluded: [] }

/** @param values texts with names between commas, or names. @throws ScimError 400. */
export function readProjection(attributes: Json | undefined, excluded: Json | undefined): Projection {
  const wanted = { attributes: namesIn(attributes, 'attributes'), excluded: namesIn(excluded, 'excludedAttributes') }
  if (wanted.attributes.length > 0 && wanted.excluded.length > 0)
    throw new ScimError(400, 'attributes: expected either attributes or excludedAttributes', 'invalidValue')
  return wanted
}

function namesIn(value: Json | undefined, field: string): string[] {
  if (value === undefined || value === null) return []
  const list = Array.isArray(value) ? value.map(String) : String(value).split(',')
  if (list.length > MAX_NAMES) throw new ScimError(400, `${field}: expected at most ${MAX_NAMES} names`, 'invalidValue')
  return list.map((each) => each.trim()).filter((each) => each !== '')
}

/** Names that are unknown are ignored, since clients name attributes of other servers. */
export function projector(kind: ResourceKind, { attributes, excluded }: Projection): (resource: JsonObject) => JsonObject {
  const targets = (names: readonly string[]): Target[] => names.map((name) => findTarget(kind, name)).filter((each) => each !== undefined)
  if (attributes.length > 0) {
    const wanted = targets(attributes)
    return (resource) => only(resource, wanted, kind)
  }
  const unwanted = targets(excluded).filter(({ attribute }) => attribute?.returned !== 'always')
  return unwanted.length === 0 ? (resource) => resource : (resource) => without(resource, unwanted)
}

/** True where replies leave it out. Members of large groups are not gathered then. */
export function leavesOut(kind: ResourceKind, { attributes, excluded }: Projection, attribute: Attribute | undefined): boolean {
  const names = (list: readonly string[], whole: boolean): boolean =>
    list.some((name) => {
      const target = findTarget(kind, name)
      return target?.attribute === attribute && (!whole || target?.sub === undefined)
    })
  return attributes.length > 0 ? !names(attributes, false) : names(excluded, true)
}

function only(resource: JsonObject, wanted: readonly Target[], kind: ResourceKind): JsonObject {
  const kept: JsonObject = {}
  for (const { name, returned } of kind.attributes.values())
    if (returned === 'always' && resource[name] !== undefined) kept[name] = resource[name]
  for (const { extension, attribute, sub } of wanted) {
    const from = extension === undefined ? resource : resource[extension]
    if (!isObject(from)) continue
    if (!attribute) {
      kept[extension ?? ''] = from
      continue
    }
    const value = from[attribute.name]
    if (value === undefined) continue
    const into = extension === undefined ? kept : inner(kept, extension)
    into[attribute.name] = sub ? joined(into[attribute.name], part(value, sub)) : value
  }
  return kept
}

function inner(kept: JsonObject, extension: string): JsonObject {
  const found = kept[extension]
  if (isObject(found)) return found
  const made: JsonObject = {}
  kept[extension] = made
  return made
}

function part(value: Json, sub: Attribute): Json {
  if (Array.isArray(value)) return value.map((each) => part(each, sub))
  if (!isObject(value)) return value
  const found = value[sub.name]
  return found === undefined ? {} : { [sub.name]: found }
}

/** Two sub-attributes of one value that were both named. */
function joined(before: Json | undefined, more: Json): Json {
  if (Array.isArray(before) && Array.isArray(more)) return before.map((each, at) => joined(each, more[at] ?? {}))
  return isObject(before) && isObject(more) ? { ...before, ...more } : more
}

function without(resource: JsonObject, unwanted: readonly Target[]): JsonObject {
  const kept: JsonObject = { ...resource }
  for (const { extension, attribute, sub } of unwanted) {
    if (!attribute) {
      delete kept[extension ?? '']
      continue
    }
    const from = extension === undefined ? kept : kept[extension]
    if (!isObject(from)) continue
    const copy = extension === undefined ? kept : { ...from }
    if (extension !== undefined) kept[extension] = copy
    const value = copy[attribute.name]
    if (!sub || value === undefined) delete copy[attribute.name]
    else copy[attribute.name] = lacking(value, sub)
  }
  return kept
}

function lacking(value: Json, sub: Attribute): Json {
  if (Array.isArray(value)) return value.map((each) => lacking(each, sub))
  if (!isObject(value)) return value
  const { [sub.name]: _, ...rest } = value
  return rest
}
