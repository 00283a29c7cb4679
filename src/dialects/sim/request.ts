/** Fields that a simulated model reads in a request. */

import type { JsonObject } from '../../core/json.ts'
import type { CanonicalRequest, Part, ToolSpec } from '../canon/request.ts'
import type { Encoded, Target } from '../types.ts'

/** A readable form of the request for the debug echo; nothing is sent anywhere. */
export function encodeRequest(request: CanonicalRequest, target: Target): Encoded {
  const { used: _used, extras: _extras, ...rest } = request
  // Plain data throughout; the copy leaves absent fields out and shares nothing with the request.
  const body: JsonObject = { model: target.model, ...(JSON.parse(JSON.stringify(rest)) as JsonObject), stream: target.stream }
  const cap = outputCap(request, target)
  if (cap !== undefined) body.max_output = cap
  return { path: '', body, dropped: opaqueTypes(request) }
}

/** Types of what only another dialect understands: the simulator reads past them. */
function opaqueTypes(request: CanonicalRequest): string[] {
  const types: string[] = []
  for (const item of request.items) {
    if (item.kind === 'opaque') types.push(item.of.type)
    if (item.kind !== 'message' && item.kind !== 'result') continue
    for (const part of item.parts) if (part.kind === 'opaque') types.push(part.of.type)
  }
  for (const tool of request.tools) if (tool.kind === 'opaque') types.push(tool.of.type)
  return types
}

/** The lower of the caller's cap and the hold's, in tokens. */
export function outputCap(request: CanonicalRequest, target: Target): number | undefined {
  const requested = request.sampling.maxOutput
  if (requested === undefined || target.outputCap === undefined) return requested ?? target.outputCap
  return Math.min(requested, target.outputCap)
}

/** Joined text parts. */
export function partsText(parts: readonly Part[]): string {
  let text = ''
  for (const part of parts) if (part.kind === 'text' || part.kind === 'refusal') text += part.text
  return text
}

/** Position of the last user message, -1 if there is none. */
export function lastUserAt(request: CanonicalRequest): number {
  return request.items.findLastIndex((item) => item.kind === 'message' && item.role === 'user')
}

export function lastUserText(request: CanonicalRequest): string {
  const item = request.items[lastUserAt(request)]
  return item?.kind === 'message' ? partsText(item.parts) : ''
}

export type FunctionTool = Extract<ToolSpec, { kind: 'function' }>

export function functionTools(request: CanonicalRequest): FunctionTool[] {
  return request.tools.filter((tool) => tool.kind === 'function')
}

/** Settings of the simulator by the last user message (see README.md). */
export interface Steering {
  words: number
  /** Milliseconds before each piece; 0 for none. */
  pace: number
  /** Calls in one turn. */
  parallel: number
  /** Calling turns before the answer. */
  calls: number
}

const MAX_WORDS = 20_000
const SLOWEST = 60_000
const MAX_PARALLEL = 16

export function steering(text: string): Steering {
  const pace = /\bpace\s*[=:]\s*(\d{1,6})\s*(ms|s)?\b/i.exec(text)
  const parallel = /\bparallel\b(?:\s*[=:]\s*(\d{1,3})\b)?/i.exec(text)
  return {
    words: Math.min(MAX_WORDS, Math.max(1, number(/\bwords\s*[=:]\s*(\d{1,9})\b/i.exec(text)?.[1], 120))),
    pace: Math.min(SLOWEST, number(pace?.[1], 0) * (pace?.[2]?.toLowerCase() === 's' ? 1000 : 1)),
    parallel: Math.min(MAX_PARALLEL, parallel ? Math.max(1, number(parallel[1], 2)) : 1),
    calls: Math.max(1, number(/\bcalls\s*[=:]\s*(\d{1,4})\b/i.exec(text)?.[1], 1)),
  }
}

function number(digits: string | undefined, otherwise: number): number {
  return digits === undefined ? otherwise : Number(digits)
}
