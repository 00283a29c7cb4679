/**
 * The schema of the answer in the subset of JSON Schema that `responseJsonSchema` enforces (types of @google/genai 3.3.0,
 * `GenerateContentConfig.responseJsonSchema`). Models read over other keywords (github.com/vercel/ai/pull/18325).
 */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'

/** Keywords that hold schemas by names of the caller's, in a list, or one. */
const NAMED: ReadonlySet<string> = new Set(['$defs', 'properties'])
const LISTED: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'prefixItems'])
const SINGLE: ReadonlySet<string> = new Set(['items', 'additionalProperties'])

const ENFORCED: ReadonlySet<string> = new Set([
  ...[...NAMED, ...LISTED, ...SINGLE],
  ...['$id', '$ref', '$anchor', 'type', 'format', 'title', 'description', 'enum', 'minItems', 'maxItems', 'minimum', 'maximum'],
  ...['required', 'propertyOrdering'],
])

const SIMPLE: ReadonlySet<string> = new Set([
  'type',
  'format',
  'title',
  'description',
  'enum',
  'minItems',
  'maxItems',
  'minimum',
  'maximum',
])

/** Keywords that restrict nothing. */
const NOTES: ReadonlySet<string> = new Set(['$schema', '$comment', 'default', 'example', 'examples', 'deprecated', 'readOnly', 'writeOnly'])

function fitted(keyword: string, value: Json, lost: (keyword: string) => void): Json {
  if (NAMED.has(keyword) && isObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, subSchema(each ?? null, lost)]))
  if (LISTED.has(keyword) && Array.isArray(value)) return value.map((each) => subSchema(each, lost))
  return SINGLE.has(keyword) ? subSchema(value, lost) : value
}

/** A schema that holds no other, as most are, and is sent as it is. */
function isSimple(schema: JsonObject): boolean {
  for (const keyword in schema) if (!SIMPLE.has(keyword)) return false
  return true
}

/** In a sub-schema nothing but names with `$` may stand beside a `$ref`; the rest stands around it. */
function subSchema(schema: Json, lost: (keyword: string) => void): Json {
  if (!isObject(schema) || isSimple(schema)) return schema
  const fit = fitSchema(schema, lost)
  const { $ref, ...rest } = fit
  if ($ref === undefined || rest.anyOf !== undefined || Object.keys(rest).every((name) => name.startsWith('$'))) return fit
  return { ...rest, anyOf: [{ $ref }] }
}

/**
 * @param lost receives each keyword that the model does not keep to; it is sent all the same.
 * @returns a schema of the same meaning; the caller's own is not touched.
 */
export function fitSchema(schema: JsonObject, lost: (keyword: string) => void): JsonObject {
  const fit: JsonObject = {}
  for (const [keyword, value = null] of Object.entries(schema)) {
    if (keyword === 'const' && schema.enum === undefined && (typeof value === 'string' || typeof value === 'number')) fit.enum = [value]
    else {
      if (!ENFORCED.has(keyword) && !NOTES.has(keyword)) lost(keyword)
      fit[keyword] = fitted(keyword, value, lost)
    }
  }
  return fit
}
