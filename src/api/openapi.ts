/** The description of the whole API as OpenAPI 3.1, put together from the schemas that check what comes in. */
import type { TSchema } from 'typebox'
import { FAULTS, Fault, type FaultCode, faultBody } from '../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../core/json.ts'
import { listed, permittedRoles, type RequiredRoles } from '../core/roles.ts'
import type { DescribedBody, DescribedOperation, DescribedParameter, ExampleModels } from './described-operation.ts'
import { format } from './parameters.ts'
import { fault } from './schemas.ts'

export interface Description {
  /** Word of the white label: the only name that is shown. */
  readonly brand: string
  readonly version: string
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly operations: readonly DescribedOperation[]
  /** Schemas that are written once and referred to. */
  readonly named: ReadonlyMap<TSchema, string>
  /** Models of the catalogue that examples name. */
  readonly models: ExampleModels
}

/** Faults that every operation may return, and with `WITH_BODY` every operation with a body. */
const ALWAYS: readonly FaultCode[] = ['method_not_allowed', 'internal']
const WITH_KEY: readonly FaultCode[] = ['missing_key', 'forbidden']
const WITH_BODY: readonly FaultCode[] = ['bad_request', 'too_large', 'media_type']

export function openApi({ brand, version, tags, operations, named, models }: Description): JsonObject {
  const known = new Map<TSchema, string>([...named, [fault, 'Error']])
  const paths: Record<string, JsonObject> = {}
  for (const operation of operations) {
    const methods = paths[operation.path] ?? {}
    methods[operation.method] = described(operation, known, models)
    paths[operation.path] = methods
  }
  const schemas: JsonObject = {}
  for (const [schema, name] of known) schemas[name] = plain(schema, known, schema)
  return {
    openapi: '3.1.1',
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    info: {
      title: `${brand} API`,
      version,
      description:
        'One address in front of many model providers. Every reply with an error has the same body; its `code` is the HTTP status.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/v1', description: 'This gateway.' }],
    tags: tags.map((tag) => ({ ...tag })),
    security: [{ key: [] }],
    paths: paths as JsonObject,
    components: {
      securitySchemes: {
        key: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key of this gateway, or a token of an identity provider of its configuration.',
        },
      },
      schemas,
      responses: Object.fromEntries(usualFaults(operations).map((code) => [code, faultResponse(code)])),
    },
  }
}

function described(operation: DescribedOperation, named: ReadonlyMap<TSchema, string>, models: ExampleModels): JsonObject {
  const { id, tag, summary, roles, csv, body, reply, streams } = operation
  const parameters = csv ? [...(operation.parameters ?? []), format] : operation.parameters
  const description = [operation.description ?? '', rolesText(roles)].filter((line) => line !== '').join('\n\n')
  const content: JsonObject = { [reply.type ?? 'application/json']: { schema: plain(reply.schema, named) } }
  if (streams)
    content['text/event-stream'] = {
      schema: { type: 'string', description: 'Server-sent events, ended by `[DONE]` or by the last event.' },
    }
  const responses: JsonObject = { [reply.status ?? 200]: { description: reply.description, content } }
  for (const code of byStatus(operationCodes(operation))) responses[FAULTS[code].status] = faultAnswer(code, operation, named)
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === '' ? {} : { description }),
    ...(roles === 'none' ? { security: [] } : { 'x-required-roles': permittedRoles(roles) }),
    ...(parameters === undefined ? {} : { parameters: parameters.map((each) => parameter(each, models)) }),
    ...(body === undefined ? {} : { requestBody: requestBody(body, named) }),
    responses,
  }
}

function rolesText(roles: RequiredRoles): string {
  if (roles === 'none') return 'Needs no key.'
  if (roles === 'any') return ''
  const names = permittedRoles(roles)
  return `Only for ${names.includes('member') ? '' : 'management '}keys of the ${names.length === 1 ? 'role' : 'roles'} ${listed(names.map((name) => `\`${name}\``))}.`
}

function faultAnswer(code: FaultCode, { faultForm }: DescribedOperation, named: ReadonlyMap<TSchema, string>): JsonObject {
  if (!faultForm) return { $ref: `#/components/responses/${code}` }
  return { description: `${FAULTS[code].message}.`, content: { 'application/json': { schema: plain(faultForm, named) } } }
}

function parameter(described: DescribedParameter, models: ExampleModels): JsonObject {
  const { name, in: place, description, schema, required } = described
  const example = typeof described.example === 'function' ? described.example(models) : described.example
  const must = place === 'path' || required === true
  return { name, in: place, description, ...(must ? { required: true } : {}), schema, ...(example === undefined ? {} : { example }) }
}

function requestBody({ form, optional, schema, examples }: DescribedBody, named: ReadonlyMap<TSchema, string>): JsonObject {
  const shown = Object.entries(examples).map(([name, { summary, value }]) => [name, { summary, value }])
  const type = form ? 'multipart/form-data' : 'application/json'
  return { required: !optional, content: { [type]: { schema: plain(schema, named), examples: Object.fromEntries(shown) } } }
}

function operationCodes({ roles, body, faults = [] }: DescribedOperation): FaultCode[] {
  return [...(roles === 'none' ? [] : WITH_KEY), ...(body ? WITH_BODY : []), ...faults, ...ALWAYS]
}

/** Of several faults with one status the first stands for it. */
function byStatus(codes: readonly FaultCode[]): FaultCode[] {
  const first = new Map<number, FaultCode>()
  for (const code of codes) if (!first.has(FAULTS[code].status)) first.set(FAULTS[code].status, code)
  return [...first].sort(([a], [b]) => a - b).map(([, code]) => code)
}

function usualFaults(operations: readonly DescribedOperation[]): FaultCode[] {
  const usual = operations.filter(({ faultForm }) => !faultForm)
  return [...new Set(usual.flatMap((operation) => byStatus(operationCodes(operation))))].sort((a, b) => FAULTS[a].status - FAULTS[b].status)
}

function faultResponse(code: FaultCode): JsonObject {
  return {
    description: `${FAULTS[code].message}.`,
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' }, example: faultBody(new Fault(code)) } },
  }
}

/**
 * A schema as plain data, with references in place of the schemas that have a name.
 * @param whole the one that is written out although it has a name.
 */
function plain(schema: TSchema, named: ReadonlyMap<TSchema, string>, whole?: TSchema): JsonObject {
  const name = schema === whole ? undefined : named.get(schema)
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` }
  return Object.fromEntries(Object.entries(schema as object).map(([key, value]) => [key, plainValue(value, named)]))
}

function plainValue(value: unknown, named: ReadonlyMap<TSchema, string>): Json {
  if (Array.isArray(value)) return value.map((each) => plainValue(each, named))
  return isObject(value) ? plain(value as unknown as TSchema, named) : (value as Json)
}

/** Descriptions for the fields of a body that have none of their own. */
export function withNotes(schema: TSchema, notes: Readonly<Record<string, string>>): TSchema {
  const { properties } = schema as { properties?: Record<string, TSchema> }
  if (!properties) return schema
  const noted = Object.entries(properties).map(([name, field]) => {
    const note = Object.hasOwn(notes, name) && !('description' in field) ? notes[name] : undefined
    return [name, note === undefined ? field : { ...field, description: note }]
  })
  return { ...schema, properties: Object.fromEntries(noted) } as TSchema
}
