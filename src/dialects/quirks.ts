/** The quirks that each dialect reads. The configuration's schema is made from these tables, and refuses every other quirk. */
import type { Static } from 'typebox'
import type { JsonObject } from '../core/json.ts'
import type { QuirkTable } from './canon/quirks.ts'
import { chatQuirks } from './chat/quirks.ts'
import { batchQuirks, embeddingQuirks, openaiEmbeddingQuirks } from './embeddings/quirks.ts'
import { geminiQuirks } from './gemini/quirks.ts'
import { messagesQuirks } from './messages/quirks.ts'
import { responsesQuirks } from './responses/quirks.ts'

export { OPERATION_PATH } from './embeddings/quirks.ts'

const TABLES = {
  'openai-chat': { ...chatQuirks, ...openaiEmbeddingQuirks },
  'openai-responses': { ...responsesQuirks, ...openaiEmbeddingQuirks },
  anthropic: messagesQuirks,
  gemini: { ...geminiQuirks, ...embeddingQuirks },
  cohere: embeddingQuirks,
  voyage: embeddingQuirks,
  sim: batchQuirks,
}

type Names<T> = T extends unknown ? keyof T : never
type ValueIn<T, N extends PropertyKey> = T extends { readonly [K in N]: infer S extends QuirkTable[string] } ? Static<S> : never
type AnyTable = (typeof TABLES)[keyof typeof TABLES]

/** The quirks of an endpoint of any dialect. */
export type Quirks = { readonly [N in Names<AnyTable>]?: ValueIn<AnyTable, N> } & {
  /** Of the dialect sim, where the YAML file has them beside the quirks. */
  readonly faults?: JsonObject
}

/** By dialect. */
export const QUIRKS: ReadonlyMap<string, QuirkTable> = new Map(Object.entries(TABLES))
