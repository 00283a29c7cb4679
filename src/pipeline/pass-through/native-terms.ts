/** What bounds the answers to one request in a provider's own format: the caps that its body sets, and how many answers it wants. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { UNKNOWN_MAX_OUTPUT } from '../../ledger/pricing.ts'

export interface AnswerTerms {
  /** Values that cap an answer; those that are no count are passed over. */
  caps(body: JsonObject): readonly (Json | undefined)[]
  answers(body: JsonObject): number
  /** True where nothing is written. */
  readonly silent?: true
}

const partOf = (value: Json | undefined): JsonObject => (isObject(value) ? value : {})
/** JSON of protocol buffers has integers as texts, too. */
const countIn = (value: Json | undefined): number | undefined => {
  const count = typeof value === 'number' || typeof value === 'string' ? Number(value) : Number.NaN
  return count > 0 ? count : undefined
}
const most = (...values: (Json | undefined)[]): number => Math.max(1, ...values.map((value) => countIn(value) ?? 1))

/** A list of numbers is one prompt, as tokens (types of openai 7.59.0, `CompletionCreateParams.prompt`). */
const promptsIn = ({ prompt }: JsonObject): number =>
  Array.isArray(prompt) && typeof prompt[0] !== 'number' ? Math.max(1, prompt.length) : 1
const settingsOf = (body: JsonObject): JsonObject[] => [partOf(body.generationConfig), partOf(body.generation_config)]

/** By format; of the types and references that `native-requests.ts` names. */
export const TERMS = {
  chat: { caps: (body) => [body.max_completion_tokens, body.max_tokens], answers: ({ n }) => most(n) },
  completions: { caps: ({ max_tokens }) => [max_tokens], answers: (body) => promptsIn(body) * most(body.n, body.best_of) },
  responses: { caps: ({ max_output_tokens }) => [max_output_tokens], answers: () => 1 },
  messages: { caps: ({ max_tokens }) => [max_tokens], answers: () => 1 },
  gemini: {
    caps: (body) => settingsOf(body).flatMap((settings) => [settings.maxOutputTokens, settings.max_output_tokens]),
    answers: (body) => most(...settingsOf(body).flatMap((settings) => [settings.candidateCount, settings.candidate_count])),
  },
  converse: { caps: ({ inferenceConfig }) => [partOf(inferenceConfig).maxTokens], answers: () => 1 },
  // Each family of models has a body of its own; that of Claude is the one that is read.
  invoke: { caps: ({ anthropic_version: version, max_tokens: cap }) => (typeof version === 'string' ? [cap] : []), answers: () => 1 },
  vectors: { caps: () => [], answers: () => 1, silent: true },
} satisfies Record<string, AnswerTerms>

/** Tokens of one answer at most. @param longest that the model writes; undefined where that is not known. */
export function longestAnswer(terms: AnswerTerms, body: JsonObject, longest: number | undefined): number {
  if (terms.silent) return 0
  const caps = terms.caps(body).flatMap((value) => countIn(value) ?? [])
  if (caps.length === 0) return longest ?? UNKNOWN_MAX_OUTPUT
  return Math.min(longest ?? Number.POSITIVE_INFINITY, Math.max(...caps))
}
