/**
 * Dialects as the configuration knows them: name, operations, and the quirks that each reads. Every other quirk is refused. Apart from the
 * registry, so that reading a configuration loads no dialect.
 */
import type { Static } from 'typebox'
import type { JsonObject } from '../core/json.ts'
import { bedrockQuirks } from './bedrock/quirks.ts'
import type { QuirkTable } from './canon/quirks.ts'
import { chatQuirks } from './chat/quirks.ts'
import { batchQuirks, embeddingQuirks, openaiEmbeddingQuirks } from './embeddings/quirks.ts'
import { geminiQuirks } from './gemini/quirks.ts'
import { messagesQuirks } from './messages/quirks.ts'
import { responsesQuirks } from './responses/quirks.ts'

export { mergeQuirks } from './canon/quirks.ts'
export { OPERATION_PATH } from './embeddings/quirks.ts'

/** Bedrock has a path of its own, no search of the web, and keeps no threads. */
const { raw_predict: _path, threads: _threads, web_search: _search, web_search_tool: _tool, ...claudeQuirks } = messagesQuirks

interface Known {
  readonly generates: boolean
  readonly embeds: boolean
  readonly quirks: QuirkTable
}

const KNOWN = {
  'openai-chat': { generates: true, embeds: true, quirks: { ...chatQuirks, ...openaiEmbeddingQuirks } },
  'openai-responses': { generates: true, embeds: true, quirks: { ...responsesQuirks, ...openaiEmbeddingQuirks } },
  anthropic: { generates: true, embeds: false, quirks: messagesQuirks },
  gemini: { generates: true, embeds: true, quirks: { ...geminiQuirks, ...embeddingQuirks } },
  'bedrock-converse': { generates: true, embeds: false, quirks: bedrockQuirks },
  'bedrock-anthropic': { generates: true, embeds: false, quirks: claudeQuirks },
  sim: { generates: true, embeds: true, quirks: batchQuirks },
  cohere: { generates: false, embeds: true, quirks: embeddingQuirks },
  voyage: { generates: false, embeds: true, quirks: embeddingQuirks },
} satisfies Record<string, Known>

export type DialectName = keyof typeof KNOWN

export const DIALECTS = Object.keys(KNOWN) as DialectName[]
/** Formats in which models generate, and those in which they give vectors. */
export const GENERATING: readonly DialectName[] = DIALECTS.filter((name) => KNOWN[name].generates)
export const EMBEDDING: readonly DialectName[] = DIALECTS.filter((name) => KNOWN[name].embeds)

type Names<T> = T extends unknown ? keyof T : never
type ValueIn<T, N extends PropertyKey> = T extends { readonly [K in N]: infer S extends QuirkTable[string] } ? Static<S> : never
type AnyTable = (typeof KNOWN)[DialectName]['quirks']

/** The quirks of an endpoint of any dialect. */
export type Quirks = { readonly [N in Names<AnyTable>]?: ValueIn<AnyTable, N> } & {
  /** Of the dialect sim, where the YAML file has them beside the quirks. */
  readonly faults?: JsonObject
}

/** By dialect. */
export const QUIRKS: ReadonlyMap<string, QuirkTable> = new Map(Object.entries(KNOWN).map(([name, { quirks }]) => [name, quirks]))
