/** The one list of dialects: a new one is its folder, a line here and a line in `quirks.ts`. */
import { claudeOnBedrock } from './bedrock/claude.ts'
import { bedrockConverse } from './bedrock/index.ts'
import { chatClient, openaiChat } from './chat/index.ts'
import { completionsClient } from './chat/legacy-completions.ts'
import { embeddingsClient } from './embeddings/check.ts'
import { cohereEmbedding } from './embeddings/cohere.ts'
import { geminiFormat } from './embeddings/gemini.ts'
import { openaiFormat } from './embeddings/openai.ts'
import type { EmbeddingFormat } from './embeddings/provider-body.ts'
import { voyageEmbedding } from './embeddings/voyage.ts'
import { geminiUpstream } from './gemini/index.ts'
import { anthropicUpstream, messagesClient, messagesCounting } from './messages/index.ts'
import { compactClient, openaiResponses, responsesClient } from './responses/index.ts'
import { simEmbedding } from './sim/embed.ts'
import { simUpstream } from './sim/index.ts'
import type { ClientDialect, EmbeddingWire, ProviderWire, UpstreamDialect } from './types.ts'

/** The format of the requests that the gateway's own tools send to models. */
export const toolDialect = responsesClient

/** Client dialects by the path that they answer. */
export const clientDialects: ReadonlyMap<string, ClientDialect> = new Map([
  ['/v1/responses', responsesClient],
  ['/v1/responses/compact', compactClient],
  ['/v1/chat/completions', chatClient],
  ['/v1/completions', completionsClient],
  ['/v1/messages', messagesClient],
  ['/v1/messages/count_tokens', messagesCounting],
  ['/v1/embeddings', embeddingsClient],
])

export const upstreamDialects: ReadonlyMap<string, UpstreamDialect> = new Map(
  [openaiChat, openaiResponses, anthropicUpstream, geminiUpstream, bedrockConverse, claudeOnBedrock(anthropicUpstream), simUpstream].map(
    (dialect) => [dialect.id, dialect],
  ),
)

/** A format of embeddings, at providers that are addressed as their dialect has it. */
function at({ id, auth, headers, decodeFault }: ProviderWire, format: EmbeddingFormat): EmbeddingWire {
  return { ...format, id, auth, decodeFault, ...(headers ? { headers } : {}) }
}

/** Formats of embeddings by the dialects of their providers. */
export const embeddingWires: ReadonlyMap<string, EmbeddingWire> = new Map(
  [
    at(openaiChat, openaiFormat),
    // Refusals of embeddings are worded as those of chat, whatever else the provider speaks.
    at({ ...openaiResponses, decodeFault: openaiChat.decodeFault }, openaiFormat),
    at(geminiUpstream, geminiFormat),
    cohereEmbedding,
    voyageEmbedding,
    simEmbedding,
  ].map((wire) => [wire.id, wire]),
)
