/**
 * Schemas in MFJS, the subset of JSON Schema that Moonshot AI takes for tools and answers (github.com/MoonshotAI/walle at 196bb0c, v0.1.13:
 * docs/mfjs-spec.md, docs/walle.md, and its validator at the level `strict`, "the most permissive level required by Moonshot AI server").
 * A schema outside it is refused with 400; keywords that the subset does not name pass, and the model may read them.
 */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { Budget, comparedWord, isNote, jsonLength, mergeSchemas, TooDear, UNSAID } from './moonshot-schema-merge.ts'
import { isType, typed } from './moonshot-schema-types.ts'

/** Names that no property may have. */
const RESERVED: ReadonlySet<string> = new Set(['$defs', '$ref', 'anyOf', 'required', 'additionalProperties'])

/** Keywords of the subset, to which the provider keeps. */
const KEPT: ReadonlySet<string> = new Set([
  ...['type', 'properties', 'required', 'additionalProperties', 'items', 'anyOf', 'enum', '$ref', '$defs', '$id', 'title', 'description'],
  ...['default', 'minLength', 'maxLength', 'minimum', 'maximum', 'minItems', 'maxItems'],
])

/** Keywords that are sent as they are beside one type. */
const SIMPLE: ReadonlySet<string> = new Set([
  ...['type', 'title', 'description', 'minLength', 'maxLength', 'minimum', 'maximum', 'minItems', 'maxItems'],
])

/** A schema of one type that holds no other, as most are. */
function isSimple(schema: JsonObject): boolean {
  for (const keyword in schema) if (!SIMPLE.has(keyword)) return false
  return isType(schema.type)
}

/** Characters of the largest schema that the provider takes. */
const LONGEST = 120_000

/** Greatest cost of a schema for each of its characters: alternatives multiply what stands beside them. */
const COST = 2

/** Greatest cost of all schemas of one request beyond that: small ones multiply more. One gets half of what is left. */
const SPARE = 100_000

/** Schemas below each other: as many as the provider takes. */
const DEEPEST = 30

/** The one part of an `allOf` with nothing but notes beside it, which is how several generators write a reference with a description. */
function onlyPart({ allOf, ...beside }: JsonObject): JsonObject | undefined {
  const [part, ...more] = Array.isArray(allOf) ? allOf : []
  if (!isObject(part) || more.length > 0 || !Object.keys(beside).every((name) => isNote(name) || UNSAID.has(name))) return undefined
  return { ...part, ...beside }
}

const any = (): JsonObject => ({ type: ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'] })

class Fitter {
  private readonly root: JsonObject
  readonly budget: Budget
  readonly lose: (keyword: string) => void
  private readonly defs: JsonObject = {}
  private readonly names = new Map<string, string>()
  /** References whose targets are being written in their place. */
  private readonly inlined = new Set<string>()
  private depth = 0
  /** Definitions that are being written. */
  private defining = 0

  constructor(root: JsonObject, budget: Budget, lose: (keyword: string) => void) {
    this.root = root
    this.budget = budget
    this.lose = lose
  }

  /** @param mustBeObject true for the parameters of a tool, whose root is a plain object. */
  fit(mustBeObject: boolean): JsonObject {
    const fitted = mustBeObject ? this.objectRoot() : this.node(this.root)
    if (typeof this.root.$id === 'string') fitted.$id = this.root.$id
    return Object.keys(this.defs).length > 0 ? { ...fitted, $defs: this.defs } : fitted
  }

  private objectRoot(): JsonObject {
    const whole = this.part(this.root)
    const { anyOf, ...rest } = whole
    const branches = Array.isArray(anyOf) ? anyOf.filter(isObject) : []
    if (branches.length === 0) return this.node({ type: 'object', ...rest })
    // The root of a tool has no alternatives ("parameters.type is required and must be 'object'", github.com/Hmbown/Codewhale/pull/4613).
    this.lose('anyOf')
    const all = branches.map((branch) => this.part(this.joined(rest, this.part(branch))))
    return this.node({ ...rest, ...this.widest(all), type: 'object' })
  }

  /** Common part of all alternatives: every property of any of them, and those required that all require. */
  private widest(all: readonly JsonObject[]): JsonObject {
    const variants = new Map<string, Map<Json, Json>>()
    for (const { properties } of all)
      for (const [name, schema = null] of Object.entries(isObject(properties) ? properties : {})) {
        const known = variants.get(name) ?? new Map<Json, Json>()
        known.set(comparedWord(schema, this.budget), schema)
        variants.set(name, known)
      }
    const properties: JsonObject = {}
    for (const [name, known] of variants) {
      const [only = null, ...more] = known.values()
      properties[name] = more.length === 0 ? only : { anyOf: [only, ...more] }
    }
    const required = all.map((each) => new Set(Array.isArray(each.required) ? each.required : []))
    const [first, ...others] = required
    const common = [...(first ?? [])].filter((name) => others.every((names) => names.has(name)))
    const closed = all.every(({ additionalProperties }) => additionalProperties === false)
    return { properties, required: common, ...(closed ? { additionalProperties: false } : { additionalProperties: true }) }
  }

  private node(schema: Json | undefined): JsonObject {
    if (!isObject(schema)) {
      this.budget.read({})
      if (schema !== true) this.lose('false')
      return any()
    }
    if (this.depth > DEEPEST) {
      this.lose('$ref')
      return any()
    }
    this.budget.read(schema)
    if (isSimple(schema)) return schema
    this.depth++
    const fitted = this.written(schema)
    this.depth--
    return fitted
  }

  private written(schema: JsonObject): JsonObject {
    if (typeof schema.$ref === 'string') return this.reference(schema, schema.$ref)
    const only = onlyPart(schema)
    if (only) {
      this.budget.read(only)
      return this.written(only)
    }
    const whole = this.simple(schema)
    if (Array.isArray(whole.anyOf)) return this.alternatives(whole, whole.anyOf)
    return this.typedNode(whole)
  }

  private joined(first: JsonObject, second: JsonObject): JsonObject {
    return mergeSchemas(first, second, this)
  }

  /** Without `allOf`, `oneOf` and `const`, which the subset does not have. */
  private simple(schema: JsonObject): JsonObject {
    const { allOf, oneOf, $defs: _defs, definitions: _definitions, ...rest } = schema
    let whole: JsonObject = {}
    for (const [keyword, value] of Object.entries(rest)) {
      if (UNSAID.has(keyword)) continue
      if (!KEPT.has(keyword) && keyword !== 'const') this.lose(keyword)
      whole[keyword] = value
    }
    for (const each of Array.isArray(allOf) ? allOf : []) if (isObject(each)) whole = this.joined(whole, this.part(each))
    if (Array.isArray(oneOf)) {
      this.lose('oneOf')
      whole.anyOf ??= oneOf
    }
    const { const: only, ...others } = whole
    return only === undefined ? whole : { ...others, enum: [only] }
  }

  /** Beside `anyOf` stand notes alone: all else moves into each alternative. */
  private alternatives(whole: JsonObject, branches: readonly Json[]): JsonObject {
    const outer: JsonObject = {}
    const rest: JsonObject = {}
    for (const [keyword, value] of Object.entries(whole)) {
      // A default restricts nothing, and may not stand beside alternatives.
      if (keyword === 'anyOf' || keyword === 'default') continue
      if (isNote(keyword)) outer[keyword] = value
      else rest[keyword] = value
    }
    const moved = Object.keys(rest).length > 0
    const anyOf: JsonObject[] = []
    for (const branch of branches) {
      if (moved) this.budget.read(rest)
      if (!moved || !isObject(branch)) anyOf.push(this.node(moved ? rest : branch))
      else if (typeof branch.$ref === 'string') anyOf.push(this.reference({ ...rest, ...branch }, branch.$ref))
      else anyOf.push(this.node(this.joined(rest, branch)))
    }
    return anyOf.length > 0 ? { ...outer, anyOf } : this.node({ ...outer, ...rest })
  }

  /** A node with a type of its own and no alternatives. */
  private typedNode(whole: JsonObject): JsonObject {
    const { properties, required, additionalProperties: others, items, ...rest } = whole
    const fitted = rest
    if (isObject(properties) || Array.isArray(required)) this.members(fitted, { properties, required, others })
    if (typeof others === 'boolean') fitted.additionalProperties = others
    else if (isObject(others)) fitted.additionalProperties = Object.keys(others).length === 0 ? {} : this.node(others)
    if (Array.isArray(items)) {
      // Lists of items are refused; `prefixItems` passes, and says the same (github.com/vercel/ai/pull/18921).
      fitted.prefixItems ??= items
      this.lose('items')
    } else if (isObject(items) && Object.keys(items).length > 0) fitted.items = this.node(items)
    return typed(fitted, this.lose)
  }

  private members(
    fitted: JsonObject,
    { properties, required, others }: { properties: Json | undefined; required: Json | undefined; others: Json | undefined },
  ): void {
    const members: JsonObject = {}
    for (const [name, schema] of Object.entries(isObject(properties) ? properties : {})) {
      // In definitions no name may have a slash.
      if (RESERVED.has(name) || schema === false || (this.defining > 0 && name.includes('/'))) this.lose(`properties.${name}`)
      else members[name] = this.node(schema)
    }
    const names = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []
    const wanted = new Set(names.filter((name) => !RESERVED.has(name) && !(this.defining > 0 && name.includes('/'))))
    for (const name of wanted) {
      if (members[name] !== undefined) continue
      // A name that is required must be among the properties.
      if (others === false) {
        wanted.delete(name)
        this.lose('required')
      } else members[name] = isObject(others) && Object.keys(others).length > 0 ? this.node(others) : any()
    }
    fitted.properties = members
    if (wanted.size > 0) fitted.required = [...wanted]
  }

  /** A reference stands with notes alone. Where more stands beside it, the target is written in its place. */
  private reference(schema: JsonObject, pointer: string): JsonObject {
    const { $ref: _ref, ...beside } = schema
    const notes = Object.fromEntries(Object.entries(beside).filter(([name]) => name === 'description' || name === 'title'))
    const more = Object.entries(beside).filter(([name]) => !isNote(name) && !UNSAID.has(name))
    const target = this.target(pointer)
    if (target === undefined) {
      this.lose('$ref')
      return this.node({ ...Object.fromEntries(more), ...notes })
    }
    if (more.length > 0 && isObject(target) && !this.inlined.has(pointer)) {
      this.inlined.add(pointer)
      const fitted = this.node({ ...this.joined(target, Object.fromEntries(more)), ...notes })
      this.inlined.delete(pointer)
      return fitted
    }
    for (const [name] of more) this.lose(name)
    return { $ref: pointer === '#' ? '#' : `#/$defs/${this.definition(pointer, target)}`, ...notes }
  }

  /** A schema that must not be a reference, such as a part of `allOf`: the target of one is written in its place. */
  private part(schema: JsonObject): JsonObject {
    this.budget.read(schema)
    const { $ref: pointer, ...beside } = schema
    if (typeof pointer !== 'string') return this.simple(schema)
    const target = this.inlined.has(pointer) ? undefined : this.target(pointer)
    if (!isObject(target)) {
      this.lose('$ref')
      return this.simple(beside)
    }
    this.inlined.add(pointer)
    const whole = this.part(this.joined(target, beside))
    this.inlined.delete(pointer)
    return whole
  }

  private definition(pointer: string, target: Json): string {
    const known = this.names.get(pointer)
    if (known !== undefined) return known
    const own = /^#\/(?:\$defs|definitions)\/([\w.-]+)$/.exec(pointer)?.[1]
    const name = own !== undefined && this.defs[own] === undefined ? own : `schema_${this.names.size + 1}`
    this.names.set(pointer, name)
    // Taken before it is written: it may refer to itself.
    this.defs[name] = {}
    this.defining++
    this.defs[name] = this.node(target)
    this.defining--
    return name
  }

  /** Target of a reference within the schema. */
  private target(pointer: string): Json | undefined {
    if (!pointer.startsWith('#')) return undefined
    let at: Json | undefined = this.root
    for (const part of pointer.slice(1).split('/').slice(1)) {
      const name: string = part.replaceAll('~1', '/').replaceAll('~0', '~')
      at = Array.isArray(at) ? at[Number(name)] : isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined
    }
    return at
  }
}

/** Fits the schemas of one request, which share what they may cost. */
export class MfjsFitter {
  private spare = SPARE

  /**
   * @param mustBeObject true for the parameters of a tool.
   * @param lose is called with each keyword that the provider does not keep to from now on.
   * @returns a new schema; the same one where it is larger than the provider takes, or would cost too much: the provider then answers in
   * its own words.
   */
  fit(schema: JsonObject, mustBeObject: boolean, lose: (keyword: string) => void): JsonObject {
    const length = jsonLength(schema, LONGEST)
    if (length > LONGEST) return schema
    const own = COST * length
    const budget = new Budget(own + this.spare / 2)
    const lost = new Set<string>()
    try {
      const fitted = new Fitter(schema, budget, (keyword) => lost.add(keyword)).fit(mustBeObject)
      for (const keyword of lost) lose(keyword)
      return fitted
    } catch (error) {
      if (error instanceof TooDear) return schema
      throw error
    } finally {
      this.spare -= Math.max(0, Math.min(budget.spent, budget.most) - own)
    }
  }
}
