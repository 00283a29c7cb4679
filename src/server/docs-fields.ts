/** A schema as a table of its fields, for the reference page. */
import { isObject, type Json, type JsonObject } from '../core/json.ts'

/** Levels of objects within objects that are written out. */
const DEPTH = 2

export function fieldTable(schema: JsonObject, depth = DEPTH): string {
  const { properties } = schema
  if (!isObject(properties)) return `<p>${typeText(schema)}${noteOf(schema)}</p>`
  const required = Array.isArray(schema.required) ? schema.required : []
  const rows = Object.entries(properties).map(([name, field]) => {
    const of = isObject(field) ? field : {}
    const within = depth > 1 ? innerObject(of) : undefined
    const must = required.includes(name) ? ' <small>required</small>' : ''
    const inner = within === undefined ? '' : `<details><summary>fields</summary>${fieldTable(within, depth - 1)}</details>`
    return `<tr><td><code>${escaped(name)}</code>${must}</td><td>${typeText(of)}${noteOf(of)}${inner}</td></tr>`
  })
  return `<table>${rows.join('')}</table>`
}

/** The one object with fields that a field is, or may be, or is a list of. */
function innerObject(schema: JsonObject): JsonObject | undefined {
  const candidates = membersOf(schema).map((member) => (member.type === 'array' && isObject(member.items) ? member.items : member))
  const objects = candidates.filter(({ properties }) => isObject(properties) && Object.keys(properties).length > 0)
  return objects.length === 1 ? objects[0] : undefined
}

function membersOf(schema: JsonObject): JsonObject[] {
  return Array.isArray(schema.anyOf) ? schema.anyOf.filter(isObject).flatMap(membersOf) : [schema]
}

function typeText(schema: JsonObject): string {
  return [...new Set(membersOf(schema).map(oneType))].join(' or ')
}

function oneType(schema: JsonObject): string {
  const name = schemaName(schema)
  if (name !== undefined) return `<a href="#schema-${escaped(name)}">${escaped(name)}</a>`
  const { type, items, enum: choices } = schema
  const values = Array.isArray(choices) ? choices : Object.hasOwn(schema, 'const') ? [schema.const] : undefined
  if (values) return values.map((value) => `<code>${escaped(JSON.stringify(value))}</code>`).join(', ')
  if (type === 'array') return isObject(items) ? `list of ${typeText(items)}` : 'list'
  return escaped(`${typeof type === 'string' ? type : 'any value'}${boundsText(schema)}`)
}

function boundsText({ minimum, maximum, maxLength }: JsonObject): string {
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`
  if (minimum !== undefined) return ` from ${minimum}`
  if (maximum !== undefined) return ` up to ${maximum}`
  return maxLength === undefined ? '' : ` of at most ${maxLength} characters`
}

function noteOf({ description }: JsonObject): string {
  return typeof description === 'string' ? `<br><small>${inline(description)}</small>` : ''
}

/** Name of the schema that a reference leads to. */
export function schemaName({ $ref }: JsonObject): string | undefined {
  return typeof $ref === 'string' ? $ref.split('/').pop() : undefined
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** For text and for quoted attributes. */
export function escaped(text: Json): string {
  return String(text).replace(/[&<>"']/g, (sign) => ENTITIES[sign])
}

/** Prose with `code` in it. */
export function inline(text: string): string {
  return escaped(text).replace(/`([^`]+)`/g, '<code>$1</code>')
}
