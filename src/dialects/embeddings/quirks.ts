/** Quirks of providers that give embeddings. */
import { Type } from 'typebox'
import { body, flag } from '../canon/quirks.ts'

const count = (description: string) => Type.Integer({ description, minimum: 1, maximum: 1_000_000_000_000 })

/** A path under `base_url`. */
export const OPERATION_PATH = { pattern: '^/[\\x21-\\x3e\\x40-\\x7e]{0,511}$', expected: 'a path that begins with /, without a query' }

/** Of simulated embeddings too. */
export const batchQuirks = {
  max_batch: count('Inputs of one call for embeddings at most.'),
  max_batch_tokens: count('Tokens of one call for embeddings at most.'),
}

export const embeddingQuirks = {
  ...batchQuirks,
  embeddings_path: Type.String({
    ...OPERATION_PATH,
    description: "Path of embeddings under `base_url` in place of the dialect's own; `{model}` stands for the endpoint's model.",
  }),
  body,
}

export const openaiEmbeddingQuirks = {
  ...embeddingQuirks,
  input_type: flag('True: the provider takes `input_type` of embeddings, though the format does not have it.'),
  input_parts: flag("True: the provider takes images and other media to embed as parts, as this gateway's own operation does."),
}
