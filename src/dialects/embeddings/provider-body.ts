/** Common part of the bodies of all providers: fields that are left out, and the end user's name. */
import type { Json, JsonObject } from '../../core/json.ts'
import { count } from '../canon/counts.ts'
import type { Part } from '../canon/request.ts'
import { fittingUser, hashedUser } from '../canon/request-fields.ts'
import { INPUT_KINDS, type InputKind, type InputSplit } from '../canon/usage.ts'
import type { EmbeddingAsk, EmbeddingInput, EmbeddingLack, EmbeddingTarget, EmbeddingWire, ProviderWire } from '../types.ts'

/** A format without its provider's part: the header of the key and the reading of errors belong to the dialect. */
export type EmbeddingFormat = Omit<EmbeddingWire, keyof ProviderWire>

/** True for a field that the operator has set never to be sent. */
export function isDropped({ quirks }: EmbeddingTarget, name: string): boolean {
  return quirks.body?.drop?.includes(name) === true
}

/** The end user as the provider may know them; undefined where it may not. */
export function userFor({ user, quirks }: EmbeddingTarget, name: string): string | undefined {
  if (user === 'drop') return undefined
  return user === 'hash' ? hashedUser(name) : fittingUser(name, quirks)
}

/** Fields that every body needs, so that they are never left out. */
const NEEDED: ReadonlySet<string> = new Set(['model', 'input', 'inputs', 'texts', 'requests'])

/** Takes the fields of `body.drop` out and records them. */
export function leaveOut(body: JsonObject, { quirks }: EmbeddingTarget, dropped: string[]): JsonObject {
  for (const name of quirks.body?.drop ?? []) {
    if (body[name] === undefined || NEEDED.has(name)) continue
    delete body[name]
    dropped.push(name)
  }
  return body
}

/** The first input that does not fit; part by part where it has some. */
export function lackingInput(
  inputs: readonly EmbeddingInput[],
  why: (input: EmbeddingInput) => string | undefined,
  whyPart: (media: Extract<Part, { kind: 'media' }>) => string | undefined,
): EmbeddingLack | undefined {
  for (const [index, input] of inputs.entries()) {
    const reason = why(input)
    if (reason !== undefined) return { at: { input: index }, why: reason }
    if (input.kind !== 'parts') continue
    for (const [part, each] of input.parts.entries()) {
      const wrong = each.kind === 'media' ? whyPart(each) : undefined
      if (wrong !== undefined) return { at: { input: index, part }, why: wrong }
    }
  }
  return undefined
}

/** The field is never silently left out: vectors of another length than requested would not match the caller's others. */
export function lackingDimensions({ settings }: EmbeddingAsk, target: EmbeddingTarget): EmbeddingLack | undefined {
  if (settings.dimensions === undefined || !isDropped(target, 'dimensions')) return undefined
  return { at: 'dimensions', why: 'gives vectors of one length only' }
}

/** Tokens of each kind, as a provider reports them. @returns undefined where it reports none. */
export function splitFrom(tokens: (kind: InputKind) => Json | undefined): InputSplit | undefined {
  const reported = INPUT_KINDS.flatMap((kind) => {
    const counted = count(tokens(kind))
    return counted > 0 ? [[kind, counted] as const] : []
  })
  return reported.length > 0 ? Object.fromEntries(reported) : undefined
}
