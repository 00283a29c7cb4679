/**
 * Results of tools as sources that an answer may refer to by their keys: `{"0": {"url", "title", "snippets", "description", …}, …}`
 * (docs.mistral.ai, Citations and references: the model cites what a function of the caller has returned).
 */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import type { CanonicalRequest, Part } from './request.ts'

export interface Page {
  readonly url: string
  readonly title: string
  /** Text that was read there. */
  readonly content: string
}

/** Sources by the keys that references name; of two with one key the later counts. */
export type CitedResults = ReadonlyMap<string, Page>

/** A longer result is not parsed. */
const MAX_CHARACTERS = 1_000_000

/** True for a text that may be such a result. */
export function mayBeCited(result: string): boolean {
  return /^\s*[{[]/.test(result) && /"(?:url|title)"/.test(result)
}

const joined = (parts: readonly Part[]): string => parts.map((part) => (part.kind === 'text' ? part.text : '')).join('')

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

/** Snippets are texts, or lists of them. */
function snippetText(value: Json | undefined): string {
  return Array.isArray(value)
    ? value
        .flat(2)
        .filter((each) => typeof each === 'string')
        .join('\n')
    : text(value)
}

function toPage({ url, title, snippets, content, description }: JsonObject): Page {
  return { url: text(url), title: text(title), content: snippetText(snippets) || text(content) || text(description) }
}

/** Undefined where no result of the conversation can be cited. */
export function citedResults({ items }: CanonicalRequest): CitedResults | undefined {
  let found: Map<string, Page> | undefined
  for (const item of items) {
    if (item.kind !== 'result') continue
    const result = joined(item.parts)
    if (result.length > MAX_CHARACTERS || !mayBeCited(result)) continue
    for (const [key, value] of resultEntries(result)) {
      if (!isObject(value) || (typeof value.url !== 'string' && typeof value.title !== 'string')) continue
      found ??= new Map()
      found.set(key, toPage(value))
    }
  }
  return found
}

function resultEntries(result: string): [string, Json | undefined][] {
  try {
    const parsed: unknown = JSON.parse(result)
    return Array.isArray(parsed) || isObject(parsed) ? Object.entries(parsed as JsonObject) : []
  } catch {
    return []
  }
}
