/** Kinds of models in an import: of those that make neither text nor vectors this gateway serves none. */

/** `other` makes pictures, sound or films, orders documents, or judges texts. */
export type ImportedKind = 'generate' | 'embedding' | 'other'

/** Modes of models of text as LiteLLM writes them (`types/utils.py` of PyPI litellm 1.110.2); any unknown one is none. */
const TEXT_MODES: ReadonlySet<string> = new Set(['chat', 'completion', 'responses'])

const VECTORS = /embed|^voyage-\d|(?:^|[/-])bge-/i
const OTHERS = new RegExp(
  [
    'whisper|transcri|(?:^|[/-])tts(?:-|$)|realtime|nova-sonic|speech',
    'dall-e|gpt-image|imagen|stable-|(?:^|/)flux|nova-canvas|image-generation',
    '(?:^|[/-])(?:sora|veo)-|nova-reel|rerank|moderation',
  ].join('|'),
  'i',
)

/** @param mode that the other file states. @param model the provider's name of it. */
export function importedKind(mode: string | undefined, model: string): ImportedKind {
  if (mode === 'embedding') return 'embedding'
  if (mode !== undefined) return TEXT_MODES.has(mode) ? 'generate' : 'other'
  if (OTHERS.test(model)) return 'other'
  return VECTORS.test(model) ? 'embedding' : 'generate'
}

export const NO_TEXT =
  'makes neither text nor vectors: the pass-through relays such operations as they are (docs/operations.md#the-pass-through)'
