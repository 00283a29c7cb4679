/** Tools that callers run and only their format has a kind for: what a client dialect offers so that every provider can be sent them. */
import type { JsonObject } from '../../core/json.ts'
import type { Quirks } from '../quirks.ts'
import type { FunctionSpec } from './deferred-tools.ts'
import type { CanonicalRequest, Opaque } from './request.ts'
import type { OwnCalls } from './tool-names.ts'

/** A request in which functions stand for tools that only the caller's format has. */
export interface Flattened {
  request: CanonicalRequest
  own: OwnCalls
  /** Names of what is lost. */
  dropped: string[]
}

/** Two tools of a request that would be functions of one name. */
export interface NameClash {
  /** Place of the later one, such as `tools[3]`. */
  at: string
  name: string
}

/** Tools that callers of a format run, beside functions. */
export interface ClientTools {
  /** True for a provider of the same wire that knows the format's own tools, so that no functions need stand for them. */
  areKnown(quirks: Quirks): boolean
  /** True for a tool that can be offered as functions. */
  has(of: Opaque): boolean
  /**
   * The request for a provider that knows functions alone, and all of them from the start; undefined where it is that already.
   * Depends on nothing but the request.
   */
  flatten(request: CanonicalRequest): Flattened | undefined
  clash(request: CanonicalRequest): NameClash | undefined
}

const INPUT: JsonObject = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The whole input of the tool, as plain text.' } },
  required: ['input'],
  additionalProperties: false,
}

/** A tool that takes free text. */
export interface FreeTextTool {
  readonly name: string
  readonly description: string
  /** For the model to keep to: nothing enforces it. */
  readonly grammar?: { readonly syntax: string; readonly definition: string } | undefined
}

/** The function in place of a tool that takes free text; its arguments are read by `InputText`. */
export function freeTextFunction({ name, description, grammar }: FreeTextTool): FunctionSpec {
  const rule = grammar && `The input must match this ${grammar.syntax} grammar:\n${grammar.definition}`
  const words = [description, rule ?? ''].filter((text) => text !== '').join('\n\n')
  return { kind: 'function', name, description: words, parameters: INPUT }
}

/** Arguments of that function. */
export const freeTextArguments = (input: string): string => JSON.stringify({ input })
