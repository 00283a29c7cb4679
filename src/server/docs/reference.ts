/** The parts of an OpenAPI document that the reference pages show. */
import { asObjects, isObject, type Json, type JsonObject } from '../../core/json.ts'

export interface Operation {
  readonly id: string
  /** In lower case. */
  readonly method: string
  /** With the base of the API in front, such as `/v1/keys/{hash}`. */
  readonly path: string
  readonly summary: string
  readonly description: string
  /** False where it needs no key. */
  readonly keyed: boolean
  readonly parameters: readonly JsonObject[]
  readonly body?: RequestBody
  readonly replies: readonly Reply[]
}

export interface RequestBody {
  readonly form: boolean
  readonly schema: JsonObject
  readonly examples: readonly { readonly summary: string; readonly value: JsonObject }[]
}

export interface Reply {
  readonly status: number
  readonly description: string
  /** Undefined where the body is not JSON. */
  readonly schema: JsonObject | undefined
}

export interface Section {
  readonly name: string
  /** The section's page. */
  readonly slug: string
  readonly description: string
  readonly operations: readonly Operation[]
}

export interface Reference {
  readonly title: string
  readonly version: string
  readonly description: string
  readonly base: string
  readonly sections: readonly Section[]
  readonly schemas: Readonly<Record<string, JsonObject>>
}

/** @param document OpenAPI 3.1, as `/openapi.json` returns it. */
export function readReference(document: JsonObject): Reference {
  const info = asObject(document.info)
  const base = String(asObjects(document.servers)[0]?.url ?? '')
  const components = asObject(document.components)
  const faults = asObject(components.responses)
  const operations = Object.entries(asObject(document.paths)).flatMap(([path, methods]) =>
    Object.entries(asObject(methods)).map(([method, of]) => ({
      tags: asObject(of).tags,
      operation: readOperation({ method, path: base + path }, asObject(of), faults),
    })),
  )
  return {
    title: String(info.title),
    version: String(info.version),
    description: String(info.description),
    base,
    sections: asObjects(document.tags).map(({ name, description }) => ({
      name: String(name),
      slug: String(name)
        .toLowerCase()
        .replace(/[^a-z0-9]+/g, '-'),
      description: String(description),
      operations: operations.filter(({ tags }) => Array.isArray(tags) && tags.includes(name ?? null)).map(({ operation }) => operation),
    })),
    schemas: asObject(components.schemas) as Record<string, JsonObject>,
  }
}

function readOperation(at: { method: string; path: string }, of: JsonObject, faults: JsonObject): Operation {
  const [[type, given] = ['', {}]] = Object.entries(asObject(asObject(of.requestBody).content))
  const { schema, examples } = asObject(given)
  const shown = Object.values(asObject(examples)).map((example) => {
    const { summary, value } = asObject(example)
    return { summary: String(summary), value: asObject(value) }
  })
  return {
    ...at,
    id: String(of.operationId),
    summary: String(of.summary),
    description: of.description === undefined ? '' : String(of.description),
    keyed: of.security === undefined,
    parameters: asObjects(of.parameters),
    ...(of.requestBody === undefined ? {} : { body: { form: type === 'multipart/form-data', schema: asObject(schema), examples: shown } }),
    replies: Object.entries(asObject(of.responses)).map(([status, reply]) => readReply(Number(status), asObject(reply), faults)),
  }
}

/** Errors are references to responses that all operations share. */
function readReply(status: number, reply: JsonObject, faults: JsonObject): Reply {
  const name = schemaName(reply)
  const { description, content } = name === undefined ? reply : asObject(faults[name])
  const json = asObject(content)['application/json']
  return { status, description: String(description), schema: json === undefined ? undefined : asObject(asObject(json).schema) }
}

/** Name of the component that a reference leads to; undefined for what is no reference. */
export function schemaName({ $ref }: JsonObject): string | undefined {
  return typeof $ref === 'string' ? $ref.split('/').pop() : undefined
}

/** The value, or an empty object where it is none. */
export function asObject(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {}
}
