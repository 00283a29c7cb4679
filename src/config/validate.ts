/**
 * Checks data against a typebox schema and reports every problem at its place in the source.
 * Written by hand over the few keywords that our schemas use, because an error must name the key, say what was expected,
 * suggest the nearest name, and never quote a secret.
 */
import { isIP } from 'node:net'
import type { TSchema } from 'typebox'
import { isObject, type Json, type JsonObject } from '../core/json.ts'
import { nanoFromUsd, rateFromUsd, rateFromUsdPerMillion } from '../core/money-text.ts'
import { patternProblem } from '../machines/linear-regex/pattern.ts'
import { SECRET_SCHEMES } from './expand.ts'
import type { Extras, ScalarKind } from './fields/scalars.ts'
import { foreignHint } from './foreign-names.ts'
import type { Path } from './problems.ts'
import type { Source } from './source.ts'
import { hint } from './suggest.ts'
import { bytes, milliseconds } from './units.ts'

/** The keywords of our schemas. */
export interface Rule extends Extras {
  type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean' | undefined
  properties?: Record<string, Rule> | undefined
  required?: string[] | undefined
  patternProperties?: Record<string, Rule> | undefined
  keyExpected?: string | undefined
  items?: Rule | undefined
  minItems?: number | undefined
  anyOf?: Rule[] | undefined
  enum?: string[] | undefined
  const?: string | undefined
  pattern?: string | undefined
  minLength?: number | undefined
  maxLength?: number | undefined
  minimum?: number | undefined
  maximum?: number | undefined
}

const LATER = 'not available in this version'
/** A secret that begins like this would be sent to a provider as it stands. */
const SECRET = new RegExp(`^(?:env|${SECRET_SCHEMES.join('|')}):`)

/**
 * @returns the data with numbers and booleans that variables gave as text put right; problems are in the source. A value that
 * cannot be used is left out, or blank where there must be one, so that the rules find the shape of the schema everywhere.
 */
export function validate(schema: TSchema, source: Source): Json {
  return new Validation(source).value(schema as Rule, source.data, [])
}

class Validation {
  private readonly source: Source
  constructor(source: Source) {
    this.source = source
  }

  value(rule: Rule, value: Json, path: Path): Json {
    if (this.source.isUnset(path)) return value
    if (rule.anyOf) return this.alternatives(rule, rule.anyOf, value, path)
    if (rule.enum || rule.const !== undefined) return this.choice(rule, value, path)
    // As in JSON Schema: what says nothing of a type takes anything.
    if (rule.type === undefined) return value
    if (rule.type === 'object') return isObject(value) ? this.object(rule, value, path) : this.wrong(value, path, 'a mapping')
    if (rule.type === 'array') return Array.isArray(value) ? this.array(rule, value, path) : this.wrong(value, path, 'a list')
    if (rule.type === 'string') return this.string(rule, value, path)
    return this.plain(rule, value, path)
  }

  private object(rule: Rule, value: JsonObject, path: Path): JsonObject {
    // Only names that the schema knows are copied, and none of its patterns takes `__proto__`.
    const object: JsonObject = {}
    const [pattern, values] = Object.entries(rule.patternProperties ?? {})[0] ?? []
    const form = pattern === undefined ? undefined : new RegExp(pattern)
    for (const [key, member] of Object.entries(value)) {
      const at = [...path, key]
      const inner = rule.properties && Object.hasOwn(rule.properties, key) ? rule.properties[key] : form?.test(key) ? values : undefined
      if (inner) {
        const checked = this.value(inner, member ?? null, at)
        if (!this.source.isWrong(at)) object[key] = checked
        else if (inner === values || rule.required?.includes(key)) object[key] = blank(inner)
      } else if (rule.unavailable?.includes(key)) this.source.reportUnknown(at, LATER)
      else if (form) this.source.reportUnknown(at, `expected ${rule.keyExpected ?? 'another form of the key'}`)
      else this.source.reportUnknown(at, `unknown key${unknownHint(key, Object.keys(rule.properties ?? {}))}`)
    }
    for (const key of rule.required ?? []) {
      if (Object.hasOwn(value, key)) continue
      this.source.reportMissing(path, key, `"${key}" is missing, expected ${expectation(rule.properties?.[key])}`)
      object[key] = blank(rule.properties?.[key])
    }
    return object
  }

  private array(rule: Rule, value: readonly Json[], path: Path): Json[] {
    if (value.length < (rule.minItems ?? 0)) this.source.report(path, `expected at least ${rule.minItems} entry`)
    const { items } = rule
    if (!items) return [...value]
    return value.map((item, index) => {
      const at = [...path, index]
      const checked = this.value(items, item, at)
      return this.source.isWrong(at) ? blank(items) : checked
    })
  }

  private choice(rule: Rule, value: Json, path: Path): Json {
    const values = rule.enum ?? [rule.const ?? '']
    if (typeof value === 'string' && values.includes(value)) return value
    if (typeof value === 'string' && rule.unavailable?.includes(value)) this.source.report(path, `"${value}" is ${LATER}`)
    else if (typeof value === 'string' && !this.hidden(rule, path))
      this.source.report(path, `unknown value "${clip(value)}"${hint(value, values)}`)
    else this.source.report(path, `expected one of: ${values.join(', ')}`)
    return value
  }

  private alternatives(rule: Rule, branches: readonly Rule[], value: Json, path: Path): Json {
    const branch = branches.find((each) => (each.type === 'object') === isObject(value))
    const words = branch?.enum ?? (branch?.const === undefined ? undefined : [branch.const])
    const fits = branch && (branch.type === 'object' || (words ? words.includes(value as string) : typeof value === branch.type))
    if (branch && fits) return this.value(branch, value, path)
    if (typeof value === 'string' && !this.hidden(rule, path)) {
      this.source.report(path, `"${clip(value)}" does not fit, expected ${rule.expected ?? 'another value'}`)
      return value
    }
    return this.wrong(value, path, rule.expected ?? 'another kind of value')
  }

  private string(rule: Rule, value: Json, path: Path): Json {
    if (typeof value !== 'string') return this.wrong(value, path, rule.expected ?? 'text')
    const later = rule.unavailable?.find((prefix) => value.startsWith(prefix))
    const short = value.length < (rule.minLength ?? 0)
    const long = value.length > (rule.maxLength ?? Number.POSITIVE_INFINITY)
    if (rule.secret && SECRET.test(value) && !this.source.isExpanded(path))
      this.source.report(path, 'found the place of a secret as plain text, expected it in braces with a $ before them')
    else if (later !== undefined) this.source.report(path, `"${later}" is ${LATER}`)
    else if (short) this.source.report(path, 'expected text that is not empty')
    else if (long) this.source.report(path, `${value.length} characters, expected at most ${rule.maxLength}`)
    else if (rule.pattern !== undefined && !new RegExp(rule.pattern).test(value)) {
      const found = this.hidden(rule, path) ? '' : `"${clip(value)}" does not fit, `
      this.source.report(path, `${found}expected ${rule.expected ?? `text that matches ${rule.pattern}`}`)
    } else if (rule.scalar) {
      const expected = checkScalar(rule.scalar, value)
      if (expected !== undefined) this.source.report(path, expected)
    }
    return value
  }

  private plain(rule: Rule, given: Json, path: Path): Json {
    const value = this.source.isExpanded(path) && typeof given === 'string' ? fromText(given) : given
    if (rule.type === 'boolean') return typeof value === 'boolean' ? value : this.wrong(value, path, 'true or false')
    const whole = rule.type === 'integer'
    const low = rule.minimum ?? Number.NEGATIVE_INFINITY
    const high = rule.maximum ?? Number.POSITIVE_INFINITY
    if (typeof value === 'number' && Number.isFinite(value) && (!whole || Number.isInteger(value)) && value >= low && value <= high)
      return value
    const range = Number.isFinite(high) ? ` from ${low} to ${high}` : Number.isFinite(low) ? ` of at least ${low}` : ''
    return this.wrong(value, path, `${whole ? 'a whole number' : 'a number'}${range}`)
  }

  private wrong(value: Json, path: Path, expected: string): Json {
    const found = typeof value === 'number' && !this.source.isExpanded(path) ? String(value) : kind(value)
    this.source.report(path, `found ${found}, expected ${expected}`)
    return value
  }

  private hidden(rule: Rule, path: Path): boolean {
    return rule.secret === true || this.source.isExpanded(path)
  }
}

/** A name of another gateway is no mistyped one of ours. */
function unknownHint(key: string, names: readonly string[]): string {
  return foreignHint(key) || hint(key, names)
}

/** Stands for a value that cannot be used. */
function blank(rule: Rule | undefined): Json {
  if (rule?.type === 'array') return []
  if (rule?.type === 'integer' || rule?.type === 'number') return 0
  if (rule?.type === 'boolean') return false
  if (rule?.type !== 'object') return ''
  return Object.fromEntries((rule.required ?? []).map((key) => [key, blank(rule.properties?.[key])]))
}

function kind(value: Json): string {
  if (value === null) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a mapping'
  return typeof value === 'string' ? 'text' : typeof value === 'number' ? 'a number' : 'true or false'
}

function expectation(rule: Rule | undefined): string {
  if (rule?.expected !== undefined) return rule.expected
  if (rule?.enum) return `one of: ${rule.enum.join(', ')}`
  return rule?.type === 'object' ? 'a mapping' : rule?.type === 'array' ? 'a list' : 'a value'
}

/** `port: "${PORT}"` gives text; YAML's own plain forms of numbers and booleans count. */
function fromText(text: string): Json {
  if (text === 'true' || text === 'false') return text === 'true'
  return /^-?[0-9]{1,15}(\.[0-9]{1,15})?$/.test(text) ? Number(text) : text
}

function clip(text: string): string {
  const short = text.length > 80 ? `${text.slice(0, 80)}…` : text
  // A control character must not reach a terminal.
  return JSON.stringify(short).slice(1, -1)
}

const MAX_DURATION_MS = 24 * 3_600_000
/** Ten years. */
const MAX_SPAN_MS = 3660 * 24 * 3_600_000
const MAX_SIZE = 1024 ** 3
/** Largest price of a unit, in attodollars: more nano-dollars than that cannot be counted exactly. */
const MAX_RATE = 9_000_000n * 10n ** 18n

const MIN_MEMORY = 1024 ** 2
const MAX_MEMORY = 1024 ** 4

const CHECKS: Readonly<Record<ScalarKind, (text: string) => string | undefined>> = {
  duration: (text) => (milliseconds(text) <= MAX_DURATION_MS ? undefined : 'expected at most 24h'),
  span: (text) => (milliseconds(text) <= MAX_SPAN_MS ? undefined : 'expected at most 3660d'),
  size: (text) => (bytes(text) > 0 && bytes(text) <= MAX_SIZE ? undefined : 'expected between 1B and 1GB'),
  memory: (text) => (bytes(text) >= MIN_MEMORY && bytes(text) <= MAX_MEMORY ? undefined : 'expected between 1MB and 1024GB'),
  url: checkUrl,
  regex: checkRegex,
  usd: (text) => (nanoFromUsd(text) === undefined ? 'expected at most 9 decimals and at most 9000000 USD' : undefined),
  'usd-per-million': (text) => (rateFromUsdPerMillion(text) === undefined ? 'expected at most 12 decimals' : undefined),
  'usd-per-unit': (text) =>
    (rateFromUsd(text) ?? MAX_RATE + 1n) > MAX_RATE ? 'expected at most 18 decimals and at most 9000000 USD' : undefined,
  callback: (text) => checkUrl(text) ?? (/^https:/i.test(text) ? undefined : 'expected an https address'),
  network: (text) => (isNetwork(text) ? undefined : 'expected an IP address, or a network such as 10.0.0.0/8'),
  timestamp: (text) => (isTime(text) ? undefined : 'expected a time such as 2027-01-31T00:00:00Z or a day such as 2027-01-31'),
}

/** @returns what was expected, if the text is not of its kind; never quotes the text, but for patterns. */
export function checkScalar(kind: ScalarKind, text: string): string | undefined {
  return CHECKS[kind](text)
}

function checkUrl(text: string): string | undefined {
  const url = URL.parse(text)
  if (!url || !/^https?:\/\//i.test(text)) return 'expected an http or https URL'
  if (url.username !== '' || url.password !== '') return 'expected a URL without credentials'
  if (url.search !== '' || url.hash !== '' || /[?#]$/.test(text)) return 'expected a URL without query or fragment'
  return undefined
}

/** Compiles the pattern as its guardrail does, so that a file that loads can be served; what is compiled here is kept for the guardrail. */
function checkRegex(text: string): string | undefined {
  const why = patternProblem(text)
  if (why === undefined) return undefined
  const shown = text.length > 200 ? `${text.slice(0, 200)}…` : text
  return `the pattern ${JSON.stringify(shown)} is refused: ${why}`
}

function isNetwork(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/')
  const version = isIP(address)
  if (version === 0 || address.includes('%') || rest.length > 0) return false
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128))
}

function isTime(text: string): boolean {
  const form = /^(\d{4})-(\d{2})-(\d{2})(T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2}))?$/.exec(text)
  if (!form || Number.isNaN(Date.parse(text))) return false
  // Date.parse takes 31 February for 3 March.
  const [year, month, day] = [Number(form[1]), Number(form[2]), Number(form[3])]
  return new Date(Date.UTC(year, month - 1, day)).getUTCDate() === day && month <= 12
}
