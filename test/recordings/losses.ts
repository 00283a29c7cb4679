/**
 * Outcome of a recorded request at a provider of another format: each leaf arrives, or makes a difference there, or its
 * place stands in `dropped` as docs/dialects.md says ("All losses", "Parameters by format").
 */

import type { Loss } from '../../scripts/losses/loss.ts'
import { requestLosses } from '../../scripts/losses/requests.ts'
import { isObject, type Json, type JsonObject } from '../../src/core/json.ts'
import { upstreamDialects } from '../../src/dialects/registry.ts'
import { changed } from '../support/matrix/markers.ts'
import { findParameter } from '../support/matrix/parameter-paths.ts'
import type { WireName } from '../support/wire.ts'
import type { Client } from './callers.ts'
import type { Difference } from './compare.ts'
import { list, object, parseArgs, text } from './expected.ts'
import { generationDropped, type Scene, send } from './requests.ts'

interface RequestLeaf {
  /** Elements of a list go by their type or role, as in the table of losses. */
  path: string
  at: (string | number)[]
  value: Json
}

/** Name of an element of a list in the table of losses. */
function elementName(element: Json, path: string): string {
  if (!isObject(element)) return ''
  if (path === 'input' && typeof element.namespace === 'string') return `${text(element.type)} in a namespace`
  if (path === 'tools' && element.type === undefined) return element.input_schema === undefined ? 'function' : ''
  if (typeof element.type === 'string') return element.type
  if (path === 'input' && typeof element.role === 'string') return 'message'
  return text(element.role)
}

/** Values that say what their absence says too, by the end of their path, and where only some formats agree by those. */
const DEFAULTS: readonly (readonly [RegExp, Json, WireName?])[] = [
  [/^n$/, 1],
  [/\.prefix$/, false],
  [/\.is_error$/, false],
  [/\.detail$/, 'auto'],
  // A document of text is text in formats that know no documents of text.
  [/\[document\]\.source\.media_type$/, 'text/plain'],
  [/\.strict$/, false, 'gemini'],
  // What this provider shows of its thoughts is a summary, and it is always requested.
  [/^reasoning\.summary$/, 'auto', 'gemini'],
  [/^thinking\.display$/, 'summarized', 'gemini'],
  // Callers of other formats who request thinking get a summary there in any case.
  [/^thinking\.display$/, 'summarized', 'openai-responses'],
  // Schemas of strict tools and of structured outputs have it in any case (@anthropic-ai/sdk 1.14.0, lib/transform-json-schema).
  [/\.additionalProperties$/, false, 'anthropic'],
  // A tool that something has named is offered as the provider would show it then.
  [/\.defer_loading$/, true],
  // The signature is part of each block in any case.
  [/^include\[\]$/, 'reasoning.encrypted_content', 'anthropic'],
  // The only value that there is (types of openai 7.1.0, `PromptCacheBreakpoint`): the mark itself says it.
  [/\.prompt_cache_breakpoint\.mode$/, 'explicit'],
]

/** Words that give a body its shape, and what stands for nothing. */
const shapeOnly = (key: string | number | undefined, value: Json): boolean =>
  value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0) || key === 'type' || key === 'role'

/** Beside the defaults, the place of an element in its list. */
const usual = ({ path, at, value }: RequestLeaf, wire: WireName): boolean =>
  (at.at(-1) === 'index' && value === at.at(-2)) ||
  DEFAULTS.some(([end, other, only]) => value === other && end.test(path) && (only === undefined || only === wire))

/** Of `allowed_tools`, other formats are sent the allowed ones alone (docs/dialects.md, "Provider tools"). */
function disallowed(body: JsonObject, { at }: RequestLeaf): boolean {
  if (at[0] !== 'tools' || !isObject(body.tool_choice) || body.tool_choice.type !== 'allowed_tools') return false
  const tool = object((body.tools as Json[])[at[1] as number])
  return !list(body.tool_choice.tools).some(({ name }) => name === tool.name)
}

/** A deferred tool is shown to other providers once something names it (docs/dialects.md, "Provider tools"). */
function withheld(body: JsonObject, { at }: RequestLeaf): boolean {
  if (at[0] !== 'tools') return false
  const { defer_loading: deferred, name } = object((body.tools as Json[])[at[1] as number])
  if (deferred !== true) return false
  const named = new RegExp(`"(tool_)?name":${JSON.stringify(name).replace(/[$]/g, '\\$')}`)
  return !named.test(JSON.stringify([body.messages, body.tool_choice ?? null]))
}

/** The leaves of a request; the arguments of a call are read, since formats differ in whether they are text. */
export function requestLeaves(body: JsonObject): RequestLeaf[] {
  const leaves: RequestLeaf[] = []
  const walk = (value: Json, path: string, at: (string | number)[]): void => {
    const key = at.at(-1)
    if (key === 'arguments' && typeof value === 'string' && isObject(parseArgs(value))) walk(parseArgs(value), path, at)
    else if (Array.isArray(value) && value.length > 0)
      for (const [index, each] of value.entries()) walk(each, `${path}[${elementName(each, path)}]`, [...at, index])
    else if (isObject(value) && Object.keys(value).length > 0)
      for (const [name, each] of Object.entries(value)) walk(each as Json, path === '' ? name : `${path}.${name}`, [...at, name])
    else if (!shapeOnly(key, value)) leaves.push({ path, at, value })
  }
  for (const [name, value] of Object.entries(body)) if (name !== 'model' && name !== 'stream') walk(value as Json, name, [name])
  return leaves
}

/** A text so short, or a number so small, stands in many bodies by chance. */
const SHORT_TEXT = 6
const SMALL = 10

/** Everything that a provider received, to be searched often. */
class Arrived {
  private readonly values = new Set<Json>()
  private readonly text: string

  constructor(value: Json) {
    const texts: string[] = []
    const walk = (each: Json): void => {
      if (typeof each !== 'object' || each === null) {
        this.values.add(each)
        if (typeof each === 'string') texts.push(each)
      } else
        for (const [key, inner] of Object.entries(each)) {
          if (!Array.isArray(each)) texts.push(key)
          walk(key === 'arguments' ? parseArgs(inner as Json) : (inner as Json))
        }
    }
    walk(value)
    this.text = texts.join('\n\0')
  }

  has({ value }: RequestLeaf): boolean {
    if (typeof value === 'string') {
      const needle = /^data:[^,]*;base64,(.+)$/s.exec(value)?.[1] ?? value
      return needle.length < SHORT_TEXT ? this.values.has(needle) : this.text.includes(needle)
    }
    return typeof value === 'number' && (Math.abs(value) >= SMALL || !Number.isInteger(value)) && this.values.has(value)
  }
}

/** Names under which the record lists what is called otherwise in the caller's format. */
const ALIASES: readonly (readonly [RegExp, string])[] = [
  [/reasoning_content$/, 'reasoning'],
  [/^thinking\.budget_tokens$/, 'reasoning.max_tokens'],
  [/prompt_cache_breakpoint/, 'cache_control'],
]

/** True where a name of the record stands for this leaf: a member on its path, a type of an element, or their usual name. */
function recorded(path: string, dropped: readonly string[]): boolean {
  const plain = path.replace(/\[[^\]]*\]/g, '')
  const types = [...path.matchAll(/\[([^\]]+)\]/g)].map(([, type]) => type)
  const inElement = path.replace(/^.*\[([^\]]+)\]\.([^[]*)$/, '$1.$2')
  return dropped.some(
    (name) =>
      plain === name ||
      inElement === name ||
      plain.includes(`.${name}.`) ||
      plain.startsWith(`${name}.`) ||
      types.includes(name) ||
      plain.endsWith(`.${name}`) ||
      ALIASES.some(([end, alias]) => alias === name && end.test(path)),
  )
}

/** True for the path itself and whatever stands below it. */
const covers = ({ path: lost }: Loss, path: string): boolean =>
  path === lost || (path.startsWith(lost) && /^[.[]/.test(path.slice(lost.length)))

export class LossCheck {
  private readonly scene: Scene
  /** By client, wire, path and value: whether a change of the leaf changes what arrives. */
  private readonly probes = new Map<string, Promise<boolean>>()
  /** Values of one path in all recordings of its format. */
  private readonly values: ReadonlyMap<string, readonly Json[]>

  constructor(scene: Scene, bodies: Iterable<{ client: Client; body: JsonObject }>) {
    this.scene = scene
    const values = new Map<string, Json[]>()
    for (const { client, body } of bodies)
      for (const { path, value } of requestLeaves(body)) {
        const name = `${client.id} ${path}`
        const seen = values.get(name) ?? []
        if (!seen.includes(value)) values.set(name, [...seen, value])
      }
    this.values = values
  }

  /** @param body the recorded request, for `model`, which a provider of `wire` serves. */
  async differences(client: Client, wire: WireName, body: JsonObject): Promise<Difference[]> {
    const { status, reply, arrived, path, id } = await send(this.scene, client, body)
    const leaves = requestLeaves(body)
    const entries = requestLosses.filter((loss) => loss.client === client.id && loss.upstream === wire && loss.lane === undefined)
    if (status !== 200 || !arrived) return this.refused(body, reply)
    const missing: RequestLeaf[] = []
    const seen = new Arrived({ path, arrived })
    for (const leaf of leaves)
      if (
        !seen.has(leaf) &&
        !usual(leaf, wire) &&
        !(disallowed(body, leaf) || withheld(body, leaf)) &&
        !(await this.matters(client, wire, body, leaf))
      )
        missing.push(leaf)
    if (missing.length === 0) return []
    const dropped = await generationDropped(this.scene, id)
    return missing.flatMap((leaf) => {
      const why = this.unexplained(leaf, { client, wire, entries, dropped })
      return why === undefined ? [] : [{ leaf: `${wire}: ${leaf.path}`, expected: leaf.value, got: why }]
    })
  }

  /** A refusal is documented where it names a tool or a stored file that only its own format has (docs/dialects.md, "Provider tools"). */
  private refused(body: JsonObject, reply: string): Difference[] {
    // A provider's compaction is never left out: without it the conversation would go on from nothing (docs/compaction.md).
    if (Array.isArray(body.input) && /\.encrypted_content: this compaction item was made at a provider/.test(reply)) return []
    if (/\.file_id: the \w+ is stored at a provider/.test(reply)) return []
    const tools = Array.isArray(body.tools) ? body.tools : []
    const named = tools.some(
      (tool) => isObject(tool) && typeof tool.type === 'string' && reply.includes(`${tool.type} runs at the provider`),
    )
    return named ? [] : [{ leaf: 'refused', expected: 200, got: reply }]
  }

  /** @returns why the loss is unexplained; undefined where it is documented and recorded. */
  private unexplained(
    { path }: RequestLeaf,
    { client, wire, entries, dropped }: { client: Client; wire: WireName; entries: readonly Loss[]; dropped: readonly string[] },
  ): string | undefined {
    const entry = entries.find((loss) => covers(loss, path))
    if (entry) return entry.recorded === undefined || dropped.includes(entry.recorded) ? undefined : `not recorded as ${entry.recorded}`
    const name = findParameter(client.id, path)
    const outcome = name && upstreamDialects.get(wire)?.parameters[name]
    if (name && outcome && 'dropped' in outcome && dropped.includes(name)) return undefined
    if (recorded(path, dropped)) return undefined
    return `lost; recorded are: ${dropped.join(', ') || 'none'}`
  }

  private matters(client: Client, wire: WireName, body: JsonObject, leaf: RequestLeaf): Promise<boolean> {
    const name = `${client.id} ${wire} ${leaf.path} ${JSON.stringify(leaf.value)}`
    let probe = this.probes.get(name)
    if (!probe) {
      probe = this.probe(client, body, leaf)
      this.probes.set(name, probe)
    }
    return probe
  }

  /** Sends the request with another value in this place, or with none, and sees whether anything else arrives. */
  private async probe(client: Client, body: JsonObject, leaf: RequestLeaf): Promise<boolean> {
    const arrivedBody = async (changedBody: JsonObject): Promise<string | undefined> => {
      const { status, arrived, path } = await send(this.scene, client, changedBody)
      return status === 200 && arrived ? JSON.stringify([path, arrived]) : undefined
    }
    const before = await arrivedBody(body)
    let accepted = false
    for (const other of this.others(client, leaf)) {
      const after = await arrivedBody(changed(body, { path: leaf.path, at: leaf.at, needle: undefined, other }))
      if (after !== undefined && after !== before) return true
      accepted ||= after !== undefined
    }
    if (accepted) return false
    // No other value is accepted: the leaf counts as read where the request without it is refused or arrives differently.
    const without = structuredClone(body)
    const holder = leaf.at.slice(0, -1).reduce<Json>((value, key) => (value as JsonObject)[key] as Json, without)
    if (isObject(holder)) delete holder[leaf.at.at(-1) as string]
    return (await arrivedBody(without)) !== before
  }

  private others(client: Client, { path, value }: RequestLeaf): Json[] {
    if (typeof value === 'boolean') return [!value]
    if (typeof value === 'number') return [value + 1, value / 2]
    const seen = (this.values.get(`${client.id} ${path}`) ?? []).filter((each) => each !== value)
    return [...seen.slice(0, 3), `${String(value)}-other`]
  }
}
