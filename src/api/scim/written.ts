/**
 * Attributes as clients write them, in the form in which they are stored: names as the schema has them, values of its types, and nothing
 * that the schema does not know. Provisioning services differ from RFC 7643 in ways that are taken as they are meant; each states its source.
 */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { findTarget } from './paths.ts'
import { type Attribute, type AttributeMap, GROUP, type ResourceKind, subAttributes } from './schemas.ts'
import { invalidValue, ScimError } from './scim-error.ts'

/** Characters of one text. A certificate has a few thousand. */
const MAX_TEXT_LENGTH = 8_192
/** Elements of a multi-valued attribute; members of a group are bounded elsewhere. */
const MAX_ELEMENTS = 100

/** True for what the gateway makes itself. A body may repeat it, as one does that was read before (RFC 7644, 3.5.1). */
const isOurs = ({ mutability }: Attribute): boolean => mutability === 'readOnly'

/**
 * Reads the body of POST and PUT. Unknown attributes are left out, as those are that only the gateway writes, and passwords.
 * @throws ScimError `invalidValue` naming the attribute, `invalidSyntax` for another schema.
 */
export function readResource(kind: ResourceKind, body: JsonObject): JsonObject {
  checkSchemas(body, kind.schema.id)
  const read = readParts(kind.attributes, body, '')
  const parts = Object.entries(body).filter(([name]) => kind.extensions.has(name.toLowerCase()))
  for (const [name, value = null] of parts) {
    const target = findTarget(kind, name)
    if (target?.extension === undefined || value === null) continue
    const part = readExtension(kind, target.extension, value)
    if (Object.keys(part).length > 0) read[target.extension] = part
  }
  return read
}

/** @throws ScimError `invalidSyntax`. */
export function checkSchemas(body: JsonObject, wanted: string): void {
  const { schemas } = body
  const named = Array.isArray(schemas) ? schemas : []
  if (!named.some((each) => typeof each === 'string' && each.toLowerCase() === wanted.toLowerCase()))
    throw new ScimError(400, `schemas: expected a list with ${wanted}`, 'invalidSyntax')
}

/** @throws ScimError `invalidValue`. */
export function readExtension(kind: ResourceKind, urn: string, value: Json): JsonObject {
  if (!isObject(value)) throw invalidValue(urn, 'expected an object')
  return readParts(kind.extensions.get(urn.toLowerCase())?.attributes ?? new Map(), value, `${urn}:`)
}

function readParts(attributes: AttributeMap, body: JsonObject, before: string): JsonObject {
  const read: JsonObject = {}
  for (const [name, value = null] of Object.entries(body)) {
    const attribute = attributes.get(name.toLowerCase())
    if (!attribute || isOurs(attribute) || attribute.returned === 'never') continue
    const known = readValue(attribute, value, `${before}${attribute.name}`)
    if (known !== undefined) read[attribute.name] = known
  }
  return read
}

/** @returns undefined for null and empty lists, which are the same as no value (RFC 7643, 2.5). @throws ScimError `invalidValue`. */
export function readValue(attribute: Attribute, value: Json, at: string): Json | undefined {
  if (value === null) return undefined
  if (!attribute.multiValued) return readOne(attribute, value, at)
  const list = Array.isArray(value) ? value : [value]
  // The sizes of groups are looked at where members are written.
  if (list.length > MAX_ELEMENTS && attribute !== GROUP.attributes.get('members'))
    throw invalidValue(at, `expected at most ${MAX_ELEMENTS} values`)
  const read = list.map((each, place) => readOne(attribute, each, `${at}[${place}]`)).filter((each) => each !== undefined)
  if (read.filter((each) => isObject(each) && each.primary === true).length > 1)
    throw invalidValue(at, 'expected at most one value that is primary')
  return read.length === 0 ? undefined : read
}

/** One value, of a multi-valued attribute one element. */
export function readOne(attribute: Attribute, value: Json, at: string): Json | undefined {
  const { type } = attribute
  if (value === null) return undefined
  if (type === 'complex') {
    const parts = subAttributes(attribute)
    // Entra ID sends the id of a manager, and the value of a single e-mail address, in the place of the complex value.
    const whole = typeof value === 'string' && parts.has('value') ? { value } : value
    if (!isObject(whole)) throw invalidValue(at, 'expected an object')
    const read = readParts(parts, whole, `${at}.`)
    return Object.keys(read).length === 0 ? undefined : read
  }
  if (type === 'boolean') return readFlag(value, at)
  if (typeof value !== 'string') throw invalidValue(at, 'expected a text')
  if (value.length > MAX_TEXT_LENGTH) throw invalidValue(at, `expected at most ${MAX_TEXT_LENGTH} characters`)
  if (!value.isWellFormed() || value.includes('\0')) throw invalidValue(at, 'expected a text of Unicode without NUL')
  return value
}

/**
 * Entra ID sends `"True"` and `"False"` (learn.microsoft.com/entra/identity/app-provisioning, "Known issues and resolutions with SCIM 2.0
 * protocol compliance").
 */
function readFlag(value: Json, at: string): boolean {
  if (typeof value === 'boolean') return value
  const lower = typeof value === 'string' ? value.toLowerCase() : ''
  if (lower !== 'true' && lower !== 'false') throw invalidValue(at, 'expected true or false')
  return lower === 'true'
}
