/** A schema as a list of its fields, for the reference pages, with the HTML of texts and the addresses that the pages link to. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { schemaName } from './reference.ts'

/** Addresses of pages and files: paths of a gateway, or files beside each other. */
export interface Addresses {
  /** @param slug of the page; empty for the first one. */
  page(slug: string): string
  asset(file: string): string
  readonly document: string
}

export const GATEWAY_ADDRESSES: Addresses = {
  page: (slug) => (slug === '' ? '/docs' : `/docs/${slug}`),
  asset: (file) => `/docs/${file}`,
  document: '/openapi.json',
}

export const FILE_ADDRESSES: Addresses = {
  page: (slug) => `${slug === '' ? 'index' : slug}.html`,
  asset: (file) => file,
  document: 'openapi.json',
}

/** Slug of the page with all named schemas. */
export const SCHEMAS = 'schemas'

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** For text and for quoted attributes. */
export function escaped(text: Json): string {
  return String(text).replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? `&#${sign.charCodeAt(0)};`)
}

/** Prose with `code` in it. */
export function inline(text: string): string {
  return escaped(text).replace(/`([^`]+)`/g, '<code>$1</code>')
}

/** Levels of objects within objects that are written out. */
const DEPTH = 3

/** Presentation of a schema. */
export interface Showing {
  readonly addresses: Addresses
  /** True for what a caller sends: fields that must be there are marked. */
  readonly sent: boolean
  /** Fields to show in any case; of many others the optional ones are folded. Undefined: all are shown. */
  readonly main?: ReadonlySet<string>
  readonly depth?: number
}

/** Fields that are folded where there are more of them. */
const MANY = 12

/**
 * The fields of an object, each with its type, its note and the fields within; of any other schema its type.
 * @param schema with references to named schemas, which become links.
 */
export function fieldList(schema: JsonObject, showing: Showing): string {
  const { addresses, sent, main, depth = DEPTH } = showing
  const { properties } = schema
  if (!isObject(properties)) return `<p class="type">${typeText(schema, addresses)}</p>${descriptionNote(schema)}`
  const required = sent && Array.isArray(schema.required) ? schema.required : []
  const rows = Object.entries(properties).map(([name, field]) => {
    const of = isObject(field) ? field : {}
    const inner = depth > 1 ? innerObjects(of).map((object) => innerFields(object, { addresses, sent, depth: depth - 1 })) : []
    const must = required.includes(name)
    const row = fieldRow(name, { type: typeText(of, addresses), required: must, rest: descriptionNote(of) + inner.join('') })
    return { shown: must || main === undefined || main.has(name), row }
  })
  const others = rows.filter(({ shown }) => !shown)
  if (others.length <= MANY) return rowList(rows)
  return `${rowList(rows.filter(({ shown }) => shown))}<details class="many"><summary>${others.length} more fields</summary>${rowList(others)}</details>`
}

function rowList(rows: readonly { readonly row: string }[]): string {
  return rows.length === 0 ? '' : `<ul class="fields">${rows.map(({ row }) => row).join('')}</ul>`
}

/** One line of a list of fields. @param rest HTML below the name. */
export function fieldRow(name: string, { type, required, rest }: { type: string; required: boolean; rest: string }): string {
  const must = required ? ' <span class="required">required</span>' : ''
  return `<li><code>${escaped(name)}</code> <span class="type">${type}</span>${must}${rest}</li>`
}

function innerFields(object: JsonObject, showing: Showing): string {
  const name = typeof object.title === 'string' ? `Fields of <code>${escaped(object.title)}</code>` : 'Fields'
  return `<details><summary>${name}</summary>${fieldList(object, showing)}</details>`
}

/** The objects with fields that a field is, or may be, or is a list of. */
function innerObjects(schema: JsonObject): JsonObject[] {
  const items = schemaMembers(schema).flatMap((member) =>
    member.type === 'array' && isObject(member.items) ? schemaMembers(member.items) : [member],
  )
  return items.filter(({ properties }) => isObject(properties) && Object.keys(properties).length > 0)
}

function schemaMembers(schema: JsonObject): JsonObject[] {
  return Array.isArray(schema.anyOf) ? schema.anyOf.filter(isObject).flatMap(schemaMembers) : [schema]
}

/** The type in words, such as `string or list of string`. */
export function typeText(schema: JsonObject, addresses: Addresses): string {
  return [...new Set(schemaMembers(schema).map((member) => oneType(member, addresses)))].join(' or ')
}

function oneType(schema: JsonObject, addresses: Addresses): string {
  const name = schemaName(schema)
  if (name !== undefined) return `<a href="${addresses.page(SCHEMAS)}#${escaped(name)}">${escaped(name)}</a>`
  const { type, items, enum: choices } = schema
  const values = Array.isArray(choices) ? choices : Object.hasOwn(schema, 'const') ? [schema.const] : undefined
  if (values) return values.map((value) => `<code>${escaped(JSON.stringify(value))}</code>`).join(', ')
  if (type === 'array') return isObject(items) ? `list of ${typeText(items, addresses)}` : 'list'
  return escaped(`${typeof type === 'string' ? type : 'any value'}${boundsText(schema)}`)
}

function boundsText({ minimum, maximum, maxLength }: JsonObject): string {
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`
  if (minimum !== undefined) return ` from ${minimum}`
  if (maximum !== undefined) return ` up to ${maximum}`
  return maxLength === undefined ? '' : ` of at most ${maxLength} characters`
}

function descriptionNote({ description }: JsonObject): string {
  return typeof description === 'string' ? `<p>${inline(description)}</p>` : ''
}
