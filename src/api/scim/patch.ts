/**
 * PATCH (RFC 7644, 3.5.2), as identity providers send it. Written by hand: the library of the format writes to the prototype of all objects
 * where a path begins with `__proto__`, and takes names by their case (docs/decisions/0100-scim.md).
 */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { type Filter, parseFilter } from './filter.ts'
import { elementTest, type Test } from './filter-match.ts'
import { findTarget, holder, type Target } from './paths.ts'
import { type Attribute, type ResourceKind, subAttributes } from './schemas.ts'
import { invalidValue, ScimError } from './scim-error.ts'
import { checkSchemas, readExtension, readOne, readValue } from './written.ts'

export const PATCH_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'
/** A group of 10,000 members may be emptied by one operation each. */
const MAX_OPERATIONS = 10_000
const VERBS = ['add', 'replace', 'remove'] as const

export type Verb = (typeof VERBS)[number]

export interface Operation {
  readonly verb: Verb
  readonly path: PatchPath | undefined
  readonly value: Json | undefined
}

export interface PatchPath extends Target {
  readonly filter: Filter | undefined
  readonly text: string
}

/** Takes operations on an attribute that is kept elsewhere. @returns false: it is no such attribute. */
export type Elsewhere = (verb: Verb, path: PatchPath, value: Json | undefined) => boolean

/** @throws ScimError `invalidSyntax`, `invalidPath`, `noTarget`. */
export function readOperations(kind: ResourceKind, body: JsonObject): Operation[] {
  checkSchemas(body, PATCH_SCHEMA)
  const list = Object.entries(body).find(([name]) => name.toLowerCase() === 'operations')?.[1]
  if (!Array.isArray(list) || list.length === 0) throw new ScimError(400, 'Operations: expected a list of operations', 'invalidSyntax')
  if (list.length > MAX_OPERATIONS) throw new ScimError(400, `Operations: expected at most ${MAX_OPERATIONS}`, 'invalidSyntax')
  return list.map((each, at) => readOperation(kind, each, `Operations[${at}]`))
}

function readOperation(kind: ResourceKind, given: Json, at: string): Operation {
  if (!isObject(given)) throw new ScimError(400, `${at}: expected an object`, 'invalidSyntax')
  const { op, path, value } = given
  // Entra ID writes `Add`, `Replace` and `Remove` (the same page as in written.ts).
  const verb = VERBS.find((each) => typeof op === 'string' && op.toLowerCase() === each)
  if (!verb) throw new ScimError(400, `${at}.op: expected one of ${VERBS.join(', ')}`, 'invalidSyntax')
  if (verb === 'add' && value === undefined) throw new ScimError(400, `${at}.value: is required`, 'invalidValue')
  if (path === undefined || path === null || path === '') {
    if (verb === 'remove') throw new ScimError(400, `${at}.path: is required`, 'noTarget')
    if (!isObject(value)) throw new ScimError(400, `${at}.value: expected an object, since there is no path`, 'invalidValue')
    return { verb, path: undefined, value }
  }
  if (typeof path !== 'string') throw new ScimError(400, `${at}.path: expected a text`, 'invalidPath')
  return { verb, path: readPath(kind, path), value }
}

/** @throws ScimError `invalidPath`, `invalidFilter`. */
export function readPath(kind: ResourceKind, text: string): PatchPath {
  const bad = (): ScimError => new ScimError(400, `path: no attribute ${text.slice(0, 200)}`, 'invalidPath')
  const begin = text.indexOf('[')
  if (begin < 0) {
    const target = findTarget(kind, text)
    if (!target) throw bad()
    return { ...target, filter: undefined, text }
  }
  const end = text.lastIndexOf(']')
  const sub = text.slice(end + 1)
  const target = findTarget(kind, text.slice(0, begin) + sub)
  if (end < begin || (sub !== '' && !sub.startsWith('.')) || !target?.attribute) throw bad()
  if (!target.attribute.multiValued || (sub !== '') !== (target.sub !== undefined)) throw bad()
  return { ...target, filter: parseFilter(text.slice(begin + 1, end)), text }
}

/** A copy of the resource with all operations, or none where one fails. @throws ScimError. */
export function patched(
  kind: ResourceKind,
  resource: JsonObject,
  operations: readonly Operation[],
  elsewhere: Elsewhere = () => false,
): JsonObject {
  const copy = structuredClone(resource)
  for (const { verb, path, value } of operations) {
    if (path) change(kind, copy, { verb, path, value }, elsewhere)
    else
      for (const [name, each = null] of Object.entries(value as JsonObject)) changeNamed(kind, copy, { verb, name, value: each }, elsewhere)
  }
  return copy
}

/**
 * A member of a value without a path. Its name may be a path itself: Entra ID sends `name.givenName` and
 * `urn:…:User:department` so. Unknown and read-only ones are ignored: Okta repeats the `id` of a group beside its new name
 * (developer.okta.com, SCIM 2.0 Protocol Reference, "Update a specific group name").
 */
function changeNamed(
  kind: ResourceKind,
  resource: JsonObject,
  { verb, name, value }: { verb: Verb; name: string; value: Json },
  elsewhere: Elsewhere,
): void {
  const path = name.includes('[') ? readPath(kind, name) : findTarget(kind, name)
  if (!path || isReadOnly(path)) return
  change(kind, resource, { verb, path: { filter: undefined, ...path, text: name }, value }, elsewhere)
}

const isReadOnly = ({ attribute, sub }: Target): boolean => attribute?.mutability === 'readOnly' || sub?.mutability === 'readOnly'

type Change = Operation & { readonly path: PatchPath }

function change(kind: ResourceKind, resource: JsonObject, { verb, path, value }: Change, elsewhere: Elsewhere): void {
  const { attribute, extension, text } = path
  if (isReadOnly(path)) throw new ScimError(400, `${text}: cannot be changed`, 'mutability')
  // A password is taken and kept nowhere.
  if (attribute?.returned === 'never' || elsewhere(verb, path, value)) return
  if (!attribute) {
    const urn = extension ?? ''
    if (verb === 'remove') delete resource[urn]
    else resource[urn] = merged(resource[urn], readExtension(kind, urn, value ?? null))
    return
  }
  if (verb === 'remove') remove(resource, { ...path, attribute }, value)
  else set(resource, { ...path, attribute }, { verb, value: value ?? null })
  const part = extension === undefined ? undefined : resource[extension]
  if (extension !== undefined && isObject(part) && Object.keys(part).length === 0) delete resource[extension]
}

interface AttributePath extends PatchPath {
  readonly attribute: Attribute
}

/** Sub-attributes of a value: an element with nothing else is none. */
const LABELS: ReadonlySet<string> = new Set(['type', 'primary', 'display'])

function remove(resource: JsonObject, path: AttributePath, value: Json | undefined): void {
  const { attribute, sub, filter, text } = path
  if (attribute.required) throw new ScimError(400, `${text}: is required`, 'mutability')
  const part = holder(resource, path)
  const before = part?.[attribute.name]
  if (!part || before === undefined) return
  const isMeant = removalTest(path, value)
  if (!sub && !filter && value === undefined) delete part[attribute.name]
  else if (Array.isArray(before)) {
    const left = sub ? before.map((each) => (isMeant(each) ? withoutPart(each, sub) : each)) : before.filter((each) => !isMeant(each))
    keep(
      part,
      attribute,
      left.filter((each) => !isObject(each) || Object.keys(each).some((name) => !LABELS.has(name))),
    )
  } else if (sub) keep(part, attribute, withoutPart(before, sub))
  else delete part[attribute.name]
}

/** Entra ID and others state the elements to remove as the value of the operation, beside a path without a filter. */
function removalTest({ attribute, filter, sub }: AttributePath, value: Json | undefined): (element: Json) => boolean {
  if (filter) {
    const test = elementTest(attribute, filter)
    return (element) => isObject(element) && test(element)
  }
  if (sub || value === undefined || value === null) return () => true
  const read = readValue(attribute, value, attribute.name)
  const named = new Set((Array.isArray(read) ? read : []).map(elementName))
  return (element) => named.has(elementName(element))
}

/** An element is known by its value, where it has one. */
function elementName(element: Json): string {
  if (!isObject(element)) return JSON.stringify(element)
  const { value, type } = element
  return value === undefined ? JSON.stringify(Object.entries(element).sort()) : JSON.stringify([value, type])
}

function withoutPart(element: Json, sub: Attribute): Json {
  if (!isObject(element)) return element
  const { [sub.name]: _, ...left } = element
  return left
}

function keep(part: JsonObject, { name }: Attribute, value: Json): void {
  const isEmpty = Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0
  if (isEmpty) delete part[name]
  else part[name] = value
}

type Setting = { readonly verb: Verb; readonly value: Json }

function set(resource: JsonObject, path: AttributePath, setting: Setting): void {
  const { attribute, extension, sub, filter, text } = path
  let part = holder(resource, path)
  if (!part) {
    part = {}
    resource[extension ?? ''] = part
  }
  const before = part[attribute.name]
  if (attribute.multiValued) {
    const list = Array.isArray(before) ? before : []
    const next = filter || sub ? setElements(list, path, setting) : setList(list, attribute, setting)
    checkList(next, attribute)
    keep(part, attribute, next)
    return
  }
  const read = sub ? readPart(attribute, sub, setting.value, text) : readValue(attribute, setting.value, text)
  if (read === undefined && attribute.required) throw invalidValue(text, 'is required')
  if (sub && read === undefined) keep(part, attribute, withoutPart(before ?? {}, sub))
  else if (read === undefined) delete part[attribute.name]
  else part[attribute.name] = merged(before, read)
}

/** @returns an object of the one sub-attribute. */
function readPart(attribute: Attribute, sub: Attribute, value: Json, text: string): JsonObject | undefined {
  const read = readValue(sub, value, text)
  return read === undefined ? undefined : (readOne(attribute, { [sub.name]: read }, text) as JsonObject)
}

/** Sub-attributes that are not named stay as they were (RFC 7644, 3.5.2.3). */
const merged = (before: Json | undefined, read: Json): Json => (isObject(before) && isObject(read) ? { ...before, ...read } : read)

function setList(list: readonly Json[], attribute: Attribute, { verb, value }: Setting): Json[] {
  const read = readValue(attribute, value, attribute.name)
  const given = Array.isArray(read) ? read : []
  if (verb === 'replace') return given
  const known = new Set(list.map(elementName))
  const added = given.filter((each) => !known.has(elementName(each)))
  return [...withOnePrimary(list, added), ...added]
}

/** A new primary value takes the place of the one of before (RFC 7644, 3.5.2). */
function withOnePrimary(list: readonly Json[], added: readonly Json[]): Json[] {
  const hasPrimary = added.some((each) => isObject(each) && each.primary === true)
  return hasPrimary ? list.map((each) => (isObject(each) && each.primary === true ? { ...each, primary: false } : each)) : [...list]
}

function setElements(list: readonly Json[], { attribute, sub, filter, text }: AttributePath, { value }: Setting): Json[] {
  const read = sub ? readPart(attribute, sub, value, text) : readOne(attribute, value, text)
  if (!isObject(read)) throw invalidValue(text, 'expected a value')
  const test: Test = filter ? elementTest(attribute, filter) : () => true
  const isMeant = (each: Json): boolean => isObject(each) && test(each)
  if (list.some(isMeant)) {
    const others = list.map((each) => (isMeant(each) ? null : each))
    const cleared = withOnePrimary(others, [read])
    return list.map((each, at) => (isMeant(each) ? merged(each, read) : (cleared[at] ?? each)))
  }
  // Entra ID sets `emails[type eq "work"].value` of users who have no such address, as `Add` and as `Replace`.
  const made = filter ? equalities(filter, attribute) : {}
  if (!made || !sub) throw new ScimError(400, `${text}: no value fits the filter`, 'noTarget')
  return [...withOnePrimary(list, [read]), { ...made, ...read }]
}

/** The sub-attributes of an element that fits the filter; undefined where it names none. */
function equalities(filter: Filter, attribute: Attribute): JsonObject | undefined {
  if (filter.op === 'eq') {
    const found = subAttributes(attribute).get(filter.path.toLowerCase())
    return found && { [found.name]: readOne(found, filter.value, filter.path) ?? null }
  }
  if (filter.op !== 'and') return undefined
  const parts = filter.parts.map((part) => equalities(part, attribute))
  return parts.includes(undefined) ? undefined : (Object.assign({}, ...parts) as JsonObject)
}

/** @throws ScimError where operations have made it too long, or left two primary values. */
function checkList(list: readonly Json[], attribute: Attribute): void {
  readValue(attribute, list as Json[], attribute.name)
}
