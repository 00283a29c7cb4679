/** Rules of a linter of OpenAPI 3.1, as far as it can be told without one. */
import { Compile } from 'typebox/schema'
import { isObject, type Json, type JsonObject } from '../../../src/core/json.ts'

export interface DocumentOperation {
  readonly method: string
  readonly path: string
  readonly operation: JsonObject
}

const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options', 'trace']
const TOP = ['openapi', 'jsonSchemaDialect', 'info', 'servers', 'tags', 'security', 'paths', 'components']

export function asObject(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {}
}

export function asObjectList(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

export function documentOperations(document: JsonObject): DocumentOperation[] {
  return Object.entries(asObject(document.paths)).flatMap(([path, item]) =>
    Object.entries(asObject(item)).map(([method, operation]) => ({ method, path, operation: asObject(operation) })),
  )
}

/** Follows a reference; other values are themselves. @throws where it leads nowhere. */
export function resolved(document: JsonObject, value: Json | undefined): JsonObject {
  const { $ref } = asObject(value)
  if (typeof $ref !== 'string') return asObject(value)
  let target: Json | undefined = document
  for (const name of $ref.replace('#/', '').split('/')) target = asObject(target)[name]
  if (!isObject(target)) throw new Error(`${$ref} leads nowhere`)
  return target
}

/** A schema with everything in place that it refers to. */
function inlined(document: JsonObject, value: Json): Json {
  if (Array.isArray(value)) return value.map((each) => inlined(document, each))
  if (!isObject(value)) return value
  if (typeof value.$ref === 'string') return inlined(document, resolved(document, value))
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, inlined(document, each ?? null)]))
}

/** Fault of a value; undefined where nothing is. */
export function misfit(document: JsonObject, schema: Json | undefined, value: unknown): string | undefined {
  const compiled = Compile(inlined(document, schema ?? {}) as never)
  if (compiled.Check(value)) return undefined
  const [, errors] = compiled.Errors(value)
  return errors.map((error) => `${error.instancePath}: ${error.message}`).join('; ')
}

export function jsonContentSchema(content: Json | undefined): Json | undefined {
  return asObject(asObject(content)['application/json']).schema
}

/** Every broken rule, one line each. */
export function brokenRules(document: JsonObject): string[] {
  const broken: string[] = []
  const say = (where: string, what: string): number => broken.push(`${where}: ${what}`)
  for (const key of Object.keys(document)) if (!TOP.includes(key)) say('document', `unknown member ${key}`)
  if (!/^3\.1\.\d+$/.test(String(document.openapi))) say('openapi', 'not 3.1')
  const { title, version, license } = asObject(document.info)
  if (!title || !version || !asObject(license).name) say('info', 'title, version and licence are required')
  const ids = new Set<Json | undefined>()
  const tags = new Set(asObjectList(document.tags).map(({ name }) => name))
  const used = JSON.stringify(document)
  for (const [, reference] of used.matchAll(/"\$ref":"([^"]+)"/g)) {
    try {
      resolved(document, { $ref: reference })
    } catch (error) {
      say('reference', String(error))
    }
  }
  // What follows reads schemas whole.
  if (broken.length > 0) return broken
  for (const { method, path, operation } of documentOperations(document)) {
    const where = `${method} ${path}`
    if (!METHODS.includes(method) || !/^(\/([\w-]+|\{\w+\}))+$/.test(path)) say(where, 'is no method of a path')
    if (ids.has(operation.operationId) || !/^[a-z][A-Za-z]+$/.test(String(operation.operationId))) say(where, 'its id is not its own')
    ids.add(operation.operationId)
    if (typeof operation.summary !== 'string' || operation.summary === '' || operation.summary.endsWith('.')) say(where, 'has no summary')
    const named = Array.isArray(operation.tags) ? operation.tags : []
    if (named.length !== 1 || !tags.has(named[0])) say(where, 'its tag is not declared')
    for (const line of [
      ...brokenParameters(document, path, operation),
      ...brokenBody(document, operation),
      ...brokenReplies(document, operation),
    ])
      say(where, line)
  }
  for (const [kind, parts] of Object.entries(asObject(document.components)))
    for (const name of Object.keys(asObject(parts)))
      if (kind !== 'securitySchemes' && !used.includes(`"#/components/${kind}/${name}"`)) say(name, 'is used nowhere')
  for (const requirement of [
    ...asObjectList(document.security),
    ...documentOperations(document).flatMap(({ operation }) => asObjectList(operation.security)),
  ])
    for (const name of Object.keys(requirement))
      if (!asObject(asObject(document.components).securitySchemes)[name]) say(name, 'is no security scheme')
  return broken
}

function brokenParameters(document: JsonObject, path: string, { parameters }: JsonObject): string[] {
  const declared = asObjectList(parameters)
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
  const missing = inPath.filter((name) => !declared.some((one) => one.name === name && one.in === 'path' && one.required === true))
  const wrong = declared.flatMap(({ name, in: place, schema, example, description }) => [
    ...(place === 'path' && !inPath.includes(String(name)) ? [`${name} is not in the path`] : []),
    ...(description ? [] : [`${name} is not described`]),
    ...(example === undefined ? [] : [misfit(document, schema, example)].flatMap((what) => (what ? [`example of ${name}: ${what}`] : []))),
  ])
  const names = declared.map(({ name, in: place }) => `${place} ${name}`)
  return [
    ...missing.map((name) => `${name} of the path is not declared`),
    ...wrong,
    ...(new Set(names).size === names.length ? [] : ['a parameter comes twice']),
  ]
}

function brokenBody(document: JsonObject, { requestBody }: JsonObject): string[] {
  if (requestBody === undefined) return []
  const [given] = Object.values(asObject(asObject(requestBody).content))
  const { schema, examples } = asObject(given)
  const shown = Object.entries(asObject(examples))
  return [
    ...(shown.length === 0 ? ['its body has no example'] : []),
    ...shown.flatMap(([name, example]) => {
      const what = misfit(document, schema, asObject(example).value)
      return what === undefined ? [] : [`example ${name}: ${what}`]
    }),
  ]
}

function brokenReplies(document: JsonObject, { responses }: JsonObject): string[] {
  const statuses = Object.keys(asObject(responses))
  const broken = statuses.flatMap((status) => {
    const { description, content } = resolved(document, asObject(responses)[status])
    const [given] = Object.values(asObject(content))
    const { schema, example } = asObject(given)
    const what = example === undefined ? undefined : misfit(document, schema, example)
    return [
      ...(typeof description === 'string' && description !== '' ? [] : [`${status} is not described`]),
      ...(schema === undefined ? [`${status} has no schema`] : []),
      ...(what === undefined ? [] : [`example of ${status}: ${what}`]),
    ]
  })
  const has = (digit: string): boolean => statuses.some((status) => status.startsWith(digit))
  return [...broken, ...(has('2') && has('4') && has('5') ? [] : ['lacks a reply that is good, or one that is not'])]
}
