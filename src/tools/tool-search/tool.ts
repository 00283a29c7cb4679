/** Keeps functions with `defer_loading` from the model until it has looked for them by a pattern. */
import type { RE2JS } from 're2js'
import {
  badField,
  type FunctionSpec,
  type Item,
  isDeferred,
  isObject,
  type Json,
  type JsonObject,
  linearRegex,
  loaded,
  type SessionTool,
  type ToolChoice,
  type ToolContext,
  type ToolOutcome,
  type ToolSession,
  type ToolSpec,
} from '../../plugin-api/index.ts'

const USUAL = 5
const MOST = 50

export const toolSearch: SessionTool = {
  name: 'tool_search',
  description:
    'Finds further functions by a pattern and makes them callable from the next turn on. Use it where none of the functions at hand does what is needed.',
  parameters: {
    type: 'object',
    properties: {
      query: {
        type: 'string',
        description: 'A regular expression of up to 200 characters, matched in any letter case against names, descriptions and arguments.',
      },
    },
    required: ['query'],
    additionalProperties: false,
  },
  plugin: 'tool-search',

  begin(parameters: JsonObject, at: string, _settings: JsonObject, context: ToolContext): ToolSession {
    if (context.client === 'chat') throw badField(`${at}.type`, 'is not available on chat completions')
    if (parameters.defer_loading === true) throw badField(`${at}.parameters.defer_loading`, 'the search cannot be deferred itself')
    const most = parameters.max_results ?? USUAL
    if (typeof most !== 'number' || !Number.isInteger(most) || most < 1 || most > MOST)
      throw badField(`${at}.parameters.max_results`, `expected a whole number from 1 to ${MOST}`)
    const request = context.request()
    checkChoice(request.toolChoice)
    const deferred = new DeferredTools(context.tools, request.items)
    return {
      bound: 0,
      offers: deferred.found,
      withholds: (spec) => deferred.withholds(spec),
      run: ({ query }) => search(deferred, typeof query === 'string' ? query : '', most),
    }
  },
}

/** Refuses a `tool_choice` that forces a call: the model may not see the function. */
function checkChoice(choice: ToolChoice | undefined): void {
  const free = choice === undefined || choice.mode === 'auto' || (choice.mode === 'opaque' && choice.of.type === 'allowed_tools')
  if (!free) throw badField('tool_choice', 'expected auto or allowed_tools beside tool_search')
}

async function search(deferred: DeferredTools, query: string, most: number): Promise<ToolOutcome> {
  const found = await deferred.find(query)
  if (typeof found === 'string') {
    return { output: JSON.stringify({ error: found }), item: { status: 'incomplete', query }, status: 'failed' }
  }
  const shown = found.slice(0, most)
  const tools = shown.map(({ name, description = '' }) => ({ name, description }))
  return {
    output: JSON.stringify({ tools, total_results: found.length, showing: shown.length }),
    item: { query },
    status: 'completed',
    offers: shown.map(loaded),
  }
}

/** Characters of a pattern (docs/contract.md#server-tools). */
const LONGEST = 200
/** Steps of a compiled pattern: with many more, every character of a text may take thousands of them. */
const MAX_STEPS = 500
/** Depth to which the schema of a function's arguments is read, and characters that are read of a function. */
const DEEPEST = 8
const MAX_READ = 16_384
/** Characters after which others get their turn. */
const TURN = 16_384

interface Entry {
  readonly spec: FunctionSpec
  /** Parts of it that are read, beside its name. */
  readonly texts: readonly string[]
}

/** Deferred functions, looked for by a pattern over their names, descriptions and arguments. */
class DeferredTools {
  private readonly entries: readonly Entry[]
  private readonly held: ReadonlySet<ToolSpec>

  /** Functions that the conversation has calls of: they have been found already. */
  readonly found: readonly FunctionSpec[]

  constructor(tools: readonly ToolSpec[], items: readonly Item[]) {
    // A function that stands among the items is part of an item: it cannot be kept back.
    this.entries = tools.filter(isDeferred).flatMap((spec) => (spec.inItems ? [] : [{ spec, texts: functionTexts(spec) }]))
    this.held = new Set(this.entries.map(({ spec }) => spec))
    const called = new Set(items.flatMap((item) => (item.kind === 'call' ? [item.name] : [])))
    this.found = this.entries.flatMap(({ spec }) => (called.has(spec.name) ? [loaded(spec)] : []))
  }

  withholds(spec: ToolSpec): boolean {
    return this.held.has(spec)
  }

  /** @returns what is wrong with the pattern, or the functions that it finds, those first that have it in their name. */
  async find(pattern: string): Promise<string | FunctionSpec[]> {
    if (pattern.trim() === '') return 'the argument query is missing, expected a pattern'
    if (pattern.length > LONGEST) return `the pattern is longer than ${LONGEST} characters`
    let expression: RE2JS
    try {
      const regex = linearRegex()
      expression = regex.compile(regex.translateRegExp(pattern), regex.CASE_INSENSITIVE)
    } catch {
      return 'the pattern cannot be read: expected a regular expression without look-around and back-references'
    }
    if (expression.programSize() > MAX_STEPS) return 'the pattern repeats too much, expected a simpler one'
    const [named, others]: [FunctionSpec[], FunctionSpec[]] = [[], []]
    let read = 0
    for (const { spec, texts } of this.entries) {
      if (expression.test(spec.name)) named.push(spec)
      else if (texts.some((text) => expression.test(text))) others.push(spec)
      read += texts.reduce((sum, text) => sum + text.length, spec.name.length)
      if (read < TURN) continue
      read = 0
      await new Promise((resolve) => setImmediate(resolve))
    }
    return [...named, ...others]
  }
}

function functionTexts({ description, parameters }: FunctionSpec): string[] {
  const texts = new Texts()
  if (description !== undefined) texts.add(description)
  if (isObject(parameters)) argumentTexts(parameters, texts, DEEPEST)
  return texts.list
}

/** So many characters of them. */
class Texts {
  readonly list: string[] = []
  private left = MAX_READ

  get full(): boolean {
    return this.left <= 0
  }

  add(text: string): void {
    if (this.full) return
    this.list.push(text.slice(0, this.left))
    this.left -= text.length
  }
}

/** Names and descriptions of arguments, and of what they hold. */
function argumentTexts(schema: Json, texts: Texts, depth: number): void {
  if (!isObject(schema) || depth === 0 || texts.full) return
  if (typeof schema.description === 'string' && depth < DEEPEST) texts.add(schema.description)
  if (isObject(schema.properties)) {
    for (const [name, inner] of Object.entries(schema.properties)) {
      texts.add(name)
      if (inner !== undefined) argumentTexts(inner, texts, depth - 1)
    }
  }
  if (schema.items !== undefined) argumentTexts(schema.items, texts, depth - 1)
}
