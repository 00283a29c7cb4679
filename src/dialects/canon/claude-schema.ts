/**
 * The subset of JSON Schema that Claude's structured outputs and strict tools take (lib/transform-json-schema of @anthropic-ai/sdk 1.14.0;
 * platform.claude.com, Structured outputs, "JSON Schema limitations"). Keywords beyond it go into the description, where the model reads
 * them.
 */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'

const FORMATS: ReadonlySet<unknown> = new Set(['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid'])

/** Keywords that say nothing about which values are valid: without them nothing is lost. */
const NOTES: ReadonlySet<string> = new Set(['$schema', '$id', '$comment', 'default', 'examples', 'deprecated', 'readOnly', 'writeOnly'])

const KEPT: ReadonlySet<string> = new Set(['type', 'title', 'description', 'required', '$ref'])

const isPlain = (value: Json): boolean => value === null || typeof value !== 'object'

const hasType = ({ type }: JsonObject, name: string): boolean => type === name || (Array.isArray(type) && type.includes(name))

const isObjectSchema = (schema: JsonObject): boolean =>
  hasType(schema, 'object') || (schema.type === undefined && isObject(schema.properties))

function mapped(value: Json | undefined, fit: (schema: JsonObject) => JsonObject): Json | undefined {
  if (Array.isArray(value)) return value.map((each) => (isObject(each) ? fit(each) : each))
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, isObject(each) ? fit(each) : (each ?? null)]))
    : value
}

/** True for a keyword with a value that is sent as it is. */
function isTaken(schema: JsonObject, key: string, value: Json): boolean {
  switch (key) {
    case 'enum':
      return Array.isArray(value) && value.every(isPlain)
    case 'const':
      return isPlain(value)
    case 'format':
      return !hasType(schema, 'string') || FORMATS.has(value)
    case 'minItems':
      return value === 0 || value === 1
    default:
      return KEPT.has(key)
  }
}

/** A schema that holds no other, as most are, and is sent as it is. */
function isSimple(schema: JsonObject): boolean {
  for (const keyword in schema) if (!KEPT.has(keyword)) return false
  return schema.type !== undefined && !hasType(schema, 'object')
}

/** State of fitting the schemas within one. */
interface Fitting {
  /** Is called with each keyword that stands in a description from now on. */
  readonly lose: (keyword: string) => void
  /** True where no schema within has a reference: each is looked through once, however deep it lies. */
  readonly hasNoRef: boolean
}

const hasNoRef = (schema: Json): boolean => !JSON.stringify(schema).includes('"$ref"')

/**
 * `oneOf` goes as `anyOf`, which is the nearest that Claude takes; beside another `anyOf` in an `allOf`, which takes no `$ref`
 * (platform.claude.com, Structured outputs, "JSON Schema limitations"): there it stands in the description.
 */
function writeChoice(oneOf: Json, written: { fitted: JsonObject; lost: JsonObject }, { lose, hasNoRef: known }: Fitting): void {
  const { fitted, lost } = written
  if (fitted.anyOf === undefined) fitted.anyOf = mapped(oneOf, (inner) => fit(inner, { lose, hasNoRef: known }))
  else if (known || hasNoRef(oneOf))
    fitted.allOf = [
      ...(Array.isArray(fitted.allOf) ? fitted.allOf : []),
      { anyOf: mapped(oneOf, (inner) => fit(inner, { lose, hasNoRef: true })) },
    ]
  else lost.oneOf = oneOf
  // Any one of the alternatives, where exactly one was wanted.
  lose('oneOf')
}

function fit(schema: JsonObject, fitting: Fitting): JsonObject {
  if (isSimple(schema)) return schema
  const inside = (inner: JsonObject): JsonObject => fit(inner, fitting)
  const fitted: JsonObject = {}
  const lost: JsonObject = {}
  for (const [key, value] of Object.entries(schema)) {
    if (value === undefined || key === 'oneOf' || NOTES.has(key)) continue
    if (key === 'properties' || key === '$defs' || key === 'definitions' || key === 'anyOf' || key === 'allOf')
      fitted[key] = mapped(value, inside)
    else if (key === 'items' && isObject(value)) fitted.items = inside(value)
    else if (isTaken(schema, key, value)) fitted[key] = value
    else if (key !== 'additionalProperties') lost[key] = value
    else {
      fitted[key] = false
      if (value !== false) fitting.lose(key)
    }
  }
  for (const keyword in lost) fitting.lose(keyword)
  if (schema.oneOf !== undefined) writeChoice(schema.oneOf, { fitted, lost }, fitting)
  if (isObjectSchema(schema)) {
    fitted.type ??= 'object'
    fitted.additionalProperties = false
  }
  if (Object.keys(lost).length > 0) {
    const rules = `Must be valid against ${JSON.stringify(lost)}.`
    fitted.description = typeof schema.description === 'string' ? `${schema.description}\n\n${rules}` : rules
  }
  return fitted
}

/**
 * @param lose is called with each keyword that stands in a description from now on.
 * @returns the schema as it is to be sent; the caller's own is not touched.
 */
export function fitSchema(schema: JsonObject, lose: (keyword: string) => void): JsonObject {
  return fit(schema, { lose, hasNoRef: false })
}

/** True for a schema that Claude takes as it is. */
export function fitsSchema(schema: JsonObject): boolean {
  return JSON.stringify(fitSchema(schema, () => {})) === JSON.stringify(schema)
}
