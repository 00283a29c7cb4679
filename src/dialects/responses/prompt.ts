/** A stored prompt that a request names (`prompt: { id, variables }`), written out in front of its input. */

import { badField } from '../../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import type { StoredPrompts } from '../canon/presets.ts'

const PLACEHOLDER = /\{\{\s*([\w.-]{1,64})\s*\}\}/g
/** Parts that a variable may stand for, beside plain text. */
const PARTS: ReadonlySet<unknown> = new Set(['input_text', 'input_image', 'input_file'])

type Variables = ReadonlyMap<string, string | JsonObject>

function parseVariables(value: Json | undefined): Variables {
  const variables = new Map<string, string | JsonObject>()
  if (value === undefined || value === null) return variables
  if (!isObject(value)) throw badField('prompt.variables', 'expected an object')
  for (const [name, each] of Object.entries(value)) {
    if (typeof each === 'string') variables.set(name, each)
    else if (isObject(each) && PARTS.has(each.type)) variables.set(name, each)
    else throw badField(`prompt.variables.${name}`, 'expected a string, or a part of type input_text, input_image or input_file')
  }
  return variables
}

/** A text with its variables put in: one string where all are text, else parts. */
function filled(text: string, variables: Variables, missing: (name: string) => Error): string | JsonObject[] {
  const parts: JsonObject[] = []
  let plain = ''
  let at = 0
  for (const match of text.matchAll(PLACEHOLDER)) {
    const [, name = ''] = match
    const value = variables.get(name)
    if (value === undefined) throw missing(name)
    plain += text.slice(at, match.index)
    at = match.index + match[0].length
    if (typeof value === 'string') plain += value
    else if (value.type === 'input_text' && typeof value.text === 'string') plain += value.text
    else {
      if (plain !== '') parts.push({ type: 'input_text', text: plain })
      plain = ''
      parts.push(value)
    }
  }
  plain += text.slice(at)
  if (parts.length === 0) return plain
  if (plain !== '') parts.push({ type: 'input_text', text: plain })
  return parts
}

function placeholders(texts: readonly string[]): Set<string> {
  return new Set(texts.flatMap((text) => [...text.matchAll(PLACEHOLDER)].flatMap(([, name]) => name ?? [])))
}

/**
 * @returns the body with the prompt's messages in front of its input; the same body where it names no prompt.
 * @throws Fault 400 for an unknown prompt, and for a variable that is missing, unknown or of another type.
 */
export function withPrompt(body: JsonObject, prompts: StoredPrompts): JsonObject {
  const { prompt, ...rest } = body
  if (prompt === undefined || prompt === null) return body
  if (!isObject(prompt) || typeof prompt.id !== 'string') throw badField('prompt.id', 'expected the name of a stored prompt')
  const { id } = prompt
  const stored = prompts.get(id)
  if (!stored) throw badField('prompt.id', 'no stored prompt of this name is configured')
  const variables = parseVariables(prompt.variables)
  const known = placeholders(stored.messages.map((message) => message.text))
  for (const name of variables.keys())
    if (!known.has(name)) throw badField(`prompt.variables.${name}`, `the prompt ${id} has no such variable`)
  const missing = (name: string): Error => badField(`prompt.variables.${name}`, `is required by the prompt ${id}`)
  const messages = stored.messages.map(({ role, text }): JsonObject => {
    const content = filled(text, variables, missing)
    if (role === 'assistant' && typeof content !== 'string') throw badField('prompt.variables', 'an answer of the prompt takes text only')
    return { type: 'message', role, content }
  })
  const { input } = rest
  const own = typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : Array.isArray(input) ? input : []
  if (input !== undefined && input !== null && typeof input !== 'string' && !Array.isArray(input)) return rest
  return { ...rest, input: [...messages, ...own] }
}
