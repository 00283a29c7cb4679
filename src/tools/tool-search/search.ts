/** Deferred functions, looked for by a pattern over their names, descriptions and arguments. */
import { RE2JS } from 're2js'
import { type FunctionSpec, type Item, isDeferred, isObject, type Json, loaded, type ToolSpec } from '../../plugin-api/index.ts'

/** Characters of a pattern; contract section 6. */
const LONGEST = 200
/** How deep the schema of a function's arguments is read. */
const DEEPEST = 8

interface Entry {
  readonly spec: FunctionSpec
  readonly texts: readonly string[]
}

export class DeferredTools {
  private readonly entries: readonly Entry[]

  /** Functions that the conversation has calls of: they have been found already. */
  readonly found: readonly FunctionSpec[]

  constructor(tools: readonly ToolSpec[], items: readonly Item[]) {
    // A function that stands among the items is part of an item: it cannot be kept back.
    this.entries = tools.filter(isDeferred).flatMap((spec) => (spec.inItems ? [] : [{ spec, texts: textsOf(spec) }]))
    const called = new Set(items.flatMap((item) => (item.kind === 'call' ? [item.name] : [])))
    this.found = this.entries.flatMap(({ spec }) => (called.has(spec.name) ? [loaded(spec)] : []))
  }

  withholds(spec: ToolSpec): boolean {
    return this.entries.some((entry) => entry.spec === spec)
  }

  /** @returns what is wrong with the pattern, or the functions that it finds, those first that have it in their name. */
  find(pattern: string): string | FunctionSpec[] {
    if (pattern.trim() === '') return 'the argument query is missing, expected a pattern'
    if (pattern.length > LONGEST) return `the pattern is longer than ${LONGEST} characters`
    let expression: RE2JS
    try {
      expression = RE2JS.compile(RE2JS.translateRegExp(pattern), RE2JS.CASE_INSENSITIVE)
    } catch {
      return 'the pattern cannot be read: expected a regular expression without look-around and back-references'
    }
    const found = this.entries.filter(({ texts }) => texts.some((text) => expression.test(text)))
    const named = (entry: Entry): number => (expression.test(entry.spec.name) ? 0 : 1)
    return found.sort((a, b) => named(a) - named(b)).map(({ spec }) => spec)
  }
}

function textsOf({ name, description, parameters }: FunctionSpec): string[] {
  const texts = description === undefined ? [name] : [name, description]
  if (isObject(parameters)) argumentTexts(parameters, texts, DEEPEST)
  return texts
}

/** Names and descriptions of arguments, and of what they hold. */
function argumentTexts(schema: Json, texts: string[], depth: number): void {
  if (!isObject(schema) || depth === 0) return
  if (typeof schema.description === 'string' && depth < DEEPEST) texts.push(schema.description)
  if (isObject(schema.properties)) {
    for (const [name, inner] of Object.entries(schema.properties)) {
      texts.push(name)
      if (inner !== undefined) argumentTexts(inner, texts, depth - 1)
    }
  }
  if (schema.items !== undefined) argumentTexts(schema.items, texts, depth - 1)
}
