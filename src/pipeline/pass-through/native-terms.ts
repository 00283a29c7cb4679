/** Limits of the answers to one request in a provider's own format: the caps that its body sets, and how many answers it wants. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { UNKNOWN_MAX_OUTPUT } from '../../ledger/pricing.ts'

export interface AnswerTerms {
  /** Values that cap an answer; those that are no count are passed over. */
  caps(body: JsonObject, model: CapRules): readonly (Json | undefined)[]
  answers(body: JsonObject): number
  /** True where nothing is written. */
  readonly silent?: true
}

/** Caps as the provider of a model is known to take them. */
export interface CapRules {
  readonly capField: Json | undefined
  /** Most tokens of a thought that `max_tokens` does not bound. */
  readonly thought: number
  /** True where `max_tokens` bounds nothing. */
  readonly ignoresOlder: boolean
}

const asObject = (value: Json | undefined): JsonObject => (isObject(value) ? value : {})
/** JSON of protocol buffers has integers as texts, too. */
const countIn = (value: Json | undefined): number | undefined => {
  const count = typeof value === 'number' || typeof value === 'string' ? Number(value) : Number.NaN
  return count > 0 ? count : undefined
}
const most = (...values: (Json | undefined)[]): number => Math.max(1, ...values.map((value) => countIn(value) ?? 1))

/** A list of numbers is one prompt, as tokens (types of openai 7.59.0, `CompletionCreateParams.prompt`). */
const promptsIn = ({ prompt }: JsonObject): number =>
  Array.isArray(prompt) && typeof prompt[0] !== 'number' ? Math.max(1, prompt.length) : 1
const generationSettings = (body: JsonObject): JsonObject[] => [asObject(body.generationConfig), asObject(body.generation_config)]

/**
 * Servers of `max_tokens` may pass over the newer name (Ollama, Z.ai, llama.cpp before February 2026: `config/providers/`), so that by itself it
 * bounds nothing there; those of the newer name take the old one or refuse it. The old one may bound the answer without its thought.
 */
function chatCaps(
  { max_completion_tokens: newer, max_tokens: older }: JsonObject,
  { capField, thought, ignoresOlder }: CapRules,
): readonly (Json | undefined)[] {
  const count = countIn(older)
  if (count !== undefined && !ignoresOlder) return [newer, count + thought]
  return capField === 'max_completion_tokens' ? [newer] : []
}

/** Fields of the models themselves may have caps of their own, which may be those that count (docs/decisions/0019-bedrock-formats.md). */
function converseCaps({ inferenceConfig, additionalModelRequestFields: fields }: JsonObject): readonly (Json | undefined)[] {
  const inModel = [asObject(fields), ...Object.values(asObject(fields)).filter((each) => isObject(each))]
  const own = inModel.flatMap((each) => Object.keys(each).flatMap((name) => (MODEL_CAP.test(name) ? [each[name]] : [])))
  return [asObject(inferenceConfig).maxTokens, ...own]
}

const MODEL_CAP = /^max\w*(?:tokens|len|length)\w*$/i

/** By format; of the types and references that `native-requests.ts` names. */
export const TERMS = {
  chat: { caps: chatCaps, answers: ({ n }) => most(n) },
  completions: { caps: ({ max_tokens }) => [max_tokens], answers: (body) => promptsIn(body) * most(body.n, body.best_of) },
  responses: { caps: ({ max_output_tokens }) => [max_output_tokens], answers: () => 1 },
  messages: { caps: ({ max_tokens }) => [max_tokens], answers: () => 1 },
  gemini: {
    caps: (body) => generationSettings(body).flatMap((settings) => [settings.maxOutputTokens, settings.max_output_tokens]),
    answers: (body) => most(...generationSettings(body).flatMap((settings) => [settings.candidateCount, settings.candidate_count])),
  },
  converse: { caps: converseCaps, answers: () => 1 },
  // Each family of models has a body of its own; that of Claude is the one that is read.
  invoke: { caps: ({ anthropic_version: version, max_tokens: cap }) => (typeof version === 'string' ? [cap] : []), answers: () => 1 },
  vectors: { caps: () => [], answers: () => 1, silent: true },
} satisfies Record<string, AnswerTerms>

export interface AnswerModel extends CapRules {
  /** Tokens that the model writes at most; undefined where that is not known. */
  readonly longest: number | undefined
}

/** Tokens of one answer at most, with its thought. */
export function longestAnswer(terms: AnswerTerms, body: JsonObject, model: AnswerModel): number {
  if (terms.silent) return 0
  const { longest, thought } = model
  const caps = terms.caps(body, model).flatMap((value) => countIn(value) ?? [])
  if (caps.length === 0) return (longest ?? UNKNOWN_MAX_OUTPUT) + thought
  return Math.min((longest ?? Number.POSITIVE_INFINITY) + thought, Math.max(...caps))
}
