/** The texts of a request that input guardrails read, and how they are written back. */

import type { JsonObject } from '../core/json.ts'
import type { CanonicalRequest, Item, Part, ToolSpec } from '../dialects/canon/request.ts'
import { jsonTexts, withTexts } from './json-texts.ts'
import type { Passage } from './scan.ts'
import { isPicture } from './whole-answer.ts'

/** Everything of a request that a provider reads as text (docs/contract.md#guardrails). */
export function* passages(request: CanonicalRequest): Generator<Passage> {
  for (const item of request.items) yield* itemPassages(item)
  for (const tool of request.tools) yield* toolPassages(tool)
  for (const value of [request.format?.schema, request.prediction, request.metadata, request.extras?.fields])
    if (value) yield* jsonPassages(value)
  if (request.format?.description !== undefined) yield plain(request.format.description)
}

export function* itemPassages(item: Item): Generator<Passage> {
  switch (item.kind) {
    case 'message':
      if (item.name !== undefined) yield plain(item.name)
      yield* partPassages(item.parts, item.role === 'user')
      return
    case 'reasoning':
      if (item.text !== undefined) yield plain(item.text)
      for (const text of item.summary ?? []) yield plain(text)
      return
    case 'call':
      yield { texts: [item.args], user: false, json: true }
      return
    case 'result':
      yield* partPassages(item.parts, false)
      return
    case 'opaque':
      yield* jsonPassages(item.of.data)
  }
}

function plain(text: string): Passage {
  return { texts: [text], user: false }
}

function* partPassages(parts: readonly Part[], user: boolean): Generator<Passage> {
  const texts: string[] = []
  for (const part of parts) {
    if (part.kind === 'text' || part.kind === 'refusal') texts.push(part.text)
    else if (part.kind === 'opaque') yield* jsonPassages(part.of.data)
    else {
      const text = fileText(part)
      if (text !== undefined) yield { texts: [text], user }
      if (part.name !== undefined) yield plain(part.name)
    }
  }
  if (texts.length > 0) yield { texts, user }
}

function* toolPassages(tool: ToolSpec): Generator<Passage> {
  if (tool.kind === 'opaque') yield* jsonPassages(tool.of.data)
  else if (tool.kind === 'function') {
    if (tool.description !== undefined) yield plain(tool.description)
    if (tool.parameters) yield* jsonPassages(tool.parameters)
  }
}

function* jsonPassages(value: JsonObject): Generator<Passage> {
  const texts: string[] = []
  for (const text of jsonTexts(value)) if (text !== '' && !isPicture(text)) texts.push(text)
  if (texts.length > 0) yield { texts, user: false, apart: true }
}

const TEXT_URL = /^data:(?:text\/[\w.+-]+|application\/(?:json|xml|yaml|x-ndjson))((?:;[\w=-]+)*),/i

/** The text of a text file; undefined for other files, which guardrails cannot read. */
function fileText(part: Extract<Part, { kind: 'media' }>): string | undefined {
  if (part.media !== 'file') return undefined
  if (part.format === 'text') return part.data
  if (part.url === undefined) return undefined
  const [head, parameters] = TEXT_URL.exec(part.url) ?? []
  if (head === undefined || parameters === undefined) return undefined
  const body = part.url.slice(head.length)
  if (parameters.includes(';base64')) return Buffer.from(body, 'base64').toString('utf8')
  try {
    return decodeURIComponent(body)
  } catch {
    return body
  }
}

/** @param replace what stands in place of a text that was read; undefined where it stays. */
export function rewrite(draft: CanonicalRequest, replace: (text: string) => string | undefined): void {
  for (const item of draft.items) rewriteItem(item, replace)
  for (const tool of draft.tools) {
    if (tool.kind === 'opaque') tool.of = { ...tool.of, data: withTexts(tool.of.data, replace) }
    else if (tool.kind === 'function') {
      if (tool.description !== undefined) tool.description = replace(tool.description) ?? tool.description
      if (tool.parameters) tool.parameters = withTexts(tool.parameters, replace)
    }
  }
  if (draft.format?.schema) draft.format.schema = withTexts(draft.format.schema, replace)
  if (draft.format?.description !== undefined) draft.format.description = replace(draft.format.description) ?? draft.format.description
  if (draft.prediction) draft.prediction = withTexts(draft.prediction, replace)
  if (draft.metadata) draft.metadata = withTexts(draft.metadata, replace)
  if (draft.extras) draft.extras = { ...draft.extras, fields: withTexts(draft.extras.fields, replace) }
}

function rewriteItem(item: Item, replace: (text: string) => string | undefined): void {
  switch (item.kind) {
    case 'message':
      // A name takes few characters, and no placeholder is made of them.
      if (item.name !== undefined && replace(item.name) !== undefined) item.name = undefined
      item.parts = rewrittenParts(item.parts, replace)
      return
    case 'reasoning': {
      const text = item.text === undefined ? undefined : replace(item.text)
      const summary = item.summary?.map((each) => replace(each) ?? each)
      if (text === undefined && !summary?.some((each, i) => each !== item.summary?.[i])) return
      // The signed text has changed, so the provider would refuse the signature.
      Object.assign(item, { text: text ?? item.text, summary, signature: undefined, encrypted: undefined })
      return
    }
    case 'call':
      item.args = replace(item.args) ?? item.args
      return
    case 'result':
      item.parts = rewrittenParts(item.parts, replace)
      return
    case 'opaque':
      item.of = { ...item.of, data: withTexts(item.of.data, replace) }
  }
}

/** A part of which nothing is left goes: some providers refuse an empty one. */
function rewrittenParts(parts: readonly Part[], replace: (text: string) => string | undefined): Part[] {
  const others = parts.map((part) => rewritten(part, replace))
  const left = others.filter((part, i) => part === parts[i] || part.kind !== 'text' || part.text !== '')
  return left.length > 0 ? left : others
}

function rewritten(part: Part, replace: (text: string) => string | undefined): Part {
  if (part.kind === 'text' || part.kind === 'refusal') {
    const text = replace(part.text)
    return text === undefined ? part : { ...part, text }
  }
  if (part.kind === 'opaque') return { ...part, of: { ...part.of, data: withTexts(part.of.data, replace) } }
  const text = fileText(part)
  const other = text === undefined ? undefined : replace(text)
  const name = part.name === undefined ? undefined : (replace(part.name) ?? part.name)
  if (other === undefined) return name === part.name ? part : { ...part, name }
  if (part.format === 'text') return { ...part, data: other, name }
  const type = /^data:([\w/.+-]+)/.exec(part.url ?? '')?.[1] ?? 'text/plain'
  return { ...part, url: `data:${type};base64,${Buffer.from(other).toString('base64')}`, name }
}
